/* SPDX-License-Identifier: Apache-2.0 */
/* The access: who is known, who may what, what changes when the file changes, how often. */
#include "guard/keys_file.h"
#include "service/access.h"
#include "support/check.h"
#include "support/rng.h"
#include "support/token.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW   INT64_C(1794733290000)
#define ADA   "{\"sub\":\"ada\",\"exp\":1794733890}"
#define NONE  ((rung_slice){NULL, 0})
#define RACE  RUNG_SLICE("race-1")
#define CHESS RUNG_SLICE("chess")
#define PEER  RUNG_SLICE("192.0.2.1")

static char folder[64], path[80];
enum { KEY_READ, KEY_SERVER, KEY_ADMIN, KEY_RACE, KEY_RACE_ADMIN, KEY_EXPIRED, KEY_COUNT };
static char texts[KEY_COUNT][RUNG_KEY_TEXT_MAX];
static char token_ada[TOKEN_SIZE], token_race[TOKEN_SIZE];

static rung_status add_one(void *ctx, const rung_keys *keys, rung_keys **keys_out, rung_err *err) {
    return rung_keys_add(keys, ctx, keys_out, err);
}

static rung_status revoke_one(void *ctx, const rung_keys *keys, rung_keys **keys_out,
                              rung_err *err) {
    return rung_keys_revoke(keys, *(rung_slice *)ctx, NOW, keys_out, err);
}

static void add(rung_key *key) {
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), path, add_one, key, NULL));
}

static void revoke_key(rung_slice id) {
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), path, revoke_one, &id, NULL));
}

static void make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/rung-access-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/keys", folder);
}

static void remove_folder(void) {
    unlink(path);
    CHECK(rmdir(folder) == 0);
}

static void mint(int which, rung_key key) {
    uint8_t chance[RUNG_KEY_CHANCE_SIZE];
    memset(chance, which + 1, sizeof chance);
    key.created_ms = NOW - 1000;
    CHECK_OK(rung_key_mint(&key, chance, texts[which], NULL));
    add(&key);
}

static void make_keys(void) {
    mint(KEY_READ, (rung_key){.role = RUNG_ROLE_READ});
    mint(KEY_SERVER, (rung_key){.role = RUNG_ROLE_SERVER, .rate_per_s = 2});
    mint(KEY_ADMIN, (rung_key){.role = RUNG_ROLE_ADMIN});
    mint(KEY_RACE, (rung_key){.role = RUNG_ROLE_SERVER,
                              .patterns = {RUNG_SLICE("race-*")},
                              .pattern_count = 1});
    mint(KEY_RACE_ADMIN, (rung_key){.role = RUNG_ROLE_ADMIN,
                                    .patterns = {RUNG_SLICE("race-*")},
                                    .pattern_count = 1});
    mint(KEY_EXPIRED, (rung_key){.role = RUNG_ROLE_ADMIN, .expires_ms = NOW});
    rung_key all = token_key("all", RUNG_ALG_HS256), race = token_key("race", RUNG_ALG_EDDSA);
    race.patterns[0] = RUNG_SLICE("race-*");
    race.pattern_count = 1;
    add(&all);
    add(&race);
    token_make(RUNG_ALG_HS256, RUNG_SLICE("{\"alg\":\"HS256\",\"kid\":\"all\"}"), RUNG_SLICE(ADA),
               token_ada);
    token_make(RUNG_ALG_EDDSA, RUNG_SLICE("{\"alg\":\"EdDSA\",\"kid\":\"race\"}"), RUNG_SLICE(ADA),
               token_race);
}

static rung_slice token(char buffer[TOKEN_SIZE]) {
    return rung_slice_str(buffer);
}

static rung_access *make_access(void) {
    rung_access *a;
    rung_err err = {0};
    rung_access_config config = {.alloc = rung_alloc_heap(),
                                 .path = path,
                                 .per_key = {100, 1000},
                                 .per_player = {3, 1000},
                                 .per_peer = {5, 1000},
                                 .rate_capacity = 16,
                                 .token_capacity = 2};
    CHECK_MSG(rung_access_create(&config, &a, &err) == RUNG_OK, "%s", err.message);
    return a;
}

static rung_verdict know(rung_access *a, rung_slice presented, rung_slice peer, int64_t now_ms,
                         rung_who *who, rung_err *err) {
    rung_access_answer why = {0};
    rung_verdict v = rung_access_identify(a, presented, peer, now_ms, who, &why);
    if (err)
        *err = why.err;
    return v;
}

