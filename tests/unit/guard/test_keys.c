/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys: what is written can be read, what is damaged is refused, and only the right text is a key. */
#include "base/hash.h"
#include "guard/keys.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/token.h"

static rung_keys *empty(void) {
    rung_keys *keys;
    CHECK_OK(rung_keys_create(rung_alloc_heap(), (rung_slice){NULL, 0}, &keys, NULL));
    return keys;
}

static void add(rung_keys **keys, const rung_key *key) {
    rung_keys *more;
    rung_err err = {0};
    rung_status st = rung_keys_add(*keys, key, &more, &err);
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    rung_keys_destroy(*keys);
    *keys = more;
}

/* Mint a key from a number and add it; its text is in `text`. */
static void add_minted(rung_keys **keys, rung_role role, uint64_t number, rung_key more,
                       char text[RUNG_KEY_TEXT_MAX]) {
    uint8_t chance[RUNG_KEY_CHANCE_SIZE];
    rung_rng rng;
    rung_rng_seed(&rng, number);
    for (size_t i = 0; i < sizeof chance; i++)
        chance[i] = (uint8_t)rung_rng_next(&rng);
    more.role = role;
    more.created_ms = 1794733290000 + (int64_t)number;
    CHECK_OK(rung_key_mint(&more, chance, text, NULL));
    add(keys, &more);
}

static rung_keys *sample(char texts[3][RUNG_KEY_TEXT_MAX]) {
    rung_keys *keys = empty();
    add_minted(&keys, RUNG_ROLE_READ, 1, (rung_key){0}, texts[0]);
    add_minted(&keys, RUNG_ROLE_SERVER, 2,
               (rung_key){.label = RUNG_SLICE("nightly import, größer"),
                          .patterns = {RUNG_SLICE("race-*"), RUNG_SLICE(" weekly ")},
                          .pattern_count = 2,
                          .rate_per_s = 500,
                          .expires_ms = 1894733290000},
               texts[1]);
    add_minted(&keys, RUNG_ROLE_ADMIN, 3, (rung_key){.revoked_ms = 1794733299999}, texts[2]);
    rung_key eddsa = token_key("game-1", RUNG_ALG_EDDSA),
             hs256 = token_key("A.b_c-9", RUNG_ALG_HS256);
    eddsa.issuer = RUNG_SLICE("https://login.example");
    eddsa.audience = RUNG_SLICE("rung");
    eddsa.life_max_s = 3600;
    add(&keys, &eddsa);
    add(&keys, &hs256);
    return keys;
}

static void check_equal(const rung_key *a, const rung_key *b) {
    CHECK_EQ_U64(a->role, b->role);
    CHECK(rung_slice_eq(a->id, b->id) && rung_slice_eq(a->label, b->label));
    CHECK(rung_slice_eq(a->issuer, b->issuer) && rung_slice_eq(a->audience, b->audience));
    CHECK(rung_slice_eq(a->verify, b->verify));
    CHECK_EQ_U64(a->alg, b->alg);
    CHECK_EQ_U64(a->rate_per_s, b->rate_per_s);
    CHECK_EQ_U64(a->life_max_s, b->life_max_s);
    CHECK_EQ_I64(a->created_ms, b->created_ms);
    CHECK_EQ_I64(a->expires_ms, b->expires_ms);
    CHECK_EQ_I64(a->revoked_ms, b->revoked_ms);
    CHECK_EQ_U64(a->pattern_count, b->pattern_count);
    for (uint32_t i = 0; i < a->pattern_count; i++)
        CHECK(rung_slice_eq(a->patterns[i], b->patterns[i]));
    CHECK_EQ_MEM(a->hash, b->hash, sizeof a->hash);
}

TEST(what_is_written_can_be_read) {
    char texts[3][RUNG_KEY_TEXT_MAX];
    rung_keys *keys = sample(texts), *again;
    CHECK_OK(rung_keys_create(rung_alloc_heap(), rung_keys_bytes(keys), &again, NULL));
    CHECK_EQ_U64(rung_keys_count(again), 5);
    for (size_t i = 0; i < 5; i++) {
        check_equal(rung_keys_at(keys, i), rung_keys_at(again, i));
        CHECK_EQ_PTR(rung_keys_find(again, rung_keys_at(again, i)->id), rung_keys_at(again, i));
    }
    CHECK(rung_slice_eq(rung_keys_bytes(keys), rung_keys_bytes(again)));
    CHECK_EQ_U64(rung_keys_at(again, 1)->rate_per_s, 500);
    CHECK(rung_slice_eq(rung_keys_at(again, 1)->patterns[1], RUNG_SLICE(" weekly ")));
    rung_keys_destroy(keys);
    rung_keys_destroy(again);
}

