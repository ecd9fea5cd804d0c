/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a board's definition in JSON: refused with a reason, or read; and what is read and valid is written and
 * read again as the same. */
#include "base/assert.h"
#include "codec/board_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static size_t encode(rung_board_def *def, unsigned char *out, size_t size) {
    size_t len = 0;
    def->zone_name.len = 0; /* its rules are looked up elsewhere */
    rung_status st = rung_board_def_encode(def, out, size, &len);
    RUNG_ASSERT(st == RUNG_OK);
    return len;
}

static void check_again(rung_board_def *def) {
    static unsigned char a[RUNG_BOARD_DEF_BYTES_MAX], b[RUNG_BOARD_DEF_BYTES_MAX];
    rung_json_writer w = {.alloc = rung_alloc_heap()};
    rung_board_def back;
    rung_json_open_object(&w);
    rung_board_json_write(&w, RUNG_SLICE("b"), def);
    rung_json_close_object(&w);
    size_t a_len = encode(def, a, sizeof a);
    rung_status st = rung_board_json_read(w.data, w.len, RUNG_SLICE("b"), &back, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    size_t b_len = encode(&back, b, sizeof b);
    RUNG_ASSERT(rung_slice_eq(rung_slice_of(a, a_len), rung_slice_of(b, b_len)));
    rung_json_writer_deinit(&w);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    rung_board_def def;
    rung_err err = {0};
    char *text = malloc(size + 1); /* of exactly its size, so that a step beyond is seen */
    memcpy(text, data, size);
    rung_status st = rung_board_json_read(text, size, RUNG_SLICE("b"), &def, &err);
    RUNG_ASSERT(st >= 0 || err.message[0]);
    if (st == RUNG_OK) {
        def.zone_name.len = 0;
        if (rung_board_def_check(&def, NULL) == RUNG_OK)
            check_again(&def);
    }
    free(text);
    return 0;
}
