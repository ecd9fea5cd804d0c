/* SPDX-License-Identifier: Apache-2.0 */
/* Who plays: a few hundred play all day, most play now and then. What they score: their skill, and
 * luck. Near the top that makes for gaps small enough that places change hands. */
#include "app/demo_world.h"

#include "base/assert.h"
#include "base/hash.h"
#include "service/clock.h"

#include <stdio.h>
#include <string.h>

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
    STORY_DAYS = 28,
    SUBMISSIONS_EACH = 3, /* in the story */
    FRIENDS_EACH = 6,
    REGULARS = 300, /* play about equally much */
};
_Static_assert(RUNG_DEMO_PLAYERS_MAX <= GIVEN_COUNT * NICKNAME_COUNT * 100u,
               "two digits make the rest of the names");

/* ---- chance ---- */

static uint64_t next_random(rung_demo_world *w) {
    return rung_hash_word(w->chance += 0x9e3779b97f4a7c15u);
}

static uint32_t below(rung_demo_world *w, uint32_t n) {
    return (uint32_t)((next_random(w) >> 32) * n >> 32);
}

/* ---- people ---- */

/* Neighbours by number share no nickname: the numbers are scattered first. 611,953 is prime, so no
 * two meet. */
static uint32_t scattered(const rung_demo_world *w, uint32_t i) {
    return (uint32_t)((uint64_t)i * 611953u % w->player_count);
}

void rung_demo_name(uint32_t i, char out[RUNG_DEMO_NAME_MAX]) {
    uint32_t nickname = i / GIVEN_COUNT % NICKNAME_COUNT, turn = i / GIVEN_COUNT / NICKNAME_COUNT;
    if (turn == 0)
        snprintf(out, RUNG_DEMO_NAME_MAX, "%s.%s", given[i % GIVEN_COUNT].name,
                 nicknames[nickname]);
    else /* 37 and 100 have no divisor in common: each turn has a number of its own */
        snprintf(out, RUNG_DEMO_NAME_MAX, "%s.%s%02u", given[i % GIVEN_COUNT].name,
                 nicknames[nickname], turn * 37 % 100);
}

const char *rung_demo_country(uint32_t i) {
    return given[i % GIVEN_COUNT].country;
}

static rung_slice name_of(const rung_demo_world *w, uint32_t i) {
    return rung_slice_str(w->names[i]);
}

static rung_status introduce(rung_demo_world *w, uint32_t i, rung_err *err) {
    rung_attribute country = {RUNG_SLICE("country"), rung_slice_str(rung_demo_country(i))};
    return rung_player_set(w->db, name_of(w, i), 1, &country, err);
}

static rung_status befriend(rung_demo_world *w, uint32_t i, rung_err *err) {
    rung_slice friends[FRIENDS_EACH];
    uint32_t step = 1 + below(w, w->player_count / FRIENDS_EACH -
                                     1); /* so that nobody comes twice, nor the player */
    for (uint32_t k = 0; k < FRIENDS_EACH; k++)
        friends[k] = name_of(w, (i + (k + 1) * step) % w->player_count);
    return rung_friends_replace(w->db, name_of(w, i), FRIENDS_EACH, friends, true, err);
}

/* ---- play ---- */

/* The share of the first k players goes with the square root of k; the regulars take turns. */
static uint32_t who_plays(rung_demo_world *w) {
    uint64_t a = next_random(w) >> 32, b = next_random(w) >> 32;
    uint32_t place = (uint32_t)((a * b >> 32) * w->player_count >> 32);
    return scattered(w, (place + below(w, REGULARS)) % w->player_count);
}

static int64_t points_of(rung_demo_world *w, rung_slice name) {
    static const rung_hash_key talent = {1, 2};
    uint32_t skill = (uint32_t)(rung_hash_keyed(&talent, name.ptr, name.len) % 40);
    return (int64_t)(20 + skill + below(w, 100)) * (below(w, 20) == 0 ? 3 : 1);
}

static rung_score_event next_submission(rung_demo_world *w) {
    bool is_rival = w->rival_count > 0 && below(w, 100) < 4;
    rung_slice player = is_rival ? w->rivals[below(w, w->rival_count)] : name_of(w, who_plays(w));
    return (rung_score_event){
        .board = RUNG_SLICE(RUNG_DEMO_BOARD),
        .player = player,
        .value_count = 1,
        .values = {{.i = points_of(w, player)}},
    };
}

rung_status rung_demo_world_play(rung_demo_world *w, uint32_t count, rung_err *err) {
    RUNG_ASSERT(count <= RUNG_DEMO_BATCH);
    for (uint32_t i = 0; i < count; i++)
        w->batch[i] = next_submission(w);
    return rung_submit_many(w->db, count, w->batch, w->statuses, NULL, NULL, err);
}

void rung_demo_world_excite(rung_demo_world *w, const rung_view *view) {
    rung_row rows[RUNG_DEMO_RIVALS_MAX];
    uint32_t count = rung_view_top(view, 0, RUNG_DEMO_RIVALS_MAX, rows);
    w->rival_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].number <
            w->player_count) /* numbers are given in order of appearance, and ours came first */
            w->rivals[w->rival_count++] = name_of(w, rows[i].number);
}

