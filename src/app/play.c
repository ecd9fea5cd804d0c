/* SPDX-License-Identifier: Apache-2.0 */
/* rung play - a world of players in memory, and a prompt to ask about it.
 *
 * On a terminal it is a conversation. From a pipe it reads the same commands and ends with them;
 * with nothing to read it gives a short tour instead. */
#include "app/command.h"
#include "app/demo_world.h"
#include "app/options.h"
#include "app/terminal.h"
#include "model/text.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long ull;

enum { WORDS_MAX = 8, ROWS_MAX = 200, PLAYERS_DEFAULT = 100000 };

typedef struct demo {
    rung_demo_world world;
    bool is_terminal; /* someone types */
    rung_row rows[ROWS_MAX + 1];
} demo;

/* ---- words of the screen ---- */

static void title(const char *text) {
    printf("\n%s%s%s\n", rung_terminal_color(stdout, RUNG_COLOR_BOLD), text,
           rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
}

static void complain(const char *text) {
    fflush(stdout);
    fprintf(stderr, "%s\n", text);
}

/* "all time", "week 2026-W46", "week 2026-W46, country:FI" */
static void name_view(const rung_view *view, rung_slice scope, char out[160]) {
    char id[RUNG_WINDOW_ID_MAX] = "";
    if (view->kind)
        rung_window_id_format((rung_window_kind)view->kind, view->ordinal, id);
    snprintf(out, 160, "%s%s%s%.*s",
             view->kind == RUNG_WINDOW_WEEK ? "week "
             : view->kind                   ? "today, "
                                            : "all time",
             id, scope.len ? ", " : "", (int)scope.len, scope.ptr);
}

static rung_slice country_of(const demo *d, rung_slice player) {
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count = 0;
    bool is_banned;
    if (rung_state_player(rung_state_of(d->world.db), player, &count, attributes, &is_banned) ==
        RUNG_OK)
        for (uint32_t i = 0; i < count; i++)
            if (rung_slice_eq(attributes[i].name, RUNG_SLICE("country")))
                return attributes[i].value;
    return RUNG_SLICE("-");
}

/* A view of the arena; false when there is none, which has then been told. */
static bool look(const demo *d, rung_slice window, rung_slice scope, rung_view *view) {
    rung_err err;
    rung_query q = {.board = RUNG_SLICE(RUNG_DEMO_BOARD), .window = window, .scope = scope};
    if (rung_ask(d->world.db, &q, view, &err) == RUNG_OK)
        return true;
    complain(err.message);
    return false;
}

static const rung_table_column standing_columns[] = {
    {"rank", true}, {"player", false}, {"country", false}, {"points", true}, {"percentile", true},
};

static size_t print_rows(const demo *d, const rung_row *rows, uint32_t count, uint32_t marked) {
    char number[RUNG_COUNT_TEXT_MAX];
    rung_table *t = rung_table_begin(5, standing_columns);
    for (uint32_t i = 0; i < count; i++) {
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_count_text(rows[i].rank, number));
        rung_table_word(t, i == marked ? RUNG_COLOR_ACCENT : RUNG_COLOR_PLAIN, rows[i].id);
        rung_table_word(t, RUNG_COLOR_DIM, country_of(d, rows[i].id));
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_signed_text(rows[i].values[0].i, number));
        rung_table_cell(t, RUNG_COLOR_DIM, "%.2f %%", rows[i].percentile);
        if (i == marked)
            rung_table_mark(t);
    }
    return rung_table_print(t, stdout);
}

/* ---- commands: words in, a screen out ---- */

typedef struct words {
    int count;
    const char *word[WORDS_MAX];
} words;

typedef struct top_request {
    uint32_t limit;
    rung_slice window, scope;
} top_request;

/* [n] [week|day|all] [country:XX], in any order. */
static bool read_top(const words *w, top_request *r) {
    *r = (top_request){.limit = 10};
    for (int i = 1; i < w->count; i++) {
        const char *word = w->word[i];
        uint64_t number;
        if (rung_number_parse(word, &number) && number >= 1 && number <= ROWS_MAX)
            r->limit = (uint32_t)number;
        else if (strcmp(word, "week") == 0 || strcmp(word, "day") == 0 || strcmp(word, "all") == 0)
            r->window = rung_slice_str(word);
        else if (strncmp(word, "country:", 8) == 0 && word[8])
            r->scope = rung_slice_str(word);
        else
            return false;
    }
    return true;
}

