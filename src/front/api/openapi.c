/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenAPI 3.1 document, generated from the tables of routes and schemas. Every schema that a route uses becomes a
 * component, written once. */
#include "base/assert.h"
#include "codec/board_json.h"
#include "front/api/parts.h"
#include "front/api/schemas.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMAS_MAX = 192 };

typedef struct components {
    const rung_schema *list[SCHEMAS_MAX];
    uint32_t count;
} components;

static void write_raw(rung_json_writer *w, const char *json) {
    rung_json_write_raw(w, rung_slice_str(json));
}

/* ---- which schemas ---- */

static void gather(components *all, const rung_schema *s) {
    if (!s)
        return;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i] == s)
            return;
    RUNG_ASSERT(all->count < SCHEMAS_MAX);
    all->list[all->count++] = s;
    for (uint32_t i = 0; i < s->count; i++)
        gather(all, s->fields[i].nested);
    if (s->others)
        gather(all, s->others->nested);
}

static void gather_all(components *all) {
    gather(all, &rung_problem_schema);
    for (uint32_t i = 0; i < rung_route_count; i++) {
        const rung_route *r = &rung_routes[i];
        gather(all, r->body);
        gather(all, r->each);
        for (size_t k = 0; k < sizeof r->results / sizeof r->results[0]; k++)
            gather(all, r->results[k].schema);
    }
}

static void write_ref(rung_json_writer *w, const char *kind, const char *name) {
    char text[96];
    int len = snprintf(text, sizeof text, "#/components/%s/%s", kind, name);
    RUNG_ASSERT((size_t)len < sizeof text);
    RUNG_JSON_MEMBER(w, "$ref", word, text);
}

static void write_schema_ref(rung_json_writer *w, const rung_schema *s) {
    write_ref(w, "schemas", s->name);
}

/* ---- a field ---- */

static bool has_format(const rung_field *f, const char *prefix) {
    return f->format && strncmp(f->format, prefix, strlen(prefix)) == 0;
}

static void write_enum(rung_json_writer *w, const char *const *values) {
    RUNG_JSON_OPEN(w, "enum", array);
    for (; *values; values++)
        rung_json_write_word(w, *values);
    rung_json_close_array(w);
}

/* "a|b|c" */
static void write_enum_text(rung_json_writer *w, const char *list) {
    RUNG_JSON_OPEN(w, "enum", array);
    for (const char *at = list; *at;) {
        size_t len = strcspn(at, "|");
        rung_json_write_string(w, rung_slice_of(at, len));
        at += len + (at[len] == '|');
    }
    rung_json_close_array(w);
}

static void write_uint_member(rung_json_writer *w, const char *key, uint64_t value) {
    rung_json_write_key(w, rung_slice_str(key));
    rung_json_write_uint(w, value);
}

static void write_string_rules(rung_json_writer *w, const rung_field *f) {
    if (f->values)
        write_enum(w, f->values);
    if (has_format(f, "enum|"))
        write_enum_text(w, f->format + 5);
    if (has_format(f, "pattern:"))
        RUNG_JSON_MEMBER(w, "pattern", word, f->format + 8);
    if (has_format(f, "plain"))
        RUNG_JSON_MEMBER(w, "pattern", word, "^[^\\u0000-\\u001f\\u007f-\\u009f]+$");
    if (f->types & RUNG_FIELD_STRING && has_format(f, "number"))
        RUNG_JSON_MEMBER(w, "pattern", word, "^(-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?|-?inf)$");
    if (f->len_min)
        write_uint_member(w, "minLength", f->len_min);
    if (f->len_max)
        write_uint_member(w, "maxLength", f->len_max);
}

