/* SPDX-License-Identifier: Apache-2.0 */
/* askkit.h - single HTTP requests to a frontkit, and tables of them.
 *
 *     static const ask_row rows[] = {{"GET", "/v1/boards/race", NULL, 200, "\"id\":\"race\""}, ...};
 *     ask_all(&k, NULL, rows, COUNT_OF(rows));        // every mismatch is printed, then the test fails
 *
 * Each request has a connection of its own. The loop turns until the server closes it, so a request may wait for a
 * timer or a worker thread. Header-only, like frontkit.h. */
#ifndef RUNG_TESTS_ASKKIT_H
#define RUNG_TESTS_ASKKIT_H

#include "guard/keys_file.h"
#include "support/frontkit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

typedef struct ask_row {
    const char *method, *target, *body; /* body NULL: none */
    int status;
    const char *part; /* of the answer, its head included; NULL: any */
} ask_row;

static char ask_reply[4 << 20];

/* Send a request, and return its connection. `headers` are lines that end with CRLF; may be NULL. */
static inline int ask_begin(frontkit *k, const char *method, const char *target,
                            const char *headers, const char *body) {
    int fd = frontkit_connect(&k->http_bound);
    size_t size = strlen(target) + (headers ? strlen(headers) : 0) + (body ? strlen(body) : 0);
    char *request = malloc(size + 256);
    int len = snprintf(request, size + 256, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s", method,
                       target, headers ? headers : "");
    if (body)
        len += snprintf(request + len, size + 256 - (size_t)len, "Content-Length: %zu\r\n\r\n%s",
                        strlen(body), body);
    else
        len += snprintf(request + len, size + 256 - (size_t)len, "\r\n");
    for (int sent = 0; sent < len;) {
        ssize_t n = send(fd, request + sent, (size_t)(len - sent), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            sent += (int)n;
        else
            frontkit_turn(k, 1);
    }
    free(request);
    return fd;
}

/* Turn the loop until `part` has come (NULL: until the server closes); what has come so far is in ask_reply. False: the
 * server closed before. */
static inline bool ask_await(frontkit *k, int fd, const char *part) {
    size_t len = 0;
    ask_reply[0] = 0;
    for (;;) {
        frontkit_turn(k, 1);
        ssize_t n = recv(fd, ask_reply + len, sizeof ask_reply - 1 - len, MSG_DONTWAIT);
        if (n > 0)
            len += (size_t)n;
        ask_reply[len] = 0;
        if (part && strstr(ask_reply, part))
            return true;
        if (n == 0 || (n < 0 && errno == ECONNRESET))
            return false;
    }
}

static inline int ask_status(void) {
    return strncmp(ask_reply, "HTTP/1.1 ", 9) == 0 ? atoi(ask_reply + 9) : 0;
}

/* The whole answer is in ask_reply; returns its status, 0: there was none. */
static inline int ask(frontkit *k, const char *method, const char *target, const char *headers,
                      const char *body) {
    char all[1024];
    snprintf(all, sizeof all, "Connection: close\r\n%s", headers ? headers : "");
    int fd = ask_begin(k, method, target, all, body);
    ask_await(k, fd, NULL);
    close(fd);
    frontkit_turn(k, 2);
    return ask_status();
}

static inline void ask_all(frontkit *k, const char *headers, const ask_row *rows, size_t count) {
    uint32_t wrong = 0;
    for (size_t i = 0; i < count; i++) {
        const ask_row *r = &rows[i];
        int status = ask(k, r->method, r->target, headers, r->body);
        if (status == r->status && (!r->part || strstr(ask_reply, r->part)))
            continue;
        wrong++;
        fprintf(stderr, "%s %s: %d, expected %d with %s\n%.900s\n", r->method, r->target, status,
                r->status, r->part ? r->part : "anything", ask_reply);
    }
    CHECK_EQ_U64(wrong, 0);
}

/* ---- keys ---- */

static inline rung_status ask_add_key(void *ctx, const rung_keys *keys, rung_keys **keys_out,
                                      rung_err *err) {
    return rung_keys_add(keys, ctx, keys_out, err);
}

/* Add a key to the file; `chance` makes it another one. `header` becomes its Authorization line. */
static inline void ask_mint(const char *path, rung_key key, uint8_t chance, char header[256]) {
    uint8_t bytes[RUNG_KEY_CHANCE_SIZE];
    char text[RUNG_KEY_TEXT_MAX];
    memset(bytes, chance, sizeof bytes);
    key.created_ms = INT64_C(1700000000000);
    CHECK_OK(rung_key_mint(&key, bytes, text, NULL));
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), path, ask_add_key, &key, NULL));
    snprintf(header, 256, "Authorization: Bearer %s\r\n", text);
}

/* A new folder, and the path of the keys file in it. */
static inline void ask_make_folder(char folder[64], char path[96]) {
    snprintf(folder, 64, "/tmp/rung-ask-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(path, 96, "%s/keys", folder);
}

static inline void ask_remove_folder(const char *folder, const char *path) {
    unlink(path);
    CHECK(rmdir(folder) == 0);
}

#endif
