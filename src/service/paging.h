/* SPDX-License-Identifier: Apache-2.0 */
/* paging.h - rankings that clients read page by page while they change: the holds (state/hold.h), and the tokens that
 * name a page of one.
 *
 *     st = rung_paging_begin(p, &view, share, now_ms, &paged, &err);
 *     n = rung_hold_rows(paged.hold, &paged.place, limit, rows, &is_more);
 *     rung_paging_token(p, &paged, token);                             // names the next page
 *     st = rung_paging_find(p, text, now_ms, &paged, &err);            // with the next request
 *
 * A token is a place, authenticated by a key that only this process has: a client cannot make one up. Pages can be
 * asked for again. A hold that nobody used for RUNG_PAGING_IDLE_MS goes; so does the largest when all together note
 * more than RUNG_PAGING_NOTES_MAX. Everything is in memory: another server, or this one after a restart, does not know
 * the token.
 * Thread: the owner of the state. */
#ifndef RUNG_SERVICE_PAGING_H
#define RUNG_SERVICE_PAGING_H

#include "base/random.h"
#include "state/hold.h"

enum {
    RUNG_PAGING_MAX = 64,             /* rankings held at a time */
    RUNG_PAGING_NOTES_EACH = 1 << 18, /* players who changed since, of one of them */
    RUNG_PAGING_NOTES_MAX = 1 << 20,  /* and of all together: some 64 MiB */
    RUNG_PAGING_IDLE_MS = 5 * 60 * 1000,
    RUNG_PAGING_TOKEN_SIZE = 91, /* characters */
};

typedef struct rung_paging rung_paging; /* Release it with rung_paging_destroy(). */

/* A page that is about to be read. */
typedef struct rung_paged {
    uint64_t id;
    const rung_hold *hold;
    rung_hold_place place;
} rung_paged;

/* RUNG_OK, RUNG_ENOMEM, or RUNG_EIO: no random numbers. `random` NULL: the system's. */
RUNG_NODISCARD rung_status rung_paging_create(const rung_alloc *alloc, const rung_random *random,
                                              rung_paging **out, rung_err *err);
void rung_paging_destroy(rung_paging *p); /* accepts NULL */

/* Hold a ranking, for a share (base/fair.h). RUNG_OK; RUNG_ELIMIT with the reason OVERLOADED: no room, or not for this
 * sender; RUNG_EUNSUPPORTED: it is not a whole ranking of players; RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_paging_begin(rung_paging *p, const rung_view *view, uint32_t share,
                                             int64_t now_ms, rung_paged *out, rung_err *err);
/* RUNG_OK; RUNG_EINVAL: not a token; RUNG_EABSENT with the reason PAGE_EXPIRED: it was one. */
RUNG_NODISCARD rung_status rung_paging_find(rung_paging *p, rung_slice token, int64_t now_ms,
                                            rung_paged *out, rung_err *err);
/* The token of a place. Not NUL-terminated. */
void rung_paging_token(const rung_paging *p, const rung_paged *paged,
                       char out[RUNG_PAGING_TOKEN_SIZE]);
/* The last page was read: its hold is the first to go when there is no room. */
void rung_paging_done(rung_paging *p, const rung_paged *paged);
/* Let go what is over, idle or too large. Returns how many rankings are held. */
uint32_t rung_paging_sweep(rung_paging *p, int64_t now_ms);

#endif
