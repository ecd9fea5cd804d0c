/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target without libFuzzer: every file of the directories (or single files) named on the command line,
 * then RUNG_STEPS (4000) seeded mutations of them. On a crash the input is written to crash-input in the working
 * directory; give that file as the only argument to replay it alone. */
#include "support/check.h"
#include "support/rng.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_SIZE_MAX = 4096, PATH_SIZE = 4096 };

typedef struct input {
    unsigned char *bytes;
    size_t size;
} input;

static input *inputs;
static size_t input_count;
static input running; /* what a crash handler shall save */

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void save_running(void) {
    FILE *f = fopen("crash-input", "wb");
    if (!f)
        return;
    size_t written = fwrite(running.bytes, 1, running.size, f);
    fclose(f);
    fprintf(stderr, "replay: crashed; %zu bytes saved in crash-input\n", written);
}

static void on_crash(int signal_number) {
    save_running();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void run(const unsigned char *bytes, size_t size) {
    /* An exact heap copy, so that ASan sees a read one byte past the end. */
    unsigned char *copy = malloc(size ? size : 1);
    CHECK(copy);
    if (size)
        memcpy(copy, bytes, size);
    running = (input){copy, size};
    LLVMFuzzerTestOneInput(copy, size);
    running = (input){NULL, 0};
    free(copy);
}

static void add_file(const char *path) {
    FILE *f = fopen(path, "rb");
    CHECK_MSG(f, "cannot open %s", path);
    CHECK(fseek(f, 0, SEEK_END) == 0);
    long size = ftell(f);
    CHECK(size >= 0);
    rewind(f);
    input in = {malloc((size_t)size + 1), (size_t)size};
    CHECK(in.bytes);
    CHECK_EQ_U64(fread(in.bytes, 1, in.size, f), in.size);
    fclose(f);
    inputs = realloc(inputs, (input_count + 1) * sizeof *inputs);
    CHECK(inputs);
    inputs[input_count++] = in;
}

static void add_directory(const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char name[PATH_SIZE];
        int len = snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        struct stat st;
        if (entries[i]->d_name[0] != '.' && len < PATH_SIZE && stat(name, &st) == 0 &&
            S_ISREG(st.st_mode))
            add_file(name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

/* One random edit of buf[0..size); the new size, never above INPUT_SIZE_MAX. */
static size_t mutate(rung_rng *rng, unsigned char *buf, size_t size) {
    static const unsigned char edges[] = {0,   1,   2,   3,   0x7f, 0x80, 0xfe, 0xff,
                                          '0', '9', '-', '"', '{',  '\r', '\n'};
    size_t at = size ? rung_rng_below(rng, size) : 0;
    switch (rung_rng_below(rng, 6)) {
    case 0: /* flip a bit */
        if (size)
            buf[at] ^= (unsigned char)(1u << rung_rng_below(rng, 8));
        return size;
    case 1: /* an edge value */
        if (size)
            buf[at] = edges[rung_rng_below(rng, sizeof edges)];
        return size;
    case 2: { /* insert a run of one byte, or of random ones */
        size_t n = 1 + rung_rng_below(rng, 16);
        if (size + n > INPUT_SIZE_MAX)
            return size;
        memmove(buf + at + n, buf + at, size - at);
        bool is_same = rung_rng_below(rng, 2);
        unsigned char b = (unsigned char)rung_rng_next(rng);
        for (size_t i = 0; i < n; i++)
            buf[at + i] = is_same ? b : (unsigned char)rung_rng_next(rng);
        return size + n;
    }
    case 3: { /* remove a piece */
        size_t n = size ? rung_rng_below(rng, size - at + 1) : 0;
        memmove(buf + at, buf + at + n, size - at - n);
        return size - n;
    }
    case 4: /* cut off */
        return at;
    default: { /* go on as another input does from there */
        if (!input_count)
            return size;
        const input *other = &inputs[rung_rng_below(rng, input_count)];
        size_t from = other->size ? rung_rng_below(rng, other->size) : 0;
        size_t n = other->size - from;
        if (n > INPUT_SIZE_MAX - at)
            n = INPUT_SIZE_MAX - at;
        memcpy(buf + at, other->bytes + from, n);
        return at + n;
    }
    }
}

static void run_mutations(uint64_t seed, uint64_t count) {
    static unsigned char buf[INPUT_SIZE_MAX];
    rung_rng rng;
    rung_rng_seed(&rng, seed);
    for (uint64_t i = 0; i < count; i++) {
        size_t size = 0;
        if (input_count && rung_rng_below(&rng, 8)) {
            const input *in = &inputs[rung_rng_below(&rng, input_count)];
            size = in->size < sizeof buf ? in->size : sizeof buf;
            memcpy(buf, in->bytes, size);
        } else { /* plain noise */
            size = rung_rng_below(&rng, 256);
            for (size_t k = 0; k < size; k++)
                buf[k] = (unsigned char)rung_rng_next(&rng);
        }
        for (uint64_t edits = 1 + rung_rng_below(&rng, 8); edits; edits--)
            size = mutate(&rng, buf, size);
        run(buf, size);
    }
}

int main(int argc, char **argv) {
    static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (!__sanitizer_set_death_callback || deadly[i] == SIGABRT)
            signal(deadly[i], on_crash);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(save_running);

    bool has_directory = argc == 1;
    for (int i = 1; i < argc; i++) {
        struct stat st;
        if (stat(argv[i], &st) == 0 && S_ISREG(st.st_mode)) {
            add_file(argv[i]);
        } else { /* an absent directory is an empty corpus */
            has_directory = true;
            add_directory(argv[i]);
        }
    }
    run((const unsigned char *)"", 0);
    for (size_t i = 0; i < input_count; i++)
        run(inputs[i].bytes, inputs[i].size);
    uint64_t mutations = has_directory ? test_steps(4000) : 0;
    run_mutations(test_seed(1), mutations);
    printf("replayed %zu inputs and %" PRIu64 " mutations\n", input_count, mutations);
    for (size_t i = 0; i < input_count; i++)
        free(inputs[i].bytes);
    free(inputs);
    return 0;
}
