/* SPDX-License-Identifier: Apache-2.0 */
/* board_json.h - a board's definition as JSON, both ways.
 *
 *     rung_board_json_read(body, len, RUNG_SLICE("race"), &def, &err);     // strict; names the field that is wrong
 *     rung_board_json_write(&w, RUNG_SLICE("race"), &def);                 // the members, inside an open object
 *
 * What is written reads back as the same definition. A field that is left out has its default, in either direction of
 * time: a definition is always whole, never a change to another one. Pure; any thread. */
#ifndef RUNG_CODEC_BOARD_JSON_H
#define RUNG_CODEC_BOARD_JSON_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/json_writer.h"
#include "codec/schema.h"
#include "model/board.h"

/* All fields of a definition: what is read, and what /openapi.json says of it. */
extern const rung_schema rung_board_schema;

/* Read the definition of the board `id`. `body` is changed (strings are unescaped in place) and texts of the definition
 * borrow from it and from `id`. RUNG_EINVAL, RUNG_ERANGE or RUNG_ELIMIT for what is not a definition, RUNG_EUNSUPPORTED
 * for what this version does not have yet; `err` names the field. What the fields must have in common is checked by
 * rung_board_def_check(), not here. */
RUNG_NODISCARD rung_status rung_board_json_read(char *body, size_t len, rung_slice id,
                                                rung_board_def *def_out, rung_err *err);

/* Every field, as members of the object that is open. */
void rung_board_json_write(rung_json_writer *w, rung_slice id, const rung_board_def *def);

/* A score of this column: an exact number; "inf" and "-inf" as strings. */
void rung_score_json_write(rung_json_writer *w, const rung_column *column, rung_value value);

#endif
