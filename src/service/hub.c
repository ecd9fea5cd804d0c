/* SPDX-License-Identifier: Apache-2.0 */
/* The hub. Workload: small changes from thousands of connections, hundreds of thousands a second, and questions
 * between them; one thread that must never wait.
 *
 * Everything put or placed stands in one line of items. Its bytes, as they are logged, stand in a ring of their own.
 * Three parts follow one another in the line, and each item passes from right to left:
 *
 *     head                submitted                 tail
 *       | with the writer     | put since the flush   |
 *
 *     rung_hub_put -> flush (hand_over) -> the writer: durable -> rung_hub_turn (apply_front) -> answer
 *                                                   refused -> rung_hub_turn (refuse_front) -> answer
 *
 * Invariants:
 *   H1  Events stand in the line in the order of their sequences; the first one's is the state's sequence plus one.
 *   H2  An event is applied only when the writer has called its sequence durable.
 *   H3  Every event that was put is answered exactly once: applied, or refused with the reason.
 *   H4  A question is called when it stands at the head, so after all before it and before all behind it.
 *   H5  Once `failure` is set nothing is submitted or applied again: all that waits, and all that comes, is refused.
 *       So no byte of the ring is written again, which the writer may still be reading.
 *   H6  At most one tick is in the line.
 *
 * Answers and questions may put and place while the line is worked off: items and bytes are only ever added at the
 * tail, and nothing is moved. */
#include "service/hub.h"

#include "base/assert.h"
#include "base/fair.h"
#include "journal/writer.h"
#include "service/admission.h"
#include "service/applier.h"
#include "service/steady_clock.h"
#include "service/store.h"
#include "service/zoneinfo.h"

#include <stdio.h>
#include <string.h>

#ifdef RUNG_TEST_BUILD
#define RING_BYTES       ((size_t)2 << 20)
#define SEGMENT_SIZE_MIN ((uint64_t)1 << 14)
enum { SUBMIT_MAX = 16, RUN_MAX = 48, TURN_MAX = 512 };
#else
#define RING_BYTES       ((size_t)32 << 20) /* of events that wait: 500 bytes for each of 65,536 */
#define SEGMENT_SIZE_MIN ((uint64_t)4 << 20)
enum {
    SUBMIT_MAX = 4096, /* handed to the writer at once */
    RUN_MAX = 256,     /* applied at once */
    TURN_MAX =
        512 /* items worked off before the loop gets its turn: the next batch is on its way by then */
};
#endif

enum {
    WAITING_DEFAULT = 65536,
    PLACE_TICKS = 5,                   /* how often the folder is looked for */
    TRIM_TICKS = 10,                   /* how often old log is looked for */
    CLOCK_SAVE_MS = 60000,             /* how often the trusted time is kept for the next life */
    RING_SPARE = RUNG_EVENT_BYTES_MAX, /* less room than this is none: the longest event must fit */
};
#define SNAPSHOT_EVERY_DEFAULT ((uint64_t)256 << 20)
#define SEGMENT_SIZE_DEFAULT   ((uint64_t)64 << 20)

typedef enum item_kind { ITEM_EVENT, ITEM_TICK, ITEM_READ } item_kind;

typedef struct item {
    union {
        rung_hub_answer *answer; /* may be NULL */
        rung_hub_reader *read;
    };
    void *ctx;
    rung_zkey_sink *sink; /* of an event that has one; it is applied by itself */
    uint64_t ring_end;    /* of an event: its bytes end there */
    uint32_t length;      /* of them */
    uint16_t share;       /* whose it is */
    uint8_t kind;         /* item_kind */
    bool is_brief;        /* of a score */
} item;

struct rung_hub {
    rung_hub_config config;
    rung_alloc_meter memory; /* of the state */
    rung_store *store;       /* NULL: nothing is kept */
    rung_writer *writer;     /* NULL: the same */
    rung_state *state;
    rung_applier *applier;
    rung_hub_follower listener; /* the applier's: tells the follower, and the observer */
    rung_hub_observer *observer;
    void *observer_ctx;
    rung_steady_clock clock;
    bool was_held, was_log_ahead; /* as last said */
    int64_t clock_saved_ms;       /* on the monotonic clock */
    rung_err failure;             /* H5: code RUNG_OK while all is well */
    bool is_full;                 /* the disk */
    bool is_closing;
    bool is_resting;  /* somebody took long: the next is for another turn */
    bool lacks_first; /* events that must come before any other did not reach the log */
    bool is_working;  /* answers and questions are being called: they must not come back here */

    /* The line: positions count up for ever, the item is at position & mask. */
    item *items;
    uint32_t mask;
    uint64_t head, submitted, tail;
    uint64_t looked_at;       /* the tail at the end of the last flush or turn */
    uint64_t submitted_seq;   /* of the last event handed to the writer */
    uint64_t durable_seq;     /* what may be applied */
    rung_fair waiting, reads; /* events put by callers, questions: who has how many */
    bool has_tick;            /* H6 */
    bool has_time;            /* since the last flush */
    int64_t time_ms;          /* of all that is put between two flushes */

    /* The ring of bytes: positions count up, too. One event is in one piece. */
    char *ring;
    uint64_t ring_head, ring_tail;
    rung_fair bytes; /* of the ring, without what is skipped at its end: who has how many */

    rung_log_entry *entries; /* SUBMIT_MAX, for the writer */
    rung_hub_waiter
        *first_waiter; /* of a heap: none has a lower sequence, or came before with the same */
    uint64_t tickets;
    rung_hub_after *first_after; /* while is_working */

    /* Snapshots and old log. */
    bool
        is_held; /* nothing is applied until the log on the disk is as far as the state: then a snapshot */
    uint64_t bytes_before;  /* of log behind the snapshot that the folder was opened from */
    uint64_t bytes_at_save; /* written when the last one was begun */
    uint64_t saving_seq;
    uint64_t kept_from;    /* the log before this is in both snapshots */
    uint64_t trimmed_from; /* the writer was told to remove what is before this */
    uint32_t ticks;

    rung_hub_stats stats;
};

/* ---- life ---- */

