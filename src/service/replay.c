/* SPDX-License-Identifier: Apache-2.0 */
/* A job's way:
 *
 *     fold the log to its end -> all parts -> round -> ... -> round -> ready
 *     a round:  fold what came since -> parts with what changed
 *     the last: "queue", fold exactly up to it -> parts with what changed -> "complete"
 *
 * "Complete" is refused if the queue was interrupted; then there is one more round. All waiting is for the helper (in
 * another thread) or for an event's answer, one thing at a time.
 *
 * Invariants:
 *   1. A job with `is_working` or `is_putting` is not freed; `is_over` says that it will be.
 *   2. The shadow in the state belongs to the job if it has its number. A job that fails drops it first, so that the
 *      next replay of the board can begin as soon as this one is shown as failed. */
#include "service/replay.h"

#include "base/random.h"
#include "service/define.h"
#include "service/replay_task.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GAP_MAX = 20000,   /* so many records are few enough for the last round */
    ROUNDS_MAX = 200,  /* then the board changes too fast */
    STALLS_MAX = 3000, /* of a helper that waits for the log: a minute */
    RETRY_MS = 200,
    RETRIES_MAX = 3000, /* while the log takes nothing: ten minutes */
    REPORT_LOOK_MS = 20,
    REPORTS_MAX = 4,
};

const char *const rung_replay_phase_words[] = {"reading", "filling",    "ready", "swapped",
                                               "failed",  "unattended", NULL};

typedef enum stage {
    STAGE_FREE,
    STAGE_FOLD,
    STAGE_PIECE,
    STAGE_RETRY,
    STAGE_DONE,
    STAGE_FAILED
} stage;

typedef enum item {
    ITEM_PIECE,
    ITEM_QUEUE,
    ITEM_COMPLETE,
    ITEM_DROP,
    ITEM_SWAP,  /* of a job that swaps by itself; */
    ITEM_FORGET /* then it drops the old content */
} item;

/* Who asked for a swap that comes later. */
typedef struct asked {
    bool is_asked;
    rung_actor actor; /* its texts: */
    char key[RUNG_ACTOR_TEXT_MAX], player[RUNG_NAME_MAX], address[RUNG_ACTOR_ADDRESS_MAX],
        reason[RUNG_REASON_MAX];
} asked;

typedef struct job {
    rung_replay *pool;
    stage stage;
    uint64_t number;
    rung_replay_task *task; /* the spec, with its texts */
    rung_replay_helper *helper;
    rung_asker_work work;
    rung_replay_ask ask;
    rung_replay_reply reply;
    rung_status status;
    rung_err err;
    uint64_t to_seq, last_seq;
    uint32_t part, rounds, stalls, retries;
    item item; /* being put */
    bool is_working, is_putting, is_over, is_last, is_first;
    asked swap; /* by itself, once it is complete */
} job;

typedef struct report {
    rung_replay_report *made;   /* complete; NULL: none */
    rung_replay_report *shared; /* the child writes it */
    rung_child *child;
    char board[RUNG_NAME_MAX];
    size_t board_len;
    uint64_t job, used;
    bool was_live;
} report;

struct rung_replay {
    rung_replay_config config;
    rung_hub *hub;
    job jobs[RUNG_REPLAY_WORKS_MAX];
    report reports[REPORTS_MAX];
    uint64_t clock; /* counts uses of reports */
    bool is_stopped;
};

/* What the child works on. */
typedef struct report_work {
    const rung_state *state;
    rung_slice board;
    rung_replay_report *out;
} report_work;

rung_status rung_replay_create(const rung_replay_config *config, rung_replay **out, rung_err *err) {
    rung_replay *r = rung_alloc_zeroed(config->alloc, sizeof *r);
    if (!r)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    r->config = *config;
    for (uint32_t i = 0; i < RUNG_REPLAY_WORKS_MAX; i++)
        r->jobs[i].pool = r;
    *out = r;
    return RUNG_OK;
}

static rung_slice board_of(const job *j) {
    return rung_replay_task_spec(j->task)->board;
}

