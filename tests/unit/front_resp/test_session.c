/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* A connection: its end, who it is, what it may send and do. */
#include "guard/keys_file.h"
#include "support/resp_kit.h"

TEST(closing) {
    int fd = start_plain();
    resp_send(fd, "ZADD k 1 a\r\nQUIT\r\nPING\r\n");
    resp_expect(fd, replies(integer(1), simple("OK")));
    resp_expect_closed(fd);
    close(fd);
    fd = resp_connect(&srv);
    resp_send(fd, "ZADD k 2 b\r\nZCARD k\r\n");
    shutdown(fd, SHUT_WR);
    resp_expect(fd, replies(integer(1), integer(2)));
    resp_expect_closed(fd);
    close(fd);
    fd = resp_connect(&srv);
    resp_send(fd, "ZADD k 3 c\r\n*1\r\n:5\r\nPING\r\n");
    resp_expect(fd, replies(integer(1), error("ERR Protocol error: expected '$', got ':'")));
    resp_expect_closed(fd);
    close(fd);
    /* gone while its changes are under way */
    for (int i = 0; i < 50; i++) {
        fd = resp_connect(&srv);
        resp_send(fd, "ZADD k 3 c\r\nMULTI\r\nZADD k 4 d\r\nZCARD k\r\nEXEC\r\nZRANGE k 0 -1\r\n");
        close(fd);
    }
    fd = resp_connect(&srv);
    resp_ask(fd, "ZSCORE k b", bulk("2"));
    stop(fd);
}

TEST(silence) {
    int fd = start_plain();
    resp_send(fd, "PING\r\nZADD k 0 a\r\nPING\r\nCLIENT REPLY OFF\r\nZADD k 1 a\r\nPING\r\nZCARD "
                  "k\r\nCLIENT REPLY ON\r\n");
    resp_expect(fd, replies(simple("PONG"), integer(1), simple("PONG"), simple("OK")));
    resp_ask(fd, "ZCARD k", integer(1));
    stop(fd);
}

/* ---- keys ---- */

typedef struct minted {
    rung_key key;
    char text[RUNG_KEY_TEXT_MAX];
} minted;

static rung_status add_key(void *ctx, const rung_keys *keys, rung_keys **keys_out, rung_err *err) {
    return rung_keys_add(keys, &((minted *)ctx)->key, keys_out, err);
}

static void make_key(const char *path, rung_role role, const char *pattern, minted *out) {
    static uint8_t chance[RUNG_KEY_CHANCE_SIZE];
    rung_err err = {0};
    chance[0]++;
    out->key = (rung_key){.role = role, .created_ms = 1};
    if (pattern) {
        out->key.patterns[0] = rung_slice_str(pattern);
        out->key.pattern_count = 1;
    }
    CHECK_OK(rung_key_mint(&out->key, chance, out->text, &err));
    CHECK_MSG(rung_keys_file_change(NULL, rung_alloc_heap(), path, add_key, out, &err) == RUNG_OK,
              "%s", err.message);
}

static void log_in(int fd, const minted *m) {
    char line[256];
    snprintf(line, sizeof line, "AUTH %s\r\n", m->text);
    resp_send(fd, line);
    resp_expect(fd, simple("OK"));
}

TEST(roles_and_patterns) {
    char path[32], keys_path[64];
    minted reader, writer, admin;
    make_folder(path);
    snprintf(keys_path, sizeof keys_path, "%s/keys", path);
    make_key(keys_path, RUNG_ROLE_READ, NULL, &reader);
    make_key(keys_path, RUNG_ROLE_SERVER, "game:*", &writer);
    make_key(keys_path, RUNG_ROLE_ADMIN, NULL, &admin);
    int fd = start(&(resp_server_config){.keys_path = keys_path});
    resp_ask(fd, "PING", error("NOAUTH Authentication required."));
    resp_ask(fd, "ZCARD game:1", error("NOAUTH Authentication required."));
    resp_ask(fd, "AUTH wrong",
             error("WRONGPASS invalid username-password pair or user is disabled."));
    log_in(fd, &reader);
    resp_ask(fd, "PING", simple("PONG"));
    resp_ask(fd, "ZCARD game:1", integer(0));
    resp_ask(fd, "ZADD game:1 1 a",
             error("NOPERM this user has no permissions to run the 'zadd' command"));
    resp_send(fd, "MULTI\r\nZADD game:1 1 a\r\nEXEC\r\n");
    resp_expect(fd, replies(simple("OK"),
                            error("NOPERM this user has no permissions to run the 'zadd' command"),
                            error("EXECABORT Transaction discarded because of previous errors.")));
    log_in(fd, &writer);
    resp_ask(fd, "ZADD game:1 1 a", integer(1));
    check_alike(fd, NULL,
                (const char *[]){"ZCOUNT game:1 0 9", "ZCOUNT game:1 2 9", "ZCOUNT other 0 9",
                                 "ZCOUNT other 2 9", "ZREVRANGE other 0 1", "ZREVRANGE other 0 2",
                                 "ZREVRANGE game:1 0 1", "ZREVRANGE game:1 0 2"},
                8);
    resp_ask(
        fd, "ZADD other 1 a",
        error("NOPERM this user has no permissions to access one of the keys used as arguments"));
    resp_ask(
        fd, "ZUNIONSTORE game:2 2 game:1 other",
        error("NOPERM this user has no permissions to access one of the keys used as arguments"));
    resp_ask(fd, "FLUSHALL",
             error("NOPERM this user has no permissions to run the 'flushall' command"));
    /* what was allowed a moment ago is looked at again for another key and after another AUTH */
    char lines[512];
    snprintf(lines, sizeof lines,
             "ZADD game:1 1 a\r\nZADD game:1 2 b\r\nZADD other 1 a\r\nZADD game:1 3 c\r\n"
             "AUTH %s\r\nZADD game:1 4 d\r\nAUTH %s\r\nZADD game:1 5 e\r\nZADD game:1\r\n",
             reader.text, writer.text);
    resp_send(fd, lines);
    resp_expect(
        fd,
        replies(
            integer(0), integer(1),
            error(
                "NOPERM this user has no permissions to access one of the keys used as arguments"),
            integer(1), simple("OK"),
            error("NOPERM this user has no permissions to run the 'zadd' command"), simple("OK"),
            integer(1), error("ERR wrong number of arguments for 'zadd' command")));
    log_in(fd, &admin);
    resp_ask(fd, "ZADD other 1 a", integer(1));
    log_in(fd, &writer);
    resp_ask(fd, "KEYS *", array(bulk("game:1")));
    resp_ask(fd, "SCAN 0", array(bulk("0"), array(bulk("game:1"))));
    resp_ask(fd, "RESET", simple("RESET"));
    resp_ask(fd, "PING", error("NOAUTH Authentication required."));
    stop(fd);
    remove_folder(path);
}