static bool do_top(demo *d, const words *w) {
    top_request r;
    rung_view view;
    char name[160], head[256], total[RUNG_COUNT_TEXT_MAX];
    if (!read_top(w, &r))
        return false;
    if (!look(d, r.window, r.scope, &view))
        return true;
    name_view(&view, r.scope, name);
    snprintf(head, sizeof head, "Top %u of %s players, %s", r.limit,
             rung_count_text(view.total, total), name);
    title(head);
    print_rows(d, d->rows, rung_view_top(&view, 0, r.limit, d->rows), UINT32_MAX);
    return true;
}

/* The player's row in a view; false (and told, where `is_loud`) when there is none. */
static bool find_row(const rung_view *view, rung_slice player, rung_row *row, bool is_loud) {
    bool is_found;
    rung_view_rows(view, 1, &player, row, &is_found);
    if (!is_found && is_loud)
        complain("nobody of that name has played; names are as top shows them");
    return is_found;
}

static void add_standing(demo *d, rung_table *t, rung_slice player, rung_slice window,
                         rung_slice scope) {
    rung_view view;
    rung_row row;
    char name[160], number[RUNG_COUNT_TEXT_MAX];
    if (!look(d, window, scope, &view) || !find_row(&view, player, &row, false))
        return;
    name_view(&view, scope, name);
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", name);
    rung_table_cell(t, RUNG_COLOR_BOLD, "%s", rung_count_text(row.rank, number));
    rung_table_cell(t, RUNG_COLOR_DIM, "%s", rung_count_text(view.total, number));
    rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_signed_text(row.values[0].i, number));
    rung_table_cell(t, RUNG_COLOR_DIM, "%.2f %%", row.percentile);
}

static void print_standings(demo *d, rung_slice player) {
    static const rung_table_column columns[] = {
        {"ranking", false}, {"rank", true}, {"of", true}, {"points", true}, {"percentile", true}};
    char scope[160];
    rung_slice country = country_of(d, player);
    snprintf(scope, sizeof scope, "country:%.*s", (int)country.len, country.ptr);
    rung_table *t = rung_table_begin(5, columns);
    for (int i = 0; i < 2; i++) {
        rung_slice in = i == 0 ? (rung_slice){0} : rung_slice_str(scope);
        add_standing(d, t, player, RUNG_SLICE("all"), in);
        add_standing(d, t, player, RUNG_SLICE("week"), in);
        add_standing(d, t, player, RUNG_SLICE("day"), in);
    }
    rung_table_print(t, stdout);
}

static bool do_rank(demo *d, const words *w) {
    rung_view view;
    rung_row row;
    if (w->count != 2)
        return false;
    rung_slice player = rung_slice_str(w->word[1]);
    if (!look(d, RUNG_SLICE("all"), (rung_slice){0}, &view) || !find_row(&view, player, &row, true))
        return true;
    title(w->word[1]);
    print_standings(d, player);
    return true;
}

static bool do_around(demo *d, const words *w) {
    uint64_t around = 5;
    uint32_t count, self;
    rung_view view;
    char head[256];
    if (w->count < 2 || w->count > 3 ||
        (w->count == 3 && !rung_number_parse(w->word[2], &around)) || around < 1 ||
        around > ROWS_MAX / 2)
        return false;
    if (!look(d, RUNG_SLICE("all"), (rung_slice){0}, &view))
        return true;
    if (rung_view_around(&view, rung_slice_str(w->word[1]), (uint32_t)around, d->rows, &count,
                         &self) != RUNG_OK) {
        complain("nobody of that name has played; names are as top shows them");
        return true;
    }
    snprintf(head, sizeof head, "Around %s", w->word[1]);
    title(head);
    print_rows(d, d->rows, count, self);
    return true;
}

static void print_outcome(const rung_outcome *o) {
    char a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX], c[RUNG_COUNT_TEXT_MAX];
    printf("  %s points now: rank %s", rung_signed_text(o->values[0].i, a),
           rung_count_text(o->rank, b));
    if (o->rank_before)
        printf(" (was %s)", rung_count_text(o->rank_before, b));
    printf(" of %s", rung_count_text(o->total, c));
    if (o->passed)
        printf(", %s passed", rung_count_text(o->passed, c));
    putchar('\n');
    if (o->has_next)
        printf("  next: %.*s, %s points ahead\n", (int)o->next.len, o->next.ptr,
               rung_signed_text(o->gap.i, a));
}

