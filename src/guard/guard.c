/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - the keys in force, the tokens seen, the buckets; and the one place where a request is allowed.
 *
 * Invariants:
 *   1. `keys` is never NULL, and only goes from a table to one that was read whole: a file that is gone or damaged
 *      changes nothing, so nothing opens by accident.
 *   2. A remembered token is used only in the generation that verified it.
 *   3. Every allowance passes through decide(). */
#include "guard/guard.h"

#include "base/assert.h"
#include "base/fair.h"
#include "guard/jwt.h"
#include "guard/keys_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

enum { RATE_CAPACITY = 65536, TOKEN_CAPACITY = 4096 };

/* An address that sends nothing but forgeries costs 10 signatures a second, about a thousandth of a core. */
static const rung_rate_limit FORGER_LIMIT = {100, 10000};

/* A token that was verified: its SHA-256 stands for it, so that a second look costs a hash and not a signature. */
typedef struct seen_token {
    uint8_t digest[32];
    uint64_t generation; /* 0: empty */
    int64_t expires_ms;
    uint32_t key_index;
    uint8_t player_len;
    char player[RUNG_NAME_MAX];
} seen_token;

struct rung_guard {
    rung_guard_config config;
    char *path; /* NULL: no file */
    size_t path_size;
    char *public_text; /* what the patterns point into; NULL: there are none */
    size_t public_size;
    rung_slice public_boards[RUNG_KEY_PATTERNS_MAX];
    uint32_t public_count;
    rung_keys *keys;
    uint64_t generation;   /* of the keys, from 1 */
    rung_keys_stamp stamp; /* of the file last looked at, good or bad */
    rung_status failure;   /* of the last look; RUNG_OK: none */
    int spare; /* a descriptor kept for reading the file, whatever becomes of the others; -1: none */
    rung_rate *rate;
    seen_token
        *tokens; /* made when the first token comes; NULL before, and where there is no memory */
    uint32_t token_count;
    rung_guard_stats stats;
    EVP_MD *sha256;
};

/* ---- life ---- */

static void spare_open(rung_guard *g) {
    g->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void spare_close(rung_guard *g) {
    if (g->spare >= 0)
        close(g->spare);
    g->spare = -1;
}

static rung_status read_first(rung_guard *g, rung_err *err) {
    rung_status st = RUNG_NOT_FOUND;
    if (g->path)
        st = rung_keys_file_read(g->config.alloc, g->path, &g->keys, &g->stamp, err);
    if (st == RUNG_NOT_FOUND)
        st = rung_keys_create(g->config.alloc, (rung_slice){NULL, 0}, &g->keys, err);
    return st;
}

static rung_status read_public(rung_guard *g, const char *list, rung_err *err) {
    g->public_size = strlen(list) + 1;
    g->public_text = rung_alloc_get(g->config.alloc, g->public_size);
    if (!g->public_text)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the guard");
    memcpy(g->public_text, list, g->public_size);
    for (const char *at = g->public_text;; at++) {
        at += strspn(at, " ");
        size_t whole = strcspn(at, ","), len = whole;
        while (len && at[len - 1] == ' ')
            len--;
        rung_slice pattern = rung_slice_of(at, len);
        if (!rung_name_is_valid(pattern) || g->public_count == RUNG_KEY_PATTERNS_MAX)
            return RUNG_FAIL(err, RUNG_EINVAL,
                             "public: expected up to %d boards or patterns with commas between",
                             RUNG_KEY_PATTERNS_MAX);
        g->public_boards[g->public_count++] = pattern;
        at += whole;
        if (*at == '\0')
            return RUNG_OK;
    }
}

static rung_status fill_in(rung_guard *g, const rung_guard_config *config, rung_err *err) {
    uint32_t capacity = config->rate_capacity ? config->rate_capacity : RATE_CAPACITY;
    g->token_count = config->token_capacity ? config->token_capacity : TOKEN_CAPACITY;
    if (config->path) {
        g->path_size = strlen(config->path) + 1;
        g->path = rung_alloc_get(config->alloc, g->path_size);
        if (!g->path)
            return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the guard");
        memcpy(g->path, config->path, g->path_size);
    }
    g->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!g->sha256 || rung_rate_create(config->alloc, capacity, config->hash_key, &g->rate) < 0)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the guard");
    if (config->public_boards && *config->public_boards) {
        rung_status st = read_public(g, config->public_boards, err);
        if (st < 0)
            return st;
    }
    return read_first(g, err);
}

