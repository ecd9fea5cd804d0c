/* SPDX-License-Identifier: Apache-2.0 */
/* rung demo - a few boards on a server, and players who do not stop playing.
 *
 * Four boards that differ in what a score means, a thousand players with names, countries and guilds who join as they
 * play, and a handful near the top who fight it out. All of it over HTTP, as any game would do it. */
#include "cli/ask.h"
#include "cli/demo_people.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "codec/json_writer.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum {
    PLAYERS_DEFAULT = 1000,
    PLAYERS_MAX = 100000,
    RATE_DEFAULT = 40,
    RATE_MAX = 100000,
    BATCH_MAX = 2000,
    TURN_MS = 250,
    PAST_EACH = 4, /* scores of a player before the demo begins */
    RIVALS = 12,
    FRIENDS = 6,
};

typedef struct demo_args {
    rung_ask_args ask;
    uint64_t players, rate, seconds;
} demo_args;

static const rung_option demo_options[] = {
    RUNG_OPTION_NUMBER(demo_args, players, "--players", "N",
                       "how many (default 1000, 10 to 100000)"),
    RUNG_OPTION_NUMBER(demo_args, rate, "--rate", "N", "scores a second (default 40)"),
    RUNG_OPTION_NUMBER(demo_args, seconds, "--seconds", "N",
                       "stop after so long (default: Ctrl-C)"),
    RUNG_ASK_OPTIONS,
};

typedef struct demo {
    const rung_command *self;
    rung_client *client;
    uint32_t players;
    uint64_t chance;
    bool *is_known; /* who has a profile already */
    uint32_t rivals[RIVALS];
    uint64_t sent;
    rung_json_writer body;
} demo;

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int number) {
    (void)number;
    is_interrupted = 1;
}

/* ---- chance ---- */

static uint32_t below(demo *d, uint32_t n) {
    return (uint32_t)((rung_hash_word(d->chance += 0x9e3779b97f4a7c15u) >> 32) * n >> 32);
}

/* Players by number, so that neighbours share neither name nor nickname. */
static uint32_t person(uint32_t player) {
    enum { PLAIN_NAMES = 4896 }; /* after those, names have numbers */
    uint64_t scattered =
        (uint64_t)player % PLAIN_NAMES * 611953u % PLAIN_NAMES; /* a prime: no two meet */
    return (uint32_t)scattered + player / PLAIN_NAMES * PLAIN_NAMES;
}

/* Some play far more than others. */
static uint32_t who_plays(demo *d) {
    if (below(d, 100) < 25)
        return d->rivals[below(d, RIVALS)];
    uint64_t a = below(d, 1 << 16), b = below(d, 1 << 16);
    return (uint32_t)(a * b * d->players >> 32);
}

static uint32_t skill_of(uint32_t player) {
    return (uint32_t)(rung_hash_word(player) % 100);
}

/* ---- boards ---- */

typedef struct demo_board {
    const char *id, *definition;
    void (*score)(demo *d, uint32_t player); /* writes the member score or delta, and columns */
} demo_board;

static void arena_score(demo *d, uint32_t player) {
    RUNG_JSON_MEMBER(&d->body, "delta", uint,
                     (20 + skill_of(player) / 2 + below(d, 100)) * (below(d, 20) == 0 ? 3 : 1));
}

static void sprint_score(demo *d, uint32_t player) {
    RUNG_JSON_MEMBER(&d->body, "score", fixed,
                     9600 + (100 - skill_of(player)) * 40 + below(d, 1500), 3);
}

static void puzzle_score(demo *d, uint32_t player) {
    RUNG_JSON_MEMBER(&d->body, "score", uint, 10 * (below(d, 60) + skill_of(player) / 3 + 5));
}

static void trending_score(demo *d, uint32_t player) {
    (void)player;
    RUNG_JSON_MEMBER(&d->body, "delta", uint, 1 + below(d, 5));
}

static const demo_board boards[] = {
    {"arena",
     "{\"title\":\"The "
     "arena\",\"update\":\"sum\",\"windows\":[\"all\",\"week\",\"day\"],\"scopes\":[\"country\"],"
     "\"teams\":{\"by\":\"guild\",\"combine\":\"top:5\"}}",
     arena_score},
    {"sprint",
     "{\"title\":\"City sprint "
     "(seconds)\",\"score\":{\"type\":\"decimal\",\"decimals\":3,\"order\":\"asc\"},"
     "\"windows\":[\"all\",\"day\"],\"scopes\":[\"country\"]}",
     sprint_score},
    {"puzzle",
     "{\"title\":\"Daily puzzle\",\"rank\":\"dense\",\"windows\":[\"day\",\"week\",\"all\"]}",
     puzzle_score},
    {"trending",
     "{\"title\":\"Trending "
     "now\",\"update\":\"decay\",\"half_life\":600,\"score\":{\"type\":\"real\"}}",
     trending_score},
};
enum { BOARD_COUNT = sizeof boards / sizeof boards[0] };

