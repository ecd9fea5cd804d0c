/* SPDX-License-Identifier: Apache-2.0 */
/* The calendar by example, and against brute force over zones made to be awkward.
 *
 * The rule has a second, independent wording that needs no search: the window of an instant is the one
 * that holds the latest local time reached so far. The brute force below keeps that running maximum, in
 * steps of a quarter of an hour.
 *
 * `test_model_calendar --windows FILE KIND DAY_STARTS FROM_MS TO_MS` lists windows of a TZif file, one
 * per line; that is what tests/e2e/test_calendar_zoneinfo.py compares with Python's zoneinfo. */
#include "model/calendar.h"

#include "model/civil.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/tzif.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HOUR         3600
#define HOUR_MS      3600000LL

static int64_t at(const char *text) {
    int64_t ms = 0;
    rung_err err;
    CHECK_MSG(rung_time_parse(rung_slice_str(text), &ms, &err) == RUNG_OK, "%s: %s", text,
              err.message);
    return ms;
}

static void check_window(rung_window_kind kind, const rung_zone *zone, int day_starts,
                         const char *instant, const char *id, const char *start, const char *end) {
    rung_window w, same;
    char text[RUNG_WINDOW_ID_MAX];
    CHECK_OK(rung_window_at(kind, zone, day_starts, at(instant), &w));
    rung_window_id_format(kind, w.ordinal, text);
    CHECK_EQ_STR(text, id);
    CHECK_EQ_I64(w.start_ms, at(start));
    CHECK_EQ_I64(w.end_ms, at(end));
    CHECK_OK(rung_window_span(kind, w.ordinal, zone, day_starts, &same));
    CHECK(same.ordinal == w.ordinal && same.start_ms == w.start_ms && same.end_ms == w.end_ms);
}

/* ---- the civil calendar ---- */

TEST(civil_dates_agree_with_counting) {
    rung_civil date = {1890, 1, 1};
    for (int64_t days = rung_days_from_civil(1890, 1, 1); date.year < 10010; days++) {
        rung_civil got = rung_civil_from_days(days);
        CHECK(got.year == date.year && got.month == date.month && got.day == date.day);
        CHECK(rung_days_from_civil(date.year, date.month, date.day) == days);
        CHECK(rung_weekday(days) == ((int)(days % 7) + 11) % 7);
        static const int LENGTHS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        bool leap = (date.year % 4 == 0 && date.year % 100 != 0) || date.year % 400 == 0;
        int length = LENGTHS[date.month - 1] + (leap && date.month == 2);
        CHECK(rung_days_in_month(date.year, date.month) == length);
        if (++date.day > length) {
            date.day = 1;
            if (++date.month > 12)
                date.month = 1, date.year++;
        }
    }
    CHECK_EQ_I64(rung_days_from_civil(1970, 1, 1), 0);
    CHECK_EQ_I64(rung_days_from_civil(-4713, 11, 24), -2440588); /* the first Julian day */
}

/* ---- windows by example ---- */

TEST(windows_in_utc) {
    const char *t = "2026-11-15T14:30:00Z"; /* a Sunday */
    check_window(RUNG_WINDOW_HOUR, NULL, 0, t, "2026-11-15T14", "2026-11-15T14:00:00Z",
                 "2026-11-15T15:00:00Z");
    check_window(RUNG_WINDOW_DAY, NULL, 0, t, "2026-11-15", "2026-11-15T00:00:00Z",
                 "2026-11-16T00:00:00Z");
    check_window(RUNG_WINDOW_WEEK, NULL, 0, t, "2026-W46", "2026-11-09T00:00:00Z",
                 "2026-11-16T00:00:00Z");
    check_window(RUNG_WINDOW_MONTH, NULL, 0, t, "2026-11", "2026-11-01T00:00:00Z",
                 "2026-12-01T00:00:00Z");
    check_window(RUNG_WINDOW_YEAR, NULL, 0, t, "2026", "2026-01-01T00:00:00Z",
                 "2027-01-01T00:00:00Z");
    check_window(RUNG_WINDOW_DAY, NULL, 0, "1969-12-31T23:59:59.999Z", "1969-12-31",
                 "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z");
    check_window(RUNG_WINDOW_DAY, NULL, 0, "1970-01-01T00:00:00.000Z", "1970-01-01",
                 "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z");
}

