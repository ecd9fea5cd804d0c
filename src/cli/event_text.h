/* SPDX-License-Identifier: Apache-2.0 */
/* event_text.h - a log record for people, and as JSON: what `rung log cat` prints. One thread. */
#ifndef RUNG_CLI_EVENT_TEXT_H
#define RUNG_CLI_EVENT_TEXT_H

#include "base/slice.h"
#include "model/event.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One line: "42  2026-11-15T14:00:00.000Z  score  race  ada  4200  id=x". */
void rung_event_print_line(FILE *out, uint64_t seq, const rung_event *event);
/* One line, one object: {"seq":42,"ts":"...","kind":"score","board":"race",...}. */
void rung_event_print_json(FILE *out, uint64_t seq, const rung_event *event);

/* The board or player an event speaks of; empty where there is none. */
rung_slice rung_event_board(const rung_event *event);
rung_slice rung_event_player(const rung_event *event);
/* Does it speak of this player, as the one or as the other of a friendship? */
bool rung_event_is_about(const rung_event *event, rung_slice player);

/* The kind of a word such as "score" or "board-defined": rung_event_kind_name(), in one word. */
bool rung_event_kind_parse(const char *word, rung_event_kind *kind_out);

#endif
