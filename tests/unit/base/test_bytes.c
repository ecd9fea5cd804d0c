/* SPDX-License-Identifier: Apache-2.0 */
/* Every value has one form: what is written reads back, everything else is refused where it stands. */
#include "base/bytes.h"

#include "support/check.h"

static const uint64_t numbers[] = {0,
                                   1,
                                   0x7f,
                                   0x80,
                                   0x3fff,
                                   0x4000,
                                   1763251200000,
                                   UINT64_C(1) << 55,
                                   (UINT64_C(1) << 56) - 1,
                                   UINT64_C(1) << 56,
                                   UINT64_MAX};

/* The plain definition of LEB128. */
static size_t plain_form(uint64_t n, uint8_t out[RUNG_NUMBER_BYTES_MAX]) {
    size_t len = 0;
    for (; n >= 0x80; n >>= 7)
        out[len++] = (uint8_t)(n | 0x80);
    out[len++] = (uint8_t)n;
    return len;
}

static rung_byte_reader reader_of(const void *bytes, size_t len) {
    return rung_byte_reader_of(rung_slice_of(bytes, len));
}

TEST(numbers_have_their_plain_form_and_come_back) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        uint8_t want[RUNG_NUMBER_BYTES_MAX], got[RUNG_NUMBER_BYTES_MAX + 8] = {0};
        size_t len = plain_form(numbers[i], want);
        CHECK_EQ_U64(rung_encode_number(got, numbers[i]) - got, len);
        CHECK_EQ_MEM(got, want, len);
        for (size_t more = 0; more <= 8; more += 8) { /* the careful and the fast way */
            rung_byte_reader r = reader_of(got, len + more);
            CHECK_EQ_U64(rung_get_number(&r), numbers[i]);
            CHECK(!r.fault && r.at == got + len);
        }
        for (size_t cut = 0; cut < len; cut++) {
            rung_byte_reader r = reader_of(got, cut);
            CHECK_EQ_U64(rung_get_number(&r), 0);
            CHECK(r.fault);
        }
        rung_byte_writer small = rung_byte_writer_of(got, len - 1);
        rung_put_number(&small, numbers[i]);
        CHECK_EQ_U64(rung_byte_writer_length(&small), len);
        CHECK_EQ_U64(small.lost, len);
    }
}

TEST(longer_and_larger_forms_are_refused) {
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {{"\x80\x00", 2},
               {"\xff\x80\x00 padding", 11},
               {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
               {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rung_byte_reader r = reader_of(bad[i].bytes, bad[i].len);
        CHECK_EQ_U64(rung_get_number(&r), 0);
        CHECK(r.fault);
        CHECK_EQ_U64(rung_get_byte(&r), 0); /* sticky */
    }
}

TEST(signed_numbers_fold_around_zero) {
    static const int64_t values[] = {0, -1, 1, -2, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 6; i++) {
        CHECK_EQ_I64(rung_unzigzag(rung_zigzag(values[i])), values[i]);
        if (i < 4)
            CHECK_EQ_U64(rung_zigzag(values[i]), i);
    }
}

TEST(fixed_words_begin_with_the_lowest_byte) {
    uint8_t bytes[8];
    rung_put64(bytes, 0x0807060504030201);
    CHECK_EQ_MEM(bytes, "\1\2\3\4\5\6\7\10", 8);
    CHECK_EQ_U64(rung_get64(bytes), 0x0807060504030201);
    CHECK_EQ_U64(rung_get32(bytes), 0x04030201);
    CHECK_EQ_U64(rung_get16(bytes), 0x0201);
    rung_put32(bytes, 0);
    rung_put16(bytes + 4, 0);
    CHECK(rung_is_zero(bytes, 6) && !rung_is_zero(bytes, 7) && rung_is_zero(bytes, 0));
}

TEST(texts_and_reals_come_back_and_the_end_is_checked) {
    uint8_t bytes[64];
    rung_byte_writer w = rung_byte_writer_of(bytes, sizeof bytes);
    rung_put_text(&w, RUNG_SLICE("ada"));
    rung_put_real(&w, 2.5);
    rung_put_signed(&w, -7);
    rung_slice all = rung_slice_of(bytes, rung_byte_writer_length(&w));
    rung_byte_reader r = rung_byte_reader_of(all);
    CHECK(rung_slice_eq(rung_get_text(&r), RUNG_SLICE("ada")));
    CHECK_EQ_F64(rung_get_real(&r), 2.5);
    rung_err err = {0};
    CHECK_STATUS(rung_byte_reader_finish(&r, all, "it", &err), RUNG_ECORRUPT);
    CHECK_EQ_I64(rung_get_signed(&r), -7);
    CHECK_OK(rung_byte_reader_finish(&r, all, "it", &err));
    r = reader_of("\5ada", 4);
    CHECK_EQ_U64(rung_get_text(&r).len, 0);
    CHECK_EQ_U64(rung_get_count(&r, 9), 0);
    CHECK(r.fault);
}

RUNG_TEST_MAIN
