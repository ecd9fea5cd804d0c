/* SPDX-License-Identifier: Apache-2.0 */
/* access.h - who may do what, and how often: one call for each use case, whatever the protocol.
 *
 *     rung_who who;                                   // identified once: per request, or per connection
 *     rung_access_answer answer;
 *     rung_need need = {.role = RUNG_ROLE_SERVER, .board = board, .cost = 1};
 *     if (rung_access_enter(access, rung_access_bearer(header), peer, &need, now_ms, &who, &answer) != RUNG_ACCESS_OK)
 *         ... answer.err.message, and answer.rate.retry_s when there were too many
 *     ...
 *     need = (rung_need){.role = RUNG_ROLE_READ, .board = other};
 *     if (rung_access_allow(access, &who, &need, now_ms, NULL) == RUNG_ACCESS_OK)     // as often as it lasts
 *
 * Whoever stays (a RESP connection, a viewer, a batch over many boards) is identified once and asks
 * rung_access_allow() for each step. That looks the key up again whenever the table has changed, so a key that is
 * revoked stops working at the next step, not at the next connection.
 *
 * The rules:
 *   1. A role may do what the lesser ones may: read < server < admin. RUNG_ROLE_NONE is asked of nobody.
 *   2. A key limited to boards may touch those. What concerns no board (players, bans, the whole server) it may only
 *      read.
 *   3. A player's token may only read, and only what names its own player; "me" is that player.
 *   4. Where there has never been a key, access is open: who shows none is an admin. A server listens on loopback
 *      only then (rung_access_is_open). A key that is shown and not known is refused even so.
 *   5. Unknown id and wrong secret cannot be told apart, neither by the answer nor by its time.
 *   6. Boards of the configuration's `public_boards` may be read by who shows no key: what concerns one of them, and
 *      nothing that concerns no board. So may everybody whose key or token is good: showing one never gives less than
 *      showing none. What tells about people rather than scores needs a key all the same (rung_need.is_keyed).
 *   7. The rate comes first: who shows bad keys pays for them from the bucket of their address.
 *
 * Threads: all calls from the loop's thread. */
#ifndef RUNG_SERVICE_ACCESS_H
#define RUNG_SERVICE_ACCESS_H

#include "base/alloc.h"
#include "base/hash.h"
#include "base/slice.h"
#include "base/status.h"
#include "guard/keys.h"
#include "guard/rate.h"
#include "journal/file.h"
#include "model/board.h"

#include <stdbool.h>
#include <stdint.h>

/* heap object; whoever created it calls rung_access_destroy() */
typedef struct rung_access rung_access;

typedef enum rung_verdict {
    RUNG_ACCESS_OK = 0,
    RUNG_ACCESS_UNKNOWN,   /* no key where one is needed, or an invalid one */
    RUNG_ACCESS_FORBIDDEN, /* a valid key without this permission */
    RUNG_ACCESS_TOO_MANY,  /* rate used up, or too many invalid tokens from this address */
} rung_verdict;

/* Somebody who has been identified. A plain value, to be kept as long as the access lives; zero is nobody. */
typedef struct rung_who {
    rung_role role;
    uint8_t key_id_len; /* 0: no key was shown */
    char key_id[RUNG_KEY_ID_MAX];
    uint8_t player_len; /* of a token; else 0 */
    char player[RUNG_NAME_MAX];
    uint64_t peer;       /* stands for the address it came from */
    uint32_t key_index;  /* where the key was in the table ... */
    uint64_t generation; /* ... of this generation */
    int64_t
        created_ms; /* tells the key from one of the same id in a file put in place of the old */
    int64_t expires_ms; /* of a token; else 0 */
} rung_who;

static inline rung_slice rung_who_player(const rung_who *who) {
    return (rung_slice){who->player, who->player_len};
}
static inline rung_slice rung_who_key(const rung_who *who) {
    return (rung_slice){who->key_id, who->key_id_len};
}

/* Zero is a good default for every field but alloc. */
typedef struct rung_access_config {
    const rung_alloc *alloc;
    const rung_fs *fs;          /* where the keys file is; NULL: the operating system's files */
    const char *path;           /* of the keys file; NULL: there are no keys. Copied */
    const char *public_boards;  /* patterns with commas between; NULL or empty: none. Copied */
    rung_hash_key hash_key;     /* secret, for the tables of rate limits */
    rung_rate_limit per_key;    /* of keys that have no rate of their own */
    rung_rate_limit per_player; /* of each player's token; and of submissions for one player */
    rung_rate_limit per_peer;   /* of one address without a key */
    rung_rate_limit per_forger; /* tokens from one address verified in vain; 0: 100 in 10 seconds */
    uint32_t rate_capacity;     /* buckets in all; 0: 65,536 */
    uint32_t token_capacity;    /* verified tokens remembered; 0: 4,096 */
} rung_access_config;

/* Reads the keys. A file that is not there is no keys; one that is damaged or readable by others than its owner (or
 * group) is refused: RUNG_ECORRUPT, RUNG_EVERSION, RUNG_EIO, RUNG_ENOMEM, ... with the path in the message.
 * RUNG_EINVAL: not a list of patterns. */
RUNG_NODISCARD rung_status rung_access_create(const rung_access_config *config,
                                              rung_access **access_out, rung_err *err);
void rung_access_destroy(rung_access *a);

/* ---- the keys in force ---- */

