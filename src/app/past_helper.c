/* SPDX-License-Identifier: Apache-2.0 */
/* A helper's life: posix_spawn (which does not copy this process's page tables), `rung serve --as-of`, requests over
 * two unix sockets in a folder that only this user can enter, SIGKILL.
 *
 * The helper has no keys: who may ask was decided here. It cannot change anything: it has no log to write to. It gets
 * the settings that lead to the log, and nothing else of ours: neither the configuration file nor the environment.
 *
 * Threads: start, cut and end are the loop's; look and ask run in another thread, one at a time for each helper. */
#define _GNU_SOURCE
#include "app/past_helper.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "codec/json_reader.h"
#include "codec/resp_reply.h"
#include "model/calendar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ARGS_MAX = 128,
    SILENCE_MS = 20000, /* of a helper that was asked */
    ANSWER_MAX = 64 << 20,
    HEAD_MAX = 16 << 10,
    IOPRIO_IDLE = 3 << 13,
    IOPRIO_WHO_PROCESS = 1,
    FOLDER_TRIES = 8,
};

extern char **environ;

struct rung_helper {
    pid_t pid;
    char folder[64];
    int folder_fd;                /* locked as long as we live */
    int fds[RUNG_PAST_PROTOCOLS]; /* -1: not connected */
    rung_buffer in;
};

/* ---- starting ---- */

typedef struct words {
    char *word[ARGS_MAX];
    size_t count;
    char texts[16 << 10];
    size_t used;
    bool is_full;
    char archive[4096]; /* a variable of the environment: an address may have a password in it */
} words;

static void add(words *w, const char *text) {
    size_t len = strlen(text) + 1;
    if (w->count + 1 >= ARGS_MAX || len > sizeof w->texts - w->used) {
        w->is_full = true;
        return;
    }
    w->word[w->count++] = memcpy(w->texts + w->used, text, len);
    w->used += len;
}

static void add_flag(words *w, const char *flag, const char *value) {
    add(w, flag);
    add(w, value);
}

/* Where the log is, and what a command may cost. */
static bool is_passed_on(rung_setting_id id) {
    const char *name = rung_setting_table[id].name;
    return id == RUNG_SETTING_data || id == RUNG_SETTING_work_max || strcmp(name, "log") == 0 ||
           strncmp(name, "log.", 4) == 0;
}

static void add_settings(words *w, const rung_settings *set) {
    for (rung_setting_id i = 0; i < RUNG_SETTING_COUNT; i++)
        if (is_passed_on(i) && set->sources[i] != RUNG_SETTING_FROM_DEFAULT)
            add_flag(w, rung_setting_table[i].flag, set->texts[i]);
}

static void clear(words *w) {
    w->count = w->used = 0;
    w->is_full = false;
    w->archive[0] = '\0';
}

static void add_archive(words *w, const rung_settings *set) {
    const char *archive = set->archive;
    if (archive && strcmp(archive, "off") == 0)
        add_flag(w, "--archive", "off");
    else if (archive && (size_t)snprintf(w->archive, sizeof w->archive, "RUNG_ARCHIVE=%s",
                                         archive) >= sizeof w->archive)
        w->is_full = true;
}

static void write_words(words *w, const rung__past_helpers *all, const rung_helper *h,
                        const rung_moment *moment) {
    char text[PATH_MAX];
    add(w, "rung");
    add(w, "serve");
    add_settings(w, all->settings);
    if (moment->seq)
        snprintf(text, sizeof text, "%llu", (unsigned long long)moment->seq);
    else
        text[rung_time_format(moment->time_ms, text)] = '\0';
    add_flag(w, "--as-of", text);
    if (moment->since_ms) {
        snprintf(text, sizeof text, "%llds", (long long)moment->since_ms / 1000);
        add_flag(w, "--as-of-since", text);
    }
    snprintf(text, sizeof text, "%ld", (long)getpid());
    add_flag(w, "--as-of-parent", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)all->memory_max);
    add_flag(w, "--memory-max", all->memory_max ? text : "off");
    snprintf(text, sizeof text, "unix:%s/http", h->folder);
    add_flag(w, "--http", text);
    snprintf(text, sizeof text, "unix:%s/resp", h->folder);
    add_flag(w, "--resp", text);
    snprintf(text, sizeof text, "%s/no-keys", h->folder);
    add_flag(w, "--keys", text);
    add_flag(w, "--allow-no-keys", "on");
    add_archive(w, all->settings);
    add_flag(w, "--limits-connections", "16");
    add_flag(w, "--limits-idle-timeout", "24h");
    add_flag(w, "--gzip", "off");
    add_flag(w, "--logging-level", "error");
    w->word[w->count] = NULL;
}

