/* SPDX-License-Identifier: Apache-2.0 */
/* live.c - topics by name, their viewers, and the timer that makes frames.
 *
 *   1. Every viewer is on the list of its topic. A topic without viewers stays for keep_ms, for viewers that
 *      reconnect, or until its place is needed. It is on the idle list and counts against no asker.
 *   2. The timer runs as long as there are topics. If making a frame takes long, the next one is delayed: at least
 *      two thirds of the time remain for other work.
 *   3. A viewer that is_behind gets nothing until its queue is empty, then the full state. */
#include "front/live/live.h"

#include "base/assert.h"
#include "codec/url.h"
#include "front/live/topic.h"

#include <stdio.h>
#include <string.h>

#define ASK_EVERY_MS 1000 /* may it still? */
#define SHARES       2    /* one asker has at most 1 / SHARES of viewers and topics */

static void on_timer(void *ctx);

/* ---- names ---- */

static void add_encoded(rung_buffer *n, const char *key, rung_slice value) {
    if (!value.len)
        return;
    rung_buffer_put(n, key, strlen(key));
    bool has_room = rung_buffer_reserve(n, 3 * value.len);
    RUNG_ASSERT(has_room);
    n->len += rung_url_encode(value, n->data + n->len);
}

static void add_number(rung_buffer *n, const char *key, uint32_t value) {
    char digits[16];
    snprintf(digits, sizeof digits, "%u", value);
    add_encoded(n, key, rung_slice_str(digits));
}

/* One spelling for one question. */
static void name_topic(const rung_live_spec *s, rung_buffer *n) {
    add_encoded(n, s->kind == RUNG_LIVE_FEED ? "players/" : "boards/",
                s->kind == RUNG_LIVE_FEED ? s->player : s->board);
    if (s->kind == RUNG_LIVE_TOP) {
        add_number(n, "?limit=", s->count);
    } else if (s->kind == RUNG_LIVE_AROUND) {
        add_encoded(n, "?player=", s->player);
        add_number(n, "&around=", s->count);
    } else if (s->kind == RUNG_LIVE_FRIENDS) {
        add_encoded(n, "?friends=", s->player);
        add_number(n, "&limit=", s->count);
    }
    const char *first = s->kind == RUNG_LIVE_FEED ? "?window=" : "&window=";
    add_encoded(n, first, s->window);
    add_encoded(n, "&window_id=", s->window_id);
    add_encoded(n, "&scope=", s->scope);
    if (s->has_rank)
        add_encoded(n, "&rank=", rung_slice_str(rung_rank_words[s->rank]));
}

static uint64_t hash_of(rung_slice text) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < text.len; i++)
        h = (h ^ (uint8_t)text.ptr[i]) * 1099511628211u;
    return h;
}

static rung_status check_spec(const rung_live_spec *s, rung_err *err) {
    rung_slice texts[] = {s->board, s->player, s->window, s->window_id};
    for (size_t i = 0; i < 4; i++)
        if (texts[i].len > RUNG_NAME_MAX)
            return RUNG_FAIL(err, RUNG_EINVAL, "live: a name of more than %d bytes", RUNG_NAME_MAX);
    if (s->scope.len > RUNG_LIVE_SCOPE_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "scope", "too long");
    bool is_feed = s->kind == RUNG_LIVE_FEED;
    if (is_feed ? s->board.len != 0 : s->board.len == 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "board", "expected a board's name");
    if (s->kind != RUNG_LIVE_TOP && !s->player.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "player", "expected a player's name");
    uint32_t low = s->kind == RUNG_LIVE_AROUND || is_feed ? 0 : 1;
    uint32_t high = s->kind == RUNG_LIVE_TOP      ? RUNG_LIVE_TOP_MAX
                    : s->kind == RUNG_LIVE_AROUND ? RUNG_LIVE_AROUND_MAX
                                                  : RUNG_LIVE_FRIENDS_MAX;
    if (s->count < low || s->count > high)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected %u to %u",
                               s->kind == RUNG_LIVE_AROUND ? "around" : "limit", low, high);
    return RUNG_OK;
}

/* ---- shares ---- */

static rung__asker **asker_place(const rung_live *l, uint64_t who) {
    rung__asker **at = &l->askers[who % l->bucket_count];
    while (*at && (*at)->who != who)
        at = &(*at)->next_in_bucket;
    return at;
}

