/* SPDX-License-Identifier: Apache-2.0 */
/* logkit.h - what the tests of the log share: records that can be told by their sequence alone, so that every
 * recovered log can be checked against "an exact prefix of what was submitted, with all that was acknowledged". */
#ifndef RUNG_TESTS_LOGKIT_H
#define RUNG_TESTS_LOGKIT_H

#include "journal/segment_log.h"
#include "support/memfs.h"

#include <stdbool.h>
#include <stdint.h>

#define LOGKIT_PATH        "data"
#define LOGKIT_BATCH_MAX   64
#define LOGKIT_PAYLOAD_MAX 2432

/* The payload of record `seq`: 0 to 89 bytes, none of them zero; 40 to 2,400 for every 16th. Valid until the next
 * call in this thread; or in storage of the caller. */
rung_slice logkit_payload(uint64_t seq);
rung_slice logkit_payload_into(uint64_t seq, char out[LOGKIT_PAYLOAD_MAX]);
uint16_t logkit_type(uint64_t seq);

/* Open and, if asked, start. Small segments unless `size` says otherwise. */
rung_segment_log_config logkit_config(rung_memfs *fs, uint64_t segment_size);
rung_status logkit_open(const rung_segment_log_config *config, bool start,
                        rung_segment_log **log_out, rung_err *err);

/* Append the records from `seq` on as one batch, and sync. */
rung_status logkit_append(rung_segment_log *log, uint64_t seq, size_t count, rung_err *err);

/* Read all from the first record there is; every one must be the right one. The last sequence in `last_out`; the
 * status is RUNG_OK or the cursor's failure. */
rung_status logkit_read(rung_segment_log *log, uint64_t *first_out, uint64_t *last_out,
                        rung_err *err);

/* The process dies: the object is freed, the files stay as they are. */
void logkit_abandon(rung_memfs *fs, rung_segment_log *log);

#endif