static void wake(const rung_hub *h) {
    if (h->config.wake)
        h->config.wake(h->config.ctx);
}

static void say(const rung_hub *h, const char *line) {
    if (h->config.say)
        h->config.say(h->config.ctx, line);
}

static void wake_from_writer(void *ctx) {
    wake(ctx);
}

static void fail_from_writer(void *ctx, const rung_err *err) {
    const rung_hub *h = ctx;
    if (h->config.fatal)
        h->config.fatal(h->config.ctx, err);
}

static uint32_t line_size(const rung_hub_config *c) {
    uint32_t size = 64;
    while (size < 2 * (uint64_t)c->waiting_max + 2) /* events, questions, a tick */
        size *= 2;
    return size;
}

static rung_status make_line(rung_hub *h, rung_err *err) {
    const rung_alloc *a = h->config.alloc;
    uint32_t size = line_size(&h->config);
    h->mask = size - 1;
    h->waiting.max = h->reads.max = h->config.waiting_max;
    h->bytes.max = RING_BYTES;
    h->items = rung_alloc_get(a, size * sizeof *h->items);
    h->ring = rung_alloc_get(a, RING_BYTES);
    h->entries = rung_alloc_get(a, SUBMIT_MAX * sizeof *h->entries);
    if (!h->items || !h->ring || !h->entries)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    return RUNG_OK;
}

static rung_status open_folder(rung_hub *h, const rung_state_config *state, rung_err *err) {
    const rung_hub_config *c = &h->config;
    if (c->segment_size < SEGMENT_SIZE_MIN || c->segment_size % 512 != 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "segment_size",
                               "expected %llu bytes or more, a multiple of 512",
                               (unsigned long long)SEGMENT_SIZE_MIN);
    rung_store_config store = {.fs = c->fs,
                               .alloc = c->alloc,
                               .threads = c->threads,
                               .children = c->children,
                               .path = c->path,
                               .segment_size = c->segment_size,
                               .is_relaxed = c->sync_every_ms > 0,
                               .is_patient = true,
                               .state = *state,
                               .follower = c->follower,
                               .progress = c->progress,
                               .say = c->say,
                               .ctx = c->ctx};
    rung_status st = rung_store_open(&store, &h->store, &h->state, err);
    if (st < 0)
        return st;
    rung_store_stats opened = rung_store_stat(h->store);
    h->bytes_before = opened.replayed_bytes;
    h->stats.snapshot_seq = opened.snapshot_seq;
    h->is_full = opened.is_full;
    st = rung_store_needed_from(h->store, &h->kept_from, err);
    if (st < 0)
        return st;
    rung_writer_config writer = {.log = rung_store_log(h->store),
                                 .alloc = c->alloc,
                                 .threads = c->threads,
                                 .clock = c->clock,
                                 .queue_records_max = c->waiting_max + 1,
                                 .sync_every_ms = c->sync_every_ms,
                                 .space_retry_ms = c->space_retry_ms,
                                 .is_full = opened.is_full,
                                 .is_borrowing = true, /* they stay in the ring until applied */
                                 .notify = wake_from_writer,
                                 .fatal = fail_from_writer,
                                 .ctx = h};
    return rung_writer_create(&writer, &h->writer, err);
}

static rung_status open_state(rung_hub *h, rung_err *err) {
    const rung_hub_config *c = &h->config;
    const rung_hub_follower *f = c->follower;
    rung_alloc_meter_init(&h->memory, c->alloc);
    rung_state_config state = {.alloc = &h->memory.port,
                               .id_capacity = c->id_capacity,
                               .id_keep_ms = c->id_keep_ms,
                               .rules_level = RUNG_RULES_LEVEL}; /* in memory */
    if (f && f->on_close) {
        state.on_close = f->on_close;
        state.on_close_ctx = f->ctx;
    }
    rung_status st = rung_random_hash_key(c->random, &state.hash_key, err);
    if (st < 0)
        return st;
    if (c->path)
        return open_folder(h, &state, err);
    st = rung_state_create(&state, &h->state);
    return st < 0 ? RUNG_FAIL(err, st, "out of memory") : RUNG_OK;
}

static rung_status release(rung_hub *h, rung_err *err) {
    const rung_alloc *a = h->config.alloc;
    rung_writer_destroy(h->writer);
    rung_status st = rung_store_close(h->store, err);
    rung_applier_destroy(h->applier);
    rung_state_destroy(h->state);
    rung_alloc_free(a, h->entries, SUBMIT_MAX * sizeof *h->entries);
    rung_alloc_free(a, h->ring, RING_BYTES);
    rung_alloc_free(a, h->items, ((size_t)h->mask + 1) * sizeof *h->items);
    rung_alloc_free(a, h, sizeof *h);
    return st;
}

static void set_defaults(rung_hub_config *c) {
    c->zoneinfo = c->zoneinfo ? c->zoneinfo : RUNG_ZONEINFO_PATH;
    c->segment_size = c->segment_size ? c->segment_size : SEGMENT_SIZE_DEFAULT;
    c->waiting_max = c->waiting_max ? c->waiting_max : WAITING_DEFAULT;
    c->snapshot_every = c->snapshot_every ? c->snapshot_every : SNAPSHOT_EVERY_DEFAULT;
}

/* ---- time ---- */

rung_hub_time rung_hub_look_at_time(rung_hub *h) {
    int64_t now_ms = rung_steady_clock_now(&h->clock), log_ms = rung_state_time(h->state);
    rung_hub_time t = {.wall_ms = h->clock.wall_ms,
                       .log_ms = log_ms > now_ms ? log_ms : now_ms,
                       .max_jump_ms = h->clock.max_jump_ms,
                       .is_held = h->clock.is_held};
    t.is_log_ahead = t.log_ms - t.wall_ms > t.max_jump_ms;
    return t;
}

static void keep_time(rung_hub *h) {
    rung_err err = {0};
    if (!h->store)
        return;
    h->clock_saved_ms = rung_clock_monotonic_ms(&h->config.clock);
    if (rung_steady_clock_save(&h->clock, rung_store_dir(h->store), &err) < 0)
        say(h, err.message);
}

