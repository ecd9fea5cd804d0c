/* SPDX-License-Identifier: Apache-2.0 */
/* url.h - the segments of a path and percent-encoding (RFC 3986).
 *
 * Refuses incomplete escapes, escapes that are not hexadecimal, NUL, and invalid UTF-8. Pure; any thread. */
#ifndef RUNG_CODEC_URL_H
#define RUNG_CODEC_URL_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_URL_SEGMENTS_MAX 16

/* Decode `text` into `out`, which has room for text.len bytes and may overlap the text. `plus_is_space` as in a
 * query. RUNG_OK or RUNG_EINVAL. */
RUNG_NODISCARD rung_status rung_url_decode(rung_slice text, bool plus_is_space, char *out,
                                           rung_slice *decoded_out, rung_err *err);

/* Split "/v1/boards/a%2Fb" into its segments, still encoded: "v1", "boards", "a%2Fb". The path begins with '/'; "/" has
 * one empty segment, "/a/" has an empty one at its end. RUNG_EINVAL, or RUNG_ELIMIT beyond `room`. */
RUNG_NODISCARD rung_status rung_url_segments(rung_slice path, rung_slice *segments, uint32_t room,
                                             uint32_t *count_out, rung_err *err);

/* Percent-encode all but letters, digits and -._~ for use in a segment or a query. `out` has room for 3 x text.len
 * bytes. Returns the length. */
size_t rung_url_encode(rung_slice text, char *out);

#endif
