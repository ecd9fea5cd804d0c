/* SPDX-License-Identifier: Apache-2.0 */
/* board_json.h - a board's definition as JSON, in both directions.
 *
 *     rung_board_json_read(body, len, RUNG_SLICE("race"), &def, &err);     // strict; names the wrong field
 *     rung_board_json_write(&w, RUNG_SLICE("race"), &def);                 // the members, inside an open object
 *
 * What is written reads back as the same definition. An omitted field has its default: JSON always describes a whole
 * definition, never a change to another one. Pure; any thread. */
#ifndef RUNG_CODEC_BOARD_JSON_H
#define RUNG_CODEC_BOARD_JSON_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/json_writer.h"
#include "codec/schema.h"
#include "model/board.h"

/* All fields of a definition, for parsing and for /openapi.json. */
extern const rung_schema rung_board_schema;
extern const rung_schema rung_limit_schema,
    rung_rule_schema; /* of its fields `limits` and `rules` */

/* Read the definition of the board `id`. Modifies `body` (unescapes strings in place); texts of the definition borrow
 * from it and from `id`. RUNG_EINVAL, RUNG_ERANGE or RUNG_ELIMIT: not a definition; RUNG_EUNSUPPORTED: not supported
 * by this version; `err` names the field. Does not check rules across fields: rung_board_def_check() does. */
RUNG_NODISCARD rung_status rung_board_json_read(char *body, size_t len, rung_slice id,
                                                rung_board_def *def_out, rung_err *err);

/* Read what judges submissions, `limits`, `rules` and `review`, from slots of fields like those of a definition. What
 * is present replaces the definition's; texts are modified as above. */
RUNG_NODISCARD rung_status rung_board_json_read_judging(rung_json *r, const rung_slot *limits,
                                                        const rung_slot *rules,
                                                        const rung_slot *review,
                                                        rung_board_def *def, rung_err *err);

/* Write every field, as members of the open object. */
void rung_board_json_write(rung_json_writer *w, rung_slice id, const rung_board_def *def);

/* Write a score of this column: an exact number; "inf" and "-inf" as strings. */
void rung_score_json_write(rung_json_writer *w, const rung_column *column, rung_value value);
/* What a rule measures, or its limit. */
void rung_measure_json_write(rung_json_writer *w, const rung_column *score, rung_measure measure,
                             rung_value value);
/* score and, where there are more, columns: as members of an open object. */
void rung_values_json_write(rung_json_writer *w, const rung_board_def *def,
                            const rung_value *values, uint32_t count);

#endif
