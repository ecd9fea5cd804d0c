/* SPDX-License-Identifier: Apache-2.0 */
/* failvfs.h - a layer under SQLite that fails its N-th call: once, or from then on.
 *
 *     failvfs_install();
 *     failvfs_fail_at(n, SQLITE_IOERR, sticky);
 *     ... open with .vfs = "failvfs" ...
 *     if (!failvfs_failed()) the N-th call was never reached
 *
 * Counted are calls that a disk can refuse: open, read, write, truncate, sync, delete, size and shared memory.
 * Syncs are not passed on: these tests are about what SQLite and we do with failures, and shall be fast. Any
 * thread. */
#ifndef RUNG_TESTS_FAILVFS_H
#define RUNG_TESTS_FAILVFS_H

#include <stdbool.h>
#include <stdint.h>

void failvfs_install(void);
/* Fail the n-th call from now (1 = the next) with this code; 0: stop failing. */
void failvfs_fail_at(uint64_t n, int code, bool sticky);
uint64_t failvfs_failed(void); /* calls failed since fail_at */
uint64_t failvfs_calls(void);  /* calls since fail_at */

#endif
