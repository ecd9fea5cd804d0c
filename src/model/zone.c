/* SPDX-License-Identifier: Apache-2.0 */
/* A zone is a list of segments, each with one offset up to an instant, and after the last of them a
 * rule that goes on for ever: either one offset, or daylight saving by the calendar (the POSIX TZ
 * string of RFC 8536, 3.3.1).
 *
 *        offset[0]      offset[1]            offset[n-1]       the rule
 *     ...---------|---------------|-- ... --|--------------|------------------ ...
 *              until[0]        until[1]                until[n-1]
 *
 * "Fat" zone files list the transitions up to 2037 that the rule implies, "slim" ones do not. Both give the same
 * segments here: those that the rule implies are dropped.
 *
 * Invariants
 *   1. until[] ascends strictly and stays within +-2^59 seconds, so that sums never overflow.
 *   2. Neighbouring segments have different offsets.
 *   3. The last segment is needed: the rule alone would answer differently somewhere in it.
 *   4. Every offset is within RUNG_ZONE_OFFSET_MAX; the rule's two offsets differ, or it has only one.
 *
 * The packed form, version 1 (numbers are LEB128 in the fewest bytes; a signed one is zigzagged first):
 *
 *   byte      1, the version
 *   number    count of segments, at most RUNG_ZONE_TRANSITIONS_MAX
 *   per segment:  signed offset; its until, the first one signed, the others as the distance from the one before
 *   signed    the rule's standard offset
 *   byte      0: that is all; 1: daylight saving follows
 *   signed    the offset in daylight saving
 *   twice, its beginning and its end:
 *     byte    0: day of the year without Feb 29, 1 to 365; 1: day of the year, 0 to 365; 2: weekday of a month
 *     number  the day; or month * 100 + week * 10 + weekday (week 5 is the last)
 *     signed  local time of day in seconds, +-167 hours
 *
 * Valid = all of it is there, nothing follows, and 1 to 4 hold; then the bytes are the only ones for
 * these rules. */
#include "model/zone.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "model/civil.h"

#define DAY_S          86400
#define INSTANT_MAX    ((int64_t)1 << 59) /* TZif's own "Big Bang" lies at -2^59 */
#define RULE_TIME_MAX  (167 * 3600)
#define PACKED_VERSION 1

typedef enum rule_day_kind {
    DAY_SKIPPING_LEAP = 0, /* Jn: 1 to 365, February 29 is never counted */
    DAY_OF_YEAR = 1,       /* n: 0 to 365 */
    DAY_OF_MONTH = 2,      /* Mm.w.d */
} rule_day_kind;

typedef struct rule_day {
    rule_day_kind kind;
    int day, month, week; /* `day` is a weekday (0 = Sunday) when there is a month */
    int32_t time_s;       /* local time of day, by the offset in force before */
} rule_day;

typedef struct rule {
    int32_t standard_s, daylight_s;
    bool has_daylight;
    bool is_calm; /* both changes stay inside their own year, as nearly all real ones do */
    rule_day begin, end;
} rule;

typedef struct segment {
    int64_t until_s;
    int32_t offset_s;
} segment;

struct rung_zone {
    const rung_alloc *alloc;
    size_t size_bytes;
    rule rule;
    int32_t offset_max_s;
    int count;
    segment segments[];
};

/* ---- the rule ---------------------------------------------------------------------------------------- */

/* A civil year: its first day, and whether it has February 29. */
typedef struct year {
    int64_t first_day;
    bool is_leap;
} year;

static year year_of(int64_t number) {
    return (year){rung_days_from_civil(number, 1, 1), rung_is_leap_year(number)};
}

static int64_t rule_day_in(const rule_day *r, const year *y) {
    static const int16_t FIRST_OF_MONTH[2][13] = {
        {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365},
        {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366},
    };
    if (r->kind == DAY_OF_YEAR)
        return y->first_day + r->day;
    if (r->kind == DAY_SKIPPING_LEAP)
        return y->first_day + r->day - 1 + (r->day >= 60 && y->is_leap); /* day 60 is March 1 */
    int64_t first = y->first_day + FIRST_OF_MONTH[y->is_leap][r->month - 1];
    int64_t next = y->first_day + FIRST_OF_MONTH[y->is_leap][r->month];
    int64_t day = first + (r->day - rung_weekday(first) + 7) % 7 + (r->week - 1) * 7;
    return day < next ? day : day - 7; /* there is no fifth: the last */
}

