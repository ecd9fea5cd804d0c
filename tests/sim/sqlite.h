/* SPDX-License-Identifier: Apache-2.0 */
/* sqlite.h - SQLite on the simulated disk: the archive's file is a file of the world like all others.
 *
 *     sim_sqlite_mount(&process, &world->fs);      // once per process; the disk may change between its lives
 *     ... rung_attach with path sim_sqlite_path(), vfs SIM_VFS ...
 *     sim_sqlite_forget(&process);                 // it was killed: locks and shared memory go
 *
 * Its files are pages of memfs, synced when SQLite syncs them; a task may be put aside in every call that changes one.
 * SQLite's memory is the process's, so a kill takes it too, and what a stop leaves is seen. */
#ifndef RUNG_TESTS_SIM_SQLITE_H
#define RUNG_TESTS_SIM_SQLITE_H

#include "sim/task.h"
#include "support/memfs.h"

#define SIM_VFS "rung-sim"

void sim_sqlite_mount(sim_process *p, rung_memfs **fs, const char *folder);
void sim_sqlite_forget(sim_process *p);
void sim_sqlite_unmount(sim_process *p);

/* What to open: a real file of one byte, which the archive may look at and nobody writes. */
const char *sim_sqlite_path(void);

#endif
