/* SPDX-License-Identifier: Apache-2.0 */
/* The checks are in the order of Redis 7, since the first failure is reported. */
#include "front/resp/arguments.h"

#include "base/ascii.h"
#include "codec/resp_parser.h"

#include <math.h>

bool rung__resp_is_same_word(const char *text, const char *word, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (rung_lower(text[i]) != word[i])
            return false;
    return true;
}

bool rung__resp_is_one_of(rung_slice text, const char *const *words) {
    while (*words && !rung__resp_is_word(text, *words))
        words++;
    return *words != NULL;
}

/* ---- numbers ---- */

/* Redis refuses a number that underflows to 0: strtod reports ERANGE. */
static bool is_lost(rung_slice text, double value) {
    if (value != 0)
        return false;
    for (size_t i = 0; i < text.len && rung_lower(text.ptr[i]) != 'e'; i++)
        if (text.ptr[i] >= '1' && text.ptr[i] <= '9')
            return true;
    return false;
}

bool rung__resp_parse_real(rung_slice text, double *value_out) {
    double value;
    if (!text.len || rung_text_parse_real(text, &value, NULL) < 0 || is_lost(text, value))
        return false;
    *value_out = value;
    return true;
}

bool rung__resp_take_integer(rung__resp_call *call, rung_slice text, int64_t *value_out) {
    return rung_resp_integer(text, value_out) ||
           rung__resp_error(call, "ERR value is not an integer or out of range");
}

bool rung__resp_take_between(rung__resp_call *call, rung_slice text, int64_t low, int64_t high,
                             const char *error, int64_t *value_out) {
    int64_t value;
    if (rung_resp_integer(text, &value) && value >= low && value <= high) {
        *value_out = value;
        return true;
    }
    return rung__resp_error(call, error);
}

/* ---- ranges ---- */

static bool parse_bound(rung_slice text, double *value_out, bool *is_open_out) {
    *is_open_out = text.len && text.ptr[0] == '(';
    if (*is_open_out)
        text = rung_slice_of(text.ptr + 1, text.len - 1);
    if (!text.len) { /* as in Redis, where strtod returns 0 */
        *value_out = 0;
        return true;
    }
    return rung_text_parse_real(text, value_out, NULL) >= 0;
}

bool rung__resp_parse_score_range(rung_slice min, rung_slice max, rung_range *range) {
    range->by = RUNG_RANGE_SCORE;
    return parse_bound(min, &range->min, &range->min_is_open) &&
           parse_bound(max, &range->max, &range->max_is_open);
}

static bool parse_lex(rung_slice text, rung_lex_bound *out) {
    if (!text.len)
        return false;
    char c = text.ptr[0];
    bool is_end = c == '-' || c == '+';
    if ((is_end && text.len > 1) || (!is_end && c != '(' && c != '['))
        return false;
    out->kind = c == '-'   ? RUNG_LEX_LOWEST
                : c == '+' ? RUNG_LEX_HIGHEST
                : c == '(' ? RUNG_LEX_OPEN
                           : RUNG_LEX_CLOSED;
    out->text = is_end ? (rung_slice){NULL, 0} : rung_slice_of(text.ptr + 1, text.len - 1);
    return out->text.len <= RUNG_ZCOMMAND_BOUND_MAX;
}

static bool take_bounds(rung__resp_call *call, rung_slice min, rung_slice max, rung_range *range) {
    if (range->by == RUNG_RANGE_RANK)
        return rung__resp_take_integer(call, min, &range->start) &&
               rung__resp_take_integer(call, max, &range->stop);
    if (range->by == RUNG_RANGE_SCORE)
        return rung__resp_parse_score_range(min, max, range) ||
               rung__resp_error(call, "ERR min or max is not a float");
    return (parse_lex(min, &range->lex_min) && parse_lex(max, &range->lex_max)) ||
           rung__resp_error(call, "ERR min or max not valid string range item");
}

bool rung__resp_take_bounds(rung__resp_call *call, rung_slice min, rung_slice max,
                            rung_range *range) {
    range->by = call->command->by;
    return take_bounds(call, min, max, range);
}

