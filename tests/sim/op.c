/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/op.h"

#include "support/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const sim_board_names[SIM_BOARDS] = {"race", "sum", "low", "hot"};
const char *const sim_windows[SIM_WINDOWS] = {"all", "hour", "day", "spring"};
const uint8_t sim_board_windows[SIM_BOARDS] = {2, 4, 1, 1};

static const char *const definitions[SIM_BOARDS] = {
    "{\"title\":\"t%d\",\"windows\":[\"all\",\"hour\"],\"keep\":0,\"scopes\":[\"country\"],"
    "\"teams\":{\"by\":\"country\"}}",
    "{\"title\":\"t%d\",\"update\":\"sum\",\"tie\":\"last\",\"rank\":\"dense\",\"windows\":["
    "\"all\",\"hour\",\"day\",{\"name\":\"spring\",\"starts\":\"2027-01-15T08:59:40Z\","
    "\"ends\":\"2027-01-15T09:20:00Z\"}],\"keep\":1,\"limits\":{\"min\":-20,\"max\":20}}",
    "{\"title\":\"t%d\",\"score\":{\"order\":\"asc\"},\"update\":\"last\",\"tie\":\"player\","
    "\"rank\":"
    "\"unique\"}",
    "{\"title\":\"t%d\",\"score\":{\"type\":\"real\"},\"update\":\"decay\",\"half_life\":600}",
};

void sim_player_name(uint32_t player, char out[8]) {
    snprintf(out, 8, "p%u", player % 100);
}

void sim_member_name(uint32_t member, char out[8]) {
    snprintf(out, 8, "m%u", member % 100);
}

void sim_key_name(uint32_t key, char out[8]) {
    snprintf(out, 8, "k%u", key % 100);
}

const char *sim_country(uint32_t country) {
    static const char *const names[] = {"FI", "PT", "NZ"};
    return names[country % 3];
}

bool sim_op_is_change(const sim_op *op) {
    return op->kind <= SIM_KEYS_CHANGE;
}

/* ---- text ---- */

typedef struct text {
    char *at;
    size_t len, size;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->len, t->size - t->len, format, args);
    va_end(args);
    CHECK(n >= 0 && t->len + (size_t)n < t->size);
    t->len += (size_t)n;
}

static void put_slice(text *t, rung_slice s) {
    put(t, "%.*s", (int)s.len, s.ptr);
}

/* ---- tags ---- */

static void put_score_tag(text *t, const char *board, const char *player, bool is_delta,
                          long long value, const char *id) {
    put(t, "score %s %s %c%lld %s", board, player, is_delta ? '+' : '=', value, id);
}

static void put_commands_tag(text *t, const sim_op *op) {
    char name[8];
    put(t, "keys");
    for (uint32_t i = 0; i < op->command_count; i++) {
        const sim_command *c = &op->commands[i];
        sim_key_name(c->key, name);
        put(t, " %s%s %s", c->verb == 'R' ? "zrem" : "zadd", c->verb == 'I' ? "+" : "", name);
        for (uint32_t k = 0; k < c->count; k++) {
            sim_member_name(c->members[k], name);
            put(t, " %s:%d", name, c->verb == 'R' ? 0 : c->scores[k]);
        }
    }
}

static bool is_one_member(const sim_op *op) {
    const sim_command *c = &op->commands[0];
    return !op->is_multi && c->verb != 'R' && c->count == 1;
}

static void put_friend_tag(text *t, bool is_added, const char *player, uint32_t other,
                           bool is_follow) {
    char name[8];
    sim_player_name(other, name);
    put(t, "%s %s %s %s", is_added ? "friend" : "unfriend", player, name,
        is_follow ? "one way" : "both");
}

void sim_op_set_tag(sim_op *op) {
    text t = {op->tag, 0, sizeof op->tag};
    char player[8], key[8];
    sim_player_name(op->player, player);
    op->tag[0] = 0;
    switch (op->kind) {
    case SIM_SUBMIT:
        put_score_tag(&t, sim_board_names[op->board], player, op->is_delta, op->value, op->id);
        break;
    case SIM_DEFINE:
        put(&t, "define %s t%d", sim_board_names[op->board], op->value);
        break;
    case SIM_PROFILE:
        put(&t, "profile %s %s", player, op->has_country ? sim_country(op->country) : "");
        break;
    case SIM_BAN:
    case SIM_UNBAN:
        put(&t, "%s %s", op->kind == SIM_BAN ? "ban" : "unban", player);
        break;
    case SIM_REMOVE:
        put(&t, "remove %s %s", sim_board_names[op->board], player);
        break;
    case SIM_FRIEND:
    case SIM_UNFRIEND:
        put_friend_tag(&t, op->kind == SIM_FRIEND, player, op->other, op->is_follow);
        break;
    case SIM_KEYS_CHANGE:
        if (is_one_member(op)) {
            sim_key_name(op->commands[0].key, key);
            sim_member_name(op->commands[0].members[0], player);
            put_score_tag(&t, key, player, op->commands[0].verb == 'I', op->commands[0].scores[0],
                          "key");
        } else {
            put_commands_tag(&t, op);
        }
        break;
    default:
        break;
    }
    op->hash = sim_tag_hash(op->tag);
}

