/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that wait for a member: BZPOPMIN, BZPOPMAX, BZMPOP.
 *
 * A pop is a change like any other. A client waits in the line of each of its keys, in the order of coming:
 *
 *     key "a"   first -> [client 1] -> [client 2] -> last        keys are found by name, in a table
 *     key "b"   first -> [client 2] -> [client 3] -> last
 *
 * The hub reports every event that it has applied. A key that may have got members, and that clients wait for, is
 * touched: it is looked at after the hub's turn. For each of its members that is not promised yet, a pop is put for the
 * first client in the line. Another change may still take the member first: then the client goes on waiting, in its old
 * place. So the cost depends on the keys that changed and the clients served, not on how many wait.
 *
 * Invariants:
 *   1. A key is in the table exactly while a client waits for it.
 *   2. key->promised is the number of clients with is_served whose promise it is.
 *   3. If a key has a member for a waiting client, the key is touched, or the member is promised, or the client is
 *      served from another key. When a pop finds nothing, all keys of its client are touched. */
#include "front/resp/block.h"

#include "front/resp/permission.h"
#include "front/resp/server.h"

enum { KEY_SLOTS = 1 << 14 }; /* a quarter of the most waits there can be */

/* One client in one key's line. */
typedef struct wait {
    rung__resp_blocked *who;
    rung__resp_waited *key;
    RUNG_LINK(struct wait) line;
} wait;

struct rung__resp_waited {
    rung__resp_waited *next_in_slot;
    RUNG_LINK(rung__resp_waited) touched;
    RUNG_LIST(wait) line;
    uint32_t promised;
    bool is_touched;
    uint8_t len;
    char name[];
};

struct rung__resp_blocked {
    RUNG_LINK(rung__resp_blocked) all;
    rung__resp_session *session;
    const rung__resp_command *command;
    uint32_t share; /* of its session when it began to wait */
    uint32_t style, flags;
    uint64_t pop_count;
    int64_t deadline_ms;        /* 0: none */
    bool is_served;             /* a pop is in flight ... */
    rung__resp_waited *promise; /* ... of this key */
    uint32_t wait_count;
    wait waits[];
};

static size_t blocked_size(uint32_t wait_count) {
    return sizeof(rung__resp_blocked) + wait_count * sizeof(wait);
}

/* ---- keys that clients wait for ---- */

static rung_slice name_of(const rung__resp_waited *k) {
    return rung_slice_of(k->name, k->len);
}

static rung__resp_waited **find_slot(rung_resp *r, rung_slice name) {
    uint64_t hash = rung_hash_keyed(&r->waiters.hash, name.ptr, name.len);
    rung__resp_waited **at = &r->waiters.keys[hash % KEY_SLOTS];
    while (*at && !rung_slice_eq(name_of(*at), name))
        at = &(*at)->next_in_slot;
    return at;
}

static rung__resp_waited *waited_get(rung_resp *r, rung_slice name) {
    const rung_alloc *a = r->config.alloc;
    if (!r->waiters.keys)
        r->waiters.keys = rung_alloc_zeroed(a, KEY_SLOTS * sizeof(rung__resp_waited *));
    if (!r->waiters.keys)
        return NULL;
    rung__resp_waited **at = find_slot(r, name);
    if (*at)
        return *at;
    rung__resp_waited *k = rung_alloc_zeroed(a, sizeof *k + name.len);
    if (!k)
        return NULL;
    k->len = (uint8_t)name.len;
    memcpy(k->name, name.ptr, name.len);
    return *at = k;
}

static void touch(rung_resp *r, rung__resp_waited *k) {
    if (k->is_touched)
        return;
    k->is_touched = true;
    RUNG_LIST_APPEND(&r->waiters.touched, k, touched);
    r->waiters.touched_count++;
}

static void untouch(rung_resp *r, rung__resp_waited *k) {
    if (!k->is_touched)
        return;
    k->is_touched = false;
    r->waiters.touched_count--;
    RUNG_LIST_REMOVE(&r->waiters.touched, k, touched);
}

/* Invariant 1. */
static void waited_drop(rung_resp *r, rung__resp_waited *k) {
    if (k->line.first)
        return;
    untouch(r, k);
    *find_slot(r, name_of(k)) = k->next_in_slot;
    rung_alloc_free(r->config.alloc, k, sizeof *k + k->len);
}

void rung__resp_waiters_free(rung_resp *r) {
    rung_alloc_free(r->config.alloc, r->waiters.keys,
                    r->waiters.keys ? KEY_SLOTS * sizeof(rung__resp_waited *) : 0);
}

/* ---- lines ---- */

