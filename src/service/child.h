/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - a forked child that writes a frozen copy of the state out, while the parent goes on.
 *
 *     pid_t child = rung_child_fork();
 *     if (child == 0) { ... with rung_child_alloc() ...; _exit(0); }
 *
 * Other threads of the parent may hold the heap's lock at the fork, and nobody would ever open it in the child: it
 * calls neither malloc nor whatever uses it. (glibc takes care of that; not every allocator that a host program brings
 * along does.) Linux. */
#ifndef RUNG_SERVICE_CHILD_H
#define RUNG_SERVICE_CHILD_H

#include "base/alloc.h"

#include <sys/types.h>

/* As fork(). In the child, when it returns: every socket is closed, or a connection that the parent closes would stay
 * open as long as we live; the child runs only when nobody else wants to; and it ends with the parent, if that called
 * from its main thread. Another thread may end before the process: then the child has to look at getppid(). */
pid_t rung_child_fork(void);

/* Memory for the child, straight from the system: for a few large blocks. Static storage. */
const rung_alloc *rung_child_alloc(void);

#endif
