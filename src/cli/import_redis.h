/* SPDX-License-Identifier: Apache-2.0 */
/* import_redis.h - submit the members of a sorted set of a Redis server.
 *
 * ZSCAN returns every member that stays in the set, some of them twice. Each gets an id made from server, key and
 * member, so nothing counts twice, not even in a second import. One thread. */
#ifndef RUNG_CLI_IMPORT_REDIS_H
#define RUNG_CLI_IMPORT_REDIS_H

#include "cli/importer.h"

typedef struct rung_redis_source {
    const char *address; /* HOST:PORT or unix:PATH; REDISCLI_AUTH may have the password */
    const char *key;
    uint64_t database;
} rung_redis_source;

/* Resumes from the cursor im->state.offset. Returns an exit code. */
int rung_import_redis(rung_importer *im, const rung_redis_source *source);

#endif
