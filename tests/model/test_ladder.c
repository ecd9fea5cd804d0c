/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder against its model: cases by hand, all short programs, long seeded programs.
 *
 * By hand means with answers written down here, so that the model itself is held to something. The other programs
 * know only the model. They run in a child process that keeps the program at hand in shared memory: when it fails in
 * whatever way (a wrong answer, an assertion, a crash, a hang), the parent shrinks the program and prints it. */
/* ctest: timeout=300 labels=release */
/* ctest: name=long timeout=900 labels=long env="RUNG_STEPS=10000000" args="seeded" */
#include "base/hash.h"
#include "ladder/ladder.h"
#include "support/check.h"
#include "support/ladder_program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- cases by hand ---- */

static rung_ladder *new_ladder(uint8_t key_words, uint8_t score_words, rung_ladder_tie tie) {
    rung_ladder_config config = {
        .alloc = rung_alloc_heap(), .key_words = key_words, .score_words = score_words, .tie = tie};
    rung_ladder *l = NULL;
    CHECK_OK(rung_ladder_create(&config, &l));
    return l;
}

static void put(rung_ladder *l, uint32_t player, uint64_t a, uint64_t b) {
    CHECK_OK(rung_ladder_put(l, player, (uint64_t[]){a, b, 0, 0}, NULL));
    CHECK_SOUND(rung_ladder_check(l));
}

/* The whole ladder as "rank:player rank:player ...", in a static buffer. */
static const char *standing(const rung_ladder *l, rung_rank_style style) {
    static char text[2048];
    size_t len = 0;
    rung_ladder_entry e;
    text[0] = '\0';
    for (rung_ladder_cursor c = rung_ladder_seek(l, 0); rung_ladder_next(&c, &e);) {
        uint32_t rank;
        CHECK_OK(rung_ladder_rank(l, e.player, style, &rank));
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%u:%u", len ? " " : "", rank,
                                e.player);
        CHECK(len < sizeof text);
    }
    return text;
}

static uint32_t select_player(const rung_ladder *l, uint32_t rank, rung_rank_style style) {
    rung_ladder_entry e = {.player = 0};
    rung_status st = rung_ladder_select(l, rank, style, &e);
    CHECK(st == RUNG_OK || st == RUNG_NOT_FOUND);
    return st == RUNG_OK ? e.player : UINT32_MAX;
}

static int larger_number_first(const void *ctx, uint32_t a, uint32_t b) {
    (void)ctx;
    return (a < b) - (a > b);
}

TEST(ties_in_every_style) {
    static const struct {
        const char *name;
        uint8_t score_words;
        rung_ladder_tie tie;
        struct {
            uint32_t player;
            uint64_t score, at;
        } entries[6]; /* ends at player 0 */
        const char *unique, *sparse, *dense;
    } cases[] = {
        /* clang-format off */
        {"nobody", 1, NULL, {{0, 0, 0}},
         "", "", ""},
        {"one", 1, NULL, {{7, 5, 0}},
         "1:7", "1:7", "1:7"},
        {"no ties", 1, NULL, {{3, 30, 0}, {1, 10, 0}, {2, 20, 0}},
         "1:1 2:2 3:3", "1:1 2:2 3:3", "1:1 2:2 3:3"},
        {"tie at the top, first come", 1, NULL, {{1, 5, 9}, {2, 5, 8}, {3, 6, 0}},
         "1:2 2:1 3:3", "1:2 1:1 3:3", "1:2 1:1 2:3"},
        {"tie at the end", 1, NULL, {{1, 5, 0}, {2, 6, 0}, {3, 6, 0}},
         "1:1 2:2 3:3", "1:1 2:2 2:3", "1:1 2:2 2:3"},
        {"all tied", 1, NULL, {{4, 1, 0}, {3, 1, 0}, {2, 1, 0}, {1, 1, 0}},
         "1:1 2:2 3:3 4:4", "1:1 1:2 1:3 1:4", "1:1 1:2 1:3 1:4"},
        {"two ties", 1, NULL, {{1, 1, 0}, {2, 1, 0}, {3, 2, 0}, {4, 2, 0}, {5, 3, 0}},
         "1:1 2:2 3:3 4:4 5:5", "1:1 1:2 3:3 3:4 5:5", "1:1 1:2 2:3 2:4 3:5"},
        {"both words are the score", 2, NULL, {{1, 5, 9}, {2, 5, 8}, {3, 5, 8}},
         "1:2 2:3 3:1", "1:2 1:3 3:1", "1:2 1:3 2:1"},
        {"the caller breaks ties", 1, larger_number_first, {{1, 5, 0}, {2, 5, 0}, {3, 5, 1}},
         "1:2 2:1 3:3", "1:2 1:1 1:3", "1:2 1:1 1:3"},
        {"extreme words", 1, NULL, {{1, UINT64_MAX, 0}, {2, 0, UINT64_MAX}, {3, 0, 0}, {4, 1, 0}},
         "1:3 2:2 3:4 4:1", "1:3 1:2 3:4 4:1", "1:3 1:2 2:4 3:1"},
        /* clang-format on */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        rung_ladder *l = new_ladder(2, cases[i].score_words, cases[i].tie);
        for (size_t k = 0; cases[i].entries[k].player; k++)
            put(l, cases[i].entries[k].player, cases[i].entries[k].score, cases[i].entries[k].at);
        CHECK_EQ_STR(standing(l, RUNG_RANK_UNIQUE), cases[i].unique);
        CHECK_EQ_STR(standing(l, RUNG_RANK_SPARSE), cases[i].sparse);
        CHECK_EQ_STR(standing(l, RUNG_RANK_DENSE), cases[i].dense);
        rung_ladder_destroy(l);
    }
}