static void end_helper(job *j) {
    if (j->helper)
        j->pool->config.port->end(j->helper);
    j->helper = NULL;
}

static void free_job(job *j) {
    rung_replay *pool = j->pool;
    end_helper(j);
    rung_replay_task_free(j->task);
    *j = (job){.pool = pool};
}

static void free_report(report *p) {
    rung_child_kill(p->child);
    if (p->made)
        munmap(p->made, sizeof *p->made);
    if (p->shared)
        munmap(p->shared, sizeof *p->shared);
    *p = (report){0};
}

void rung_replay_destroy(rung_replay *r) {
    if (!r)
        return;
    for (uint32_t i = 0; i < RUNG_REPLAY_WORKS_MAX; i++)
        if (r->jobs[i].stage != STAGE_FREE)
            free_job(&r->jobs[i]);
    for (uint32_t i = 0; i < REPORTS_MAX; i++)
        free_report(&r->reports[i]);
    rung_alloc_free(r->config.alloc, r, sizeof *r);
}

static job *find_job(const rung_replay *r, rung_slice board) {
    for (uint32_t i = 0; i < RUNG_REPLAY_WORKS_MAX; i++) {
        const job *j = &r->jobs[i];
        if (j->stage != STAGE_FREE && !j->is_over && rung_slice_eq(board_of(j), board))
            return (job *)(uintptr_t)j;
    }
    return NULL;
}

static bool is_running(const job *j) {
    return j->stage == STAGE_FOLD || j->stage == STAGE_PIECE || j->stage == STAGE_RETRY;
}

/* ---- the end of a job ---- */

static rung_status put_drop(rung_replay *r, rung_hub_sender from, rung_slice board, uint64_t number,
                            rung_hub_answer *answer, void *ctx, rung_err *err) {
    rung_event e = {.kind = RUNG_EVENT_SHADOW_DROPPED, .dropped = {.board = board, .job = number}};
    return rung_commit_put(rung_hub_commit(r->hub), from, &e, NULL, answer, ctx, err);
}

static bool has_shadow(const job *j) {
    rung_shadow_info info;
    return rung_state_shadow(rung_hub_state(j->pool->hub), board_of(j), &info) == RUNG_OK &&
           info.job == j->number;
}

static void put(job *j, item what);

static void fail(job *j) { /* 2; j->err says why */
    end_helper(j);
    j->stage = STAGE_FAILED;
    if (!j->pool->is_stopped && has_shadow(j))
        put(j, ITEM_DROP);
}

static void settle(job *j) { /* 1 */
    if (j->is_over && !j->is_working && !j->is_putting)
        free_job(j);
}

/* ---- the helper ---- */

static void go_on(job *j);
static void next_round(job *j);

static void run(rung_asker_work *w) {
    job *j = w->ctx;
    j->status = j->pool->config.port->ask(j->helper, &j->ask, &j->reply, &j->err);
}

static void folded(job *j) {
    uint64_t seq = j->reply.seq;
    if (j->status == RUNG_PARTIAL) {
        j->stalls = seq == j->last_seq ? j->stalls + 1 : 0;
        j->last_seq = seq;
        if (j->stalls > STALLS_MAX) {
            rung_ignore(RUNG_FAIL(&j->err, RUNG_EIO, "the log cannot be read to its end"),
                        "it is told");
            fail(j);
            return;
        }
        go_on(j);
        return;
    }
    j->stage = STAGE_PIECE;
    j->ask = (rung_replay_ask){.is_piece = true, .begins = true, .only_noted = !j->is_first};
    go_on(j);
}

static void got_piece(job *j) {
    j->ask.begins = false;
    if (j->status == RUNG_OK && j->reply.piece.len) {
        put(j, ITEM_PIECE);
    } else if (j->status == RUNG_OK) {
        go_on(j);
    } else if (j->is_last) {
        put(j, ITEM_COMPLETE);
    } else {
        j->is_first = false;
        next_round(j);
    }
}