/* false: no memory, and nothing has changed but for the waits before. */
static bool join(rung_resp *r, rung__resp_blocked *b, rung_slice name) {
    rung__resp_waited *k = waited_get(r, name);
    if (!k)
        return false;
    wait *w = &b->waits[b->wait_count++];
    *w = (wait){.who = b, .key = k};
    RUNG_LIST_APPEND(&k->line, w, line);
    rung_fair_take(&r->waiters.waits, b->share, 1);
    return true;
}

static void leave(rung_resp *r, wait *w, uint32_t share) {
    rung__resp_waited *k = w->key;
    RUNG_LIST_REMOVE(&k->line, w, line);
    rung_fair_give(&r->waiters.waits, share, 1);
    waited_drop(r, k);
}

/* Invariant 2. */
static void promise(rung__resp_blocked *b, rung__resp_waited *k) {
    b->is_served = true;
    b->promise = k;
    k->promised++;
}

static void take_back(rung__resp_blocked *b) {
    if (!b->is_served)
        return;
    b->is_served = false;
    b->promise->promised--;
}

static void free_blocked(rung_resp *r, rung__resp_blocked *b, uint32_t key_count) {
    for (uint32_t i = 0; i < b->wait_count; i++)
        leave(r, &b->waits[i], b->share);
    rung_alloc_free(r->config.alloc, b, blocked_size(key_count));
}

void rung__resp_unblock(rung__resp_session *s) {
    rung_resp *r = s->r;
    rung__resp_blocked *b = s->blocked;
    take_back(b);
    RUNG_LIST_REMOVE(&r->waiters.all, b, all);
    rung_fair_give(&r->waiters.clients, b->share, 1);
    r->stats.blocked--;
    s->blocked = NULL;
    s->blocked_bytes = 0;
    rung__resp_session_pause(s, 0);
    free_blocked(r, b, b->wait_count);
}

/* ---- what the hub applied ---- */

static void touch_name(rung_resp *r, rung_slice name) {
    rung__resp_waited *k = *find_slot(r, name);
    if (k)
        touch(r, k);
}

static void touch_all(rung_resp *r) {
    for (uint32_t i = 0; i < KEY_SLOTS; i++)
        for (rung__resp_waited *k = r->waiters.keys[i]; k; k = k->next_in_slot)
            touch(r, k);
}

/* The keys that these commands may give members to. */
static void touch_commands(rung_resp *r, rung_slice packed) {
    rung_zcommand c;
    while (rung_zcommand_next(&packed, &c, NULL) == RUNG_OK) {
        switch (c.kind) {
        case RUNG_ZCOMMAND_ZADD:
        case RUNG_ZCOMMAND_ZRANGESTORE:
        case RUNG_ZCOMMAND_ZSTORE:
            touch_name(r, c.key);
            break;
        case RUNG_ZCOMMAND_RENAME:
            touch_name(r, c.other);
            break;
        case RUNG_ZCOMMAND_ZREM:
        case RUNG_ZCOMMAND_ZREMRANGE:
        case RUNG_ZCOMMAND_ZPOP:
        case RUNG_ZCOMMAND_DEL:
        case RUNG_ZCOMMAND_EXPIRE:
        case RUNG_ZCOMMAND_PERSIST:
        case RUNG_ZCOMMAND_FLUSH:
        case RUNG_ZCOMMAND_SADD:
        case RUNG_ZCOMMAND_SREM:
        case RUNG_ZCOMMAND_SKETCH:
        case RUNG_ZCOMMAND_SKETCH_ADD:
            break;
        }
    }
}

static void touch_event(rung_resp *r, const rung_event *e) {
    switch (e->kind) {
    case RUNG_EVENT_SCORE:
        touch_name(r, e->score.board);
        break;
    case RUNG_EVENT_MATCH:
        touch_name(r, e->match.board);
        break;
    case RUNG_EVENT_KEYS:
        touch_commands(r, e->keys.packed);
        break;
    case RUNG_EVENT_BOARD_DEFINED: /* by another of its windows */
        touch_name(r, e->defined.board);
        break;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        touch_name(r, e->window.board);
        break;
    case RUNG_EVENT_BOARD_SWAPPED:
        touch_name(r, e->swapped.board);
        break;
    case RUNG_EVENT_REVIEWED:
        touch_name(r, e->reviewed.board);
        break;
    case RUNG_EVENT_TICK:     /* a tentative score may count now */
    case RUNG_EVENT_UNBANNED: /* may be ranked again on any board */
        touch_all(r);
        break;
    case RUNG_EVENT_BOARD_DELETED:
    case RUNG_EVENT_ENTRY_REMOVED:
    case RUNG_EVENT_PLAYER_SET:
    case RUNG_EVENT_PLAYER_ERASED:
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
    case RUNG_EVENT_FRIENDS_REPLACED:
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_NOTED:
    case RUNG_EVENT_IDS_SET:
    case RUNG_EVENT_RULES_SET:
    case RUNG_EVENT_ACCESS_SET:
    case RUNG_EVENT_KEY_CHANGED:
    case RUNG_EVENT_BOARD_FILLED:
    case RUNG_EVENT_SHADOW_DROPPED:
    case RUNG_EVENT_SESSION:
        break;
    }
}

