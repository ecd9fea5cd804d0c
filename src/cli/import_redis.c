/* SPDX-License-Identifier: Apache-2.0 */
/* Submit the members of a sorted set of a Redis server.
 *
 * ZSCAN returns every member that stays in the set, some of them twice. Each gets an id made from server, key and
 * member, so nothing counts twice, not even in a second import. */
#include "cli/importer.h"

#include "base/hash.h"
#include "cli/options.h"
#include "model/board.h"
#include "model/text.h"
#include "model/utf8.h"

#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static const rung_hash_key id_hash = {0x72756e67, 0x696d706f7274}; /* the same in every run */

typedef struct redis {
    const rung_command *self;
    redisContext *context;
} redis;

static int fail(const redis *r, const char *what, const char *why) {
    return rung_command_refuse(r->self, RUNG_EXIT_PROBLEM, "redis: %s: %s", what, why);
}

/* The reply if it is of that type, else NULL after printing why. The caller frees it. */
static redisReply *expect(const redis *r, redisReply *reply, int type, const char *what) {
    if (reply && reply->type == type)
        return reply;
    if (!reply)
        fail(r, what, r->context->errstr);
    else
        fail(r, what, reply->type == REDIS_REPLY_ERROR ? reply->str : "unexpected type of reply");
    if (reply)
        freeReplyObject(reply);
    return NULL;
}

static int connect_to(redis *r, const char *address) {
    struct timeval patience = {.tv_sec = 10};
    uint64_t port = 6379;
    char host[256];
    if (strncmp(address, "unix:", 5) == 0) {
        r->context = redisConnectUnixWithTimeout(address + 5, patience);
    } else {
        const char *colon = strrchr(address, ':');
        size_t len = colon ? (size_t)(colon - address) : strlen(address);
        if (len == 0 || len >= sizeof host ||
            (colon && (!rung_number_parse(colon + 1, &port) || port > 65535)))
            return rung_command_refuse(r->self, RUNG_EXIT_PROBLEM,
                                       "--redis: expected HOST:PORT or unix:PATH, not %s", address);
        snprintf(host, sizeof host, "%.*s", (int)len, address);
        r->context = redisConnectWithTimeout(host, (int)port, patience);
    }
    if (r->context && !r->context->err)
        return RUNG_EXIT_OK;
    fail(r, address, r->context ? r->context->errstr : "out of memory");
    return RUNG_EXIT_UNREACHED;
}

/* Consume the reply of a command. false: it failed. */
static bool is_done(const redis *r, redisReply *reply, const char *what) {
    reply = expect(r, reply, REDIS_REPLY_STATUS, what);
    if (reply)
        freeReplyObject(reply);
    return reply != NULL;
}

static int greet(redis *r, const char *key, uint64_t database, uint64_t *total_out) {
    const char *password = getenv("REDISCLI_AUTH");
    if (password && *password && !is_done(r, redisCommand(r->context, "AUTH %s", password), "AUTH"))
        return RUNG_EXIT_PROBLEM;
    if (!is_done(r, redisCommand(r->context, "SELECT %llu", (unsigned long long)database),
                 "SELECT"))
        return RUNG_EXIT_PROBLEM;
    redisReply *reply =
        expect(r, redisCommand(r->context, "ZCARD %s", key), REDIS_REPLY_INTEGER, key);
    if (!reply)
        return RUNG_EXIT_PROBLEM;
    *total_out = (uint64_t)reply->integer;
    freeReplyObject(reply);
    return *total_out ? RUNG_EXIT_OK : fail(r, key, "no such sorted set");
}

