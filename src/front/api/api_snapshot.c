/* SPDX-License-Identifier: Apache-2.0 */
/* The newest snapshot file over HTTP, for a server that joins. A worker thread reads one piece at a time, since that
 * may wait for the disk:
 *
 *     next -> read_piece (pool) -> piece_read (loop): write, then next, or wait for `drained`
 *
 * Invariants:
 *  1. One piece of one download is in memory, and its size does not depend on the file's.
 *  2. The exchange outlives the read: a client that leaves meanwhile is noticed in piece_read.
 *  3. The file is open from begin to end, so newer snapshots do not touch it. */
#include "base/bytes.h"
#include "codec/http1.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "journal/snapshot_file.h"

#include <stdarg.h>
#include <stdio.h>

enum { PIECE = 128 << 10, DOWNLOADS_MAX = 4, TEXT_MAX = 96 };

typedef struct rung_download {
    rung_work work;
    rung_call *call;
    rung_snapshot_raw raw;
    uint64_t at, end; /* bytes of the file still to be sent */
    char *piece;
    size_t got;
    rung_status status;
    bool is_reading;
    RUNG_LINK(struct rung_download) link;
} rung_download;

static void finish(rung_download *d) {
    rung_api *api = d->call->api;
    rung_exchange *x = d->call->x;
    bool is_whole = d->at == d->end && !rung_exchange_is_gone(x);
    RUNG_LIST_REMOVE(&api->downloads, d, link);
    api->download_count--;
    rung_file_close(&d->raw.file);
    if (is_whole)
        rung_exchange_end(x); /* frees the download */
    else
        rung_exchange_cut(x);
}

/* On a worker thread. */
static void read_piece(rung_work *work) {
    rung_download *d = work->ctx;
    uint64_t left = d->end - d->at;
    d->status = rung_file_read(&d->raw.file, d->piece, left < PIECE ? (size_t)left : PIECE, d->at,
                               &d->got, NULL);
}

static void next(rung_download *d) {
    if (d->at < d->end && !rung_exchange_is_gone(d->call->x) && !d->call->api->is_stopped &&
        rung_loop_work(d->call->api->config.loop, &d->work) == RUNG_OK)
        d->is_reading = true;
    else
        finish(d);
}

static void piece_read(rung_work *work) {
    rung_download *d = work->ctx;
    d->is_reading = false;
    if (d->status < 0 || d->got == 0 || rung_exchange_is_gone(d->call->x)) {
        finish(d);
        return;
    }
    d->at += d->got;
    bool has_room = rung_exchange_write(d->call->x, rung_slice_of(d->piece, d->got));
    if (has_room || d->at == d->end || d->call->api->is_stopped)
        next(d);
}

static void drained(void *ctx, rung_exchange *x) {
    rung_download *d = ctx;
    (void)x;
    if (!d->is_reading)
        next(d);
}

static void gone(void *ctx, rung_exchange *x) {
    rung_download *d = ctx;
    (void)x;
    if (!d->is_reading)
        finish(d);
}

void rung__download_stop_all(rung_api *api) {
    for (rung_download *d = api->downloads.first, *after; d; d = after) {
        after = d->link.next;
        if (!d->is_reading)
            finish(d);
    }
}

/* ---- the head ---- */

