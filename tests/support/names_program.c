/* SPDX-License-Identifier: Apache-2.0 */
#include "support/names_program.h"

#include "ladder/names.h"
#include "support/check.h"
#include "support/names_batch.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_MAX = 100 };

typedef struct model_player {
    bool is_used;
    size_t len;
    char id[RUNG_PLAYER_ID_MAX];
} model_player;

typedef struct model {
    model_player *players; /* by number */
    uint32_t *free;        /* stack */
    uint32_t free_count, count, span, limit, cap;
} model;

typedef struct run {
    rung_names *t;
    model m;
    rung_failalloc fail;
    bool has_failed;
} run;

/* ---- the model ---- */

static uint32_t model_find(const model *m, rung_slice id) {
    for (uint32_t i = 0; i < m->span; i++) {
        const model_player *p = &m->players[i];
        if (p->is_used && p->len == id.len && memcmp(p->id, id.ptr, id.len) == 0)
            return i;
    }
    return RUNG_PLAYER_NONE;
}

static uint32_t model_add(model *m, rung_slice id) {
    if (m->span == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 64;
        m->players = realloc(m->players, m->cap * sizeof *m->players);
        m->free = realloc(m->free, m->cap * sizeof *m->free);
        CHECK(m->players && m->free);
    }
    uint32_t number = m->free_count ? m->free[--m->free_count] : m->span++;
    model_player *p = &m->players[number];
    *p = (model_player){.is_used = true, .len = id.len};
    memcpy(p->id, id.ptr, id.len);
    m->count++;
    return number;
}

static void model_remove(model *m, uint32_t number) {
    m->players[number].is_used = false;
    m->free[m->free_count++] = number;
    m->count--;
}

static bool model_has(const model *m, uint32_t number) {
    return number < m->span && m->players[number].is_used;
}

static rung_slice model_id(const model *m, uint32_t number) {
    if (!model_has(m, number))
        return (rung_slice){NULL, 0};
    return rung_slice_of(m->players[number].id, m->players[number].len);
}

/* ---- comparing ---- */

static void check_id(rung_slice got, rung_slice want) {
    CHECK_EQ_U64(got.len, want.len);
    CHECK_EQ_MEM(got.ptr, want.ptr, want.len);
}

static void check_sizes(const run *r) {
    CHECK_EQ_U64(rung_names_count(r->t), r->m.count);
    CHECK_EQ_U64(rung_names_span(r->t), r->m.span);
}

static void check_all(const run *r) {
    check_sizes(r);
    CHECK_SOUND(rung_names_check(r->t));
    for (uint32_t number = 0; number <= r->m.span; number++) {
        rung_slice id = model_id(&r->m, number);
        uint32_t found = RUNG_PLAYER_NONE;
        CHECK_EQ_U64(rung_names_is_used(r->t, number), model_has(&r->m, number));
        check_id(rung_names_id(r->t, number), id);
        if (!id.len)
            continue;
        CHECK_OK(rung_names_find(r->t, id, &found));
        CHECK_EQ_U64(found, number);
    }
}

/* True if `st` is the failure we arranged; the table must then be as before. */
static bool has_run_out(run *r, rung_status st) {
    if (st != RUNG_ENOMEM || r->has_failed || !r->fail.failed_count)
        return false;
    r->has_failed = true;
    check_all(r);
    return true;
}

/* ---- the steps ---- */

typedef struct step {
    uint8_t op, length;
    uint16_t selector;
} step;

size_t names_program_id(uint8_t length, uint16_t selector, char id[128]) {
    size_t len = 1 + length % RUNG_PLAYER_ID_MAX;
    uint64_t state = selector;
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = rung_splitmix64(&state);
        memcpy(id + i, &word, len - i < 8 ? len - i : 8);
    }
    return len;
}

static rung_slice step_id(const step *s, unsigned shift, char bytes[128]) {
    return rung_slice_of(bytes, names_program_id((uint8_t)(s->length + shift),
                                                 (uint16_t)(s->selector + shift), bytes));
}

