/* SPDX-License-Identifier: Apache-2.0 */
/* The servers may be at work. So a question goes to the first, then to the second from the first's sequence on
 * (min_seq), then to the first from the second's on. What is the same in both answers of the first was so at every
 * sequence between, and so at the second's: if the second's answer differs, the states do. What changed in between is
 * asked for again; what never stands still stays undecided, and the report says so. */
#include "cli/reconcile_servers.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 20, PAGE = 500, TEXT = 1100 };

typedef unsigned long long ull;

typedef struct digests { /* of a board's windows; an answer that is kept */
    char *body;
    size_t len;
    bool is_there;
    uint64_t seq;
} digests;

typedef struct servers {
    const rung_command *command;
    rung_client *clients[2];
    const char *urls[2];
    bool is_json;
    uint64_t boards, windows, undecided; /* compared; windows that never stood still */
    int code;                            /* a failure that was printed, or RUNG_EXIT_OK */
    bool is_different;
    /* the difference */
    char board[TEXT], window[TEXT], player[TEXT];
    uint64_t index;
    const char *kind;
} servers;

static rung_slice slice_of(const digests *d) {
    return rung_slice_of(d->body, d->len);
}

static void forget(digests *d) {
    rung_alloc_free(rung_alloc_heap(), d->body, d->len + 1);
    *d = (digests){0};
}

/* Ask server `which`, and keep the answer. false: it failed, and why was printed. */
static bool ask(servers *s, int which, rung_path *path, uint64_t min_seq, digests *out) {
    rung_reply reply;
    rung_err err = {0};
    forget(out);
    rung_path_query_number(path, "min_seq", min_seq);
    rung_status st =
        rung_client_ask(s->clients[which], "GET", path, NULL, (rung_slice){0}, &reply, &err);
    if (st < 0) {
        rung_command_fail(s->command, &err);
        s->code = RUNG_EXIT_UNREACHED;
        return false;
    }
    if (reply.status != 200 && reply.status != 404) {
        char why[300];
        rung_slice body = rung_slice_of(reply.body, reply.len);
        s->code = rung_command_refuse(s->command, RUNG_EXIT_PROBLEM, "%s: %s", s->urls[which],
                                      rung_answer_member(body, "detail", why, sizeof why));
        return false;
    }
    out->body = rung_alloc_get(rung_alloc_heap(), reply.len + 1);
    if (!out->body) {
        s->code = rung_command_refuse(s->command, RUNG_EXIT_PROBLEM, "out of memory");
        return false;
    }
    memcpy(out->body, reply.body, reply.len);
    out->body[reply.len] = '\0';
    out->len = reply.len;
    out->is_there = reply.status == 200;
    out->seq = (uint64_t)rung_answer_number(slice_of(out), "seq", 0);
    return true;
}

/* The same question to the first, the second, and the first again. */
static bool ask_thrice(servers *s, const rung_path *path, digests answers[3]) {
    for (int i = 0; i < 3; i++) {
        rung_path one = *path;
        if (!ask(s, i == 1, &one, i ? answers[i - 1].seq : 0, &answers[i]))
            return false;
    }
    return true;
}

static bool is_same_member(rung_slice a, rung_slice b, const char *name) {
    rung_slice x, y;
    bool has_x = rung_answer_find(a, name, &x), has_y = rung_answer_find(b, name, &y);
    return has_x == has_y && (!has_x || rung_slice_eq(x, y));
}

/* ---- one window ---- */

static void path_of_top(const servers *s, rung_slice window, uint64_t offset, rung_path *out) {
    char kind[64], id[TEXT];
    bool is_season = strcmp(rung_answer_member(window, "kind", kind, sizeof kind), "season") == 0;
    rung_answer_member(window, "id", id, sizeof id);
    *out = (rung_path){0};
    rung_path_add(out, "/v1/boards/");
    rung_path_name(out, s->board);
    rung_path_add(out, "/top");
    rung_path_query(out, "window", is_season ? id : kind);
    if (!is_season && strcmp(kind, "all") != 0)
        rung_path_query(out, "window_id", id);
    rung_path_query_number(out, "limit", PAGE);
    rung_path_query_number(out, "offset", offset);
}