/* One line when time is held, or log time is found ahead, and one when that is over. */
static void watch_time(rung_hub *h) {
    rung_hub_time t = rung_hub_look_at_time(h);
    char line[256];
    if (t.is_held && !h->was_held) {
        snprintf(
            line, sizeof line,
            "the wall clock has jumped ahead by %lld s: time goes on as if it had not; set the "
            "clock right, or confirm it with `rung clock accept`",
            (long long)((t.wall_ms - t.log_ms) / 1000));
        say(h, line);
    }
    if (!t.is_held && h->was_held)
        say(h, "the wall clock is trusted again");
    if (t.is_log_ahead && !h->was_log_ahead) {
        snprintf(line, sizeof line,
                 "log time is ahead of the wall clock by %lld s: it stands still until the clock "
                 "has caught up",
                 (long long)((t.log_ms - t.wall_ms) / 1000));
        say(h, line);
    }
    if (!t.is_log_ahead && h->was_log_ahead)
        say(h, "the wall clock has caught up with log time");
    h->was_held = t.is_held;
    h->was_log_ahead = t.is_log_ahead;
}

bool rung_hub_accept_time(rung_hub *h) {
    bool was_held = rung_steady_clock_accept(&h->clock);
    if (was_held)
        say(h, "an operator has confirmed the wall clock");
    watch_time(h);
    keep_time(h);
    return was_held;
}

/* One that did not reach the log, since the disk was full, goes before the next change. */
static void first_answered(void *ctx, rung_status st, const rung_outcome *outcome,
                           const rung_err *err) {
    rung_hub *h = ctx;
    (void)st, (void)err;
    h->lacks_first = h->lacks_first || !outcome;
}

/* The first events of this life, if the folder's rules are of an older level, or it remembers ids in another way than
 * we are told to. */
static rung_status put_first(rung_hub *h, rung_err *err) {
    const rung_hub_config *c = &h->config;
    rung_event event;
    rung_status st = RUNG_OK;
    h->lacks_first = h->store && h->is_full;
    if (!h->store || h->is_full)
        return RUNG_OK;
    if (rung_store_rules_event(h->state, &event))
        st = rung_hub_put(h, &event, first_answered, h, err);
    if (st == RUNG_OK && rung_store_ids_event(h->state, c->id_capacity, c->id_keep_ms, &event))
        st = rung_hub_put(h, &event, first_answered, h, err);
    h->lacks_first = h->lacks_first || st < 0;
    return st;
}

/* Nothing is served by the old rules. On a full disk they stay until there is space. */
static void settle(rung_hub *h) {
    while (!rung_hub_is_idle(h)) {
        rung_hub_flush(h);
        if (h->writer)
            rung_writer_drain(h->writer);
        rung_hub_turn(h);
    }
}

/* ---- those who follow ---- */

static void tell_before(void *ctx, const rung_state *state, int64_t ts_ms) {
    const rung_hub *h = ctx;
    const rung_hub_follower *f = h->config.follower;
    if (f && f->before)
        f->before(f->ctx, state, ts_ms);
}

static void tell_applied(void *ctx, uint64_t first_seq, uint32_t count,
                         const rung_event *const *events, const rung_status *statuses) {
    const rung_hub *h = ctx;
    const rung_hub_follower *f = h->config.follower;
    if (f && f->applied)
        f->applied(f->ctx, first_seq, count, events, statuses);
    if (h->observer)
        h->observer(h->observer_ctx, count, events);
}

void rung_hub_observe(rung_hub *h, rung_hub_observer *observer, void *ctx) {
    h->observer = observer;
    h->observer_ctx = ctx;
}

/* ---- opening ---- */

rung_status rung_hub_open(const rung_hub_config *config, rung_hub **hub_out, rung_err *err) {
    if (config->waiting_max > RUNG_HUB_WAITING_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "waiting_max", "expected at most %u",
                               RUNG_HUB_WAITING_MAX);
    rung_hub *h = rung_alloc_zeroed(config->alloc, sizeof *h);
    if (!h)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    h->config = *config;
    set_defaults(&h->config);
    h->listener = (rung_hub_follower){.ctx = h, .before = tell_before, .applied = tell_applied};
    rung_steady_clock_init(&h->clock, &h->config.clock, h->config.max_jump_ms);
    rung_status st = make_line(h, err);
    if (st == RUNG_OK)
        st = open_state(h, err);
    if (st == RUNG_OK)
        st = rung_applier_create(&(rung_applier_config){.alloc = config->alloc,
                                                        .state = h->state,
                                                        .follower = &h->listener},
                                 &h->applier, err);
    if (st < 0) {
        rung_ignore(release(h, NULL), "the failure to open is the one to tell");
        return st;
    }
    h->durable_seq = h->submitted_seq = rung_state_seq(h->state);
    if (h->store)
        rung_steady_clock_load(&h->clock, rung_store_dir(h->store));
    watch_time(h);
    st = put_first(h, err);
    if (st < 0) {
        rung_ignore(release(h, NULL), "the failure to open is the one to tell");
        return st;
    }
    settle(h);
    *hub_out = h;
    return RUNG_OK;
}

/* ---- the line and its bytes ---- */

static item *item_at(const rung_hub *h, uint64_t position) {
    return &h->items[position & h->mask];
}

static inline void push(rung_hub *h, item it) {
    RUNG_ASSERT(h->tail - h->head <= h->mask);
    *item_at(h, h->tail++) = it;
}

/* Take the first out. Its bytes stay until release_bytes(). */
static item pop(rung_hub *h) {
    item it = *item_at(h, h->head++);
    h->submitted = h->submitted < h->head ? h->head : h->submitted;
    switch (it.kind) {
    case ITEM_EVENT:
        rung_fair_give(&h->waiting, it.share, 1);
        rung_fair_give(&h->bytes, it.share, it.length);
        break;
    case ITEM_TICK:
        h->has_tick = false;
        break;
    case ITEM_READ:
        rung_fair_give(&h->reads, it.share, 1);
        break;
    }
    return it;
}

/* When nothing is left both begin at the front again, so that a short line stays in the cache. */
static void release_bytes(rung_hub *h, uint64_t up_to) {
    h->ring_head = up_to;
    if (h->ring_head == h->ring_tail)
        h->ring_head = h->ring_tail = 0;
}

