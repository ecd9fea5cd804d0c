/* SPDX-License-Identifier: Apache-2.0 */
/* rung demo - five boards on a server, with simulated players.
 *
 * The boards differ in what a score means; on one of them the players meet in matches, and on another a score that
 * nobody reaches honestly waits for a review now and then. A thousand players with names, countries and guilds join as
 * they play, and a few rivals compete at the top. It uses HTTP only, as a game would. */
#include "cli/ask.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "codec/json_writer.h"

#include <inttypes.h>
#include <string.h>

enum {
    PLAYERS_DEFAULT = 1000,
    PLAYERS_MAX = 100000,
    RATE_DEFAULT = 40,
    RATE_MAX = 100000,
    BATCH_MAX = 2000,
    TURN_MS = 250,
    PAST_EACH = 4, /* scores of a player before the demo begins */
    PAST_MS = 6 * 3600000,
    SCORES_PER_MATCH = 8,
    SCORES_PER_CHEAT = 400,
    RIVALS = 12,
    FRIENDS = 6,
    NAME_SIZE = 24,
};

typedef struct demo_args {
    rung_ask_args ask;
    uint64_t players, rate, seconds;
} demo_args;

static const rung_option demo_options[] = {
    RUNG_OPTION_NUMBER(demo_args, players, "--players", "N",
                       "number of players, 10 to 100000 (default 1000)"),
    RUNG_OPTION_NUMBER(demo_args, rate, "--rate", "N", "scores per second (default 40)"),
    RUNG_OPTION_NUMBER(demo_args, seconds, "--seconds", "N",
                       "stop after this many seconds (default: Ctrl-C)"),
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

/* ---- chance ---- */

static uint32_t below(demo *d, uint32_t n) {
    return (uint32_t)((rung_hash_word(d->chance += 0x9e3779b97f4a7c15u) >> 32) * n >> 32);
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
    uint32_t cheat =
        below(d, SCORES_PER_CHEAT) == 0 ? 300 : 0; /* more than the board's rule allows */
    RUNG_JSON_MEMBER(&d->body, "score", uint,
                     10 * (below(d, 60) + skill_of(player) / 3 + 5 + cheat));
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
     "{\"title\":\"Daily puzzle\",\"rank\":\"dense\",\"windows\":[\"day\",\"week\",\"all\"],"
     "\"rules\":[{\"rule\":\"max\",\"value\":1000,\"action\":\"review\"}]}",
     puzzle_score},
    {"trending",
     "{\"title\":\"Trending "
     "now\",\"update\":\"decay\",\"half_life\":600,\"score\":{\"type\":\"real\"}}",
     trending_score},
};
enum { BOARD_COUNT = sizeof boards / sizeof boards[0] };

static const char *const duels = "{\"title\":\"Duels\",\"update\":\"glicko2\",\"windows\":[\"all\","
                                 "\"day\"],\"scopes\":[\"country\"]}";

/* PUT first + name + second + other, where `second` may be "". */
static int put(demo *d, const char *first, const char *name, const char *second, const char *other,
               rung_slice body) {
    rung_path path = {0};
    rung_reply reply;
    rung_path_add(&path, first);
    rung_path_name(&path, name);
    rung_path_add(&path, second);
    rung_path_name(&path, other);
    return rung_ask_for(d->self, d->client, "PUT", &path, body, &reply);
}

static int make_boards(demo *d) {
    int code = RUNG_EXIT_OK;
    for (size_t i = 0; code == RUNG_EXIT_OK && i < BOARD_COUNT; i++)
        code = put(d, "/v1/boards/", boards[i].id, "", "", rung_slice_str(boards[i].definition));
    if (code == RUNG_EXIT_OK)
        code = put(d, "/v1/boards/", "duels", "", "", rung_slice_str(duels));
    return code;
}

/* ---- players ---- */

typedef struct given_name {
    const char *name, *country;
} given_name;