rung_status rung_guard_create(const rung_guard_config *config, rung_guard **guard_out,
                              rung_err *err) {
    rung_guard *g = rung_alloc_zeroed(config->alloc, sizeof *g);
    if (!g)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for the guard");
    g->config = *config;
    if (!g->config.per_forger.count)
        g->config.per_forger = FORGER_LIMIT;
    g->generation = 1;
    g->spare = -1;
    rung_status st = fill_in(g, config, err);
    if (g->path)
        spare_open(g);
    if (st < 0) {
        rung_guard_destroy(g);
        return st;
    }
    *guard_out = g;
    return RUNG_OK;
}

void rung_guard_destroy(rung_guard *g) {
    if (!g)
        return;
    const rung_alloc *alloc = g->config.alloc;
    spare_close(g);
    rung_keys_destroy(g->keys);
    rung_rate_destroy(g->rate);
    EVP_MD_free(g->sha256);
    rung_alloc_free(alloc, g->tokens, g->token_count * sizeof(seen_token));
    rung_alloc_free(alloc, g->path, g->path_size);
    rung_alloc_free(alloc, g->public_text, g->public_size);
    rung_alloc_free(alloc, g, sizeof *g);
}

static rung_status read_again(rung_guard *g, const rung_keys_stamp *stamp, rung_status st,
                              rung_err *err) {
    rung_keys *keys = NULL;
    g->stamp = *stamp;
    if (st == RUNG_OK) {
        spare_close(g);
        st = rung_keys_file_read(g->config.alloc, g->path, &keys, &g->stamp, err);
        spare_open(g);
    }
    if (st == RUNG_NOT_FOUND)
        return rung_guard_is_open(g)
                   ? RUNG_UNCHANGED
                   : RUNG_FAIL(err, RUNG_EABSENT, "%.120s: the file is gone", g->path);
    if (st < 0)
        return st;
    rung_keys_destroy(g->keys);
    g->keys = keys;
    g->generation++;
    return RUNG_OK;
}

/* A failure is tried again at every call, since it may pass (no memory, no descriptor), but told once. */
rung_status rung_guard_reload(rung_guard *g, bool force, rung_err *err) {
    rung_keys_stamp stamp;
    if (!g->path)
        return RUNG_UNCHANGED;
    rung_status st = rung_keys_file_stamp(g->path, &stamp, err);
    bool is_same = rung_keys_stamp_eq(&stamp, &g->stamp);
    if (is_same && st >= 0 && g->failure == RUNG_OK && !force)
        return RUNG_UNCHANGED;
    st = read_again(g, &stamp, st, err);
    bool is_told = st < 0 && st == g->failure && is_same && !force;
    g->failure = st < 0 ? st : RUNG_OK;
    return is_told ? RUNG_UNCHANGED : st;
}

uint64_t rung_guard_generation(const rung_guard *g) {
    return g->generation;
}

bool rung_guard_is_open(const rung_guard *g) {
    return rung_keys_count(g->keys) == 0;
}

const rung_keys *rung_guard_keys(const rung_guard *g) {
    return g->keys;
}

const char *rung_guard_path(const rung_guard *g) {
    return g->path;
}

/* ---- who ---- */

rung_slice rung_guard_bearer(rung_slice header) {
    static const char scheme[] = "bearer";
    size_t i = 0;
    while (i < header.len && i < sizeof scheme - 1 && (header.ptr[i] | 0x20) == scheme[i])
        i++;
    if (i < sizeof scheme - 1 || i == header.len || header.ptr[i] != ' ')
        return header;
    while (i < header.len && header.ptr[i] == ' ')
        i++;
    /* "Bearer " with nothing behind it is a bad key, not no key. */
    return i == header.len ? header : rung_slice_of(header.ptr + i, header.len - i);
}

static void set_nobody(const rung_guard *g, rung_who *who) {
    *who = (rung_who){.role = rung_guard_is_open(g) ? RUNG_ROLE_ADMIN : RUNG_ROLE_NONE,
                      .generation = g->generation};
}

static void set_key(const rung_guard *g, rung_who *who, const rung_key *key) {
    *who = (rung_who){
        .role = key->role,
        .key_id_len = (uint8_t)key->id.len,
        .key_index = (uint32_t)(key - rung_keys_at(g->keys, 0)),
        .generation = g->generation,
        .created_ms = key->created_ms,
    };
    memcpy(who->key_id, key->id.ptr, key->id.len);
}

static void set_player(rung_who *who, rung_slice player, int64_t expires_ms) {
    who->player_len = (uint8_t)player.len;
    memcpy(who->player, player.ptr, player.len);
    who->expires_ms = expires_ms;
}

