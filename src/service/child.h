/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - work on a frozen copy of this process, while it goes on: a snapshot of the state, a packed window.
 *
 *     rung_child_begin(children, alloc, work, arg, &child, &err);   // children NULL: forked processes
 *     rung_child_poll(child, false, &err);                          // RUNG_PARTIAL until it is done
 *
 * Other threads of the parent may hold the heap's lock at the fork, and nobody would ever open it in the child: the
 * work calls neither malloc nor whatever uses it, but takes memory from `life`. (glibc takes care of that; not every
 * allocator that a host program brings along does.)
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

/* What the work has of its own. */
typedef struct rung_child_life {
    const rung_alloc *alloc;
    /* Let others have the disk for so long, unless the parent waits (0: only look). RUNG_ECLOSED: nobody will ask for
     * the result any more. */
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

/* Each child is a forked process that shares the memory page by page until one of the two writes to it. It runs only
 * when nobody else wants to, has no sockets, and ends when this process does. Static storage. */
const rung_children *rung_children_forked(void);

/* RUNG_OK: it is under way, and ends with rung_child_poll() or rung_child_kill(). RUNG_ENOMEM, RUNG_EIO. */
RUNG_NODISCARD static inline rung_status rung_child_begin(const rung_children *children,
                                                          const rung_alloc *alloc,
                                                          rung_child_work *work, void *arg,
                                                          rung_child **child_out, rung_err *err) {
    children = children ? children : rung_children_forked();
    return children->begin(children, alloc, work, arg, child_out, err);
}

/* RUNG_PARTIAL: still at work (never with `wait`); asking never waits, not even for the memory of a child that has
 * ended. Else what the work returned, or RUNG_EIO when it was killed: the child is gone then. */
RUNG_NODISCARD static inline rung_status rung_child_poll(rung_child *child, bool wait,
                                                         rung_err *err) {
    return child->children->poll(child, wait, err);
}

/* End it, whatever it does. NULL is fine. */
static inline void rung_child_kill(rung_child *child) {
    if (child)
        child->children->kill(child);
}

/* ---- shared inside the room ---- */

/* As fork(). In the child, when it returns: every socket is closed, or a connection that the parent closes would stay
 * open as long as we live; the child runs only when nobody else wants to; and it ends with the parent, if that called
 * from its main thread. Another thread may end before the process: then the child has to look at getppid(). */
pid_t rung__child_fork(void);

/* Memory for the child, straight from the system: for a few large blocks. Static storage. */
const rung_alloc *rung__child_alloc(void);

#endif