static const given_name given[] = {
    {"aino", "FI"},    {"eero", "FI"},   {"helmi", "FI"},   {"onni", "FI"},    {"venla", "FI"},
    {"oskari", "FI"},  {"astrid", "SE"}, {"elias", "SE"},   {"freja", "SE"},   {"gustav", "SE"},
    {"linnea", "SE"},  {"ingrid", "NO"}, {"sindre", "NO"},  {"solveig", "NO"}, {"magnus", "NO"},
    {"mads", "DK"},    {"signe", "DK"},  {"rasmus", "DK"},  {"kaarel", "EE"},  {"liis", "EE"},
    {"anna", "DE"},    {"emil", "DE"},   {"finn", "DE"},    {"greta", "DE"},   {"jonas", "DE"},
    {"lena", "DE"},    {"moritz", "DE"}, {"paula", "DE"},   {"camille", "FR"}, {"hugo", "FR"},
    {"jules", "FR"},   {"lea", "FR"},    {"manon", "FR"},   {"theo", "FR"},    {"amelia", "GB"},
    {"callum", "GB"},  {"harry", "GB"},  {"isla", "GB"},    {"poppy", "GB"},   {"rhys", "GB"},
    {"aoife", "IE"},   {"cian", "IE"},   {"niamh", "IE"},   {"alba", "ES"},    {"diego", "ES"},
    {"lucia", "ES"},   {"pablo", "ES"},  {"sofia", "ES"},   {"chiara", "IT"},  {"enzo", "IT"},
    {"giulia", "IT"},  {"luca", "IT"},   {"marta", "PL"},   {"kuba", "PL"},    {"zofia", "PL"},
    {"wojtek", "PL"},  {"olena", "UA"},  {"taras", "UA"},   {"ayse", "TR"},    {"emre", "TR"},
    {"zeynep", "TR"},  {"ava", "US"},    {"caleb", "US"},   {"dylan", "US"},   {"ella", "US"},
    {"grace", "US"},   {"hazel", "US"},  {"jayden", "US"},  {"logan", "US"},   {"mason", "US"},
    {"nora", "US"},    {"owen", "US"},   {"riley", "US"},   {"tyler", "US"},   {"zoe", "US"},
    {"beatriz", "BR"}, {"caio", "BR"},   {"joao", "BR"},    {"larissa", "BR"}, {"rafa", "BR"},
    {"thiago", "BR"},  {"camila", "MX"}, {"mateo", "MX"},   {"ximena", "MX"},  {"aarav", "IN"},
    {"diya", "IN"},    {"ishaan", "IN"}, {"kavya", "IN"},   {"rohan", "IN"},   {"tara", "IN"},
    {"haruto", "JP"},  {"hina", "JP"},   {"ren", "JP"},     {"sakura", "JP"},  {"yui", "JP"},
    {"jihoon", "KR"},  {"minseo", "KR"}, {"seoyeon", "KR"}, {"amara", "NG"},   {"chidi", "NG"},
    {"thandi", "ZA"},  {"sipho", "ZA"},
};
static const char *const nicknames[] = {
    "fox",   "owl",   "wolf",  "hawk",  "lynx",  "raven", "otter", "moth",  "storm", "ember",
    "frost", "comet", "pixel", "bolt",  "blaze", "ghost", "ninja", "viper", "nova",  "orbit",
    "quark", "delta", "sigma", "echo",  "turbo", "drift", "rider", "pilot", "chef",  "bard",
    "monk",  "rogue", "titan", "gizmo", "toast", "mango", "peach", "plum",  "berry", "basil",
    "mint",  "maple", "cedar", "reed",  "flint", "onyx",  "ruby",  "topaz",
};
enum {
    GIVEN_COUNT = sizeof given / sizeof given[0],
    NICKNAME_COUNT = sizeof nicknames / sizeof nicknames[0],
};

/* Scatter the players over the names, so that neighbours share neither given name nor nickname. */
static uint32_t person(uint32_t player) {
    enum { PLAIN_NAMES = GIVEN_COUNT * NICKNAME_COUNT }; /* after those, names have numbers */
    uint64_t scattered =
        (uint64_t)player % PLAIN_NAMES * 611953u % PLAIN_NAMES; /* a prime: no two are equal */
    return (uint32_t)scattered + player / PLAIN_NAMES * PLAIN_NAMES;
}

