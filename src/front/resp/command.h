/* SPDX-License-Identifier: Apache-2.0 */
/* command.h - a row of the command table: how a command is called, who may call it, what handles it.
 *
 * A command is one of three kinds. A question has `answer`, which reads the state. A command about the connection or
 * the server has `answer`, too, and RUNG__NOW. A change has `build`, which turns arguments into an event of the log,
 * and `reply`, called when the event took effect. Handlers write to call->out and nothing else. */
#ifndef RUNG_FRONT_RESP_COMMAND_H
#define RUNG_FRONT_RESP_COMMAND_H

#include "base/slice.h"
#include "guard/keys.h"
#include "model/event.h"
#include "state/keyspace/keys.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung__resp_call rung__resp_call;

enum {
    /* what it does */
    RUNG__WRITE = 1 << 0,
    RUNG__READ = 1 << 1,
    RUNG__NOW = 1 << 2,   /* answered at once, whatever is in flight */
    RUNG__ALONE = 1 << 3, /* waits until nothing of the connection is in flight */
    RUNG__BLOCKS = 1 << 4,
    RUNG__ON_BOARD =
        1 << 14, /* alone if its board does not exist: its definition may be in flight */
    /* where it may be */
    RUNG__NO_AUTH = 1 << 5,  /* also before AUTH */
    RUNG__NO_MULTI = 1 << 6, /* not in a transaction */
    RUNG__IN_MULTI = 1 << 7, /* executed in a transaction, not queued */
    /* for COMMAND */
    RUNG__FAST = 1 << 8,
    RUNG__ADMIN = 1 << 9,
    RUNG__MOVABLE = 1 << 10, /* its keys are counted by argument `count_arg` and follow it */
    RUNG__DENYOOM = 1 << 11,
    RUNG__EXEC = 1 << 12,
    RUNG__REMOVES = 1 << 13, /* only an admin may do it to a board with its own rules */
    RUNG__HEAVY = 1 << 15,   /* may take long: not two in one turn of the loop */
    RUNG__KEYED = 1 << 16,   /* needs a key even for a public board */
    RUNG__PAST = 1 << 18,    /* alone if it names a window: the archive may have to answer */
    RUNG__SIGNED = 1 << 19,  /* a player may do it, signed: its `build` sees to that */
    RUNG__BATCH = 1 << 17,   /* may be answered in a batch (handlers.h) */
};

typedef enum rung__resp_change_kind {
    RUNG__CHANGE_KEYS,  /* a command on keys */
    RUNG__CHANGE_SCORE, /* a score of one member */
    RUNG__CHANGE_MATCH, /* r->event is a match */
    RUNG__CHANGE_NONE,  /* nothing to change after all: `answer` it */
} rung__resp_change_kind;

/* What `build` makes. */
typedef struct rung__resp_change {
    rung__resp_change_kind kind; /* CHANGE_KEYS when `build` is called */
    rung_score_event *score;     /* to fill in; NULL: in a transaction, which has none */
    rung_zcommand keys;
} rung__resp_change;

typedef void rung__resp_answer(rung__resp_call *call);
/* false: an error has been written. */
typedef bool rung__resp_build(rung__resp_call *call, rung__resp_change *out);
typedef void rung__resp_reply(rung__resp_call *call, const rung_zkey_result *result);
/* The same for a score of one member. `outcome` and `err` are the hub's. */
typedef void rung__resp_reply_score(rung__resp_call *call, rung_slice key, rung_status st,
                                    const rung_outcome *outcome, const rung_err *err);

typedef struct rung__resp_command {
    const char *name; /* lower case */
    int arity;        /* with the name; negative: at least */
    uint32_t flags;
    int8_t first_key, last_key, key_step; /* as COMMAND tells them; 0: none */
    int8_t count_arg;                     /* the argument that counts the keys; 0: none */
    int8_t player_arg; /* the argument that is the one player it asks about; 0: none */
    rung_role role;
    rung__resp_answer *answer;
    rung__resp_build *build;
    rung__resp_reply *reply;
    rung__resp_reply_score *reply_score;
    const char *group, *since, *summary;
    const char *const *subcommands; /* NULL at the end; NULL: it has none */
    /* Which of the commands that share a handler it is. */
    bool is_incr;           /* adds to the score */
    bool is_rev;            /* from the highest score down */
    bool is_max;            /* pops the highest score */
    bool is_ms;             /* times in milliseconds, not seconds */
    bool is_absolute;       /* times since 1970, not from now on */
    bool is_if_new;         /* only if the new name is free */
    bool has_order_options; /* BYSCORE, BYLEX and REV are options, not part of the name */
    rung_range_by by;
    rung_combine_keys combine;
    rung_zcommand_kind kind;
    rung_sketch_kind sketch; /* of a command on sketches */
    bool is_by_share;        /* CMS.INITBYPROB */
    bool is_listing;         /* TOPK.*: about the top of a counts board */
} rung__resp_command;

/* Commands by the hash of their names: index + 1; 0: free. */
enum { RUNG__COMMAND_SLOTS = 512 };
typedef struct rung__resp_command_index {
    uint8_t slots[RUNG__COMMAND_SLOTS];
} rung__resp_command_index;

void rung__resp_commands_index(rung__resp_command_index *index);
/* The command of that name, in any case; NULL. */
const rung__resp_command *rung__resp_command_find(const rung__resp_command_index *index,
                                                  rung_slice name);
uint32_t rung__resp_command_count(void);
const rung__resp_command *rung__resp_command_at(uint32_t i);
/* Is it a command of Redis that Rung does not have? */
bool rung__resp_command_is_foreign(rung_slice name);
/* Do so many arguments, with the name, fit? */
static inline bool rung__resp_command_takes(const rung__resp_command *c, uint32_t argc) {
    return c->arity > 0 ? argc == (uint32_t)c->arity : argc >= (uint32_t)-c->arity;
}

/* The i-th key of a command whose arity was checked; false: there are no more. */
bool rung__resp_command_key(const rung__resp_command *c, const rung_slice *argv, uint32_t argc,
                            uint32_t i, rung_slice *key_out);

#endif