/* Scores 10 20 20 30 30 30, players 1 to 6: sparse 1 2 2 4 4 4, dense 1 2 2 3 3 3. */
static rung_ladder *six(void) {
    rung_ladder *l = new_ladder(1, 1, NULL);
    static const uint64_t scores[] = {10, 20, 20, 30, 30, 30};
    for (uint32_t i = 0; i < 6; i++)
        put(l, i + 1, scores[i], 0);
    return l;
}

TEST(rank_of_a_key_nobody_holds) {
    static const struct {
        uint64_t score;
        uint32_t unique, sparse, dense;
    } cases[] = {
        {0, 1, 1, 1},  {10, 2, 1, 1}, {15, 2, 2, 2}, {20, 4, 2, 2},
        {25, 4, 4, 3}, {30, 7, 4, 3}, {31, 7, 7, 4}, {UINT64_MAX, 7, 7, 4},
    };
    rung_ladder *l = six();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK_EQ_U64(rung_ladder_rank_of_key(l, &cases[i].score, RUNG_RANK_UNIQUE),
                     cases[i].unique);
        CHECK_EQ_U64(rung_ladder_rank_of_key(l, &cases[i].score, RUNG_RANK_SPARSE),
                     cases[i].sparse);
        CHECK_EQ_U64(rung_ladder_rank_of_key(l, &cases[i].score, RUNG_RANK_DENSE), cases[i].dense);
    }
    rung_ladder_destroy(l);
}

TEST(select_where_ties_leave_gaps) {
    rung_ladder *l = six();
    static const uint32_t none = UINT32_MAX;
    static const uint32_t unique[] = {none, 1, 2, 3, 4, 5, 6, none},
                          sparse[] = {none, 1, 2, 3, 4, 5, 6, none};
    static const uint32_t dense[] = {none, 1, 2, 4, none, none, none, none};
    for (uint32_t rank = 0; rank < 8; rank++) {
        CHECK_EQ_U64(select_player(l, rank, RUNG_RANK_UNIQUE), unique[rank]);
        CHECK_EQ_U64(select_player(l, rank, RUNG_RANK_SPARSE), sparse[rank]);
        CHECK_EQ_U64(select_player(l, rank, RUNG_RANK_DENSE), dense[rank]);
    }
    rung_ladder_destroy(l);
}