static bool take_range_options(rung__resp_call *call, uint32_t at, rung__resp_range_args *out) {
    const rung__resp_command *c = call->command;
    bool may_say_by = c->has_order_options, is_store = c->flags & RUNG__WRITE;
    for (uint32_t i = at; i < call->argc; i++) {
        rung_slice word = call->argv[i];
        if (!is_store && rung__resp_is_word(word, "withscores")) {
            out->with_scores = true;
        } else if (rung__resp_is_word(word, "limit") && i + 2 < call->argc) {
            if (!rung__resp_take_integer(call, call->argv[i + 1], &out->offset) ||
                !rung__resp_take_integer(call, call->argv[i + 2], &out->limit))
                return false;
            i += 2;
        } else if (c->has_order_options && rung__resp_is_word(word, "rev")) {
            out->rev = true;
        } else if (may_say_by && rung__resp_is_word(word, "bylex")) {
            out->range.by = RUNG_RANGE_LEX;
            may_say_by = false;
        } else if (may_say_by && rung__resp_is_word(word, "byscore")) {
            out->range.by = RUNG_RANGE_SCORE;
            may_say_by = false;
        } else {
            return rung__resp_error_syntax(call);
        }
    }
    return true;
}

bool rung__resp_take_range(rung__resp_call *call, uint32_t source, rung__resp_range_args *out) {
    *out = (rung__resp_range_args){
        .limit = -1, .rev = call->command->is_rev, .range.by = call->command->by};
    if (!take_range_options(call, source + 3, out))
        return false;
    if (out->limit != -1 && out->range.by == RUNG_RANGE_RANK)
        return rung__resp_error(
            call, "ERR syntax error, LIMIT is only supported in combination with either "
                  "BYSCORE or BYLEX");
    if (out->with_scores && out->range.by == RUNG_RANGE_LEX)
        return rung__resp_error(
            call, "ERR syntax error, WITHSCORES not supported in combination with BYLEX");
    out->has_limit = out->range.by != RUNG_RANGE_RANK && (out->limit != -1 || out->offset != 0);
    bool is_swapped = out->rev && out->range.by != RUNG_RANGE_RANK;
    return take_bounds(call, call->argv[source + (is_swapped ? 2 : 1)],
                       call->argv[source + (is_swapped ? 1 : 2)], &out->range);
}

/* ---- several keys ---- */

static bool take_weights(rung__resp_call *call, uint32_t at, const rung__resp_combine_args *args) {
    double weight;
    for (uint32_t i = 0; i < args->count; i++)
        if (!rung__resp_take_double(call, call->argv[at + i], "ERR weight value is not a float",
                                    &weight))
            return false;
    return true;
}

static bool take_aggregate(rung__resp_call *call, rung_slice word, rung_aggregate *out) {
    if (rung__resp_is_word(word, "sum"))
        *out = RUNG_AGGREGATE_SUM;
    else if (rung__resp_is_word(word, "min"))
        *out = RUNG_AGGREGATE_MIN;
    else if (rung__resp_is_word(word, "max"))
        *out = RUNG_AGGREGATE_MAX;
    else {
        return rung__resp_error_syntax(call);
    }
    return true;
}

/* The option at argv[i]; returns the place behind it, 0 after an error. */
static uint32_t take_combine_option(rung__resp_call *call, uint32_t i, bool is_store, bool is_count,
                                    rung__resp_combine_args *out) {
    rung_slice word = call->argv[i];
    uint32_t remaining = call->argc - i;
    bool may_weigh = out->combine != RUNG_KEYS_DIFF && !is_count;
    if (may_weigh && remaining >= out->count + 1 && rung__resp_is_word(word, "weights")) {
        out->weights = i + 1;
        return take_weights(call, i + 1, out) ? i + 1 + out->count : 0;
    }
    if (may_weigh && remaining >= 2 && rung__resp_is_word(word, "aggregate"))
        return take_aggregate(call, call->argv[i + 1], &out->aggregate) ? i + 2 : 0;
    if (!is_store && !is_count && rung__resp_is_word(word, "withscores")) {
        out->with_scores = true;
        return i + 1;
    }
    if (is_count && remaining >= 2 && rung__resp_is_word(word, "limit"))
        return rung__resp_take_between(call, call->argv[i + 1], 0, INT64_MAX,
                                       "ERR LIMIT can't be negative", &out->limit)
                   ? i + 2
                   : 0;
    rung__resp_error_syntax(call);
    return 0;
}

bool rung__resp_take_combine(rung__resp_call *call, uint32_t at, bool is_store, bool is_count,
                             rung__resp_combine_args *out) {
    *out = (rung__resp_combine_args){.combine = call->command->combine, .first = at + 1};
    int64_t count;
    if (!rung__resp_take_integer(call, call->argv[at], &count))
        return false;
    if (count < 1)
        return rung__resp_error_of(call, "ERR at least 1 input key is needed for '",
                                   rung_slice_str(call->command->name), "' command");
    if (count > call->argc - (at + 1))
        return rung__resp_error_syntax(call);
    out->count = (uint32_t)count;
    for (uint32_t i = out->first + out->count; i < call->argc;) {
        i = take_combine_option(call, i, is_store, is_count, out);
        if (!i)
            return false;
    }
    return true;
}