TEST(days_can_start_later) {
    check_window(RUNG_WINDOW_DAY, NULL, 240, "2026-11-15T03:59:59.999Z", "2026-11-14",
                 "2026-11-14T04:00:00Z", "2026-11-15T04:00:00Z");
    check_window(RUNG_WINDOW_DAY, NULL, 240, "2026-11-15T04:00:00Z", "2026-11-15",
                 "2026-11-15T04:00:00Z", "2026-11-16T04:00:00Z");
    check_window(RUNG_WINDOW_HOUR, NULL, 240, "2026-11-15T03:59:59Z", "2026-11-15T03",
                 "2026-11-15T03:00:00Z", "2026-11-15T04:00:00Z");
    check_window(RUNG_WINDOW_WEEK, NULL, 240, "2026-11-16T03:00:00Z", "2026-W46",
                 "2026-11-09T04:00:00Z", "2026-11-16T04:00:00Z");
    check_window(RUNG_WINDOW_MONTH, NULL, 1439, "2026-11-01T23:58:00Z", "2026-10",
                 "2026-10-01T23:59:00Z", "2026-11-01T23:59:00Z");
    check_window(RUNG_WINDOW_YEAR, NULL, 1, "2026-01-01T00:00:59Z", "2025", "2025-01-01T00:01:00Z",
                 "2026-01-01T00:01:00Z");
}

TEST(days_of_23_and_25_hours) {
    rung_zone *z = tzif_zone(7200, NULL, 0, "EET-2EEST,M3.5.0/3,M10.5.0/4");
    check_window(RUNG_WINDOW_DAY, z, 0, "2026-03-29T12:00:00Z", "2026-03-29",
                 "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z");
    check_window(RUNG_WINDOW_DAY, z, 0, "2026-10-25T12:00:00Z", "2026-10-25",
                 "2026-10-24T21:00:00Z", "2026-10-25T22:00:00Z");
    /* 03:00 to 04:00 comes twice: one window of two hours. */
    check_window(RUNG_WINDOW_HOUR, z, 0, "2026-10-25T00:30:00Z", "2026-10-25T03",
                 "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z");
    check_window(RUNG_WINDOW_HOUR, z, 0, "2026-10-25T01:30:00Z", "2026-10-25T03",
                 "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z");
    /* 03:00 to 04:00 is skipped: an empty window. */
    int64_t ordinal = 0;
    rung_window w;
    CHECK_OK(rung_window_id_parse(RUNG_WINDOW_HOUR, RUNG_SLICE("2026-03-29T03"), &ordinal, NULL));
    CHECK_OK(rung_window_span(RUNG_WINDOW_HOUR, ordinal, z, 0, &w));
    CHECK(w.start_ms == at("2026-03-29T01:00:00Z") && w.end_ms == w.start_ms);
    check_window(RUNG_WINDOW_HOUR, z, 0, "2026-03-29T01:00:00Z", "2026-03-29T04",
                 "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z");
    check_window(RUNG_WINDOW_WEEK, z, 0, "2026-03-29T12:00:00Z", "2026-W13", "2026-03-22T22:00:00Z",
                 "2026-03-29T21:00:00Z");
    check_window(RUNG_WINDOW_MONTH, z, 0, "2026-03-29T12:00:00Z", "2026-03", "2026-02-28T22:00:00Z",
                 "2026-03-31T21:00:00Z");
    check_window(RUNG_WINDOW_YEAR, z, 0, "2026-06-29T12:00:00Z", "2026", "2025-12-31T22:00:00Z",
                 "2026-12-31T22:00:00Z");
    /* A day that starts at 03:30, which does not exist on that date, starts when the clock has jumped past it. */
    check_window(RUNG_WINDOW_DAY, z, 210, "2026-03-29T12:00:00Z", "2026-03-29",
                 "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z");
    rung_zone_destroy(z);
}

