/* SPDX-License-Identifier: Apache-2.0 */
/* match_json.h - a match as JSON, to the packed players of an event.
 *
 *     {"id": "final-1", "sides": [{"place": 1, "players": ["ada"]},
 *                                 {"place": 2, "players": [{"player": "bob", "played": 0.5}]}]}
 *
 * Sides have places (smaller is better) or scores (larger is better), all the same of the two. Pure; one thread at a
 * time per reader. */
#ifndef RUNG_CODEC_MATCH_JSON_H
#define RUNG_CODEC_MATCH_JSON_H

#include "codec/schema.h"
#include "model/event.h"

extern const rung_schema rung_match_schema;
extern const rung_schema rung_lineup_schema; /* sides without results: a question */

/* Read a body by one of the two schemas. Fills `match` but its board; texts borrow from `body`, which is changed,
 * and the players are packed into `packed`, of RUNG_MATCH_PACKED_MAX bytes. Without results every side has place 0.
 * RUNG_EINVAL or RUNG_ERANGE naming the field; err->reason is RUNG_REASON_MALFORMED if it is no such JSON. */
RUNG_NODISCARD rung_status rung_match_json_read(const rung_schema *schema, char *body, size_t len,
                                                rung_json *r, uint8_t *packed,
                                                rung_match_event *match, rung_err *err);

/* The same for an array of sides alone, as in the member `sides`: fills only the players and their number. */
RUNG_NODISCARD rung_status rung_match_json_sides(rung_slice sides, rung_json *r, uint8_t *packed,
                                                 rung_match_event *match, rung_err *err);

#endif
