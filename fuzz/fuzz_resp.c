/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as requests of the Redis protocol, whole and cut at every point: the same commands and the same error. */
#include "base/assert.h"
#include "base/hash.h"
#include "codec/resp_parser.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* A sum over all that was understood. */
static uint32_t run(const char *bytes, size_t size, size_t split, rung_resp_limits limits) {
    rung_resp_args args = {.alloc = rung_alloc_heap()};
    rung_resp_parser p;
    rung_resp_parser_init(&p, rung_alloc_heap(), limits);
    uint32_t sum = 0;
    size_t done = 0;
    rung_status st = RUNG_PARTIAL;
    for (int piece = 0; piece < 2 && st == RUNG_PARTIAL; piece++) {
        size_t given = piece ? size : split, used;
        rung_resp_command c;
        while ((st = rung_resp_parse(&p, &args, rung_slice_of(bytes + done, given - done), &used,
                                     &c)) == RUNG_OK) {
            RUNG_ASSERT(used && used <= given - done && c.count <= limits.args_max);
            for (uint32_t i = 0; i < c.count; i++) {
                rung_slice arg = args.items[c.first + i];
                sum = rung_crc32c(sum, &arg.len, sizeof arg.len);
                sum = rung_crc32c(sum, arg.ptr, arg.len);
            }
            done += used;
            if (c.is_inline)
                rung_resp_args_reset(&args);
        }
    }
    RUNG_ASSERT(st == RUNG_PARTIAL || st == RUNG_EINVAL);
    sum = st == RUNG_EINVAL ? rung_crc32c(sum, p.error, strlen(p.error)) : sum;
    sum = rung_crc32c(sum, &done, sizeof done);
    rung_resp_parser_deinit(&p);
    rung_resp_args_deinit(&args);
    return sum;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char *copy = malloc(size + 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    rung_resp_limits wide = {100, 1000, 4000, false};
    uint32_t whole = run(copy, size, size, wide);
    uint32_t whole_stranger = run(copy, size, size, RUNG_RESP_LIMITS_STRANGER);
    for (size_t split = 0; split < size; split++) {
        RUNG_ASSERT(run(copy, size, split, wide) == whole);
        RUNG_ASSERT(run(copy, size, split, RUNG_RESP_LIMITS_STRANGER) == whole_stranger);
    }
    free(copy);
    return 0;
}
