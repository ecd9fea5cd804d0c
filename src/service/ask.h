/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - ranked questions: from the state or, when the window is no longer in memory, from the archive.
 *
 *     rung_question q = {.kind = RUNG_ASK_TOP, .query = {.board = b, .window = w}, .limit = 10, .rows = rows};
 *     rung_status st = rung_question_open(&service, &q, &view, &err); // which ranking is meant, by one rule for all
 *     if (st == RUNG_OK)
 *         st = rung_question_read(&q, &view, alloc, &err);            // q.k, q.rows, q.count: answer now
 *     if (st == RUNG_PARTIAL)
 *         st = rung_question_defer(&service, &q, &later, &err);       // later.done() gets the answer, in the loop
 *
 * Either way the same struct is filled: a window that has left memory is answered as it was before. Thread: the owner
 * of the state. */
#ifndef RUNG_SERVICE_ASK_H
#define RUNG_SERVICE_ASK_H

#include "service/service.h"

typedef enum rung_ask_kind {
    RUNG_ASK_MEMORY,  /* something else, of the view itself: not of the archive */
    RUNG_ASK_TOP,     /* rows [offset, offset + limit) */
    RUNG_ASK_AROUND,  /* ids[0] with `around` above and below */
    RUNG_ASK_PLAYERS, /* ids, those that are ranked */
    RUNG_ASK_FRIENDS, /* ids[0] and all whom they follow, ranked among themselves, [offset, offset + limit) */
    RUNG_ASK_TARGET, /* who has target_rank or, if that is 0, is the last of the top target_percent */
} rung_ask_kind;

/* Which ranking an answer is of. */
typedef struct rung_ranking {
    rung_slice board, scope; /* scope empty: everybody */
    const rung_board_def *def;
    const rung_state *state; /* where names come from */
    uint32_t kind;           /* of window, as in rung_view */
    char window_id[RUNG_NAME_MAX + 1];
    uint32_t window_id_len;
    int64_t start_ms, end_ms;
    bool closed, teams;
    bool has_numbers; /* numbers of rows are those of the state now: not so in the archive's */
    rung_rank_style rank;
    uint32_t total;
    uint64_t seq;
} rung_ranking;

typedef struct rung_question {
    rung_ask_kind kind;
    rung_query query;
    uint32_t offset, limit, around;
    rung_slice *ids;
    uint32_t id_count;
    uint32_t target_rank;
    double target_percent;

    /* The answer. Who asks has room for so many rows as they ask for, and `found` for PLAYERS; of the archive's answer
     * they are the archive's. */
    rung_ranking k;
    rung_row *rows;
    uint32_t count, self; /* rows, and which of them is the player */
    uint32_t list_total;  /* friends that are ranked */
    bool *found;          /* of ids */
} rung_question;

/* The id of a window: returns its length. */
uint32_t rung_window_id_write(uint32_t kind, int64_t ordinal, rung_slice season,
                              char out[RUNG_NAME_MAX + 1]);

/* Choose the ranking. RUNG_OK: `*view` and q->k are set. RUNG_PARTIAL: ask the archive. RUNG_NOT_FOUND, RUNG_EINVAL
 * with the field; RUNG_EABSENT: the window has left memory, and the archive cannot answer such a question. */
RUNG_NODISCARD rung_status rung_question_open(const rung_service *s, rung_question *q,
                                              rung_view *view, rung_err *err);
/* Read the rows of a view. RUNG_NOT_FOUND naming the player or the team. Nothing to do for RUNG_ASK_MEMORY. */
RUNG_NODISCARD rung_status rung_question_read(rung_question *q, const rung_view *view,
                                              const rung_alloc *alloc, rung_err *err);

/* Who waits for the archive. */
typedef struct rung_ask_later {
    /* Once, in the loop. RUNG_OK: `q` is the answer, during the call; else `err` says why not: RUNG_NOT_FOUND (no such
     * window, or nobody of that name in it), RUNG_EABSENT (the archive cannot tell), or a failure (asker.h). */
    void (*done)(void *ctx, rung_status st, const rung_question *q, const rung_err *err);
    void *ctx;
    uint32_t share;
    int64_t deadline_ms; /* as in rung_archive_job */
} rung_ask_later;

/* Send a copy of the question to the archive. RUNG_OK: done() will be called. Otherwise as rung_question_open(), or
 * RUNG_ENOMEM, RUNG_ELIMIT, RUNG_ECLOSED. */
RUNG_NODISCARD rung_status rung_question_defer(const rung_service *s, const rung_question *q,
                                               const rung_ask_later *later, rung_err *err);

#endif
