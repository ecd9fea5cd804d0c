/* SPDX-License-Identifier: Apache-2.0 */
/* access.c - the keys in force, the verified tokens and the rate limits; decides whether a request is allowed.
 *
 * Invariants:
 *   1. `keys` is never NULL. Only a complete, valid file replaces it: a missing or damaged file grants nothing.
 *   2. A cached token is used only in the generation that verified it.
 *   3. Only decide() grants a key what is not public. */
#include "service/access.h"

#include "base/assert.h"
#include "base/fair.h"
#include "guard/jwt.h"
#include "guard/keys_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <unistd.h>

enum { RATE_CAPACITY = 65536, TOKEN_CAPACITY = 4096, SIGNATURE_WINDOW_MS = 300000 };

/* An address that sends only forged tokens costs 10 verifications per second, about 0.1 % of a core. */
static const rung_rate_limit FORGER_LIMIT = {100, 10000};

/* A verified token, cached by its SHA-256: using it again costs a hash instead of a signature check. */
typedef struct seen_token {
    uint8_t digest[32];
    uint64_t generation; /* 0: empty */
    int64_t expires_ms;
    uint32_t key_index;
    uint8_t player_len;
    char player[RUNG_NAME_MAX];
} seen_token;

struct rung_access {
    rung_access_config config;
    char *path; /* NULL: no file */
    size_t path_size;
    char *public_text; /* the patterns' bytes; NULL: none */
    size_t public_size;
    rung_slice public_boards[RUNG_KEY_PATTERNS_MAX];
    uint32_t public_count;
    rung_keys *keys;
    rung_access_key_changed *changed; /* NULL: nobody wants to know */
    void *changed_ctx;
    uint64_t generation;   /* of the keys, from 1 */
    rung_file_stamp stamp; /* of the file last read, valid or not */
    rung_status failure;   /* of the last read; RUNG_OK: none */
    /* Descriptors reserved for the file and its folder, for when the process has no others left; -1: none. */
    int spares[2];
    rung_rate *rate;
    seen_token *tokens; /* allocated for the first token; NULL before, and if out of memory */
    uint32_t token_count;
    rung_access_stats stats;
    EVP_MD *sha256;
};

/* ---- life ---- */

static void spares_open(rung_access *a) {
    for (int i = 0; i < 2 && !a->config.fs; i++)
        a->spares[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void spares_close(rung_access *a) {
    for (int i = 0; i < 2; i++) {
        if (a->spares[i] >= 0)
            close(a->spares[i]);
        a->spares[i] = -1;
    }
}

static rung_status read_first(rung_access *a, rung_err *err) {
    rung_status st = RUNG_NOT_FOUND;
    if (a->path)
        st = rung_keys_file_read(a->config.fs, a->config.alloc, a->path, &a->keys, &a->stamp, err);
    if (st == RUNG_NOT_FOUND)
        st = rung_keys_create(a->config.alloc, (rung_slice){NULL, 0}, &a->keys, err);
    return st;
}

static rung_status read_public(rung_access *a, const char *list, rung_err *err) {
    a->public_size = strlen(list) + 1;
    a->public_text = rung_alloc_get(a->config.alloc, a->public_size);
    if (!a->public_text)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    memcpy(a->public_text, list, a->public_size);
    for (const char *at = a->public_text;; at++) {
        at += strspn(at, " ");
        size_t whole = strcspn(at, ","), len = whole;
        while (len && at[len - 1] == ' ')
            len--;
        rung_slice pattern = rung_slice_of(at, len);
        if (!rung_name_is_valid(pattern) || a->public_count == RUNG_KEY_PATTERNS_MAX)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "public",
                                   "expected up to %d boards or patterns, separated by commas",
                                   RUNG_KEY_PATTERNS_MAX);
        a->public_boards[a->public_count++] = pattern;
        at += whole;
        if (*at == '\0')
            return RUNG_OK;
    }
}

static rung_status fill_in(rung_access *a, const rung_access_config *config, rung_err *err) {
    uint32_t capacity = config->rate_capacity ? config->rate_capacity : RATE_CAPACITY;
    a->token_count = config->token_capacity ? config->token_capacity : TOKEN_CAPACITY;
    if (config->path) {
        a->path_size = strlen(config->path) + 1;
        a->path = rung_alloc_get(config->alloc, a->path_size);
        if (!a->path)
            return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
        memcpy(a->path, config->path, a->path_size);
    }
    a->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!a->sha256 || rung_rate_create(config->alloc, capacity, config->hash_key, &a->rate) < 0)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (config->public_boards && *config->public_boards) {
        rung_status st = read_public(a, config->public_boards, err);
        if (st < 0)
            return st;
    }
    return read_first(a, err);
}

