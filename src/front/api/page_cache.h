/* SPDX-License-Identifier: Apache-2.0 */
/* page_cache.h - the top pages that were just sent, in case somebody asks for the same again: written once, sent to
 * many.
 *
 * A page is good for one sequence of the log and one window, so it can never be older than the state; under a stream of
 * changes it is made anew after every batch of them. A handful of pages, each bounded. One thread. */
#ifndef RUNG_FRONT_API_PAGE_CACHE_H
#define RUNG_FRONT_API_PAGE_CACHE_H

#include "base/alloc.h"
#include "base/slice.h"

#include <stdint.h>

#define RUNG_PAGES_MAX       16u
#define RUNG_PAGE_TARGET_MAX 256u               /* a longer one is not kept */
#define RUNG_PAGE_BODY_MAX   ((size_t)64 << 10) /* nor a longer body */

/* What an answer depends on: the request as it was sent, the state, and the window that the clock chose. */
typedef struct rung_page_key {
    rung_slice path, query;
    uint64_t seq;
    uint32_t kind;
    int64_t ordinal;
} rung_page_key;

typedef struct rung_page {
    uint64_t seq;
    uint32_t kind;
    int64_t ordinal;
    uint16_t path_len, query_len;
    char target[RUNG_PAGE_TARGET_MAX]; /* path and query, one behind the other */
    char *body;
    size_t body_len, body_size;
} rung_page;

/* Zero is empty. */
typedef struct rung_page_cache {
    rung_page pages[RUNG_PAGES_MAX];
    uint32_t next; /* which one goes when room is needed: the oldest */
} rung_page_cache;

/* The body, borrowed until the next keep; ptr is NULL when there is none. */
rung_slice rung_page_find(const rung_page_cache *cache, const rung_page_key *key);
/* Copies. What is too long, or finds no memory, is not kept. */
void rung_page_keep(rung_page_cache *cache, const rung_alloc *alloc, const rung_page_key *key,
                    rung_slice body);
void rung_page_cache_deinit(rung_page_cache *cache, const rung_alloc *alloc);

#endif