static bool do_submit(demo *d, const words *w) {
    rung_err err = {0};
    rung_outcome outcome;
    rung_value points;
    if (w->count != 3)
        return false;
    if (rung_text_parse_fixed(rung_slice_str(w->word[2]), 0, &points.i, &err) < 0) {
        complain(err.message);
        return true;
    }
    rung_score_event score = {.board = RUNG_SLICE(RUNG_DEMO_BOARD),
                              .player = rung_slice_str(w->word[1]),
                              .value_count = 1,
                              .values = {points}};
    if (rung_submit(d->world.db, &score, &outcome, &err) < 0)
        complain(err.message);
    else
        print_outcome(&outcome);
    return true;
}

static bool do_friends(demo *d, const words *w) {
    static const rung_table_column columns[] = {
        {"place", true}, {"player", false}, {"country", false}, {"points", true}, {"of all", true}};
    uint32_t count, total;
    rung_view view;
    char head[256], number[RUNG_COUNT_TEXT_MAX];
    if (w->count != 2)
        return false;
    rung_slice player = rung_slice_str(w->word[1]);
    if (!look(d, RUNG_SLICE("all"), (rung_slice){0}, &view))
        return true;
    if (rung_view_friends(&view, rung_alloc_heap(), player, 0, ROWS_MAX, d->rows, &count, &total) !=
        RUNG_OK) {
        complain("there is nobody of that name; names are as top shows them");
        return true;
    }
    snprintf(head, sizeof head, "%s among friends", w->word[1]);
    title(head);
    rung_table *t = rung_table_begin(5, columns);
    for (uint32_t i = 0; i < count; i++) {
        bool is_self = rung_slice_eq(d->rows[i].id, player);
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%u", d->rows[i].list_rank);
        rung_table_word(t, is_self ? RUNG_COLOR_ACCENT : RUNG_COLOR_PLAIN, d->rows[i].id);
        rung_table_word(t, RUNG_COLOR_DIM, country_of(d, d->rows[i].id));
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                        rung_signed_text(d->rows[i].values[0].i, number));
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", rung_count_text(d->rows[i].rank, number));
        if (is_self)
            rung_table_mark(t);
    }
    rung_table_print(t, stdout);
    return true;
}

static bool do_percentile(demo *d, const words *w) {
    rung_view view;
    rung_row row, target;
    char a[RUNG_COUNT_TEXT_MAX];
    if (w->count != 2)
        return false;
    if (!look(d, RUNG_SLICE("all"), (rung_slice){0}, &view) ||
        !find_row(&view, rung_slice_str(w->word[1]), &row, true))
        return true;
    printf("  %s is level with or ahead of %.3f %% of %s players\n", w->word[1], row.percentile,
           rung_count_text(view.total, a));
    static const double goals[] = {50, 10, 1, 0.1};
    for (size_t i = 0; i < 4; i++)
        if (rung_view_target_percent(&view, goals[i], &target) == RUNG_OK &&
            row.index > target.index) {
            printf("  the best %g %% begin %s points ahead\n", goals[i],
                   rung_signed_text(target.values[0].i - row.values[0].i, a));
            break;
        }
    return true;
}

static void print_bar(uint32_t count, uint32_t most) {
    enum { WIDTH = 40 };
    const char *block = rung_terminal_has_unicode() ? "█" : "#";
    uint32_t len = most ? (uint32_t)(((uint64_t)count * WIDTH + most - 1) / most) : 0;
    fputs(rung_terminal_color(stdout, RUNG_COLOR_ACCENT), stdout);
    for (uint32_t i = 0; i < len; i++)
        fputs(block, stdout);
    printf("%s\n", rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
}

static bool do_dist(demo *d, const words *w) {
    enum { BUCKETS = 16 };
    rung_bucket buckets[BUCKETS];
    rung_view view;
    rung_row row;
    uint32_t most = 0;
    char a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX];
    if (w->count != 1)
        return false;
    if (!look(d, RUNG_SLICE("day"), (rung_slice){0}, &view))
        return true;
    uint32_t n = rung_view_distribution_by_width(&view, BUCKETS, buckets);
    title("How many players have how many points today");
    for (uint32_t i = 0; i < n; i++)
        most = buckets[i].count > most ? buckets[i].count : most;
    for (uint32_t i = 0; i < n; i++) {
        printf("  %10s on  %8s  ", rung_signed_text(buckets[i].low.i, a),
               rung_count_text(buckets[i].count, b));
        print_bar(buckets[i].count, most);
    }
    static const uint32_t shares[] = {1, 10, 50, 90};
    fputs("  the best", stdout);
    for (size_t i = 0; i < 4; i++)
        if (rung_view_quantile(&view, shares[i], 100, &row) == RUNG_OK)
            printf("%s %u %% from %s", i ? "," : "", shares[i],
                   rung_signed_text(row.values[0].i, a));
    putchar('\n');
    return true;
}