typedef struct change {
    int64_t at_s;
    int32_t offset_s; /* from then on */
} change;

static change begin_in(const rule *r, const year *y) {
    return (change){rule_day_in(&r->begin, y) * DAY_S + r->begin.time_s - r->standard_s,
                    r->daylight_s};
}

static change end_in(const rule *r, const year *y) {
    return (change){rule_day_in(&r->end, y) * DAY_S + r->end.time_s - r->daylight_s, r->standard_s};
}

static change earlier(change a, change b) {
    return b.at_s < a.at_s ? b : a;
}

static change later(change a, change b) {
    return b.at_s < a.at_s ? a : b;
}

static rung_zone_stretch stretch_between(change from, change until) {
    return (rung_zone_stretch){from.at_s, until.at_s, from.offset_s};
}

static change first_in(const rule *r, int64_t number) {
    year y = year_of(number);
    return earlier(begin_in(r, &y), end_in(r, &y));
}

static change last_in(const rule *r, int64_t number) {
    year y = year_of(number);
    return later(begin_in(r, &y), end_in(r, &y));
}

/* Calm: the changes of a year lie within it, so that those of the adjacent years surround them. */
static rung_zone_stretch rule_find_calm(const rule *r, int64_t number, int64_t unix_s) {
    year y = year_of(number);
    change begin = begin_in(r, &y), end = end_in(r, &y);
    change first = earlier(begin, end), last = later(begin, end);
    if (unix_s < first.at_s)
        return stretch_between(last_in(r, number - 1), first);
    if (unix_s < last.at_s)
        return stretch_between(first, last);
    return stretch_between(last, first_in(r, number + 1));
}

/* Keep the list sorted by time; of equal times, the one added last counts. */
static void change_insert(change *list, int count, change c) {
    int i = count;
    for (; i > 0 && list[i - 1].at_s > c.at_s; i--)
        list[i] = list[i - 1];
    list[i] = c;
}

/* Changes may fall up to ten days into an adjacent year, and one year's end may be the next one's beginning (daylight
 * saving all year round): consider five years of them. */
static rung_zone_stretch rule_find_any(const rule *r, int64_t number, int64_t unix_s) {
    change list[10] = {0};
    for (int i = 0; i < 5; i++) {
        year y = year_of(number - 2 + i);
        change_insert(list, 2 * i, begin_in(r, &y));
        change_insert(list, 2 * i + 1, end_in(r, &y));
    }
    int next = 1;
    while (next < 9 && list[next].at_s <= unix_s)
        next++;
    return stretch_between(list[next - 1], list[next]);
}

static rung_zone_stretch rule_find(const rule *r, int64_t unix_s) {
    if (!r->has_daylight)
        return (rung_zone_stretch){INT64_MIN, INT64_MAX, r->standard_s};
    if (unix_s < -2 * INSTANT_MAX) /* beyond all calendars: keep the sums in range */
        unix_s = -2 * INSTANT_MAX;
    if (unix_s > 2 * INSTANT_MAX)
        unix_s = 2 * INSTANT_MAX;
    int64_t number = rung_civil_from_days(rung_floor_div(unix_s + r->standard_s, DAY_S)).year;
    return r->is_calm ? rule_find_calm(r, number, unix_s) : rule_find_any(r, number, unix_s);
}

/* Does the change stay in its own year, by standard time? The day varies by a week with the weekday and by one with
 * leap years; the two offsets differ by at most 52 hours; 2001 stands for any year. */
static bool is_within_year(const rule_day *r) {
    year y = year_of(2001);
    int64_t day = rule_day_in(r, &y) - y.first_day;
    int64_t time_s = day * DAY_S + r->time_s;
    return time_s > 12 * DAY_S && time_s < (365 - 12) * DAY_S;
}

