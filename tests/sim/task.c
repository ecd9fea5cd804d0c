/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sim/task.h"

#include "support/check.h"

#include <pthread.h>
#include <stdlib.h>

static sim_process *running_process; /* whose task runs; for locks, which know no process */

sim_process *sim_process_running(void) {
    return running_process;
}

/* ---- memory ---- */

typedef struct sim_block {
    struct sim_block *prev, *next;
    size_t size;
    _Alignas(16) char bytes[];
} sim_block;

static sim_block *block_of(void *ptr) {
    return (sim_block *)((char *)ptr - offsetof(sim_block, bytes));
}

static void unlink_block(sim_process *p, sim_block *b) {
    if (b->prev)
        b->prev->next = b->next;
    else
        p->blocks = b->next;
    if (b->next)
        b->next->prev = b->prev;
    p->used -= b->size;
}

static void *resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    sim_process *p = ctx;
    sim_block *old = ptr ? block_of(ptr) : NULL;
    if (old) {
        CHECK_EQ_U64(old->size, old_size);
        unlink_block(p, old);
    }
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    sim_block *b = realloc(old, sizeof *b + new_size);
    CHECK(b != NULL);
    *b = (sim_block){.next = p->blocks, .size = new_size};
    if (b->next)
        b->next->prev = b;
    p->blocks = b;
    p->used += new_size;
    return b->bytes;
}

/* ---- tasks ---- */

void sim_process_init(sim_process *p, sim_trace *trace, rung_rng *rng, int64_t *monotonic_us);

static void run_task(void *arg) {
    sim_task *t = arg;
    t->run(t->arg);
}

sim_task *sim_process_start(sim_process *p, const char *name, void (*run)(void *arg), void *arg) {
    sim_task *t = calloc(1, sizeof *t);
    CHECK(t && p->task_count < SIM_TASKS_MAX);
    *t = (sim_task){.name = name, .run = run, .arg = arg};
    t->fiber = sim_fiber_create(run_task, t);
    return p->tasks[p->task_count++] = t;
}

static void remove_task(sim_process *p, sim_task *t) {
    uint32_t i = 0;
    while (p->tasks[i] != t)
        i++;
    for (p->task_count--; i < p->task_count; i++)
        p->tasks[i] = p->tasks[i + 1];
    sim_fiber_destroy(t->fiber);
    free(t);
}

uint32_t sim_process_ready(sim_process *p, sim_task *out[SIM_TASKS_MAX]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->task_count; i++)
        if (!p->tasks[i]->is_ready || p->tasks[i]->is_ready(p->tasks[i]->ctx))
            out[n++] = p->tasks[i];
    return n;
}

void sim_process_step(sim_process *p, sim_task *t) {
    running_process = p;
    p->running = t;
    t->is_ready = NULL;
    sim_fiber_resume(t->fiber);
    p->running = NULL;
    running_process = NULL;
    if (sim_fiber_is_done(t->fiber))
        remove_task(p, t);
}

void sim_process_wait(sim_process *p, sim_ready *is_ready, void *ctx) {
    sim_task *t = p->running;
    CHECK(t && sim_fiber_is_inside());
    t->is_ready = is_ready;
    t->ctx = ctx;
    sim_fiber_yield();
}

void sim_process_pause(sim_process *p) {
    if (p->running)
        sim_process_wait(p, NULL, NULL);
}

static bool never(void *ctx) {
    (void)ctx;
    return false;
}

void sim_process_exit(sim_process *p) {
    p->is_dead = true;
    sim_process_wait(p, never, NULL);
    abort(); /* nobody resumes the dead */
}

void sim_process_kill(sim_process *p) {
    while (p->task_count)
        remove_task(p, p->tasks[0]);
    while (p->blocks) {
        sim_block *next = p->blocks->next;
        free(p->blocks);
        p->blocks = next;
    }
    p->used = 0;
}

/* ---- the thread port ---- */

typedef struct worker {
    rung_worker base;
    sim_process *process;
    const rung_alloc *alloc;
    rung_worker_step *step;
    void *arg;
    bool is_wanted, is_stopping, is_over;
    int64_t due_us; /* INT64_MAX: when woken */
} worker;

