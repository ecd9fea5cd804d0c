/* SPDX-License-Identifier: Apache-2.0 */
/* state_facts.h - what the brute-force model of the state remembers: shared by state_model.c, which adds facts, and
 * state_view.c, which answers from them. Nothing here is derived from anything else here, but for window spans. */
#ifndef RUNG_TESTS_STATE_FACTS_H
#define RUNG_TESTS_STATE_FACTS_H

#include "support/state_model.h"

/* The sum of a decay entry: mantissa x 2^exponent, relative to the board's creation; 0, or mantissa in [1, 2). */
typedef struct model_decay {
    long double mantissa;
    int64_t exponent;
    uint32_t terms;
} model_decay;

enum {
    MODEL_SLOTS = RUNG_SCOPES_MAX + 1
}; /* attributes a board ranks by: its scopes and its teams' */

typedef struct model_entry {
    uint32_t player;
    rung_value values[RUNG_COLUMNS_MAX]; /* but for decay */
    model_decay decay;
    int64_t at;
    /* What counts instead of today's profile: in closed windows, and where a ban took the player out. */
    uint32_t frozen_count, frozen_aside; /* aside: while it is shown in spite of a shadow ban */
    rung_attribute frozen[MODEL_SLOTS];
} model_entry;

typedef struct model_window {
    uint32_t kind; /* 0 all, 1..5, RUNG_WINDOW_SEASON */
    int64_t ordinal;
    rung_slice season;
    int64_t start_ms, end_ms;
    bool closed;
    uint32_t count, room;
    model_entry *entries; /* one per player, banned ones too, in no order */
} model_window;

/* From `from_ms` on, windows of a kind follow this rule; before it ends window number `before`. */
typedef struct model_rule {
    rung_zone *zone;
    int day_starts_min;
    int64_t from_ms, before;
} model_rule;

enum { MODEL_RULES_MAX = 256, MODEL_KINDS = 6 };

typedef struct model_calendar {
    uint32_t count;
    model_rule rules[MODEL_RULES_MAX];
} model_calendar;

typedef struct model_rate {
    uint32_t player;
    int64_t minute;
    uint32_t count;
} model_rate;

/* An accepted submission, for the rules that look back. */
typedef struct model_past {
    uint32_t player;
    int64_t at_ms;        /* log time */
    rung_value x;         /* the score, or the result of a delta */
    bool is_other_period; /* the period of `submissions` has changed since */
} model_past;

/* A window that was closed: it never takes scores again, in memory or not. */
typedef struct model_closed {
    uint32_t kind;
    int64_t ordinal;
    rung_slice season;
} model_closed;

typedef struct model_board {
    uint64_t serial; /* which life of the name */
    rung_slice name;
    rung_board_def def; /* texts in the model's arena */
    int64_t created_ms;
    int64_t id_horizon_ms; /* level 1 */
    int64_t over_ms;       /* what had ended by then, grace included, when `grace` changed */
    model_calendar calendars[MODEL_KINDS]; /* by kind; 0 unused */
    uint32_t window_count, window_room;
    model_window *windows;
    uint32_t closed_count, closed_room;
    model_closed *closed;
    uint32_t rate_count, rate_room;
    model_rate *rates;
    uint32_t past_count, past_room;
    model_past *past; /* only while a rule needs it */
} model_board;

typedef struct model_player {
    bool is_used, is_banned;
    bool is_shadow;  /* banned without being told */
    uint64_t serial; /* which life of the number */
    rung_slice name;
    uint32_t attribute_count;
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t follow_count, follow_room;
    uint32_t *follows;
} model_player;

typedef struct model_id {
    uint64_t board_serial;
    rung_score_event body; /* texts in the arena */
    int64_t effective_ms;
    model_answer answer; /* the first */
    uint32_t next_number;
    uint64_t next_serial; /* of the player above, who may be erased later */
} model_id;

typedef struct model_text {
    struct model_text *next;
    char bytes[];
} model_text;

typedef struct model_source {
    rung_slice name;
    uint64_t next; /* the highest offset + 1 */
    uint32_t count, room;
    uint64_t *offsets; /* all that were applied */
} model_source;

struct state_model {
    state_model_config config;
    uint64_t seq, refused, serials;
    int64_t time_ms;
    uint32_t rules;
    bool has_keys;
    uint32_t board_count, board_room;
    model_board **boards;
    uint32_t player_count, player_room; /* ever numbered */
    model_player *players;
    uint32_t free_count, free_room;
    uint32_t *free_numbers; /* the last removed is given out first */
    uint32_t id_count, id_room;
    model_id *ids; /* in order of arrival */
    int64_t id_horizon_ms;
    uint32_t source_count, source_room;
    model_source *sources;
    model_text *texts;
    rung_zone **zones;
    uint32_t zone_count, zone_room;
};

/* Room for one more in a growing array. */
void *model_grow(void *items, uint32_t count, uint32_t *room, size_t size);
#define MODEL_PUSH(items, count, room)                                                             \
    ((items) = model_grow((items), (count), &(room), sizeof *(items)), &(items)[(count)++])

model_board *model_board_find(const state_model *m, rung_slice name);
model_player *model_player_find(const state_model *m, rung_slice name, uint32_t *number_out);
/* The value under which an entry is ranked; empty: none. */
rung_slice model_value_of(const state_model *m, const model_window *w, const model_entry *e,
                          rung_slice attribute);

/* The window of a kind that contains `at` under all rules the board ever had. */
rung_window model_calendar_at(const model_board *b, uint32_t kind, int64_t at);
/* The window of that number; false if no instant belongs to it. */
bool model_calendar_span(const model_board *b, uint32_t kind, int64_t ordinal, rung_window *out);
model_window *model_window_find(const model_board *b, uint32_t kind, int64_t ordinal,
                                rung_slice season);
/* Has it ended for good: closed, or past its end and grace? */
bool model_window_takes_scores(const state_model *m, const model_board *b, uint32_t kind,
                               int64_t ordinal, rung_slice season, int64_t end_ms);
const rung_season *model_season(const rung_board_def *def, rung_slice name);

/* <0: a is the better. Scores alone; then the whole order. */
int model_compare_scores(const rung_board_def *def, const model_entry *a, const model_entry *b);
int model_compare_entries(const state_model *m, const rung_board_def *def, const model_entry *a,
                          const model_entry *b);

model_decay model_decay_add(model_decay a, model_decay b);
model_decay model_decay_of(const model_board *b, double value, int64_t at);
int model_decay_compare(model_decay a, model_decay b); /* <0: a is the smaller */
long double model_decay_log2(model_decay a);
double model_decay_show(const model_board *b, model_decay a, int64_t now_ms);
/* Too close to say which is larger. */
bool model_decay_is_close(model_decay a, model_decay b);

#endif
