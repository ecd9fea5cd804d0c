/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an object of a schema that has every kind of field: refused with words, or JSON whose slots are what the
 * table asks for. */
#include "base/assert.h"
#include "codec/schema.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { PLAYER, SCORE, AT, STYLE, LIMIT, IDS, META, FLAG, COUNT, OTHERS = 4 };

static const char *const styles[] = {"unique", "sparse", "dense", NULL};
static const rung_field fields[COUNT] = {
    [PLAYER] = {RUNG_NAMED("player"), .types = RUNG_FIELD_STRING, .required = true, .len_min = 1,
                .len_max = 128},
    [SCORE] = {RUNG_NAMED("score"), .types = RUNG_FIELD_NUMBER | RUNG_FIELD_STRING},
    [AT] = {RUNG_NAMED("at"), .types = RUNG_FIELD_TIME | RUNG_FIELD_INTEGER},
    [STYLE] = {RUNG_NAMED("style"), .types = RUNG_FIELD_STRING, .values = styles},
    [LIMIT] = {RUNG_NAMED("limit"), .types = RUNG_FIELD_INTEGER, .has_range = true, .min = 1,
               .max = 100},
    [IDS] = {RUNG_NAMED("ids"), .types = RUNG_FIELD_ARRAY, .items = RUNG_FIELD_STRING,
             .items_max = 3, .item_len_max = 4},
    [META] = {RUNG_NAMED("meta"), .types = RUNG_FIELD_ANY},
    [FLAG] = {RUNG_NAMED("flag"), .types = RUNG_FIELD_BOOL | RUNG_FIELD_NULL},
};
static const rung_field attribute = {RUNG_NAMED("*"), .types = RUNG_FIELD_STRING, .len_max = 8};
static const rung_schema closed = {.name = "Closed", .fields = fields, .count = COUNT};
static const rung_schema open = {
    .name = "Open", .fields = fields, .count = COUNT, .others = &attribute, .others_max = OTHERS};

static void check_slots(const rung_slot *slots) {
    RUNG_ASSERT(slots[PLAYER].present && slots[PLAYER].text.len >= 1 &&
                slots[PLAYER].text.len <= 128);
    if (slots[STYLE].present)
        RUNG_ASSERT(strlen(styles[slots[STYLE].choice]) == slots[STYLE].text.len);
    if (slots[LIMIT].present)
        RUNG_ASSERT(slots[LIMIT].integer >= 1 && slots[LIMIT].integer <= 100);
    if (slots[IDS].present)
        RUNG_ASSERT(slots[IDS].integer <= 3 && slots[IDS].text.ptr[0] == '[');
}

static void check(const rung_schema *schema, const unsigned char *data, size_t size) {
    static rung_json r;
    rung_slot slots[COUNT + OTHERS];
    rung_err err = {0};
    char *text = malloc(size + 1);
    if (!text)
        return;
    memcpy(text, data, size);
    rung_json_init(&r, text, size, &err);
    rung_status st = rung_schema_read(schema, &r, slots);
    st = st == RUNG_OK ? rung_json_end(&r) : st;
    RUNG_ASSERT(st == RUNG_OK || (st < 0 && err.message[0]));
    if (st == RUNG_OK)
        check_slots(slots);
    memcpy(text, data, size);
    rung_json_init(&r, text, size, NULL);
    if (rung_json_skip(&r, NULL) != RUNG_OK || rung_json_end(&r) != RUNG_OK)
        RUNG_ASSERT(st < 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    check(&closed, data, size);
    check(&open, data, size);
    return 0;
}
