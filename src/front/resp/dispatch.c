/* SPDX-License-Identifier: Apache-2.0 */
/* From parsed commands to their answers, or to their places in the hub's line. Read it from the bottom:
 *
 *     dispatch    for each command
 *       try_batch        questions alike are answered together
 *       execute          one command
 *         is_acceptable    known, enough arguments, permitted
 *         must_wait        stays in the input
 *         change           arguments to an event (build), the event to the hub (request.c)
 *         answer           now, or in its place behind what is in flight
 *       put_alike        more of the scores that it was one of
 *
 * Consecutive ZSCORE, ZRANK, ZREVRANK or ZCOUNT of one key, or short pages of it by ZRANGE or ZREVRANGE, are answered
 * together, so that their cache misses overlap. Of consecutive changes of one member by one command to one key the
 * first is checked completely, the others only where they may differ. */
#include "front/resp/dispatch.h"

#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/permission.h"
#include "front/resp/server.h"
#include "front/resp/transaction.h"

/* ---- may it? ---- */

/* As in Redis: arguments in quotes until 128 bytes are full, the last one cut. */
static void unknown_command(rung__resp_call *call) {
    static const char before[] = "ERR unknown command '";
    static const char between[] = "', with args beginning with: ";
    char line[512];
    rung_buffer b = {.data = line, .size = sizeof line};
    rung_slice name = call->argv[0];
    if (rung__resp_command_is_foreign(name)) {
        rung__resp_error_of(call, "ERR the command '", name,
                            "' of Redis is not supported by Rung, see docs/redis.md");
        return;
    }
    rung_buffer_put(&b, before, sizeof before - 1);
    rung_buffer_put(&b, name.ptr, name.len < 128 ? name.len : 128);
    rung_buffer_put(&b, between, sizeof between - 1);
    size_t start = b.len;
    for (uint32_t i = 1; i < call->argc && b.len - start < 128; i++) {
        size_t room = 128 - (b.len - start), n = call->argv[i].len;
        n = strnlen(call->argv[i].ptr, n < room ? n : room);
        rung_buffer_put(&b, "'", 1);
        rung_buffer_put(&b, call->argv[i].ptr, n);
        rung_buffer_put(&b, "' ", 2);
    }
    call->r->stats.errors++;
    rung_resp_error(call->out, rung_buffer_slice(&b));
}

static void unknown_subcommand(rung__resp_call *call) {
    char after[64] = "'. Try ";
    size_t len = strlen(after);
    for (const char *p = call->command->name; *p; p++)
        after[len++] = (char)(*p & ~0x20);
    memcpy(after + len, " HELP.", sizeof " HELP.");
    rung_slice sub = call->argv[1];
    sub.len = sub.len < 128 ? sub.len : 128;
    rung__resp_error_of(call, "ERR unknown subcommand '", sub, after);
}

/* Is a command of the same name and key permitted as well? Not if more than the key counts. */
static bool is_allowed_again(const rung__resp_command *c) {
    return c->first_key == 1 && c->last_key == 1 && !c->player_arg && !c->subcommands &&
           !(c->flags & (RUNG__MOVABLE | RUNG__REMOVES));
}

/* Known, called with enough arguments, and permitted? With an error when not. */
static bool is_acceptable(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    if (call->before.is_allowed)
        return true;
    if (!c) {
        unknown_command(call);
        return false;
    }
    if (!rung__resp_command_takes(c, call->argc))
        return rung__resp_error_of(call, "ERR wrong number of arguments for '",
                                   rung_slice_str(c->name), "' command");
    if (c->subcommands && call->argc > 1 && !rung__resp_is_one_of(call->argv[1], c->subcommands)) {
        unknown_subcommand(call);
        return false;
    }
    if (!rung__resp_is_permitted(call))
        return false;
    call->before.is_allowed = is_allowed_again(c);
    return true;
}

/* ---- now? ---- */

/* Does it name a window, which may have left memory? */
static bool names_window(const rung__resp_call *call) {
    for (uint32_t i = 2; i < call->argc; i++)
        if (rung__resp_is_word(call->argv[i], "window") ||
            rung__resp_is_word(call->argv[i], "windowid") ||
            rung__resp_is_word(call->argv[i], "on"))
            return true;
    return false;
}