/* The first entry of a page that differs. false: none; *count_out: how many there were. */
static bool find_entry(servers *s, const digests pages[2], uint64_t offset, uint64_t *count_out) {
    rung_answer_items its[2];
    rung_slice rows[2], lists[2];
    for (int k = 0; k < 2; k++) {
        if (!pages[k].is_there || !rung_answer_find(slice_of(&pages[k]), "entries", &lists[k]))
            lists[k] = RUNG_SLICE("[]");
        rung_answer_begin(&its[k], lists[k]);
    }
    for (*count_out = 0;; ++*count_out) {
        bool has_a = rung_answer_next(&its[0], &rows[0]),
             has_b = rung_answer_next(&its[1], &rows[1]);
        if (!has_a && !has_b)
            return false;
        if (has_a && has_b && is_same_member(rows[0], rows[1], "player") &&
            is_same_member(rows[0], rows[1], "score") && is_same_member(rows[0], rows[1], "at"))
            continue;
        rung_answer_member(rows[has_a ? 0 : 1], "player", s->player, sizeof s->player);
        s->index = offset + *count_out;
        return true;
    }
}

/* Which entry is it? Those that change meanwhile may be named as well. */
static void name_entry(servers *s, rung_slice window) {
    digests pages[2] = {{0}};
    uint64_t count = 1;
    s->kind = "window";
    for (uint64_t offset = 0; count; offset += count) {
        rung_path path;
        path_of_top(s, window, offset, &path);
        rung_path second = path;
        if (!ask(s, 0, &path, 0, &pages[0]) || !ask(s, 1, &second, pages[0].seq, &pages[1]))
            break;
        if (find_entry(s, pages, offset, &count)) {
            s->kind = "entry";
            break;
        }
    }
    forget(&pages[0]);
    forget(&pages[1]);
}

/* ---- one board ---- */

static bool find_window(rung_slice body, rung_slice like, rung_slice *out) {
    rung_answer_items it;
    rung_slice list;
    if (!rung_answer_find(body, "windows", &list))
        return false;
    for (rung_answer_begin(&it, list); rung_answer_next(&it, out);)
        if (is_same_member(*out, like, "kind") && is_same_member(*out, like, "id"))
            return true;
    return false;
}

static bool is_same_window(rung_slice a, rung_slice b) {
    return is_same_member(a, b, "closed") && is_same_member(a, b, "digest");
}

/* Every window of `from` that stood still. false: one differs. */
static bool compare_windows(servers *s, const digests answers[3], int from, uint64_t *moving) {
    rung_answer_items it;
    rung_slice list, one, first, second, third;
    if (!rung_answer_find(slice_of(&answers[from]), "windows", &list))
        return true;
    for (rung_answer_begin(&it, list); rung_answer_next(&it, &one);) {
        bool was = find_window(slice_of(&answers[0]), one, &first);
        bool is = find_window(slice_of(&answers[2]), one, &third);
        bool has = find_window(slice_of(&answers[1]), one, &second);
        bool stood = was == is && (!was || is_same_window(first, third));
        if (!stood) {
            ++*moving;
            continue;
        }
        if (was == has && (!was || is_same_window(first, second)))
            continue;
        rung_answer_member(one, "id", s->window, sizeof s->window);
        s->is_different = true;
        if (was && has)
            name_entry(s, one);
        else
            s->kind = "window";
        return false;
    }
    return true;
}

static uint64_t count_windows(const digests *d) {
    rung_answer_items it;
    rung_slice list, one;
    uint64_t n = 0;
    if (rung_answer_find(slice_of(d), "windows", &list))
        for (rung_answer_begin(&it, list); rung_answer_next(&it, &one);)
            n++;
    return n;
}

/* false: it differs, or asking failed. */
static bool compare_board(servers *s) {
    digests answers[3] = {{0}};
    rung_path path = {0};
    uint64_t moving = 1;
    bool is_fine = true;
    rung_path_add(&path, "/v1/boards/");
    rung_path_name(&path, s->board);
    rung_path_add(&path, "/digest");
    for (int tries = 0; is_fine && moving && tries < TRIES; tries++) {
        moving = 0;
        is_fine = ask_thrice(s, &path, answers);
        if (!is_fine)
            break;
        if (answers[0].is_there != answers[2].is_there) {
            moving = 1;
        } else if (answers[0].is_there != answers[1].is_there) {
            s->is_different = true;
            s->kind = "board";
            is_fine = false;
        } else {
            is_fine =
                compare_windows(s, answers, 0, &moving) && compare_windows(s, answers, 1, &moving);
        }
    }
    s->boards += answers[0].is_there;
    s->windows += count_windows(&answers[0]);
    s->undecided += moving;
    for (int i = 0; i < 3; i++)
        forget(&answers[i]);
    return is_fine;
}

/* ---- all boards ---- */