static void write_number_rules(rung_json_writer *w, const rung_field *f) {
    if (f->has_range) {
        RUNG_JSON_MEMBER(w, "minimum", int, f->min);
        RUNG_JSON_MEMBER(w, "maximum", int, f->max);
    }
    if (has_format(f, "positive"))
        write_uint_member(w, "exclusiveMinimum", 0);
    if (has_format(f, "grace")) {
        write_uint_member(w, "minimum", 0);
        write_uint_member(w, "maximum", RUNG_GRACE_MAX_MS / 1000);
    }
    if (has_format(f, "half_life")) {
        write_uint_member(w, "minimum", RUNG_HALF_LIFE_MIN_MS / 1000);
        write_uint_member(w, "maximum", RUNG_HALF_LIFE_MAX_MS / 1000);
    }
}

static void write_items(rung_json_writer *w, const rung_field *f);

/* One type of a field, as the members of a schema object. */
static void write_type(rung_json_writer *w, const rung_field *f, uint32_t type) {
    static const struct {
        uint32_t type;
        const char *name, *format;
    } names[] = {{RUNG_FIELD_STRING, "string", NULL},      {RUNG_FIELD_TIME, "string", "date-time"},
                 {RUNG_FIELD_NUMBER, "number", NULL},      {RUNG_FIELD_BOOL, "boolean", NULL},
                 {RUNG_FIELD_INTEGER, "integer", "int64"}, {RUNG_FIELD_NULL, "null", NULL},
                 {RUNG_FIELD_ARRAY, "array", NULL},        {RUNG_FIELD_OBJECT, "object", NULL}};
    uint32_t i = 0;
    if (type == RUNG_FIELD_OBJECT && f->nested) {
        write_schema_ref(w, f->nested);
        return;
    }
    while (names[i].type != type)
        i++;
    RUNG_JSON_MEMBER(w, "type", word, names[i].name);
    if (names[i].format)
        RUNG_JSON_MEMBER(w, "format", word, names[i].format);
    if (type == RUNG_FIELD_STRING)
        write_string_rules(w, f);
    if (type & (RUNG_FIELD_NUMBER | RUNG_FIELD_INTEGER))
        write_number_rules(w, f);
    if (type == RUNG_FIELD_ARRAY)
        write_items(w, f);
}

/* All types of a set, as the members of a schema object. */
static void write_types(rung_json_writer *w, const rung_field *f, uint32_t types) {
    if (types == RUNG_FIELD_ANY || types == 0)
        return;
    if ((types & (types - 1)) == 0) {
        write_type(w, f, types);
        return;
    }
    RUNG_JSON_OPEN(w, "anyOf", array);
    for (uint32_t type = 1; type <= RUNG_FIELD_TIME; type <<= 1)
        if (types & type) {
            rung_json_open_object(w);
            write_type(w, f, type);
            rung_json_close_object(w);
        }
    rung_json_close_array(w);
}

static void write_items(rung_json_writer *w, const rung_field *f) {
    rung_field item = {.types = f->items,
                       .nested = f->nested,
                       .values = f->values,
                       .format = f->format,
                       .len_min = f->item_len_max ? 1 : 0,
                       .len_max = f->item_len_max};
    RUNG_JSON_OPEN(w, "items", object);
    write_types(w, &item, f->items);
    rung_json_close_object(w);
    if (f->items_min)
        write_uint_member(w, "minItems", f->items_min);
    if (f->items_max)
        write_uint_member(w, "maxItems", f->items_max);
}

static void write_field(rung_json_writer *w, const rung_field *f) {
    rung_json_open_object(w);
    write_types(w, f, f->types);
    if (f->doc)
        RUNG_JSON_MEMBER(w, "description", word, f->doc);
    if (f->fallback) {
        RUNG_JSON_KEY(w, "default");
        write_raw(w, f->fallback);
    }
    if (f->example) {
        RUNG_JSON_OPEN(w, "examples", array);
        write_raw(w, f->example);
        rung_json_close_array(w);
    }
    if (has_format(f, "readonly"))
        RUNG_JSON_MEMBER(w, "readOnly", bool, true);
    rung_json_close_object(w);
}