static rung_verdict may(rung_access *a, rung_who *who, rung_role role, rung_slice board,
                        rung_slice player, int64_t now_ms, rung_err *err) {
    rung_access_answer why = {0};
    rung_need need = {.role = role, .board = board, .player = player};
    rung_verdict v = rung_access_allow(a, who, &need, now_ms, &why);
    if (err)
        *err = why.err;
    return v;
}

static int check(rung_access *a, rung_slice presented, rung_role need, rung_slice board,
                 rung_slice player) {
    rung_who who;
    rung_access_answer why = {0};
    rung_need wanted = {.role = need, .board = board, .player = player};
    rung_verdict v = rung_access_enter(a, presented, PEER, &wanted, NOW, &who, &why);
    CHECK((v == RUNG_ACCESS_OK) == (why.err.message[0] == '\0'));
    return (int)v;
}

TEST(the_matrix) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    static const struct {
        int who; /* of texts; -1 none, -2 wrong, -3 token of all, -4 token of race */
        int none, read, server, admin, race, race_server, chess, chess_server, each_server, ban;
    } rows[] = {
        {-1, 0, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN,
         RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN,
         RUNG_ACCESS_UNKNOWN},
        {-2, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN,
         RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN,
         RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN},
        {KEY_EXPIRED, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN,
         RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN,
         RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN, RUNG_ACCESS_UNKNOWN},
        {KEY_READ, 0, 0, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, 0, RUNG_ACCESS_FORBIDDEN, 0,
         RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN},
        {KEY_SERVER, 0, 0, 0, RUNG_ACCESS_FORBIDDEN, 0, 0, 0, 0, 0, RUNG_ACCESS_FORBIDDEN},
        {KEY_ADMIN, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        {KEY_RACE, 0, 0, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, 0, 0, RUNG_ACCESS_FORBIDDEN,
         RUNG_ACCESS_FORBIDDEN, 0, RUNG_ACCESS_FORBIDDEN},
        {KEY_RACE_ADMIN, 0, 0, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, 0, 0,
         RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, 0, RUNG_ACCESS_FORBIDDEN},
        {-3, 0, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN,
         RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN,
         RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN},
        {-4, 0, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN,
         RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN,
         RUNG_ACCESS_FORBIDDEN, RUNG_ACCESS_FORBIDDEN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rung_slice key = rows[i].who >= 0    ? rung_slice_str(texts[rows[i].who])
                         : rows[i].who == -1 ? NONE
                         : rows[i].who == -2
                             ? RUNG_SLICE("rung_admin_000000000000_"
                                          "0000000000000000000000000000000000000000000")
                         : rows[i].who == -3 ? token(token_ada)
                                             : token(token_race);
#define ASK(column, need, board, player)                                                           \
    CHECK_MSG(check(a, key, need, board, player) == rows[i].column, "row %zu, %s: %d", i, #column, \
              check(a, key, need, board, player))
        ASK(none, RUNG_ROLE_NONE, NONE, NONE);
        ASK(read, RUNG_ROLE_READ, NONE, NONE);
        ASK(server, RUNG_ROLE_SERVER, NONE, NONE);
        ASK(admin, RUNG_ROLE_ADMIN, NONE, NONE);
        ASK(race, RUNG_ROLE_READ, RACE, NONE);
        ASK(race_server, RUNG_ROLE_SERVER, RACE, NONE);
        ASK(chess, RUNG_ROLE_READ, CHESS, NONE);
        ASK(chess_server, RUNG_ROLE_SERVER, CHESS, NONE);
        ASK(each_server, RUNG_ROLE_SERVER, RUNG_BOARDS_EACH, NONE);
        ASK(ban, RUNG_ROLE_ADMIN, NONE, RUNG_SLICE("ada"));
    }
    rung_access_destroy(a);
    remove_folder();
}

TEST(tokens_read_of_their_own_player) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    for (int round = 0; round < 2; round++) { /* the second time it is remembered */
        CHECK_EQ_I64(check(a, token(token_ada), RUNG_ROLE_READ, RACE, RUNG_SLICE("ada")), 0);
        CHECK_EQ_I64(check(a, token(token_ada), RUNG_ROLE_READ, CHESS, RUNG_SLICE("me")), 0);
        CHECK_EQ_I64(check(a, token(token_ada), RUNG_ROLE_READ, NONE, RUNG_SLICE("me")), 0);
        CHECK_EQ_I64(check(a, token(token_ada), RUNG_ROLE_READ, RACE, RUNG_SLICE("bob")),
                     RUNG_ACCESS_FORBIDDEN);
        CHECK_EQ_I64(check(a, token(token_ada), RUNG_ROLE_READ, RACE, RUNG_SLICE("adas")),
                     RUNG_ACCESS_FORBIDDEN);
        CHECK_EQ_I64(check(a, token(token_ada), RUNG_ROLE_READ, RACE, RUNG_SLICE("")),
                     RUNG_ACCESS_FORBIDDEN);
        CHECK_EQ_I64(check(a, token(token_ada), RUNG_ROLE_SERVER, RACE, RUNG_SLICE("ada")),
                     RUNG_ACCESS_FORBIDDEN);
        CHECK_EQ_I64(check(a, token(token_ada), RUNG_ROLE_ADMIN, NONE, RUNG_SLICE("me")),
                     RUNG_ACCESS_FORBIDDEN);
        CHECK_EQ_I64(check(a, token(token_race), RUNG_ROLE_READ, RACE, RUNG_SLICE("me")), 0);
        CHECK_EQ_I64(check(a, token(token_race), RUNG_ROLE_READ, CHESS, RUNG_SLICE("me")),
                     RUNG_ACCESS_FORBIDDEN);
    }
    rung_who who;
    CHECK_EQ_I64(know(a, token(token_ada), PEER, NOW, &who, NULL), 0);
    CHECK(rung_slice_eq(rung_who_resolve(&who, RUNG_SLICE("me")), RUNG_SLICE("ada")));
    CHECK(rung_slice_eq(rung_who_resolve(&who, RUNG_SLICE("bob")), RUNG_SLICE("bob")));
    CHECK_EQ_I64(know(a, rung_slice_str(texts[KEY_READ]), PEER, NOW, &who, NULL), 0);
    CHECK(rung_slice_eq(rung_who_resolve(&who, RUNG_SLICE("me")),
                        RUNG_SLICE("me"))); /* a player called so */
    rung_access_destroy(a);
    remove_folder();
}

