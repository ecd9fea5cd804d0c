/* SPDX-License-Identifier: Apache-2.0 */
/* Creation and destruction of a state, dispatch of events, the digest, statistics.
 *
 * The digest is a sum: every fact (an entry, a friendship, a definition, a remembered id, ...) has a 128-bit number,
 * and the digest is the sum of all current facts, modulo 2^64 in each half. A change adds and subtracts a few
 * numbers, so the digest is always up to date and does not depend on the order in which facts arose. Derived data
 * (scopes, teams, counts) is not included. Facts may contain player numbers because those, too, depend only on the
 * events. */
#include "state/state.h"
#include "state/match.h"
#include "state/match_ahead.h"

#include "state/attribute.h"
#include "state/ban.h"
#include "state/digest.h"
#include "state/edition_list.h"
#include "state/keyspace/commands.h"
#include "state/keyspace/keys.h"
#include "state/keyspace/set.h"
#include "state/lookahead.h"
#include "state/people.h"
#include "state/reviews.h"
#include "state/season_reset.h"
#include "state/shadow.h"
#include "state/sketch.h"

#include <string.h>

/* ---- digest ---- */

static const rung_hash_key fixed = {UINT64_C(0x72756e672d646967), UINT64_C(0x6573742d6b657931)};

uint64_t rung__bytes_hash(const void *bytes, size_t len) {
    return rung_hash_keyed(&fixed, bytes, len);
}

void rung__bytes_hash_many(const rung_slice *bytes, size_t n, uint64_t *hashes_out) {
    rung_hash_keyed_many(&fixed, bytes, n, hashes_out);
}

rung_digest rung_state_digest(const rung_state *s) {
    uint64_t clock[3] = {(uint64_t)s->time_ms, s->refused, (uint64_t)s->ids.horizon_ms};
    rung_digest d = s->digest;
    rung__digest_add(&d, rung__fact_digest(0, s->seq, 0, clock, 3));
    if (s->rules || s->has_keys)
        rung__digest_add(&d, rung__fact_digest(RUNG__FACT_RULES, s->rules, s->has_keys, NULL, 0));
    return d;
}

/* ---- small things ---- */

void *rung__copy_bytes(rung_state *s, const void *bytes, size_t len) {
    void *copy = rung_alloc_get(s->alloc, len ? len : 1);
    if (copy && len)
        memcpy(copy, bytes, len);
    return copy;
}

rung_status rung__grow(const rung_alloc *a, void *array_ptr, uint32_t *cap, uint32_t need,
                       size_t size) {
    if (need <= *cap)
        return RUNG_OK;
    uint32_t wide = *cap + *cap / 2 + 4;
    wide = wide < need ? need : wide;
    void *old;
    memcpy(&old, array_ptr, sizeof old);
    char *grown = rung_alloc_resize(a, old, *cap * size, wide * size);
    if (!grown)
        return RUNG_ENOMEM;
    memset(grown + *cap * size, 0, (wide - *cap) * size);
    memcpy(array_ptr, &grown, sizeof grown);
    *cap = wide;
    return RUNG_OK;
}

static rung_digest player_digest(uint32_t player, rung_slice id) {
    return rung__fact_digest(RUNG__FACT_PLAYER, player, rung__bytes_hash(id.ptr, id.len), NULL, 0);
}

rung_status rung__intern_player(rung_state *s, rung_slice id, uint32_t *out) {
    rung_status st = rung_names_intern(s->players, id, out);
    if (st == RUNG_OK)
        rung__digest_add(&s->digest, player_digest(*out, id));
    return st;
}

void rung__forget_player(rung_state *s, uint32_t player) {
    rung__digest_subtract(&s->digest, player_digest(player, rung_names_id(s->players, player)));
    rung_names_remove(s->players, player);
}

/* ---- life ---- */