TEST(counts_and_quantiles) {
    rung_ladder *l = six();
    const uint64_t keys[] = {0, 10, 20, 25, 30, UINT64_MAX};
    CHECK_EQ_U64(rung_ladder_count(l), 6);
    CHECK_EQ_U64(rung_ladder_distinct(l), 3);
    CHECK_EQ_U64(rung_ladder_count_before(l, &keys[2], false), 1);
    CHECK_EQ_U64(rung_ladder_count_before(l, &keys[2], true), 3);
    CHECK_EQ_U64(rung_ladder_count_before(l, &keys[5], true), 6);
    CHECK_EQ_U64(rung_ladder_count_before(l, &keys[3], true), 3);
    CHECK_EQ_U64(rung_ladder_count_before(l, &keys[4], true), 6);
    static const struct {
        uint32_t numerator, denominator, player;
    } cases[] = {
        {0, 1, 1}, {1, 1, 6},      {1, 2, 3},          {1, 6, 1},
        {1, 3, 2}, {999, 1000, 6}, {1, UINT32_MAX, 1}, {501, 1000, 4},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        rung_ladder_entry e;
        CHECK_OK(rung_ladder_quantile(l, cases[i].numerator, cases[i].denominator, &e));
        CHECK_EQ_U64(e.player, cases[i].player);
    }
    rung_ladder_clear(l);
    CHECK_STATUS(rung_ladder_quantile(l, 1, 2, NULL), RUNG_NOT_FOUND);
    CHECK_EQ_U64(rung_ladder_rank_of_key(l, keys, RUNG_RANK_DENSE), 1);
    rung_ladder_destroy(l);
}

TEST(moves_inside_one_leaf) {
    static const struct {
        uint32_t player;
        uint64_t score;
        const char *sparse;
    } moves[] = {
        {2, 25, "1:1 2:2 3:3"}, /* stays in place */
        {2, 35, "1:1 2:3 3:2"}, /* down */
        {2, 5, "1:2 2:1 3:3"},  /* to the very top */
        {1, 30, "1:2 2:1 2:3"}, /* into a tie */
        {3, 5, "1:2 1:3 3:1"},  /* out of one tie into another */
        {2, 40, "1:3 2:1 3:2"}, /* from first to last */
    };
    rung_ladder *l = new_ladder(1, 1, NULL);
    put(l, 1, 10, 0);
    put(l, 2, 20, 0);
    put(l, 3, 30, 0);
    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        put(l, moves[i].player, moves[i].score, 0);
        CHECK_EQ_STR(standing(l, RUNG_RANK_SPARSE), moves[i].sparse);
    }
    rung_ladder_destroy(l);
}

TEST(change_says_what_a_put_did) {
    rung_ladder *l = six();
    rung_ladder_change c = {.style = RUNG_RANK_SPARSE};
    CHECK_OK(rung_ladder_put(l, 6, (uint64_t[]){20}, &c));
    CHECK(c.existed);
    CHECK_EQ_U64(c.old_key[0], 30);
    CHECK_EQ_U64(c.rank_before, 4);
    CHECK_EQ_U64(c.rank_after, 2);
    c.style = RUNG_RANK_DENSE;
    CHECK_STATUS(rung_ladder_put(l, 5, (uint64_t[]){30}, &c), RUNG_UNCHANGED);
    CHECK(c.existed);
    CHECK_EQ_U64(c.old_key[0], 30);
    CHECK_EQ_U64(c.rank_before, 3);
    CHECK_EQ_U64(c.rank_after, 3);
    c.style = RUNG_RANK_UNIQUE;
    CHECK_OK(rung_ladder_put(l, 9, (uint64_t[]){20}, &c));
    CHECK(!c.existed);
    CHECK_EQ_U64(c.rank_before, 0);
    CHECK_EQ_U64(c.rank_after, 5);
    rung_ladder_destroy(l);
}

TEST(ends_of_iteration) {
    rung_ladder *l = new_ladder(1, 1, NULL);
    rung_ladder_entry e;
    rung_ladder_cursor c = rung_ladder_seek(l, 0);
    CHECK(!rung_ladder_next(&c, &e));
    CHECK(!rung_ladder_prev(&c, &e));
    for (uint32_t i = 0; i < 5; i++)
        put(l, i, 10 * i, 0);
    c = rung_ladder_seek(l, UINT32_MAX);
    CHECK_EQ_U64(rung_ladder_cursor_rank(&c, RUNG_RANK_UNIQUE), 0);
    CHECK(!rung_ladder_next(&c, &e));
    CHECK(rung_ladder_prev(&c, &e));
    CHECK_EQ_U64(e.player, 4);
    CHECK(rung_ladder_next(&c, &e)); /* over the same one again */
    CHECK_EQ_U64(e.player, 4);
    c = rung_ladder_seek(l, 0);
    CHECK(!rung_ladder_prev(&c, &e));
    CHECK(rung_ladder_next(&c, &e));
    CHECK_EQ_U64(e.player, 0);
    rung_ladder_destroy(l);
}

