/* SPDX-License-Identifier: Apache-2.0 */
/* board.h - a board's definition, its validity, and its encoding.
 *
 * A definition is plain data with borrowed texts that its creator keeps alive. docs/boards.md specifies each field.
 * Start from rung_board_def_default(): an all-zero definition has no score column and no window, and some defaults
 * are not 0 (rank sparse, keep 2). Pure; any thread.
 *
 *   rung_board_def def = rung_board_def_default();
 *   def.windows |= RUNG_WINDOWS_BIT(RUNG_WINDOW_WEEK);
 *   st = rung_board_def_check(&def, &err); */
#ifndef RUNG_MODEL_BOARD_H
#define RUNG_MODEL_BOARD_H

#include "base/slice.h"
#include "base/status.h"
#include "model/calendar.h"
#include "model/rating.h"
#include "model/rule.h"
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
#define RUNG_KEEP_DEFAULT       2
#define RUNG_TEAM_TOP_MAX       100
#define RUNG_GRACE_MAX_MS       (INT64_C(366) * 86400000)
#define RUNG_HALF_LIFE_MIN_MS   INT64_C(60000)
#define RUNG_HALF_LIFE_MAX_MS   (INT64_C(36500) * 86400000)
#define RUNG_REVIEW_TOP_MAX     1000000
#define RUNG_REVIEW_MIN_MS      INT64_C(1000)
#define RUNG_REVIEW_MAX_MS      (INT64_C(366) * 86400000)
#define RUNG_REVIEW_DEFAULT_MS  (INT64_C(7) * 86400000)

/* Timed snapshots (state/editions.h). */
#define RUNG_SNAPSHOT_EVERY_MIN_MS INT64_C(1000)
#define RUNG_SNAPSHOT_EVERY_MAX_MS (INT64_C(31) * 86400000)
#define RUNG_SNAPSHOT_TOP_MAX      10000
#define RUNG_SNAPSHOT_TOP_DEFAULT  100
#define RUNG_SNAPSHOT_KEEP_MAX     10000
#define RUNG_SNAPSHOT_KEEP_DEFAULT 60
#define RUNG_SNAPSHOT_ROWS_MAX     (UINT64_C(1) << 20) /* of one board: top x keep x windows */
/* Bytes of each ranking of a sketch board. A distinct count needs less than the others. */
#define RUNG_SKETCH_MEMORY_MIN          ((uint32_t)64 << 10)
#define RUNG_SKETCH_MEMORY_MIN_DISTINCT ((uint32_t)16 << 10)
#define RUNG_SKETCH_MEMORY_MAX          ((uint32_t)64 << 20)
#define RUNG_SKETCH_MEMORY_DEFAULT      ((uint32_t)1 << 20)
#define RUNG_SKETCH_TOP_MAX             100000
#define RUNG_SKETCH_TOP_DEFAULT         100

/* The longest encoding; most of it is for zone rules. */
#define RUNG_BOARD_DEF_BYTES_MAX ((size_t)80 << 10)

/* Bits of `windows`: bit k is the rung_window_kind k. */
#define RUNG_WINDOWS_ALL       1u
#define RUNG_WINDOWS_BIT(kind) (1u << (kind))
#define RUNG_WINDOWS_MASK      0x3fu
#define RUNG_KEEP_KINDS_MASK   0x7eu /* all but all, which never closes */

typedef struct rung_season {
    rung_slice name;            /* unique; not a kind of window ("all", "hour", "day", ...) */
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
    int64_t half_life_ms;      /* decay only, 0 otherwise */
    rung_rating_params rating; /* rating boards only; its system is that of `update` */
    rung_rank_style rank;
    uint32_t windows; /* 0 only when there are seasons */
    uint32_t season_count;
    rung_season seasons[RUNG_SEASONS_MAX];
    rung_slice zone_name;  /* empty or "UTC": UTC; otherwise a letter, then letters, digits, _+-/ */
    rung_slice zone_rules; /* from rung_zone_pack(); empty if and only if the zone is UTC */
    int32_t day_starts_min;
    int64_t grace_ms;
    uint32_t keep; /* closed windows of each kind that stay in memory */
    /* Bits of the kinds (hour to season) that have a number of their own, and these; 0 for the others. */
    uint32_t keep_kinds;
    uint32_t keep_of[RUNG_WINDOW_SEASON + 1];
    uint32_t scope_count;
    rung_slice scopes[RUNG_SCOPES_MAX]; /* attribute names, unique */
    bool has_teams;
    rung_slice team_by;
    rung_combine team_combine;
    uint32_t team_top;              /* 1 to RUNG_TEAM_TOP_MAX for top, 0 otherwise */
    uint32_t limits;                /* which of the following apply */
    rung_value min, max;            /* as the score column's type; min <= max */
    rung_value max_step;            /* >= 0 */
    uint32_t per_player_per_minute; /* >= 1 */
    double z_score;                 /* > 0, finite */
    rung_writers writers;
    uint32_t rule_count;
    rung_board_rule rules[RUNG_BOARD_RULES_MAX]; /* judged in this order, after the limits */
    rung_review_kind review;                     /* what else goes to a review */
    uint32_t review_top;                         /* 1 to RUNG_REVIEW_TOP_MAX for top, 0 otherwise */
    int64_t review_ms; /* when a review ends by itself; 0: RUNG_REVIEW_DEFAULT_MS */
    rung_review_verdict review_outcome; /* and how: promote or reject */
    int64_t snapshot_every_ms; /* of log time; 0: no timed snapshots, and the next two are 0 */
    uint32_t snapshot_top;     /* entries of each */
    uint32_t snapshot_keep;    /* of each window, newest first */
    rung_sketch_kind sketch;   /* none: an exact board; the next three are of others only */
    uint32_t sketch_memory; /* bytes of each ranking: of every window, and of every scope in it */
    uint32_t sketch_top;    /* counts: how many TOPK.LIST shows; 0: not said */
    double sketch_error;    /* the share of the total that no answer may be off by; 0: not said */
} rung_board_def;