double rung__resp_weight(const rung__resp_call *call, const rung__resp_combine_args *args,
                         uint32_t i) {
    double weight = 1;
    if (args->weights && !rung__resp_parse_double(call->argv[args->weights + i], &weight))
        weight = 1;
    return weight;
}

/* ---- patterns ---- */

/* One character class at pattern[*p] ('['); steps behind it. */
static bool class_matches(rung_slice pattern, size_t *p, unsigned char c) {
    size_t i = *p + 1;
    bool is_not = i < pattern.len && pattern.ptr[i] == '^', is_match = false;
    i += is_not;
    for (; i < pattern.len && pattern.ptr[i] != ']'; i++) {
        unsigned char from = (unsigned char)pattern.ptr[i];
        if (from == '\\' && i + 1 < pattern.len) {
            is_match |= (unsigned char)pattern.ptr[++i] == c;
        } else if (i + 2 < pattern.len && pattern.ptr[i + 1] == '-') {
            unsigned char to = (unsigned char)pattern.ptr[i + 2];
            i += 2;
            is_match |= from <= to ? c >= from && c <= to : c >= to && c <= from;
        } else {
            is_match |= from == c;
        }
    }
    *p = i < pattern.len ? i + 1 : i;
    return is_match != is_not;
}

/* Does the single element at pattern[*p], not a star, match `c`? Steps behind it. */
static bool one_matches(rung_slice pattern, size_t *p, unsigned char c) {
    switch (pattern.ptr[*p]) {
    case '?':
        ++*p;
        return true;
    case '[':
        return class_matches(pattern, p, c);
    case '\\':
        if (*p + 1 < pattern.len)
            ++*p;
        break;
    default:
        break;
    }
    return (unsigned char)pattern.ptr[(*p)++] == c;
}

/* Only the last star is tried again with more text: O(pattern x text). */
bool rung__resp_glob(rung_slice pattern, rung_slice text, uint64_t *steps) {
    uint64_t unwanted = 0;
    size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
    steps = steps ? steps : &unwanted;
    if (pattern.len > RUNG__PATTERN_MAX)
        return false;
    while (t < text.len) {
        size_t from = p;
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = ++p;
            star_text = t;
            ++*steps;
            continue;
        }
        bool is_match = p < pattern.len && one_matches(pattern, &p, (unsigned char)text.ptr[t]);
        *steps += 1 + p - from;
        if (is_match) {
            t++;
            continue;
        }
        if (star == SIZE_MAX)
            return false;
        p = star;
        t = ++star_text;
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

bool rung__resp_take_pattern(rung__resp_call *call, rung_slice pattern) {
    return pattern.len <= RUNG__PATTERN_MAX ||
           rung__resp_error(call, "ERR the pattern is too long: at most 256 bytes");
}

bool rung__resp_take_cursor(rung__resp_call *call, uint32_t at, rung__resp_scan_args *out) {
    int64_t value;
    *out = (rung__resp_scan_args){.count = 10};
    if (!rung_resp_integer(call->argv[at], &value) || value < 0)
        return rung__resp_error(call, "ERR invalid cursor");
    out->cursor = (uint64_t)value;
    return true;
}

bool rung__resp_take_scan(rung__resp_call *call, uint32_t at, bool allow_type,
                          rung__resp_scan_args *out) {
    int64_t value;
    for (uint32_t i = at; i < call->argc; i += 2) {
        rung_slice word = call->argv[i];
        bool has_value = i + 1 < call->argc;
        if (has_value && rung__resp_is_word(word, "count")) {
            if (!rung__resp_take_integer(call, call->argv[i + 1], &value))
                return false;
            if (value < 1)
                return rung__resp_error_syntax(call);
            out->count = value > 100000 ? 100000 : (uint32_t)value;
        } else if (has_value && rung__resp_is_word(word, "match")) {
            out->has_pattern = true;
            out->pattern = call->argv[i + 1];
            if (!rung__resp_take_pattern(call, out->pattern))
                return false;
        } else if (has_value && allow_type && rung__resp_is_word(word, "type")) {
            out->has_type = true;
            out->type = call->argv[i + 1];
        } else {
            return rung__resp_error_syntax(call);
        }
    }
    return true;
}

uint32_t rung__resp_scan_filter(const rung__resp_scan_args *args, rung_zkey_row *rows, uint32_t n) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!args->has_pattern || rung__resp_glob(args->pattern, rows[i].member, NULL))
            rows[kept++] = rows[i];
    return kept;
}