static rung_status intern_by_hooks(rung_names *t, rung_slice id, uint32_t *number_out) {
    uint64_t hash = rung_names_hash(t, id);
    rung_names_prefetch(t, hash);
    rung_names_prefetch_number(t, hash);
    rung_names_prefetch_cell(t, hash);
    return rung_names_intern_hashed(t, hash, id, number_out);
}

/* What the model says to an intern; RUNG_OK adds it. */
static rung_status model_intern(model *m, rung_slice id, uint32_t *number_out) {
    *number_out = model_find(m, id);
    if (*number_out != RUNG_PLAYER_NONE)
        return RUNG_UNCHANGED;
    if (m->count >= m->limit)
        return RUNG_ELIMIT;
    *number_out = model_add(m, id);
    return RUNG_OK;
}

static void run_intern(run *r, const step *s) {
    char bytes[128];
    rung_slice id = step_id(s, 0, bytes);
    uint32_t got = RUNG_PLAYER_NONE, want;
    rung_status st;
    do {
        st = s->op == PLAYERS_INTERN ? rung_names_intern(r->t, id, &got)
                                     : intern_by_hooks(r->t, id, &got);
    } while (has_run_out(r, st));
    CHECK_STATUS(st, model_intern(&r->m, id, &want));
    CHECK_EQ_U64(got, want);
}

static void run_remove(run *r, const step *s) {
    uint32_t number = s->selector % (r->m.span + 1);
    bool is_used = model_has(&r->m, number);
    CHECK_STATUS(rung_names_remove(r->t, number), is_used ? RUNG_OK : RUNG_NOT_FOUND);
    if (is_used)
        model_remove(&r->m, number);
}

static void run_find(run *r, const step *s) {
    char bytes[128];
    rung_slice id = step_id(s, 0, bytes);
    uint32_t got = RUNG_PLAYER_NONE, want = model_find(&r->m, id);
    CHECK_STATUS(rung_names_find(r->t, id, &got),
                 want == RUNG_PLAYER_NONE ? RUNG_NOT_FOUND : RUNG_OK);
    CHECK_EQ_U64(got, want);
}

static void run_id(run *r, const step *s) {
    uint32_t number = s->selector % (r->m.span + 2);
    CHECK_EQ_U64(rung_names_is_used(r->t, number), model_has(&r->m, number));
    check_id(rung_names_id(r->t, number), model_id(&r->m, number));
}

static void run_compare(run *r, const step *s) {
    uint32_t a = s->selector % (r->m.span + 1), b = s->length % (r->m.span + 1);
    if (!model_has(&r->m, a) || !model_has(&r->m, b))
        return;
    int got = rung_names_compare(r->t, a, b),
        want = rung_slice_cmp(model_id(&r->m, a), model_id(&r->m, b));
    CHECK_EQ_I64((got > 0) - (got < 0), (want > 0) - (want < 0));
}

/* Consecutive ids, some of them twice. */
static size_t batch_ids(const step *s, char (*bytes)[128], rung_slice *ids) {
    size_t n = s->length % BATCH_MAX;
    for (size_t i = 0; i < n; i++)
        ids[i] = step_id(s, (unsigned)(i - i % 7 / 6), bytes[i]);
    return n;
}

static void run_intern_batch(run *r, const step *s) {
    char bytes[BATCH_MAX][128];
    rung_slice ids[BATCH_MAX] = {{0}};
    uint32_t got[BATCH_MAX], want;
    bool is_new[BATCH_MAX];
    size_t n = batch_ids(s, bytes, ids), start = 0, done;
    bool wants_new = s->selector & 1;
    rung_status st, want_st = RUNG_OK;
    do {
        st = names_intern_batch(r->t, ids + start, n - start, got + start,
                                wants_new ? is_new + start : NULL, &done);
        for (size_t i = start; i < start + done; i++) {
            want_st = model_intern(&r->m, ids[i], &want);
            CHECK(want_st >= 0);
            CHECK_EQ_U64(got[i], want);
            if (wants_new)
                CHECK_EQ_U64(is_new[i], want_st == RUNG_OK);
        }
        start += done;
    } while (has_run_out(r, st));
    if (start == n)
        CHECK_OK(st);
    else
        CHECK_STATUS(st, model_intern(&r->m, ids[start], &want));
}

