/* SPDX-License-Identifier: Apache-2.0 */
/* forwarded.c - the entries of all fields of that name are one list. Only its last entries are kept, as many as a chain
 * of proxies may have; a longer list is a client's, and what it hides is not reached anyway. */
#include "front/http/forwarded.h"

#include <string.h>
#include <strings.h>

enum { CHAIN_MAX = 32 };

typedef struct chain {
    rung_slice entries[CHAIN_MAX]; /* a ring */
    uint32_t count;                /* of all that were added */
} chain;

/* Where the part that begins at `at` ends: at the separator, unless that is inside quotes. A quote that is never closed
 * is none, and none is believed after it: else a client could write one, and hide what its proxy adds. */
static const char *end_of_part(const char *at, const char *end, char separator, bool *has_quotes) {
    const char *from = at;
    bool is_quoted = false;
    for (; at < end && (is_quoted || *at != separator); at++) {
        if (*at == '\\' && is_quoted && at + 1 < end)
            at++;
        else if (*at == '"')
            is_quoted = *has_quotes && !is_quoted;
    }
    if (!is_quoted)
        return at;
    *has_quotes = false;
    const char *plain = memchr(from, separator, (size_t)(end - from));
    return plain ? plain : end;
}

static void add_entries(chain *c, rung_slice field) {
    bool has_quotes = true;
    for (const char *at = field.ptr, *end = at + field.len; at <= end;) {
        const char *stop = end_of_part(at, end, ',', &has_quotes);
        c->entries[c->count++ % CHAIN_MAX] = rung_slice_trim(at, stop);
        at = stop + 1;
    }
}

/* The address of an element of Forwarded: for=192.0.2.1;proto=https, for="[2001:db8::1]:443". */
static rung_slice find_for(rung_slice element) {
    bool has_quotes = true;
    for (const char *at = element.ptr, *end = at + element.len; at < end;) {
        const char *stop = end_of_part(at, end, ';', &has_quotes);
        rung_slice pair = rung_slice_trim(at, stop);
        if (pair.len > 4 && strncasecmp(pair.ptr, "for=", 4) == 0) {
            rung_slice value = rung_slice_of(pair.ptr + 4, pair.len - 4);
            if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
                value = rung_slice_of(value.ptr + 1, value.len - 2);
            return value;
        }
        at = stop + 1;
    }
    return (rung_slice){0};
}

void rung_forwarded_find(const rung_head *head, const char *bytes, rung_forwarded_by by,
                         const rung_proxies *trusted, rung_address *address) {
    rung_slice wanted =
        by == RUNG_FORWARDED_FORWARDED ? RUNG_SLICE("forwarded") : RUNG_SLICE("x-forwarded-for");
    chain c = {.count = 0};
    if (by == RUNG_FORWARDED_OFF || !rung_proxies_trust(trusted, address))
        return;
    for (uint32_t i = 0; i < head->field_count; i++) {
        rung_slice name = rung_head_slice(bytes, head->fields[i].name);
        if (name.len == wanted.len && strncasecmp(name.ptr, wanted.ptr, name.len) == 0)
            add_entries(&c, rung_head_slice(bytes, head->fields[i].value));
    }
    for (uint32_t i = 0; i < CHAIN_MAX && i < c.count; i++) {
        rung_address next;
        rung_slice entry = c.entries[(c.count - 1 - i) % CHAIN_MAX];
        if (!rung_address_parse_ip(by == RUNG_FORWARDED_FORWARDED ? find_for(entry) : entry, &next))
            return;
        *address = next;
        if (!rung_proxies_trust(trusted, &next))
            return;
    }
}
