/* SPDX-License-Identifier: Apache-2.0 */
/* The port on real files, and the log on top of it: the same promises with the operating system below. */
#include "journal/file.h"
#include "support/check.h"
#include "support/logkit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void make_folder(char path[64]) {
    snprintf(path, 64, "/tmp/rung-test-file-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
}

static void remove_name(void *arg, const char *name) {
    rung_ignore(rung_dir_unlink(arg, name, NULL), "it is gone either way");
}

static void remove_folder(const char *path) {
    rung_dir d;
    CHECK_OK(rung_dir_open(&d, rung_fs_posix(), path, false, NULL));
    CHECK_OK(rung_dir_list(&d, remove_name, &d, NULL));
    rung_dir_close(&d);
    CHECK(rmdir(path) == 0);
}

TEST(files_do_what_the_port_says) {
    char path[64];
    make_folder(path);
    rung_dir d;
    rung_file f, g;
    rung_err err;
    uint64_t size;
    size_t got;
    char text[16] = {0};
    CHECK_STATUS(rung_dir_open(&d, rung_fs_posix(), "/nowhere/at/all", true, &err), RUNG_EIO);
    CHECK_EQ_U64(err.os_errno, ENOENT);
    CHECK_OK(rung_dir_open(&d, rung_fs_posix(), path, true, &err));
    CHECK_STATUS(rung_file_open(&f, &d, "a", RUNG_FILE_READ, &err), RUNG_NOT_FOUND);
    CHECK_OK(rung_file_open(&f, &d, "a", RUNG_FILE_EXCLUSIVE, &err));
    CHECK_STATUS(rung_file_open(&g, &d, "a", RUNG_FILE_EXCLUSIVE, &err), RUNG_EEXIST);
    CHECK_OK(rung_file_reserve(&f, 8192, &err));
    CHECK_OK(rung_file_size(&f, &size, &err));
    CHECK_EQ_U64(size, 8192);
    CHECK_OK(rung_file_write_zeros(&f, 0, 3 << 20, &err));
    CHECK_OK(rung_file_write(&f, "hello", 5, 100, &err));
    rung_file_forget(&f, 0, 3 << 20); /* nothing is on the disk yet: nothing is forgotten */
    CHECK_OK(rung_file_datasync(&f, &err));
    rung_file_forget(&f, 0, 3 << 20);
    CHECK_OK(rung_file_truncate(&f, 105, &err));
    CHECK_OK(rung_file_read(&f, text, sizeof text, 100, &got, &err));
    CHECK_EQ_U64(got, 5);
    CHECK_EQ_STR(text, "hello");
    CHECK_OK(rung_file_lock(&f, &err));
    CHECK_OK(rung_file_open(&g, &d, "a", RUNG_FILE_WRITE, &err));
    CHECK_STATUS(rung_file_lock(&g, &err), RUNG_EBUSY);
    rung_file_close(&f);
    CHECK_OK(rung_file_lock(&g, &err));
    rung_file_close(&g);
    CHECK_OK(rung_dir_link(&d, "a", &d, "b", &err));
    CHECK_OK(rung_dir_rename(&d, "b", "c", &err));
    CHECK_OK(rung_file_replace(&d, "c", "new", 3, &err));
    CHECK_OK(rung_dir_sync(&d, &err));
    CHECK_STATUS(rung_dir_unlink(&d, "b", &err), RUNG_NOT_FOUND);
    CHECK_STATUS(rung_dir_unlink(&d, "a", &err), RUNG_OK);
    rung_dir_close(&d);
    rung_dir_close(&d);
    remove_folder(path);
}

static rung_segment_log_config config_at(const char *path) {
    return (rung_segment_log_config){
        .fs = rung_fs_posix(), .alloc = rung_alloc_heap(), .path = path, .segment_size = 1 << 16};
}

TEST(a_log_on_real_files) {
    char path[64];
    make_folder(path);
    rung_segment_log_config config = config_at(path);
    rung_err err;
    uint64_t next = 1, first, last;
    for (int run = 0; run < 3; run++) {
        rung_segment_log *log;
        rung_status st = logkit_open(&config, true, &log, &err);
        CHECK_MSG(st == RUNG_OK, "%s", err.message);
        for (int i = 0; i < 30; i++, next += 20) {
            CHECK_OK(logkit_append(log, next, 20, &err));
            CHECK(rung_segment_log_maintain(log, false, &err) >= 0);
        }
        CHECK_OK(logkit_read(log, &first, &last, &err));
        CHECK_EQ_U64(last, next - 1);
        CHECK_OK(rung_segment_log_close(log, &err));
    }
    remove_folder(path);
}

/* Another process is told by number who holds the folder; a killed process leaves all it acknowledged. */
TEST(a_killed_process_loses_nothing_it_acknowledged) {
    char path[64];
    make_folder(path);
    rung_segment_log_config config = config_at(path);
    rung_err err = {0};
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        rung_segment_log *log;
        if (logkit_open(&config, true, &log, &err) != RUNG_OK)
            _exit(3);
        for (uint64_t seq = 1;; seq += 3)
            if (logkit_append(log, seq, 3, &err) != RUNG_OK ||
                write(pipes[1], &seq, sizeof seq) != sizeof seq)
                _exit(4);
    }
    close(pipes[1]);
    uint64_t acked = 0, first, last;
    rung_segment_log *log;
    while (acked < 300)
        CHECK(read(pipes[0], &acked, sizeof acked) == sizeof acked);
    CHECK_STATUS(rung_segment_log_open(&config, &log, &err), RUNG_EBUSY);
    char want[32];
    snprintf(want, sizeof want, "(pid %ld)", (long)child);
    CHECK_MSG(strstr(err.message, want), "%s", err.message);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    uint64_t more;
    while (read(pipes[0], &more, sizeof more) == sizeof more)
        acked = more;
    close(pipes[0]);
    CHECK_OK(logkit_open(&config, true, &log, &err));
    CHECK_OK(logkit_read(log, &first, &last, &err));
    CHECK(last >= acked + 2);
    CHECK_OK(rung_segment_log_close(log, &err));
    remove_folder(path);
}

RUNG_TEST_MAIN
