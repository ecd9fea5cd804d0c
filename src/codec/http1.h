/* SPDX-License-Identifier: Apache-2.0 */
/* http1.h - a strict parser for HTTP/1.x requests: the head line by line, the chunked body piece by piece.
 *
 *     rung_head head = {0};
 *     st = rung_head_parse(&head, &limits, bytes, &size, &problem);   // PARTIAL: call again with more bytes appended
 *     rung_chunks chunks = {0};
 *     while (rung_chunks_next(&chunks, &bytes, &piece) == RUNG_CHUNKS_PIECE) ...
 *
 * It refuses whatever two implementations could interpret differently. Lines end with CRLF; no folding, no blanks
 * around names, exactly one Host, one way to frame a body, only digits in lengths. Every refusal names the rule. The
 * work is linear in the bytes, however they are split. Pure; any thread. */
#ifndef RUNG_CODEC_HTTP1_H
#define RUNG_CODEC_HTTP1_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum rung_method {
    RUNG_METHOD_GET,
    RUNG_METHOD_HEAD,
    RUNG_METHOD_POST,
    RUNG_METHOD_PUT,
    RUNG_METHOD_DELETE,
    RUNG_METHOD_PATCH,
    RUNG_METHOD_OPTIONS,
    RUNG_METHOD_OTHER, /* another valid token; its text is method_text */
} rung_method;

#define RUNG_HEAD_FIELDS_MAX 100
#define RUNG_HEAD_SIZE_MAX   65535u /* offsets are 16 bits wide */

typedef struct rung_head_limits {
    uint32_t size_max, target_max, fields_max;
} rung_head_limits;

/* A part of the head: offset and length. */
typedef struct rung_head_part {
    uint16_t at, len;
} rung_head_part;

typedef struct rung_head_field {
    rung_head_part name, value;
} rung_head_field;

/* Zero before the first byte. Offsets count from the first byte given. */
typedef struct rung_head {
    uint32_t line, scanned; /* start of the current line; where to search for its end */
    bool has_request_line;
    rung_method method;
    uint8_t minor_version; /* HTTP/1.0 or HTTP/1.1 */
    rung_head_part method_text, path, query, authority /* of an absolute target */, host;
    bool has_host, has_length, is_chunked, expects_continue, wants_upgrade;
    bool says_close, says_keep_alive, says_upgrade, names_websocket;
    uint32_t seen; /* fields that may come only once, by number */
    uint64_t length;
    uint32_t field_count;
    rung_head_field fields[RUNG_HEAD_FIELDS_MAX];
} rung_head;

/* A refusal: the response. All texts are static. */
typedef struct rung_head_problem {
    int status;
    const char *code, *detail;
} rung_head_problem;

/* RUNG_OK: the head is `*size_out` bytes long; RUNG_PARTIAL; RUNG_EINVAL: refused, see `problem`, and the rest of the
 * input cannot be trusted. `bytes` starts at the same byte in every call for one head. */
RUNG_NODISCARD rung_status rung_head_parse(rung_head *h, const rung_head_limits *limits,
                                           rung_slice bytes, size_t *size_out,
                                           rung_head_problem *problem);

static inline rung_slice rung_head_slice(const char *bytes, rung_head_part part) {
    return rung_slice_of(bytes + part.at, part.len);
}

/* The first field with that name, which is in lower case; ptr is NULL if there is none. */
rung_slice rung_head_find(const rung_head *h, const char *bytes, rung_slice lower_name);

/* Does a comma-separated list contain this token (lower case), ignoring parameters but not with q=0? */
bool rung_list_has(rung_slice list, rung_slice token);

/* The part of a body of `size` bytes that a Range field asks for: "bytes=5-", "bytes=5-9" or "bytes=-5". RUNG_OK: that
 * part, at least one byte. RUNG_NOT_FOUND: send the whole body; the field is absent, malformed, of another unit or
 * names several parts. RUNG_ERANGE: the part lies beyond the end. */
RUNG_NODISCARD rung_status rung_range_read(rung_slice field, uint64_t size, uint64_t *from_out,
                                           uint64_t *len_out);
/* The first byte of an answer and the size of the whole, from a Content-Range field such as "bytes 5-9/100". In a 416 a
 * star takes the place of the part; then the first byte is the size. False: it is neither. */
bool rung_content_range_read(rung_slice field, uint64_t *from_out, uint64_t *size_out);

/* ---- chunked ---- */

typedef enum rung_chunks_event {
    RUNG_CHUNKS_MORE,  /* all input is consumed; more is needed */
    RUNG_CHUNKS_PIECE, /* bytes of the body */
    RUNG_CHUNKS_END,   /* the body is complete; what is left of the input follows it */
    RUNG_CHUNKS_BAD,
} rung_chunks_event;

#define RUNG_CHUNKS_LINE_MAX    256  /* a chunk's size with its extensions, or one trailer name */
#define RUNG_CHUNKS_TRAILER_MAX 4096 /* all trailers together; they are checked and ignored */

/* Zero before the first byte. */
typedef struct rung_chunks {
    uint8_t state, digits;
    uint16_t line_len;
    uint16_t trailer_len;
    uint64_t left; /* of the chunk */
} rung_chunks;

/* Take from the front of `*input`. */
rung_chunks_event rung_chunks_next(rung_chunks *c, rung_slice *input, rung_slice *piece_out);

#endif