rung_status rung_access_create(const rung_access_config *config, rung_access **guard_out,
                               rung_err *err) {
    rung_access *a = rung_alloc_zeroed(config->alloc, sizeof *a);
    if (!a)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    a->config = *config;
    if (!a->config.per_forger.count)
        a->config.per_forger = FORGER_LIMIT;
    a->generation = 1;
    a->spares[0] = a->spares[1] = -1;
    rung_status st = fill_in(a, config, err);
    if (a->path)
        spares_open(a);
    if (st < 0) {
        rung_access_destroy(a);
        return st;
    }
    *guard_out = a;
    return RUNG_OK;
}

void rung_access_destroy(rung_access *a) {
    if (!a)
        return;
    const rung_alloc *alloc = a->config.alloc;
    spares_close(a);
    rung_keys_destroy(a->keys);
    rung_rate_destroy(a->rate);
    EVP_MD_free(a->sha256);
    rung_alloc_free(alloc, a->tokens, a->token_count * sizeof(seen_token));
    rung_alloc_free(alloc, a->path, a->path_size);
    rung_alloc_free(alloc, a->public_text, a->public_size);
    rung_alloc_free(alloc, a, sizeof *a);
}

void rung_access_watch(rung_access *a, rung_access_key_changed *changed, void *ctx) {
    a->changed = changed;
    a->changed_ctx = ctx;
}

/* From the keys in force to `keys`. */
static void tell_changes(const rung_access *a, const rung_keys *keys) {
    for (size_t i = 0; a->changed && i < rung_keys_count(keys); i++) {
        const rung_key *key = rung_keys_at(keys, i), *old = rung_keys_find(a->keys, key->id);
        bool is_new = !old || old->created_ms != key->created_ms;
        if (is_new)
            a->changed(a->changed_ctx, key, false);
        if (key->revoked_ms && (is_new || !old->revoked_ms))
            a->changed(a->changed_ctx, key, true);
    }
}

static rung_status read_again(rung_access *a, const rung_file_stamp *stamp, rung_status st,
                              rung_err *err) {
    rung_keys *keys = NULL;
    a->stamp = *stamp;
    if (st == RUNG_OK)
        st = rung_keys_file_read(a->config.fs, a->config.alloc, a->path, &keys, &a->stamp, err);
    if (st == RUNG_NOT_FOUND)
        return rung_access_is_open(a)
                   ? RUNG_UNCHANGED
                   : RUNG_FAIL(err, RUNG_EABSENT, "%.120s: the file is missing", a->path);
    if (st < 0)
        return st;
    tell_changes(a, keys);
    rung_keys_destroy(a->keys);
    a->keys = keys;
    a->generation++;
    return RUNG_OK;
}

/* After a failure every call reads again, since the cause may pass (no memory, no descriptors). Reports it once. */
static rung_status read_if_changed(rung_access *a, bool force, rung_err *err) {
    rung_file_stamp stamp;
    rung_status st = rung_keys_file_stamp(a->config.fs, a->path, &stamp, err);
    bool is_same = rung_keys_stamp_eq(&stamp, &a->stamp);
    if (is_same && st >= 0 && a->failure == RUNG_OK && !force)
        return RUNG_UNCHANGED;
    st = read_again(a, &stamp, st, err);
    bool is_told = st < 0 && st == a->failure && is_same && !force;
    a->failure = st < 0 ? st : RUNG_OK;
    return is_told ? RUNG_UNCHANGED : st;
}