/* NULL: no memory. */
static rung__asker *find_or_create_asker(rung_live *l, uint64_t who) {
    rung__asker **at = asker_place(l, who);
    if (*at)
        return *at;
    *at = rung_alloc_zeroed(l->config.alloc, sizeof **at);
    if (*at) {
        (*at)->who = who;
        l->stats.memory += sizeof **at;
    }
    return *at;
}

/* Who has nothing any more is forgotten. */
static void let_go(rung_live *l, rung__asker *a) {
    if (!a || a->viewers || a->topics)
        return;
    *asker_place(l, a->who) = a->next_in_bucket;
    l->stats.memory -= sizeof *a;
    rung_alloc_free(l->config.alloc, a, sizeof *a);
}

/* Is there room for another viewer of `t`? NULL: of a new topic. */
static rung_status check_room(const rung_live *l, const rung__topic *t, uint64_t who,
                              rung_err *err) {
    const rung_live_config *c = &l->config;
    const rung__asker *a = who ? *asker_place(l, who) : NULL;
    bool is_topic_mine = !t || !t->viewer_count; /* it would be */
    if (l->stats.viewers >= c->viewers_max)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_VIEWERS,
                             "live: there are %u viewers already", l->stats.viewers);
    if (!t && l->stats.topics >= c->topics_max && !l->idle.first)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_VIEWERS,
                             "live: %u topics are being watched already", l->stats.topics);
    if (a && a->viewers >= (c->viewers_max + SHARES - 1) / SHARES)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_VIEWERS,
                             "live: %u viewers with this key, or from this address", a->viewers);
    if (a && is_topic_mine && a->topics >= (c->topics_max + SHARES - 1) / SHARES)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_VIEWERS,
                             "live: %u topics watched with this key, or from this address",
                             a->topics);
    return RUNG_OK;
}

/* ---- topics ---- */

/* The sight follows the name: the same feed with another sight is another topic with the same name. So is the player's
 * own. */
static bool is_topic(const rung__topic *t, uint64_t hash, rung_slice text,
                     const rung_live_spec *spec) {
    return t->name_hash == hash && rung_slice_eq(rung_slice_of(t->memory, t->name_len), text) &&
           t->spec.is_own == spec->is_own && !t->spec.sight.ptr == !spec->sight.ptr &&
           rung_slice_eq(t->spec.sight, spec->sight);
}

static rung__topic *find_topic(const rung_live *l, rung_slice text, const rung_live_spec *spec,
                               uint64_t hash) {
    rung__topic *t = l->buckets[hash % l->bucket_count];
    while (t && !is_topic(t, hash, text, spec))
        t = t->next_in_bucket;
    return t;
}

static void link_idle(rung__topic *t) {
    rung_live *l = t->live;
    RUNG_LIST_APPEND(&l->idle, t, idle);
    t->idle_since_ms = l->config.now_ms(l->config.ctx);
    if (t->asker) {
        t->asker->topics--;
        let_go(l, t->asker);
        t->asker = NULL;
    }
}

static bool fill_topic(rung__topic *t, const rung_live_spec *s, rung_slice name) {
    const rung_alloc *a = t->live->config.alloc;
    size_t size = name.len + s->sight.len + s->board.len + s->player.len + s->window.len +
                  s->window_id.len + s->scope.len;
    t->memory = rung_alloc_get(a, size);
    t->kept = rung_alloc_zeroed(a, t->live->config.keep_frames * sizeof *t->kept);
    if (s->kind != RUNG_LIVE_FEED) {
        t->list = rung_alloc_zeroed(a, sizeof *t->list);
        t->live->stats.memory += t->list ? sizeof *t->list : 0;
    }
    if (!t->memory || !t->kept || (s->kind != RUNG_LIVE_FEED && !t->list)) {
        t->memory_size = t->memory ? (uint32_t)size : 0;
        return false;
    }
    t->memory_size = (uint32_t)size;
    t->name_len = (uint32_t)name.len;
    char *at = t->memory;
    rung_slice_put(&at, name);
    t->spec = *s;
    t->spec.sight = rung_slice_put(&at, s->sight);
    t->spec.board = rung_slice_put(&at, s->board);
    t->spec.player = rung_slice_put(&at, s->player);
    t->spec.window = rung_slice_put(&at, s->window);
    t->spec.window_id = rung_slice_put(&at, s->window_id);
    t->spec.scope = rung_slice_put(&at, s->scope);
    return true;
}