static void run_find_batch(run *r, const step *s) {
    char bytes[BATCH_MAX][128];
    rung_slice ids[BATCH_MAX] = {{0}};
    uint32_t got[BATCH_MAX];
    size_t n = batch_ids(s, bytes, ids), found = 0;
    size_t got_found = rung_names_find_batch(r->t, ids, n, got);
    for (size_t i = 0; i < n; i++) {
        CHECK_EQ_U64(got[i], model_find(&r->m, ids[i]));
        found += got[i] != RUNG_PLAYER_NONE;
    }
    CHECK_EQ_U64(got_found, found);
}

static void run_id_batch(run *r, const step *s) {
    uint32_t numbers[BATCH_MAX] = {0};
    rung_slice got[BATCH_MAX];
    size_t n = s->length % BATCH_MAX;
    for (size_t i = 0; i < n; i++)
        numbers[i] = (uint32_t)((s->selector + i * i) % (r->m.span + 2));
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        check_id(rung_names_id(r->t, numbers[i]), model_id(&r->m, numbers[i]));
        if (rung_names_is_used(r->t, numbers[i]))
            numbers[used++] = numbers[i];
    }
    rung_names_id_used(r->t, numbers, used, got);
    for (size_t i = 0; i < used; i++)
        check_id(got[i], model_id(&r->m, numbers[i]));
}

static void run_reserve(run *r, const step *s) {
    rung_status st;
    do {
        st = rung_names_reserve(r->t, r->m.count + s->length);
    } while (has_run_out(r, st));
    CHECK_OK(st);
}

static void run_limit(run *r, const step *s) {
    r->m.limit = s->length % 8 == 7 ? UINT32_MAX : r->m.count + s->length % 8;
    rung_names_set_limit(r->t, r->m.limit);
}

static void run_clear(run *r, const step *s) {
    (void)s;
    rung_names_clear(r->t);
    r->m.count = r->m.span = r->m.free_count = 0;
}

static void run_check(run *r, const step *s) {
    (void)s;
    check_all(r);
}

static void run_step(run *r, const step *s) {
    static void (*const ops[PLAYERS_OP_COUNT])(run *, const step *) = {
        [PLAYERS_INTERN] = run_intern,
        [PLAYERS_INTERN_MORE] = run_intern,
        [PLAYERS_REMOVE] = run_remove,
        [PLAYERS_FIND] = run_find,
        [PLAYERS_ID] = run_id,
        [PLAYERS_COMPARE] = run_compare,
        [PLAYERS_INTERN_BATCH] = run_intern_batch,
        [PLAYERS_FIND_BATCH] = run_find_batch,
        [PLAYERS_ID_BATCH] = run_id_batch,
        [PLAYERS_RESERVE] = run_reserve,
        [PLAYERS_LIMIT] = run_limit,
        [PLAYERS_CHECK] = run_check,
        [PLAYERS_CLEAR] = run_clear,
    };
    ops[s->op](r, s);
    check_sizes(r);
}

/* ---- running ---- */

static uint64_t mask_of(players_hashes kind) {
    switch (kind) {
    case PLAYERS_HASH_WHOLE:
        return UINT64_MAX;
    case PLAYERS_HASH_TAGS:
        return 0xff;
    case PLAYERS_HASH_HOMES:
        return ~(uint64_t)0xff;
    case PLAYERS_HASH_NONE:
        return 0;
    }
    return 0;
}

static void run_begin(run *r, uint8_t config, const rung_alloc *alloc) {
    rung_hash_key key = {config >> 2, 7};
    rung_status st;
    do {
        st = rung_names_create(alloc, &key, &r->t);
    } while (st == RUNG_ENOMEM && r->fail.failed_count && !r->has_failed && (r->has_failed = true));
    CHECK_OK(st);
    rung__names_weaken(r->t, mask_of((players_hashes)(config & 3)));
    r->m.limit = UINT32_MAX;
}

