/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - every enumeration of a board's definition or a query: each value and its name, defined once.
 *
 * Each table lists X(ENUMERATOR, value, "word"). It generates the enumeration, the array of words, and the texts of
 * the command line and of /openapi.json. The log stores the values and the archive the words: they never change. Zero
 * is the default of a new board, except for the rank style.
 *
 *     rung_rank_words[def->rank]                              // "sparse"
 *     int rank = rung_word_find(rung_rank_words, text);       // a rung_rank_style, or -1
 *     RUNG_ALTERNATIVES(RUNG_RANK_STYLES)                     // "unique|sparse|dense", a constant
 *
 * Depends only on base, since the ladder includes this one header of model. Pure; any thread. */
#ifndef RUNG_MODEL_WORDS_H
#define RUNG_MODEL_WORDS_H

#include "base/slice.h"

/* How ranks count ties. */
#define RUNG_RANK_STYLES(X)                                                                        \
    X(RUNG_RANK_UNIQUE, 0, "unique") /* 1 2 3 4: position in the full order */                     \
    X(RUNG_RANK_SPARSE, 1, "sparse") /* 1 1 3 4: 1 + the number of entries with a better score */  \
    X(RUNG_RANK_DENSE, 2, "dense")   /* 1 1 2 3: 1 + the number of better scores */

/* The windows that a board can enable by name; for calendar windows, the ordinal and an example id. */
#define RUNG_PLAIN_WINDOWS(X)                                                                      \
    X(RUNG_WINDOW_ALL, 0, "all")     /* all of time */                                             \
    X(RUNG_WINDOW_HOUR, 1, "hour")   /* civil hours since 1970-01-01T00       2026-11-15T14 */     \
    X(RUNG_WINDOW_DAY, 2, "day")     /* civil days since 1970-01-01           2026-11-15 */        \
    X(RUNG_WINDOW_WEEK, 3, "week")   /* ISO 8601 weeks since 1969-12-29       2026-W46 */          \
    X(RUNG_WINDOW_MONTH, 4, "month") /* year * 12 + month - 1                 2026-11 */           \
    X(RUNG_WINDOW_YEAR, 5, "year")   /* the year                              2026 */
#define RUNG_WINDOW_KINDS(X)                                                                       \
    RUNG_PLAIN_WINDOWS(X)                                                                          \
    X(RUNG_WINDOW_SEASON, 6, "season") /* has a name and dates of its own */

/* How a submission changes the current score. */
#define RUNG_UPDATES(X)                                                                            \
    X(RUNG_UPDATE_BEST, 0, "best")                                                                 \
    X(RUNG_UPDATE_LAST, 1, "last")                                                                 \
    X(RUNG_UPDATE_SUM, 2, "sum")                                                                   \
    X(RUNG_UPDATE_COUNT, 3, "count")                                                               \
    X(RUNG_UPDATE_DECAY, 4, "decay")                                                               \
    X(RUNG_UPDATE_ELO, 5, "elo") /* from here on: matches instead of scores */                     \
    X(RUNG_UPDATE_GLICKO2, 6, "glicko2")                                                           \
    X(RUNG_UPDATE_OPENSKILL, 7, "openskill")

/* The models of Weng and Lin. */
#define RUNG_WENGLIN_MODELS(X)                                                                     \
    X(RUNG_WENGLIN_PLACKETT_LUCE, 0, "plackett_luce")                                              \
    X(RUNG_WENGLIN_BRADLEY_TERRY_FULL, 1, "bradley_terry_full")                                    \
    X(RUNG_WENGLIN_BRADLEY_TERRY_PART, 2, "bradley_terry_part")

/* Who ranks higher among equal scores. */
#define RUNG_TIES(X)                                                                               \
    X(RUNG_TIE_FIRST, 0, "first")             /* who reached the score earlier */                  \
    X(RUNG_TIE_LAST, 1, "last")               /* who reached it later */                           \
    X(RUNG_TIE_PLAYER, 2, "player")           /* the smaller id; no time in the key */             \
    X(RUNG_TIE_PLAYER_LAST, 3, "player_desc") /* the larger id: the order of ZREVRANGE */

