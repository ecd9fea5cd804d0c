/* SPDX-License-Identifier: Apache-2.0 */
/* resp_parser.h - requests of the Redis protocol out of bytes that come in pieces of any size.
 *
 *     used = 0;
 *     while ((st = rung_resp_parse(&parser, &args, rest(bytes, used), &n, &command)) == RUNG_OK) {
 *         used += n;                                  // args.items[command.first .. + command.count)
 *     }
 *     if (st == RUNG_EINVAL) answer parser.error and close
 *
 * Both forms are understood: arrays of bulk strings (RESP2 and RESP3 alike) and inline commands as typed into telnet.
 * Errors have the words of Redis 7. Nothing is copied from an array: arguments point into the bytes. What is known of
 * an unfinished command is remembered, so that no byte is looked at twice however small the pieces are.
 *
 * Memory: a parser has 8 bytes for each argument of the command under way, the first few in itself; it gives the rest
 * back when the command is complete. Pure; one thread at a time. */
#ifndef RUNG_CODEC_RESP_PARSER_H
#define RUNG_CODEC_RESP_PARSER_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdint.h>

#define RUNG_RESP_INLINE_MAX      (64u << 10) /* bytes of a line */
#define RUNG_RESP_PARSER_ARGS_OWN 8
#define RUNG_RESP_ERROR_MAX       64

typedef struct rung_resp_limits {
    uint32_t args_max;    /* arguments of one command */
    uint32_t bulk_max;    /* bytes of one argument */
    uint32_t command_max; /* bytes of one command, all told; below 2^31 */
    bool is_stranger;     /* not authenticated: at a limit say so, as Redis does */
} rung_resp_limits;

/* What Redis allows before AUTH. */
#define RUNG_RESP_LIMITS_STRANGER ((rung_resp_limits){10, 16384, 256u << 10, true})

/* Arguments of commands read: one for all parsers of a thread. Zero and an allocator is ready for use. */
typedef struct rung_resp_args {
    const rung_alloc *alloc;
    rung_slice *items;
    uint32_t count, size;
    rung_slice
        head; /* private: the last command's bytes up to its third argument; empty: not known */
    uint32_t head_count; /* private: how many arguments it has */
    char *line;          /* the words of the inline command read last */
    size_t line_size;
} rung_resp_args;

void rung_resp_args_deinit(rung_resp_args *args);
/* Forget all arguments; large memory is given back. */
void rung_resp_args_reset(rung_resp_args *args);

typedef struct rung__resp_span {
    uint32_t offset, len;
} rung__resp_span;

typedef struct
    rung_resp_parser { /* private but for error and limits; set up by rung_resp_parser_init() */
    rung_resp_limits limits;         /* may be changed between commands */
    char error[RUNG_RESP_ERROR_MAX]; /* "Protocol error: ...", when RUNG_EINVAL was returned */
    const rung_alloc *alloc;
    uint32_t at;       /* bytes of the command that were understood */
    uint32_t seen;     /* bytes behind `at` known to have no end of line */
    int32_t args_left; /* -1: the count is still to come */
    int64_t bulk_len;  /* -1: the length is still to come */
    uint32_t count, size;
    rung__resp_span *spans; /* own[], or memory */
    rung__resp_span own[RUNG_RESP_PARSER_ARGS_OWN];
} rung_resp_parser;

void rung_resp_parser_init(rung_resp_parser *p, const rung_alloc *alloc, rung_resp_limits limits);
void rung_resp_parser_deinit(rung_resp_parser *p);
/* Forget an unfinished command: its bytes will be given again from their start, or from that of one before it. */
void rung_resp_parser_restart(rung_resp_parser *p);

typedef struct rung_resp_command {
    uint32_t first, count; /* of the args' items; no arguments: nothing was asked, go on */
    bool is_inline;        /* its arguments live until the next inline command is parsed */
    bool
        is_alike; /* it is known to have the first two arguments and as many as the one parsed before it into the same
                    * args; whether every one like that is found depends on how it is spelled */
} rung_resp_command;

/* Parse one command. `bytes` begin where the command begins: after RUNG_PARTIAL the same bytes again, with more behind
 * them. RUNG_OK: *used_out bytes are done with, its arguments were added to `args`, and the bytes stay where they are
 * until those are reset or a command is not complete; RUNG_PARTIAL: it is not complete;
 * RUNG_EINVAL: not the protocol, or beyond a limit: p->error is for the sender, and nothing more can be read;
 * RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_resp_parse(rung_resp_parser *p, rung_resp_args *args,
                                           rung_slice bytes, size_t *used_out,
                                           rung_resp_command *command_out);

/* An integer as Redis reads one: no sign but '-', no leading zeros, no spaces. */
bool rung_resp_integer(rung_slice text, int64_t *value_out);

#endif
