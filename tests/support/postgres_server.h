/* SPDX-License-Identifier: Apache-2.0 */
/* postgres_server.h - a PostgreSQL server of the test's own: in a temporary folder, on a Unix socket, without fsync.
 *
 *     static postgres_server server;
 *     int main(int argc, char **argv) {
 *         postgres_server_init(&server);                    // once for all tests, which are children
 *         int code = test_main(argc, argv);
 *         postgres_server_deinit(&server);
 *         return code;
 *     }
 *     TEST(x) { postgres_server_need(&server); postgres_server_url(&server, "", url); ... }
 *
 * It ends with the process that started it. PostgreSQL refuses to run as root: then it runs as postgres or nobody.
 * Inline: only tests that link archive (libpq) may use it. */
#ifndef RUNG_TESTS_POSTGRES_SERVER_H
#define RUNG_TESTS_POSTGRES_SERVER_H

#include "support/check.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct postgres_server {
    char bin[256]; /* "": PostgreSQL is not installed */
    char dir[64], data[96];
    uid_t uid;
    gid_t gid;
    pid_t pid; /* 0: not running */
} postgres_server;

enum { POSTGRES_URL_MAX = 300 };

/* Start a program of PostgreSQL; its output goes to a file in the folder. */
static inline pid_t postgres_server_exec(const postgres_server *s, const char *program,
                                         char *const args[]) {
    char path[300], log[96];
    snprintf(path, sizeof path, "%s/%s", s->bin, program);
    snprintf(log, sizeof log, "%s/log", s->dir);
    pid_t parent = getpid(), pid = fork();
    CHECK(pid >= 0);
    if (pid)
        return pid;
    if (geteuid() == 0 && (setgid(s->gid) != 0 || setuid(s->uid) != 0))
        _exit(99);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600), null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(fd, 1);
    dup2(fd, 2);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (getppid() != parent || chdir(s->dir) != 0)
        _exit(98);
    setenv("LC_ALL", "C", 1);
    execv(path, args);
    _exit(97);
}

static inline void postgres_server_url(const postgres_server *s, const char *parameters,
                                       char out[POSTGRES_URL_MAX]) {
    snprintf(out, POSTGRES_URL_MAX, "postgres://rung:secret@/postgres?host=%s%s%s", s->dir,
             parameters[0] ? "&" : "", parameters);
}

/* Start it again, after postgres_server_kill(), and wait until it takes connections. */
static inline void postgres_server_start(postgres_server *s) {
    char url[POSTGRES_URL_MAX];
    char *args[] = {(char *)"postgres",
                    (char *)"-D",
                    s->data,
                    (char *)"-k",
                    s->dir,
                    (char *)"-c",
                    (char *)"listen_addresses=",
                    (char *)"-c",
                    (char *)"fsync=off",
                    (char *)"-c",
                    (char *)"full_page_writes=off",
                    (char *)"-c",
                    (char *)"shared_buffers=16MB",
                    (char *)"-c",
                    (char *)"max_connections=40",
                    NULL};
    postgres_server_url(s, "connect_timeout=5", url);
    for (int i = 0; i < 3000; i++) {
        int status;
        /* after a kill it does not start before the last child of the one before has ended */
        if (!s->pid)
            s->pid = postgres_server_exec(s, "postgres", args);
        if (PQping(url) == PQPING_OK)
            return;
        if (waitpid(s->pid, &status, WNOHANG) == s->pid)
            s->pid = 0;
        usleep(10000);
    }
    test_fail(__FILE__, __LINE__, "PostgreSQL does not start: see %s/log", s->dir);
}

static inline void postgres_server_kill(postgres_server *s, int signal) {
    if (s->pid) {
        kill(s->pid, signal);
        waitpid(s->pid, NULL, 0);
    }
    s->pid = 0;
}

/* Run statements as the superuser. */
static inline void postgres_server_sql(const postgres_server *s, const char *sql) {
    char url[POSTGRES_URL_MAX];
    postgres_server_url(s, "user=boss", url);
    PGconn *c = PQconnectdb(url);
    PGresult *r = PQexec(c, sql);
    ExecStatusType status = PQresultStatus(r);
    CHECK_MSG(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "%s: %s", sql,
              PQerrorMessage(c));
    PQclear(r);
    PQfinish(c);
}

/* The first value of the first row, as the superuser. */
static inline int64_t postgres_server_int(const postgres_server *s, const char *sql) {
    char url[POSTGRES_URL_MAX];
    postgres_server_url(s, "user=boss", url);
    PGconn *c = PQconnectdb(url);
    PGresult *r = PQexec(c, sql);
    CHECK_MSG(PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) > 0, "%s: %s", sql,
              PQerrorMessage(c));
    int64_t n = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    PQfinish(c);
    return n;
}

static inline void postgres_server_init(postgres_server *s) {
    glob_t found = {0};
    *s = (postgres_server){.uid = geteuid(), .gid = getegid()};
    if (glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &found) == 0 ||
        glob("/usr/bin/initdb", 0, NULL, &found) == 0)
        snprintf(s->bin, sizeof s->bin, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    if (!s->bin[0])
        return;
    *strrchr(s->bin, '/') = '\0';
    const struct passwd *p = getpwnam("postgres") ? getpwnam("postgres") : getpwnam("nobody");
    if (geteuid() == 0) {
        CHECK(p != NULL);
        s->uid = p->pw_uid;
        s->gid = p->pw_gid;
    }
    snprintf(s->dir, sizeof s->dir, "/tmp/rung-postgres-XXXXXX");
    CHECK(mkdtemp(s->dir) != NULL);
    snprintf(s->data, sizeof s->data, "%s/data", s->dir);
    CHECK(chown(s->dir, s->uid, s->gid) == 0);
    char *args[] = {(char *)"initdb",    (char *)"-D",         s->data,
                    (char *)"--no-sync", (char *)"-U",         (char *)"boss",
                    (char *)"-A",        (char *)"trust",      (char *)"-E",
                    (char *)"UTF8",      (char *)"--locale=C", NULL};
    int status;
    pid_t pid = postgres_server_exec(s, "initdb", args);
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK_MSG(status == 0, "initdb failed: see %s/log", s->dir);
    postgres_server_start(s);
    postgres_server_sql(s, "CREATE ROLE rung LOGIN; GRANT CREATE ON DATABASE postgres TO rung");
}

static inline int postgres_server_remove(const char *path, const struct stat *st, int type,
                                         struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline void postgres_server_deinit(postgres_server *s) {
    if (!s->bin[0])
        return;
    postgres_server_kill(s, SIGQUIT);
    nftw(s->dir, postgres_server_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Skip the test where PostgreSQL is not installed. */
static inline void postgres_server_need(const postgres_server *s) {
    if (!s->bin[0])
        test_skip("PostgreSQL is not installed");
}

#endif