static void write_schema(rung_json_writer *w, const rung_schema *s) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "type", word, "object");
    RUNG_JSON_MEMBER(w, "description", word, s->doc);
    RUNG_JSON_OPEN(w, "properties", object);
    for (uint32_t i = 0; i < s->count; i++) {
        if (has_format(&s->fields[i], "later"))
            continue;
        rung_json_write_key(w, rung_slice_str(s->fields[i].name));
        write_field(w, &s->fields[i]);
    }
    rung_json_close_object(w);
    RUNG_JSON_OPEN(w, "required", array);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->fields[i].required)
            rung_json_write_word(w, s->fields[i].name);
    rung_json_close_array(w);
    RUNG_JSON_KEY(w, "additionalProperties");
    if (s->others)
        write_field(w, s->others);
    else
        rung_json_write_bool(w, false);
    if (s->others && s->others_max)
        write_uint_member(w, "maxProperties", s->others_max);
    rung_json_close_object(w);
}

/* ---- a parameter ---- */

/* The field that a body would have in place of the parameter. */
static rung_field field_of(const rung_param *p) {
    static const uint32_t types[] = {
        [RUNG_PARAM_NAME] = RUNG_FIELD_STRING,   [RUNG_PARAM_TEXT] = RUNG_FIELD_STRING,
        [RUNG_PARAM_SCORE] = RUNG_FIELD_STRING,  [RUNG_PARAM_SCORES] = RUNG_FIELD_ARRAY,
        [RUNG_PARAM_COUNT] = RUNG_FIELD_INTEGER, [RUNG_PARAM_REAL] = RUNG_FIELD_NUMBER,
        [RUNG_PARAM_FLAG] = RUNG_FIELD_BOOL,     [RUNG_PARAM_CHOICE] = RUNG_FIELD_STRING,
        [RUNG_PARAM_TIME] = RUNG_FIELD_TIME,     [RUNG_PARAM_NAMES] = RUNG_FIELD_ARRAY};
    rung_field f = {.types = types[p->type], .values = p->choices};
    if (p->type == RUNG_PARAM_NAME || p->type == RUNG_PARAM_TEXT) {
        f.format = p->type == RUNG_PARAM_NAME ? "plain" : NULL;
        f.len_min = (uint32_t)p->min;
        f.len_max = (uint32_t)p->max;
    } else if (p->type == RUNG_PARAM_SCORE) {
        f.format = "pattern:^-?[0-9]+(\\.[0-9]+)?([eE][-+]?[0-9]+)?$";
    } else if (p->type == RUNG_PARAM_COUNT) {
        f.has_range = true;
        f.min = p->min;
        f.max = p->max;
    } else if (f.types == RUNG_FIELD_ARRAY) {
        bool is_names = p->type == RUNG_PARAM_NAMES;
        f.items = is_names ? RUNG_FIELD_STRING : RUNG_FIELD_NUMBER;
        f.item_len_max = is_names ? RUNG_NAME_MAX : 0;
        f.items_min = (uint32_t)p->min;
        f.items_max = (uint32_t)p->max;
    }
    return f;
}

static void write_param_type(rung_json_writer *w, const rung_param *p) {
    rung_field f = field_of(p);
    write_type(w, &f, f.types);
    if (p->type == RUNG_PARAM_REAL) {
        write_uint_member(w, "exclusiveMinimum", (uint64_t)p->min);
        write_uint_member(w, "maximum", (uint64_t)p->max);
    }
}

static void write_default(rung_json_writer *w, const rung_param *p) {
    if (!p->has_default)
        return;
    RUNG_JSON_KEY(w, "default");
    if (p->type == RUNG_PARAM_FLAG)
        rung_json_write_bool(w, p->otherwise != 0);
    else if (p->type == RUNG_PARAM_CHOICE)
        rung_json_write_word(w, p->choices[p->otherwise]);
    else
        rung_json_write_int(w, p->otherwise);
}

