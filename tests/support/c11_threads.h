/* SPDX-License-Identifier: Apache-2.0 */
/* c11_threads.h - C11's threads on POSIX ones, for programs under ThreadSanitizer that use librdkafka.
 *
 * The sanitizer of gcc 12 sees pthread_create() and pthread_mutex_lock(), not thrd_create() and mtx_lock(), which
 * librdkafka calls: it crashes in a thread that it does not know. Functions of the program take the place of those of
 * libc. In libc the C11 types are the POSIX ones. Include it once in a program; elsewhere than under the sanitizer it
 * is empty. */
#ifndef RUNG_TESTS_C11_THREADS_H
#define RUNG_TESTS_C11_THREADS_H

#ifdef __SANITIZE_THREAD__
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

_Static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t),
               "libc's C11 threads are POSIX threads");

/* Inside, it counts references with atomics that the sanitizer does not see. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "race:librdkafka.so\n";
}

typedef struct c11_start {
    thrd_start_t run;
    void *arg;
} c11_start;

static void *c11_run(void *ctx) {
    c11_start start = *(c11_start *)ctx;
    (free)(ctx);
    return (void *)(intptr_t)start.run(start.arg);
}

static int c11_result(int error) {
    return error == 0 ? thrd_success : error == ETIMEDOUT ? thrd_timedout : thrd_error;
}

int thrd_create(thrd_t *thread, thrd_start_t run, void *arg) {
    c11_start *start = (malloc)(sizeof *start);
    *start = (c11_start){run, arg};
    return c11_result(pthread_create(thread, NULL, c11_run, start));
}

int thrd_join(thrd_t thread, int *result) {
    void *value;
    int error = pthread_join(thread, &value);
    if (result)
        *result = (int)(intptr_t)value;
    return c11_result(error);
}

int mtx_init(mtx_t *lock, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (type & mtx_recursive)
        pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    return c11_result(pthread_mutex_init((pthread_mutex_t *)lock, &attributes));
}

int mtx_lock(mtx_t *lock) {
    return c11_result(pthread_mutex_lock((pthread_mutex_t *)lock));
}

int mtx_unlock(mtx_t *lock) {
    return c11_result(pthread_mutex_unlock((pthread_mutex_t *)lock));
}

void mtx_destroy(mtx_t *lock) {
    pthread_mutex_destroy((pthread_mutex_t *)lock);
}

int cnd_init(cnd_t *condition) {
    return c11_result(pthread_cond_init((pthread_cond_t *)condition, NULL));
}

int cnd_signal(cnd_t *condition) {
    return c11_result(pthread_cond_signal((pthread_cond_t *)condition));
}

int cnd_broadcast(cnd_t *condition) {
    return c11_result(pthread_cond_broadcast((pthread_cond_t *)condition));
}

int cnd_wait(cnd_t *condition, mtx_t *lock) {
    return c11_result(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)lock));
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict lock,
                  const struct timespec *restrict end) {
    return c11_result(
        pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)lock, end));
}

void cnd_destroy(cnd_t *condition) {
    pthread_cond_destroy((pthread_cond_t *)condition);
}
#endif

#endif