TEST(a_remembered_token_expires) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    rung_who who, kept;
    int64_t last = (1794733890 + 60) * INT64_C(1000) - 1;
    CHECK_EQ_I64(know(a, token(token_ada), PEER, NOW, &kept, NULL), 0);
    CHECK_EQ_I64(know(a, token(token_ada), PEER, last, &who, NULL), 0);
    CHECK_EQ_I64(may(a, &kept, RUNG_ROLE_READ, NONE, RUNG_SLICE("me"), last, NULL), 0);
    CHECK_EQ_I64(know(a, token(token_ada), PEER, last + 1, &who, NULL), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(who.role, RUNG_ROLE_NONE);
    CHECK_EQ_I64(may(a, &kept, RUNG_ROLE_READ, NONE, RUNG_SLICE("me"), last + 1, NULL),
                 RUNG_ACCESS_UNKNOWN);
    rung_access_destroy(a);
    remove_folder();
}

TEST(unknown_id_and_wrong_secret_are_one_answer) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    rung_who who;
    rung_err first = {0}, second = {0};
    char wrong[RUNG_KEY_TEXT_MAX];
    snprintf(wrong, sizeof wrong, "%s", texts[KEY_ADMIN]);
    wrong[strlen(wrong) - 5] ^= 1;
    CHECK_EQ_I64(know(a, rung_slice_str(wrong), PEER, NOW, &who, &first), RUNG_ACCESS_UNKNOWN);
    snprintf(wrong, sizeof wrong, "%s", texts[KEY_ADMIN]);
    wrong[strlen("rung_admin_")] ^= 1;
    CHECK_EQ_I64(know(a, rung_slice_str(wrong), PEER, NOW, &who, &second), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_STR(first.message, second.message);
    rung_access_destroy(a);
    remove_folder();
}