static void write_param(rung_json_writer *w, const rung_param *p) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "name", word, p->name);
    RUNG_JSON_MEMBER(w, "in", word, p->in_path ? "path" : "query");
    RUNG_JSON_MEMBER(w, "required", bool, p->required);
    RUNG_JSON_MEMBER(w, "description", word, p->doc);
    if (p->type == RUNG_PARAM_NAMES || p->type == RUNG_PARAM_SCORES) {
        RUNG_JSON_MEMBER(w, "style", word, "form");
        RUNG_JSON_MEMBER(w, "explode", bool, false);
    }
    RUNG_JSON_OPEN(w, "schema", object);
    write_param_type(w, p);
    write_default(w, p);
    rung_json_close_object(w);
    rung_json_close_object(w);
}

/* ---- an operation ---- */

static void open_content(rung_json_writer *w, const char *type) {
    rung_json_write_key(w, rung_slice_str(type));
    rung_json_open_object(w);
    RUNG_JSON_OPEN(w, "schema", object);
}

static void close_content(rung_json_writer *w) {
    rung_json_close_object(w);
    rung_json_close_object(w);
}

static void write_array_of(rung_json_writer *w, const rung_schema *s) {
    RUNG_JSON_MEMBER(w, "type", word, "array");
    RUNG_JSON_OPEN(w, "items", object);
    write_schema_ref(w, s);
    rung_json_close_object(w);
}

/* A batch is an array of the schema, or lines of it; or instead one object of the schema `one`, if there is one. */
static void write_batch_content(rung_json_writer *w, const rung_schema *one, const rung_schema *s) {
    open_content(w, RUNG_TYPE_JSON);
    if (one) {
        RUNG_JSON_OPEN(w, "anyOf", array);
        rung_json_open_object(w);
        write_schema_ref(w, one);
        rung_json_close_object(w);
        rung_json_open_object(w);
        write_array_of(w, s);
        rung_json_close_object(w);
        rung_json_close_array(w);
    } else {
        write_array_of(w, s);
    }
    close_content(w);
    open_content(w, RUNG_TYPE_NDJSON);
    write_schema_ref(w, s);
    close_content(w);
}

/* `each` is the schema of one of many, where the route takes many. */
static void write_content(rung_json_writer *w, const rung_route *r, const char *type,
                          const rung_schema *schema, const rung_schema *each) {
    RUNG_JSON_OPEN(w, "content", object);
    if (r->body_kind == RUNG_BODY_BATCH) {
        write_batch_content(w, NULL, schema);
    } else if (r->body_kind == RUNG_BODY_ANY) {
        write_batch_content(w, schema, each);
    } else {
        open_content(w, type);
        if (schema)
            write_schema_ref(w, schema);
        else
            RUNG_JSON_MEMBER(w, "type", word,
                             strcmp(type, RUNG_TYPE_JSON) == 0 ? "object" : "string");
        if (strcmp(type, RUNG_TYPE_BYTES) == 0)
            RUNG_JSON_MEMBER(w, "format", word, "binary");
        close_content(w);
    }
    rung_json_close_object(w);
}

static void write_body(rung_json_writer *w, const rung_route *r) {
    if (r->body_kind == RUNG_BODY_NONE)
        return;
    RUNG_JSON_OPEN(w, "requestBody", object);
    RUNG_JSON_MEMBER(w, "required", bool, r->body_kind != RUNG_BODY_OPTIONAL);
    write_content(w, r, RUNG_TYPE_JSON, r->body, r->body);
    rung_json_close_object(w);
}

static void write_status_key(rung_json_writer *w, int status) {
    char digits[20];
    rung_json_write_key(w, rung_slice_of(digits, rung_digits_format((uint64_t)status, digits)));
}

static void write_result(rung_json_writer *w, const rung_route *r, const rung_result *result) {
    write_status_key(w, result->status);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "description", word, result->doc);
    if (result->type)
        write_content(w, r, result->type, result->schema, r->each);
    rung_json_close_object(w);
}

