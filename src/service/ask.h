/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - ranked questions, answered from the state or, if the window is no longer in memory, from the archive.
 *
 *     rung_question q = {.kind = RUNG_ASK_TOP, .query = {.board = b, .window = w}, .limit = 10, .rows = rows};
 *     rung_status st = rung_question_open(&service, &q, &view, &err); // select the ranking
 *     if (st == RUNG_OK)
 *         st = rung_question_read(&q, &view, alloc, &err);            // sets q.k, q.rows, q.count
 *     if (st == RUNG_PARTIAL)
 *         st = rung_question_defer(&service, &q, &later, &err);       // calls later.done() in the loop
 *
 * The answer is the same struct in both cases. Thread: the owner of the state. */
#ifndef RUNG_SERVICE_ASK_H
#define RUNG_SERVICE_ASK_H

#include "service/service.h"
#include "state/sketches.h"

typedef enum rung_ask_kind {
    RUNG_ASK_MEMORY,  /* another question about the view, which the archive cannot answer */
    RUNG_ASK_TOP,     /* rows [offset, offset + limit) */
    RUNG_ASK_AROUND,  /* ids[0] with `around` above and below */
    RUNG_ASK_PLAYERS, /* ids, those that are ranked */
    RUNG_ASK_FRIENDS, /* ids[0] and all whom they follow, ranked as a list, [offset, offset + limit) */
    RUNG_ASK_TARGET, /* the entry at target_rank or, if that is 0, the last of the top target_percent */
} rung_ask_kind;

/* The ranking that an answer describes. */
typedef struct rung_ranking {
    rung_slice board, scope; /* scope empty: everybody */
    const rung_board_def *def;
    const rung_state *state; /* where names come from */
    uint32_t kind;           /* of window, as in rung_view */
    char window_id[RUNG_NAME_MAX + 1];
    uint32_t window_id_len;
    int64_t start_ms, end_ms;
    bool closed, teams;
    bool has_numbers; /* rows have the state's player numbers; false for the archive */
    rung_rank_style rank;
    uint64_t total;
    uint64_t seq;
    rung_sketch_info sketch; /* of a sketch board; kind none: its answers are exact */
} rung_ranking;

typedef struct rung_question {
    rung_ask_kind kind;
    rung_query query;
    uint32_t offset, limit, around;
    rung_slice *ids;
    uint32_t id_count;
    uint32_t target_rank;
    double target_percent;
    unsigned sketches; /* of RUNG_ASK_MEMORY: bits of the sketch boards that can answer it */

    /* The answer. The caller provides `rows`, and `found` for PLAYERS; an answer from the archive has its own. */
    rung_ranking k;
    rung_row *rows;
    uint32_t count, self; /* number of rows, and index of the player's row */
    uint32_t list_total;  /* number of ranked friends */
    rung_value target;    /* of a percentile board: the score, if has_target; `rows` has no entry */
    bool has_target;
    bool *found; /* of ids */
} rung_question;

/* Write the id of a window; returns its length. */
uint32_t rung_window_id_write(uint32_t kind, int64_t ordinal, rung_slice season,
                              char out[RUNG_NAME_MAX + 1]);

/* Select the ranking; query.now_ms 0 means now. RUNG_OK: `*view` and q->k are set. RUNG_PARTIAL: use the archive.
 * RUNG_NOT_FOUND, RUNG_EINVAL with the field; RUNG_EABSENT: the window is not in memory, and the archive cannot answer
 * such a question. */
RUNG_NODISCARD rung_status rung_question_open(const rung_service *s, rung_question *q,
                                              rung_view *view, rung_err *err);
/* Read the rows of a view. RUNG_NOT_FOUND names the player or the team. No effect for RUNG_ASK_MEMORY. */
RUNG_NODISCARD rung_status rung_question_read(rung_question *q, const rung_view *view,
                                              const rung_alloc *alloc, rung_err *err);

/* The receiver of an answer from the archive. */
typedef struct rung_ask_later {
    /* Called once, in the loop. RUNG_OK: `q` is the answer, valid during the call. Otherwise `err` is set:
     * RUNG_NOT_FOUND (no such window, or no such player in it), RUNG_EABSENT (not archived), or a failure (asker.h). */
    void (*done)(void *ctx, rung_status st, const rung_question *q, const rung_err *err);
    void *ctx;
    uint32_t share;
    int64_t deadline_ms; /* as in rung_archive_job */
} rung_ask_later;

/* Queue a copy of the question for the archive. RUNG_OK: done() will be called. Otherwise as rung_question_open(), or
 * RUNG_ENOMEM, RUNG_ELIMIT, RUNG_ECLOSED. */
RUNG_NODISCARD rung_status rung_question_defer(const rung_service *s, const rung_question *q,
                                               const rung_ask_later *later, rung_err *err);

#endif