TEST(first_and_last_come_and_go) {
    rung_ladder *l = new_ladder(1, 1, NULL);
    for (uint32_t i = 1; i <= 300; i++) /* a new first and a new last, again and again */
        put(l, i, i % 2 ? 1000 - i : 1000 + i, 0);
    for (uint32_t left = 300; left > 0; left--) {
        rung_ladder_entry e;
        CHECK_OK(rung_ladder_at(l, left % 2 ? left - 1 : 0, &e));
        CHECK_EQ_U64(e.player, left % 2 ? left + 1 : left - 1);
        CHECK_OK(rung_ladder_remove(l, e.player));
        CHECK_STATUS(rung_ladder_remove(l, e.player), RUNG_NOT_FOUND);
        CHECK_SOUND(rung_ladder_check(l));
    }
    CHECK_EQ_U64(rung_ladder_count(l), 0);
    put(l, 1, 1, 0);
    CHECK_EQ_STR(standing(l, RUNG_RANK_UNIQUE), "1:1");
    rung_ladder_destroy(l);
}

TEST(create_refuses_impossible_shapes) {
    static const uint8_t shapes[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 2},
                                        {5, 1}, {5, 5}, {4, 5}, {255, 255}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        rung_ladder_config config = {
            .alloc = rung_alloc_heap(), .key_words = shapes[i][0], .score_words = shapes[i][1]};
        rung_ladder *l = NULL;
        CHECK_STATUS(rung_ladder_create(&config, &l), RUNG_EINVAL);
        CHECK_NULL(l);
    }
    rung_ladder_destroy(NULL);
}

static bool supply_nothing(void *ctx, rung_ladder_entry *out) {
    (void)ctx;
    (void)out;
    return false;
}

TEST(build_refuses_more_than_a_ladder_holds) {
    rung_ladder *l = new_ladder(1, 1, NULL);
    CHECK_STATUS(rung_ladder_build(l, UINT32_MAX, supply_nothing, NULL), RUNG_EINVAL);
    CHECK_STATUS(rung_ladder_build(l, 1, supply_nothing, NULL), RUNG_EINVAL);
    CHECK_OK(rung_ladder_build(l, 0, supply_nothing, NULL));
    CHECK_EQ_U64(rung_ladder_count(l), 0);
    CHECK_SOUND(rung_ladder_check(l));
    rung_ladder_destroy(l);
}

/* ---- programs in a child ---- */

enum { PROGRAM_STEPS_MAX = 200000, PROGRAM_SIZE_MAX = 1 + PROGRAM_STEPS_MAX * LADDER_STEP_SIZE };

typedef struct workbench {
    uint64_t seed, step_count; /* of the program, and run by all of them */
    size_t size;
    uint8_t program[PROGRAM_SIZE_MAX];
} workbench;

/* Shared by the child that works on it and the parent that looks after a failure. */
static workbench *bench;

/* Run the program on the workbench; the child ends here if it fails. */
static void run_program(void) {
    alarm(120); /* a hang is a failure too */
    ladder_verdict v = ladder_program_run(bench->program, bench->size, NULL);
    alarm(0);
    bench->step_count += v.step_count;
    if (v.is_good)
        return;
    fprintf(stderr, "seed %" PRIu64 ", step %zu: %s\n", bench->seed, v.step, v.message);
    fflush(NULL);
    _exit(1);
}

static void run_bytes(const uint8_t *program, size_t size) {
    memcpy(bench->program, program, size);
    bench->size = size;
    run_program();
}

/* Does `body` fail, in whatever way, in a process of its own? */
static bool fails_in_child(void (*body)(void), bool is_quiet) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (is_quiet)
            CHECK(freopen("/dev/null", "w", stderr));
        body();
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return status != 0;
}

static bool still_fails(const uint8_t *program, size_t size) {
    memcpy(bench->program, program, size);
    bench->size = size;
    return fails_in_child(run_program, true);
}