static bool is_worker_due(void *ctx) {
    const worker *w = ctx;
    return w->is_wanted || w->is_stopping || *w->process->monotonic_us >= w->due_us;
}

static void run_worker(void *arg) {
    worker *w = arg;
    uint32_t next = RUNG_WORKER_AGAIN;
    for (;;) {
        if (next != RUNG_WORKER_AGAIN)
            sim_process_wait(w->process, is_worker_due, w);
        else
            sim_process_pause(w->process);
        bool was_stopping = w->is_stopping;
        w->is_wanted = false;
        next = w->step(w->arg, was_stopping);
        if (next == RUNG_WORKER_END || (was_stopping && next != RUNG_WORKER_AGAIN))
            break;
        w->due_us = next == RUNG_WORKER_SLEEP ? INT64_MAX
                                              : *w->process->monotonic_us + (int64_t)next * 1000;
    }
    w->is_over = true;
}

static rung_status start_worker(const rung_threads *threads, const rung_alloc *alloc,
                                rung_worker_step *step, void *arg, rung_worker **worker_out,
                                rung_err *err) {
    worker *w = rung_alloc_zeroed(alloc, sizeof *w);
    (void)err;
    if (!w)
        return RUNG_ENOMEM;
    *w = (worker){.base = {threads},
                  .process = threads->ctx,
                  .alloc = alloc,
                  .step = step,
                  .arg = arg,
                  .due_us = INT64_MAX};
    sim_process_start(w->process, "worker", run_worker, w);
    *worker_out = &w->base;
    return RUNG_OK;
}

static void wake_worker(rung_worker *base) {
    ((worker *)base)->is_wanted = true;
}

typedef struct await {
    worker *worker;
    rung_worker_test *is_done;
    void *arg;
    int64_t until_us;
} await;

static bool is_await_over(void *ctx) {
    const await *a = ctx;
    return a->is_done(a->arg) || a->worker->is_over ||
           *a->worker->process->monotonic_us >= a->until_us;
}

static bool await_worker(rung_worker *base, rung_worker_test *is_done, void *arg,
                         uint32_t timeout_ms) {
    worker *w = (worker *)base;
    await a = {.worker = w,
               .is_done = is_done,
               .arg = arg,
               .until_us = timeout_ms == UINT32_MAX
                               ? INT64_MAX
                               : *w->process->monotonic_us + (int64_t)timeout_ms * 1000};
    if (!is_await_over(&a))
        sim_process_wait(w->process, is_await_over, &a);
    return is_done(arg);
}

static bool is_worker_over(void *ctx) {
    return ((worker *)ctx)->is_over;
}

static void stop_worker(rung_worker *base) {
    worker *w = (worker *)base;
    w->is_stopping = true;
    if (!w->is_over)
        sim_process_wait(w->process, is_worker_over, w);
    rung_alloc_free(w->alloc, w, sizeof *w);
}

void sim_process_init(sim_process *p, sim_trace *trace, rung_rng *rng, int64_t *monotonic_us) {
    *p = (sim_process){.trace = trace, .rng = rng, .monotonic_us = monotonic_us};
    p->alloc = (rung_alloc){.resize = resize, .ctx = p};
    p->threads = (rung_threads){.start = start_worker,
                                .wake = wake_worker,
                                .await = await_worker,
                                .stop = stop_worker,
                                .ctx = p};
}

/* ---- locks: a task that pauses may hold one, and another task of the same thread may want it ---- */

int __wrap_pthread_mutex_lock(pthread_mutex_t *m);

static bool is_free(void *ctx) {
    pthread_mutex_t *m = ctx;
    if (pthread_mutex_trylock(m) != 0)
        return false;
    pthread_mutex_unlock(m);
    return true;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *m) {
    while (pthread_mutex_trylock(m) != 0) {
        CHECK(running_process != NULL);
        sim_process_wait(running_process, is_free, m);
    }
    return 0;
}