TEST(revoked_at_the_next_request) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    rung_who key, player;
    rung_err err;
    CHECK_STATUS(rung_access_reload(a, false, &err), RUNG_UNCHANGED);
    CHECK_EQ_I64(know(a, rung_slice_str(texts[KEY_SERVER]), PEER, NOW, &key, NULL), 0);
    CHECK_EQ_I64(know(a, token(token_race), PEER, NOW, &player, NULL), 0);
    CHECK_EQ_I64(may(a, &key, RUNG_ROLE_SERVER, RACE, NONE, NOW, NULL), 0);
    revoke_key(rung_keys_at(rung_access_keys(a), KEY_READ)->id);
    CHECK_OK(rung_access_reload(a, false, &err));
    CHECK_EQ_I64(check(a, rung_slice_str(texts[KEY_READ]), RUNG_ROLE_READ, RACE, NONE),
                 RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(may(a, &key, RUNG_ROLE_SERVER, RACE, NONE, NOW, NULL), 0); /* another one stays */
    CHECK_EQ_I64(may(a, &player, RUNG_ROLE_READ, RACE, RUNG_SLICE("me"), NOW, NULL), 0);
    revoke_key(rung_keys_at(rung_access_keys(a), KEY_SERVER)->id);
    revoke_key(RUNG_SLICE("race"));
    CHECK_OK(rung_access_reload(a, false, &err));
    CHECK_EQ_I64(may(a, &key, RUNG_ROLE_SERVER, RACE, NONE, NOW, &err), RUNG_ACCESS_UNKNOWN);
    CHECK(strstr(err.message, "revoked"));
    CHECK_EQ_I64(may(a, &player, RUNG_ROLE_READ, RACE, RUNG_SLICE("me"), NOW, &err),
                 RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, token(token_race), RUNG_ROLE_READ, RACE, RUNG_SLICE("me")),
                 RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(may(a, &player, RUNG_ROLE_NONE, NONE, NONE, NOW, &err), 0);
    rung_access_destroy(a);
    remove_folder();
}

/* Descriptors are gone, as after a flood of connections: a key that was revoked is refused all the same. */
TEST(revoked_without_a_descriptor_left) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    struct rlimit before, few;
    rung_err err;
    int taken[64];
    size_t count = 0;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    revoke_key(rung_keys_at(rung_access_keys(a), KEY_READ)->id);
    few = (struct rlimit){.rlim_cur = 32, .rlim_max = before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while ((taken[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    for (int i = 0; i < 2; i++) { /* and again: the descriptor is kept once more */
        CHECK_OK(rung_access_reload(a, true, &err));
        CHECK_EQ_I64(check(a, rung_slice_str(texts[KEY_READ]), RUNG_ROLE_READ, RACE, NONE),
                     RUNG_ACCESS_UNKNOWN);
    }
    while (count)
        close(taken[--count]);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    rung_access_destroy(a);
    remove_folder();
}

TEST(a_key_expires_while_it_is_used) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    rung_who who;
    CHECK_EQ_I64(know(a, rung_slice_str(texts[KEY_EXPIRED]), PEER, NOW - 1, &who, NULL), 0);
    CHECK_EQ_I64(may(a, &who, RUNG_ROLE_ADMIN, NONE, NONE, NOW - 1, NULL), 0);
    CHECK_EQ_I64(may(a, &who, RUNG_ROLE_ADMIN, NONE, NONE, NOW, NULL), RUNG_ACCESS_UNKNOWN);
    rung_access_destroy(a);
    remove_folder();
}

/* ---- open, and never by accident ---- */

TEST(without_keys_access_is_open_until_there_is_one) {
    make_folder();
    rung_access *a = make_access();
    rung_who who;
    rung_err err;
    CHECK(rung_access_is_open(a));
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_ADMIN, NONE, NONE), 0);
    CHECK_EQ_I64(check(a, RUNG_SLICE("rung_admin_x"), RUNG_ROLE_READ, NONE, NONE),
                 RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, RUNG_SLICE("a.b.c"), RUNG_ROLE_READ, NONE, NONE), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(know(a, NONE, PEER, NOW, &who, NULL), 0);
    CHECK_EQ_I64(may(a, &who, RUNG_ROLE_ADMIN, RACE, NONE, NOW, NULL), 0);
    mint(KEY_READ, (rung_key){.role = RUNG_ROLE_READ});
    CHECK_OK(rung_access_reload(a, false, &err));
    CHECK(!rung_access_is_open(a));
    CHECK_EQ_I64(may(a, &who, RUNG_ROLE_READ, RACE, NONE, NOW, NULL), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, NONE, NONE), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, rung_slice_str(texts[KEY_READ]), RUNG_ROLE_READ, NONE, NONE), 0);
    revoke_key(rung_keys_at(rung_access_keys(a), 0)->id);
    CHECK_OK(rung_access_reload(a, false, &err));
    CHECK(!rung_access_is_open(a)); /* all are revoked: nobody may, not everybody */
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, NONE, NONE), RUNG_ACCESS_UNKNOWN);
    rung_access_destroy(a);
    remove_folder();
}