TEST(a_skipped_day_is_empty) { /* Samoa went from the 29th to the 31st */
    const tzif_transition jump[] = {{at("2011-12-30T10:00:00Z") / 1000, 14 * HOUR}};
    rung_zone *z = tzif_zone(-10 * HOUR, jump, 1, "<+14>-14");
    check_window(RUNG_WINDOW_DAY, z, 0, "2011-12-30T09:59:59.999Z", "2011-12-29",
                 "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z");
    check_window(RUNG_WINDOW_DAY, z, 0, "2011-12-30T10:00:00Z", "2011-12-31",
                 "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z");
    int64_t ordinal = 0;
    rung_window w;
    CHECK_OK(rung_window_id_parse(RUNG_WINDOW_DAY, RUNG_SLICE("2011-12-30"), &ordinal, NULL));
    CHECK_OK(rung_window_span(RUNG_WINDOW_DAY, ordinal, z, 0, &w));
    CHECK(w.start_ms == at("2011-12-30T10:00:00Z") && w.end_ms == w.start_ms);
    rung_zone_destroy(z);
}

TEST(a_day_entered_twice_starts_the_first_time) { /* Newfoundland went back at 00:01 */
    const tzif_transition back[] = {{at("2010-11-07T02:31:00Z") / 1000, -12600}};
    rung_zone *z = tzif_zone(-9000, back, 1, "NST3:30");
    check_window(RUNG_WINDOW_DAY, z, 0, "2010-11-07T02:30:30Z", "2010-11-07",
                 "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z");
    check_window(RUNG_WINDOW_DAY, z, 0, "2010-11-07T03:00:00Z", "2010-11-07",
                 "2010-11-07T02:30:00Z", "2010-11-08T03:30:00Z");
    check_window(RUNG_WINDOW_HOUR, z, 0, "2010-11-07T03:00:00Z", "2010-11-07T00",
                 "2010-11-07T02:30:00Z", "2010-11-07T04:30:00Z");
    check_window(RUNG_WINDOW_HOUR, z, 0, "2010-11-07T02:00:00Z", "2010-11-06T23",
                 "2010-11-07T01:30:00Z", "2010-11-07T02:30:00Z");
    rung_zone_destroy(z);
}

TEST(years_outside_are_refused) {
    rung_window w = {7, 7, 7};
    for (int kind = RUNG_WINDOW_HOUR; kind <= RUNG_WINDOW_YEAR; kind++) {
        rung_window_kind k = (rung_window_kind)kind;
        CHECK_STATUS(rung_window_at(k, NULL, 0, RUNG_TIME_MS_MIN - 1, &w), RUNG_ERANGE);
        /* The last week reaches two days into 10000. */
        CHECK_STATUS(rung_window_at(k, NULL, 0, RUNG_TIME_MS_END + 48 * HOUR_MS, &w), RUNG_ERANGE);
        CHECK_STATUS(rung_window_at(k, NULL, 0, INT64_MIN, &w), RUNG_ERANGE);
        CHECK_STATUS(rung_window_at(k, NULL, 0, INT64_MAX, &w), RUNG_ERANGE);
        CHECK_STATUS(rung_window_span(k, INT64_MAX, NULL, 0, &w), RUNG_ERANGE);
        CHECK_STATUS(rung_window_span(k, INT64_MIN, NULL, 0, &w), RUNG_ERANGE);
        CHECK_EQ_I64(w.ordinal, 7);
        rung_window first, last;
        CHECK_OK(rung_window_at(k, NULL, 0, RUNG_TIME_MS_MIN, &first));
        CHECK_EQ_I64(first.start_ms, RUNG_TIME_MS_MIN);
        CHECK_OK(rung_window_at(k, NULL, 0, RUNG_TIME_MS_END - 1, &last));
        CHECK_STATUS(rung_window_span(k, first.ordinal - 1, NULL, 0, &w), RUNG_ERANGE);
        CHECK_STATUS(rung_window_span(k, last.ordinal + 1, NULL, 0, &w), RUNG_ERANGE);
        CHECK_OK(rung_window_span(k, last.ordinal, NULL, 0, &w));
        CHECK(w.end_ms >= RUNG_TIME_MS_END);
        w.ordinal = 7;
    }
    /* A zone ahead of UTC reaches 1900 earlier. */
    rung_zone *z = tzif_zone(0, NULL, 0, "<+09>-9");
    CHECK_OK(rung_window_at(RUNG_WINDOW_DAY, z, 0, RUNG_TIME_MS_MIN - 9 * HOUR_MS, &w));
    CHECK_STATUS(rung_window_at(RUNG_WINDOW_DAY, z, 0, RUNG_TIME_MS_MIN - 9 * HOUR_MS - 1, &w),
                 RUNG_ERANGE);
    CHECK_STATUS(rung_window_at(RUNG_WINDOW_DAY, z, 0, RUNG_TIME_MS_END - 1, &w), RUNG_ERANGE);
    rung_zone_destroy(z);
}