void rung__resp_applied(void *ctx, uint32_t count, const rung_event *const *events) {
    rung_resp *r = ctx;
    for (uint32_t i = 0; r->waiters.all.first && i < count; i++)
        touch_event(r, events[i]);
    if (r->waiters.touched.first)
        rung_turn_want(&r->answer);
}

/* ---- serving ---- */

/* Is it still permitted? */
static bool may_pop(rung_resp *r, rung__resp_blocked *b, rung_slice key) {
    return rung__resp_has_role(b->session, b->command->role, key, rung_hub_now(r->hub));
}

/* Put a pop of this key for the client. */
static rung_status serve(rung__resp_blocked *b, rung__resp_waited *k) {
    if (!may_pop(b->session->r, b, name_of(k)))
        return RUNG_EREFUSED;
    rung_zcommand_item item = {.name = name_of(k)};
    rung_zcommand c = {.kind = RUNG_ZCOMMAND_ZPOP,
                       .flags = b->flags,
                       .pop_count = b->pop_count,
                       .item_count = 1,
                       .items = &item};
    rung_status st = rung__resp_pop_for(b->session, b->command, b->style, &c);
    if (st == RUNG_OK)
        promise(b, k);
    return st;
}

/* End the wait: reply the error `st`, or that the timeout has passed. */
static void give_up(rung__resp_session *s, rung_status st) {
    rung__resp_call call = rung__resp_call_begin(s);
    if (st == RUNG_EREFUSED)
        rung__resp_error(&call, "NOAUTH the key no longer permits this command");
    else if (st < 0 && rung__resp_is_served(&call))
        rung__resp_error_status(&call, st, NULL);
    else if (st >= 0)
        rung_resp_null_array(call.out);
    rung__resp_call_end(&call);
    rung__resp_unblock(s);
    rung__resp_session_go_on(s);
}

/* Has the key a member that is not promised? */
static bool has_more(rung_resp *r, const rung__resp_waited *k, int64_t now_ms) {
    rung_zkey open;
    r->stats.blocked_looks++;
    rung_zkey_open(rung_hub_state(r->hub), name_of(k), now_ms, &open);
    return open.kind != RUNG_ZKEY_SET && open.count > k->promised;
}

/* Serve as many of the line as the key has members. false: it must be looked at again. */
static bool serve_line(rung_resp *r, rung__resp_waited *k, int64_t now_ms) {
    bool is_done = true;
    for (wait *w = k->line.first; w; w = w->line.next) {
        rung__resp_blocked *b = w->who;
        if (b->is_served)
            continue;
        if (!has_more(r, k, now_ms))
            break;
        rung_status st = serve(b, k);
        if (st == RUNG_ELIMIT) {
            is_done = false; /* other senders may have room */
            if (!rung_commit_room(rung_hub_commit(r->hub), (rung_hub_sender){0}))
                break;
        } else if (st < 0) {
            touch(
                r,
                k); /* for the others in the line; without any the key is freed with this client */
            rung_turn_want(&r->answer);
            give_up(b->session, st);
            return true;
        }
    }
    return is_done;
}

/* Access keys have changed: clients that may no longer pop stop waiting. */
static void look_at_rights(rung_resp *r) {
    if (r->waiters.generation == rung_access_generation(r->access))
        return;
    r->waiters.generation = rung_access_generation(r->access);
    for (rung__resp_blocked *b = r->waiters.all.first, *next; b; b = next) {
        next = b->all.next;
        if (!b->is_served && !may_pop(r, b, RUNG_BOARDS_EACH))
            give_up(b->session, RUNG_EREFUSED);
    }
}

/* The state has diverged: nobody gets anything more. */
static bool is_over(rung_resp *r) {
    if (!rung_hub_divergence(r->hub))
        return false;
    for (rung__resp_blocked *b = r->waiters.all.first, *next; b; b = next) {
        next = b->all.next;
        if (!b->is_served)
            give_up(b->session, RUNG_ECORRUPT);
    }
    return true;
}

