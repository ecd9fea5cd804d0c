/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about sorted sets. Long answers are read and written in pieces. */
#include "codec/resp_parser.h"
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 256, MEMBERS_PIECE = 64, LISTPACK_MAX = 128, KEPT_MIN = 20 };

/* ---- one member ---- */

static inline void put_score(rung__resp_call *call, bool found, double score) {
    if (found)
        rung_resp_double(call->out, score);
    else
        rung_resp_null(call->out);
}

void rung__resp_answer_zscore(rung__resp_call *call) {
    rung_zkey k;
    double score;
    bool found;
    if (!rung__resp_open_zset(call, call->argv[1], &k))
        return;
    rung_zkey_scores(&k, 1, &call->argv[2], &score, &found);
    put_score(call, found, score);
}

void rung__resp_answer_zmscore(rung__resp_call *call) {
    rung_zkey k;
    double scores[MEMBERS_PIECE];
    bool found[MEMBERS_PIECE];
    if (!rung__resp_open_zset(call, call->argv[1], &k))
        return;
    rung_resp_array(call->out, call->argc - 2);
    for (uint32_t at = 2; at < call->argc; at += MEMBERS_PIECE) {
        uint32_t n = call->argc - at < MEMBERS_PIECE ? call->argc - at : MEMBERS_PIECE;
        rung_zkey_scores(&k, n, call->argv + at, scores, found);
        for (uint32_t i = 0; i < n; i++)
            put_score(call, found[i], scores[i]);
    }
}

void rung__resp_answer_zrank(rung__resp_call *call) {
    rung_zkey k;
    uint32_t rank;
    double score;
    bool found, with_score = call->argc > 3;
    if (with_score && (call->argc > 4 || !rung__resp_is_word(call->argv[3], "withscore"))) {
        rung__resp_error_syntax(call);
        return;
    }
    if (!rung__resp_open_zset(call, call->argv[1], &k))
        return;
    rung_zkey_ranks(&k, 1, &call->argv[2], call->command->is_rev, &rank, &score, &found);
    if (!found && with_score) {
        rung_resp_null_array(call->out);
    } else if (!found) {
        rung_resp_null(call->out);
    } else if (with_score) {
        rung_resp_array(call->out, 2);
        rung_resp_int(call->out, rank);
        rung_resp_double(call->out, score);
    } else {
        rung_resp_int(call->out, rank);
    }
}

/* ---- counts ---- */

void rung__resp_answer_zcard(rung__resp_call *call) {
    rung_zkey k;
    if (rung__resp_open_zset(call, call->argv[1], &k))
        rung_resp_int(call->out, k.count);
}

/* ZCOUNT, ZLEXCOUNT */
void rung__resp_answer_zcount(rung__resp_call *call) {
    rung_range range = {0};
    rung_zkey k;
    uint32_t first, end;
    if (!rung__resp_take_bounds(call, call->argv[2], call->argv[3], &range) ||
        !rung__resp_open_zset(call, call->argv[1], &k))
        return;
    rung_zkey_range(&k, &range, false, &first, &end);
    rung_resp_int(call->out, end - first);
}

/* ---- rows ---- */

/* RESP3 has a pair for each row, RESP2 one after the other. */
static void rows_header(rung__resp_call *call, uint64_t count, bool with_scores) {
    rung_resp_array(call->out, with_scores && call->out->version == 2 ? count * 2 : count);
}

static void put_rows(rung__resp_call *call, uint32_t n, const rung_zkey_row *rows,
                     bool with_scores) {
    for (uint32_t i = 0; i < n; i++)
        if (with_scores)
            rung_resp_row(call->out, rows[i].member, rows[i].score);
        else
            rung_resp_bulk(call->out, rows[i].member);
    rung__resp_spill(call);
}

/* `count` rows from index `start` on, counted in the direction. */
static void emit_rows(rung__resp_call *call, const rung_zkey *k, uint32_t start, uint32_t count,
                      bool rev, bool with_scores) {
    rung_zkey_row rows[PIECE];
    rows_header(call, count, with_scores);
    while (count) {
        uint32_t n = rung_zkey_rows(k, start, count < PIECE ? count : PIECE, rev, rows);
        put_rows(call, n, rows, with_scores);
        if (!n)
            return;
        start += n;
        count -= n;
    }
}

