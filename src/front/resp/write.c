/* SPDX-License-Identifier: Apache-2.0 */
/* Changes: from arguments to a command of the log, and from what became of it to a reply. What Redis
 * checks before it looks at the key is checked here, the rest when the command is applied. */
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/server.h"
#include "service/submit.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_KEPT = 4096 };

/* What `build` tells `reply` in call->style: of ZADD; of pops. */
enum { STYLE_INCR = 1, STYLE_CH = 2 };
enum { POP_COUNTED = 1, POP_KEYED = 2, POP_NESTED = 4 };

/* Items of the command being built; valid until the next is built. NULL: no memory, and the error has been written. */
static rung_zcommand_item *reserve_items(rung__resp_call *call, uint32_t count) {
    rung_buffer *b = &call->r->items;
    rung_buffer_reset(b, ITEMS_KEPT * sizeof(rung_zcommand_item));
    if (rung_buffer_reserve(b, count * sizeof(rung_zcommand_item)))
        return (rung_zcommand_item *)(void *)b->data;
    rung__resp_error_status(call, RUNG_ENOMEM, NULL);
    return NULL;
}

/* The same with `count` arguments from argv[first] on as names. */
static rung_zcommand_item *name_items(rung__resp_call *call, uint32_t first, uint32_t count) {
    rung_zcommand_item *items = reserve_items(call, count);
    for (uint32_t i = 0; items && i < count; i++)
        items[i] = (rung_zcommand_item){.name = call->argv[first + i]};
    return items;
}

/* ---- members with scores ---- */

static inline bool take_score(rung__resp_call *call, rung_slice text, double *score_out) {
    return rung__resp_take_double(call, text, "ERR value is not a valid float", score_out);
}

/* The flag of NX, XX, GT or LT; 0: another word. */
static uint32_t condition_of(rung_slice word) {
    return rung__resp_is_word(word, "nx")   ? RUNG_IF_NX
           : rung__resp_is_word(word, "xx") ? RUNG_IF_XX
           : rung__resp_is_word(word, "gt") ? RUNG_IF_GT
           : rung__resp_is_word(word, "lt") ? RUNG_IF_LT
                                            : 0;
}

static bool take_zadd_flags(rung__resp_call *call, uint32_t *at, uint32_t *flags) {
    for (; *at < call->argc && !rung__resp_is_like_number(call->argv[*at]); ++*at) {
        rung_slice word = call->argv[*at];
        uint32_t flag = rung__resp_is_word(word, "incr") ? RUNG_ZCOMMAND_INCR : condition_of(word);
        if (rung__resp_is_word(word, "ch"))
            call->style |= STYLE_CH;
        else if (!flag)
            break;
        *flags |= flag;
    }
    uint32_t count = call->argc - *at;
    if (count % 2 || !count)
        return rung__resp_error_syntax(call);
    if (!*flags)
        return true;
    if (*flags & RUNG_IF_NX && *flags & RUNG_IF_XX)
        return rung__resp_error(call, "ERR XX and NX options at the same time are not compatible");
    bool gt = *flags & RUNG_IF_GT, lt = *flags & RUNG_IF_LT, nx = *flags & RUNG_IF_NX;
    if ((gt && nx) || (lt && nx) || (gt && lt))
        return rung__resp_error(
            call, "ERR GT, LT, and/or NX options at the same time are not compatible");
    if (*flags & RUNG_ZCOMMAND_INCR && count > 2)
        return rung__resp_error(call, "ERR INCR option supports a single increment-element pair");
    return true;
}

static inline rung_score_event score_of(const rung__resp_call *call, uint32_t flags, double value,
                                        rung_slice member) {
    return (rung_score_event){.board = call->argv[1],
                              .player = member,
                              .when = (uint8_t)(RUNG_SCORE_KEY | (flags & RUNG_IF_MASK)),
                              .is_delta = flags & RUNG_ZCOMMAND_INCR,
                              .value_count = 1,
                              .values = {{.d = value}},
                              .types = {RUNG_SCORE_REAL}};
}

/* Each member is a submission of its own, although they share an event. */
static bool may_submit(rung__resp_call *call, uint32_t flags, uint32_t count,
                       const rung_zcommand_item *items) {
    rung_access_answer why;
    for (uint32_t i = 0; i < count; i++) {
        rung_score_event e = score_of(call, flags, items[i].number, items[i].name);
        rung_status st =
            rung_submit_check(&call->r->service, &call->s->who, &e, call->now_ms, &why);
        if (st < 0)
            return rung__resp_error_submission(call, st, &why);
    }
    return true;
}

