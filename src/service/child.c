/* SPDX-License-Identifier: Apache-2.0 */
#include "service/child.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NICE = 10 };

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
    setpriority(PRIO_PROCESS, 0, NICE);
}
