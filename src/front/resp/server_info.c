/* SPDX-License-Identifier: Apache-2.0 */
/* Commands about the server: what clients and monitoring tools ask before they do anything. */
#include "front/resp/arguments.h"
#include "front/resp/handlers.h"
#include "front/resp/permission.h"
#include "front/resp/server.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- INFO ---- */

typedef struct report {
    char bytes[4096];
    size_t len;
    const rung__resp_call *call;
} report;

__attribute__((format(printf, 2, 3))) static void line(report *t, const char *format, ...) {
    size_t room = sizeof t->bytes - t->len;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->bytes + t->len, room, format, args);
    va_end(args);
    if (n > 0)
        t->len += (size_t)n < room ? (size_t)n : room - 1;
}

static bool is_wanted(const rung__resp_call *call, const char *section) {
    const char *words[] = {section, "all", "default", "everything", NULL};
    bool is_found = call->argc == 1;
    for (uint32_t i = 1; i < call->argc && !is_found; i++)
        is_found = rung__resp_is_one_of(call->argv[i], words);
    return is_found;
}

static bool section(report *t, const char *name, const char *title) {
    if (!is_wanted(t->call, name))
        return false;
    line(t, "%s# %s\r\n", t->len ? "\r\n" : "", title);
    return true;
}

static void server_section(report *t) {
    const rung_resp *r = t->call->r;
    if (section(t, "server", "Server"))
        line(t,
             "redis_version:%s\r\nrung_version:%s\r\nredis_mode:standalone\r\nos:Linux\r\n"
             "arch_bits:64\r\ntcp_port:%u\r\nuptime_in_seconds:%lld\r\n",
             RUNG__REDIS_VERSION, r->config.version, (unsigned)r->config.port,
             (long long)((t->call->now_ms - r->started_ms) / 1000));
}

static void clients_section(report *t) {
    const rung_resp *r = t->call->r;
    if (section(t, "clients", "Clients"))
        line(t, "connected_clients:%u\r\nblocked_clients:%u\r\n", r->stats.open, r->stats.blocked);
}

/* A key that sees only some boards is not told how large all are. */
static void memory_section(report *t, const rung_hub_stats *hub) {
    if (!section(t, "memory", "Memory"))
        return;
    if (rung__resp_sees_all(t->call))
        line(t, "used_memory:%llu\r\n", (unsigned long long)hub->memory);
    line(t, "maxmemory:%llu\r\nmaxmemory_policy:noeviction\r\n",
         (unsigned long long)hub->memory_max);
}

static void persistence_section(report *t, const rung_hub_stats *hub) {
    if (section(t, "persistence", "Persistence"))
        line(t,
             "loading:0\r\naof_enabled:%d\r\naof_last_write_status:%s\r\n"
             "rdb_bgsave_in_progress:%d\r\nrdb_last_save_time:%lld\r\nlog_sequence:%llu\r\n",
             t->call->r->config.is_durable, hub->status == RUNG_OK ? "ok" : "err",
             hub->is_snapshotting, (long long)(hub->snapshot_ms / 1000),
             (unsigned long long)hub->applied_seq);
}

static void stats_section(report *t, const rung_hub_stats *hub) {
    const rung_resp *r = t->call->r;
    if (section(t, "stats", "Stats"))
        line(t,
             "total_connections_received:%llu\r\ntotal_commands_processed:%llu\r\n"
             "total_error_replies:%llu\r\nchanges_waiting:%u\r\nchanges_answered:%llu\r\n",
             (unsigned long long)r->stats.connections, (unsigned long long)r->stats.commands,
             (unsigned long long)r->stats.errors, hub->waiting, (unsigned long long)hub->answered);
}

