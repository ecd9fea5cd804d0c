/* SPDX-License-Identifier: Apache-2.0 */
/* The file of keys: changed whole or not at all, by one at a time, and never taken for "no keys" when it is damaged. */
#include "guard/keys_file.h"
#include "support/check.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[80];

static void make_folder(void) {
    snprintf(folder, sizeof folder, "/tmp/rung-keys-XXXXXX");
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/keys", folder);
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_EQ_I64(system(command), 0);
}

static rung_status add_key(void *ctx, const rung_keys *keys, rung_keys **keys_out, rung_err *err) {
    rung_key key = {.role = RUNG_ROLE_READ, .id = rung_slice_str(ctx), .created_ms = 1};
    return rung_keys_add(keys, &key, keys_out, err);
}

static rung_status change(const char *id, rung_err *err) {
    char copy[32];
    snprintf(copy, sizeof copy, "%s", id);
    return rung_keys_file_change(NULL, rung_alloc_heap(), path, add_key, copy, err);
}

static size_t count(void) {
    rung_keys *keys;
    rung_err err = {0};
    rung_status st = rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err);
    if (st == RUNG_NOT_FOUND)
        return 0;
    CHECK_MSG(st == RUNG_OK, "%s", err.message);
    size_t n = rung_keys_count(keys);
    rung_keys_destroy(keys);
    return n;
}

static void write_file(const char *text, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(fchmod(fd, mode) == 0);
    close(fd);
}

TEST(made_and_changed) {
    make_folder();
    rung_file_stamp none, first, second;
    struct stat s;
    CHECK_EQ_U64(count(), 0);
    CHECK_STATUS(rung_keys_file_stamp(NULL, path, &none, NULL), RUNG_NOT_FOUND);
    CHECK_OK(change("one", NULL));
    CHECK_EQ_U64(count(), 1);
    CHECK_OK(rung_keys_file_stamp(NULL, path, &first, NULL));
    CHECK(!rung_keys_stamp_eq(&none, &first));
    CHECK(stat(path, &s) == 0);
    CHECK_EQ_U64(s.st_mode & 07777, 0600);
    CHECK_OK(change("two", NULL));
    CHECK_EQ_U64(count(), 2);
    CHECK_OK(rung_keys_file_stamp(NULL, path, &second, NULL));
    CHECK(!rung_keys_stamp_eq(&first, &second));
    rung_err err;
    CHECK_STATUS(change("two", &err), RUNG_EEXIST);
    CHECK_EQ_U64(count(), 2);
    remove_folder();
}

TEST(not_readable_by_others) {
    static const mode_t bad[] = {0604, 0602, 0601, 0620, 0666, 0777};
    rung_keys *keys;
    rung_err err;
    make_folder();
    CHECK_OK(change("one", NULL));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(chmod(path, bad[i]) == 0);
        CHECK_STATUS(rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err),
                     RUNG_EREFUSED);
        CHECK(strstr(err.message, "chmod 600"));
        CHECK_STATUS(change("two", &err), RUNG_EREFUSED);
    }
    CHECK(chmod(path, 0640) == 0); /* a group may read: a backup's user, say */
    CHECK_EQ_U64(count(), 1);
    remove_folder();
}

TEST(empty_damaged_and_strange_files) {
    rung_keys *keys = NULL;
    rung_err err;
    make_folder();
    write_file("", 0600);
    CHECK_STATUS(rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err),
                 RUNG_ECORRUPT);
    CHECK_STATUS(change("one", &err), RUNG_ECORRUPT);
    write_file("rung-keys 1\n", 0600);
    CHECK_STATUS(rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err),
                 RUNG_ECORRUPT);
    CHECK_MSG(strstr(err.message, path), "%s", err.message);
    write_file("rung-keys 9\nend 00000000\n", 0600);
    CHECK_STATUS(rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err),
                 RUNG_EVERSION);
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    CHECK_STATUS(rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err),
                 RUNG_EREFUSED);
    CHECK(rmdir(path) == 0 && mkfifo(path, 0600) == 0);
    CHECK_STATUS(rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err),
                 RUNG_EREFUSED);
    remove_folder();
}

TEST(paths_that_cannot_be) {
    rung_err err;
    CHECK_STATUS(rung_keys_file_change(NULL, rung_alloc_heap(), "/tmp/", add_key, NULL, &err),
                 RUNG_EINVAL);
    CHECK_STATUS(rung_keys_file_change(NULL, rung_alloc_heap(), "", add_key, NULL, &err),
                 RUNG_EINVAL);
    CHECK_STATUS(rung_keys_file_change(NULL, rung_alloc_heap(), "/tmp/no-such-folder-of-ours/keys",
                                       add_key, NULL, &err),
                 RUNG_EIO);
}

TEST(a_file_in_the_working_folder) {
    char id[] = "one";
    make_folder();
    CHECK(chdir(folder) == 0);
    CHECK_OK(rung_keys_file_change(NULL, rung_alloc_heap(), "keys", add_key, id, NULL));
    CHECK_EQ_U64(count(), 1);
    CHECK(chdir("/") == 0);
    remove_folder();
}

TEST(what_a_crash_left_is_taken_away) {
    char temporary[96];
    make_folder();
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    CHECK_OK(change("one", NULL));
    CHECK(symlink("/etc/passwd", temporary) == 0);
    CHECK_OK(change("two", NULL));
    CHECK_EQ_U64(count(), 2);
    CHECK(access(temporary, F_OK) != 0);
    remove_folder();
}

/* No room: the file stays as it was. The limit on file sizes stands for a full disk. */
TEST(a_write_that_fails_changes_nothing) {
    make_folder();
    CHECK_OK(change("one", NULL));
    struct rlimit limit = {64, 64};
    rung_err err = {0};
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CHECK_STATUS(change("two", &err), RUNG_EIO);
    CHECK_EQ_U64(count(), 1);
    char temporary[96];
    snprintf(temporary, sizeof temporary, "%s.tmp", path);
    CHECK(access(temporary, F_OK) != 0);
    remove_folder();
}

/* Many processes add keys at once: none is lost. */
TEST(one_after_the_other) {
    enum { PROCESSES = 4, EACH = 10 };
    make_folder();
    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            for (int i = 0; i < EACH; i++) {
                char id[32];
                snprintf(id, sizeof id, "key-%d-%d", p, i);
                if (change(id, NULL) != RUNG_OK)
                    _exit(1);
            }
            _exit(0);
        }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK_EQ_U64(count(), PROCESSES * EACH);
    remove_folder();
}

RUNG_TEST_MAIN