void rung__resp_answer_zrange(rung__resp_call *call) {
    rung__resp_range_args args;
    rung_zkey k;
    uint32_t first, end;
    if (rung__resp_cache_find(call) || !rung__resp_take_range(call, 1, &args) ||
        !rung__resp_open_zset(call, call->argv[1], &k))
        return;
    size_t mark = call->out->len;
    rung_zkey_range(&k, &args.range, args.rev, &first, &end);
    uint32_t count = end - first, start = args.rev ? k.count - end : first;
    if (args.has_limit) {
        uint32_t skip = args.offset < 0 || args.offset > count ? count : (uint32_t)args.offset;
        count -= skip;
        start += skip;
        if (args.limit >= 0 && args.limit < count)
            count = (uint32_t)args.limit;
    }
    bool may_keep =
        k.kind == RUNG_ZKEY_ZSET && !k.has_expiry && count >= KEPT_MIN && count <= PIECE;
    bool may_spill = call->may_spill;
    call->may_spill &= !may_keep; /* the cache needs the whole reply */
    emit_rows(call, &k, start, count, args.rev, args.with_scores);
    call->may_spill = may_spill;
    if (may_keep)
        rung__resp_cache_keep(call, mark);
}

/* ZPOPMIN key 0 */
void rung__resp_answer_zpop_none(rung__resp_call *call) {
    rung_zkey k;
    if (rung__resp_open_zset(call, call->argv[1], &k))
        rung_resp_array(call->out, 0);
}

/* ---- random members ---- */

static void random_rows(rung__resp_call *call, const rung_zkey *k, uint32_t count,
                        bool with_scores) {
    rung_zkey_row row;
    for (uint32_t i = 0; i < count; i++) {
        rung_zkey_nth(k, (uint32_t)(rung__resp_random(call->r) % k->count), &row);
        put_rows(call, 1, &row, with_scores);
    }
}

/* `count` different rows, every choice equally likely: many by Knuth's algorithm S, few by Floyd's, which remembers
 * those chosen. */
static void choose_rows(rung__resp_call *call, const rung_zkey *k, uint32_t count,
                        bool with_scores) {
    rung_zkey_row row;
    uint32_t left = count;
    for (uint32_t i = 0; i < k->count && left; i++) {
        if (rung__resp_random(call->r) % (k->count - i) >= left)
            continue;
        rung_zkey_nth(k, i, &row);
        put_rows(call, 1, &row, with_scores);
        left--;
    }
}

enum { CHOSEN_MAX = 256 };

static void choose_few(rung__resp_call *call, const rung_zkey *k, uint32_t count,
                       bool with_scores) {
    uint32_t chosen[CHOSEN_MAX];
    rung_zkey_row row;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t top = k->count - count + i;
        uint32_t pick = (uint32_t)(rung__resp_random(call->r) % ((uint64_t)top + 1));
        for (uint32_t j = 0; j < i; j++)
            if (chosen[j] == pick) {
                pick = top;
                break;
            }
        chosen[i] = pick;
        rung_zkey_nth(k, pick, &row);
        put_rows(call, 1, &row, with_scores);
    }
}

static void random_many(rung__resp_call *call, const rung_zkey *k, int64_t count,
                        bool with_scores) {
    if (!k->count || !count) {
        rung_resp_array(call->out, 0);
        return;
    }
    if (count < 0) {
        uint32_t n = -count > UINT32_MAX ? UINT32_MAX : (uint32_t)-count;
        rows_header(call, n, with_scores);
        random_rows(call, k, n, with_scores);
        return;
    }
    uint32_t n = count > k->count ? k->count : (uint32_t)count;
    if (n == k->count) {
        emit_rows(call, k, 0, n, false, with_scores);
        return;
    }
    rows_header(call, n, with_scores);
    if (n <= CHOSEN_MAX)
        choose_few(call, k, n, with_scores);
    else
        choose_rows(call, k, n, with_scores);
}

