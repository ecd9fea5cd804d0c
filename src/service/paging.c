/* SPDX-License-Identifier: Apache-2.0 */
#include "service/paging.h"

#include "base/bytes.h"
#include "base/fair.h"
#include "guard/base64url.h"

#include <string.h>

/* A token's bytes: id, place, then the MAC of all before it. */
enum {
    PLACE_BYTES = 4 * 4 + 8 * RUNG_LADDER_WORDS_MAX,
    SIGNED_BYTES = 8 + PLACE_BYTES,
    TOKEN_BYTES = SIGNED_BYTES + 12,
};
_Static_assert(RUNG_BASE64URL_TEXT_SIZE(TOKEN_BYTES) == RUNG_PAGING_TOKEN_SIZE, "its text");

typedef struct held {
    uint64_t id; /* 0: free */
    rung_hold *hold;
    int64_t used_ms;
    uint32_t share;
    bool is_done;
} held;

struct rung_paging {
    const rung_alloc *alloc;
    rung_hash_key keys[2];
    uint64_t last_id;
    held items[RUNG_PAGING_MAX];
    rung_fair shares;
};

rung_status rung_paging_create(const rung_alloc *alloc, const rung_random *random,
                               rung_paging **out, rung_err *err) {
    rung_paging *p = rung_alloc_zeroed(alloc, sizeof *p);
    if (!p)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    p->alloc = alloc;
    p->shares.max = RUNG_PAGING_MAX;
    rung_status st = rung_random_fill(random, p->keys, sizeof p->keys, err);
    if (st < 0) {
        rung_alloc_free(alloc, p, sizeof *p);
        return st;
    }
    *out = p;
    return RUNG_OK;
}

static void let_go(rung_paging *p, held *h) {
    rung_hold_destroy(h->hold);
    rung_fair_give(&p->shares, h->share, 1);
    *h = (held){0};
}

void rung_paging_destroy(rung_paging *p) {
    if (!p)
        return;
    for (uint32_t i = 0; i < RUNG_PAGING_MAX; i++)
        if (p->items[i].id)
            let_go(p, &p->items[i]);
    rung_alloc_free(p->alloc, p, sizeof *p);
}

/* ---- which go ---- */

static bool is_idle(const held *h, int64_t now_ms) {
    return rung_hold_is_over(h->hold) || now_ms - h->used_ms >= RUNG_PAGING_IDLE_MS;
}

static void limit_notes(rung_paging *p) {
    for (;;) {
        uint64_t notes = 0;
        held *largest = NULL;
        for (held *h = p->items; h < p->items + RUNG_PAGING_MAX; h++) {
            notes += h->id ? rung_hold_notes(h->hold) : 0;
            if (h->id && (!largest || rung_hold_notes(h->hold) > rung_hold_notes(largest->hold)))
                largest = h;
        }
        if (notes <= RUNG_PAGING_NOTES_MAX)
            return;
        let_go(p, largest);
    }
}

uint32_t rung_paging_sweep(rung_paging *p, int64_t now_ms) {
    for (held *h = p->items; h < p->items + RUNG_PAGING_MAX; h++)
        if (h->id && is_idle(h, now_ms))
            let_go(p, h);
    limit_notes(p);
    return p->shares.total;
}

/* Make room by what was read to its end: of anybody, or of one share. */
static void drop_done(rung_paging *p, uint32_t share) {
    held *oldest = NULL;
    for (held *h = p->items; h < p->items + RUNG_PAGING_MAX; h++)
        if (h->id && h->is_done && (!share || h->share == share) &&
            (!oldest || h->used_ms < oldest->used_ms))
            oldest = h;
    if (oldest)
        let_go(p, oldest);
}

/* ---- begin and find ---- */

