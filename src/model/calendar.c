/* SPDX-License-Identifier: Apache-2.0 */
/* All windows depend on one question: what is the earliest instant at which local time is at or past a civil time L?
 * Local time is UTC + offset, piecewise. It cannot reach L before L - (the zone's largest offset), so walk the spans
 * of constant offset from that instant on and take the first that reaches L. Usually that is the first one.
 *
 * To find the window that contains an instant, start with the one that its local time names, which has certainly
 * begun. If local time has run back across a border, a later window has begun already: step forward while the next
 * one has begun.
 *
 * All arithmetic is in whole seconds, like offsets, transitions and civil borders. Invariants:
 *   1. window_start() never decreases with the ordinal, so windows are contiguous and ordered.
 *   2. Returned ordinals lie between those of 1900-01-01 and 9999-12-31; their neighbours are still computable. */
#include "model/calendar.h"

#include "base/assert.h"
#include "model/civil.h"

#define HOUR_S 3600
#define DAY_S  86400

/* ---- civil time and ordinals ------------------------------------------------------------------------- */

static int64_t week_of_day(int64_t days) {
    return rung_floor_div(days + 3, 7); /* 1970-01-01 was a Thursday, three days into week 0 */
}

static int64_t ordinal_of_day(rung_window_kind kind, int64_t days) {
    rung_civil date;
    switch (kind) {
    case RUNG_WINDOW_HOUR:
        return days * 24;
    case RUNG_WINDOW_DAY:
        return days;
    case RUNG_WINDOW_WEEK:
        return week_of_day(days);
    case RUNG_WINDOW_MONTH:
        date = rung_civil_from_days(days);
        return date.year * 12 + date.month - 1;
    default: /* a year: the others have no calendar */
        break;
    }
    return rung_civil_from_days(days).year;
}

/* The first day of the window; not for hours. */
static int64_t day_of_ordinal(rung_window_kind kind, int64_t ordinal) {
    int64_t year = ordinal;
    int month = 1;
    switch (kind) {
    case RUNG_WINDOW_HOUR:
    case RUNG_WINDOW_DAY:
        return ordinal;
    case RUNG_WINDOW_WEEK:
        return ordinal * 7 - 3;
    case RUNG_WINDOW_MONTH:
        year = rung_floor_div(ordinal, 12);
        month = (int)(ordinal - year * 12) + 1;
        break;
    default: /* a year: the others have no calendar */
        break;
    }
    return rung_days_from_civil(year, month, 1);
}

/* 2. Day -25,567 is 1900-01-01, day 2,932,896 is 9999-12-31. */
static bool is_supported(rung_window_kind kind, int64_t ordinal) {
    static const struct {
        int64_t first, last;
    } RANGES[] = {
        [RUNG_WINDOW_HOUR] = {-25567 * 24, 2932896 * 24 + 23},
        [RUNG_WINDOW_DAY] = {-25567, 2932896},
        [RUNG_WINDOW_WEEK] = {-3652, 418985},
        [RUNG_WINDOW_MONTH] = {RUNG_YEAR_MIN * 12, RUNG_YEAR_MAX * 12 + 11},
        [RUNG_WINDOW_YEAR] = {RUNG_YEAR_MIN, RUNG_YEAR_MAX},
    };
    RUNG_ASSERT(kind >= RUNG_WINDOW_HOUR && kind <= RUNG_WINDOW_YEAR);
    return ordinal >= RANGES[kind].first && ordinal <= RANGES[kind].last;
}

/* ---- windows ----------------------------------------------------------------------------------------- */

/* A kind of window on one board's clock. */
typedef struct grid {
    rung_window_kind kind;
    const rung_zone *zone;
    int64_t day_starts_s;
} grid;

static grid grid_of(rung_window_kind kind, const rung_zone *zone, int day_starts_min) {
    RUNG_ASSERT(kind >= RUNG_WINDOW_HOUR && kind <= RUNG_WINDOW_YEAR);
    RUNG_ASSERT(day_starts_min >= 0 && day_starts_min <= RUNG_DAY_STARTS_MAX);
    return (grid){kind, zone, kind == RUNG_WINDOW_HOUR ? 0 : (int64_t)day_starts_min * 60};
}

/* Civil times are counted like instants, in seconds since 1970-01-01T00:00:00 on the local clock. */
static int64_t civil_start(const grid *g, int64_t ordinal) {
    if (g->kind == RUNG_WINDOW_HOUR)
        return ordinal * HOUR_S;
    return day_of_ordinal(g->kind, ordinal) * DAY_S + g->day_starts_s;
}

