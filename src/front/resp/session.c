/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's life: bytes in, commands worked off or put, replies out.
 *
 *  1. Replies leave in the order of the commands. Written at once is only what is behind nothing that is under way.
 *  2. A command that cannot be worked off now stays in the input, and the session is paused: until few enough requests
 *     are under way (resume_at), until the hub has room (is_stalled), or until it is answered (blocked).
 *  3. A session outlives its connection until its last request is answered.
 *  4. Short answers of the hub gather as long as they are for one session; whoever writes next sends them first.
 *
 * Consecutive ZSCORE, ZRANK, ZREVRANK or ZCOUNT of one key, or short pages of it by ZRANGE or ZREVRANGE, are asked
 * together, so that the misses of one hide behind those of the others. Of consecutive changes of one member by one
 * command to one key the first is looked at from all sides, the others only where they may differ. */
#include "front/resp/arguments.h"

#include "base/assert.h"

enum { BATCH_MAX = 64, OUT_KEPT = 256 << 10, OUT_FULL = 64 << 10 };
enum { QUEUE_BYTES_MAX = 4 << 20, QUEUE_BYTES_READER = 64 << 10 }; /* of a transaction */
enum { COMMAND_BYTES_PER_MS = 64 };                                /* at least, of a long command */

/* ---- writing ---- */

rung__resp_call rung__resp_call_begin(rung__resp_session *s) {
    rung_resp *r = s->r;
    rung__resp_gather_end(r);
    RUNG_ASSERT(r->out.len == 0);
    r->out.version = s->version;
    return (rung__resp_call){.r = r,
                             .s = s,
                             .out = &r->out,
                             .state = rung_hub_state(r->hub),
                             .now_ms = rung_hub_now(r->hub),
                             .may_spill = true};
}

void rung__resp_call_end(rung__resp_call *call) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    if (s->conn && r->out.is_failed)
        rung_conn_abort(s->conn);
    else if (s->conn && !s->is_silent && r->out.len)
        rung_conn_write(s->conn, rung_slice_of(r->out.data, r->out.len));
    rung_resp_writer_reset(&r->out, OUT_KEPT);
}

rung__resp_call *rung__resp_gather_begin(rung__resp_session *s) {
    rung_resp *r = s->r;
    r->gathering = rung__resp_call_begin(s);
    rung_hub_call_after(r->hub, &r->after_answers);
    return &r->gathering;
}

void rung__resp_gather_end(rung_resp *r) {
    if (!r->gathering.s)
        return;
    rung__resp_call call = r->gathering;
    r->gathering.s = NULL;
    rung__resp_call_end(&call);
}

/* ---- going on and stopping ---- */

static void session_free(rung__resp_session *s) {
    rung_resp *r = s->r;
    if (r->gathering.s == s)
        rung__resp_gather_end(r);
    rung__resp_queue_clear(s);
    rung__resp_watch_clear(s);
    rung_resp_parser_deinit(&s->parser);
    rung_alloc_free(r->config.alloc, s, sizeof *s);
}

void rung__resp_session_pause(rung__resp_session *s, uint32_t resume_at) {
    s->is_paused = true;
    s->resume_at = resume_at;
    if (s->conn)
        rung_conn_pause(s->conn);
}

void rung__resp_session_go_on(rung__resp_session *s) {
    if (!s->conn) {
        if (!s->pending)
            session_free(s);
        return;
    }
    if (s->blocked)
        return;
    rung__resp_session_tell_held(s);
    bool is_last = (s->is_ended || s->is_quitting) && !s->pending;
    if (s->is_paused && !s->is_stalled && s->pending <= s->resume_at && !s->is_quitting) {
        s->is_paused = false;
        rung_conn_pause(s->conn); /* who waited for somebody else was not */
        rung_conn_resume(s->conn);
    }
    if (is_last) {
        rung__resp_gather_end(s->r);
        rung_conn_finish(s->conn);
    }
}

