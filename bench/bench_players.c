/* SPDX-License-Identifier: Apache-2.0 */
/* bench_players.c - the player table: bytes per id, look-ups one by one and in batches, and the longest single call
 * while it grows.
 *
 * Ids are "player:%08d" in random order; look-ups are of random ids that are there. All times are processor times, so
 * that being interrupted does not count; rates of look-ups are medians of the rounds. The longest call includes what
 * the kernel does to find memory: a fresh huge page is zeroed, which takes some hundred microseconds. */
#include "ladder/names.h"
#include "support/machine.h"
#include "support/names_batch.h"
#include "support/options.h"
#include "support/report.h"
#include "support/rng.h"
#include "support/shuffle.h"
#include "support/stopwatch.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { ID_LEN = 15, CHUNK = 8192, ROUNDS_MAX = 99 };

static const rung_hash_key key = {0x0123456789abcdef, 0xfedcba9876543210};

/* Ids made up before the clock starts. */
typedef struct id_list {
    char bytes[CHUNK][ID_LEN + 1];
    rung_slice ids[CHUNK];
    uint32_t numbers[CHUNK];
} id_list;

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void set_id(id_list *list, size_t i, uint64_t player) {
    char *bytes = list->bytes[i];
    memcpy(bytes, "player:", 7);
    for (int digit = ID_LEN - 1; digit >= 7; digit--, player /= 10)
        bytes[digit] = (char)('0' + player % 10);
    list->ids[i] = rung_slice_of(bytes, ID_LEN);
}

static rung_names *create(void) {
    rung_names *t;
    if (rung_names_create(rung_alloc_heap(), &key, &t) < 0)
        bench_die("out of memory");
    return t;
}

/* The next ids of the order from `done` on; returns how many. */
static size_t next_ids(id_list *list, const bench_shuffle *order, uint64_t done) {
    size_t len = order->n - done < CHUNK ? (size_t)(order->n - done) : CHUNK;
    for (size_t i = 0; i < len; i++)
        set_id(list, i, bench_shuffle_at(order, done + i));
    return len;
}

static void intern(rung_names *t, id_list *list, size_t i) {
    if (rung_names_intern(t, list->ids[i], &list->numbers[i]) < 0)
        bench_die("out of memory at %" PRIu32 " players", rung_names_count(t));
}

/* All ids one by one; M per second. */
static double load(rung_names *t, id_list *list, const bench_shuffle *order) {
    uint64_t spent = 0;
    for (uint64_t done = 0; done < order->n; done += CHUNK) {
        size_t len = next_ids(list, order, done);
        uint64_t start = cpu_ns();
        for (size_t i = 0; i < len; i++)
            intern(t, list, i);
        spent += cpu_ns() - start;
    }
    return (double)order->n / (double)spent * 1e3;
}

typedef struct pauses {
    double longest_us;
    uint64_t over_100_us;
} pauses;

/* The same with a clock for each call, in a run of its own: the clock takes as long as the call. */
static pauses load_timed(id_list *list, const bench_shuffle *order) {
    rung_names *t = create();
    pauses p = {0};
    for (uint64_t done = 0; done < order->n; done += CHUNK) {
        size_t len = next_ids(list, order, done);
        uint64_t before = cpu_ns();
        for (size_t i = 0; i < len; i++) {
            intern(t, list, i);
            uint64_t now = cpu_ns();
            double us = (double)(now - before) * 1e-3;
            before = now;
            p.over_100_us += us > 100;
            if (us > p.longest_us)
                p.longest_us = us;
        }
    }
    rung_names_destroy(t);
    return p;
}

/* All ids in batches into a table that knows how many will come: a restart. */
static double load_reserved(id_list *list, const bench_shuffle *order) {
    rung_names *t = create();
    uint64_t start = cpu_ns(), spent;
    if (rung_names_reserve(t, (uint32_t)order->n) < 0)
        bench_die("out of memory");
    spent = cpu_ns() - start;
    for (uint64_t done = 0; done < order->n; done += CHUNK) {
        size_t len = next_ids(list, order, done), interned;
        start = cpu_ns();
        if (names_intern_batch(t, list->ids, len, list->numbers, NULL, &interned) < 0)
            bench_die("out of memory at %" PRIu64 " players", done + interned);
        spent += cpu_ns() - start;
    }
    rung_names_destroy(t);
    return (double)order->n / (double)spent * 1e3;
}