enum {
    GUARDED = 1 << 16,
    HAS_BODY = 1 << 17,
    HAS_PAGES = 1 << 18
}; /* beside the flags of routes.h */

/* The problems that a route may answer, by its traits; 0: every route. */
static const struct {
    int status;
    uint32_t traits;
    const char *name, *doc;
} problems[] = {
    {400, 0, "Malformed", "Malformed: `field` names what is wrong."},
    {401, GUARDED, "Unauthorized", "No key, or not a good one."},
    {403, GUARDED, "Forbidden", "A good key that may not do this."},
    {404, RUNG_MAY_MISS, "NotFound", "The board, player, window or ranking is not there."},
    {409, RUNG_MAY_CONFLICT, "Conflict",
     "The same id with another body, or a `min_seq` far ahead of the log."},
    {410, HAS_PAGES, "Gone", "`page` is of a ranking that is no longer held."},
    {413, HAS_BODY, "TooLarge", "The body is too large."},
    {415, HAS_BODY, "UnsupportedType", "The body is not of a supported type."},
    {416, RUNG_HAS_RANGES, "BeyondEnd", "`Range` begins beyond the end of the file."},
    {422, RUNG_MAY_REFUSE, "Refused",
     "Well-formed, but not allowed: `rule` or `field` says by what."},
    {429, GUARDED, "TooMany", "Too many requests: come back after Retry-After seconds."},
    {503, 0, "Unavailable",
     "Not ready, overloaded or stopping: come back after Retry-After seconds."},
    {507, RUNG_IS_CHANGE, "StorageFull", "The disk is full; reads go on."},
};

/* The route's flags and GUARDED, HAS_BODY; a route that may wait for a sequence may conflict, and
 * one about the past may refuse a moment. */
static uint32_t traits_of(const rung_route *r) {
    uint32_t traits = r->flags | (r->flags & RUNG_IS_UNGUARDED ? 0 : GUARDED) |
                      (r->body_kind == RUNG_BODY_NONE ? 0 : HAS_BODY);
    for (uint32_t i = 0; i < r->param_count; i++)
        if (strcmp(r->params[i].name, "min_seq") == 0)
            traits |= RUNG_MAY_CONFLICT;
        else if (strcmp(r->params[i].name, "page") == 0)
            traits |= HAS_PAGES;
        else if (strcmp(r->params[i].name, "as_of") == 0)
            traits |= RUNG_MAY_REFUSE | RUNG_MAY_MISS;
    return traits;
}

static void write_operation(rung_json_writer *w, const rung_route *r) {
    static const char *const methods[] = {[RUNG_METHOD_GET] = "get",
                                          [RUNG_METHOD_POST] = "post",
                                          [RUNG_METHOD_PUT] = "put",
                                          [RUNG_METHOD_DELETE] = "delete"};
    rung_json_write_key(w, rung_slice_str(methods[r->method]));
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "operationId", word, r->id);
    RUNG_JSON_OPEN(w, "tags", array);
    rung_json_write_word(w, r->tag);
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "summary", word, r->summary);
    RUNG_JSON_MEMBER(w, "description", word, r->doc);
    RUNG_JSON_MEMBER(w, "x-rung-role", word, rung_role_name(r->role));
    if (r->flags & RUNG_IS_UNGUARDED) {
        RUNG_JSON_KEY(w, "security");
        write_raw(w, "[]");
    }
    RUNG_JSON_OPEN(w, "parameters", array);
    for (uint32_t i = 0; i < r->param_count; i++)
        write_param(w, &r->params[i]);
    rung_json_close_array(w);
    write_body(w, r);
    RUNG_JSON_OPEN(w, "responses", object);
    for (size_t i = 0; i < sizeof r->results / sizeof r->results[0]; i++)
        if (r->results[i].status)
            write_result(w, r, &r->results[i]);
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++)
        if (!problems[i].traits || problems[i].traits & traits_of(r)) {
            write_status_key(w, problems[i].status);
            rung_json_open_object(w);
            write_ref(w, "responses", problems[i].name);
            rung_json_close_object(w);
        }
    rung_json_close_object(w);
    rung_json_close_object(w);
}

