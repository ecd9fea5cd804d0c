/* SPDX-License-Identifier: Apache-2.0 */
/* op.h - one thing that a client of the simulation wants: what it is, the bytes that ask for it, and the name (tag)
 * under which its event can be found in the log.
 *
 * The world is small, so that everything meets: four boards, eight players, two keys of six members. Boards and keys
 * share no names: the state model knows the ones, a table of this simulator the others. */
#ifndef RUNG_TESTS_SIM_OP_H
#define RUNG_TESTS_SIM_OP_H

#include "model/event.h"
#include "support/rng.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SIM_BOARDS = 4,
    SIM_DECAY = 3, /* the board whose scores fade */
    SIM_WINDOWS = 4,
    SIM_PLAYERS = 8,
    SIM_KEYS = 2,
    SIM_MEMBERS = 6,
    SIM_COMMANDS_MAX = 3,
    SIM_TAG_SIZE = 200,
    SIM_META_MAX = 900,
    SIM_REQUEST_MAX = 2048,
};

typedef enum sim_op_kind {
    SIM_SUBMIT,
    SIM_DEFINE,
    SIM_PROFILE,
    SIM_BAN,
    SIM_UNBAN,
    SIM_REMOVE,
    SIM_FRIEND,
    SIM_UNFRIEND,
    SIM_KEYS_CHANGE, /* ZADD, ZINCRBY, ZREM, or several of them in MULTI */
    SIM_TOP,
    SIM_PLAYER,
    SIM_FRIENDS, /* a player among friends */
    SIM_TEAMS,
    SIM_ZTOP,
    SIM_ZSCORE,
    SIM_ZCARD,
    SIM_SNAPSHOT,
    SIM_DOWNLOAD, /* the newest snapshot, for a node that joins */
    SIM_REVOKE,
    SIM_PROBE, /* what must be refused, whatever the state */
} sim_op_kind;

typedef struct sim_command {
    char verb; /* 'A' ZADD, 'I' ZINCRBY, 'R' ZREM */
    uint8_t key, count, members[2];
    int32_t scores[2];
} sim_command;

typedef struct sim_op {
    uint32_t number;
    sim_op_kind kind;
    uint8_t client, board, player, other, country, window, style, around, limit, offset, probe;
    bool is_delta, has_country, is_multi, is_resp, is_follow;
    int32_t value;
    uint32_t meta;                      /* bytes of it, so that the log has more than a few */
    char id[24];                        /* of a submission; empty: none */
    char window_id[RUNG_WINDOW_ID_MAX]; /* of a question; empty: the current one */
    uint64_t min_seq;
    bool is_latest; /* nothing older than what any node has acknowledged */
    uint32_t command_count;
    sim_command commands[SIM_COMMANDS_MAX];
    char tag[SIM_TAG_SIZE]; /* empty: it makes no event */
    uint64_t hash;          /* of the tag */
    uint32_t sent;          /* how often */
    uint32_t denied;        /* of these: answered "not taken", so without an event */
    uint32_t found;         /* the judge's: its events in the log */
    uint32_t key_number;    /* which API key it was sent with, when it was last sent */
    bool is_acked, is_given_up;
} sim_op;

extern const char *const sim_board_names[SIM_BOARDS];
extern const char *const sim_windows[SIM_WINDOWS];  /* "all", "hour", "day", a season */
extern const uint8_t sim_board_windows[SIM_BOARDS]; /* how many of them, from the first */

void sim_player_name(uint32_t player, char out[8]);
void sim_member_name(uint32_t member, char out[8]);
void sim_key_name(uint32_t key, char out[8]);
const char *sim_country(uint32_t country);

bool sim_op_is_change(const sim_op *op);
void sim_op_set_tag(sim_op *op);
/* Of an event; empty for those that a server makes by itself (ticks, its settings). */
void sim_event_tag(const rung_event *e, char out[SIM_TAG_SIZE]);
uint64_t sim_tag_hash(const char *tag);

/* A line for people. */
void sim_op_describe(const sim_op *op, char *out, size_t size);

/* The request over HTTP; as one line of a batch; over the Redis protocol. `key`: the API key's text, or empty. Returns
 * the length. */
size_t sim_op_http(const sim_op *op, const char *key, char *out, size_t size);
size_t sim_op_line(const sim_op *op, char *out, size_t size);
size_t sim_op_resp(const sim_op *op, char *out, size_t size);
/* Replies of the Redis protocol that it takes. */
uint32_t sim_op_replies(const sim_op *op);

#endif
