/* SPDX-License-Identifier: Apache-2.0 */
/* The byte formats: there and back, every bit counts, and the bytes are those of docs/formats/journal.md. */
#include "base/bytes.h"
#include "journal/segment.h"
#include "support/check.h"

#include <string.h>

static const uint8_t UUID[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TEST(names_of_segments) {
    char name[RUNG_FILE_NAME_MAX];
    uint64_t seq;
    uint32_t epoch;
    rung_segment_name(name, 42, 0xabc);
    CHECK_EQ_STR(name, "00000000000000000042-00000abc.seg");
    CHECK(rung_segment_name_parse(name, &seq, &epoch));
    CHECK_EQ_U64(seq, 42);
    CHECK_EQ_U64(epoch, 0xabc);
    rung_segment_name(name, UINT64_MAX, UINT32_MAX);
    CHECK(rung_segment_name_parse(name, &seq, &epoch) && seq == UINT64_MAX && epoch == UINT32_MAX);
    static const char *const bad[] = {"",
                                      "lock",
                                      "00000000000000000042-00000ABC.seg",
                                      "00000000000000000042-00000abc.sez",
                                      "00000000000000000000-00000001.seg",
                                      "99999999999999999999-00000001.seg",
                                      "0000000000000000004x-00000001.seg",
                                      "00000000000000000042_00000abc.seg",
                                      "00000000000000000042-00000abc.seg.tmp"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_MSG(!rung_segment_name_parse(bad[i], &seq, &epoch), "%s", bad[i]);
}

TEST(every_bit_of_a_header_footer_and_mark_counts) {
    rung_segment_header h = {.first_seq = 7, .capacity = 8192, .epoch = 3, .chain = 9}, h2;
    rung_segment_footer f = {.first_seq = 7,
                             .last_seq = 9,
                             .offset = 5000,
                             .epoch = 3,
                             .chain = 10},
                        f2;
    rung_high_water m = {.generation = 5,
                         .seq = 9,
                         .segment_first_seq = 7,
                         .offset = 5000,
                         .segment_epoch = 3},
                    m2;
    memcpy(h.uuid, UUID, 16);
    memcpy(f.uuid, UUID, 16);
    memcpy(m.uuid, UUID, 16);
    static uint8_t hb[RUNG_SEGMENT_HEADER_SIZE], mb[RUNG_HIGH_WATER_SLOT_SIZE];
    uint8_t fb[RUNG_SEGMENT_FOOTER_SIZE];
    rung_segment_header_encode(&h, hb);
    rung_segment_footer_encode(&f, fb);
    rung_high_water_encode(&m, mb);
    CHECK_OK(rung_segment_header_decode(hb, &h2));
    CHECK_OK(rung_segment_footer_decode(fb, &f2));
    CHECK_OK(rung_high_water_decode(mb, &m2));
    CHECK_EQ_MEM(&h, &h2, sizeof h);
    CHECK_EQ_MEM(&f, &f2, sizeof f);
    CHECK_EQ_MEM(&m, &m2, sizeof m);
    for (size_t bit = 0; bit < sizeof hb * 8; bit++) {
        hb[bit / 8] ^= (uint8_t)(1 << bit % 8);
        mb[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_STATUS(rung_segment_header_decode(hb, &h2), RUNG_ECORRUPT);
        CHECK_STATUS(rung_high_water_decode(mb, &m2), RUNG_ECORRUPT);
        hb[bit / 8] ^= (uint8_t)(1 << bit % 8);
        mb[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < sizeof fb * 8; bit++) {
        fb[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK_STATUS(rung_segment_footer_decode(fb, &f2), RUNG_ECORRUPT);
        fb[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

TEST(the_bytes_of_a_record) {
    rung_frame_state s = {.salt = rung_segment_salt(UUID), .epoch = 2, .next_seq = 5};
    uint8_t out[40];
    rung_log_entry e = {.payload = RUNG_SLICE("abc"), .type = 0x0102};
    CHECK_EQ_U64(rung_log_framed_size(3), 40);
    rung_frame_encode(&s, out, &e, 1, RUNG_RECORD_END);
    static const uint8_t want[40] = {3,    0,    0,    0, /* length */
                                     0,    0,    0,    0, /* header CRC, filled below */
                                     5,    0,    0,    0,    0, 0, 0, 0, /* sequence */
                                     2,    0,    0,    0,                /* epoch */
                                     1,    0,    0,    0,                /* batch */
                                     2,    1,                            /* type */
                                     1,    0,                            /* flags */
                                     0xb7, 0x3f, 0x4b, 0x36,             /* CRC-32C of "abc" */
                                     'a',  'b',  'c',  0,    0, 0, 0, 0};
    CHECK_EQ_MEM(out, want, 4);
    CHECK_EQ_MEM(out + 8, want + 8, 32);
    CHECK_EQ_U64(s.next_seq, 6);
}

/* Any cut of a stream of records asks for more, never lies; any flip is seen at its record. */
TEST(records_at_every_cut_and_flip) {
    uint8_t out[400];
    size_t len = 0;
    rung_frame_state w = {.salt = 77, .epoch = 1, .next_seq = 1};
    static const char *const texts[] = {"first", "", "the third record", "4"};
    for (int i = 0; i < 4; i++) {
        rung_log_entry e = {.payload = rung_slice_str(texts[i]), .type = (uint16_t)i};
        rung_frame_encode(&w, out + len, &e, 1 + (uint32_t)i / 2, i % 2 ? RUNG_RECORD_END : 0);
        len += rung_log_framed_size(e.payload.len);
    }
    for (size_t cut = 0; cut <= len; cut++) {
        rung_frame_state r = {.salt = 77, .epoch = 1, .next_seq = 1};
        size_t at = 0, need = 0;
        rung_record_header h;
        rung_frame_verdict v;
        while ((v = rung_frame_next(&r, out + at, cut - at, sizeof out, &h, &need)) ==
               RUNG_FRAME_OK)
            at += rung_log_framed_size(h.length);
        CHECK_EQ_U64(v, RUNG_FRAME_MORE);
        CHECK(need > cut - at);
        CHECK(at <= cut);
    }
    for (size_t bit = 0; bit < len * 8; bit++) {
        out[bit / 8] ^= (uint8_t)(1 << bit % 8);
        rung_frame_state r = {.salt = 77, .epoch = 1, .next_seq = 1};
        size_t at = 0, need = 0;
        rung_record_header h;
        while (rung_frame_next(&r, out + at, len - at, len - at, &h, &need) == RUNG_FRAME_OK)
            at += rung_log_framed_size(h.length);
        CHECK(at <= bit / 8);
        out[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

RUNG_TEST_MAIN