static void put_zcommands(text *t, rung_slice packed) {
    rung_zcommand c;
    rung_zcommand_item item;
    put(t, "keys");
    while (rung_zcommand_next(&packed, &c, NULL) == RUNG_OK) {
        put(t, " %s%s ", rung_zcommand_kind_name(c.kind), c.flags & RUNG_ZCOMMAND_INCR ? "+" : "");
        put_slice(t, c.key);
        while (rung_zcommand_item_next(&c, &item)) {
            put(t, " ");
            put_slice(t, item.name);
            put(t, ":%.0f", item.number);
        }
    }
}

static void put_event_score(text *t, const rung_score_event *e) {
    bool is_key = e->when & RUNG_SCORE_KEY;
    char board[64], player[64], id[80];
    snprintf(board, sizeof board, "%.*s", (int)e->board.len, e->board.ptr);
    snprintf(player, sizeof player, "%.*s", (int)e->player.len, e->player.ptr);
    snprintf(id, sizeof id, "%.*s", (int)e->id.len, e->id.ptr);
    put_score_tag(t, board, player, e->is_delta,
                  e->types[0] == RUNG_SCORE_REAL ? (long long)e->values[0].d
                                                 : (long long)e->values[0].i,
                  is_key ? "key" : id);
}

void sim_event_tag(const rung_event *e, char out[SIM_TAG_SIZE]) {
    text t = {out, 0, SIM_TAG_SIZE};
    out[0] = 0;
    switch (e->kind) {
    case RUNG_EVENT_SCORE:
        put_event_score(&t, &e->score);
        break;
    case RUNG_EVENT_BOARD_DEFINED:
        put(&t, "define ");
        put_slice(&t, e->defined.board);
        put(&t, " ");
        put_slice(&t, e->defined.def.title);
        break;
    case RUNG_EVENT_PLAYER_SET:
        put(&t, "profile ");
        put_slice(&t, e->profile.player);
        put(&t, " ");
        if (e->profile.count)
            put_slice(&t, e->profile.attributes[0].value);
        break;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        put(&t, "%s ", e->kind == RUNG_EVENT_BANNED ? "ban" : "unban");
        put_slice(&t, e->ban.player);
        break;
    case RUNG_EVENT_ENTRY_REMOVED:
        put(&t, "remove ");
        put_slice(&t, e->removed.board);
        put(&t, " ");
        put_slice(&t, e->removed.player);
        break;
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
        put(&t, "%s ", e->kind == RUNG_EVENT_FRIEND_ADDED ? "friend" : "unfriend");
        put_slice(&t, e->friend.player);
        put(&t, " ");
        put_slice(&t, e->friend.other);
        put(&t, e->friend.follow ? " one way" : " both");
        break;
    case RUNG_EVENT_KEYS:
        put_zcommands(&t, e->keys.packed);
        break;
    case RUNG_EVENT_TICK:
    case RUNG_EVENT_RULES_SET:
    case RUNG_EVENT_IDS_SET:
    case RUNG_EVENT_ACCESS_SET:
    case RUNG_EVENT_KEY_CHANGED:
    case RUNG_EVENT_BOARD_FILLED:
    case RUNG_EVENT_BOARD_SWAPPED:
    case RUNG_EVENT_SHADOW_DROPPED:
    case RUNG_EVENT_SESSION:
        break;
    default:
        put(&t, "%s", rung_event_kind_name(e->kind));
        break;
    }
}

uint64_t sim_tag_hash(const char *tag) {
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *tag; tag++)
        h = (h ^ (uint8_t)*tag) * UINT64_C(1099511628211);
    return h;
}

/* ---- questions as text ---- */

static void put_question(text *t, const sim_op *op, char separator) {
    static const char *const styles[] = {"unique", "sparse", "dense"};
    if (op->window || op->window_id[0]) {
        put(t, "%cwindow=%s", separator, sim_windows[op->window]);
        separator = '&';
    }
    if (op->window_id[0])
        put(t, "&window_id=%s", op->window_id);
    if (op->has_country) {
        put(t, "%cscope=country:%s", separator, sim_country(op->country));
        separator = '&';
    }
    if (op->style) {
        put(t, "%crank=%s", separator, styles[op->style - 1]);
        separator = '&';
    }
    if (op->is_latest)
        put(t, "%clatest=true", separator);
    else if (op->min_seq)
        put(t, "%cmin_seq=%llu", separator, (unsigned long long)op->min_seq);
}