/* Servers on one log are equal: each is a master. */
static void replication_section(report *t, const rung_hub_stats *hub) {
    if (!section(t, "replication", "Replication"))
        return;
    line(t, "role:master\r\nconnected_slaves:0\r\n");
    if (hub->log_end_seq)
        line(t, "log_end_sequence:%llu\r\nlog_lag:%llu\r\nlog_silent_ms:%lld\r\n",
             (unsigned long long)hub->log_end_seq,
             (unsigned long long)(hub->log_end_seq > hub->applied_seq
                                      ? hub->log_end_seq - hub->applied_seq
                                      : 0),
             (long long)hub->log_silent_ms);
}

void rung__resp_answer_info(rung__resp_call *call) {
    report t = {.call = call};
    rung_hub_stats hub = rung_hub_stat(call->r->hub);
    server_section(&t);
    clients_section(&t);
    memory_section(&t, &hub);
    persistence_section(&t, &hub);
    stats_section(&t, &hub);
    replication_section(&t, &hub);
    uint64_t keys = section(&t, "keyspace", "Keyspace") ? rung__resp_count_visible(call) : 0;
    if (keys)
        line(&t, "db0:keys=%llu,expires=0,avg_ttl=0\r\n", (unsigned long long)keys);
    rung_resp_verbatim(call->out, rung_slice_of(t.bytes, t.len));
}

/* ---- CONFIG ---- */

static bool matches_any(const rung__resp_call *call, const char *name) {
    for (uint32_t i = 2; i < call->argc; i++)
        if (rung__resp_glob(call->argv[i], rung_slice_str(name), NULL))
            return true;
    return false;
}

static void config_get(rung__resp_call *call) {
    const struct {
        const char *name, *value;
    } settings[] = {
        {"appendfsync", "always"},
        {"appendonly", call->r->config.is_durable ? "yes" : "no"},
        {"bind", ""},
        {"databases", "1"},
        {"io-threads", "1"},
        {"lua-time-limit", "0"},
        {"maxmemory", "0"},
        {"maxmemory-policy", "noeviction"},
        {"notify-keyspace-events", ""},
        {"proto-max-bulk-len", "1048576"},
        {"save", ""},
        {"slave-read-only", "yes"},
        {"tcp-keepalive", "60"},
        {"timeout", "0"},
        {"zset-max-listpack-entries", "128"},
        {"zset-max-listpack-value", "64"},
    };
    size_t n = sizeof settings / sizeof settings[0], count = 0;
    for (size_t i = 0; i < n; i++)
        count += matches_any(call, settings[i].name);
    rung_resp_map(call->out, count);
    for (size_t i = 0; i < n; i++)
        if (matches_any(call, settings[i].name)) {
            rung_resp_text(call->out, settings[i].name);
            rung_resp_text(call->out, settings[i].value);
        }
}

void rung__resp_answer_config(rung__resp_call *call) {
    static const char help[] =
        "CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\n"
        "GET <pattern>\n"
        "    Return parameters matching the glob-like <pattern> and their values.\n"
        "RESETSTAT\n    Accepted, and nothing is reset.\n"
        "HELP\n    Print this help.\n";
    rung_slice sub = call->argv[1];
    if (rung__resp_is_word(sub, "get")) {
        if (call->argc < 3)
            rung__resp_error(call, "ERR wrong number of arguments for 'config|get' command");
        else
            config_get(call);
    } else if (rung__resp_is_word(sub, "resetstat")) {
        rung_resp_simple(call->out, "OK");
    } else if (rung__resp_is_word(sub, "set") || rung__resp_is_word(sub, "rewrite")) {
        rung__resp_error_of(
            call, "ERR CONFIG ", sub,
            " is not supported by Rung, whose settings are in its own configuration");
    } else {
        rung__resp_put_lines(call, help);
    }
}

/* ---- COMMAND ---- */

static const struct {
    uint32_t flag;
    const char *name;
} flag_names[] = {
    {RUNG__WRITE, "write"},     {RUNG__READ, "readonly"},     {RUNG__DENYOOM, "denyoom"},
    {RUNG__ADMIN, "admin"},     {RUNG__BLOCKS, "blocking"},   {RUNG__FAST, "fast"},
    {RUNG__NO_AUTH, "no_auth"}, {RUNG__NO_MULTI, "no_multi"}, {RUNG__MOVABLE, "movablekeys"},
};
enum { FLAG_NAMES = sizeof flag_names / sizeof flag_names[0] };

