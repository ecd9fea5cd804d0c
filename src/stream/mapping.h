/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.h - from a foreign JSON record to a score or a match: which part of the record gives what.
 *
 *     rung_mapping m = {0};
 *     rung_mapping_set(&m, RUNG_MAP_PLAYER, "$.user.id", &err);    // the value at this path
 *     rung_mapping_set(&m, RUNG_MAP_BOARD, "race", &err);          // this very text
 *     rung_mapping_set(&m, RUNG_MAP_DELTA, "$.points", &err);
 *     rung_mapping_check(&m, &err);
 *     ...
 *     rung_mapping_read(&m, &record, &reader, &mapped, &err);      // its form
 *     ... find the board ...
 *     rung_mapping_fill(&m, &mapped, def, &event, &err);           // its values, by the board's types
 *
 * An expression is a path of object keys ($.a.b), the record's key ($key), the record's time ($timestamp, for `at`), or
 * a constant: anything that does not begin with '$'. docs/ingest.md explains them to operators.
 *
 * A record is read in one pass, without allocation. A mapping with RUNG_MAP_SIDES makes matches: its value is an array
 * as in codec/match_json.h. Pure; any thread. */
#ifndef RUNG_STREAM_MAPPING_H
#define RUNG_STREAM_MAPPING_H

#include "base/slice.h"
#include "base/status.h"
#include "codec/json_reader.h"
#include "model/event.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_MAP_STEPS_MAX   8 /* keys of a path */
#define RUNG_MAP_COLUMNS_MAX 4 /* of all boards that the records go to */

typedef enum rung_map_target {
    RUNG_MAP_BOARD,
    RUNG_MAP_PLAYER,
    RUNG_MAP_SCORE,
    RUNG_MAP_DELTA,
    RUNG_MAP_AT,
    RUNG_MAP_ID,
    RUNG_MAP_META,
    RUNG_MAP_SIDES,  /* of a match: instead of player, score, delta, meta and columns */
    RUNG_MAP_COLUMN, /* the first of RUNG_MAP_COLUMNS_MAX */
    RUNG_MAP_TARGETS = RUNG_MAP_COLUMN + RUNG_MAP_COLUMNS_MAX,
} rung_map_target;

typedef enum rung_map_kind {
    RUNG_MAP_UNSET,
    RUNG_MAP_IS_CONSTANT,
    RUNG_MAP_IS_PATH,
    RUNG_MAP_IS_KEY,
    RUNG_MAP_IS_TIMESTAMP,
} rung_map_kind;

typedef struct rung_map_expression {
    rung_map_kind kind;
    rung_slice text; /* as it was given */
    uint32_t step_count;
    rung_slice steps[RUNG_MAP_STEPS_MAX];
} rung_map_expression;

/* Zero has no expressions. Texts borrow from what it was set from. */
typedef struct rung_mapping {
    rung_map_expression targets[RUNG_MAP_TARGETS];
    uint32_t column_count;
    rung_slice columns[RUNG_MAP_COLUMNS_MAX]; /* their names */
} rung_mapping;

/* "board", "player", ...: what the target is called in settings and messages. */
const char *rung_map_target_name(rung_map_target target);

/* RUNG_OK or RUNG_EINVAL, which says what was expected and names no field. */
RUNG_NODISCARD rung_status rung_mapping_set(rung_mapping *m, rung_map_target target,
                                            rung_slice text, rung_err *err);
/* "time: $.run.ms, lives: $.lives" */
RUNG_NODISCARD rung_status rung_mapping_set_columns(rung_mapping *m, rung_slice text,
                                                    rung_err *err);
/* Is it complete? RUNG_EINVAL names the target. */
RUNG_NODISCARD rung_status rung_mapping_check(const rung_mapping *m, rung_err *err);

/* ---- records ---- */

typedef struct rung_map_record {
    char *text; /* changed by reading it; lives as long as the result */
    size_t len;
    rung_slice key;       /* ptr NULL: it has none */
    int64_t timestamp_ms; /* negative: it has none */
} rung_map_record;

/* What a record says. A slice with ptr NULL: nothing. */
typedef struct rung_mapped {
    rung_slice board, player, id, meta;
    rung_slice value; /* the score, or the delta */
    bool is_delta, has_at;
    int64_t at_ms;
    rung_slice columns[RUNG_MAP_COLUMNS_MAX];
    rung_slice packed; /* the players of a match; empty: it is a score */
    uint32_t player_count;
} rung_mapped;

/* RUNG_OK; RUNG_EINVAL or RUNG_ELIMIT with the reason RUNG_REASON_MALFORMED: not JSON, or beyond the reader's limits;
 * RUNG_EINVAL or RUNG_ERANGE without it: the field of `err` is missing, or of another type. */
RUNG_NODISCARD rung_status rung_mapping_read(const rung_mapping *m, const rung_map_record *record,
                                             rung_json *reader, rung_mapped *out, rung_err *err);

/* Make the event of it (but not its time and its source). RUNG_EINVAL or RUNG_ERANGE naming the field: the
 * board cannot take it. */
RUNG_NODISCARD rung_status rung_mapping_fill(const rung_mapping *m, const rung_mapped *mapped,
                                             const rung_board_def *def, rung_event *event,
                                             rung_err *err);

#endif