static void find_all(const rung_names *t, id_list *list) {
    for (size_t i = 0; i < CHUNK; i++) {
        if (rung_names_find(t, list->ids[i], &list->numbers[i]) != RUNG_OK)
            bench_die("an id is missing");
    }
}

static void find_all_batch(const rung_names *t, id_list *list) {
    if (rung_names_find_batch(t, list->ids, CHUNK, list->numbers) != CHUNK)
        bench_die("an id is missing");
}

/* M look-ups per second: median over the rounds, 64 chunks each. */
static double rate(const rung_names *t, id_list *list, rung_rng *rng, uint64_t rounds,
                   void (*ask)(const rung_names *t, id_list *list)) {
    double rates[ROUNDS_MAX];
    size_t n = rounds < ROUNDS_MAX ? (size_t)rounds : ROUNDS_MAX;
    for (size_t round = 0; round < n; round++) {
        uint64_t spent = 0;
        for (int chunk = 0; chunk < 64; chunk++) {
            for (size_t i = 0; i < CHUNK; i++)
                set_id(list, i, rung_rng_below(rng, rung_names_count(t)));
            uint64_t start = cpu_ns();
            ask(t, list);
            spent += cpu_ns() - start;
        }
        rates[round] = 64.0 * (double)CHUNK / (double)spent * 1e3;
    }
    return bench_median(rates, n);
}

static void measure(uint64_t count, const bench_options *o, bench_table *table) {
    static id_list list;
    rung_rng rng;
    rung_rng_seed(&rng, o->seed);
    bench_shuffle order = bench_shuffle_of(count, o->seed);
    rung_names *t = create();
    bench_progress("loading %s players", bench_count_label(count).text);
    double intern_rate = load(t, &list, &order);
    bench_progress("looking up");
    double single = rate(t, &list, &rng, o->rounds, find_all);
    double batch = rate(t, &list, &rng, o->rounds, find_all_batch);
    double bytes = (double)rung_names_size_bytes(t) / (double)count;
    rung_names_destroy(t);
    bench_progress("loading twice more");
    double reserved = load_reserved(&list, &order);
    pauses p = load_timed(&list, &order);

    bench_table_cell(table, "%s", bench_count_label(count).text);
    bench_table_cell(table, "%.2f", bytes);
    bench_table_cell(table, "%.2f", single);
    bench_table_cell(table, "%.2f", batch);
    bench_table_cell(table, "%.2f", intern_rate);
    bench_table_cell(table, "%.2f", reserved);
    bench_table_cell(table, "%.0f", p.longest_us);
    bench_table_cell(table, "%" PRIu64, p.over_100_us);
}

int main(int argc, char **argv) {
    bench_options o = {.section = "players",
                       .sizes = {1000000, 3000000, 7000000, 10000000},
                       .size_count = 4,
                       .rounds = 9,
                       .seed = 1};
    bench_options_parse(&o, argc, argv, "the player table: ids to numbers",
                        (const bench_option[]){{0}});
    bench_report report = {0};
    bench_table table = {0};
    bench_machine_describe(&report, o.command);
    bench_table_head(&table, 8, "players", "bytes per id", "find, M/s", "in batches", "intern, M/s",
                     "batches, reserved", "longest intern, us", "over 100 us");
    for (size_t i = 0; i < o.size_count; i++)
        measure(o.sizes[i], &o, &table);
    bench_table_end(&table, &report);
    rung_names *empty = create();
    bench_report_line(&report, "An empty table takes %zu bytes.", rung_names_size_bytes(empty));
    rung_names_destroy(empty);
    return bench_options_finish(&o, &report);
}