static bool contains(rung_slice bytes, const char *part, size_t len) {
    for (size_t i = 0; i + len <= bytes.len; i++)
        if (memcmp(bytes.ptr + i, part, len) == 0)
            return true;
    return false;
}

TEST(a_secret_is_not_in_the_file) {
    char texts[3][RUNG_KEY_TEXT_MAX];
    rung_keys *keys = sample(texts);
    rung_slice bytes = rung_keys_bytes(keys);
    for (int i = 0; i < 3; i++) {
        const char *secret = texts[i] + strlen(texts[i]) - 43;
        CHECK(!contains(bytes, secret, 10));
        CHECK(!contains(bytes, secret + 30, 10));
    }
    rung_keys_destroy(keys);
}

TEST(the_text_of_a_key) {
    char texts[3][RUNG_KEY_TEXT_MAX];
    rung_keys *keys = sample(texts);
    CHECK_EQ_U64(strlen(texts[0]), strlen("rung_read_") + 12 + 1 + 43);
    CHECK_EQ_MEM(texts[0], "rung_read_", 10);
    CHECK_EQ_MEM(texts[1], "rung_server_", 12);
    CHECK_EQ_MEM(texts[2], "rung_admin_", 11);
    for (size_t i = 0; i < 3; i++)
        CHECK_EQ_PTR(rung_keys_verify(keys, rung_slice_str(texts[i])), rung_keys_at(keys, i));
    rung_keys_destroy(keys);
}

TEST(only_the_right_text_is_a_key) {
    char texts[3][RUNG_KEY_TEXT_MAX], wrong[3 * RUNG_KEY_TEXT_MAX];
    rung_keys *keys = sample(texts);
    size_t len = strlen(texts[1]);
    for (size_t i = 0; i < len; i++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(wrong, texts[1], len);
            wrong[i] = (char)(wrong[i] ^ (1 << bit));
            CHECK_NULL(rung_keys_verify(keys, rung_slice_of(wrong, len)));
        }
    for (size_t cut = 0; cut < len; cut++) {
        CHECK_NULL(rung_keys_verify(keys, rung_slice_of(texts[1], cut)));
        CHECK_NULL(rung_keys_verify(keys, rung_slice_of(texts[1] + len - cut, cut)));
    }
    snprintf(wrong, sizeof wrong, "%sA", texts[1]);
    CHECK_NULL(rung_keys_verify(keys, rung_slice_str(wrong)));
    snprintf(wrong, sizeof wrong, "rung_admin_%s", texts[1] + strlen("rung_server_"));
    CHECK_NULL(rung_keys_verify(keys, rung_slice_str(wrong)));
    CHECK_NULL(rung_keys_verify(keys, (rung_slice){NULL, 0}));
    rung_keys_destroy(keys);
}

/* The hash of nobody is all zero; a key whose stored hash is that must not be found by it. */
TEST(the_id_of_a_player_token_key_is_no_key) {
    rung_keys *keys = empty();
    rung_key key = token_key("abcdefghjkmn", RUNG_ALG_HS256);
    char text[RUNG_KEY_TEXT_MAX];
    add(&keys, &key);
    snprintf(text, sizeof text, "rung_admin_abcdefghjkmn_%043d", 0);
    CHECK_NULL(rung_keys_verify(keys, rung_slice_str(text)));
    rung_keys_destroy(keys);
}