static size_t topic_size(const rung__topic *t) {
    return sizeof *t + t->memory_size + t->live->config.keep_frames * sizeof *t->kept;
}

/* One without viewers. */
static void destroy_topic(rung__topic *t) {
    rung_live *l = t->live;
    RUNG_LIST_REMOVE(&l->idle, t, idle);
    rung__topic **at = &l->buckets[t->name_hash % l->bucket_count];
    while (*at != t)
        at = &(*at)->next_in_bucket;
    *at = t->next_in_bucket;
    RUNG_LIST_REMOVE(&l->topics, t, all);
    l->stats.topics--;
    l->stats.memory -= topic_size(t);
    rung__topic_deinit(t);
    rung_alloc_free(l->config.alloc, t, sizeof *t);
}

static rung_status create_topic(rung_live *l, const rung_live_spec *s, rung_slice name,
                                uint64_t hash, rung__topic **out, rung_err *err) {
    if (l->stats.topics >= l->config.topics_max) /* check_room() has seen it */
        destroy_topic(l->idle.first);
    rung__topic *t = rung_alloc_zeroed(l->config.alloc, sizeof *t);
    if (!t)
        return RUNG_FAIL(err, RUNG_ENOMEM, "live: out of memory");
    t->live = l;
    t->name_hash = hash;
    if (!fill_topic(t, s, name)) {
        rung__topic_deinit(t);
        rung_alloc_free(l->config.alloc, t, sizeof *t);
        return RUNG_FAIL(err, RUNG_ENOMEM, "live: out of memory");
    }
    t->next_in_bucket = l->buckets[hash % l->bucket_count];
    l->buckets[hash % l->bucket_count] = t;
    RUNG_LIST_PREPEND(&l->topics, t, all);
    l->stats.topics++;
    l->stats.memory += topic_size(t);
    link_idle(t);
    *out = t;
    return RUNG_OK;
}

/* ---- sending ---- */

static void send_to(rung_viewer *v, rung__frame *f, int64_t now) {
    rung_live *l = v->topic->live;
    rung_blob *b = f && f->sse ? rung__frame_encoded(f, l->config.alloc, v->sink->encoding) : NULL;
    if (!b) {
        v->is_behind = true; /* no memory for it now: a full state later */
        return;
    }
    v->sink->send(v->ctx, b);
    v->sent_ms = now;
    l->stats.sent++;
    l->stats.sent_bytes += b->len;
}

static void unlink_viewer(rung_viewer *v) {
    rung__topic *t = v->topic;
    rung_live *l = t->live;
    RUNG_LIST_REMOVE(&t->viewers, v, viewers);
    if (--t->viewer_count == 0)
        link_idle(t);
    if (v->asker) {
        v->asker->viewers--;
        let_go(l, v->asker);
    }
    l->stats.viewers--;
    l->stats.memory -= sizeof *v;
}

static void end_viewer(rung_viewer *v, rung_live_end why) {
    rung_live *l = v->topic->live;
    unlink_viewer(v);
    v->sink->end(v->ctx, v, why);
    rung_alloc_free(l->config.alloc, v, sizeof *v);
}

static void end_all(rung__topic *t, rung_live_end why) {
    while (t->viewers.first)
        end_viewer(t->viewers.first, why);
}

/* Send a frame to one viewer; `f` is NULL if there is nothing new. false: the viewer is gone. */
static bool serve(rung_viewer *v, rung__frame *f, int64_t now) {
    rung_live *l = v->topic->live;
    if (now - v->asked_ms >= ASK_EVERY_MS || v->asked_rights != l->rights) {
        v->asked_ms = now;
        v->asked_rights = l->rights;
        if (v->sink->may && !v->sink->may(v->ctx)) {
            end_viewer(v, RUNG_LIVE_FORBIDDEN);
            return false;
        }
    }
    if (f && !v->is_behind) {
        if (v->sink->queued(v->ctx) > l->config.queued_max)
            v->is_behind = true;
        else
            send_to(v, f, now);
    }
    if (v->is_behind) {
        l->stats.skipped += f != NULL;
        if (v->sink->queued(v->ctx) == 0) {
            v->is_behind = false;
            send_to(v, rung__topic_full(v->topic), now);
        }
    } else if (now - v->sent_ms >= l->config.beat_ms && v->sink->encoding == RUNG_LIVE_SSE) {
        v->sink->send(v->ctx, l->beat);
        v->sent_ms = now;
    }
    return true;
}