static rung_verdict check_live(const rung_key *key, int64_t now_ms, rung_err *err) {
    if (rung_key_is_live(key, now_ms))
        return RUNG_GUARD_OK;
    RUNG_FAIL(err, RUNG_EREFUSED,
              key->revoked_ms ? "the key has been revoked" : "the key has expired");
    return RUNG_GUARD_UNKNOWN;
}

static rung_verdict know_key(rung_guard *g, rung_slice presented, int64_t now_ms, rung_who *who,
                             rung_err *err) {
    const rung_key *key = rung_keys_verify(g->keys, presented);
    if (!key) {
        RUNG_FAIL(err, RUNG_EREFUSED, "the key is not known");
        return RUNG_GUARD_UNKNOWN;
    }
    rung_verdict v = check_live(key, now_ms, err);
    if (v == RUNG_GUARD_OK)
        set_key(g, who, key);
    return v;
}

static seen_token *find_seen(rung_guard *g, const uint8_t digest[32]) {
    uint64_t place;
    if (!g->tokens)
        g->tokens = rung_alloc_zeroed(g->config.alloc, g->token_count * sizeof(seen_token));
    memcpy(&place, digest, sizeof place);
    return g->tokens ? &g->tokens[place % g->token_count] : NULL;
}

static void remember(seen_token *seen, const uint8_t digest[32], const rung_jwt *jwt,
                     const rung_guard *g) {
    *seen = (seen_token){
        .generation = g->generation,
        .expires_ms = jwt->expires_ms,
        .key_index = (uint32_t)(jwt->key - rung_keys_at(g->keys, 0)),
        .player_len = (uint8_t)jwt->player_len,
    };
    memcpy(seen->digest, digest, sizeof seen->digest);
    memcpy(seen->player, jwt->player, jwt->player_len);
}

/* Verify a token that was not seen before, and charge its address for a bad one: taken before, given back after. */
static rung_verdict verify(rung_guard *g, rung_slice token, rung_slice peer, int64_t now_ms,
                           rung_jwt *jwt, rung_err *err) {
    rung_rate_limit limit = g->config.per_forger;
    rung_rate_answer answer;
    if (!rung_rate_take(g->rate, RUNG_RATE_FORGER, peer, limit, 1, now_ms, &answer)) {
        g->stats.unverified++;
        RUNG_FAIL(err, RUNG_ELIMIT, "too many bad tokens from this address");
        return RUNG_GUARD_TOO_MANY;
    }
    rung_status st = rung_jwt_verify(g->keys, token, now_ms, jwt, err);
    g->stats.verified += jwt->is_costly;
    if (st >= 0 || !jwt->is_costly)
        rung_rate_give(g->rate, RUNG_RATE_FORGER, peer, limit, 1, now_ms);
    else
        g->stats.forged++;
    return st < 0 ? RUNG_GUARD_UNKNOWN : RUNG_GUARD_OK;
}

static rung_verdict know_token(rung_guard *g, rung_slice token, rung_slice peer, int64_t now_ms,
                               rung_who *who, rung_err *err) {
    uint8_t digest[32];
    rung_jwt jwt;
    bool has_digest = token.len <= RUNG_JWT_SIZE_MAX &&
                      EVP_Digest(token.ptr, token.len, digest, NULL, g->sha256, NULL) == 1;
    seen_token *seen = has_digest ? find_seen(g, digest) : NULL;
    if (seen && seen->generation == g->generation &&
        memcmp(seen->digest, digest, sizeof digest) == 0 && now_ms < seen->expires_ms) {
        const rung_key *key = rung_keys_at(g->keys, seen->key_index);
        rung_verdict v = check_live(key, now_ms, err);
        if (v != RUNG_GUARD_OK)
            return v;
        set_key(g, who, key);
        set_player(who, rung_slice_of(seen->player, seen->player_len), seen->expires_ms);
        return RUNG_GUARD_OK;
    }
    rung_verdict v = verify(g, token, peer, now_ms, &jwt, err);
    if (v != RUNG_GUARD_OK)
        return v;
    if (seen)
        remember(seen, digest, &jwt, g);
    set_key(g, who, jwt.key);
    set_player(who, rung_slice_of(jwt.player, jwt.player_len), jwt.expires_ms);
    return RUNG_GUARD_OK;
}

bool rung_guard_is_token(rung_slice presented) {
    bool is_key = presented.len >= 5 && memcmp(presented.ptr, "rung_", 5) == 0;
    return presented.len && !is_key && memchr(presented.ptr, '.', presented.len);
}