static int make_boards(demo *d) {
    for (size_t i = 0; i < BOARD_COUNT; i++) {
        rung_path path = {0};
        rung_reply reply;
        rung_path_add(&path, "/v1/boards/");
        rung_path_name(&path, boards[i].id);
        int code = rung_ask_for(d->self, d->client, "PUT", &path,
                                rung_slice_str(boards[i].definition), &reply);
        if (code)
            return code;
    }
    return RUNG_EXIT_OK;
}

/* ---- players ---- */

static const char *const guilds[] = {"Night Owls", "Iron Foxes",   "Moss Knights",
                                     "Comet Club", "Salt & Pixel", "The Lanterns",
                                     "Northwind",  "Paper Tigers"};
enum { GUILD_COUNT = sizeof guilds / sizeof guilds[0] };

/* "aino.fox" as "Aino Fox" */
static void show_name(const char *id, char out[RUNG_DEMO_NAME_MAX]) {
    bool is_start = true;
    size_t i = 0;
    for (; id[i]; i++) {
        out[i] = id[i] == '.'                               ? ' '
                 : is_start && id[i] >= 'a' && id[i] <= 'z' ? (char)(id[i] - 32)
                                                            : id[i];
        is_start = id[i] == '.';
    }
    out[i] = '\0';
}

static void write_member(rung_json_writer *w, const char *name, const char *value) {
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_write_word(w, value);
}

static int put_profile(demo *d, uint32_t player) {
    char id[RUNG_DEMO_NAME_MAX], name[RUNG_DEMO_NAME_MAX];
    rung_json_writer *w = &d->body;
    rung_path path = {0};
    rung_reply reply;
    rung_demo_name(person(player), id);
    show_name(id, name);
    rung_json_writer_reset(w);
    rung_json_open_object(w);
    write_member(w, "name", name);
    write_member(w, "country", rung_demo_country(person(player)));
    if (rung_hash_word(player + 7) % 10 < 8)
        write_member(w, "guild", guilds[rung_hash_word(player + 9) % GUILD_COUNT]);
    rung_json_close_object(w);
    rung_path_add(&path, "/v1/players/");
    rung_path_name(&path, id);
    return rung_ask_for(d->self, d->client, "PUT", &path, rung_json_written(w), &reply);
}

static int befriend(demo *d, uint32_t player) {
    char id[RUNG_DEMO_NAME_MAX], other[RUNG_DEMO_NAME_MAX];
    rung_path path = {0};
    rung_reply reply;
    rung_demo_name(person(player), id);
    rung_demo_name(person(below(d, d->players)), other);
    if (strcmp(id, other) == 0)
        return RUNG_EXIT_OK;
    rung_path_add(&path, "/v1/players/");
    rung_path_name(&path, id);
    rung_path_add(&path, "/friends/");
    rung_path_name(&path, other);
    return rung_ask_for(d->self, d->client, "PUT", &path, (rung_slice){0}, &reply);
}

static int introduce(demo *d, uint32_t player) {
    if (d->is_known[player])
        return RUNG_EXIT_OK;
    d->is_known[player] = true;
    int code = put_profile(d, player);
    for (int i = 0; code == RUNG_EXIT_OK && i < FRIENDS && player < 50; i++)
        code = befriend(d, player);
    return code;
}

/* ---- scores ---- */

static void write_score(demo *d, uint32_t player, int64_t at_ms) {
    char id[RUNG_DEMO_NAME_MAX];
    const demo_board *board = &boards[below(d, 10) < 5 ? 0 : 1 + below(d, BOARD_COUNT - 1)];
    rung_json_writer *w = &d->body;
    rung_demo_name(person(player), id);
    w->is_comma_due = false;
    rung_json_open_object(w);
    write_member(w, "board", board->id);
    write_member(w, "player", id);
    board->score(d, player);
    if (at_ms)
        RUNG_JSON_MEMBER(w, "at", int, at_ms);
    rung_json_close_object(w);
    rung_json_append(w, RUNG_SLICE("\n"));
}