rung_status rung_state_create(const rung_state_config *config, rung_state **out) {
    rung_state *s = rung_alloc_zeroed(config->alloc, sizeof *s);
    if (!s)
        return RUNG_ENOMEM;
    s->alloc = config->alloc;
    s->hash_key = config->hash_key;
    s->time_ms = INT64_MIN;
    s->next_close_ms = s->next_reset_ms = INT64_MAX;
    s->reviews.next_ms = INT64_MAX;
    s->next_ban_end_ms = INT64_MAX;
    s->next_edition_ms = INT64_MAX;
    s->ghost = RUNG__NONE;
    s->on_close = config->on_close;
    s->on_close_ctx = config->on_close_ctx;
    s->on_change = config->on_change;
    s->on_change_ctx = config->on_change_ctx;
    s->rules = config->rules_level;
    if (rung_names_create(s->alloc, &s->hash_key, &s->players) < 0 ||
        rung_names_create(s->alloc, &s->hash_key, &s->board_ids) < 0 ||
        rung_names_create(s->alloc, &s->hash_key, &s->attribute_ids) < 0 ||
        rung__ids_create(s, config) < 0 || rung__sources_create(s) < 0 ||
        rung__sessions_create(s) < 0 ||
        !(s->lookahead = rung_alloc_zeroed(s->alloc, sizeof *s->lookahead))) {
        rung_state_destroy(s);
        return RUNG_ENOMEM;
    }
    uint32_t boards_max = config->boards_max ? config->boards_max : 1000000;
    rung_names_set_limit(s->board_ids, boards_max);
    s->keys_max = boards_max - boards_max / 100;
    *out = s;
    return RUNG_OK;
}

void rung_state_destroy(rung_state *s) {
    if (!s)
        return;
    for (uint32_t i = 0; i < s->board_cap; i++)
        if (s->boards[i])
            rung__board_free(s, s->boards[i]);
    rung_alloc_free(s->alloc, s->boards, s->board_cap * sizeof *s->boards);
    for (uint32_t i = 0; i < s->set_cap; i++)
        if (s->sets[i])
            rung__set_free(s, s->sets[i]);
    rung_alloc_free(s->alloc, s->sets, s->set_cap * sizeof *s->sets);
    rung_alloc_free(s->alloc, s->expiring, s->expiring_cap * sizeof *s->expiring);
    rung__people_deinit(s);
    rung__sessions_destroy(s);
    rung__reviews_deinit(s);
    rung__sources_destroy(s);
    rung__ids_destroy(s);
    rung_names_destroy(s->attribute_ids);
    rung_names_destroy(s->board_ids);
    rung_names_destroy(s->players);
    rung_numbermap_deinit(&s->noted, s->alloc);
    rung_alloc_free(s->alloc, s->lookahead, sizeof *s->lookahead);
    rung__match_room_free(s);
    rung_alloc_free(s->alloc, s, sizeof *s);
}

/* ---- apply ---- */

static rung_status apply_rules(rung_state *s, const rung_event *e, rung_err *err) {
    (void)err;
    if (e->rules.level <= s->rules)
        return RUNG_UNCHANGED;
    bool is_shared = s->rules >= 1;
    s->rules = e->rules.level;
    return is_shared ? RUNG_OK : rung__ids_share_out(s);
}

static rung_status apply_access(rung_state *s, const rung_event *e, rung_err *err) {
    (void)err;
    if (s->has_keys == e->access.has_keys)
        return RUNG_UNCHANGED;
    s->has_keys = e->access.has_keys;
    return RUNG_OK;
}

/* All but scores. The event is valid. */
/* For the audit alone. */
static rung_status apply_nothing(rung_state *s, const rung_event *e, rung_err *err) {
    (void)s, (void)e, (void)err;
    return RUNG_OK;
}

/* Reviews first: a score that is promoted when a window ends counts in it. */
static rung_status apply_tick(rung_state *s, const rung_event *e, rung_err *err) {
    rung_status reviews = rung__reviews_expire(s);
    rung_status st = reviews < 0 ? reviews : rung__apply_tick(s, e, err);
    return st == RUNG_UNCHANGED ? reviews : st;
}

