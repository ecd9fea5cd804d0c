/* SPDX-License-Identifier: Apache-2.0 */
/* Which values a scope has, the largest first: what a page offers as tabs. */
#include "front/api/handlers.h"
#include "front/api/reads.h"
#include "state/scope_values.h"

typedef struct scope_list {
    rung_slice attribute;
    rung_scope_size *sizes;
    uint32_t count, values;
} scope_list;

static void write_scope(rung_json_writer *w, const scope_list *list) {
    RUNG_JSON_MEMBER(w, "attribute", string, list->attribute);
    RUNG_JSON_MEMBER(w, "value_count", uint, list->values);
    RUNG_JSON_OPEN(w, "values", array);
    for (uint32_t i = 0; i < list->count; i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "value", string, list->sizes[i].value);
        RUNG_JSON_MEMBER(w, "total", uint, list->sizes[i].total);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

void rung_api_scope_values(rung_call *c) {
    rung_read r = {.call = c};
    rung_view view;
    uint32_t limit = rung__call_count(c, "limit");
    scope_list list = {.attribute = rung__call_arg(c, "attribute")->text};
    if (!rung__read_open(&r, &view, false))
        return;
    list.sizes = rung_exchange_alloc(c->x, limit * sizeof *list.sizes);
    if (!list.sizes) {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
        return;
    }
    list.count = rung_scope_largest(&view, list.attribute, limit, list.sizes, &list.values);
    if (list.count == RUNG_SCOPE_NONE) {
        rung__call_absent(c, "attribute", "the board has no such scope");
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    rung_json_open_object(w);
    rung_answer_head(w, &r.q.k);
    write_scope(w, &list);
    rung_json_close_object(w);
    rung__call_answer(c, 200);
}