/* Must it wait until nothing of the connection is in flight? */
static bool is_alone(const rung__resp_call *call) {
    const rung__resp_session *s = call->s;
    uint32_t flags = call->command->flags;
    const rung_board_def *def;
    return flags & RUNG__ALONE || (flags & RUNG__BLOCKS && s->multi == RUNG__MULTI_NONE) ||
           (flags & RUNG__EXEC && s->watched_count) || (flags & RUNG__PAST && names_window(call)) ||
           (flags & RUNG__ON_BOARD &&
            rung_state_board(call->state, call->argv[1], &def) != RUNG_OK);
}

/* Has the session as much in flight as it may? */
static bool is_full(const rung__resp_session *s) {
    const rung_resp_config *c = &s->r->config;
    return s->pending >= c->pending_max || s->pending_bytes >= c->pending_bytes_max;
}

/* The command stays in the input until the session reads again. */
static bool must_wait(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    if (is_full(s)) {
        rung__resp_session_pause(s, s->r->config.pending_max / 2);
        return true;
    }
    if (call->command->flags & RUNG__HEAVY && rung__resp_is_tired(s->r)) {
        rung_turn_hurry(&s->r->loop->turn);
        rung__resp_session_enter(s, RUNG__SESSION_STALLED);
        return true;
    }
    return false;
}

/* ---- one command ---- */

/* At once if nothing is in flight, else in its place. false: not now. */
static bool answer(rung__resp_call *call) {
    if (call->s->pending && !(call->command->flags & RUNG__NOW))
        return rung__resp_ask_later(call);
    call->may_wait = !(call->command->flags & RUNG__NOW);
    rung__resp_reveal_and_answer(call);
    call->may_wait = false;
    return true;
}

static bool change(rung__resp_call *call) {
    rung__resp_change made;
    made.kind = RUNG__CHANGE_KEYS;
    made.score = &call->r->event.score;
    if (!call->command->build(call, &made))
        return true;
    return made.kind == RUNG__CHANGE_SCORE   ? rung__resp_put_score(call)
           : made.kind == RUNG__CHANGE_MATCH ? rung__resp_put_match(call)
           : made.kind == RUNG__CHANGE_KEYS  ? rung__resp_put_keys(call, &made.keys)
                                             : answer(call);
}

/* false: not now; the session has left READING. */
static bool execute(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    rung__resp_session *s = call->s;
    size_t mark = call->out->len;
    if (!is_acceptable(call)) {
        rung__resp_transaction_spoil(s);
        if (c && c->flags & RUNG__EXEC)
            rung__resp_transaction_abort(call, mark);
        return true;
    }
    if (s->pending && is_alone(call)) {
        rung__resp_session_pause(s, 0);
        return false;
    }
    if (s->multi != RUNG__MULTI_NONE && !(c->flags & RUNG__IN_MULTI)) {
        rung__resp_transaction_queue(call);
        return true;
    }
    if (must_wait(call))
        return false;
    bool is_done = true;
    if (c->flags & RUNG__BLOCKS)
        rung__resp_block(call);
    else
        is_done = c->build ? change(call) : answer(call);
    if (!is_done)
        rung__resp_session_enter(s, RUNG__SESSION_STALLED);
    return is_done;
}

/* What was written from `mark` on follows requests in flight: send it behind their replies. */
static void move_later(rung__resp_call *call, size_t mark) {
    rung_slice reply = rung_slice_of(call->out->data + mark, call->out->len - mark);
    if (reply.len && !rung__resp_say_later(call->s, reply))
        rung_conn_abort(call->s->conn);
    call->out->len = mark;
}

/* One command, whose reply comes in its turn. false: not now. */
static inline bool take_one(rung__resp_call *call, const rung__resp_command *c,
                            const rung_slice *argv, uint32_t argc) {
    rung__resp_session *s = call->s;
    size_t mark = call->out->len;
    bool is_behind = s->pending > 0;
    if (is_behind && !s->tail &&
        rung_commit_room(rung_hub_commit(s->r->hub), rung__resp_sender(s, true)) == 0) {
        rung__resp_session_enter(s, RUNG__SESSION_STALLED);
        return false;
    }
    call->command = c;
    call->argv = argv;
    call->argc = argc;
    call->style = 0;
    call->work = 0;
    call->timeout_ms = 0;
    call->may_spill = !is_behind;
    if (!execute(call)) {
        call->out->len = mark;
        return false;
    }
    s->commands++;
    s->r->stats.commands++;
    if (is_behind)
        move_later(call, mark);
    return true;
}

