/* SPDX-License-Identifier: Apache-2.0 */
/* zone.h - a time zone as data: the offset from UTC at any instant.
 *
 * The rules come as TZif bytes (RFC 8536, the format of /usr/share/zoneinfo; the caller reads the file). Events carry
 * them as a small packed string, so that every machine, whatever its own tzdata, computes the same windows from the
 * same log. Only offsets matter here, so abbreviations and the daylight-saving flag are dropped. In every function
 * below a NULL zone is UTC. A zone is immutable; any thread may read it. */
#ifndef RUNG_MODEL_ZONE_H
#define RUNG_MODEL_ZONE_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdint.h>

#define RUNG_ZONE_TZIF_MAX        ((size_t)64 << 10)
#define RUNG_ZONE_TRANSITIONS_MAX 4096
/* The longest packed zone; Helsinki from 2026 on takes 20 bytes. */
#define RUNG_ZONE_PACKED_MAX ((size_t)64 << 10)
#define RUNG_ZONE_OFFSET_MAX (26 * 3600) /* seconds, in either direction */

typedef struct rung_zone rung_zone; /* heap object; release it with rung_zone_destroy() */

/* Create a zone from TZif bytes (versions 1 to 4, using the 64-bit block and the footer rule if present). Copies what
 * it needs. RUNG_EINVAL: damaged bytes; RUNG_ELIMIT: beyond the limits above; RUNG_EUNSUPPORTED: the zone counts leap
 * seconds; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_zone_create(const rung_alloc *alloc, rung_slice tzif,
                                            rung_zone **zone_out, rung_err *err);

/* Create a zone from the bytes of rung_zone_pack(). RUNG_EVERSION: a newer format; RUNG_ECORRUPT: bytes that pack()
 * does not write; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_zone_unpack(const rung_alloc *alloc, rung_slice packed,
                                            rung_zone **zone_out, rung_err *err);

/* Accepts NULL. */
void rung_zone_destroy(rung_zone *zone);

/* Write the rules in force from `from_s` on (Unix seconds; INT64_MIN for all). Two zones with the same rules from
 * then on give the same bytes, even if one file lists transitions that the other leaves to its footer rule.
 * RUNG_ELIMIT: `size` is too small (RUNG_ZONE_PACKED_MAX always suffices). */
RUNG_NODISCARD rung_status rung_zone_pack(const rung_zone *zone, int64_t from_s, void *buffer,
                                          size_t size, size_t *length_out);

/* A span [from_s, until_s) in which local time = UTC + offset_s. Adjacent spans may have the same offset. The first
 * starts at INT64_MIN, the last ends at INT64_MAX. */
typedef struct rung_zone_stretch {
    int64_t from_s, until_s;
    int32_t offset_s;
} rung_zone_stretch;

/* The span that contains `unix_s`. O(log transitions); tens of nanoseconds. */
rung_zone_stretch rung_zone_find(const rung_zone *zone, int64_t unix_s);

/* Local time minus UTC, in seconds. */
int32_t rung_zone_utc_offset(const rung_zone *zone, int64_t unix_s);

/* The largest offset the zone ever has. */
int32_t rung_zone_offset_max(const rung_zone *zone);

/* NULL, or which invariant is broken; for tests. */
const char *rung_zone_check(const rung_zone *zone);

#endif
