/* SPDX-License-Identifier: Apache-2.0 */
/* zoneinfo.h - the rules of a time zone from the system's zone files, packed for an event.
 *
 * The rules are looked up once, when a board is defined, and are in the log from then on (model/zone.h). Any thread. */
#ifndef RUNG_SERVICE_ZONEINFO_H
#define RUNG_SERVICE_ZONEINFO_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>

#define RUNG_ZONEINFO_PATH "/usr/share/zoneinfo"

/* Parts separated by single slashes; each part is a letter followed by letters, digits, _ + -. This excludes "..",
 * absolute paths and hidden files. */
bool rung_zoneinfo_name_is_valid(rung_slice name);

/* Write the packed rules of the zone `name`, with all of its history, to `out` (RUNG_ZONE_PACKED_MAX bytes). `path` is
 * the folder of zone files. RUNG_EINVAL: invalid name; RUNG_EABSENT: no such file; RUNG_EIO, RUNG_ENOMEM; failures of
 * rung_zone_create(). */
RUNG_NODISCARD rung_status rung_zoneinfo_pack(const char *path, rung_slice name,
                                              const rung_alloc *alloc, void *out,
                                              size_t *length_out, rung_err *err);

#endif