/* ---- the story ---- */

static int64_t story_time(void *ctx) {
    const rung_demo_world *w = ctx;
    rung_clock real = rung_clock_real();
    return w->story_ms ? w->story_ms : rung_clock_now(&real);
}

static rung_status define_board(rung_demo_world *w, rung_err *err) {
    rung_board_def def = rung_board_def_default();
    def.title = RUNG_SLICE("The arena");
    def.update = RUNG_UPDATE_SUM;
    def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_WEEK) | RUNG_WINDOWS_BIT(RUNG_WINDOW_DAY);
    def.scope_count = 1;
    def.scopes[0] = RUNG_SLICE("country");
    return rung_board_define(w->db, RUNG_SLICE(RUNG_DEMO_BOARD), &def, err);
}

typedef struct teller {
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
    void *ctx;
    uint64_t done, total;
} teller;

static void tell(teller *t, uint64_t more) {
    t->done += more;
    if (t->progress)
        t->progress(t->ctx, t->done, t->total);
}

static rung_status settle(rung_demo_world *w, teller *t, rung_err *err) {
    for (uint32_t i = 0; i < w->player_count; i++) {
        rung_demo_name(i, w->names[i]);
        rung_status st = introduce(w, i, err);
        if (st < 0)
            return st;
        if (i % 1024 == 0)
            tell(t, 1024);
    }
    for (uint32_t i = 0; i < w->player_count; i++) {
        rung_status st = befriend(w, i, err);
        if (st < 0)
            return st;
        if (i % 1024 == 0)
            tell(t, 1024);
    }
    return RUNG_OK;
}

/* Four weeks of play, a batch at a time with the clock going on between. */
static rung_status play_through(rung_demo_world *w, int64_t now_ms, teller *t, rung_err *err) {
    uint64_t total = (uint64_t)w->player_count * SUBMISSIONS_EACH, done = 0;
    uint32_t step =
        total < 512 * 200 ? (uint32_t)(total / 200 + 1) : 512; /* a few batches a day at least */
    int64_t start_ms = w->story_ms;
    while (done < total) {
        uint32_t count = total - done < step ? (uint32_t)(total - done) : step;
        w->story_ms =
            start_ms + (int64_t)((double)(now_ms - start_ms) * (double)done / (double)total);
        rung_status st = rung_demo_world_play(w, count, err);
        if (st < 0)
            return st;
        done += count;
        tell(t, count);
    }
    w->story_ms = 0;
    return RUNG_OK;
}

static rung_status get_memory(rung_demo_world *w, rung_err *err) {
    const rung_alloc *a = rung_alloc_heap();
    w->names = rung_alloc_zeroed(a, w->player_count * sizeof *w->names);
    w->rivals = rung_alloc_zeroed(a, RUNG_DEMO_RIVALS_MAX * sizeof *w->rivals);
    w->batch = rung_alloc_zeroed(a, RUNG_DEMO_BATCH * sizeof *w->batch);
    w->statuses = rung_alloc_zeroed(a, RUNG_DEMO_BATCH * sizeof *w->statuses);
    return w->names && w->rivals && w->batch && w->statuses
               ? RUNG_OK
               : RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
}

rung_status rung_demo_world_create(rung_demo_world *w, uint32_t player_count,
                                   void (*progress)(void *ctx, uint64_t done, uint64_t total),
                                   void *ctx, rung_err *err) {
    RUNG_ASSERT(player_count >= 10 && player_count <= RUNG_DEMO_PLAYERS_MAX);
    *w = (rung_demo_world){.player_count = player_count, .chance = 1};
    teller t = {progress, ctx, 0, (uint64_t)player_count * (2 + SUBMISSIONS_EACH)};
    int64_t now_ms = story_time(w);
    w->story_ms = now_ms - (int64_t)STORY_DAYS * 86400000;
    rung_config config = {.now_ms = story_time, .ctx = w};
    rung_status st = get_memory(w, err);
    if (st == RUNG_OK)
        st = rung_open(&config, &w->db, err);
    if (st == RUNG_OK)
        st = define_board(w, err);
    if (st >= 0)
        st = settle(w, &t, err);
    if (st >= 0)
        st = play_through(w, now_ms, &t, err);
    return st;
}

void rung_demo_world_destroy(rung_demo_world *w) {
    const rung_alloc *a = rung_alloc_heap();
    rung_ignore(rung_close(w->db, NULL), "in memory: there is nothing to lose");
    rung_alloc_free(a, w->names, w->player_count * sizeof *w->names);
    rung_alloc_free(a, w->rivals, RUNG_DEMO_RIVALS_MAX * sizeof *w->rivals);
    rung_alloc_free(a, w->batch, RUNG_DEMO_BATCH * sizeof *w->batch);
    rung_alloc_free(a, w->statuses, RUNG_DEMO_BATCH * sizeof *w->statuses);
    *w = (rung_demo_world){0};
}
