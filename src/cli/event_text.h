/* SPDX-License-Identifier: Apache-2.0 */
/* event_text.h - a log record as text: what `rung log cat` prints and filters by. One thread. */
#ifndef RUNG_CLI_EVENT_TEXT_H
#define RUNG_CLI_EVENT_TEXT_H

#include "base/slice.h"
#include "model/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One line: "42  2026-11-15T14:00:00.000Z  score  race  ada  4200  id=x", or as JSON
 * {"seq":42,"ts":"...","kind":"score","board":"race",...}. */
void rung_event_print(FILE *out, uint64_t seq, const rung_event *event, bool is_json);

bool rung_event_is_of_board(const rung_event *event, rung_slice board);
/* Does it name this player, in any role? */
bool rung_event_is_about(const rung_event *event, rung_slice player);

/* The kind of a word such as "score" or "board-defined". false: none. */
bool rung_event_kind_parse(const char *word, rung_event_kind *kind_out);

#endif
