/* SPDX-License-Identifier: Apache-2.0 */
/* sketch_view.h - rows of a counts board; private to state. */
#ifndef RUNG_STATE_SKETCH_VIEW_H
#define RUNG_STATE_SKETCH_VIEW_H

#include "state/sketches.h"

/* As rung_view_top(). Also 0 when there is no memory to sort. */
uint32_t rung__sketch_top(const rung_view *v, uint32_t offset, uint32_t limit, rung_row *rows);
/* One name's row. RUNG_OK, or RUNG_NOT_FOUND: not held, or banned. */
rung_status rung__sketch_row(const rung_view *v, rung_slice id, rung_row *row);

#endif
