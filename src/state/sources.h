/* SPDX-License-Identifier: Apache-2.0 */
/* sources.h - which offsets of numbered sources were applied; private to state.
 *
 * A source is, for example, one partition of a Kafka topic. Its record is as large for a thousand events as for a
 * billion: offsets that are RUNG_SOURCE_WINDOW or more below the highest one count as seen. */
#ifndef RUNG_STATE_SOURCES_H
#define RUNG_STATE_SOURCES_H

#include "ladder/names.h"
#include "model/event.h"
#include "state/state.h"

enum { RUNG__SOURCES_MAX = 65536, RUNG__SOURCE_WORDS = RUNG_SOURCE_WINDOW / 64 };

typedef struct rung__source {
    uint64_t next;                     /* the highest offset seen, + 1; never 0 */
    uint64_t seen[RUNG__SOURCE_WORDS]; /* a bit for each offset in the window, at offset % window */
} rung__source;

typedef struct rung__sources {
    rung_names *names;
    rung__source **items; /* by number */
    uint32_t cap;
} rung__sources;

RUNG_NODISCARD rung_status rung__sources_create(rung_state *s);
void rung__sources_destroy(rung_state *s);

bool rung__source_has(const rung_state *s, rung_slice name, uint64_t offset);

/* Reserve the record of a source. RUNG_OK: it is new; RUNG_UNCHANGED; RUNG_ELIMIT: too many sources; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__source_claim(rung_state *s, rung_slice name, uint32_t *number_out);
void rung__source_unclaim(rung_state *s, uint32_t number); /* of a new one */
void rung__source_mark(rung_state *s, uint32_t number, uint64_t offset);

/* For a loaded state: the record of a number of `names`, which it now owns. RUNG_OK or RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung__source_restore(rung_state *s, uint32_t number,
                                                const rung__source *source);
bool rung__source_is_valid(const rung__source *source);

size_t rung__sources_bytes(const rung_state *s);
/* Recomputed from all records, for the self-check. */
rung_digest rung__sources_digest_all(const rung_state *s);
const char *rung__sources_check(const rung_state *s);

#endif
