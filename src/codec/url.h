/* SPDX-License-Identifier: Apache-2.0 */
/* url.h - the parts of a request's target: path segments, query pairs, percent-encoding (RFC 3986), strictly.
 *
 * Refused rather than guessed at: half an escape, escapes that are no hexadecimal digits, NUL, bytes that are not
 * UTF-8, more than the limits, the same name twice in a query. Pure; any thread. */
#ifndef RUNG_CODEC_URL_H
#define RUNG_CODEC_URL_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_URL_SEGMENTS_MAX 16

/* Decode `text` into `out`, which has room for text.len bytes and may be where the text is. `plus_is_space` as in a
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
