/* SPDX-License-Identifier: Apache-2.0 */
/* Zones from files written here, against rules evaluated the slow way. The system's own files are
 * compared with an independent reader in tests/e2e/test_calendar_zoneinfo.py. */
#include "model/zone.h"

#include "model/civil.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/rng.h"
#include "support/tzif.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HOUR         3600
#define HELSINKI     "EET-2EEST,M3.5.0/3,M10.5.0/4"
#define SPRING_2026  1774746000 /* 2026-03-29T01:00:00Z */
#define AUTUMN_2026  1792890000 /* 2026-10-25T01:00:00Z */

static int64_t instant(int64_t year, int month, int day, int hour) {
    return rung_days_from_civil(year, month, day) * 86400 + hour * HOUR;
}

static size_t pack(const rung_zone *zone, int64_t from_s, unsigned char *bytes) {
    size_t length = 0;
    CHECK_OK(rung_zone_pack(zone, from_s, bytes, RUNG_ZONE_PACKED_MAX, &length));
    return length;
}

/* ---- offsets ---- */

TEST(null_is_utc) {
    CHECK_EQ_I64(rung_zone_utc_offset(NULL, 0), 0);
    CHECK_EQ_I64(rung_zone_offset_max(NULL), 0);
    CHECK_NULL(rung_zone_check(NULL));
    rung_zone_stretch s = rung_zone_find(NULL, 5);
    CHECK(s.from_s == INT64_MIN && s.until_s == INT64_MAX && s.offset_s == 0);
    rung_zone_destroy(NULL);
}

TEST(transitions_take_effect_at_their_second) {
    const tzif_transition transitions[] = {{1000, 100}, {2000, -200}, {3000, 300}};
    rung_zone *zone = tzif_zone(50, transitions, 3, NULL);
    static const struct {
        int64_t at;
        int32_t offset;
    } CASES[] = {{INT64_MIN, 50}, {999, 50},    {1000, 100}, {1999, 100},
                 {2000, -200},    {2999, -200}, {3000, 300}, {INT64_MAX, 300}};
    for (size_t i = 0; i < COUNT(CASES); i++)
        CHECK_EQ_I64(rung_zone_utc_offset(zone, CASES[i].at), CASES[i].offset);
    CHECK_EQ_I64(rung_zone_offset_max(zone), 300);
    rung_zone_destroy(zone);
}

TEST(the_footer_goes_on_for_ever) {
    const tzif_transition transitions[] = {{SPRING_2026, 3 * HOUR}};
    rung_zone *zone = tzif_zone(2 * HOUR, transitions, 1, HELSINKI);
    CHECK_EQ_I64(rung_zone_utc_offset(zone, instant(1999, 7, 1, 0)),
                 2 * HOUR); /* before the rule */
    CHECK_EQ_I64(rung_zone_utc_offset(zone, SPRING_2026 - 1), 2 * HOUR);
    CHECK_EQ_I64(rung_zone_utc_offset(zone, SPRING_2026), 3 * HOUR);
    CHECK_EQ_I64(rung_zone_utc_offset(zone, AUTUMN_2026 - 1), 3 * HOUR);
    CHECK_EQ_I64(rung_zone_utc_offset(zone, AUTUMN_2026), 2 * HOUR);
    for (int year = 2027; year < 12000; year += 7) {
        CHECK_EQ_I64(rung_zone_utc_offset(zone, instant(year, 7, 1, 0)), 3 * HOUR);
        CHECK_EQ_I64(rung_zone_utc_offset(zone, instant(year, 1, 1, 0)), 2 * HOUR);
    }
    rung_zone_utc_offset(zone, INT64_MAX); /* some offset; no overflow */
    rung_zone_stretch s = rung_zone_find(zone, AUTUMN_2026 - 1);
    CHECK(s.from_s == SPRING_2026 && s.until_s == AUTUMN_2026);
    rung_zone_destroy(zone);
}