/* Run `body`, which calls run_program() or run_bytes() many times; report the program that fails. */
static void guard(void (*body)(void)) {
    bench = mmap(NULL, sizeof *bench, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(bench != MAP_FAILED);
    if (fails_in_child(body, false)) {
        size_t size = bench->size;
        uint8_t *program = malloc(size + 1);
        CHECK(program);
        memcpy(program, bench->program, size);
        if (!still_fails(program, size))
            test_fail(__FILE__, __LINE__, "seed %" PRIu64 ": failed, but not when run again alone",
                      bench->seed);
        size = ladder_program_shrink(program, size, still_fails);
        fprintf(stderr, "the shortest program that fails, as a table (%zu steps):\n",
                size / LADDER_STEP_SIZE);
        ladder_program_print(program, size);
        memcpy(bench->program, program, size);
        bench->size = size;
        fails_in_child(run_program, false); /* once more, aloud */
        test_fail(__FILE__, __LINE__, "the ladder and its model disagree (seed %" PRIu64 ")",
                  bench->seed);
    }
    munmap(bench, sizeof *bench);
}

/* ---- programs by hand: what was once found, and what nobody would find by chance ---- */

/* clang-format off */
#define PUT(player, word) \
    LADDER_STEP(LADDER_PUT, LADDER_FLAGS(1, LADDER_LOW, LADDER_KEY_BYTES, 1), player, word, 0, 0, 0)
#define REMOVE(player) LADDER_STEP(LADDER_REMOVE, 0, player, 0, 0, 0, 0)
#define BUILD(count, defect, at) \
    LADDER_STEP(LADDER_BUILD, LADDER_FLAGS(0, LADDER_LOW, LADDER_KEY_BYTES, defect), count, at, 0, 0, 0)
#define REBUILD(defect, at) \
    LADDER_STEP(LADDER_REBUILD, LADDER_FLAGS(0, LADDER_LOW, LADDER_KEY_BYTES, defect), 0, at, 0, 0, 0)
#define PLAIN LADDER_CONFIG(1, 1, LADDER_BY_NUMBER)

static const uint8_t empty_program[] = {PLAIN};
static const uint8_t build_of_nothing[] = {PLAIN, BUILD(0, LADDER_SOUND, 0), PUT(1, 1)};
static const uint8_t bad_builds_of_two[] = {
    PLAIN, PUT(1, 1), PUT(2, 2), REBUILD(LADDER_UNSORTED, 0), REBUILD(LADDER_SAME_PLAYER, 0),
    REBUILD(LADDER_DRY, 0), REBUILD(LADDER_DRY, 1), REBUILD(LADDER_DRY, 2),
};
static const uint8_t bad_builds_of_nine[] = {
    PLAIN, BUILD(9, LADDER_UNSORTED, 4), PUT(1, 1), PUT(2, 1), PUT(3, 2), PUT(4, 2), PUT(5, 2), PUT(6, 3), PUT(7, 3),
    PUT(8, 4), PUT(9, 5), REBUILD(LADDER_UNSORTED, 3), REBUILD(LADDER_SAME_PLAYER, 3), REBUILD(LADDER_SAME_PLAYER, 7),
    REBUILD(LADDER_DRY, 5), REBUILD(LADDER_DRY, 9),
};
/* The first of a tied score is the last of its leaf and goes; its heir is in the next leaf. */
static const uint8_t heir_in_the_next_leaf[] = {
    PLAIN, PUT(1, 1), PUT(2, 2), PUT(3, 3), PUT(4, 4), PUT(5, 4), PUT(6, 4), PUT(7, 4), PUT(8, 4), PUT(9, 4),
    REMOVE(4), REMOVE(5), REMOVE(6), PUT(4, 4), PUT(3, 4), PUT(1, 4), REMOVE(1),
};
/* One score over many leaves: the first of them is far to the left. */
static const uint8_t one_score_over_all_leaves[] = {
    LADDER_CONFIG(2, 1, LADDER_BY_FAKE_ID),
    PUT(1, 5), PUT(2, 5), PUT(3, 5), PUT(4, 5), PUT(5, 5), PUT(6, 5), PUT(7, 5), PUT(8, 5), PUT(9, 5), PUT(10, 5),
    PUT(11, 5), PUT(12, 5), PUT(13, 5), PUT(14, 5), PUT(15, 5), PUT(16, 5), PUT(17, 5), PUT(18, 4),
    REMOVE(18), PUT(18, 6), PUT(1, 4), PUT(1, 6),
};
/* clang-format on */

TEST(programs_by_hand) {
    static const struct {
        const char *name;
        const uint8_t *program;
        size_t size;
    } programs[] = {
#define PROGRAM(name) {#name, name, sizeof name}
        PROGRAM(empty_program),         PROGRAM(build_of_nothing),
        PROGRAM(bad_builds_of_two),     PROGRAM(bad_builds_of_nine),
        PROGRAM(heir_in_the_next_leaf), PROGRAM(one_score_over_all_leaves),
#undef PROGRAM
    };
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        ladder_verdict v = ladder_program_run(programs[i].program, programs[i].size, NULL);
        CHECK_MSG(v.is_good, "%s: step %zu: %s", programs[i].name, v.step, v.message);
    }
    CHECK(ladder_program_run(NULL, 0, NULL).is_good);
}

