/* SPDX-License-Identifier: Apache-2.0 */
/* The same page of a board asked for again, by anybody: written once, sent many times.
 *
 * An entry is good for one position of the log: the state is a function of it. What also depends on the time (keys that
 * expire, boards that decay) is not kept. Few entries, replaced in turn: it is for the page that everybody looks at. */
#include "front/resp/server.h"

static bool is_same(const rung__resp_cached *e, const rung__resp_call *call, uint64_t seq) {
    if (e->seq != seq || e->version != call->out->version || e->argc != call->argc)
        return false;
    const char *p = e->words;
    for (uint32_t i = 0; i < call->argc; i++) {
        if ((uint8_t)*p != call->argv[i].len ||
            memcmp(p + 1, call->argv[i].ptr, call->argv[i].len) != 0)
            return false;
        p += 1 + call->argv[i].len;
    }
    return true;
}

bool rung__resp_cache_find(rung__resp_call *call) {
    uint64_t seq = rung_state_seq(call->state);
    if (call->is_inside)
        return false;
    for (uint32_t i = 0; i < RUNG__CACHED; i++) {
        const rung__resp_cached *e = &call->r->cache.entries[i];
        if (!is_same(e, call, seq))
            continue;
        rung_resp_raw(call->out, rung_slice_of(e->reply, e->reply_len));
        return true;
    }
    return false;
}

void rung__resp_cache_keep(rung__resp_call *call, size_t mark) {
    rung__resp_cache *cache = &call->r->cache;
    rung__resp_cached *e = &cache->entries[cache->next];
    size_t len = call->out->len - mark, words = 0;
    for (uint32_t i = 0; i < call->argc; i++)
        words += call->argv[i].len > UINT8_MAX ? sizeof e->words : 1 + call->argv[i].len;
    if (call->is_inside || call->out->is_failed || len > sizeof e->reply || words > sizeof e->words)
        return;
    cache->next = (cache->next + 1) % RUNG__CACHED;
    e->seq = rung_state_seq(call->state);
    e->version = call->out->version;
    e->argc = call->argc;
    char *p = e->words;
    for (uint32_t i = 0; i < call->argc; i++) {
        *p = (char)call->argv[i].len;
        if (call->argv[i].len)
            memcpy(p + 1, call->argv[i].ptr, call->argv[i].len);
        p += 1 + call->argv[i].len;
    }
    e->reply_len = (uint32_t)len;
    memcpy(e->reply, call->out->data + mark, len);
}
