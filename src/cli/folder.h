/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - a data folder as the commands see it: opened without being made, its files metered
 * while they are read, and what state it holds, without a lock and without changing a byte. One
 * thread. */
#ifndef RUNG_CLI_FOLDER_H
#define RUNG_CLI_FOLDER_H

#include "base/status.h"
#include "cli/terminal.h"
#include "journal/file.h"
#include "journal/log.h"
#include "journal/segment_log.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

/* The operating system's files, with a progress bar for the bytes read. Lives as long as the
 * folders opened through it. */
typedef struct rung_meter {
    rung_fs fs;
    rung_progress progress;
    const char *what;
    uint64_t done, total; /* bytes */
} rung_meter;

void rung_meter_init(rung_meter *m, const char *what);

/* Open a folder that holds a log; never makes one. RUNG_EABSENT when it holds none. */
RUNG_NODISCARD rung_status rung_folder_open(rung_dir *dir, const rung_fs *fs, const char *path,
                                            rung_err *err);
/* Open a folder that is empty, made if it is absent. RUNG_EEXIST when it holds anything. */
RUNG_NODISCARD rung_status rung_folder_open_empty(rung_dir *dir, const rung_fs *fs,
                                                  const char *path, rung_err *err);
/* Take out every file of a folder that was empty when we began: what a failed copy left. */
void rung_folder_clear(const rung_dir *dir);
/* Bytes of all files in it; 0 where that cannot be told. */
uint64_t rung_folder_size(const rung_dir *dir);

/* The process that has the folder open, as the kernel and the lock file tell: 0 when there is
 * none. Takes no lock itself. */
long rung_folder_user(const char *path);

/* As rung_log_cat(), beside a server too: what looks like damage while a batch is being written, or
 * a segment removed under our hands, is looked at again before it is believed. */
RUNG_NODISCARD rung_status rung_folder_cat(const rung_dir *dir, uint64_t from, uint64_t to,
                                           rung_status (*each)(void *ctx,
                                                               const rung_log_record *record),
                                           void *ctx, rung_err *err);

/* A moment for the writer of a folder to finish what it is at; false when that was tried often
 * enough. Start with *tries 0. */
bool rung_folder_wait(int *tries);

/* The state at the end of the log, built from the newest whole snapshot and the records behind it;
 * reads only, and may run beside a server. RUNG_ECORRUPT,
 * RUNG_ENOMEM, RUNG_EIO. */
RUNG_NODISCARD rung_status rung_folder_state(const rung_dir *dir,
                                             const uint8_t uuid[RUNG_UUID_SIZE],
                                             const rung_state_config *config,
                                             rung_progress *progress, rung_state **state_out,
                                             rung_err *err);

#endif
