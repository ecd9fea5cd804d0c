/* SPDX-License-Identifier: Apache-2.0 */
/* state_bytes.h - a saved state in memory: a sink that collects, a source that gives pieces of any size.
 *
 *     state_bytes b = {0};
 *     state_bytes_save(&b, s);
 *     CHECK_OK(state_bytes_load(&b, &config, 7, false, &copy, &err));     // 7 bytes at a time
 *     state_bytes_deinit(&b); */
#ifndef RUNG_TESTS_STATE_BYTES_H
#define RUNG_TESTS_STATE_BYTES_H

#include "state/image/save.h"
#include "state/image/stream.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>

typedef struct state_bytes {
    uint8_t *bytes;
    size_t len, cap;
} state_bytes;

static inline void state_bytes_deinit(state_bytes *b) {
    free(b->bytes);
    *b = (state_bytes){0};
}

static inline rung_status state_bytes_sink(void *ctx, const void *bytes, size_t len) {
    state_bytes *b = ctx;
    CHECK(len > 0);
    if (b->len + len > b->cap) {
        b->cap = (b->len + len) * 2;
        b->bytes = realloc(b->bytes, b->cap);
        CHECK(b->bytes);
    }
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    return RUNG_OK;
}

static inline void state_bytes_save(state_bytes *b, const rung_state *s) {
    b->len = 0;
    CHECK_OK(rung_state_save(s, state_bytes_sink, b, NULL));
}

/* Gives each piece in a block of its own, freed at the next call, so that ASan sees who keeps one. */
typedef struct state_source {
    const uint8_t *bytes;
    size_t left, piece;
    void *given;
} state_source;

static inline rung_status state_source_next(void *ctx, const void **bytes_out, size_t *len_out) {
    state_source *s = ctx;
    free(s->given);
    s->given = NULL;
    if (!s->left)
        return RUNG_NOT_FOUND;
    size_t n = s->piece && s->piece < s->left ? s->piece : s->left;
    s->given = malloc(n);
    CHECK(s->given);
    memcpy(s->given, s->bytes, n);
    s->bytes += n;
    s->left -= n;
    *bytes_out = s->given;
    *len_out = n;
    return RUNG_OK;
}

/* In pieces of `piece` bytes, 0: all at once. */
static inline rung_status state_bytes_load(const state_bytes *b, const rung_state_config *config,
                                           size_t piece, bool any_digest, rung_state **out,
                                           rung_err *err) {
    state_source source = {b->bytes, b->len, piece, NULL};
    rung_status st =
        rung__state_load(config, state_source_next, &source, NULL, NULL, any_digest, out, err);
    free(source.given);
    return st;
}

#endif