TEST(footers_are_read_as_posix_says) {
    static const struct {
        const char *footer;
        int32_t january, july; /* offsets of 2027 */
    } CASES[] = {
        {"UTC0", 0, 0},
        {"<+0545>-5:45", 5 * HOUR + 45 * 60, 5 * HOUR + 45 * 60},
        {"LMT5:50:36", -(5 * HOUR + 50 * 60 + 36), -(5 * HOUR + 50 * 60 + 36)},
        {"ABC+24", -24 * HOUR, -24 * HOUR},
        {HELSINKI, 2 * HOUR, 3 * HOUR},
        {"NST3:30NDT,M3.2.0/0:01,M11.1.0/0:01", -12600, -9000},
        {"AEST-10AEDT,M10.1.0,M4.1.0/3", 11 * HOUR, 10 * HOUR},
        {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 11 * HOUR, 10 * HOUR + 1800},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", 0, HOUR}, /* negative daylight saving */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", -2 * HOUR, -HOUR},
        {"EST5EDT,0/0,J365/25", -4 * HOUR, -4 * HOUR}, /* all year round */
        {"XST5XDT4,J1/0,J365/24", -5 * HOUR,
         -4 * HOUR}, /* an hour is missing at new year: see below */
        {"AAA0BBB,J60,J300", 0, HOUR},
        {"AAA0BBB,59,300", 0, HOUR},
        {"AAA0AAB0,J60,J300", 0, 0}, /* no difference: no rule */
        {"<+12>-12<+13>,M11.2.0,M1.2.3/99", 13 * HOUR, 12 * HOUR},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        rung_zone *zone = tzif_zone(0, NULL, 0, CASES[i].footer);
        int32_t january = rung_zone_utc_offset(zone, instant(2027, 1, 1, 4)),
                july = rung_zone_utc_offset(zone, instant(2027, 7, 1, 0));
        CHECK_MSG(january == CASES[i].january && july == CASES[i].july, "%s: %d, %d",
                  CASES[i].footer, january, july);
        rung_zone_destroy(zone);
    }
}

TEST(leap_years_move_days_as_posix_says) {
    rung_zone *skipping = tzif_zone(0, NULL, 0, "AAA0BBB,J60/0,J300"),
              *counting = tzif_zone(0, NULL, 0, "AAA0BBB,59/0,J300");
    CHECK_EQ_I64(rung_zone_find(skipping, instant(2027, 5, 1, 0)).from_s, instant(2027, 3, 1, 0));
    CHECK_EQ_I64(rung_zone_find(skipping, instant(2028, 5, 1, 0)).from_s, instant(2028, 3, 1, 0));
    CHECK_EQ_I64(rung_zone_find(counting, instant(2027, 5, 1, 0)).from_s, instant(2027, 3, 1, 0));
    CHECK_EQ_I64(rung_zone_find(counting, instant(2028, 5, 1, 0)).from_s, instant(2028, 2, 29, 0));
    rung_zone_destroy(skipping);
    rung_zone_destroy(counting);
}

TEST(bad_footers_are_refused) {
    static const char *const FOOTERS[] = {"U",
                                          "UT0",
                                          "UTC",
                                          "UTC25",
                                          "UTC0:60",
                                          "UTC0:00:60",
                                          "<UTC0",
                                          "<U>0",
                                          "EET-2EEST",
                                          "EET-2EEST,M3.5.0",
                                          "EET-2EEST,M3.5.0,",
                                          "EET-2EEST,M3.5.0,M10.5.0x",
                                          "EET-2EEST,M13.5.0,M10.5.0",
                                          "EET-2EEST,M0.5.0,M10.5.0",
                                          "EET-2EEST,M3.6.0,M10.5.0",
                                          "EET-2EEST,M3.0.0,M10.5.0",
                                          "EET-2EEST,M3.5.7,M10.5.0",
                                          "EET-2EEST,J0,J5",
                                          "EET-2EEST,J366,J5",
                                          "EET-2EEST,366,J5",
                                          "EET-2EEST,J5/168,J6",
                                          "EET-2EEST,J5/,J6",
                                          "EET-2EEST,J5/-168,J6",
                                          "EET-2EE,J5,J6",
                                          "EET-2EEST25,J5,J6",
                                          "UTC0\n",
                                          ":Europe/Helsinki",
                                          "EET--2",
                                          "EET-2EEST,M3.5,M10.5.0",
                                          "EET-2EEST,M3..0,M10.5.0"};
    static tzif_file f;
    for (size_t i = 0; i < COUNT(FOOTERS); i++) {
        tzif_write(&f, 0, NULL, 0, FOOTERS[i]);
        rung_zone *zone = NULL;
        CHECK_MSG(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL) == RUNG_EINVAL,
                  "%s", FOOTERS[i]);
        CHECK_NULL(zone);
    }
}

