/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about keys of any kind, and about sets. */
#include "base/ascii.h"
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/permission.h"

#include <string.h>

enum { PIECE = 256, SCAN_KEYS_MAX = 100000 };

static rung_zkey open_any(const rung__resp_call *call, rung_slice name) {
    rung_zkey k;
    rung_zkey_open(call->state, name, call->now_ms, &k);
    return k;
}

void rung__resp_answer_exists(rung__resp_call *call) {
    int64_t count = 0;
    for (uint32_t i = 1; i < call->argc; i++)
        count += open_any(call, call->argv[i]).kind != RUNG_ZKEY_NONE;
    rung_resp_int(call->out, count);
}

static const char *type_name(rung_zkey_kind kind, rung_sketch_kind sketch) {
    static const char *const sketches[] = {[RUNG_SKETCH_COUNTS] = "TopK-TYPE",
                                           [RUNG_SKETCH_PERCENTILE] = "TDIS-TYPE",
                                           [RUNG_SKETCH_DISTINCT] = "string"};
    if (kind == RUNG_ZKEY_SKETCH)
        return sketches[sketch];
    return kind == RUNG_ZKEY_NONE ? "none" : kind == RUNG_ZKEY_SET ? "set" : "zset";
}

void rung__resp_answer_type(rung__resp_call *call) {
    rung_zkey k = open_any(call, call->argv[1]);
    rung_resp_simple(call->out, type_name(k.kind, k.sketch));
}

/* TTL, PTTL, EXPIRETIME, PEXPIRETIME */
void rung__resp_answer_ttl(rung__resp_call *call) {
    rung_zkey k = open_any(call, call->argv[1]);
    bool is_absolute = call->command->is_absolute;
    if (k.kind == RUNG_ZKEY_NONE || !k.has_expiry) {
        rung_resp_int(call->out, k.kind == RUNG_ZKEY_NONE ? -2 : -1);
        return;
    }
    int64_t ms = is_absolute ? k.expires_ms : k.expires_ms - call->now_ms;
    if (ms < 0 && !is_absolute)
        ms = 0;
    rung_resp_int(call->out, call->command->is_ms ? ms : (ms + 500) / 1000);
}

/* An access key may be limited to some boards. */
static bool may_see(const rung__resp_call *call, rung_slice name) {
    return rung__resp_has_role(call->s, RUNG_ROLE_READ, name, call->now_ms);
}

void rung__resp_answer_dbsize(rung__resp_call *call) {
    rung_resp_int(call->out, (int64_t)rung__resp_count_visible(call));
}

/* ---- all keys ---- */

enum { STEPS = 16 }; /* of a pattern, which cost as much as looking at one key */

/* Two passes: the reply begins with the count. */
void rung__resp_answer_keys(rung__resp_call *call) {
    rung_slice name;
    rung_zkey_kind kind;
    uint64_t work = 2 * rung_zkeys_count(call->state), steps = 0;
    if (!rung__resp_take_pattern(call, call->argv[1]) || !rung__resp_afford(call, work))
        return;
    rung__resp_worked(call->r, work);
    for (int pass = 0; pass < 2; pass++) {
        uint64_t cursor = 0, count = 0;
        while (rung_zkeys_next(call->state, call->now_ms, &cursor, &name, &kind)) {
            bool is_match = rung__resp_glob(call->argv[1], name, &steps);
            if (!pass && steps / STEPS > rung__resp_work_max(call)) {
                rung__resp_afford(call, steps / STEPS);
                return;
            }
            if (!is_match || !may_see(call, name))
                continue;
            count++;
            if (pass) {
                rung_resp_bulk(call->out, name);
                rung__resp_spill(call);
            }
        }
        if (!pass)
            rung_resp_array(call->out, count);
    }
}

/* A type is named in any case. */
static bool is_type(const rung__resp_call *call, rung_slice type, rung_slice name,
                    rung_zkey_kind kind) {
    rung_sketch_kind sketch = RUNG_SKETCH_NONE;
    if (kind == RUNG_ZKEY_SKETCH)
        sketch = open_any(call, name).sketch;
    const char *own = type_name(kind, sketch);
    bool is_same = type.len == strlen(own);
    for (size_t i = 0; is_same && i < type.len; i++)
        is_same = rung_lower(type.ptr[i]) == rung_lower(own[i]);
    return is_same;
}