/* ZADD key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...], ZINCRBY key score member
 *
 * One member is a score, and consecutive scores form a group; in a transaction it is a command on keys like others. */
bool rung__resp_build_zadd(rung__resp_call *call, rung__resp_change *out) {
    bool is_incr = call->command->is_incr;
    bool is_plain = is_incr || (call->argc == 4 && rung__resp_is_like_number(call->argv[2]));
    uint32_t at = 2, flags = is_incr ? RUNG_ZCOMMAND_INCR : 0;
    if (!is_plain && !take_zadd_flags(call, &at, &flags))
        return false;
    if (flags & RUNG_ZCOMMAND_INCR)
        call->style |= STYLE_INCR;
    uint32_t count = (call->argc - at) / 2;
    if (out->score && count == 1) {
        double value;
        if (!take_score(call, call->argv[at], &value))
            return false;
        *out->score = score_of(call, flags, value, call->argv[at + 1]);
        out->kind = RUNG__CHANGE_SCORE;
        return true;
    }
    rung_zcommand_item *items = reserve_items(call, count);
    if (!items)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!take_score(call, call->argv[at + 2 * i], &items[i].number))
            return false;
        items[i].name = call->argv[at + 2 * i + 1];
    }
    if (!may_submit(call, flags, count, items))
        return false;
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_ZADD,
                                .key = call->argv[1],
                                .flags = flags,
                                .item_count = count,
                                .items = items};
    return true;
}

void rung__resp_reply_zadd(rung__resp_call *call, const rung_zkey_result *result) {
    if (!rung__resp_is_fine(call, result))
        return;
    if (!(call->style & STYLE_INCR))
        rung_resp_int(call->out,
                      (int64_t)(result->count + (call->style & STYLE_CH ? result->updated : 0)));
    else if (result->has_score)
        rung_resp_double(call->out, result->score);
    else
        rung_resp_null(call->out);
}

static void score_refused(rung__resp_call *call, rung_slice key, rung_status st,
                          const rung_err *err) {
    rung_zkey k;
    rung_zkey_open(call->state, key, rung_hub_now(call->r->hub), &k);
    if (st == RUNG_EUNSUPPORTED)
        rung__resp_error_type(call);
    else if (st == RUNG_ERANGE && k.kind != RUNG_ZKEY_BOARD)
        rung__resp_error(call, "ERR resulting score is not a number (NaN)");
    else
        rung__resp_error_status(call, st, err);
}

void rung__resp_reply_score_zadd(rung__resp_call *call, rung_slice key, rung_status st,
                                 const rung_outcome *outcome, const rung_err *err) {
    if (st < 0) {
        score_refused(call, key, st, err);
        return;
    }
    if (!(call->style & STYLE_INCR))
        rung_resp_int(call->out, call->style & STYLE_CH ? st == RUNG_OK : outcome->is_new);
    else if (outcome->held)
        rung_resp_null(call->out);
    else
        rung_resp_double(call->out, rung_zkey_outcome_score(call->state, key, outcome));
}

/* ---- names only ---- */

bool rung__resp_build_members(rung__resp_call *call, rung__resp_change *out) {
    rung_zcommand_kind kind = call->command->kind;
    uint32_t at = kind == RUNG_ZCOMMAND_DEL ? 1 : 2, count = call->argc - at;
    rung_zcommand_item *items = name_items(call, at, count);
    if (!items)
        return false;
    out->keys = (rung_zcommand){.kind = kind, .item_count = count, .items = items};
    if (kind != RUNG_ZCOMMAND_DEL)
        out->keys.key = call->argv[1];
    return true;
}

void rung__resp_reply_count(rung__resp_call *call, const rung_zkey_result *result) {
    if (rung__resp_is_fine(call, result))
        rung_resp_int(call->out, (int64_t)result->count);
}

void rung__resp_reply_ok(rung__resp_call *call, const rung_zkey_result *result) {
    if (rung__resp_is_fine(call, result))
        rung_resp_simple(call->out, "OK");
}

