/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - may these bytes be shown to people, stored as text, printed in a line?
 *
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing past U+10FFFF. Case, width and normal forms are
 * not its business: two names are the same when their bytes are. About a nanosecond for 8 bytes of ASCII. Pure; any
 * thread. */
#ifndef RUNG_MODEL_UTF8_H
#define RUNG_MODEL_UTF8_H

#include "base/slice.h"

#define RUNG__UTF8_ONES ((uint64_t)0x0101010101010101)

/* Are all 8 bytes within 0x20 to 0x7e? One that has no high bit gets one by adding 1 if it is 0x7f, and gets none by
 * adding 0x60 if it is below 0x20. Where a sum runs over into the next byte the first term has a high bit anyway. */
static inline bool rung__utf8_is_ascii_word(uint64_t w) {
    return ((w | (w + RUNG__UTF8_ONES) | ~(w + RUNG__UTF8_ONES * 0x60)) & RUNG__UTF8_ONES * 0x80) ==
           0;
}

/* The bytes of the character at `text`, where `left` > 0 bytes are; 0 when there is none. */
size_t rung_utf8_size(const char *text, size_t left);

/* UTF-8 without NUL: free text, line breaks and all. The empty text is one. */
bool rung_utf8_is_text(rung_slice text);

bool rung__utf8_is_plain(rung_slice text); /* private to the next function */

/* UTF-8 without control characters (U+0000-001F, U+007F-009F): fit for one line. The empty text is one. Most names have
 * 4 to 16 bytes of ASCII: two words or halves of one, which overlap. */
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