TEST(revoke) {
    char texts[3][RUNG_KEY_TEXT_MAX];
    rung_keys *keys = sample(texts), *less = NULL;
    rung_err err = {0};
    rung_slice id = rung_keys_at(keys, 0)->id;
    CHECK(rung_key_is_live(rung_keys_at(keys, 0), 1794733290001));
    CHECK_OK(rung_keys_revoke(keys, id, 1794733295000, &less, &err));
    CHECK(rung_key_is_live(rung_keys_at(keys, 0), 1794733295001));
    CHECK(!rung_key_is_live(rung_keys_at(less, 0), 1794733295001));
    CHECK_EQ_I64(rung_keys_at(less, 0)->revoked_ms, 1794733295000);
    for (size_t i = 1; i < 5; i++)
        check_equal(rung_keys_at(keys, i), rung_keys_at(less, i));
    rung_keys *none = NULL;
    CHECK_STATUS(rung_keys_revoke(less, id, 5, &none, &err), RUNG_UNCHANGED);
    CHECK_STATUS(rung_keys_revoke(less, RUNG_SLICE("nobody"), 5, &none, &err), RUNG_EABSENT);
    CHECK_NULL(none);
    rung_keys_destroy(keys);
    rung_keys_destroy(less);
}

TEST(expiry) {
    rung_key key = {.expires_ms = 1000};
    CHECK(rung_key_is_live(&key, 999));
    CHECK(!rung_key_is_live(&key, 1000));
    key.expires_ms = 0;
    CHECK(rung_key_is_live(&key, INT64_MAX));
}

/* ---- damage ---- */

TEST(cut_anywhere_is_refused) {
    char texts[3][RUNG_KEY_TEXT_MAX];
    rung_keys *keys = sample(texts), *again = NULL;
    rung_slice bytes = rung_keys_bytes(keys);
    for (size_t len = 1; len < bytes.len; len++) {
        rung_err err = {0};
        rung_status st =
            rung_keys_create(rung_alloc_heap(), rung_slice_of(bytes.ptr, len), &again, &err);
        CHECK_STATUS(st, RUNG_ECORRUPT);
        CHECK(err.message[0]);
    }
    rung_keys_destroy(keys);
}

TEST(every_flipped_bit_is_refused) {
    char texts[3][RUNG_KEY_TEXT_MAX];
    rung_keys *keys = sample(texts), *again = NULL;
    rung_slice bytes = rung_keys_bytes(keys);
    char *copy = malloc(bytes.len);
    for (size_t i = 0; i < bytes.len * 8; i++) {
        memcpy(copy, bytes.ptr, bytes.len);
        copy[i / 8] = (char)(copy[i / 8] ^ (1 << i % 8));
        rung_status st =
            rung_keys_create(rung_alloc_heap(), rung_slice_of(copy, bytes.len), &again, NULL);
        CHECK(st == RUNG_ECORRUPT || st == RUNG_EVERSION);
    }
    free(copy);
    rung_keys_destroy(keys);
}

/* A file with a right checksum, as a hand or another program might write it. */
static rung_status read_lines(const char *lines, rung_err *err) {
    char text[4096];
    rung_keys *keys = NULL;
    int len = snprintf(text, sizeof text, "%s", lines);
    len += snprintf(text + len, sizeof text - (size_t)len, "end %08x\n",
                    rung_crc32c(0, text, (size_t)len));
    rung_status st =
        rung_keys_create(rung_alloc_heap(), rung_slice_of(text, (size_t)len), &keys, err);
    if (st == RUNG_OK)
        rung_keys_destroy(keys);
    return st;
}

#define HASH "sha256 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
#define KEY  "key abc\nrole read\ncreated 5\n" HASH
#define PUB  "public 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\n"

TEST(good_lines) {
    static const char *const good[] = {
        "rung-keys 1\n",
        "rung-keys 1\n" KEY,
        "rung-keys 1\n" KEY "boards *\nboards a b\nlabel x y  z\n",
        "rung-keys 1\nkey abc\n" HASH "created 5\nrole admin\n",
        ("rung-keys 1\nkey t\nrole player-token\ncreated 5\nalg EdDSA\n" PUB),
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        rung_err err = {0};
        CHECK_MSG(read_lines(good[i], &err) == RUNG_OK, "%s\n%s", err.message, good[i]);
    }
}

