/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/answer.h"

#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

static bool find_one(rung_slice object, rung_slice name, rung_slice *raw_out) {
    rung_json r;
    rung_slice key, raw;
    rung_json_init_at(&r, object, NULL, 0, NULL);
    if (object.len == 0 || rung_json_enter_object(&r) != RUNG_OK)
        return false;
    while (rung_json_next_key(&r, &key) == RUNG_OK) {
        bool is_it = rung_slice_eq(key, name);
        if (rung_json_skip(&r, &raw) < 0)
            return false;
        if (is_it) {
            *raw_out = raw;
            return !rung_slice_eq(raw, RUNG_SLICE("null"));
        }
    }
    return false;
}

bool rung_answer_find(rung_slice object, const char *path, rung_slice *raw_out) {
    rung_slice at = object;
    while (*path) {
        size_t len = strcspn(path, ".");
        if (!find_one(at, rung_slice_of(path, len), &at)) {
            *raw_out = (rung_slice){0};
            return false;
        }
        path += len + (path[len] == '.');
    }
    *raw_out = at;
    return true;
}

/* Unescaping works in place, so it is done on a copy. */
const char *rung_answer_text(rung_slice raw, char *out, size_t size) {
    rung_json r;
    rung_slice text = raw;
    if (raw.len > 0 && raw.ptr[0] == '"' && raw.len < size) {
        memcpy(out, raw.ptr, raw.len);
        rung_json_init(&r, out, raw.len, NULL);
        if (rung_json_string(&r, &text) < 0)
            text = (rung_slice){0};
    }
    size_t len = text.len < size ? text.len : size - 1;
    memmove(out, text.ptr ? text.ptr : "", len);
    out[len] = '\0';
    return out;
}

const char *rung_answer_member(rung_slice object, const char *path, char *out, size_t size) {
    rung_slice raw;
    rung_answer_find(object, path, &raw);
    return rung_answer_text(raw, out, size);
}

void rung_answer_cut_place(char *detail) {
    char *at = strrchr(detail, '(');
    if (!at || at == detail || at[-1] != ' ' || strncmp(at, "(byte ", 6) != 0)
        return;
    size_t digits = strspn(at + 6, "0123456789");
    if (digits > 0 && strcmp(at + 6 + digits, ")") == 0)
        at[-1] = '\0';
}

int64_t rung_answer_number(rung_slice object, const char *path, int64_t fallback) {
    rung_slice raw;
    rung_json r;
    int64_t value;
    if (!rung_answer_find(object, path, &raw))
        return fallback;
    rung_json_init_at(&r, raw, NULL, 0, NULL);
    return rung_json_int64(&r, &value) == RUNG_OK ? value : fallback;
}

bool rung_answer_is_true(rung_slice object, const char *path) {
    rung_slice raw;
    return rung_answer_find(object, path, &raw) && rung_slice_eq(raw, RUNG_SLICE("true"));
}

const char *rung_answer_amount(rung_slice raw, char *out, size_t size) {
    char text[64];
    rung_answer_text(raw, text, sizeof text);
    size_t sign = text[0] == '-', digits = strspn(text + sign, "0123456789"), at = 0;
    if (digits == 0 || strpbrk(text, "eE") || strlen(text) * 2 >= size) {
        snprintf(out, size, "%s", text);
        return out;
    }
    if (sign)
        out[at++] = '-';
    at += rung_digits_group(text + sign, digits, out + at);
    const char *rest = text + sign + digits;
    bool is_real = strlen(rest) > 10; /* decimals have nine places at most */
    snprintf(out + at, size - at, "%.*s", is_real ? 7 : 64, rest);
    return out;
}

void rung_answer_begin(rung_answer_items *it, rung_slice raw) {
    rung_json_init_at(&it->reader, raw, NULL, 0, NULL);
    it->is_object = raw.len > 0 && raw.ptr[0] == '{';
    it->key[0] = '\0';
    it->is_over = raw.len == 0 || (it->is_object ? rung_json_enter_object(&it->reader)
                                                 : rung_json_enter_array(&it->reader)) != RUNG_OK;
}

bool rung_answer_next(rung_answer_items *it, rung_slice *raw_out) {
    rung_slice key = {0};
    if (it->is_over)
        return false;
    rung_status st =
        it->is_object ? rung_json_next_key(&it->reader, &key) : rung_json_next_item(&it->reader);
    it->is_over = st != RUNG_OK;
    if (it->is_over)
        return false;
    if (key.len > 0)
        memcpy(it->key, key.ptr, key.len);
    it->key[key.len] = '\0';
    it->is_over = rung_json_skip(&it->reader, raw_out) != RUNG_OK;
    return !it->is_over;
}
