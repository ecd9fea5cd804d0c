/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - one connection: who it is, what it waits for, what it keeps.
 *
 * States, and what leads from one to the next:
 *
 *     READING --> PAUSED     too much is in flight, or the next command must be alone
 *     READING --> STALLED    the hub has no room, or the turn of the loop no time
 *     READING --> BLOCKED    BZPOPMIN and its like found no member
 *     BLOCKED --> PAUSED     it got one, or its timeout has passed
 *     PAUSED, STALLED --> READING
 *     any of these --> CLOSING    QUIT, a protocol error, too slow, the server stops, the peer sends no more
 *     any --> GONE                the connection is closed
 *
 * A session that is CLOSING closes its connection, and one that is GONE is freed, when its last request is answered. */
#ifndef RUNG_FRONT_RESP_SESSION_H
#define RUNG_FRONT_RESP_SESSION_H

#include "base/list.h"
#include "codec/resp_parser.h"
#include "front/resp/script.h"

typedef enum rung__resp_state {
    RUNG__SESSION_READING,
    RUNG__SESSION_PAUSED,
    RUNG__SESSION_STALLED,
    RUNG__SESSION_BLOCKED,
    RUNG__SESSION_CLOSING,
    RUNG__SESSION_GONE,
} rung__resp_state;

typedef enum rung__resp_multi {
    RUNG__MULTI_NONE,
    RUNG__MULTI_QUEUING,
    RUNG__MULTI_SPOILED, /* EXEC will be refused */
} rung__resp_multi;

typedef struct rung__resp_watched {
    uint64_t version;
    bool is_there;
    uint8_t len;
    char name[RUNG_NAME_MAX];
} rung__resp_watched;

typedef struct rung__resp_blocked rung__resp_blocked;
typedef struct rung__resp_position rung__resp_position;

enum { RUNG__CLIENT_NAME_MAX = 64 };

struct rung__resp_session {
    rung_resp *r;
    rung_conn *conn; /* NULL: GONE */
    RUNG_LINK(rung__resp_session) all, stalled;
    uint64_t id;
    int64_t since_ms;
    uint64_t commands;
    rung_resp_parser parser;
    rung_who who;
    uint8_t version; /* 2 or 3 */
    uint8_t name_len;
    char name[RUNG__CLIENT_NAME_MAX];
    uint32_t share;       /* for the hub: whose requests these are */
    bool is_silent;       /* CLIENT REPLY OFF */
    bool is_stranger;     /* has not shown a key where one is needed */
    uint64_t stranger_ms; /* since when, in the loop's time */
    uint64_t begun_ms;    /* when the first byte of an unfinished command came; 0: there is none */
    size_t begun_bytes;   /* how much of it has come */
    rung__resp_state state;
    uint32_t resume_at;          /* PAUSED until at most so many requests are in flight */
    rung__resp_blocked *blocked; /* while BLOCKED */
    size_t blocked_bytes;
    rung__resp_position *position; /* while it waits for a position of the log; else NULL */
    /* requests */
    uint32_t pending; /* in flight */
    size_t pending_bytes;
    rung__resp_request *tail;  /* the last one, if more questions may be added to it */
    rung__resp_request *group; /* scores that more of their kind may join */
    /* transaction */
    rung__resp_multi multi;
    rung__resp_script queue;
    uint32_t watched_count;
    rung_buffer watched; /* so many rung__resp_watched */
};

/* Most commands wait until there is room for them. */
static inline rung_hub_sender rung__resp_sender(const rung__resp_session *s, bool is_patient) {
    return (rung_hub_sender){.share = s->share, .is_patient = is_patient};
}

/* The transition. Asserts that it is one of those above. */
void rung__resp_session_enter(rung__resp_session *s, rung__resp_state to);
/* PAUSED until at most so many requests are in flight. */
void rung__resp_session_pause(rung__resp_session *s, uint32_t resume_at);
/* CLOSING; the connection closes now if nothing is in flight. */
void rung__resp_session_close(rung__resp_session *s);
/* A request was answered: resume, close or free the session if it waits for that. */
void rung__resp_session_go_on(rung__resp_session *s);

/* Set what depends on who it is: the limits of its commands, and its share of the hub. */
void rung__resp_session_limits(rung__resp_session *s, int64_t now_ms);
/* Tell the net what the session keeps: queued commands, scripts, keys watched or waited for. */
void rung__resp_session_tell_held(const rung__resp_session *s);

#endif
