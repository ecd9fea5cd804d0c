/* SPDX-License-Identifier: Apache-2.0 */
/* TOPK, CMS, TDIGEST and PF commands on sketch boards: arguments and replies as documented for Redis 8. A name is
 * counted by Space-Saving and a value by a rank histogram, not by the structures of Redis: bounds hold that Redis does
 * not give (docs/redis.md). */
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/server.h"
#include "service/submit.h"
#include "state/sketches.h"

#include <math.h>
#include <stdlib.h>

enum { ITEMS_KEPT = 4096, VIEWS_MAX = 1024 };

/* The words of Redis, by kind of sketch. */
static const char *const no_key[] = {[RUNG_SKETCH_COUNTS] = "CMS: key does not exist",
                                     [RUNG_SKETCH_PERCENTILE] = "ERR T-Digest: key does not exist"};
static const char no_top[] = "TopK: key does not exist";

static rung_zcommand_item *reserve_items(rung__resp_call *call, uint32_t count) {
    rung_buffer *b = &call->r->items;
    rung_buffer_reset(b, ITEMS_KEPT * sizeof(rung_zcommand_item));
    if (rung_buffer_reserve(b, (count + 1) * sizeof(rung_zcommand_item)))
        return (rung_zcommand_item *)(void *)b->data;
    rung__resp_error_status(call, RUNG_ENOMEM, NULL);
    return NULL;
}

static uint32_t flags_of(rung_sketch_kind kind) {
    return (uint32_t)kind << RUNG_ZCOMMAND_SKETCH_SHIFT;
}

/* ---- making ---- */

/* Memory for what was asked for, within what a sketch may have. */
static double memory_for(double bytes, rung_sketch_kind kind) {
    double least =
        kind == RUNG_SKETCH_DISTINCT ? RUNG_SKETCH_MEMORY_MIN_DISTINCT : RUNG_SKETCH_MEMORY_MIN;
    bytes = ceil(bytes / 1024) * 1024;
    return bytes < least ? least : bytes > RUNG_SKETCH_MEMORY_MAX ? RUNG_SKETCH_MEMORY_MAX : bytes;
}

static bool make(rung__resp_call *call, double bytes, int64_t top, rung__resp_change *out) {
    rung_zcommand_item *items = reserve_items(call, 2);
    if (!items)
        return false;
    items[0] = (rung_zcommand_item){RUNG_SLICE("memory"), memory_for(bytes, call->command->sketch)};
    items[1] = (rung_zcommand_item){RUNG_SLICE("top"), (double)top};
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_SKETCH,
                                .key = call->argv[1],
                                .flags = flags_of(call->command->sketch),
                                .item_count = top ? 2 : 1,
                                .items = items};
    return true;
}

enum { ENTRY_BYTES = 64 }; /* of a name of some 25 bytes */

/* TOPK.RESERVE key topk [width depth decay] */
bool rung__resp_build_topk_reserve(rung__resp_call *call, rung__resp_change *out) {
    int64_t top, width = 8, depth = 7;
    double decay = 0.9;
    if (call->argc != 3 && call->argc != 6)
        return rung__resp_error(call, "ERR wrong number of arguments for 'topk.reserve' command");
    if (!rung_resp_integer(call->argv[2], &top) || top < 1 || top > RUNG_SKETCH_TOP_MAX)
        return rung__resp_error(call, "TopK: invalid k");
    if (call->argc == 6) {
        if (!rung_resp_integer(call->argv[3], &width) || width < 1 || width > INT32_MAX)
            return rung__resp_error(call, "TopK: invalid width");
        if (!rung_resp_integer(call->argv[4], &depth) || depth < 1 || depth > INT32_MAX)
            return rung__resp_error(call, "TopK: invalid depth");
        if (!rung__resp_parse_double(call->argv[5], &decay) || decay <= 0 || decay >= 1)
            return rung__resp_error(call, "TopK: invalid decay value. must be '<= 1' & '> 0'");
    }
    double counters = (double)width * (double)depth;
    counters = counters < 4 * (double)top ? 4 * (double)top : counters;
    return make(call, counters * ENTRY_BYTES, top, out);
}