rung_status rung_paging_begin(rung_paging *p, const rung_view *view, uint32_t share, int64_t now_ms,
                              rung_paged *out, rung_err *err) {
    rung_paging_sweep(p, now_ms);
    if (!rung_fair_may(&p->shares, share, false))
        drop_done(p, share);
    if (!rung_fair_free(&p->shares))
        drop_done(p, 0);
    if (!rung_fair_may(&p->shares, share, false))
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "%d rankings are being read page by page", RUNG_PAGING_MAX);
    held *h = p->items;
    while (h->id)
        h++;
    rung_status st = rung_hold_create(view, RUNG_PAGING_NOTES_EACH, &h->hold, err);
    if (st < 0)
        return st;
    h->id = ++p->last_id;
    h->share = share;
    h->used_ms = now_ms;
    rung_fair_take(&p->shares, share, 1);
    *out = (rung_paged){.id = h->id, .hold = h->hold};
    return RUNG_OK;
}

static held *item_of(rung_paging *p, uint64_t id) {
    for (held *h = p->items; h < p->items + RUNG_PAGING_MAX; h++)
        if (id && h->id == id)
            return h;
    return NULL;
}

void rung_paging_done(rung_paging *p, const rung_paged *paged) {
    held *h = item_of(p, paged->id);
    if (h)
        h->is_done = true;
}

/* ---- tokens ---- */

static void sign(const rung_paging *p, uint8_t bytes[TOKEN_BYTES]) {
    rung_put64(bytes + SIGNED_BYTES, rung_hash_keyed(&p->keys[0], bytes, SIGNED_BYTES));
    rung_put32(bytes + SIGNED_BYTES + 8,
               (uint32_t)rung_hash_keyed(&p->keys[1], bytes, SIGNED_BYTES));
}

void rung_paging_token(const rung_paging *p, const rung_paged *paged,
                       char out[RUNG_PAGING_TOKEN_SIZE]) {
    uint8_t bytes[TOKEN_BYTES];
    const rung_hold_place *at = &paged->place;
    rung_put64(bytes, paged->id);
    rung_put32(bytes + 8, at->player);
    rung_put32(bytes + 12, at->index);
    rung_put32(bytes + 16, at->sparse);
    rung_put32(bytes + 20, at->dense);
    for (size_t k = 0; k < RUNG_LADDER_WORDS_MAX; k++)
        rung_put64(bytes + 24 + 8 * k, at->key[k]);
    sign(p, bytes);
    rung_base64url_encode(rung_slice_of((const char *)bytes, sizeof bytes), out);
}

static rung_status fail_expired(rung_err *err) {
    return RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_PAGE_EXPIRED, "page",
                               "this ranking is no longer held here; begin with page=first");
}

rung_status rung_paging_find(rung_paging *p, rung_slice token, int64_t now_ms, rung_paged *out,
                             rung_err *err) {
    uint8_t bytes[TOKEN_BYTES + 3], again[TOKEN_BYTES];
    size_t len = 0;
    if (token.len != RUNG_PAGING_TOKEN_SIZE || !rung_base64url_decode(token, bytes, &len) ||
        len != TOKEN_BYTES)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "page",
                               "expected `first`, or `next` of the page before");
    memcpy(again, bytes, sizeof again);
    sign(p, again);
    uint8_t differs = 0;
    for (size_t i = SIGNED_BYTES; i < TOKEN_BYTES; i++)
        differs |= again[i] ^ bytes[i];
    rung_paging_sweep(p, now_ms);
    held *h = differs ? NULL : item_of(p, rung_get64(bytes));
    if (!h)
        return fail_expired(err);
    h->used_ms = now_ms;
    *out = (rung_paged){.id = h->id,
                        .hold = h->hold,
                        .place = {.player = rung_get32(bytes + 8),
                                  .index = rung_get32(bytes + 12),
                                  .sparse = rung_get32(bytes + 16),
                                  .dense = rung_get32(bytes + 20)}};
    for (size_t k = 0; k < RUNG_LADDER_WORDS_MAX; k++)
        out->place.key[k] = rung_get64(bytes + 24 + 8 * k);
    return RUNG_OK;
}
