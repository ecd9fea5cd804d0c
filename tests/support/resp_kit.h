/* SPDX-License-Identifier: Apache-2.0 */
/* resp_kit.h - what the tests of front/resp share: one server, folders that are thrown away, pipelines
 * that must be answered as their commands one by one. */
#ifndef RUNG_TESTS_RESP_KIT_H
#define RUNG_TESTS_RESP_KIT_H

#include "support/resp_replies.h"
#include "support/resp_server.h"

#include <stdlib.h>

static resp_server srv;

static inline int start(const resp_server_config *config) {
    resp_server_start(&srv, config);
    return resp_connect(&srv);
}

static inline int start_plain(void) {
    return start(&(resp_server_config){0});
}

static inline void stop(int fd) {
    close(fd);
    resp_server_stop(&srv);
}

static inline void make_folder(char path[32]) {
    memcpy(path, "/tmp/rung-resp-XXXXXX", 22);
    CHECK(mkdtemp(path));
}

static inline void remove_folder(const char *path) {
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", path);
    CHECK(system(command) == 0);
}

/* A line of words as an array, which a pipeline may ask together; lines as they are typed are worked off one by one. */
static inline size_t as_array(const char *line, char *out, size_t size) {
    char words[256], *rest = words, *word, body[512];
    size_t n = 0, len = 0;
    snprintf(words, sizeof words, "%s", line);
    while ((word = strsep(&rest, " ")) != NULL) {
        len +=
            (size_t)snprintf(body + len, sizeof body - len, "$%zu\r\n%s\r\n", strlen(word), word);
        n++;
    }
    return (size_t)snprintf(out, size, "*%zu\r\n%.*s", n, (int)len, body);
}

/* Read all replies up to that of a PING; returns their length. */
static inline size_t read_replies(int fd, char *out, size_t size) {
    static const char end[] = "+PONG\r\n";
    size_t len = 0, end_len = sizeof end - 1;
    while (len < end_len || memcmp(out + len - end_len, end, end_len) != 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        CHECK(len < size && poll(&p, 1, 60000) > 0);
        ssize_t n = recv(fd, out + len, size - len, 0);
        CHECK(n > 0);
        len += (size_t)n;
    }
    return len - end_len;
}

/* Sent together, commands are answered as one by one. `begin`, unless NULL, makes both start from the same keys. */
static inline void check_alike(int fd, void (*begin)(int fd), const char *const *lines,
                               uint32_t count) {
    static char sent[1 << 16], want[1 << 20], got[1 << 20];
    size_t len = 0, wanted = 0;
    if (begin)
        begin(fd);
    for (uint32_t i = 0; i < count; i++) {
        char one[1024];
        size_t n = as_array(lines[i], one, sizeof one);
        CHECK(len + n < sizeof sent);
        memcpy(sent + len, one, n);
        len += n;
        n += as_array("PING", one + n, sizeof one - n);
        resp_send_bytes(fd, one, n);
        wanted += read_replies(fd, want + wanted, sizeof want - wanted);
    }
    if (begin)
        begin(fd);
    len += as_array("PING", sent + len, sizeof sent - len);
    resp_send_bytes(fd, sent, len);
    CHECK_EQ_U64(read_replies(fd, got, sizeof got), wanted);
    CHECK_EQ_MEM(got, want, wanted);
}

#endif
