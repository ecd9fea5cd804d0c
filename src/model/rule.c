/* SPDX-License-Identifier: Apache-2.0 */
#include "model/rule.h"

#include <stddef.h>

#define WORD(name, value, word) [value] = (word),

const char *const rung_rule_words[] = {RUNG_RULES(WORD) NULL};
const char *const rung_action_words[] = {RUNG_ACTIONS(WORD) NULL};
const char *const rung_verdict_words[] = {RUNG_VERDICTS(WORD) NULL};
const char *const rung_outcome_words[] = {
    [RUNG_VERDICT_REJECT] = "reject", [RUNG_VERDICT_PROMOTE] = "promote", [2] = NULL};

rung_measure rung_rule_measure(rung_rule rule) {
    switch (rule) {
    case RUNG_RULE_MIN:
    case RUNG_RULE_MAX:
    case RUNG_RULE_STEP:
    case RUNG_RULE_FIRST_MIN:
    case RUNG_RULE_FIRST_MAX:
        return RUNG_MEASURE_SCORE;
    case RUNG_RULE_SUBMISSIONS:
    case RUNG_RULE_TOP:
        return RUNG_MEASURE_INTEGER;
    case RUNG_RULE_MAX_RATE:
    case RUNG_RULE_Z:
    case RUNG_RULE_Z_PLAYER:
        return RUNG_MEASURE_REAL;
    case RUNG_RULE_DURATION:
    case RUNG_RULE_SEED:
    case RUNG_RULE_REPLAY:
        return RUNG_MEASURE_GIVEN;
    case RUNG_RULE_NONE:
    case RUNG_RULE_RATE:
    case RUNG_RULE_BANNED:
    case RUNG_RULE_WINDOW:
        break;
    }
    return RUNG_MEASURE_NONE;
}

bool rung_rule_is_definable(rung_rule rule) {
    return rung_rule_measure(rule) != RUNG_MEASURE_NONE && rule != RUNG_RULE_TOP;
}
