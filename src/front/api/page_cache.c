/* SPDX-License-Identifier: Apache-2.0 */
/* A linear search over a few pages that compares numbers first. */
#include "front/api/page_cache.h"

#include <string.h>

static bool is_of(const rung_page *page, const rung_page_key *key) {
    return page->body.len && rung_slice_eq(page->key.path, key->path) &&
           rung_slice_eq(page->key.query, key->query);
}

rung_slice rung_page_find(const rung_page_cache *cache, const rung_page_key *key) {
    for (uint32_t i = 0; i < RUNG_PAGES_MAX; i++) {
        const rung_page *page = &cache->pages[i];
        if (page->key.seq == key->seq && page->key.ordinal == key->ordinal &&
            page->key.kind == key->kind && is_of(page, key))
            return rung_buffer_slice(&page->body);
    }
    return (rung_slice){NULL, 0};
}

/* Replace the outdated page of the same request, or the oldest page. */
static rung_page *choose(rung_page_cache *cache, const rung_page_key *key) {
    for (uint32_t i = 0; i < RUNG_PAGES_MAX; i++)
        if (is_of(&cache->pages[i], key))
            return &cache->pages[i];
    rung_page *page = &cache->pages[cache->next];
    cache->next = (cache->next + 1) % RUNG_PAGES_MAX;
    return page;
}

void rung_page_keep(rung_page_cache *cache, const rung_alloc *alloc, const rung_page_key *key,
                    rung_slice body) {
    if (key->path.len + key->query.len > RUNG_PAGE_TARGET_MAX || body.len > RUNG_PAGE_BODY_MAX ||
        body.len == 0)
        return;
    rung_page *page = choose(cache, key);
    page->body.alloc = alloc;
    rung_buffer_reset(&page->body, RUNG_PAGE_BODY_MAX);
    rung_buffer_put(&page->body, body.ptr, body.len);
    page->key = *key;
    page->key.path.ptr = memcpy(page->target, key->path.ptr, key->path.len);
    if (key->query.len)
        page->key.query.ptr = memcpy(page->target + key->path.len, key->query.ptr, key->query.len);
}

void rung_page_cache_deinit(rung_page_cache *cache) {
    for (uint32_t i = 0; i < RUNG_PAGES_MAX; i++)
        rung_buffer_deinit(&cache->pages[i].body);
    cache->next = 0;
}