rung_verdict rung_guard_know(rung_guard *g, rung_slice presented, rung_slice peer, int64_t now_ms,
                             rung_who *who, rung_err *err) {
    set_nobody(g, who);
    if (presented.len == 0)
        return RUNG_GUARD_OK;
    rung_verdict v = rung_guard_is_token(presented)
                         ? know_token(g, presented, peer, now_ms, who, err)
                         : know_key(g, presented, now_ms, who, err);
    if (v != RUNG_GUARD_OK)
        *who = (rung_who){0};
    return v;
}

/* ---- what ---- */

rung_slice rung_who_resolve(const rung_who *who, rung_slice player) {
    bool is_me = who->player_len && rung_slice_eq(player, RUNG_SLICE("me"));
    return is_me ? rung_who_player(who) : player;
}

/* The key of `who` as it is now; NULL: there is none any more. Where there was no key in the first place the role
 * follows whether the guard is open. */
static const rung_key *look_again(rung_guard *g, rung_who *who) {
    if (who->generation == g->generation)
        return who->key_id_len ? rung_keys_at(g->keys, who->key_index) : NULL;
    if (who->key_id_len == 0) {
        set_nobody(g, who);
        return NULL;
    }
    const rung_key *key = rung_keys_find(g->keys, rung_who_key(who));
    if (!key || key->created_ms != who->created_ms || key->role != who->role)
        return NULL;
    who->key_index = (uint32_t)(key - rung_keys_at(g->keys, 0));
    who->generation = g->generation;
    return key;
}

/* Rule 6. A list of boards is asked for one by one. */
static bool is_public(const rung_guard *g, rung_role need, rung_slice board) {
    if (need > RUNG_ROLE_READ || !board.ptr || !g->public_count)
        return false;
    bool found = board.len == 0;
    for (uint32_t i = 0; i < g->public_count && !found; i++)
        found = rung_pattern_matches(g->public_boards[i], board);
    return found;
}

static rung_verdict forbid(rung_err *err, const char *why) {
    RUNG_FAIL(err, RUNG_EREFUSED, "%s", why);
    return RUNG_GUARD_FORBIDDEN;
}

/* The rules 1 to 3 of guard.h, for somebody with a live key. */
static rung_verdict decide(const rung_who *who, const rung_key *key, rung_role need,
                           rung_slice board, rung_slice player, rung_err *err) {
    bool has_board = board.ptr && board.len, is_each = board.ptr && !board.len;
    if (has_board && !rung_key_covers(key, board))
        return forbid(err, "the key is not for this board");
    if (who->role == RUNG_ROLE_PLAYER) {
        if (need > RUNG_ROLE_READ)
            return forbid(err, "a player's token may only read");
        if (!player.ptr || !rung_slice_eq(rung_who_resolve(who, player), rung_who_player(who)))
            return forbid(err, "a player's token may only read of its own player");
        return RUNG_GUARD_OK;
    }
    if (who->role < need)
        return forbid(err, need == RUNG_ROLE_ADMIN    ? "a key of the role admin is needed"
                           : need == RUNG_ROLE_SERVER ? "a key of the role server is needed"
                                                      : "a key of the role read is needed");
    if (!has_board && !is_each && key->pattern_count && need > RUNG_ROLE_READ)
        return forbid(err, "the key is limited to boards, and this concerns all of them");
    return RUNG_GUARD_OK;
}

/* `counts_public`: what is public may be read by everybody. */
static rung_verdict may(rung_guard *g, rung_who *who, rung_role need, rung_slice board,
                        rung_slice player, bool counts_public, int64_t now_ms, rung_err *err) {
    const rung_key *key = look_again(g, who);
    if (need == RUNG_ROLE_NONE)
        return RUNG_GUARD_OK;
    if (who->key_id_len == 0) {
        if (who->role >= need || (counts_public && is_public(g, need, board)))
            return RUNG_GUARD_OK;
        RUNG_FAIL(err, RUNG_EREFUSED, "a key is needed: Authorization: Bearer ...");
        return RUNG_GUARD_UNKNOWN;
    }
    if (!key) {
        RUNG_FAIL(err, RUNG_EREFUSED, "the key is not known");
        return RUNG_GUARD_UNKNOWN;
    }
    rung_verdict v = check_live(key, now_ms, err);
    if (v != RUNG_GUARD_OK)
        return v;
    if (who->expires_ms && now_ms >= who->expires_ms) {
        RUNG_FAIL(err, RUNG_EREFUSED, "token: it has expired");
        return RUNG_GUARD_UNKNOWN;
    }
    if (decide(who, key, need, board, player, NULL) == RUNG_GUARD_OK ||
        (counts_public && is_public(g, need, board)))
        return RUNG_GUARD_OK;
    return decide(who, key, need, board, player, err); /* once more, for the reason */
}

