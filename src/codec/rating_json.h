/* SPDX-License-Identifier: Apache-2.0 */
/* rating_json.h - the parameters of a rating board as JSON: the member `rating` of a definition (docs/ratings.md).
 * Pure; any thread. */
#ifndef RUNG_CODEC_RATING_JSON_H
#define RUNG_CODEC_RATING_JSON_H

#include "codec/json_writer.h"
#include "codec/schema.h"
#include "model/rating.h"

extern const rung_schema rung_rating_schema;

/* Read the object in `slot` over the defaults in `p`, whose system is set. RUNG_EINVAL or RUNG_ERANGE naming the
 * field: unknown, of another system, not a number. Ranges are checked by rung_rating_params_check(). */
RUNG_NODISCARD rung_status rung_rating_json_read(rung_json *r, const rung_slot *slot,
                                                 rung_rating_params *p, rung_err *err);

/* Every parameter of the system, as an object. */
void rung_rating_json_write(rung_json_writer *w, const rung_rating_params *p);

#endif
