/* SPDX-License-Identifier: Apache-2.0 */
/* live.h - rankings as they move: topics, their frames, and the viewers they are sent to.
 *
 *     rung_live_create(&(rung_live_config){.alloc = a, .loop = loop, .state = state_of, ...}, &live, &err);
 *     rung_live_open(live, &spec, since, sink, ctx, &viewer, &err);   // a full state is sent, or what was missed
 *     ...
 *     rung_live_leave(viewer);                  // its connection is gone
 *     rung_live_stop(live);                     // every viewer is told; later: rung_live_destroy()
 *
 * A topic is one distinct question: the top N of a window and scope, a player's neighbourhood, a list of
 * friends, or what happens to one player on all boards (a feed). All viewers of a topic share it. Ten times a
 * second (frame_rate) each topic whose board has changed is asked again; what differs becomes one frame,
 * serialised once and sent to all its viewers by reference. So the cost follows topics and viewers, not the
 * rate of writes.
 *
 * A feed shows the boards that its viewers may see (`sight`): those who see other boards have a topic of their own. One
 * who asks (`asker`: a key, a player, an address) has at most half of the viewers and half of the topics that others
 * watch, or nobody: so nobody can shut everybody else out. A topic without viewers makes room for a new one.
 *
 * A frame's id is the log sequence of the state it shows. A viewer that comes back with the last id it saw gets
 * the frames after it, if they are still kept, else a full state. A viewer that does not keep up skips frames
 * and gets a full state when it has caught up: nothing ever queues up for it.
 *
 * Thread: the loop's. docs/live.md is the protocol. */
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
/* Bytes of a topic's name: every byte of the five texts may be escaped as three, and the words and numbers between
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
    rung_slice
        sight; /* of a feed: the boards it shows, in the words of config.sees(); ptr NULL: all */
    uint64_t asker; /* who asks, no part of the question; 0: somebody without a share */
} rung_live_spec;

/* How a viewer receives frames on the wire. */
typedef enum rung_live_encoding {
    RUNG_LIVE_SSE,       /* server-sent events inside chunks of HTTP */
    RUNG_LIVE_WEBSOCKET, /* text frames */
} rung_live_encoding;

typedef enum rung_live_end {
    RUNG_LIVE_STOPPING,  /* the server stops */
    RUNG_LIVE_GONE,      /* the board or player is there no longer */
    RUNG_LIVE_FORBIDDEN, /* may no longer see it */
    RUNG_LIVE_FAILED,    /* there is no memory */
} rung_live_end;

/* Where a viewer's frames go. All are called from the loop. */
typedef struct rung_live_sink {
    rung_live_encoding encoding;
    void (*send)(void *ctx, rung_blob *frame); /* takes a reference of its own if it keeps it */
    size_t (*queued)(void *ctx);               /* bytes sent and not yet taken by the peer */
    bool (*may)(
        void *ctx); /* still allowed? asked every second, and when config.rights() changes */
    void (*end)(void *ctx, rung_viewer *v,
                rung_live_end why); /* the viewer is over, and gone after this call */
} rung_live_sink;

/* Zero is a good default for what is said to have one. */
typedef struct rung_live_config {
    const rung_alloc *alloc;
    rung_loop *loop;
    const rung_state *(*state)(void *ctx); /* NULL is returned before there is one */
    int64_t (*now_ms)(void *ctx);
    /* What a ranked answer says before its entries, as members of an open object. */
    void (*write_head)(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                       const rung_view *view, uint64_t seq);
    /* One row as a JSON object. `place` counts from 1 in the list shown; `among`: of friends. */
    void (*write_row)(void *ctx, rung_json_writer *w, const rung_live_spec *spec,
                      const rung_view *view, const rung_row *row, uint32_t place, bool among);
    /* May who has this sight see this board? NULL: sights are not told apart. */
    bool (*sees)(void *ctx, rung_slice sight, rung_slice board);
    /* Another number when viewers may have other rights than before; NULL: they never do. */
    uint64_t (*rights)(void *ctx);
    void *ctx;
    uint32_t frame_rate;  /* per second; 0: 10 */
    uint32_t viewers_max; /* 0: 20,000 */
    uint32_t topics_max;  /* 0: 10,000 */
    uint32_t queued_max;  /* bytes: a viewer with more unsent skips frames; 0: 64 KiB */
    uint32_t keep_frames; /* per topic, for those who come back; 0: 32 */
    uint32_t keep_bytes;  /* likewise; 0: 128 KiB */
    uint32_t keep_ms;     /* a topic without viewers is kept this long, if there is room; 0: 60 s */
    uint32_t beat_ms;     /* something is sent at least this often; 0: 15 s */
    uint32_t feed_boards_max; /* boards a feed looks at; 0: 1,024 */
} rung_live_config;

RUNG_NODISCARD rung_status rung_live_create(const rung_live_config *config, rung_live **live_out,
                                            rung_err *err);
/* After rung_live_stop(), or when there never was a viewer. NULL is fine. */
void rung_live_destroy(rung_live *l);

/* A viewer of a topic. `since` (may be NULL) is the last id it has seen. The first frames are sent before this
 * returns. RUNG_NOT_FOUND: no such board, player, window, scope (`err`); RUNG_EINVAL; RUNG_ELIMIT: too many
 * viewers or topics, in all or of this asker; RUNG_ENOMEM; RUNG_ECLOSED: stopping, or there is no state yet.
 * `sink` and `ctx` are used until it is left or ended. */
RUNG_NODISCARD rung_status rung_live_open(rung_live *l, const rung_live_spec *spec,
                                          const uint64_t *since, const rung_live_sink *sink,
                                          void *ctx, rung_viewer **viewer_out, rung_err *err);
/* Would rung_live_open() find what `spec` asks for, and is there room? If so it only fails for want of memory. */
RUNG_NODISCARD rung_status rung_live_check(rung_live *l, const rung_live_spec *spec, rung_err *err);
/* The viewer is gone after this. */
void rung_live_leave(rung_viewer *v);
/* The name of its topic, as in its frames; valid as long as the viewer. */
rung_slice rung_viewer_topic(const rung_viewer *v);

/* End every viewer, open no more. */
void rung_live_stop(rung_live *l);

/* Make the frame that is due now: for tests, which do not wait. */
void rung_live_frame(rung_live *l);

typedef struct rung_live_stats {
    uint32_t viewers, topics;
    uint64_t frames;           /* made */
    uint64_t sent, sent_bytes; /* frames given to viewers */
    uint64_t skipped;          /* frames not given to a viewer that did not keep up */
    uint64_t resumed,
        anew;          /* viewers that came back: with what they missed, or with a full state */
    uint64_t frame_us; /* time spent making and sending */
    size_t memory;
} rung_live_stats;
rung_live_stats rung_live_stat(const rung_live *l);

#endif
