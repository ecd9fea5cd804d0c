/* SPDX-License-Identifier: Apache-2.0 */
/* zone.h - a time zone as data: the offset from UTC at any instant.
 *
 * The rules come in as TZif bytes (RFC 8536, what /usr/share/zoneinfo holds; the caller reads the file)
 * and travel in events as a small packed string, so that every machine, whatever its own tzdata says,
 * computes the same windows from the same log. Abbreviations and the daylight-saving flag are dropped:
 * only offsets matter here. A NULL zone is UTC in every function below. A zone never changes after
 * creation; any thread may read it. */
#ifndef RUNG_MODEL_ZONE_H
#define RUNG_MODEL_ZONE_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdint.h>

#define RUNG_ZONE_TZIF_MAX        ((size_t)64 << 10)
#define RUNG_ZONE_TRANSITIONS_MAX 4096
#define RUNG_ZONE_PACKED_MAX                                                                       \
    ((size_t)64 << 10) /* no packed zone is longer; Helsinki from 2026 on has 20 bytes */
#define RUNG_ZONE_OFFSET_MAX (26 * 3600) /* seconds, either way */

typedef struct rung_zone rung_zone; /* heap object; whoever created it calls rung_zone_destroy() */

/* Read a TZif file's bytes (versions 1 to 4; the 64-bit block and the footer rule when there are any).
 * Copies what it needs. RUNG_EINVAL for damaged bytes, RUNG_ELIMIT past the limits above,
 * RUNG_EUNSUPPORTED for zones that count leap seconds, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_zone_create(const rung_alloc *alloc, rung_slice tzif,
                                            rung_zone **zone_out, rung_err *err);

/* From what rung_zone_pack() wrote. RUNG_EVERSION for a newer format, RUNG_ECORRUPT for bytes that
 * pack() would not have written, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_zone_unpack(const rung_alloc *alloc, rung_slice packed,
                                            rung_zone **zone_out, rung_err *err);

/* NULL is accepted. */
void rung_zone_destroy(rung_zone *zone);

/* Write the rules that hold from `from_s` on (Unix seconds; INT64_MIN for all of them). Two zones with
 * the same rules from then on give the same bytes, also when one file lists transitions that the other
 * leaves to its footer rule. RUNG_ELIMIT when `size` is too small; RUNG_ZONE_PACKED_MAX never is. */
RUNG_NODISCARD rung_status rung_zone_pack(const rung_zone *zone, int64_t from_s, void *buffer,
                                          size_t size, size_t *length_out);

/* A stretch of time in which local time = UTC + offset_s: [from_s, until_s). Neighbours may have the
 * same offset; the first begins at INT64_MIN, the last ends at INT64_MAX. */
typedef struct rung_zone_stretch {
    int64_t from_s, until_s;
    int32_t offset_s;
} rung_zone_stretch;

/* The stretch that holds `unix_s`. O(log transitions); tens of nanoseconds. */
rung_zone_stretch rung_zone_find(const rung_zone *zone, int64_t unix_s);

/* Seconds to add to UTC to have local time. */
int32_t rung_zone_utc_offset(const rung_zone *zone, int64_t unix_s);

/* The largest offset the zone ever has. */
int32_t rung_zone_offset_max(const rung_zone *zone);

/* NULL, or which invariant is broken; for tests. */
const char *rung_zone_check(const rung_zone *zone);

#endif
