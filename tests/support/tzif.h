/* SPDX-License-Identifier: Apache-2.0 */
/* tzif.h - time zone files for tests: written from a list of transitions, or read from the system's own. */
#ifndef RUNG_TESTS_TZIF_H
#define RUNG_TESTS_TZIF_H

#include "base/slice.h"
#include "model/zone.h"
#include "support/check.h"

#include <stdio.h>

typedef struct tzif_transition {
    int64_t at_s;
    int32_t offset_s; /* from then on */
} tzif_transition;

enum { TZIF_BYTES_MAX = 80000 };

typedef struct tzif_file {
    size_t length;
    unsigned char bytes[TZIF_BYTES_MAX];
} tzif_file;

static inline void tzif_put(tzif_file *f, uint64_t value, int size) {
    for (int i = size - 1; i >= 0; i--) {
        CHECK(f->length < sizeof f->bytes);
        f->bytes[f->length++] = (unsigned char)(value >> (8 * i));
    }
}

/* One header and its data; each transition has a local time type of its own, up to 255 of them. */
static inline void tzif_put_block(tzif_file *f, char version, int time_size, int32_t first_offset_s,
                                  const tzif_transition *transitions, size_t count,
                                  uint32_t leap_count) {
    size_t types = count < 255 ? count + 1 : 256;
    for (const char *p = "TZif"; *p; p++)
        tzif_put(f, (uint64_t)*p, 1);
    tzif_put(f, (uint64_t)version, 1);
    for (int i = 0; i < 15; i++)
        tzif_put(f, 0, 1);
    const uint64_t counts[6] = {0, 0, leap_count, count, types, 4};
    for (int i = 0; i < 6; i++)
        tzif_put(f, counts[i], 4);
    for (size_t i = 0; i < count; i++)
        tzif_put(f, (uint64_t)transitions[i].at_s, time_size);
    for (size_t i = 0; i < count; i++)
        tzif_put(f, i % 255 + 1, 1);
    for (size_t i = 0; i < types; i++) {
        tzif_put(f, (uint64_t)(i ? transitions[i - 1].offset_s : first_offset_s), 4);
        tzif_put(f, 0, 2);
    }
    tzif_put(f, 0x41424300, 4); /* "ABC" */
    for (uint32_t i = 0; i < leap_count; i++)
        tzif_put(f, i, time_size + 4);
}

/* Version 1 when `footer` is NULL, else version 2. */
static inline void tzif_write(tzif_file *f, int32_t first_offset_s,
                              const tzif_transition *transitions, size_t count,
                              const char *footer) {
    f->length = 0;
    if (!footer) {
        tzif_put_block(f, 0, 4, first_offset_s, transitions, count, 0);
        return;
    }
    tzif_put_block(f, '2', 4, 0, NULL, 0, 0);
    tzif_put_block(f, '2', 8, first_offset_s, transitions, count, 0);
    tzif_put(f, '\n', 1);
    for (; *footer; footer++)
        tzif_put(f, (uint64_t)*footer, 1);
    tzif_put(f, '\n', 1);
}

static inline rung_slice tzif_slice(const tzif_file *f) {
    return rung_slice_of(f->bytes, f->length);
}

/* A zone from a list of transitions; the test fails if it is refused. */
static inline rung_zone *tzif_zone(int32_t first_offset_s, const tzif_transition *transitions,
                                   size_t count, const char *footer) {
    static tzif_file f;
    tzif_write(&f, first_offset_s, transitions, count, footer);
    rung_zone *zone = NULL;
    rung_err err;
    rung_status st = rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, &err);
    CHECK_MSG(st == RUNG_OK, "%s: %s", footer ? footer : "version 1", err.message);
    CHECK_SOUND(rung_zone_check(zone));
    return zone;
}

/* A file of this machine's; NULL when it cannot be read. */
static inline rung_zone *tzif_load(const char *path) {
    static tzif_file f;
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    f.length = fread(f.bytes, 1, sizeof f.bytes, file);
    fclose(file);
    rung_zone *zone = NULL;
    rung_err err;
    rung_status st = rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, &err);
    CHECK_MSG(st == RUNG_OK, "%s: %s", path, err.message);
    CHECK_SOUND(rung_zone_check(zone));
    return zone;
}

#endif
