/* SPDX-License-Identifier: Apache-2.0 */
/* list.h - doubly linked lists, whose items embed their links. A zeroed list is empty. Pure.
 *
 *     typedef struct item { RUNG_LINK(struct item) due; } item;
 *     RUNG_LIST(item) due = {0};
 *     RUNG_LIST_APPEND(&due, i, due);
 *     for (item *i = due.first; i; i = i->due.next) ...
 *     RUNG_LIST_REMOVE(&due, i, due); */
#ifndef RUNG_BASE_LIST_H
#define RUNG_BASE_LIST_H

#include <stddef.h>

#define RUNG_LIST(type)                                                                            \
    struct {                                                                                       \
        type *first, *last;                                                                        \
    }
#define RUNG_LINK(type)                                                                            \
    struct {                                                                                       \
        type *prev, *next;                                                                         \
    }

#define RUNG_LIST_APPEND(list, item, link)                                                         \
    do {                                                                                           \
        (item)->link.prev = (list)->last;                                                          \
        (item)->link.next = NULL;                                                                  \
        *((list)->last ? &(list)->last->link.next : &(list)->first) = (item);                      \
        (list)->last = (item);                                                                     \
    } while (0)
#define RUNG_LIST_PREPEND(list, item, link)                                                        \
    do {                                                                                           \
        (item)->link.prev = NULL;                                                                  \
        (item)->link.next = (list)->first;                                                         \
        *((list)->first ? &(list)->first->link.prev : &(list)->last) = (item);                     \
        (list)->first = (item);                                                                    \
    } while (0)
#define RUNG_LIST_REMOVE(list, item, link)                                                         \
    do {                                                                                           \
        *((item)->link.prev ? &(item)->link.prev->link.next : &(list)->first) = (item)->link.next; \
        *((item)->link.next ? &(item)->link.next->link.prev : &(list)->last) = (item)->link.prev;  \
    } while (0)

#endif