static rung_status dispatch(rung_state *s, const rung_event *e, rung_err *err) {
    static rung_status (*const APPLY[])(rung_state *, const rung_event *, rung_err *) = {
        [RUNG_EVENT_BOARD_DEFINED] = rung__apply_define,
        [RUNG_EVENT_BOARD_DELETED] = rung__apply_delete,
        [RUNG_EVENT_ENTRY_REMOVED] = rung__apply_remove_entry,
        [RUNG_EVENT_PLAYER_SET] = rung__apply_profile,
        [RUNG_EVENT_PLAYER_ERASED] = rung__apply_erase,
        [RUNG_EVENT_FRIEND_ADDED] = rung__apply_friend,
        [RUNG_EVENT_FRIEND_REMOVED] = rung__apply_friend,
        [RUNG_EVENT_FRIENDS_REPLACED] = rung__apply_friends,
        [RUNG_EVENT_BANNED] = rung__apply_ban,
        [RUNG_EVENT_UNBANNED] = rung__apply_unban,
        [RUNG_EVENT_WINDOW_OPENED] = rung__apply_window,
        [RUNG_EVENT_WINDOW_CLOSED] = rung__apply_window,
        [RUNG_EVENT_TICK] = apply_tick,
        [RUNG_EVENT_KEYS] = rung__apply_keys,
        [RUNG_EVENT_IDS_SET] = rung__apply_ids,
        [RUNG_EVENT_RULES_SET] = apply_rules,
        [RUNG_EVENT_ACCESS_SET] = apply_access,
        [RUNG_EVENT_KEY_CHANGED] = apply_nothing,
        [RUNG_EVENT_BOARD_FILLED] = rung__apply_fill,
        [RUNG_EVENT_BOARD_SWAPPED] = rung__apply_swap,
        [RUNG_EVENT_SHADOW_DROPPED] = rung__apply_drop,
        [RUNG_EVENT_SESSION] = rung__apply_session,
        [RUNG_EVENT_REVIEWED] = rung__apply_reviewed,
        [RUNG_EVENT_NOTED] = apply_nothing,
    };
    return APPLY[e->kind](s, e, err);
}

static rung_status apply_one(rung_state *s, const rung_event *e, const rung__prepared *prepared,
                             rung_outcome *out, rung_err *err) {
    rung_outcome scratch;
    rung_outcome *answer = out ? out : &scratch;
    if (s->broken)
        return RUNG_FAIL(err, RUNG_ENOMEM,
                         "memory ran out during an earlier event: rebuild from the log");
    memset(answer, 0, offsetof(rung_outcome, windows));
    answer->next_number = RUNG__NONE;
    int64_t before_ms = s->time_ms;
    bool in_time = e->ts_ms >= RUNG_TIME_MS_MIN && e->ts_ms < RUNG_TIME_MS_END;
    if (in_time && e->ts_ms > s->time_ms)
        s->time_ms = e->ts_ms;
    rung_status taken =
        s->time_ms >= s->next_edition_ms ? rung__editions_take(s, before_ms) : RUNG_UNCHANGED;
    if (taken < 0) {
        s->time_ms = before_ms;
        s->broken = e->kind != RUNG_EVENT_SCORE;
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    }
    s->seq++;
    s->cause = e->kind;
    s->match_rows = 0;
    bool was_reset =
        in_time && s->time_ms >= s->next_reset_ms && rung__season_reset_due(s, before_ms);
    if (s->broken)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    bool purged = in_time && s->expiring_count && rung__expiry_purge(s);
    if (s->sessions.end_count)
        rung__sessions_purge(s);
    rung_status st;
    if (!in_time) {
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "ts", "outside the years %d to %d", RUNG_YEAR_MIN,
                             RUNG_YEAR_MAX);
    } else if (e->kind == RUNG_EVENT_SCORE) {
        st = rung__apply_score(s, &e->score, prepared, answer, err);
        if (st == RUNG_ENOMEM) {
            s->seq--;
            if (!was_reset) /* that is done, and must not be done again */
                s->time_ms = before_ms;
            return RUNG_FAIL(err, st, "out of memory");
        }
    } else {
        st = rung_event_check(e, err);
        if (st >= 0)
            st = e->kind == RUNG_EVENT_MATCH
                     ? rung__apply_match(s, &e->match, rung__match_ahead_next(s, &e->match), answer,
                                         err)
                     : dispatch(s, e, err);
        s->broken = st == RUNG_ENOMEM;
        if (e->kind == RUNG_EVENT_TICK && (purged || was_reset || taken == RUNG_OK))
            st = st == RUNG_UNCHANGED ? RUNG_OK : st;
    }
    s->refused += st < 0;
    if (st != RUNG_DUPLICATE)
        answer->seq = s->seq;
    return st;
}

rung_status rung_state_apply(rung_state *s, const rung_event *event, rung_outcome *out,
                             rung_err *err) {
    return apply_one(s, event, NULL, out, err);
}

rung_status rung_state_apply_keys(rung_state *s, const rung_event *event, rung_zkey_sink *sink,
                                  void *ctx, rung_err *err) {
    s->sink = sink;
    s->sink_ctx = ctx;
    rung_status st = apply_one(s, event, NULL, NULL, err);
    s->sink = NULL;
    return st;
}