enum { RANDOM_MAX = 10000000 };

void rung__resp_answer_zrandmember(rung__resp_call *call) {
    rung_zkey k;
    rung_zkey_row row;
    int64_t count;
    if (call->argc == 2) {
        if (!rung__resp_open_zset(call, call->argv[1], &k))
            return;
        if (!k.count) {
            rung_resp_null(call->out);
            return;
        }
        rung_zkey_nth(&k, (uint32_t)(rung__resp_random(call->r) % k.count), &row);
        rung_resp_bulk(call->out, row.member);
        return;
    }
    if (!rung__resp_take_integer(call, call->argv[2], &count))
        return;
    bool with_scores = call->argc == 4;
    if (call->argc > 4 || (with_scores && !rung__resp_is_word(call->argv[3], "withscores"))) {
        rung__resp_error_syntax(call);
        return;
    }
    if (count < -RANDOM_MAX || count == INT64_MIN ||
        (with_scores && (count < INT64_MIN / 2 || count > INT64_MAX / 2))) {
        rung__resp_error(call, "ERR value is out of range");
        return;
    }
    uint64_t wanted = count < 0 ? (uint64_t)-count : (uint64_t)count;
    if (!rung__resp_open_zset(call, call->argv[1], &k))
        return;
    if (count > 0 && wanted > k.count)
        wanted = k.count;
    if (!k.count || rung__resp_afford(call, wanted)) {
        random_many(call, &k, count, with_scores);
        rung__resp_worked(call->r, wanted);
    }
}

/* ---- scanning ---- */

/* As in Redis, a small set comes whole, whatever COUNT says. */
void rung__resp_answer_zscan(rung__resp_call *call) {
    rung__resp_scan_args args;
    rung_zkey k;
    rung_zkey_row rows[LISTPACK_MAX];
    if (!rung__resp_take_cursor(call, 2, &args) || !rung__resp_open_zset(call, call->argv[1], &k))
        return;
    if (k.kind != RUNG_ZKEY_NONE && !rung__resp_take_scan(call, 3, false, &args))
        return;
    uint64_t next = 0;
    uint32_t n = 0;
    if (k.count <= LISTPACK_MAX)
        n = k.count ? rung_zkey_rows(&k, 0, k.count, false, rows) : 0;
    else
        next = rung_zkey_scan(&k, args.cursor,
                              args.count < LISTPACK_MAX ? args.count : LISTPACK_MAX, rows, &n);
    n = rung__resp_scan_filter(&args, rows, n);
    rung__resp_put_cursor(call, next);
    rung_resp_array(call->out, n * 2);
    for (uint32_t i = 0; i < n; i++) {
        char score[RUNG_RESP_DOUBLE_MAX];
        rung_resp_bulk(call->out, rows[i].member);
        rung_resp_bulk(call->out,
                       rung_slice_of(score, rung_resp_format_double(rows[i].score, score)));
    }
}

/* ---- several questions ---- */

/* By index, and too short for the cache of replies? */
static bool parse_short(const rung_slice *argv, rung_range *range) {
    return rung_resp_integer(argv[2], &range->start) && rung_resp_integer(argv[3], &range->stop) &&
           (range->start < 0) == (range->stop < 0) && range->stop - range->start < KEPT_MIN - 1;
}

/* A page by ZRANGE or ZREVRANGE: how it counts and what it shows. */
typedef struct page_form {
    bool rev, with_scores;
} page_form;

/* `is_rev`: the command is ZREVRANGE. false: it has other options, or is long. */
static bool parse_page(const rung_zkey *k, const rung_slice *argv, uint32_t argc, bool is_rev,
                       page_form *form, rung_zkey_page *page) {
    rung_range range = {.by = RUNG_RANGE_RANK};
    uint32_t first, end;
    *form = (page_form){.rev = is_rev};
    for (uint32_t i = 4; i < argc; i++)
        if (rung__resp_is_word(argv[i], "withscores"))
            form->with_scores = true;
        else if (!is_rev && rung__resp_is_word(argv[i], "rev"))
            form->rev = true;
        else
            return false;
    if (!parse_short(argv, &range))
        return false;
    rung_zkey_range(k, &range, form->rev, &first, &end);
    *page = (rung_zkey_page){form->rev ? k->count - end : first, end - first};
    return true;
}

