/* SPDX-License-Identifier: Apache-2.0 */
/* ctest: timeout=120 labels=thread */
/* MULTI, EXEC, DISCARD and WATCH. */
#include "support/resp_kit.h"

TEST(transactions) {
    int fd = start_plain();
    resp_ask(fd, "EXEC", error("ERR EXEC without MULTI"));
    resp_ask(fd, "DISCARD", error("ERR DISCARD without MULTI"));
    resp_send(fd, "MULTI\r\nZCARD k\r\nZADD k 1 a\r\nZCARD k\r\nZADD k x b\r\nZADD k 2 b\r\nZRANGE "
                  "k 0 -1\r\nPING\r\nEXEC\r\nZCARD k\r\n");
    resp_expect(fd, replies(simple("OK"), simple("QUEUED"), simple("QUEUED"), simple("QUEUED"),
                            simple("QUEUED"), simple("QUEUED"), simple("QUEUED"), simple("QUEUED"),
                            array(integer(0), integer(1), integer(1),
                                  error("ERR value is not a valid float"), integer(1),
                                  array(bulk("a"), bulk("b")), simple("PONG")),
                            integer(2)));
    resp_send(fd, "MULTI\r\nMULTI\r\nEXEC\r\n");
    resp_expect(fd, replies(simple("OK"), error("ERR MULTI calls can not be nested"), empty_array));
    resp_send(fd, "MULTI\r\nnosuch\r\nZADD k 9 z\r\nEXEC\r\nZSCORE k z\r\n");
    resp_expect(
        fd, replies(simple("OK"), error("ERR unknown command 'nosuch', with args beginning with: "),
                    simple("QUEUED"),
                    error("EXECABORT Transaction discarded because of previous errors."), nil));
    resp_send(fd, "MULTI\r\nZADD k 9 z\r\nDISCARD\r\nZSCORE k z\r\n");
    resp_expect(fd, replies(simple("OK"), simple("QUEUED"), simple("OK"), nil));
    resp_send(fd, "MULTI\r\nEXEC\r\nMULTI\r\nZCARD k\r\nEXEC\r\n");
    resp_expect(
        fd, replies(simple("OK"), empty_array, simple("OK"), simple("QUEUED"), array(integer(2))));
    resp_send(fd, "MULTI\r\nRUNG.SUBMIT k a 1\r\nEXEC\r\n");
    resp_expect(fd, replies(simple("OK"), error("ERR Command not allowed inside a transaction"),
                            error("EXECABORT Transaction discarded because of previous errors.")));
    resp_send(fd, "MULTI\r\nBZPOPMIN nokey 0\r\nBZPOPMIN k 0\r\nEXEC\r\n");
    resp_expect(fd, replies(simple("OK"), simple("QUEUED"), simple("QUEUED"),
                            array(nil_array, array(bulk("k"), bulk("a"), bulk("1")))));
    stop(fd);
}

TEST(a_pop_of_many_in_a_transaction) {
    int fd = start_plain();
    for (int i = 0; i < 600; i++) {
        char line[64];
        snprintf(line, sizeof line, "ZADD k %d m%03d\r\n", i, i);
        resp_send(fd, line);
        resp_expect(fd, integer(1));
    }
    resp_send(fd, "MULTI\r\nZPOPMIN k 550\r\nZCARD k\r\nEXEC\r\n");
    resp_expect(fd, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*1100\r\n");
    for (int i = 0; i < 550; i++) {
        char want[64];
        int digits = i < 10 ? 1 : i < 100 ? 2 : 3;
        snprintf(want, sizeof want, "$4\r\nm%03d\r\n$%d\r\n%d\r\n", i, digits, i);
        resp_expect(fd, want);
    }
    resp_expect(fd, integer(50));
    stop(fd);
}

TEST(watching) {
    int fd = start_plain(), other = resp_connect(&srv);
    resp_ask(fd, "ZADD k 1 a", integer(1));
    resp_ask(fd, "WATCH k", simple("OK"));
    resp_send(fd, "MULTI\r\nZADD k 2 a\r\nEXEC\r\n");
    resp_expect(fd, replies(simple("OK"), simple("QUEUED"), array(integer(0))));
    /* somebody else changes it */
    resp_ask(fd, "WATCH k", simple("OK"));
    resp_ask(other, "ZADD k 3 a", integer(0));
    resp_send(fd, "MULTI\r\nZADD k 4 a\r\nEXEC\r\nZSCORE k a\r\n");
    resp_expect(fd, replies(simple("OK"), simple("QUEUED"), nil_array, bulk("3")));
    /* EXEC, DISCARD and UNWATCH end it */
    resp_send(fd, "WATCH k\r\nUNWATCH\r\nZADD k 5 a\r\nMULTI\r\nZADD k 6 a\r\nEXEC\r\n");
    resp_expect(fd, replies(simple("OK"), simple("OK"), integer(0), simple("OK"), simple("QUEUED"),
                            array(integer(0))));
    /* one's own change counts, also when it is still under way */
    resp_send(fd, "WATCH k\r\nZADD k 7 a\r\nMULTI\r\nZADD k 8 a\r\nEXEC\r\nZSCORE k a\r\n");
    resp_expect(fd, replies(simple("OK"), integer(0), simple("OK"), simple("QUEUED"), nil_array,
                            bulk("7")));
    /* a key that is not there yet */
    resp_ask(fd, "WATCH new", simple("OK"));
    resp_ask(other, "ZADD new 1 a", integer(1));
    resp_send(fd, "MULTI\r\nPING\r\nWATCH k\r\nEXEC\r\n");
    resp_expect(fd, replies(simple("OK"), simple("QUEUED"),
                            error("ERR WATCH inside MULTI is not allowed"), nil_array));
    close(other);
    stop(fd);
}

/* Two clients add one to the same score with WATCH until each has done it 50 times: nothing is lost. */
static void *add_ones(void *ctx) {
    int fd = *(int *)ctx;
    for (int done = 0; done < 50;) {
        char text[64] = {0}, line[128];
        resp_send(fd, "WATCH n\r\nZSCORE n x\r\n");
        resp_expect(fd, "+OK\r\n$");
        size_t len = 0;
        while (len < 3 || strcmp(text + len - 2, "\r\n") != 0 || !strchr(text, '\n') ||
               strchr(text, '\n') == text + len - 1) {
            CHECK(len < sizeof text - 1 && recv(fd, text + len, 1, 0) == 1);
            len++;
        }
        int value = atoi(strchr(text, '\n') + 1);
        snprintf(line, sizeof line, "MULTI\r\nZADD n %d x\r\nEXEC\r\n", value + 1);
        resp_send(fd, line);
        resp_expect(fd, "+OK\r\n+QUEUED\r\n*");
        char c;
        CHECK(recv(fd, &c, 1, 0) == 1);
        if (c == '1') {
            resp_expect(fd, "\r\n:0\r\n");
            done++;
        } else {
            resp_expect(fd, "1\r\n");
        }
    }
    return NULL;
}

TEST(two_watchers) {
    char path[32];
    make_folder(path);
    int fd = start(&(resp_server_config){.path = path}), fds[2];
    pthread_t threads[2];
    resp_ask(fd, "ZADD n 0 x", integer(1));
    for (int i = 0; i < 2; i++) {
        fds[i] = resp_connect(&srv);
        CHECK(pthread_create(&threads[i], NULL, add_ones, &fds[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        close(fds[i]);
    }
    resp_ask(fd, "ZSCORE n x", bulk("100"));
    stop(fd);
    remove_folder(path);
}

RUNG_TEST_MAIN
