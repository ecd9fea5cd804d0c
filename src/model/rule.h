/* SPDX-License-Identifier: Apache-2.0 */
/* rule.h - the rules that may refuse or mark a submission, each with its name, and a rule of a board's definition.
 *
 * The log stores the values and the archive the words: they never change. Pure; any thread. */
#ifndef RUNG_MODEL_RULE_H
#define RUNG_MODEL_RULE_H

#include "model/score.h"

#define RUNG_RULES(X)                                                                              \
    X(RUNG_RULE_NONE, 0, "none")                                                                   \
    X(RUNG_RULE_MIN, 1, "min") /* the board's limits */                                            \
    X(RUNG_RULE_MAX, 2, "max")                                                                     \
    X(RUNG_RULE_STEP, 3, "max_step")                                                               \
    X(RUNG_RULE_RATE, 4, "per_player_per_minute")                                                  \
    X(RUNG_RULE_Z, 5, "z_score")                                                                   \
    X(RUNG_RULE_BANNED, 6, "banned")           /* the player is banned */                          \
    X(RUNG_RULE_WINDOW, 7, "window")           /* no window takes scores of that time */           \
    X(RUNG_RULE_MAX_RATE, 8, "max_rate")       /* points per time since the last submission */     \
    X(RUNG_RULE_SUBMISSIONS, 9, "submissions") /* in a period */                                   \
    X(RUNG_RULE_Z_PLAYER, 10, "z_player")      /* against the player's own history */              \
    X(RUNG_RULE_FIRST_MIN, 11, "first_min")    /* a player's first score */                        \
    X(RUNG_RULE_FIRST_MAX, 12, "first_max")                                                        \
    X(RUNG_RULE_DURATION, 13, "attested_duration") /* it must be attested */                       \
    X(RUNG_RULE_SEED, 14, "attested_seed")                                                         \
    X(RUNG_RULE_REPLAY, 15, "attested_replay")                                                     \
    X(RUNG_RULE_TOP, 16, "top") /* the definition's `review`: among the first N */

/* What a rule of a definition does to a submission that breaks it. */
#define RUNG_ACTIONS(X)                                                                            \
    X(RUNG_ACTION_REFUSE, 0, "refuse") /* nothing changes */                                       \
    X(RUNG_ACTION_FLAG, 1, "flag")     /* it counts; the answer says so */                         \
    X(RUNG_ACTION_REVIEW, 2, "review") /* it counts when a moderator says so */

/* What a definition's `review` sends to a review beside its rules. */
#define RUNG_REVIEWS(X)                                                                            \
    X(RUNG_REVIEW_NONE, 0, "none")                                                                 \
    X(RUNG_REVIEW_TOP, 1, "top")             /* what would be among the first N */                 \
    X(RUNG_REVIEW_ANOMALIES, 2, "anomalies") /* what breaks a rule with the action flag */

/* How a review ends. */
#define RUNG_VERDICTS(X)                                                                           \
    X(RUNG_VERDICT_REJECT, 0, "reject")   /* the score never counts */                             \
    X(RUNG_VERDICT_PROMOTE, 1, "promote") /* it counts, at its own time */                         \
    X(RUNG_VERDICT_BAN, 2, "ban") /* the player is banned; none of their tentative scores counts */

#define RUNG__ENUMERATOR(name, value, word) name = value,
typedef enum rung_rule { RUNG_RULES(RUNG__ENUMERATOR) } rung_rule;
typedef enum rung_action { RUNG_ACTIONS(RUNG__ENUMERATOR) } rung_action;
typedef enum rung_review_kind { RUNG_REVIEWS(RUNG__ENUMERATOR) } rung_review_kind;
typedef enum rung_review_verdict { RUNG_VERDICTS(RUNG__ENUMERATOR) } rung_review_verdict;
#undef RUNG__ENUMERATOR
#define RUNG__ONE(name, value, word) +1
enum { RUNG_RULE_COUNT = 0 RUNG_RULES(RUNG__ONE) };
#undef RUNG__ONE

#define RUNG_BOARD_RULES_MAX 16
#define RUNG_RULE_PER_MIN_MS INT64_C(1000)
#define RUNG_RULE_PER_MAX_MS (INT64_C(366) * 86400000)

/* What the value of a rule is. */
typedef enum rung_measure {
    RUNG_MEASURE_NONE, /* the rule cannot be part of a definition */
    RUNG_MEASURE_SCORE,
    RUNG_MEASURE_INTEGER,
    RUNG_MEASURE_REAL,
    RUNG_MEASURE_GIVEN, /* something is there or not: the rule has no value */
} rung_measure;

/* A rule of a board's definition. */
typedef struct rung_board_rule {
    rung_rule rule;
    rung_action action;
    rung_value value; /* by rung_rule_measure() */
    int64_t per_ms;   /* of max_rate and submissions; 0 otherwise */
} rung_board_rule;

rung_measure rung_rule_measure(rung_rule rule);
/* May a definition contain it? */
bool rung_rule_is_definable(rung_rule rule);
static inline bool rung_rule_has_per(rung_rule rule) {
    return rule == RUNG_RULE_MAX_RATE || rule == RUNG_RULE_SUBMISSIONS;
}
/* Does it need to know a player's earlier submissions? */
static inline bool rung_rule_needs_form(rung_rule rule) {
    return rule >= RUNG_RULE_MAX_RATE && rule <= RUNG_RULE_FIRST_MAX;
}

/* The words by value, NULL at the end: for rung_word_find() of words.h. */
extern const char *const rung_rule_words[];
extern const char *const rung_action_words[];
extern const char *const rung_verdict_words[];
extern const char *const rung_outcome_words[]; /* the verdicts of an expired review */

#endif
