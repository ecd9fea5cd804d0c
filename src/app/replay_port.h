/* SPDX-License-Identifier: Apache-2.0 */
/* replay_port.h - the helpers of service/replay.h as processes: this program again, which reads the log and answers on
 * its standard input, a socket. It ends when this process does. */
#ifndef RUNG_APP_REPLAY_PORT_H
#define RUNG_APP_REPLAY_PORT_H

#include "app/config.h"
#include "service/replay.h"

typedef struct rung__replay_helpers {
    const rung_settings *settings; /* of this server */
    uint64_t memory_max;           /* of one helper's state */
    rung_replay_port port;
} rung__replay_helpers;

/* Fill in the port. */
void rung__replay_helpers_init(rung__replay_helpers *h, const rung_settings *settings,
                               uint64_t memory_max);

#endif
