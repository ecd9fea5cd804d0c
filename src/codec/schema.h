/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - read a JSON object against a table of its fields.
 *
 * One table serves three: it checks what comes in, it is what /openapi.json says, and its texts are the documentation.
 *
 *     enum { SCORE_PLAYER, SCORE_SCORE, SCORE_AT, SCORE_FIELDS };
 *     static const rung_field score_fields[SCORE_FIELDS] = {
 *         [SCORE_PLAYER] = {RUNG_NAMED("player"), .types = RUNG_FIELD_STRING, .required = true, .len_max = 128,
 *                           .doc = "Who scored.", .example = "\"ada\""},
 *         [SCORE_SCORE] = {RUNG_NAMED("score"), .types = RUNG_FIELD_NUMBER, .doc = "..."},
 *         [SCORE_AT] = {RUNG_NAMED("at"), .types = RUNG_FIELD_TIME | RUNG_FIELD_INTEGER, .doc = "..."},
 *     };
 *     static const rung_schema score_schema = {"Score", "A submission.", score_fields, SCORE_FIELDS};
 *
 *     rung_slot slots[SCORE_FIELDS];
 *     st = rung_schema_read(&score_schema, &reader, slots);     // one object; then rung_json_end(&reader)
 *     if (slots[SCORE_AT].present) ...
 *
 * Refused, naming the field and what was expected: unknown fields (with the nearest known name), missing and repeated
 * ones, wrong types, values outside the enumeration, lengths and ranges. Objects and arrays inside are checked as JSON,
 * their items' kinds too, and handed out as text, to be read by rung_schema_read_at() or the pull reader. About 0.1 us
 * for a small body. Pure; one thread at a time per reader. */
#ifndef RUNG_CODEC_SCHEMA_H
#define RUNG_CODEC_SCHEMA_H

#include "codec/json_reader.h"

#define RUNG_SCHEMA_FIELDS_MAX 64

/* What a field may be: one bit or several together. */
typedef enum rung_field_type {
    RUNG_FIELD_STRING = 1 << 0,
    RUNG_FIELD_NUMBER = 1 << 1,
    RUNG_FIELD_INTEGER = 1 << 2, /* a number that is whole and an int64, however written */
    RUNG_FIELD_BOOL = 1 << 3,
    RUNG_FIELD_OBJECT = 1 << 4,
    RUNG_FIELD_ARRAY = 1 << 5,
    RUNG_FIELD_NULL = 1 << 6,
    RUNG_FIELD_TIME = 1 << 7, /* a string that is an RFC 3339 time */
    RUNG_FIELD_ANY = RUNG_FIELD_STRING | RUNG_FIELD_NUMBER | RUNG_FIELD_BOOL | RUNG_FIELD_OBJECT |
                     RUNG_FIELD_ARRAY | RUNG_FIELD_NULL,
} rung_field_type;

typedef struct rung_schema rung_schema;

typedef struct rung_field { /* static tables; zero means: no such rule */
    const char *name;
    uint32_t name_len;
    uint32_t types; /* of rung_field_type */
    bool required;
    uint32_t items;            /* an array's items: of rung_field_type; 0: anything */
    const rung_schema *nested; /* an object's, or the items' when they are objects */
    const char *const *values; /* a string's (or string item's): one of these, NULL at the end */
    /* A string's bytes; max 0: no limit. Of an array's items: see item_len_max. */
    uint32_t len_min, len_max;
    uint32_t items_min, items_max; /* an array's count; max 0: no limit */
    uint32_t item_len_max;         /* of string items */
    bool has_range;
    int64_t min, max;   /* with has_range: of an integer, both included */
    const char *format; /* OpenAPI's format or a pattern's name, for the document only */
    const char *doc;
    const char *example;  /* JSON */
    const char *fallback; /* JSON: the default, for the document only */
} rung_field;

#define RUNG_NAMED(text) .name = (text), .name_len = sizeof(text) - 1

struct rung_schema {
    const char *name; /* OpenAPI component */
    const char *doc;
    const rung_field *fields;
    uint32_t count;           /* at most RUNG_SCHEMA_FIELDS_MAX */
    const rung_field *others; /* fields of any other name look like this; NULL: there are none */
    uint32_t others_max;
};

/* The value of one field. */
typedef struct rung_slot {
    bool present;
    rung_json_kind kind;
    uint32_t choice; /* values[choice] of an enumeration */
    rung_slice text; /* a string, unescaped; a number's text; an object's or array's JSON */
    /* Of INTEGER and TIME (milliseconds) fields; 0 or 1 of a BOOL; an ARRAY's items. */
    int64_t integer;
    size_t offset;   /* offset of the value, for messages */
    rung_slice name; /* of a field that is not in the table */
} rung_slot;

/* Read the object at the reader's position. `slots` has schema->count + schema->others_max elements: one per field in
 * the table's order, then the other fields in the order they came. Slots without a field are not present. Slices are
 * valid as long as the text. RUNG_OK, or the reader's failure. */
RUNG_NODISCARD rung_status rung_schema_read(const rung_schema *schema, rung_json *r,
                                            rung_slot *slots);

/* The same for an object that a slot holds as text: its messages start with `path` ("limits", "columns[1]"). Reads
 * the text to its end. `r` may be the reader that filled the slot. */
RUNG_NODISCARD rung_status rung_schema_read_at(const rung_schema *schema, rung_json *r,
                                               rung_slice object, const char *path, size_t offset,
                                               rung_slot *slots, rung_err *err);

#endif