/* ---- rules against a list of all their changes ---- */

typedef struct slow_change {
    int64_t at;
    int32_t offset;
    int order;
} slow_change;

static int compare_changes(const void *a, const void *b) {
    const slow_change *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->order - y->order;
}

typedef struct slow_day {
    int kind, month, week, day, time;
} slow_day;

/* Step through the year's days, as one would on paper. */
static int64_t slow_day_in(const slow_day *d, int year) {
    int64_t found = 0, day = rung_days_from_civil(year, 1, 1),
            next_year = rung_days_from_civil(year + 1, 1, 1);
    int seen_in_month = 0, number = d->kind == 0 ? 1 : 0;
    for (; day < next_year; day++) {
        rung_civil c = rung_civil_from_days(day);
        if (d->kind == 2) {
            if (c.month == d->month && rung_weekday(day) == d->day && seen_in_month < d->week) {
                seen_in_month++;
                found = day;
            }
        } else if (!(d->kind == 0 && c.month == 2 && c.day == 29) && number++ == d->day) {
            return day;
        }
    }
    return d->kind == 1 && d->day == number ? next_year : found; /* day 365 of a year without one */
}

static slow_day random_day(rung_rng *rng) {
    slow_day d = {.kind = (int)rung_rng_below(rng, 3)};
    if (d.kind == 2) {
        d.month = 1 + (int)rung_rng_below(rng, 12);
        d.week = 1 + (int)rung_rng_below(rng, 5);
        d.day = (int)rung_rng_below(rng, 7);
    } else {
        static const int EDGES[] = {1, 2, 59, 60, 61, 364, 365};
        d.day = rung_rng_below(rng, 2) ? EDGES[rung_rng_below(rng, COUNT(EDGES))]
                                       : 1 + (int)rung_rng_below(rng, 365);
        if (d.kind == 1 && rung_rng_below(rng, 8) == 0)
            d.day = 0;
    }
    d.time = (int)rung_rng_below(rng, 4) ? (int)rung_rng_below(rng, 25) * HOUR
                                         : ((int)rung_rng_below(rng, 335) - 167) * HOUR;
    return d;
}

static int print_day(char *out, size_t size, const slow_day *d) {
    int hours = d->time / HOUR;
    return d->kind == 2 ? snprintf(out, size, "M%d.%d.%d/%d", d->month, d->week, d->day, hours)
                        : snprintf(out, size, "%s%d/%d", d->kind == 0 ? "J" : "", d->day, hours);
}

static void check_rule_against_list(const char *footer, const slow_change *list, int count) {
    rung_zone *zone = tzif_zone(0, NULL, 0, footer);
    for (int i = 4; i + 5 < count; i++) { /* away from the list's ends */
        if (list[i].at == list[i + 1].at)
            continue;
        int64_t middle = list[i].at + (list[i + 1].at - list[i].at) / 2;
        const int64_t instants[] = {list[i].at, middle, list[i + 1].at - 1};
        for (size_t j = 0; j < COUNT(instants); j++) {
            rung_zone_stretch s = rung_zone_find(zone, instants[j]);
            CHECK_MSG(s.offset_s == list[i].offset && s.from_s == list[i].at &&
                          s.until_s == list[i + 1].at,
                      "%s at %" PRId64 ": %d in [%" PRId64 ", %" PRId64 "), not %d in [%" PRId64
                      ", %" PRId64 ")",
                      footer, instants[j], s.offset_s, s.from_s, s.until_s, list[i].offset,
                      list[i].at, list[i + 1].at);
        }
    }
    rung_zone_destroy(zone);
}

