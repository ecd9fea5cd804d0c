/* SPDX-License-Identifier: Apache-2.0 */
/* internal.h - what the files of front/resp share.
 *
 * A command is one of three: asked of the state (answer), asked of the connection or the server (answer, RUNG__NOW),
 * or a change (build a rung_zcommand, and reply when it took effect). `answer` and `reply` write to call->out and
 * nothing else. */
#ifndef RUNG_FRONT_RESP_INTERNAL_H
#define RUNG_FRONT_RESP_INTERNAL_H

#include "base/fair.h"
#include "base/hash.h"
#include "codec/resp_parser.h"
#include "codec/resp_writer.h"
#include "front/resp/resp.h"
#include "state/keyspace/keys.h"

typedef struct rung__resp_session rung__resp_session;
typedef struct rung__resp_command rung__resp_command;
typedef struct rung__resp_blocked rung__resp_blocked;
typedef struct rung__resp_waited rung__resp_waited;

#define RUNG__REDIS_VERSION "7.0.15" /* the one whose ways we have */

/* ---- one command being worked on ---- */

/* What the command before found out that holds for this one, too, since its name, its key and the number of its
 * arguments are the same, and neither the time, the state nor the keys in force change between the two. */
typedef struct rung__resp_before {
    bool is_allowed;                /* for its key alone */
    struct rung__resp_request *run; /* the run that it joined, which may be full; NULL: none */
    const rung_board_def *def;      /* of its board; NULL: it did not look */
} rung__resp_before;

typedef struct rung__resp_call {
    rung_resp *r;
    rung__resp_session *s;
    const rung__resp_command *command;
    const rung_slice *argv;
    uint32_t argc;
    rung_resp_writer *out;
    const rung_state *state;
    int64_t now_ms;
    uint32_t style;     /* what `build` wants `reply` to know */
    int64_t timeout_ms; /* of a command that blocks; 0: for ever */
    bool is_inside;     /* between the changes of one event: the state has no position of its own */
    bool is_continued;  /* another piece of the same reply */
    bool may_spill;     /* what is written goes to the connection as it is */
    uint64_t work;      /* that the change which is being built will take */
    uint64_t *spent;    /* work of the script or transaction so far; NULL: a command by itself */
    rung__resp_before before;
} rung__resp_call;

typedef enum rung__resp_built {
    RUNG__BUILD_ERROR, /* an error has been written */
    RUNG__BUILD_CHANGE,
    RUNG__BUILD_QUESTION, /* nothing to change after all: `answer` it */
    RUNG__BUILD_OTHER,    /* of `score`: it is more than a score, `build` has words for it */
} rung__resp_built;

enum {
    /* what it does */
    RUNG__WRITE = 1 << 0,
    RUNG__READ = 1 << 1,
    RUNG__NOW = 1 << 2,   /* answered when it is read, whatever is under way */
    RUNG__ALONE = 1 << 3, /* waits until nothing of the connection is under way */
    RUNG__BLOCKS = 1 << 4,
    RUNG__ON_BOARD = 1 << 14, /* alone where its board is not there: it may be on its way */
    /* where it may be */
    RUNG__NO_AUTH = 1 << 5,  /* also before AUTH */
    RUNG__NO_MULTI = 1 << 6, /* not in a transaction */
    RUNG__IN_MULTI = 1 << 7, /* worked off in a transaction, not queued */
    /* for COMMAND */
    RUNG__FAST = 1 << 8,
    RUNG__ADMIN = 1 << 9,
    RUNG__MOVABLE = 1 << 10, /* its keys are counted by an argument, which `first_key` is behind */
    RUNG__DENYOOM = 1 << 11,
    RUNG__EXEC = 1 << 12,
    RUNG__HEAVY = 1 << 15,   /* may take long: not two in one turn */
    RUNG__REMOVES = 1 << 13, /* of a board with rules of its own only an admin may do it */
    RUNG__KEYED = 1 << 16,   /* that a board is public does not suffice */
};