/* Read the keys again if the file is another than the one last read (a stat; call it twice a second), or in any case
 * with `force` (SIGHUP). RUNG_OK: new keys are in force; RUNG_UNCHANGED; negative: the file is gone, damaged or cannot
 * be read, and the keys stay as they were: say so (once: the same failure again is RUNG_UNCHANGED unless forced). */
RUNG_NODISCARD rung_status rung_access_reload(rung_access *a, bool force, rung_err *err);
/* Of the keys in force. Whoever keeps what was allowed asks again when it differs. */
uint64_t rung_access_generation(const rung_access *a);
/* There has never been a key: everybody may do everything. */
bool rung_access_is_open(const rung_access *a);
/* The table in force; until the next reload. */
const rung_keys *rung_access_keys(const rung_access *a);
/* Where they are kept, for who changes them (keys_file.h) and then calls reload; NULL: nowhere. */
const char *rung_access_path(const rung_access *a);
const rung_fs *rung_access_fs(const rung_access *a); /* as in the configuration */

/* ---- who ---- */

/* The credentials in the value of an Authorization header: the text behind "Bearer ". Empty when there is none; a
 * header of another scheme comes back whole, and is then refused as an unknown key. */
rung_slice rung_access_bearer(rung_slice header);

/* Recognise a key's text or a player's token; nothing presented (len 0) is nobody, and fine. RUNG_ACCESS_OK, or with
 * `answer` (may be NULL) why not; *who is nobody of that address then. A key costs a SHA-256 (half a microsecond), a
 * token that has been seen before the same, a new one its signature (100 microseconds for EdDSA). Only good signatures
 * are free: `peer`, the address it comes from, has per_forger of the others, and when they are used up no new token
 * from there is looked at for a while: RUNG_ACCESS_TOO_MANY. */
typedef struct rung_access_answer rung_access_answer;
rung_verdict rung_access_identify(rung_access *a, rung_slice presented, rung_slice peer,
                                  int64_t now_ms, rung_who *who, rung_access_answer *answer);

/* The player meant by `player` in a request of `who`: their own when it is "me" and they are a token's; else itself. */
rung_slice rung_who_resolve(const rung_who *who, rung_slice player);

/* ---- what, and how often ---- */

/* "Boards will be asked for one by one": a batch, a list of boards. Then the role alone is looked at. */
#define RUNG_BOARDS_EACH RUNG_SLICE("")

/* What one step of a use case asks for. Zero is nothing, which everybody may. */
typedef struct rung_need {
    rung_role role;
    bool is_keyed;     /* that a board is public does not suffice: who follows whom */
    rung_slice board;  /* ptr NULL: it concerns none */
    rung_slice player; /* ptr NULL: about none in particular */
    uint32_t
        cost; /* requests, from the player's bucket for a token, the key's for a key, else the address's */
} rung_need;

/* The other half of a verdict. */
struct rung_access_answer {
    rung_verdict verdict;
    rung_rate_answer
        rate;     /* of the bucket that paid, or refused; all 0: nothing was to pay, or no limit */
    rung_err err; /* set when the verdict is not RUNG_ACCESS_OK */
};

/* May `who` do it, now? `answer` may be NULL if it costs nothing. */
rung_verdict rung_access_allow(rung_access *a, rung_who *who, const rung_need *need, int64_t now_ms,
                               rung_access_answer *answer);
/* Both in one, for who comes with a single request. */
rung_verdict rung_access_enter(rung_access *a, rung_slice presented, rung_slice peer,
                               const rung_need *need, int64_t now_ms, rung_who *who,
                               rung_access_answer *answer);
/* Is it an admin's key? For who must decide that cheaply, before anything else: tokens are not looked at. */
bool rung_access_is_admin(rung_access *a, rung_slice presented, int64_t now_ms);

/* One submission for `player`, whoever sends it: RUNG_ACCESS_OK or RUNG_ACCESS_TOO_MANY. */
rung_verdict rung_access_admit(rung_access *a, rung_slice player, int64_t now_ms,
                               rung_access_answer *answer);

/* ---- which boards ---- */

/* Which boards `who` sees, for an answer that is made once for all who see the same: the patterns of its key, each with
 * a newline behind it, in `out`. ptr NULL: all boards. Public ones are seen by everybody and not named. */
#define RUNG_SIGHT_MAX (RUNG_KEY_PATTERNS_MAX * (RUNG_NAME_MAX + 1))
rung_slice rung_access_sight(rung_access *a, rung_who *who, char out[RUNG_SIGHT_MAX]);
bool rung_access_sees(const rung_access *a, rung_slice sight, rung_slice board);

/* ---- whose ---- */

/* One number for one who asks, as the buckets tell them apart: a key, a token's player, else the address. */
uint64_t rung_access_identity(const rung_access *a, const rung_who *who);
/* Whose share of a room a request counts against (base/fair.h), by that number: 1 .. RUNG_FAIR_SHARES - 1; nobody can
 * choose whom to share one with. */
uint32_t rung_access_share(const rung_access *a, const rung_who *who);

typedef struct rung_access_stats {
    uint64_t verified;   /* signatures of tokens looked at */
    uint64_t forged;     /* of those, in vain */
    uint64_t unverified; /* tokens turned away without a look, for their address */
} rung_access_stats;
rung_access_stats rung_access_stat(const rung_access *a);

#endif