/* CMS.INITBYDIM key width depth, CMS.INITBYPROB key error probability */
bool rung__resp_build_cms_init(rung__resp_call *call, rung__resp_change *out) {
    int64_t width, depth;
    double error, probability;
    if (!call->command->is_by_share) {
        if (!rung_resp_integer(call->argv[2], &width) || width < 1)
            return rung__resp_error(call, "CMS: invalid width");
        if (!rung_resp_integer(call->argv[3], &depth) || depth < 1)
            return rung__resp_error(call, "CMS: invalid depth");
        return make(call, (double)width * ENTRY_BYTES, 0, out);
    }
    if (!rung__resp_parse_double(call->argv[2], &error) || error <= 0 || error >= 1)
        return rung__resp_error(call, "CMS: invalid overestimation value");
    if (!rung__resp_parse_double(call->argv[3], &probability) || probability <= 0 ||
        probability >= 1)
        return rung__resp_error(call, "CMS: invalid prob value");
    rung_board_def def = rung_board_def_default(); /* is there enough memory to guarantee it? */
    def.sketch = RUNG_SKETCH_COUNTS;
    def.sketch_error = error;
    def.sketch_memory = RUNG_SKETCH_MEMORY_MIN;
    while (rung_sketch_def_check(&def, NULL) < 0) {
        if (def.sketch_memory == RUNG_SKETCH_MEMORY_MAX)
            return rung__resp_error(call, "CMS: invalid overestimation value");
        def.sketch_memory *= 2;
    }
    return make(call, def.sketch_memory, 0, out);
}

/* TDIGEST.CREATE key [COMPRESSION compression] */
bool rung__resp_build_tdigest_create(rung__resp_call *call, rung__resp_change *out) {
    int64_t compression = 100;
    if (call->argc != 2 && call->argc != 4)
        return rung__resp_error(call, "ERR wrong number of arguments for 'tdigest.create' command");
    if (call->argc == 4 && !rung__resp_is_word(call->argv[2], "compression"))
        return rung__resp_error(call, "ERR T-Digest: wrong keyword");
    if (call->argc == 4 && !rung_resp_integer(call->argv[3], &compression))
        return rung__resp_error(call, "ERR T-Digest: error parsing compression parameter");
    if (compression < 1)
        return rung__resp_error(
            call, "ERR T-Digest: compression parameter needs to be a positive integer");
    return make(call, (double)compression * 1024, 0, out);
}

void rung__resp_reply_made(rung__resp_call *call, const rung_zkey_result *result) {
    const rung__resp_command *c = call->command;
    if (result->error == RUNG_ZKEY_EXISTS)
        rung__resp_error(call, c->sketch == RUNG_SKETCH_PERCENTILE
                                   ? "ERR T-Digest: key already exists"
                               : c->is_listing ? "TopK: key already exists"
                                               : "CMS: key already exists");
    else if (rung__resp_is_fine(call, result))
        rung_resp_simple(call->out, "OK");
}

/* ---- adding ---- */

static bool take_increment(rung__resp_call *call, rung_slice text, double *number_out) {
    int64_t number;
    bool is_top = call->command->is_listing;
    if (!rung_resp_integer(text, &number) || number < 1 || (is_top && number > 100000)) {
        if (is_top)
            return rung__resp_error(call,
                                    "TopK: increment must be an integer greater or equal to 1 "
                                    "and smaller or equal to 100,000");
        return rung__resp_error(call, "CMS: Cannot parse number");
    }
    if (number > INT64_C(9007199254740992))
        return rung__resp_error(call, "CMS: Cannot parse number");
    *number_out = (double)number;
    return true;
}

