/* SPDX-License-Identifier: Apache-2.0 */
/* call.h - shared inside the room: one request on its way through the API, and the API's own parts.
 *
 * A call lives in its exchange's memory and ends with it. A handler (one for each route, named in routes.c) answers
 * now, or puts a change into the hub and answers when that does, or asks the archive. Loop's thread. */
#ifndef RUNG_FRONT_API_CALL_H
#define RUNG_FRONT_API_CALL_H

#include "base/fair.h"
#include "codec/json_reader.h"
#include "codec/json_writer.h"
#include "front/api/api.h"
#include "front/api/metrics.h"
#include "front/api/page_cache.h"
#include "front/api/problem.h"
#include "front/api/routes.h"
#include "front/live/live.h"
#include "service/service.h"

#define RUNG_API_ROWS_MAX    1000 /* entries of one answer */
#define RUNG_API_BATCHES_MAX 256  /* batches under way; one more: 503 */

struct rung_read;

typedef struct rung_call {
    rung_api *api;
    rung_exchange *x;
    const rung_route *route;
    rung_who who;
    rung_args args;
    rung_slice board, player; /* of the path, "me" resolved; ptr NULL: there is none */
    char *body;               /* during the handler; may be changed */
    size_t body_len;
    rung_slice note; /* what a handler needs again when its change is answered */
    bool is_new;     /* likewise: the board was not there before */
    bool is_stream;  /* it lasts as long as its sender wants: its time says nothing */

    /* while it waits, for a sequence or for the archive */
    uint32_t share; /* 0: not asked for yet */
    rung_hub_waiter waiter;
    int64_t deadline_ms;
    struct rung_call *prev, *next;
    void (*write)(rung_json_writer *w, const struct rung_read *r); /* members of a ranked answer */
} rung_call;

typedef struct rung_call_list {
    rung_call *first, *last;
    uint32_t count;
} rung_call_list;
void rung__call_list_add(rung_call_list *l, rung_call *c);
void rung__call_list_remove(rung_call_list *l, rung_call *c);

struct rung_batch;

struct rung_api {
    rung_api_config config;
    rung_service service; /* its hub is NULL until started */
    const rung_net *net;
    const rung_http *http;
    bool is_stopped;

    /* scratch of the call that is being handled */
    rung_json_writer out;
    rung_json reader;
    rung_event event;
    rung_row *rows; /* RUNG_API_ROWS_MAX */
    char *body;
    size_t body_size;

    rung_call_list waiting; /* for a sequence; by deadline, since all wait equally long */
    rung_fair waiting_shares, batch_shares; /* who has how many */
    rung_timer wait_timer;

    rung_call_list
        ranked; /* questions for a player's place, answered together at the end of the turn */
    rung_task answer_ranked;

    rung_work archive_work[RUNG_ASKER_READERS_MAX];
    rung_timer ask_timer; /* runs while questions wait for the archive to catch up */

    struct rung_key_change *key_change; /* under way in the pool; NULL: none */

    rung_live *live;
    rung_page_cache pages; /* of top lists */

    struct rung_batch *batches; /* all streams of submissions */
    rung_task answer_batches;   /* wanted when a batch has results to send */
    rung_timer line_timer;      /* looks for streams that send nothing, while there are streams */
    rung_timer throttled;       /* runs while a batch waits for its sender's rate */

    uint64_t boot; /* tells this process from another in ETags */
    rung_metrics metrics;
    char *openapi;
    size_t openapi_len, openapi_size;
};

static inline const rung_state *rung__api_state(const rung_api *api) {
    return rung_hub_state(api->service.hub);
}

/* The argument of that name; the route has it. */
const rung_arg *rung__call_arg(const rung_call *c, const char *name);
static inline uint32_t rung__call_count(const rung_call *c, const char *name) {
    return (uint32_t)rung__call_arg(c, name)->number;
}

/* ---- ending a call ---- */

/* Begin an answer in api->out, end it with rung__call_answer(). */
rung_json_writer *rung__call_begin(rung_call *c);
void rung__call_answer(rung_call *c, int status);
/* A whole answer: did it change anything, and the sequence that shows it. */
void rung__call_answer_changed(rung_call *c, int status, bool changed);
/* With the problem of (st, reason, field); `err` may be NULL. */
void rung__call_fail(rung_call *c, rung_status st, const rung_err *err);
/* The same, of an error that is made here. `field` is what of the request it is about, or NULL. */
void rung__call_fail_with(rung_call *c, rung_status st, rung_reason reason, const char *field,
                          const char *text);
