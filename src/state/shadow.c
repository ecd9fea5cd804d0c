/* SPDX-License-Identifier: Apache-2.0 */
/* The shadow of a board: how it follows, and how the two change places.
 *
 *   H1 A shadow is a board of its own, under a name that no event or query can contain (it begins with byte 1). Its
 *      `twin` is the board whose shadow it is. It reports no changes and no closed windows.
 *   H2 A shadow that is ready has seen every event that reached its board, in order, under its own definition. It does
 *      not look at submission ids: what its board takes for a repetition, it does not get.
 *   H3 The memory of submission ids belongs to the name, not to the content: `id_serial` and `ids` stay behind in a
 *      swap, as do the expiry and the count of submissions.
 *   H4 While the last parts are on their way, submissions and removals are queued. What cannot be put off (a ban, a
 *      window that closes) ends the queue, and the helper needs another round.
 *
 * The queue: per event a number with its length, and the event as in the log, with log time as its time. */
#include "state/shadow.h"

#include "state/ban.h"
#include "state/digest.h"
#include "state/edition_list.h"
#include "state/hold_list.h"
#include "state/match.h"
#include "state/people.h"
#include "state/ranking.h"
#include "state/score.h"
#include "state/season_reset.h"

#include <string.h>

/* ---- life ---- */

rung_digest rung__shadow_digest(const rung__board *b) {
    const rung__shadow *sh = b->shadow;
    if (!sh)
        return (rung_digest){0, 0};
    uint64_t words[6] = {sh->board->serial, sh->phase,  sh->was_live,
                         sh->parts,         sh->queued, sh->queue_hash};
    return rung__fact_digest(RUNG__FACT_SHADOW, b->serial, sh->job, words, 6);
}

rung_status rung__shadow_attach(rung_state *s, rung__board *b, rung__board *hidden, uint64_t job) {
    rung__shadow *sh = rung_alloc_zeroed(s->alloc, sizeof *sh);
    if (!sh)
        return RUNG_ENOMEM;
    sh->board = hidden;
    sh->job = job;
    b->shadow = sh;
    hidden->twin = b;
    s->shadow_count++;
    return RUNG_OK;
}

rung_status rung__shadow_create(rung_state *s, rung__board *b, const rung_board_def *def,
                                uint64_t job, rung_err *err) {
    static const char digits[] = "0123456789abcdef";
    char name[9] = {1};
    rung__board *hidden;
    if (b->is_key)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "board", "a Redis key without rules of its own");
    if (b->def->sketch || def->sketch)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "board", "a sketch board has no shadow");
    if (b->shadow)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "job", "the board has a shadow");
    if (s->shadow_count >= RUNG_SHADOWS_MAX + (uint32_t)s->is_helper) /* it has one more */
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "job", "%d boards have a shadow",
                               RUNG_SHADOWS_MAX);
    for (uint32_t i = 0; i < 8; i++)
        name[1 + i] = digits[b->number >> 4 * i & 15];
    rung_status st =
        rung__board_create(s, rung_slice_of(name, sizeof name), def, false, &hidden, err);
    if (st < 0)
        return st;
    st = rung__shadow_attach(s, b, hidden, job);
    if (st < 0) {
        rung__board_delete(s, hidden);
        return st;
    }
    rung__digest_add(&s->digest, rung__shadow_digest(b));
    return RUNG_OK;
}

void rung__shadow_free(rung_state *s, rung__board *b) {
    rung__shadow *sh = b->shadow;
    if (!sh)
        return;
    rung_alloc_free(s->alloc, sh->queue, sh->queue_cap);
    rung_alloc_free(s->alloc, sh, sizeof *sh);
    b->shadow = NULL;
    s->shadow_count--;
}

void rung__shadow_drop(rung_state *s, rung__board *b) {
    if (!b->shadow)
        return;
    rung__board *hidden = b->shadow->board;
    rung__digest_subtract(&s->digest, rung__shadow_digest(b));
    rung__shadow_free(s, b);
    rung__board_delete(s, hidden);
}