/* Without our settings, and without our keys. */
static void clean_environment(words *w, char **out, size_t max) {
    size_t count = 0;
    if (w->archive[0])
        out[count++] = w->archive;
    for (char **e = environ; *e && count + 1 < max; e++)
        if (strncmp(*e, "RUNG_", 5) != 0)
            out[count++] = *e;
    out[count] = NULL;
}

/* `input` becomes its standard input, `output` its standard output; -1: none. */
static int spawn(pid_t *pid_out, words *w, int input, int output) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    char *env[1024];
    clean_environment(w, env, sizeof env / sizeof env[0]);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    if (input >= 0)
        posix_spawn_file_actions_adddup2(&files, input, 0);
    else
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    if (output >= 0)
        posix_spawn_file_actions_adddup2(&files, output, 1);
    else
        posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int failure = posix_spawn(pid_out, "/proc/self/exe", &files, &attributes, w->word, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failure;
}

/* ---- folders ---- */

#define FOLDER_NAME "rung-past-"

static const char *folder_of_folders(void) {
    const char *where = getenv("TMPDIR");
    return !where || !*where || strlen(where) > 32 ? "/tmp" : where;
}

static void remove_folder(const char *folder) {
    static const char *const names[] = {"http", "resp"};
    char path[96];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* The folder, locked. -1: it is somebody else's, or gone. */
static int lock_folder(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat ours, there;
    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 && ours.st_uid == geteuid() &&
        stat(folder, &there) == 0 && ours.st_ino == there.st_ino)
        return fd;
    close(fd);
    return -1;
}

/* A server that was killed leaves its folders; nobody has them locked. */
static void remove_left_folders(void) {
    const char *where = folder_of_folders();
    char folder[64];
    DIR *dir = opendir(where);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, FOLDER_NAME, sizeof FOLDER_NAME - 1) != 0 ||
            (size_t)snprintf(folder, sizeof folder, "%s/%.28s", where, e->d_name) >= sizeof folder)
            continue;
        int fd = lock_folder(folder);
        if (fd < 0)
            continue;
        remove_folder(folder);
        close(fd);
    }
    if (dir)
        closedir(dir);
}

static void leave_folder(const rung_helper *h) {
    remove_folder(h->folder);
    close(h->folder_fd);
}

/* Another server that starts may take a new folder for a left one, and remove it before it is locked. */
static rung_status make_folder(rung_helper *h, rung_err *err) {
    for (int i = 0; i < FOLDER_TRIES; i++) {
        snprintf(h->folder, sizeof h->folder, "%s/" FOLDER_NAME "XXXXXX", folder_of_folders());
        if (!mkdtemp(h->folder))
            break;
        h->folder_fd = lock_folder(h->folder);
        if (h->folder_fd >= 0)
            return RUNG_OK;
    }
    return RUNG_FAIL_OS(err, RUNG_EIO, errno, "no folder %s for a helper: %s", h->folder,
                        strerror(errno));
}

static void free_helper(rung_helper *h) {
    for (size_t i = 0; i < RUNG_PAST_PROTOCOLS; i++)
        if (h->fds[i] >= 0)
            close(h->fds[i]);
    rung_buffer_deinit(&h->in);
    rung_alloc_free(rung_alloc_heap(), h, sizeof *h);
}

static rung_status start(void *ctx, const rung_moment *moment, rung_helper **out, rung_err *err) {
    const rung__past_helpers *all = ctx;
    static words w; /* large; the loop's thread */
    rung_helper *h = rung_alloc_zeroed(rung_alloc_heap(), sizeof *h);
    if (!h)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    h->in = (rung_buffer){.alloc = rung_alloc_heap(), .limit = ANSWER_MAX + HEAD_MAX};
    for (size_t i = 0; i < RUNG_PAST_PROTOCOLS; i++)
        h->fds[i] = -1;
    rung_status st = make_folder(h, err);
    if (st < 0) {
        free_helper(h);
        return st;
    }
    clear(&w);
    write_words(&w, all, h, moment);
    int failure = w.is_full ? E2BIG : spawn(&h->pid, &w, -1, -1);
    if (failure) {
        leave_folder(h);
        free_helper(h);
        return RUNG_FAIL_OS(err, RUNG_EIO, failure, "a helper cannot be started: %s",
                            strerror(failure));
    }
    *out = h;
    return RUNG_OK;
}

