/* SPDX-License-Identifier: Apache-2.0 */
/* page_cache.h - the last top pages, written once and sent to many.
 *
 * A page is valid for one sequence and one window, so it is never older than the state; under steady writes it is
 * rebuilt after every batch. A few pages of bounded size. One thread. */
#ifndef RUNG_FRONT_API_PAGE_CACHE_H
#define RUNG_FRONT_API_PAGE_CACHE_H

#include "base/buffer.h"
#include "base/slice.h"

#include <stdint.h>

#define RUNG_PAGES_MAX       16u
#define RUNG_PAGE_TARGET_MAX 256u               /* a longer one is not kept */
#define RUNG_PAGE_BODY_MAX   ((size_t)64 << 10) /* nor a longer body */

/* What an answer depends on: the request as sent, the state, and the window selected by the clock. */
typedef struct rung_page_key {
    rung_slice path, query;
    uint64_t seq;
    uint32_t kind;
    int64_t ordinal;
} rung_page_key;

typedef struct rung_page {
    rung_page_key key; /* its texts are in `target` */
    char target[RUNG_PAGE_TARGET_MAX];
    rung_buffer body; /* empty: no page */
} rung_page;

/* Zero is empty. */
typedef struct rung_page_cache {
    rung_page pages[RUNG_PAGES_MAX];
    uint32_t next; /* the oldest, to be replaced next */
} rung_page_cache;

/* The body, valid until the next keep; ptr is NULL when there is none. */
rung_slice rung_page_find(const rung_page_cache *cache, const rung_page_key *key);
/* Copies. Keeps nothing that is too long, or without memory. */
void rung_page_keep(rung_page_cache *cache, const rung_alloc *alloc, const rung_page_key *key,
                    rung_slice body);
void rung_page_cache_deinit(rung_page_cache *cache);

#endif
