/* SPDX-License-Identifier: Apache-2.0 */
/* persistent.c - a leaderboard that is still there tomorrow: submit, close, open again, the same state.
 *
 *     cc persistent.c $(pkg-config --cflags --libs rung) && ./a.out [folder] */
#include <rung/rung.h>

#include <stdio.h>
#include <stdlib.h>

static void must(rung_status st, const rung_err *err) {
    if (st < 0) {
        fprintf(stderr, "%s: %s\n", rung_status_name(st), err->message);
        exit(1);
    }
}

static void show_progress(void *ctx, const char *what, uint64_t done, uint64_t total) {
    (void)ctx;
    if (done == total)
        printf("  %s: %llu of %llu\n", what, (unsigned long long)done, (unsigned long long)total);
}

static rung *open_folder(const char *path) {
    rung *db;
    rung_err err;
    printf("open\n");
    must(rung_open(&(rung_config){.path = path, .progress = show_progress}, &db, &err), &err);
    printf("  %llu events\n", (unsigned long long)rung_state_seq(rung_state_of(db)));
    return db;
}

/* When this returns, the points are on the disk. A purchase that is reported twice counts once: it has an id. */
static void add_points(rung *db, const char *player, int64_t points, const char *purchase) {
    rung_err err;
    rung_outcome outcome;
    rung_status st = rung_submit(db,
                                 &(rung_score_event){.board = RUNG_SLICE("loyalty"),
                                                     .player = rung_slice_str(player),
                                                     .is_delta = true,
                                                     .value_count = 1,
                                                     .values = {{.i = points}},
                                                     .id = rung_slice_str(purchase)},
                                 &outcome, &err);
    must(st, &err);
    printf("  %s: %lld points%s\n", player, (long long)outcome.values[0].i,
           st == RUNG_DUPLICATE ? " (seen before)" : "");
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "loyalty-data";
    rung_err err;
    rung *db = open_folder(path);
    rung_board_def def = rung_board_def_default();
    def.update = RUNG_UPDATE_SUM;
    must(rung_board_define(db, RUNG_SLICE("loyalty"), &def, &err), &err);
    add_points(db, "ada", 120, "receipt-1");
    add_points(db, "alan", 80, "receipt-2");
    rung_digest before = rung_state_digest(rung_state_of(db));
    must(rung_close(db, &err), &err);

    db = open_folder(path); /* everything is replayed from the log */
    rung_digest after = rung_state_digest(rung_state_of(db));
    printf("  the same state: %s\n", before.a == after.a && before.b == after.b ? "yes" : "no");
    add_points(db, "ada", 120, "receipt-1");
    add_points(db, "ada", 40, "receipt-3");
    must(rung_snapshot(db, false, &err), &err);
    add_points(db, "alan", 1, "receipt-4");
    must(rung_close(db, &err), &err);

    db = open_folder(path); /* the snapshot, and what came after it */
    must(rung_close(db, &err), &err);
    return 0;
}