bool rung__resp_build_zremrange(rung__resp_call *call, rung__resp_change *out) {
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_ZREMRANGE, .key = call->argv[1]};
    return rung__resp_take_bounds(call, call->argv[2], call->argv[3], &out->keys.range);
}

/* ---- pops ---- */

static bool build_pop(rung__resp_call *call, uint32_t first, uint32_t count, bool is_max,
                      uint64_t pop_count, rung__resp_change *out) {
    rung_zcommand_item *items = name_items(call, first, count);
    if (!items)
        return false;
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_ZPOP,
                                .flags = is_max ? RUNG_ZCOMMAND_MAX : 0,
                                .item_count = count,
                                .items = items,
                                .pop_count = pop_count};
    return true;
}

/* ZPOPMIN key [count] */
bool rung__resp_build_zpop(rung__resp_call *call, rung__resp_change *out) {
    int64_t count = 1;
    if (call->argc > 3)
        return rung__resp_error_syntax(call);
    if (call->argc == 3) {
        call->style = POP_COUNTED;
        if (!rung__resp_take_between(call, call->argv[2], 0, INT64_MAX,
                                     "ERR value is out of range, must be positive", &count))
            return false;
    }
    if (count == 0) {
        out->kind = RUNG__CHANGE_NONE;
        return true;
    }
    return build_pop(call, 1, 1, call->command->is_max, (uint64_t)count, out);
}

static bool take_timeout(rung__resp_call *call, rung_slice text) {
    double seconds;
    if (!rung__resp_parse_double(text, &seconds))
        return rung__resp_error(call, "ERR timeout is not a float or out of range");
    if (seconds < 0 || seconds > 9e15) { /* beyond an int64 it is negative for Redis, too */
        return rung__resp_error(call, "ERR timeout is negative");
    }
    call->timeout_ms = (int64_t)__builtin_ceil(seconds * 1000);
    return true;
}

/* BZPOPMIN key [key ...] timeout */
bool rung__resp_build_bzpop(rung__resp_call *call, rung__resp_change *out) {
    call->style = POP_KEYED;
    if (!take_timeout(call, call->argv[call->argc - 1]))
        return false;
    return build_pop(call, 1, call->argc - 2, call->command->is_max, 1, out);
}

static bool take_pop_count(rung__resp_call *call, uint32_t at, int64_t *count) {
    bool is_given = false;
    for (; at < call->argc; at += 2) {
        if (is_given || at + 1 >= call->argc || !rung__resp_is_word(call->argv[at], "count"))
            return rung__resp_error_syntax(call);
        is_given = true;
        if (!rung__resp_take_between(call, call->argv[at + 1], 1, INT64_MAX,
                                     "ERR count should be greater than 0", count))
            return false;
    }
    return true;
}

/* [B]ZMPOP [timeout] numkeys key [key ...] MIN|MAX [COUNT count] */
bool rung__resp_build_zmpop(rung__resp_call *call, rung__resp_change *out) {
    uint32_t at = (uint32_t)call->command->count_arg;
    int64_t keys, count = 1;
    call->style = POP_KEYED | POP_NESTED;
    if (!rung__resp_take_between(call, call->argv[at], 1, INT64_MAX,
                                 "ERR numkeys should be greater than 0", &keys))
        return false;
    if (keys >= call->argc - at - 1)
        return rung__resp_error_syntax(call);
    uint32_t where = at + 1 + (uint32_t)keys;
    bool is_max = rung__resp_is_word(call->argv[where], "max");
    if (!is_max && !rung__resp_is_word(call->argv[where], "min"))
        return rung__resp_error_syntax(call);
    if (!take_pop_count(call, where + 1, &count))
        return false;
    if (at == 2 && !take_timeout(call, call->argv[1]))
        return false;
    return build_pop(call, at + 1, (uint32_t)keys, is_max, (uint64_t)count, out);
}

static void pop_header(rung__resp_call *call, const rung_zkey_result *result) {
    bool is_keyed = call->style & POP_KEYED;
    if (call->style & POP_NESTED) {
        rung_resp_array(call->out, 2);
        rung_resp_bulk(call->out, result->key);
        rung_resp_array(call->out, result->count);
    } else if (is_keyed) {
        rung_resp_array(call->out, 3);
        rung_resp_bulk(call->out, result->key);
    } else if (call->style & POP_COUNTED && call->out->version > 2) {
        rung_resp_array(call->out, result->count);
    } else {
        rung_resp_array(call->out, result->count * 2);
    }
}