enum { PAGES = 16 };

/* As many pages as count in one direction, at most PAGES. */
static uint32_t answer_pages(rung__resp_call *call, const rung_zkey *k, uint32_t n,
                             const rung_slice *const *argvs) {
    page_form forms[PAGES];
    rung_zkey_page pages[PAGES];
    rung_zkey_row rows[PAGES * KEPT_MIN], *row = rows;
    uint32_t count = 0;
    bool is_rev = call->command->is_rev;
    while (count < n && count < PAGES &&
           parse_page(k, argvs[count], call->argc, is_rev, &forms[count], &pages[count]) &&
           forms[count].rev == forms[0].rev)
        count++;
    if (count)
        rung_zkey_pages(k, count, pages, forms[0].rev, rows);
    for (uint32_t i = 0; i < count; i++) {
        rows_header(call, pages[i].count, forms[i].with_scores);
        put_rows(call, pages[i].count, row, forms[i].with_scores);
        row += pages[i].count;
    }
    return count;
}

static uint32_t answer_counts(rung__resp_call *call, const rung_zkey *k, uint32_t n,
                              const rung_slice *const *argvs) {
    rung_range ranges[MEMBERS_PIECE];
    uint32_t counts[MEMBERS_PIECE], count = 0;
    for (; count < n && count < MEMBERS_PIECE; count++) {
        ranges[count] = (rung_range){0};
        if (!rung__resp_parse_score_range(argvs[count][2], argvs[count][3], &ranges[count]))
            break;
    }
    if (count)
        rung_zkey_counts(k, count, ranges, counts);
    for (uint32_t i = 0; i < count; i++)
        rung_resp_int(call->out, counts[i]);
    return count;
}

static uint32_t answer_members(rung__resp_call *call, const rung_zkey *k, uint32_t n,
                               const rung_slice *const *argvs) {
    rung_slice members[MEMBERS_PIECE];
    double scores[MEMBERS_PIECE];
    uint32_t ranks[MEMBERS_PIECE];
    bool found[MEMBERS_PIECE], is_rank = call->command->answer == rung__resp_answer_zrank;
    if (!n)
        return 0;
    n = n < MEMBERS_PIECE ? n : MEMBERS_PIECE;
    for (uint32_t i = 0; i < n; i++)
        members[i] = argvs[i][2];
    if (is_rank)
        rung_zkey_ranks(k, n, members, call->command->is_rev, ranks, NULL, found);
    else
        rung_zkey_scores(k, n, members, scores, found);
    for (uint32_t i = 0; i < n; i++)
        if (found[i] && is_rank)
            rung_resp_int(call->out, ranks[i]);
        else
            put_score(call, found[i], scores[i]);
    return n;
}

bool rung__resp_can_batch(const rung__resp_command *c, const rung_slice *argv, uint32_t argc) {
    rung_range range;
    if (c->answer == rung__resp_answer_zscore || c->answer == rung__resp_answer_zrank)
        return argc == 3;
    if (c->answer == rung__resp_answer_zcount)
        return argc == 4;
    return argc >= 4 && argc <= 6 && parse_short(argv, &range);
}

uint32_t rung__resp_answer_batch(rung__resp_call *call, uint32_t n,
                                 const rung_slice *const *argvs) {
    rung_zkey k;
    rung_zkey_open(call->state, call->argv[1], call->now_ms, &k);
    if (k.kind == RUNG_ZKEY_SET || k.kind == RUNG_ZKEY_SKETCH)
        return 0;
    if (call->command->answer == rung__resp_answer_zrange)
        return answer_pages(call, &k, n, argvs);
    return call->command->answer == rung__resp_answer_zcount ? answer_counts(call, &k, n, argvs)
                                                             : answer_members(call, &k, n, argvs);
}

