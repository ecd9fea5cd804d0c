/* SPDX-License-Identifier: Apache-2.0 */
/* guard.h - may this request do that? One answer for every front: HTTP, live and RESP.
 *
 *     rung_who who;
 *     rung_verdict v = rung_guard_check(guard, rung_guard_bearer(header), RUNG_ROLE_SERVER, board, player, now_ms,
 *                                       &who, &err);
 *     if (v != RUNG_GUARD_OK) ... answer (int)v with err.message
 *
 * or in two steps, for who stays (a RESP connection, a viewer, a batch over many boards): rung_guard_know() once, then
 * rung_guard_may() for everything asked. `may` looks the key up again whenever the table has changed, so a key that is
 * revoked stops working at the next command, not at the next connection.
 *
 * The rules:
 *   1. A role may do what the lesser ones may: read < server < admin. RUNG_ROLE_NONE is asked of nobody.
 *   2. A key limited to boards may touch those. What concerns no board (players, bans, the whole server) it may only
 *      read.
 *   3. A player's token may only read, and only what names its own player; "me" is that player.
 *   4. Where there has never been a key, the guard is open: who shows none is an admin. A server listens on loopback
 *      only then (rung_guard_is_open). A key that is shown and not known is refused even so.
 *   5. Unknown id and wrong secret cannot be told apart, neither by the answer nor by its time.
 *   6. Boards of the configuration's `public_boards` may be read by who shows no key: what concerns one of them, and
 *      nothing that concerns no board. So may everybody whose key or token is good: showing one never gives less than
 *      showing none. What tells about people rather than scores needs a key all the same (rung_guard_may_keyed).
 *
 * Threads: all calls from the loop's thread. */
#ifndef RUNG_GUARD_GUARD_H
#define RUNG_GUARD_GUARD_H

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slice.h"
#include "base/status.h"
#include "guard/keys.h"
#include "guard/rate.h"
#include "model/board.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rung_guard
    rung_guard; /* heap object; whoever created it calls rung_guard_destroy() */

typedef enum rung_verdict {
    RUNG_GUARD_OK = 0,
    RUNG_GUARD_UNKNOWN = 401,   /* no key where one is needed, or not a good one */
    RUNG_GUARD_FORBIDDEN = 403, /* a good key that may not do this */
    RUNG_GUARD_TOO_MANY = 429,  /* too many bad tokens from this address: none is verified now */
} rung_verdict;

/* Somebody who has been recognised. A plain value, to be kept as long as the guard lives; zero is nobody. */
typedef struct rung_who {
    rung_role role;
    uint8_t key_id_len; /* 0: no key was shown */
    char key_id[RUNG_KEY_ID_MAX];
    uint8_t player_len; /* of a token; else 0 */
    char player[RUNG_NAME_MAX];
    uint32_t key_index;  /* where the key was in the table ... */
    uint64_t generation; /* ... of this generation */
    int64_t
        created_ms; /* tells the key from another one of the same id in a file put in place of the old */
    int64_t expires_ms; /* of a token; else 0 */
} rung_who;

static inline rung_slice rung_who_player(const rung_who *who) {
    return (rung_slice){who->player, who->player_len};
}
static inline rung_slice rung_who_key(const rung_who *who) {
    return (rung_slice){who->key_id, who->key_id_len};
}

/* Zero is a good default for every field but alloc. */
typedef struct rung_guard_config {
    const rung_alloc *alloc;
    const char *path;          /* of the keys file; NULL: there are no keys. Copied */
    const char *public_boards; /* patterns with commas between; NULL or empty: none. Copied */
    rung_hash_key hash_key;    /* secret, for the tables of rate limits */
    rung_rate_limit per_key;   /* of keys that have no rate of their own */
    rung_rate_limit
        per_player; /* of each player's token, and of submissions for one player, each by itself */
    rung_rate_limit per_peer;   /* of one address without a key */
    rung_rate_limit per_forger; /* tokens from one address verified in vain; 0: 100 in 10 seconds */
    uint32_t rate_capacity;     /* buckets in all; 0: 65,536 */
    uint32_t token_capacity;    /* verified tokens remembered; 0: 4,096 */
} rung_guard_config;

/* Reads the keys. A file that is not there is no keys; one that is damaged or readable by others than its owner (or
 * group) is refused: RUNG_ECORRUPT, RUNG_EVERSION, RUNG_EIO, RUNG_ENOMEM, ... with the path in the message.
 * RUNG_EINVAL: not a list of patterns. */
RUNG_NODISCARD rung_status rung_guard_create(const rung_guard_config *config,
                                             rung_guard **guard_out, rung_err *err);
void rung_guard_destroy(rung_guard *g);

/* Read the keys again if the file is another than the one last read (a stat; call it twice a second), or in any case
 * with `force` (SIGHUP). RUNG_OK: new keys are in force; RUNG_UNCHANGED; negative: the file is gone, damaged or cannot
 * be read, and the keys stay as they were: say so (once: the same failure again is RUNG_UNCHANGED unless forced). */