/* Comes once for each piece of a long pop: call->is_continued for all but the first. */
void rung__resp_reply_zpop(rung__resp_call *call, const rung_zkey_result *result) {
    if (!call->is_continued) {
        if (!rung__resp_is_fine(call, result))
            return;
        if (!result->key.len) {
            if (call->style & POP_KEYED)
                rung_resp_null_array(call->out);
            else
                rung_resp_array(call->out, 0);
            return;
        }
        pop_header(call, result);
    }
    bool is_nested =
        call->style & POP_NESTED || (call->style == POP_COUNTED && call->out->version > 2);
    for (uint32_t i = 0; i < result->row_count; i++) {
        if (is_nested)
            rung_resp_array(call->out, 2);
        rung_resp_bulk(call->out, result->rows[i].member);
        rung_resp_double(call->out, result->rows[i].score);
    }
    rung__resp_spill(call);
}

/* ---- stores ---- */

/* The work of a store is estimated from the keys as they are now. Earlier commands of the same transaction may have
 * moved members to a key by the time it is applied: a Bloom filter remembers such names, and `moved` how many
 * members. */
static uint64_t *moved_word(rung_resp *r, rung_slice name, uint64_t *bit) {
    uint64_t hash = rung_hash_keyed(&r->waiters.hash, name.ptr, name.len);
    *bit = (uint64_t)1 << (hash & 63);
    return &r->moved_to[(hash >> 6) % RUNG__MOVED_WORDS];
}

static uint64_t size_of_source(rung__resp_call *call, rung_slice name, uint64_t *fresh) {
    rung_resp *r = call->r;
    rung_zkey k;
    uint64_t bit;
    rung_zkey_open(call->state, name, call->now_ms, &k);
    if (call->spent && *moved_word(r, name, &bit) & bit)
        return k.count > r->moved ? k.count : r->moved;
    *fresh += k.count;
    return k.count;
}

static void note_moved(rung__resp_call *call, rung_slice to, uint64_t fresh) {
    uint64_t bit;
    if (!call->spent)
        return;
    *moved_word(call->r, to, &bit) |= bit;
    call->r->moved += fresh;
}

/* Between the estimate and the change another client may rename a large key to one of these names. So repetitions are
 * limited. */
enum { REPEATED_MAX = 4 };

static int compare_names(const void *a, const void *b) {
    const rung_slice *x = a, *y = b;
    int order = memcmp(x->ptr, y->ptr, x->len < y->len ? x->len : y->len);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

static bool is_repeated(rung__resp_call *call, const rung__resp_combine_args *args) {
    const rung_alloc *a = call->r->config.alloc;
    size_t bytes = args->count * sizeof(rung_slice);
    bool is_over = false;
    if (args->count <= REPEATED_MAX)
        return false;
    rung_slice *names = rung_alloc_get(a, bytes);
    if (!names) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return true;
    }
    memcpy(names, call->argv + args->first, bytes);
    qsort(names, args->count, sizeof *names, compare_names);
    for (uint32_t i = REPEATED_MAX; i < args->count; i++)
        is_over |= rung_slice_eq(names[i], names[i - REPEATED_MAX]);
    rung_alloc_free(a, names, bytes);
    if (is_over)
        rung__resp_error(call, "ERR a key is named more than 4 times");
    return is_over;
}

static bool afford_store(rung__resp_call *call, const rung__resp_combine_args *args) {
    rung_zkey_sizes sizes = {0};
    uint64_t fresh = 0;
    for (uint32_t i = 0; i < args->count; i++)
        rung_zkey_sizes_add(&sizes, size_of_source(call, call->argv[args->first + i], &fresh));
    call->work = rung_zkeys_work(args->combine, &sizes);
    note_moved(call, call->argv[1], fresh);
    return rung__resp_afford(call, call->work) && !is_repeated(call, args);
}

static bool afford_range(rung__resp_call *call, const rung__resp_range_args *args) {
    rung_zkey k;
    uint32_t first = 0, end = 0;
    uint64_t fresh = 0, size = size_of_source(call, call->argv[2], &fresh);
    rung_zkey_open(call->state, call->argv[2], call->now_ms, &k);
    if (size == k.count && k.kind != RUNG_ZKEY_SET) {
        rung_zkey_range(&k, &args->range, args->rev, &first, &end);
        size = end - first;
    }
    if (args->has_limit && args->limit >= 0 && (uint64_t)args->limit < size)
        size = (uint64_t)args->limit;
    call->work = size;
    note_moved(call, call->argv[1], fresh);
    return rung__resp_afford(call, call->work);
}

