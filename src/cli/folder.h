/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - read a data folder without a lock, even while a server uses it. One thread. */
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

/* The operating system's files, with a progress bar for the bytes read. Outlives the folders opened through it. */
typedef struct rung_meter {
    rung_fs fs;
    rung_progress progress;
    const char *what;
    uint64_t done, total; /* bytes */
} rung_meter;

void rung_meter_init(rung_meter *m, const char *what);

/* Open a folder that holds a log. RUNG_EABSENT if it holds none. */
RUNG_NODISCARD rung_status rung_folder_open(rung_dir *dir, const rung_fs *fs, const char *path,
                                            rung_err *err);
/* Open an empty folder; created if absent. RUNG_EEXIST if it is not empty. */
RUNG_NODISCARD rung_status rung_folder_open_empty(rung_dir *dir, const rung_fs *fs,
                                                  const char *path, rung_err *err);
/* Remove all files: what a failed copy left. */
void rung_folder_clear(const rung_dir *dir);
/* Bytes of all files in it; 0 if unknown. */
uint64_t rung_folder_size(const rung_dir *dir);

/* The process that has the folder open; 0: none. Takes no lock. */
long rung_folder_user(const char *path);

/* As rung_log_cat(), but retries: while a server writes, a partial batch or a removed segment can look like damage. */
RUNG_NODISCARD rung_status rung_folder_cat(const rung_dir *dir, uint64_t from, uint64_t to,
                                           rung_status (*each)(void *ctx,
                                                               const rung_log_record *record),
                                           void *ctx, rung_err *err);

/* Wait a moment for the writer of a folder; false after enough tries. Start with *tries 0. */
bool rung_folder_wait(int *tries);

/* The newest whole snapshot of the log `uuid`, or the empty state. */
RUNG_NODISCARD rung_status rung_folder_newest(const rung_dir *dir,
                                              const uint8_t uuid[RUNG_UUID_SIZE],
                                              const rung_state_config *config,
                                              rung_progress *progress, rung_state **state_out,
                                              rung_err *err);

/* Build the state at the end of the log from the newest whole snapshot and the records after it. RUNG_ECORRUPT,
 * RUNG_ENOMEM, RUNG_EIO. */
RUNG_NODISCARD rung_status rung_folder_state(const rung_dir *dir,
                                             const uint8_t uuid[RUNG_UUID_SIZE],
                                             const rung_state_config *config,
                                             rung_progress *progress, rung_state **state_out,
                                             rung_err *err);

#endif