static int64_t ordinal_of_civil(const grid *g, int64_t civil_s) {
    if (g->kind == RUNG_WINDOW_HOUR)
        return rung_floor_div(civil_s, HOUR_S);
    return ordinal_of_day(g->kind, rung_floor_div(civil_s - g->day_starts_s, DAY_S));
}

static int64_t earliest_instant(const rung_zone *zone, int64_t civil_s) {
    int64_t t = civil_s - rung_zone_offset_max(zone);
    for (;;) {
        rung_zone_stretch stretch = rung_zone_find(zone, t);
        int64_t reached = civil_s - stretch.offset_s;
        if (reached < t)
            reached = t;
        if (reached < stretch.until_s)
            return reached;
        t = stretch.until_s;
    }
}

static int64_t window_start(const grid *g, int64_t ordinal) {
    return earliest_instant(g->zone, civil_start(g, ordinal));
}

static rung_window window_of(int64_t ordinal, int64_t start_s, int64_t end_s) {
    return (rung_window){ordinal, start_s * 1000, end_s * 1000};
}

rung_status rung_window_at(rung_window_kind kind, const rung_zone *zone, int day_starts_min,
                           int64_t at_ms, rung_window *window_out) {
    grid g = grid_of(kind, zone, day_starts_min);
    if (at_ms < RUNG_TIME_MS_MIN - 2 * DAY_S * 1000 || at_ms > RUNG_TIME_MS_END + 2 * DAY_S * 1000)
        return RUNG_ERANGE;
    int64_t at_s = rung_floor_div(at_ms, 1000);
    rung_zone_stretch now = rung_zone_find(zone, at_s);
    int64_t ordinal = ordinal_of_civil(&g, at_s + now.offset_s);
    int64_t civil_from = civil_start(&g, ordinal), civil_until = civil_start(&g, ordinal + 1);

    int64_t start = civil_from - now.offset_s, end = civil_until - now.offset_s;
    bool one_offset = civil_from - rung_zone_offset_max(zone) >= now.from_s && end < now.until_s;
    if (!one_offset) {
        start = earliest_instant(zone, civil_from);
        end = earliest_instant(zone, civil_until);
        while (end <= at_s) {
            ordinal++;
            start = end;
            end = window_start(&g, ordinal + 1);
        }
    }
    RUNG_ASSERT(start <= at_s && at_s < end); /* 1 */
    if (!is_supported(kind, ordinal))
        return RUNG_ERANGE;
    *window_out = window_of(ordinal, start, end);
    return RUNG_OK;
}

rung_status rung_window_span(rung_window_kind kind, int64_t ordinal, const rung_zone *zone,
                             int day_starts_min, rung_window *window_out) {
    grid g = grid_of(kind, zone, day_starts_min);
    if (!is_supported(kind, ordinal))
        return RUNG_ERANGE;
    *window_out = window_of(ordinal, window_start(&g, ordinal), window_start(&g, ordinal + 1));
    return RUNG_OK;
}

/* ---- text -------------------------------------------------------------------------------------------- */

static char *put_digits(char *p, int64_t value, int width) {
    uint32_t rest = (uint32_t)value; /* years at most: narrow division is what makes it fast */
    for (int i = width - 1; i >= 0; i--, rest /= 10)
        p[i] = (char)('0' + rest % 10);
    return p + width;
}

/* "2026-11-15" */
static char *put_date(char *p, int64_t days) {
    rung_civil date = rung_civil_from_days(days);
    p = put_digits(p, date.year, 4);
    *p++ = '-';
    p = put_digits(p, date.month, 2);
    *p++ = '-';
    return put_digits(p, date.day, 2);
}

/* A week belongs to the year that holds its Thursday. */
static char *put_week(char *p, int64_t ordinal) {
    int64_t thursday = ordinal * 7;
    int64_t year = rung_civil_from_days(thursday).year;
    p = put_digits(p, year, 4);
    *p++ = '-';
    *p++ = 'W';
    return put_digits(p, (thursday - rung_days_from_civil(year, 1, 1)) / 7 + 1, 2);
}

static char *put_hour(char *p, int64_t ordinal) {
    int64_t days = rung_floor_div(ordinal, 24);
    p = put_date(p, days);
    *p++ = 'T';
    return put_digits(p, ordinal - days * 24, 2);
}

