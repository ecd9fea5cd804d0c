/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that wait for a member: BZPOPMIN, BZPOPMAX, BZMPOP.
 *
 * A pop is a change like any other. A client waits in a list, in the order of coming; whenever the state has changed,
 * each is looked at, and for the first of its keys that has members not promised to somebody before it, a pop is put.
 * Another change may still take those members first: then it goes on waiting, in its old place. */
#include "front/resp/internal.h"

#include "base/assert.h"

struct rung__resp_blocked {
    rung__resp_blocked *prev, *next;
    rung__resp_session *session;
    const rung__resp_command *command;
    uint32_t style;
    int64_t deadline_ms; /* 0: none */
    bool is_served;      /* a pop is under way */
    rung_slice promised; /* of which key, in `packed` */
    size_t packed_len;
    char packed[]; /* the ZPOP of all its keys */
};

static size_t size_of(size_t packed_len) {
    return sizeof(rung__resp_blocked) + packed_len;
}

static void link_last(rung_resp *r, rung__resp_blocked *b) {
    b->prev = r->blocked_last;
    b->next = NULL;
    *(b->prev ? &b->prev->next : &r->blocked_first) = b;
    r->blocked_last = b;
    r->stats.blocked++;
}

void rung__resp_unblock(rung__resp_session *s) {
    rung_resp *r = s->r;
    rung__resp_blocked *b = s->blocked;
    *(b->prev ? &b->prev->next : &r->blocked_first) = b->next;
    *(b->next ? &b->next->prev : &r->blocked_last) = b->prev;
    r->stats.blocked--;
    s->blocked = NULL;
    rung_alloc_free(r->config.alloc, b, size_of(b->packed_len));
}

/* How many members of the key are promised to those who wait. */
static uint64_t promised(const rung_resp *r, rung_slice key) {
    uint64_t count = 0;
    for (const rung__resp_blocked *b = r->blocked_first; b; b = b->next)
        count += b->is_served && rung_slice_eq(b->promised, key);
    return count;
}

static rung_zcommand command_of(const rung__resp_blocked *b) {
    rung_slice packed = rung_slice_of(b->packed, b->packed_len);
    rung_zcommand c;
    rung_status st = rung_zcommand_next(&packed, &c, NULL);
    RUNG_ASSERT(st == RUNG_OK); /* we packed it */
    return c;
}

/* The first of its keys that has a member for it. */
static bool find_ready(const rung_resp *r, const rung__resp_blocked *b, int64_t now_ms,
                       rung_slice *key_out) {
    rung_zcommand c = command_of(b);
    rung_zcommand_item item;
    while (rung_zcommand_item_next(&c, &item)) {
        rung_zkey k;
        rung_zkey_open(rung_hub_state(r->hub), item.name, now_ms, &k);
        if (k.kind == RUNG_ZKEY_SET || k.count == 0 || k.count <= promised(r, item.name))
            continue;
        *key_out = item.name;
        return true;
    }
    return false;
}

static rung_status serve(rung_resp *r, rung__resp_blocked *b, rung_slice key) {
    char packed[RUNG_NAME_MAX + 64];
    size_t len;
    rung_zcommand c = command_of(b);
    rung_zcommand_item item = {.name = key};
    c.items = &item;
    c.item_count = 1;
    c.packed_items = (rung_slice){NULL, 0};
    rung_status st = rung_zcommand_encode(&c, packed, sizeof packed, &len, NULL);
    (void)r;
    if (st == RUNG_OK)
        st = rung__resp_pop_for(b->session, b->command, b->style, rung_slice_of(packed, len));
    if (st == RUNG_OK) {
        b->is_served = true;
        b->promised = key;
    }
    return st;
}

/* It waits no longer: tell it `st`, or that its time is over. */
static void give_up(rung__resp_session *s, rung_status st) {
    rung__resp_call call = rung__resp_call_begin(s);
    if (st < 0)
        rung__resp_error_status(&call, st, NULL);
    else
        rung_resp_null_array(call.out);
    rung__resp_call_end(&call);
    rung__resp_unblock(s);
    rung__resp_session_go_on(s);
}

