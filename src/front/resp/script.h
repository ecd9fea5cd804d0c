/* SPDX-License-Identifier: Apache-2.0 */
/* script.h - commands kept for later: in their place among the changes, or in a transaction.
 *
 * An item is a head and its bytes: the arguments of a command (each a length and its bytes), a known reply, or nothing,
 * where a change will write its reply. */
#ifndef RUNG_FRONT_RESP_SCRIPT_H
#define RUNG_FRONT_RESP_SCRIPT_H

#include "front/resp/call.h"

typedef struct rung__resp_script { /* initialise to zero with an allocator */
    RUNG_BUFFER_PART;
    uint32_t count;
} rung__resp_script;

typedef enum rung__resp_item_kind {
    RUNG__ITEM_COMMAND,
    RUNG__ITEM_REPLY,
    RUNG__ITEM_CHANGE
} rung__resp_item_kind;

typedef struct rung__resp_item {
    rung__resp_item_kind kind;
    const rung__resp_command *command;
    uint32_t style;   /* of a change */
    uint32_t argc;    /* of a command */
    rung_slice bytes; /* behind the head */
    size_t next;      /* where the next item is */
} rung__resp_item;

/* Bytes that a command takes in a script. */
size_t rung__resp_script_need(const rung_slice *argv, uint32_t argc);
/* Append; false: no memory. */
bool rung__resp_script_add(rung__resp_script *script, const rung__resp_command *c,
                           const rung_slice *argv, uint32_t argc);
bool rung__resp_script_add_reply(rung__resp_script *script, rung_slice bytes);
bool rung__resp_script_add_change(rung__resp_script *script, const rung__resp_command *c,
                                  uint32_t style);
void rung__resp_script_free(rung__resp_script *script);

/* The item at `at`, which is before the end. */
rung__resp_item rung__resp_script_item(const rung__resp_script *script, size_t at);
/* Make the item's command that of the call. false: no memory. Valid until the next one is unpacked. */
bool rung__resp_script_unpack(rung__resp_call *call, const rung__resp_item *item);
/* Answer the items from *at up to the next change, or all, and advance *at. */
void rung__resp_script_answer(rung__resp_call *call, const rung__resp_script *script, size_t *at);

#endif