void rung__shadow_drop_incomplete(rung_state *s) {
    for (uint32_t i = 0; s->shadow_count && i < s->board_cap; i++)
        if (s->boards[i] && s->boards[i]->shadow &&
            s->boards[i]->shadow->phase != RUNG_SHADOW_READY)
            rung__shadow_drop(s, s->boards[i]);
}

void rung__shadow_interrupt(rung_state *s, rung__board *b) {
    rung__shadow *sh = b->shadow;
    if (!sh || sh->phase != RUNG_SHADOW_QUEUEING)
        return;
    rung__digest_subtract(&s->digest, rung__shadow_digest(b));
    rung_alloc_free(s->alloc, sh->queue, sh->queue_cap);
    sh->queue = NULL;
    sh->queued = sh->queue_cap = 0;
    sh->queue_hash = 0;
    sh->phase = RUNG_SHADOW_FILLING;
    rung__digest_add(&s->digest, rung__shadow_digest(b));
}

void rung__shadow_interrupt_all(rung_state *s) {
    for (uint32_t i = 0; s->shadow_count && i < s->board_cap; i++)
        if (s->boards[i])
            rung__shadow_interrupt(s, s->boards[i]);
}

/* ---- following ---- */

uint64_t rung__queue_hash(uint64_t before, const uint8_t *event, size_t length) {
    return rung_hash_word(before ^ rung__bytes_hash(event, length)) + length;
}

bool rung__queue_next(rung_byte_reader *r, rung_slice *event_out) {
    if (!rung_byte_reader_left(r) || r->fault)
        return false;
    size_t length = rung_get_number(r);
    if (r->fault || length > rung_byte_reader_left(r)) {
        rung_byte_reader_fail(r, "a queued event is cut off");
        return false;
    }
    *event_out = rung_slice_of(r->at, length);
    r->at += length;
    return true;
}

static rung_status queue_grow(rung_state *s, rung__shadow *sh, size_t more) {
    if (sh->queue_cap - sh->queued >= more)
        return RUNG_OK;
    uint32_t cap = sh->queue_cap * 2 + (uint32_t)more + 4096;
    uint8_t *queue = rung_alloc_resize(s->alloc, sh->queue, sh->queue_cap, cap);
    if (!queue)
        return RUNG_ENOMEM;
    sh->queue = queue;
    sh->queue_cap = cap;
    return RUNG_OK;
}

/* Put an event off until the last part has come. */
static rung_status enqueue(rung_state *s, rung__board *b, const rung_event *e) {
    enum { HEAD = RUNG_NUMBER_BYTES_MAX };
    rung__shadow *sh = b->shadow;
    size_t length = 0;
    rung_status st = rung_event_encode(e, NULL, 0, &length);
    if (st < 0 && st != RUNG_ELIMIT)
        return RUNG_OK; /* not even valid, so it has no effect on any board */
    if (sh->queued + length + HEAD > RUNG_SHADOW_QUEUE_MAX) {
        rung__shadow_interrupt(s, b);
        return RUNG_OK;
    }
    if (queue_grow(s, sh, length + HEAD) < 0)
        return RUNG_ENOMEM;
    rung__digest_subtract(&s->digest, rung__shadow_digest(b));
    uint8_t *at = rung_encode_number(sh->queue + sh->queued, length);
    st = rung_event_encode(e, at, length, &length);
    if (st == RUNG_OK) {
        sh->queued = (uint32_t)(at + length - sh->queue);
        sh->queue_hash = rung__queue_hash(sh->queue_hash, at, length);
    }
    rung__digest_add(&s->digest, rung__shadow_digest(b));
    return RUNG_OK;
}

/* Did the board refuse a submission by rules that its shadow may not have? One that is not valid counts nowhere. */
static bool may_differ(rung_status st) {
    return st == RUNG_EREFUSED || st == RUNG_ERANGE || st == RUNG_ELIMIT;
}

