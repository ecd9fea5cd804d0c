/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the connection itself: its user, its protocol, its name. */
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/permission.h"
#include "front/resp/server.h"
#include "front/resp/transaction.h"

void rung__resp_answer_ping(rung__resp_call *call) {
    if (call->argc > 2)
        rung__resp_error(call, "ERR wrong number of arguments for 'ping' command");
    else if (call->argc == 2)
        rung_resp_bulk(call->out, call->argv[1]);
    else
        rung_resp_simple(call->out, "PONG");
}

void rung__resp_answer_echo(rung__resp_call *call) {
    rung_resp_bulk(call->out, call->argv[1]);
}

void rung__resp_answer_select(rung__resp_call *call) {
    int64_t index;
    if (!rung__resp_take_integer(call, call->argv[1], &index))
        return;
    if (index == 0)
        rung_resp_simple(call->out, "OK");
    else
        rung__resp_error(call, "ERR DB index is out of range");
}

void rung__resp_answer_quit(rung__resp_call *call) {
    rung_resp_simple(call->out, "OK");
    rung__resp_session_enter(call->s, RUNG__SESSION_CLOSING);
}

/* ---- who it is ---- */

void rung__resp_answer_auth(rung__resp_call *call) {
    if (call->argc > 3) {
        rung__resp_error_syntax(call);
        return;
    }
    if (call->argc == 2 && rung_access_is_open(call->r->access)) {
        rung__resp_error(
            call,
            "ERR AUTH <password> called without any password configured for the default user. Are "
            "you sure your configuration is correct?");
        return;
    }
    rung_slice user = call->argc == 3 ? call->argv[1] : RUNG_SLICE("default");
    if (rung__resp_log_in(call, user, call->argv[call->argc - 1]))
        rung_resp_simple(call->out, "OK");
}

/* ---- names of connections ---- */

static bool check_name(rung__resp_call *call, rung_slice name) {
    bool is_good = name.len <= RUNG__CLIENT_NAME_MAX;
    for (size_t i = 0; i < name.len; i++)
        is_good &= name.ptr[i] >= '!' && name.ptr[i] <= '~';
    return is_good ||
           rung__resp_error(
               call, "ERR Client names cannot contain spaces, newlines or special characters.");
}

static bool set_name(rung__resp_call *call, rung_slice name) {
    rung__resp_session *s = call->s;
    if (!check_name(call, name))
        return false;
    s->name_len = (uint8_t)name.len;
    if (name.len)
        memcpy(s->name, name.ptr, name.len);
    return true;
}

static void put_hello(rung__resp_call *call) {
    rung_resp_writer *out = call->out;
    rung_resp_map(out, 7);
    rung_resp_text(out, "server");
    rung_resp_text(out, "redis");
    rung_resp_text(out, "version");
    rung_resp_text(out, RUNG__REDIS_VERSION);
    rung_resp_text(out, "proto");
    rung_resp_int(out, out->version);
    rung_resp_text(out, "id");
    rung_resp_int(out, (int64_t)call->s->id);
    rung_resp_text(out, "mode");
    rung_resp_text(out, "standalone");
    rung_resp_text(out, "role");
    rung_resp_text(out, "master");
    rung_resp_text(out, "modules");
    rung_resp_array(out, 0);
}

/* HELLO [protover [AUTH user pass] [SETNAME name]] */
void rung__resp_answer_hello(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    int64_t version = s->version;
    rung_slice name = {NULL, 0};
    if (call->argc > 1 && !rung_resp_integer(call->argv[1], &version)) {
        rung__resp_error(call, "ERR Protocol version is not an integer or out of range");
        return;
    }
    if (version < 2 || version > 3) {
        rung__resp_error(call, "NOPROTO unsupported protocol version");
        return;
    }
    for (uint32_t i = 2; i < call->argc; i++) {
        uint32_t more = call->argc - 1 - i;
        if (rung__resp_is_word(call->argv[i], "auth") && more >= 2) {
            if (!rung__resp_log_in(call, call->argv[i + 1], call->argv[i + 2]))
                return;
            i += 2;
        } else if (rung__resp_is_word(call->argv[i], "setname") && more) {
            name = call->argv[++i];
            if (!check_name(call, name))
                return;
        } else {
            rung__resp_error_of(call, "ERR Syntax error in HELLO option '", call->argv[i], "'");
            return;
        }
    }
    rung__resp_session_limits(s, call->now_ms);
    if (s->is_stranger) {
        rung__resp_error(call,
                         "NOAUTH HELLO must be called with the client already authenticated, "
                         "otherwise the HELLO <proto> AUTH <user> <pass> option can be used to "
                         "authenticate the client and select the RESP protocol version at the same "
                         "time");
        return;
    }
    if (name.ptr)
        set_name(call, name);
    s->version = call->out->version = (uint8_t)version;
    put_hello(call);
}

void rung__resp_answer_reset(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    rung__resp_transaction_clear(s);
    s->name_len = 0;
    s->is_silent = false;
    s->version = call->out->version = 2;
    rung__resp_forget_who(s, call->now_ms);
    call->is_known = false;
    rung__resp_session_limits(s, call->now_ms);
    rung_resp_simple(call->out, "RESET");
}

/* ---- CLIENT ---- */

static void put_field(rung_buffer *b, const char *name, rung_slice value) {
    rung_buffer_put(b, name, strlen(name));
    rung_buffer_put(b, value.ptr, value.len);
}

