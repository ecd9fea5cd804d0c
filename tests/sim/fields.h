/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - an answer as a flat list: {"next":{"gap":3}} is "next.gap" = "3", [7] is "0" = "7".
 *
 * A reader of its own, so that the server's JSON is not judged by the server's reader. true and false read as 1 and 0,
 * null as the empty text. Answers of the Redis protocol become one line of text: "[changed 1 score 5]". */
#ifndef RUNG_TESTS_SIM_FIELDS_H
#define RUNG_TESTS_SIM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIM_FIELDS_MAX = 512 };

typedef struct sim_field {
    char path[64], value[96];
} sim_field;

typedef struct sim_fields {
    uint32_t count;
    sim_field at[SIM_FIELDS_MAX];
} sim_fields;

/* False: not one JSON value, or too much of it. */
bool sim_fields_read(sim_fields *f, const char *json, size_t len);
/* The value at a path made from the format; NULL: there is none. */
__attribute__((format(printf, 2, 3))) const char *sim_fields_get(const sim_fields *f,
                                                                 const char *format, ...);
/* The fields of "[name value name value]". */
void sim_fields_read_pairs(sim_fields *f, const char *text);

/* One reply of the Redis protocol at the front of `bytes`, as a line of text. How many bytes it takes; 0: there is more
 * to come; -1: that is no reply. */
ptrdiff_t sim_reply_read(const char *bytes, size_t len, char *text, size_t size);

#endif
