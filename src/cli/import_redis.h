/* SPDX-License-Identifier: Apache-2.0 */
/* import_redis.h - a sorted set of a Redis server, member by member, as submissions.
 *
 * ZSCAN hands out every member that is there all the while, and some of them twice; each carries an id made from
 * server, key and member, so that neither that nor a second import counts anything twice. While a batch is on its
 * way to Rung the next one is on its way from Redis. One thread. */
#ifndef RUNG_CLI_IMPORT_REDIS_H
#define RUNG_CLI_IMPORT_REDIS_H

#include "cli/importer.h"

typedef struct rung_redis_source {
    const char
        *address; /* HOST:PORT or unix:PATH; the password, if there is one, in REDISCLI_AUTH */
    const char *key;
    uint64_t database;
} rung_redis_source;

/* An exit code. Goes on from im->state.offset, the cursor. */
int rung_import_redis(rung_importer *im, const rung_redis_source *source);

#endif