/* ---- many at once ---- */

static const rung_score_event *score_of(const void *ctx, uint32_t i, int64_t *ts_ms) {
    const rung_event *const *events = ctx;
    *ts_ms = events[i]->ts_ms;
    return &events[i]->score;
}

/* Look up the names of the next players in the answers of a run. */
static void name_next(const rung_state *s, uint32_t n, rung_outcome *outcomes) {
    enum { GROUP = 16 };
    uint32_t numbers[GROUP];
    rung_slice names[GROUP];
    for (uint32_t done = 0, count; done < n; done += count, outcomes += count) {
        uint32_t used = 0, named = 0;
        count = n - done < GROUP ? n - done : GROUP;
        for (uint32_t i = 0; i < count; i++)
            if (outcomes[i].next_number != RUNG__NONE)
                numbers[used++] = outcomes[i].next_number;
        rung_names_id_used(s->players, numbers, used, names);
        for (uint32_t i = 0; i < count; i++)
            if (outcomes[i].next_number != RUNG__NONE)
                outcomes[i].next = names[named++];
    }
}

void rung_state_foresee(rung_state *s, uint32_t n, const rung_event *const *events) {
    rung__match_ahead_begin(s, n, events);
}

/* How many events from `done` on are of this kind. */
static uint32_t run_of(rung_event_kind kind, uint32_t n, const rung_event *const *events) {
    uint32_t count = 0;
    while (count < n && events[count]->kind == kind)
        count++;
    return count;
}

uint32_t rung_state_apply_batch(rung_state *s, uint32_t n, const rung_event *const *events,
                                rung_status *statuses, rung_outcome *outcomes, rung_err *errs) {
    uint32_t done = 0;
    while (done < n) {
        uint32_t start = done;
        uint32_t stop = start + run_of(RUNG_EVENT_SCORE, n - start, events + start);
        bool is_run = stop > start;
        if (is_run) {
            rung__lookahead_begin(s, stop - start, score_of, events + start);
        } else {
            uint32_t matches = run_of(RUNG_EVENT_MATCH, n - start, events + start);
            stop = start + (matches ? matches : 1);
            rung__match_ahead_begin(s, matches, events + start);
        }
        for (; done < stop; done++) {
            statuses[done] =
                apply_one(s, events[done], is_run ? rung__lookahead_next(s) : NULL,
                          outcomes ? &outcomes[done] : NULL, errs ? &errs[done] : NULL);
            if (statuses[done] == RUNG_ENOMEM)
                break;
        }
        rung__match_ahead_end(s);
        if (is_run && outcomes)
            name_next(s, done - start, outcomes + start);
        if (done < stop)
            return done + s->broken;
    }
    return done;
}

/* ---- the whole ---- */

void rung_state_pass(rung_state *s) {
    s->seq++;
}

uint64_t rung_state_seq(const rung_state *s) {
    return s->seq;
}

int64_t rung_state_time(const rung_state *s) {
    return s->time_ms;
}

uint32_t rung_state_rules(const rung_state *s) {
    return s->rules;
}

bool rung_state_has_keys(const rung_state *s) {
    return s->has_keys;
}

int64_t rung_state_next_close(const rung_state *s) {
    int64_t expiry_ms = rung__expiry_next(s);
    if (s->reviews.count && s->reviews.next_ms < expiry_ms)
        expiry_ms = s->reviews.next_ms;
    if (s->next_edition_ms < expiry_ms)
        expiry_ms = s->next_edition_ms;
    if (s->next_reset_ms < expiry_ms)
        expiry_ms = s->next_reset_ms;
    return expiry_ms < s->next_close_ms ? expiry_ms : s->next_close_ms;
}

static size_t sparse_bytes(const rung__sparse *r) {
    return r->map.bytes + r->cap * sizeof *r->items;
}