TEST(bad_lines_are_refused_by_number) {
    static const struct {
        const char *lines, *message;
    } bad[] = {
        {"rung-keys 1\nrole read\n", "line 2"},
        {"rung-keys 1\n" KEY "\n", "line 6"},
        {"rung-keys 1\n" KEY "colour red\n", "line 6"},
        {"rung-keys 1\n" KEY "role admin\n", "line 6: role is given twice"},
        {"rung-keys 1\n" KEY "expires 0\n", "line 6"},
        {"rung-keys 1\n" KEY "expires -5\n", "line 6"},
        {"rung-keys 1\n" KEY "expires 99999999999999999999\n", "line 6"},
        {"rung-keys 1\n" KEY "rate 4294967296\n", "line 6"},
        {"rung-keys 1\n" KEY "label \n", "line 6"},
        {"rung-keys 1\n" KEY "label\n", "line 6"},
        {"rung-keys 1\n" KEY "label \x01\n", "label"},
        {"rung-keys 1\n" KEY "boards \xff\n", "boards"},
        {"rung-keys 1\n" KEY "alg HS256\n", "another role"},
        {"rung-keys 1\n" KEY PUB, "line 6"},
        {"rung-keys 1\nkey abc\nrole read\ncreated 5\n", "too few"},
        {"rung-keys 1\nkey abc\nrole none\ncreated 5\n" HASH, "line 3"},
        {"rung-keys 1\nkey a b\nrole read\ncreated 5\n" HASH, "id"},
        {"rung-keys 1\nkey \nrole read\ncreated 5\n" HASH, "id"},
        {"rung-keys 1\n" KEY KEY, "twice"},
        {"rung-keys 1\nkey t\nrole player-token\ncreated 5\nalg EdDSA\n", "public"},
        {"rung-keys 1\nkey t\nrole player-token\ncreated 5\nalg none\n" PUB, "line 5"},
        {"rung-keys 1\nkey t\nrole player-token\ncreated 5\nalg HS256\n" PUB, "line 6"},
        {"rung-keys 1\nkey t\nrole player-token\ncreated 5\nalg HS256\nsecret AAAA\n", "secret"},
        {"rung-keys 1\nkey t\nrole player-token\ncreated 5\nalg EdDSA\n" PUB HASH, "another role"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rung_err err = {0};
        CHECK_MSG(read_lines(bad[i].lines, &err) == RUNG_ECORRUPT, "accepted: %s", bad[i].lines);
        CHECK_MSG(strstr(err.message, bad[i].message), "\"%s\" is not in \"%s\"", bad[i].message,
                  err.message);
    }
    CHECK_STATUS(read_lines("rung-keys 2\n" KEY, NULL), RUNG_EVERSION);
}

TEST(what_cannot_be_added) {
    rung_keys *keys = empty(), *more = NULL;
    rung_err err;
    rung_key good = {.role = RUNG_ROLE_READ, .id = RUNG_SLICE("x"), .created_ms = 1}, key;
    add(&keys, &good);
    CHECK_STATUS(rung_keys_add(keys, &good, &more, &err), RUNG_EEXIST);
#define REFUSED(change, field)                                                                     \
    key = good;                                                                                    \
    key.id = RUNG_SLICE("y");                                                                      \
    change;                                                                                        \
    CHECK_STATUS(rung_keys_add(keys, &key, &more, &err), RUNG_EINVAL);                             \
    CHECK_MSG(strncmp(err.message, field, strlen(field)) == 0, "%s", err.message)
    REFUSED(key.id = RUNG_SLICE(""), "id");
    REFUSED(key.id = RUNG_SLICE("a\nb"), "id");
    REFUSED(key.role = RUNG_ROLE_NONE, "role");
    REFUSED(key.role = (rung_role)7, "role");
    REFUSED(key.label = RUNG_SLICE("two\nlines"), "label");
    REFUSED(key.pattern_count = 1, "boards");
    REFUSED(key.pattern_count = 17, "boards");
    REFUSED(key.created_ms = 0, "created");
    REFUSED(key.role = RUNG_ROLE_PLAYER, "alg");
    rung_keys_destroy(keys);
}

TEST(as_many_as_there_can_be) {
    enum { ROOM = 512 << 10 };
    char *text = malloc(ROOM);
    int len = snprintf(text, ROOM, "rung-keys 1\n");
    for (int i = 0; i < RUNG_KEYS_MAX; i++)
        len += snprintf(text + len, ROOM - (size_t)len, "key %d\nrole read\ncreated 5\n%s", i,
                        i ? HASH : HASH);
    CHECK(len < ROOM - 200);
    int body = len;
    len += snprintf(text + len, 40, "end %08x\n", rung_crc32c(0, text, (size_t)body));
    rung_keys *keys, *more = NULL;
    CHECK_OK(rung_keys_create(rung_alloc_heap(), rung_slice_of(text, (size_t)len), &keys, NULL));
    CHECK_EQ_U64(rung_keys_count(keys), RUNG_KEYS_MAX);
    for (size_t i = 0; i < RUNG_KEYS_MAX; i++)
        CHECK_EQ_PTR(rung_keys_find(keys, rung_keys_at(keys, i)->id), rung_keys_at(keys, i));
    rung_key key = {.role = RUNG_ROLE_READ, .id = RUNG_SLICE("one-more"), .created_ms = 1};
    CHECK_STATUS(rung_keys_add(keys, &key, &more, NULL), RUNG_ELIMIT);
    CHECK_OK(rung_keys_revoke(keys, RUNG_SLICE("77"), 9, &more, NULL));
    rung_keys_destroy(more);
    len = body + snprintf(text + body, 200, "key last\nrole read\ncreated 5\n%s", HASH);
    len += snprintf(text + len, 40, "end %08x\n", rung_crc32c(0, text, (size_t)len));
    CHECK_STATUS(rung_keys_create(rung_alloc_heap(), rung_slice_of(text, (size_t)len), &more, NULL),
                 RUNG_ELIMIT);
    rung_keys_destroy(keys);
    free(text);
}

/* ---- patterns ---- */

TEST(patterns) {
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"race", "race", true},
        {"race", "races", false},
        {"race", "rac", false},
        {"*", "", true},
        {"*", "anything", true},
        {"?", "", false},
        {"?", "x", true},
        {"?", "ä", true},
        {"??", "ä", false},
        {"race-*", "race-", true},
        {"race-*", "race-1", true},
        {"race-*", "grace-1", false},
        {"*-eu", "race-eu", true},
        {"*-eu", "race-eu-2", false},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false},
        {"**", "x", true},
        {"*?", "", false},
        {"*?*", "é", true},
        {"r?ce", "räce", true},
        {"*ce", "racece", true},
        {"a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
        {"[a-z]", "a", false},
        {"[a-z]", "[a-z]", true},
        {"\\*", "*", false},
        {"Race", "race", false},
        {"?*", "日本", true},
        {"*本", "日本", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_MSG(rung_pattern_matches(rung_slice_str(cases[i].pattern),
                                       rung_slice_str(cases[i].text)) == cases[i].matches,
                  "%s against %s", cases[i].pattern, cases[i].text);
}

static bool matches_simply(const char *pattern, const char *text) {
    if (*pattern == '\0')
        return *text == '\0';
    if (*pattern == '*')
        return matches_simply(pattern + 1, text) || (*text && matches_simply(pattern, text + 1));
    return *text && (*pattern == '?' || *pattern == *text) && matches_simply(pattern + 1, text + 1);
}

TEST(patterns_as_the_simplest_matcher_has_them) {
    rung_rng rng;
    rung_rng_seed(&rng, test_seed(2));
    for (int round = 0; round < 200000; round++) {
        char pattern[8] = {0}, text[10] = {0};
        for (uint64_t i = 0, n = rung_rng_below(&rng, 7); i < n; i++)
            pattern[i] = "ab*?"[rung_rng_below(&rng, 4)];
        for (uint64_t i = 0, n = rung_rng_below(&rng, 9); i < n; i++)
            text[i] = "ab"[rung_rng_below(&rng, 2)];
        CHECK_MSG(rung_pattern_matches(rung_slice_str(pattern), rung_slice_str(text)) ==
                      matches_simply(pattern, text),
                  "%s against %s", pattern, text);
    }
}

TEST(roles) {
    for (int role = RUNG_ROLE_PLAYER; role <= RUNG_ROLE_ADMIN; role++) {
        rung_role back = RUNG_ROLE_NONE;
        CHECK(rung_role_parse(rung_slice_str(rung_role_name((rung_role)role)), &back));
        CHECK_EQ_U64(back, role);
    }
    rung_role role;
    CHECK(!rung_role_parse(RUNG_SLICE("none"), &role));
    CHECK(!rung_role_parse(RUNG_SLICE("Admin"), &role));
}

RUNG_TEST_MAIN