TEST(a_file_that_goes_bad_changes_nothing_and_is_told_once) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    rung_err err;
    rung_slice admin = rung_slice_str(texts[KEY_ADMIN]);
    char aside[96];
    snprintf(aside, sizeof aside, "%s.aside", path);
    CHECK(rename(path, aside) == 0);
    CHECK_STATUS(rung_access_reload(a, false, &err), RUNG_EABSENT);
    CHECK_STATUS(rung_access_reload(a, false, &err), RUNG_UNCHANGED);
    CHECK_STATUS(rung_access_reload(a, true, &err), RUNG_EABSENT);
    CHECK_EQ_I64(check(a, admin, RUNG_ROLE_ADMIN, NONE, NONE), 0);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, NONE, NONE), RUNG_ACCESS_UNKNOWN);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    CHECK_STATUS(rung_access_reload(a, false, &err), RUNG_ECORRUPT);
    CHECK_STATUS(rung_access_reload(a, false, &err), RUNG_UNCHANGED);
    CHECK(write(fd, "rung-keys 1\n", 12) == 12);
    CHECK_STATUS(rung_access_reload(a, false, &err), RUNG_ECORRUPT);
    close(fd);
    CHECK_EQ_I64(check(a, admin, RUNG_ROLE_ADMIN, NONE, NONE), 0);
    CHECK(rename(aside, path) == 0);
    CHECK_OK(rung_access_reload(a, false, &err));
    CHECK_EQ_I64(check(a, admin, RUNG_ROLE_ADMIN, NONE, NONE), 0);
    CHECK_OK(rung_access_reload(a, true, &err));
    rung_access_destroy(a);
    remove_folder();
}

TEST(a_server_does_not_start_on_a_damaged_file) {
    make_folder();
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    rung_access *a = NULL;
    rung_err err;
    rung_access_config config = {.alloc = rung_alloc_heap(), .path = path};
    CHECK_STATUS(rung_access_create(&config, &a, &err), RUNG_ECORRUPT);
    remove_folder();
}

TEST(no_file_at_all) {
    rung_access *a;
    rung_access_config config = {.alloc = rung_alloc_heap()};
    CHECK_OK(rung_access_create(&config, &a, NULL));
    CHECK(rung_access_is_open(a));
    CHECK_STATUS(rung_access_reload(a, true, NULL), RUNG_UNCHANGED);
    rung_access_destroy(a);
}

TEST(public_boards_are_read_without_a_key) {
    rung_access *a;
    rung_access_config config = {
        .alloc = rung_alloc_heap(), .path = path, .public_boards = " race-*, weekly"};
    make_folder();
    make_keys();
    CHECK_OK(rung_access_create(&config, &a, NULL));
    rung_slice ada = RUNG_SLICE("ada"), weekly = RUNG_SLICE("weekly");
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, RACE, NONE), 0);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, weekly, ada), 0);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, RUNG_BOARDS_EACH, NONE), 0);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, CHESS, NONE), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, NONE, NONE), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, NONE, ada), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_SERVER, RACE, NONE), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_SERVER, RUNG_BOARDS_EACH, NONE), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, RUNG_SLICE("garbage"), RUNG_ROLE_READ, RACE, NONE), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, rung_slice_str(texts[KEY_RACE]), RUNG_ROLE_READ, CHESS, NONE),
                 RUNG_ACCESS_FORBIDDEN);
    rung_access_destroy(a);
    static const char *const bad[] = {",", "a,", "a,,b", " ", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        config.public_boards = bad[i];
        CHECK_STATUS(rung_access_create(&config, &a, NULL), RUNG_EINVAL);
    }
    config.public_boards = "";
    CHECK_OK(rung_access_create(&config, &a, NULL));
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, RACE, NONE), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, RUNG_BOARDS_EACH, NONE), RUNG_ACCESS_UNKNOWN);
    rung_access_destroy(a);
    remove_folder();
}