int rung__helper_spawn(const rung_settings *set, uint64_t memory_max, int input, pid_t *pid_out) {
    static words w; /* large; the loop's thread */
    char text[32];
    clear(&w);
    add(&w, "rung");
    add(&w, "serve");
    add_settings(&w, set);
    add_flag(&w, "--as-of", "1");
    snprintf(text, sizeof text, "%ld", (long)getpid());
    add_flag(&w, "--as-of-parent", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)memory_max);
    add_flag(&w, "--memory-max", memory_max ? text : "off");
    add_flag(&w, "--http", "off");
    add_flag(&w, "--resp", "off");
    add_flag(&w, "--logging-level", "error");
    w.word[w.count] = NULL;
    return w.is_full ? E2BIG : spawn(pid_out, &w, input, -1);
}

int rung__helper_reconcile(const rung_settings *set, uint64_t memory_max, uint64_t seq,
                           const char *digest, int output, pid_t *pid_out) {
    static words w; /* large; the loop's thread */
    char text[64];
    clear(&w);
    add(&w, "rung");
    add(&w, "reconcile");
    add(&w, set->data);
    add(&w, "--json");
    snprintf(text, sizeof text, "%ld", (long)getpid());
    add_flag(&w, "--parent", text);
    snprintf(text, sizeof text, "%llu:%s", (unsigned long long)seq, digest);
    add_flag(&w, "--digest", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)memory_max);
    if (memory_max)
        add_flag(&w, "--memory-max", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)set->archive_keep_ms / 1000);
    if (set->archive_keep_ms >= 1000)
        add_flag(&w, "--archive-keep", text);
    add_archive(&w, set);
    w.word[w.count] = NULL;
    return w.is_full ? E2BIG : spawn(pid_out, &w, -1, output);
}

/* ---- ending ---- */

/* Without taking note of it: until end() does, nobody else gets its number. */
static bool is_over(const rung_helper *h) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)h->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}

static void cut(rung_helper *h) {
    kill(h->pid, SIGKILL);
}

static void end(rung_helper *h) {
    kill(h->pid, SIGKILL);
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    leave_folder(h);
    free_helper(h);
}

/* ---- bytes ---- */

static rung_status lost(rung_err *err) {
    return RUNG_FAIL(err, RUNG_EIO, "the helper for that moment has ended");
}

static bool open_connection(rung_helper *h, rung_past_protocol protocol) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", h->folder,
             protocol == RUNG_PAST_HTTP ? "http" : "resp");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return false;
    }
    h->fds[protocol] = fd;
    return true;
}

static void close_connection(rung_helper *h, rung_past_protocol protocol) {
    close(h->fds[protocol]);
    h->fds[protocol] = -1;
}