struct rung__resp_command {
    const char *name; /* lower case */
    int arity;        /* with the name; negative: at least */
    uint32_t flags;
    int8_t first_key, last_key, key_step; /* as COMMAND tells them; 0: none */
    int8_t count_arg;  /* with RUNG__MOVABLE: which argument counts the keys that follow it */
    int8_t player_arg; /* the argument that is the one player it asks about; 0: none */
    rung_role role;
    void (*answer)(rung__resp_call *call);
    rung__resp_built (*build)(rung__resp_call *call, rung_zcommand *out);
    rung__resp_built (*score)(rung__resp_call *call, rung_score_event *out); /* tried first */
    void (*reply)(rung__resp_call *call, const rung_zkey_result *result);
    const char *group, *since, *summary;
    const char *const *subcommands; /* NULL at the end; NULL: it has none */
    /* Which of the commands that share a handler it is. */
    bool is_rev;            /* from the highest score down */
    bool is_max;            /* pops the highest score */
    bool is_ms;             /* times in milliseconds, not seconds */
    bool is_absolute;       /* times since 1970, not from now on */
    bool is_if_new;         /* only if the new name is free */
    bool has_order_options; /* BYSCORE, BYLEX and REV are options, not part of the name */
    rung_range_by by;
    rung_combine_keys combine;
    rung_zcommand_kind kind;
};

/* The command of that name, in any case; NULL. */
const rung__resp_command *rung__resp_command_find(const rung_resp *r, rung_slice name);
void rung__resp_commands_index(rung_resp *r); /* once */
uint32_t rung__resp_command_count(void);
const rung__resp_command *rung__resp_command_at(uint32_t i);
/* Does Redis have a command of that name which Rung has not? */
bool rung__resp_command_is_foreign(rung_slice name);

/* The i-th key of a command with checked arity; false: there are no more. */
bool rung__resp_command_key(const rung__resp_command *c, const rung_slice *argv, uint32_t argc,
                            uint32_t i, rung_slice *key_out);

/* ---- handlers, by file ---- */

/* zset_read.c */
void rung__resp_answer_zscore(rung__resp_call *call);
void rung__resp_answer_zmscore(rung__resp_call *call);
void rung__resp_answer_zrank(rung__resp_call *call);
void rung__resp_answer_zcard(rung__resp_call *call);
void rung__resp_answer_zcount(rung__resp_call *call);
void rung__resp_answer_zlexcount(rung__resp_call *call);
void rung__resp_answer_zrange(rung__resp_call *call);
void rung__resp_answer_zrandmember(rung__resp_call *call);
void rung__resp_answer_zscan(rung__resp_call *call);
void rung__resp_answer_zpop_none(rung__resp_call *call);
void rung__resp_answer_zcombine(rung__resp_call *call);
void rung__resp_answer_zintercard(rung__resp_call *call);
/* Can this command be asked together with others of its kind, of the same key and with as many arguments? */
bool rung__resp_can_batch(const rung__resp_command *c, const rung_slice *argv, uint32_t argc);
/* Answer n such, argvs[0 .. n), the first of which can be. Returns how many were answered: fewer where one of them has
 * to be asked by itself. */
uint32_t rung__resp_answer_batch(rung__resp_call *call, uint32_t n, const rung_slice *const *argvs);

/* key_read.c */
void rung__resp_answer_exists(rung__resp_call *call);
void rung__resp_answer_type(rung__resp_call *call);
void rung__resp_answer_ttl(rung__resp_call *call);
void rung__resp_answer_keys(rung__resp_call *call);
void rung__resp_answer_scan(rung__resp_call *call);
void rung__resp_answer_dbsize(rung__resp_call *call);
uint64_t rung__resp_count_keys(const rung__resp_call *call); /* those that may be seen */
void rung__resp_answer_smembers(rung__resp_call *call);
void rung__resp_answer_sismember(rung__resp_call *call);
void rung__resp_answer_smismember(rung__resp_call *call);
void rung__resp_answer_scard(rung__resp_call *call);
void rung__resp_answer_sscan(rung__resp_call *call);

