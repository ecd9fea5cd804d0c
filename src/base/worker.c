/* SPDX-License-Identifier: Apache-2.0 */
/* Workers as threads. A wake sets a flag that the next step clears before it looks for work. So that step sees
 * everything from before it cleared the flag, and anything later sets the flag again. */
#define _GNU_SOURCE
#include "base/worker.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

typedef struct thread {
    rung_worker port;
    const rung_alloc *alloc;
    rung_worker_step *step;
    void *arg;
    pthread_t id;
    _Atomic bool is_woken;

    pthread_mutex_t lock;
    pthread_cond_t work;    /* for the thread */
    pthread_cond_t stepped; /* for those who await */
    /* Under the lock. */
    bool is_stopping, has_ended;
    uint32_t waiting; /* in await */
    uint64_t steps;
} thread;

static struct timespec in_ms(uint32_t ms) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

/* Until woken, stopped or `ms` have passed. Lock held. */
static void sleep_for(thread *t, uint32_t ms) {
    int timed_out = 0;
    struct timespec until = {0};
    if (ms != RUNG_WORKER_SLEEP)
        until = in_ms(ms);
    while (!atomic_load(&t->is_woken) && !t->is_stopping && !timed_out)
        timed_out = ms == RUNG_WORKER_SLEEP ? pthread_cond_wait(&t->work, &t->lock)
                                            : pthread_cond_timedwait(&t->work, &t->lock, &until);
}

/* Wake the waiters, then sleep as the step asked. Returns whether there is another step. */
static bool rest(thread *t, uint32_t ms, bool was_stopping, bool *is_stopping_out) {
    pthread_mutex_lock(&t->lock);
    t->has_ended = ms == RUNG_WORKER_END || (was_stopping && ms != RUNG_WORKER_AGAIN);
    t->steps++;
    if (t->waiting)
        pthread_cond_broadcast(&t->stepped);
    if (!t->has_ended && ms != RUNG_WORKER_AGAIN)
        sleep_for(t, ms);
    *is_stopping_out = t->is_stopping;
    bool goes_on = !t->has_ended;
    pthread_mutex_unlock(&t->lock);
    return goes_on;
}

static void *run(void *arg) {
    thread *t = arg;
    bool is_stopping = false;
    uint32_t ms;
    do {
        atomic_store(&t->is_woken, false);
        ms = t->step(t->arg, is_stopping);
    } while (rest(t, ms, is_stopping, &is_stopping));
    return NULL;
}

static void release(thread *t) {
    pthread_cond_destroy(&t->stepped);
    pthread_cond_destroy(&t->work);
    pthread_mutex_destroy(&t->lock);
    rung_alloc_free(t->alloc, t, sizeof *t);
}

/* Signals go to the owner: nothing may interrupt a worker. */
static int start_thread(thread *t) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&t->id, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

static rung_status start(const rung_threads *threads, const rung_alloc *alloc,
                         rung_worker_step *step, void *arg, rung_worker **worker_out,
                         rung_err *err) {
    thread *t = rung_alloc_zeroed(alloc, sizeof *t);
    if (!t)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for a thread");
    t->port.threads = threads;
    t->alloc = alloc;
    t->step = step;
    t->arg = arg;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->work, &monotonic);
    pthread_cond_init(&t->stepped, &monotonic);
    pthread_condattr_destroy(&monotonic);
    int failed = start_thread(t);
    if (failed) {
        release(t);
        return RUNG_FAIL_OS(err, RUNG_EIO, failed, "the system has no thread to give");
    }
    *worker_out = &t->port;
    return RUNG_OK;
}

static void wake(rung_worker *worker) {
    thread *t = (thread *)worker;
    if (atomic_exchange(&t->is_woken, true))
        return;
    pthread_mutex_lock(&t->lock); /* otherwise it could be between testing the flag and sleeping */
    pthread_mutex_unlock(&t->lock);
    pthread_cond_signal(&t->work);
}

/* Wait for a step after `seen`. Lock held. false: none came in time. */
static bool wait_for_step(thread *t, uint64_t seen, uint32_t timeout_ms,
                          const struct timespec *until) {
    int timed_out = 0;
    t->waiting++;
    while (t->steps == seen && !t->has_ended && !timed_out)
        timed_out = timeout_ms == UINT32_MAX ? pthread_cond_wait(&t->stepped, &t->lock)
                                             : pthread_cond_timedwait(&t->stepped, &t->lock, until);
    t->waiting--;
    return t->steps != seen;
}

static bool await(rung_worker *worker, rung_worker_test *is_done, void *arg, uint32_t timeout_ms) {
    thread *t = (thread *)worker;
    struct timespec until = in_ms(timeout_ms == UINT32_MAX ? 0 : timeout_ms);
    bool is_stepped;
    do {
        pthread_mutex_lock(&t->lock);
        uint64_t seen = t->steps;
        pthread_mutex_unlock(&t->lock);
        if (is_done(arg))
            return true;
        pthread_mutex_lock(&t->lock);
        is_stepped = wait_for_step(t, seen, timeout_ms, &until);
        pthread_mutex_unlock(&t->lock);
    } while (is_stepped);
    return is_done(arg);
}

static void stop(rung_worker *worker) {
    thread *t = (thread *)worker;
    pthread_mutex_lock(&t->lock);
    t->is_stopping = true;
    pthread_mutex_unlock(&t->lock);
    pthread_cond_signal(&t->work);
    pthread_join(t->id, NULL);
    release(t);
}

const rung_threads *rung_threads_system(void) {
    static const rung_threads system = {start, wake, await, stop, NULL};
    return &system;
}

/* A nice thread finishes its time slice when another wakes: milliseconds. An idle one is preempted at once. */
void rung_thread_set_idle(bool is_idle) {
    sched_setscheduler(0, is_idle ? SCHED_IDLE : SCHED_OTHER, &(struct sched_param){0});
}