/* ---- brute force ---- */

enum { QUARTER = 900, QUARTERS = 12 * 96 }; /* twelve days in steps of a quarter of an hour */
#define SPAN_FROM 1767052800 /* 2025-12-30, so that a week, a month and a year begin inside */

/* Offsets and transitions on quarters of an hour, jumps of up to a day and more, changes close together. */
static rung_zone *awkward_zone(rung_rng *rng) {
    tzif_transition transitions[8];
    size_t count = rung_rng_below(rng, COUNT(transitions) + 1);
    int64_t t = SPAN_FROM;
    int reach = rung_rng_below(rng, 2) ? 4 : 104; /* quarters: an hour, or the bound */
    for (size_t i = 0; i < count; i++) {
        t += QUARTER * (1 + (int64_t)rung_rng_below(rng, 2 * QUARTERS / COUNT(transitions)));
        int32_t offset = QUARTER * ((int32_t)rung_rng_below(rng, 2 * (uint64_t)reach + 1) - reach);
        transitions[i] = (tzif_transition){t, offset};
    }
    static const char *const FOOTERS[] = {"UTC0", "ABC-2DEF,J3/0,J6/0", "ABC12DEF-12,M1.1.0,4/22",
                                          "<-02>2<-01>,0/-5,2/30"};
    return tzif_zone(QUARTER * ((int32_t)rung_rng_below(rng, 9) - 4), transitions, count,
                     FOOTERS[rung_rng_below(rng, COUNT(FOOTERS))]);
}

static int64_t plain_ordinal(rung_window_kind kind, int64_t local_s, int day_starts_min) {
    if (kind == RUNG_WINDOW_HOUR)
        return rung_floor_div(local_s, HOUR);
    int64_t days = rung_floor_div(local_s - day_starts_min * 60, 86400);
    rung_civil date = rung_civil_from_days(days);
    switch (kind) {
    case RUNG_WINDOW_DAY:
        return days;
    case RUNG_WINDOW_WEEK:
        return rung_floor_div(days - rung_days_from_civil(1969, 12, 29), 7);
    case RUNG_WINDOW_MONTH:
        return date.year * 12 + date.month - 1;
    default:
        return date.year;
    }
}

static void check_against_running_maximum(const rung_zone *zone, rung_window_kind kind,
                                          int day_starts_min) {
    int64_t reached = INT64_MIN, ordinal = INT64_MIN, begun = 0;
    rung_window w = {0};
    /* A window's start can lie 52 hours before the latest time its local time is shown again. */
    for (int64_t i = -300; i < QUARTERS; i++) {
        int64_t t = SPAN_FROM + i * QUARTER, local = t + rung_zone_utc_offset(zone, t);
        reached = local > reached ? local : reached;
        int64_t now = plain_ordinal(kind, reached, day_starts_min);
        if (now != ordinal)
            ordinal = now, begun = i == -300 ? INT64_MIN : t * 1000;
        if (i < 0)
            continue;
        CHECK_OK(rung_window_at(kind, zone, day_starts_min, t * 1000, &w));
        CHECK_EQ_I64(w.ordinal, ordinal);
        CHECK(w.start_ms <= t * 1000 && t * 1000 < w.end_ms);
        if (begun != INT64_MIN)
            CHECK_EQ_I64(w.start_ms, begun);
        rung_window same;
        CHECK_OK(rung_window_at(kind, zone, day_starts_min, t * 1000 + QUARTER * 1000 - 1, &same));
        CHECK(same.ordinal == w.ordinal && same.start_ms == w.start_ms && same.end_ms == w.end_ms);
    }
}