/* Whoever shows a good key or token may do at least what nobody may. */
TEST(showing_a_key_never_gives_less_than_showing_none) {
    rung_access *a;
    rung_access_config config = {
        .alloc = rung_alloc_heap(), .path = path, .public_boards = "weekly"};
    make_folder();
    make_keys();
    CHECK_OK(rung_access_create(&config, &a, NULL));
    rung_slice presented[] = {rung_slice_str(texts[KEY_READ]),
                              rung_slice_str(texts[KEY_SERVER]),
                              rung_slice_str(texts[KEY_RACE]),
                              rung_slice_str(texts[KEY_RACE_ADMIN]),
                              token(token_ada),
                              token(token_race)};
    rung_slice boards[] = {NONE, RACE, CHESS, RUNG_SLICE("weekly"), RUNG_BOARDS_EACH};
    rung_slice players[] = {NONE, RUNG_SLICE("ada"), RUNG_SLICE("bob"), RUNG_SLICE("me")};
    int gained = 0;
    for (size_t b = 0; b < 5; b++)
        for (size_t p = 0; p < 4; p++)
            for (rung_role need = RUNG_ROLE_READ; need <= RUNG_ROLE_ADMIN; need++) {
                if (check(a, NONE, need, boards[b], players[p]) != RUNG_ACCESS_OK)
                    continue;
                gained++;
                for (size_t i = 0; i < sizeof presented / sizeof *presented; i++)
                    CHECK_EQ_I64(check(a, presented[i], need, boards[b], players[p]), 0);
            }
    CHECK_EQ_I64(gained, 8); /* reading the public board and the list of boards, about anybody */
    rung_who nobody, ada, race;
    rung_slice weekly = RUNG_SLICE("weekly"), bob = RUNG_SLICE("bob"), me = RUNG_SLICE("me");
    CHECK_EQ_I64(know(a, NONE, PEER, NOW, &nobody, NULL), 0);
    CHECK_EQ_I64(know(a, token(token_ada), PEER, NOW, &ada, NULL), 0);
    CHECK_EQ_I64(know(a, rung_slice_str(texts[KEY_RACE]), PEER, NOW, &race, NULL), 0);
#define KEYED(who, board, player)                                                                  \
    (int)rung_access_allow(a, &who, &(rung_need){RUNG_ROLE_READ, true, board, player, 0, false},   \
                           NOW, NULL)
    CHECK_EQ_I64(KEYED(nobody, weekly, bob), RUNG_ACCESS_UNKNOWN);
    CHECK_EQ_I64(KEYED(ada, weekly, bob), RUNG_ACCESS_FORBIDDEN);
    CHECK_EQ_I64(KEYED(ada, weekly, me), 0);
    CHECK_EQ_I64(KEYED(race, weekly, bob), RUNG_ACCESS_FORBIDDEN);
    CHECK_EQ_I64(KEYED(race, RACE, bob), 0);
    rung_access_destroy(a);
    remove_folder();
}