static void add_window_stats(const rung__window *w, rung_stats *out) {
    out->windows++;
    out->bytes_boards += sizeof *w + w->season.len;
    if (!w->ladder)
        return;
    out->ladders++;
    out->entries += rung_ladder_count(w->ladder);
    out->bytes_entries += rung_ladder_memory(w->ladder);
    out->bytes_entries += w->sketch ? rung__sketch_memory(w->sketch) : 0;
    for (uint32_t slot = 0; slot < RUNG__SCOPE_SLOTS; slot++) {
        out->bytes_scopes += w->scopes[slot].cap * sizeof *w->scopes[slot].ladders +
                             rung_arena_memory(w->scopes[slot].arena);
        out->bytes_scopes += w->scopes[slot].sketch_cap * sizeof(rung__sketch *);
        for (uint32_t v = 0; v < w->scopes[slot].sketch_cap; v++)
            if (w->scopes[slot].sketches[v])
                out->bytes_scopes += rung__sketch_memory(w->scopes[slot].sketches[v]);
        for (uint32_t v = 0; v < w->scopes[slot].cap; v++)
            if (w->scopes[slot].ladders[v]) {
                out->ladders++;
                out->bytes_scopes += rung_ladder_memory(w->scopes[slot].ladders[v]);
            }
    }
    out->bytes_teams +=
        w->team_cap * sizeof *w->teams + (w->team_ladder ? rung_ladder_memory(w->team_ladder) : 0);
}

static void add_board_stats(const rung__board *b, rung_stats *out) {
    out->bytes_boards += sizeof *b + (sizeof *b->shared + b->shared->bytes.len) / b->shared->uses +
                         b->rate.bytes + rung__rated_bytes(b) + rung__form_bytes(b) +
                         b->window_cap * sizeof *b->windows;
    if (b->editions)
        out->bytes_boards += sizeof *b->editions + b->editions->bytes +
                             b->editions->cap * sizeof *b->editions->items;
    if (b->shadow)
        out->bytes_boards += sizeof *b->shadow + b->shadow->queue_cap;
    for (uint32_t w = 0; w < b->window_count; w++)
        add_window_stats(b->windows[w], out);
}

rung_status rung_state_board_stats(const rung_state *s, rung_slice board, rung_stats *out) {
    const rung__board *b = rung__board_find(s, board);
    if (!b)
        return RUNG_NOT_FOUND;
    memset(out, 0, sizeof *out);
    add_board_stats(b, out);
    out->boards = 1;
    out->submissions = b->submissions;
    out->bytes_total =
        out->bytes_boards + out->bytes_entries + out->bytes_scopes + out->bytes_teams;
    return RUNG_OK;
}

void rung_state_stats(const rung_state *s, rung_stats *out) {
    memset(out, 0, sizeof *out);
    out->seq = s->seq;
    out->refused = s->refused;
    out->players = rung_names_count(s->players);
    out->bytes_players = rung_names_size_bytes(s->players);
    out->boards = rung_names_count(s->board_ids) - s->set_count - s->shadow_count;
    out->sets = s->set_count;
    out->bytes_sets = s->set_cap * sizeof *s->sets + s->expiring_cap * sizeof *s->expiring;
    for (uint32_t i = 0; i < s->set_cap; i++)
        if (s->sets[i]) {
            out->set_members += s->sets[i]->count;
            out->bytes_sets += rung__set_memory(s->sets[i]);
        }
    out->bytes_boards = rung_names_size_bytes(s->board_ids) + s->board_cap * sizeof *s->boards;
    for (uint32_t i = 0; i < s->board_cap; i++) {
        const rung__board *b = s->boards[i];
        if (b)
            add_board_stats(b, out);
    }
    for (uint32_t i = 0; i < s->attribute_cap; i++)
        if (s->attributes[i].users)
            out->bytes_scopes +=
                rung_names_size_bytes(s->attributes[i].values) + s->attributes[i].of_player.bytes;
    out->friendships = s->friendships;
    out->banned = s->bans.map.array_count + s->bans.map.hash_count;
    out->profiles = s->profiles.map.array_count + s->profiles.map.hash_count;
    out->ids = rung__ids_count(s);
    out->id_capacity = s->ids.capacity;
    out->id_keep_ms = s->ids.keep_ms;
    out->bytes_ids = s->ids.bytes + rung_names_size_bytes(s->ids.table) + rung__sources_bytes(s) +
                     rung__sessions_bytes(s);
    out->bytes_friends = sparse_bytes(&s->friends) + s->friendships * 2 * sizeof(uint32_t);
    out->bytes_profiles = sparse_bytes(&s->profiles) + sparse_bytes(&s->bans);
    out->bytes_total = sizeof *s + sizeof *s->lookahead + out->bytes_players + out->bytes_entries +
                       out->bytes_scopes + out->bytes_teams + out->bytes_friends + out->bytes_ids +
                       out->bytes_profiles + out->bytes_boards + out->bytes_sets;
}