TEST(windows_hold_the_latest_local_time_reached) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(21));
    uint64_t steps = test_steps(400);
    for (uint64_t i = 0; i < steps; i++) {
        rung_zone *zone = awkward_zone(&rng);
        int day_starts = rung_rng_below(&rng, 2) ? 0 : 15 * (int)rung_rng_below(&rng, 96);
        for (int kind = RUNG_WINDOW_HOUR; kind <= RUNG_WINDOW_YEAR; kind++)
            check_against_running_maximum(zone, (rung_window_kind)kind, day_starts);
        rung_zone_destroy(zone);
    }
}

TEST(spans_are_contiguous) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(22));
    uint64_t steps = test_steps(400);
    for (uint64_t i = 0; i < steps; i++) {
        rung_zone *zone = awkward_zone(&rng);
        int day_starts = (int)rung_rng_below(&rng, RUNG_DAY_STARTS_MAX + 1);
        for (int kind = RUNG_WINDOW_HOUR; kind <= RUNG_WINDOW_YEAR; kind++) {
            rung_window_kind k = (rung_window_kind)kind;
            rung_window w, next, found;
            CHECK_OK(rung_window_at(k, zone, day_starts, SPAN_FROM * 1000LL, &w));
            for (int j = 0; j < 300; j++, w = next) {
                CHECK_OK(rung_window_span(k, w.ordinal + 1, zone, day_starts, &next));
                CHECK_EQ_I64(next.start_ms, w.end_ms);
                CHECK(next.end_ms >= next.start_ms);
                if (next.end_ms == next.start_ms)
                    continue;
                int64_t inside = next.start_ms + (int64_t)rung_rng_below(
                                                     &rng, (uint64_t)(next.end_ms - next.start_ms));
                CHECK_OK(rung_window_at(k, zone, day_starts, inside, &found));
                CHECK(found.ordinal == next.ordinal && found.start_ms == next.start_ms &&
                      found.end_ms == next.end_ms);
            }
        }
        rung_zone_destroy(zone);
    }
}

/* ---- ids ---- */

TEST(iso_weeks_at_year_ends) {
    static const struct {
        const char *date, *id;
    } CASES[] = {{"2004-12-31", "2004-W53"}, {"2005-01-01", "2004-W53"}, {"2005-01-02", "2004-W53"},
                 {"2005-01-03", "2005-W01"}, {"2005-12-31", "2005-W52"}, {"2006-01-01", "2005-W52"},
                 {"2007-12-31", "2008-W01"}, {"2008-12-28", "2008-W52"}, {"2008-12-29", "2009-W01"},
                 {"2009-12-31", "2009-W53"}, {"2010-01-03", "2009-W53"}, {"2020-12-31", "2020-W53"},
                 {"2021-01-03", "2020-W53"}, {"2026-01-01", "2026-W01"}, {"2026-12-31", "2026-W53"},
                 {"2027-01-03", "2026-W53"}, {"1900-01-01", "1900-W01"}, {"9999-12-31", "9999-W52"},
                 {"1970-01-01", "1970-W01"}};
    for (size_t i = 0; i < COUNT(CASES); i++) {
        int64_t ordinal = 0, back = 0;
        char id[RUNG_WINDOW_ID_MAX];
        CHECK_OK(rung_window_on(RUNG_WINDOW_WEEK, rung_slice_str(CASES[i].date), &ordinal, NULL));
        CHECK_EQ_U64(rung_window_id_format(RUNG_WINDOW_WEEK, ordinal, id), 8);
        CHECK_EQ_STR(id, CASES[i].id);
        CHECK_OK(rung_window_id_parse(RUNG_WINDOW_WEEK, rung_slice_str(id), &back, NULL));
        CHECK_EQ_I64(back, ordinal);
    }
}