size_t rung_window_id_format(rung_window_kind kind, int64_t ordinal, char out[RUNG_WINDOW_ID_MAX]) {
    RUNG_ASSERT(is_supported(kind, ordinal));
    char *p = out;
    switch (kind) {
    case RUNG_WINDOW_HOUR:
        p = put_hour(p, ordinal);
        break;
    case RUNG_WINDOW_DAY:
        p = put_date(p, ordinal);
        break;
    case RUNG_WINDOW_WEEK:
        p = put_week(p, ordinal);
        break;
    case RUNG_WINDOW_MONTH:
        p = put_digits(p, ordinal / 12, 4);
        *p++ = '-';
        p = put_digits(p, ordinal % 12 + 1, 2);
        break;
    default:
        p = put_digits(p, ordinal, 4);
        break;
    }
    *p = 0;
    return (size_t)(p - out);
}

/* Reads from the front; after the first mismatch everything fails. */
typedef struct scanner {
    const char *p, *end;
    bool is_bad;
} scanner;

static scanner scanner_of(rung_slice text) {
    return (scanner){text.ptr, text.ptr + text.len, false};
}

static bool scan_is_done(const scanner *s) {
    return !s->is_bad && s->p == s->end;
}

static int scan_digits(scanner *s, int width) {
    int value = 0;
    for (int i = 0; i < width; i++) {
        if (s->p == s->end || *s->p < '0' || *s->p > '9') {
            s->is_bad = true;
            return 0;
        }
        value = value * 10 + (*s->p++ - '0');
    }
    return value;
}

static bool scan_optional(scanner *s, char wanted) {
    if (s->p == s->end || *s->p != wanted)
        return false;
    s->p++;
    return true;
}

static void scan_char(scanner *s, char wanted) {
    s->is_bad |= !scan_optional(s, wanted);
}

/* "2026-11-15", a date that exists; in days. */
static int64_t scan_date(scanner *s) {
    int year = scan_digits(s, 4);
    scan_char(s, '-');
    int month = scan_digits(s, 2);
    scan_char(s, '-');
    int day = scan_digits(s, 2);
    s->is_bad |= month < 1 || month > 12 || day < 1 || day > rung_days_in_month(year, month);
    return s->is_bad ? 0 : rung_days_from_civil(year, month, day);
}

static int scan_below(scanner *s, int limit) {
    int value = scan_digits(s, 2);
    s->is_bad |= value >= limit;
    return value;
}

static int64_t scan_hour(scanner *s) {
    int64_t days = scan_date(s);
    scan_char(s, 'T');
    return days * 24 + scan_below(s, 24);
}

static int64_t scan_week(scanner *s) {
    int year = scan_digits(s, 4);
    scan_char(s, '-');
    scan_char(s, 'W');
    int week = scan_digits(s, 2);
    int64_t ordinal = week_of_day(rung_days_from_civil(year, 1, 4)) + week -
                      1; /* January 4 is always in week 1 */
    s->is_bad |= week < 1 ||
                 rung_civil_from_days(ordinal * 7).year != year; /* not every year has a week 53 */
    return ordinal;
}

static int64_t scan_month(scanner *s) {
    int64_t year = scan_digits(s, 4);
    scan_char(s, '-');
    int month = scan_digits(s, 2);
    s->is_bad |= month < 1 || month > 12;
    return year * 12 + month - 1;
}

static int64_t scan_id(scanner *s, rung_window_kind kind) {
    switch (kind) {
    case RUNG_WINDOW_HOUR:
        return scan_hour(s);
    case RUNG_WINDOW_DAY:
        return scan_date(s);
    case RUNG_WINDOW_WEEK:
        return scan_week(s);
    case RUNG_WINDOW_MONTH:
        return scan_month(s);
    default: /* a year: the others have no calendar */
        break;
    }
    return scan_digits(s, 4);
}

static rung_status give_ordinal(rung_window_kind kind, int64_t ordinal, int64_t *ordinal_out,
                                rung_err *err) {
    if (!is_supported(kind, ordinal))
        return RUNG_FAIL(err, RUNG_ERANGE, "years %d to %d are supported", RUNG_YEAR_MIN,
                         RUNG_YEAR_MAX);
    *ordinal_out = ordinal;
    return RUNG_OK;
}

rung_status rung_window_id_parse(rung_window_kind kind, rung_slice id, int64_t *ordinal_out,
                                 rung_err *err) {
    static const char *const FORMS[] = {[RUNG_WINDOW_HOUR] = "2026-11-15T14",
                                        [RUNG_WINDOW_DAY] = "2026-11-15",
                                        [RUNG_WINDOW_WEEK] = "2026-W46",
                                        [RUNG_WINDOW_MONTH] = "2026-11",
                                        [RUNG_WINDOW_YEAR] = "2026"};
    RUNG_ASSERT(kind >= RUNG_WINDOW_HOUR && kind <= RUNG_WINDOW_YEAR);
    scanner s = scanner_of(id);
    int64_t ordinal = scan_id(&s, kind);
    if (!scan_is_done(&s))
        return RUNG_FAIL(err, RUNG_EINVAL, "not a window id of this kind, such as %s", FORMS[kind]);
    return give_ordinal(kind, ordinal, ordinal_out, err);
}

