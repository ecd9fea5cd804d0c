/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - may these bytes be shown to people, stored as text, printed in a line?
 *
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing past U+10FFFF. Case, width and normal forms are
 * not its business: two names are the same when their bytes are. About a nanosecond for 8 bytes of ASCII. Pure; any
 * thread. */
#ifndef RUNG_MODEL_UTF8_H
#define RUNG_MODEL_UTF8_H

#include "base/slice.h"

/* UTF-8 without NUL: free text, line breaks and all. The empty text is one. */
bool rung_utf8_is_text(rung_slice text);

/* UTF-8 without control characters (U+0000-001F, U+007F-009F): fit for one line. The empty text is one. */
bool rung_utf8_is_plain(rung_slice text);

#endif
