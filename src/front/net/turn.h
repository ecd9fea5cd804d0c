/* SPDX-License-Identifier: Apache-2.0 */
/* turn.h - one turn of the event loop: what happens between reading sockets and waiting again.
 *
 *     rung_task send = {.run = send_all, .ctx = net};
 *     rung_turn_add(&loop->turn, RUNG_PHASE_SEND, &send);
 *     rung_turn_want(&send);                    // something was written: run it before the loop waits
 *
 * This file alone decides the order of work on the loop. The words, used in this sense everywhere:
 *
 *   turn     sockets are read and timers run; then the phases run; then the loop waits
 *   phase    one of flush, apply, answer, send, in this order
 *   flush    hand the changes accepted so far to the log: its disk works while the loop goes on
 *   apply    fold into the state what has become durable, and answer those who wait for it
 *   answer   do what was deferred to be done together: questions, results, stalled sessions
 *   send     give the bytes written so far to the sockets, and kept input to its protocol
 *   task     one room's part of a phase; it runs when it is due
 *   round    all phases once. A task can make another one due (an answer lets the next pipelined
 *            request in, which puts a change), so rounds repeat until nothing is due. No socket is
 *            read meanwhile, so the requests already read bound the rounds.
 *   want     make a task due in this turn; on the loop's thread
 *   wake     make a task due in the next turn, which then comes soon; from any thread
 *   hurry    begin the next turn without waiting: work is left, but sockets are read first
 *   tick     a timer that repeats
 *   stall    how long a turn takes: for so long everybody else waits
 *
 * Thread: the loop's, except where stated. */
#ifndef RUNG_FRONT_NET_TURN_H
#define RUNG_FRONT_NET_TURN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum rung_phase {
    RUNG_PHASE_FLUSH,
    RUNG_PHASE_APPLY,
    RUNG_PHASE_ANSWER,
    RUNG_PHASE_SEND,
} rung_phase;

/* Embedded by its owner, who removes it before freeing it. Due when wanted or woken, or as these fields say: */
typedef struct rung_task {
    void (*run)(void *ctx);
    void *ctx;
    bool is_in_every_turn;             /* once, in the first round */
    bool (*has_more)(const void *ctx); /* of the flush phase only; may be NULL. True: it is due */
    bool is_wanted;
    atomic_bool is_woken;
    rung_phase phase;
    struct rung_turn *turn; /* to which it was added */
    struct rung_task *next;
} rung_task;

/* Turns by how long they took, and the longest of the last 15 to 30 seconds. The last bucket: longer than all. */
enum { RUNG_STALL_BUCKETS = 13 };
extern const uint32_t rung_stall_bounds_us[RUNG_STALL_BUCKETS - 1];
typedef struct rung_stalls {
    uint64_t count[RUNG_STALL_BUCKETS], total_ns;
    uint64_t span, longest_ns[2]; /* of this span of 15 s, and of the one before */
} rung_stalls;

/* The zero value has no tasks. */
typedef struct rung_turn {
    rung_task *tasks;     /* in the order of running */
    uint64_t number;      /* of turns so far: tells one turn from the next */
    atomic_bool is_woken; /* some task is */
    uint32_t wanted_count;
    bool is_hurried;
    uint64_t began_ns; /* 0: no turn has begun */
    rung_stalls stalls;
} rung_turn;

/* Tasks of one phase run in the order in which they were added. */
void rung_turn_add(rung_turn *t, rung_phase phase, rung_task *task);
void rung_turn_remove(rung_turn *t, rung_task *task); /* fine also when it was not added */

static inline void rung_turn_want(rung_task *task) {
    task->turn->wanted_count += !task->is_wanted;
    task->is_wanted = true;
}

/* rung_loop_wake()'s part; from any thread. */
static inline void rung_turn_wake(rung_turn *t, rung_task *task) {
    atomic_store(&task->is_woken, true);
    atomic_store(&t->is_woken, true);
}

static inline void rung_turn_hurry(rung_turn *t) {
    t->is_hurried = true;
}

/* The loop's: run what is due. True: do not wait now. */
bool rung_turn_end(rung_turn *t);

/* The loop's: the first thing of a turn happens at `now_ns`, never 0. Later calls in the same turn do nothing. */
static inline bool rung_turn_has_begun(const rung_turn *t) {
    return t->began_ns != 0;
}
static inline void rung_turn_begin(rung_turn *t, uint64_t now_ns) {
    t->began_ns = t->began_ns ? t->began_ns : now_ns;
}
/* The loop's: the turn is over. */
void rung_turn_over(rung_turn *t, uint64_t now_ns);

/* The longest turn of the last 15 to 30 seconds. */
uint64_t rung_turn_longest_ns(const rung_turn *t, uint64_t now_ns);

#endif
