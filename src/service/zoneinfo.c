/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "service/zoneinfo.h"

#include "base/ascii.h"
#include "model/board.h"
#include "model/zone.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_name_byte(char c) {
    return rung_is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '+' || c == '-';
}

bool rung_zoneinfo_name_is_valid(rung_slice name) {
    if (name.len == 0 || name.len > RUNG_ZONE_NAME_MAX)
        return false;
    bool at_start = true;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (at_start ? !rung_is_letter(c) : !is_name_byte(c) && c != '/')
            return false;
        at_start = c == '/';
    }
    return !at_start;
}

/* Read a file of at most RUNG_ZONE_TZIF_MAX bytes. RUNG_NOT_FOUND: no such regular file. */
static rung_status read_whole(const char *path, const char *name, char *buffer, size_t *len_out,
                              rung_err *err) {
    rung_status st = RUNG_NOT_FOUND;
    struct stat info;
    size_t len = 0;
    int file = -1;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "timezone: cannot open the folder %s: %s", path,
                            strerrordesc_np(errno));
    file = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a pipe */
    if (file < 0 || fstat(file, &info) < 0 || !S_ISREG(info.st_mode))
        goto out;
    while (len <= RUNG_ZONE_TZIF_MAX) {
        ssize_t got = read(file, buffer + len, RUNG_ZONE_TZIF_MAX + 1 - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            st = RUNG_FAIL_OS(err, RUNG_EIO, errno, "timezone: cannot read %s: %s", name,
                              strerrordesc_np(errno));
            goto out;
        }
        if (got == 0)
            break;
        len += (size_t)got;
    }
    st = RUNG_OK;
    *len_out = len;
out:
    if (file >= 0)
        close(file);
    close(dir);
    return st;
}

rung_status rung_zoneinfo_pack(const char *path, rung_slice name, const rung_alloc *alloc,
                               void *out, size_t *length_out, rung_err *err) {
    if (!rung_zoneinfo_name_is_valid(name))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "timezone",
                               "expected the name of an IANA zone, like Europe/Helsinki");
    char file_name[RUNG_ZONE_NAME_MAX + 1];
    memcpy(file_name, name.ptr, name.len);
    file_name[name.len] = '\0';

    size_t room = RUNG_ZONE_TZIF_MAX + 1; /* one more, to detect a file that is too long */
    char *tzif = rung_alloc_get(alloc, room);
    if (!tzif)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    rung_zone *zone = NULL;
    rung_err why;
    size_t len = 0;
    rung_status st = read_whole(path, file_name, tzif, &len, err);
    if (st == RUNG_NOT_FOUND)
        st = RUNG_FAIL_FIELD(err, RUNG_EABSENT, "timezone", "there is no zone %s in %s", file_name,
                             path);
    if (st < 0)
        goto out;
    st = rung_zone_create(alloc, rung_slice_of(tzif, len), &zone, &why);
    if (st < 0) {
        RUNG_FAIL_FIELD(err, st, "timezone", "%s/%s: %s", path, file_name, why.message);
        goto out;
    }
    st = rung_zone_pack(zone, INT64_MIN, out, RUNG_ZONE_PACKED_MAX, length_out);
    if (st < 0)
        RUNG_FAIL_FIELD(err, st, "timezone", "%s has too many rules", file_name);
out:
    rung_zone_destroy(zone);
    rung_alloc_free(alloc, tzif, room);
    return st;
}