/* ---- run: scores keep moving ---- */

enum { LIVE_ROWS = 12, FRAME_MS = 400 };

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int signal_number) {
    (void)signal_number;
    is_interrupted = 1;
}

/* Who stood where in the frame before, by player number. */
typedef struct frame {
    uint32_t count;
    uint32_t numbers[ROWS_MAX];
} frame;

static void remember(frame *f, const rung_view *view, rung_row *rows) {
    f->count = rung_view_top(view, 0, ROWS_MAX, rows);
    for (uint32_t i = 0; i < f->count; i++)
        f->numbers[i] = rows[i].number;
}

static void add_movement(rung_table *t, const frame *before, uint32_t number, uint32_t place) {
    bool is_unicode = rung_terminal_has_unicode();
    const char *up = is_unicode ? "▲" : "+", *down = is_unicode ? "▼" : "-";
    uint32_t was = 0;
    while (was < before->count && before->numbers[was] != number)
        was++;
    if (was == before->count)
        rung_table_cell(t, RUNG_COLOR_GOOD, "%s new", up);
    else if (was > place)
        rung_table_cell(t, RUNG_COLOR_GOOD, "%s %u", up, was - place);
    else if (was < place)
        rung_table_cell(t, RUNG_COLOR_BAD, "%s %u", down, place - was);
    else
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", is_unicode ? "·" : ".");
}

static size_t print_live(demo *d, const rung_view *view, const frame *before, double per_second,
                         uint64_t total) {
    static const rung_table_column columns[] = {
        {"rank", true}, {"", false}, {"player", false}, {"country", false}, {"points today", true}};
    char number[RUNG_COUNT_TEXT_MAX], rate[RUNG_COUNT_TEXT_MAX];
    uint32_t count = rung_view_top(view, 0, LIVE_ROWS, d->rows);
    rung_table *t = rung_table_begin(5, columns);
    for (uint32_t i = 0; i < count; i++) {
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%u", d->rows[i].rank);
        add_movement(t, before, d->rows[i].number, i);
        rung_table_word(t, i == 0 ? RUNG_COLOR_BOLD : RUNG_COLOR_PLAIN, d->rows[i].id);
        rung_table_word(t, RUNG_COLOR_DIM, country_of(d, d->rows[i].id));
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                        rung_signed_text(d->rows[i].values[0].i, number));
    }
    size_t lines = rung_table_print(t, stdout);
    printf("  %s submissions, %s%s%s a second\n", rung_count_text(total, number),
           rung_terminal_color(stdout, RUNG_COLOR_BOLD),
           rung_count_text((uint64_t)per_second, rate),
           rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
    return lines + 1;
}

/* One frame's worth of play; returns how many submissions, 0 when it failed (told). */
static uint64_t play_frame(demo *d, int64_t until_ms) {
    uint64_t done = 0;
    rung_err err;
    do {
        if (rung_demo_world_play(&d->world, 1024, &err) < 0) {
            complain(err.message);
            return 0;
        }
        done += 1024;
    } while (rung_elapsed_ms() < until_ms);
    return done;
}

static bool wants_to_stop(const demo *d) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return is_interrupted || (d->is_terminal && poll(&in, 1, 0) > 0);
}