static bool is_offset(int64_t offset_s) {
    return offset_s >= -RUNG_ZONE_OFFSET_MAX && offset_s <= RUNG_ZONE_OFFSET_MAX;
}

static bool is_rule_day(const rule_day *r) {
    if (r->time_s < -RULE_TIME_MAX || r->time_s > RULE_TIME_MAX)
        return false;
    switch (r->kind) {
    case DAY_SKIPPING_LEAP:
        return r->day >= 1 && r->day <= 365;
    case DAY_OF_YEAR:
        return r->day >= 0 && r->day <= 365;
    case DAY_OF_MONTH:
        return r->month >= 1 && r->month <= 12 && r->week >= 1 && r->week <= 5 && r->day >= 0 &&
               r->day <= 6;
    }
    return false;
}

static void rule_finish(rule *r) {
    r->is_calm = r->has_daylight && is_within_year(&r->begin) && is_within_year(&r->end);
}

/* ---- segments ---------------------------------------------------------------------------------------- */

/* How many of the segments that begin at `from_s` are needed beside the rule. */
static int needed_segments(const segment *segments, int count, int64_t from_s, const rule *r) {
    for (; count; count--) {
        const segment *last = &segments[count - 1];
        rung_zone_stretch by_rule = rule_find(r, count > 1 ? last[-1].until_s : from_s);
        if (by_rule.offset_s != last->offset_s || by_rule.until_s < last->until_s)
            break;
    }
    return count;
}

static size_t zone_size(int count) {
    return sizeof(rung_zone) + (size_t)count * sizeof(segment);
}

static rung_zone *zone_new(const rung_alloc *alloc, int capacity) {
    rung_zone *zone = rung_alloc_zeroed(alloc, zone_size(capacity));
    if (zone) {
        zone->alloc = alloc;
        zone->size_bytes = zone_size(capacity);
    }
    return zone;
}

static void zone_finish(rung_zone *zone) {
    const rule *r = &zone->rule;
    zone->offset_max_s =
        r->has_daylight && r->daylight_s > r->standard_s ? r->daylight_s : r->standard_s;
    for (int i = 0; i < zone->count; i++)
        if (zone->segments[i].offset_s > zone->offset_max_s)
            zone->offset_max_s = zone->segments[i].offset_s;
}

void rung_zone_destroy(rung_zone *zone) {
    if (zone)
        rung_alloc_free(zone->alloc, zone, zone->size_bytes);
}

