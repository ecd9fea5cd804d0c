/* SPDX-License-Identifier: Apache-2.0 */
/* session.h - a fuzz target's input as a program: what up to four clients do to a whole server, in one loop.
 *
 * The server is tests/support/frontkit.h: the real connections, transport, API, live room, Redis protocol, hub and
 * state, in memory, on real loopback sockets. Time stands still but for the program: clock_gettime() below is the
 * loop's, so one input always does the same.
 *
 * The first byte chooses the server: 1 keys are needed (board race is public), 2 tiny limits, 4 rates. What follows is
 * sent as it is, on the client's connection, but for commands: 0xFE and a letter, some with a byte n behind it.
 *
 *     c n   go on as client n % 4, connecting first if it is not connected   C n   the same on the other port
 *     f     send what is gathered, and one turn: a split                     t n   the same and n % 8 + 1 turns
 *     h r x close the sending side; reset; close                             p g   stop reading; read again
 *     a n   time passes: 10 ms to 76 s                                       w n   somebody else changes a score
 *     k     exchange the keys for revoked ones, or back                      K n   the text of a key, n % 4
 *     R n   what is gathered once more, n % 64 + 1 times                     s     the server stops
 *     o n   the n-th allocation from here fails                              0xFE  the byte itself
 *     H n   a WebSocket's handshake, for a board's or a player's view        T e   begin and end a masked text frame
 *
 * At the end all clients reset, the server stops, and nothing may be left: no request, viewer, connection or memory. */
#ifndef RUNG_FUZZ_SESSION_H
#define RUNG_FUZZ_SESSION_H

#include "front/api/parts.h"
#include "guard/keys.h"
#include "support/frontkit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

enum {
    SESSION_CLIENTS = 4,
    SESSION_GATHERED_MAX = 128 << 10,
    SESSION_SIZE_MAX = 4096, /* of an input */
    SESSION_KEYS = 4,
    SESSION_TIME_MAX_MS = 600000, /* that one input may let pass */
};

typedef struct session_client {
    int fd;
    bool is_open, is_paused;
} session_client;

typedef struct session {
    frontkit kit;
    const rung_address *main, *other;
    session_client clients[SESSION_CLIENTS];
    uint32_t client;
    char *gathered;
    size_t gathered_len, frame_at;
    bool is_framing, are_keys_live, has_keys;
    uint64_t waited_ms;
} session;

/* ---- time ---- */

static struct timespec session_time; /* begins anew with every input */

int clock_gettime(clockid_t id, struct timespec *out) {
    if (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE && id != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, id, out);
    *out = session_time;
    return 0;
}

static inline void session_wait(session *s, uint64_t ms) {
    session_time.tv_nsec += (long)(ms % 1000) * 1000000;
    session_time.tv_sec += (time_t)(ms / 1000) + session_time.tv_nsec / 1000000000;
    session_time.tv_nsec %= 1000000000;
    s->waited_ms += ms;
    frontkit_tick(&s->kit, (int64_t)ms);
    frontkit_turn(&s->kit, 2);
}

/* ---- the OpenAPI document ---- */

/* Takes the place of the real one, which is nearly all the work of a start and the same for every client. It is still
 * an answer of many bytes. */
void rung_openapi_write(rung_json_writer *w, const char *version) {
    rung_json_open_array(w);
    for (uint32_t i = 0; i < 2000; i++)
        rung_json_write_string(w, rung_slice_str(version));
    rung_json_close_array(w);
}

/* ---- keys: made once, the same in every process; a link says which file is in force ---- */

static struct {
    char live[64], revoked[64], link[64];
    char texts[SESSION_KEYS][RUNG_KEY_TEXT_MAX];
} session_keys;

static inline void session_write_file(const char *path, rung_slice bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, bytes.ptr, bytes.len) == (ssize_t)bytes.len);
    close(fd);
}

static inline void session_remove_keys(void) {
    unlink(session_keys.link);
    unlink(session_keys.live);
    unlink(session_keys.revoked);
    *strrchr(session_keys.link, '/') = 0;
    rmdir(session_keys.link);
}

static inline void session_take(rung_keys **keys, rung_keys *next) {
    rung_keys_destroy(*keys);
    *keys = next;
}

