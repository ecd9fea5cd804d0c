/* SPDX-License-Identifier: Apache-2.0 */
/* aside.h - one piece of work in a thread of its own, while we go on with another.
 *
 *     rung_aside a = {0};
 *     if (!rung_aside_begin(&a, work, arg)) work(arg);
 *     ...
 *     rung_aside_wait(&a);
 *
 * Threads: begin and wait belong to one thread. */
#ifndef RUNG_SERVICE_ASIDE_H
#define RUNG_SERVICE_ASIDE_H

#include <pthread.h>
#include <stdbool.h>

/* Zero is idle. */
typedef struct rung_aside {
    pthread_t thread;
    bool is_begun;
    void (*work)(void *arg);
    void *arg;
} rung_aside;

/* False: there is no thread to be had, and nothing was begun. */
bool rung_aside_begin(rung_aside *a, void (*work)(void *arg), void *arg);
void rung_aside_wait(rung_aside *a); /* returns at once when nothing was begun */

#endif