TEST(ids_parse_back) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(23));
    uint64_t steps = test_steps(200000);
    for (uint64_t i = 0; i < steps; i++) {
        rung_window_kind kind = (rung_window_kind)(1 + rung_rng_below(&rng, 5));
        int64_t when = RUNG_TIME_MS_MIN +
                       (int64_t)rung_rng_below(&rng, RUNG_TIME_MS_END - RUNG_TIME_MS_MIN),
                back = 0;
        rung_window w;
        char id[RUNG_WINDOW_ID_MAX];
        CHECK_OK(rung_window_at(kind, NULL, 0, when, &w));
        size_t length = rung_window_id_format(kind, w.ordinal, id);
        CHECK_EQ_U64(length, strlen(id));
        CHECK_OK(rung_window_id_parse(kind, rung_slice_of(id, length), &back, NULL));
        CHECK_EQ_I64(back, w.ordinal);
        char time[RUNG_TIME_TEXT_MAX];
        rung_time_format(when, time);
        CHECK_OK(rung_window_on(kind, rung_slice_of(time, 13), &back, NULL)); /* YYYY-MM-DDTHH */
        CHECK_EQ_I64(back, w.ordinal);
        if (kind != RUNG_WINDOW_HOUR) {
            CHECK_OK(rung_window_on(kind, rung_slice_of(time, 10), &back, NULL));
            CHECK_EQ_I64(back, w.ordinal);
        }
    }
}

TEST(ids_are_strict) {
    static const struct {
        rung_window_kind kind;
        const char *id;
        rung_status st;
    } CASES[] = {
        {RUNG_WINDOW_HOUR, "2026-11-15T14", RUNG_OK},
        {RUNG_WINDOW_HOUR, "2026-11-15T24", RUNG_EINVAL},
        {RUNG_WINDOW_HOUR, "2026-11-15", RUNG_EINVAL},
        {RUNG_WINDOW_HOUR, "2026-11-15t14", RUNG_EINVAL},
        {RUNG_WINDOW_HOUR, "2026-11-15T1", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "2026-11-15", RUNG_OK},
        {RUNG_WINDOW_DAY, "2026-11-15T14", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "2026-02-29", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "2028-02-29", RUNG_OK},
        {RUNG_WINDOW_DAY, "2100-02-29", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "2026-00-10", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "2026-13-10", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "2026-11-00", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "2026-11-31", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "26-11-15", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "2026/11/15", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, " 2026-11-15", RUNG_EINVAL},
        {RUNG_WINDOW_DAY, "1899-12-31", RUNG_ERANGE},
        {RUNG_WINDOW_DAY, "0000-01-01", RUNG_ERANGE},
        {RUNG_WINDOW_WEEK, "2026-W53", RUNG_OK},
        {RUNG_WINDOW_WEEK, "2025-W53", RUNG_EINVAL},
        {RUNG_WINDOW_WEEK, "2026-W54", RUNG_EINVAL},
        {RUNG_WINDOW_WEEK, "2026-W00", RUNG_EINVAL},
        {RUNG_WINDOW_WEEK, "2026-w46", RUNG_EINVAL},
        {RUNG_WINDOW_WEEK, "2026W46", RUNG_EINVAL},
        {RUNG_WINDOW_WEEK, "2026-W4", RUNG_EINVAL},
        {RUNG_WINDOW_WEEK, "1899-W52", RUNG_ERANGE},
        {RUNG_WINDOW_MONTH, "2026-11", RUNG_OK},
        {RUNG_WINDOW_MONTH, "2026-00", RUNG_EINVAL},
        {RUNG_WINDOW_MONTH, "2026-13", RUNG_EINVAL},
        {RUNG_WINDOW_MONTH, "2026-1", RUNG_EINVAL},
        {RUNG_WINDOW_MONTH, "1899-12", RUNG_ERANGE},
        {RUNG_WINDOW_YEAR, "2026", RUNG_OK},
        {RUNG_WINDOW_YEAR, "202", RUNG_EINVAL},
        {RUNG_WINDOW_YEAR, "20266", RUNG_EINVAL},
        {RUNG_WINDOW_YEAR, "+202", RUNG_EINVAL},
        {RUNG_WINDOW_YEAR, "", RUNG_EINVAL},
        {RUNG_WINDOW_YEAR, "1899", RUNG_ERANGE},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        int64_t ordinal = 0;
        rung_err err;
        rung_status st =
            rung_window_id_parse(CASES[i].kind, rung_slice_str(CASES[i].id), &ordinal, &err);
        CHECK_MSG(st == CASES[i].st, "%s: %s", CASES[i].id, rung_status_name(st));
    }
    int64_t ordinal = 0;
    CHECK_STATUS(rung_window_on(RUNG_WINDOW_DAY, RUNG_SLICE("2026-11-15T"), &ordinal, NULL),
                 RUNG_EINVAL);
    CHECK_STATUS(rung_window_on(RUNG_WINDOW_DAY, RUNG_SLICE("2026-11-15T24"), &ordinal, NULL),
                 RUNG_EINVAL);
    CHECK_STATUS(rung_window_on(RUNG_WINDOW_DAY, RUNG_SLICE("2026-11"), &ordinal, NULL),
                 RUNG_EINVAL);
    CHECK_STATUS(rung_window_on(RUNG_WINDOW_DAY, RUNG_SLICE("1899-11-15"), &ordinal, NULL),
                 RUNG_ERANGE);
}

