/* SPDX-License-Identifier: Apache-2.0 */
#include "front/resp/script.h"

#include "front/resp/server.h"

enum { SCRIPT_FIRST = 256, UNPACKED_FIRST = 64 };

typedef struct head {
    uint32_t kind;
    uint32_t number; /* of arguments; of a change: its style */
    uint32_t bytes;  /* behind the head */
    const rung__resp_command *command;
} head;

/* ---- adding ---- */

void rung__resp_script_free(const rung_alloc *a, rung__resp_script *script) {
    rung_alloc_free(a, script->data, script->size);
    *script = (rung__resp_script){0};
}

static char *reserve(const rung_alloc *a, rung__resp_script *script, size_t more) {
    if (script->size - script->len < more) {
        size_t size = script->size ? script->size : SCRIPT_FIRST;
        while (size - script->len < more)
            size *= 2;
        char *data = rung_alloc_resize(a, script->data, script->size, size);
        if (!data)
            return NULL;
        script->data = data;
        script->size = size;
    }
    return script->data + script->len;
}

/* An item with so many bytes to be filled in; NULL: no memory. */
static char *add(const rung_alloc *a, rung__resp_script *script, head h) {
    char *at = reserve(a, script, sizeof h + h.bytes);
    if (!at)
        return NULL;
    memcpy(at, &h, sizeof h);
    script->len += sizeof h + h.bytes;
    script->count++;
    return at + sizeof h;
}

size_t rung__resp_script_need(const rung_slice *argv, uint32_t argc) {
    size_t bytes = sizeof(head) + argc * sizeof(uint32_t);
    for (uint32_t i = 0; i < argc; i++)
        bytes += argv[i].len;
    return bytes;
}

bool rung__resp_script_add(const rung_alloc *a, rung__resp_script *script,
                           const rung__resp_command *c, const rung_slice *argv, uint32_t argc) {
    uint32_t bytes = (uint32_t)(rung__resp_script_need(argv, argc) - sizeof(head));
    char *at = add(a, script, (head){RUNG__ITEM_COMMAND, argc, bytes, c});
    for (uint32_t i = 0; at && i < argc; i++) {
        uint32_t len = (uint32_t)argv[i].len;
        memcpy(at, &len, sizeof len);
        memcpy(at + sizeof len, argv[i].ptr, len);
        at += sizeof len + len;
    }
    return at != NULL;
}

bool rung__resp_script_add_reply(const rung_alloc *a, rung__resp_script *script, rung_slice bytes) {
    char *at = add(a, script, (head){RUNG__ITEM_REPLY, 0, (uint32_t)bytes.len, NULL});
    if (at && bytes.len)
        memcpy(at, bytes.ptr, bytes.len);
    return at != NULL;
}

bool rung__resp_script_add_change(const rung_alloc *a, rung__resp_script *script,
                                  const rung__resp_command *c, uint32_t style) {
    return add(a, script, (head){RUNG__ITEM_CHANGE, style, 0, c}) != NULL;
}

/* ---- reading ---- */

rung__resp_item rung__resp_script_item(const rung__resp_script *script, size_t at) {
    head h;
    memcpy(&h, script->data + at, sizeof h);
    return (rung__resp_item){.kind = (rung__resp_item_kind)h.kind,
                             .command = h.command,
                             .style = h.kind == RUNG__ITEM_CHANGE ? h.number : 0,
                             .argc = h.kind == RUNG__ITEM_COMMAND ? h.number : 0,
                             .bytes = rung_slice_of(script->data + at + sizeof h, h.bytes),
                             .next = at + sizeof h + h.bytes};
}

/* Arguments are unpacked beside those that a parser read: EXEC may stand in the middle of those. */
static bool reserve_unpacked(rung_resp *r, uint32_t count) {
    if (r->unpacked_size >= count)
        return true;
    uint32_t size = count > UNPACKED_FIRST ? count : UNPACKED_FIRST;
    rung_slice *items = rung_alloc_resize(r->config.alloc, r->unpacked,
                                          r->unpacked_size * sizeof *items, size * sizeof *items);
    if (!items)
        return false;
    r->unpacked = items;
    r->unpacked_size = size;
    return true;
}

bool rung__resp_script_unpack(rung__resp_call *call, const rung__resp_item *item) {
    rung_resp *r = call->r;
    const char *p = item->bytes.ptr;
    if (!reserve_unpacked(r, item->argc))
        return false;
    for (uint32_t i = 0; i < item->argc; i++) {
        uint32_t len;
        memcpy(&len, p, sizeof len);
        r->unpacked[i] = rung_slice_of(p + sizeof len, len);
        p += sizeof len + len;
    }
    call->command = item->command;
    call->argv = r->unpacked;
    call->argc = item->argc;
    return true;
}

void rung__resp_script_answer(rung__resp_call *call, const rung__resp_script *script, size_t *at) {
    while (*at < script->len) {
        rung__resp_item item = rung__resp_script_item(script, *at);
        if (item.kind == RUNG__ITEM_CHANGE)
            return;
        if (item.kind == RUNG__ITEM_REPLY)
            rung_resp_raw(call->out, item.bytes);
        else if (rung__resp_script_unpack(call, &item))
            call->command->answer(call);
        else
            rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        rung__resp_spill(call);
        *at = item.next;
    }
}