static void worked(rung_asker_work *w) {
    job *j = w->ctx;
    j->is_working = false;
    if (j->is_over)
        settle(j);
    else if (j->pool->is_stopped)
        end_helper(j);
    else if (j->status < 0)
        fail(j);
    else if (j->ask.is_piece)
        got_piece(j);
    else
        folded(j);
}

/* Ask the helper what j->ask says. */
static void go_on(job *j) {
    rung_replay *r = j->pool;
    if (r->is_stopped)
        return;
    j->work = (rung_asker_work){.run = run, .done = worked, .ctx = j};
    j->is_working = r->config.work(r->config.ctx, (uint32_t)(j - r->jobs), &j->work);
    if (!j->is_working)
        r->config.look_in(r->config.ctx, RETRY_MS);
}

static void fold_to(job *j, uint64_t seq) {
    j->stage = STAGE_FOLD;
    j->to_seq = seq;
    j->ask = (rung_replay_ask){.to_seq = seq};
    go_on(j);
}

/* ---- events ---- */

static void next_round(job *j) {
    const rung_state *s = rung_hub_state(j->pool->hub);
    uint64_t seq = rung_state_seq(s);
    if (rung_state_has_sources(s) && !rung_replay_task_spec(j->task)->has_sources) {
        rung_ignore(RUNG_FAIL(&j->err, RUNG_EBUSY,
                              "the first submission with a source came meanwhile: begin again"),
                    "it is told");
        fail(j);
        return;
    }
    j->is_last = false;
    if (++j->rounds > ROUNDS_MAX) {
        rung_ignore(RUNG_FAIL(&j->err, RUNG_EBUSY, "the board changes too fast"), "it is told");
        fail(j);
    } else if (seq - j->reply.seq > GAP_MAX) {
        fold_to(j, seq);
    } else {
        put(j, ITEM_QUEUE);
    }
}

/* A replay without a definition takes those that the board had. If it got its own by a swap, no event has it. */
static bool has_other_definition(job *j) {
    static uint8_t ours[RUNG_BOARD_DEF_BYTES_MAX], theirs[RUNG_BOARD_DEF_BYTES_MAX];
    const rung_state *s = rung_hub_state(j->pool->hub);
    const rung_board_def *def;
    rung_shadow_info info;
    size_t a, b;
    if (rung_replay_task_spec(j->task)->def || j->part != 1 ||
        rung_state_shadow(s, board_of(j), &info) != RUNG_OK ||
        rung_state_board(s, board_of(j), &def) != RUNG_OK ||
        rung_board_def_encode(info.def, ours, sizeof ours, &a) < 0 ||
        rung_board_def_encode(def, theirs, sizeof theirs, &b) < 0)
        return false;
    return a != b || memcmp(ours, theirs, a) != 0;
}

static void refused(job *j, rung_status st, const rung_err *err) {
    if (j->item == ITEM_COMPLETE && st == RUNG_EREFUSED) { /* interrupted */
        next_round(j);
        return;
    }
    j->err = *err;
    if (st == RUNG_EABSENT)
        rung_ignore(RUNG_FAIL(&j->err, RUNG_EABSENT,
                              "the board was defined anew or deleted, or a player was erased, "
                              "meanwhile: begin again"),
                    "it is told");
    fail(j);
}

static void answered(void *ctx, rung_status st, const rung_outcome *outcome, const rung_err *err) {
    job *j = ctx;
    j->is_putting = false;
    if (j->is_over || j->pool->is_stopped) {
        settle(j);
        return;
    }
    if (j->item == ITEM_DROP) {
        fail(j); /* done, unless it is still there */
        return;
    }
    if (st >= 0 && j->item == ITEM_SWAP) {
        put(j, ITEM_FORGET);
        return;
    }
    if (j->item == ITEM_FORGET) { /* if not, the old content is left to the operator */
        j->stage = STAGE_DONE;
        return;
    }
    if (st < 0) {
        refused(j, st, err);
        return;
    }
    j->part++;
    if (has_other_definition(j)) {
        rung_ignore(RUNG_FAIL_FIELD(&j->err, RUNG_EUNSUPPORTED, "definition",
                                    "the board got its definition by a swap, which the log does "
                                    "not show: give it with the replay"),
                    "it is told");
        fail(j);
    } else if (j->item == ITEM_PIECE) {
        go_on(j);
    } else if (j->item == ITEM_QUEUE) {
        j->is_last = true;
        fold_to(j, outcome->seq);
    } else {
        end_helper(j);
        j->stage = STAGE_DONE;
        if (j->swap.is_asked)
            put(j, ITEM_SWAP);
    }
}

