/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - live rankings: topics, their frames, and the viewers who receive them.
 *
 *     rung_live_create(&(rung_live_config){.alloc = a, .loop = loop, .state = state_of, ...}, &live, &err);
 *     rung_live_open(live, &spec, since, sink, ctx, &viewer, &err);   // sends the full state, or the missed frames
 *     ...
 *     rung_live_leave(viewer);                  // its connection is gone
 *     rung_live_stop(live);                     // ends every viewer; later: rung_live_destroy()
 *
 * A topic is one distinct query: the top N of a window and scope, a player's neighbourhood, a list of friends, or the
 * events of one player on all boards (a feed). All its viewers share it. Ten times a second (frame_rate) each topic
 * whose board has changed is queried again. The difference becomes one frame, serialised once and sent to all viewers
 * by reference. So the cost depends on topics and viewers, not on the rate of writes.
 *
 * A feed shows the boards that its viewers may see (`sight`): viewers with other rights get a separate topic. One
 * asker (a key, player or address) may hold at most half of the viewers and of the topics that have viewers, so that
 * nobody can lock out everyone else. A topic without viewers is evicted when a new one needs its place.
 *
 * A frame's id is the log sequence of the state it shows. A viewer that reconnects with the last id it saw gets the
 * frames after it if they are still kept, otherwise the full state. A slow viewer skips frames and gets the full
 * state once it has caught up: nothing queues up for it.
 *
 * Thread: the loop's. docs/live.md specifies the protocol. */
#ifndef RUNG_FRONT_LIVE_LIVE_H
#define RUNG_FRONT_LIVE_LIVE_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"
#include "codec/json_writer.h"
#include "front/net/net.h"
#include "model/board.h"
#include "state/state.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_live rung_live; /* heap object; whoever created it calls rung_live_destroy() */
typedef struct rung_viewer rung_viewer; /* owned by live, until left or ended */

#define RUNG_LIVE_TOP_MAX     100u
#define RUNG_LIVE_AROUND_MAX  50u
#define RUNG_LIVE_FRIENDS_MAX 200u
#define RUNG_LIVE_SCOPE_MAX   (2u * RUNG_NAME_MAX + 1u) /* bytes of "attribute:value" */
/* The longest topic name: every byte of the five texts may be escaped as three, and the words and numbers between
 * them ("boards/", "?friends=", "&limit=", ...) take less than 96. */
#define RUNG_LIVE_TOPIC_MAX (3u * (4u * RUNG_NAME_MAX + RUNG_LIVE_SCOPE_MAX) + 96u)

typedef enum rung_live_kind {
    RUNG_LIVE_TOP,     /* the first `count` */
    RUNG_LIVE_AROUND,  /* `player` with `count` above and below */
    RUNG_LIVE_FRIENDS, /* `player` and those they follow, at most `count` */
    RUNG_LIVE_FEED,    /* `player` on every board that has `window` */
} rung_live_kind;

typedef struct rung_live_spec {
    rung_live_kind kind;
    rung_slice board; /* empty for a feed */
    rung_slice player;
    uint32_t count;
    rung_slice window, window_id, scope; /* as in rung_query; may be empty */
    bool has_rank;
    rung_rank_style rank;
    /* Of a feed: the boards it shows, in the words of config.sees(); ptr NULL: all. */
    rung_slice sight;
    /* It is the player who asks: shows the entries that a shadow ban holds. Such a topic is nobody else's. */
    bool is_own;
    uint64_t asker; /* who asks; not part of the query; 0: without a share */
} rung_live_spec;

/* How a viewer receives frames on the wire. */
typedef enum rung_live_encoding {
    RUNG_LIVE_SSE,       /* server-sent events inside chunks of HTTP */
    RUNG_LIVE_WEBSOCKET, /* text frames */
} rung_live_encoding;

typedef enum rung_live_end {
    RUNG_LIVE_STOPPING,  /* the server stops */
    RUNG_LIVE_GONE,      /* the board or player no longer exists */
    RUNG_LIVE_FORBIDDEN, /* may no longer see it */
    RUNG_LIVE_FAILED,    /* out of memory */
} rung_live_end;