/* ---- all short programs ---- */

/* Three players at three places, three that go, a rebuild, a batch of whatever comes next. */
/* clang-format off */
static const uint8_t letters[][LADDER_STEP_SIZE] = {
    {PUT(1, 1)}, {PUT(1, 2)}, {PUT(1, 3)}, {PUT(2, 1)}, {PUT(2, 2)}, {PUT(2, 3)}, {PUT(3, 1)}, {PUT(3, 2)}, {PUT(3, 3)},
    {REMOVE(1)}, {REMOVE(2)}, {REMOVE(3)}, {REBUILD(LADDER_SAME_PLAYER, 0)},
    {LADDER_STEP(LADDER_PUT_BATCH, LADDER_FLAGS(0, 0, 0, 3), 2, 0, 0, 0, 0)},
};
/* clang-format on */

/* Every question there is about three keys and three players. */
static size_t append_questions(uint8_t *out) {
    size_t n = 0;
    for (unsigned word = 0; word <= 4; word++) {
        for (unsigned style = 0; style < 3; style++) {
            const uint8_t steps[] = {
                LADDER_STEP(LADDER_RANK_OF_KEY, (uint8_t)style, 0, (uint8_t)word, 0, 0, 0),
                LADDER_STEP(LADDER_SELECT, (uint8_t)style, word, 0, 0, 0, 0),
                LADDER_STEP(LADDER_RANK, (uint8_t)style, word, 0, 0, 0, 0),
            };
            memcpy(out + n, steps, sizeof steps);
            n += sizeof steps;
        }
        const uint8_t steps[] = {
            LADDER_STEP(LADDER_COUNT, 0, 0, (uint8_t)word, 0, 0, 2),
            LADDER_STEP(LADDER_WALK_KEY, 0, 0, (uint8_t)word, 0, 0, 0),
            LADDER_STEP(LADDER_WALK, 0, word, 0x1f, 0x35, 0xc1, 0x03),
            LADDER_STEP(LADDER_AT, 0, word, 0, 0, 0, 0),
        };
        memcpy(out + n, steps, sizeof steps);
        n += sizeof steps;
    }
    return n;
}

/* All programs of `length` letters under one configuration; `wants_questions`: each followed by all questions. */
static void run_all_of_length(uint8_t config, unsigned length, bool wants_questions) {
    uint8_t program[1 + 8 * LADDER_STEP_SIZE + 2048];
    size_t size = 1 + length * LADDER_STEP_SIZE, odometer[8] = {0}, turned = 0;
    program[0] = config;
    size_t tail = wants_questions ? append_questions(program + size) : 0;
    while (turned < length) {
        for (size_t i = 0; i < length; i++)
            memcpy(program + 1 + i * LADDER_STEP_SIZE, letters[odometer[i]], LADDER_STEP_SIZE);
        run_bytes(program, size + tail);
        for (turned = 0; turned < length && ++odometer[turned] == COUNT_OF(letters); turned++)
            odometer[turned] = 0;
    }
}

static void run_all_short_programs(void) {
#ifdef __SANITIZE_ADDRESS__
    unsigned length_max = 4;
#else
    unsigned length_max = 5;
#endif
    for (unsigned length = 1; length <= length_max; length++)
        run_all_of_length(LADDER_CONFIG(1, 1, LADDER_BY_NUMBER), length, length <= 3);
    for (unsigned length = 1; length <= 3; length++) {
        run_all_of_length(LADDER_CONFIG(4, 2, LADDER_BY_FAKE_ID), length, true);
        run_all_of_length(LADDER_CONFIG(1, 1, LADDER_PREFIXED(LADDER_BY_FAKE_ID)), length, false);
    }
}

TEST(all_short_programs) {
    guard(run_all_short_programs);
}

/* From ladders of n entries (so that leaves are full, or as empty as they may be): every two changes, where a change
 * puts any player, or a new one, into any gap or tie, or removes anyone. */
