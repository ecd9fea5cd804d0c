/* SPDX-License-Identifier: Apache-2.0 */
/* reads.h - shared inside the room: a ranked question, answered from memory or from the archive.
 *
 * Either way the same struct is filled, and one function writes the answer from it: a window that has left memory looks
 * as it did before. */
#ifndef RUNG_FRONT_API_READS_H
#define RUNG_FRONT_API_READS_H

#include "front/api/answers.h"
#include "front/api/call.h"

typedef struct rung_read {
    rung_call *call;
    rung_ranking k;
    void (*write)(rung_json_writer *w,
                  const struct rung_read *r); /* members of the answer behind the head */

    /* what is asked */
    uint32_t offset, limit, around;
    rung_slice *ids;
    uint32_t id_count;

    /* what was found */
    rung_row *rows;
    uint32_t count, self; /* rows, and which of them is the player */
    uint32_t list_total;  /* friends that are ranked */
    bool *found;          /* of ids */
} rung_read;

/* A question to the archive: heap object, destroyed with rung__past_destroy(). */
struct rung_past {
    rung_read read; /* with rows, ids and found of its own */
    /* In the pool; may use this and the archive. RUNG_OK, RUNG_NOT_FOUND or a failure, with `err`. */
    rung_status (*ask)(rung_past *p, rung_archive *a);
    /* In the loop; ends the call. What the archive gave is still there. */
    void (*finish)(rung_past *p);
    rung_status status;
    rung_err err;
    uint64_t seq;        /* the state's when it was asked: what the answer reflects, at least */
    uint64_t needed_seq; /* it waits until the archive has come as far */
    uint64_t closed_seq; /* an archive that has not come as far may not have the window yet */
    bool needs_closed;   /* such a one is not asked at all */
    bool is_asked;       /* it is being worked on */
    uint64_t turn;       /* its place among the others */

    /* of one ranking: */
    rung_status (*rows)(rung_past *p); /* fill the read's rows from `view` */
    rung_archive_query query;
    char window_id[RUNG_NAME_MAX + 1];
    rung_archive_view view;
    bool is_open;
    rung_board_def def;
    int64_t target_rank; /* or: */
    double target_percent;

    uint32_t rows_max, ids_max;
    void *more; /* of other questions, in a block of: */
    size_t more_size;
};

/* How the rows of one ranking are asked of the archive; NULL: they cannot be. */
typedef rung_status rung_past_rows(rung_past *p);
rung_status rung__past_top(rung_past *p);
rung_status rung__past_around(rung_past *p);
rung_status rung__past_players(rung_past *p);
rung_status rung__past_friends(rung_past *p);
rung_status rung__past_target(rung_past *p);

/* Choose the ranking that the call's arguments name. True: `*view` and r->k are set. False: the call is ended, or has
 * gone to ask the archive, if the window has left memory. */
bool rung__read_open(rung_read *r, rung_view *view, bool teams, rung_past_rows *past);
/* Write and send: the head, then r->write. */
void rung__read_answer(const rung_read *r);
/* Only write it; the answer is the caller's. */
rung_json_writer *rung__read_write(const rung_read *r);

/* Send a copy of `r` to the archive for the window `q` names. False: it names none that could be there, and nothing
 * happened. True: the call is on its way or ended. */
bool rung__past_begin(const rung_read *r, const rung_query *q, const rung_board_def *def,
                      rung_past_rows *rows);

/* With room for so many rows and ids; NULL: no memory. */
rung_past *rung__past_create(const rung_alloc *alloc, uint32_t rows_max, uint32_t ids_max,
                             size_t more_size);
void rung__past_destroy(const rung_alloc *alloc, rung_past *p);

#endif
