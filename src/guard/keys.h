/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - who may do what: the table of keys, as stored in the file `keys` and as the guard looks keys up.
 *
 * A key is shown once, as the text `rung_<role>_<id>_<secret>`. The table stores only the SHA-256 of that text. A
 * fast hash is right here: the secret has 256 random bits, so it cannot be guessed, and a slow password hash would
 * only slow down every request. Keys with the role `player-token` are different: they verify tokens (JWT) that
 * somebody else signs for players.
 *
 * A table is immutable: adding and revoking create a new table from the old one. So readers need no locks, and the
 * server can swap tables between two requests. A table holds the bytes of its own file (docs/formats/keys.md), and
 * parsing such bytes is the only way to create one: whatever was written can be read.
 *
 *     rung_keys_create(alloc, bytes_of_the_file, &keys, &err);
 *     const rung_key *key = rung_keys_find(keys, id);
 *
 * Takes time and randomness as arguments and touches no files. Any thread. */
#ifndef RUNG_GUARD_KEYS_H
#define RUNG_GUARD_KEYS_H

#include "base/alloc.h"
#include "base/slice.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define RUNG_KEYS_MAX       4096 /* keys in one table, including revoked ones; beyond: RUNG_ELIMIT */
#define RUNG_KEYS_BYTES_MAX ((size_t)4 << 20)

#define RUNG_KEY_ID_SIZE      12  /* characters of an id that we assign: 60 bits */
#define RUNG_KEY_ID_MAX       64  /* of an id that others choose: the `kid` of a player-token key */
#define RUNG_KEY_TEXT_MAX     96  /* room for the text of any key, with its NUL */
#define RUNG_KEY_LABEL_MAX    128 /* bytes; also of an issuer and an audience */
#define RUNG_KEY_PATTERNS_MAX 16
#define RUNG_KEY_SECRET_MIN   32 /* bytes of an HS256 secret (RFC 7518, 3.2) */
#define RUNG_KEY_SECRET_MAX   128
/* Random bytes that a new key needs: 8 for its id, 32 for its secret. */
#define RUNG_KEY_CHANCE_SIZE 40

/* Each role may do what the roles before it may, except that a player's token reads only its own player's data. */
typedef enum rung_role {
    RUNG_ROLE_NONE = 0,   /* anonymous */
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
    RUNG_ALG_SESSION =
        3, /* verifies no tokens: the secrets of players' sessions are derived from it */
} rung_token_alg;
const char *rung_alg_name(rung_token_alg alg); /* "EdDSA", "HS256" or "session" */

/* One key. Texts borrow from the table, or from the caller that adds the key. Times are Unix milliseconds, 0 = never.
 */
typedef struct rung_key {
    rung_role role;
    rung_slice id;
    rung_slice label;
    rung_slice patterns[RUNG_KEY_PATTERNS_MAX]; /* boards it may access; none: all */
    uint32_t pattern_count;
    uint32_t rate_per_s; /* requests per second; 0: the server's default */
    int64_t created_ms, expires_ms, revoked_ms;
    uint8_t hash[32]; /* SHA-256 of the key's text; not for player-token */

    /* for player-token: */
    rung_token_alg alg;
    rung_slice verify;           /* EdDSA: 32 bytes of public key; HS256, session: the secret */
    rung_slice issuer, audience; /* empty: not checked */
    uint32_t life_max_s;         /* the longest lifetime of a token; 0: one day */
} rung_key;

/* Neither revoked nor expired? */
bool rung_key_is_live(const rung_key *key, int64_t now_ms);
/* May it access this board? */
bool rung_key_covers(const rung_key *key, rung_slice board);

/* `*` matches any sequence of characters, `?` one character (not byte) of UTF-8, everything else itself. O(pattern *
 * text), never exponential. */
bool rung_pattern_matches(rung_slice pattern, rung_slice text);

typedef struct rung_keys rung_keys; /* heap object; release it with rung_keys_destroy() */

/* Create a table from the bytes of a file; no bytes give an empty table. Copies them. RUNG_ECORRUPT names the line;
 * RUNG_EVERSION, RUNG_ELIMIT, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_keys_create(const rung_alloc *alloc, rung_slice bytes,
                                            rung_keys **keys_out, rung_err *err);
void rung_keys_destroy(rung_keys *keys); /* wipes it first; accepts NULL */

/* A new table with one more key; the old one is unchanged. RUNG_EINVAL names the field; RUNG_EEXIST: the id is taken;
 * RUNG_ELIMIT, RUNG_ENOMEM. */
RUNG_NODISCARD rung_status rung_keys_add(const rung_keys *keys, const rung_key *key,
                                         rung_keys **keys_out, rung_err *err);
/* A new table in which `id` is revoked as of `now_ms`. RUNG_EABSENT; RUNG_UNCHANGED: it was revoked already, and no
 * new table is made. */
RUNG_NODISCARD rung_status rung_keys_revoke(const rung_keys *keys, rung_slice id, int64_t now_ms,
                                            rung_keys **keys_out, rung_err *err);

size_t rung_keys_count(const rung_keys *keys); /* including revoked ones */
/* In order of creation; lives with the table. */
const rung_key *rung_keys_at(const rung_keys *keys, size_t index);
const rung_key *rung_keys_find(const rung_keys *keys, rung_slice id); /* NULL: none. O(log n) */
/* The bytes of the file. Live with the table. */
rung_slice rung_keys_bytes(const rung_keys *keys);

/* Make the id, text and hash of a new key from random bytes. The caller sets key->role (not player-token) first;
 * key->id then points into `text_out`. `text_out` is the only copy of the secret: wipe it after use. */
RUNG_NODISCARD rung_status rung_key_mint(rung_key *key, const uint8_t chance[RUNG_KEY_CHANCE_SIZE],
                                         char text_out[RUNG_KEY_TEXT_MAX], rung_err *err);

/* The key that belongs to a presented text, or NULL. Unknown ids and wrong secrets take the same time. The key may be
 * revoked or expired: the caller checks that. */
const rung_key *rung_keys_verify(const rung_keys *keys, rung_slice presented);

#endif
