/* SPDX-License-Identifier: Apache-2.0 */
/* answer.h - look up members in the JSON answer of a server.
 *
 *     rung_answer_find(body, "entry.rank", &raw);          // raw is the value's text: 42, "ada", {...}
 *     rung_answer_text(raw, name, sizeof name);            // a string without quotes and escapes; else as it is
 *     for (rung_answer_begin(&it, array); rung_answer_next(&it, &item);)
 *
 * Every look-up scans the object: fine for answers that people read. Invalid JSON is "not found". Slices point into the
 * text, which stays unchanged. One thread. */
#ifndef RUNG_CLI_ANSWER_H
#define RUNG_CLI_ANSWER_H

#include "base/slice.h"
#include "codec/json_reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The member at a dotted path; false (and *raw_out empty) if there is none. A null is none. */
bool rung_answer_find(rung_slice object, const char *path, rung_slice *raw_out);

/* Copy a value as text, cut to `size`, with a NUL; "" if there is none. Returns `out`. */
const char *rung_answer_text(rung_slice raw, char *out, size_t size);
/* The same of a member. */
const char *rung_answer_member(rung_slice object, const char *path, char *out, size_t size);

/* Remove "(byte 40)" from the end of a detail: the user did not write the body. */
void rung_answer_cut_place(char *detail);

int64_t rung_answer_number(rung_slice object, const char *path, int64_t fallback);
bool rung_answer_is_true(rung_slice object, const char *path);

/* A number for people: 1234567.5 as 1,234,567.5, reals with six decimals. Other text unchanged. Returns `out`. */
const char *rung_answer_amount(rung_slice raw, char *out, size_t size);

/* The items of an array, or the members of an object with their keys. */
typedef struct rung_answer_items {
    rung_json reader;
    bool is_object, is_over;
    char key[RUNG_JSON_KEY_MAX + 1]; /* of the last member */
} rung_answer_items;

void rung_answer_begin(rung_answer_items *it, rung_slice raw);
bool rung_answer_next(rung_answer_items *it, rung_slice *raw_out);

#endif
