/* SPDX-License-Identifier: Apache-2.0 */
/* archive_dir.h - a temporary folder for one test's archive, removed when the test ends well. */
#ifndef RUNG_TESTS_ARCHIVE_DIR_H
#define RUNG_TESTS_ARCHIVE_DIR_H

#include "archive/sqlite/sqlite_archive.h"
#include "support/archive_contract.h"
#include "support/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct archive_dir {
    char dir[64], path[96];
} archive_dir;

static inline void archive_dir_init(archive_dir *d) {
    snprintf(d->dir, sizeof d->dir, "/tmp/rung-archive-XXXXXX");
    CHECK(mkdtemp(d->dir) != NULL);
    snprintf(d->path, sizeof d->path, "%s/archive.db", d->dir);
}

/* Remove all files in it. */
static inline void archive_dir_wipe(const archive_dir *d) {
    DIR *dir = opendir(d->dir);
    CHECK(dir != NULL);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        char path[400];
        snprintf(path, sizeof path, "%s/%s", d->dir, e->d_name);
        if (e->d_name[0] != '.')
            CHECK(unlink(path) == 0);
    }
    closedir(dir);
}

static inline void archive_dir_deinit(const archive_dir *d) {
    archive_dir_wipe(d);
    CHECK(rmdir(d->dir) == 0);
}

static inline rung_status archive_dir_open(void *ctx, rung_archive **out, rung_err *err) {
    const archive_dir *d = ctx;
    rung_sqlite_archive_config config = {.path = d->path, .alloc = rung_alloc_heap()};
    return rung_sqlite_archive_open(&config, out, err);
}

#endif