rung_zone_stretch rung_zone_find(const rung_zone *zone, int64_t unix_s) {
    if (!zone)
        return (rung_zone_stretch){INT64_MIN, INT64_MAX, 0};
    const segment *s = zone->segments;
    int low = 0,
        high = zone->count; /* the first segment that ends after the instant is in [low, high] */
    while (low < high) {
        int middle = (low + high) / 2;
        if (s[middle].until_s <= unix_s)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t from_s = low ? s[low - 1].until_s : INT64_MIN;
    if (low < zone->count)
        return (rung_zone_stretch){from_s, s[low].until_s, s[low].offset_s};
    rung_zone_stretch found = rule_find(&zone->rule, unix_s);
    if (found.from_s < from_s)
        found.from_s = from_s;
    return found;
}

int32_t rung_zone_utc_offset(const rung_zone *zone, int64_t unix_s) {
    return rung_zone_find(zone, unix_s).offset_s;
}

int32_t rung_zone_offset_max(const rung_zone *zone) {
    return zone ? zone->offset_max_s : 0;
}

const char *rung_zone_check(const rung_zone *zone) {
    if (!zone)
        return NULL;
    const rule *r = &zone->rule;
    for (int i = 0; i < zone->count; i++) {
        const segment *s = &zone->segments[i];
        if (s->until_s < -INSTANT_MAX || s->until_s > INSTANT_MAX ||
            (i && s->until_s <= s[-1].until_s))
            return "1: until ascends within its bounds";
        if (i && s->offset_s == s[-1].offset_s)
            return "2: neighbours differ";
        if (!is_offset(s->offset_s))
            return "4: offsets are within their bounds";
    }
    if (needed_segments(zone->segments, zone->count, INT64_MIN, r) != zone->count)
        return "3: the rule alone would do";
    if (!is_offset(r->standard_s) ||
        (r->has_daylight && (!is_offset(r->daylight_s) || r->standard_s == r->daylight_s ||
                             !is_rule_day(&r->begin) || !is_rule_day(&r->end))))
        return "4: the rule is valid";
    return NULL;
}

/* ---- POSIX TZ strings -------------------------------------------------------------------------------- */

typedef struct cursor {
    const char *p, *end;
} cursor;

static bool take(cursor *c, char wanted) {
    if (c->p == c->end || *c->p != wanted)
        return false;
    c->p++;
    return true;
}

/* 1 to 3 digits. */
static bool take_number(cursor *c, int *out) {
    const char *first = c->p;
    int n = 0;
    while (c->p < c->end && c->p - first < 3 && *c->p >= '0' && *c->p <= '9')
        n = n * 10 + (*c->p++ - '0');
    *out = n;
    return c->p > first;
}

static bool is_name_byte(char ch, bool quoted) {
    return rung_is_letter(ch) || (quoted && ((ch >= '0' && ch <= '9') || ch == '+' || ch == '-'));
}

/* Skip an abbreviation: three or more letters, or within <> also digits and signs. */
static bool skip_name(cursor *c) {
    bool quoted = take(c, '<');
    const char *first = c->p;
    while (c->p < c->end && is_name_byte(*c->p, quoted))
        c->p++;
    return c->p - first >= 3 && (!quoted || take(c, '>'));
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(cursor *c, int hours_max, int32_t *seconds_out) {
    bool negative = take(c, '-');
    if (!negative)
        take(c, '+');
    int hours = 0, minutes = 0, seconds = 0;
    if (!take_number(c, &hours) || (take(c, ':') && (!take_number(c, &minutes) ||
                                                     (take(c, ':') && !take_number(c, &seconds)))))
        return false;
    if (hours > hours_max || minutes > 59 || seconds > 59)
        return false;
    int total = hours * 3600 + minutes * 60 + seconds;
    *seconds_out = negative ? -total : total;
    return true;
}

/* A POSIX offset is positive westwards: local time plus offset is UTC. */
static bool take_offset(cursor *c, int32_t *offset_out) {
    if (!take_time(c, 24, offset_out))
        return false;
    *offset_out = -*offset_out;
    return true;
}

static bool take_rule_day(cursor *c, rule_day *r) {
    *r = (rule_day){.time_s = 2 * 3600};
    bool good;
    if (take(c, 'M')) {
        r->kind = DAY_OF_MONTH;
        good = take_number(c, &r->month) && take(c, '.') && take_number(c, &r->week) &&
               take(c, '.') && take_number(c, &r->day);
    } else {
        r->kind = take(c, 'J') ? DAY_SKIPPING_LEAP : DAY_OF_YEAR;
        good = take_number(c, &r->day);
    }
    if (good && take(c, '/'))
        good = take_time(c, RULE_TIME_MAX / 3600, &r->time_s);
    return good && is_rule_day(r);
}

/* "EET-2EEST,M3.5.0/3,M10.5.0/4", or just "UTC0". */
static bool parse_rule(rung_slice text, rule *r) {
    cursor c = {text.ptr, text.ptr + text.len};
    *r = (rule){0};
    if (!skip_name(&c) || !take_offset(&c, &r->standard_s))
        return false;
    if (c.p == c.end)
        return true;
    if (!skip_name(&c))
        return false;
    r->daylight_s = r->standard_s + 3600;
    if (c.p < c.end && *c.p != ',' && !take_offset(&c, &r->daylight_s))
        return false;
    if (!take(&c, ',') || !take_rule_day(&c, &r->begin) || !take(&c, ',') ||
        !take_rule_day(&c, &r->end) || c.p != c.end)
        return false;
    if (r->standard_s == r->daylight_s)
        *r = (rule){.standard_s = r->standard_s}; /* 4 */
    else
        r->has_daylight = true;
    rule_finish(r);
    return true;
}

/* ---- TZif -------------------------------------------------------------------------------------------- */

#define TZIF_HEADER 44
#define TZIF_TYPE   6 /* int32 offset, byte is-daylight, byte abbreviation index */

typedef struct tzif_block {
    const unsigned char *times, *indices, *types;
    uint32_t time_count, type_count, leap_count;
    int time_size; /* 4, or 8 in the second block */
} tzif_block;

static uint64_t load_be(const unsigned char *p, int size) {
    uint64_t v = 0;
    for (int i = 0; i < size; i++)
        v = v << 8 | p[i];
    return v;
}

static int32_t load_i32(const unsigned char *p) {
    return (int32_t)(uint32_t)load_be(p, 4);
}

static int64_t load_time(const tzif_block *b, uint32_t i) {
    const unsigned char *p = b->times + (size_t)i * (size_t)b->time_size;
    return b->time_size == 8 ? (int64_t)load_be(p, 8) : load_i32(p);
}

static int32_t load_offset(const tzif_block *b, uint32_t type) {
    return load_i32(b->types + (size_t)type * TZIF_TYPE);
}

/* Find the parts of the block whose header is at `*position`, and move past it. false: it does not fit. */
static bool read_block(rung_slice tzif, size_t *position, int time_size, tzif_block *b) {
    const unsigned char *header = (const unsigned char *)tzif.ptr + *position;
    if (tzif.len - *position < TZIF_HEADER || memcmp(header, "TZif", 4) != 0)
        return false;
    uint64_t ut_count = load_be(header + 20, 4), std_count = load_be(header + 24, 4),
             char_count = load_be(header + 40, 4);
    *b = (tzif_block){.leap_count = (uint32_t)load_be(header + 28, 4),
                      .time_count = (uint32_t)load_be(header + 32, 4),
                      .type_count = (uint32_t)load_be(header + 36, 4),
                      .time_size = time_size};
    uint64_t unit =
        (uint64_t)time_size; /* every count is below 2^32: none of these sums can overflow */
    uint64_t size = b->time_count * (unit + 1) + (uint64_t)b->type_count * TZIF_TYPE + char_count +
                    b->leap_count * (unit + 4) + std_count + ut_count;
    if (size > tzif.len - *position - TZIF_HEADER)
        return false;
    b->times = header + TZIF_HEADER;
    b->indices = b->times + b->time_count * unit;
    b->types = b->indices + b->time_count;
    *position += TZIF_HEADER + (size_t)size;
    return true;
}

static bool read_footer(rung_slice tzif, size_t position, rung_slice *footer_out) {
    size_t length = tzif.len - position;
    const char *p = tzif.ptr + position;
    if (length < 2 || p[0] != '\n' || p[length - 1] != '\n')
        return false;
    *footer_out = rung_slice_of(p + 1, length - 2);
    return true;
}

/* The block to use, and the footer (empty in version 1). */
static bool read_tzif(rung_slice tzif, tzif_block *b, rung_slice *footer) {
    size_t position = 0;
    *footer = rung_slice_of(tzif.ptr, 0);
    if (!read_block(tzif, &position, 4, b))
        return false;
    if (tzif.ptr[4] == 0)
        return position == tzif.len;
    return tzif.ptr[4] >= '2' && read_block(tzif, &position, 8, b) &&
           read_footer(tzif, position, footer);
}

static const char *block_defect(const tzif_block *b) {
    if (b->type_count == 0 || b->type_count > 256)
        return "1 to 256 local time types are needed";
    for (uint32_t i = 0; i < b->type_count; i++)
        if (!is_offset(load_offset(b, i)))
            return "an offset is beyond 26 hours";
    for (uint32_t i = 0; i < b->time_count; i++) {
        if (b->indices[i] >= b->type_count)
            return "a transition names a type that is not there";
        int64_t at = load_time(b, i);
        if (at < -INSTANT_MAX || at > INSTANT_MAX || (i && at <= load_time(b, i - 1)))
            return "transitions are not in order";
    }
    return NULL;
}

/* Transition i ends the segment that began with transition i - 1, whose offset is that one's type;
 * before the first transition type 0 holds. */
static void fill_segments(rung_zone *zone, const tzif_block *b) {
    for (uint32_t i = 0; i < b->time_count; i++) {
        int32_t offset = load_offset(b, i ? b->indices[i - 1] : 0);
        if (zone->count && zone->segments[zone->count - 1].offset_s == offset)
            zone->count--; /* 2: it goes on */
        zone->segments[zone->count++] = (segment){load_time(b, i), offset};
    }
    zone->count = needed_segments(zone->segments, zone->count, INT64_MIN, &zone->rule); /* 3 */
}

static rung_zone *zone_shrink(rung_zone *zone) {
    const rung_alloc *alloc = zone->alloc;
    size_t size = zone_size(zone->count);
    rung_zone *smaller =
        size < zone->size_bytes ? rung_alloc_resize(alloc, zone, zone->size_bytes, size) : NULL;
    if (!smaller)
        return zone; /* a few bytes more than needed */
    smaller->size_bytes = size;
    return smaller;
}

rung_status rung_zone_create(const rung_alloc *alloc, rung_slice tzif, rung_zone **zone_out,
                             rung_err *err) {
    if (tzif.len > RUNG_ZONE_TZIF_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "time zone data of %zu bytes, more than %zu", tzif.len,
                         RUNG_ZONE_TZIF_MAX);
    tzif_block block;
    rung_slice footer;
    if (!read_tzif(tzif, &block, &footer))
        return RUNG_FAIL(err, RUNG_EINVAL, "not a TZif file, or a damaged one");
    if (block.time_count > RUNG_ZONE_TRANSITIONS_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "more than %d transitions", RUNG_ZONE_TRANSITIONS_MAX);
    if (block.leap_count)
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED, "a time zone that counts leap seconds");
    const char *defect = block_defect(&block);
    if (defect)
        return RUNG_FAIL(err, RUNG_EINVAL, "%s", defect);

    /* Without a footer the last offset goes on for ever. */
    rule r = {.standard_s =
                  load_offset(&block, block.time_count ? block.indices[block.time_count - 1] : 0)};
    if (footer.len && !parse_rule(footer, &r))
        return RUNG_FAIL(err, RUNG_EINVAL, "the rule at the end is not a POSIX TZ string");

    rung_zone *zone = zone_new(alloc, (int)block.time_count);
    if (!zone)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    zone->rule = r;
    fill_segments(zone, &block);
    zone_finish(zone);
    *zone_out = zone_shrink(zone);
    return RUNG_OK;
}

/* ---- the packed form --------------------------------------------------------------------------------- */

static void put_rule_day(rung_byte_writer *w, const rule_day *r) {
    rung_put_byte(w, (uint8_t)r->kind);
    rung_put_number(
        w, (uint64_t)(r->kind == DAY_OF_MONTH ? r->month * 100 + r->week * 10 + r->day : r->day));
    rung_put_signed(w, r->time_s);
}

static void put_rule(rung_byte_writer *w, const rule *r) {
    rung_put_signed(w, r->standard_s);
    rung_put_byte(w, r->has_daylight);
    if (r->has_daylight) {
        rung_put_signed(w, r->daylight_s);
        put_rule_day(w, &r->begin);
        put_rule_day(w, &r->end);
    }
}

rung_status rung_zone_pack(const rung_zone *zone, int64_t from_s, void *buffer, size_t size,
                           size_t *length_out) {
    static const rung_zone utc = {0};
    if (!zone)
        zone = &utc;
    const segment *s = zone->segments;
    int count = zone->count;
    for (; count && s->until_s <= from_s; count--)
        s++;
    count = needed_segments(s, count, from_s, &zone->rule);

    rung_byte_writer w = rung_byte_writer_of(buffer, size);
    rung_put_byte(&w, PACKED_VERSION);
    rung_put_number(&w, (uint64_t)count);
    for (int i = 0; i < count; i++) {
        rung_put_signed(&w, s[i].offset_s);
        if (i == 0)
            rung_put_signed(&w, s[i].until_s);
        else
            rung_put_number(&w, (uint64_t)(s[i].until_s - s[i - 1].until_s));
    }
    put_rule(&w, &zone->rule);
    if (w.lost)
        return RUNG_ELIMIT;
    *length_out = rung_byte_writer_length(&w);
    return RUNG_OK;
}

static void fail(rung_byte_reader *r) {
    rung_byte_reader_fail(r, "damaged packed time zone");
}

/* A signed number whose magnitude is at most `limit`; anything else makes the reader bad. */
static int64_t get_signed(rung_byte_reader *r, int64_t limit) {
    int64_t value = rung_get_signed(r);
    if (value >= -limit && value <= limit)
        return value;
    fail(r);
    return 0;
}

static void get_rule_day(rung_byte_reader *in, rule_day *r) {
    unsigned kind = rung_get_byte(in);
    uint64_t day = rung_get_number(in);
    r->time_s = (int32_t)get_signed(in, RULE_TIME_MAX);
    if (kind > DAY_OF_MONTH || day > 9999) {
        fail(in);
        return;
    }
    r->kind = (rule_day_kind)kind;
    r->day = (int)day;
    if (r->kind == DAY_OF_MONTH) {
        r->month = (int)day / 100;
        r->week = (int)day / 10 % 10;
        r->day = (int)day % 10;
    }
    if (!is_rule_day(r))
        fail(in);
}

static void get_rule(rung_byte_reader *in, rule *r) {
    r->standard_s = (int32_t)get_signed(in, RUNG_ZONE_OFFSET_MAX);
    unsigned has_daylight = rung_get_byte(in);
    if (has_daylight > 1)
        fail(in);
    r->has_daylight = has_daylight == 1;
    if (r->has_daylight) {
        r->daylight_s = (int32_t)get_signed(in, RUNG_ZONE_OFFSET_MAX);
        get_rule_day(in, &r->begin);
        get_rule_day(in, &r->end);
        if (r->daylight_s == r->standard_s) /* 4 */
            fail(in);
    }
    if (!in->fault)
        rule_finish(r);
}

static void get_segments(rung_byte_reader *in, rung_zone *zone, int count) {
    for (; zone->count < count && !in->fault; zone->count++) {
        segment *s = &zone->segments[zone->count];
        s->offset_s = (int32_t)get_signed(in, RUNG_ZONE_OFFSET_MAX);
        if (zone->count == 0) {
            s->until_s = get_signed(in, INSTANT_MAX);
            continue;
        }
        uint64_t distance = rung_get_number(in);
        if (distance == 0 || distance > (uint64_t)(INSTANT_MAX - s[-1].until_s) ||
            s->offset_s == s[-1].offset_s) /* 1, 2 */
            fail(in);
        s->until_s = in->fault ? 0 : s[-1].until_s + (int64_t)distance;
    }
}

rung_status rung_zone_unpack(const rung_alloc *alloc, rung_slice packed, rung_zone **zone_out,
                             rung_err *err) {
    rung_byte_reader in = rung_byte_reader_of(packed);
    unsigned version = rung_get_byte(&in);
    if (version > PACKED_VERSION)
        return RUNG_FAIL(err, RUNG_EVERSION, "packed time zone of version %u", version);
    uint64_t count = rung_get_number(&in);
    if (in.fault || version != PACKED_VERSION || count > RUNG_ZONE_TRANSITIONS_MAX)
        return RUNG_FAIL(err, RUNG_ECORRUPT, "damaged packed time zone");
    rung_zone *zone = zone_new(alloc, (int)count);
    if (!zone)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    get_segments(&in, zone, (int)count);
    get_rule(&in, &zone->rule);
    if (in.fault || in.at != in.end ||
        needed_segments(zone->segments, zone->count, INT64_MIN, &zone->rule) !=
            zone->count) { /* 3 */
        rung_zone_destroy(zone);
        return RUNG_FAIL(err, RUNG_ECORRUPT, "damaged packed time zone");
    }
    zone_finish(zone);
    *zone_out = zone;
    return RUNG_OK;
}