/* write.c */
rung__resp_built rung__resp_build_zadd(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_zincrby(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_score_zadd(rung__resp_call *call, rung_score_event *out);
rung__resp_built rung__resp_score_zincrby(rung__resp_call *call, rung_score_event *out);
rung__resp_built rung__resp_build_members(rung__resp_call *call,
                                          rung_zcommand *out); /* ZREM, SADD, SREM, DEL, UNLINK */
rung__resp_built rung__resp_build_zremrange(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_zpop(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_zmpop(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_bzpop(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_zrangestore(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_zstore(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_expire(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_persist(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_rename(rung__resp_call *call, rung_zcommand *out);
rung__resp_built rung__resp_build_flush(rung__resp_call *call, rung_zcommand *out);
void rung__resp_reply_zadd(rung__resp_call *call, const rung_zkey_result *result);
void rung__resp_reply_count(rung__resp_call *call, const rung_zkey_result *result);
void rung__resp_reply_zpop(rung__resp_call *call, const rung_zkey_result *result);
void rung__resp_reply_ok(rung__resp_call *call, const rung_zkey_result *result);

/* What a ZADD or ZINCRBY of one member answers that went as a score event. */
void rung__resp_reply_score(rung__resp_call *call, rung_slice key, rung_status st,
                            const rung_outcome *outcome, const rung_err *err);
enum { RUNG__STYLE_INCR = 1, RUNG__STYLE_CH = 2 };                         /* ZADD */
enum { RUNG__STYLE_BRIEF = 1 };                                            /* RUNG.SUBMIT */
enum { RUNG__POP_COUNTED = 1, RUNG__POP_KEYED = 2, RUNG__POP_NESTED = 4 }; /* pops */

/* connection.c */
void rung__resp_answer_ping(rung__resp_call *call);
void rung__resp_answer_echo(rung__resp_call *call);
void rung__resp_answer_select(rung__resp_call *call);
void rung__resp_answer_auth(rung__resp_call *call);
void rung__resp_answer_hello(rung__resp_call *call);
void rung__resp_answer_quit(rung__resp_call *call);
void rung__resp_answer_reset(rung__resp_call *call);
void rung__resp_answer_client(rung__resp_call *call);
void rung__resp_answer_multi(rung__resp_call *call);
void rung__resp_answer_discard(rung__resp_call *call);
void rung__resp_answer_watch(rung__resp_call *call);
void rung__resp_answer_unwatch(rung__resp_call *call);

/* server_info.c */
void rung__resp_answer_info(rung__resp_call *call);
void rung__resp_answer_config(rung__resp_call *call);
void rung__resp_answer_command(rung__resp_call *call);
void rung__resp_answer_time(rung__resp_call *call);
void rung__resp_answer_role(rung__resp_call *call);
void rung__resp_answer_lastsave(rung__resp_call *call);

/* rung_commands.c */
void rung__resp_answer_rung_rank(rung__resp_call *call);
void rung__resp_answer_rung_mrank(rung__resp_call *call);
void rung__resp_answer_rung_around(rung__resp_call *call);
void rung__resp_answer_rung_top(rung__resp_call *call);
void rung__resp_answer_rung_friends(rung__resp_call *call);
void rung__resp_answer_rung_percentile(rung__resp_call *call);
void rung__resp_answer_rung_help(rung__resp_call *call);
rung__resp_built rung__resp_score_submit(rung__resp_call *call, rung_score_event *out);
void rung__resp_reply_submit(rung__resp_call *call, rung_slice key, rung_status st,
                             const rung_outcome *outcome, const rung_err *err);

/* ---- replies in Redis's words ---- */

void rung__resp_error(rung__resp_call *call,
                      const char *text); /* with its code: "ERR syntax error" */
void rung__resp_error_of(rung__resp_call *call, const char *before, rung_slice text,
                         const char *after);
void rung__resp_error_syntax(rung__resp_call *call);
void rung__resp_error_type(rung__resp_call *call);
void rung__resp_error_denied(rung__resp_call *call);
void rung__resp_error_status(rung__resp_call *call, rung_status st, const rung_err *err);
/* When the result is an error, write it. */
bool rung__resp_error_result(rung__resp_call *call, const rung_zkey_result *result);

/* Open a key as a sorted set: false when it is a set, and the error has been written. */
bool rung__resp_open_zset(rung__resp_call *call, rung_slice name, rung_zkey *out);
bool rung__resp_open_set(rung__resp_call *call, rung_slice name, rung_zkey *out);

/* Send what has gathered, so that a long reply needs no long buffer. */
void rung__resp_spill(rung__resp_call *call);

/* Before work that is not in proportion to command and reply: `work` is how many members (or names) are looked at.
 * false: it is more than one command, script or transaction may do, and the error has been written. */
bool rung__resp_afford(rung__resp_call *call, uint64_t work);
/* Such work was done, perhaps by the hub: when it was much, the rest of the line waits for the next turn. */
void rung__resp_worked(rung_resp *r, uint64_t work);
bool rung__resp_is_tired(const rung_resp *r);
/* Try again in the next turn, and in the order of coming. */
void rung__resp_unstall(rung__resp_session *s);

/* reply_cache.c: false: it has not been asked lately. After writing a reply from `mark` on, keep it; only what depends
 * on the state and on nothing else. */
bool rung__resp_cache_find(rung__resp_call *call);
void rung__resp_cache_keep(rung__resp_call *call, size_t mark);

/* ---- connections ---- */

/* Commands kept for later: in their place among the changes, or in a transaction. */
typedef struct rung__resp_script {
    char *data;
    size_t len, size;
    uint32_t count;
} rung__resp_script;

typedef struct rung__resp_watched {
    uint64_t version;
    bool is_there;
    uint8_t len;
    char name[RUNG_NAME_MAX];
} rung__resp_watched;

enum { RUNG__COMMAND_MAX = 4 << 20, RUNG__COMMAND_SLOTS = 512 };
enum { RUNG__GATHERED_MAX = 64 << 10 };
enum { RUNG__MOVED_WORDS = 64 };
enum { RUNG__BLOCKED_KEYS_MAX = 1024, RUNG__WAITS_MAX = 1 << 16 };
enum { RUNG__CLIENT_NAME_MAX = 64, RUNG__WATCHED_MAX = 1024, RUNG__QUEUED_MAX = 10000 };

struct rung__resp_session {
    rung_resp *r;
    rung_conn *conn; /* NULL: closed; the session stays until its requests are answered */
    rung__resp_session *prev, *next;
    uint64_t id;
    int64_t since_ms;
    uint64_t commands;
    rung_resp_parser parser;
    rung_who who;
    uint8_t version; /* 2 or 3 */
    uint8_t name_len;
    char name[RUNG__CLIENT_NAME_MAX];
    uint32_t share;       /* of the hub's room: whose it is */
    bool is_silent;       /* CLIENT REPLY OFF */
    bool is_stranger;     /* has not shown a key where one is needed */
    uint64_t stranger_ms; /* since when, in the loop's time */
    uint64_t begun_ms;    /* when the first byte of an unfinished command came; 0: there is none */
    size_t begun_bytes;   /* how much of it has come */
    bool is_ended;        /* the peer sends no more */
    bool is_quitting;     /* close when all is answered */
    bool is_paused;
    bool is_stalled; /* paused because the hub had no room, or the turn no time */
    rung__resp_session *prev_stalled, *next_stalled;
    uint32_t resume_at; /* paused until so few requests are under way */
    uint32_t pending;   /* requests under way */
    size_t pending_bytes;
    size_t blocked_bytes;            /* of `blocked` */
    struct rung__resp_request *tail; /* the last request, if more may be added to it */
    struct rung__resp_request *run;  /* changes of one member that more of their kind may join */
    /* transaction */
    bool is_multi, is_dirty /* EXECABORT */;
    rung__resp_script queue;
    uint32_t watched_count, watched_size;
    rung__resp_watched *watched;
    rung__resp_blocked *blocked; /* NULL: it does not wait */
};

typedef struct rung__resp_request {
    struct rung__resp_request *next_free;
    rung__resp_session *session;
    const rung__resp_command *command;
    uint32_t style;
    uint32_t slot;       /* which keys it may change, if is_counted */
    uint32_t tries;      /* EXEC with WATCH */
    uint64_t work;       /* that it took, or will take when it is applied */
    uint32_t run_count;  /* of a run: changes that joined it */
    uint32_t run_left;   /* of them, those not answered yet */
    bool is_told;        /* something has been replied; EXEC: a part of the change's reply */
    bool is_counted;     /* in in_flight, and in in_flight_by_key or in_flight_wide */
    rung_status failure; /* EXEC: the change could not be put */
    rung__resp_script script;
    size_t at; /* how far the script has been worked off */
    uint8_t key_len;
    char key[RUNG_NAME_MAX]; /* of a run */
} rung__resp_request;

enum {
    RUNG__IN_FLIGHT_SLOTS = 1 << 16,
    RUNG__IN_FLIGHT_WIDE = UINT32_MAX,
    RUNG__FLIGHT_NONE = UINT32_MAX - 1
};

/* A reply that was written for others (reply_cache.c). */
enum { RUNG__CACHED = 4, RUNG__CACHED_WORDS = 256, RUNG__CACHED_REPLY = 16 << 10 };
typedef struct rung__resp_cached {
    uint64_t seq; /* the state it was made of */
    uint32_t version, argc;
    char words[RUNG__CACHED_WORDS]; /* the command: each argument a length byte and its bytes */
    uint32_t reply_len;
    char reply[RUNG__CACHED_REPLY];
} rung__resp_cached;

struct rung_resp {
    rung_resp_config config;
    rung_hub *hub;
    rung_access *access;
    rung_resp_stats stats;
    uint64_t next_id;
    rung__resp_session *sessions;
    rung_resp_args args;
    rung_slice *unpacked; /* arguments of a script */
    uint32_t unpacked_size;
    rung_resp_writer out;      /* replies being written, of one session at a time */
    rung__resp_call gathering; /* whose answers gather in `out`; its session is NULL: nobody's */
    rung_hub_after after_answers;
    rung_event event;          /* being built; large */
    char *pack;                /* packed commands of the event being built */
    rung_zcommand_item *items; /* of the command being built */
    uint32_t items_size;
    rung__resp_request *free_requests;
    uint32_t free_count;
    rung__resp_cached cached[RUNG__CACHED];
    uint32_t cached_next;
    uint8_t command_slots[RUNG__COMMAND_SLOTS]; /* hash of names: index + 1 */
    uint64_t random;
    int64_t started_ms;
    uint32_t *in_flight_by_key; /* changes under way by hash of their key */
    uint32_t in_flight_wide;
    /* blocked clients, in the order they came */
    rung__resp_blocked *blocked_first, *blocked_last;
    rung__resp_waited **waited; /* the keys they wait for, by name; NULL: nobody ever has */
    rung__resp_waited *touched_first, *touched_last; /* those to look at */
    uint32_t touched_count;
    rung_hash_key waited_hash;
    rung_fair blocked_shares, wait_shares; /* whose clients, whose places in the keys' lines */
    uint64_t blocked_rights; /* the generation of the keys in force when they were last looked at */
    uv_check_t check;
    uv_timer_t timer;
    uv_idle_t idle;                                   /* while it runs the loop does not wait */
    uint32_t handles;                                 /* of the three above, not closed yet */
    rung__resp_session *stalled_first, *stalled_last; /* in the order of coming */
    uint64_t turn_work;                               /* since the loop's last turn */
    /* of the transaction being built: names that may get members of other keys, and how many */
    uint64_t moved_to[RUNG__MOVED_WORDS], moved;
};

/* Most commands wait until there is room for them. */
static inline rung_hub_sender rung__resp_sender(const rung__resp_session *s, bool is_patient) {
    return (rung_hub_sender){s->share, is_patient};
}

uint64_t rung__resp_random(rung_resp *r);

/* session.c: begin and end of writing replies of one session; answers of the hub come between turns, so there is never
 * more than one writer. */
rung__resp_call rung__resp_call_begin(rung__resp_session *s);
void rung__resp_call_end(rung__resp_call *call);
/* The same for a short answer of the hub. It is sent together with the session's next ones, when somebody else writes
 * or the hub has no more. */
rung__resp_call *rung__resp_gather_begin(rung__resp_session *s);
void rung__resp_gather_end(rung_resp *r);
static inline rung__resp_call *rung__resp_gather(rung__resp_session *s) {
    rung_resp *r = s->r;
    bool is_going_on = r->gathering.s == s && r->out.len < RUNG__GATHERED_MAX;
    return is_going_on ? &r->gathering : rung__resp_gather_begin(s);
}
/* Something of the session was answered, or it waits no longer: go on reading, or end it. */
void rung__resp_session_go_on(rung__resp_session *s);
void rung__resp_session_pause(rung__resp_session *s, uint32_t resume_at);
/* May the session run this command on these keys, now? With an error when not. */
bool rung__resp_may_run(rung__resp_call *call);
/* An EXEC that is refused ends the transaction, and says why in the words that were written from `mark` on. */
void rung__resp_exec_abort(rung__resp_call *call, size_t mark);
/* How much is read of a session at a time depends on who it is. */
void rung__resp_session_limits(rung__resp_session *s, int64_t now_ms);
/* Tell the net what the session keeps: queued commands, scripts, keys watched or waited for. */
void rung__resp_session_tell_held(const rung__resp_session *s);
void rung__resp_timer_start(rung_resp *r); /* somebody waits */
/* Something was put, perhaps after the hub was flushed in this turn: the loop shall not wait before the next flush. */
void rung__resp_keep_awake(rung_resp *r);

/* request.c */
void rung__resp_requests_free(rung_resp *r);
/* What a command takes in a script. */
size_t rung__resp_script_need(const rung_slice *argv, uint32_t argc);
/* Append one command, or bytes of a reply, to a script. false: no memory. */
bool rung__resp_script_add(rung_resp *r, rung__resp_script *script, const rung__resp_command *c,
                           const rung_slice *argv, uint32_t argc);
bool rung__resp_script_add_raw(rung_resp *r, rung__resp_script *script, rung_slice bytes);
void rung__resp_script_free(rung_resp *r, rung__resp_script *script);
/* Answer a question in its place; false: not now. */
bool rung__resp_ask_later(rung__resp_session *s, const rung__resp_command *c,
                          const rung_slice *argv, uint32_t argc);
bool rung__resp_say_later(rung__resp_session *s, rung_slice bytes);
/* Put a change. false: not now, try again later. Errors are answered. */
bool rung__resp_change(rung__resp_call *call);
/* The command before was a change that joined a run (call->before.run), and `n` like it follow, their arguments right
 * behind its own: put those that can join, too. Returns how many were; the next has to be looked at by itself. */
uint32_t rung__resp_change_alike(rung__resp_call *call, uint32_t n);
/* With keys watched, only when nothing of the session is under way. */
void rung__resp_exec(rung__resp_call *call);
void rung__resp_queue_clear(rung__resp_session *s);
void rung__resp_watch_clear(rung__resp_session *s);

/* block.c */
/* BZPOPMIN, BZPOPMAX, BZMPOP outside a transaction, when nothing of the session is under way. */
void rung__resp_block(rung__resp_call *call);
void rung__resp_unblock(rung__resp_session *s); /* the session goes, or was answered */
void rung__resp_applied(void *ctx, uint32_t count, const rung_event *const *events); /* the hub's */
void rung__resp_blocked_look(rung_resp *r); /* after it: serve those whose keys have changed */
void rung__resp_waited_free(rung_resp *r);
bool rung__resp_blocked_due(
    rung_resp *r, int64_t now_ms); /* answer those whose time is over; true: some are left */
/* Put a ZPOP for a session that blocks. */
rung_status rung__resp_pop_for(rung__resp_session *s, const rung__resp_command *c, uint32_t style,
                               rung_slice packed);
void rung__resp_pop_answered(rung__resp_session *s, bool is_told);

#endif
