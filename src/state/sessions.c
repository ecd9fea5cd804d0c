/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions by id, each in the list of its player and in a heap by its end.
 *
 * A nonce is a number that grows. A session remembers the RUNG_SESSION_NONCES highest ones that were used; when it has
 * that many, everything below the lowest of them counts as used. So each nonce takes effect once for as long as the
 * session lives, in a few bytes that no flood can exhaust, and requests may still overtake each other a little.
 *
 * Invariants:
 *   N1 `nonces` ascends strictly.
 *   N2 The heap holds every session once, at its `place`; none ends before the one above it. Equals by number.
 *   N3 A player's list has `count` sessions, 1 to RUNG_SESSIONS_PER_PLAYER, in ascending order of `opened`.
 *   N4 Facts in the digest: each session, and each nonce that is remembered. */
#include "state/sessions.h"

#include "state/digest.h"
#include "state/machine.h"

#include <string.h>

rung_status rung__sessions_create(rung_state *s) {
    rung_status st = rung_names_create(s->alloc, &s->hash_key, &s->sessions.ids);
    return st < 0 ? st : rung_names_create(s->alloc, &s->hash_key, &s->sessions.owners);
}

static void free_item(const rung_state *s, rung__session *x) {
    rung_alloc_free(s->alloc, x, x ? sizeof *x + x->key_len : 0);
}

void rung__sessions_destroy(rung_state *s) {
    rung__sessions *all = &s->sessions;
    for (uint32_t i = 0; i < all->cap; i++)
        free_item(s, all->items[i]);
    rung_alloc_free(s->alloc, all->items, all->cap * sizeof *all->items);
    rung_alloc_free(s->alloc, all->owner, all->owner_cap * sizeof *all->owner);
    rung_alloc_free(s->alloc, all->ends, all->end_cap * sizeof *all->ends);
    rung_names_destroy(all->ids);
    rung_names_destroy(all->owners);
}

/* ---- facts ---- */

static uint64_t name_hash(const rung_names *names, uint32_t number) {
    rung_slice id = rung_names_id(names, number);
    return rung__bytes_hash(id.ptr, id.len);
}

static rung_digest session_fact(const rung_state *s, uint32_t number) {
    const rung__session *x = s->sessions.items[number];
    uint64_t words[] = {name_hash(s->sessions.owners, x->owner), x->opened, (uint64_t)x->expires_ms,
                        (uint64_t)x->window_ms, rung__bytes_hash(x->key, x->key_len)};
    return rung__fact_digest(RUNG__FACT_SESSION, name_hash(s->sessions.ids, number), number, words,
                             5);
}

static rung_digest nonce_fact(const rung_state *s, uint32_t number, uint64_t nonce) {
    return rung__fact_digest(RUNG__FACT_NONCE, name_hash(s->sessions.ids, number), nonce, NULL, 0);
}

static rung_digest digest_of(const rung_state *s, uint32_t number) {
    const rung__session *x = s->sessions.items[number];
    rung_digest d = session_fact(s, number);
    for (uint32_t i = 0; i < x->nonce_count; i++)
        rung__digest_add(&d, nonce_fact(s, number, x->nonces[i]));
    return d;
}

/* ---- the heap of ends ---- */

static bool ends_before(const rung__sessions *all, uint32_t a, uint32_t b) {
    int64_t x = all->items[a]->expires_ms, y = all->items[b]->expires_ms;
    return x < y || (x == y && a < b);
}

static void heap_put(rung__sessions *all, uint32_t place, uint32_t number) {
    all->ends[place] = number;
    all->items[number]->place = place;
}

static void heap_up(rung__sessions *all, uint32_t place) {
    uint32_t number = all->ends[place];
    for (; place && ends_before(all, number, all->ends[(place - 1) / 2]); place = (place - 1) / 2)
        heap_put(all, place, all->ends[(place - 1) / 2]);
    heap_put(all, place, number);
}

static void heap_down(rung__sessions *all, uint32_t place) {
    uint32_t number = all->ends[place];
    for (uint32_t child; (child = 2 * place + 1) < all->end_count; place = child) {
        if (child + 1 < all->end_count && ends_before(all, all->ends[child + 1], all->ends[child]))
            child++;
        if (!ends_before(all, all->ends[child], number))
            break;
        heap_put(all, place, all->ends[child]);
    }
    heap_put(all, place, number);
}

