/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* memmem */
#include "codec/json_reader.h"
#include "front/api/parts.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

static rung_json_writer written(void) {
    rung_json_writer w = {.alloc = rung_alloc_heap()};
    rung_openapi_write(&w, "1.2.3");
    CHECK(!rung_json_failed(&w));
    return w;
}

static bool has(const rung_json_writer *w, const char *text) {
    return memmem(w->data, w->len, text, strlen(text)) != NULL;
}

TEST(it_is_json) {
    static rung_json r;
    rung_err err = {0};
    rung_json_writer w = written();
    rung_json_init(&r, w.data, w.len, &err);
    rung_status st = rung_json_skip(&r, NULL);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    CHECK_OK(rung_json_end(&r));
    rung_json_writer_deinit(&w);
}

TEST(every_route_is_in_it) {
    char text[256];
    rung_json_writer w = written();
    for (uint32_t i = 0; i < rung_route_count; i++) {
        snprintf(text, sizeof text, "\"operationId\":\"%s\"", rung_routes[i].id);
        CHECK_MSG(has(&w, text), "%s", text);
        snprintf(text, sizeof text, "\"%s\":{", rung_routes[i].path);
        CHECK_MSG(has(&w, text), "%s", text);
    }
    rung_json_writer_deinit(&w);
}

/* "#/components/schemas/Board" -> "Board":{ among the components. */
TEST(every_ref_resolves) {
    rung_json_writer w = written();
    const char *components = memmem(w.data, w.len, "\"components\":{", 14), *end = w.data + w.len;
    CHECK(components);
    uint32_t count = 0;
    for (const char *at = w.data; (at = memmem(at, (size_t)(end - at), "\"$ref\":\"", 8));
         count++) {
        char name[128], key[136];
        at += 8;
        size_t len = strcspn(at, "\"");
        CHECK(len < sizeof name);
        const char *slash = memrchr(at, '/', len);
        snprintf(name, sizeof name, "%.*s", (int)(at + len - slash - 1), slash + 1);
        snprintf(key, sizeof key, "\"%s\":{", name);
        CHECK_MSG(memmem(components, (size_t)(end - components), key, strlen(key)), "%s", name);
    }
    CHECK(count > 100);
    rung_json_writer_deinit(&w);
}

RUNG_TEST_MAIN
