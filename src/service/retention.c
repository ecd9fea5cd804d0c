/* SPDX-License-Identifier: Apache-2.0 */
#include "service/retention.h"

#include "model/civil.h"

#define DAY_MS INT64_C(86400000)
#define NONE   SIZE_MAX /* the base before any snapshot: everything stays */

int64_t rung_retention_day(int64_t time_ms) {
    return rung_floor_div(time_ms, DAY_MS);
}

static bool is_usable(const rung_retention_facts *f, size_t i) {
    return f->entries[i].seq + 1 >= f->first_seq;
}

/* The first that its day has among those that the log can be replayed from. */
static bool is_first_of_day(const rung_retention_facts *f, size_t i) {
    if (!is_usable(f, i))
        return false;
    return i == 0 || !is_usable(f, i - 1) ||
           rung_retention_day(f->entries[i].time_ms) !=
               rung_retention_day(f->entries[i - 1].time_ms);
}

static bool is_kept(const rung_retention_facts *f, size_t base, size_t i) {
    return i + 2 >= f->count || ((base == NONE || i >= base) && is_first_of_day(f, i));
}

static uint64_t needed_from(const rung_retention_facts *f, size_t base) {
    if (f->count < 2 || base == NONE)
        return 0;
    size_t older = f->count - 2; /* K1 */
    return f->entries[base < older ? base : older].seq + 1;
}

static uint64_t bytes_of(const rung_retention_facts *f, size_t base) {
    uint64_t sum = f->log_bytes(f->ctx, needed_from(f, base));
    for (size_t i = 0; i < f->count; i++)
        sum += is_kept(f, base, i) ? f->entries[i].file_bytes : 0;
    return sum;
}

/* K2 */
static size_t base_by_time(const rung_retention *r, const rung_retention_facts *f) {
    size_t base = NONE;
    if (r->keep_ms == RUNG_RETENTION_FOREVER)
        return base;
    int64_t cutoff;
    if (__builtin_sub_overflow(f->now_ms, r->keep_ms, &cutoff))
        return base;
    for (size_t i = 0; i < f->count && f->entries[i].time_ms <= cutoff; i++)
        if (is_first_of_day(f, i))
            base = i;
    return base;
}

static uint64_t limit_of(const rung_retention *r, const rung_retention_facts *f) {
    uint64_t limit = r->keep_bytes ? r->keep_bytes : UINT64_MAX;
    uint64_t share = r->keep_percent && f->disk_bytes ? f->disk_bytes / 100 * r->keep_percent : 0;
    return share && share < limit ? share : limit;
}

static uint64_t less(uint64_t n, uint64_t by) {
    return n > by ? n - by : 0;
}

/* K3: the next day after `base`, at most the older of the newest two. */
static size_t next_day(const rung_retention_facts *f, size_t base) {
    size_t i = base == NONE ? 0 : base + 1;
    while (i + 2 < f->count && !is_first_of_day(f, i))
        i++;
    return i;
}

rung_retention_plan rung_retention_decide(const rung_retention *r, const rung_retention_facts *f,
                                          uint64_t *keep_out) {
    rung_retention_plan plan = {.bytes_max = limit_of(r, f)};
    bool is_off = r->keep_ms == 0, has_reach = false;
    size_t base = is_off ? less(f->count, 2) : base_by_time(r, f), by_time = base;
    uint64_t limit = plan.bytes_max;
    plan.bytes = bytes_of(f, base);
    if (f->short_bytes) {
        uint64_t target = less(plan.bytes, f->short_bytes);
        limit = target < limit ? target : limit;
    }
    while (plan.bytes > limit && f->count >= 2 && (base == NONE || base + 2 < f->count)) {
        base = next_day(f, base);
        plan.bytes = bytes_of(f, base);
    }
    plan.has_given_way = base != by_time;
    plan.needed_from = needed_from(f, base);
    for (size_t i = 0; i < f->count; i++) {
        if (!is_usable(f, i) || !is_kept(f, base, i))
            continue;
        if (!has_reach)
            plan.reach_ms = f->entries[i].time_ms;
        has_reach = true;
        if (!is_off && (base == NONE || i >= base) && is_first_of_day(f, i))
            keep_out[plan.keep_count++] = f->entries[i].seq;
    }
    return plan;
}