rung_status rung_access_reload(rung_access *a, bool force, rung_err *err) {
    if (!a->path)
        return RUNG_UNCHANGED;
    spares_close(a);
    rung_status st = read_if_changed(a, force, err);
    spares_open(a);
    return st;
}

uint64_t rung_access_generation(const rung_access *a) {
    return a->generation;
}

bool rung_access_is_open(const rung_access *a) {
    return rung_keys_count(a->keys) == 0;
}

const rung_keys *rung_access_keys(const rung_access *a) {
    return a->keys;
}

int64_t rung_access_signature_window(const rung_access *a) {
    return a->config.signature_window_ms ? a->config.signature_window_ms : SIGNATURE_WINDOW_MS;
}

const char *rung_access_path(const rung_access *a) {
    return a->path;
}

const rung_fs *rung_access_fs(const rung_access *a) {
    return a->config.fs;
}

/* ---- identify ---- */

rung_slice rung_access_bearer(rung_slice header) {
    static const char scheme[] = "bearer";
    size_t i = 0;
    while (i < header.len && i < sizeof scheme - 1 && (header.ptr[i] | 0x20) == scheme[i])
        i++;
    if (i < sizeof scheme - 1 || i == header.len || header.ptr[i] != ' ')
        return header;
    while (i < header.len && header.ptr[i] == ' ')
        i++;
    /* "Bearer " without a key is an invalid key, not a missing one. */
    return i == header.len ? header : rung_slice_of(header.ptr + i, header.len - i);
}

static void set_nobody(const rung_access *a, rung_who *who) {
    *who = (rung_who){.role = rung_access_is_open(a) ? RUNG_ROLE_ADMIN : RUNG_ROLE_NONE,
                      .peer = who->peer,
                      .generation = a->generation};
}

static void set_key(const rung_access *a, rung_who *who, const rung_key *key) {
    *who = (rung_who){
        .role = key->role,
        .peer = who->peer,
        .key_id_len = (uint8_t)key->id.len,
        .key_index = (uint32_t)(key - rung_keys_at(a->keys, 0)),
        .generation = a->generation,
        .created_ms = key->created_ms,
    };
    memcpy(who->key_id, key->id.ptr, key->id.len);
}

static void set_player(rung_who *who, rung_slice player, int64_t expires_ms) {
    who->player_len = (uint8_t)player.len;
    memcpy(who->player, player.ptr, player.len);
    who->expires_ms = expires_ms;
}

static rung_verdict refuse_key(rung_err *err, const char *why) {
    RUNG_FAIL_WHY(err, RUNG_EREFUSED, RUNG_REASON_UNAUTHORIZED, "%s", why);
    return RUNG_ACCESS_UNKNOWN;
}

static rung_verdict check_live(const rung_key *key, int64_t now_ms, rung_err *err) {
    if (rung_key_is_live(key, now_ms))
        return RUNG_ACCESS_OK;
    return refuse_key(err, key->revoked_ms ? "the key has been revoked" : "the key has expired");
}

static rung_verdict identify_key(rung_access *a, rung_slice presented, int64_t now_ms,
                                 rung_who *who, rung_err *err) {
    const rung_key *key = rung_keys_verify(a->keys, presented);
    if (!key)
        return refuse_key(err, "the key is not known");
    rung_verdict v = check_live(key, now_ms, err);
    if (v == RUNG_ACCESS_OK)
        set_key(a, who, key);
    return v;
}

static seen_token *find_seen(rung_access *a, const uint8_t digest[32]) {
    uint64_t place;
    if (!a->tokens)
        a->tokens = rung_alloc_zeroed(a->config.alloc, a->token_count * sizeof(seen_token));
    memcpy(&place, digest, sizeof place);
    return a->tokens ? &a->tokens[place % a->token_count] : NULL;
}

