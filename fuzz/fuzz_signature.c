/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the four fields of a signature, one a line, and behind them a target and a body. What is read can be
 * written again as it was sent, and the signature of random bytes matches nothing. */
#include "base/assert.h"
#include "guard/signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static rung_slice take_line(rung_slice *rest) {
    const char *end = rest->len ? memchr(rest->ptr, '\n', rest->len) : NULL;
    rung_slice line = rung_slice_of(rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len);
    *rest = end ? rung_slice_of(end + 1, rest->len - line.len - 1) : (rung_slice){rest->ptr, 0};
    return line;
}

static void check_number(rung_slice text, uint64_t number) {
    char back[24];
    int len = snprintf(back, sizeof back, "%" PRIu64, number);
    RUNG_ASSERT(rung_slice_eq(text, rung_slice_of(back, (size_t)len)));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static const char secret[RUNG_SESSION_SECRET_SIZE] =
        "a secret that nobody ever signs with ------";
    rung_slice rest = rung_slice_of(data, size);
    rung_slice session = take_line(&rest), time = take_line(&rest), nonce = take_line(&rest),
               mac = take_line(&rest), target = take_line(&rest);
    rung_signature s;
    rung_err err = {0};
    rung_status st = rung_signature_read(session, time, nonce, mac, &s, &err);
    RUNG_ASSERT(st == RUNG_OK || (st == RUNG_EREFUSED && err.reason == RUNG_REASON_SIGNATURE));
    if (st < 0)
        return 0;
    RUNG_ASSERT(rung_session_id_is_valid(s.session) && s.nonce >= 1 && s.nonce <= RUNG_NONCE_MAX);
    check_number(time, (uint64_t)s.time_ms);
    check_number(nonce, s.nonce);
    rung_signed_text text = {{"POST", 4}, target, rest};
    RUNG_ASSERT(!rung_signature_matches(&s, &text, secret));
    return 0;
}
