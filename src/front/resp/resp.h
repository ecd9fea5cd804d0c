/* SPDX-License-Identifier: Apache-2.0 */
/* resp.h - the Redis protocol on connections of the net (docs/redis.md says what is the same and what is not).
 *
 *     rung_resp_create(&(rung_resp_config){.alloc = a, .net = net, .hub = hub, .access = access}, &resp, &err);
 *     rung_net_listen(net, &address, rung_resp_protocol(), resp, tls, &bound, &err);
 *     ...
 *     rung_resp_destroy(resp);          // after the net has stopped and the hub was closed
 *
 * Changes go through the hub. A question is answered at once if the connection has no change in flight, otherwise in
 * its place among them: replies are those of a Redis that executes one command after the other.
 *
 * At the limits: too many arguments, too long an argument or command: Redis's protocol error, and the connection closes
 * (before AUTH the limits are Redis's 10 and 16 KiB). Too many commands in flight: the connection is not read from. Too
 * long a transaction: EXECABORT. Too many blocked clients: an error. Too much output: the connection is cut off (the
 * net's output_max). No key or no complete command in time: an error, and the connection closes. Idle connections stay,
 * unless they are in a transaction or seven eighths of the connections are taken. Thread: the loop's. */
#ifndef RUNG_FRONT_RESP_RESP_H
#define RUNG_FRONT_RESP_RESP_H

#include "base/alloc.h"
#include "base/status.h"
#include "front/net/net.h"
#include "service/access.h"
#include "service/as_of.h"
#include "service/asker.h"
#include "service/hub.h"

#include <stdint.h>

typedef struct rung_resp rung_resp; /* heap object; whoever created it calls rung_resp_destroy() */

/* Zero is a good default for every field but alloc, net, hub and access. Texts are used until destroy. */
typedef struct rung_resp_config {
    const rung_alloc *alloc;
    rung_net *net;
    rung_hub *hub;
    rung_access *access;
    rung_asker *asker;          /* for windows that have left memory; NULL: they are not found */
    rung_as_of *as_of;          /* for RUNG.ASOF; NULL: it is refused */
    uint32_t args_max;          /* arguments of one command; 0: 1,048,576 */
    uint32_t bulk_max;          /* bytes of one argument; 0: 1 MiB */
    uint32_t command_max;       /* bytes of one command; 0: 4 MiB, and no more than that */
    uint32_t pending_max;       /* commands in flight on one connection; 0: 4,096 */
    uint32_t pending_bytes_max; /* and their bytes; 0: 256 KiB */
    uint32_t blocked_max;       /* clients that wait in BZPOPMIN and its like; 0: 4,096 */
    uint64_t work_max;          /* members that one command may look at; 0: 1,000,000 */
    uint32_t wait_ms;           /* how long RUNG.WAITSEQ and RUNG.LATEST wait; 0: 5 s */
    uint32_t auth_ms;           /* until a key is shown, where one is needed; 0: 10 s */
    uint32_t command_ms;        /* to receive a command, and 1 s more for every 64 KiB; 0: 10 s */
    uint32_t idle_ms;    /* between commands: in MULTI, or when connections are short; 0: 75 s */
    uint16_t port;       /* what INFO shows */
    bool is_durable;     /* what INFO and CONFIG GET show: changes are kept in a log */
    const char *version; /* Rung's own, what INFO shows */
} rung_resp_config;

RUNG_NODISCARD rung_status rung_resp_create(const rung_resp_config *config, rung_resp **resp_out,
                                            rung_err *err);
void rung_resp_destroy(rung_resp *r); /* NULL is fine */

/* For rung_net_listen(); its ctx is the rung_resp. */
const rung_protocol *rung_resp_protocol(void);

typedef struct rung_resp_stats {
    uint64_t connections, commands, protocol_errors;
    uint64_t errors;                   /* replies that were errors */
    uint64_t timed_out;                /* connections that were too slow */
    uint32_t open, blocked, in_flight; /* in_flight: changes put and not answered */
    uint64_t work;                     /* members looked at by commands that are heavy */
    uint64_t blocked_looks;            /* keys looked at for clients that wait */
} rung_resp_stats;
rung_resp_stats rung_resp_stat(const rung_resp *r);

#endif