/* has_failed: a frame may be missing; the full state replaces it. */
static void serve_topic(rung__topic *t, rung__frame *f, bool has_failed, int64_t now) {
    for (rung_viewer *v = t->viewers.first, *next; v; v = next) {
        next = v->viewers.next;
        v->is_behind |= has_failed;
        serve(v, f, now);
    }
}

static rung__frame *newest(rung__topic *t) {
    return t->kept_count ? rung__topic_kept(t, t->kept_count - 1) : NULL;
}

static uint64_t rights_now(const rung_live *l) {
    return l->config.rights ? l->config.rights(l->config.ctx) : 0;
}

void rung_live_frame(rung_live *l) {
    uint64_t start = rung_loop_clock_ns(l->config.loop);
    int64_t now = l->config.now_ms(l->config.ctx);
    l->rights = rights_now(l);
    for (rung__topic *t = l->topics.first, *next; t; t = next) {
        next = t->all.next;
        if (!t->viewer_count) {
            if (now - t->idle_since_ms >= l->config.keep_ms)
                destroy_topic(t);
            continue;
        }
        rung_status st = rung__topic_refresh(t, NULL);
        if (st == RUNG_NOT_FOUND)
            end_all(t, RUNG_LIVE_GONE);
        else
            serve_topic(t, st == RUNG_OK ? newest(t) : NULL, st < 0, now);
    }
    l->stats.frame_us += (rung_loop_clock_ns(l->config.loop) - start) / 1000;
}

static uint32_t interval_ms(const rung_live *l) {
    uint32_t ms = 1000 / l->config.frame_rate;
    return ms ? ms : 1;
}

static void start_timer(rung_live *l, uint64_t ms) {
    rung_timer_start(l->config.loop, &l->timer, ms, 0);
}

/* Make a frame, then run again in the next turn of the loop. The output is sent between the two, and sending it to
 * thousands is most of the work. Only then is it known how long this frame took and when the next one is due. */
static void on_timer(void *ctx) {
    rung_live *l = ctx;
    if (!l->is_sending) {
        l->frame_ns = rung_loop_clock_ns(l->config.loop);
        l->is_sending = true;
        rung_live_frame(l);
        start_timer(l, 0);
        return;
    }
    l->is_sending = false;
    uint64_t took_ms = (rung_loop_clock_ns(l->config.loop) - l->frame_ns) / 1000000;
    uint64_t wait_ms = interval_ms(l);
    if (wait_ms < 3 * took_ms)
        wait_ms = 3 * took_ms;
    if (l->topics.first)
        start_timer(l, wait_ms - took_ms);
}

/* ---- opening and leaving ---- */

/* The index of the kept frame that follows `since`; UINT32_MAX: unknown. A new topic has no past, but if its board
 * has not changed since, there is none to know. */
static uint32_t resume_from(const rung__topic *t, uint64_t since, bool was_new) {
    bool is_timeless = t->spec.kind != RUNG_LIVE_FEED && (t->kind == 0 || t->spec.window_id.len);
    if (since == t->seq || (was_new && is_timeless && t->version <= since && since < t->seq))
        return t->kept_count;
    for (uint32_t i = 0; i < t->kept_count; i++)
        if (rung__topic_kept(t, i)->since == since)
            return i;
    return UINT32_MAX;
}

static void send_resumed(rung_viewer *v, uint64_t since, int64_t now) {
    rung_live *l = v->topic->live;
    rung__frame f = {0};
    rung_json_writer *w = &l->out;
    rung_json_writer_reset(w);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "type", string, RUNG_SLICE("resumed"));
    RUNG_JSON_MEMBER(w, "topic", string, rung_viewer_topic(v));
    RUNG_JSON_MEMBER(w, "seq", uint, since);
    rung_json_close_object(w);
    if (rung__frame_make(l, &f, "resumed", since))
        send_to(v, &f, now);
    rung__frame_clear(&f);
}

static void greet(rung_viewer *v, const uint64_t *since, bool was_new, int64_t now) {
    rung__topic *t = v->topic;
    rung_live *l = t->live;
    uint32_t from = since ? resume_from(t, *since, was_new) : UINT32_MAX;
    if (from == UINT32_MAX) {
        l->stats.anew += since != NULL;
        send_to(v, rung__topic_full(t), now);
        return;
    }
    l->stats.resumed++;
    send_resumed(v, *since, now);
    for (uint32_t i = from; i < t->kept_count; i++)
        send_to(v, rung__topic_kept(t, i), now);
}