static size_t ring_free(const rung_hub *h) {
    return RING_BYTES - (size_t)(h->ring_tail - h->ring_head);
}

static rung_slice bytes_of(const rung_hub *h, const item *it) {
    return rung_slice_of(h->ring + (it->ring_end - it->length) % RING_BYTES, it->length);
}

/* It did not fit behind the tail. Never inlined, as it is rare. */
__attribute__((noinline)) static rung_status encode_at_front(rung_hub *h, const rung_event *event,
                                                             size_t *length_out, rung_err *err) {
    size_t to_end = RING_BYTES - (size_t)(h->ring_tail % RING_BYTES), room = ring_free(h), len;
    rung_status st = rung_event_check(event, err);
    if (st < 0)
        return st;
    if (to_end >= room || rung_event_encode(event, h->ring, room - to_end, &len) < 0)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "too many bytes are waiting");
    h->ring_tail += to_end + len;
    *length_out = len;
    return RUNG_OK;
}

/* Encode the event behind the tail, or, where the ring's end is too near, at its beginning: what is skipped counts as
 * the event's. Its bytes end at the tail then. */
static inline rung_status encode(rung_hub *h, const rung_event *event, size_t *length_out,
                                 rung_err *err) {
    size_t at = (size_t)(h->ring_tail % RING_BYTES), to_end = RING_BYTES - at, room = ring_free(h);
    size_t len;
    if (rung_event_encode(event, h->ring + at, room < to_end ? room : to_end, &len) < 0)
        return encode_at_front(h, event, length_out, err);
    h->ring_tail += len;
    *length_out = len;
    return RUNG_OK;
}

/* ---- memory ---- */

/* What a change that waits may add to the state, more than most do: a new player, or a new key, and its bytes. */
enum { GROWTH_EACH = 1024, GROWTH_FACTOR = 4 };

static bool is_memory_full(const rung_hub *h) {
    uint64_t coming = (uint64_t)h->waiting.total * GROWTH_EACH;
    coming += (uint64_t)h->bytes.total * GROWTH_FACTOR;
    return h->config.memory_max && h->memory.used + coming >= h->config.memory_max;
}

static bool do_commands_grow(rung_slice packed) {
    rung_zcommand c;
    while (rung_zcommand_next(&packed, &c, NULL) == RUNG_OK)
        if (c.kind == RUNG_ZCOMMAND_ZADD || c.kind == RUNG_ZCOMMAND_SADD ||
            c.kind == RUNG_ZCOMMAND_ZSTORE || c.kind == RUNG_ZCOMMAND_ZRANGESTORE)
            return true;
    return false;
}

/* Does the event as a rule make the state larger? What removes something, or only says that time has passed, must
 * always get through: it is the way out. */
static bool does_grow(const rung_hub *h, const rung_event *event) {
    const rung_board_def *def;
    switch (event->kind) {
    case RUNG_EVENT_SCORE:
    case RUNG_EVENT_PLAYER_SET:
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIENDS_REPLACED:
    case RUNG_EVENT_WINDOW_OPENED:
        return true;
    case RUNG_EVENT_BOARD_DEFINED: /* of one that is there: perhaps to rank by less */
        return rung_state_board(h->state, event->defined.board, &def) != RUNG_OK;
    case RUNG_EVENT_KEYS:
        return do_commands_grow(event->keys.packed);
    case RUNG_EVENT_BOARD_DELETED:
    case RUNG_EVENT_ENTRY_REMOVED:
    case RUNG_EVENT_PLAYER_ERASED:
    case RUNG_EVENT_FRIEND_REMOVED:
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
    case RUNG_EVENT_WINDOW_CLOSED:
    case RUNG_EVENT_TICK:
    case RUNG_EVENT_IDS_SET:
    case RUNG_EVENT_RULES_SET:
    case RUNG_EVENT_ACCESS_SET:
        break;
    }
    return false;
}

static rung_status check_memory(rung_hub *h, const rung_event *event, rung_err *err) {
    if (!is_memory_full(h) || !does_grow(h, event))
        return RUNG_OK;
    h->stats.memory_refused++;
    return RUNG_FAIL(err, RUNG_EFULL,
                     "the memory for players and rankings (memory.max) is full: only what removes "
                     "something is accepted");
}

/* ---- putting ---- */

/* The first since a flush: one time for all, and a tick before them when a window is due. The state may lag behind
 * the line, so a window may be found due a moment later than it is; its tick comes with the next batch then. */
static void begin_batch(rung_hub *h) {
    h->has_time = true;
    h->time_ms = rung_steady_clock_now(&h->clock);
    if (h->has_tick || rung_state_next_close(h->state) > h->time_ms) /* H6 */
        return;
    rung_event tick = {.kind = RUNG_EVENT_TICK, .ts_ms = h->time_ms};
    size_t len;
    if (encode(h, &tick, &len, NULL) < 0)
        return; /* no room now: the next batch will have it */
    h->has_tick = true;
    push(h, (item){.kind = ITEM_TICK, .ring_end = h->ring_tail, .length = (uint32_t)len});
}

static rung_status may_put(const rung_hub *h, rung_err *err) {
    if (h->failure.code < 0) {
        if (err)
            *err = h->failure;
        return h->failure.code;
    }
    if (h->is_closing)
        return RUNG_FAIL(err, RUNG_ECLOSED, "closing: no further changes are accepted");
    if (h->is_full)
        return RUNG_FAIL(err, RUNG_ENOSPC,
                         "there is no space for the log: nothing is accepted until there is some");
    if (rung_fair_free(&h->waiting) == 0)
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "too many changes are waiting");
    return RUNG_OK;
}

/* Of what is free, no sender gets all: neither of the places nor of the bytes. */
static bool has_share(const rung_hub *h, rung_hub_sender from) {
    return rung_fair_may(&h->waiting, from.share, from.is_patient) &&
           rung_fair_may(&h->bytes, from.share, from.is_patient);
}