TEST(random_rules_agree_with_a_list_of_all_changes) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(11));
    uint64_t steps = test_steps(600);
    for (uint64_t i = 0; i < steps; i++) {
        slow_day begin = random_day(&rng), end = random_day(&rng);
        int32_t standard = ((int32_t)rung_rng_below(&rng, 49) - 24) * HOUR,
                daylight = ((int32_t)rung_rng_below(&rng, 49) - 24) * HOUR;
        if (rung_rng_below(&rng, 2))
            daylight = standard < 24 * HOUR ? standard + HOUR : standard - HOUR;
        if (standard == daylight)
            continue;
        char footer[120], first[32], second[32];
        print_day(first, sizeof first, &begin);
        print_day(second, sizeof second, &end);
        snprintf(footer, sizeof footer, "AAA%dBBB%d,%s,%s", -standard / HOUR, -daylight / HOUR,
                 first, second);
        slow_change list[48];
        int count = 0;
        for (int year = 2010; year < 2034; year++) {
            list[count] = (slow_change){slow_day_in(&begin, year) * 86400 + begin.time - standard,
                                        daylight, count};
            count++;
            list[count] = (slow_change){slow_day_in(&end, year) * 86400 + end.time - daylight,
                                        standard, count};
            count++;
        }
        qsort(list, (size_t)count, sizeof list[0], compare_changes);
        check_rule_against_list(footer, list, count);
    }
}

/* ---- damaged and oversized files ---- */

static void write_sample(tzif_file *f) {
    const tzif_transition transitions[] = {
        {-1000000, 7200}, {SPRING_2026 - 100000000, 7000}, {SPRING_2026, 10800}};
    tzif_write(f, 5989, transitions, 3, HELSINKI);
}

TEST(every_truncation_is_refused) {
    static tzif_file f;
    write_sample(&f);
    for (size_t length = 0; length < f.length; length++) {
        unsigned char *copy =
            malloc(length ? length : 1); /* exact, so that a read past the end is seen */
        CHECK(copy);
        memcpy(copy, f.bytes, length);
        rung_zone *zone = NULL;
        CHECK_STATUS(rung_zone_create(rung_alloc_heap(), rung_slice_of(copy, length), &zone, NULL),
                     RUNG_EINVAL);
        free(copy);
    }
}

TEST(every_changed_byte_is_survived) {
    static tzif_file f;
    write_sample(&f);
    for (size_t i = 0; i < f.length; i++)
        for (int value = 0; value < 256; value += i < 200 ? 1 : 7) {
            tzif_file changed = f;
            changed.bytes[i] = (unsigned char)value;
            rung_zone *zone = NULL;
            if (rung_zone_create(rung_alloc_heap(), tzif_slice(&changed), &zone, NULL) == RUNG_OK)
                CHECK_SOUND(rung_zone_check(zone));
            rung_zone_destroy(zone);
        }
}

TEST(contents_out_of_bounds_are_refused) {
    static tzif_file f;
    rung_zone *zone = NULL;
    const tzif_transition unordered[] = {{5, 0}, {5, 100}}, far[] = {{((int64_t)1 << 59) + 1, 0}},
                          wild[] = {{5, 26 * HOUR + 1}};
    tzif_write(&f, 0, unordered, 2, "UTC0");
    CHECK_STATUS(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL), RUNG_EINVAL);
    tzif_write(&f, 0, far, 1, "UTC0");
    CHECK_STATUS(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL), RUNG_EINVAL);
    tzif_write(&f, 0, wild, 1, "UTC0");
    CHECK_STATUS(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL), RUNG_EINVAL);
    tzif_write(&f, 0, NULL, 0, NULL);
    f.bytes[39] = 0; /* no local time types: their six bytes would follow, unread */
    f.length -= 6;
    CHECK_STATUS(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL), RUNG_EINVAL);
    f.length = 0;
    tzif_put_block(&f, 0, 4, 0, NULL, 0, 27);
    CHECK_STATUS(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL),
                 RUNG_EUNSUPPORTED);
    f.length = RUNG_ZONE_TZIF_MAX + 1;
    CHECK_STATUS(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL), RUNG_ELIMIT);
}

