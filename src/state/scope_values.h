/* SPDX-License-Identifier: Apache-2.0 */
/* scope_values.h - the scope value of every entry in one window, for each attribute, and the largest values.
 *
 * The values are those of the window: in a closed one they may differ from today's. Entries hidden by a ban have the
 * value under which an unban would restore them. For code that copies a window for good, such as an archive.
 *
 *     rung_scope_values_init(&view, alloc, &values);
 *     rung_slice country = rung_scope_values_of(&values, 0, row.number);
 *     rung_scope_values_deinit(&values, alloc);
 *
 * Pure; as state.h: names borrow from the state. */
#ifndef RUNG_STATE_SCOPE_VALUES_H
#define RUNG_STATE_SCOPE_VALUES_H

#include "base/numbermap.h"
#include "state/state.h"

#define RUNG_SCOPE_SLOTS_MAX (RUNG_SCOPES_MAX + 1)

typedef struct rung_scope_values {
    /* The board's scopes in their order, then the attribute of its teams if it is none of them. */
    uint32_t count;
    rung_slice attributes[RUNG_SCOPE_SLOTS_MAX];
    /* private */
    const void *names[RUNG_SCOPE_SLOTS_MAX];
    rung_numbermap of_player[RUNG_SCOPE_SLOTS_MAX];
} rung_scope_values;

/* `v` is a main ranking (no scope, no teams). RUNG_OK or RUNG_ENOMEM. O(entries x attributes + banned players), and
 * some 4 to 16 bytes for each entry and attribute. */
RUNG_NODISCARD rung_status rung_scope_values_init(const rung_view *v, const rung_alloc *alloc,
                                                  rung_scope_values *out);
void rung_scope_values_deinit(rung_scope_values *values, const rung_alloc *alloc);

/* The value of attribute number i for the player with this number; empty: none. */
rung_slice rung_scope_values_of(const rung_scope_values *values, uint32_t i, uint32_t player);

/* A value of a scope, and its number of entries. */
typedef struct rung_scope_size {
    rung_slice value;
    uint32_t total;
} rung_scope_size;

#define RUNG_SCOPE_LOOK_MAX 65536 /* values examined, the oldest first */

/* Up to `limit` values of a scope of the board, by number of entries, then by bytes; `v` is a main ranking. Returns
 * how many; *values_out is the number of values with an entry, among those examined. RUNG_SCOPE_NONE: the board has
 * no such scope. At most O(values examined x limit); allocates nothing. */
#define RUNG_SCOPE_NONE UINT32_MAX
uint32_t rung_scope_largest(const rung_view *v, rung_slice attribute, uint32_t limit,
                            rung_scope_size *sizes, uint32_t *values_out);

#endif
