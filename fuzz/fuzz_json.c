/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JSON: refused, or skipped and pulled alike; what is then written compactly reads and writes the same. */
#include "base/assert.h"
#include "codec/json_reader.h"
#include "codec/json_writer.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void copy_value(rung_json *r, rung_json_writer *w);

static void copy_object(rung_json *r, rung_json_writer *w) {
    rung_slice key;
    rung_status st = rung_json_enter_object(r);
    rung_json_open_object(w);
    while (st == RUNG_OK && (st = rung_json_next_key(r, &key)) == RUNG_OK) {
        rung_json_write_key(w, key);
        copy_value(r, w);
    }
    rung_json_close_object(w);
}

static void copy_array(rung_json *r, rung_json_writer *w) {
    rung_status st = rung_json_enter_array(r);
    rung_json_open_array(w);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK)
        copy_value(r, w);
    rung_json_close_array(w);
}

static void copy_value(rung_json *r, rung_json_writer *w) {
    rung_slice text;
    bool flag;
    switch (rung_json_peek(r)) {
    case RUNG_JSON_OBJECT:
        copy_object(r, w);
        break;
    case RUNG_JSON_ARRAY:
        copy_array(r, w);
        break;
    case RUNG_JSON_STRING:
        if (rung_json_string(r, &text) == RUNG_OK)
            rung_json_write_string(w, text);
        break;
    case RUNG_JSON_NUMBER:
        if (rung_json_number(r, &text) == RUNG_OK)
            rung_json_write_raw(w, text);
        break;
    case RUNG_JSON_BOOL:
        if (rung_json_bool(r, &flag) == RUNG_OK)
            rung_json_write_bool(w, flag);
        break;
    case RUNG_JSON_NULL:
        if (rung_json_skip(r, &text) == RUNG_OK)
            rung_json_write_null(w);
        break;
    case RUNG_JSON_NONE:
        break;
    }
}

/* The first value of `text` written compactly; false when it is refused. */
static bool compact(char *text, size_t len, rung_json_writer *w) {
    static rung_json r;
    rung_err err = {0};
    rung_json_init(&r, text, len, &err);
    copy_value(&r, w);
    rung_status st = rung_json_end(&r);
    RUNG_ASSERT(st == RUNG_OK || (st < 0 && err.message[0]));
    RUNG_ASSERT(!rung_json_failed(w));
    return st == RUNG_OK;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static rung_json r;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    rung_json_init(&r, text, size, NULL);
    rung_status st = rung_json_skip(&r, NULL);
    st = st == RUNG_OK ? rung_json_end(&r) : st;
    RUNG_ASSERT(memcmp(text, data, size) == 0);

    rung_json_writer first = {.alloc = rung_alloc_heap()}, second = {.alloc = rung_alloc_heap()};
    bool is_read = compact(text, size, &first);
    RUNG_ASSERT(is_read == (st == RUNG_OK));
    if (is_read) {
        char *again = malloc(first.len + 1);
        if (again) {
            memcpy(again, first.data, first.len);
            bool is_read_again = compact(again, first.len, &second);
            RUNG_ASSERT(is_read_again);
            RUNG_ASSERT(rung_slice_eq(rung_json_written(&first), rung_json_written(&second)));
        }
        free(again);
    }
    rung_json_writer_deinit(&first);
    rung_json_writer_deinit(&second);
    free(text);
    return 0;
}
