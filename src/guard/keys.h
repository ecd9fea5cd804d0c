/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - who may do what: the table of keys, as it is in the file `keys` and as the guard looks things up in it.
 *
 * A key is shown once as text, `rung_<role>_<id>_<secret>`; the table has only the SHA-256 of that text. A plain fast
 * hash is right here: the secret has 256 bits of chance in it, so there is nothing to guess, and a slow password hash
 * would only make every request slow. Keys of the role `player-token` are no secrets of ours to compare: they verify
 * tokens (JWT) that somebody else signs for players.
 *
 * A table never changes once made: adding and revoking make a new one from the old. So it can be read without locks,
 * and exchanged between two requests. It holds the bytes of its own file (docs/formats/keys.md), and making one from
 * those bytes is the only way to make one: what was written can be read.
 *
 *     rung_keys_create(alloc, bytes_of_the_file, &keys, &err);
 *     const rung_key *key = rung_keys_find(keys, id);
 *
 * No clock, chance or file here: they come as arguments. Any thread. */
#ifndef RUNG_GUARD_KEYS_H
#define RUNG_GUARD_KEYS_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_KEYS_MAX       4096 /* keys in one table, revoked ones too; one more: RUNG_ELIMIT */
#define RUNG_KEYS_BYTES_MAX ((size_t)4 << 20)

#define RUNG_KEY_ID_SIZE      12  /* characters of an id we gave: 60 bits */
#define RUNG_KEY_ID_MAX       64  /* of an id chosen by others: the `kid` of a player-token key */
#define RUNG_KEY_TEXT_MAX     96  /* room for the text of any key, with its NUL */
#define RUNG_KEY_LABEL_MAX    128 /* bytes; also of an issuer and an audience */
#define RUNG_KEY_PATTERNS_MAX 16
#define RUNG_KEY_SECRET_MIN   32 /* bytes of an HS256 secret (RFC 7518, 3.2) */
#define RUNG_KEY_SECRET_MAX   128
#define RUNG_KEY_CHANCE_SIZE                                                                       \
    40 /* bytes of chance a new key needs: 8 for its id, 32 for its secret */

/* Each may do what the ones before it may, except that a player's token reads of its own player only. */
typedef enum rung_role {
    RUNG_ROLE_NONE = 0,   /* nobody in particular */
    RUNG_ROLE_PLAYER = 1, /* a player's token; as a key: the key that verifies such tokens */
    RUNG_ROLE_READ = 2,
    RUNG_ROLE_SERVER = 3, /* submits scores, keeps players */
    RUNG_ROLE_ADMIN = 4,
} rung_role;

/* "none", "player-token", "read", "server", "admin"; never NULL. */
const char *rung_role_name(rung_role role);
/* false: no such role. */
bool rung_role_parse(rung_slice name, rung_role *role_out);

typedef enum rung_token_alg {
    RUNG_ALG_NONE = 0, /* not a player-token key */
    RUNG_ALG_EDDSA = 1,
    RUNG_ALG_HS256 = 2,
} rung_token_alg;

/* One key. Texts borrow: from the table, or from who fills one in to be added. Times are Unix
 * milliseconds, 0 = never. */
typedef struct rung_key {
    rung_role role;
    rung_slice id;
    rung_slice label;
    rung_slice patterns[RUNG_KEY_PATTERNS_MAX]; /* boards it may touch; none: all */
    uint32_t pattern_count;
    uint32_t rate_per_s; /* requests a second; 0: as the server's configuration says */
    int64_t created_ms, expires_ms, revoked_ms;
    uint8_t hash[32]; /* SHA-256 of the key's text; not for player-token */

    /* for player-token: */
    rung_token_alg alg;
    rung_slice verify;           /* EdDSA: 32 bytes of public key; HS256: the secret */
    rung_slice issuer, audience; /* empty: not asked for */
    uint32_t life_max_s;         /* a token may expire at most so far in the future; 0: a day */
} rung_key;

/* Is it neither revoked nor expired? */
bool rung_key_is_live(const rung_key *key, int64_t now_ms);
/* May it touch this board? */
bool rung_key_covers(const rung_key *key, rung_slice board);

/* `*` stands for any characters or none, `?` for one; everything else for itself. UTF-8: `?` is a character, not a
 * byte. O(pattern * text), nothing exponential. */
bool rung_pattern_matches(rung_slice pattern, rung_slice text);

typedef struct rung_keys rung_keys; /* heap object; whoever made it calls rung_keys_destroy() */

/* The table that these bytes of a file say; no bytes at all are an empty table. Copies. RUNG_ECORRUPT naming the line,
 * RUNG_EVERSION, RUNG_ELIMIT, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_keys_create(const rung_alloc *alloc, rung_slice bytes,
                                            rung_keys **keys_out, rung_err *err);
void rung_keys_destroy(rung_keys *keys); /* wipes it first; NULL is fine */

/* A new table with one key more; the old one stays as it is. RUNG_EINVAL naming the field, RUNG_EEXIST (the id),
 * RUNG_ELIMIT, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_keys_add(const rung_keys *keys, const rung_key *key,
                                         rung_keys **keys_out, rung_err *err);
/* A new table in which `id` is revoked since `now_ms`. RUNG_EABSENT; RUNG_UNCHANGED when it was so already: there is
 * no new table then. */
RUNG_NODISCARD rung_status rung_keys_revoke(const rung_keys *keys, rung_slice id, int64_t now_ms,
                                            rung_keys **keys_out, rung_err *err);

size_t rung_keys_count(const rung_keys *keys); /* revoked ones too */
const rung_key *rung_keys_at(const rung_keys *keys,
                             size_t index); /* in order of creation; lives with the table */
const rung_key *rung_keys_find(const rung_keys *keys, rung_slice id); /* NULL: none. O(log n) */
/* The file to write. Lives with the table. */
rung_slice rung_keys_bytes(const rung_keys *keys);

/* Make the id, the text and the hash of a new key from fresh chance. `key` needs its role (not player-token) before;
 * its id points into `text_out` afterwards. `text_out` is the only place the secret will ever be in: wipe it. */
RUNG_NODISCARD rung_status rung_key_mint(rung_key *key, const uint8_t chance[RUNG_KEY_CHANCE_SIZE],
                                         char text_out[RUNG_KEY_TEXT_MAX], rung_err *err);

/* The key whose text was presented, in the same time and with the same answer whether the id is unknown or the secret
 * wrong: NULL. It may be revoked or expired: the caller looks. */
const rung_key *rung_keys_verify(const rung_keys *keys, rung_slice presented);

#endif