static void remember(seen_token *seen, const uint8_t digest[32], const rung_jwt *jwt,
                     const rung_access *a) {
    *seen = (seen_token){
        .generation = a->generation,
        .expires_ms = jwt->expires_ms,
        .key_index = (uint32_t)(jwt->key - rung_keys_at(a->keys, 0)),
        .player_len = (uint8_t)jwt->player_len,
    };
    memcpy(seen->digest, digest, sizeof seen->digest);
    memcpy(seen->player, jwt->player, jwt->player_len);
}

static rung_slice peer_of(const rung_who *who) {
    return rung_slice_of((const char *)&who->peer, sizeof who->peer);
}

/* The caller has set answer->err. */
static rung_verdict refuse_rate(rung_access_answer *answer) {
    answer->verdict = RUNG_ACCESS_TOO_MANY;
    if (!answer->rate.retry_s)
        answer->rate.retry_s = 1;
    return RUNG_ACCESS_TOO_MANY;
}

/* Verify a token that is not cached. Charges the peer's address in advance and refunds it unless the token is bad. */
static rung_verdict verify(rung_access *a, rung_slice token, const rung_who *who, int64_t now_ms,
                           rung_jwt *jwt, rung_access_answer *answer) {
    rung_rate_limit limit = a->config.per_forger;
    rung_slice peer = peer_of(who);
    if (!rung_rate_take(a->rate, RUNG_RATE_FORGER, peer, limit, 1, now_ms, &answer->rate)) {
        a->stats.unverified++;
        RUNG_FAIL_WHY(&answer->err, RUNG_ELIMIT, RUNG_REASON_RATE,
                      "too many bad tokens from this address");
        return refuse_rate(answer);
    }
    rung_status st = rung_jwt_verify(a->keys, token, now_ms, jwt, &answer->err);
    a->stats.verified += jwt->is_costly;
    if (st >= 0 || !jwt->is_costly)
        rung_rate_give(a->rate, RUNG_RATE_FORGER, peer, limit, 1, now_ms);
    else
        a->stats.forged++;
    return st < 0 ? RUNG_ACCESS_UNKNOWN : RUNG_ACCESS_OK;
}

static rung_verdict identify_token(rung_access *a, rung_slice token, int64_t now_ms, rung_who *who,
                                   rung_access_answer *answer) {
    uint8_t digest[32];
    rung_jwt jwt;
    bool has_digest = token.len <= RUNG_JWT_SIZE_MAX &&
                      EVP_Digest(token.ptr, token.len, digest, NULL, a->sha256, NULL) == 1;
    seen_token *seen = has_digest ? find_seen(a, digest) : NULL;
    if (seen && seen->generation == a->generation &&
        memcmp(seen->digest, digest, sizeof digest) == 0 && now_ms < seen->expires_ms) {
        const rung_key *key = rung_keys_at(a->keys, seen->key_index);
        rung_verdict v = check_live(key, now_ms, &answer->err);
        if (v != RUNG_ACCESS_OK)
            return v;
        set_key(a, who, key);
        set_player(who, rung_slice_of(seen->player, seen->player_len), seen->expires_ms);
        return RUNG_ACCESS_OK;
    }
    rung_verdict v = verify(a, token, who, now_ms, &jwt, answer);
    if (v != RUNG_ACCESS_OK)
        return v;
    if (seen)
        remember(seen, digest, &jwt, a);
    set_key(a, who, jwt.key);
    set_player(who, rung_slice_of(jwt.player, jwt.player_len), jwt.expires_ms);
    return RUNG_ACCESS_OK;
}

static bool is_token(rung_slice presented) {
    bool is_key = presented.len >= 5 && memcmp(presented.ptr, "rung_", 5) == 0;
    return presented.len && !is_key && memchr(presented.ptr, '.', presented.len);
}

/* A peer of up to eight bytes, as connections have, is used as it is; a longer one is hashed. */
static uint64_t peer_number(const rung_access *a, rung_slice peer) {
    uint64_t number = 0;
    if (peer.len > sizeof number)
        return rung_hash_keyed(&a->config.hash_key, peer.ptr, peer.len);
    if (peer.len)
        memcpy(&number, peer.ptr, peer.len);
    return number;
}