#define RUNG_SCORE_TYPES(X)                                                                        \
    X(RUNG_SCORE_INTEGER, 0, "integer") /* an exact int64, in value.i */                           \
    X(RUNG_SCORE_DECIMAL, 1, "decimal") /* exact: value.i is the score x 10^decimals */            \
    X(RUNG_SCORE_REAL, 2, "real")       /* value.d: any double but NaN; -0 is +0 */

#define RUNG_SCORE_ORDERS(X)                                                                       \
    X(RUNG_ORDER_DESC, 0, "desc") /* bigger is better */                                           \
    X(RUNG_ORDER_ASC, 1, "asc")   /* smaller is better */

/* How a team's score follows from its members' scores. */
#define RUNG_COMBINES(X)                                                                           \
    X(RUNG_COMBINE_SUM, 0, "sum")                                                                  \
    X(RUNG_COMBINE_MEAN, 1, "mean")                                                                \
    X(RUNG_COMBINE_TOP, 2, "top") /* the sum of the best team_top members */

/* What a sketch board keeps in bounded memory (docs/boards.md, "Sketch boards"). */
#define RUNG_SKETCHES(X)                                                                           \
    X(RUNG_SKETCH_COUNTS, 1, "counts")         /* the largest sums of an unbounded stream */       \
    X(RUNG_SKETCH_PERCENTILE, 2, "percentile") /* where a score stands; no entry per player */     \
    X(RUNG_SKETCH_DISTINCT, 3, "distinct")     /* how many different players there were */
#define RUNG_SKETCH_KINDS(X)                                                                       \
    X(RUNG_SKETCH_NONE, 0, "none") /* an exact board */                                            \
    RUNG_SKETCHES(X)

/* Who may submit. */
#define RUNG_WRITER_KINDS(X)                                                                       \
    X(RUNG_WRITERS_SERVER, 0, "server")                                                            \
    X(RUNG_WRITERS_PLAYER, 1, "player")

#define RUNG__ENUMERATOR(name, value, word) name = value,
typedef enum rung_rank_style { RUNG_RANK_STYLES(RUNG__ENUMERATOR) } rung_rank_style;
typedef enum rung_window_kind { RUNG_WINDOW_KINDS(RUNG__ENUMERATOR) } rung_window_kind;
typedef enum rung_update { RUNG_UPDATES(RUNG__ENUMERATOR) } rung_update;
typedef enum rung_wenglin_model { RUNG_WENGLIN_MODELS(RUNG__ENUMERATOR) } rung_wenglin_model;
typedef enum rung_tie { RUNG_TIES(RUNG__ENUMERATOR) } rung_tie;
typedef enum rung_score_type { RUNG_SCORE_TYPES(RUNG__ENUMERATOR) } rung_score_type;
typedef enum rung_score_order { RUNG_SCORE_ORDERS(RUNG__ENUMERATOR) } rung_score_order;
typedef enum rung_combine { RUNG_COMBINES(RUNG__ENUMERATOR) } rung_combine;
typedef enum rung_sketch_kind { RUNG_SKETCH_KINDS(RUNG__ENUMERATOR) } rung_sketch_kind;
typedef enum rung_writers { RUNG_WRITER_KINDS(RUNG__ENUMERATOR) } rung_writers;
#undef RUNG__ENUMERATOR

/* An entry's rank in a style, chosen from its ranks in all three. */
static inline uint32_t rung_rank_in(rung_rank_style style, uint32_t unique, uint32_t sparse,
                                    uint32_t dense) {
    return style == RUNG_RANK_UNIQUE ? unique : style == RUNG_RANK_SPARSE ? sparse : dense;
}

/* The words by value, NULL at the end. */
extern const char *const rung_rank_words[];
extern const char *const rung_window_words[];
extern const char *const rung_plain_window_words[];
extern const char *const rung_update_words[];
extern const char *const rung_wenglin_model_words[];
extern const char *const rung_tie_words[];
extern const char *const rung_score_type_words[];
extern const char *const rung_score_order_words[];
extern const char *const rung_combine_words[];
extern const char *const rung_sketch_words[];
extern const char *const rung_writers_words[];

/* The value of `word`, or -1. */
int rung_word_find(const char *const *words, rung_slice word);

/* A literal with a bar before each word: "enum" RUNG_TIES(RUNG_OR) is "enum|first|last|player|player_desc". */
#define RUNG_OR(name, value, word) "|" word
#define RUNG_ALTERNATIVES(TABLE)   (&(TABLE(RUNG_OR))[1])

#endif