rung_status rung__shadow_score(rung_state *s, const rung_score_event *e, rung_status st) {
    bool is_taken = st == RUNG_OK || st == RUNG_UNCHANGED;
    rung__board *b = s->shadow_skip ? NULL : rung__board_find(s, e->board);
    if (!b || !b->shadow || !(is_taken || may_differ(st)))
        return st;
    rung_status followed = RUNG_OK;
    if (b->shadow->phase == RUNG_SHADOW_QUEUEING) {
        rung_event event = {.kind = RUNG_EVENT_SCORE, .ts_ms = s->time_ms, .score = *e};
        event.score.meta = event.score.source = event.score.id = event.score.session =
            (rung_slice){NULL, 0};
        event.score.offset = 0;
        followed = enqueue(s, b, &event);
    } else if (b->shadow->phase == RUNG_SHADOW_READY) {
        followed = rung__score_follow(s, b->shadow->board, e);
    }
    if (followed != RUNG_ENOMEM)
        return st;
    s->broken = true;
    return RUNG_ENOMEM;
}

/* The sequence of a match in the queue stands where its source had its offset. */
static const char SEQUENCE[] = "#";

rung_status rung__shadow_match(rung_state *s, rung__board *b, const rung_match_event *e,
                               rung_status st) {
    if (s->shadow_skip || !(st == RUNG_OK || st == RUNG_EINVAL || may_differ(st)))
        return st;
    rung_status followed = RUNG_OK;
    if (b->shadow->phase == RUNG_SHADOW_QUEUEING) {
        rung_event event = {.kind = RUNG_EVENT_MATCH, .ts_ms = s->time_ms, .match = *e};
        event.match.source = rung_slice_str(SEQUENCE);
        event.match.offset = s->seq;
        followed = enqueue(s, b, &event);
    } else if (b->shadow->phase == RUNG_SHADOW_READY) {
        followed = rung__match_follow(s, b->shadow->board, e, s->seq);
    }
    return followed == RUNG_ENOMEM ? followed : st;
}

void rung__shadow_remove(rung_state *s, rung__board *b, uint32_t player) {
    if (b->shadow->phase == RUNG_SHADOW_READY) {
        rung_ignore(rung__entry_remove(s, b->shadow->board, player), "it need not be there");
        return;
    }
    if (b->shadow->phase != RUNG_SHADOW_QUEUEING)
        return;
    rung_event event = {.kind = RUNG_EVENT_ENTRY_REMOVED, .ts_ms = s->time_ms};
    event.removed.board = rung_names_id(s->board_ids, b->number);
    event.removed.player = rung_names_id(s->players, player);
    if (enqueue(s, b, &event) < 0)
        s->broken = true;
}

static rung_status do_queued(rung_state *s, rung__board *hidden, const rung_event *e) {
    uint32_t player;
    s->time_ms = e->ts_ms;
    if (e->kind == RUNG_EVENT_SCORE)
        return rung__score_follow(s, hidden, &e->score);
    if (e->kind == RUNG_EVENT_MATCH)
        return rung__match_follow(s, hidden, &e->match, e->match.offset);
    if (rung_names_find(s->players, e->removed.player, &player) == RUNG_OK)
        rung_ignore(rung__entry_remove(s, hidden, player), "it need not be there");
    return RUNG_OK;
}

rung_status rung__shadow_complete(rung_state *s, rung__board *b) {
    rung__shadow *sh = b->shadow;
    int64_t now_ms = s->time_ms;
    rung_status st = RUNG_OK;
    rung__digest_subtract(&s->digest, rung__shadow_digest(b));
    rung_byte_reader r = rung_byte_reader_of(rung_slice_of(sh->queue, sh->queued));
    rung_slice bytes;
    while (st != RUNG_ENOMEM && rung__queue_next(&r, &bytes)) {
        rung_event e;
        st = rung_event_decode(bytes, &e, NULL);
        if (st >= 0 && (e.kind == RUNG_EVENT_SCORE || e.kind == RUNG_EVENT_MATCH ||
                        e.kind == RUNG_EVENT_ENTRY_REMOVED))
            st = do_queued(s, sh->board, &e);
    }
    s->time_ms = now_ms;
    rung_alloc_free(s->alloc, sh->queue, sh->queue_cap);
    sh->queue = NULL;
    sh->queued = sh->queue_cap = 0;
    sh->queue_hash = 0;
    sh->phase = RUNG_SHADOW_READY;
    rung__digest_add(&s->digest, rung__shadow_digest(b));
    return st == RUNG_ENOMEM ? st : RUNG_OK;
}

