/* SPDX-License-Identifier: Apache-2.0 */
/* Access with the n-th allocation failing: told, nothing lost, and what was in force stays in force. */
#include "guard/keys_file.h"
#include "service/access.h"
#include "support/check.h"
#include "support/failalloc.h"
#include "support/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOW  INT64_C(1794733290000)
#define NONE ((rung_slice){NULL, 0})

static char folder[64], path[80], text[RUNG_KEY_TEXT_MAX];

static rung_status add_one(void *ctx, const rung_keys *keys, rung_keys **keys_out, rung_err *err) {
    return rung_keys_add(keys, ctx, keys_out, err);
}

static void make_file(void) {
    uint8_t chance[RUNG_KEY_CHANCE_SIZE] = {7};
    rung_key key = {.role = RUNG_ROLE_ADMIN, .created_ms = 1},
             verifier = token_key("t", RUNG_ALG_HS256);
    snprintf(folder, sizeof folder, "/tmp/rung-access-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/keys", folder);
    CHECK_OK(rung_key_mint(&key, chance, text, NULL));
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), path, add_one, &key, NULL));
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), path, add_one, &verifier, NULL));
}

static void remove_file(void) {
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

static int check(rung_access *a, rung_slice presented, rung_role role, rung_slice player) {
    rung_who who;
    rung_access_answer why;
    rung_need need = {.role = role, .player = player};
    return (int)rung_access_enter(a, presented, NONE, &need, NOW, &who, &why);
}

/* Create, recognise a key and a token, reload, recognise again. */
static rung_status work(const rung_alloc *alloc) {
    char token[TOKEN_SIZE];
    rung_access *a;
    rung_err err = {0};
    rung_access_config config = {.alloc = alloc,
                                 .path = path,
                                 .public_boards = "race-*",
                                 .rate_capacity = 8,
                                 .token_capacity = 8};
    rung_slice jwt = token_make(RUNG_ALG_HS256, RUNG_SLICE("{\"alg\":\"HS256\"}"),
                                RUNG_SLICE("{\"sub\":\"ada\",\"exp\":1794733890}"), token);
    rung_status st = rung_access_create(&config, &a, &err);
    if (st < 0) {
        CHECK_STATUS(st, RUNG_ENOMEM);
        CHECK(err.message[0]);
        return st;
    }
    for (int round = 0; round < 2; round++) {
        CHECK_EQ_I64(check(a, rung_slice_str(text), RUNG_ROLE_ADMIN, NONE), 0);
        CHECK_EQ_I64(check(a, jwt, RUNG_ROLE_READ, RUNG_SLICE("me")), 0);
        CHECK_EQ_I64(check(a, NONE, RUNG_ROLE_READ, NONE), RUNG_ACCESS_UNKNOWN);
        if (round == 0)
            st = rung_access_reload(a, true, &err);
        CHECK(st == RUNG_OK || st == RUNG_ENOMEM);
    }
    rung_access_destroy(a);
    return st;
}

TEST(access) {
    make_file();
    for (int sticky = 0; sticky < 2; sticky++)
        for (uint64_t n = 1;; n++) {
            rung_failalloc fa;
            rung_failalloc_init(&fa);
            rung_failalloc_fail_at(&fa, n, sticky);
            rung_status st = work(rung_failalloc_port(&fa));
            rung_failalloc_deinit(&fa);
            if (st >= 0 && !fa.failed_count)
                break;
        }
    remove_file();
}

/* Changing the file: it is the old one or the new one, as the answer says. */
TEST(change) {
    make_file();
    for (uint64_t n = 1;; n++) {
        rung_failalloc fa;
        char id[32];
        rung_keys *keys;
        snprintf(id, sizeof id, "key-%u", (unsigned)n);
        rung_key key = {.role = RUNG_ROLE_READ, .id = rung_slice_str(id), .created_ms = 1};
        rung_failalloc_init(&fa);
        rung_failalloc_fail_at(&fa, n, false);
        rung_status st =
            rung_keys_file_change(NULL, rung_failalloc_port(&fa), path, add_one, &key, NULL);
        rung_failalloc_deinit(&fa);
        CHECK_OK(rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, NULL));
        CHECK_EQ_U64(rung_keys_count(keys), st == RUNG_OK ? 3 : 2);
        rung_keys_destroy(keys);
        if (st == RUNG_OK && !fa.failed_count)
            break;
        CHECK_STATUS(st, RUNG_ENOMEM);
    }
    remove_file();
}

RUNG_TEST_MAIN
