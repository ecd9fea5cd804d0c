/* SPDX-License-Identifier: Apache-2.0 */
#include "service/aside.h"

#include "base/assert.h"

#include <signal.h>

static void *run(void *ctx) {
    rung_aside *a = ctx;
    a->work(a->arg);
    return NULL;
}

/* Signals are for the host program's own threads. */
bool rung_aside_begin(rung_aside *a, void (*work)(void *arg), void *arg) {
    sigset_t all, before;
    RUNG_ASSERT(!a->is_begun);
    a->work = work;
    a->arg = arg;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    a->is_begun = pthread_create(&a->thread, NULL, run, a) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return a->is_begun;
}

void rung_aside_wait(rung_aside *a) {
    if (a->is_begun)
        pthread_join(a->thread, NULL);
    a->is_begun = false;
}
