/* SPDX-License-Identifier: Apache-2.0 */
#include "app/memory.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RESERVE ((uint64_t)64 << 20) /* the hub's ring, the log's and SQLite's buffers, stacks */

static uint64_t least(uint64_t a, uint64_t b) {
    return a && (!b || a < b) ? a : b;
}

/* The number in a file; 0: there is none. */
static uint64_t read_number(const char *path) {
    char text[64] = "";
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    return end == text || n == ULLONG_MAX ? 0 : n;
}

/* Version 2: the least limit of the group and its parents. */
static uint64_t group_limit(void) {
    char line[PATH_MAX], path[PATH_MAX + 64];
    uint64_t limit = 0;
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        char *group = line + 3;
        group[strcspn(group, "\n")] = '\0';
        for (char *slash; (slash = strrchr(group, '/')) != NULL; *slash = '\0') {
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", group);
            limit = least(limit, read_number(path));
        }
        limit = least(limit, read_number("/sys/fs/cgroup/memory.max"));
    }
    fclose(file);
    return limit;
}

static uint64_t space_left(void) {
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return 0;
    uint64_t used = read_number("/proc/self/statm") * (uint64_t)sysconf(_SC_PAGESIZE);
    return used < space.rlim_cur ? space.rlim_cur - used : 1;
}

uint64_t rung_memory_of_process(void) {
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t version1 = read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    return least(least(machine, version1), least(group_limit(), space_left()));
}

uint64_t rung_memory_for_state(uint64_t memory, uint64_t buffers) {
    uint64_t kept = memory / 5 + RESERVE + 2 * buffers, most = memory / 4 * 3;
    if (kept > most || kept < buffers)
        kept = most;
    return memory - kept;
}

void rung_memory_save_address_space(void) {
#ifdef M_ARENA_MAX
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
#endif
}