static void add_member(rung_importer *im, uint64_t source_hash, const redisReply *member,
                       const redisReply *score, uint64_t place) {
    rung_slice name = rung_slice_of(member->str, (size_t)member->len);
    double value;
    char id[64];
    if (name.len == 0 || name.len > RUNG_NAME_MAX || !rung_utf8_is_plain(name)) {
        rung_importer_refuse(im, place,
                             "member: expected 1 to 128 bytes of UTF-8 without control characters");
        return;
    }
    if (rung_text_parse_real(rung_slice_of(score->str, (size_t)score->len), &value, NULL) < 0) {
        rung_importer_refuse(im, place, "score: not a number");
        return;
    }
    snprintf(id, sizeof id, "redis-%016" PRIx64 "-%016" PRIx64, source_hash,
             rung_hash_keyed(&id_hash, name.ptr, name.len));
    rung_importer_begin(im);
    RUNG_JSON_MEMBER(&im->lines, "player", string, name);
    RUNG_JSON_MEMBER(&im->lines, "score", real, value);
    RUNG_JSON_MEMBER(&im->lines, "id", word, id);
    rung_importer_end(im, place, false, true);
}

enum { PAGE = 1000 };

static void ask_for_page(const redis *r, const char *key, uint64_t cursor) {
    redisAppendCommand(r->context, "ZSCAN %s %llu COUNT %d", key, (unsigned long long)cursor, PAGE);
}

/* Add the members of one page. A page may be larger than a batch: then part of it is sent with the cursor of this
 * page, so that resuming repeats members but never skips any. */
static int add_members(rung_importer *im, uint64_t source_hash, const redisReply *list,
                       uint64_t *done) {
    for (size_t i = 0; i + 1 < list->elements; i += 2) {
        add_member(im, source_hash, list->element[i], list->element[i + 1], ++*done);
        int code = rung_importer_is_full(im)
                       ? rung_importer_send(im, im->state.offset, im->state.line)
                       : RUNG_EXIT_OK;
        if (code)
            return code;
    }
    return RUNG_EXIT_OK;
}

/* Process one reply of ZSCAN. `*cursor` becomes the next one, 0 at the end. Requests the next page before sending this
 * one, so that both servers work at the same time. */
static int take_page(const redis *r, rung_importer *im, const char *key, uint64_t source_hash,
                     uint64_t *cursor, uint64_t *done) {
    void *raw = NULL;
    if (redisGetReply(r->context, &raw) != REDIS_OK)
        raw = NULL;
    redisReply *page = expect(r, raw, REDIS_REPLY_ARRAY, "ZSCAN");
    if (!page)
        return RUNG_EXIT_PROBLEM;
    int code = RUNG_EXIT_PROBLEM;
    if (page->elements != 2 || page->element[1]->type != REDIS_REPLY_ARRAY ||
        !page->element[0]->str || !rung_number_parse(page->element[0]->str, cursor)) {
        fail(r, "ZSCAN", "unexpected type of reply");
    } else {
        if (*cursor != 0)
            ask_for_page(r, key, *cursor);
        code = add_members(im, source_hash, page->element[1], done);
    }
    freeReplyObject(page);
    return code;
}

int rung_import_redis(rung_importer *im, const char *address, const char *key, uint64_t database) {
    redis r = {.self = im->self};
    uint64_t total = 0, cursor = im->state.offset, done = im->state.line;
    char whole[1024];
    int len =
        snprintf(whole, sizeof whole, "%s/%llu/%s", address, (unsigned long long)database, key);
    uint64_t source_hash = rung_hash_keyed(
        &id_hash, whole, (size_t)len < sizeof whole ? (size_t)len : sizeof whole - 1);
    int code = connect_to(&r, address);
    if (code == RUNG_EXIT_OK)
        code = greet(&r, key, database, &total);
    if (code == RUNG_EXIT_OK)
        ask_for_page(&r, key, cursor);
    do {
        if (code == RUNG_EXIT_OK)
            code = take_page(&r, im, key, source_hash, &cursor, &done);
        if (code == RUNG_EXIT_OK)
            code = rung_importer_send(im, cursor, done);
        rung_importer_show(im, done, total);
    } while (code == RUNG_EXIT_OK && cursor != 0);
    if (r.context)
        redisFree(r.context);
    return code;
}