/* As many as are allowed, each different from its neighbour. */
static size_t write_many(tzif_file *f, size_t count) {
    static tzif_transition transitions[RUNG_ZONE_TRANSITIONS_MAX + 1];
    for (size_t i = 0; i < count; i++)
        transitions[i] =
            (tzif_transition){(int64_t)i * ((int64_t)1 << 40),
                              (int32_t)(i % 255 % 2 ? -90000 : 90000) + (int32_t)(i % 255)};
    tzif_write(f, 0, transitions, count, "UTC0");
    return f->length;
}

TEST(the_largest_zone_fits) {
    static tzif_file f;
    static unsigned char packed[RUNG_ZONE_PACKED_MAX];
    rung_zone *zone = NULL, *back = NULL;
    CHECK(write_many(&f, RUNG_ZONE_TRANSITIONS_MAX) <= RUNG_ZONE_TZIF_MAX);
    CHECK_OK(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL));
    CHECK_SOUND(rung_zone_check(zone));
    size_t length = pack(zone, INT64_MIN, packed);
    CHECK_OK(rung_zone_unpack(rung_alloc_heap(), rung_slice_of(packed, length), &back, NULL));
    for (int i = 0; i < RUNG_ZONE_TRANSITIONS_MAX; i++) {
        int64_t at = (int64_t)i * ((int64_t)1 << 40);
        CHECK_EQ_I64(rung_zone_utc_offset(back, at), rung_zone_utc_offset(zone, at));
        CHECK_EQ_I64(rung_zone_utc_offset(back, at - 1), rung_zone_utc_offset(zone, at - 1));
    }
    rung_zone_destroy(zone);
    rung_zone_destroy(back);
    write_many(&f, RUNG_ZONE_TRANSITIONS_MAX + 1);
    CHECK_STATUS(rung_zone_create(rung_alloc_heap(), tzif_slice(&f), &zone, NULL), RUNG_ELIMIT);
}

/* ---- the packed form ---- */

TEST(packed_bytes_are_as_specified) {
    unsigned char bytes[RUNG_ZONE_PACKED_MAX];
    const unsigned char utc[] = {1, 0, 0, 0};
    CHECK_EQ_U64(pack(NULL, 0, bytes), sizeof utc);
    CHECK_EQ_MEM(bytes, utc, sizeof utc);
    const tzif_transition transitions[] = {{100, 60}, {300, -60}};
    rung_zone *zone = tzif_zone(0, transitions, 2, "AAA-1BBB,M3.5.0/3,J60/-1");
    const unsigned char want[] = {1, 2,    0,    0xc8, 0x01, 120,  0xc8, 0x01, 0xa0, 0x38,
                                  1, 0xc0, 0x70, /* 3600, 7200 */
                                  2, 0xde, 0x02, 0xe0, 0xa8, 0x01, 0,    60,   0x9f, 0x38};
    size_t length = pack(zone, INT64_MIN, bytes);
    CHECK_EQ_U64(length, sizeof want);
    CHECK_EQ_MEM(bytes, want, sizeof want);
    rung_zone_destroy(zone);
}

TEST(fat_and_slim_files_pack_alike) {
    tzif_transition fat[80];
    size_t count = 0;
    fat[count++] = (tzif_transition){instant(1980, 4, 5, 22), 3 * HOUR}; /* not by the rule */
    rung_zone *ruled = tzif_zone(2 * HOUR, NULL, 0, HELSINKI);
    for (int64_t t = instant(1997, 1, 1, 0); t < instant(2030, 1, 1, 0);) {
        rung_zone_stretch s = rung_zone_find(ruled, t);
        if (count < 2 || s.from_s > fat[count - 1].at_s)
            fat[count++] = (tzif_transition){s.from_s, s.offset_s};
        t = s.until_s;
    }
    static unsigned char a[RUNG_ZONE_PACKED_MAX], b[RUNG_ZONE_PACKED_MAX];
    rung_zone *fat_zone = tzif_zone(2 * HOUR, fat, count, HELSINKI),
              *slim_zone = tzif_zone(2 * HOUR, fat, 2, HELSINKI);
    size_t length = pack(fat_zone, INT64_MIN, a);
    CHECK_EQ_U64(pack(slim_zone, INT64_MIN, b), length);
    CHECK_EQ_MEM(a, b, length);
    /* From inside the ruled time on, only the rule is left, in all three. */
    length = pack(fat_zone, SPRING_2026, a);
    CHECK(length <= 20);
    CHECK_EQ_U64(pack(ruled, INT64_MIN, b), length);
    CHECK_EQ_MEM(a, b, length);
    CHECK_EQ_U64(pack(slim_zone, SPRING_2026, b), length);
    CHECK_EQ_MEM(a, b, length);
    rung_zone_destroy(ruled);
    rung_zone_destroy(fat_zone);
    rung_zone_destroy(slim_zone);
}