static void put_number(rung_buffer *b, const char *name, uint64_t value) {
    char digits[20];
    put_field(b, name, rung_slice_of(digits, rung_digits_format(value, digits)));
}

/* One line about a session. */
static void describe(const rung__resp_session *s, int64_t now_ms, rung_buffer *b) {
    char peer[RUNG_ADDRESS_TEXT_MAX];
    bool is_multi = s->multi != RUNG__MULTI_NONE;
    rung_conn_peer(s->conn, peer);
    put_number(b, "id=", s->id);
    put_field(b, " addr=", rung_slice_str(peer));
    put_field(b, " name=", rung_slice_of(s->name, s->name_len));
    put_number(b, " age=", now_ms > s->since_ms ? (uint64_t)(now_ms - s->since_ms) / 1000 : 0);
    put_field(b, " flags=",
              rung_slice_str(s->state == RUNG__SESSION_BLOCKED ? "b"
                             : is_multi                        ? "x"
                                                               : "N"));
    if (is_multi)
        put_number(b, " db=0 multi=", s->queue.count);
    else
        put_field(b, " db=0 multi=", RUNG_SLICE("-1"));
    put_number(b, " watch=", s->watched_count);
    put_number(b, " tot-cmds=", s->commands);
    put_field(b, " user=", s->who.key_id_len ? rung_who_key(&s->who) : RUNG_SLICE("default"));
    put_number(b, " resp=", s->version);
    rung_buffer_put(b, "\n", 1);
}

/* Only an admin may see the other connections. */
static bool may_list(rung__resp_call *call) {
    return rung__resp_has_role(call->s, RUNG_ROLE_ADMIN, (rung_slice){NULL, 0}, call->now_ms) ||
           rung__resp_error(call,
                            "NOPERM this user has no permissions to run the 'client|list' command");
}

/* CLIENT INFO is about one session, CLIENT LIST about all. */
static void client_list(rung__resp_call *call, const rung__resp_session *only) {
    rung_buffer lines = {.alloc = call->r->config.alloc, .limit = 8 << 20};
    for (const rung__resp_session *s = only ? only : call->r->sessions.first; s;
         s = only ? NULL : s->all.next)
        describe(s, call->now_ms, &lines);
    if (lines.is_failed)
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
    else
        rung_resp_verbatim(call->out, rung_buffer_slice(&lines));
    rung_buffer_deinit(&lines);
}

static void client_reply(rung__resp_call *call, rung_slice mode) {
    rung__resp_flush(call); /* it does not concern earlier replies */
    if (rung__resp_is_word(mode, "on")) {
        call->s->is_silent = false;
        rung_resp_simple(call->out, "OK");
    } else if (rung__resp_is_word(mode, "off")) {
        call->s->is_silent = true;
    } else if (rung__resp_is_word(mode, "skip")) {
        rung__resp_error(call, "ERR CLIENT REPLY SKIP is not supported by Rung, see docs/redis.md");
    } else {
        rung__resp_error_syntax(call);
    }
}

static void client_help(rung__resp_call *call) {
    static const char lines[] =
        "CLIENT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\n"
        "GETNAME\n    Return the name of the current connection.\n"
        "ID\n    Return the ID of the current connection.\n"
        "INFO\n    Return information about the current client connection.\n"
        "LIST\n    Return information about client connections.\n"
        "REPLY (ON|OFF)\n    Control the replies sent to the current connection.\n"
        "SETINFO <option> <value>\n    Accepted, and not kept.\n"
        "SETNAME <name>\n    Assign the name <name> to the current connection.\n"
        "HELP\n    Print this help.\n";
    rung__resp_put_lines(call, lines);
}

static bool has_args(rung__resp_call *call, uint32_t count, const char *name) {
    return call->argc == count ||
           rung__resp_error_of(call, "ERR wrong number of arguments for 'client|",
                               rung_slice_str(name), "' command");
}

void rung__resp_answer_client(rung__resp_call *call) {
    rung__resp_session *s = call->s;
    rung_slice sub = call->argv[1];
    if (rung__resp_is_word(sub, "id")) {
        if (has_args(call, 2, "id"))
            rung_resp_int(call->out, (int64_t)s->id);
    } else if (rung__resp_is_word(sub, "getname")) {
        if (!has_args(call, 2, "getname"))
            return;
        if (s->name_len)
            rung_resp_bulk(call->out, rung_slice_of(s->name, s->name_len));
        else
            rung_resp_null(call->out);
    } else if (rung__resp_is_word(sub, "setname")) {
        if (has_args(call, 3, "setname") && set_name(call, call->argv[2]))
            rung_resp_simple(call->out, "OK");
    } else if (rung__resp_is_word(sub, "info")) {
        client_list(call, s);
    } else if (rung__resp_is_word(sub, "list")) {
        if (may_list(call))
            client_list(call, NULL);
    } else if (rung__resp_is_word(sub, "reply")) {
        if (has_args(call, 3, "reply"))
            client_reply(call, call->argv[2]);
    } else if (rung__resp_is_word(sub, "setinfo") || rung__resp_is_word(sub, "no-evict") ||
               rung__resp_is_word(sub, "no-touch")) {
        rung_resp_simple(call->out, "OK");
    } else {
        client_help(call);
    }
}
