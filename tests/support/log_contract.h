/* SPDX-License-Identifier: Apache-2.0 */
/* log_contract.h - what every implementation of the log port must do (log.h L1 to L5), as tests to be called with one.
 *
 *     static const log_maker maker = {.open = open_mine, .ctx = &mine, ...};
 *     TEST(order_and_tags) { log_contract_order(&maker); }
 *
 * What an implementation cannot do (fill up, fail, keep something) is left NULL, and the tests of it pass over it. */
#ifndef RUNG_TESTS_LOG_CONTRACT_H
#define RUNG_TESTS_LOG_CONTRACT_H

#include "journal/log.h"

typedef struct log_maker {
    void *ctx;
    /* Opens the same log every time, started behind its last record; its first opening finds it empty. */
    rung_log *(*open)(void *ctx);
    /* The machine crashes under an open log, which is gone afterwards. NULL: nothing is kept. */
    void (*crash)(void *ctx, rung_log *log);
    void (*set_full)(void *ctx, bool is_full);  /* of the disk; NULL: it has none */
    void (*fail_next_sync)(void *ctx);          /* NULL: nothing can fail */
    void (*add_foreign)(void *ctx, rung_slice); /* another node's record; NULL: there are none */
} log_maker;

void log_contract_order(const log_maker *m);     /* L1, L3, L4: sequences, tags, the very bytes */
void log_contract_limits(const log_maker *m);    /* what is not taken leaves no trace */
void log_contract_foreign(const log_maker *m);   /* L1 */
void log_contract_crash(const log_maker *m);     /* L2: what was delivered survives */
void log_contract_full(const log_maker *m);      /* L2: rejected, and accepted again later */
void log_contract_failure(const log_maker *m);   /* L2, L5: unknown, and nothing after it */
void log_contract_in_flight(const log_maker *m); /* closed with proposals under way */

#endif
