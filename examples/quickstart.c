/* SPDX-License-Identifier: Apache-2.0 */
/* quickstart.c - a leaderboard in a program: define, submit, ask.
 *
 *     cc quickstart.c $(pkg-config --cflags --libs rung) && ./a.out */
#include <rung/rung.h>

#include <stdio.h>
#include <stdlib.h>

/* A program has its own way to fail; this one's is to say why and leave. */
static void must(rung_status st, const rung_err *err) {
    if (st < 0) {
        fprintf(stderr, "%s: %s\n", rung_status_name(st), err->message);
        exit(1);
    }
}

static void print_rows(const char *title, const rung_row *rows, uint32_t count) {
    printf("%s\n", title);
    for (uint32_t i = 0; i < count; i++)
        printf("  %u. %.*s %lld\n", rows[i].rank, (int)rows[i].id.len, rows[i].id.ptr,
               (long long)rows[i].values[0].i);
}

int main(void) {
    static const struct {
        const char *name, *country;
        int64_t score;
    } players[] = {
        {"ada", "GB", 4200},    {"alan", "GB", 3900},   {"grace", "US", 4800},
        {"linus", "FI", 4200},  {"donald", "US", 3100}, {"margaret", "US", 4500},
        {"edsger", "NL", 2900},
    };
    const uint32_t player_count = sizeof players / sizeof players[0];
    rung_err err;
    rung *db;
    must(rung_open(NULL, &db, &err), &err); /* in memory; give it a path and it is kept */

    /* The best score counts, for ever and for each week of Helsinki's calendar, for everybody and by country. */
    rung_slice board = RUNG_SLICE("race");
    rung_board_def def = rung_board_def_default();
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_WEEK);
    def.zone_name = RUNG_SLICE("Europe/Helsinki");
    def.scopes[def.scope_count++] = RUNG_SLICE("country");
    must(rung_board_define(db, board, &def, &err), &err);

    rung_outcome outcome;
    for (uint32_t i = 0; i < player_count; i++) {
        rung_slice name = rung_slice_str(players[i].name);
        rung_attribute country = {RUNG_SLICE("country"), rung_slice_str(players[i].country)};
        must(rung_player_set(db, name, 1, &country, &err), &err);
        rung_score_event score = {
            .board = board, .player = name, .value_count = 1, .values = {{.i = players[i].score}}};
        must(rung_submit(db, &score, &outcome, &err), &err);
    }
    printf("edsger entered at rank %u of %u, %lld behind %.*s\n", outcome.rank, outcome.total,
           (long long)outcome.gap.i, (int)outcome.next.len, outcome.next.ptr);

    rung_view view;
    rung_row rows[5];
    uint32_t count, self;
    must(rung_ask(db, &(rung_query){.board = board, .window = RUNG_SLICE("week")}, &view, &err),
         &err);
    print_rows("top of the week", rows, rung_view_top(&view, 0, 3, rows));

    must(rung_ask(db, &(rung_query){.board = board}, &view, &err), &err);
    if (rung_view_around(&view, RUNG_SLICE("linus"), 2, rows, &count, &self) == RUNG_OK) {
        print_rows("around linus", rows, count);
        printf("linus is at least as good as %.0f %% of the players\n", rows[self].percentile);
    }

    must(
        rung_ask(db, &(rung_query){.board = board, .scope = RUNG_SLICE("country:US")}, &view, &err),
        &err);
    print_rows("United States", rows, rung_view_top(&view, 0, 3, rows));

    must(rung_close(db, &err), &err);
    return 0;
}