/* Item `i`: a name, a name and an increment, or a value. */
static bool take_item(rung__resp_call *call, uint32_t i, rung_zcommand_item *out) {
    const rung__resp_command *c = call->command;
    *out = (rung_zcommand_item){.number = c->sketch == RUNG_SKETCH_DISTINCT ? 0 : 1};
    if (c->sketch == RUNG_SKETCH_PERCENTILE) {
        out->name = RUNG_SLICE("-"); /* nobody's value */
        return rung__resp_take_double(call, call->argv[2 + i],
                                      "ERR T-Digest: error parsing val parameter", &out->number);
    }
    out->name = call->argv[2 + i * (c->is_incr ? 2 : 1)];
    return !c->is_incr || take_increment(call, call->argv[3 + i * 2], &out->number);
}

/* Each name is a submission of its own, although they share an event. */
static bool may_add(rung__resp_call *call, uint32_t count, const rung_zcommand_item *items) {
    rung_access_answer why;
    for (uint32_t i = 0; i < count; i++) {
        rung_score_event e = {.board = call->argv[1], .player = items[i].name};
        rung_status st =
            rung_submit_check(&call->r->service, &call->s->who, &e, call->now_ms, &why);
        if (st < 0)
            return rung__resp_error_submission(call, st, &why);
    }
    return true;
}

/* TOPK.ADD key item ..., TOPK.INCRBY and CMS.INCRBY key item increment ..., TDIGEST.ADD key value ..., PFADD key
 * [element ...] */
bool rung__resp_build_sketch_add(rung__resp_call *call, rung__resp_change *out) {
    const rung__resp_command *c = call->command;
    uint32_t count = call->argc - 2;
    if (c->is_incr && count % 2)
        return rung__resp_error_of(call, "ERR wrong number of arguments for '",
                                   rung_slice_str(c->name), "' command");
    count /= c->is_incr ? 2 : 1;
    rung_zcommand_item *items = reserve_items(call, count);
    if (!items)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!take_item(call, i, &items[i]))
            return false;
    if (c->sketch != RUNG_SKETCH_PERCENTILE && !may_add(call, count, items))
        return false;
    if (!count) { /* PFADD of nothing makes the key: it is a merge of nothing but itself */
        items[0] = (rung_zcommand_item){.name = call->argv[1]};
        out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_SKETCH,
                                    .flags = flags_of(c->sketch) | RUNG_ZCOMMAND_MERGE,
                                    .key = call->argv[1],
                                    .item_count = 1,
                                    .items = items};
        return true;
    }
    if (c->is_listing) { /* the top is looked through, at worst for every name */
        rung_view view;
        rung_sketch_info info;
        if (rung_state_view(call->state,
                            &(rung_query){.board = call->argv[1], .now_ms = call->now_ms}, &view,
                            NULL) == RUNG_OK) {
            rung_view_sketch(&view, &info);
            call->work = info.held * count / 16;
        }
        if (!rung__resp_afford(call, call->work))
            return false;
    }
    out->keys =
        (rung_zcommand){.kind = RUNG_ZCOMMAND_SKETCH_ADD,
                        .flags = flags_of(c->sketch) | (c->is_listing ? RUNG_ZCOMMAND_LEAVERS : 0),
                        .key = call->argv[1],
                        .item_count = count,
                        .items = items};
    return true;
}

static void put_added(rung__resp_call *call, const rung_zkey_result *result) {
    if (result->is_failed)
        rung__resp_error_status(call, result->err->code, result->err);
    else if (!call->command->is_listing)
        rung_resp_int(call->out, (int64_t)result->number);
    else if (result->leaver.len)
        rung_resp_bulk(call->out, result->leaver);
    else
        rung_resp_null(call->out);
}

