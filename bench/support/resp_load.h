/* SPDX-License-Identifier: Apache-2.0 */
/* resp_load.h - a client that keeps a server of the Redis protocol busy: the same for whoever is measured.
 *
 *     bench_load load = {.connections = 50, .depth = 16};
 *     bench_load_connect(&load, &address);
 *     rate = bench_load_run(&load, make_command, ctx, 1.0);       // for a second
 *     bench_load_close(&load);
 *
 * Every connection sends `depth` commands in one piece and, when all of them are answered, the next. One thread,
 * epoll; it does little more than copy and count. Errors end the program. */
#ifndef RUNG_BENCH_RESP_LOAD_H
#define RUNG_BENCH_RESP_LOAD_H

#include "support/times.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_LOAD_CONNECTIONS_MAX = 256, BENCH_COMMAND_MAX = 8192 };

/* A port on 127.0.0.1, or the path of a unix socket. */
typedef struct bench_address {
    uint16_t port;
    char path[108];
} bench_address;

/* Write the next command (or several, whose number it returns) at `out`; *length_out: bytes. */
typedef uint32_t (*bench_command_maker)(void *ctx, char *out, size_t *length_out);

typedef struct bench_load_conn {
    int fd;
    uint32_t awaited;
    size_t used; /* bytes of replies not yet counted */
    char *in, *out;
    uint64_t sent_ns;
    /* Of an open load: bytes to send, and when each command that is not answered yet was due. */
    size_t out_len;
    uint64_t *due_ns;
    uint64_t due_head, due_tail;
} bench_load_conn;

typedef struct bench_load {
    uint32_t connections, depth;
    int epoll;
    uint64_t answered;  /* commands, of all runs */
    uint64_t errors;    /* replies that were errors, of all runs */
    bench_times *times; /* how long each round of `depth` took; NULL: nobody asks */
    bench_load_conn conns[BENCH_LOAD_CONNECTIONS_MAX];
} bench_load;

void bench_load_connect(bench_load *load, const bench_address *address);
/* To several servers, in turn. */
void bench_load_connect_to(bench_load *load, const bench_address *addresses, uint32_t count);
void bench_load_close(bench_load *load);

/* Keep all connections busy for `seconds`, or until `count` commands were answered (0: no matter); commands per second.
 * A maker that returns several commands counts as one. */
double bench_load_run(bench_load *load, bench_command_maker make, void *ctx, double seconds,
                      uint64_t count);

/* Send `rate` commands a second for `seconds`, whether or not earlier ones are answered, to the connections in turn,
 * and wait for all answers. Adds to load->times how long each took from the moment it was due, not from when it was
 * sent: a server that stands still for a second has kept a second's commands waiting. Returns answers per second. */
double bench_load_open(bench_load *load, bench_command_maker make, void *ctx, double rate,
                       double seconds);

/* One command and its reply, which is given as it came (cut to `room`, NUL-terminated); false if nobody answers. */
bool bench_ask(const bench_address *address, const char *const *words, char *reply, size_t room);

/* A command at `out` from words; returns its length. */
size_t bench_command(char *out, uint32_t count, const char *const *words);

#endif