/* "aino.fox", "aino.fox37" */
static void name_of(uint32_t player, char out[NAME_SIZE]) {
    uint32_t i = person(player), turn = i / GIVEN_COUNT / NICKNAME_COUNT;
    int len = snprintf(out, NAME_SIZE, "%s.%s", given[i % GIVEN_COUNT].name,
                       nicknames[i / GIVEN_COUNT % NICKNAME_COUNT]);
    if (turn > 0) /* 37 and 100 are coprime: each turn has its own number */
        snprintf(out + len, NAME_SIZE - (size_t)len, "%02u", turn * 37 % 100);
}

static const char *const guilds[] = {"Night Owls", "Iron Foxes",   "Moss Knights",
                                     "Comet Club", "Salt & Pixel", "The Lanterns",
                                     "Northwind",  "Paper Tigers"};
enum { GUILD_COUNT = sizeof guilds / sizeof guilds[0] };

/* "aino.fox" as "Aino Fox" */
static void show_name(const char *id, char out[NAME_SIZE]) {
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

static int put_profile(demo *d, uint32_t player) {
    char id[NAME_SIZE], name[NAME_SIZE];
    rung_json_writer *w = &d->body;
    name_of(player, id);
    show_name(id, name);
    rung_json_writer_reset(w);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "name", word, name);
    RUNG_JSON_MEMBER(w, "country", word, given[person(player) % GIVEN_COUNT].country);
    if (rung_hash_word(player + 7) % 10 < 8)
        RUNG_JSON_MEMBER(w, "guild", word, guilds[rung_hash_word(player + 9) % GUILD_COUNT]);
    rung_json_close_object(w);
    return put(d, "/v1/players/", id, "", "", rung_json_written(w));
}

static int befriend(demo *d, uint32_t player) {
    char id[NAME_SIZE], other[NAME_SIZE];
    name_of(player, id);
    name_of(below(d, d->players), other);
    if (strcmp(id, other) == 0)
        return RUNG_EXIT_OK;
    return put(d, "/v1/players/", id, "/friends/", other, (rung_slice){0});
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
    char id[NAME_SIZE];
    const demo_board *board = &boards[below(d, 10) < 5 ? 0 : 1 + below(d, BOARD_COUNT - 1)];
    rung_json_writer *w = &d->body;
    name_of(player, id);
    w->is_comma_due = false;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "board", word, board->id);
    RUNG_JSON_MEMBER(w, "player", word, id);
    board->score(d, player);
    if (at_ms)
        RUNG_JSON_MEMBER(w, "at", int, at_ms);
    rung_json_close_object(w);
    rung_json_append(w, RUNG_SLICE("\n"));
}

/* `count` scores; those of the past lie in the last six hours. */
static int play(demo *d, uint32_t count, bool is_past) {
    static uint32_t who[BATCH_MAX];
    rung_reply reply;
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
        write_score(d, who[i], is_past ? rung_clock_now(&clock) - (int64_t)below(d, PAST_MS) : 0);
    code = rung_ask_submit(d->self, d->client, rung_json_written(&d->body), &reply);
    if (code)
        return code;
    d->sent += count;
    return reply.status < 300 ? RUNG_EXIT_OK : rung_ask_fail(d->self, &reply);
}

/* ---- matches ---- */

static void write_side(demo *d, uint32_t player, uint32_t place) {
    char id[NAME_SIZE];
    rung_json_writer *w = &d->body;
    name_of(player, id);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "place", uint, place);
    RUNG_JSON_OPEN(w, "players", array);
    rung_json_write_string(w, rung_slice_str(id));
    rung_json_close_array(w);
    rung_json_close_object(w);
}

/* Skill and the luck of the day decide; a draw if they come out alike. */
static void write_match(demo *d, int64_t at_ms) {
    rung_json_writer *w = &d->body;
    uint32_t a = who_plays(d), b;
    do {
        b = who_plays(d);
    } while (b == a);
    uint32_t of_a = (skill_of(a) + below(d, 60)) / 4, of_b = (skill_of(b) + below(d, 60)) / 4;
    rung_json_open_object(w);
    RUNG_JSON_OPEN(w, "sides", array);
    write_side(d, a, of_a >= of_b ? 1 : 2);
    write_side(d, b, of_b >= of_a ? 1 : 2);
    rung_json_close_array(w);
    if (at_ms)
        RUNG_JSON_MEMBER(w, "at", int, at_ms);
    rung_json_close_object(w);
}