/* Comes once for each name. The replies of TDIGEST.ADD and PFADD are those of the last. */
void rung__resp_reply_sketch_add(rung__resp_call *call, const rung_zkey_result *result) {
    const rung__resp_command *c = call->command;
    if (result->kind == RUNG_ZCOMMAND_SKETCH) { /* PFADD of nothing */
        if (rung__resp_is_fine(call, result))
            rung_resp_int(call->out, (int64_t)result->updated);
        return;
    }
    if (result->error == RUNG_ZKEY_NO_SUCH) {
        rung__resp_error(call, c->is_listing ? no_top : no_key[c->sketch]);
        return;
    }
    if (result->error != RUNG_ZKEY_FINE) {
        rung__resp_is_fine(call, result);
        return;
    }
    if (c->sketch == RUNG_SKETCH_COUNTS) {
        if (result->is_first)
            rung_resp_array(call->out, result->count);
        put_added(call, result);
        rung__resp_spill(call);
    } else if (!result->more) {
        if (result->is_failed)
            rung__resp_error_status(call, result->err->code, result->err);
        else if (c->sketch == RUNG_SKETCH_DISTINCT)
            rung_resp_int(call->out, result->updated > 0);
        else
            rung_resp_simple(call->out, "OK");
    }
}

/* PFMERGE key [source ...] */
bool rung__resp_build_pfmerge(rung__resp_call *call, rung__resp_change *out) {
    uint32_t count = call->argc - 1; /* with itself, which changes nothing */
    rung_zcommand_item *items = reserve_items(call, count);
    if (!items)
        return false;
    for (uint32_t i = 0; i < count; i++)
        items[i] = (rung_zcommand_item){.name = call->argv[1 + i]};
    out->keys = (rung_zcommand){.kind = RUNG_ZCOMMAND_SKETCH,
                                .flags = flags_of(RUNG_SKETCH_DISTINCT) | RUNG_ZCOMMAND_MERGE,
                                .key = call->argv[1],
                                .item_count = count,
                                .items = items};
    return true;
}

void rung__resp_reply_merged(rung__resp_call *call, const rung_zkey_result *result) {
    rung__resp_reply_ok(call, result);
}

/* ---- questions ---- */

/* The first window of a sketch of that kind. False: it is answered. */
static bool open_sketch(rung__resp_call *call, rung_sketch_kind kind, const char *absent,
                        rung_view *view) {
    rung_zkey k;
    rung_zkey_open(call->state, call->argv[1], call->now_ms, &k);
    if (k.kind == RUNG_ZKEY_NONE)
        return rung__resp_error(call, absent);
    if (k.kind != RUNG_ZKEY_SKETCH || k.sketch != kind)
        return rung__resp_error_type(call);
    rung_err err;
    rung_query q = {.board = call->argv[1], .now_ms = call->now_ms};
    if (rung_state_view(call->state, &q, view, &err) == RUNG_OK)
        return true;
    return rung__resp_error_of(call, "ERR ", rung_slice_str(err.message), "");
}

static uint32_t top_of(const rung__resp_call *call) {
    const rung_board_def *def;
    bool is_there = rung_state_board(call->state, call->argv[1], &def) == RUNG_OK;
    return is_there && def->sketch_top ? def->sketch_top : RUNG_SKETCH_TOP_DEFAULT;
}

/* The rows of the top; NULL: the error is written. Freed with free_top(). */
static rung_row *read_top(rung__resp_call *call, const rung_view *view, uint32_t *room_out,
                          uint32_t *count_out) {
    rung_sketch_info info;
    rung_view_sketch(view, &info);
    uint32_t top = top_of(call);
    *room_out = info.held < top ? (uint32_t)info.held : top;
    if (!rung__resp_afford(call, info.held / 16 + *room_out))
        return NULL;
    rung_row *rows = rung_alloc_get(rung__resp_alloc(call), (*room_out + 1) * sizeof *rows);
    if (!rows) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return NULL;
    }
    *count_out = rung_view_top(view, 0, *room_out, rows);
    rung__resp_worked(call->r, info.held / 16 + *room_out);
    return rows;
}

static void free_top(rung__resp_call *call, rung_row *rows, uint32_t room) {
    rung_alloc_free(rung__resp_alloc(call), rows, (room + 1) * sizeof *rows);
}

