/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a TZif file and as a packed zone: refused, or a sound zone that survives packing and
 * gives every instant exactly one window. */
#include "base/assert.h"
#include "model/calendar.h"
#include "model/zone.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_same(const rung_zone *a, const rung_zone *b, int64_t from_s) {
    int64_t t = from_s;
    for (int i = 0; i < 50; i++) {
        rung_zone_stretch x = rung_zone_find(a, t), y = rung_zone_find(b, t);
        RUNG_ASSERT(x.offset_s == y.offset_s && x.from_s <= t && t < x.until_s && y.from_s <= t &&
                    t < y.until_s);
        t = x.until_s < y.until_s ? x.until_s : y.until_s;
        if (t == INT64_MAX)
            return;
    }
}

static void check_packing(const rung_zone *zone, int64_t from_s) {
    static unsigned char first[RUNG_ZONE_PACKED_MAX], second[RUNG_ZONE_PACKED_MAX];
    size_t first_length = 0, second_length = 0;
    rung_zone *back = NULL;
    rung_status st = rung_zone_pack(zone, from_s, first, sizeof first, &first_length);
    RUNG_ASSERT(st == RUNG_OK);
    st = rung_zone_unpack(rung_alloc_heap(), rung_slice_of(first, first_length), &back, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    RUNG_ASSERT(rung_zone_check(back) == NULL);
    st = rung_zone_pack(back, INT64_MIN, second, sizeof second, &second_length);
    RUNG_ASSERT(st == RUNG_OK);
    RUNG_ASSERT(
        rung_slice_eq(rung_slice_of(first, first_length), rung_slice_of(second, second_length)));
    check_same(zone, back, from_s < -((int64_t)1 << 40) ? -((int64_t)1 << 40) : from_s);
    rung_zone_destroy(back);
}

static void check_windows(const rung_zone *zone) {
    static const int64_t INSTANTS_MS[] = {
        -2208988800000, -1, 0, 100, 951782400000, 1325239200000, 1774746000000, 4102444800000,
        253402300799999};
    for (size_t i = 0; i < sizeof INSTANTS_MS / sizeof INSTANTS_MS[0]; i++)
        for (int kind = RUNG_WINDOW_HOUR; kind <= RUNG_WINDOW_YEAR; kind++) {
            rung_window w, same;
            if (rung_window_at((rung_window_kind)kind, zone, 7 * (int)i, INSTANTS_MS[i], &w) !=
                RUNG_OK)
                continue;
            RUNG_ASSERT(w.start_ms <= INSTANTS_MS[i] && INSTANTS_MS[i] < w.end_ms);
            rung_status st =
                rung_window_span((rung_window_kind)kind, w.ordinal, zone, 7 * (int)i, &same);
            RUNG_ASSERT(st == RUNG_OK && same.start_ms == w.start_ms && same.end_ms == w.end_ms);
        }
}

static void check_zone(rung_zone *zone) {
    RUNG_ASSERT(rung_zone_check(zone) == NULL);
    check_packing(zone, INT64_MIN);
    check_packing(zone, 1767225600);
    check_windows(zone);
    rung_zone_destroy(zone);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    rung_zone *zone = NULL;
    if (rung_zone_create(rung_alloc_heap(), rung_slice_of(data, size), &zone, NULL) == RUNG_OK)
        check_zone(zone);
    if (rung_zone_unpack(rung_alloc_heap(), rung_slice_of(data, size), &zone, NULL) == RUNG_OK)
        check_zone(zone);
    return 0;
}
