/* SPDX-License-Identifier: Apache-2.0 */
/* join.h - a data folder from another server's newest snapshot (GET /v1/snapshot).
 *
 * The download goes to join-SEQ-DIGEST.part, so a later call resumes it, in this process or another. A complete file is
 * verified, synced and then gets its name: the folder never holds a snapshot that was not. One thread. */
#ifndef RUNG_CLI_JOIN_H
#define RUNG_CLI_JOIN_H

#include "base/status.h"
#include "cli/client.h"
#include "journal/snapshot_file.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_join_config {
    rung_client_config server;
    const char *folder; /* created if absent */
    const char *log_id; /* 32 hexadecimal digits: only a snapshot of this log; NULL: of any */
    /* Check the checksum of every block, but leave the digest of the state to the caller, who loads it next. */
    bool is_unloaded;
    uint32_t wait_ms; /* how long to ask again while the server answers 503; 0: ten minutes */
    /* What is being done ("download", "snapshot") and how far it is. May be NULL. */
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    void *ctx;
} rung_join_config;

typedef struct rung_join_report {
    rung_snapshot_info snapshot;
    uint64_t size;         /* of the file */
    uint64_t resumed_from; /* bytes that an earlier call had left */
    uint32_t cuts;         /* connections lost on the way */
} rung_join_report;

/* RUNG_EEXIST: the folder has a log or a snapshot; RUNG_EBUSY: it is in use; RUNG_EREFUSED: the server refuses, is not
 * a Rung, or has another log; RUNG_EIO: it cannot be reached, and a later call resumes; RUNG_ECORRUPT: what came is
 * damaged, and was removed; RUNG_ENOSPC, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_join(const rung_join_config *config, rung_join_report *report_out,
                                     rung_err *err);

#endif