static int64_t time_of(const rung_access *a, int64_t now_ms) {
    return a->config.now_ms ? a->config.now_ms() : now_ms;
}

rung_verdict rung_access_identify(rung_access *a, rung_slice presented, rung_slice peer,
                                  int64_t now_ms, rung_who *who, rung_access_answer *answer) {
    now_ms = time_of(a, now_ms);
    rung_access_answer own;
    rung_who found;
    if (!answer)
        answer = &own;
    answer->rate = (rung_rate_answer){0};
    who->peer = peer_number(a, peer);
    set_nobody(a, who);
    if (presented.len == 0)
        return RUNG_ACCESS_OK;
    found = *who;
    rung_verdict v = is_token(presented) ? identify_token(a, presented, now_ms, &found, answer)
                                         : identify_key(a, presented, now_ms, &found, &answer->err);
    if (v == RUNG_ACCESS_OK)
        *who = found;
    else
        *who = (rung_who){.peer = who->peer};
    return v;
}

/* ---- allow ---- */

rung_slice rung_who_resolve(const rung_who *who, rung_slice player) {
    bool is_me = who->player_len && rung_slice_eq(player, RUNG_SLICE("me"));
    return is_me ? rung_who_player(who) : player;
}

/* The current version of who's key; NULL: the key is gone. Without a key, sets the role by whether access is open. */
static const rung_key *look_again(rung_access *a, rung_who *who) {
    if (who->generation == a->generation)
        return who->key_id_len ? rung_keys_at(a->keys, who->key_index) : NULL;
    if (who->key_id_len == 0) {
        set_nobody(a, who);
        return NULL;
    }
    const rung_key *key = rung_keys_find(a->keys, rung_who_key(who));
    if (!key || key->created_ms != who->created_ms || key->role != who->role)
        return NULL;
    who->key_index = (uint32_t)(key - rung_keys_at(a->keys, 0));
    who->generation = a->generation;
    return key;
}

/* Rule 6. A list of boards checks each board. */
static bool is_public(const rung_access *a, rung_role role, rung_slice board) {
    if (role > RUNG_ROLE_READ || !board.ptr || !a->public_count)
        return false;
    bool found = board.len == 0;
    for (uint32_t i = 0; i < a->public_count && !found; i++)
        found = rung_pattern_matches(a->public_boards[i], board);
    return found;
}

static rung_verdict forbid(rung_err *err, const char *why) {
    RUNG_FAIL_WHY(err, RUNG_EREFUSED, RUNG_REASON_FORBIDDEN, "%s", why);
    return RUNG_ACCESS_FORBIDDEN;
}

/* Rules 1 to 3 of access.h, for a live key. */
static rung_verdict decide(const rung_who *who, const rung_key *key, const rung_need *need,
                           rung_err *err) {
    rung_slice board = need->board;
    bool has_board = board.ptr && board.len, is_each = board.ptr && !board.len;
    if (has_board && !rung_key_covers(key, board))
        return forbid(err, "the key is not for this board");
    if (who->role == RUNG_ROLE_PLAYER) {
        rung_slice player = need->player;
        if (need->is_signed && need->role == RUNG_ROLE_SERVER)
            return RUNG_ACCESS_OK;
        if (need->role > RUNG_ROLE_READ)
            return forbid(err, "a player's token may only read, and submit what is signed");
        if (!player.ptr || !rung_slice_eq(rung_who_resolve(who, player), rung_who_player(who)))
            return forbid(err, "a player's token may only read about its own player");
        return RUNG_ACCESS_OK;
    }
    if (who->role < need->role)
        return forbid(err, need->role == RUNG_ROLE_ADMIN    ? "needs a key with the role admin"
                           : need->role == RUNG_ROLE_SERVER ? "needs a key with the role server"
                                                            : "needs a key with the role read");
    if (!has_board && !is_each && key->pattern_count && need->role > RUNG_ROLE_READ)
        return forbid(err, "the key is limited to some boards, and this concerns all boards");
    return RUNG_ACCESS_OK;
}