static inline void session_make_keys(void) {
    /* No admin's: it could change keys over HTTP, which a worker does when it likes. */
    static const rung_role roles[SESSION_KEYS] = {RUNG_ROLE_SERVER, RUNG_ROLE_SERVER,
                                                  RUNG_ROLE_READ, RUNG_ROLE_READ};
    char folder[] = "/tmp/rung-fuzz-XXXXXX";
    rung_keys *keys, *next;
    if (*session_keys.link)
        return;
    CHECK(mkdtemp(folder));
    snprintf(session_keys.live, sizeof session_keys.live, "%s/live", folder);
    snprintf(session_keys.revoked, sizeof session_keys.revoked, "%s/revoked", folder);
    snprintf(session_keys.link, sizeof session_keys.link, "%s/keys", folder);
    CHECK_OK(rung_keys_create(rung_alloc_heap(), (rung_slice){0}, &keys, NULL));
    for (uint32_t i = 0; i < SESSION_KEYS; i++) {
        uint8_t chance[RUNG_KEY_CHANCE_SIZE] = {(uint8_t)(i + 1)};
        rung_key key = {.role = roles[i], .created_ms = 1};
        if (i % 2) { /* for one board only */
            key.patterns[0] = RUNG_SLICE("cup");
            key.pattern_count = 1;
        }
        CHECK_OK(rung_key_mint(&key, chance, session_keys.texts[i], NULL));
        CHECK_OK(rung_keys_add(keys, &key, &next, NULL));
        session_take(&keys, next);
    }
    session_write_file(session_keys.live, rung_keys_bytes(keys));
    for (uint32_t i = 0; i < SESSION_KEYS; i++) {
        rung_slice id = rung_keys_at(keys, i)->id;
        CHECK_OK(rung_keys_revoke(keys, id, 2, &next, NULL));
        session_take(&keys, next);
    }
    session_write_file(session_keys.revoked, rung_keys_bytes(keys));
    rung_keys_destroy(keys);
    atexit(session_remove_keys);
}

static inline void session_set_keys(session *s, bool are_live) {
    s->are_keys_live = are_live;
    unlink(session_keys.link);
    CHECK(symlink(are_live ? session_keys.live : session_keys.revoked, session_keys.link) == 0);
}

/* ---- clients ---- */

static inline void session_read(session *s) {
    static char answer[65536];
    for (uint32_t i = 0; i < SESSION_CLIENTS; i++) {
        const session_client *c = &s->clients[i];
        while (c->is_open && !c->is_paused &&
               recv(c->fd, answer, sizeof answer, MSG_DONTWAIT) == (ssize_t)sizeof answer) {
        }
    }
}

static inline void session_turn(session *s, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        frontkit_turn(&s->kit, 1);
        session_read(s);
    }
}

static inline void session_close(session *s, session_client *c, bool with_reset) {
    struct linger hard = {.l_onoff = 1};
    if (!c->is_open)
        return;
    if (with_reset)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(c->fd);
    *c = (session_client){0};
    session_turn(s, 1);
}

/* A paused reader has a small buffer, so that little fills it. */
static inline void session_connect(session *s, uint8_t n, const rung_address *to) {
    s->client = n % SESSION_CLIENTS;
    session_client *c = &s->clients[s->client];
    int size = 4096;
    if (c->is_open || s->kit.is_stopping)
        return;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(c->fd >= 0);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    c->is_open = connect(c->fd, &to->any, sizeof to->ip4) == 0;
    if (!c->is_open)
        close(c->fd);
    session_turn(s, 1);
}

/* ---- what is gathered ---- */

static inline void session_add(session *s, const void *bytes, size_t len) {
    if (len > SESSION_GATHERED_MAX - s->gathered_len)
        len = SESSION_GATHERED_MAX - s->gathered_len;
    memcpy(s->gathered + s->gathered_len, bytes, len);
    s->gathered_len += len;
}