/* ---- times ---- */

TEST(times_parse) {
    static const struct {
        const char *text;
        rung_status st;
        int64_t ms;
    } CASES[] = {
        {"1970-01-01T00:00:00Z", RUNG_OK, 0},
        {"2026-11-15T14:00:00Z", RUNG_OK, 1794751200000},
        {"2026-11-15t14:00:00z", RUNG_OK, 1794751200000},
        {"2026-11-15T16:00:00+02:00", RUNG_OK, 1794751200000},
        {"2026-11-15T10:30:00-03:30", RUNG_OK, 1794751200000},
        {"2026-11-15T14:00:00-00:00", RUNG_OK, 1794751200000},
        {"2026-11-15T14:00:00.5Z", RUNG_OK, 1794751200500},
        {"2026-11-15T14:00:00.05Z", RUNG_OK, 1794751200050},
        {"2026-11-15T14:00:00.123999999Z", RUNG_OK, 1794751200123},
        {"1969-12-31T23:59:59.999999999Z", RUNG_OK, -1},
        {"2016-12-31T23:59:60Z", RUNG_OK, 1483228800000},
        {"2017-01-01T01:59:60.250+02:00", RUNG_OK, 1483228800250},
        {"2016-12-31T23:58:60Z", RUNG_EINVAL, 0},
        {"2016-12-31T23:59:61Z", RUNG_EINVAL, 0},
        {"2026-11-15T24:00:00Z", RUNG_EINVAL, 0},
        {"2026-11-15T14:60:00Z", RUNG_EINVAL, 0},
        {"2026-11-15T14:00:00", RUNG_EINVAL, 0},
        {"2026-11-15T14:00Z", RUNG_EINVAL, 0},
        {"2026-11-15 14:00:00Z", RUNG_EINVAL, 0},
        {"2026-11-15T14:00:00.Z", RUNG_EINVAL, 0},
        {"2026-11-15T14:00:00,5Z", RUNG_EINVAL, 0},
        {"2026-11-15T14:00:00.1234567890Z", RUNG_EINVAL, 0},
        {"2026-11-15T14:00:00+0200", RUNG_EINVAL, 0},
        {"2026-11-15T14:00:00+24:00", RUNG_EINVAL, 0},
        {"2026-11-15T14:00:00+02:60", RUNG_EINVAL, 0},
        {"2026-11-15T14:00:00Z ", RUNG_EINVAL, 0},
        {"2026-02-30T14:00:00Z", RUNG_EINVAL, 0},
        {"", RUNG_EINVAL, 0},
        {"1900-01-01T00:00:00Z", RUNG_OK, RUNG_TIME_MS_MIN},
        {"1900-01-01T00:00:00+00:01", RUNG_ERANGE, 0},
        {"1899-12-31T23:59:59Z", RUNG_ERANGE, 0},
        {"9999-12-31T23:59:59.999Z", RUNG_OK, RUNG_TIME_MS_END - 1},
        {"9999-12-31T23:59:59-00:01", RUNG_ERANGE, 0},
    };
    for (size_t i = 0; i < COUNT(CASES); i++) {
        int64_t ms = 0;
        rung_status st = rung_time_parse(rung_slice_str(CASES[i].text), &ms, NULL);
        CHECK_MSG(st == CASES[i].st && ms == CASES[i].ms, "%s: %s, %" PRId64, CASES[i].text,
                  rung_status_name(st), ms);
    }
}

