/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child: what it has let go of, what it is left with, and when it ends. */
#include "service/child.h"

#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int exit_code(pid_t child) {
    int how;
    while (waitpid(child, &how, 0) < 0)
        CHECK(errno == EINTR);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

TEST(sockets_are_closed_and_files_are_not) {
    int pair[2], ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
    pid_t child = rung__child_fork();
    if (child == 0)
        _exit(fcntl(pair[0], F_GETFD) >= 0 || fcntl(pair[1], F_GETFD) >= 0 ||
              fcntl(ends[0], F_GETFD) < 0 || fcntl(ends[1], F_GETFD) < 0);
    CHECK_EQ_I64(exit_code(child), 0);
    CHECK(fcntl(pair[0], F_GETFD) >= 0 && fcntl(pair[1], F_GETFD) >= 0);
    close(pair[0]), close(pair[1]), close(ends[0]), close(ends[1]);
}

/* Everything a child does with memory, in a process that has nothing to lose. */
static bool memory_works(void) {
    const rung_alloc *a = rung__child_alloc();
    char *block = rung_alloc_get(a, 100);
    if (!block)
        return false;
    memset(block, 7, 100);
    char *more = rung_alloc_resize(a, block, 100, 3 << 20);
    if (!more || more[0] != 7 || more[99] != 7)
        return false;
    more[(3 << 20) - 1] = 9;
    char *less = rung_alloc_resize(a, more, 3 << 20, 50);
    if (!less || less[49] != 7)
        return false;
    rung_alloc_free(a, less, 50);
    return rung_alloc_get(a, (size_t)1 << 62) == NULL;
}

TEST(memory) {
    pid_t child = rung__child_fork();
    if (child == 0)
        _exit(memory_works() ? 0 : 1);
    CHECK_EQ_I64(exit_code(child), 0);
}

/* A process with a child that would never end. Both hold the writing end of the pipe: reading it comes to an end when
 * both have gone. */
static pid_t family(int ends[2]) {
    CHECK(pipe(ends) == 0);
    pid_t parent = fork();
    if (parent == 0) {
        close(ends[0]);
        pid_t child = rung__child_fork();
        if (child != 0)
            (void)!write(ends[1], &child, sizeof child);
        for (;;)
            pause();
    }
    close(ends[1]);
    return parent;
}

TEST(it_ends_with_its_parent) {
    int ends[2];
    char more;
    pid_t parent = family(ends), child;
    CHECK(read(ends[0], &child, sizeof child) == sizeof child);
    kill(parent, SIGKILL);
    CHECK(read(ends[0], &more, 1) == 0);
    CHECK_EQ_I64(exit_code(parent), -1);
    close(ends[0]);
}

/* ---- a thread that ends before the process ---- */

static void *fork_in_thread(void *ctx) {
    int *go = ctx;
    static pid_t child;
    child = rung__child_fork();
    if (child == 0) {
        char byte;
        _exit(read(*go, &byte, 1) == 1 ? 0 : 1);
    }
    return &child;
}

TEST(it_outlives_a_thread) {
    int go[2];
    pthread_t thread;
    void *child;
    CHECK(pipe(go) == 0);
    CHECK(pthread_create(&thread, NULL, fork_in_thread, &go[0]) == 0);
    CHECK(pthread_join(thread, &child) == 0);
    CHECK(write(go[1], "", 1) == 1);
    CHECK_EQ_I64(exit_code(*(pid_t *)child), 0);
    close(go[0]), close(go[1]);
}

RUNG_TEST_MAIN