/* ---- the document ---- */

static bool is_first_of_path(uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(rung_routes[k].path, rung_routes[i].path) == 0)
            return false;
    return true;
}

static void write_paths(rung_json_writer *w) {
    RUNG_JSON_OPEN(w, "paths", object);
    for (uint32_t i = 0; i < rung_route_count; i++) {
        if (!is_first_of_path(i))
            continue;
        rung_json_write_key(w, rung_slice_str(rung_routes[i].path));
        rung_json_open_object(w);
        for (uint32_t k = i; k < rung_route_count; k++)
            if (strcmp(rung_routes[k].path, rung_routes[i].path) == 0)
                write_operation(w, &rung_routes[k]);
        rung_json_close_object(w);
    }
    rung_json_close_object(w);
}

static void write_components(rung_json_writer *w) {
    components all = {.count = 0};
    gather_all(&all);
    RUNG_JSON_OPEN(w, "components", object);
    RUNG_JSON_OPEN(w, "schemas", object);
    for (uint32_t i = 0; i < all.count; i++) {
        rung_json_write_key(w, rung_slice_str(all.list[i]->name));
        write_schema(w, all.list[i]);
    }
    rung_json_close_object(w);
    RUNG_JSON_OPEN(w, "responses", object);
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        rung_json_write_key(w, rung_slice_str(problems[i].name));
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "description", word, problems[i].doc);
        RUNG_JSON_OPEN(w, "content", object);
        open_content(w, "application/problem+json");
        write_schema_ref(w, &rung_problem_schema);
        close_content(w);
        rung_json_close_object(w);
        rung_json_close_object(w);
    }
    rung_json_close_object(w);
    RUNG_JSON_KEY(w, "securitySchemes");
    write_raw(w, "{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\",\"description\":\"A key made "
                 "with `rung keys "
                 "create`, or a player's token (JWT).\"}}");
    rung_json_close_object(w);
}

static void write_code(rung_json_writer *w, int status, const char *code, const char *doc) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "status", int, status);
    RUNG_JSON_MEMBER(w, "code", word, code);
    RUNG_JSON_MEMBER(w, "description", word, doc);
    rung_json_close_object(w);
}

/* The transport's and the API's, by status. */
static void write_codes(rung_json_writer *w) {
    RUNG_JSON_OPEN(w, "x-rung-problems", array);
    for (int status = 400; status < 600; status++) {
#define X(of, code, doc)                                                                           \
    if (of == status)                                                                              \
        write_code(w, of, code, doc);
        RUNG_HTTP_PROBLEM_MAP(X)
#undef X
        for (uint32_t i = 0; i < rung_problem_row_count; i++)
            if (rung_problem_rows[i].status == status && rung_problem_rows[i].doc)
                write_code(w, status, rung_problem_rows[i].code, rung_problem_rows[i].doc);
    }
    rung_json_close_array(w);
}

void rung_openapi_write(rung_json_writer *w, const char *version) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "openapi", word, "3.1.0");
    RUNG_JSON_OPEN(w, "info", object);
    RUNG_JSON_MEMBER(w, "title", word, "Rung");
    RUNG_JSON_KEY(w, "description");
    rung_json_write_word(
        w, "Leaderboards: send scores, ask who is on top, where a player stands, and who is near.");
    RUNG_JSON_MEMBER(w, "version", word, version);
    RUNG_JSON_KEY(w, "license");
    write_raw(w, "{\"name\":\"Apache-2.0\",\"identifier\":\"Apache-2.0\"}");
    rung_json_close_object(w);
    RUNG_JSON_KEY(w, "security");
    write_raw(w, "[{\"key\":[]}]");
    write_paths(w);
    write_components(w);
    write_codes(w);
    rung_json_close_object(w);
}