static void put_path(text *t, const sim_op *op) {
    char player[8];
    const char *board = sim_board_names[op->board];
    sim_player_name(op->player, player);
    switch (op->kind) {
    case SIM_SUBMIT:
        put(t, "POST /v1/boards/%s/scores", board);
        break;
    case SIM_DEFINE:
        put(t, "PUT /v1/boards/%s", board);
        break;
    case SIM_PROFILE:
        put(t, "PUT /v1/players/%s", player);
        break;
    case SIM_BAN:
        put(t, "POST /v1/players/%s/ban", player);
        break;
    case SIM_UNBAN:
        put(t, "DELETE /v1/players/%s/ban", player);
        break;
    case SIM_REMOVE:
        put(t, "DELETE /v1/boards/%s/players/%s", board, player);
        break;
    case SIM_FRIEND:
    case SIM_UNFRIEND:
        put(t, "%s /v1/players/%s/friends/p%u%s", op->kind == SIM_FRIEND ? "PUT" : "DELETE", player,
            op->other, op->is_follow ? "?follow=true" : "");
        break;
    case SIM_TOP:
    case SIM_TEAMS:
        put(t, "GET /v1/boards/%s/%s?limit=%u&offset=%u", board,
            op->kind == SIM_TOP ? "top" : "teams", op->limit, op->offset);
        put_question(t, op, '&');
        break;
    case SIM_FRIENDS:
        put(t, "GET /v1/boards/%s/friends/%s?limit=%u", board, player, op->limit);
        put_question(t, op, '&');
        break;
    case SIM_PLAYER:
        put(t, "GET /v1/boards/%s/players/%s?around=%u", board, player, op->around);
        put_question(t, op, '&');
        break;
    case SIM_SNAPSHOT:
        put(t, "POST /v1/snapshot");
        break;
    case SIM_DOWNLOAD:
        put(t, "GET /v1/snapshot");
        break;
    case SIM_REVOKE:
        put(t, "DELETE /v1/keys/%s", op->id);
        break;
    case SIM_PROBE:
        put(t, op->probe == 0   ? "GET /v1/boards/race/top?limt=5"
               : op->probe == 1 ? "POST /v1/boards/race/scores"
                                : "GET /v1/nowhere");
        break;
    default:
        CHECK(!"asked over HTTP");
    }
}

static void put_meta(text *t, const sim_op *op) {
    for (uint32_t i = 0; i < op->meta; i++)
        put(t, "%c", 'a' + (int)(i % 26));
}

static void put_submission(text *t, const sim_op *op) {
    char player[8];
    sim_player_name(op->player, player);
    put(t, "\"player\":\"%s\",\"%s\":%d", player, op->is_delta ? "delta" : "score", op->value);
    if (op->id[0])
        put(t, ",\"id\":\"%s\"", op->id);
    if (op->meta) {
        put(t, ",\"meta\":\"");
        put_meta(t, op);
        put(t, "\"");
    }
    put(t, "}");
}

static void put_body(text *t, const sim_op *op) {
    switch (op->kind) {
    case SIM_SUBMIT:
        put(t, "{");
        put_submission(t, op);
        break;
    case SIM_DEFINE:
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        put(t, definitions[op->board], op->value);
#pragma GCC diagnostic pop
        break;
    case SIM_PROFILE:
        put(t, op->has_country ? "{\"country\":\"%s\"}" : "{}", sim_country(op->country));
        break;
    case SIM_PROBE:
        if (op->probe == 1)
            put(t, "{\"player\":\"p1\",\"score\":1.5}");
        break;
    default:
        break;
    }
}

size_t sim_op_http(const sim_op *op, const char *key, char *out, size_t size) {
    char body[SIM_REQUEST_MAX];
    text t = {out, 0, size}, b = {body, 0, sizeof body};
    body[0] = 0;
    put_body(&b, op);
    put_path(&t, op);
    put(&t, " HTTP/1.1\r\nHost: localhost\r\n");
    if (key[0])
        put(&t, "Authorization: Bearer %s\r\n", key);
    if (b.len)
        put(&t, "Content-Type: application/json\r\nContent-Length: %zu\r\n", b.len);
    put(&t, "\r\n%s", body);
    return t.len;
}