/* ---- many commands ---- */

/* How many of the commands from `i` on ask the same of one key; their arguments. */
static uint32_t alike(const rung_resp_args *args, const rung__resp_parsed *commands, uint32_t i,
                      uint32_t n, const rung_slice **argvs) {
    uint32_t count = 0;
    do
        argvs[count++] = args->items + commands[i++].first;
    while (i < n && commands[i].is_alike);
    return count;
}

/* Questions that can be answered together; returns how many were. */
static uint32_t try_batch(rung__resp_call *call, const rung__resp_command *c,
                          const rung__resp_parsed *commands, uint32_t i, uint32_t n) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    const rung_slice *argvs[RUNG__BATCH_MAX];
    if (s->pending || s->multi != RUNG__MULTI_NONE || s->who.player_len ||
        !rung__resp_can_batch(c, r->args.items + commands[i].first, commands[i].count))
        return 0;
    uint32_t count = alike(&r->args, commands, i, n, argvs);
    call->command = c;
    call->argv = argvs[0];
    call->argc = commands[i].count;
    call->may_spill = true;
    size_t mark = call->out->len;
    if (!rung__resp_is_permitted(call)) {
        call->out->len = mark;
        return 0;
    }
    count = rung__resp_answer_batch(call, count, argvs);
    s->commands += count;
    r->stats.commands += count;
    return count;
}

/* More scores like command `i - 1`; returns how many were put. */
static uint32_t put_alike(rung__resp_call *call, const rung__resp_parsed *commands, uint32_t i,
                          uint32_t n) {
    uint32_t count = 0;
    if (!call->before.is_allowed)
        return 0;
    while (i + count < n && commands[i + count].is_alike)
        count++;
    count = rung__resp_put_scores_alike(call, count);
    call->s->commands += count;
    call->r->stats.commands += count;
    return count;
}

/* Over the rate limit: HTTP answers 429. */
static void throttle(rung__resp_call *call, const rung_access_answer *why) {
    bool is_behind = call->s->pending > 0;
    size_t mark = call->out->len;
    rung__resp_error_throttled(call,
                               why->is_for_address ? "too many commands from this address"
                                                   : "too many commands for this key",
                               why);
    if (is_behind)
        move_later(call, mark);
}

/* A web page can make a browser send HTTP here, with commands in the body. Hang up on it, as Redis does. */
static bool is_browser(rung_slice word) {
    return rung__resp_is_word(word, "post") || rung__resp_is_word(word, "host:");
}

uint32_t rung__resp_dispatch(rung__resp_call *call, const rung__resp_parsed *commands, uint32_t n) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    rung_access_answer why;
    bool is_limited = !rung__resp_is_within_rate(call, n, &why);
    const rung__resp_command *c = NULL;
    uint32_t i = 0;
    while (i < n && s->state == RUNG__SESSION_READING && !rung_conn_is_finished(s->conn)) {
        const rung_slice *argv = r->args.items + commands[i].first;
        if (is_limited) {
            throttle(call, &why);
            i++;
            continue;
        }
        if (!commands[i].is_alike) { /* most pipelines repeat a command */
            c = rung__resp_command_find(&r->commands, argv[0]);
            call->before = (rung__resp_before){0};
        }
        if (!c && is_browser(argv[0])) {
            r->stats.protocol_errors++;
            rung_conn_abort(s->conn);
            break;
        }
        bool may_batch = c && c->flags & RUNG__BATCH && i + 1 < n && commands[i + 1].is_alike;
        uint32_t batch = may_batch ? try_batch(call, c, commands, i, n) : 0;
        if (!batch && !take_one(call, c, argv, commands[i].count))
            break;
        i += batch ? batch : 1;
        if (call->before.group)
            i += put_alike(call, commands, i, n);
        call->may_spill = true;
        rung__resp_spill(call);
        if (rung_conn_is_full(s->conn)) /* a long reply may have spilled */
            break;
    }
    return i;
}