/* Receives a viewer's frames. All functions are called in the loop's thread. */
typedef struct rung_live_sink {
    rung_live_encoding encoding;
    void (*send)(void *ctx, rung_blob *frame); /* must take its own reference to keep it */
    size_t (*queued)(void *ctx);               /* bytes sent but not yet taken by the peer */
    /* Is it still allowed? Checked every second, and when config.rights() changes. */
    bool (*may)(void *ctx);
    /* The viewer is over, and gone after this call. */
    void (*end)(void *ctx, rung_viewer *v, rung_live_end why);
} rung_live_sink;

/* Zero is a good default for the fields that document one. */
typedef struct rung_live_config {
    const rung_alloc *alloc;
    rung_loop *loop;
    const rung_state *(*state)(void *ctx); /* returns NULL before there is one */
    int64_t (*now_ms)(void *ctx);
    /* Write what comes before the entries, as members of an open object. */
    void (*write_head)(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                       const rung_view *view, uint64_t seq);
    /* Write one row as a JSON object. `place` counts from 1 in the list shown; `among`: in a list of friends. */
    void (*write_row)(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                      const rung_view *view, const rung_row *row, uint32_t place, bool among);
    /* May a viewer with this sight see this board? NULL: all sights are equal. */
    bool (*sees)(void *ctx, rung_slice sight, rung_slice board);
    /* Show, for a refresh of an own topic, what a shadow ban holds of the player; true: conceal() has to follow. NULL:
     * there are no such bans. */
    bool (*reveal)(void *ctx, rung_slice board, rung_slice player);
    void (*conceal)(void *ctx);
    /* Returns a new number whenever viewers' rights may have changed; NULL: they never change. */
    uint64_t (*rights)(void *ctx);
    void *ctx;
    uint32_t frame_rate;  /* per second; 0: 10 */
    uint32_t viewers_max; /* 0: 20,000 */
    uint32_t topics_max;  /* 0: 10,000 */
    uint32_t queued_max;  /* bytes: a viewer with more unsent skips frames; 0: 64 KiB */
    uint32_t keep_frames; /* per topic, for viewers that reconnect; 0: 32 */
    uint32_t keep_bytes;  /* likewise; 0: 128 KiB */
    uint32_t keep_ms;     /* how long to keep a topic without viewers, if there is room; 0: 60 s */
    uint32_t beat_ms;     /* send something at least this often; 0: 15 s */
    uint32_t feed_boards_max; /* boards a feed looks at; 0: 1,024 */
} rung_live_config;

RUNG_NODISCARD rung_status rung_live_create(const rung_live_config *config, rung_live **live_out,
                                            rung_err *err);
/* Call it after rung_live_stop(), or if there never was a viewer. Accepts NULL. */
void rung_live_destroy(rung_live *l);

/* Add a viewer to a topic. `since` (may be NULL) is the last id it has seen. Sends the first frames before it
 * returns. RUNG_NOT_FOUND: no such board, player, window or scope (see `err`); RUNG_EINVAL; RUNG_ELIMIT: too many
 * viewers or topics, in total or of this asker; RUNG_ENOMEM; RUNG_ECLOSED: stopping, or no state yet. `sink` and
 * `ctx` must live until the viewer has left or ended. */
RUNG_NODISCARD rung_status rung_live_open(rung_live *l, const rung_live_spec *spec,
                                          const uint64_t *since, const rung_live_sink *sink,
                                          void *ctx, rung_viewer **viewer_out, rung_err *err);
/* Would rung_live_open() succeed? If so, it can fail only for lack of memory. */
RUNG_NODISCARD rung_status rung_live_check(rung_live *l, const rung_live_spec *spec, rung_err *err);
/* Remove and free the viewer. */
void rung_live_leave(rung_viewer *v);
/* The name of its topic, as in its frames; valid as long as the viewer. */
rung_slice rung_viewer_topic(const rung_viewer *v);

/* End every viewer, open no more. */
void rung_live_stop(rung_live *l);

/* Make the due frame now, for tests. */
void rung_live_frame(rung_live *l);

typedef struct rung_live_stats {
    uint32_t viewers, topics;
    uint64_t frames;           /* made */
    uint64_t sent, sent_bytes; /* frames given to viewers */
    uint64_t skipped;          /* frames that slow viewers skipped */
    /* Viewers that came back: with what they missed, or with a full state. */
    uint64_t resumed, anew;
    uint64_t frame_us; /* time spent making and sending */
    size_t memory;
} rung_live_stats;
rung_live_stats rung_live_stat(const rung_live *l);

#endif
