/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* SCHED_IDLE */
#include "service/child.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_sockets(DIR *open_files) {
    struct dirent *entry;
    struct stat about;
    while ((entry = readdir(open_files)) != NULL) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd > 2 && fd != dirfd(open_files) && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode))
            close(fd);
    }
}

void rung_child_settle(void) {
    DIR *open_files = opendir("/proc/self/fd");
    if (open_files) {
        close_sockets(open_files);
        closedir(open_files);
    }
    /* A child that is merely nice runs its slice to the end when the parent's threads wake: milliseconds for whoever
     * waits for an answer. One that is idle is put aside at once. */
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
}