/* The hub has no room: try again in a moment. */
static void stall(rung__resp_session *s) {
    rung_resp *r = s->r;
    if (!s->is_stalled) {
        s->is_stalled = true;
        s->next_stalled = NULL;
        s->prev_stalled = r->stalled_last;
        *(s->prev_stalled ? &s->prev_stalled->next_stalled : &r->stalled_first) = s;
        r->stalled_last = s;
    }
    rung__resp_session_pause(s, UINT32_MAX);
    rung__resp_timer_start(s->r);
}

void rung__resp_unstall(rung__resp_session *s) {
    rung_resp *r = s->r;
    if (!s->is_stalled)
        return;
    s->is_stalled = false;
    *(s->prev_stalled ? &s->prev_stalled->next_stalled : &r->stalled_first) = s->next_stalled;
    *(s->next_stalled ? &s->next_stalled->prev_stalled : &r->stalled_last) = s->prev_stalled;
}

static void quit_when_done(rung__resp_session *s) {
    s->is_quitting = true;
    rung__resp_session_pause(s, 0);
    if (!s->pending && s->conn)
        rung_conn_finish(s->conn);
}

/* ---- what it keeps, and since when ---- */

static uint64_t loop_now(const rung__resp_session *s) {
    return uv_now(rung_net_loop(s->r->config.net));
}

void rung__resp_session_tell_held(const rung__resp_session *s) {
    const rung_resp_parser *p = &s->parser;
    size_t spans = p->spans == p->own ? 0 : p->size * sizeof *p->spans;
    if (s->conn)
        rung_conn_hold(s->conn, s->queue.size + s->pending_bytes + s->blocked_bytes + spans +
                                    s->watched_size * sizeof *s->watched);
}

/* ---- may it? ---- */

static bool is_stranger(rung__resp_session *s, int64_t now_ms) {
    rung_need need = {.role = RUNG_ROLE_READ, .player = rung_who_player(&s->who)};
    return rung_access_allow(s->r->access, &s->who, &need, now_ms, NULL) != RUNG_ACCESS_OK;
}

void rung__resp_session_limits(rung__resp_session *s, int64_t now_ms) {
    const rung_resp_config *c = &s->r->config;
    bool was_stranger = s->is_stranger;
    s->is_stranger = is_stranger(s, now_ms);
    s->share = rung_access_share(s->r->access, &s->who);
    if (s->is_stranger && !was_stranger)
        s->stranger_ms = loop_now(s);
    s->parser.limits = s->is_stranger
                           ? RUNG_RESP_LIMITS_STRANGER
                           : (rung_resp_limits){c->args_max, c->bulk_max, c->command_max, false};
}

/* A board with rules of its own is not a server key's to take away. */
static bool is_ruled(const rung__resp_call *call, rung_slice key) {
    rung_zkey k;
    rung_zkey_open(call->state, key, call->now_ms, &k);
    return k.kind == RUNG_ZKEY_BOARD;
}

static rung_verdict check_keys(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    rung_slice key, player = {NULL, 0};
    if (c->player_arg && (uint32_t)c->player_arg < call->argc)
        player = call->argv[c->player_arg];
    for (uint32_t i = 0; rung__resp_command_key(c, call->argv, call->argc, i, &key); i++) {
        if (!key.len)
            key.ptr = NULL; /* no board has that name */
        rung_need need = {
            .role = c->role, .is_keyed = c->flags & RUNG__KEYED, .board = key, .player = player};
        if (c->flags & RUNG__REMOVES && is_ruled(call, key))
            need.role = RUNG_ROLE_ADMIN;
        rung_verdict v =
            rung_access_allow(call->r->access, &call->s->who, &need, call->now_ms, NULL);
        if (v != RUNG_ACCESS_OK)
            return v;
    }
    return RUNG_ACCESS_OK;
}

