/* SPDX-License-Identifier: Apache-2.0 */
/* Every block has a magic, a version and a CRC32C of all its bytes (with the CRC field as zero), so any changed bit
 * is detected. Unused bytes are zero and covered as well: a later version can use them, and an older reader notices. */
#include "journal/segment.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

static const char SEGMENT_MAGIC[8] = {'R', 'U', 'N', 'G', 'L', 'O', 'G', '1'};
static const char FOOTER_MAGIC[8] = {'R', 'U', 'N', 'G', 'S', 'E', 'A', 'L'};
static const char MARK_MAGIC[8] = {'R', 'U', 'N', 'G', 'M', 'A', 'R', 'K'};

/* All blocks start with: magic 8, version 4, CRC 4, uuid 16. */
enum { AT_VERSION = 8, AT_CRC = 12, AT_UUID = 16, AT_BODY = 32 };

void rung_segment_name(char name_out[RUNG_FILE_NAME_MAX], uint64_t first_seq, uint32_t epoch) {
    snprintf(name_out, RUNG_FILE_NAME_MAX, "%020llu-%08x.seg", (unsigned long long)first_seq,
             epoch);
}

bool rung_segment_name_parse(const char *name, uint64_t *first_seq_out, uint32_t *epoch_out) {
    unsigned __int128 seq = 0;
    uint32_t epoch = 0;
    if (strlen(name) != 33 || name[20] != '-' || strcmp(name + 29, ".seg") != 0)
        return false;
    for (int i = 0; i < 20; i++) {
        if (name[i] < '0' || name[i] > '9')
            return false;
        seq = seq * 10 + (unsigned)(name[i] - '0');
    }
    for (int i = 21; i < 29; i++) {
        char c = name[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !(c >= 'a' && c <= 'f'))
            return false;
        epoch = epoch << 4 | (uint32_t)(is_digit ? c - '0' : c - 'a' + 10);
    }
    if (seq == 0 || seq > UINT64_MAX)
        return false;
    *first_seq_out = (uint64_t)seq;
    *epoch_out = epoch;
    return true;
}

uint32_t rung_segment_salt(const uint8_t uuid[RUNG_UUID_SIZE]) {
    return rung_crc32c(0, uuid, RUNG_UUID_SIZE);
}

/* ---- blocks ---- */

uint32_t rung__block_crc(const uint8_t *block, size_t size) {
    static const uint8_t zero[4];
    uint32_t crc = rung_crc32c(0, block, AT_CRC);
    crc = rung_crc32c(crc, zero, sizeof zero);
    return rung_crc32c(crc, block + AT_CRC + 4, size - AT_CRC - 4);
}

void rung__block_begin(uint8_t *block, size_t size, const char magic[8], uint32_t version,
                       const uint8_t uuid[RUNG_UUID_SIZE]) {
    memset(block, 0, size);
    memcpy(block, magic, 8);
    rung_put32(block + AT_VERSION, version);
    memcpy(block + AT_UUID, uuid, RUNG_UUID_SIZE);
}

void rung__block_end(uint8_t *block, size_t size) {
    rung_put32(block + AT_CRC, rung__block_crc(block, size));
}

static rung_status block_check(const uint8_t *block, size_t size, const char magic[8]) {
    if (memcmp(block, magic, 8) != 0 || rung_get32(block + AT_CRC) != rung__block_crc(block, size))
        return RUNG_ECORRUPT;
    uint32_t version = rung_get32(block + AT_VERSION);
    if (version > RUNG_SEGMENT_VERSION)
        return RUNG_EVERSION;
    return version == RUNG_SEGMENT_VERSION ? RUNG_OK : RUNG_ECORRUPT;
}

void rung_segment_header_encode(const rung_segment_header *h,
                                uint8_t out[RUNG_SEGMENT_HEADER_SIZE]) {
    rung__block_begin(out, RUNG_SEGMENT_HEADER_SIZE, SEGMENT_MAGIC, RUNG_SEGMENT_VERSION, h->uuid);
    rung_put64(out + AT_BODY, h->first_seq);
    rung_put64(out + AT_BODY + 8, h->capacity);
    rung_put32(out + AT_BODY + 16, h->epoch);
    rung_put32(out + AT_BODY + 20, h->chain);
    memcpy(out + AT_BODY + 24, h->previous_sha, RUNG_SHA256_SIZE);
    rung__block_end(out, RUNG_SEGMENT_HEADER_SIZE);
}

rung_status rung_segment_header_decode(const uint8_t in[RUNG_SEGMENT_HEADER_SIZE],
                                       rung_segment_header *h_out) {
    rung_status st = block_check(in, RUNG_SEGMENT_HEADER_SIZE, SEGMENT_MAGIC);
    if (st < 0)
        return st;
    rung_segment_header h = {
        .first_seq = rung_get64(in + AT_BODY),
        .capacity = rung_get64(in + AT_BODY + 8),
        .epoch = rung_get32(in + AT_BODY + 16),
        .chain = rung_get32(in + AT_BODY + 20),
    };
    memcpy(h.uuid, in + AT_UUID, RUNG_UUID_SIZE);
    memcpy(h.previous_sha, in + AT_BODY + 24, RUNG_SHA256_SIZE);
    if (h.first_seq == 0 || h.capacity < RUNG_SEGMENT_SIZE_MIN ||
        h.capacity > RUNG_SEGMENT_SIZE_MAX || h.capacity % RUNG_SECTOR_SIZE != 0)
        return RUNG_ECORRUPT;
    *h_out = h;
    return RUNG_OK;
}