static rung_zone *random_zone(rung_rng *rng) {
    static const char *const FOOTERS[] = {NULL,
                                          "UTC0",
                                          HELSINKI,
                                          "EST5EDT,0/0,J365/25",
                                          "IST-1GMT0,M10.5.0,M3.5.0/1",
                                          "AAA-3BBB1,J365/160,0/-160"};
    tzif_transition transitions[12];
    size_t count = rung_rng_below(rng, COUNT(transitions) + 1);
    int64_t at = (int64_t)rung_rng_below(rng, 1000000000);
    for (size_t i = 0; i < count; i++) {
        transitions[i] = (tzif_transition){at, ((int32_t)rung_rng_below(rng, 5) - 2) * HOUR};
        at += 1 + (int64_t)rung_rng_below(rng, 100000000);
    }
    return tzif_zone(((int32_t)rung_rng_below(rng, 5) - 2) * HOUR, transitions, count,
                     FOOTERS[rung_rng_below(rng, COUNT(FOOTERS))]);
}

TEST(packing_keeps_every_offset_from_then_on) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(12));
    uint64_t steps = test_steps(3000);
    static unsigned char a[RUNG_ZONE_PACKED_MAX], b[RUNG_ZONE_PACKED_MAX];
    for (uint64_t i = 0; i < steps; i++) {
        rung_zone *zone = random_zone(&rng), *back = NULL;
        int64_t from = i % 4 ? (int64_t)rung_rng_below(&rng, 2000000000) : INT64_MIN;
        size_t length = pack(zone, from, a);
        CHECK_OK(rung_zone_unpack(rung_alloc_heap(), rung_slice_of(a, length), &back, NULL));
        CHECK_SOUND(rung_zone_check(back));
        CHECK_EQ_U64(pack(back, INT64_MIN, b), length);
        CHECK_EQ_MEM(a, b, length);
        CHECK_EQ_U64(pack(back, from, b), length);
        int64_t t = from == INT64_MIN ? -1000 : from;
        for (int j = 0; j < 40; j++) { /* across every change of either, and between */
            CHECK_EQ_I64(rung_zone_utc_offset(back, t), rung_zone_utc_offset(zone, t));
            int64_t next = rung_zone_find(zone, t).until_s, other = rung_zone_find(back, t).until_s;
            next = other < next ? other : next;
            if (next == INT64_MAX)
                break;
            CHECK_EQ_I64(rung_zone_utc_offset(back, next - 1),
                         rung_zone_utc_offset(zone, next - 1));
            t = next;
        }
        rung_zone_destroy(zone);
        rung_zone_destroy(back);
    }
}

TEST(a_buffer_too_small_is_said_so) {
    const tzif_transition transitions[] = {{100, 60}, {300, -60}};
    rung_zone *zone = tzif_zone(0, transitions, 2, HELSINKI);
    unsigned char bytes[RUNG_ZONE_PACKED_MAX];
    size_t length = pack(zone, INT64_MIN, bytes), unused = 77;
    for (size_t size = 0; size < length; size++)
        CHECK_STATUS(rung_zone_pack(zone, INT64_MIN, bytes, size, &unused), RUNG_ELIMIT);
    CHECK_EQ_U64(unused, 77);
    CHECK_OK(rung_zone_pack(zone, INT64_MIN, bytes, length, &unused));
    rung_zone_destroy(zone);
}

