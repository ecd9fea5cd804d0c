/* SPDX-License-Identifier: Apache-2.0 */
/* Zone files by name: only names of zones become paths, and what is read is what the board gets. */
#include "service/zoneinfo.h"

#include "model/zone.h"
#include "support/check.h"

TEST(names_of_zones_and_nothing_else) {
    static const char *const good[] = {
        "UTC",       "Europe/Helsinki",        "America/Argentina/Buenos_Aires",
        "Etc/GMT+5", "America/Port-au-Prince", "EST5EDT"};
    static const char *const bad[] = {
        "",          "/etc/passwd", "../../etc/passwd", "Europe/../UTC", "Europe//Rome",
        "Europe/",   ".hidden",     "Europe/.hidden",   "a b",           "Europe\\Rome",
        "+Europe/A", "Europe/1"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK_MSG(rung_zoneinfo_name_is_valid(rung_slice_str(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_MSG(!rung_zoneinfo_name_is_valid(rung_slice_str(bad[i])), "%s", bad[i]);
    CHECK(!rung_zoneinfo_name_is_valid(rung_slice_of("UTC\0x", 5)));
    char longest[66];
    memset(longest, 'a', sizeof longest);
    CHECK(rung_zoneinfo_name_is_valid(rung_slice_of(longest, 64)));
    CHECK(!rung_zoneinfo_name_is_valid(rung_slice_of(longest, 65)));
}

static char packed[RUNG_ZONE_PACKED_MAX];

static rung_status pack(const char *path, const char *name, size_t *len, rung_err *err) {
    return rung_zoneinfo_pack(path, rung_slice_str(name), rung_alloc_heap(), packed, len, err);
}

TEST(rules_with_their_history) {
    rung_err err;
    size_t len;
    CHECK_OK(pack(RUNG_ZONEINFO_PATH, "Europe/Helsinki", &len, &err));
    rung_zone *zone;
    CHECK_OK(rung_zone_unpack(rung_alloc_heap(), rung_slice_of(packed, len), &zone, &err));
    CHECK_EQ_I64(rung_zone_utc_offset(zone, 1784116800), 3 * 3600); /* July 2026 */
    CHECK_EQ_I64(rung_zone_utc_offset(zone, 1768478400), 2 * 3600); /* January 2026 */
    CHECK_EQ_I64(rung_zone_utc_offset(zone, 298944000),
                 2 * 3600); /* June 1979: no summer time yet */
    rung_zone_destroy(zone);
}

TEST(what_is_no_zone_is_named) {
    rung_err err;
    size_t len;
    CHECK_STATUS(pack(RUNG_ZONEINFO_PATH, "Europe/Atlantis", &len, &err), RUNG_EABSENT);
    CHECK_EQ_STR(err.message, "timezone: there is no zone Europe/Atlantis in /usr/share/zoneinfo");
    CHECK_STATUS(pack(RUNG_ZONEINFO_PATH, "../passwd", &len, &err), RUNG_EINVAL);
    CHECK_STATUS(pack(RUNG_ZONEINFO_PATH, "Europe", &len, &err), RUNG_EABSENT); /* a folder */
    CHECK_STATUS(pack("/etc", "passwd", &len, &err), RUNG_EINVAL); /* a file of another kind */
    CHECK_EQ_STR(err.message, "timezone: /etc/passwd: not a TZif file, or a damaged one");
    CHECK_STATUS(pack("/nowhere", "UTC", &len, &err), RUNG_EIO);
}

RUNG_TEST_MAIN