bool rung__resp_may_run(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    rung__resp_session *s = call->s;
    rung_need need = {.role = c->role};
    if (c->flags & RUNG__NO_AUTH)
        return true;
    if (is_stranger(s, call->now_ms)) {
        rung__resp_session_limits(s, call->now_ms);
        rung__resp_error(call, "NOAUTH Authentication required.");
        return false;
    }
    if (c->role == RUNG_ROLE_NONE)
        return true;
    rung_verdict v;
    if (c->first_key || c->flags & RUNG__MOVABLE)
        v = check_keys(call);
    else
        v = rung_access_allow(call->r->access, &s->who, &need, call->now_ms, NULL);
    if (v == RUNG_ACCESS_OK)
        return true;
    need.board = RUNG_BOARDS_EACH;
    need.player = rung_who_player(&s->who);
    if (rung_access_allow(call->r->access, &s->who, &need, call->now_ms, NULL) != RUNG_ACCESS_OK ||
        !c->first_key)
        rung__resp_error_of(call, "NOPERM this user has no permissions to run the '",
                            rung_slice_str(c->name), "' command");
    else
        rung__resp_error_denied(call);
    return false;
}

/* May a command like this one do the same without being looked at? Not where more than the key counts. */
static bool is_allowed_again(const rung__resp_command *c) {
    return c->first_key == 1 && c->last_key == 1 && !c->player_arg && !c->subcommands &&
           !(c->flags & (RUNG__MOVABLE | RUNG__REMOVES));
}

/* ---- one command ---- */

static void unknown_command(rung__resp_call *call) {
    char text[256];
    size_t len = 0;
    if (rung__resp_command_is_foreign(call->argv[0])) {
        rung__resp_error_of(call, "ERR the command '", call->argv[0],
                            "' of Redis is not supported by Rung, see docs/redis.md");
        return;
    }
    /* As Redis does it: arguments in quotes until 128 bytes are full, the last one cut. */
    for (uint32_t i = 1; i < call->argc && len < 128; i++) {
        size_t room = 128 - len, n = call->argv[i].len < room ? call->argv[i].len : room;
        const char *nul = memchr(call->argv[i].ptr, 0, n);
        n = nul ? (size_t)(nul - call->argv[i].ptr) : n;
        text[len++] = '\'';
        memcpy(text + len, call->argv[i].ptr, n);
        len += n;
        text[len++] = '\'';
        text[len++] = ' ';
    }
    rung_slice name = call->argv[0];
    char line[512] = "ERR unknown command '";
    size_t at = strlen(line);
    size_t n = name.len < 128 ? name.len : 128;
    memcpy(line + at, name.ptr, n);
    at += n;
    static const char between[] = "', with args beginning with: ";
    memcpy(line + at, between, sizeof between - 1);
    at += sizeof between - 1;
    memcpy(line + at, text, len);
    call->r->stats.errors++;
    rung_resp_error(call->out, rung_slice_of(line, at + len));
}

