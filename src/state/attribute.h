/* SPDX-License-Identifier: Apache-2.0 */
/* attribute.h - an attribute that some board ranks by; private to state. */
#ifndef RUNG_STATE_ATTRIBUTE_H
#define RUNG_STATE_ATTRIBUTE_H

#include "state/board.h"

typedef struct rung__attribute {
    rung_slice name;          /* owned */
    rung_names *values;       /* value <-> number */
    rung_numbermap of_player; /* player -> value number */
    uint32_t users;           /* boards that rank by it */
} rung__attribute;

/* Start or stop ranking by an attribute on behalf of one board. */
RUNG_NODISCARD rung_status rung__attribute_use(rung_state *s, rung_slice name,
                                               uint32_t *number_out);
void rung__attribute_unuse(rung_state *s, uint32_t number);
/* Read every player's value of an attribute from the profiles. */
RUNG_NODISCARD rung_status rung__attribute_fill(rung_state *s, rung__attribute *a);
/* The player's value in a slot of the board; RUNG__NONE: none. */
uint32_t rung__value_of(const rung_state *s, const rung__board *b, uint32_t slot, uint32_t player);

#endif