/* Encode the event behind a tick, if one is due; neither when it is refused. */
static inline rung_status encode_in_batch(rung_hub *h, rung_event *event, size_t *length_out,
                                          rung_err *err) {
    uint64_t tail = h->tail, ring_tail = h->ring_tail;
    bool had_time = h->has_time, had_tick = h->has_tick;
    if (!had_time)
        begin_batch(h);
    event->ts_ms = h->time_ms;
    rung_status st = encode(h, event, length_out, err);
    if (st == RUNG_OK)
        st = rung_admit(event, h->state, h->config.at_ahead_ms, err);
    if (st < 0) {
        h->tail = tail;
        h->ring_tail = ring_tail;
        h->has_time = had_time;
        h->has_tick = had_tick;
    }
    return st;
}

rung_status rung_hub_put_from(rung_hub *h, rung_hub_sender from, rung_event *event,
                              rung_zkey_sink *sink, rung_hub_answer *answer, void *ctx,
                              rung_err *err) {
    size_t len = 0;
    rung_status st = may_put(h, err);
    if (st == RUNG_OK && !has_share(h, from))
        st = RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                           "too many of this sender's changes are waiting");
    if (st == RUNG_OK)
        st = check_memory(h, event, err);
    if (st == RUNG_OK && h->lacks_first)
        st = put_first(h, err);
    if (st == RUNG_OK)
        st = encode_in_batch(h, event, &len, err);
    if (st < 0) {
        h->stats.refused++;
        return st;
    }
    push(h, (item){.answer = answer,
                   .sink = sink,
                   .ctx = ctx,
                   .kind = ITEM_EVENT,
                   .share = (uint16_t)from.share,
                   .is_brief = event->kind == RUNG_EVENT_SCORE && event->score.is_brief,
                   .ring_end = h->ring_tail,
                   .length = (uint32_t)len});
    rung_fair_take(&h->waiting, from.share, 1);
    rung_fair_take(&h->bytes, from.share, (uint32_t)len);
    h->stats.put++;
    return RUNG_OK;
}

rung_status rung_hub_put_keys(rung_hub *h, rung_event *event, rung_zkey_sink *sink,
                              rung_hub_answer *answer, void *ctx, rung_err *err) {
    return rung_hub_put_from(h, (rung_hub_sender){0}, event, sink, answer, ctx, err);
}

rung_status rung_hub_put(rung_hub *h, rung_event *event, rung_hub_answer *answer, void *ctx,
                         rung_err *err) {
    return rung_hub_put_keys(h, event, NULL, answer, ctx, err);
}

static rung_status define_in_zone(rung_hub *h, rung_event *event, rung_hub_answer *answer,
                                  void *ctx, rung_err *err) {
    const rung_alloc *a = h->config.alloc;
    char *rules = rung_alloc_get(a, RUNG_ZONE_PACKED_MAX);
    if (!rules)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    size_t len;
    rung_status st =
        rung_zoneinfo_pack(h->config.zoneinfo, event->defined.def.zone_name, a, rules, &len, err);
    if (st == RUNG_OK) {
        event->defined.def.zone_rules = rung_slice_of(rules, len);
        st = rung_hub_put(h, event, answer, ctx, err);
    }
    rung_alloc_free(a, rules, RUNG_ZONE_PACKED_MAX);
    return st;
}

rung_status rung_hub_define(rung_hub *h, rung_slice board, const rung_board_def *def,
                            rung_hub_answer *answer, void *ctx, rung_err *err) {
    rung_event event = {.kind = RUNG_EVENT_BOARD_DEFINED, .defined = {.board = board, .def = *def}};
    bool is_utc = def->zone_name.len == 0 || rung_slice_eq(def->zone_name, RUNG_SLICE("UTC"));
    if (is_utc || def->zone_rules.len > 0)
        return rung_hub_put(h, &event, answer, ctx, err);
    return define_in_zone(h, &event, answer, ctx, err);
}

uint32_t rung_hub_room_for(const rung_hub *h, rung_hub_sender from) {
    if (ring_free(h) < RING_SPARE || !rung_fair_may(&h->bytes, from.share, from.is_patient))
        return 0;
    return rung_fair_room(&h->waiting, from.share, from.is_patient);
}

uint32_t rung_hub_room(const rung_hub *h) {
    return rung_hub_room_for(h, (rung_hub_sender){0});
}

rung_status rung_hub_place_from(rung_hub *h, rung_hub_sender from, rung_hub_reader *read, void *ctx,
                                rung_err *err) {
    if (!rung_fair_may(&h->reads, from.share, from.is_patient))
        return RUNG_FAIL_WHY(err, RUNG_ELIMIT, RUNG_REASON_OVERLOADED,
                             "too many questions are waiting");
    push(h, (item){.read = read, .ctx = ctx, .kind = ITEM_READ, .share = (uint16_t)from.share});
    rung_fair_take(&h->reads, from.share, 1);
    return RUNG_OK;
}

rung_status rung_hub_place(rung_hub *h, rung_hub_reader *read, void *ctx, rung_err *err) {
    return rung_hub_place_from(h, (rung_hub_sender){0}, read, ctx, err);
}

/* ---- what comes after answers ---- */

void rung_hub_call_after(rung_hub *h, rung_hub_after *after) {
    RUNG_ASSERT(h->is_working);
    if (after->is_waiting)
        return;
    after->is_waiting = true;
    after->next = h->first_after;
    h->first_after = after;
}

/* No more answers and questions will be called for now. */
static void end_work(rung_hub *h) {
    while (h->first_after) {
        rung_hub_after *after = h->first_after;
        h->first_after = after->next;
        after->is_waiting = false;
        after->call(after->ctx);
    }
    h->is_working = false;
}

/* ---- failing ---- */

/* Answer the first in the line without applying it; a question is called as always. */
static void refuse_front(rung_hub *h, rung_status st, const rung_err *err) {
    item it = pop(h);
    if (it.kind == ITEM_READ) {
        it.read(it.ctx);
        return;
    }
    release_bytes(h, it.ring_end);
    if (it.kind == ITEM_TICK)
        return;
    h->stats.answered++;
    h->stats.refused++;
    if (it.answer)
        it.answer(it.ctx, st, NULL, err);
}