static void set_text(rung_exchange *x, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void set_text(rung_exchange *x, const char *name, const char *format, ...) {
    char text[TEXT_MAX];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    rung_exchange_set(x, name, rung_slice_of(text, (size_t)len));
}

static void set_names(rung_exchange *x, const rung_snapshot_raw *raw, const char *etag) {
    char id[2 * RUNG_UUID_SIZE + 1];
    for (size_t i = 0; i < RUNG_UUID_SIZE; i++)
        snprintf(id + 2 * i, 3, "%02x", raw->uuid[i]);
    rung_exchange_set(x, "ETag", rung_slice_str(etag));
    rung_exchange_set(x, "Accept-Ranges", RUNG_SLICE("bytes"));
    rung_exchange_set(x, "Cache-Control", RUNG_SLICE("no-store"));
    set_text(x, "Rung-Seq", "%llu", (unsigned long long)raw->info.seq);
    rung_exchange_set(x, "Rung-Log", rung_slice_str(id));
}

/* The part to send, and 200 or 206; 0: the call is ended. */
static int choose_part(rung_call *c, const rung_snapshot_raw *raw, const char *etag,
                       uint64_t *from_out, uint64_t *len_out) {
    rung_slice range = rung_exchange_header(c->x, "range");
    rung_slice wanted = rung_exchange_header(c->x, "if-range");
    *from_out = 0;
    *len_out = raw->size;
    if (wanted.ptr && !rung_slice_eq(wanted, rung_slice_str(etag)))
        return 200;
    rung_status st = rung_range_read(range, raw->size, from_out, len_out);
    if (st == RUNG_NOT_FOUND)
        return 200;
    if (st == RUNG_OK) {
        set_text(c->x, "Content-Range", "bytes %llu-%llu/%llu", (unsigned long long)*from_out,
                 (unsigned long long)(*from_out + *len_out - 1), (unsigned long long)raw->size);
        return 206;
    }
    set_text(c->x, "Content-Range", "bytes */%llu", (unsigned long long)raw->size);
    rung__call_fail_with(c, RUNG_ERANGE, RUNG_REASON_RANGE, "Range", "begins beyond the end");
    return 0;
}

static void begin(rung_call *c, rung_snapshot_raw *raw) {
    char etag[TEXT_MAX];
    uint64_t from, len;
    snprintf(etag, sizeof etag, "\"%llu-%016llx%016llx\"", (unsigned long long)raw->info.seq,
             (unsigned long long)rung_get64(raw->info.digest),
             (unsigned long long)rung_get64(raw->info.digest + 8));
    set_names(c->x, raw, etag);
    int status = choose_part(c, raw, etag, &from, &len);
    rung_download *d = status ? rung__call_alloc(c, sizeof *d) : NULL;
    char *piece = d ? rung__call_alloc(c, PIECE) : NULL;
    if (!piece) {
        rung_file_close(&raw->file);
        return;
    }
    bool is_head = rung_exchange_request(c->x)->method == RUNG_METHOD_HEAD;
    *d = (rung_download){.call = c,
                         .raw = *raw,
                         .at = is_head ? from + len : from,
                         .end = from + len,
                         .piece = piece,
                         .work = {.run = read_piece, .done = piece_read, .ctx = d}};
    c->is_stream = true;
    c->api->download_count++;
    RUNG_LIST_APPEND(&c->api->downloads, d, link);
    rung_exchange_watch(c->x, &(rung_exchange_watcher){drained, gone, d});
    rung_exchange_begin_sized(c->x, status, RUNG_TYPE_BYTES, len);
    next(d);
}

/* There is none yet: begin one, and ask the client to come back. */
static void begin_first(rung_call *c) {
    rung_err err = {0};
    rung_status st = rung_hub_snapshot(c->api->service.hub, &err);
    if (st < 0 && st != RUNG_EBUSY)
        rung__call_fail(c, st, &err);
    else
        rung__call_fail_with(c, RUNG_EBUSY, RUNG_REASON_NO_SNAPSHOT, NULL,
                             "there is no snapshot yet; one is being written");
}

void rung_api_download_snapshot(rung_call *c) {
    rung_snapshot_raw raw;
    rung_err err = {0};
    if (c->api->download_count >= DOWNLOADS_MAX) {
        rung__call_overloaded(c);
        return;
    }
    rung_status st = rung_hub_open_snapshot(c->api->service.hub, &raw, &err);
    if (st == RUNG_OK)
        begin(c, &raw);
    else if (st == RUNG_NOT_FOUND)
        begin_first(c);
    else
        rung__call_fail(c, st, &err);
}