void rung__resp_blocked_look(rung_resp *r) {
    if (is_over(r))
        return;
    look_at_rights(r);
    int64_t now_ms = rung_hub_now(r->hub);
    for (uint32_t left = r->waiters.touched_count; left && r->waiters.touched.first; left--) {
        rung__resp_waited *k = r->waiters.touched.first;
        untouch(r, k);
        if (!serve_line(r, k, now_ms))
            touch(r, k); /* the hub has no room: it will wake us when it has */
    }
}

void rung__resp_pop_answered(rung__resp_session *s, bool is_told) {
    rung__resp_blocked *b = s->blocked;
    if (b && is_told) {
        rung__resp_unblock(s);
    } else if (b) {
        take_back(b);
        for (uint32_t i = 0; i < b->wait_count; i++) /* invariant 3 */
            touch(s->r, b->waits[i].key);
        rung_turn_want(&s->r->answer);
    }
    rung__resp_session_go_on(s);
}

bool rung__resp_blocked_due(rung_resp *r, int64_t now_ms) {
    bool is_left = false;
    for (rung__resp_blocked *b = r->waiters.all.first, *next; b; b = next) {
        next = b->all.next;
        if (b->deadline_ms && !b->is_served && now_ms >= b->deadline_ms)
            give_up(b->session, RUNG_OK);
        else
            is_left |= b->deadline_ms != 0;
    }
    return is_left;
}

/* ---- beginning to wait ---- */

/* Is a set among the keys, before any that has members? */
static bool is_wrong_type(rung__resp_call *call, const rung_zcommand *c) {
    for (uint32_t i = 0; i < c->item_count; i++) {
        rung_zkey k;
        rung_zkey_open(call->state, c->items[i].name, call->now_ms, &k);
        if (k.kind == RUNG_ZKEY_SET || k.kind == RUNG_ZKEY_SKETCH)
            return true;
        if (k.count)
            return false;
    }
    return false;
}

static bool may_block(rung__resp_call *call, const rung_zcommand *c) {
    rung_resp *r = call->r;
    if (is_wrong_type(call, c))
        return rung__resp_error_type(call);
    if (c->item_count > RUNG__BLOCKED_KEYS_MAX)
        return rung__resp_error(call, "ERR too many keys to wait for: at most 1024 in one command");
    if (!rung_fair_may(&r->waiters.clients, call->s->share, false))
        return rung__resp_error(call, "ERR too many clients are blocked");
    if (rung_fair_room(&r->waiters.waits, call->s->share, false) < c->item_count)
        return rung__resp_error(call, "ERR too many keys are waited for by blocked clients");
    return true;
}

static rung__resp_blocked *blocked_new(rung__resp_call *call, const rung_zcommand *c) {
    rung_resp *r = call->r;
    rung__resp_blocked *b = rung_alloc_get(r->config.alloc, blocked_size(c->item_count));
    if (!b)
        return NULL;
    *b =
        (rung__resp_blocked){.session = call->s,
                             .share = call->s->share,
                             .command = call->command,
                             .style = call->style,
                             .flags = c->flags,
                             .pop_count = c->pop_count,
                             .deadline_ms = call->timeout_ms ? call->now_ms + call->timeout_ms : 0};
    for (uint32_t i = 0; i < c->item_count; i++) {
        if (!join(r, b, c->items[i].name)) {
            free_blocked(r, b, c->item_count);
            return NULL;
        }
    }
    return b;
}

/* The first of its keys that has a member for it, by the order of the command; NULL: none. */
static rung__resp_waited *find_ready(rung_resp *r, rung__resp_blocked *b, int64_t now_ms) {
    for (uint32_t i = 0; i < b->wait_count; i++)
        if (has_more(r, b->waits[i].key, now_ms))
            return b->waits[i].key;
    return NULL;
}

void rung__resp_block(rung__resp_call *call) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    rung__resp_change made = {0};
    const rung_zcommand *c = &made.keys;
    if (!call->command->build(call, &made) || !may_block(call, c))
        return;
    rung__resp_blocked *b = blocked_new(call, c);
    if (!b) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return;
    }
    RUNG_LIST_APPEND(&r->waiters.all, b, all);
    rung_fair_take(&r->waiters.clients, b->share, 1);
    r->stats.blocked++;
    s->blocked = b;
    s->blocked_bytes = blocked_size(b->wait_count);
    rung__resp_session_enter(s, RUNG__SESSION_BLOCKED);
    rung__resp_timer_start(r);
    rung__resp_waited *ready = find_ready(r, b, call->now_ms);
    if (!ready)
        return;
    rung_status st = serve(b, ready);
    if (st == RUNG_ELIMIT) {
        touch(r, ready);
    } else if (st < 0) {
        rung__resp_error_status(call, st, NULL);
        rung__resp_unblock(s);
        rung__resp_session_enter(s, RUNG__SESSION_READING);
    }
}