static void run_two_changes_of(uint8_t config, uint32_t n, uint32_t first) {
    enum { N_MAX = 64 };
    uint8_t program[1 + (1 + N_MAX + 2) * LADDER_STEP_SIZE];
    const uint8_t head[] = {config, BUILD(n, LADDER_SOUND, 0)};
    size_t size = sizeof head, changes = (size_t)(n + 1) * (2 * n + 2);
    memcpy(program, head, sizeof head);
    for (uint32_t i = 0; i < n; i++, size += LADDER_STEP_SIZE) {
        const uint8_t element[] = {PUT(i, (uint8_t)(2 * i + 2))};
        memcpy(program + size, element, sizeof element);
    }
    for (size_t a = first; a < changes; a += 5)
        for (size_t b = 0; b < changes; b++) {
            size_t end = size;
            for (int i = 0; i < 2; i++, end += LADDER_STEP_SIZE) {
                size_t change = i ? b : a, player = change % (n + 1), place = change / (n + 1);
                const uint8_t go[] = {REMOVE(player)}, come[] = {PUT(player, (uint8_t)(place + 1))};
                memcpy(program + end, place > 2 * n ? go : come, LADDER_STEP_SIZE);
            }
            run_bytes(program, end);
        }
}

static void run_all_changes_of_small_ladders(void) {
    uint32_t stride = 5;
#ifdef __SANITIZE_ADDRESS__
    uint32_t n_max = 7;
#else
    uint32_t n_max = 11;
#endif
    for (uint32_t n = 1; n <= n_max; n++)
        for (uint32_t first = 0; first < (n < 8 ? stride : 1);
             first++) /* the larger ones: every fifth first change */
            run_two_changes_of(LADDER_CONFIG(1, 1, LADDER_BY_NUMBER), n, first);
    run_two_changes_of(LADDER_CONFIG(2, 2, LADDER_BY_NUMBER_DOWN), 8, 3);
    run_two_changes_of(LADDER_CONFIG(1, 1, LADDER_PREFIXED(LADDER_BY_NUMBER_DOWN)), 8, 3);
}

TEST(all_changes_of_small_ladders) {
    guard(run_all_changes_of_small_ladders);
}

/* ---- seeded programs ---- */

/* How large the ladders get, and how much of the work goes there. With the tiny nodes of a test build a few hundred
 * entries are a tall tree; with real ones it takes tens of thousands. */
static const struct {
    uint16_t players_max;
    unsigned percent;
} sizes[] = {
#ifdef RUNG_TEST_BUILD
    {10, 20},
    {50, 40},
    {400, 30},
    {3000, 10},
#else
    {100, 15},
    {1000, 45},
    {6000, 34},
    {30000, 6},
#endif
};

static void run_seeded_of_size(uint64_t seed, uint16_t players_max, uint64_t steps) {
    uint64_t until = bench->step_count + steps, program_steps = 6 * (uint64_t)players_max + 500;
    for (uint64_t config = 0; bench->step_count < until; config++) {
        /* Every (key_words, score_words, tie, with prefixes or without) in turn; coprime strides so that the first few
         * already differ much. */
        static const uint8_t shapes[][2] = {{1, 1}, {2, 1}, {2, 2}, {3, 1}, {3, 2},
                                            {3, 3}, {4, 1}, {4, 2}, {4, 3}, {4, 4}};
        const uint8_t *shape = shapes[config * 3 % COUNT_OF(shapes)];
        int tie = (int)((config + config / COUNT_OF(shapes)) % (2 * LADDER_TIE_COUNT));
        ladder_taste taste = {.config = LADDER_CONFIG(shape[0], shape[1], tie),
                              .players_max = players_max};
        rung_rng rng;
        bench->seed = rung_hash_word(seed + players_max) + config;
        bench->size = 1 + program_steps * LADDER_STEP_SIZE;
        rung_rng_seed(&rng, bench->seed);
        ladder_program_generate(&rng, &taste, bench->program, bench->size);
        run_program();
    }
}

static void run_seeded_programs(void) {
    uint64_t seed = test_seed(1), steps = test_steps(600000);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        run_seeded_of_size(seed, sizes[i].players_max, steps * sizes[i].percent / 100);
    CHECK(bench->step_count >= steps / 100 * 99);
}

TEST(seeded_programs) {
    guard(run_seeded_programs);
}

RUNG_TEST_MAIN
