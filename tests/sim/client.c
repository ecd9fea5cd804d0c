/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sim/client.h"

#include "sim/fields.h"
#include "sim/world.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_client_init(sim_client *c, sim_world *w, uint8_t number) {
    *c = (sim_client){.world = w, .number = number, .key = number};
}

void sim_client_deinit(sim_client *c) {
    free(c->in.data);
    free(c->line.data);
}

enum { SENT_MAX = 40 }; /* no memory may be left for good */

static uint32_t below(sim_client *c, uint32_t n) {
    return (uint32_t)rung_rng_below(&c->world->rng, n);
}

static bool chance(sim_client *c, uint32_t percent) {
    return below(c, 100) < percent;
}

/* ---- what became of a request ---- */

static bool is_one_of(const char *word, const char *words) {
    size_t len = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += len)
        if ((at == words || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

static sim_answer classify_http(int status, const char *code) {
    if (status < 300)
        return SIM_OK;
    if (status == 401 || status == 403)
        return SIM_DENIED;
    if (is_one_of(code,
                  "board_not_found player_not_found window_not_found not_archived id_conflict "
                  "refused stale_id out_of_range"))
        return SIM_REFUSED;
    if (is_one_of(code, "unavailable outcome_unknown archive_unavailable archive_behind"))
        return SIM_UNKNOWN;
    return SIM_NOT_TAKEN;
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static sim_answer classify_reply(const char *text) {
    text += begins(text, "[-"); /* a transaction, all of whose commands have the same answer */
    if (text[0] != '-')
        return SIM_OK;
    if (begins(text, "-NOAUTH") || begins(text, "-NOPERM") || begins(text, "-WRONGPASS"))
        return SIM_DENIED;
    if (begins(text, "-REFUSED") || begins(text, "-ERR no such board") || begins(text, "-ERR id"))
        return SIM_REFUSED;
    if (begins(text, "-TRYAGAIN") || begins(text, "-OOM command") ||
        begins(text, "-MISCONF there is no space") || begins(text, "-MISCONF Kafka") ||
        begins(text, "-EXECABORT"))
        return SIM_NOT_TAKEN;
    return SIM_UNKNOWN;
}

static void retry(sim_client *c, sim_op *op) {
    if (op->kind == SIM_SUBMIT && op->id[0] && !op->is_acked && c->retry_count < SIM_RETRIES_MAX &&
        op->sent < SENT_MAX)
        c->retries[c->retry_count++] = op;
    else
        op->is_given_up = true;
}

/* The answer's sequence: monotonic reads, and one's own writes (P6). */
static uint64_t check_seq(sim_client *c, const sim_flight *f, const char *text, uint64_t hi) {
    const sim_fields *fields = text[0] == '{' ? c->world->fields : NULL;
    const char *value = fields ? sim_fields_get(fields, "seq") : NULL;
    uint64_t seq = value ? strtoull(value, NULL, 10) : 0;
    if (!value)
        return 0;
    if (seq > hi)
        sim_fail(&c->world->trace, "an answer of seq %llu, and the server has applied %llu",
                 (unsigned long long)seq, (unsigned long long)hi);
    if (!sim_op_is_change(f->op) && (seq < f->lo || seq < f->op->min_seq))
        sim_fail(&c->world->trace,
                 "P6: client %u read seq %llu, asked for %llu, after the server had %llu",
                 c->number, (unsigned long long)seq, (unsigned long long)f->op->min_seq,
                 (unsigned long long)f->lo);
    c->seen = seq > c->seen ? seq : c->seen;
    if (seq > c->world->seen)
        c->world->seen = seq;
    return seq;
}

static void check_probe(sim_client *c, const sim_op *op, int status, const char *text) {
    bool is_good = status == 0 ? text[0] == '-'
                               : status == (op->probe == 0   ? 400
                                            : op->probe == 1 ? 422
                                                             : 404);
    if (!is_good && status != 404 && status != 408 && status != 503 && status != 401)
        sim_fail(&c->world->trace, "P8: a bad request was answered %d %.100s", status, text);
}

/* A window that is closed may come from the archive, which has what it names, and perhaps more. */
static bool is_archived(const sim_fields *f) {
    const char *closed = sim_fields_get(f, "closed");
    return closed && strcmp(closed, "1") == 0;
}

static void claim(sim_client *c, const sim_flight *f, sim_answer answer, int status,
                  const char *text) {
    sim_judge *j = &c->world->judge;
    uint64_t hi = c->node->applied;
    bool is_change = sim_op_is_change(f->op);
    uint64_t seq = answer == SIM_OK ? check_seq(c, f, text, hi) : 0;
    if (seq && is_archived(c->world->fields))
        c->world->report.closed++;
    if (f->op->kind == SIM_DEFINE && answer == SIM_OK)
        c->world->is_defined[f->op->board] = true;
    sim_claim claim = {.op = f->op,
                       .answer = answer,
                       .status = status,
                       .lo = f->lo,
                       .hi = hi,
                       .wall_ms = sim_node_wall_ms(c->node),
                       .has_archive = c->node->has_archive};
    if (!is_change && f->op->min_seq > claim.lo)
        claim.lo = f->op->min_seq;
    if (seq && f->op->kind != SIM_SUBMIT) { /* a duplicate's seq is that of the first */
        claim.lo = is_change ? f->lo : seq; /* a change's event is no later */
        claim.hi = is_archived(c->world->fields) ? hi : seq;
    }
    if (claim.lo > claim.hi)
        sim_fail(&c->world->trace,
                 "P6: client %u, answered %d at seq %llu, must not be before %llu", c->number,
                 status, (unsigned long long)claim.hi, (unsigned long long)claim.lo);
    sim_judge_claim(j, claim, text);
}

static bool has_model(const sim_op *op) {
    return op->kind < SIM_SNAPSHOT;
}

static void answered(sim_client *c, const sim_flight *f, sim_answer answer, int status,
                     const char *text) {
    sim_op *op = f->op;
    char what[300];
    sim_op_describe(op, what, sizeof what);
    sim_tell(&c->world->trace, "client %u: %s: %d %.120s", c->number, what, status, text);
    sim_world_answered(c->world, c, f, answer, status, text);
    if (op->kind == SIM_PROBE)
        check_probe(c, op, status, text);
    if (answer == SIM_DENIED)
        c->is_denied = true;
    if (answer == SIM_NOT_TAKEN || answer == SIM_DENIED) {
        op->denied++;
        retry(c, op);
        return;
    }
    if (answer == SIM_UNKNOWN) {
        c->is_denied = c->world->taste.nodes > 1; /* another node may know */
        retry(c, op);
        return;
    }
    op->is_acked = true;
    if (has_model(op))
        claim(c, f, answer, status, text);
}

static sim_flight take_flight(sim_client *c) {
    if (!c->flight_count)
        sim_fail(&c->world->trace, "client %u was answered and has asked nothing: %.*s", c->number,
                 (int)(c->in.len < 100 ? c->in.len : 100), c->in.data);
    sim_flight f = c->flights[0];
    c->flight_count--;
    memmove(c->flights, c->flights + 1, c->flight_count * sizeof f);
    return f;
}

/* ---- hearing HTTP ---- */

typedef struct head {
    int status;
    size_t size, body; /* of the head; of the body that follows it */
    bool is_chunked, is_last;
} head;

/* A line of the head by its name; NULL: it is not there. */
static const char *header(const char *bytes, size_t size, const char *name) {
    char want[40];
    snprintf(want, sizeof want, "\r\n%s:", name);
    const char *at = memmem(bytes, size, want, strlen(want));
    return at ? at + strlen(want) + 1 : NULL;
}

static bool read_head(const sim_client *c, head *h) {
    const char *end = c->in.len ? memmem(c->in.data, c->in.len, "\r\n\r\n", 4) : NULL;
    if (!end)
        return false;
    size_t size = (size_t)(end - c->in.data) + 4;
    const char *length = header(c->in.data, size, "Content-Length");
    const char *coding = header(c->in.data, size, "Transfer-Encoding");
    const char *last = header(c->in.data, size, "Connection");
    if (c->in.len < 12 || memcmp(c->in.data, "HTTP/1.1 ", 9) != 0 || (!length && !coding))
        sim_fail(&c->world->trace, "client %u heard no HTTP: %.*s", c->number,
                 (int)(size < 100 ? size : 100), c->in.data);
    *h = (head){.status = (int)strtol(c->in.data + 9, NULL, 10),
                .size = size,
                .body = length ? strtoul(length, NULL, 10) : 0,
                .is_chunked = coding != NULL,
                .is_last = last && begins(last, "close")};
    return true;
}

static const char *code_of(sim_client *c, const char *text, const char *path) {
    sim_fields *f = c->world->fields;
    if (!sim_fields_read(f, text, strlen(text)))
        sim_fail(&c->world->trace, "client %u heard no JSON: %.200s", c->number, text);
    const char *code = sim_fields_get(f, "%s", path);
    return code ? code : "";
}

/* The stream as a whole was refused: no line of it was taken. */
static void stream_refused(sim_client *c, int status, const char *text) {
    while (c->flight_count) {
        sim_flight f = take_flight(c);
        answered(c, &f, classify_http(status, code_of(c, text, "code")), status, text);
    }
}

/* The bytes of a snapshot, which are no text. */
static void hear_download(sim_client *c, const head *h) {
    sim_flight f = take_flight(c);
    const char *seq = header(c->in.data, h->size, "Rung-Seq");
    CHECK(seq != NULL);
    sim_world_downloaded(c->world, strtoull(seq, NULL, 10), c->in.data + h->size, h->body);
    sim_bytes_drop(&c->in, h->size + h->body);
    answered(c, &f, SIM_OK, h->status, "a snapshot");
}

/* True: go on. */
static bool hear_response(sim_client *c) {
    head h;
    if (!read_head(c, &h) || (!h.is_chunked && c->in.len < h.size + h.body))
        return false;
    if (h.status == 200 && c->flight_count && c->flights[0].op->kind == SIM_DOWNLOAD) {
        hear_download(c, &h);
        return c->link != NULL;
    }
    if (h.is_chunked) {
        CHECK(c->is_streaming);
        sim_bytes_drop(&c->in, h.size);
        c->is_answering = true;
        c->chunk_left = 0;
        return true;
    }
    char *text = strndup(c->in.data + h.size, h.body);
    CHECK(text != NULL);
    sim_bytes_drop(&c->in, h.size + h.body);
    const char *code = code_of(c, text, "code");
    if (c->is_streaming) {
        stream_refused(c, h.status, text);
        sim_client_leave(c, false);
    } else {
        sim_flight f = take_flight(c);
        answered(c, &f, classify_http(h.status, code), h.status, text);
    }
    free(text);
    return c->link != NULL;
}

static void hear_line(sim_client *c) {
    sim_bytes_add(&c->line, "", 1);
    const char *text = c->line.data, *error = code_of(c, text, "error.status");
    c->line.len = 0;
    if (error[0] && !c->flight_count) { /* the server ends the stream, and says why */
        sim_tell(&c->world->trace, "client %u: the stream is ended: %.100s", c->number, text);
        return;
    }
    sim_flight f = take_flight(c);
    if (error[0]) {
        int status = (int)strtol(error, NULL, 10);
        answered(c, &f, classify_http(status, sim_fields_get(c->world->fields, "error.code")),
                 status, text);
    } else {
        answered(c, &f, SIM_OK, 200, text);
    }
}

static void stream_ended(sim_client *c) {
    if (c->flight_count)
        sim_fail(&c->world->trace, "client %u: the stream has ended, and %u lines have no result",
                 c->number, c->flight_count);
    c->is_streaming = c->is_stream_over = c->is_answering = false;
}

/* The body of a stream's answer: chunks, in these lines. True: go on. */
static bool hear_chunks(sim_client *c) {
    if (c->chunk_left == 0) {
        const char *end = c->in.len ? memmem(c->in.data, c->in.len, "\r\n", 2) : NULL;
        if (!end)
            return false;
        size_t size = strtoul(c->in.data, NULL, 16);
        if (size == 0 && c->in.len < (size_t)(end - c->in.data) + 4)
            return false;
        sim_bytes_drop(&c->in, (size_t)(end - c->in.data) + (size ? 2 : 4));
        if (size == 0)
            stream_ended(c);
        c->chunk_left = size ? size + 2 : 0; /* with the CR LF behind it */
        return true;
    }
    if (!c->in.len)
        return false;
    char byte = c->in.data[0];
    sim_bytes_drop(&c->in, 1);
    if (c->chunk_left-- <= 2)
        return true;
    if (byte == '\n')
        hear_line(c);
    else
        sim_bytes_add(&c->line, &byte, 1);
    return c->link != NULL;
}

/* ---- hearing the Redis protocol ---- */

static bool hear_reply(sim_client *c) {
    char text[1200];
    ptrdiff_t n = c->in.len ? sim_reply_read(c->in.data, c->in.len, text, sizeof text) : 0;
    if (n < 0)
        sim_fail(&c->world->trace, "client %u heard no reply: %.*s", c->number,
                 (int)(c->in.len < 100 ? c->in.len : 100), c->in.data);
    if (n == 0)
        return false;
    sim_bytes_drop(&c->in, (size_t)n);
    if (c->unread) {
        c->unread--;
        return true;
    }
    if (!c->flight_count &&
        text[0] == '-') { /* why it is about to close, such as no AUTH in time */
        sim_tell(&c->world->trace, "client %u is told: %.100s", c->number, text);
        return true;
    }
    if (c->flight_count && --c->flights[0].replies_left > 0) {
        if (strcmp(text, "OK") != 0 && strcmp(text, "QUEUED") != 0 && text[0] != '-')
            sim_fail(&c->world->trace, "client %u: %s within a transaction", c->number, text);
        return true;
    }
    sim_flight f = take_flight(c);
    answered(c, &f, classify_reply(text), 0, text);
    return c->link != NULL;
}

void sim_client_got(void *client, const char *bytes, size_t len) {
    sim_client *c = client;
    sim_bytes_add(&c->in, bytes, len);
    while (c->link && (c->mode == SIM_MODE_RESP ? hear_reply(c)
                       : c->is_answering        ? hear_chunks(c)
                                                : hear_response(c)))
        continue;
}

/* ---- the end of a connection ---- */

/* What was under way may have happened or not. */
static void forget_connection(sim_client *c) {
    for (uint32_t i = 0; i < c->flight_count; i++)
        retry(c, c->flights[i].op);
    c->flight_count = 0;
    c->link = NULL;
    c->in.len = c->line.len = 0;
    c->unread = 0;
    c->is_streaming = c->is_stream_over = c->is_answering = c->is_denied = false;
    c->chunk_left = 0;
}

void sim_client_ended(void *client, bool is_broken) {
    sim_client *c = client;
    sim_tell(&c->world->trace, "client %u: the connection %s, %u under way", c->number,
             is_broken ? "broke" : "ended", c->flight_count);
    forget_connection(c);
}

void sim_client_leave(sim_client *c, bool with_reset) {
    sim_tell(&c->world->trace, "client %u leaves, %u under way", c->number, c->flight_count);
    sim_net_close(c->link, with_reset);
    forget_connection(c);
}

/* ---- asking ---- */

static void begin_stream(sim_client *c) {
    char bytes[400];
    const char *key = sim_world_key(c->world, c);
    int len = snprintf(bytes, sizeof bytes,
                       "POST /v1/scores HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                       "application/x-ndjson\r\nTransfer-Encoding: chunked\r\n%s%s%s\r\n",
                       key[0] ? "Authorization: Bearer " : "", key, key[0] ? "\r\n" : "");
    sim_net_send(c->link, bytes, (size_t)len);
    c->is_streaming = true;
}

static void end_stream(sim_client *c) {
    sim_tell(&c->world->trace, "client %u ends its stream", c->number);
    sim_net_send(c->link, "0\r\n\r\n", 5);
    c->is_stream_over = true;
}

static void send_op(sim_client *c, const sim_op *op) {
    char bytes[SIM_REQUEST_MAX], chunk[SIM_REQUEST_MAX + 20];
    size_t len;
    if (c->mode == SIM_MODE_HTTP) {
        len = sim_op_http(op, sim_world_key(c->world, c), bytes, sizeof bytes);
    } else if (c->mode == SIM_MODE_RESP) {
        len = sim_op_resp(op, bytes, sizeof bytes);
    } else {
        if (!c->is_streaming)
            begin_stream(c);
        len = sim_op_line(op, bytes, sizeof bytes);
        len = (size_t)snprintf(chunk, sizeof chunk, "%zx\r\n%.*s\r\n", len, (int)len, bytes);
        sim_net_send(c->link, chunk, len);
        return;
    }
    sim_net_send(c->link, bytes, len);
}

static bool can_ask(const sim_client *c, const sim_op *op) {
    if (!c->link || c->flight_count == SIM_FLIGHTS_MAX || c->is_stream_over)
        return false;
    bool is_key_op = op->kind == SIM_KEYS_CHANGE || op->kind == SIM_ZTOP ||
                     op->kind == SIM_ZSCORE || op->kind == SIM_ZCARD;
    switch (c->mode) {
    case SIM_MODE_STREAM:
        return op->kind == SIM_SUBMIT;
    case SIM_MODE_RESP:
        return is_key_op || op->kind == SIM_SUBMIT || op->kind == SIM_PLAYER ||
               (op->kind == SIM_TOP && op->board != SIM_DECAY) || op->kind == SIM_PROBE;
    default:
        return !is_key_op;
    }
}

bool sim_client_ask(sim_client *c, sim_op *op) {
    char what[300];
    if (!can_ask(c, op))
        return false;
    op->is_resp = c->mode == SIM_MODE_RESP;
    op->client = c->number;
    op->sent++;
    sim_op_describe(op, what, sizeof what);
    sim_tell(&c->world->trace, "client %u %s %s%s", c->number,
             c->mode == SIM_MODE_HTTP     ? "asks"
             : c->mode == SIM_MODE_STREAM ? "streams"
                                          : "commands",
             what, op->sent > 1 ? ", again" : "");
    sim_flight *f = &c->flights[c->flight_count++];
    *f = (sim_flight){.op = op,
                      .lo = op->is_latest ? sim_world_applied(c->world) : c->node->applied,
                      .replies_left = sim_op_replies(op)};
    sim_world_sent(c->world, c, f);
    send_op(c, op);
    return true;
}

static uint32_t undefined_board(const sim_client *c) {
    uint32_t board = 0;
    while (board < SIM_BOARDS && c->world->is_defined[board])
        board++;
    return board;
}

static bool open_connection(sim_client *c) {
    char bytes[200];
    c->mode = (sim_mode)below(c, 3);
    if (c->world->taste.nodes > 1 && undefined_board(c) < SIM_BOARDS && chance(c, 75))
        c->mode = SIM_MODE_HTTP; /* nodes start slowly: boards first */
    if (c->world->keys[c->key].is_revoked_perhaps && chance(c, 70))
        c->key = 0;
    uint16_t port = c->mode == SIM_MODE_RESP ? SIM_RESP_PORT : SIM_HTTP_PORT;
    c->node = sim_world_some_node(c->world);
    if (!c->node->loop || !sim_loop_is_listening(c->node->loop, port))
        return false;
    c->link = sim_net_connect(&c->node->wire, port, c);
    const char *key = sim_world_key(c->world, c);
    sim_tell(&c->world->trace, "client %u connects to node %u: link %u, %s", c->number,
             c->node->number, c->link->number,
             c->mode == SIM_MODE_HTTP     ? "HTTP"
             : c->mode == SIM_MODE_STREAM ? "a stream"
                                          : "Redis");
    if (c->mode == SIM_MODE_RESP && key[0]) {
        int len =
            snprintf(bytes, sizeof bytes, "*2\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n", strlen(key), key);
        sim_net_send(c->link, bytes, (size_t)len);
        c->unread = 1;
    }
    return true;
}

/* ---- wanting ---- */

static void want_submission(sim_client *c, sim_op *op) {
    op->kind = SIM_SUBMIT;
    op->board = (uint8_t)below(c, SIM_BOARDS);
    op->player = (uint8_t)below(c, SIM_PLAYERS);
    op->is_delta = op->board != SIM_DECAY && chance(c, 20);
    op->value = (int32_t)below(c, 30) - (op->board == 1 ? 8 : 0) + (op->board == SIM_DECAY);
    if (c->world->taste.has_meta && chance(c, 60))
        op->meta = 1 + below(c, SIM_META_MAX);
    if (chance(c, 75))
        snprintf(op->id, sizeof op->id, "c%u-%u", c->number, ++c->ids);
}

static void want_command(sim_client *c, sim_command *to) {
    static const char verbs[] = "AAAIIR";
    *to = (sim_command){.verb = verbs[below(c, 6)], .key = (uint8_t)below(c, SIM_KEYS)};
    to->count = to->verb == 'I' || chance(c, 60) ? 1 : 2;
    to->members[0] = (uint8_t)below(c, SIM_MEMBERS);
    to->members[1] = (uint8_t)((to->members[0] + 1) % SIM_MEMBERS);
    to->scores[0] = (int32_t)below(c, 9);
    to->scores[1] = (int32_t)below(c, 9);
}

static void want_keys_change(sim_client *c, sim_op *op) {
    op->kind = SIM_KEYS_CHANGE;
    op->is_multi = chance(c, 40);
    op->command_count = op->is_multi ? 1 + below(c, SIM_COMMANDS_MAX) : 1;
    for (uint32_t i = 0; i < op->command_count; i++)
        want_command(c, &op->commands[i]);
}

/* The same page again and again: whoever keeps it must see that it is old. */
static void want_front_page(sim_op *op) {
    op->kind = SIM_TOP;
    op->limit = SIM_PLAYERS;
}

/* What is shown of fading scores is all or nothing: a page of them cannot be told from the answer alone. */
static void want_fading_page(sim_op *op) {
    want_front_page(op);
    op->board = SIM_DECAY;
}

/* One of the last hours: it may be over and gone from memory. */
static void want_hour(sim_client *c, sim_op *op) {
    int64_t hour = c->world->wall_ms / 3600000 - below(c, 4);
    rung_window_id_format(RUNG_WINDOW_HOUR, hour, op->window_id);
}

/* One's own writes; with several nodes also those of everybody, acknowledged by whichever node. */
static void want_fresh(sim_client *c, sim_op *op) {
    bool is_cluster = c->world->taste.nodes > 1;
    op->is_latest = is_cluster && chance(c, 40);
    if (!op->is_latest)
        op->min_seq = is_cluster && chance(c, 60) ? c->world->seen
                                                  : c->seen + (chance(c, 80) ? 0 : below(c, 4));
}

static void want_question(sim_client *c, sim_op *op) {
    static const sim_op_kind kinds[] = {SIM_TOP,    SIM_TOP,    SIM_TOP,
                                        SIM_PLAYER, SIM_PLAYER, SIM_FRIENDS};
    bool is_http = c->mode != SIM_MODE_RESP;
    if (is_http && c->world->taste.nodes > 1 && chance(c, 70))
        want_fresh(c, op);
    op->kind = kinds[below(c, is_http ? 6 : 5)];
    op->board = (uint8_t)below(c, is_http ? SIM_BOARDS : SIM_DECAY);
    if (op->board == SIM_DECAY) {
        want_fading_page(op);
        return;
    }
    if (op->board == 0 && is_http && chance(c, 30)) {
        want_front_page(op);
        return;
    }
    if (op->board == 0 && is_http && chance(c, 20))
        op->kind = SIM_TEAMS;
    op->player = (uint8_t)below(c, SIM_PLAYERS);
    op->limit = (uint8_t)(1 + below(c, SIM_PLAYERS));
    op->offset = (uint8_t)(chance(c, 70) ? 0 : below(c, 4));
    op->around = (uint8_t)below(c, 4);
    if (op->board == 0 && op->kind != SIM_TEAMS && chance(c, 30)) {
        op->has_country = true;
        op->country = (uint8_t)below(c, 3);
    }
    if (c->mode == SIM_MODE_RESP)
        return; /* the current window cannot be told from the reply */
    op->window = (uint8_t)below(c, sim_board_windows[op->board]);
    if (c->world->taste.has_archive && chance(c, 60))
        op->window = op->board == 2 ? 0 : 1;
    op->style = (uint8_t)below(c, 4);
    if (c->world->taste.nodes == 1 && chance(c, 40))
        want_fresh(c, op);
    if (op->window == 1 && chance(c, c->world->taste.has_archive ? 70 : 25))
        want_hour(c, op);
}

static void want_key_question(sim_client *c, sim_op *op) {
    static const sim_op_kind kinds[] = {SIM_ZTOP, SIM_ZTOP, SIM_ZSCORE, SIM_ZCARD};
    op->kind = kinds[below(c, 4)];
    op->board = (uint8_t)below(c, SIM_KEYS);
    op->player = (uint8_t)below(c, SIM_MEMBERS);
}

static void want_moderation(sim_client *c, sim_op *op) {
    static const sim_op_kind kinds[] = {SIM_PROFILE, SIM_PROFILE, SIM_PROFILE, SIM_BAN,
                                        SIM_UNBAN,   SIM_REMOVE,  SIM_FRIEND,  SIM_FRIEND,
                                        SIM_FRIEND,  SIM_UNFRIEND};
    op->kind = kinds[below(c, 10)];
    op->is_follow = chance(c, 30);
    op->board = (uint8_t)below(c, SIM_BOARDS);
    op->player = (uint8_t)below(c, SIM_PLAYERS);
    op->other = (uint8_t)((op->player + 1 + below(c, SIM_PLAYERS - 1)) % SIM_PLAYERS);
    op->has_country = chance(c, 85);
    op->country = (uint8_t)below(c, 3);
}

static void want_definition(sim_op *op, uint32_t board) {
    op->kind = SIM_DEFINE;
    op->board = (uint8_t)board;
    op->value = (int32_t)op->number;
}

static void want_over_http(sim_client *c, sim_op *op) {
    uint32_t board = undefined_board(c), dice = below(c, 100);
    if (board < SIM_BOARDS && dice < 60)
        want_definition(op, board);
    else if (dice < (c->world->taste.has_archive ? 25 : 45))
        want_submission(c, op);
    else if (dice < 80)
        want_question(c, op);
    else if (dice < 92)
        want_moderation(c, op);
    else if (dice < 95)
        op->kind = c->world->taste.wipe && chance(c, 60) ? SIM_DOWNLOAD : SIM_SNAPSHOT;
    else if (dice < 97)
        want_definition(op, below(c, SIM_BOARDS));
    else if (!sim_world_want_revocation(c->world, op)) {
        op->kind = SIM_PROBE;
        op->probe = (uint8_t)below(c, 3);
    }
}

static void want_over_resp(sim_client *c, sim_op *op) {
    uint32_t dice = below(c, 100);
    if (dice < 25)
        want_submission(c, op);
    else if (dice < 60)
        want_keys_change(c, op);
    else if (dice < 78)
        want_key_question(c, op);
    else if (dice < 97)
        want_question(c, op);
    else {
        op->kind = SIM_PROBE;
        op->probe = (uint8_t)below(c, 2);
    }
}

static void ask_something(sim_client *c) {
    uint32_t i = c->retry_count ? below(c, c->retry_count) : 0;
    if (c->retry_count && chance(c, 60) && sim_client_ask(c, c->retries[i])) {
        c->retries[i] = c->retries[--c->retry_count];
        return;
    }
    if (c->flight_count == SIM_FLIGHTS_MAX || c->is_stream_over)
        return;
    sim_op *op = sim_judge_new_op(&c->world->judge);
    if (c->mode == SIM_MODE_STREAM)
        want_submission(c, op);
    else if (c->mode == SIM_MODE_RESP)
        want_over_resp(c, op);
    else
        want_over_http(c, op);
    sim_op_set_tag(op);
    CHECK(sim_client_ask(c, op));
}

void sim_client_act(sim_client *c) {
    if (!c->link) {
        open_connection(c);
        return;
    }
    if (c->mode == SIM_MODE_STREAM && c->is_streaming && !c->is_stream_over && chance(c, 12)) {
        end_stream(c);
        return;
    }
    if ((c->is_denied && chance(c, 50)) || (!c->flight_count && !c->is_streaming && chance(c, 5))) {
        sim_client_leave(c, chance(c, 50));
        return;
    }
    for (uint32_t n = chance(c, 25) ? 2 + below(c, 4) : 1; n > 0 && c->link; n--)
        ask_something(c);
}

bool sim_client_settle(sim_client *c) {
    if (c->is_denied && c->link)
        sim_client_leave(c, false);
    if (!c->link && c->retry_count)
        open_connection(c);
    while (c->link && c->retry_count && sim_client_ask(c, c->retries[c->retry_count - 1]))
        c->retry_count--;
    if (c->link && c->is_streaming && !c->is_stream_over)
        end_stream(c);
    return c->flight_count || c->retry_count || c->is_streaming;
}