static void run_frames(demo *d, int64_t seconds) {
    frame before;
    rung_view view;
    size_t lines = 0;
    uint64_t total = 0;
    bool is_live = isatty(STDOUT_FILENO);
    int64_t began_ms = rung_elapsed_ms(), end_ms = began_ms + seconds * 1000;
    for (;;) {
        if (!look(d, RUNG_SLICE("day"), (rung_slice){0}, &view))
            return;
        remember(&before, &view, d->rows);
        rung_demo_world_excite(&d->world, &view);
        int64_t now_ms = rung_elapsed_ms();
        uint64_t done = play_frame(d, now_ms + FRAME_MS);
        bool is_last = done == 0 || rung_elapsed_ms() >= end_ms || wants_to_stop(d);
        total += done;
        if ((is_live || is_last) && look(d, RUNG_SLICE("day"), (rung_slice){0}, &view)) {
            if (lines)
                printf("\033[%zuA\033[J", lines);
            double rate = (double)total * 1000 / (double)(rung_elapsed_ms() - began_ms);
            lines = print_live(d, &view, &before, rate, total);
            fflush(stdout);
        }
        if (is_last)
            return;
    }
}

static void swallow_line(const demo *d) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char rest[256];
    if (d->is_terminal && poll(&in, 1, 0) > 0 && !fgets(rest, sizeof rest, stdin))
        return; /* the end of input: the prompt will see it too */
}

static bool do_run(demo *d, const words *w) {
    uint64_t seconds = d->is_terminal ? 3600 : 3;
    if (w->count > 2 || (w->count == 2 && (!rung_number_parse(w->word[1], &seconds) ||
                                           seconds < 1 || seconds > 86400)))
        return false;
    struct sigaction old, stop = {.sa_handler = on_interrupt};
    is_interrupted = 0;
    sigaction(SIGINT, &stop, &old);
    title(d->is_terminal ? "The arena, today (Enter stops)" : "The arena, today");
    run_frames(d, (int64_t)seconds);
    sigaction(SIGINT, &old, NULL);
    swallow_line(d);
    return true;
}

/* ---- the tour ---- */

static void tour_speed(demo *d) {
    uint64_t total = (uint64_t)d->world.player_count * 10, done = 0;
    char a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX];
    rung_err err;
    int64_t began_ms = rung_elapsed_ms();
    while (done < total) {
        uint32_t count =
            total - done < RUNG_DEMO_BATCH ? (uint32_t)(total - done) : RUNG_DEMO_BATCH;
        if (rung_demo_world_play(&d->world, count, &err) < 0) {
            complain(err.message);
            return;
        }
        done += count;
    }
    double seconds = (double)(rung_elapsed_ms() - began_ms + 1) / 1000;
    title("And it is quick");
    printf("  %s submissions took %.2f s: %s a second, on one core, each one ranked at once\n"
           "  in six rankings: all time, this week and today, of everybody and of the player's "
           "country.\n",
           rung_count_text(total, a), seconds,
           rung_count_text((uint64_t)((double)total / seconds), b));
}

static void tour(demo *d) {
    rung_view view;
    rung_row row;
    char name[RUNG_DEMO_NAME_MAX + 1];
    do_top(d, &(words){2, {"top", "5"}});
    if (look(d, RUNG_SLICE("all"), (rung_slice){0}, &view) &&
        rung_view_target_rank(&view, 1 + view.total / 3, &row) == RUNG_OK) {
        snprintf(name, sizeof name, "%.*s", (int)row.id.len, row.id.ptr);
        do_around(d, &(words){3, {"around", name, "2"}});
    }
    do_top(d, &(words){4, {"top", "3", "week", "country:FI"}});
    tour_speed(d);
    puts("\nOn a terminal, rung play is a conversation; from a pipe it reads commands: echo 'top "
         "10' | rung play");
}

/* ---- the conversation ---- */

typedef struct demo_command {
    const char *name, *usage, *help;
    bool (*run)(demo *d, const words *w); /* false: not called as `usage` says */
} demo_command;

static bool do_help(demo *d, const words *w);

static const demo_command demo_commands[] = {
    {"top", "top [n] [week|day] [country:FI]", "the best, of all time or this week or today",
     do_top},
    {"rank", "rank NAME", "where somebody stands, in every ranking", do_rank},
    {"around", "around NAME [n]", "who is just above and below", do_around},
    {"submit", "submit NAME POINTS", "points for somebody, also for you", do_submit},
    {"friends", "friends NAME", "the same among friends", do_friends},
    {"percentile", "percentile NAME", "better than how many, and how far to the next mark",
     do_percentile},
    {"dist", "dist", "how the points of today are spread", do_dist},
    {"run", "run [seconds]", "let everybody play, and watch", do_run},
    {"help", "help", "this list", do_help},
    {"quit", "quit", "or the end of input", NULL},
};
enum { DEMO_COMMAND_COUNT = sizeof demo_commands / sizeof demo_commands[0] };