/* TOPK.LIST key [WITHCOUNT] */
void rung__resp_answer_topk_list(rung__resp_call *call) {
    rung_view view;
    uint32_t room, count;
    bool with_count = call->argc == 3;
    if (call->argc > 3 || (with_count && !rung__resp_is_word(call->argv[2], "withcount"))) {
        rung__resp_error(call, "WITHCOUNT keyword expected");
        return;
    }
    if (!open_sketch(call, RUNG_SKETCH_COUNTS, no_top, &view))
        return;
    rung_row *rows = read_top(call, &view, &room, &count);
    if (!rows)
        return;
    rung_resp_array(call->out, with_count ? 2 * (uint64_t)count : count);
    for (uint32_t i = 0; i < count; i++) {
        rung_resp_bulk(call->out, rows[i].id);
        if (with_count)
            rung_resp_int(call->out, rows[i].values[0].i);
        rung__resp_spill(call);
    }
    free_top(call, rows, room);
}

/* TOPK.QUERY key item [item ...] */
void rung__resp_answer_topk_query(rung__resp_call *call) {
    rung_view view;
    uint32_t room, count;
    if (!open_sketch(call, RUNG_SKETCH_COUNTS, no_top, &view))
        return;
    if (!rung__resp_afford(call, (uint64_t)top_of(call) * (call->argc - 2) / 16))
        return;
    rung_row *rows = read_top(call, &view, &room, &count);
    if (!rows)
        return;
    rung_resp_array(call->out, call->argc - 2);
    for (uint32_t k = 2; k < call->argc; k++) {
        bool is_listed = false;
        for (uint32_t i = 0; i < count && !is_listed; i++)
            is_listed = rung_slice_eq(rows[i].id, call->argv[k]);
        rung_resp_bool(call->out, is_listed);
    }
    free_top(call, rows, room);
}

/* CMS.QUERY key item [item ...] */
void rung__resp_answer_cms_query(rung__resp_call *call) {
    rung_view view;
    if (!open_sketch(call, RUNG_SKETCH_COUNTS, no_key[RUNG_SKETCH_COUNTS], &view))
        return;
    rung_resp_array(call->out, call->argc - 2);
    for (uint32_t k = 2; k < call->argc; k++) {
        uint64_t low, high;
        rung_view_bounds(&view, call->argv[k], &low, &high);
        rung_resp_int(call->out, (int64_t)high);
    }
}

/* A value in the board's type; false: the error is written. */
static bool take_values(rung__resp_call *call, const char *error) {
    double number;
    for (uint32_t k = 2; k < call->argc; k++)
        if (!rung__resp_take_double(call, call->argv[k], error, &number))
            return false;
    return true;
}

static const rung_column *column_of(const rung__resp_call *call) {
    const rung_board_def *def = NULL;
    rung_ignore(rung_state_board(call->state, call->argv[1], &def), "it was opened");
    return &def->key.columns[0];
}

static double as_double(const rung_column *column, rung_value value) {
    double unit = 1;
    for (unsigned i = 0; i < column->decimals; i++)
        unit *= 10;
    return column->type == RUNG_SCORE_REAL ? value.d : (double)value.i / unit;
}

/* How many values are below `x`, with half of those that are equal; -1 below all, all above all. */
static int64_t rank_of(const rung_view *view, const rung_column *column, double x, uint64_t total) {
    rung_value least, greatest, at;
    uint64_t below, equal;
    if (rung_view_score_span(view, &least, &greatest) != RUNG_OK)
        return -2;
    if (x < as_double(column, least))
        return -1;
    if (x > as_double(column, greatest))
        return (int64_t)total;
    double unit = 1;
    for (unsigned i = 0; i < column->decimals; i++)
        unit *= 10;
    if (column->type == RUNG_SCORE_REAL)
        at.d = x;
    else
        at.i = (int64_t)floor(x * unit); /* it lies between two scores of the board */
    if (rung_view_scores_below(view, at, &below, &equal) < 0)
        return -2;
    bool is_between = column->type != RUNG_SCORE_REAL && (double)at.i != x * unit;
    return (int64_t)(below + (is_between ? equal : equal / 2));
}