void rung_segment_footer_encode(const rung_segment_footer *f,
                                uint8_t out[RUNG_SEGMENT_FOOTER_SIZE]) {
    rung__block_begin(out, RUNG_SEGMENT_FOOTER_SIZE, FOOTER_MAGIC, RUNG_SEGMENT_VERSION, f->uuid);
    rung_put64(out + AT_BODY, f->first_seq);
    rung_put64(out + AT_BODY + 8, f->last_seq);
    rung_put64(out + AT_BODY + 16, f->last_seq - f->first_seq + 1);
    rung_put64(out + AT_BODY + 24, f->offset);
    rung_put32(out + AT_BODY + 32, f->epoch);
    rung_put32(out + AT_BODY + 36, f->chain);
    memcpy(out + AT_BODY + 40, f->sha, RUNG_SHA256_SIZE);
    rung__block_end(out, RUNG_SEGMENT_FOOTER_SIZE);
}

rung_status rung_segment_footer_decode(const uint8_t in[RUNG_SEGMENT_FOOTER_SIZE],
                                       rung_segment_footer *f_out) {
    rung_status st = block_check(in, RUNG_SEGMENT_FOOTER_SIZE, FOOTER_MAGIC);
    if (st < 0)
        return st;
    rung_segment_footer f = {
        .first_seq = rung_get64(in + AT_BODY),
        .last_seq = rung_get64(in + AT_BODY + 8),
        .offset = rung_get64(in + AT_BODY + 24),
        .epoch = rung_get32(in + AT_BODY + 32),
        .chain = rung_get32(in + AT_BODY + 36),
    };
    memcpy(f.uuid, in + AT_UUID, RUNG_UUID_SIZE);
    memcpy(f.sha, in + AT_BODY + 40, RUNG_SHA256_SIZE);
    if (f.first_seq == 0 || f.last_seq < f.first_seq ||
        rung_get64(in + AT_BODY + 16) != f.last_seq - f.first_seq + 1)
        return RUNG_ECORRUPT;
    *f_out = f;
    return RUNG_OK;
}

void rung_high_water_encode(const rung_high_water *m, uint8_t out[RUNG_HIGH_WATER_SLOT_SIZE]) {
    rung__block_begin(out, RUNG_HIGH_WATER_SLOT_SIZE, MARK_MAGIC, RUNG_SEGMENT_VERSION, m->uuid);
    rung_put64(out + AT_BODY, m->generation);
    rung_put64(out + AT_BODY + 8, m->seq);
    rung_put64(out + AT_BODY + 16, m->segment_first_seq);
    rung_put64(out + AT_BODY + 24, m->offset);
    rung_put32(out + AT_BODY + 32, m->segment_epoch);
    rung_put32(out + AT_BODY + 36, m->chain);
    rung__block_end(out, RUNG_HIGH_WATER_SLOT_SIZE);
}

rung_status rung_high_water_decode(const uint8_t in[RUNG_HIGH_WATER_SLOT_SIZE],
                                   rung_high_water *m_out) {
    rung_status st = block_check(in, RUNG_HIGH_WATER_SLOT_SIZE, MARK_MAGIC);
    if (st < 0)
        return st;
    *m_out = (rung_high_water){
        .generation = rung_get64(in + AT_BODY),
        .seq = rung_get64(in + AT_BODY + 8),
        .segment_first_seq = rung_get64(in + AT_BODY + 16),
        .offset = rung_get64(in + AT_BODY + 24),
        .segment_epoch = rung_get32(in + AT_BODY + 32),
        .chain = rung_get32(in + AT_BODY + 36),
    };
    memcpy(m_out->uuid, in + AT_UUID, RUNG_UUID_SIZE);
    return RUNG_OK;
}

/* ---- records ---- */

/* The header's checksum covers its 32 bytes, with the checksum field (bytes 4 to 7) as zero. */
void rung_record_header_encode(const rung_record_header *r, uint32_t salt,
                               uint8_t out[RUNG_RECORD_HEADER_SIZE]) {
    rung_put32(out, r->length);
    rung_put32(out + 4, 0);
    rung_put64(out + 8, r->seq);
    rung_put32(out + 16, r->epoch);
    rung_put32(out + 20, r->batch);
    rung_put16(out + 24, r->type);
    rung_put16(out + 26, r->flags);
    rung_put32(out + 28, r->payload_crc);
    rung_put32(out + 4, rung_crc32c(salt, out, RUNG_RECORD_HEADER_SIZE));
}

