/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - what the connections share: buffers for one command and its reply, lists, a task and a timer. */
#ifndef RUNG_FRONT_RESP_SERVER_H
#define RUNG_FRONT_RESP_SERVER_H

#include "codec/json_reader.h"
#include "front/resp/block.h"
#include "front/resp/position.h"
#include "front/resp/reply.h"
#include "front/resp/request.h"
#include "service/service.h"

#define RUNG__REDIS_VERSION "7.0.15" /* the one we behave like */

enum { RUNG__COMMAND_MAX = 4 << 20, RUNG__MOVED_WORDS = 64 };

struct rung_resp {
    rung_resp_config config;
    rung_hub *hub;
    rung_access *access;
    rung_service service; /* both, for the use cases */
    rung_resp_stats stats;
    uint64_t next_id;
    RUNG_LIST(rung__resp_session) sessions; /* the newest first */
    RUNG_LIST(rung__resp_session) stalled;  /* in the order of stalling */
    rung__resp_command_index commands;
    rung_resp_args args;
    rung_buffer unpacked;      /* arguments of a script's command: rung_slice */
    rung_resp_writer out;      /* replies being written, of one session at a time */
    rung__resp_call gathering; /* whose answers gather in `out`; s NULL: nobody's */
    rung_hub_after after_answers;
    rung_event event;  /* being built; large */
    rung_json reader;  /* of a match */
    char *pack;        /* packed commands of the event being built */
    rung_buffer items; /* of the command being built: rung_zcommand_item */
    rung__resp_request *free_requests;
    uint32_t free_count;
    rung__resp_cache cache;
    uint64_t random;
    int64_t started_ms;
    uint32_t *in_flight_by_key; /* changes in flight by hash of their key */
    uint32_t in_flight_wide;
    rung__resp_waiters waiters;
    rung__resp_positions positions;
    rung_loop *loop;                 /* the net's */
    rung_task answer;                /* serves stalled and blocked sessions */
    rung_timer timer;                /* likewise, while there are any */
    uint64_t turn_number, turn_work; /* how much work was done in which turn of the loop */
    /* Of the transaction being built: names that may get members of other keys (a Bloom filter), and how many. */
    uint64_t moved_to[RUNG__MOVED_WORDS], moved;
};

void rung__resp_timer_start(rung_resp *r); /* a session is stalled or blocked */

#endif