static bool do_help(demo *d, const words *w) {
    (void)d;
    (void)w;
    for (size_t i = 0; i < DEMO_COMMAND_COUNT; i++)
        printf("  %-32s %s\n", demo_commands[i].usage, demo_commands[i].help);
    return true;
}

/* Split in place at white space; what is too much is left out. */
static words split(char *text) {
    words w = {0};
    char *rest = text;
    while (w.count < WORDS_MAX) {
        rest += strspn(rest, " \t\r\n");
        if (*rest == '\0')
            break;
        w.word[w.count++] = rest;
        rest += strcspn(rest, " \t\r\n");
        if (*rest)
            *rest++ = '\0';
    }
    return w;
}

/* False: enough. */
static bool obey(demo *d, char *text) {
    words w = split(text);
    if (w.count == 0)
        return true;
    if (strcmp(w.word[0], "quit") == 0 || strcmp(w.word[0], "exit") == 0)
        return false;
    for (size_t i = 0; i < DEMO_COMMAND_COUNT; i++) {
        const demo_command *c = &demo_commands[i];
        if (strcmp(c->name, w.word[0]) != 0)
            continue;
        if (!c->run(d, &w)) {
            fflush(stdout);
            fprintf(stderr, "usage: %s\n", c->usage);
        }
        return true;
    }
    complain("there is no such command; help lists them");
    return true;
}

static void converse(demo *d) {
    char text[512];
    bool is_first = true;
    for (;; is_first = false) {
        if (d->is_terminal)
            printf("\n%srung>%s ", rung_terminal_color(stdout, RUNG_COLOR_ACCENT),
                   rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
        fflush(stdout);
        if (!fgets(text, sizeof text, stdin))
            break;
        if (!obey(d, text))
            return;
    }
    if (d->is_terminal)
        putchar('\n');
    else if (is_first)
        tour(d);
}

static void show_creation(void *ctx, uint64_t done, uint64_t total) {
    rung_progress_show(ctx, "four weeks of play", done, total);
}

static void greet(const demo *d) {
    rung_stats stats;
    char a[RUNG_COUNT_TEXT_MAX], b[RUNG_COUNT_TEXT_MAX], c[RUNG_COUNT_TEXT_MAX];
    rung_state_stats(rung_state_of(d->world.db), &stats);
    printf("The arena: %s players, four weeks of play, %s entries in %s of memory.\n",
           rung_count_text(d->world.player_count, a), rung_count_text(stats.entries, b),
           rung_size_text(stats.bytes_total, c));
    if (d->is_terminal)
        puts("Try: top, top 5 week country:FI, run, help.");
}

typedef struct play_args {
    uint64_t players;
} play_args;

static const rung_option play_options[] = {
    RUNG_OPTION_NUMBER(play_args, players, "--players", "N",
                       "how many (default 100000, from 10 to 400000)"),
};

static int run_play(const rung_command *self, int argc, char **argv) {
    static demo d; /* large, and there is one */
    play_args args = {0};
    rung_progress progress = {0};
    rung_err err = {0};
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    uint64_t players = args.players ? args.players : PLAYERS_DEFAULT;
    if (players < 10 || players > RUNG_DEMO_PLAYERS_MAX) {
        fputs("rung play: --players: expected 10 to 400000\n", stderr);
        return RUNG_EXIT_USAGE;
    }
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer); /* a frame appears at once, not line by line */
    d.is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    rung_status st =
        rung_demo_world_create(&d.world, (uint32_t)players, show_creation, &progress, &err);
    rung_progress_end(&progress);
    if (st >= 0) {
        greet(&d);
        converse(&d);
    }
    rung_demo_world_destroy(&d.world);
    return st < 0 ? rung_command_fail(self, &err) : RUNG_EXIT_OK;
}

const rung_command rung_command_play = {
    .group = RUNG_GROUP_HELP,
    .name = "play",
    .summary =
        "a board of 100,000 players in memory, and a prompt to ask about it; no server needed",
    .details =
        "Makes a board with 100,000 players and four weeks of play, and asks what you want to\n"
        "know; help lists the commands. Nothing is written anywhere. From a pipe it reads the\n"
        "same commands, and without any it shows a short tour:\n"
        "\n"
        "  echo 'top 10 week' | rung play\n"
        "  rung play </dev/null\n",
    RUNG_OPTIONS(play_options),
    .run = run_play,
};