/* The topic of that spec; NULL: there is none. Its name is in `text`. */
static rung__topic *find_spec(const rung_live *l, const rung_live_spec *spec,
                              char text[RUNG_LIVE_TOPIC_MAX], rung_slice *name_out,
                              uint64_t *hash_out) {
    rung_buffer n = {.data = text, .size = RUNG_LIVE_TOPIC_MAX};
    name_topic(spec, &n);
    *name_out = rung_buffer_slice(&n);
    *hash_out = hash_of(*name_out) ^ hash_of(spec->sight) ^ spec->is_own;
    return find_topic(l, *name_out, spec, *hash_out);
}

static rung_status find_or_create(rung_live *l, const rung_live_spec *spec, rung__topic **out,
                                  bool *was_new, rung_err *err) {
    char text[RUNG_LIVE_TOPIC_MAX];
    rung_slice name;
    uint64_t hash;
    rung_status st = check_spec(spec, err);
    if (st < 0)
        return st;
    *out = find_spec(l, spec, text, &name, &hash);
    *was_new = !*out;
    st = check_room(l, *out, spec->asker, err);
    return st < 0 || *out ? st : create_topic(l, spec, name, hash, out, err);
}

/* Count a new viewer against its asker's share, and its topic if nobody else watches it. false: out of memory. */
static bool take_share(rung_live *l, rung__topic *t, rung_viewer *v, uint64_t who) {
    v->asker = who ? find_or_create_asker(l, who) : NULL;
    if (who && !v->asker)
        return false;
    if (v->asker)
        v->asker->viewers++;
    if (!t->viewer_count) {
        t->asker = v->asker;
        if (t->asker)
            t->asker->topics++;
        RUNG_LIST_REMOVE(&l->idle, t, idle);
    }
    return true;
}

rung_status rung_live_open(rung_live *l, const rung_live_spec *spec, const uint64_t *since,
                           const rung_live_sink *sink, void *ctx, rung_viewer **viewer_out,
                           rung_err *err) {
    rung__topic *t;
    bool was_new;
    int64_t now = l->config.now_ms(l->config.ctx);
    if (l->is_stopping || !l->config.state(l->config.ctx))
        return RUNG_FAIL(err, RUNG_ECLOSED, "live: not open now");
    rung_status st = find_or_create(l, spec, &t, &was_new, err);
    if (st < 0)
        return st;
    /* A topic with viewers is as current as its last frame, and so is what a new viewer sees. */
    if (!t->viewer_count) {
        st = rung__topic_refresh(t, err);
        if (st == RUNG_NOT_FOUND || st < 0) {
            if (was_new)
                destroy_topic(t);
            return st;
        }
    }
    rung_viewer *v = rung_alloc_zeroed(l->config.alloc, sizeof *v);
    if (!v || !take_share(l, t, v, spec->asker)) {
        rung_alloc_free(l->config.alloc, v, v ? sizeof *v : 0);
        return RUNG_FAIL(err, RUNG_ENOMEM, "live: out of memory");
    }
    *v = (rung_viewer){.topic = t,
                       .sink = sink,
                       .ctx = ctx,
                       .asker = v->asker,
                       .asked_ms = now,
                       .asked_rights = rights_now(l)};
    RUNG_LIST_PREPEND(&t->viewers, v, viewers);
    t->viewer_count++;
    l->stats.viewers++;
    l->stats.memory += sizeof *v;
    *viewer_out = v;
    greet(v, since, was_new, now);
    if (!l->timer.is_running)
        start_timer(l, interval_ms(l));
    return RUNG_OK;
}

rung_status rung_live_check(rung_live *l, const rung_live_spec *spec, rung_err *err) {
    rung_status st = check_spec(spec, err);
    const rung_state *s = l->config.state(l->config.ctx);
    if (st < 0)
        return st;
    if (l->is_stopping || !s)
        return RUNG_FAIL(err, RUNG_ECLOSED, "live: not open now");
    char text[RUNG_LIVE_TOPIC_MAX];
    rung_slice name;
    uint64_t hash;
    rung__topic *t = find_spec(l, spec, text, &name, &hash);
    if (spec->kind == RUNG_LIVE_FEED)
        return check_room(l, t, spec->asker, err);
    rung_view view;
    rung_query q = rung__topic_query(l, spec);
    st = rung_state_view(s, &q, &view, err);
    if (st == RUNG_OK && view.sketch_kind &&
        (view.sketch_kind != RUNG_SKETCH_COUNTS || spec->kind == RUNG_LIVE_FRIENDS))
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "sketch",
                               "of sketch boards a counts board alone has a live top");
    return st == RUNG_OK ? check_room(l, t, spec->asker, err) : st;
}

