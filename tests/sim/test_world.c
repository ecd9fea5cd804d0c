/* SPDX-License-Identifier: Apache-2.0 */
/* The whole server in one seeded, deterministic process: tests/sim/README.md says how, and what is checked.
 *
 * RUNG_SIM_SEED=n runs from that seed on, RUNG_SIM_SEEDS=k so many of them; RUNG_SIM_TRACE=1 tells the whole story;
 * RUNG_SIM_NODES=3 has three servers on one log. */
/* ctest: timeout=300 */
/* ctest: name=cluster timeout=300 env="RUNG_SIM_NODES=3" */
#include "sim/world.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef __SANITIZE_ADDRESS__
enum { SEEDS = 150 };
#else
enum { SEEDS = 1000 };
#endif

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static sim_report run(uint64_t seed) {
    sim_report report;
    sim_run(&(sim_config){.seed = seed,
                          .nodes = (uint32_t)setting("RUNG_SIM_NODES", 1),
                          .is_loud = getenv("RUNG_SIM_TRACE") != NULL},
            &report);
    return report;
}

/* What is counted, and what it is called. */
#define COUNTS(X)                                                                                  \
    X(steps, "steps")                                                                              \
    X(events, "events")                                                                            \
    X(answers, "answers")                                                                          \
    X(closed, "of them on closed windows")                                                         \
    X(crashes, "power cuts")                                                                       \
    X(kills, "kills")                                                                              \
    X(faults, "disk faults")                                                                       \
    X(snapshots, "snapshots")                                                                      \
    X(cuts, "cut connections")                                                                     \
    X(flips, "flipped bits")                                                                       \
    X(refusals, "of them refused")                                                                 \
    X(partitions, "links to the brokers cut")                                                      \
    X(standstills, "standstills of the brokers")                                                   \
    X(pauses, "paused nodes")                                                                      \
    X(unknown, "unknown outcomes told")                                                            \
    X(late, "late records")                                                                        \
    X(copies, "records stored twice")                                                              \
    X(wipes, "emptied folders")                                                                    \
    X(joins, "of them with a peer's snapshot")                                                     \
    X(gaps, "refused for a gap")                                                                   \
    X(divergences, "wrong states that stopped their nodes")

static void add(sim_report *sum, const sim_report *r) {
#define ADD(name, text) sum->name += r->name;
    COUNTS(ADD)
}

static void print(const sim_report *r) {
#define PRINT(name, text) printf("%llu " text "; ", (unsigned long long)r->name);
    COUNTS(PRINT)
    printf("\n");
}

TEST(many_seeds) {
    uint64_t first = setting("RUNG_SIM_SEED", 1), count = setting("RUNG_SIM_SEEDS", SEEDS);
    sim_report sum = {0};
    for (uint64_t i = 0; i < count; i++) {
        if (getenv("RUNG_SIM_COUNT")) /* so that also a crash tells where it was */
            printf("seed %llu\n", (unsigned long long)(first + i)), fflush(stdout);
        sim_report r = run(first + i);
        add(&sum, &r);
    }
    print(&sum);
}

TEST(a_seed_tells_the_same_story_twice) {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        sim_report a = run(seed), b = run(seed);
        CHECK_EQ_U64(a.hash, b.hash);
        CHECK_EQ_U64(a.steps, b.steps);
    }
}

TEST(one_seed) {
    uint64_t seed = setting("RUNG_SIM_SEED", 1);
    sim_report r = run(seed);
    printf("seed %llu: story %016llx\n", (unsigned long long)seed, (unsigned long long)r.hash);
    print(&r);
}

RUNG_TEST_MAIN
