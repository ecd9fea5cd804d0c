/* SPDX-License-Identifier: Apache-2.0 */
/* worker.h - work that runs beside the caller, one step at a time: the thread port.
 *
 *     rung_worker_start(threads, alloc, step, arg, &worker, &err);   // threads NULL: real ones
 *     rung_worker_wake(worker);                                      // there is something to do
 *     rung_worker_await(worker, is_done, arg, 1000);                 // wait for what its steps bring about
 *     rung_worker_stop(worker);                                      // last steps, then gone
 *
 * A step does one piece of work and says when it wants to be called next. It must not wait for another worker. Steps
 * of one worker never overlap. Real workers are threads (rung_threads_system). A simulator runs the steps of all
 * workers in one thread, in an order of its choice, and reproduces a run.
 *
 * Threads: wake and await from any thread; start and stop from the owner's. Hold no lock that a step takes while
 * awaiting or stopping. */
#ifndef RUNG_BASE_WORKER_H
#define RUNG_BASE_WORKER_H

#include "base/alloc.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* What a step returns: the delay in milliseconds until its next call, or one of these. The call may come earlier, so
 * a step looks at the clock itself. */
#define RUNG_WORKER_AGAIN 0u               /* at once */
#define RUNG_WORKER_SLEEP UINT32_MAX       /* when woken */
#define RUNG_WORKER_END   (UINT32_MAX - 1) /* never */

/* `is_stopping`: rung_worker_stop() was called. From then on the worker ends after the first step that does not
 * return RUNG_WORKER_AGAIN. */
typedef uint32_t rung_worker_step(void *arg, bool is_stopping);
typedef bool rung_worker_test(void *arg);

typedef struct rung_worker rung_worker; /* released by rung_worker_stop() */

typedef struct rung_threads {
    rung_status (*start)(const struct rung_threads *threads, const rung_alloc *alloc,
                         rung_worker_step *step, void *arg, rung_worker **worker_out,
                         rung_err *err);
    void (*wake)(rung_worker *worker);
    bool (*await)(rung_worker *worker, rung_worker_test *is_done, void *arg, uint32_t timeout_ms);
    void (*stop)(rung_worker *worker);
    void *ctx;
} rung_threads;

/* The first member of every implementation. */
struct rung_worker {
    const rung_threads *threads;
};

/* Each worker is a thread with all signals blocked. Static storage. */
const rung_threads *rung_threads_system(void);

/* From here on the calling thread runs only when no other thread wants its processor, and is preempted at once when one
 * does; or no longer so. For computing alone: an idle thread that holds a lock, or is inside the file system, keeps
 * others waiting for as long as the processor is busy. */
void rung_thread_set_idle(bool is_idle);

/* Start a worker; its first step runs at once. RUNG_OK, RUNG_ENOMEM, or RUNG_EIO: no thread. Only the owner's thread
 * uses `alloc`. */
RUNG_NODISCARD static inline rung_status
rung_worker_start(const rung_threads *threads, const rung_alloc *alloc, rung_worker_step *step,
                  void *arg, rung_worker **worker_out, rung_err *err) {
    threads = threads ? threads : rung_threads_system();
    return threads->start(threads, alloc, step, arg, worker_out, err);
}

/* Run a step soon. If one is running, run another after it. */
static inline void rung_worker_wake(rung_worker *worker) {
    worker->threads->wake(worker);
}

/* Wait until `is_done` returns true; it is called now and after every step. false after timeout_ms (UINT32_MAX: wait
 * forever), or when the worker has ended. */
static inline bool rung_worker_await(rung_worker *worker, rung_worker_test *is_done, void *arg,
                                     uint32_t timeout_ms) {
    return worker->threads->await(worker, is_done, arg, timeout_ms);
}

/* Let the worker finish, then free it. Accepts NULL. */
static inline void rung_worker_stop(rung_worker *worker) {
    if (worker)
        worker->threads->stop(worker);
}

#endif
