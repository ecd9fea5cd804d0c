/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - what a forked child of a server does before its work: a frozen copy of the state is being written out,
 * while the parent goes on.
 *
 *     if (fork() == 0) { rung_child_settle(); ... _exit(0); }
 *
 * Linux. */
#ifndef RUNG_SERVICE_CHILD_H
#define RUNG_SERVICE_CHILD_H

/* In the child: let go of every socket, or a connection that the parent closes would stay open as long as we live;
 * and step back behind the parent where both want the processor. */
void rung_child_settle(void);

#endif
