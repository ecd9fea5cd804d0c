/* SPDX-License-Identifier: Apache-2.0 */
/* topic.h - one distinct question and its recent frames. Shared inside front/live. */
#ifndef RUNG_FRONT_LIVE_TOPIC_H
#define RUNG_FRONT_LIVE_TOPIC_H

#include "base/list.h"
#include "front/live/live.h"

#define RUNG__ROWS_MAX 200u /* the most that any kind of topic shows */

typedef struct rung__topic rung__topic;

/* One frame: the text in one encoding; others are made on demand. */
typedef struct rung__frame {
    uint64_t since, seq;  /* of the state it starts from, and of the one it leads to */
    rung_blob *sse;       /* with the text inside */
    rung_blob *websocket; /* NULL until needed */
    uint32_t text_at, text_len;
} rung__frame;

/* Rows as they were shown: each one's JSON, and whose it is. */
typedef struct rung__list {
    char *text, *ids; /* one after the other */
    char *head;       /* what a state says before its entries */
    uint32_t text_room, ids_room, head_room, head_len;
    uint32_t count;
    uint32_t text_ends[RUNG__ROWS_MAX], id_ends[RUNG__ROWS_MAX];
} rung__list;

typedef struct rung__feed rung__feed; /* feed.c */

/* One who asks, with what counts against their share. */
typedef struct rung__asker {
    struct rung__asker *next_in_bucket;
    uint64_t who;
    uint32_t viewers, topics;
} rung__asker;

struct rung__topic {
    rung_live *live;
    rung__topic *next_in_bucket;
    RUNG_LINK(rung__topic) all, idle;
    rung__asker *asker; /* who opened it since it had no viewers; NULL: no share */
    RUNG_LIST(rung_viewer) viewers;
    uint32_t viewer_count;
    rung_live_spec spec; /* its texts are in `memory` */
    uint64_t name_hash;
    char *memory; /* the name, the sight, then the spec's other texts */
    uint32_t memory_size, name_len;
    /* what was shown last */
    bool has_state;
    uint64_t seq, version;
    uint32_t kind;              /* of window */
    int64_t ordinal, looked_ms; /* which one; when the clock was last checked for it */
    uint32_t total;
    rung__list *list; /* NULL for a feed */
    rung__feed *feed;
    /* frames */
    rung__frame full;  /* the whole state at `seq`; sse NULL: not made yet */
    rung__frame *kept; /* a ring of keep_frames, oldest first from `kept_first` */
    uint32_t kept_first, kept_count;
    size_t kept_bytes;
    int64_t idle_since_ms; /* of a topic without viewers */
};

struct rung_viewer {
    rung__topic *topic;
    RUNG_LINK(rung_viewer) viewers; /* of the topic */
    const rung_live_sink *sink;
    void *ctx;
    rung__asker *asker;        /* NULL: no share */
    int64_t sent_ms, asked_ms; /* last frame or beat; last question whether it still may */
    uint64_t asked_rights;     /* what config.rights() said then */
    bool is_behind;            /* skipped a frame: a full state is due */
};

struct rung_live {
    rung_live_config config;
    rung_timer timer;
    bool is_stopping;
    bool is_sending; /* a frame was made in the last turn, at: */
    uint64_t frame_ns;
    RUNG_LIST(rung__topic) topics, idle; /* all; those without viewers, the longest so first */
    rung__topic **buckets;
    rung__asker **askers;
    uint32_t bucket_count;                 /* of both */
    uint64_t rights;                       /* as of the last look */
    rung_json_writer rows, ids, head, out; /* scratch: rows, ids, a head; a frame's text */
    rung_row row_scratch[RUNG__ROWS_MAX];
    uint32_t row_ends[RUNG__ROWS_MAX], id_ends[RUNG__ROWS_MAX]; /* in rows and ids */
    /* New rows as they were; old ones still there. */
    bool is_same[RUNG__ROWS_MAX], is_found[RUNG__ROWS_MAX];
    rung_blob *beat; /* a comment, for server-sent events */
    rung_live_stats stats;
};

/* topic.c: query the state again. RUNG_OK: something changed, and a frame is kept; RUNG_UNCHANGED; RUNG_NOT_FOUND:
 * its board or player is gone; or a failure, which leaves it unchanged. */
RUNG_NODISCARD rung_status rung__topic_refresh(rung__topic *t, rung_err *err);
rung_query rung__topic_query(const rung_live *l, const rung_live_spec *spec);
/* The i-th of the kept frames, the oldest first. */
rung__frame *rung__topic_kept(const rung__topic *t, uint32_t i);
/* The full state as a frame; NULL: no memory. */
rung__frame *rung__topic_full(rung__topic *t);
void rung__topic_deinit(rung__topic *t);
/* A frame in an encoding; NULL: no memory. Borrowed. */
rung_blob *rung__frame_encoded(rung__frame *f, const rung_alloc *alloc,
                               rung_live_encoding encoding);
/* From l->out as text; false: no memory. Gives back what the frame had. */
bool rung__frame_make(rung_live *l, rung__frame *f, const char *event, uint64_t seq);
void rung__frame_clear(rung__frame *f);
/* Keep a made frame for those who come back; takes its references. */
void rung__topic_keep(rung__topic *t, rung__frame *f, uint64_t since);

/* feed.c */
RUNG_NODISCARD rung_status rung__feed_refresh(rung__topic *t, rung_err *err);
void rung__feed_write_state(rung__topic *t, rung_json_writer *w);
void rung__feed_destroy(rung__topic *t);

/* websocket.c: a whole frame of a server */
rung_blob *rung__websocket_frame(const rung_alloc *alloc, uint8_t opcode, rung_slice payload);

#endif
