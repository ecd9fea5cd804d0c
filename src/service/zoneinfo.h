/* SPDX-License-Identifier: Apache-2.0 */
/* zoneinfo.h - a time zone's rules by its name, from the system's zone files, packed for an
 * event.
 *
 * Whoever takes in a board's definition looks the rules up once; from then on they travel in the
 * log, and no machine asks its own files again (model/zone.h). Any thread. */
#ifndef RUNG_SERVICE_ZONEINFO_H
#define RUNG_SERVICE_ZONEINFO_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"

#include <stddef.h>

#define RUNG_ZONEINFO_PATH "/usr/share/zoneinfo"

/* Is this the name of a zone file and nothing else? Parts between single slashes, each a letter
 * and then letters, digits, _ + -; so neither "..", nor an absolute path, nor a hidden file can
 * be spelled. */
bool rung_zoneinfo_name_is_valid(rung_slice name);

/* The packed rules of the zone `name`, all of its history, at `out` (room for
 * RUNG_ZONE_PACKED_MAX), from the folder `path`. Messages begin with "timezone". RUNG_EINVAL:
 * not such a name. RUNG_EABSENT: no such file. RUNG_EIO, RUNG_ENOMEM, and what
 * rung_zone_create() says of the file's bytes. */
RUNG_NODISCARD rung_status rung_zoneinfo_pack(const char *path, rung_slice name,
                                              const rung_alloc *alloc, void *out,
                                              size_t *length_out, rung_err *err);

#endif