rung_status rung_window_on(rung_window_kind kind, rung_slice date, int64_t *ordinal_out,
                           rung_err *err) {
    scanner s = scanner_of(date);
    int64_t days = scan_date(&s);
    int hour = scan_optional(&s, 'T') ? scan_below(&s, 24) : 0;
    if (!scan_is_done(&s))
        return RUNG_FAIL(err, RUNG_EINVAL, "not a date, such as 2026-11-15 or 2026-11-15T14");
    int64_t ordinal = ordinal_of_day(kind, days) + (kind == RUNG_WINDOW_HOUR ? hour : 0);
    return give_ordinal(kind, ordinal, ordinal_out, err);
}

/* ".123456789" after the seconds, if there is one; in milliseconds. */
static int scan_fraction(scanner *s) {
    if (!scan_optional(s, '.'))
        return 0;
    int ms = 0, count = 0;
    for (; s->p < s->end && *s->p >= '0' && *s->p <= '9'; s->p++, count++)
        if (count < 3)
            ms = ms * 10 + (*s->p - '0');
    s->is_bad |= count < 1 || count > 9;
    return count == 1 ? ms * 100 : count == 2 ? ms * 10 : ms;
}

/* "Z", "+02:00", "-03:30"; in seconds. */
static int scan_offset(scanner *s) {
    if (scan_optional(s, 'Z') || scan_optional(s, 'z'))
        return 0;
    bool west = scan_optional(s, '-');
    if (!west)
        scan_char(s, '+');
    int hours = scan_below(s, 24);
    scan_char(s, ':');
    int offset = hours * HOUR_S + scan_below(s, 60) * 60;
    return west ? -offset : offset;
}

rung_status rung_time_parse(rung_slice text, int64_t *at_ms_out, rung_err *err) {
    scanner s = scanner_of(text);
    int64_t t = scan_date(&s) * DAY_S;
    if (!scan_optional(&s, 't'))
        scan_char(&s, 'T');
    t += scan_below(&s, 24) * HOUR_S;
    scan_char(&s, ':');
    t += scan_below(&s, 60) * 60;
    scan_char(&s, ':');
    int second = scan_below(&s, 61);
    int fraction_ms = scan_fraction(&s);
    t += second - scan_offset(&s);
    s.is_bad |=
        second == 60 && t != rung_floor_div(t, DAY_S) * DAY_S; /* leap seconds end UTC days */
    if (!scan_is_done(&s))
        return RUNG_FAIL(err, RUNG_EINVAL, "not an RFC 3339 time, such as 2026-11-15T14:00:00Z");
    int64_t at_ms = t * 1000 + fraction_ms;
    if (at_ms < RUNG_TIME_MS_MIN || at_ms >= RUNG_TIME_MS_END)
        return RUNG_FAIL(err, RUNG_ERANGE, "years %d to %d are supported", RUNG_YEAR_MIN,
                         RUNG_YEAR_MAX);
    *at_ms_out = at_ms;
    return RUNG_OK;
}

size_t rung_time_format(int64_t at_ms, char out[RUNG_TIME_TEXT_MAX]) {
    RUNG_ASSERT(at_ms >= RUNG_TIME_MS_MIN && at_ms < RUNG_TIME_MS_END);
    int64_t days = rung_floor_div(at_ms, (int64_t)DAY_S * 1000), ms = at_ms - days * DAY_S * 1000;
    char *p = put_date(out, days);
    *p++ = 'T';
    p = put_digits(p, ms / 3600000, 2);
    *p++ = ':';
    p = put_digits(p, ms / 60000 % 60, 2);
    *p++ = ':';
    p = put_digits(p, ms / 1000 % 60, 2);
    *p++ = '.';
    p = put_digits(p, ms % 1000, 3);
    *p++ = 'Z';
    *p = 0;
    return (size_t)(p - out);
}

rung_status rung_window_find(rung_window_kind kind, rung_slice id, rung_slice on,
                             int64_t *ordinal_out, rung_err *err) {
    return id.len ? rung_window_id_parse(kind, id, ordinal_out, err)
                  : rung_window_on(kind, on, ordinal_out, err);
}