static rung_status put_part(job *j, item what, rung_err *err) {
    rung_event e = {.kind = RUNG_EVENT_BOARD_FILLED};
    e.filled.board = board_of(j);
    e.filled.job = j->number;
    e.filled.part = j->part;
    e.filled.packed = what == ITEM_PIECE   ? j->reply.piece
                      : what == ITEM_QUEUE ? rung_fill_queue
                                           : rung_fill_complete;
    return rung_hub_put(j->pool->hub, &e, answered, j, err);
}

static rung_status put_swap(job *j, rung_err *err) {
    rung_hub_sender from = {.actor = j->swap.actor.address.len ? &j->swap.actor : NULL};
    rung_event e = {.kind = RUNG_EVENT_BOARD_SWAPPED,
                    .swapped = {.board = board_of(j), .job = j->number}};
    return rung_commit_put(rung_hub_commit(j->pool->hub), from, &e, NULL, answered, j, err);
}

static void put(job *j, item what) {
    rung_replay *r = j->pool;
    rung_err err = {0};
    j->item = what;
    j->stage = STAGE_PIECE;
    j->is_putting = true;
    rung_status st =
        what == ITEM_SWAP ? put_swap(j, &err)
        : what == ITEM_DROP || what == ITEM_FORGET
            ? put_drop(r, (rung_hub_sender){0}, board_of(j), j->number, answered, j, &err)
            : put_part(j, what, &err);
    if (st == RUNG_OK) {
        j->retries = 0;
        return;
    }
    j->is_putting = false;
    if ((st == RUNG_ELIMIT || st == RUNG_ENOSPC) && ++j->retries < RETRIES_MAX) {
        j->stage = STAGE_RETRY;
        r->config.look_in(r->config.ctx, RETRY_MS);
    } else if (what == ITEM_DROP || what == ITEM_FORGET) {
        j->stage = STAGE_FAILED; /* the shadow is left to the operator, or to the next start */
    } else {
        j->err = err;
        fail(j);
    }
}

/* ---- reports ---- */

static rung_status make_report(void *arg, const rung_child_life *life, rung_err *err) {
    const report_work *w = arg;
    (void)life, (void)err;
    rung_replay_report_make(w->state, w->board, w->out);
    return RUNG_OK;
}

static bool is_of(const report *p, rung_slice board, const rung_shadow_info *info) {
    return p->job == info->job && p->was_live == info->was_live &&
           rung_slice_eq(rung_slice_of(p->board, p->board_len), board);
}

static bool has_child(const rung_replay *r) {
    for (uint32_t i = 0; i < REPORTS_MAX; i++)
        if (r->reports[i].child)
            return true;
    return false;
}

