/* SPDX-License-Identifier: Apache-2.0 */
/* key_model.h - keys as Redis has them, written for clarity: small arrays, linear search, sorting. It knows what
 * docs/redis.md says beyond Redis: bans hide members, and a board with rules of its own ("own": integers, desc,
 * update last, tie player).
 *
 * Names are those of key_model_key() and key_model_member(): few, so that commands meet. */
#ifndef RUNG_TESTS_KEY_MODEL_H
#define RUNG_TESTS_KEY_MODEL_H

#include "state/keyspace/keys.h"

enum {
    KEY_MODEL_KEYS = 6,
    KEY_MODEL_MEMBERS = 24,
    KEY_MODEL_OWN = 0 /* the key that may be a board */
};

typedef enum model_kind { MODEL_NONE, MODEL_ZSET, MODEL_SET, MODEL_OWN } model_kind;

typedef struct model_key {
    model_kind kind;
    bool has[KEY_MODEL_MEMBERS];
    double score[KEY_MODEL_MEMBERS];
    bool has_expiry;
    int64_t expires_ms;
} model_key;

typedef struct key_model {
    int64_t time_ms;
    uint32_t rules; /* the level */
    bool is_admin;  /* who sends the commands that come */
    bool banned[KEY_MODEL_MEMBERS];
    model_key keys[KEY_MODEL_KEYS];
} key_model;

typedef struct model_row {
    uint32_t member;
    double score;
} model_row;

/* What a command should answer. */
typedef struct model_result {
    rung_zkey_error error;
    uint64_t count, updated;
    bool has_score;
    double score;
    int key; /* -1: none */
    uint32_t row_count;
    model_row rows[KEY_MODEL_MEMBERS];
} model_result;

rung_slice key_model_key(uint32_t key);
rung_slice key_model_member(uint32_t member);
uint32_t key_model_find_key(rung_slice name);
uint32_t key_model_find_member(rung_slice name);

/* Time passes: keys whose time is over go. Before every event. */
void key_model_pass(key_model *m, int64_t ts_ms);
void key_model_apply(key_model *m, rung_zcommand *c, model_result *out);
void key_model_ban(key_model *m, uint32_t member, bool banned);
void key_model_erase(key_model *m, uint32_t member);
void key_model_remove(key_model *m, uint32_t key,
                      uint32_t member); /* an entry, by the state's own event */
void key_model_define(
    key_model *m); /* the board with rules of its own; a refusal is the caller's */

/* What is to be seen at `now`. MODEL_NONE also for a key whose members are all hidden. */
model_kind key_model_kind(const key_model *m, uint32_t key, int64_t now_ms);
/* Visible members of a key, ascending as ZRANGE has them. */
uint32_t key_model_rows(const key_model *m, uint32_t key, model_row *rows);
/* Rows of a range, ascending. */
void key_model_range(const key_model *m, uint32_t key, const rung_range *range, bool rev,
                     uint32_t *first, uint32_t *end);
uint32_t key_model_combine(const key_model *m, rung_combine_keys combine, rung_aggregate aggregate,
                           uint32_t n, const uint32_t *keys, const double *weights,
                           model_row *rows);

#endif
