/* SPDX-License-Identifier: Apache-2.0 */
/* Items join at both ends and leave from anywhere; the list can be walked both ways. */
#include "base/list.h"

#include "support/check.h"

typedef struct item {
    char name;
    RUNG_LINK(struct item) all;
} item;

typedef struct items {
    RUNG_LIST(item) all;
} items;

static void check_order(const items *l, const char *names) {
    const char *at = names;
    const item *last = NULL;
    for (const item *i = l->all.first; i; last = i, i = i->all.next) {
        CHECK_EQ_U64(i->name, *at++);
        CHECK(i->all.prev == last);
    }
    CHECK_EQ_U64(*at, 0);
    CHECK(l->all.last == last);
}

TEST(items_join_at_both_ends_and_leave_from_anywhere) {
    item a = {.name = 'a'}, b = {.name = 'b'}, c = {.name = 'c'}, d = {.name = 'd'};
    items l = {0};
    check_order(&l, "");
    RUNG_LIST_APPEND(&l.all, &b, all);
    RUNG_LIST_APPEND(&l.all, &c, all);
    RUNG_LIST_PREPEND(&l.all, &a, all);
    RUNG_LIST_APPEND(&l.all, &d, all);
    check_order(&l, "abcd");
    RUNG_LIST_REMOVE(&l.all, &b, all);
    check_order(&l, "acd");
    RUNG_LIST_REMOVE(&l.all, &a, all);
    RUNG_LIST_REMOVE(&l.all, &d, all);
    check_order(&l, "c");
    RUNG_LIST_PREPEND(&l.all, &b, all);
    check_order(&l, "bc");
    RUNG_LIST_REMOVE(&l.all, &c, all);
    RUNG_LIST_REMOVE(&l.all, &b, all);
    check_order(&l, "");
    RUNG_LIST_PREPEND(&l.all, &d, all);
    check_order(&l, "d");
}

RUNG_TEST_MAIN