static void begin_report(rung_replay *r, report *p, rung_slice board) {
    report_work work = {rung_hub_state(r->hub), board, NULL};
    work.out =
        mmap(NULL, sizeof *p->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (work.out == MAP_FAILED)
        return;
    p->shared = work.out;
    if (rung_child_begin(r->config.children, r->config.alloc, make_report, &work, &p->child, NULL) <
        0) {
        p->child = NULL;
        munmap(p->shared, sizeof *p->shared);
        p->shared = NULL;
        return;
    }
    r->config.look_in(r->config.ctx, REPORT_LOOK_MS);
}

static void look_at_report(report *p) {
    if (!p->child)
        return;
    rung_status st = rung_child_poll(p->child, false, NULL);
    if (st == RUNG_PARTIAL)
        return;
    p->child = NULL;
    rung_replay_report **gone = st == RUNG_OK ? &p->made : &p->shared;
    if (*gone)
        munmap(*gone, sizeof **gone);
    *gone = NULL;
    if (st == RUNG_OK) {
        p->made = p->shared;
        p->shared = NULL;
    }
}

const rung_replay_report *rung_replay_report_of(rung_replay *r, rung_slice board) {
    rung_shadow_info info;
    report *p = NULL;
    if (!r || r->is_stopped || !r->hub ||
        rung_state_shadow(rung_hub_state(r->hub), board, &info) != RUNG_OK ||
        info.phase != RUNG_SHADOW_READY)
        return NULL;
    for (uint32_t i = 0; i < REPORTS_MAX && !p; i++)
        if (is_of(&r->reports[i], board, &info))
            p = &r->reports[i];
    for (uint32_t i = 0; i < REPORTS_MAX && !p; i++)
        if (!r->reports[i].used)
            p = &r->reports[i];
    if (!p) { /* the one used least recently */
        p = &r->reports[0];
        for (uint32_t i = 1; i < REPORTS_MAX; i++)
            if (r->reports[i].used < p->used)
                p = &r->reports[i];
    }
    if (!is_of(p, board, &info)) {
        free_report(p);
        p->job = info.job;
        p->was_live = info.was_live;
        p->board_len = board.len;
        memcpy(p->board, board.ptr, board.len);
    }
    p->used = ++r->clock;
    look_at_report(p);
    bool is_old = !p->made || p->made->seq != rung_state_seq(rung_hub_state(r->hub));
    if (is_old && !has_child(r))
        begin_report(r, p, board);
    return p->made;
}

/* ---- time ---- */

void rung_replay_look(rung_replay *r) {
    if (r->is_stopped)
        return;
    for (uint32_t i = 0; i < RUNG_REPLAY_WORKS_MAX; i++) {
        job *j = &r->jobs[i];
        if (j->is_over || j->is_working || j->is_putting)
            continue;
        if (j->stage == STAGE_RETRY)
            put(j, j->item);
        else if (j->stage == STAGE_FOLD || j->stage == STAGE_PIECE) /* there was no thread */
            go_on(j);
    }
    for (uint32_t i = 0; i < REPORTS_MAX; i++)
        look_at_report(&r->reports[i]);
    if (has_child(r))
        r->config.look_in(r->config.ctx, REPORT_LOOK_MS);
}

void rung_replay_start(rung_replay *r, rung_hub *hub) {
    const rung_state *s = rung_hub_state(hub);
    rung_shadow_info info;
    const rung_board_def *def;
    rung_slice board;
    r->hub = hub;
    if (!r->config.port || rung_hub_nodes(hub) || rung_hub_check_present(hub, NULL) < 0)
        return;
    for (uint32_t i = 0; i < rung_state_board_span(s); i++)
        if (rung_state_board_at(s, i, &board, &def) == RUNG_OK &&
            rung_state_shadow(s, board, &info) == RUNG_OK && info.phase != RUNG_SHADOW_READY)
            rung_ignore(put_drop(r, (rung_hub_sender){0}, board, info.job, NULL, NULL, NULL),
                        "it is shown as unattended, and can be dropped");
}

void rung_replay_stop(rung_replay *r) {
    if (!r || r->is_stopped)
        return;
    r->is_stopped = true;
    for (uint32_t i = 0; i < RUNG_REPLAY_WORKS_MAX; i++)
        if (r->jobs[i].is_working)
            r->config.port->cut(r->jobs[i].helper);
    for (uint32_t i = 0; i < REPORTS_MAX; i++)
        free_report(&r->reports[i]);
}

bool rung_replay_is_busy(const rung_replay *r) {
    for (uint32_t i = 0; r && i < RUNG_REPLAY_WORKS_MAX; i++)
        if (r->jobs[i].is_working)
            return true;
    return false;
}

/* ---- use cases ---- */

static rung_status check_server(const rung_replay *r, rung_err *err) {
    if (!r || !r->config.port || !r->hub)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "replay",
                               "this server has no data folder: there is no log to replay");
    if (r->is_stopped)
        return RUNG_FAIL(err, RUNG_ECLOSED, "server is shutting down");
    return rung_hub_check_present(r->hub, err);
}