RUNG_NODISCARD rung_status rung_guard_reload(rung_guard *g, bool force, rung_err *err);

/* Of the keys in force. Whoever keeps what `may` said asks again when it differs. */
uint64_t rung_guard_generation(const rung_guard *g);
/* There has never been a key: everybody may do everything. */
bool rung_guard_is_open(const rung_guard *g);
/* The table in force; until the next reload. */
const rung_keys *rung_guard_keys(const rung_guard *g);
/* Where they are kept, for who changes them (keys_file.h) and then calls reload; NULL: nowhere. */
const char *rung_guard_path(const rung_guard *g);

/* ---- who and what ---- */

/* The credentials in the value of an Authorization header: the text behind "Bearer ". Empty when there is none; a
 * header of another scheme comes back whole, and is then refused as an unknown key. */
rung_slice rung_guard_bearer(rung_slice header);

/* Recognise a key's text or a player's token. Nothing presented (len 0) is nobody, and fine: `may` refuses what nobody
 * may do. RUNG_GUARD_OK, or RUNG_GUARD_UNKNOWN with `err` for the sender; *who is nobody then. A key costs a SHA-256
 * (half a microsecond), a token that has been seen before the same, a new one its signature (100 microseconds for
 * EdDSA). Only good signatures are free: `peer`, the address it comes from, has per_forger of the others, and when they
 * are used up no new token from there is looked at for a while: RUNG_GUARD_TOO_MANY. */
rung_verdict rung_guard_know(rung_guard *g, rung_slice presented, rung_slice peer, int64_t now_ms,
                             rung_who *who, rung_err *err);
/* Does it look like a token, for which know() wants the address? */
bool rung_guard_is_token(rung_slice presented);

/* "Boards will be asked for one by one": a batch, a list of boards. Then the role alone is looked at. */
#define RUNG_BOARDS_EACH RUNG_SLICE("")

/* May `who` do something that asks for the role `need`, on this board (ptr NULL: it concerns none), about this player
 * (ptr NULL: about none in particular)? */
rung_verdict rung_guard_may(rung_guard *g, rung_who *who, rung_role need, rung_slice board,
                            rung_slice player, int64_t now_ms, rung_err *err);

/* The same for what a public board does not show to everybody: who follows whom. */
rung_verdict rung_guard_may_keyed(rung_guard *g, rung_who *who, rung_role need, rung_slice board,
                                  rung_slice player, int64_t now_ms, rung_err *err);

/* Both in one, from no address in particular. */
rung_verdict rung_guard_check(rung_guard *g, rung_slice presented, rung_role need, rung_slice board,
                              rung_slice player, int64_t now_ms, rung_who *who, rung_err *err);

/* The player meant by `player` in a request of `who`: their own when it is "me" and they are a token's; else itself. */
rung_slice rung_who_resolve(const rung_who *who, rung_slice player);

/* Which boards `who` sees, for an answer that is made once for all who see the same: the patterns of its key, each with
 * a newline behind it, in `out`. ptr NULL: all boards. Public ones are seen by everybody and not named. */
#define RUNG_SIGHT_MAX (RUNG_KEY_PATTERNS_MAX * (RUNG_NAME_MAX + 1))
rung_slice rung_guard_sight(rung_guard *g, rung_who *who, char out[RUNG_SIGHT_MAX]);
bool rung_guard_sees(const rung_guard *g, rung_slice sight, rung_slice board);

/* ---- how often ---- */

/* One number for one who asks, as the buckets tell them apart: a key, a token's player, else the address. */
uint64_t rung_guard_identity(const rung_guard *g, const rung_who *who, rung_slice peer);

/* Take `cost` requests from who asks: from the player's bucket for a token, the key's for a key, the address's for
 * nobody. false: too many (429). The answer is all 0 when there is no limit. */
bool rung_guard_take(rung_guard *g, const rung_who *who, rung_slice peer, uint32_t cost,
                     int64_t now_ms, rung_rate_answer *answer_out);
/* Whose share of a room a request counts against (base/fair.h): the player's for a token, the key's for a key, the
 * address's for nobody. 1 .. RUNG_FAIR_SHARES - 1; nobody can choose whom to share one with. */
uint32_t rung_guard_share(const rung_guard *g, const rung_who *who, rung_slice peer);
/* One submission for `player`, whoever sends it. */
bool rung_guard_take_player(rung_guard *g, rung_slice player, int64_t now_ms,
                            rung_rate_answer *answer_out);

typedef struct rung_guard_stats {
    uint64_t verified;   /* signatures of tokens looked at */
    uint64_t forged;     /* of those, in vain */
    uint64_t unverified; /* tokens turned away without a look, for their address */
} rung_guard_stats;
rung_guard_stats rung_guard_stat(const rung_guard *g);

#endif