static rung_verdict may(rung_access *a, rung_who *who, const rung_need *need, int64_t now_ms,
                        rung_err *err) {
    if (need->role == RUNG_ROLE_NONE && who->generation == a->generation)
        return RUNG_ACCESS_OK;
    const rung_key *key = look_again(a, who);
    if (need->role == RUNG_ROLE_NONE || (who->key_id_len == 0 && who->role >= need->role))
        return RUNG_ACCESS_OK;
    bool is_for_all = !need->is_keyed && is_public(a, need->role, need->board);
    if (who->key_id_len == 0)
        return is_for_all ? RUNG_ACCESS_OK
                          : refuse_key(err, "a key is needed: Authorization: Bearer ...");
    if (!key)
        return refuse_key(err, "the key is not known");
    rung_verdict v = check_live(key, now_ms, err);
    if (v != RUNG_ACCESS_OK)
        return v;
    if (who->expires_ms && now_ms >= who->expires_ms) {
        RUNG_FAIL_FIELD_WHY(err, RUNG_EREFUSED, RUNG_REASON_UNAUTHORIZED, "token",
                            "it has expired");
        return RUNG_ACCESS_UNKNOWN;
    }
    return is_for_all ? RUNG_ACCESS_OK : decide(who, key, need, err);
}

/* ---- rate limits ---- */

/* Does an operator who gave this key a rate of its own know how much to expect of it? */
static bool has_own_rate(const rung_access *a, const rung_who *who) {
    return who->key_id_len && !who->player_len && who->generation == a->generation &&
           rung_keys_at(a->keys, who->key_index)->rate_per_s;
}

static bool pay_for_address(rung_access *a, const rung_who *who, rung_rate_kind kind,
                            rung_rate_limit limit, uint32_t cost, int64_t now_ms,
                            rung_access_answer *answer) {
    if (has_own_rate(a, who))
        limit = (rung_rate_limit){0};
    answer->is_for_address =
        !rung_rate_take(a->rate, kind, peer_of(who), limit, cost, now_ms, &answer->rate);
    return !answer->is_for_address;
}

static rung_verdict pay(rung_access *a, const rung_who *who, uint32_t cost, int64_t now_ms,
                        rung_access_answer *answer) {
    const rung_access_config *c = &a->config;
    if (!pay_for_address(a, who, RUNG_RATE_ADDRESS, c->per_address, cost, now_ms, answer)) {
        RUNG_FAIL_WHY(&answer->err, RUNG_ELIMIT, RUNG_REASON_RATE,
                      "too many requests from this address");
        return refuse_rate(answer);
    }
    rung_rate_answer address = answer->rate;
    rung_rate_kind kind = RUNG_RATE_KEY;
    rung_slice name = rung_who_key(who);
    rung_rate_limit limit = c->per_key;
    if (who->key_id_len == 0) {
        kind = RUNG_RATE_PEER;
        name = peer_of(who);
        limit = c->per_peer;
    } else if (who->player_len) {
        kind = RUNG_RATE_TOKEN;
        name = rung_who_player(who);
        limit = c->per_player;
    } else if (has_own_rate(a, who)) {
        limit = (rung_rate_limit){rung_keys_at(a->keys, who->key_index)->rate_per_s, 1000};
    }
    if (rung_rate_take(a->rate, kind, name, limit, cost, now_ms, &answer->rate)) {
        if (!answer->rate.limit)
            answer->rate = address; /* the headers tell of the limit there is */
        return RUNG_ACCESS_OK;
    }
    RUNG_FAIL_WHY(&answer->err, RUNG_ELIMIT, RUNG_REASON_RATE, "too many requests");
    return refuse_rate(answer);
}

rung_verdict rung_access_allow(rung_access *a, rung_who *who, const rung_need *need, int64_t now_ms,
                               rung_access_answer *answer) {
    now_ms = time_of(a, now_ms);
    if (!answer)
        return may(a, who, need, now_ms, NULL);
    answer->rate = (rung_rate_answer){0};
    answer->verdict = need->cost ? pay(a, who, need->cost, now_ms, answer) : RUNG_ACCESS_OK;
    if (answer->verdict == RUNG_ACCESS_OK)
        answer->verdict = may(a, who, need, now_ms, &answer->err);
    return answer->verdict;
}

