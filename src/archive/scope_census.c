/* SPDX-License-Identifier: Apache-2.0 */
/* One table of values for each attribute; a value's number in it is its index among the counters of the attribute. */
#include "archive/scope_census.h"

#include "archive/teams.h"
#include "base/assert.h"
#include "base/random.h"
#include "ladder/names.h"

#include <string.h>

typedef struct counted {
    uint32_t total, distinct;
    uint32_t last;                 /* the sparse rank, among everybody, of the last row counted */
    uint32_t place, sparse, dense; /* of that one, here: second reading */
    rung__tally tally;             /* of teams */
} counted;

typedef struct slot {
    rung_names *values;
    counted *list; /* by number in `values` */
    uint32_t cap;
    uint32_t first; /* index of its first scope among all of them */
} slot;

struct rung__census {
    const rung_alloc *alloc;
    rung_board_def def;
    uint32_t slot_count;
    slot slots[RUNG_SCOPE_SLOTS_MAX];
    rung_slice attributes[RUNG_SCOPE_SLOTS_MAX];
    rung_archive_scope *scopes;
    uint32_t scope_count;
    rung_archive_scope_rank ranks[RUNG_SCOPE_SLOTS_MAX];
};

static rung_status no_memory(rung_err *err) {
    return RUNG_FAIL(err, RUNG_ENOMEM, "archive: out of memory");
}

rung_status rung__census_create(const rung_alloc *alloc, const rung_packed_reader *r,
                                rung__census **out, rung_err *err) {
    rung_hash_key key;
    rung_status st = rung_random_hash_key(NULL, &key, err);
    if (st < 0)
        return st;
    rung__census *c = rung_alloc_zeroed(alloc, sizeof *c);
    if (!c)
        return no_memory(err);
    c->alloc = alloc;
    c->slot_count = r->slot_count;
    memcpy(c->attributes, r->attributes, sizeof c->attributes);
    st = rung_board_def_decode(r->window.definition, &c->def, err);
    for (uint32_t i = 0; st >= 0 && i < c->slot_count; i++)
        if (rung_names_create(alloc, &key, &c->slots[i].values) < 0)
            st = no_memory(err);
    if (st < 0) {
        rung__census_destroy(c);
        return st;
    }
    *out = c;
    return RUNG_OK;
}

void rung__census_destroy(rung__census *c) {
    if (!c)
        return;
    for (uint32_t i = 0; i < c->slot_count; i++) {
        rung_names_destroy(c->slots[i].values);
        rung_alloc_free(c->alloc, c->slots[i].list, c->slots[i].cap * sizeof(counted));
    }
    rung_alloc_free(c->alloc, c->scopes, c->scope_count * sizeof *c->scopes);
    rung_alloc_free(c->alloc, c, sizeof *c);
}

/* ---- first reading ---- */

static bool grow(const rung_alloc *alloc, slot *s, uint32_t number) {
    counted *list = rung_alloc_array(alloc, s->list, &s->cap, number, sizeof *list);
    s->list = list ? list : s->list;
    return list;
}

static bool is_team_slot(const rung__census *c, uint32_t i) {
    return c->def.has_teams && rung_slice_eq(c->def.team_by, c->attributes[i]);
}

rung_status rung__census_count(rung__census *c, const rung_packed_reader *r,
                               const rung_archive_row *row, rung_err *err) {
    for (uint32_t i = 0; i < c->slot_count; i++) {
        slot *s = &c->slots[i];
        uint32_t number;
        if (r->scope_values[i].len == 0)
            continue;
        rung_status st = rung_names_intern(s->values, r->scope_values[i], &number);
        if (st == RUNG_EINVAL)
            return RUNG_FAIL(err, RUNG_ECORRUPT, "packed window: a value of %zu bytes",
                             r->scope_values[i].len);
        if (st < 0 || !grow(c->alloc, s, number))
            return no_memory(err);
        counted *n = &s->list[number];
        n->total++;
        n->distinct += n->last != row->sparse;
        n->last = row->sparse;
        if (is_team_slot(c, i))
            rung__tally_add(&n->tally, &c->def, row->values.values[0]);
    }
    return RUNG_OK;
}

/* ---- the list ---- */

static void list_slot(rung__census *c, uint32_t i) {
    slot *s = &c->slots[i];
    for (uint32_t k = 0; k < rung_names_count(s->values); k++) {
        counted *n = &s->list[k];
        c->scopes[s->first + k] =
            (rung_archive_scope){.attribute = c->attributes[i],
                                 .value = rung_names_id(s->values, k),
                                 .total = n->total,
                                 .distinct = n->distinct,
                                 .is_team = is_team_slot(c, i),
                                 .team_sum = rung__tally_sum(&n->tally, &c->def)};
        n->last = 0;
    }
}

rung_status rung__census_list(rung__census *c, const rung_archive_scope **scopes_out,
                              uint32_t *count_out, rung_err *err) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->slot_count; i++) {
        c->slots[i].first = count;
        count += rung_names_count(c->slots[i].values);
    }
    RUNG_ASSERT(!c->scopes);
    c->scopes = count ? rung_alloc_get(c->alloc, count * sizeof *c->scopes) : NULL;
    if (count && !c->scopes)
        return no_memory(err);
    c->scope_count = count;
    for (uint32_t i = 0; i < c->slot_count; i++)
        list_slot(c, i);
    *scopes_out = c->scopes;
    *count_out = count;
    return RUNG_OK;
}

/* ---- second reading ---- */

void rung__census_rank(rung__census *c, const rung_packed_reader *r, rung_archive_row *row) {
    row->scopes = c->ranks;
    row->scope_count = 0;
    for (uint32_t i = 0; i < c->slot_count; i++) {
        slot *s = &c->slots[i];
        uint32_t number;
        if (r->scope_values[i].len == 0)
            continue;
        rung_status st = rung_names_find(s->values, r->scope_values[i], &number);
        RUNG_ASSERT(st == RUNG_OK); /* counted */
        counted *n = &s->list[number];
        n->place++;
        if (n->last != row->sparse) {
            n->sparse = n->place;
            n->dense++;
        }
        n->last = row->sparse;
        c->ranks[row->scope_count++] =
            (rung_archive_scope_rank){s->first + number, n->place, n->sparse, n->dense};
    }
}
