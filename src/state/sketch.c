/* SPDX-License-Identifier: Apache-2.0 */
/* The rankings of sketch boards: their memory, what submissions add to them, their facts. sketch.h has the invariants.
 *
 * A player of a sketch board is not interned: a stream may have any number of names. */
#include "state/sketch.h"

#include "state/attribute.h"
#include "state/digest.h"

#include <string.h>

enum {
    PRECISION_MAX = 14,  /* of the distinct count beside another sketch: 0.81 % in 12 KiB */
    PLAYERS_SHARE = 8,   /* it takes at most an eighth of the memory */
    DISTINCT_HEAD = 512, /* of the object, beside its registers */
};

rung__sketch_parts rung__sketch_parts_of(rung_sketch_kind kind, uint32_t memory_bytes) {
    bool is_alone = kind == RUNG_SKETCH_DISTINCT;
    size_t room = (is_alone ? memory_bytes : memory_bytes / PLAYERS_SHARE) - DISTINCT_HEAD;
    uint32_t precision = RUNG_DISTINCT_PRECISION_MIN,
             most = is_alone ? RUNG_DISTINCT_PRECISION_MAX : PRECISION_MAX;
    while (precision < most && rung_distinct_register_bytes(precision + 1) <= room)
        precision++;
    size_t taken = rung_distinct_register_bytes(precision) + DISTINCT_HEAD;
    return (rung__sketch_parts){precision, is_alone ? 0 : memory_bytes - taken};
}

/* ---- memory ---- */

bool rung__sketch_has_room(const rung__board *b, uint32_t more) {
    uint64_t count = (uint64_t)b->sketch_count + more;
    return count <= RUNG__SKETCHES_MAX && count * b->def->sketch_memory <= RUNG__SKETCH_BYTES_MAX;
}

/* Sketches of one name have one seed, also on other servers: they can be merged. */
static uint64_t seed_of(const rung_state *s, const rung__board *b) {
    rung_slice id = rung_names_id(s->board_ids, b->number);
    return rung__bytes_hash(id.ptr, id.len);
}

static rung_status fill(const rung_state *s, const rung__board *b, rung__sketch *k) {
    rung_sketch_kind kind = b->def->sketch;
    rung__sketch_parts parts = rung__sketch_parts_of(kind, b->def->sketch_memory);
    rung_status st =
        rung_distinct_create(&(rung_distinct_config){s->alloc, parts.precision, 0}, &k->players);
    if (st >= 0 && kind == RUNG_SKETCH_COUNTS)
        st = rung_hitters_create(
            &(rung_hitters_config){s->alloc, parts.main_bytes, seed_of(s, b), s->hash_key.k0},
            &k->hitters);
    if (st >= 0 && kind == RUNG_SKETCH_PERCENTILE)
        st = rung_quantiles_create(&(rung_quantiles_config){s->alloc, parts.main_bytes},
                                   &k->quantiles);
    return st;
}

rung__sketch *rung__sketch_new(rung_state *s, rung__board *b) {
    rung__sketch *k = rung_alloc_zeroed(s->alloc, sizeof *k);
    if (!k)
        return NULL;
    b->sketch_count++;
    if (fill(s, b, k) == RUNG_OK)
        return k;
    rung__sketch_free(s, b, k);
    return NULL;
}

void rung__sketch_free(rung_state *s, rung__board *b, rung__sketch *k) {
    if (!k)
        return;
    b->sketch_count--;
    rung_hitters_destroy(k->hitters);
    rung_quantiles_destroy(k->quantiles);
    rung_distinct_destroy(k->players);
    rung_alloc_free(s->alloc, k, sizeof *k);
}

size_t rung__sketch_memory(const rung__sketch *k) {
    return sizeof *k + (k->hitters ? rung_hitters_memory(k->hitters) : 0) +
           (k->quantiles ? rung_quantiles_memory(k->quantiles) : 0) +
           rung_distinct_memory(k->players);
}

uint64_t rung__sketch_size(const rung__sketch *k) {
    return k->hitters     ? rung_hitters_count(k->hitters)
           : k->quantiles ? rung_quantiles_count(k->quantiles)
                          : rung_distinct_estimate(k->players);
}

rung_status rung__sketch_open_value(rung_state *s, rung__board *b, rung__window *w, uint32_t slot,
                                    uint32_t value) {
    rung__scope *scope = &w->scopes[slot];
    if (rung__grow(s->alloc, &scope->sketches, &scope->sketch_cap, value + 1,
                   sizeof(rung__sketch *)) < 0)
        return RUNG_ENOMEM;
    if (!scope->sketches[value])
        scope->sketches[value] = rung__sketch_new(s, b);
    return scope->sketches[value] ? RUNG_OK : RUNG_ENOMEM;
}

void rung__sketches_drop_slot(rung_state *s, rung__board *b, rung__scope *scope) {
    for (uint32_t v = 0; v < scope->sketch_cap; v++)
        rung__sketch_free(s, b, scope->sketches[v]);
    rung_alloc_free(s->alloc, scope->sketches, scope->sketch_cap * sizeof(rung__sketch *));
    scope->sketches = NULL;
    scope->sketch_cap = 0;
}

/* ---- adding ---- */

bool rung__sketch_is_full(const rung__sketch *k, const rung__sketch_add *add) {
    return (k->hitters && add->weight > RUNG_HITTERS_TOTAL_MAX - rung_hitters_total(k->hitters)) ||
           (k->quantiles && rung_quantiles_count(k->quantiles) == RUNG_QUANTILES_COUNT_MAX);
}

/* S3 */
static void link(rung__sketch *k, uint64_t what, uint64_t more) {
    k->chain =
        rung_hash_word(rung_hash_word(k->chain + UINT64_C(0x9e3779b97f4a7c15)) ^ what) + more;
}

