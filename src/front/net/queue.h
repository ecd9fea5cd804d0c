/* SPDX-License-Identifier: Apache-2.0 */
/* queue.h - bytes waiting to be sent: copies in pooled chunks, and shared blobs, in order.
 *
 * The zero value of a queue is empty. One pool serves all queues of a loop. Private to front/net. */
#ifndef RUNG_FRONT_NET_QUEUE_H
#define RUNG_FRONT_NET_QUEUE_H

#include "base/alloc.h"
#include "base/slice.h"
#include "front/net/net.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

/* Chunks of two sizes. One answer fits a small one, so ten thousand connections can be answered in one turn; longer
 * output gets large ones. */
#define RUNG__CHUNK_SMALL 992u
#define RUNG__CHUNK_LARGE 16352u

typedef enum rung__piece_kind {
    RUNG__PIECE_BLOB,
    RUNG__PIECE_SMALL,
    RUNG__PIECE_LARGE
} rung__piece_kind;
#define RUNG__PIECE_KINDS 3

typedef struct rung__piece {
    struct rung__piece *next;
    rung_blob *blob; /* of a blob piece; the others have their bytes here */
    rung__piece_kind kind;
    bool is_stuck; /* of a blob piece: see rung__queue_stick() */
    uint32_t size; /* room for bytes; of a blob its length */
    uint32_t start, end;
    char bytes[];
} rung__piece;

typedef struct rung__pool {
    const rung_alloc *alloc;
    rung__piece *free[RUNG__PIECE_KINDS];
    uint32_t free_count[RUNG__PIECE_KINDS];
    size_t memory; /* all that was taken and not given back to `alloc` */
    size_t used;   /* of it, in queues */
    size_t stuck;  /* bytes of blobs in queues that are stuck: each blob once */
} rung__pool;

typedef struct rung__queue {
    rung__piece *head, *tail;
    size_t size;            /* bytes in it */
    size_t memory;          /* of its chunks; blobs are shared */
    size_t blobs;           /* bytes of the blobs in it */
    uint32_t unstuck_count; /* blobs in it that are not stuck */
} rung__queue;

void rung__net_pool_deinit(rung__pool *p);

/* False: no memory; nothing was added. */
bool rung__queue_add(rung__queue *q, rung__pool *p, rung_slice bytes);
bool rung__queue_add_blob(rung__queue *q, rung__pool *p, rung_blob *b);
/* The first bytes as at most `max` buffers; returns how many. Valid until the front of the queue changes. */
uint32_t rung__queue_front(const rung__queue *q, struct iovec *bufs, uint32_t max);
void rung__queue_drop(rung__queue *q, rung__pool *p, size_t len); /* remove the first `len` bytes */
void rung__queue_clear(rung__queue *q, rung__pool *p);

/* The peer does not take what is queued: count its blobs in the pool, each one once however many queues hold it, until
 * they leave the queue. Unstick: the queue will not be sent any more. */
void rung__queue_stick(rung__queue *q, rung__pool *p);
void rung__queue_unstick(rung__queue *q, rung__pool *p);

#endif