static rung_status check_board(const rung_replay *r, const rung_replay_spec *spec,
                               int64_t *created_out, rung_err *err) {
    const rung_state *s = rung_hub_state(r->hub);
    const rung_board_def *def;
    rung_shadow_info info;
    bool is_key;
    if (rung_state_board(s, spec->board, &def) != RUNG_OK ||
        rung_state_board_origin(s, spec->board, created_out, &is_key) != RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    if (is_key)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "board",
                               "a Redis key without rules of its own");
    if (spec->def && rung_update_is_rating(def->update) != rung_update_is_rating(spec->def->update))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "update",
                               "a board of matches stays one, and so does a board of scores");
    if (spec->match_count && !rung_update_is_rating(def->update))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "exclude.matches",
                               "the board takes scores, not matches");
    if (def->sketch || (spec->def && spec->def->sketch))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "kind", "a sketch board cannot be replayed");
    if (rung_state_rules(s) < 2)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "rules", "replays need level 2");
    if (rung_state_shadow(s, spec->board, &info) == RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_EBUSY, "replay",
                               "the board has a replay already: drop it first");
    int64_t reach_ms = rung_hub_stat(r->hub).log_reach_ms;
    if (reach_ms && *created_out < reach_ms)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EABSENT, RUNG_REASON_TOO_OLD, "board",
                                   "the kept log does not reach back to the creation of the board");
    return RUNG_OK;
}

static rung_status check_spec(const rung_replay_spec *spec, rung_err *err) {
    if (spec->player_count > RUNG_REPLAY_PLAYERS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "exclude.players", "%d at most",
                               RUNG_REPLAY_PLAYERS_MAX);
    for (uint32_t i = 0; i < spec->player_count; i++)
        if (!rung_name_is_valid(spec->players[i]))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "exclude.players[%u]",
                                   "not the id of a player", i);
    if (spec->has_span && spec->from_ms >= spec->to_ms)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "exclude.to", "it is not after from");
    if (!spec->def && !spec->player_count && !spec->match_count && !spec->has_span)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "definition",
                               "give a definition, or players, matches or a span to exclude");
    return spec->def ? rung_board_def_check(spec->def, err) : RUNG_OK;
}

/* A place for a new job; records of old ones make room. */
static job *find_room(rung_replay *r, rung_slice board) {
    job *room = find_job(r, board);
    uint32_t running = 0;
    for (uint32_t i = 0; i < RUNG_REPLAY_WORKS_MAX; i++) {
        job *j = &r->jobs[i];
        running += is_running(j);
        if (!room && j->stage == STAGE_FREE)
            room = j;
    }
    for (uint32_t i = 0; !room && i < RUNG_REPLAY_WORKS_MAX; i++)
        if (!is_running(&r->jobs[i]) && !r->jobs[i].is_putting && !r->jobs[i].is_working)
            room = &r->jobs[i];
    return running < RUNG_REPLAY_RUNNING_MAX ? room : NULL;
}