size_t sim_op_line(const sim_op *op, char *out, size_t size) {
    text t = {out, 0, size};
    put(&t, "{\"board\":\"%s\",", sim_board_names[op->board]);
    put_submission(&t, op);
    put(&t, "\n");
    return t.len;
}

/* ---- the Redis protocol ---- */

/* Words with a space between, as an array of texts. */
static void put_words(text *t, const char *words) {
    uint32_t count = 1;
    for (const char *c = words; *c; c++)
        count += *c == ' ';
    put(t, "*%u\r\n", count);
    while (count--) {
        int len = (int)strcspn(words, " ");
        put(t, "$%d\r\n%.*s\r\n", len, len, words);
        words += len + 1;
    }
}

static void put_command(text *t, const sim_command *c) {
    char words[200], key[8], member[8];
    text w = {words, 0, sizeof words};
    sim_key_name(c->key, key);
    put(&w, "%s %s", c->verb == 'A' ? "ZADD" : c->verb == 'I' ? "ZINCRBY" : "ZREM", key);
    for (uint32_t i = 0; i < c->count; i++) {
        sim_member_name(c->members[i], member);
        if (c->verb == 'R')
            put(&w, " %s", member);
        else
            put(&w, " %d %s", c->scores[i], member);
    }
    put_words(t, words);
}

static void put_resp_submit(text *t, const sim_op *op) {
    char words[SIM_REQUEST_MAX], player[8];
    text w = {words, 0, sizeof words};
    sim_player_name(op->player, player);
    put(&w, "RUNG.SUBMIT %s %s %d", sim_board_names[op->board], player, op->value);
    if (op->is_delta)
        put(&w, " DELTA");
    if (op->id[0])
        put(&w, " ID %s", op->id);
    if (op->meta) {
        put(&w, " META ");
        put_meta(&w, op);
    }
    put_words(t, words);
}

static void put_resp_question(text *t, const sim_op *op) {
    char words[200], name[8], player[8];
    text w = {words, 0, sizeof words};
    sim_key_name(op->board % SIM_KEYS, name);
    sim_player_name(op->player, player);
    if (op->kind == SIM_TOP)
        put(&w, "RUNG.TOP %s COUNT %u OFFSET %u", sim_board_names[op->board], op->limit,
            op->offset);
    else if (op->kind == SIM_PLAYER)
        put(&w, "RUNG.RANK %s %s", sim_board_names[op->board], player);
    else if (op->kind == SIM_ZTOP)
        put(&w, "ZREVRANGE %s 0 -1 WITHSCORES", name);
    else if (op->kind == SIM_ZCARD)
        put(&w, "ZCARD %s", name);
    else
        put(&w, "ZSCORE %s m%u", name, op->player % SIM_MEMBERS);
    if (op->kind == SIM_TOP || op->kind == SIM_PLAYER) {
        if (op->window)
            put(&w, " WINDOW %s", sim_windows[op->window]);
        if (op->has_country)
            put(&w, " SCOPE country:%s", sim_country(op->country));
    }
    put_words(t, words);
}

size_t sim_op_resp(const sim_op *op, char *out, size_t size) {
    text t = {out, 0, size};
    if (op->kind == SIM_SUBMIT) {
        put_resp_submit(&t, op);
    } else if (op->kind == SIM_PROBE) {
        put_words(&t, op->probe == 0 ? "ZADD k0 abc m0" : "NOSUCH k0");
    } else if (op->kind != SIM_KEYS_CHANGE) {
        put_resp_question(&t, op);
    } else {
        if (op->is_multi)
            put_words(&t, "MULTI");
        for (uint32_t i = 0; i < op->command_count; i++)
            put_command(&t, &op->commands[i]);
        if (op->is_multi)
            put_words(&t, "EXEC");
    }
    return t.len;
}

uint32_t sim_op_replies(const sim_op *op) {
    return op->is_multi ? op->command_count + 2 : 1;
}

void sim_op_describe(const sim_op *op, char *out, size_t size) {
    text t = {out, 0, size};
    out[0] = 0;
    put(&t, "op %u: ", op->number);
    if (op->tag[0]) {
        put(&t, "%s", op->tag);
    } else if (op->is_resp) {
        char bytes[512];
        size_t len = sim_op_resp(op, bytes, sizeof bytes);
        for (size_t i = 0; i < len; i++) { /* the words alone */
            if (bytes[i] == '$' || bytes[i] == '*')
                while (bytes[i] != '\n')
                    i++;
            else if (bytes[i] != '\n' && t.len + 2 < t.size)
                put(&t, "%c", bytes[i] == '\r' ? ' ' : bytes[i]);
        }
    } else {
        put_path(&t, op);
    }
}
