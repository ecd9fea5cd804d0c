/* SPDX-License-Identifier: Apache-2.0 */
/* followers.h - several followers of a hub behind one port: the archive and the change feed.
 *
 *     rung_followers both;
 *     rung_followers_init(&both);
 *     rung_followers_add(&both, rung_attach_port(attach));
 *     rung_followers_add(&both, rung_feed_port(feed));
 *     hub_config.follower = &both.port;
 *
 * Each is called in the order of adding, and ended in reverse. The port has only the functions that some follower has.
 * Threads: as hub_follower.h says. */
#ifndef RUNG_SERVICE_FOLLOWERS_H
#define RUNG_SERVICE_FOLLOWERS_H

#include "service/hub_follower.h"

enum { RUNG_FOLLOWERS_MAX = 4 };

typedef struct
    rung_followers { /* the caller's, until the hub is closed; only `port` is for others */
    rung_hub_follower port;
    const rung_hub_follower *list[RUNG_FOLLOWERS_MAX];
    uint32_t count;
} rung_followers;

void rung_followers_init(rung_followers *f);
/* Borrowed until the hub is closed. At most RUNG_FOLLOWERS_MAX. */
void rung_followers_add(rung_followers *f, const rung_hub_follower *one);

#endif