static void put_flags(rung__resp_call *call, const rung__resp_command *c) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < FLAG_NAMES; i++)
        count += (c->flags & flag_names[i].flag) != 0;
    rung_resp_set(call->out, count);
    for (uint32_t i = 0; i < FLAG_NAMES; i++)
        if (c->flags & flag_names[i].flag)
            rung_resp_simple(call->out, flag_names[i].name);
}

static void put_categories(rung__resp_call *call, const rung__resp_command *c) {
    char group[32];
    size_t len = 0;
    group[len++] = '@';
    for (const char *p = c->group; *p && len < sizeof group - 1; p++)
        if (*p != '-')
            group[len++] = *p;
    group[len] = 0;
    rung_resp_set(call->out, 3);
    rung_resp_simple(call->out, c->flags & RUNG__WRITE ? "@write" : "@read");
    rung_resp_simple(call->out, group);
    rung_resp_simple(call->out, c->flags & RUNG__FAST ? "@fast" : "@slow");
}

/* Where the fixed keys are, in Redis 7's long form. */
static void put_key_specs(rung__resp_call *call, const rung__resp_command *c) {
    rung_resp_writer *out = call->out;
    if (!c->first_key) {
        rung_resp_array(out, 0);
        return;
    }
    rung_resp_array(out, 1);
    rung_resp_map(out, 3);
    rung_resp_text(out, "flags");
    rung_resp_set(out, 1);
    rung_resp_simple(out, c->flags & RUNG__WRITE ? "RW" : "RO");
    rung_resp_text(out, "begin_search");
    rung_resp_map(out, 2);
    rung_resp_text(out, "type");
    rung_resp_text(out, "index");
    rung_resp_text(out, "spec");
    rung_resp_map(out, 1);
    rung_resp_text(out, "index");
    rung_resp_int(out, c->first_key);
    rung_resp_text(out, "find_keys");
    rung_resp_map(out, 2);
    rung_resp_text(out, "type");
    rung_resp_text(out, "range");
    rung_resp_text(out, "spec");
    rung_resp_map(out, 3);
    rung_resp_text(out, "lastkey");
    rung_resp_int(out, c->last_key < 0 ? c->last_key : c->last_key - c->first_key);
    rung_resp_text(out, "keystep");
    rung_resp_int(out, c->key_step);
    rung_resp_text(out, "limit");
    rung_resp_int(out, 0);
}

static void put_command(rung__resp_call *call, const rung__resp_command *c) {
    rung_resp_writer *out = call->out;
    rung_resp_array(out, 10);
    rung_resp_text(out, c->name);
    rung_resp_int(out, c->arity);
    put_flags(call, c);
    rung_resp_int(out, c->first_key);
    rung_resp_int(out, c->last_key);
    rung_resp_int(out, c->key_step);
    put_categories(call, c);
    rung_resp_array(out, 0); /* tips */
    put_key_specs(call, c);
    rung_resp_array(out, 0); /* subcommands */
}

static void put_docs(rung__resp_call *call, const rung__resp_command *c) {
    rung_resp_writer *out = call->out;
    rung_resp_text(out, c->name);
    rung_resp_map(out, 3);
    rung_resp_text(out, "summary");
    rung_resp_text(out, c->summary);
    rung_resp_text(out, "since");
    rung_resp_text(out, c->since);
    rung_resp_text(out, "group");
    rung_resp_text(out, c->group);
}

/* The i-th command that was named; without names, of all there are. NULL: there is no such command. */
static const rung__resp_command *named(const rung__resp_call *call, uint32_t i) {
    return call->argc > 2 ? rung__resp_command_find(&call->r->commands, call->argv[2 + i])
                          : rung__resp_command_at(i);
}