/* `count` scores; those of the past lie in the last six hours. */
static int play(demo *d, uint32_t count, bool is_past) {
    static uint32_t who[BATCH_MAX];
    rung_path path = {0};
    rung_reply reply;
    rung_err err = {0};
    rung_clock clock = rung_clock_real();
    int code = RUNG_EXIT_OK;
    for (uint32_t i = 0; code == RUNG_EXIT_OK && i < count; i++) {
        who[i] = is_past ? below(d, d->players) : who_plays(d);
        if (!is_past)
            code = introduce(d, who[i]);
    }
    if (code)
        return code;
    rung_json_writer_reset(&d->body);
    for (uint32_t i = 0; i < count; i++)
        write_score(d, who[i],
                    is_past ? rung_clock_now(&clock) - (int64_t)below(d, 6 * 3600000) : 0);
    rung_path_add(&path, "/v1/scores");
    if (rung_client_ask(d->client, "POST", &path, "application/x-ndjson",
                        rung_json_written(&d->body), &reply, &err) < 0) {
        rung_command_fail(d->self, &err);
        return RUNG_EXIT_UNREACHED;
    }
    d->sent += count;
    return reply.status < 300 ? RUNG_EXIT_OK : rung_ask_fail(d->self, &reply);
}

static int play_past(demo *d) {
    uint32_t left = d->players * PAST_EACH;
    int code = RUNG_EXIT_OK;
    while (code == RUNG_EXIT_OK && left > 0 && !is_interrupted) {
        uint32_t count = left < BATCH_MAX ? left : BATCH_MAX;
        code = play(d, count, true);
        left -= count;
    }
    return code;
}

static int play_on(demo *d, const demo_args *args) {
    int64_t began_ms = rung_elapsed_ms();
    uint64_t rate = args->rate ? args->rate : RATE_DEFAULT, done = 0;
    int code = RUNG_EXIT_OK;
    while (code == RUNG_EXIT_OK && !is_interrupted) {
        int64_t passed_ms = rung_elapsed_ms() - began_ms;
        if (args->seconds && passed_ms >= (int64_t)args->seconds * 1000)
            break;
        uint64_t due = rate * (uint64_t)passed_ms / 1000 - done;
        uint32_t count = due < BATCH_MAX ? (uint32_t)due : BATCH_MAX;
        if (count > 0)
            code = play(d, count, false);
        done += due; /* what was too much is not caught up with */
        nanosleep(&(struct timespec){.tv_nsec = TURN_MS * 1000000L}, NULL);
    }
    return code;
}

/* ---- the command ---- */

static int run_all(demo *d, const demo_args *args) {
    char count[RUNG_COUNT_TEXT_MAX];
    for (uint32_t i = 0; i < RIVALS; i++)
        d->rivals[i] = i * 7 % d->players;
    int code = make_boards(d);
    for (uint32_t i = 0; code == RUNG_EXIT_OK && i < RIVALS; i++)
        code = introduce(d, d->rivals[i]);
    if (code == RUNG_EXIT_OK)
        code = play_past(d);
    if (code)
        return code;
    printf("boards arena, sprint, puzzle and trending on %s, %s scores so far; playing on\n",
           rung_client_url(d->client), rung_count_text(d->sent, count));
    fflush(stdout);
    return play_on(d, args);
}

static int run_demo(const rung_command *self, int argc, char **argv) {
    demo_args args = {0};
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    uint64_t players = args.players ? args.players : PLAYERS_DEFAULT;
    if (players < 10 || players > PLAYERS_MAX || args.rate > RATE_MAX) {
        fprintf(stderr, "rung demo: %s\n",
                args.rate > RATE_MAX ? "--rate: at most 100000"
                                     : "--players: expected 10 to 100000");
        return RUNG_EXIT_USAGE;
    }
    demo d = {.self = self,
              .players = (uint32_t)players,
              .chance = 1,
              .body = {.alloc = rung_alloc_heap()}};
    int code = rung_ask_open(self, &args.ask, &d.client);
    if (code)
        return code;
    d.is_known = rung_alloc_zeroed(rung_alloc_heap(), players * sizeof *d.is_known);
    struct sigaction stop = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    if (d.is_known)
        code = run_all(&d, &args);
    rung_alloc_free(rung_alloc_heap(), d.is_known, players * sizeof *d.is_known);
    rung_json_writer_deinit(&d.body);
    rung_client_destroy(d.client);
    return is_interrupted ? RUNG_EXIT_OK : code;
}

const rung_command rung_command_demo = {
    .group = RUNG_GROUP_SERVER,
    .name = "demo",
    .summary = "a few lively boards on a server: players who do not stop playing",
    .details = "Makes the boards arena, sprint, puzzle and trending, lets a thousand players play "
               "there, and goes on\n"
               "until Ctrl-C. For a server whose data you do not mind; ./dev up starts both.\n"
               "\n"
               "  rung demo & rung watch arena --window day\n",
    RUNG_OPTIONS(demo_options),
    .run = run_demo,
};