/* H3. All that stands in the line now. */
static void refuse_all(rung_hub *h, rung_status st, const rung_err *err) {
    uint64_t end = h->tail;
    bool was_working = h->is_working;
    h->is_working = true;
    while (h->head != end)
        refuse_front(h, st, err);
    if (!was_working)
        end_work(h);
}

/* H5. The message outlives its cause: it is what every later change is told. */
static void fail_for_good(rung_hub *h, rung_status st, const rung_err *cause) {
    RUNG_FAIL(&h->failure, st, "read-only, start again to go on: %s", cause->message);
    h->failure.os_errno = cause->os_errno;
    h->failure.where = cause->where;
    rung_err failure = h->failure;
    refuse_all(h, st, &failure);
}

/* ---- applying ---- */

typedef struct run {
    rung_hub *hub;
    uint64_t ring_end; /* of the last that was answered */
} run;

static void answer_front(void *ctx, uint32_t i, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    run *r = ctx;
    (void)i; /* answers come in the order of the line */
    item it = pop(r->hub);
    r->ring_end = it.ring_end;
    if (it.kind == ITEM_TICK)
        return;
    r->hub->stats.answered++;
    if (it.answer)
        it.answer(it.ctx, st, outcome, err);
}

/* Memory ran out (in spite of memory_max), or our own bytes are no event. Behind a log the state is now short of an
 * event that is durable: only a new start mends that. In memory the one event did not happen. */
static void fail_to_apply(rung_hub *h, rung_status st, const rung_err *cause) {
    if (!h->store) {
        refuse_front(h, st, cause);
        return;
    }
    if (h->config.fatal)
        h->config.fatal(h->config.ctx, cause);
    fail_for_good(h, st, cause);
}

/* H2. Apply and answer the first `count` events of the line; there is no question among them. */
static void apply_front(rung_hub *h, uint32_t count) {
    rung_applier_payload payloads[RUN_MAX];
    const item *first = item_at(h, h->head);
    run r = {.hub = h};
    rung_err err = {0};
    uint32_t done;
    for (uint32_t i = 0; i < count; i++) {
        const item *it = item_at(h, h->head + i);
        payloads[i] = (rung_applier_payload){bytes_of(h, it), it->is_brief};
    }
    rung_status st =
        first->sink ? rung_applier_run_keys(h->applier, payloads[0].bytes, first->sink,
                                            answer_front, first->ctx, &r, &done, &err)
                    : rung_applier_run(h->applier, count, payloads, answer_front, &r, &done, &err);
    if (done)
        release_bytes(h, r.ring_end);
    if (st < 0)
        fail_to_apply(h, st, &err);
}

/* How many events stand at the head that may be applied together, before `end` and the next question. */
static uint32_t ready_events(const rung_hub *h, uint64_t end) {
    uint64_t durable = h->durable_seq - rung_state_seq(h->state), limit = end - h->head;
    uint32_t n = 0;
    if (h->failure.code < 0 || h->is_held)
        return 0;
    limit = limit < durable ? limit : durable;
    limit = limit < RUN_MAX ? limit : RUN_MAX;
    if (limit && item_at(h, h->head)->sink)
        return 1;
    for (const item *it; n < limit; n++)
        if ((it = item_at(h, h->head + n))->kind == ITEM_READ || it->sink)
            break;
    return n;
}

static bool is_front_ready(const rung_hub *h) {
    return h->head != h->tail &&
           (item_at(h, h->head)->kind == ITEM_READ || ready_events(h, h->tail) > 0);
}

/* H4. From the head on, as far as it goes, but not beyond `end`, and not much more than `budget` items. */
static void work_off(rung_hub *h, uint64_t end, uint64_t budget) {
    uint64_t stop = h->head + budget;
    RUNG_ASSERT(!h->is_working);
    h->is_working = true;
    h->is_resting = false;
    while (h->head < end && h->head < stop && !h->is_resting) {
        if (item_at(h, h->head)->kind == ITEM_READ) {
            item it = pop(h);
            it.read(it.ctx);
            continue;
        }
        uint32_t count = ready_events(h, end);
        if (count == 0)
            break;
        apply_front(h, count);
    }
    end_work(h);
}

/* All that can be, however long it takes: what is left will be refused. */
static void work_off_all(rung_hub *h) {
    do
        work_off(h, h->tail, UINT32_MAX);
    while (is_front_ready(h));
}

void rung_hub_rest(rung_hub *h) {
    h->is_resting = true;
}

/* ---- the writer ---- */

/* Events not handed over yet, at most `max`, as entries; *next_out: the position behind the last of them. */
static uint32_t gather(const rung_hub *h, uint32_t max, uint64_t *next_out) {
    uint32_t n = 0;
    uint64_t position = h->submitted;
    for (; position != h->tail && n < max; position++) {
        const item *it = item_at(h, position);
        if (it->kind != ITEM_READ)
            h->entries[n++] = (rung_log_entry){bytes_of(h, it), RUNG_LOG_TYPE_EVENT};
    }
    *next_out = position;
    return n;
}

/* As much as the writer takes; the bytes stay in the ring, where it reads them. What it does not take now waits for its
 * next word: it has something to do, or has to tell why not. */
static void hand_over(rung_hub *h) {
    uint32_t max = h->failure.code == RUNG_OK ? SUBMIT_MAX : 0;
    while (h->submitted != h->tail && max > 0) {
        uint64_t next, first_seq;
        uint32_t count = gather(h, max, &next);
        rung_status st = RUNG_OK;
        if (count)
            st = rung_writer_submit_many(h->writer, h->entries, count, &first_seq, NULL);
        if (st == RUNG_ELIMIT) {
            max /= 2;
            continue;
        }
        if (st < 0)
            return;
        RUNG_ASSERT(count == 0 || first_seq == h->submitted_seq + 1); /* H1 */
        h->submitted_seq += count;
        h->submitted = next;
    }
}