bool names_program_run(const uint8_t *program, size_t size, const players_run_options *options) {
    static const players_run_options plain = {0};
    const players_run_options *o = options ? options : &plain;
    const rung_alloc *alloc = o->alloc ? o->alloc : rung_alloc_heap();
    run r = {0};
    if (size == 0)
        return false;
    if (o->fail_at) {
        rung_failalloc_init(&r.fail);
        rung_failalloc_fail_at(&r.fail, o->fail_at, false);
        alloc = rung_failalloc_port(&r.fail);
    }
    run_begin(&r, program[0], alloc);
    uint64_t steps = 0;
    for (size_t at = 1; at + PLAYERS_STEP_SIZE <= size; at += PLAYERS_STEP_SIZE) {
        const uint8_t *p = program + at;
        step s = {p[0] % PLAYERS_OP_COUNT, p[1], (uint16_t)(p[2] | p[3] << 8)};
        run_step(&r, &s);
        if (o->check_every && ++steps % o->check_every == 0)
            CHECK_SOUND(rung_names_check(r.t));
    }
    check_all(&r);
    if (o->fail_at)
        CHECK_EQ_U64(rung_names_size_bytes(r.t), r.fail.live_bytes);
    rung_names_destroy(r.t);
    free(r.m.players);
    free(r.m.free);
    if (o->fail_at)
        rung_failalloc_deinit(&r.fail);
    return r.fail.failed_count > 0;
}

/* ---- making programs ---- */

typedef struct phase {
    uint8_t ops[16];
} phase;

void names_program_generate(rung_rng *rng, uint8_t config, uint16_t ids, uint8_t *program,
                            size_t size) {
    static const phase phases[] = {
        {{PLAYERS_INTERN, PLAYERS_INTERN_MORE, PLAYERS_INTERN_BATCH, PLAYERS_REMOVE, PLAYERS_FIND,
          PLAYERS_INTERN, PLAYERS_ID, PLAYERS_INTERN, PLAYERS_INTERN, PLAYERS_FIND_BATCH,
          PLAYERS_INTERN, PLAYERS_LIMIT, PLAYERS_INTERN, PLAYERS_INTERN, PLAYERS_INTERN,
          PLAYERS_LIMIT}},
        {{PLAYERS_REMOVE, PLAYERS_REMOVE, PLAYERS_REMOVE, PLAYERS_REMOVE, PLAYERS_INTERN,
          PLAYERS_REMOVE, PLAYERS_REMOVE, PLAYERS_FIND, PLAYERS_REMOVE, PLAYERS_ID, PLAYERS_REMOVE,
          PLAYERS_REMOVE, PLAYERS_INTERN_MORE, PLAYERS_REMOVE, PLAYERS_REMOVE, PLAYERS_REMOVE}},
        {{PLAYERS_INTERN, PLAYERS_REMOVE, PLAYERS_INTERN, PLAYERS_REMOVE, PLAYERS_FIND, PLAYERS_ID,
          PLAYERS_COMPARE, PLAYERS_FIND_BATCH, PLAYERS_ID_BATCH, PLAYERS_INTERN_MORE,
          PLAYERS_REMOVE, PLAYERS_INTERN, PLAYERS_REMOVE, PLAYERS_LIMIT, PLAYERS_RESERVE,
          PLAYERS_COMPARE}},
    };
    program[0] = config;
    const phase *now = phases;
    for (size_t at = 1; at + PLAYERS_STEP_SIZE <= size; at += PLAYERS_STEP_SIZE) {
        if (rung_rng_below(rng, 150) == 0)
            now = &phases[rung_rng_below(rng, sizeof phases / sizeof *phases)];
        uint16_t selector = (uint16_t)rung_rng_below(rng, ids);
        uint8_t length = (uint8_t)(selector * 37u); /* an id keeps its length */
        uint8_t op = now->ops[rung_rng_below(rng, 16)];
        if (op == PLAYERS_LIMIT && rung_rng_below(rng, 4))
            length = 7; /* limits do not last */
        if (op == PLAYERS_REMOVE)
            selector = (uint16_t)rung_rng_next(rng);
        if (op == PLAYERS_CHECK || rung_rng_below(rng, 4000) == 0)
            op = rung_rng_below(rng, 4) ? PLAYERS_CHECK : PLAYERS_CLEAR;
        const uint8_t bytes[] = {PLAYERS_STEP(op, length, selector)};
        memcpy(program + at, bytes, sizeof bytes);
    }
}