static void heap_remove(rung__sessions *all, uint32_t place) {
    uint32_t last = all->ends[--all->end_count];
    if (place == all->end_count)
        return;
    heap_put(all, place, last);
    heap_up(all, place);
    heap_down(all, all->items[last]->place);
}

/* ---- begin and end ---- */

/* By `opened`: N3. */
static void join_owner(rung__sessions *all, uint32_t number) {
    rung__session *x = all->items[number];
    rung__owner *o = &all->owner[x->owner];
    uint32_t *link = o->count ? &o->oldest : NULL;
    x->newer = RUNG__NONE;
    if (!o->count++) {
        o->oldest = number;
        return;
    }
    while (*link != RUNG__NONE && all->items[*link]->opened < x->opened)
        link = &all->items[*link]->newer;
    x->newer = *link;
    *link = number;
}

static void leave_owner(rung__sessions *all, uint32_t number) {
    rung__session *x = all->items[number];
    rung__owner *o = &all->owner[x->owner];
    uint32_t *link = &o->oldest;
    while (*link != number)
        link = &all->items[*link]->newer;
    *link = x->newer;
    if (!--o->count)
        rung_names_remove(all->owners, x->owner);
}

static void end(rung_state *s, uint32_t number) {
    rung__sessions *all = &s->sessions;
    rung__digest_subtract(&s->digest, digest_of(s, number));
    heap_remove(all, all->items[number]->place);
    leave_owner(all, number);
    free_item(s, all->items[number]);
    all->items[number] = NULL;
    rung_names_remove(all->ids, number);
}

/* Add a record under a number of `ids` that has none; the digest is the caller's. */
static rung_status add(rung_state *s, uint32_t number, rung_slice player, rung_slice key,
                       const rung__session *from) {
    rung__sessions *all = &s->sessions;
    uint32_t owner;
    rung_status st = rung_names_intern(all->owners, player, &owner);
    bool is_new = st == RUNG_OK;
    rung__session *x = st >= 0 ? rung_alloc_zeroed(s->alloc, sizeof *x + key.len) : NULL;
    if (!x ||
        rung__grow(s->alloc, &all->owner, &all->owner_cap, owner + 1, sizeof *all->owner) < 0 ||
        rung__grow(s->alloc, &all->items, &all->cap, number + 1, sizeof *all->items) < 0 ||
        rung__grow(s->alloc, &all->ends, &all->end_cap, all->end_count + 1, sizeof *all->ends) <
            0) {
        rung_alloc_free(s->alloc, x, x ? sizeof *x + key.len : 0);
        if (is_new)
            rung_names_remove(all->owners, owner);
        return RUNG_ENOMEM;
    }
    *x = *from;
    x->owner = owner;
    x->key_len = (uint8_t)key.len;
    memcpy(x->key, key.ptr, key.len);
    if (is_new)
        all->owner[owner] = (rung__owner){0};
    all->items[number] = x;
    join_owner(all, number);
    all->ends[all->end_count] = number;
    heap_up(all, all->end_count++);
    return RUNG_OK;
}

static rung_status begin(rung_state *s, const rung_event *e, rung_err *err) {
    rung__sessions *all = &s->sessions;
    uint32_t number, owner;
    if (e->session.expires_ms <= s->time_ms)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "expires", "the session would be over already");
    if (rung_names_find(all->ids, e->session.id, &number) == RUNG_OK)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "session", "there is one with this id");
    if (rung_names_find(all->owners, e->session.player, &owner) == RUNG_OK &&
        all->owner[owner].count == RUNG_SESSIONS_PER_PLAYER)
        end(s, all->owner[owner].oldest);
    if (all->end_count == RUNG_SESSIONS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "session", "at most %d sessions at a time",
                               RUNG_SESSIONS_MAX);
    if (rung_names_intern(all->ids, e->session.id, &number) < 0)
        return RUNG_ENOMEM;
    rung__session x = {
        .opened = s->seq, .expires_ms = e->session.expires_ms, .window_ms = e->session.window_ms};
    if (add(s, number, e->session.player, e->session.key, &x) < 0)
        return RUNG_ENOMEM; /* the state is broken anyway */
    rung__digest_add(&s->digest, digest_of(s, number));
    return RUNG_OK;
}