static bool send_all(int fd, rung_slice bytes) {
    size_t sent = 0;
    while (sent < bytes.len) {
        ssize_t n = send(fd, bytes.ptr + sent, bytes.len - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

/* More bytes of the answer. False: there are none, or too many. */
static bool receive(rung_helper *h, int fd) {
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&wait, 1, SILENCE_MS);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0 || !rung_buffer_reserve(&h->in, 1 << 16))
        return false;
    ssize_t n;
    do
        n = recv(fd, h->in.data + h->in.len, 1 << 16, 0);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    h->in.len += (size_t)n;
    return true;
}

/* ---- HTTP ---- */

/* The value of a header that our own server writes. */
static const char *find_header(const char *head, const char *name) {
    const char *at = strcasestr(head, name);
    return at ? at + strlen(name) : NULL;
}

/* RUNG_OK: the answer is complete. RUNG_PARTIAL: it is not. */
static rung_status parse_http(rung_helper *h, rung_helper_answer *out) {
    char head[HEAD_MAX + 1];
    const char *ends = memmem(h->in.data, h->in.len, "\r\n\r\n", 4);
    if (!ends)
        return h->in.len > HEAD_MAX ? RUNG_EIO : RUNG_PARTIAL;
    size_t head_len = (size_t)(ends + 4 - (const char *)h->in.data);
    if (head_len > HEAD_MAX)
        return RUNG_EIO;
    memcpy(head, h->in.data, head_len);
    head[head_len] = '\0';
    const char *length = find_header(head, "\r\ncontent-length:");
    if (strncmp(head, "HTTP/1.1 ", 9) != 0 || !length)
        return RUNG_EIO;
    size_t body = strtoull(length, NULL, 10);
    if (body > ANSWER_MAX)
        return RUNG_EIO;
    if (h->in.len < head_len + body)
        return RUNG_PARTIAL;
    out->status = (int)strtol(head + 9, NULL, 10);
    out->bytes = rung_slice_of(h->in.data + head_len, body);
    return RUNG_OK;
}

static rung_status ask_http(rung_helper *h, rung_slice request, rung_helper_answer *out,
                            rung_err *err) {
    static const char tail[] = "Host: localhost\r\n\r\n";
    int fd = h->fds[RUNG_PAST_HTTP];
    h->in.len = 0;
    bool is_sent = send_all(fd, RUNG_SLICE("GET ")) && send_all(fd, request) &&
                   send_all(fd, rung_slice_of(tail, sizeof tail - 1));
    rung_status st = RUNG_PARTIAL;
    while (is_sent && st == RUNG_PARTIAL)
        st = receive(h, fd) ? parse_http(h, out) : RUNG_EIO;
    if (st == RUNG_OK)
        return st;
    close_connection(h, RUNG_PAST_HTTP);
    return lost(err);
}

/* ---- the Redis protocol ---- */

static rung_status ask_resp(rung_helper *h, rung_past_protocol protocol, rung_slice command,
                            rung_helper_answer *out, rung_err *err) {
    rung_resp_reply reply = {0};
    size_t len = 0;
    h->in.len = 0;
    bool is_sent = send_all(h->fds[protocol], command);
    rung_status st = RUNG_PARTIAL;
    while (is_sent && st == RUNG_PARTIAL)
        st = receive(h, h->fds[protocol])
                 ? rung_resp_reply_end(&reply, rung_slice_of(h->in.data, h->in.len), &len)
                 : RUNG_EIO;
    if (st == RUNG_OK) {
        *out = (rung_helper_answer){.bytes = rung_slice_of(h->in.data, len)};
        return st;
    }
    close_connection(h, protocol);
    return lost(err);
}

/* ---- looking ---- */

/* What a problem of our own server says: flat members, and those of `progress`. */
typedef struct problem {
    rung_slice code, field, detail, reading;
    int64_t done, total;
} problem;

/* Members in texts and in numbers; others are skipped. */
static rung_status read_member(rung_json *r, rung_slice key, problem *out) {
    const struct {
        rung_slice key;
        rung_slice *text;
        int64_t *number;
    } members[] = {
        {RUNG_SLICE("code"), &out->code, NULL},     {RUNG_SLICE("field"), &out->field, NULL},
        {RUNG_SLICE("detail"), &out->detail, NULL}, {RUNG_SLICE("reading"), &out->reading, NULL},
        {RUNG_SLICE("done"), NULL, &out->done},     {RUNG_SLICE("total"), NULL, &out->total},
    };
    rung_json_kind kind = rung_json_peek(r);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (!rung_slice_eq(key, members[i].key))
            continue;
        if (members[i].text && kind == RUNG_JSON_STRING)
            return rung_json_string(r, members[i].text);
        if (members[i].number && kind == RUNG_JSON_NUMBER)
            return rung_json_int64(r, members[i].number);
    }
    return rung_json_skip(r, NULL);
}

static rung_status read_members(rung_json *r, problem *out) {
    rung_slice key;
    rung_status st = rung_json_enter_object(r);
    while (st == RUNG_OK && (st = rung_json_next_key(r, &key)) == RUNG_OK) {
        if (rung_slice_eq(key, RUNG_SLICE("progress")) && rung_json_peek(r) == RUNG_JSON_OBJECT)
            st = read_members(r, out);
        else
            st = read_member(r, key, out);
    }
    return st == RUNG_NOT_FOUND ? RUNG_OK : st;
}

