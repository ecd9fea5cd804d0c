/* SPDX-License-Identifier: Apache-2.0 */
/* bench_snapshot.c - the whole state as bytes and back: how many bytes, how fast.
 *
 * Ids are "player:%08d" in random order, scores random below a billion, times spread over a day. One board with one
 * window (all), then three (all, week, day, with the same entries in each). Bytes go to and come from memory in the
 * pieces a snapshot file has: what the disk adds is another question. Saving takes place in a process of its own in
 * real life; loading decides how long a start takes. Wall times; the best of the rounds, since whoever else uses the
 * machine only ever adds. */
#include "state/image/save.h"
#include "support/machine.h"
#include "support/options.h"
#include "support/report.h"
#include "support/rng.h"
#include "support/shuffle.h"
#include "support/stopwatch.h"

#include <inttypes.h>
#include <string.h>

enum { BATCH = 1024, ID_LEN = 15, PIECE = 1 << 16 };

static const rung_hash_key key = {0x0123456789abcdef, 0xfedcba9876543210};
static const int64_t start_ms =
    INT64_C(1763164800000); /* a Saturday, 2025-11-15T00:00:00Z: one day, one week */

/* ---- bytes in memory ---- */

typedef struct memory {
    char *bytes;
    size_t len, cap, at;
} memory;

static rung_status keep(void *ctx, const void *bytes, size_t len) {
    memory *m = ctx;
    if (m->len + len > m->cap)
        return RUNG_ENOSPC;
    memcpy(m->bytes + m->len, bytes, len);
    m->len += len;
    return RUNG_OK;
}

static rung_status give(void *ctx, const void **bytes_out, size_t *len_out) {
    memory *m = ctx;
    if (m->at == m->len)
        return RUNG_NOT_FOUND;
    *bytes_out = m->bytes + m->at;
    *len_out = m->len - m->at < PIECE ? m->len - m->at : PIECE;
    m->at += *len_out;
    return RUNG_OK;
}

/* ---- a state ---- */

static rung_state *create(bool many_windows) {
    rung_state *s;
    if (rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap(), .hash_key = key}, &s) <
        0)
        bench_die("out of memory");
    rung_event e = {.kind = RUNG_EVENT_BOARD_DEFINED, .ts_ms = start_ms};
    e.defined.board = RUNG_SLICE("race");
    e.defined.def = rung_board_def_default();
    if (many_windows)
        e.defined.def.windows |=
            RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY) | RUNG_WINDOWS_BIT(RUNG_WINDOW_WEEK);
    if (rung_state_apply(s, &e, NULL, NULL) < 0)
        bench_die("the board is refused");
    return s;
}

static void set_id(char *bytes, uint64_t player) {
    memcpy(bytes, "player:", 7);
    for (int digit = ID_LEN - 1; digit >= 7; digit--, player /= 10)
        bytes[digit] = (char)('0' + player % 10);
}

static void fill(rung_state *s, uint64_t count, uint64_t seed) {
    static char ids[BATCH][ID_LEN];
    static rung_event events[BATCH];
    static const rung_event *list[BATCH];
    static rung_status statuses[BATCH];
    bench_shuffle order = bench_shuffle_of(count, seed);
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    for (uint64_t done = 0; done < count; done += BATCH) {
        uint32_t n = count - done < BATCH ? (uint32_t)(count - done) : BATCH;
        for (uint32_t i = 0; i < n; i++) {
            set_id(ids[i], bench_shuffle_at(&order, done + i));
            events[i].kind = RUNG_EVENT_SCORE;
            events[i].ts_ms = start_ms + (int64_t)((done + i) * 80000000 / count);
            events[i].score.board = RUNG_SLICE("race");
            events[i].score.player = rung_slice_of(ids[i], ID_LEN);
            events[i].score.value_count = 1;
            events[i].score.values[0].i = (int64_t)rung_rng_below(&rng, 1000000000);
            list[i] = &events[i];
        }
        if (rung_state_apply_batch(s, n, list, statuses, NULL, NULL) != n || statuses[n - 1] < 0)
            bench_die("a score is refused");
    }
}

/* ---- measuring ---- */

static double save_seconds(const rung_state *s, memory *m) {
    uint64_t start = bench_now_ns();
    m->len = 0;
    rung_status st = rung_state_save(s, keep, m, NULL);
    if (st < 0)
        bench_die("saving: %s", rung_status_text(st));
    return bench_seconds_since(start);
}

static double load_seconds(memory *m, rung_digest want) {
    rung_state *copy;
    rung_err err;
    rung_state_config config = {.alloc = rung_alloc_heap(), .hash_key = key};
    uint64_t start = bench_now_ns();
    m->at = 0;
    if (rung_state_load(&config, give, m, NULL, NULL, &copy, &err) < 0)
        bench_die("%s", err.message);
    double seconds = bench_seconds_since(start);
    rung_digest digest = rung_state_digest(copy);
    if (digest.a != want.a || digest.b != want.b)
        bench_die("the copy is another state");
    rung_state_destroy(copy);
    return seconds;
}

static void measure(uint64_t count, bool many_windows, const bench_options *o, bench_table *table) {
    bench_progress("filling: %s players, %d windows", bench_count_label(count).text,
                   many_windows ? 3 : 1);
    rung_state *s = create(many_windows);
    fill(s, count, o->seed);
    memory m = {.cap = 4096 + count * (many_windows ? 64 : 40)};
    m.bytes = rung_alloc_zeroed(rung_alloc_heap(), m.cap); /* touched before the clock starts */
    if (!m.bytes)
        bench_die("out of memory");
    double save = 1e9, load = 1e9;
    for (uint64_t round = 0; round < o->rounds; round++) {
        bench_progress("round %" PRIu64, round + 1);
        double seconds = save_seconds(s, &m);
        save = seconds < save ? seconds : save;
        seconds = load_seconds(&m, rung_state_digest(s));
        load = seconds < load ? seconds : load;
    }
    rung_state_destroy(s);
    rung_alloc_free(rung_alloc_heap(), m.bytes, m.cap);

    bench_table_cell(table, "%s", bench_count_label(count).text);
    bench_table_cell(table, "%d", many_windows ? 3 : 1);
    bench_table_cell(table, "%.2f", (double)m.len / (double)count);
    bench_table_cell(table, "%.3f", save);
    bench_table_cell(table, "%.2f", (double)count / save * 1e-6);
    bench_table_cell(table, "%.3f", load);
    bench_table_cell(table, "%.2f", (double)count / load * 1e-6);
}

int main(int argc, char **argv) {
    bench_options o = {.section = "snapshot",
                       .sizes = {1000000, 10000000},
                       .size_count = 2,
                       .rounds = 5,
                       .seed = 1};
    bench_options_parse(&o, argc, argv, "the whole state as bytes and back",
                        (const bench_option[]){{0}});
    bench_report report = {0};
    bench_table table = {0};
    bench_machine_describe(&report, o.command);
    bench_table_head(&table, 7, "players", "windows", "bytes per player", "save, s", "M players/s",
                     "load, s", "M players/s");
    for (size_t i = 0; i < o.size_count; i++) {
        measure(o.sizes[i], false, &o, &table);
        measure(o.sizes[i], true, &o, &table);
    }
    bench_table_end(&table, &report);
    return bench_options_finish(&o, &report);
}