bool rung__sessions_end_of(rung_state *s, rung_slice player) {
    rung__sessions *all = &s->sessions;
    uint32_t owner;
    if (rung_names_find(all->owners, player, &owner) != RUNG_OK)
        return false;
    for (uint32_t left = all->owner[owner].count; left; left--)
        end(s, all->owner[owner].oldest);
    return true;
}

rung_status rung__apply_session(rung_state *s, const rung_event *e, rung_err *err) {
    uint32_t number;
    if (!e->session.is_ended)
        return begin(s, e, err);
    if (!e->session.id.len)
        return rung__sessions_end_of(s, e->session.player) ? RUNG_OK : RUNG_UNCHANGED;
    if (rung_names_find(s->sessions.ids, e->session.id, &number) != RUNG_OK)
        return RUNG_UNCHANGED;
    end(s, number);
    return RUNG_OK;
}

void rung__sessions_purge(rung_state *s) {
    const rung__sessions *all = &s->sessions;
    while (all->end_count && all->items[all->ends[0]]->expires_ms <= s->time_ms)
        end(s, all->ends[0]);
}

/* ---- signed submissions ---- */

static bool is_new(const rung__session *x, uint64_t nonce) {
    uint32_t i = 0;
    while (i < x->nonce_count && x->nonces[i] < nonce)
        i++;
    if (i < x->nonce_count && x->nonces[i] == nonce)
        return false;
    return i || x->nonce_count < RUNG_SESSION_NONCES;
}

rung_status rung_state_check_signed(const rung_state *s, const rung_score_event *e, int64_t now_ms,
                                    rung_err *err) {
    uint32_t number;
    const rung_board_def *def;
    if (rung_names_find(s->sessions.ids, e->session, &number) != RUNG_OK ||
        s->sessions.items[number]->expires_ms <= now_ms)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_EXPIRED, "session",
                                   "it is over, or not known: begin a new one");
    const rung__session *x = s->sessions.items[number];
    if (!rung_slice_eq(rung_names_id(s->sessions.owners, x->owner), e->player))
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_SIGNATURE, "session",
                                   "it is another player's");
    if (rung_state_board(s, e->board, &def) == RUNG_OK && def->writers != RUNG_WRITERS_PLAYER)
        return RUNG_FAIL_WHY(err, RUNG_EREFUSED, RUNG_REASON_FORBIDDEN,
                             "the board takes submissions of the game's servers only");
    if (e->signed_ms < now_ms - x->window_ms || e->signed_ms > now_ms + x->window_ms)
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_EXPIRED, "time",
                                   "more than %lld seconds from the server's time",
                                   (long long)(x->window_ms / 1000));
    if (!is_new(x, e->nonce))
        return RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_REPLAYED, "nonce",
                                   "used before, or lower than %d that were used",
                                   RUNG_SESSION_NONCES);
    return RUNG_OK;
}

void rung__session_use(rung_state *s, const rung_score_event *e) {
    uint32_t number, i = 0;
    if (rung_names_find(s->sessions.ids, e->session, &number) != RUNG_OK)
        return;
    rung__session *x = s->sessions.items[number];
    if (x->nonce_count == RUNG_SESSION_NONCES) {
        rung__digest_subtract(&s->digest, nonce_fact(s, number, x->nonces[0]));
        memmove(x->nonces, x->nonces + 1, --x->nonce_count * sizeof *x->nonces);
    }
    while (i < x->nonce_count && x->nonces[i] < e->nonce)
        i++;
    memmove(x->nonces + i + 1, x->nonces + i, (x->nonce_count - i) * sizeof *x->nonces);
    x->nonces[i] = e->nonce;
    x->nonce_count++;
    rung__digest_add(&s->digest, nonce_fact(s, number, e->nonce));
}

rung_status rung_state_session(const rung_state *s, rung_slice id, rung_session_info *out) {
    uint32_t number;
    if (rung_names_find(s->sessions.ids, id, &number) != RUNG_OK)
        return RUNG_NOT_FOUND;
    const rung__session *x = s->sessions.items[number];
    *out = (rung_session_info){.player = rung_names_id(s->sessions.owners, x->owner),
                               .key = rung_slice_of(x->key, x->key_len),
                               .expires_ms = x->expires_ms,
                               .window_ms = x->window_ms};
    return RUNG_OK;
}

