/* SPDX-License-Identifier: Apache-2.0 */
/* sketch_bytes.h - saved sketches: into memory, and against the files of tests/golden/sketch.
 *
 * RUNG_GOLDEN=write in the environment writes the files instead of comparing. */
#ifndef RUNG_TESTS_SKETCH_BYTES_H
#define RUNG_TESTS_SKETCH_BYTES_H

#include "base/bytes.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>

#define SAVED_MAX ((size_t)1 << 20)
static uint8_t saved_space[3][SAVED_MAX];

/* The bytes of one sketch; `which` of three places they go to. */
#define SAVED(noun, sketch, which)                                                                 \
    (saved_writer = rung_byte_writer_of(saved_space[which], SAVED_MAX),                            \
     rung_##noun##_save(sketch, &saved_writer),                                                    \
     rung_slice_of(saved_space[which], rung_byte_writer_length(&saved_writer)))
static rung_byte_writer saved_writer;

static inline void check_golden(const char *name, rung_slice bytes) {
    static char path[4096];
    static uint8_t wanted[SAVED_MAX];
    const char *source = getenv("RUNG_SOURCE"), *mode = getenv("RUNG_GOLDEN");
    snprintf(path, sizeof path, "%s/tests/golden/sketch/%s", source ? source : ".", name);
    bool is_write = mode && strcmp(mode, "write") == 0;
    FILE *f = fopen(path, is_write ? "wb" : "rb");
    CHECK_MSG(f, "cannot open %s", path);
    if (is_write) {
        CHECK_EQ_U64(fwrite(bytes.ptr, 1, bytes.len, f), bytes.len);
    } else {
        CHECK_EQ_U64(fread(wanted, 1, sizeof wanted, f), bytes.len);
        CHECK_EQ_MEM(wanted, bytes.ptr, bytes.len);
    }
    fclose(f);
}

/* Every single changed byte and every shorter length is refused by `load`. */
static inline void check_damage(rung_slice bytes, rung_status (*load)(rung_slice bytes)) {
    static uint8_t copy[SAVED_MAX];
    for (size_t i = 0; i < bytes.len; i++) {
        memcpy(copy, bytes.ptr, bytes.len);
        copy[i] ^= (uint8_t)(1u << i % 8);
        CHECK_STATUS(load(rung_slice_of(copy, bytes.len)), RUNG_ECORRUPT);
        CHECK_STATUS(load(rung_slice_of(copy, i)), RUNG_ECORRUPT);
    }
}

#endif
