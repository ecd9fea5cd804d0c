/* SPDX-License-Identifier: Apache-2.0 */
/* trial.h - what other limits and rules would have said to the last submissions of a board.
 *
 *     spec = {.board = b, .def = &def, .trial_last = 10000};
 *     rung_trial_open(&config, &spec, &trial, &err);
 *     while ((st = rung_trial_step(trial, &err)) == RUNG_PARTIAL) ...     // 65,536 records each
 *     const rung_trial_result *result = rung_trial_result_of(trial);
 *     rung_trial_close(trial);
 *
 * The state before those submissions is built again beside the server (past.h), the board gets the limits, rules and
 * review of `def`, and the log is folded on: so each submission is judged by what the ones before it became under the
 * same rules. What rules learn from players begins as many submissions earlier, where the log reaches that far.
 *
 * Takes no lock and writes nothing. Threads: one at a time. */
#ifndef RUNG_SERVICE_TRIAL_H
#define RUNG_SERVICE_TRIAL_H

#include "service/replay_source.h"

#define RUNG_TRIAL_LAST_MAX     100000
#define RUNG_TRIAL_RECORDS_MAX  ((uint64_t)20000000) /* of the log, that are looked at */
#define RUNG_TRIAL_EXAMPLES_MAX 20
#define RUNG_TRIAL_LIMITS       5 /* min, max, max_step, per_player_per_minute, z_score */

typedef enum rung_trial_verdict {
    RUNG_TRIAL_FLAGGED,
    RUNG_TRIAL_TENTATIVE,
    RUNG_TRIAL_REFUSED
} rung_trial_verdict;
extern const char *const rung_trial_words[]; /* NULL at the end */

/* A submission that broke something. */
typedef struct rung_trial_example {
    uint64_t seq;
    int64_t at_ms;
    char player[RUNG_NAME_MAX];
    uint32_t player_len;
    rung_value score; /* of the board's type; nothing on a board that counts */
    bool is_delta;
    rung_trial_verdict verdict;
    uint32_t broken; /* bit i: the rule i of the definition */
    rung_rule rule;  /* the limit or rule that refused it, or `top`; RUNG_RULE_NONE */
} rung_trial_example;

typedef struct rung_trial_result { /* without pointers: it goes from one process to another */
    uint64_t first_seq, last_seq;  /* of the submissions; 0: there are none */
    int64_t first_ms, last_ms;     /* log time there */
    uint64_t judged;               /* all of these: */
    uint64_t counted;              /* without a finding */
    uint64_t flagged, tentative;
    uint64_t refused;                      /* by a limit or a rule */
    uint64_t duplicates;                   /* by their ids */
    uint64_t other;                        /* refused for another reason, such as a ban */
    uint64_t broken[RUNG_BOARD_RULES_MAX]; /* by rule of the definition: that broke it */
    uint64_t limited[RUNG_TRIAL_LIMITS];   /* by limit, RUNG_RULE_MIN first: refused by it */
    uint64_t top;                          /* that `review: top:N` sends to a review */
    bool is_complete;                      /* as many as asked for, or all that the board has had */
    uint32_t example_count;
    rung_trial_example examples[RUNG_TRIAL_EXAMPLES_MAX]; /* the last ones, newest first */
} rung_trial_result;

typedef struct rung_trial rung_trial; /* heap object; rung_trial_close() frees it */

/* The spec is borrowed until close. RUNG_EABSENT with RUNG_REASON_TOO_OLD: the kept log reaches back to no submission;
 * otherwise as rung_past_open(). */
RUNG_NODISCARD rung_status rung_trial_open(const rung_replay_source_config *config,
                                           const rung_replay_spec *spec, rung_trial **out,
                                           rung_err *err);
void rung_trial_close(rung_trial *t); /* accepts NULL */

/* RUNG_OK: the result is complete; RUNG_PARTIAL: call again; otherwise why it never will be. */
RUNG_NODISCARD rung_status rung_trial_step(rung_trial *t, rung_err *err);
uint64_t rung_trial_seq(const rung_trial *t); /* folded so far */
const rung_trial_result *rung_trial_result_of(const rung_trial *t);

#endif
