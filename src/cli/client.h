/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - HTTP requests to a server with libcurl, one after the other on one connection.
 *
 *     rung_client_create(&(rung_client_config){.url = args.url, .key_file = args.key_file}, &client, &err);
 *     rung_path path = {0};
 *     rung_path_add(&path, "/v1/boards/");
 *     rung_path_name(&path, board);                        // percent-encoded
 *     rung_path_query(&path, "limit", "10");               // ?limit=10
 *     rung_client_ask(client, "GET", &path, NULL, (rung_slice){0}, &reply, &err);
 *
 * The key comes from RUNG_KEY or a file (--key-file, RUNG_KEY_FILE), never from the command line, which every local
 * user can read. Redirects are not followed, so it reaches only the host of the URL. One thread. */
#ifndef RUNG_CLI_CLIENT_H
#define RUNG_CLI_CLIENT_H

#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_URL_DEFAULT "http://127.0.0.1:7864"

/* ---- what to ask for ---- */

enum { RUNG_PATH_MAX = 8192 };

/* Zero is the empty path. rung_client_ask() refuses a path that did not fit. */
typedef struct rung_path {
    size_t len;
    bool has_query, is_cut;
    char text[RUNG_PATH_MAX];
} rung_path;

void rung_path_add(rung_path *p, const char *literal);
void rung_path_name(rung_path *p, const char *name); /* one segment or value, encoded */
/* ?name=value or &name=value; nothing when `value` is NULL. */
void rung_path_query(rung_path *p, const char *name, const char *value);
void rung_path_query_number(rung_path *p, const char *name, uint64_t value); /* nothing when 0 */

/* ---- asking ---- */

typedef struct rung_client rung_client; /* release it with rung_client_destroy() */

typedef struct rung_client_config {
    const char *url;      /* NULL: RUNG_URL, or RUNG_URL_DEFAULT. Also unix:PATH */
    const char *key_file; /* NULL: RUNG_KEY, or the file RUNG_KEY_FILE names, or no key */
    const char *ca_file;  /* certificates to trust; NULL: RUNG_CA_FILE, or the system's */
} rung_client_config;

/* RUNG_EINVAL: not a URL, or no key in the file; RUNG_EIO, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_client_create(const rung_client_config *config,
                                              rung_client **client_out, rung_err *err);
void rung_client_destroy(rung_client *c); /* NULL is fine */
const char *rung_client_url(const rung_client *c);

typedef struct rung_reply {
    long status; /* of HTTP */
    char *body;  /* NUL-terminated; valid until the next request */
    size_t len;
} rung_reply;

enum { RUNG_REPLY_MAX = 256 << 20 };

/* RUNG_OK: the server answered, with any status. RUNG_EIO: it cannot be reached; RUNG_ELIMIT: more than RUNG_REPLY_MAX
 * bytes; RUNG_EINVAL: the path is too long. `type` NULL: JSON. */
RUNG_NODISCARD rung_status rung_client_ask(rung_client *c, const char *method,
                                           const rung_path *path, const char *type, rung_slice body,
                                           rung_reply *reply_out, rung_err *err);

typedef struct rung_download_head {
    long status;
    uint64_t from, size; /* the first byte of the answer, and the size of the whole file */
    char etag[96];       /* with its quotes */
    /* Of a snapshot; empty when the header is missing. */
    char seq[24], log[40];
} rung_download_head;

/* Download a file from byte `from` on if its ETag still is `etag`, otherwise from its beginning. `put` gets every piece
 * of an answer with status 200 or 206; if it fails, the download ends with its status. RUNG_OK: the answer is complete;
 * of another status, `reply_out` has it. RUNG_EIO: the server cannot be reached, or the answer was cut. */
RUNG_NODISCARD rung_status rung_client_download(
    rung_client *c, const rung_path *path, uint64_t from, const char *etag,
    rung_status (*put)(void *ctx, const rung_download_head *head, rung_slice bytes), void *ctx,
    rung_download_head *head_out, rung_reply *reply_out, rung_err *err);

/* Read server-sent events until `each` returns false (RUNG_OK) or the stream ends (RUNG_EIO). RUNG_NOT_FOUND: the
 * answer was not 200 with text/event-stream. `each` is also called without bytes, a few times per second. */
RUNG_NODISCARD rung_status rung_client_follow(rung_client *c, const rung_path *path,
                                              bool (*each)(void *ctx, rung_slice bytes), void *ctx,
                                              rung_err *err);

#endif