/* How many entries its timed snapshots may hold. */
uint64_t rung_board_snapshot_rows(const rung_board_def *def);

/* Does the board take matches, not scores? */
static inline bool rung_update_is_rating(rung_update update) {
    return update >= RUNG_UPDATE_ELO;
}
static inline rung_rating_system rung_update_system(rung_update update) {
    return (rung_rating_system)(update - RUNG_UPDATE_ELO);
}

/* May a submission become tentative? */
bool rung_board_has_reviews(const rung_board_def *def);
/* Do its rules need a player's earlier submissions? */
bool rung_board_needs_form(const rung_board_def *def);

/* integer, desc, best, first, sparse, all, UTC, keep 2. */
rung_board_def rung_board_def_default(void);

/* How many closed windows of a kind stay in memory. */
static inline uint32_t rung_board_keep(const rung_board_def *def, uint32_t kind) {
    return def->keep_kinds >> kind & 1 ? def->keep_of[kind] : def->keep;
}

/* Names of boards, players, seasons, and of attribute values with a ranking: 1 to 128 bytes of UTF-8 without control
 * characters (U+0000-001F, U+007F-009F). */
bool rung_name_is_valid(rung_slice name);
/* An attribute name: 1..64 of a-z A-Z 0-9 _ . - */
bool rung_attribute_name_is_valid(rung_slice name);

/* Which kind of window a query's `window` names: the kind's word, else the season of that name (also one that the
 * board does not have, or no longer), with *season_out; empty: the first that the board has, of all, year .. hour,
 * seasons. */
uint32_t rung_board_window_kind(const rung_board_def *def, rung_slice name, rung_slice *season_out);
/* The season of that name; NULL: the board has none. */
const rung_season *rung_board_season(const rung_board_def *def, rung_slice name);

/* RUNG_OK, or RUNG_EINVAL with a message that starts with the field's name in the API ("limits.min: ...") and says
 * what was expected. Checks everything that needs no other state: enumerators, ranges, names, duplicates; count needs
 * integer and no columns; decay needs real, desc, no columns and a half life; ratings need integer or decimal, desc, no
 * columns, no limits and valid parameters; min <= max; no NaN. It does not check
 * that the zone rules unpack, which needs memory: the code that accepts a definition does. It ignores fields that a
 * count or flag leaves out (columns past the last, limits without their bit, teams without has_teams). */
RUNG_NODISCARD rung_status rung_board_def_check(const rung_board_def *def, rung_err *err);

/* The level of rules that a program must know to read this definition. */
uint32_t rung_board_def_level(const rung_board_def *def);

/* Encode a definition: deterministic, with its version in the first byte. `out` has `size` bytes. *length_out is the
 * length needed, also on RUNG_ELIMIT: `size` is too small (RUNG_BOARD_DEF_BYTES_MAX always suffices). RUNG_EINVAL:
 * not a valid definition. */
RUNG_NODISCARD rung_status rung_board_def_encode(const rung_board_def *def, void *out, size_t size,
                                                 size_t *length_out);
/* Decode a definition. Safe for any input; texts borrow from `bytes`. The result is valid, has zeros in fields that
 * do not apply, and encodes to the same bytes. Trailing bytes are an error. RUNG_ECORRUPT, RUNG_EVERSION,
 * RUNG_EINVAL. */
RUNG_NODISCARD rung_status rung_board_def_decode(rung_slice bytes, rung_board_def *def_out,
                                                 rung_err *err);

#endif