/* ---- a loaded state, and checks ---- */

static bool is_ascending(const rung__session *x) {
    for (uint32_t i = 0; i < x->nonce_count; i++)
        if (x->nonces[i] < 1 || x->nonces[i] > RUNG_NONCE_MAX ||
            (i && x->nonces[i] <= x->nonces[i - 1]))
            return false;
    return true;
}

rung_status rung__session_restore(rung_state *s, uint32_t number, rung_slice player, rung_slice key,
                                  const rung__session *from) {
    rung__sessions *all = &s->sessions;
    uint32_t owner;
    if (from->nonce_count > RUNG_SESSION_NONCES || !is_ascending(from) || !key.len ||
        key.len > RUNG_SESSION_KEY_MAX || !rung_name_is_valid(player) ||
        !rung_session_id_is_valid(rung_names_id(all->ids, number)) || from->window_ms < 1 ||
        from->window_ms > RUNG_SESSION_WINDOW_MS_MAX || from->expires_ms <= s->time_ms ||
        from->expires_ms >= RUNG_TIME_MS_END || from->opened > s->seq ||
        all->end_count == RUNG_SESSIONS_MAX)
        return RUNG_EINVAL;
    if (rung_names_find(all->owners, player, &owner) == RUNG_OK &&
        all->owner[owner].count == RUNG_SESSIONS_PER_PLAYER)
        return RUNG_EINVAL;
    rung_status st = add(s, number, player, key, from);
    if (st < 0)
        return st;
    rung__digest_add(&s->digest, digest_of(s, number));
    return RUNG_OK;
}

size_t rung__sessions_bytes(const rung_state *s) {
    const rung__sessions *all = &s->sessions;
    size_t bytes = rung_names_size_bytes(all->ids) + rung_names_size_bytes(all->owners) +
                   all->cap * sizeof *all->items + all->owner_cap * sizeof *all->owner +
                   all->end_cap * sizeof *all->ends;
    return bytes + all->end_count * (sizeof(rung__session) + RUNG_SESSION_ID_SIZE);
}

rung_digest rung__sessions_digest_all(const rung_state *s) {
    rung_digest sum = {0, 0};
    for (uint32_t i = 0; i < s->sessions.end_count; i++)
        rung__digest_add(&sum, digest_of(s, s->sessions.ends[i]));
    return sum;
}

static const char *check_owner(const rung__sessions *all, uint32_t owner, uint32_t *seen) {
    const rung__owner *o = &all->owner[owner];
    uint32_t count = 0;
    uint64_t opened = 0;
    for (uint32_t i = o->oldest; i != RUNG__NONE && count < o->count; count++) {
        const rung__session *x = all->items[i];
        if (!x || x->owner != owner || (count && x->opened <= opened))
            return "N3: a player's list of sessions is out of order";
        opened = x->opened;
        i = x->newer;
    }
    *seen += count;
    return count && count == o->count && count <= RUNG_SESSIONS_PER_PLAYER
               ? NULL
               : "N3: a player's list of sessions has another length";
}

const char *rung__sessions_check(const rung_state *s) {
    const rung__sessions *all = &s->sessions;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < all->end_count; i++) {
        const rung__session *x = all->items[all->ends[i]];
        if (!x || x->place != i || !rung_names_is_used(all->ids, all->ends[i]))
            return "N2: a session is not where it believes to be";
        if (i && ends_before(all, all->ends[i], all->ends[(i - 1) / 2]))
            return "N2: a session ends before the one above it";
        if (!is_ascending(x))
            return "N1: nonces do not ascend";
        if (x->expires_ms <= s->time_ms)
            return "N2: a session is over";
    }
    if (rung_names_count(all->ids) != all->end_count)
        return "N2: a session has an id or an end, not both";
    for (uint32_t i = 0; i < rung_names_span(all->owners); i++) {
        const char *wrong = rung_names_is_used(all->owners, i) ? check_owner(all, i, &seen) : NULL;
        if (wrong)
            return wrong;
    }
    return seen == all->end_count ? NULL : "N3: a session is in no player's list";
}
