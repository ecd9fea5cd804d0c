/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h - numbers, ranges and patterns as Redis reads them. Each failure is answered in Redis's words. */
#ifndef RUNG_FRONT_RESP_ARGUMENTS_H
#define RUNG_FRONT_RESP_ARGUMENTS_H

#include "front/resp/reply.h"
#include "model/text.h"

/* Is it that word, in any case? `lower` is in lower case. Most other words differ in length. */
bool rung__resp_is_same_word(const char *text, const char *lower, size_t len);
static inline bool rung__resp_is_word(rung_slice text, const char *lower) {
    return text.len == strlen(lower) && rung__resp_is_same_word(text.ptr, lower, text.len);
}

bool rung__resp_is_one_of(rung_slice text, const char *const *lower); /* NULL at the end */

/* Options, which may stand among numbers, begin with a letter. */
static inline bool rung__resp_is_like_number(rung_slice word) {
    return word.len && (word.ptr[0] | 0x20) < 'a';
}

/* Without a reply. Most numbers are a few digits, which are not worth a call. */
bool rung__resp_parse_real(rung_slice text, double *value_out);
static inline bool rung__resp_parse_double(rung_slice text, double *value_out) {
    int64_t plain;
    if (!rung_text_parse_plain(text, &plain))
        return rung__resp_parse_real(text, value_out);
    *value_out = (double)plain;
    return true;
}
bool rung__resp_parse_score_range(rung_slice min, rung_slice max, rung_range *range);

/* With a reply when false. */
static inline bool rung__resp_take_double(rung__resp_call *call, rung_slice text, const char *error,
                                          double *value_out) {
    if (rung__resp_parse_double(text, value_out))
        return true;
    rung__resp_error(call, error);
    return false;
}
bool rung__resp_take_integer(rung__resp_call *call, rung_slice text, int64_t *value_out);
bool rung__resp_take_between(rung__resp_call *call, rung_slice text, int64_t low, int64_t high,
                             const char *error, int64_t *value_out);

/* The ends of a range by index, score or name, as the command says. */
bool rung__resp_take_bounds(rung__resp_call *call, rung_slice min, rung_slice max,
                            rung_range *range);

/* The arguments of ZRANGE and its variants. */
typedef struct rung__resp_range_args {
    rung_range range;
    bool rev, with_scores, has_limit;
    int64_t offset, limit;
} rung__resp_range_args;

/* From argv[source] on: source, min, max, options. */
bool rung__resp_take_range(rung__resp_call *call, uint32_t source, rung__resp_range_args *out);

/* numkeys key [key ...] [WEIGHTS ...] [AGGREGATE ...] [WITHSCORES] [LIMIT n] from argv[at] on. */
typedef struct rung__resp_combine_args {
    rung_combine_keys combine;
    rung_aggregate aggregate;
    uint32_t count, first; /* keys */
    uint32_t weights;      /* where they begin; 0: none */
    bool with_scores;
    int64_t limit;
} rung__resp_combine_args;
bool rung__resp_take_combine(rung__resp_call *call, uint32_t at, bool is_store, bool is_count,
                             rung__resp_combine_args *out);
/* Weight i; it was checked by rung__resp_take_combine(). */
double rung__resp_weight(const rung__resp_call *call, const rung__resp_combine_args *args,
                         uint32_t i);

/* Redis's glob: * ? [a-z] [^a] \x. */
enum { RUNG__PATTERN_MAX = 256 }; /* names have half of it; a longer pattern matches nothing */
/* Adds to *steps (may be NULL) what it took: up to pattern x text. */
bool rung__resp_glob(rung_slice pattern, rung_slice text, uint64_t *steps);
/* false: it is longer, and the error has been written. */
bool rung__resp_take_pattern(rung__resp_call *call, rung_slice pattern);

/* A cursor at argv[at]; then [MATCH pattern] [COUNT n] [TYPE type] from argv[at] on. Redis looks at the key between. */
typedef struct rung__resp_scan_args {
    uint64_t cursor;
    uint32_t count;
    bool has_pattern, has_type;
    rung_slice pattern, type;
} rung__resp_scan_args;
bool rung__resp_take_cursor(rung__resp_call *call, uint32_t at, rung__resp_scan_args *out);
bool rung__resp_take_scan(rung__resp_call *call, uint32_t at, bool allow_type,
                          rung__resp_scan_args *out);
/* Keep the rows whose members match the pattern; returns how many. */
uint32_t rung__resp_scan_filter(const rung__resp_scan_args *args, rung_zkey_row *rows, uint32_t n);

#endif
