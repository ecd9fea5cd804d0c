/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "service/child.h"

#include "journal/file.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_socket(void *arg, const char *name) {
    struct stat about;
    int fd = (int)strtol(name, NULL, 10);
    (void)arg;
    if (fd > 2 && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode))
        close(fd);
}

static void close_sockets(void) {
    rung_dir open_files = {0};
    if (rung_dir_open(&open_files, rung_fs_posix(), "/proc/self/fd", false, NULL) < 0)
        return;
    rung_ignore(rung_dir_list(&open_files, close_socket, NULL, NULL),
                "a connection that is closed late is no harm");
    rung_dir_close(&open_files);
}

static void settle(bool is_bound, pid_t parent) {
    if (is_bound) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* it was quicker */
            _exit(1);
    }
    close_sockets();
    /* A child that is merely nice runs its slice to the end when the parent's threads wake: milliseconds for whoever
     * waits for an answer. One that is idle is put aside at once. */
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
}

pid_t rung_child_fork(void) {
    pid_t parent = getpid();
    bool is_bound = gettid() == parent; /* the signal comes when the thread ends, not the process */
    pid_t child = fork();
    if (child == 0)
        settle(is_bound, parent);
    return child;
}

static void *map(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void *resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    (void)ctx;
    if (!ptr)
        return map(new_size);
    if (new_size == 0) {
        munmap(ptr, old_size);
        return NULL;
    }
    void *moved = mremap(ptr, old_size, new_size, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

const rung_alloc *rung_child_alloc(void) {
    static const rung_alloc child = {.resize = resize, .ctx = NULL};
    return &child;
}