TEST(only_packed_bytes_unpack) {
    const tzif_transition transitions[] = {{100, 60}, {300, -60}};
    rung_zone *zone = tzif_zone(0, transitions, 2, HELSINKI), *back = NULL;
    unsigned char bytes[RUNG_ZONE_PACKED_MAX], again[RUNG_ZONE_PACKED_MAX];
    size_t length = pack(zone, INT64_MIN, bytes);
    rung_zone_destroy(zone);
    for (size_t cut = 0; cut < length; cut++)
        CHECK_STATUS(rung_zone_unpack(rung_alloc_heap(), rung_slice_of(bytes, cut), &back, NULL),
                     RUNG_ECORRUPT);
    bytes[length] = 0;
    CHECK_STATUS(rung_zone_unpack(rung_alloc_heap(), rung_slice_of(bytes, length + 1), &back, NULL),
                 RUNG_ECORRUPT);
    for (size_t i = 1; i < length; i++)
        for (unsigned value = 0; value < 256; value++) {
            unsigned char kept = bytes[i];
            bytes[i] = (unsigned char)value;
            if (rung_zone_unpack(rung_alloc_heap(), rung_slice_of(bytes, length), &back, NULL) ==
                RUNG_OK) {
                CHECK_SOUND(rung_zone_check(back));
                CHECK_EQ_U64(pack(back, INT64_MIN, again),
                             length); /* the only bytes for these rules */
                CHECK_EQ_MEM(bytes, again, length);
                rung_zone_destroy(back);
            }
            bytes[i] = kept;
        }
    bytes[0] = 2;
    CHECK_STATUS(rung_zone_unpack(rung_alloc_heap(), rung_slice_of(bytes, length), &back, NULL),
                 RUNG_EVERSION);
    bytes[0] = 0;
    CHECK_STATUS(rung_zone_unpack(rung_alloc_heap(), rung_slice_of(bytes, length), &back, NULL),
                 RUNG_ECORRUPT);
}

TEST(numbers_have_one_spelling) {
    static const struct {
        unsigned char bytes[16];
        size_t length;
    } CASES[] = {
        {{1, 0x80, 0, 0, 0}, 5}, /* 0 in two bytes */
        {{1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 2, 0},
         15}, /* past 64 bits */
        {{1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 0},
         15},                                      /* past 2^59 */
        {{1, 2, 0, 2, 2, 0, 4, 0}, 8},             /* two segments with one end */
        {{1, 1, 2, 0, 2, 0}, 6},                   /* a segment without need */
        {{1, 0, 0, 1, 0, 0, 60, 0, 0, 90, 0}, 11}, /* daylight saving by nothing */
        {{1, 0, 0, 1, 2, 3, 60, 0, 0, 90, 0}, 11}, /* a fourth kind of day */
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        rung_zone *zone = NULL;
        CHECK_STATUS(rung_zone_unpack(rung_alloc_heap(),
                                      rung_slice_of(CASES[i].bytes, CASES[i].length), &zone, NULL),
                     RUNG_ECORRUPT);
    }
}

TEST(out_of_memory_is_returned) {
    static tzif_file f;
    write_sample(&f);
    unsigned char bytes[RUNG_ZONE_PACKED_MAX];
    for (uint64_t n = 1;; n++) {
        rung_failalloc fa;
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_zone *zone = NULL, *back = NULL;
        rung_status st = rung_zone_create(rung_failalloc_port(&fa), tzif_slice(&f), &zone, NULL);
        if (st == RUNG_OK) {
            size_t length = pack(zone, INT64_MIN, bytes);
            st = rung_zone_unpack(rung_failalloc_port(&fa), rung_slice_of(bytes, length), &back,
                                  NULL);
        }
        CHECK(st == RUNG_OK || (st == RUNG_ENOMEM && fa.failed_count));
        rung_zone_destroy(zone);
        rung_zone_destroy(back);
        rung_failalloc_deinit(&fa);
        if (!fa.failed_count)
            break;
    }
}

RUNG_TEST_MAIN
