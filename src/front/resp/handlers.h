/* SPDX-License-Identifier: Apache-2.0 */
/* handlers.h - the handlers of commands, by the file they are in. */
#ifndef RUNG_FRONT_RESP_HANDLERS_H
#define RUNG_FRONT_RESP_HANDLERS_H

#include "front/resp/command.h"

/* zset_read.c */
rung__resp_answer rung__resp_answer_zscore;
rung__resp_answer rung__resp_answer_zmscore;
rung__resp_answer rung__resp_answer_zrank;
rung__resp_answer rung__resp_answer_zcard;
rung__resp_answer rung__resp_answer_zcount;
rung__resp_answer rung__resp_answer_zrange;
rung__resp_answer rung__resp_answer_zrandmember;
rung__resp_answer rung__resp_answer_zscan;
rung__resp_answer rung__resp_answer_zpop_none;
rung__resp_answer rung__resp_answer_zcombine;
rung__resp_answer rung__resp_answer_zintercard;
/* Can this command, which has RUNG__BATCH, be answered together with others of its kind, of the same key and with as
 * many arguments? */
bool rung__resp_can_batch(const rung__resp_command *c, const rung_slice *argv, uint32_t argc);
/* Answer n such, argvs[0 .. n), the first of which can be. Returns how many were answered: the next one has to be
 * answered by itself. */
uint32_t rung__resp_answer_batch(rung__resp_call *call, uint32_t n, const rung_slice *const *argvs);

/* key_read.c */
rung__resp_answer rung__resp_answer_exists;
rung__resp_answer rung__resp_answer_type;
rung__resp_answer rung__resp_answer_ttl;
rung__resp_answer rung__resp_answer_keys;
rung__resp_answer rung__resp_answer_scan;
rung__resp_answer rung__resp_answer_dbsize;
rung__resp_answer rung__resp_answer_smembers;
rung__resp_answer rung__resp_answer_sismember;
rung__resp_answer rung__resp_answer_smismember;
rung__resp_answer rung__resp_answer_scard;
rung__resp_answer rung__resp_answer_sscan;

/* write.c */
rung__resp_build rung__resp_build_zadd;
rung__resp_build rung__resp_build_members; /* ZREM, SADD, SREM, DEL, UNLINK */
rung__resp_build rung__resp_build_zremrange;
rung__resp_build rung__resp_build_zpop;
rung__resp_build rung__resp_build_zmpop;
rung__resp_build rung__resp_build_bzpop;
rung__resp_build rung__resp_build_zrangestore;
rung__resp_build rung__resp_build_zstore;
rung__resp_build rung__resp_build_expire;
rung__resp_build rung__resp_build_persist;
rung__resp_build rung__resp_build_rename;
rung__resp_build rung__resp_build_flush;
rung__resp_reply rung__resp_reply_zadd;
rung__resp_reply rung__resp_reply_count;
rung__resp_reply rung__resp_reply_zpop;
rung__resp_reply rung__resp_reply_ok;
rung__resp_reply_score rung__resp_reply_score_zadd;

/* sketch_commands.c */
rung__resp_build rung__resp_build_topk_reserve;
rung__resp_build rung__resp_build_cms_init;
rung__resp_build rung__resp_build_tdigest_create;
rung__resp_build rung__resp_build_sketch_add;
rung__resp_build rung__resp_build_pfmerge;
rung__resp_reply rung__resp_reply_made;
rung__resp_reply rung__resp_reply_merged;
rung__resp_reply rung__resp_reply_sketch_add;
rung__resp_answer rung__resp_answer_topk_list;
rung__resp_answer rung__resp_answer_topk_query;
rung__resp_answer rung__resp_answer_cms_query;
rung__resp_answer rung__resp_answer_tdigest_rank;
rung__resp_answer rung__resp_answer_tdigest_quantile;
rung__resp_answer rung__resp_answer_pfcount;

/* connection.c */
rung__resp_answer rung__resp_answer_ping;
rung__resp_answer rung__resp_answer_echo;
rung__resp_answer rung__resp_answer_select;
rung__resp_answer rung__resp_answer_auth;
rung__resp_answer rung__resp_answer_hello;
rung__resp_answer rung__resp_answer_quit;
rung__resp_answer rung__resp_answer_reset;
rung__resp_answer rung__resp_answer_client;

/* transaction.c */
rung__resp_answer rung__resp_answer_multi;
rung__resp_answer rung__resp_answer_exec;
rung__resp_answer rung__resp_answer_discard;
rung__resp_answer rung__resp_answer_watch;
rung__resp_answer rung__resp_answer_unwatch;

/* server_info.c */
rung__resp_answer rung__resp_answer_info;
rung__resp_answer rung__resp_answer_config;
rung__resp_answer rung__resp_answer_command;
rung__resp_answer rung__resp_answer_time;
rung__resp_answer rung__resp_answer_role;
rung__resp_answer rung__resp_answer_lastsave;

/* rung_commands.c */
rung__resp_answer rung__resp_answer_rung_rank;
rung__resp_answer rung__resp_answer_rung_mrank;
rung__resp_answer rung__resp_answer_rung_around;
rung__resp_answer rung__resp_answer_rung_movers;
rung__resp_answer rung__resp_answer_rung_top;
rung__resp_answer rung__resp_answer_rung_friends;
rung__resp_answer rung__resp_answer_rung_percentile;
rung__resp_answer rung__resp_answer_rung_help;

/* position.c */
rung__resp_answer rung__resp_answer_rung_asof;
rung__resp_answer rung__resp_answer_rung_seq;
rung__resp_answer rung__resp_answer_rung_waitseq;
rung__resp_answer rung__resp_answer_rung_latest;
rung__resp_build rung__resp_build_submit;
rung__resp_build rung__resp_build_match;
rung__resp_reply_score rung__resp_reply_submit;
rung__resp_reply_score rung__resp_reply_match;

/* The command as it is, about movers, answered by a helper: argv[2] is how long before. */
void rung__resp_ask_since(rung__resp_call *call);

#endif