rung_verdict rung_guard_may(rung_guard *g, rung_who *who, rung_role need, rung_slice board,
                            rung_slice player, int64_t now_ms, rung_err *err) {
    return may(g, who, need, board, player, true, now_ms, err);
}

rung_verdict rung_guard_may_keyed(rung_guard *g, rung_who *who, rung_role need, rung_slice board,
                                  rung_slice player, int64_t now_ms, rung_err *err) {
    return may(g, who, need, board, player, false, now_ms, err);
}

rung_verdict rung_guard_check(rung_guard *g, rung_slice presented, rung_role need, rung_slice board,
                              rung_slice player, int64_t now_ms, rung_who *who, rung_err *err) {
    rung_verdict v = rung_guard_know(g, presented, RUNG_SLICE(""), now_ms, who, err);
    if (need ==
        RUNG_ROLE_NONE) /* what is for all is also for who shows a bad key: a probe must not fail by it */
        return RUNG_GUARD_OK;
    return v == RUNG_GUARD_OK ? rung_guard_may(g, who, need, board, player, now_ms, err) : v;
}

/* ---- which boards ---- */

rung_slice rung_guard_sight(rung_guard *g, rung_who *who, char out[RUNG_SIGHT_MAX]) {
    const rung_key *key = look_again(g, who);
    size_t len = 0;
    if (key ? !key->pattern_count : who->role >= RUNG_ROLE_READ && !who->key_id_len)
        return (rung_slice){NULL, 0};
    for (uint32_t i = 0; key && i < key->pattern_count; i++) {
        memcpy(out + len, key->patterns[i].ptr, key->patterns[i].len);
        len += key->patterns[i].len;
        out[len++] = '\n';
    }
    return rung_slice_of(out, len);
}

bool rung_guard_sees(const rung_guard *g, rung_slice sight, rung_slice board) {
    if (!sight.ptr || is_public(g, RUNG_ROLE_READ, board))
        return true;
    for (const char *at = sight.ptr, *end = at + sight.len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (rung_pattern_matches(rung_slice_of(at, (size_t)(stop - at)), board))
            return true;
        at = stop + 1;
    }
    return false;
}

/* ---- how often ---- */

uint64_t rung_guard_identity(const rung_guard *g, const rung_who *who, rung_slice peer) {
    rung_rate_kind kind = who->player_len   ? RUNG_RATE_TOKEN
                          : who->key_id_len ? RUNG_RATE_KEY
                                            : RUNG_RATE_PEER;
    rung_slice name = who->player_len   ? rung_who_player(who)
                      : who->key_id_len ? rung_who_key(who)
                                        : peer;
    rung_hash_key key = {g->config.hash_key.k0, g->config.hash_key.k1 ^ (uint64_t)kind};
    return rung_hash_keyed(&key, name.ptr, name.len);
}

rung_guard_stats rung_guard_stat(const rung_guard *g) {
    return g->stats;
}

bool rung_guard_take(rung_guard *g, const rung_who *who, rung_slice peer, uint32_t cost,
                     int64_t now_ms, rung_rate_answer *answer_out) {
    const rung_guard_config *c = &g->config;
    if (who->key_id_len == 0)
        return rung_rate_take(g->rate, RUNG_RATE_PEER, peer, c->per_peer, cost, now_ms, answer_out);
    if (who->player_len)
        return rung_rate_take(g->rate, RUNG_RATE_TOKEN, rung_who_player(who), c->per_player, cost,
                              now_ms, answer_out);
    rung_rate_limit limit = c->per_key;
    if (who->generation == g->generation && rung_keys_at(g->keys, who->key_index)->rate_per_s)
        limit = (rung_rate_limit){rung_keys_at(g->keys, who->key_index)->rate_per_s, 1000};
    return rung_rate_take(g->rate, RUNG_RATE_KEY, rung_who_key(who), limit, cost, now_ms,
                          answer_out);
}

uint32_t rung_guard_share(const rung_guard *g, const rung_who *who, rung_slice peer) {
    return 1 + (uint32_t)(rung_guard_identity(g, who, peer) % (RUNG_FAIR_SHARES - 1));
}

bool rung_guard_take_player(rung_guard *g, rung_slice player, int64_t now_ms,
                            rung_rate_answer *answer_out) {
    return rung_rate_take(g->rate, RUNG_RATE_PLAYER, player, g->config.per_player, 1, now_ms,
                          answer_out);
}