TEST(times_format_and_parse_back) {
    char text[RUNG_TIME_TEXT_MAX];
    CHECK_EQ_U64(rung_time_format(1794751200007, text), 24);
    CHECK_EQ_STR(text, "2026-11-15T14:00:00.007Z");
    rung_time_format(-1, text);
    CHECK_EQ_STR(text, "1969-12-31T23:59:59.999Z");
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(24));
    for (int i = 0; i < 100000; i++) {
        int64_t ms =
            RUNG_TIME_MS_MIN + (int64_t)rung_rng_below(&rng, RUNG_TIME_MS_END - RUNG_TIME_MS_MIN);
        rung_time_format(ms, text);
        CHECK_EQ_I64(at(text), ms);
    }
}

/* Every prefix of every sample, in a block of its exact size, so that a read past the end is seen. */
TEST(no_text_is_read_past_its_end) {
    static const char *const SAMPLES[] = {"2026-11-15T14:00:00.123456789+02:00", "2026-W46",
                                          "2026-11-15T14"};
    for (size_t i = 0; i < COUNT(SAMPLES); i++)
        for (size_t length = 0; length <= strlen(SAMPLES[i]); length++) {
            char *copy = malloc(length ? length : 1);
            CHECK(copy);
            memcpy(copy, SAMPLES[i], length);
            int64_t unused = 0;
            rung_ignore(rung_time_parse(rung_slice_of(copy, length), &unused, NULL),
                        "only the reading matters");
            rung_ignore(
                rung_window_on(RUNG_WINDOW_HOUR, rung_slice_of(copy, length), &unused, NULL),
                "likewise");
            for (int kind = RUNG_WINDOW_HOUR; kind <= RUNG_WINDOW_YEAR; kind++)
                rung_ignore(rung_window_id_parse((rung_window_kind)kind,
                                                 rung_slice_of(copy, length), &unused, NULL),
                            "likewise");
            free(copy);
        }
}

/* ---- the list for the comparison with zoneinfo ---- */

/* ordinal start_ms end_ms id, of all windows that begin in [from_ms, to_ms), the empty ones too. The
 * zone goes through its packed form first, so that the comparison also speaks for that. */
static int list_windows(char **args) {
    rung_zone *loaded = tzif_load(args[0]), *zone = NULL;
    if (!loaded)
        return 77;
    rung_window_kind kind = (rung_window_kind)atoi(args[1]);
    int day_starts = atoi(args[2]);
    int64_t from_ms = atoll(args[3]), to_ms = atoll(args[4]);
    static unsigned char packed[RUNG_ZONE_PACKED_MAX];
    size_t length = 0;
    CHECK_OK(rung_zone_pack(loaded, from_ms / 1000 - 400 * 86400, packed, sizeof packed, &length));
    CHECK_OK(rung_zone_unpack(rung_alloc_heap(), rung_slice_of(packed, length), &zone, NULL));
    rung_window w, found;
    CHECK_OK(rung_window_at(kind, zone, day_starts, from_ms, &w));
    for (int64_t ordinal = w.ordinal + 1;; ordinal++) {
        CHECK_OK(rung_window_span(kind, ordinal, zone, day_starts, &w));
        if (w.start_ms >= to_ms)
            break;
        if (w.start_ms < w.end_ms) {
            CHECK_OK(rung_window_at(kind, zone, day_starts, w.start_ms, &found));
            CHECK(found.ordinal == ordinal && found.start_ms == w.start_ms &&
                  found.end_ms == w.end_ms);
            CHECK_OK(rung_window_at(kind, zone, day_starts, w.end_ms - 1, &found));
            CHECK(found.ordinal == ordinal);
        }
        char id[RUNG_WINDOW_ID_MAX];
        rung_window_id_format(kind, ordinal, id);
        printf("%" PRId64 " %" PRId64 " %" PRId64 " %s\n", ordinal, w.start_ms, w.end_ms, id);
    }
    rung_zone_destroy(zone);
    rung_zone_destroy(loaded);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 7 && strcmp(argv[1], "--windows") == 0)
        return list_windows(argv + 2);
    return test_main(argc, argv);
}