bool rung__resp_build_zrangestore(rung__resp_call *call, rung__resp_change *out) {
    rung__resp_range_args args;
    if (!rung__resp_take_range(call, 2, &args) || !afford_range(call, &args))
        return false;
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_ZRANGESTORE,
                                .flags = args.rev ? RUNG_ZCOMMAND_REV : 0,
                                .key = call->argv[1],
                                .other = call->argv[2],
                                .range = args.range};
    if (args.has_limit) {
        out->keys.flags |= RUNG_ZCOMMAND_LIMIT;
        out->keys.offset = args.offset;
        out->keys.limit = args.limit;
    }
    return true;
}

bool rung__resp_build_zstore(rung__resp_call *call, rung__resp_change *out) {
    rung__resp_combine_args args;
    if (!rung__resp_take_combine(call, 2, true, false, &args) || !afford_store(call, &args))
        return false;
    rung_zcommand_item *items = reserve_items(call, args.count);
    if (!items)
        return false;
    for (uint32_t i = 0; i < args.count; i++)
        items[i] =
            (rung_zcommand_item){call->argv[args.first + i], rung__resp_weight(call, &args, i)};
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_ZSTORE,
                                .key = call->argv[1],
                                .item_count = args.count,
                                .items = items,
                                .combine = args.combine,
                                .aggregate = args.aggregate};
    return true;
}

/* ---- keys ---- */

static bool take_expire_flags(rung__resp_call *call, uint32_t *flags) {
    for (uint32_t i = 3; i < call->argc; i++) {
        uint32_t flag = condition_of(call->argv[i]);
        if (!flag)
            return rung__resp_error_of(call, "ERR Unsupported option ", call->argv[i], "");
        *flags |= flag;
    }
    if (*flags & RUNG_IF_NX && *flags & ~(uint32_t)RUNG_IF_NX)
        return rung__resp_error(
            call, "ERR NX and XX, GT or LT options at the same time are not compatible");
    if (*flags & RUNG_IF_GT && *flags & RUNG_IF_LT)
        return rung__resp_error(call, "ERR GT and LT options at the same time are not compatible");
    return true;
}

/* EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT */
bool rung__resp_build_expire(rung__resp_call *call, rung__resp_change *out) {
    const rung__resp_command *command = call->command;
    uint32_t flags = 0;
    int64_t when, base = command->is_absolute ? 0 : call->now_ms;
    if (!take_expire_flags(call, &flags) || !rung__resp_take_integer(call, call->argv[2], &when))
        return false;
    if ((!command->is_ms && __builtin_mul_overflow(when, (int64_t)1000, &when)) ||
        __builtin_add_overflow(when, base, &when))
        return rung__resp_error_of(call, "ERR invalid expire time in '",
                                   rung_slice_str(command->name), "' command");
    out->keys = (rung_zcommand){
        .kind = RUNG_ZCOMMAND_EXPIRE, .key = call->argv[1], .flags = flags, .at_ms = when};
    return true;
}

bool rung__resp_build_persist(rung__resp_call *call, rung__resp_change *out) {
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_PERSIST, .key = call->argv[1]};
    return true;
}

bool rung__resp_build_rename(rung__resp_call *call, rung__resp_change *out) {
    uint64_t fresh = 0;
    size_of_source(call, call->argv[1], &fresh);
    note_moved(call, call->argv[2], fresh);
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_RENAME,
                                .key = call->argv[1],
                                .other = call->argv[2],
                                .flags = call->command->is_if_new ? RUNG_IF_NX : 0};
    return true;
}

/* FLUSHALL [ASYNC|SYNC] */
bool rung__resp_build_flush(rung__resp_call *call, rung__resp_change *out) {
    if (call->argc > 2 || (call->argc == 2 && !rung__resp_is_word(call->argv[1], "async") &&
                           !rung__resp_is_word(call->argv[1], "sync")))
        return rung__resp_error_syntax(call);
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_FLUSH};
    return true;
}
