/* SPDX-License-Identifier: Apache-2.0 */
/* The slow and the failing ends of wire.h. */
#include "model/wire.h"

/* Watches the end and every rule of spelling. */
static uint64_t get_number_carefully(rung__reader *r) {
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) { /* the tenth byte ends the number, or is at fault */
        uint8_t byte = rung__get_byte(r);
        if (shift == 63 && byte > 1)
            rung__reader_fail(r, "a number is larger than 64 bits");
        if (shift && byte == 0)
            rung__reader_fail(r, "a number is longer than it needs to be");
        if (r->fault)
            return 0;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
}

/* Times are 6 bytes long and have more bytes after them: for such numbers the end needs no watching. */
uint64_t rung__get_long_number(rung__reader *r) {
    if (rung__reader_left(r) < RUNG__NUMBER_BYTES_MAX)
        return get_number_carefully(r);
    const uint8_t *p = r->at;
    uint64_t number = *p & 0x7f;
    for (unsigned shift = 7; shift < 63; shift += 7) {
        uint64_t byte = *++p;
        number |= (byte & 0x7f) << shift;
        if (byte >= 0x80)
            continue;
        if (byte == 0)
            break;
        r->at = p + 1;
        return number;
    }
    return get_number_carefully(r);
}

rung_status rung__reader_finish(rung__reader *r, rung_slice bytes, const char *what,
                                rung_err *err) {
    if (!r->fault && r->at != r->end)
        rung__reader_fail(r, "more bytes follow");
    if (!r->fault)
        return RUNG_OK;
    return RUNG_FAIL(err, RUNG_ECORRUPT, "%s is damaged near byte %zu of %zu: %s", what,
                     bytes.len - r->left, bytes.len, r->fault);
}