static uint64_t new_number(void) {
    uint64_t number = 0;
    rung_ignore(rung_random_fill(NULL, &number, sizeof number, NULL), "then it is zero");
    return (number & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52; /* JSON shows it exactly */
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* What the board is computed without already stays out. `room` is for the list. */
static rung_status add_removed(const rung_replay *r, rung_replay_spec *spec, uint64_t *room,
                               rung_err *err) {
    uint32_t count = rung_state_removed_matches(rung_hub_state(r->hub), spec->board, room), n = 0;
    if (count + spec->match_count > 2 * RUNG_MATCHES_REMOVED_MAX)
        count = 2 * RUNG_MATCHES_REMOVED_MAX - spec->match_count;
    for (uint32_t i = 0; i < spec->match_count; i++)
        room[count + i] = spec->matches[i];
    count += spec->match_count;
    if (count)
        qsort(room, count, sizeof *room, by_number);
    for (uint32_t i = 0; i < count; i++)
        if (!i || room[i] != room[i - 1])
            room[n++] = room[i];
    if (n > RUNG_MATCHES_REMOVED_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "exclude.matches",
                               "%d matches of a board at most are left out",
                               RUNG_MATCHES_REMOVED_MAX);
    spec->matches = room;
    spec->match_count = n;
    return RUNG_OK;
}

static rung_status begin(rung_replay *r, const rung_replay_spec *spec, uint64_t *job_out,
                         rung_err *err) {
    uint64_t removed[2 * RUNG_MATCHES_REMOVED_MAX];
    rung_replay_spec whole = *spec;
    rung_status st = check_board(r, spec, &whole.created_ms, err);
    if (st >= 0)
        st = check_spec(spec, err);
    if (st >= 0)
        st = add_removed(r, &whole, removed, err);
    if (st < 0)
        return st;
    const job *old = find_job(r, spec->board);
    if (old && is_running(old))
        return RUNG_FAIL_FIELD(err, RUNG_EBUSY, "replay",
                               "the board has a replay already: drop it first");
    job *j = find_room(r, spec->board);
    if (!j)
        return RUNG_FAIL_FIELD(err, RUNG_EBUSY, "replay", "%d replays are running",
                               RUNG_REPLAY_RUNNING_MAX);
    whole.until_seq = rung_state_seq(rung_hub_state(r->hub));
    whole.has_sources = rung_state_has_sources(rung_hub_state(r->hub));
    rung_replay_task *task;
    st = rung_replay_task_copy(r->config.alloc, &whole, &task, err);
    if (st < 0)
        return st;
    if (j->stage != STAGE_FREE)
        free_job(j);
    j->task = task;
    j->number = new_number();
    j->is_first = true;
    st = r->config.port->start(r->config.port->ctx, rung_replay_task_spec(task), &j->helper, err);
    if (st < 0) {
        j->helper = NULL;
        free_job(j);
        return st;
    }
    *job_out = j->number;
    fold_to(j, whole.until_seq);
    return RUNG_OK;
}

/* With the rules of the definition's time zone. */
rung_status rung_replay_begin(rung_replay *r, const rung_replay_spec *spec, uint64_t *job_out,
                              rung_err *err) {
    rung_replay_spec whole = *spec;
    rung_board_def def;
    rung_status st = check_server(r, err);
    if (st < 0 || !spec->def)
        return st < 0 ? st : begin(r, spec, job_out, err);
    char *room = rung_alloc_get(r->config.alloc, RUNG_ZONE_PACKED_MAX);
    if (!room)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    def = *spec->def;
    whole.def = &def;
    st = rung_define_check(&def, NULL, err);
    if (st >= 0)
        st = rung_hub_find_zone(r->hub, &def, room, err);
    if (st == RUNG_EABSENT)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "definition.timezone", "no such time zone");
    if (st >= 0)
        st = begin(r, &whole, job_out, err);
    rung_alloc_free(r->config.alloc, room, RUNG_ZONE_PACKED_MAX);
    return st;
}

static rung_slice keep_text(rung_slice text, char *room, size_t size) {
    size_t len = text.len < size ? text.len : size;
    if (len)
        memcpy(room, text.ptr, len);
    return rung_slice_of(room, len);
}

rung_status rung_replay_without_match(rung_replay *r, rung_hub_sender from, rung_slice board,
                                      uint64_t seq, rung_err *err) {
    rung_replay_spec spec = {.board = board, .match_count = 1, .matches = &seq};
    uint64_t number;
    rung_status st = check_server(r, err);
    if (st >= 0)
        st = begin(r, &spec, &number, err);
    job *j = st >= 0 ? find_job(r, board) : NULL;
    if (!j)
        return st;
    asked *a = &j->swap;
    a->is_asked = true;
    if (from.actor) {
        a->actor.key = keep_text(from.actor->key, a->key, sizeof a->key);
        a->actor.player = keep_text(from.actor->player, a->player, sizeof a->player);
        a->actor.address = keep_text(from.actor->address, a->address, sizeof a->address);
        a->actor.reason = keep_text(from.actor->reason, a->reason, sizeof a->reason);
    }
    return RUNG_OK;
}

rung_status rung_replay_swap(rung_replay *r, rung_hub_sender from, rung_slice board, bool is_undo,
                             rung_hub_answer *answer, void *ctx, rung_err *err) {
    rung_shadow_info info;
    rung_status st = check_server(r, err);
    if (st < 0)
        return st;
    if (rung_state_shadow(rung_hub_state(r->hub), board, &info) != RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "replay", "the board has no replay");
    if (info.phase != RUNG_SHADOW_READY)
        return RUNG_FAIL_FIELD(err, RUNG_EBUSY, "replay", "the replay is not complete");
    rung_event e = {.kind = RUNG_EVENT_BOARD_SWAPPED,
                    .swapped = {.board = board, .job = info.job, .is_undo = is_undo}};
    return rung_commit_put(rung_hub_commit(r->hub), from, &e, NULL, answer, ctx, err);
}

rung_status rung_replay_drop(rung_replay *r, rung_hub_sender from, rung_slice board,
                             rung_hub_answer *answer, void *ctx, rung_err *err) {
    rung_shadow_info info = {0};
    rung_status st = check_server(r, err);
    if (st < 0)
        return st;
    bool is_there = rung_state_shadow(rung_hub_state(r->hub), board, &info) == RUNG_OK;
    job *j = find_job(r, board);
    if (!is_there && !j)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "replay", "the board has no replay");
    uint64_t number = is_there ? info.job : j->number;
    bool may_come = j && j->is_putting; /* its first part is on its way */
    if (is_there || may_come) {
        st = put_drop(r, from, board, number, answer, ctx, err);
        if (st < 0)
            return st;
    }
    if (j) {
        j->is_over = true;
        if (j->is_working)
            r->config.port->cut(j->helper);
        settle(j);
    }
    return is_there || may_come ? RUNG_OK : RUNG_UNCHANGED;
}