bool rung__sketch_put(rung__sketch *k, const rung__sketch_add *add) {
    uint64_t hash = rung__bytes_hash(add->player.ptr, add->player.len);
    k->submissions++;
    bool is_new = rung_distinct_add_hash(k->players, hash);
    if (k->hitters)
        rung_ignore(rung_hitters_add(k->hitters, add->player, add->weight), "it was checked");
    if (k->quantiles)
        rung_ignore(rung_quantiles_add(k->quantiles, add->key), "it was checked");
    link(k, hash, k->quantiles ? add->key : add->weight);
    return is_new;
}

rung_status rung__sketch_merge_players(rung__sketch *k, const rung__sketch *from) {
    if (rung_distinct_merge(k->players, from->players) != RUNG_OK)
        return RUNG_EINVAL;
    k->submissions += from->submissions;
    link(k, from->chain, from->submissions);
    return RUNG_OK;
}

bool rung__sketch_forget(rung__sketch *k, rung_slice player) {
    if (!k->hitters || rung_hitters_remove(k->hitters, player) != RUNG_OK)
        return false;
    link(k, rung__bytes_hash(player.ptr, player.len), UINT64_MAX);
    return true;
}

uint32_t rung__sketches_of(const rung_state *s, const rung__board *b, const rung__window *w,
                           uint32_t player, uint32_t *slots, uint32_t *values, rung__sketch **out) {
    uint32_t n = 0;
    out[n++] = w->sketch;
    for (uint32_t slot = 0; slot < b->scope_count && player != RUNG_PLAYER_NONE; slot++) {
        uint32_t value = rung__value_of(s, b, slot, player);
        const rung__scope *scope = &w->scopes[slot];
        if (value == RUNG__NONE)
            continue;
        slots[n] = slot;
        values[n] = value;
        out[n++] = value < scope->sketch_cap ? scope->sketches[value] : NULL;
    }
    return n;
}

/* ---- facts ---- */

rung_digest rung__sketch_digest(const rung__window *w, uint64_t place, const rung__sketch *k) {
    uint64_t words[2] = {k->chain, k->submissions};
    return rung__fact_digest(RUNG__FACT_SKETCH, w->tag, place, words, 2);
}

rung_digest rung__sketches_digest(const rung__window *w) {
    rung_digest d = {0, 0};
    if (w->sketch)
        rung__digest_add(&d, rung__sketch_digest(w, 0, w->sketch));
    for (uint32_t slot = 0; w->sketch && slot < RUNG__SCOPE_SLOTS; slot++)
        for (uint32_t v = 0; v < w->scopes[slot].sketch_cap; v++)
            if (w->scopes[slot].sketches[v] && w->scopes[slot].sketches[v]->submissions)
                rung__digest_add(&d, rung__sketch_digest(w, rung__sketch_place(slot, v),
                                                         w->scopes[slot].sketches[v]));
    return d;
}

/* ---- forgetting ---- */

static bool forget_one(rung_state *s, rung__window *w, uint64_t place, rung__sketch *k,
                       rung_slice player) {
    rung_digest before = rung__sketch_digest(w, place, k);
    if (!rung__sketch_forget(k, player))
        return false;
    rung_digest after = rung__sketch_digest(w, place, k);
    rung__digest_subtract(&s->digest, before);
    rung__digest_subtract(&w->entries, before);
    rung__digest_add(&s->digest, after);
    rung__digest_add(&w->entries, after);
    return true;
}

bool rung__sketches_forget(rung_state *s, rung__board *b, rung_slice player) {
    bool any = false;
    for (uint32_t i = 0; b->def->sketch == RUNG_SKETCH_COUNTS && i < b->window_count; i++) {
        rung__window *w = b->windows[i];
        if (!w->sketch)
            continue;
        any |= forget_one(s, w, 0, w->sketch, player);
        for (uint32_t slot = 0; slot < RUNG__SCOPE_SLOTS; slot++)
            for (uint32_t v = 0; v < w->scopes[slot].sketch_cap; v++)
                if (w->scopes[slot].sketches[v])
                    any |= forget_one(s, w, rung__sketch_place(slot, v),
                                      w->scopes[slot].sketches[v], player);
    }
    if (any)
        b->version = s->seq;
    return any;
}

bool rung__sketches_forget_everywhere(rung_state *s, rung_slice player) {
    bool any = false;
    for (uint32_t i = 0; i < s->board_cap; i++)
        if (s->boards[i])
            any |= rung__sketches_forget(s, s->boards[i], player);
    return any;
}

const char *rung__sketch_check(const rung__sketch *k) {
    const char *wrong = rung_distinct_check(k->players);
    if (!wrong && k->hitters)
        wrong = rung_hitters_check(k->hitters);
    if (!wrong && k->quantiles)
        wrong = rung_quantiles_check(k->quantiles);
    return wrong;
}

/* ---- definitions ---- */

static double error_of(const rung_board_def *def) {
    rung__sketch_parts parts = rung__sketch_parts_of(def->sketch, def->sketch_memory);
    if (def->sketch == RUNG_SKETCH_COUNTS) /* names may have any length */
        return 1.0 / rung_hitters_capacity_of(parts.main_bytes, RUNG_HITTERS_NAME_MAX);
    if (def->sketch == RUNG_SKETCH_PERCENTILE)
        return rung_quantiles_error_of(parts.main_bytes);
    return 1.04 / __builtin_sqrt((double)(1u << parts.precision));
}

rung_status rung_sketch_def_check(const rung_board_def *def, rung_err *err) {
    if (!def->sketch || def->sketch_error == 0 || error_of(def) <= def->sketch_error)
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "memory",
                           "too small for that error: it guarantees %.3g of the total",
                           error_of(def));
}