/* With these members, as JSON text, instead of a field. */
void rung__call_fail_more(rung_call *c, const rung_err *err, rung_slice members);
/* The request cannot be read, unless `err` has another reason. */
void rung__call_malformed(rung_call *c, rung_status st, rung_err *err);
/* What `field` names is not there. */
void rung__call_absent(rung_call *c, const char *field, const char *text);
/* There is no room for it now. */
void rung__call_overloaded(rung_call *c);
/* The server has not recovered yet, or stops. */
void rung__call_not_ready(rung_call *c);

/* ---- who asks ---- */

/* Once more, after a wait: false: they may not any more, and the call is ended. */
bool rung__call_may_still(rung_call *c);
/* End the call with an error of `service`, whether of access or not; and the problem that it is. */
void rung__call_refuse(rung_call *c, rung_status st, const rung_access_answer *why);
rung_problem rung__access_problem(rung_status st, const rung_access_answer *why);
/* Who asks, where something is shared: the key, or the address of who has none (base/fair.h). */
uint32_t rung__call_share(rung_call *c);
static inline rung_hub_sender rung__call_sender(rung_call *c) {
    return (rung_hub_sender){.share = rung__call_share(c)};
}

/* ---- changes ---- */

/* Put api->event and answer with {changed, seq} when it is applied; on failure the call is ended here. */
void rung__call_change(rung_call *c);
/* The same with an answer of the handler's own. */
void rung__call_put(rung_call *c, rung_hub_answer *answer);
/* Bytes that live as long as the call; false: no memory, and the call is ended. */
bool rung__call_keep(rung_call *c, rung_slice bytes, rung_slice *kept_out);
/* Read the body by the route's schema; false: it is malformed, and the call is ended. */
bool rung__call_read_body(rung_call *c, rung_slot *slots);

/* ---- handlers ---- */

void rung_api_list_boards(rung_call *c);
void rung_api_put_board(rung_call *c);
void rung_api_get_board(rung_call *c);
void rung_api_delete_board(rung_call *c);
void rung_api_windows(rung_call *c);
void rung_api_submit(rung_call *c);
void rung_api_submit_many(rung_call *c);
void rung_api_remove_entry(rung_call *c);
void rung_api_top(rung_call *c);
void rung_api_around(rung_call *c);
void rung_api_players(rung_call *c);
void rung_api_friend_ranking(rung_call *c);
void rung_api_at_score(rung_call *c);
void rung_api_target(rung_call *c);
void rung_api_count(rung_call *c);
void rung_api_distribution(rung_call *c);
void rung_api_scope_values(rung_call *c);
void rung_api_teams(rung_call *c);
void rung_api_team(rung_call *c);
void rung_api_put_player(rung_call *c);
void rung_api_get_player(rung_call *c);
void rung_api_erase_player(rung_call *c);
void rung_api_history(rung_call *c);
void rung_api_submissions(rung_call *c);
void rung_api_get_friends(rung_call *c);
void rung_api_put_friends(rung_call *c);
void rung_api_put_friend(rung_call *c);
void rung_api_remove_friend(rung_call *c);
void rung_api_ban(rung_call *c);
void rung_api_unban(rung_call *c);
void rung_api_board_live(rung_call *c);
void rung_api_player_live(rung_call *c);
void rung_api_list_keys(rung_call *c);
void rung_api_create_key(rung_call *c);
void rung_api_revoke_key(rung_call *c);
void rung_api_snapshot(rung_call *c);
void rung_api_clock(rung_call *c);
void rung_api_accept_clock(rung_call *c);
void rung_api_health(rung_call *c);
void rung_api_ready(rung_call *c);
void rung_api_metrics(rung_call *c);
void rung_api_openapi(rung_call *c);

/* A file of the console; false: there is none at this path. */
bool rung__api_asset(rung_exchange *x, const rung_request *r);

/* ---- places (api_reads.c) ---- */

void rung__answer_ranked(void *api);

/* ---- streams ---- */

void rung__batch_stop_all(rung_api *api);
void rung__answer_batches(void *api);
void rung__batch_on_throttled(void *api);
void rung__batch_end_silent(void *api);

/* ---- live (api_live.c) ---- */

rung_status rung__live_create(rung_api *api, rung_err *err);

/* ---- the document ---- */

/* The OpenAPI document, from the table of routes; the writer's failure if it fails. */
void rung_openapi_write(rung_json_writer *w, const char *version);

#endif