/* The boards that server `which` lists. false: stop. */
static bool compare_boards_of(servers *s, int which) {
    char next[32] = "";
    digests page = {0};
    bool is_fine = true;
    do {
        rung_path path = {0};
        rung_answer_items it;
        rung_slice list, board;
        rung_path_add(&path, "/v1/boards");
        rung_path_query(&path, "cursor", *next ? next : NULL);
        is_fine = ask(s, which, &path, 0, &page);
        if (!is_fine || !rung_answer_find(slice_of(&page), "boards", &list))
            break;
        for (rung_answer_begin(&it, list); is_fine && rung_answer_next(&it, &board);) {
            rung_answer_member(board, "id", s->board, sizeof s->board);
            is_fine = compare_board(s);
        }
        rung_answer_member(slice_of(&page), "next", next, sizeof next);
    } while (is_fine && *next);
    forget(&page);
    return is_fine;
}

/* Everything, and what is no ranking. *is_quiet_out: nothing happened meanwhile. */
static bool is_whole_same(servers *s, bool *is_quiet_out) {
    digests answers[3] = {{0}};
    rung_path path = {0};
    rung_path_add(&path, "/v1/digest");
    bool is_done = ask_thrice(s, &path, answers);
    *is_quiet_out = is_done && answers[0].seq == answers[2].seq;
    bool is_same =
        *is_quiet_out && is_same_member(slice_of(&answers[0]), slice_of(&answers[1]), "digest");
    for (int i = 0; i < 3; i++)
        forget(&answers[i]);
    return is_same;
}

static void compare(servers *s) {
    bool is_quiet;
    if (is_whole_same(s, &is_quiet) || s->code)
        return;
    if (!compare_boards_of(s, 0) || !compare_boards_of(s, 1))
        return;
    bool is_same = is_whole_same(s, &is_quiet);
    if (!s->code && is_quiet && !is_same) {
        s->is_different = true;
        s->kind = "other";
    }
    s->board[0] = '\0';
}

/* ---- the report ---- */

static void print_json(const servers *s) {
    printf("{\"ok\":%s,\"boards\":%llu,\"windows\":%llu,\"undecided\":%llu",
           s->is_different ? "false" : "true", (ull)s->boards, (ull)s->windows, (ull)s->undecided);
    if (s->is_different) {
        printf(",\"kind\":\"%s\",\"board\":", s->kind);
        rung_print_json(stdout, rung_slice_str(s->board));
        fputs(",\"window\":", stdout);
        rung_print_json(stdout, rung_slice_str(s->window));
        fputs(",\"player\":", stdout);
        rung_print_json(stdout, rung_slice_str(s->player));
    }
    puts("}");
}

static void print_difference(const servers *s) {
    fputs("the servers differ: ", stdout);
    if (strcmp(s->kind, "other") == 0) {
        puts("no ranking does, but profiles, friends, bans, submission ids or sets do");
        return;
    }
    fputs("board ", stdout);
    rung_print_word(stdout, rung_slice_str(s->board));
    if (s->window[0]) {
        fputs(", window ", stdout);
        rung_print_word(stdout, rung_slice_str(s->window));
    }
    if (strcmp(s->kind, "entry") == 0) {
        printf(", place %llu, player ", (ull)s->index + 1);
        rung_print_word(stdout, rung_slice_str(s->player));
    }
    puts("");
}

static void print_result(const servers *s) {
    if (s->is_json)
        print_json(s);
    else if (s->is_different)
        print_difference(s);
    else if (s->boards == 0)
        puts("fine: the servers have the same state");
    else
        printf("fine: %llu windows of %llu boards are the same%s\n", (ull)s->windows,
               (ull)s->boards,
               s->undecided ? "; some changed all the time and were not compared" : "");
}

int rung_reconcile_servers(const rung_command *self, const char *const urls[2],
                           const rung_ask_args *args) {
    servers s = {.command = self, .urls = {urls[0], urls[1]}, .is_json = args->json};
    rung_err err = {0};
    for (int i = 0; i < 2 && !s.code; i++) {
        rung_client_config c = {
            .url = urls[i], .key_file = args->key_file, .ca_file = args->ca_file};
        if (rung_client_create(&c, &s.clients[i], &err) < 0)
            s.code = rung_command_fail(self, &err);
    }
    if (!s.code)
        compare(&s);
    if (!s.code)
        print_result(&s);
    rung_client_destroy(s.clients[0]);
    rung_client_destroy(s.clients[1]);
    return s.code ? s.code : s.is_different ? RUNG_EXIT_PROBLEM : RUNG_EXIT_OK;
}