TEST(which_boards_somebody_sees) {
    rung_access *a;
    rung_access_config config = {
        .alloc = rung_alloc_heap(), .path = path, .public_boards = "weekly"};
    char text[RUNG_SIGHT_MAX];
    rung_who who;
    make_folder();
    make_keys();
    rung_key wide = {.role = RUNG_ROLE_READ, .pattern_count = RUNG_KEY_PATTERNS_MAX};
    static char longest[RUNG_KEY_PATTERNS_MAX][RUNG_NAME_MAX];
    for (uint32_t i = 0; i < RUNG_KEY_PATTERNS_MAX; i++) {
        memset(longest[i], 'a' + (int)i, RUNG_NAME_MAX);
        wide.patterns[i] = rung_slice_of(longest[i], RUNG_NAME_MAX);
    }
    uint8_t chance[RUNG_KEY_CHANCE_SIZE] = {99};
    char wide_text[RUNG_KEY_TEXT_MAX];
    wide.created_ms = NOW - 1000;
    CHECK_OK(rung_key_mint(&wide, chance, wide_text, NULL));
    add(&wide);
    CHECK_OK(rung_access_create(&config, &a, NULL));
    static const struct {
        int key; /* -1: nobody; -2: the wide one */
        bool race, chess, weekly, longest;
    } rows[] = {{-1, false, false, true, false},
                {-2, false, false, true, true},
                {KEY_READ, true, true, true, true},
                {KEY_RACE, true, false, true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rung_slice presented = rows[i].key == -1   ? NONE
                               : rows[i].key == -2 ? rung_slice_str(wide_text)
                                                   : rung_slice_str(texts[rows[i].key]);
        CHECK_EQ_I64(know(a, presented, PEER, NOW, &who, NULL), 0);
        rung_slice sight = rung_access_sight(a, &who, text);
        CHECK_EQ_I64(rung_access_sees(a, sight, RACE), rows[i].race);
        CHECK_EQ_I64(rung_access_sees(a, sight, CHESS), rows[i].chess);
        CHECK_EQ_I64(rung_access_sees(a, sight, RUNG_SLICE("weekly")), rows[i].weekly);
        CHECK_EQ_I64(rung_access_sees(a, sight, rung_slice_of(longest[15], RUNG_NAME_MAX)),
                     rows[i].longest);
    }
    rung_access_destroy(a);
    remove_folder();
}

/* ---- headers, limits ---- */

TEST(bearer) {
    static const char *const pairs[][2] = {
        {"Bearer abc", "abc"},      {"bearer abc", "abc"},
        {"BEARER   abc", "abc"},    {"", ""},
        {"Bearer", "Bearer"},       {"Bearer ", "Bearer "},
        {"Basic abc", "Basic abc"}, {"Bearerabc", "Bearerabc"},
        {"Bearer a b", "a b"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        CHECK(rung_slice_eq(rung_access_bearer(rung_slice_str(pairs[i][0])),
                            rung_slice_str(pairs[i][1])));
}

static int takes(rung_access *a, const rung_who *who, uint64_t peer, uint32_t *limit_out) {
    rung_access_answer answer;
    rung_who from = *who;
    int taken = 0;
    from.peer = peer;
    while (taken < 1000 &&
           rung_access_allow(a, &from, &(rung_need){.cost = 1}, NOW, &answer) == RUNG_ACCESS_OK)
        taken++;
    *limit_out = answer.rate.limit;
    return taken;
}

TEST(who_pays_from_which_bucket) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    rung_who who;
    uint32_t limit;
    rung_access_answer why;
    CHECK_EQ_I64(know(a, rung_slice_str(texts[KEY_READ]), PEER, NOW, &who, NULL), 0);
    CHECK_EQ_I64(takes(a, &who, 1, &limit), 100);
    CHECK_EQ_U64(limit, 100);
    CHECK_EQ_I64(takes(a, &who, 2, &limit), 0); /* the same key from elsewhere */
    CHECK_EQ_I64(know(a, rung_slice_str(texts[KEY_SERVER]), PEER, NOW, &who, NULL), 0);
    CHECK_EQ_I64(takes(a, &who, 1, &limit), 2); /* its own rate */
    CHECK_EQ_I64(know(a, token(token_ada), PEER, NOW, &who, NULL), 0);
    CHECK_EQ_I64(takes(a, &who, 1, &limit), 3);
    who = (rung_who){0};
    CHECK_EQ_I64(takes(a, &who, 1, &limit), 5);
    CHECK_EQ_I64(takes(a, &who, 2, &limit), 5);
    for (int i = 0; i < 3; i++)
        CHECK_EQ_I64(rung_access_admit(a, NULL, RUNG_SLICE("ada"), NOW, &why), RUNG_ACCESS_OK);
    CHECK_EQ_I64(rung_access_admit(a, NULL, RUNG_SLICE("ada"), NOW, &why), RUNG_ACCESS_TOO_MANY);
    CHECK_EQ_U64(why.rate.retry_s, 1);
    CHECK(rung_access_share(a, &who) >= 1);
    rung_access_destroy(a);
    remove_folder();
}

/* The limits of an address count all that comes from there, whoever sends it, but for keys with a rate of their own. */
TEST(addresses_pay) {
    make_folder();
    make_keys();
    rung_access *a;
    rung_access_config config = {.alloc = rung_alloc_heap(),
                                 .path = path,
                                 .per_address = {4, 1000},
                                 .per_address_submissions = {2, 1000}};
    CHECK_OK(rung_access_create(&config, &a, NULL));
    rung_who who, nobody = {0};
    uint32_t limit;
    rung_access_answer why;
    CHECK_EQ_I64(know(a, rung_slice_str(texts[KEY_READ]), PEER, NOW, &who, NULL), 0);
    CHECK_EQ_I64(takes(a, &who, 1, &limit), 4);
    CHECK_EQ_U64(limit, 4);
    CHECK_EQ_I64(takes(a, &nobody, 1, &limit), 0);
    CHECK_EQ_I64(takes(a, &who, 2, &limit), 4);
    CHECK_EQ_I64(know(a, rung_slice_str(texts[KEY_SERVER]), PEER, NOW, &who, NULL), 0);
    CHECK_EQ_I64(takes(a, &who, 1, &limit), 2); /* its own rate */
    nobody.peer = 1;
    for (int i = 0; i < 2; i++)
        CHECK_EQ_I64(rung_access_admit(a, &nobody, RUNG_SLICE("ada"), NOW, &why), RUNG_ACCESS_OK);
    CHECK_EQ_I64(rung_access_admit(a, &nobody, RUNG_SLICE("bob"), NOW, &why), RUNG_ACCESS_TOO_MANY);
    CHECK_EQ_U64(why.rate.retry_s, 1);
    nobody.peer = 2;
    CHECK_EQ_I64(rung_access_admit(a, &nobody, RUNG_SLICE("bob"), NOW, &why), RUNG_ACCESS_OK);
    rung_access_destroy(a);
    remove_folder();
}

/* The rate comes before the key: bad ones are paid for by their address, and refused with the time to wait. */
TEST(bad_keys_are_paid_for) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    rung_who who;
    rung_access_answer why;
    rung_need need = {.role = RUNG_ROLE_READ, .board = RACE, .cost = 1};
    rung_slice bad = RUNG_SLICE("rung_read_x"), good = rung_slice_str(texts[KEY_READ]);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ_I64(rung_access_enter(a, bad, PEER, &need, NOW, &who, &why), RUNG_ACCESS_UNKNOWN);
        CHECK_EQ_U64(why.rate.limit, 5);
    }
    CHECK_EQ_I64(rung_access_enter(a, bad, PEER, &need, NOW, &who, &why), RUNG_ACCESS_TOO_MANY);
    CHECK_EQ_U64(why.rate.retry_s, 1);
    CHECK_EQ_I64(rung_access_enter(a, good, PEER, &need, NOW, &who, &why), 0);
    CHECK_EQ_U64(why.rate.remaining, 99);
    CHECK(rung_access_is_admin(a, rung_slice_str(texts[KEY_ADMIN]), NOW));
    CHECK(!rung_access_is_admin(a, good, NOW));
    CHECK(!rung_access_is_admin(a, token(token_ada), NOW));
    CHECK(!rung_access_is_admin(a, NONE, NOW));
    rung_access_destroy(a);
    remove_folder();
}