void rung__resp_pop_answered(rung__resp_session *s, bool is_told) {
    if (s->blocked && is_told)
        rung__resp_unblock(s);
    else if (s->blocked)
        s->blocked->is_served = false;
    rung__resp_session_go_on(s);
}

void rung__resp_blocked_look(rung_resp *r) {
    uint64_t seq = rung_state_seq(rung_hub_state(r->hub));
    if (seq == r->blocked_seq)
        return;
    r->blocked_seq = seq;
    int64_t now_ms = rung_hub_now(r->hub);
    for (rung__resp_blocked *b = r->blocked_first, *next; b; b = next) {
        rung_slice key;
        next = b->next;
        if (b->is_served || !find_ready(r, b, now_ms, &key))
            continue;
        rung_status st = serve(r, b, key);
        if (st == RUNG_ELIMIT)
            r->blocked_seq = seq - 1; /* again the next time */
        else if (st < 0)
            give_up(b->session, st);
    }
}

bool rung__resp_blocked_due(rung_resp *r, int64_t now_ms) {
    bool is_left = false;
    for (rung__resp_blocked *b = r->blocked_first, *next; b; b = next) {
        next = b->next;
        if (b->deadline_ms && !b->is_served && now_ms >= b->deadline_ms)
            give_up(b->session, RUNG_OK);
        else
            is_left |= b->deadline_ms != 0;
    }
    return is_left;
}

/* Is a set among the keys, before any that has members? */
static bool is_wrong_type(rung__resp_call *call, const rung_zcommand *c) {
    for (uint32_t i = 0; i < c->item_count; i++) {
        rung_zkey k;
        rung_zkey_open(call->state, c->items[i].name, call->now_ms, &k);
        if (k.kind == RUNG_ZKEY_SET)
            return true;
        if (k.count)
            return false;
    }
    return false;
}

static rung__resp_blocked *blocked_new(rung__resp_call *call, const rung_zcommand *c) {
    rung_resp *r = call->r;
    rung_err err;
    size_t len;
    rung_status st = rung_zcommand_encode(c, r->pack, RUNG_ZCOMMANDS_BYTES_MAX, &len, &err);
    if (st < 0) {
        rung__resp_error_status(call, st, &err);
        return NULL;
    }
    rung__resp_blocked *b = rung_alloc_get(r->config.alloc, size_of(len));
    if (!b) {
        rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        return NULL;
    }
    *b =
        (rung__resp_blocked){.session = call->s,
                             .command = call->command,
                             .style = call->style,
                             .packed_len = len,
                             .deadline_ms = call->timeout_ms ? call->now_ms + call->timeout_ms : 0};
    memcpy(b->packed, r->pack, len);
    return b;
}

void rung__resp_block(rung__resp_call *call) {
    rung_resp *r = call->r;
    rung__resp_session *s = call->s;
    rung_zcommand c;
    rung_slice key;
    if (call->command->build(call, &c) != RUNG__BUILD_CHANGE)
        return;
    if (is_wrong_type(call, &c)) {
        rung__resp_error_type(call);
        return;
    }
    if (r->stats.blocked >= r->config.blocked_max) {
        rung__resp_error(call, "ERR too many clients are blocked");
        return;
    }
    rung__resp_blocked *b = blocked_new(call, &c);
    if (!b)
        return;
    link_last(r, b);
    s->blocked = b;
    s->is_paused =
        true; /* the connection is still read from: the end of a client that waits must be noticed */
    s->resume_at = 0;
    rung__resp_timer_start(r);
    if (!find_ready(r, b, call->now_ms, &key))
        return;
    rung_status st = serve(r, b, key);
    if (st == RUNG_ELIMIT) {
        r->blocked_seq = 0;
    } else if (st < 0) {
        rung__resp_error_status(call, st, NULL);
        rung__resp_unblock(s);
        s->is_paused = false;
    }
}