void rung__shadow_touch(rung_state *s, uint32_t player) {
    if (s->is_noting && rung_numbermap_add(&s->noted, s->alloc, player, 0) < 0)
        s->broken = true;
}

/* ---- events ---- */

static rung_status find_shadow(rung_state *s, rung_slice board, uint64_t job, rung__board **out,
                               rung_err *err) {
    *out = rung__board_find(s, board);
    if (!*out)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    if (!(*out)->shadow || (*out)->shadow->job != job)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "job", "the board has no shadow of this job");
    return RUNG_OK;
}

/* Exchange what belongs to the name (H3), and the numbers. */
static void change_places(rung_state *s, rung__board *a, rung__board *b) {
    uint32_t number = a->number;
    rung__expiry expiry = a->expiry;
    uint64_t submissions = a->submissions;
    a->number = b->number;
    b->number = number;
    a->expiry = b->expiry;
    b->expiry = expiry;
    a->submissions = b->submissions;
    b->submissions = submissions;
    rung__ids_swap(s, a, b);
    s->boards[a->number] = a;
    s->boards[b->number] = b;
    s->last_board = NULL;
    if (a->has_stash)
        rung__stash_sort(s, a->serial);
    if (b->has_stash)
        rung__stash_sort(s, b->serial);
}

rung_status rung__apply_swap(rung_state *s, const rung_event *e, rung_err *err) {
    rung__board *b;
    rung_status st = find_shadow(s, e->swapped.board, e->swapped.job, &b, err);
    if (st < 0)
        return st;
    rung__shadow *sh = b->shadow;
    rung__board *hidden = sh->board;
    if (sh->phase != RUNG_SHADOW_READY)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "job", "the shadow is not complete");
    if (sh->was_live != e->swapped.is_undo)
        return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "undo", "%s",
                               sh->was_live ? "the swap was made already"
                                            : "there is no swap to undo");
    rung__digest_subtract(&s->digest, rung__board_digest(s, b));
    rung__digest_subtract(&s->digest, rung__board_digest(s, hidden));
    rung__digest_subtract(&s->digest, rung__shadow_digest(b));
    change_places(s, b, hidden);
    b->shadow = NULL;
    b->twin = hidden;
    hidden->twin = NULL;
    rung__editions_drop(s, b); /* they are of what was there */
    rung__holds_end_board(b);
    rung__holds_end_board(hidden);
    hidden->shadow = sh;
    sh->board = b;
    sh->was_live = !sh->was_live;
    b->version = hidden->version = s->seq;
    rung__digest_add(&s->digest, rung__board_digest(s, b));
    rung__digest_add(&s->digest, rung__board_digest(s, hidden));
    rung__digest_add(&s->digest, rung__shadow_digest(hidden));
    if (rung__editions_redefine(s, hidden) < 0)
        return RUNG_ENOMEM;
    if (s->on_change)
        rung__tell_board(s, hidden, RUNG_CHANGE_BOARD_REPLACED);
    return RUNG_OK;
}

rung_status rung__apply_drop(rung_state *s, const rung_event *e, rung_err *err) {
    rung__board *b;
    rung_status st = find_shadow(s, e->dropped.board, e->dropped.job, &b, err);
    if (st >= 0)
        rung__shadow_drop(s, b);
    return st;
}

/* ---- questions ---- */

static void add_bytes(const rung__board *b, rung_shadow_info *out) {
    for (uint32_t i = 0; i < b->window_count; i++)
        if (b->windows[i]->ladder) {
            out->entries += rung_ladder_count(b->windows[i]->ladder);
            out->bytes += rung_ladder_memory(b->windows[i]->ladder);
        }
}

rung_status rung_state_shadow(const rung_state *s, rung_slice board, rung_shadow_info *out) {
    const rung__board *b = rung__board_find(s, board);
    if (!b || !b->shadow)
        return RUNG_NOT_FOUND;
    const rung__shadow *sh = b->shadow;
    *out = (rung_shadow_info){.job = sh->job,
                              .phase = sh->phase,
                              .was_live = sh->was_live,
                              .parts = sh->parts,
                              .queued = sh->queued,
                              .bytes = sh->queue_cap,
                              .def = sh->board->def};
    add_bytes(sh->board, out);
    return RUNG_OK;
}