/* ---- several keys ---- */

/* May they be combined? */
static bool afford_combine(rung__resp_call *call, rung_combine_keys combine, uint32_t n,
                           const rung_zkey *keys) {
    rung_zkey_sizes sizes = {0};
    for (uint32_t i = 0; i < n; i++)
        rung_zkey_sizes_add(&sizes, keys[i].count);
    uint64_t work = rung_zkeys_work(combine, &sizes);
    if (!rung__resp_afford(call, work))
        return false;
    rung__resp_worked(call->r, work);
    return true;
}

/* A repeated key does not change the number of members that all keys have. */
static int compare_keys(const void *a, const void *b) {
    const rung_zkey *x = a, *y = b;
    if (x->ladder != y->ladder)
        return (uintptr_t)x->ladder < (uintptr_t)y->ladder ? -1 : 1;
    return ((uintptr_t)x->set > (uintptr_t)y->set) - ((uintptr_t)x->set < (uintptr_t)y->set);
}

static uint32_t drop_repeated(uint32_t n, rung_zkey *keys) {
    uint32_t kept = 0;
    qsort(keys, n, sizeof *keys, compare_keys);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || compare_keys(&keys[i], &keys[kept - 1]) != 0)
            keys[kept++] = keys[i];
    return kept;
}

static bool open_all(rung__resp_call *call, const rung__resp_combine_args *args,
                     rung_zkey **keys_out, size_t *bytes_out) {
    const rung_alloc *a = rung__resp_alloc(call);
    size_t bytes = args->count * (sizeof(rung_zkey) + sizeof(double));
    rung_zkey *keys = rung_alloc_get(a, bytes);
    if (!keys)
        return rung__resp_error_status(call, RUNG_ENOMEM, NULL);
    double *weights = (double *)(keys + args->count);
    for (uint32_t i = 0; i < args->count; i++) {
        rung_zkey_open(call->state, call->argv[args->first + i], call->now_ms, &keys[i]);
        weights[i] = rung__resp_weight(call, args, i);
    }
    *keys_out = keys;
    *bytes_out = bytes;
    return true;
}

void rung__resp_answer_zcombine(rung__resp_call *call) {
    rung__resp_combine_args args;
    rung_zkey *keys;
    size_t bytes;
    rung_zkey_list list = {0};
    rung_zkey_row rows[PIECE];
    if (!rung__resp_take_combine(call, 1, false, false, &args) ||
        !open_all(call, &args, &keys, &bytes))
        return;
    const double *weights = (const double *)(keys + args.count);
    if (!afford_combine(call, args.combine, args.count, keys)) {
        rung_alloc_free(rung__resp_alloc(call), keys, bytes);
        return;
    }
    rung_status st =
        rung_zkeys_combine(rung__resp_alloc(call), args.combine, args.aggregate, args.count, keys,
                           args.weights ? weights : NULL, UINT32_MAX, &list);
    rung_alloc_free(rung__resp_alloc(call), keys, bytes);
    if (st < 0) {
        rung__resp_error_status(call, st, NULL);
        return;
    }
    rows_header(call, list.count, args.with_scores);
    for (uint32_t at = 0, n; (n = rung_zkey_list_read(&list, at, PIECE, rows)) != 0; at += n)
        put_rows(call, n, rows, args.with_scores);
    rung_zkey_list_free(&list);
}

void rung__resp_answer_zintercard(rung__resp_call *call) {
    rung__resp_combine_args args;
    rung_zkey *keys;
    size_t bytes;
    if (!rung__resp_take_combine(call, 1, false, true, &args) ||
        !open_all(call, &args, &keys, &bytes))
        return;
    uint32_t n = drop_repeated(args.count, keys);
    if (afford_combine(call, RUNG_KEYS_INTER, n, keys))
        rung_resp_int(call->out,
                      (int64_t)rung_zkeys_intersect_count(n, keys, (uint64_t)args.limit));
    rung_alloc_free(rung__resp_alloc(call), keys, bytes);
}