static bool is_one_of(rung_slice word, const char *const *words) {
    for (; *words; words++)
        if (rung__resp_is_word(word, *words))
            return true;
    return false;
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

/* Known, called with enough arguments, and allowed? */
static bool is_acceptable(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    if (call->before.is_allowed)
        return true;
    if (!c) {
        unknown_command(call);
        return false;
    }
    if (c->arity > 0 ? call->argc != (uint32_t)c->arity : call->argc < (uint32_t)-c->arity) {
        rung__resp_error_of(call, "ERR wrong number of arguments for '", rung_slice_str(c->name),
                            "' command");
        return false;
    }
    if (c->subcommands && call->argc > 1 && !is_one_of(call->argv[1], c->subcommands)) {
        unknown_subcommand(call);
        return false;
    }
    if (!rung__resp_may_run(call))
        return false;
    call->before.is_allowed = is_allowed_again(c);
    return true;
}

/* Who may not change anything has no use for a long transaction. */
static bool is_queue_full(const rung__resp_call *call) {
    rung__resp_session *s = call->s;
    size_t need = s->queue.len + rung__resp_script_need(call->argv, call->argc);
    if (need <= QUEUE_BYTES_READER)
        return false;
    rung_need to_write = {.role = RUNG_ROLE_SERVER, .board = RUNG_BOARDS_EACH};
    bool may_write = rung_access_allow(call->r->access, &s->who, &to_write, call->now_ms, NULL) ==
                     RUNG_ACCESS_OK;
    return need > (may_write ? QUEUE_BYTES_MAX : QUEUE_BYTES_READER);
}

static void queue_command(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    if (call->command->flags & RUNG__NO_MULTI) {
        s->is_dirty = true;
        rung__resp_error(call, "ERR Command not allowed inside a transaction");
    } else if (s->queue.count == RUNG__QUEUED_MAX || is_queue_full(call) ||
               !rung__resp_script_add(call->r, &s->queue, call->command, call->argv, call->argc)) {
        s->is_dirty = true;
        rung__resp_error(call, "ERR the transaction is too large");
    } else {
        rung_resp_simple(call->out, "QUEUED");
    }
}

/* Has the session as much under way as it may? */
static bool is_full(const rung__resp_session *s) {
    const rung_resp_config *c = &s->r->config;
    return s->pending >= c->pending_max || s->pending_bytes >= c->pending_bytes_max;
}

void rung__resp_exec_abort(rung__resp_call *call, size_t mark) {
    char text[256];
    if (call->out->is_failed)
        return;
    rung_slice why = rung_slice_of(call->out->data + mark + 1, call->out->len - mark - 3);
    if (why.len > 4 && memcmp(why.ptr, "ERR ", 4) == 0)
        why = rung_slice_of(why.ptr + 4, why.len - 4);
    size_t len = why.len < sizeof text ? why.len : sizeof text;
    memcpy(text, why.ptr, len);
    call->out->len = mark;
    rung__resp_error_of(
        call, "EXECABORT Transaction discarded because of: ", rung_slice_of(text, len), "");
    rung__resp_queue_clear(call->s);
    rung__resp_watch_clear(call->s);
}

/* Must all that the connection has under way be answered before this can be looked at? */
static bool is_alone(const rung__resp_call *call) {
    const rung__resp_session *s = call->s;
    uint32_t flags = call->command->flags;
    const rung_board_def *def;
    return flags & RUNG__ALONE || (flags & RUNG__BLOCKS && !s->is_multi) ||
           (flags & RUNG__EXEC && s->watched_count) ||
           (flags & RUNG__ON_BOARD &&
            rung_state_board(call->state, call->argv[1], &def) != RUNG_OK);
}

/* false: not now; the session is paused. */
static bool work(rung__resp_call *call) {
    const rung__resp_command *c = call->command;
    rung__resp_session *s = call->s;
    size_t mark = call->out->len;
    if (!is_acceptable(call)) {
        s->is_dirty |= s->is_multi;
        if (c && c->flags & RUNG__EXEC)
            rung__resp_exec_abort(call, mark);
        return true;
    }
    bool is_exec = c->flags & RUNG__EXEC;
    if (s->pending && is_alone(call)) {
        rung__resp_session_pause(s, 0);
        return false;
    }
    if (s->is_multi && !(c->flags & RUNG__IN_MULTI)) {
        queue_command(call);
        return true;
    }
    if (is_full(s)) {
        rung__resp_session_pause(s, s->r->config.pending_max / 2);
        return false;
    }
    if (c->flags & RUNG__HEAVY && rung__resp_is_tired(s->r)) {
        rung__resp_keep_awake(s->r);
        stall(s);
        return false;
    }
    bool is_done = true;
    if (is_exec)
        rung__resp_exec(call);
    else if (c->flags & RUNG__BLOCKS)
        rung__resp_block(call);
    else if (c->flags & RUNG__WRITE)
        is_done = rung__resp_change(call);
    else if (c->flags & RUNG__NOW || !s->pending)
        c->answer(call);
    else
        is_done = rung__resp_ask_later(s, c, call->argv, call->argc);
    if (!is_done)
        stall(s);
    return is_done;
}

/* Work off one command; what it answers at once waits its turn. false: not now. */
static inline bool dispatch(rung__resp_call *call, const rung__resp_command *c,
                            const rung_slice *argv, uint32_t argc) {
    rung__resp_session *s = call->s;
    size_t mark = call->out->len;
    bool is_behind = s->pending > 0;
    if (is_behind && !s->tail && rung_hub_room_for(s->r->hub, rung__resp_sender(s, true)) == 0) {
        stall(s);
        return false;
    }
    call->command = c;
    call->argv = argv;
    call->argc = argc;
    call->style = 0;
    call->work = 0;
    call->timeout_ms = 0;
    call->may_spill = !is_behind;
    if (!work(call)) {
        call->out->len = mark;
        return false;
    }
    s->commands++;
    s->r->stats.commands++;
    if (is_behind && call->out->len > mark) {
        rung_slice reply = rung_slice_of(call->out->data + mark, call->out->len - mark);
        if (!rung__resp_say_later(s, reply))
            rung_conn_abort(s->conn);
        call->out->len = mark;
    }
    return true;
}

/* ---- many commands ---- */

typedef struct parsed {
    uint32_t first, count;
    size_t end;    /* in the bytes given */
    bool is_alike; /* as the one before it, up to its key */
} parsed;

/* How many of the commands from `i` on ask the same of one key; their arguments. */
static uint32_t alike(const rung_resp_args *args, const parsed *commands, uint32_t i, uint32_t n,
                      const rung_slice **argvs) {
    uint32_t count = 0;
    do
        argvs[count++] = args->items + commands[i++].first;
    while (i < n && commands[i].is_alike);
    return count;
}

/* A run of questions that can be asked together; returns how many were answered. */
static uint32_t try_batch(rung__resp_call *call, const rung__resp_command *c,
                          const parsed *commands, uint32_t i, uint32_t n) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    const rung_slice *argvs[BATCH_MAX];
    if (!c || s->pending || s->is_multi || s->who.player_len ||
        !rung__resp_can_batch(c, r->args.items + commands[i].first, commands[i].count))
        return 0;
    uint32_t count = alike(&r->args, commands, i, n, argvs);
    if (count < 2)
        return 0;
    call->command = c;
    call->argv = argvs[0];
    call->argc = commands[i].count;
    call->may_spill = true;
    size_t mark = call->out->len;
    if (!rung__resp_may_run(call)) {
        call->out->len = mark;
        return 0;
    }
    count = rung__resp_answer_batch(call, count, argvs);
    s->commands += count;
    r->stats.commands += count;
    return count;
}