static uint32_t named_count(const rung__resp_call *call) {
    return call->argc > 2 ? call->argc - 2 : rung__resp_command_count();
}

static void command_docs(rung__resp_call *call) {
    uint32_t n = named_count(call), count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += named(call, i) != NULL;
    rung_resp_map(call->out, count);
    for (uint32_t i = 0; i < n; i++)
        if (named(call, i))
            put_docs(call, named(call, i));
}

static void command_info(rung__resp_call *call) {
    uint32_t n = named_count(call);
    rung_resp_array(call->out, n);
    for (uint32_t i = 0; i < n; i++)
        if (named(call, i))
            put_command(call, named(call, i));
        else
            rung_resp_null_array(call->out);
}

static void command_getkeys(rung__resp_call *call) {
    const rung_slice *argv = call->argv + 2;
    uint32_t argc = call->argc - 2, count = 0;
    const rung__resp_command *c =
        argc ? rung__resp_command_find(&call->r->commands, argv[0]) : NULL;
    rung_slice key;
    bool is_good = c && rung__resp_command_takes(c, argc);
    while (is_good && rung__resp_command_key(c, argv, argc, count, &key))
        count++;
    if (!c)
        rung__resp_error(call, "ERR Invalid command specified");
    else if (!is_good)
        rung__resp_error(call, "ERR Invalid number of arguments specified for command");
    else if (!count)
        rung__resp_error(call, "ERR The command has no key arguments");
    else
        rung_resp_array(call->out, count);
    for (uint32_t i = 0; i < count && rung__resp_command_key(c, argv, argc, i, &key); i++)
        rung_resp_bulk(call->out, key);
}

static void command_list(rung__resp_call *call) {
    rung_resp_array(call->out, rung__resp_command_count());
    for (uint32_t i = 0; i < rung__resp_command_count(); i++)
        rung_resp_text(call->out, rung__resp_command_at(i)->name);
}

void rung__resp_answer_command(rung__resp_call *call) {
    static const char help[] =
        "COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\n"
        "(no subcommand)\n    Return details about all commands.\n"
        "COUNT\n    Return the total number of commands in this server.\n"
        "DOCS [<command-name> ...]\n"
        "    Return documentation details about multiple commands.\n"
        "GETKEYS <full-command>\n    Return the keys from a full command.\n"
        "INFO [<command-name> ...]\n    Return details about multiple commands.\n"
        "LIST\n    Return a list of all commands in this server.\n"
        "HELP\n    Print this help.\n";
    rung_slice sub = call->argc > 1 ? call->argv[1] : RUNG_SLICE("info");
    if (rung__resp_is_word(sub, "count"))
        rung_resp_int(call->out, rung__resp_command_count());
    else if (rung__resp_is_word(sub, "docs"))
        command_docs(call);
    else if (rung__resp_is_word(sub, "info"))
        command_info(call);
    else if (rung__resp_is_word(sub, "list"))
        command_list(call);
    else if (rung__resp_is_word(sub, "getkeys"))
        command_getkeys(call);
    else
        rung__resp_put_lines(call, help);
}

/* ---- small ones ---- */

void rung__resp_answer_time(rung__resp_call *call) {
    rung_resp_array(call->out, 2);
    rung_resp_bulk_int(call->out, call->now_ms / 1000);
    rung_resp_bulk_int(call->out, call->now_ms % 1000 * 1000);
}

void rung__resp_answer_role(rung__resp_call *call) {
    rung_resp_array(call->out, 3);
    rung_resp_text(call->out, "master");
    rung_resp_int(call->out, 0);
    rung_resp_array(call->out, 0);
}

void rung__resp_answer_lastsave(rung__resp_call *call) {
    int64_t saved_ms = rung_hub_stat(call->r->hub).snapshot_ms;
    rung_resp_int(call->out, (saved_ms ? saved_ms : call->r->started_ms) / 1000);
}
