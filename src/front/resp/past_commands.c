/* SPDX-License-Identifier: Apache-2.0 */
/* RUNG.ASOF: a command that reads keys, answered by a helper process with the state of a moment (service/as_of.h).
 * Whether the session may ask is decided here, as for the command itself; the helper's reply is relayed as it is. */
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/permission.h"
#include "front/resp/server.h"

#include <stdio.h>
#include <string.h>

enum { COMMAND_MAX = 1 << 20, HEAD_ROOM = 24 };

typedef struct past_command {
    rung_past_question question; /* the first member */
    rung__resp_request *request;
    const rung_alloc *alloc;
    size_t size, len;
    char bytes[];
} past_command;

static void done(rung_past_question *q) {
    past_command *p = (past_command *)q;
    rung__resp_request *request = p->request;
    rung__resp_call call = rung__resp_request_call(request);
    if (q->status == RUNG_OK)
        rung_resp_raw(call.out, q->answer.bytes);
    else
        rung__resp_error_status(&call, q->status, &q->err);
    rung_alloc_free(p->alloc, p, p->size);
    rung__resp_call_end(&call);
    rung__resp_request_finish(request);
}

/* The argument as the helper must get it: "me" is known here only. */
static rung_slice word_of(const rung__resp_call *call, const rung__resp_command *c, uint32_t first,
                          uint32_t i) {
    uint32_t at = (uint32_t)c->player_arg;
    bool is_player = at && i == first + at;
    return is_player ? rung_who_resolve(&call->s->who, call->argv[i]) : call->argv[i];
}

static void write_command(past_command *p, const rung__resp_call *call, const rung__resp_command *c,
                          uint32_t first) {
    p->len = (size_t)snprintf(p->bytes, HEAD_ROOM, "*%u\r\n", call->argc - first);
    for (uint32_t i = first; i < call->argc; i++) {
        rung_slice word = word_of(call, c, first, i);
        p->len += (size_t)snprintf(p->bytes + p->len, HEAD_ROOM, "$%zu\r\n", word.len);
        memcpy(p->bytes + p->len, word.ptr, word.len);
        memcpy(p->bytes + p->len + word.len, "\r\n", 2);
        p->len += word.len + 2;
    }
}

/* It reads keys, and nothing else; and the session may. */
static bool may_ask(rung__resp_call *call, const rung__resp_command *c) {
    const rung__resp_command *outer = call->command;
    if (!c || !(c->flags & RUNG__READ) || !c->answer ||
        !(c->first_key || c->flags & RUNG__MOVABLE) ||
        c->flags & (RUNG__WRITE | RUNG__NOW | RUNG__ALONE | RUNG__BLOCKS))
        return rung__resp_error_of(call, "ERR '", call->argv[2],
                                   "' is not a command that reads a key");
    if (!rung__resp_command_takes(c, call->argc - 2))
        return rung__resp_error_of(call, "ERR wrong number of arguments for '",
                                   rung_slice_str(c->name), "' command");
    call->command = c;
    call->argv += 2;
    call->argc -= 2;
    bool may = rung__resp_is_permitted(call);
    call->command = outer;
    call->argv -= 2;
    call->argc += 2;
    return may;
}

static rung_status check(rung__resp_call *call, const rung_moment *moment, rung_err *err) {
    if (!call->r->config.as_of)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "as_of",
                               "this server has no data folder, shows the past itself, or has "
                               "as_of.processes = 0");
    return rung_as_of_check(call->r->hub, moment, err);
}

/* The command begins at argv[first]. */
static past_command *make(rung__resp_call *call, const rung__resp_command *c, uint32_t first,
                          const rung_moment *moment) {
    const rung_alloc *alloc = rung__resp_alloc(call);
    size_t size = sizeof(past_command) + HEAD_ROOM;
    for (uint32_t i = first; i < call->argc; i++)
        size += word_of(call, c, first, i).len + HEAD_ROOM + 2;
    past_command *p = size <= COMMAND_MAX ? rung_alloc_zeroed(alloc, size) : NULL;
    if (!p) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return NULL;
    }
    p->alloc = alloc;
    p->size = size;
    write_command(p, call, c, first);
    p->question = (rung_past_question){.moment = *moment,
                                       .protocol = call->out->version == 3 ? RUNG_PAST_RESP3
                                                                           : RUNG_PAST_RESP2,
                                       .request = rung_slice_of(p->bytes, p->len),
                                       .share = call->s->share,
                                       .done = done};
    return p;
}

static void ask_at(rung__resp_call *call, const rung__resp_command *c, uint32_t first,
                   const rung_moment *moment) {
    rung_err err = {0};
    rung_status st = check(call, moment, &err);
    if (st < 0) {
        rung__resp_error_status(call, st, &err);
        return;
    }
    past_command *p = make(call, c, first, moment);
    if (!p)
        return;
    p->request = rung__resp_request_for(call);
    st = p->request ? rung_as_of_put(call->r->config.as_of, &p->question, &err) : RUNG_ENOMEM;
    if (st == RUNG_OK) {
        rung__resp_session_pause(call->s, 0);
        return;
    }
    if (p->request) {
        rung__resp_request_release(p->request);
        rung__resp_error_status(call, st, &err);
    }
    rung_alloc_free(p->alloc, p, p->size);
}

void rung__resp_answer_rung_asof(rung__resp_call *call) {
    const rung__resp_command *c = rung__resp_command_find(&call->r->commands, call->argv[2]);
    rung_moment moment;
    rung_err err = {0};
    if (!may_ask(call, c))
        return;
    rung_status st = rung_moment_parse(call->argv[1], &moment, &err);
    if (st < 0)
        rung__resp_error_status(call, st, &err);
    else
        ask_at(call, c, 2, &moment);
}

void rung__resp_ask_since(rung__resp_call *call) {
    rung_moment moment = {0};
    rung_err err = {0};
    rung_status st = rung_since_parse(call->argv[2], &moment.since_ms, &err);
    moment.time_ms = rung_movers_moment(moment.since_ms, rung_hub_now(call->r->hub));
    if (st < 0)
        rung__resp_error_status(call, st, &err);
    else
        ask_at(call, call->command, 0, &moment);
}
