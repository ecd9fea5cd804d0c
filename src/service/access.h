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
 *     if (rung_access_allow(access, &who, &need, now_ms, NULL) == RUNG_ACCESS_OK)     // for every step
 *
 * A long-lived client (a RESP connection, a viewer, a batch over many boards) is identified once, and
 * rung_access_allow() is called for each step. It looks the key up again if the table has changed, so a revoked key
 * stops working at the next step, not at the next connection.
 *
 * The rules:
 *   1. A role includes the lower ones: read < server < admin.
 *   2. A key limited to boards may use only those. What concerns no board (players, bans, the server) it may only read.
 *   3. A player's token may only read, and only about its own player; "me" is that player. It may also submit what its
 *      player has signed (service/sessions.h).
 *   4. As long as there has never been a key, access is open: a client without a key is an admin. The server then
 *      listens on loopback only (rung_access_is_open). An unknown key is refused even then.
 *   5. An unknown id and a wrong secret give the same answer in the same time.
 *   6. Boards in `public_boards` may be read without a key, and with any valid key or token: presenting one never gives
 *      less than presenting none. Information about people needs a key even there (rung_need.is_keyed).
 *   7. The rates are charged first, the address's before the client's own: bad keys are charged to the bucket of their
 *      address.
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
#include "model/event.h"

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

/* An identified client. A plain value, valid as long as the access lives; zero is nobody. */
typedef struct rung_who {
    rung_role role;
    uint8_t key_id_len; /* 0: no key was shown */
    char key_id[RUNG_KEY_ID_MAX];
    uint8_t player_len; /* of a token; else 0 */
    char player[RUNG_NAME_MAX];
    uint64_t peer;       /* a number for its address */
    uint32_t key_index;  /* where the key was in the table ... */
    uint64_t generation; /* ... of this generation */
    int64_t created_ms;  /* of the key: a replaced file may have another key with this id */
    int64_t expires_ms;  /* of a token; else 0 */
} rung_who;

static inline rung_slice rung_who_player(const rung_who *who) {
    return (rung_slice){who->player, who->player_len};
}
static inline rung_slice rung_who_key(const rung_who *who) {
    return (rung_slice){who->key_id, who->key_id_len};
}

/* The actor of the audit trail. Texts borrow; `reason` may be empty. */
static inline rung_actor rung_who_actor(const rung_who *who, rung_slice address,
                                        rung_slice reason) {
    return (rung_actor){rung_who_key(who), rung_who_player(who), address, reason};
}

/* Zero is a good default, except for alloc. */
typedef struct rung_access_config {
    const rung_alloc *alloc;
    const rung_fs *fs;          /* where the keys file is; NULL: the operating system's files */
    const char *path;           /* of the keys file; NULL: there are no keys. Copied */
    const char *public_boards;  /* patterns with commas between; NULL or empty: none. Copied */
    rung_hash_key hash_key;     /* secret, for the tables of rate limits */
    rung_rate_limit per_key;    /* of keys that have no rate of their own */
    rung_rate_limit per_player; /* of each player's token; and of submissions for one player */
    rung_rate_limit per_peer;   /* of one address without a key */
    /* Of one address, with or without a key: requests, and submissions. A key with a rate of its own is not counted. */
    rung_rate_limit per_address, per_address_submissions;
    int64_t signature_window_ms; /* of new sessions; 0: five minutes */
    rung_rate_limit per_forger; /* tokens from one address verified in vain; 0: 100 in 10 seconds */
    uint32_t rate_capacity;     /* buckets in all; 0: 65,536 */
    uint32_t token_capacity;    /* verified tokens remembered; 0: 4,096 */
    /* The time, where the callers' stands still (a server of the past): keys expire nevertheless. NULL: the callers' */
    int64_t (*now_ms)(void);
} rung_access_config;

/* Reads the keys. A file that is not there is no keys; one that is damaged or readable by others than its owner (or
 * group) is refused: RUNG_ECORRUPT, RUNG_EVERSION, RUNG_EIO, RUNG_ENOMEM, ... with the path in the message.
 * RUNG_EINVAL: not a list of patterns. */
RUNG_NODISCARD rung_status rung_access_create(const rung_access_config *config,
                                              rung_access **access_out, rung_err *err);
void rung_access_destroy(rung_access *a);

/* ---- the keys in force ---- */

/* Read the keys again if the file has changed (one stat; call it twice a second), or in any case with `force` (SIGHUP).
 * RUNG_OK: new keys are in force; RUNG_UNCHANGED; negative: the file is gone, damaged or unreadable, and the old keys
 * stay in force. A repeated failure is RUNG_UNCHANGED unless forced. */