TEST(strangers_get_little_room) {
    char path[32], keys_path[64];
    minted admin;
    make_folder(path);
    snprintf(keys_path, sizeof keys_path, "%s/keys", path);
    make_key(keys_path, RUNG_ROLE_ADMIN, NULL, &admin);
    int fd = start(&(resp_server_config){.keys_path = keys_path});
    resp_send(fd, "*11\r\n");
    resp_expect(fd, error("ERR Protocol error: unauthenticated multibulk length"));
    resp_expect_closed(fd);
    close(fd);
    fd = resp_connect(&srv);
    resp_send(fd, "*2\r\n$4\r\nPING\r\n$16385\r\n");
    resp_expect(fd, error("ERR Protocol error: unauthenticated bulk length"));
    resp_expect_closed(fd);
    close(fd);
    /* AUTH and what follows it in one piece */
    fd = resp_connect(&srv);
    char line[512];
    snprintf(line, sizeof line,
             "*2\r\n$4\r\nAUTH\r\n$%zu\r\n%s\r\n*12\r\n$4\r\nZADD\r\n$1\r\nk\r\n",
             strlen(admin.text), admin.text);
    resp_send(fd, line);
    resp_send(fd, "$1\r\n1\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$1\r\n1\r\n$1\r\nc\r\n$1\r\n1\r\n$"
                  "1\r\nd\r\n$1\r\n1\r\n$1\r\ne\r\n");
    resp_expect(fd, replies(simple("OK"), integer(5)));
    stop(fd);
    remove_folder(path);
}

TEST(limits_of_everybody) {
    int fd =
        start(&(resp_server_config){.resp = {.args_max = 20, .bulk_max = 100, .command_max = 500}});
    resp_send(fd, "*21\r\n");
    resp_expect(fd, error("ERR Protocol error: invalid multibulk length"));
    resp_expect_closed(fd);
    close(fd);
    fd = resp_connect(&srv);
    resp_send(fd, "*2\r\n$4\r\nPING\r\n$101\r\n");
    resp_expect(fd, error("ERR Protocol error: invalid bulk length"));
    resp_expect_closed(fd);
    stop(fd);
}

TEST(the_table_is_told) {
    int fd = start_plain();
    resp_ask(fd, "COMMAND GETKEYS ZUNIONSTORE d 2 a b WEIGHTS 1 2",
             array(bulk("d"), bulk("a"), bulk("b")));
    resp_ask(fd, "COMMAND GETKEYS BZPOPMIN a b 0", array(bulk("a"), bulk("b")));
    resp_ask(fd, "COMMAND GETKEYS PING", error("ERR The command has no key arguments"));
    resp_send(fd, "COMMAND INFO zadd nosuch\r\n");
    resp_expect(
        fd,
        "*2\r\n*10\r\n$4\r\nzadd\r\n:-4\r\n*3\r\n+write\r\n+denyoom\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
        "*3\r\n+@write\r\n+@sortedset\r\n+@fast\r\n*0\r\n");
    close(fd);
    fd = resp_connect(&srv);
    resp_ask(fd, "CONFIG GET save appendonly",
             array(bulk("appendonly"), bulk("no"), bulk("save"), bulk("")));
    stop(fd);
}

RUNG_TEST_MAIN