/* Signatures are expensive: an address pays for bad ones, and not for good ones. */
TEST(forged_tokens_are_not_verified_without_end) {
    make_folder();
    make_keys();
    rung_access *a = make_access();
    rung_who who;
    char forged[TOKEN_SIZE];
    rung_slice other = RUNG_SLICE("192.0.2.2");
    int refused = 0;
    for (int i = 0; i < 1000; i++) {
        snprintf(forged, sizeof forged, "%s", token_race);
        size_t len = strlen(forged);
        forged[len - 3] = (char)('A' + i % 26);
        forged[len - 4] = (char)('a' + i / 26 % 26);
        if (strcmp(forged, token_race) == 0)
            continue;
        rung_verdict v = know(a, rung_slice_str(forged), PEER, NOW, &who, NULL);
        CHECK(v == RUNG_ACCESS_UNKNOWN || v == RUNG_ACCESS_TOO_MANY);
        CHECK_EQ_I64(who.role, RUNG_ROLE_NONE);
        refused += v == RUNG_ACCESS_TOO_MANY;
    }
    rung_access_stats s = rung_access_stat(a);
    CHECK_EQ_U64(s.verified, 100);
    CHECK_EQ_U64(s.forged, 100);
    CHECK_EQ_I64(refused, (int64_t)s.unverified);
    CHECK(refused >= 899);
    /* Nobody behind the same address gets in anew for a while, but from elsewhere; then they are remembered. */
    CHECK_EQ_I64(know(a, token(token_race), PEER, NOW, &who, NULL), RUNG_ACCESS_TOO_MANY);
    CHECK_EQ_I64(know(a, token(token_race), other, NOW, &who, NULL), 0);
    CHECK_EQ_I64(know(a, token(token_race), PEER, NOW, &who, NULL), 0);
    CHECK_EQ_U64(rung_access_stat(a).verified, 101);
    CHECK_EQ_I64(know(a, token(token_ada), PEER, NOW + 100, &who, NULL), 0);
    /* A token that says itself that it is over costs nothing, and good ones are never charged. */
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ_I64(know(a, token(token_ada), other, NOW + 700000, &who, NULL),
                     RUNG_ACCESS_UNKNOWN);
        CHECK_EQ_I64(know(a, i % 2 ? token(token_ada) : token(token_race), other, NOW, &who, NULL),
                     0);
    }
    CHECK_EQ_U64(rung_access_stat(a).forged, 100);
    rung_access_destroy(a);
    remove_folder();
}

RUNG_TEST_MAIN
