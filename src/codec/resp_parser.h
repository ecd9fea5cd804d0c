/* SPDX-License-Identifier: Apache-2.0 */
/* resp_parser.h - parse Redis requests from bytes that arrive in pieces of any size.
 *
 *     used = 0;
 *     while ((st = rung_resp_parse(&parser, &args, rest(bytes, used), &n, &command)) == RUNG_OK) {
 *         used += n;                                  // args.items[command.first .. + command.count)
 *     }
 *     if (st == RUNG_EINVAL) reply parser.error and close
 *
 * It accepts arrays of bulk strings (RESP2 and RESP3) and inline commands as typed into telnet. Error texts are those
 * of Redis 7. Arguments of an array are not copied: they point into the bytes. The parser remembers its progress in
 * an unfinished command, so it reads no byte twice, however small the pieces are.
 *
 * Memory: 8 bytes per argument of the current command, the first few inside the parser; the rest is freed when the
 * command is complete. Pure; one thread at a time. */
#ifndef RUNG_CODEC_RESP_PARSER_H
#define RUNG_CODEC_RESP_PARSER_H

#include "base/buffer.h"
#include "base/status.h"

#include <stdint.h>

#define RUNG_RESP_INLINE_MAX      (64u << 10) /* bytes of a line */
#define RUNG_RESP_PARSER_ARGS_OWN 8
#define RUNG_RESP_ERROR_MAX       64

typedef struct rung_resp_limits {
    uint32_t args_max;    /* arguments of one command */
    uint32_t bulk_max;    /* bytes of one argument */
    uint32_t command_max; /* bytes of one command in total; below 2^31 */
    bool is_stranger;     /* not authenticated: errors at a limit say so, as in Redis */
} rung_resp_limits;

/* What Redis allows before AUTH. */
#define RUNG_RESP_LIMITS_STRANGER ((rung_resp_limits){10, 16384, 256u << 10, true})

/* The arguments of parsed commands; one for all parsers of a thread. Initialise to zero with an allocator. */
typedef struct rung_resp_args {
    const rung_alloc *alloc;
    rung_slice *items;
    uint32_t count, size;
    /* Private: the last command's bytes up to its third argument; empty: not known. */
    rung_slice head;
    uint32_t head_count; /* private: how many arguments it has */
    rung_buffer line;    /* the words of the inline command read last */
} rung_resp_args;

void rung_resp_args_deinit(rung_resp_args *args);
/* Forget all arguments; frees large memory. */
void rung_resp_args_reset(rung_resp_args *args);

typedef struct rung__resp_span {
    uint32_t offset, len;
} rung__resp_span;

typedef struct
    rung_resp_parser { /* private but for error and limits; set up by rung_resp_parser_init() */
    rung_resp_limits limits;         /* may be changed between commands */
    char error[RUNG_RESP_ERROR_MAX]; /* "Protocol error: ...", when RUNG_EINVAL was returned */
    const rung_alloc *alloc;
    uint32_t at;       /* bytes of the command parsed so far */
    uint32_t seen;     /* bytes after `at` known to contain no line end */
    int32_t args_left; /* -1: the count has not been read yet */
    int64_t bulk_len;  /* -1: the length has not been read yet */
    uint32_t count, size;
    rung__resp_span *spans; /* own[], or memory */
    rung__resp_span own[RUNG_RESP_PARSER_ARGS_OWN];
} rung_resp_parser;

void rung_resp_parser_init(rung_resp_parser *p, const rung_alloc *alloc, rung_resp_limits limits);
void rung_resp_parser_deinit(rung_resp_parser *p);
/* Forget an unfinished command: the caller will pass its bytes again from the start of this or an earlier command. */
void rung_resp_parser_restart(rung_resp_parser *p);

typedef struct rung_resp_command {
    uint32_t first, count; /* in args.items; count 0: an empty command, continue */
    bool is_inline;        /* its arguments are valid until the next inline command is parsed */
    /* It is known to have the first two arguments and as many as the one parsed before it into the same args; whether
     * every one like that is found depends on how it is spelled. */
    bool is_alike;
} rung_resp_command;

/* Parse one command. `bytes` starts at the command: after RUNG_PARTIAL pass the same bytes again with more appended.
 * RUNG_OK: *used_out bytes are consumed and the arguments were added to `args`; keep the bytes in place until `args`
 * is reset or a call returns RUNG_PARTIAL. RUNG_PARTIAL: incomplete. RUNG_EINVAL: not the protocol, or beyond a
 * limit: send p->error; nothing more can be parsed. RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_resp_parse(rung_resp_parser *p, rung_resp_args *args,
                                           rung_slice bytes, size_t *used_out,
                                           rung_resp_command *command_out);

/* An integer as Redis reads one: no sign but '-', no leading zeros, no spaces. */
bool rung_resp_integer(rung_slice text, int64_t *value_out);

#endif