static bool is_wanted(const rung__resp_call *call, const rung__resp_scan_args *args,
                      rung_slice name, rung_zkey_kind kind, uint64_t *steps) {
    return (!args->has_pattern || rung__resp_glob(args->pattern, name, steps)) &&
           (!args->has_type || is_type(call, args->type, name, kind)) && may_see(call, name);
}

void rung__resp_answer_scan(rung__resp_call *call) {
    rung__resp_scan_args args;
    rung_slice name;
    rung_zkey_kind kind;
    if (!rung__resp_take_cursor(call, 1, &args) || !rung__resp_take_scan(call, 2, true, &args))
        return;
    uint64_t end = 0, steps = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint64_t cursor = args.cursor, count = 0;
        bool is_more = true;
        for (uint32_t i = 0; i < args.count && is_more; i++) {
            is_more = rung_zkeys_next(call->state, call->now_ms, &cursor, &name, &kind);
            if (!pass && steps / STEPS > rung__resp_work_max(call) / 4)
                args.count = i + 1; /* enough for one call */
            if (!is_more || !is_wanted(call, &args, name, kind, &steps))
                continue;
            count++;
            if (pass)
                rung_resp_bulk(call->out, name);
        }
        end = is_more ? cursor : 0;
        if (!pass) {
            rung__resp_put_cursor(call, end);
            rung_resp_array(call->out, count);
        }
    }
    uint64_t keys = rung_zkeys_count(call->state), seen = args.count < keys ? args.count : keys;
    rung__resp_worked(call->r, 2 * seen + steps / STEPS);
}

/* ---- sets ---- */

void rung__resp_answer_scard(rung__resp_call *call) {
    rung_zkey k;
    if (rung__resp_open_set(call, call->argv[1], &k))
        rung_resp_int(call->out, k.count);
}

void rung__resp_answer_sismember(rung__resp_call *call) {
    rung_zkey k;
    if (rung__resp_open_set(call, call->argv[1], &k))
        rung_resp_int(call->out, rung_zkey_has(&k, call->argv[2]));
}

void rung__resp_answer_smismember(rung__resp_call *call) {
    rung_zkey k;
    if (!rung__resp_open_set(call, call->argv[1], &k))
        return;
    rung_resp_array(call->out, call->argc - 2);
    for (uint32_t i = 2; i < call->argc; i++)
        rung_resp_int(call->out, rung_zkey_has(&k, call->argv[i]));
}

void rung__resp_answer_smembers(rung__resp_call *call) {
    rung_zkey k;
    rung_zkey_row rows[PIECE];
    if (!rung__resp_open_set(call, call->argv[1], &k))
        return;
    rung_resp_set(call->out, k.count);
    uint64_t cursor = 0;
    for (uint32_t left = k.count, n; left; left -= n) {
        cursor = rung_zkey_scan(&k, cursor, PIECE, rows, &n);
        for (uint32_t i = 0; i < n; i++)
            rung_resp_bulk(call->out, rows[i].member);
        rung__resp_spill(call);
        if (!n || !cursor)
            return;
    }
}

void rung__resp_answer_sscan(rung__resp_call *call) {
    rung__resp_scan_args args;
    rung_zkey k;
    rung_zkey_row rows[PIECE];
    if (!rung__resp_take_cursor(call, 2, &args) || !rung__resp_open_set(call, call->argv[1], &k))
        return;
    if (k.kind != RUNG_ZKEY_NONE && !rung__resp_take_scan(call, 3, false, &args))
        return;
    uint32_t n = 0;
    uint64_t next = 0;
    if (k.count)
        next = rung_zkey_scan(&k, args.cursor, args.count < PIECE ? args.count : PIECE, rows, &n);
    n = rung__resp_scan_filter(&args, rows, n);
    rung__resp_put_cursor(call, next);
    rung_resp_array(call->out, n);
    for (uint32_t i = 0; i < n; i++)
        rung_resp_bulk(call->out, rows[i].member);
}