/* TDIGEST.RANK key value [value ...] */
void rung__resp_answer_tdigest_rank(rung__resp_call *call) {
    rung_view view;
    double x;
    if (!open_sketch(call, RUNG_SKETCH_PERCENTILE, no_key[RUNG_SKETCH_PERCENTILE], &view) ||
        !take_values(call, "ERR T-Digest: error parsing value"))
        return;
    const rung_column *column = column_of(call);
    uint64_t total = rung_view_size(&view);
    rung_resp_array(call->out, call->argc - 2);
    for (uint32_t k = 2; k < call->argc; k++) {
        rung__resp_parse_double(call->argv[k], &x);
        rung_resp_int(call->out, rank_of(&view, column, x, total));
    }
}

static double quantile_of(const rung_view *view, const rung_column *column, double q,
                          uint64_t total) {
    rung_value least, greatest, score;
    if (rung_view_score_span(view, &least, &greatest) != RUNG_OK)
        return (double)NAN;
    double place = floor(q * (double)total);
    uint64_t index = place < 0 ? 0 : (uint64_t)place;
    if (index + 1 >= total || q >= 1)
        return as_double(column, greatest);
    if (q <= 0)
        return as_double(column, least);
    uint64_t rank = column->order == RUNG_ORDER_ASC ? index + 1 : total - index;
    return rung_view_score_at(view, rank, &score) == RUNG_OK ? as_double(column, score)
                                                             : (double)NAN;
}

/* TDIGEST.QUANTILE key quantile [quantile ...] */
void rung__resp_answer_tdigest_quantile(rung__resp_call *call) {
    rung_view view;
    double q;
    if (!open_sketch(call, RUNG_SKETCH_PERCENTILE, no_key[RUNG_SKETCH_PERCENTILE], &view) ||
        !take_values(call, "ERR T-Digest: error parsing quantile"))
        return;
    for (uint32_t k = 2; k < call->argc; k++) {
        rung__resp_parse_double(call->argv[k], &q);
        if (!(q >= 0 && q <= 1)) {
            rung__resp_error(call, "ERR T-Digest: quantile should be in [0,1]");
            return;
        }
    }
    const rung_column *column = column_of(call);
    uint64_t total = rung_view_size(&view);
    rung_resp_array(call->out, call->argc - 2);
    for (uint32_t k = 2; k < call->argc; k++) {
        rung__resp_parse_double(call->argv[k], &q);
        rung_resp_double(call->out, quantile_of(&view, column, q, total));
    }
}

/* PFCOUNT key [key ...]: absent keys are empty. */
void rung__resp_answer_pfcount(rung__resp_call *call) {
    rung_view *views;
    rung_zkey k;
    uint64_t players = 0;
    uint32_t n = 0, keys = call->argc - 1;
    if (keys > VIEWS_MAX) {
        rung__resp_error(call, "ERR too many keys: at most 1024 in one command");
        return;
    }
    const rung_alloc *alloc = rung__resp_alloc(call);
    views = rung_alloc_get(alloc, keys * sizeof *views);
    bool is_good = views || rung__resp_error_status(call, RUNG_ENOMEM, NULL);
    for (uint32_t i = 1; is_good && i < call->argc; i++) {
        rung_zkey_open(call->state, call->argv[i], call->now_ms, &k);
        rung_query q = {.board = call->argv[i], .now_ms = call->now_ms};
        if (k.kind == RUNG_ZKEY_NONE)
            continue;
        if (k.kind != RUNG_ZKEY_SKETCH || k.sketch != RUNG_SKETCH_DISTINCT)
            is_good = rung__resp_error_type(call);
        else if (rung_state_view(call->state, &q, &views[n], NULL) == RUNG_OK)
            n++;
    }
    if (is_good && rung_views_players(alloc, n, views, &players) < 0)
        rung__resp_error(call, "ERR counts of different sizes cannot be merged");
    else if (is_good)
        rung_resp_int(call->out, (int64_t)players);
    rung_alloc_free(alloc, views, views ? keys * sizeof *views : 0);
}
