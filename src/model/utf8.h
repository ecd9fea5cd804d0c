/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - UTF-8 validation: is it text, and is it printable on one line?
 *
 * UTF-8 according to RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF. No case folding and no
 * normalisation: two names are equal if their bytes are. About a nanosecond per 8 bytes of ASCII. Pure; any thread. */
#ifndef RUNG_MODEL_UTF8_H
#define RUNG_MODEL_UTF8_H

#include "base/slice.h"

#define RUNG__UTF8_ONES ((uint64_t)0x0101010101010101)

/* Are all 8 bytes within 0x20 to 0x7e? For a byte without the high bit, adding 1 sets it only for 0x7f, and adding
 * 0x60 leaves it clear only below 0x20. A carry into the next byte needs a byte with the high bit set, which the
 * first term catches. */
static inline bool rung__utf8_is_ascii_word(uint64_t w) {
    return ((w | (w + RUNG__UTF8_ONES) | ~(w + RUNG__UTF8_ONES * 0x60)) & RUNG__UTF8_ONES * 0x80) ==
           0;
}

/* The length of the character at `text`, of `left` > 0 bytes; 0: not valid UTF-8. */
size_t rung_utf8_size(const char *text, size_t left);

/* UTF-8 without NUL: free text, which may contain newlines or be empty. */
bool rung_utf8_is_text(rung_slice text);

bool rung__utf8_is_plain(rung_slice text); /* private to the next function */

/* UTF-8 without control characters (U+0000-001F, U+007F-009F), so that it fits on one line; may be empty. Fast path:
 * most names are 4 to 16 bytes of ASCII, read as two overlapping words or half words. */
static inline bool rung_utf8_is_plain(rung_slice text) {
    uint64_t first, last;
    uint32_t low, high;
    bool is_ascii = false;
    if (text.len >= sizeof first && text.len <= 2 * sizeof first) {
        memcpy(&first, text.ptr, sizeof first);
        memcpy(&last, text.ptr + text.len - sizeof last, sizeof last);
        is_ascii = rung__utf8_is_ascii_word(first) && rung__utf8_is_ascii_word(last);
    } else if (text.len >= sizeof low && text.len < sizeof first) {
        memcpy(&low, text.ptr, sizeof low);
        memcpy(&high, text.ptr + text.len - sizeof high, sizeof high);
        is_ascii = rung__utf8_is_ascii_word((uint64_t)high << 32 | low);
    }
    return is_ascii || rung__utf8_is_plain(text);
}

#endif