/* The disk is full: those with the writer, and those not handed over yet, did not happen. */
static void take_refusal(rung_hub *h, const rung_writer_state *s) {
    rung_err err, why = {0};
    char line[400];
    RUNG_ASSERT(s->refused_from == h->durable_seq + 1);
    rung_writer_failure(h->writer, &why);
    snprintf(line, sizeof line,
             "there is no space for the log, changes are refused, reads go on: %s", why.message);
    say(h, line);
    RUNG_FAIL(&err, RUNG_ENOSPC, "there is no space for the log: nothing was changed");
    h->is_full = true;
    h->is_held = false;
    work_off_all(h); /* what is durable of them did happen */
    refuse_all(h, RUNG_ENOSPC, &err);
    h->submitted_seq = s->refused_from - 1;
}

static void look_at_writer(rung_hub *h) {
    rung_writer_state s = rung_writer_poll(h->writer);
    if (h->failure.code < 0)
        return;
    h->durable_seq = s.durable_seq;
    if (s.refused_to)
        take_refusal(h, &s);
    if (h->is_full && s.status >= 0)
        say(h, "there is space again: changes are taken");
    h->is_full = s.status == RUNG_ENOSPC;
    if (s.status < 0 && s.status != RUNG_ENOSPC) {
        rung_err cause;
        rung_writer_failure(h->writer, &cause);
        h->is_held = false;
        work_off_all(h);
        fail_for_good(h, s.status, &cause);
    }
}

/* ---- those who wait for a sequence ---- */

/* A pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986) of the callers' own objects: nothing is allocated, joining
 * is one comparison, leaving O(log n) on average over any run of calls. A sorted list would cost n steps for each who
 * comes with a lower sequence than all others, and the senders choose it. */

static rung_hub_waiter *meld(rung_hub *h, rung_hub_waiter *a, rung_hub_waiter *b) {
    if (!a || !b)
        return a ? a : b;
    h->stats.waiter_steps++;
    if (b->seq < a->seq || (b->seq == a->seq && b->ticket < a->ticket)) {
        rung_hub_waiter *c = a;
        a = b;
        b = c;
    }
    b->next = a->child;
    if (b->next)
        b->next->above = b;
    b->above = a;
    a->child = b;
    a->next = a->above = NULL;
    return a;
}

/* One heap of a list of brothers: two by two, then all from the last to the first. */
static rung_hub_waiter *meld_all(rung_hub *h, rung_hub_waiter *first) {
    rung_hub_waiter *pairs = NULL, *all = NULL;
    while (first) {
        rung_hub_waiter *a = first, *b = a->next;
        first = b ? b->next : NULL;
        a->next = a->above = NULL;
        if (b)
            b->next = b->above = NULL;
        a = meld(h, a, b);
        a->next = pairs; /* from the last on */
        pairs = a;
    }
    while (pairs) {
        rung_hub_waiter *a = pairs;
        pairs = a->next;
        a->next = NULL;
        all = meld(h, all, a);
    }
    return all;
}

void rung_hub_wait(rung_hub *h, rung_hub_waiter *w) {
    RUNG_ASSERT(!w->is_waiting);
    w->is_waiting = true;
    w->ticket = h->tickets++;
    w->child = w->next = w->above = NULL;
    h->first_waiter = meld(h, h->first_waiter, w);
    if (w->seq <= rung_state_seq(h->state))
        wake(h);
}

void rung_hub_cancel(rung_hub *h, rung_hub_waiter *w) {
    if (!w->is_waiting)
        return;
    w->is_waiting = false;
    rung_hub_waiter *left = meld_all(h, w->child);
    if (w == h->first_waiter) {
        h->first_waiter = left;
    } else {
        *(w->above->child == w ? &w->above->child : &w->above->next) = w->next;
        if (w->next)
            w->next->above = w->above;
        h->first_waiter = meld(h, h->first_waiter, left);
    }
    w->child = w->next = w->above = NULL;
}

uint64_t rung_hub_reach(const rung_hub *h) {
    return rung_state_seq(h->state) + h->config.waiting_max + 1; /* and a tick */
}

static void call_waiters(rung_hub *h) {
    rung_hub_waiter *w;
    h->is_working = true;
    while ((w = h->first_waiter) && w->seq <= rung_state_seq(h->state)) {
        rung_hub_cancel(h, w);
        w->ready(w->ctx);
    }
    end_work(h);
}

/* ---- snapshots and old log ---- */

static uint64_t log_bytes(const rung_hub *h) {
    return h->bytes_before + (h->writer ? rung_writer_stat(h->writer).bytes : 0);
}

static rung_status begin_snapshot(rung_hub *h, rung_err *err) {
    rung_status st = rung_store_save_begin(h->store, h->state, err);
    h->bytes_at_save = log_bytes(h);
    if (st == RUNG_OK) {
        h->stats.is_snapshotting = true;
        h->saving_seq = rung_state_seq(h->state);
    }
    return st;
}

/* Begin one that waited for the log to be on the disk as far as the state is. */
static void begin_held_snapshot(rung_hub *h) {
    rung_err err = {0};
    if (!h->is_held || rung_log_durable_seq(rung_store_log(h->store)) < rung_state_seq(h->state))
        return;
    h->is_held = false;
    if (begin_snapshot(h, &err) < 0) {
        h->stats.snapshot_failures++;
        say(h, err.message);
    }
}

rung_status rung_hub_snapshot(rung_hub *h, rung_err *err) {
    const rung_hub_follower *f = h->config.follower;
    uint64_t seq = rung_state_seq(h->state);
    if (!h->store)
        return RUNG_FAIL_FIELD(err, RUNG_EUNSUPPORTED, "path", "there is none; nothing is kept");
    if (h->stats.is_snapshotting || h->is_held)
        return RUNG_FAIL(err, RUNG_EBUSY, "a snapshot is being written");
    if (f && f->snapshot_before && f->snapshot_before(f->ctx) <= seq)
        return RUNG_FAIL(err, RUNG_EBUSY, "the archive must catch up first");
    if (rung_log_durable_seq(rung_store_log(h->store)) >= seq)
        return begin_snapshot(h, err);
    h->is_held = true;
    rung_writer_sync_soon(h->writer);
    return RUNG_OK;
}

