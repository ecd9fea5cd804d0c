/* SPDX-License-Identifier: Apache-2.0 */
#include "front/resp/script.h"

#include "front/resp/permission.h"
#include "front/resp/server.h"

enum { UNPACKED_KEPT = 64 << 10 };

typedef struct head {
    uint32_t kind;
    uint32_t number; /* of arguments; of a change: its style */
    uint32_t bytes;  /* behind the head */
    const rung__resp_command *command;
} head;

/* ---- adding ---- */

void rung__resp_script_free(rung__resp_script *script) {
    rung_buffer_deinit(&script->buffer);
    script->count = 0;
}

/* An item with so many bytes to be filled in; NULL: no memory. */
static char *add(rung__resp_script *script, head h) {
    if (!rung_buffer_reserve(&script->buffer, sizeof h + h.bytes)) {
        script->is_failed = false; /* it is whole without the item, and may be added to later */
        return NULL;
    }
    char *at = script->data + script->len;
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

bool rung__resp_script_add(rung__resp_script *script, const rung__resp_command *c,
                           const rung_slice *argv, uint32_t argc) {
    uint32_t bytes = (uint32_t)(rung__resp_script_need(argv, argc) - sizeof(head));
    char *at = add(script, (head){RUNG__ITEM_COMMAND, argc, bytes, c});
    for (uint32_t i = 0; at && i < argc; i++) {
        uint32_t len = (uint32_t)argv[i].len;
        memcpy(at, &len, sizeof len);
        memcpy(at + sizeof len, argv[i].ptr, len);
        at += sizeof len + len;
    }
    return at != NULL;
}

bool rung__resp_script_add_reply(rung__resp_script *script, rung_slice bytes) {
    char *at = add(script, (head){RUNG__ITEM_REPLY, 0, (uint32_t)bytes.len, NULL});
    if (at && bytes.len)
        memcpy(at, bytes.ptr, bytes.len);
    return at != NULL;
}

bool rung__resp_script_add_change(rung__resp_script *script, const rung__resp_command *c,
                                  uint32_t style) {
    return add(script, (head){RUNG__ITEM_CHANGE, style, 0, c}) != NULL;
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

/* Arguments are unpacked beside the parsed ones, among which EXEC may be in the middle. */
bool rung__resp_script_unpack(rung__resp_call *call, const rung__resp_item *item) {
    rung_buffer *unpacked = &call->r->unpacked;
    const char *p = item->bytes.ptr;
    rung_buffer_reset(unpacked, UNPACKED_KEPT);
    if (!rung_buffer_reserve(unpacked, item->argc * sizeof(rung_slice)))
        return false;
    rung_slice *argv = (rung_slice *)(void *)unpacked->data;
    for (uint32_t i = 0; i < item->argc; i++) {
        uint32_t len;
        memcpy(&len, p, sizeof len);
        argv[i] = rung_slice_of(p + sizeof len, len);
        p += sizeof len + len;
    }
    call->command = item->command;
    call->argv = argv;
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
        else if (!rung__resp_script_unpack(call, &item))
            rung__resp_error_status(call, RUNG_ENOMEM, NULL);
        else if (rung__resp_is_served(call))
            rung__resp_reveal_and_answer(call);
        rung__resp_spill(call);
        *at = item.next;
    }
}