/* `count` matches; those of the past in the order in which they were played. */
static int meet(demo *d, uint32_t count, bool is_past) {
    rung_path path = {0};
    rung_reply reply;
    rung_clock clock = rung_clock_real();
    int64_t now_ms = rung_clock_now(&clock);
    if (!count)
        return RUNG_EXIT_OK;
    rung_json_writer_reset(&d->body);
    rung_json_open_array(&d->body);
    for (uint32_t i = 0; i < count; i++)
        write_match(d, is_past ? now_ms - PAST_MS + (int64_t)PAST_MS * i / count : 0);
    rung_json_close_array(&d->body);
    rung_path_add(&path, "/v1/boards/duels/matches");
    return rung_ask_for(d->self, d->client, "POST", &path, rung_json_written(&d->body), &reply);
}

static int play_past(demo *d) {
    uint32_t left = d->players * PAST_EACH;
    int code = RUNG_EXIT_OK;
    while (code == RUNG_EXIT_OK && left > 0 && !rung_is_interrupted()) {
        uint32_t count = left < BATCH_MAX ? left : BATCH_MAX;
        code = play(d, count, true);
        left -= count;
    }
    if (code == RUNG_EXIT_OK && !rung_is_interrupted())
        code = meet(d, d->players < BATCH_MAX ? d->players : BATCH_MAX, true);
    return code;
}

static int play_on(demo *d, const demo_args *args) {
    int64_t began_ms = rung_elapsed_ms();
    uint64_t rate = args->rate ? args->rate : RATE_DEFAULT, done = 0;
    int code = RUNG_EXIT_OK;
    while (code == RUNG_EXIT_OK && !rung_is_interrupted()) {
        int64_t passed_ms = rung_elapsed_ms() - began_ms;
        if (args->seconds && passed_ms >= (int64_t)args->seconds * 1000)
            break;
        uint64_t due = rate * (uint64_t)passed_ms / 1000 - done;
        uint32_t count = due < BATCH_MAX ? (uint32_t)due : BATCH_MAX;
        if (count > 0)
            code = play(d, count, false);
        if (code == RUNG_EXIT_OK && count > 0)
            code = meet(d, (count + below(d, SCORES_PER_MATCH)) / SCORES_PER_MATCH, false);
        done += due; /* what exceeds a batch is dropped */
        rung_pause_ms(TURN_MS);
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
    printf("boards arena, sprint, puzzle, trending and duels on %s, %s scores so far; playing\n",
           rung_client_url(d->client), rung_count_text(d->sent, count));
    fflush(stdout);
    return play_on(d, args);
}

static int run_demo(const rung_command *self, rung_client *client, void *arguments) {
    const demo_args *args = arguments;
    uint64_t players = args->players ? args->players : PLAYERS_DEFAULT;
    if (players < 10 || players > PLAYERS_MAX)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--players: expected 10 to 100000");
    if (args->rate > RATE_MAX)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "--rate: at most 100000");
    demo d = {.self = self,
              .client = client,
              .players = (uint32_t)players,
              .chance = 1,
              .body = {.alloc = rung_alloc_heap()}};
    d.is_known = rung_alloc_zeroed(rung_alloc_heap(), players * sizeof *d.is_known);
    if (!d.is_known)
        return rung_command_refuse(self, RUNG_EXIT_PROBLEM, "out of memory");
    rung_interrupt_catch();
    int code = run_all(&d, args);
    rung_alloc_free(rung_alloc_heap(), d.is_known, players * sizeof *d.is_known);
    rung_json_writer_deinit(&d.body);
    return rung_is_interrupted() ? RUNG_EXIT_OK : code;
}

const rung_command rung_command_demo = {
    .name = "demo",
    .summary = "fill a server with demo boards and simulated players",
    .details = "Creates the boards arena, sprint, puzzle, trending and duels and submits scores\n"
               "and matches of a thousand players until Ctrl-C. Use a server without real data;\n"
               "./dev up starts both.\n"
               "\n"
               "  rung demo & rung watch arena --window day\n",
    RUNG_OPTIONS(demo_args, demo_options),
    .ask = run_demo,
};