static void end_snapshot(rung_hub *h, rung_status st, rung_err *err) {
    h->stats.is_snapshotting = false;
    if (st >= 0)
        st = rung_store_needed_from(h->store, &h->kept_from, err);
    if (st < 0) {
        h->stats.snapshot_failures++;
        say(h, err->message);
        return;
    }
    h->stats.snapshots++;
    h->stats.snapshot_seq = h->saving_seq;
    h->stats.snapshot_ms = rung_steady_clock_now(&h->clock);
}

/* Has the log grown by as much as it shall between snapshots? And by no less than what players and rankings have in
 * memory, since that is what one costs: while it is written, every page that a change touches is copied first. With ten
 * million players and as many changes as can be made, 256 MiB alone would be one in eight seconds, two of them slow. */
static bool is_snapshot_due(const rung_hub *h) {
    uint64_t grown = log_bytes(h) - h->bytes_at_save;
    if (grown < h->config.snapshot_every)
        return false;
    rung_stats now;
    rung_state_stats(h->state, &now);
    return grown >= now.bytes_players + now.bytes_entries + now.bytes_scopes;
}

static void look_after_snapshots(rung_hub *h) {
    rung_err err = {0};
    rung_status st = rung_store_save_poll(h->store, false, &err);
    if (st != RUNG_PARTIAL && st != RUNG_NOT_FOUND)
        end_snapshot(h, st, &err);
    if (h->failure.code < 0 || h->stats.is_snapshotting || h->is_held || !is_snapshot_due(h))
        return;
    st = rung_hub_snapshot(h, &err);
    if (st < 0 && st != RUNG_EBUSY) {
        h->stats.snapshot_failures++;
        say(h, err.message);
    }
}

/* A folder that somebody removed or replaced keeps nothing: what would be acknowledged now would be lost. */
static bool is_in_place(rung_hub *h) {
    rung_err err = {0};
    if (h->failure.code < 0 || h->ticks % PLACE_TICKS != 0 ||
        rung_store_check_place(h->store, &err) == RUNG_OK)
        return true;
    if (h->config.fatal)
        h->config.fatal(h->config.ctx, &err);
    h->is_held = false;
    fail_for_good(h, RUNG_EIO, &err);
    return false;
}

/* Let go of the log that is in both snapshots and with the follower. */
static void trim_log(rung_hub *h) {
    const rung_hub_follower *f = h->config.follower;
    uint64_t from = h->kept_from;
    if (h->ticks++ % TRIM_TICKS != 0)
        return;
    if (f && f->needed_from) {
        uint64_t needed = f->needed_from(f->ctx);
        from = from < needed ? from : needed;
    }
    if (from <= 1 || from <= h->trimmed_from)
        return;
    h->trimmed_from = from;
    rung_writer_truncate_before(h->writer, from);
}

/* ---- the loop's part ---- */

static void end_look(rung_hub *h) {
    h->looked_at = h->tail;
    if (is_front_ready(h))
        wake(h);
}

void rung_hub_flush(rung_hub *h) {
    RUNG_ASSERT(!h->is_working);
    h->has_time = false;
    if (h->head == h->tail) {
        h->looked_at = h->tail;
        return;
    }
    if (!h->store) {
        h->durable_seq = UINT64_MAX; /* nobody to wait for */
        work_off(h, h->tail, UINT32_MAX);
        call_waiters(h);
    } else {
        hand_over(h); /* first: the disk works while we do */
        work_off(h, h->tail, TURN_MAX);
        hand_over(h);
    }
    end_look(h);
}

void rung_hub_turn(rung_hub *h) {
    RUNG_ASSERT(!h->is_working);
    if (!h->store) {
        rung_hub_flush(h);
        call_waiters(h);
        return;
    }
    look_at_writer(h);
    begin_held_snapshot(h);
    work_off(h, h->tail, TURN_MAX);
    call_waiters(h);
    hand_over(h);
    end_look(h);
}

void rung_hub_tick(rung_hub *h) {
    RUNG_ASSERT(!h->is_working);
    watch_time(h);
    if (rung_clock_monotonic_ms(&h->config.clock) - h->clock_saved_ms >= CLOCK_SAVE_MS)
        keep_time(h);
    if (h->store) {
        if (!is_in_place(h))
            return;
        look_after_snapshots(h);
        trim_log(h);
    }
    if (may_put(h, NULL) == RUNG_OK) {
        if (!h->has_time)
            begin_batch(h);
        rung_hub_flush(h);
    }
}

bool rung_hub_has_new(const rung_hub *h) {
    return h->tail != h->looked_at;
}

bool rung_hub_is_idle(const rung_hub *h) {
    return h->head == h->tail;
}

rung_status rung_hub_close(rung_hub *h, rung_err *err) {
    if (!h)
        return RUNG_OK;
    h->is_closing = true;
    h->is_held = false;
    settle(h);
    rung_err failure = h->failure;
    keep_time(h);
    rung_status st = release(h, err);
    if (failure.code < 0) {
        if (err)
            *err = failure;
        st = failure.code;
    }
    return st;
}

/* ---- looking ---- */

const rung_state *rung_hub_state(const rung_hub *h) {
    return h->state;
}

int64_t rung_hub_now(rung_hub *h) {
    return rung_steady_clock_now(&h->clock);
}

rung_hub_stats rung_hub_stat(const rung_hub *h) {
    rung_hub_stats s = h->stats;
    s.status = h->is_full ? RUNG_ENOSPC : h->failure.code;
    s.waiting = h->waiting.total;
    s.memory = h->memory.used;
    s.memory_peak = h->memory.peak;
    s.memory_max = h->config.memory_max;
    s.applied_seq = rung_state_seq(h->state);
    s.durable_seq = h->store ? h->durable_seq : s.applied_seq;
    if (h->writer) {
        rung_writer_stats w = rung_writer_stat(h->writer);
        s.batches = w.batches;
        s.log_bytes = w.bytes;
        s.sync_count = w.sync_count;
        s.sync_us_total = w.sync_us_total;
        _Static_assert(sizeof s.sync_us == sizeof w.sync_us, "the writer's buckets are the hub's");
        memcpy(s.sync_us, w.sync_us, sizeof s.sync_us);
    }
    return s;
}