/* More of the changes that command `i - 1` was one of; returns how many were put. */
static uint32_t go_on_changing(rung__resp_call *call, const parsed *commands, uint32_t i,
                               uint32_t n) {
    uint32_t count = 0;
    if (!call->before.is_allowed)
        return 0;
    while (i + count < n && commands[i + count].is_alike)
        count++;
    count = rung__resp_change_alike(call, count);
    call->s->commands += count;
    call->r->stats.commands += count;
    return count;
}

/* Too many in too short a time: as HTTP's 429. */
static bool is_throttled(rung__resp_call *call, uint32_t n) {
    return rung_access_allow(call->r->access, &call->s->who, &(rung_need){.cost = n}, call->now_ms,
                             NULL) != RUNG_ACCESS_OK;
}

static void throttle(rung__resp_call *call) {
    bool is_behind = call->s->pending > 0;
    size_t mark = call->out->len;
    rung__resp_error(call, "THROTTLED too many commands for this key, try again later");
    if (!is_behind)
        return;
    if (!rung__resp_say_later(call->s,
                              rung_slice_of(call->out->data + mark, call->out->len - mark)))
        rung_conn_abort(call->s->conn);
    call->out->len = mark;
}

/* A page can make its reader's browser send HTTP here, with commands in the body. As Redis does, hang up on it. */
static bool is_browser(rung_slice word) {
    return rung__resp_is_word(word, "post") || rung__resp_is_word(word, "host:");
}

/* Returns how many were worked off. */
static uint32_t execute(rung__resp_call *call, const parsed *commands, uint32_t n) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    bool is_limited = is_throttled(call, n);
    const rung__resp_command *c = NULL;
    uint32_t i = 0;
    while (i < n && !s->is_paused && !rung_conn_is_finished(s->conn)) {
        const rung_slice *argv = r->args.items + commands[i].first;
        if (is_limited) {
            throttle(call);
            i++;
            continue;
        }
        if (!commands[i].is_alike) { /* most pipelines ask the same again */
            c = rung__resp_command_find(r, argv[0]);
            call->before = (rung__resp_before){0};
        }
        if (!c && is_browser(argv[0])) {
            r->stats.protocol_errors++;
            rung_conn_abort(s->conn);
            break;
        }
        uint32_t batch = try_batch(call, c, commands, i, n);
        if (!batch && !dispatch(call, c, argv, commands[i].count))
            break;
        i += batch ? batch : 1;
        if (call->before.run)
            i += go_on_changing(call, commands, i, n);
        if (call->out->len >= OUT_FULL) {
            call->may_spill = true;
            rung__resp_spill(call);
        }
        if (rung_conn_is_full(s->conn)) /* also by what a long reply spilled itself */
            break;
    }
    return i;
}

