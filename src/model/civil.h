/* SPDX-License-Identifier: Apache-2.0 */
/* civil.h - the Gregorian calendar as arithmetic: days since 1970-01-01 to year, month, day and back.
 *
 * The method is Howard Hinnant's. Let the year begin on the first of March: then the leap day is the
 * last day of its year and disturbs nothing before it, and the months' first days 0, 31, 61, 92, 122,
 * 153, ... fall on a straight line, (153 m + 2) / 5. Four hundred years are exactly 146,097 days, so
 * one "era" of non-negative numbers is enough to compute in, and negative years cost one floor
 * division. No tables, no loops, no branches on the month. Proleptic; exact for every year whose days
 * fit. Pure functions. */
#ifndef RUNG_MODEL_CIVIL_H
#define RUNG_MODEL_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_civil {
    int64_t year;
    int month; /* 1 to 12 */
    int day;   /* 1 to 31 */
} rung_civil;

/* Rounded towards minus infinity; b > 0. */
static inline int64_t rung_floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static inline int64_t rung_days_from_civil(int64_t year, int month, int day) {
    year -= month <= 2;
    int64_t era = rung_floor_div(year, 400), year_of_era = year - era * 400;
    int month_from_march = month > 2 ? month - 3 : month + 9;
    int64_t day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468; /* 0000-03-01 lies 719,468 days before 1970-01-01 */
}

static inline rung_civil rung_civil_from_days(int64_t days) {
    days += 719468;
    int64_t era = rung_floor_div(days, 146097), day_of_era = days - era * 146097;
    /* Take out the leap days passed (one in 1,461 days, none in 36,524, the era's last in 146,096) to be left
     * with years of 365. */
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int day_of_year = (int)(day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100));
    int month_from_march = (5 * day_of_year + 2) / 153;
    int month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    int day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    return (rung_civil){year_of_era + era * 400 + (month <= 2), month, day};
}

static inline bool rung_is_leap_year(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static inline int rung_days_in_month(int64_t year, int month) {
    if (month == 2)
        return 28 + rung_is_leap_year(year);
    return 30 + ((month + (month > 7)) & 1);
}

/* 0 = Sunday ... 6 = Saturday; 1970-01-01 was a Thursday. */
static inline int rung_weekday(int64_t days) {
    return (int)(days + 4 - rung_floor_div(days + 4, 7) * 7);
}

#endif
