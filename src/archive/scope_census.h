/* SPDX-License-Identifier: Apache-2.0 */
/* scope_census.h - the scopes of a packed window: who belongs to each, and where they stand in it; private to this
 * room.
 *
 * Two readings of the rows. The first counts; then the list of scopes is there; the second ranks. Rows come in order,
 * so a row's place in a scope is how many of the scope came before it.
 *
 *     rung__census_create(alloc, &reader, &census, &err);
 *     while (rung_packed_next(...) == RUNG_OK) rung__census_count(census, &reader, &row);
 *     rung__census_list(census, &scopes, &count);
 *     while (rung_packed_next(...) == RUNG_OK) rung__census_rank(census, &reader, &row);      fills row.scopes
 *     rung__census_destroy(census);
 *
 * One thread. */
#ifndef RUNG_ARCHIVE_SCOPE_CENSUS_H
#define RUNG_ARCHIVE_SCOPE_CENSUS_H

#include "archive/closed_window.h"

/* Heap object. Release it with rung__census_destroy(). */
typedef struct rung__census rung__census;

/* A census of the window that `r` reads. RUNG_OK, RUNG_ENOMEM, or the failure of the random source (clients choose
 * the values, so the hash key must be secret). */
RUNG_NODISCARD rung_status rung__census_create(const rung_alloc *alloc, const rung_packed_reader *r,
                                               rung__census **out, rung_err *err);
void rung__census_destroy(rung__census *c); /* accepts NULL */

/* `row` was just read by `r`. RUNG_OK, RUNG_ENOMEM, RUNG_ECORRUPT (a value that cannot be one). */
RUNG_NODISCARD rung_status rung__census_count(rung__census *c, const rung_packed_reader *r,
                                              const rung_archive_row *row, rung_err *err);
/* All scopes, once everything was counted; valid until destroy. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__census_list(rung__census *c, const rung_archive_scope **scopes_out,
                                             uint32_t *count_out, rung_err *err);
/* Fill row->scopes with the row's position in its scopes; valid until the next call. Every row was counted before. */
void rung__census_rank(rung__census *c, const rung_packed_reader *r, rung_archive_row *row);

#endif