static void protocol_error(rung__resp_session *s) {
    rung__resp_call call = rung__resp_call_begin(s);
    s->r->stats.protocol_errors++;
    rung__resp_error_of(&call, "ERR ", rung_slice_str(s->parser.error), "");
    if (s->pending) {
        if (!rung__resp_say_later(s, rung_slice_of(call.out->data, call.out->len)))
            rung_conn_abort(s->conn);
        call.out->len = 0;
    }
    rung__resp_call_end(&call);
    quit_when_done(s);
}

/* Parse some commands of `bytes` and work them off. Returns the bytes done with; 0 when it can go no further. */
static size_t take_some(rung__resp_session *s, rung_slice bytes) {
    rung_resp *r = s->r;
    parsed commands[BATCH_MAX];
    uint32_t n = 0,
             max = s->is_stranger ? 1 : BATCH_MAX; /* AUTH changes how the next one is read */
    size_t at = 0, skipped = 0;
    rung_status st = RUNG_OK;
    rung_resp_args_reset(&r->args);
    while (n < max) {
        rung_resp_command c;
        size_t used;
        st = rung_resp_parse(&s->parser, &r->args, rung_slice_of(bytes.ptr + at, bytes.len - at),
                             &used, &c);
        if (st != RUNG_OK)
            break;
        at += used;
        if (c.count)
            commands[n++] = (parsed){c.first, c.count, at, c.is_alike};
        else if (n)
            commands[n - 1].end = at;
        else
            skipped = at;
        if (c.is_inline && c.count)
            break; /* the next inline command would overwrite its words */
    }
    uint32_t done = 0;
    if (n) {
        rung__resp_call call = rung__resp_call_begin(s);
        done = execute(&call, commands, n);
        rung__resp_call_end(&call);
    }
    if (done < n) {
        rung_resp_parser_restart(&s->parser);
        return done ? commands[done - 1].end : skipped;
    }
    if (st == RUNG_EINVAL && s->is_paused)
        rung_resp_parser_restart(&s->parser);
    else if (st == RUNG_EINVAL)
        protocol_error(s);
    else if (st == RUNG_ENOMEM)
        rung_conn_abort(s->conn);
    return at;
}

/* ---- time ---- */

/* What is left of the input is the beginning of a command. The time of one that was there before goes on. */
static void note_begun(rung__resp_session *s, size_t bytes, bool is_another) {
    if (!bytes)
        s->begun_ms = 0;
    else if (!s->begun_ms || is_another)
        s->begun_ms = loop_now(s);
    s->begun_bytes = bytes;
}

/* The deadline that fits what the session waits for: a key, the rest of a command, or nothing in particular. */
static void watch(rung__resp_session *s) {
    const rung_resp_config *c = &s->r->config;
    if (!s->conn || rung_conn_is_finished(s->conn))
        return;
    uint64_t now = loop_now(s), due = now + c->idle_ms;
    if (s->begun_ms)
        due = s->begun_ms + c->command_ms + s->begun_bytes / COMMAND_BYTES_PER_MS;
    if (s->is_stranger && due > s->stranger_ms + c->auth_ms)
        due = s->stranger_ms + c->auth_ms;
    rung_conn_deadline(s->conn, due > now ? (uint32_t)(due - now) : 1);
}

/* Too slow: it is told so, if it reads at all. */
static void give_up(rung__resp_session *s, const char *why) {
    s->r->stats.timed_out++;
    if (s->pending) { /* its replies come first */
        quit_when_done(s);
        return;
    }
    rung__resp_call call = rung__resp_call_begin(s);
    rung__resp_error(&call, why);
    rung__resp_call_end(&call);
    rung_conn_finish(s->conn);
}