rung_status rung_replay_look_at(const rung_replay *r, rung_slice board, rung_replay_info *out) {
    const job *j = r && r->hub ? find_job(r, board) : NULL;
    *out = (rung_replay_info){.phase = RUNG_REPLAY_UNATTENDED};
    if (!r || !r->hub)
        return RUNG_NOT_FOUND;
    out->has_shadow = rung_state_shadow(rung_hub_state(r->hub), board, &out->shadow) == RUNG_OK;
    if (j && out->has_shadow && j->number != out->shadow.job)
        j = NULL;
    if (!j && !out->has_shadow)
        return RUNG_NOT_FOUND;
    if (j && j->stage == STAGE_DONE && !out->has_shadow)
        return RUNG_NOT_FOUND; /* the board was defined anew, or deleted */
    out->job = j ? j->number : out->shadow.job;
    if (j) {
        out->spec = rung_replay_task_spec(j->task);
        out->seq = j->is_working ? out->seq : j->reply.seq;
        out->to_seq = j->to_seq;
        out->left_out = j->is_working ? 0 : j->reply.left_out;
        out->err = &j->err;
    }
    if (out->has_shadow && out->shadow.phase == RUNG_SHADOW_READY)
        out->phase = out->shadow.was_live ? RUNG_REPLAY_SWAPPED : RUNG_REPLAY_READY;
    else if (j && j->stage == STAGE_FAILED)
        out->phase = RUNG_REPLAY_FAILED;
    else if (j)
        out->phase = j->is_first && j->part == 0 ? RUNG_REPLAY_READING : RUNG_REPLAY_FILLING;
    return RUNG_OK;
}