/* The texts are in the body. */
static rung_status read_problem(rung_slice body, problem *out, rung_err *err) {
    static __thread rung_json reader;
    rung_json_init(&reader, (char *)(uintptr_t)body.ptr, body.len, err);
    rung_status st = read_members(&reader, out);
    return st < 0 ? st : rung_json_end(&reader);
}

/* First the snapshot is read, then the log. */
static uint32_t percent_of(const problem *p) {
    uint32_t part = p->total > 0 && p->done >= 0 && p->done <= p->total
                        ? (uint32_t)(50.0 * (double)p->done / (double)p->total)
                        : 0;
    return rung_slice_eq(p->reading, RUNG_SLICE("log"))        ? 50 + part
           : rung_slice_eq(p->reading, RUNG_SLICE("snapshot")) ? part
                                                               : 0;
}

static const struct {
    const char *code;
    rung_status status;
    rung_reason reason;
} failures[] = {
    {"as_of_too_old", RUNG_EABSENT, RUNG_REASON_TOO_OLD},
    {"invalid", RUNG_EINVAL, RUNG_REASON_NONE},
    {"out_of_range", RUNG_ERANGE, RUNG_REASON_NONE},
    {"out_of_memory", RUNG_ENOMEM, RUNG_REASON_NONE},
    {"refused", RUNG_EREFUSED, RUNG_REASON_READ_ONLY},
};

static void put_text(char *out, size_t size, rung_slice text) {
    snprintf(out, size, "%.*s", (int)text.len, text.ptr ? text.ptr : "");
}

/* The problem that the helper tells is ours. */
static rung_status take_failure(const problem *p, rung_err *err) {
    rung_status st = RUNG_EIO;
    rung_err found = {.where = RUNG_HERE};
    put_text(found.field, sizeof found.field, p->field);
    put_text(found.message, sizeof found.message, p->detail);
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
        if (rung_slice_eq(p->code, rung_slice_str(failures[i].code))) {
            st = failures[i].status;
            found.reason = failures[i].reason;
        }
    found.code = st;
    *err = found;
    return st;
}

static rung_status look(rung_helper *h, uint32_t *percent_out, rung_err *err) {
    rung_helper_answer answer;
    problem p = {0};
    if (h->fds[RUNG_PAST_HTTP] < 0 && !open_connection(h, RUNG_PAST_HTTP))
        return is_over(h) ? lost(err) : RUNG_PARTIAL; /* it does not listen yet */
    rung_status st = ask_http(h, RUNG_SLICE("/readyz HTTP/1.1\r\n"), &answer, err);
    if (st < 0)
        return is_over(h) ? st : RUNG_PARTIAL;
    if (answer.status == 200)
        return RUNG_OK;
    st = read_problem(answer.bytes, &p, err);
    if (st < 0)
        return st;
    if (!rung_slice_eq(p.code, RUNG_SLICE("not_ready")))
        return take_failure(&p, err);
    *percent_out = percent_of(&p);
    return RUNG_PARTIAL;
}

static rung_status ask(rung_helper *h, rung_past_protocol protocol, rung_slice request,
                       rung_helper_answer *out, rung_err *err) {
    bool is_new = h->fds[protocol] < 0;
    if (is_new && !open_connection(h, protocol))
        return lost(err);
    if (protocol == RUNG_PAST_HTTP)
        return ask_http(h, request, out, err);
    if (is_new && protocol == RUNG_PAST_RESP3) {
        rung_status st = ask_resp(h, protocol, RUNG_SLICE("HELLO 3\r\n"), out, err);
        if (st < 0)
            return st;
    }
    return ask_resp(h, protocol, request, out, err);
}

void rung__past_helpers_init(rung__past_helpers *h, const rung_settings *settings,
                             uint64_t memory_max) {
    *h = (rung__past_helpers){
        .settings = settings,
        .memory_max = memory_max,
        .port = {.start = start, .look = look, .ask = ask, .cut = cut, .end = end, .ctx = h}};
    remove_left_folders();
}

/* ---- in the helper ---- */

/* A sandbox may forbid to change priorities; then it has ours. */
bool rung__past_helper_settle(uint64_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)!setpriority(PRIO_PROCESS, 0, 19);
    (void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
    return (uint64_t)getppid() == parent;
}
