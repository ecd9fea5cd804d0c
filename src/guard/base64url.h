/* SPDX-License-Identifier: Apache-2.0 */
/* base64url.h - bytes as text of A-Z a-z 0-9 - and _ (RFC 4648, section 5), without padding.
 *
 * Strict: no padding, no white space, no bits left over, so every run of bytes has exactly one text. Pure. */
#ifndef RUNG_GUARD_BASE64URL_H
#define RUNG_GUARD_BASE64URL_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNG_BASE64URL_TEXT_SIZE(bytes) (((bytes)*4 + 2) / 3)
#define RUNG_BASE64URL_BYTES_MAX(chars) ((chars)*3 / 4)

/* Writes RUNG_BASE64URL_TEXT_SIZE(bytes.len) characters without a NUL. Returns how many. */
size_t rung_base64url_encode(rung_slice bytes, char *text_out);

/* Writes RUNG_BASE64URL_BYTES_MAX(text.len) bytes; `bytes_out` may overlap the text. false: not valid base64url, and
 * `bytes_out` is undefined. */
bool rung_base64url_decode(rung_slice text, uint8_t *bytes_out, size_t *len_out);

#endif