RUNG_NODISCARD rung_status rung_access_reload(rung_access *a, bool force, rung_err *err);
/* A reload found a new key, or one that is revoked since. The key is valid during the call. */
typedef void rung_access_key_changed(void *ctx, const rung_key *key, bool is_revoked);
/* Call it from now on; NULL: nobody. */
void rung_access_watch(rung_access *a, rung_access_key_changed *changed, void *ctx);
/* Changes with the keys in force. Whoever caches a permission must ask again then. */
uint64_t rung_access_generation(const rung_access *a);
/* There has never been a key: everybody may do everything. */
bool rung_access_is_open(const rung_access *a);
/* The table in force; until the next reload. */
const rung_keys *rung_access_keys(const rung_access *a);
/* How far the time that a player signed may be from log time, in sessions that begin now. */
int64_t rung_access_signature_window(const rung_access *a);
/* The keys file, for changes by keys_file.h followed by a reload; NULL: none. */
const char *rung_access_path(const rung_access *a);
const rung_fs *rung_access_fs(const rung_access *a); /* as in the configuration */

/* ---- who ---- */

/* The text after "Bearer " in an Authorization header. Empty if there is no header. A header of another scheme is
 * returned unchanged, and is then refused as an unknown key. */
rung_slice rung_access_bearer(rung_slice header);

/* Recognise a key's text or a player's token; nothing presented (len 0) is nobody, and fine. RUNG_ACCESS_OK, or with
 * `answer` (may be NULL) why not; *who is nobody of that address then. A key costs a SHA-256 (half a microsecond), a
 * token that has been seen before the same, a new one its signature (100 microseconds for EdDSA). Only good signatures
 * are free: `peer`, the address it comes from, has per_forger of the others, and when they are used up no new token
 * from there is looked at for a while: RUNG_ACCESS_TOO_MANY. */
typedef struct rung_access_answer rung_access_answer;
rung_verdict rung_access_identify(rung_access *a, rung_slice presented, rung_slice peer,
                                  int64_t now_ms, rung_who *who, rung_access_answer *answer);

/* Resolves "me" to the player of a token; returns any other name unchanged. */
rung_slice rung_who_resolve(const rung_who *who, rung_slice player);

/* ---- what, and how often ---- */

/* A batch or a list of boards: each board is checked later, now only the role is. */
#define RUNG_BOARDS_EACH RUNG_SLICE("")

/* The permission that a step needs. Zero: none. */
typedef struct rung_need {
    rung_role role;
    bool is_keyed;     /* needs a key even if the board is public: who follows whom */
    rung_slice board;  /* ptr NULL: none */
    rung_slice player; /* ptr NULL: none in particular */
    uint32_t cost; /* requests to charge to the address, and to the token's player, else the key */
    /* A submission that is signed, or may be: a player's token passes, and whoever asked verifies the signature
     * (service/sessions.h). */
    bool is_signed;
} rung_need;

/* The details of a verdict. */
struct rung_access_answer {
    rung_verdict verdict;
    rung_rate_answer rate; /* of the bucket charged; all 0: no charge, or no limit */
    bool is_for_address;   /* when there were too many: of the address, whoever sent it */
    rung_err err;          /* set if the verdict is not RUNG_ACCESS_OK */
};

/* May `who` do it, now? `answer` may be NULL if it costs nothing. */
rung_verdict rung_access_allow(rung_access *a, rung_who *who, const rung_need *need, int64_t now_ms,
                               rung_access_answer *answer);
/* Identify and allow, for a single request. */
rung_verdict rung_access_enter(rung_access *a, rung_slice presented, rung_slice peer,
                               const rung_need *need, int64_t now_ms, rung_who *who,
                               rung_access_answer *answer);
/* Is it an admin's key? A cheap first check; does not look at tokens. */
bool rung_access_is_admin(rung_access *a, rung_slice presented, int64_t now_ms);

/* Charge one submission to `player`'s rate, and to that of the sender's address (`who` NULL: it has none):
 * RUNG_ACCESS_OK or RUNG_ACCESS_TOO_MANY. */
rung_verdict rung_access_admit(rung_access *a, const rung_who *who, rung_slice player,
                               int64_t now_ms, rung_access_answer *answer);

/* ---- which boards ---- */

/* The boards that `who` may see, as a key for cached answers: the patterns of its key, each followed by a newline, in
 * `out`. ptr NULL: all boards. Public boards are not listed. */
#define RUNG_SIGHT_MAX (RUNG_KEY_PATTERNS_MAX * (RUNG_NAME_MAX + 1))
rung_slice rung_access_sight(rung_access *a, rung_who *who, char out[RUNG_SIGHT_MAX]);
bool rung_access_sees(const rung_access *a, rung_slice sight, rung_slice board);

/* ---- whose ---- */

/* A number for the client, as rate limits distinguish them: the token's player, else the key, else the address. */
uint64_t rung_access_identity(const rung_access *a, const rung_who *who);
/* The client's share of a resource (base/fair.h), from that number: 1 .. RUNG_FAIR_SHARES - 1. Not predictable. */
uint32_t rung_access_share(const rung_access *a, const rung_who *who);

typedef struct rung_access_stats {
    uint64_t verified;   /* token signatures checked */
    uint64_t forged;     /* of those, bad ones */
    uint64_t unverified; /* tokens refused unchecked because of their address */
} rung_access_stats;
rung_access_stats rung_access_stat(const rung_access *a);

#endif
