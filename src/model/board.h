/* SPDX-License-Identifier: Apache-2.0 */
/* board.h - what a board is: its definition, whether it is valid, and its bytes.
 *
 * A definition is plain data with borrowed texts; who made it keeps them alive. docs/boards.md says what each field
 * does.
 * Start from rung_board_def_default(): zero alone lacks a score column and a window, and is not the default where that
 * is not 0 (rank sparse, keep 2). Pure; any thread.
 *
 *   rung_board_def def = rung_board_def_default();
 *   def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_WEEK);
 *   st = rung_board_def_check(&def, &err); */
#ifndef RUNG_MODEL_BOARD_H
#define RUNG_MODEL_BOARD_H

#include "base/slice.h"
#include "base/status.h"
#include "model/calendar.h"
#include "model/score.h"
#include "model/words.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_NAME_MAX           128 /* bytes of a board, player, attribute value or season name */
#define RUNG_TITLE_MAX          256
#define RUNG_ZONE_NAME_MAX      64
#define RUNG_ATTRIBUTE_NAME_MAX 64
#define RUNG_SEASONS_MAX        64
#define RUNG_SCOPES_MAX         8
#define RUNG_KEEP_MAX           10000
#define RUNG_TEAM_TOP_MAX       100
#define RUNG_GRACE_MAX_MS       (INT64_C(366) * 86400000)
#define RUNG_HALF_LIFE_MIN_MS   INT64_C(60000)
#define RUNG_HALF_LIFE_MAX_MS   (INT64_C(36500) * 86400000)

/* No definition is longer as bytes; most of it is room for zone rules. */
#define RUNG_BOARD_DEF_BYTES_MAX ((size_t)80 << 10)

/* Bits of `windows`: bit k is the rung_window_kind k. */
#define RUNG_WINDOWS_ALL       1u
#define RUNG_WINDOWS_BIT(kind) (1u << (kind))
#define RUNG_WINDOWS_MASK      0x3fu

typedef struct rung_season {
    rung_slice name; /* unique; not the name of a kind of window ("all", "hour", "day", ...) */
    int64_t starts_ms, ends_ms; /* starts < ends */
} rung_season;

/* Bits of `limits`. */
enum {
    RUNG_LIMIT_MIN = 1,
    RUNG_LIMIT_MAX = 2,
    RUNG_LIMIT_STEP = 4,
    RUNG_LIMIT_RATE = 8,
    RUNG_LIMIT_Z = 16
};
#define RUNG_LIMITS_MASK 0x1fu

typedef struct rung_board_def {
    rung_slice title; /* empty: the board's id; no control characters */
    rung_keyspec key; /* score, further columns, tie */
    rung_slice column_names[RUNG_COLUMNS_MAX - 1]; /* like attribute names; unique, not "score" */
    rung_update update;
    int64_t half_life_ms; /* decay only, 0 otherwise */
    rung_rank_style rank;
    uint32_t windows; /* 0 only when there are seasons */
    uint32_t season_count;
    rung_season seasons[RUNG_SEASONS_MAX];
    rung_slice zone_name;  /* empty or "UTC": UTC; otherwise a letter, then letters, digits, _+-/ */
    rung_slice zone_rules; /* rung_zone_pack() bytes; empty for UTC and for UTC alone */
    int32_t day_starts_min;
    int64_t grace_ms;
    uint32_t keep;
    uint32_t scope_count;
    rung_slice scopes[RUNG_SCOPES_MAX]; /* attribute names, unique */
    bool has_teams;
    rung_slice team_by;
    rung_combine team_combine;
    uint32_t team_top;              /* 1 to RUNG_TEAM_TOP_MAX for top, 0 otherwise */
    uint32_t limits;                /* which of the following hold */
    rung_value min, max;            /* as the score column's type; min <= max */
    rung_value max_step;            /* >= 0 */
    uint32_t per_player_per_minute; /* >= 1 */
    double z_score;                 /* > 0, finite */
    rung_writers writers;
} rung_board_def;

/* integer, desc, best, first, sparse, all, UTC, keep 2. */
rung_board_def rung_board_def_default(void);

/* 1..128 bytes of UTF-8 without control characters (U+0000-001F, U+007F-009F): the rule for names of boards, players,
 * seasons, and of attribute values that have a ranking. */
bool rung_name_is_valid(rung_slice name);
/* An attribute name: 1..64 of a-z A-Z 0-9 _ . - */
bool rung_attribute_name_is_valid(rung_slice name);

/* RUNG_OK, or RUNG_EINVAL with a message that begins with the field's name as clients know it ("limits.min: ...") and
 * says what was expected. Checks everything that can be said without other state: enumerators, ranges, names,
 * duplicates; count needs integer and no columns; decay needs real, desc, no columns, a half life; min <= max; NaN
 * nowhere. Not checked, since it takes memory: that the zone rules unpack; who takes a definition in does that. Fields
 * that a count or a flag leaves out (columns past the last, limits without their bit, teams without has_teams) are
 * not looked at. */
RUNG_NODISCARD rung_status rung_board_def_check(const rung_board_def *def, rung_err *err);

/* The definition as bytes: deterministic, versioned by its first byte. `size` bytes at `out`; *length_out is what it
 * takes (also when RUNG_ELIMIT says that size is too small; RUNG_BOARD_DEF_BYTES_MAX never is). RUNG_EINVAL for a
 * definition that is not valid. */
RUNG_NODISCARD rung_status rung_board_def_encode(const rung_board_def *def, void *out, size_t size,
                                                 size_t *length_out);
/* Survives any bytes; texts borrow from `bytes`. What decodes is valid (checked), has zeros where a field does not
 * apply, and encodes to the same bytes again. All of the bytes must be used. RUNG_ECORRUPT, RUNG_EVERSION,
 * RUNG_EINVAL. */
RUNG_NODISCARD rung_status rung_board_def_decode(rung_slice bytes, rung_board_def *def_out,
                                                 rung_err *err);

#endif
