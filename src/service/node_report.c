/* SPDX-License-Identifier: Apache-2.0 */
#include "service/node_report.h"

#include "base/bytes.h"

enum { FORMAT = 1 };
enum { MAKES_CHECKPOINT = 1 << 0, IS_LEAVING = 1 << 1, IS_DIVERGED = 1 << 2 };

static void put_word(rung_byte_writer *w, uint64_t word) {
    uint8_t bytes[8];
    rung_put64(bytes, word);
    rung_put_bytes(w, bytes, sizeof bytes);
}

static uint64_t get_word(rung_byte_reader *r) {
    if (rung_byte_reader_left(r) < 8) {
        rung_byte_reader_fail(r, "it ends too early");
        return 0;
    }
    r->at += 8;
    return rung_get64(r->at - 8);
}

static rung_slice cut(rung_slice text, size_t max) {
    return rung_slice_of(text.ptr, text.len < max ? text.len : max);
}

size_t rung_node_report_encode(const rung_node_report *report,
                               uint8_t out[RUNG_NODE_REPORT_SIZE_MAX]) {
    rung_byte_writer w = rung_byte_writer_of(out, RUNG_NODE_REPORT_SIZE_MAX);
    uint32_t count = report->checkpoint_count;
    rung_put_byte(&w, FORMAT);
    rung_put_byte(&w, (uint8_t)((report->makes_checkpoint ? MAKES_CHECKPOINT : 0) |
                                (report->is_leaving ? IS_LEAVING : 0) |
                                (report->is_diverged ? IS_DIVERGED : 0)));
    put_word(&w, report->node);
    rung_put_number(&w, report->run);
    rung_put_signed(&w, report->time_ms);
    rung_put_number(&w, report->seq);
    rung_put_number(&w, report->level);
    rung_put_number(&w, report->heartbeat_ms);
    rung_put_text(&w, cut(report->version, RUNG_NODE_VERSION_MAX));
    rung_put_text(&w, cut(report->address, RUNG_NODE_ADDRESS_MAX));
    rung_put_number(&w, count);
    for (uint32_t i = 0; i < count; i++) {
        rung_put_number(&w, report->checkpoints[i].seq);
        put_word(&w, report->checkpoints[i].digest.a);
        put_word(&w, report->checkpoints[i].digest.b);
    }
    return rung_byte_writer_length(&w);
}

static rung_slice get_text(rung_byte_reader *r, size_t max) {
    rung_slice text = rung_get_text(r);
    if (text.len > max)
        rung_byte_reader_fail(r, "a text is too long");
    return r->fault ? (rung_slice){NULL, 0} : text;
}

rung_status rung_node_report_decode(rung_slice bytes, rung_node_report *out, rung_err *err) {
    rung_byte_reader r = rung_byte_reader_of(bytes);
    uint8_t format = rung_get_byte(&r);
    if (!r.fault && format != FORMAT)
        return RUNG_FAIL(err, RUNG_EVERSION,
                         "a report of format %u, which this version does not know",
                         (unsigned)format);
    uint8_t flags = rung_get_byte(&r);
    *out = (rung_node_report){.node = get_word(&r),
                              .makes_checkpoint = flags & MAKES_CHECKPOINT,
                              .is_leaving = flags & IS_LEAVING,
                              .is_diverged = flags & IS_DIVERGED};
    out->run = rung_get_number(&r);
    out->time_ms = rung_get_signed(&r);
    out->seq = rung_get_number(&r);
    out->level = rung_get_count(&r, UINT32_MAX);
    out->heartbeat_ms = rung_get_count(&r, UINT32_MAX);
    out->version = get_text(&r, RUNG_NODE_VERSION_MAX);
    out->address = get_text(&r, RUNG_NODE_ADDRESS_MAX);
    out->checkpoint_count = rung_get_count(&r, RUNG_REPORT_CHECKPOINTS);
    for (uint32_t i = 0; i < out->checkpoint_count; i++) {
        out->checkpoints[i].seq = rung_get_number(&r);
        out->checkpoints[i].digest.a = get_word(&r);
        out->checkpoints[i].digest.b = get_word(&r);
    }
    rung_get_rest(&r);
    return rung_byte_reader_finish(&r, bytes, "the report", err);
}
