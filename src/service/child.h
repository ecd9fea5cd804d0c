/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - work on a frozen copy of this process (fork): a snapshot of the state, a packed window.
 *
 *     rung_child_begin(children, alloc, work, arg, &child, &err);   // children NULL: forked processes
 *     rung_child_poll(child, false, &err);                          // RUNG_PARTIAL until it is done
 *
 * Another thread of the parent may hold the heap's lock at the fork, and in the child nobody would release it. So the
 * work must not call malloc; it takes memory from `life`. (glibc handles this, other allocators may not.)
 *
 * A port, so that a simulator can do the work in its own process. Threads: one at a time. Linux. */
#ifndef RUNG_SERVICE_CHILD_H
#define RUNG_SERVICE_CHILD_H

#include "base/alloc.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rung_child rung_child;

/* What the work may use. */
typedef struct rung_child_life {
    const rung_alloc *alloc;
    /* Leave the disk to others for `ms`, unless the parent waits for us. RUNG_ECLOSED: the parent is gone. */
    rung_status (*pause)(const struct rung_child_life *life, uint32_t ms);
} rung_child_life;

typedef rung_status rung_child_work(void *arg, const rung_child_life *life, rung_err *err);

typedef struct rung_children {
    rung_status (*begin)(const struct rung_children *children, const rung_alloc *alloc,
                         rung_child_work *work, void *arg, rung_child **child_out, rung_err *err);
    rung_status (*poll)(rung_child *child, bool wait, rung_err *err);
    void (*kill)(rung_child *child);
    void *ctx;
} rung_children;

/* The first member of every implementation. */
struct rung_child {
    const rung_children *children;
};

/* Forked processes: memory is copied on write. A child has idle priority and no sockets, and ends when this process
 * does. Static storage. */
const rung_children *rung_children_forked(void);

/* RUNG_OK: started; release it with rung_child_poll() or rung_child_kill(). RUNG_ENOMEM, RUNG_EIO. */
RUNG_NODISCARD static inline rung_status rung_child_begin(const rung_children *children,
                                                          const rung_alloc *alloc,
                                                          rung_child_work *work, void *arg,
                                                          rung_child **child_out, rung_err *err) {
    children = children ? children : rung_children_forked();
    return children->begin(children, alloc, work, arg, child_out, err);
}

/* RUNG_PARTIAL: still running (never with `wait`). Without `wait` it never blocks. Otherwise the child is released, and
 * this is what the work returned, or RUNG_EIO if it was killed. */
RUNG_NODISCARD static inline rung_status rung_child_poll(rung_child *child, bool wait,
                                                         rung_err *err) {
    return child->children->poll(child, wait, err);
}

/* Kill and release it. Accepts NULL. */
static inline void rung_child_kill(rung_child *child) {
    if (child)
        child->children->kill(child);
}

/* ---- shared inside the room ---- */

/* As fork(). The child closes all sockets (or connections that the parent closes would stay open) and has idle
 * priority. If called from the main thread it dies with the parent; otherwise it must check getppid(). */
pid_t rung__child_fork(void);

/* Memory for the child by mmap: for a few large blocks. Static storage. */
const rung_alloc *rung__child_alloc(void);

#endif