/* What was gathered since the frame began becomes its payload. The mask is zero, which is a mask too. */
static inline void session_end_frame(session *s) {
    size_t len = s->gathered_len - s->frame_at;
    unsigned char head[8] = {0x81, (unsigned char)(0x80 | len)};
    size_t head_len = 6;
    if (!s->is_framing)
        return;
    s->is_framing = false;
    if (len > 65535 || len + 8 > SESSION_GATHERED_MAX - s->frame_at)
        return;
    if (len >= 126) {
        head_len = 8;
        head[1] = 0xfe;
        head[2] = (unsigned char)(len >> 8);
        head[3] = (unsigned char)len;
    }
    memmove(s->gathered + s->frame_at + head_len, s->gathered + s->frame_at, len);
    memcpy(s->gathered + s->frame_at, head, head_len);
    s->gathered_len += head_len;
}

static inline void session_send(session *s) {
    const session_client *c = &s->clients[s->client];
    session_end_frame(s);
    const char *at = s->gathered;
    for (uint32_t tries = 0; c->is_open && s->gathered_len && tries < 64; tries++) {
        ssize_t n = send(c->fd, at, s->gathered_len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            break;
        at += n > 0 ? n : 0;
        s->gathered_len -= n > 0 ? (size_t)n : 0;
        if (s->gathered_len)
            session_turn(s, 1);
    }
    s->gathered_len = 0;
}

static inline void session_repeat(session *s, uint8_t n) {
    size_t len = s->gathered_len;
    session_end_frame(s);
    for (uint32_t i = 0; i <= n % 64u; i++)
        session_add(s, s->gathered, len < s->gathered_len ? len : s->gathered_len);
}

/* The longest name a board may have, all of it characters that an address escapes: 64 times e with an acute accent. */
#define SESSION_E8 "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
#define SESSION_LONG_NAME                                                                          \
    SESSION_E8 SESSION_E8 SESSION_E8 SESSION_E8 SESSION_E8 SESSION_E8 SESSION_E8 SESSION_E8

static inline void session_add_long_board(session *s) {
    session_add(s, "/v1/boards/", 11);
    for (uint32_t i = 0; i < 64; i++)
        session_add(s, "%C3%A9", 6);
    session_add(s, "/live", 5);
}

static inline void session_handshake(session *s, uint8_t n) {
    static const char *const paths[] = {"/v1/boards/race/live",
                                        "/v1/boards/race/live?player=ada&around=2",
                                        "/v1/boards/race/live?friends=ada", "/v1/players/ada/live"};
    static const char rest[] =
        " HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    session_add(s, "GET ", 4);
    if (n % 5 == 4)
        session_add_long_board(s);
    else
        session_add(s, paths[n % 5], strlen(paths[n % 5]));
    session_add(s, rest, sizeof rest - 1);
}

/* ---- the server ---- */

static inline void session_start(session *s, uint8_t mode, bool is_resp) {
    frontkit_config c = {.net.linger_ms = 1000,
                         .access = {.rate_capacity = 64, .token_capacity = 16},
                         .waiting_max = 256,
                         .fill_max = 256};
    memset(s, 0, sizeof *s);
    session_time = (struct timespec){.tv_sec = 1000000};
    s->gathered = malloc(SESSION_GATHERED_MAX);
    CHECK(s->gathered);
    s->has_keys = mode & 1;
    if (s->has_keys) {
        session_make_keys();
        session_set_keys(s, true);
        c.access.path = session_keys.link;
        c.access.public_boards = "race";
    }
    if (mode & 2) {
        c.net.connections_max = 3;
        c.net.output_high = 2048;
        c.net.output_max = 256 << 10;
        c.net.held_max = 64 << 10;
        c.http.pipeline_max = 2;
        c.http.in_flight_max = 3;
        c.http.discard_max = 64;
        c.http.head_size_max = 512;
        c.api.waiting_max = 2;
        c.api.live_viewers_max = 3;
        c.resp.args_max = 64;
        c.resp.bulk_max = 512;
        c.resp.command_max = 2048;
        c.resp.pending_max = 3;
        c.resp.pending_bytes_max = 128;
        c.resp.blocked_max = 2;
        c.waiting_max = 4;
    }
    if (mode & 4)
        c.access.per_key = c.access.per_peer = c.access.per_player = (rung_rate_limit){4, 1000};
    frontkit_start(&s->kit, &c);
    s->main = is_resp ? &s->kit.resp_bound : &s->kit.http_bound;
    s->other = is_resp ? &s->kit.http_bound : &s->kit.resp_bound;
    frontkit_define(&s->kit, "race", RUNG_WINDOWS_ALL | RUNG_WINDOWS_BIT(RUNG_WINDOW_HOUR));
    frontkit_define(&s->kit, "cup", RUNG_WINDOWS_ALL);
    frontkit_define(&s->kit, SESSION_LONG_NAME, RUNG_WINDOWS_ALL);
    frontkit_turn(&s->kit, 1);
    rung_ignore(frontkit_score(&s->kit, "race", "ada", 5), "tiny limits may refuse it");
    frontkit_turn(&s->kit, 1);
    session_connect(s, 0, s->main);
}

static inline void session_stop(session *s) {
    rung_failalloc_fail_at(&s->kit.heap, 0, false);
    session_send(s);
    for (uint32_t i = 0; i < SESSION_CLIENTS; i++)
        session_close(s, &s->clients[i], true);
    frontkit_begin_stop(&s->kit, 1000);
    for (uint32_t i = 0; i < 100 && !s->kit.is_stopped; i++)
        session_wait(s, 250);
    frontkit_end(&s->kit);
    free(s->gathered);
}

/* ---- the program ---- */

static inline void session_run_one(session *s, char letter, uint8_t n) {
    static const uint32_t times_ms[] = {10, 100, 250, 1100, 5100, 10100, 20100, 76000};
    session_client *c = &s->clients[s->client];
    switch (letter) {
    case 'K':
        if (s->has_keys)
            session_add(s, session_keys.texts[n % SESSION_KEYS],
                        strlen(session_keys.texts[n % SESSION_KEYS]));
        return;
    case 'H':
        session_handshake(s, n);
        return;
    case 'T':
        session_end_frame(s);
        s->is_framing = true;
        s->frame_at = s->gathered_len;
        return;
    case 'e':
        session_end_frame(s);
        return;
    case 'R':
        session_repeat(s, n);
        return;
    case 'o':
        rung_failalloc_fail_at(&s->kit.heap, n + 1u, false);
        return;
    default:
        break;
    }
    session_send(s);
    switch (letter) {
    case 'c':
        session_connect(s, n, s->main);
        break;
    case 'C':
        session_connect(s, n, s->other);
        break;
    case 'f':
        session_turn(s, 1);
        break;
    case 't':
        session_turn(s, n % 8u + 1);
        break;
    case 'h':
        if (c->is_open)
            shutdown(c->fd, SHUT_WR);
        break;
    case 'r':
    case 'x':
        session_close(s, c, letter == 'r');
        break;
    case 'p':
    case 'g':
        c->is_paused = letter == 'p';
        break;
    case 'a':
        if (s->waited_ms < SESSION_TIME_MAX_MS)
            session_wait(s, times_ms[n % 8u]);
        break;
    case 'w':
        rung_ignore(frontkit_score(&s->kit, n & 1 ? "cup" : "race", n & 2 ? "bob" : "ada", n),
                    "it may be too much");
        session_turn(s, 1);
        break;
    case 'k':
        if (s->has_keys) {
            session_set_keys(s, !s->are_keys_live);
            rung_ignore(rung_access_reload(s->kit.access, true, NULL), "an allocation may fail");
        }
        break;
    default: /* 's' */
        frontkit_begin_stop(&s->kit, 1000);
        break;
    }
}

static inline void session_run(const unsigned char *data, size_t size, bool is_resp) {
    session s;
    if (size < 1 || size > SESSION_SIZE_MAX)
        return;
    session_start(&s, data[0], is_resp);
    for (size_t i = 1; i < size; i++) {
        if (data[i] != 0xfe || i + 1 == size) {
            session_add(&s, &data[i], 1);
            continue;
        }
        unsigned char letter = data[++i];
        if (memchr("fhrxpgksTe", letter, 10))
            session_run_one(&s, (char)letter, 0);
        else if (memchr("cCtawKRoH", letter, 9) && i + 1 < size)
            session_run_one(&s, (char)letter, data[++i]);
        else
            session_add(&s, &letter, 1);
    }
    session_send(&s);
    session_turn(&s, 3);
    session_stop(&s);
}

#endif
