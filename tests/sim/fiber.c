/* SPDX-License-Identifier: Apache-2.0 */
/* ucontext, with AddressSanitizer told about every switch. Stacks are kept for the next fiber: a run makes many. */
#define _GNU_SOURCE
#include "sim/fiber.h"

#include "support/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define STACK_SIZE ((size_t)2 << 20)

/* A crash drops what a process had; its memory goes back (task.h), but hashes and compression under way are in
 * memory of OpenSSL and zstd. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
    return "leak:libcrypto\nleak:CRYPTO_zalloc\nleak:libzstd\n";
}
#else
#define STACK_SIZE ((size_t)512 << 10)
#endif

struct sim_fiber {
    ucontext_t context;
    void (*run)(void *arg);
    void *arg;
    char *stack;
    bool is_done;
    void *fake_stack;
    struct sim_fiber *next; /* of the pool */
};

static ucontext_t world;
static void *world_fake_stack;
static const void *world_bottom;
static size_t world_size;
static sim_fiber *inside; /* the fiber that runs; NULL: the world does */
static sim_fiber *pool;

static void begin_switch(void **save, const void *bottom, size_t size) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(save, bottom, size);
#else
    (void)save, (void)bottom, (void)size;
#endif
}

static void end_switch(void *saved, const void **bottom, size_t *size) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(saved, bottom, size);
#else
    (void)saved, (void)bottom, (void)size;
#endif
}

static void start(void) {
    end_switch(NULL, &world_bottom, &world_size);
    sim_fiber *f = inside;
    f->run(f->arg);
    f->is_done = true;
    inside = NULL;
    begin_switch(NULL, world_bottom, world_size);
    swapcontext(&f->context, &world);
    abort(); /* it is never resumed */
}

static sim_fiber *from_pool(void) {
    sim_fiber *f = pool;
    if (f) {
        pool = f->next;
        return f;
    }
    f = malloc(sizeof *f);
    CHECK(f != NULL);
    f->stack = malloc(STACK_SIZE);
    CHECK(f->stack != NULL);
    return f;
}

static void prepare(sim_fiber *f) {
    CHECK(getcontext(&f->context) == 0);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK_SIZE;
    makecontext(&f->context, start, 0);
}

sim_fiber *sim_fiber_create(void (*run)(void *arg), void *arg) {
    sim_fiber *f = from_pool();
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(f->stack, STACK_SIZE);
#endif
    *f = (sim_fiber){.run = run, .arg = arg, .stack = f->stack};
    prepare(f);
    return f;
}

void sim_fiber_destroy(sim_fiber *f) {
    if (!f)
        return;
    CHECK(f != inside);
    f->next = pool;
    pool = f;
}

void sim_fiber_resume(sim_fiber *f) {
    CHECK(!inside && !f->is_done);
    inside = f;
    begin_switch(&world_fake_stack, f->stack, STACK_SIZE);
    CHECK(swapcontext(&world, &f->context) == 0);
    end_switch(world_fake_stack, NULL, NULL);
}

bool sim_fiber_is_done(const sim_fiber *f) {
    return f->is_done;
}

void sim_fiber_yield(void) {
    sim_fiber *f = inside;
    CHECK(f != NULL);
    inside = NULL;
    begin_switch(&f->fake_stack, world_bottom, world_size);
    CHECK(swapcontext(&f->context, &world) == 0);
    end_switch(f->fake_stack, &world_bottom, &world_size);
}

bool sim_fiber_is_inside(void) {
    return inside != NULL;
}