rung_verdict rung_access_enter(rung_access *a, rung_slice presented, rung_slice peer,
                               const rung_need *need, int64_t now_ms, rung_who *who,
                               rung_access_answer *answer) {
    now_ms = time_of(a, now_ms);
    rung_access_answer unknown;
    rung_verdict v = rung_access_identify(a, presented, peer, now_ms, who, &unknown);
    if (v == RUNG_ACCESS_OK)
        return rung_access_allow(a, who, need, now_ms, answer);
    rung_verdict paid = pay(a, who, need->cost, now_ms, answer);
    if (paid != RUNG_ACCESS_OK)
        return paid;
    answer->err = unknown.err;
    answer->rate.retry_s = unknown.rate.retry_s;
    return answer->verdict = v;
}

bool rung_access_is_admin(rung_access *a, rung_slice presented, int64_t now_ms) {
    now_ms = time_of(a, now_ms);
    rung_who who;
    return presented.len && !is_token(presented) && !rung_access_is_open(a) &&
           rung_access_identify(a, presented, RUNG_SLICE(""), now_ms, &who, NULL) ==
               RUNG_ACCESS_OK &&
           may(a, &who, &(rung_need){.role = RUNG_ROLE_ADMIN}, now_ms, NULL) == RUNG_ACCESS_OK;
}

rung_verdict rung_access_admit(rung_access *a, const rung_who *who, rung_slice player,
                               int64_t now_ms, rung_access_answer *answer) {
    now_ms = time_of(a, now_ms);
    answer->is_for_address = false;
    if (who && !pay_for_address(a, who, RUNG_RATE_SUBMISSIONS, a->config.per_address_submissions, 1,
                                now_ms, answer)) {
        RUNG_FAIL_WHY(&answer->err, RUNG_ELIMIT, RUNG_REASON_RATE,
                      "too many submissions from this address");
        return refuse_rate(answer);
    }
    if (rung_rate_take(a->rate, RUNG_RATE_PLAYER, player, a->config.per_player, 1, now_ms,
                       &answer->rate))
        return answer->verdict = RUNG_ACCESS_OK;
    RUNG_FAIL_FIELD_WHY(&answer->err, RUNG_ELIMIT, RUNG_REASON_RATE, "player",
                        "too many submissions");
    return refuse_rate(answer);
}

/* ---- visible boards ---- */

rung_slice rung_access_sight(rung_access *a, rung_who *who, char out[RUNG_SIGHT_MAX]) {
    const rung_key *key = look_again(a, who);
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

bool rung_access_sees(const rung_access *a, rung_slice sight, rung_slice board) {
    if (!sight.ptr || is_public(a, RUNG_ROLE_READ, board))
        return true;
    for (const char *at = sight.ptr, *end = at + sight.len; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (rung_pattern_matches(rung_slice_of(at, (size_t)(stop - at)), board))
            return true;
        at = stop + 1;
    }
    return false;
}

/* ---- fair shares ---- */

uint64_t rung_access_identity(const rung_access *a, const rung_who *who) {
    rung_rate_kind kind = who->player_len   ? RUNG_RATE_TOKEN
                          : who->key_id_len ? RUNG_RATE_KEY
                                            : RUNG_RATE_PEER;
    rung_slice name = who->player_len   ? rung_who_player(who)
                      : who->key_id_len ? rung_who_key(who)
                                        : peer_of(who);
    rung_hash_key key = {a->config.hash_key.k0, a->config.hash_key.k1 ^ (uint64_t)kind};
    return rung_hash_keyed(&key, name.ptr, name.len);
}

uint32_t rung_access_share(const rung_access *a, const rung_who *who) {
    return 1 + (uint32_t)(rung_access_identity(a, who) % (RUNG_FAIR_SHARES - 1));
}

rung_access_stats rung_access_stat(const rung_access *a) {
    return a->stats;
}