bool rung_record_header_decode(const uint8_t in[RUNG_RECORD_HEADER_SIZE], uint32_t salt,
                               rung_record_header *r_out) {
    uint8_t plain[RUNG_RECORD_HEADER_SIZE];
    memcpy(plain, in, sizeof plain);
    rung_put32(plain + 4, 0);
    if (rung_get32(in + 4) != rung_crc32c(salt, plain, sizeof plain))
        return false;
    *r_out = (rung_record_header){
        .length = rung_get32(in),
        .seq = rung_get64(in + 8),
        .epoch = rung_get32(in + 16),
        .batch = rung_get32(in + 20),
        .type = rung_get16(in + 24),
        .flags = rung_get16(in + 26),
        .payload_crc = rung_get32(in + 28),
    };
    return true;
}

void rung_frame_encode(rung_frame_state *s, uint8_t *out, const rung_log_entry *entry,
                       uint32_t batch, uint16_t flags) {
    size_t len = entry->payload.len;
    RUNG_ASSERT(len <= RUNG_LOG_RECORD_MAX);
    s->chain = rung_crc32c(s->chain, entry->payload.ptr, len);
    rung_record_header r = {(uint32_t)len, s->next_seq, s->epoch, batch,
                            entry->type,   flags,       s->chain};
    rung_record_header_encode(&r, s->salt, out);
    if (len)
        memcpy(out + RUNG_RECORD_HEADER_SIZE, entry->payload.ptr, len);
    memset(out + RUNG_RECORD_HEADER_SIZE + len, 0, -len & 7);
    s->next_seq++;
    s->batch = batch;
    s->flags = flags;
}

/* The batch that the next record may belong to: the same one while its append continues (or while sync_every_ms
 * delays the sync), the next one after an end. */
static bool is_batch_in_order(const rung_frame_state *s, const rung_record_header *r) {
    if (s->batch == 0)
        return r->batch == 1;
    bool is_append_done = s->flags & RUNG_RECORD_END;
    if (r->batch == s->batch)
        return !is_append_done || (r->flags & s->flags & RUNG_RECORD_RELAXED);
    return is_append_done && r->batch == s->batch + 1;
}

static bool is_in_order(const rung_frame_state *s, const rung_record_header *r) {
    return r->seq == s->next_seq && r->epoch == s->epoch &&
           (r->flags & ~(RUNG_RECORD_END | RUNG_RECORD_RELAXED)) == 0 && is_batch_in_order(s, r);
}

rung_frame_verdict rung_frame_next(rung_frame_state *s, const uint8_t *in, size_t available,
                                   uint64_t space, rung_record_header *header_out,
                                   size_t *need_out) {
    if (available < RUNG_RECORD_HEADER_SIZE) {
        *need_out = RUNG_RECORD_HEADER_SIZE;
        return space < RUNG_RECORD_HEADER_SIZE ? RUNG_FRAME_ZERO : RUNG_FRAME_MORE;
    }
    rung_record_header r;
    if (!rung_record_header_decode(in, s->salt, &r)) {
        if (memcmp(in, FOOTER_MAGIC, sizeof FOOTER_MAGIC) == 0)
            return RUNG_FRAME_FOOTER;
        return rung_is_zero(in, RUNG_RECORD_HEADER_SIZE) ? RUNG_FRAME_ZERO : RUNG_FRAME_BAD_HEADER;
    }
    size_t framed = rung_log_framed_size(r.length);
    if (r.length > RUNG_LOG_RECORD_MAX || framed > space)
        return RUNG_FRAME_BAD_ORDER;
    if (!is_in_order(s, &r))
        return RUNG_FRAME_BAD_ORDER;
    if (available < framed) {
        *need_out = framed;
        return RUNG_FRAME_MORE;
    }
    const uint8_t *payload = in + RUNG_RECORD_HEADER_SIZE;
    uint32_t chain = rung_crc32c(s->chain, payload, r.length);
    if (chain != r.payload_crc || !rung_is_zero(payload + r.length, -(size_t)r.length & 7))
        return RUNG_FRAME_BAD_PAYLOAD;
    s->next_seq++;
    s->chain = chain;
    s->batch = r.batch;
    s->flags = r.flags;
    *header_out = r;
    return RUNG_FRAME_OK;
}

const char *rung_frame_verdict_text(rung_frame_verdict v) {
    switch (v) {
    case RUNG_FRAME_OK:
        return "a whole record";
    case RUNG_FRAME_MORE:
        return "the file ends inside the record";
    case RUNG_FRAME_ZERO:
        return "zeros where a record should be";
    case RUNG_FRAME_FOOTER:
        return "a footer where a record should be";
    case RUNG_FRAME_BAD_HEADER:
        return "the record header does not match its checksum";
    case RUNG_FRAME_BAD_PAYLOAD:
        return "the payload does not match its checksum";
    case RUNG_FRAME_BAD_ORDER:
        return "a record that does not belong here";
    }
    return "unknown";
}