void rung_live_leave(rung_viewer *v) {
    rung_live *l = v->topic->live;
    unlink_viewer(v);
    rung_alloc_free(l->config.alloc, v, sizeof *v);
}

rung_slice rung_viewer_topic(const rung_viewer *v) {
    return rung_slice_of(v->topic->memory, v->topic->name_len);
}

/* ---- lifecycle ---- */

static void fill_defaults(rung_live_config *c) {
#define OR(field, value) c->field = c->field ? c->field : (value)
    OR(frame_rate, 10);
    OR(viewers_max, 20000);
    OR(topics_max, 10000);
    OR(queued_max, 65536);
    OR(keep_frames, 32);
    OR(keep_bytes, 128u << 10);
    OR(keep_ms, 60000);
    OR(beat_ms, 15000);
    OR(feed_boards_max, 1024);
#undef OR
}

static bool make_beat(rung_live *l) {
    static const char comment[] = "3\r\n:\n\n\r\n";
    l->beat = rung_blob_create(l->config.alloc, sizeof comment - 1);
    if (l->beat)
        memcpy(l->beat->bytes, comment, sizeof comment - 1);
    return l->beat != NULL;
}

static void free_memory(rung_live *l) {
    const rung_alloc *a = l->config.alloc;
    rung_json_writer_deinit(&l->rows);
    rung_json_writer_deinit(&l->ids);
    rung_json_writer_deinit(&l->head);
    rung_json_writer_deinit(&l->out);
    rung_blob_give(l->beat);
    rung_alloc_free(a, l->buckets, l->buckets ? l->bucket_count * sizeof *l->buckets : 0);
    rung_alloc_free(a, l->askers, l->askers ? l->bucket_count * sizeof *l->askers : 0);
    rung_alloc_free(a, l, sizeof *l);
}

rung_status rung_live_create(const rung_live_config *config, rung_live **live_out, rung_err *err) {
    if (config->frame_rate > 100)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "frame_rate", "expected 1 to 100");
    rung_live *l = rung_alloc_zeroed(config->alloc, sizeof *l);
    if (!l)
        return RUNG_FAIL(err, RUNG_ENOMEM, "live: out of memory");
    l->config = *config;
    fill_defaults(&l->config);
    l->bucket_count = 4096;
    l->buckets = rung_alloc_zeroed(config->alloc, l->bucket_count * sizeof *l->buckets);
    l->askers = rung_alloc_zeroed(config->alloc, l->bucket_count * sizeof *l->askers);
    l->rows.alloc = l->ids.alloc = l->head.alloc = l->out.alloc = config->alloc;
    if (!l->buckets || !l->askers || !make_beat(l)) {
        free_memory(l);
        return RUNG_FAIL(err, RUNG_ENOMEM, "live: out of memory");
    }
    l->stats.memory = sizeof *l + l->bucket_count * (sizeof *l->buckets + sizeof *l->askers);
    l->timer = (rung_timer){.call = on_timer, .ctx = l};
    *live_out = l;
    return RUNG_OK;
}

void rung_live_stop(rung_live *l) {
    l->is_stopping = true;
    rung_timer_stop(l->config.loop, &l->timer); /* from here on there may be no state to ask */
    for (rung__topic *t = l->topics.first; t; t = t->all.next)
        end_all(t, RUNG_LIVE_STOPPING);
}

void rung_live_destroy(rung_live *l) {
    if (!l)
        return;
    RUNG_ASSERT(!l->stats.viewers);
    while (l->topics.first)
        destroy_topic(l->topics.first);
    rung_timer_stop(l->config.loop, &l->timer);
    free_memory(l);
}

rung_live_stats rung_live_stat(const rung_live *l) {
    rung_live_stats s = l->stats;
    for (const rung__topic *t = l->topics.first; t; t = t->all.next)
        s.memory += t->kept_bytes;
    return s;
}
