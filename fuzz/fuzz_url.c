/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a path, a query and an encoded text. What is decoded is the same after encoding and decoding again. */
#include "base/assert.h"
#include "codec/url.h"
#include "model/utf8.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_again(rung_slice text) {
    char *encoded = malloc(text.len * 3 + 1), *out = malloc(text.len * 3 + 1);
    if (encoded && out) {
        rung_slice again;
        size_t len = rung_url_encode(text, encoded);
        rung_status st = rung_url_decode(rung_slice_of(encoded, len), true, out, &again, NULL);
        RUNG_ASSERT(st == RUNG_OK && rung_slice_eq(again, text));
    }
    free(encoded);
    free(out);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    rung_slice input = rung_slice_of(data, size), segments[RUNG_URL_SEGMENTS_MAX], decoded;
    uint32_t count;
    char *out = malloc(size + 1);
    if (!out)
        return 0;
    if (rung_url_segments(input, segments, RUNG_URL_SEGMENTS_MAX, &count, NULL) == RUNG_OK) {
        size_t bytes = count;
        for (uint32_t i = 0; i < count; i++)
            bytes += segments[i].len;
        RUNG_ASSERT(bytes == size);
    }
    for (int plus = 0; plus < 2; plus++)
        if (rung_url_decode(input, plus, out, &decoded, NULL) == RUNG_OK)
            check_again(decoded);
    free(out);
    return 0;
}