bool rung_state_has_sources(const rung_state *s) {
    return rung_names_count(s->sources.names) > 0;
}

rung_status rung_state_board_origin(const rung_state *s, rung_slice board, int64_t *created_out,
                                    bool *is_key_out) {
    const rung__board *b = rung__board_find(s, board);
    if (!b)
        return RUNG_NOT_FOUND;
    *created_out = b->created_ms;
    *is_key_out = b->is_key;
    return RUNG_OK;
}

rung_status rung_state_shadow_window(const rung_state *s, rung_slice board, bool of_shadow,
                                     uint32_t i, rung_view *out) {
    const rung__board *b = rung__board_find(s, board);
    if (b && of_shadow)
        b = b->shadow ? b->shadow->board : NULL;
    for (uint32_t w = 0; b && w < b->window_count; w++)
        if (b->windows[w]->ladder && i-- == 0) {
            *out = rung__window_view(s, b, b->windows[w]);
            return RUNG_OK;
        }
    return RUNG_NOT_FOUND;
}

rung_status rung_state_shadow_twin(const rung_view *v, rung_view *out) {
    const rung__board *b = v->board;
    const rung__board *other = b->twin ? b->twin : b->shadow ? b->shadow->board : NULL;
    const rung__window *w = other ? rung__window_find(other, v->kind, v->ordinal, v->season) : NULL;
    if (!w || !w->ladder)
        return RUNG_NOT_FOUND;
    *out = rung__window_view(v->state, other, w);
    return RUNG_OK;
}

/* ---- in the helper ---- */

rung_status rung_state_shadow_begin(rung_state *s, rung_slice board, const rung_board_def *def,
                                    rung_err *err) {
    rung__board *b = rung__board_find(s, board);
    if (!b)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "board", "no such board");
    rung_status st = rung__shadow_create(s, b, def ? def : b->def, 1, err);
    if (st < 0)
        return st;
    rung__digest_subtract(&s->digest, rung__shadow_digest(b));
    b->shadow->phase = RUNG_SHADOW_READY;
    s->is_helper = true;
    rung__digest_add(&s->digest, rung__shadow_digest(b));
    return RUNG_OK;
}

rung_status rung_state_shadow_exclude(rung_state *s, rung_slice board, const uint64_t *seqs,
                                      uint32_t count) {
    rung__board *b = rung__board_find(s, board);
    return b && b->shadow ? rung__removed_set(s, b->shadow->board, seqs, count) : RUNG_NOT_FOUND;
}

void rung_state_shadow_skip(rung_state *s, bool skip) {
    s->shadow_skip = skip;
}

void rung_state_shadow_pass(rung_state *s, int64_t ts_ms) {
    int64_t before_ms = s->time_ms;
    s->seq++;
    if (ts_ms >= RUNG_TIME_MS_MIN && ts_ms < RUNG_TIME_MS_END && ts_ms > s->time_ms)
        s->time_ms = ts_ms;
    if (s->time_ms >= s->next_reset_ms && s->time_ms > before_ms)
        rung__season_reset_due(s, before_ms);
}

void rung_state_shadow_note(rung_state *s) {
    rung_numbermap_deinit(&s->noted, s->alloc);
    memset(&s->noted, 0, sizeof s->noted);
    s->is_noting = true;
}

/* ---- self-check ---- */

const char *rung__shadow_check(const rung_state *s) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->board_cap; i++) {
        const rung__board *b = s->boards[i];
        if (!b)
            continue;
        if (rung__is_hidden_name(rung_names_id(s->board_ids, i)) != (b->twin != NULL))
            return "H1: a board is hidden that is no shadow, or the reverse";
        if (b->twin && (!b->twin->shadow || b->twin->shadow->board != b))
            return "H1: a shadow has no board";
        if (!b->shadow)
            continue;
        count++;
        if (b->shadow->board->twin != b || s->boards[b->shadow->board->number] != b->shadow->board)
            return "H1: a board's shadow is another one's";
        if (b->shadow->queued && b->shadow->phase != RUNG_SHADOW_QUEUEING)
            return "H4: a shadow has a queue that nobody fills";
    }
    return count == s->shadow_count ? NULL : "H1: shadows are miscounted";
}