static void on_expired(rung_conn *c) {
    rung__resp_session *s = rung_conn_session(c);
    uint64_t now = loop_now(s);
    if (s->is_stranger) /* perhaps no key is needed any more */
        rung__resp_session_limits(s, rung_hub_now(s->r->hub));
    bool is_waiting = s->pending || s->blocked || s->is_paused || rung_conn_is_full(c);
    if (s->is_stranger && now >= s->stranger_ms + s->r->config.auth_ms)
        give_up(s, "ERR no key was shown in time, the connection closes");
    else if (is_waiting)
        watch(s); /* for us */
    else if (s->begun_ms)
        give_up(s, "ERR the command did not arrive in time, the connection closes");
    else if (s->is_multi)
        give_up(s, "ERR the transaction was idle for too long, the connection closes");
    else if (rung_net_is_crowded(s->r->config.net, rung_resp_protocol()))
        rung_conn_finish(c);
    else
        watch(s);
}

static size_t on_data(rung_conn *c, rung_slice bytes) {
    rung__resp_session *s = rung_conn_session(c);
    size_t done = 0;
    while (done < bytes.len && !s->is_paused && !rung_conn_is_finished(c) &&
           !rung_conn_is_full(c)) {
        size_t n = take_some(s, rung_slice_of(bytes.ptr + done, bytes.len - done));
        done += n;
        if (!n)
            break;
    }
    if (s->is_quitting && !s->pending)
        rung_conn_finish(c);
    bool is_begun = done < bytes.len && !s->is_paused && !rung_conn_is_full(c);
    note_begun(s, is_begun ? bytes.len - done : 0, done > 0);
    rung__resp_session_tell_held(s);
    watch(s);
    return s->is_quitting ? bytes.len : done;
}

/* ---- life ---- */

static void *on_opened(void *ctx, rung_conn *c) {
    rung_resp *r = ctx;
    rung__resp_session *s = rung_alloc_zeroed(r->config.alloc, sizeof *s);
    if (!s)
        return NULL;
    int64_t now_ms = rung_hub_now(r->hub);
    s->r = r;
    s->conn = c;
    s->id = ++r->next_id;
    s->since_ms = now_ms;
    s->version = 2;
    rung_access_identify(r->access, (rung_slice){NULL, 0}, rung_conn_peer_key(c), now_ms, &s->who,
                         NULL);
    rung_resp_parser_init(&s->parser, r->config.alloc, RUNG_RESP_LIMITS_STRANGER);
    rung__resp_session_limits(s, now_ms);
    watch(s);
    s->next = r->sessions;
    if (s->next)
        s->next->prev = s;
    r->sessions = s;
    r->stats.connections++;
    r->stats.open++;
    return s;
}

static void on_closed(rung_conn *c) {
    rung__resp_session *s = rung_conn_session(c);
    rung_resp *r = s->r;
    if (s->blocked)
        rung__resp_unblock(s);
    s->conn = NULL;
    rung__resp_unstall(s);
    *(s->prev ? &s->prev->next : &r->sessions) = s->next;
    if (s->next)
        s->next->prev = s->prev;
    s->prev = s->next = NULL;
    r->stats.open--;
    rung__resp_session_go_on(s);
}

/* The peer has said all it wants to say. It may wait for answers, but not for somebody else's change. */
static void on_ended(rung_conn *c) {
    rung__resp_session *s = rung_conn_session(c);
    s->is_ended = true;
    if (s->blocked)
        rung__resp_unblock(s);
    if (!s->pending)
        rung_conn_finish(c);
}

static void on_stopping(rung_conn *c) {
    rung__resp_session *s = rung_conn_session(c);
    if (s->blocked)
        rung__resp_unblock(s);
    quit_when_done(s);
}

const rung_protocol *rung_resp_protocol(void) {
    static const rung_protocol protocol = {
        .opened = on_opened,
        .data = on_data,
        .ended = on_ended,
        .expired = on_expired,
        .stopping = on_stopping,
        .closed = on_closed,
        .busy = {"-ERR max number of clients reached\r\n", 36},
        .input_max = RUNG__COMMAND_MAX + (64 << 10),
    };
    return &protocol;
}
