/* SPDX-License-Identifier: Apache-2.0 */
/* rung player show, set, ban, unban, friends, history. */
#include "cli/ask.h"

#include <string.h>

typedef struct player_args {
    rung_ask_args ask;
    const char *player, *reason, *until;
    bool shadow;
    rung_words pairs;
    rung_slice profile; /* JSON, before the change */
} player_args;

/* ---- show ---- */

static const rung_option player_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
    RUNG_ASK_OPTIONS,
};

static const rung_option show_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
    RUNG_READ_OPTIONS,
    RUNG_ASK_OPTIONS,
};

static void print_player(rung_slice answer, const void *args) {
    rung_answer_items it;
    rung_slice raw;
    (void)args;
    if (rung_answer_find(answer, "player", &raw))
        rung_member_print("player", raw);
    if (rung_answer_find(answer, "profile", &raw))
        for (rung_answer_begin(&it, raw); rung_answer_next(&it, &raw);)
            rung_member_print(it.key, raw);
    if (rung_answer_find(answer, "friends", &raw))
        rung_member_print("friends", raw);
    if (rung_answer_is_true(answer, "banned"))
        rung_print_colored(RUNG_COLOR_BAD, rung_answer_is_true(answer, "shadow")
                                               ? "banned in the shadow: hidden from all others\n"
                                               : "banned: hidden from all rankings\n");
}

static const rung_question show = {"GET", "/v1/players/{PLAYER}?" RUNG_READ_QUERY,
                                   .print = print_player};

const rung_command rung_command_player_show = {
    .name = "player show",
    .summary = "show a player's profile",
    RUNG_OPTIONS(player_args, show_options),
    .question = &show,
};

/* ---- set ---- */

static const rung_option set_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
    RUNG_OPERAND_MANY(player_args, pairs, "NAME=VALUE",
                      "an attribute; without a value it is removed"),
    RUNG_ASK_OPTIONS,
};

static bool is_given(const rung_words *pairs, const char *name) {
    size_t len = strlen(name);
    for (size_t i = 0; i < pairs->count; i++)
        if (strncmp(pairs->word[i], name, len) == 0 && pairs->word[i][len] == '=')
            return true;
    return false;
}

/* The whole profile with its changes: the server replaces it. */
static void write_profile(rung_json_writer *w, const void *args) {
    const rung_words *pairs = &((const player_args *)args)->pairs;
    rung_answer_items it;
    rung_slice raw;
    rung_json_open_object(w);
    for (rung_answer_begin(&it, ((const player_args *)args)->profile); rung_answer_next(&it, &raw);)
        if (!is_given(pairs, it.key)) {
            rung_json_write_key(w, rung_slice_str(it.key));
            rung_json_write_raw(w, raw);
        }
    for (size_t i = 0; i < pairs->count; i++) {
        size_t len = strcspn(pairs->word[i], "=");
        const char *value = pairs->word[i] + len + 1;
        if (*value == '\0')
            continue;
        rung_json_write_key(w, rung_slice_of(pairs->word[i], len));
        rung_json_write_word(w, value);
    }
    rung_json_close_object(w);
}

static int set_profile(const rung_command *self, rung_client *client, void *args) {
    static const rung_question set = {"PUT", "/v1/players/{PLAYER}", write_profile,
                                      rung_change_print};
    player_args *a = args;
    rung_path path = {0};
    rung_reply reply;
    for (size_t i = 0; i < a->pairs.count; i++)
        if (a->pairs.word[i][0] == '=' || !strchr(a->pairs.word[i], '='))
            return rung_command_refuse(self, RUNG_EXIT_USAGE, "expected NAME=VALUE, not \"%s\"",
                                       a->pairs.word[i]);
    rung_ask_path(self, set.path, args, &path);
    int code = rung_ask_status(self, client, "GET", &path, &reply);
    if (code)
        return code;
    if (reply.status != 200 && reply.status != 404)
        return rung_ask_fail(self, &reply);
    if (reply.status == 200)
        rung_answer_find(rung_reply_body(&reply), "profile", &a->profile);
    return rung_question_send(self, client, &set, args);
}

const rung_command rung_command_player_set = {
    .name = "player set",
    .summary = "change attributes of a player: name, country, guild, ...",
    .details = "Other attributes stay as they are.\n"
               "\n"
               "  rung player set ada name='Ada Lovelace' country=GB guild=\n",
    RUNG_OPTIONS(player_args, set_options),
    .ask = set_profile,
};

/* ---- ban and unban ---- */

static const rung_option ban_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
    RUNG_OPTION_TEXT(player_args, reason, "--reason", "TEXT", "stored in the log"),
    RUNG_OPTION_TEXT(player_args, until, "--until", "TIME", "when the server lifts the ban"),
    RUNG_OPTION_FLAG(player_args, shadow, "--shadow", "do not let the player know"),
    RUNG_ASK_OPTIONS,
};

static void write_reason(rung_json_writer *w, const void *args) {
    const player_args *a = args;
    if (!a->reason && !a->until && !a->shadow)
        return;
    rung_json_open_object(w);
    if (a->reason)
        RUNG_JSON_MEMBER(w, "reason", word, a->reason);
    if (a->until)
        RUNG_JSON_MEMBER(w, "until", word, a->until);
    if (a->shadow)
        RUNG_JSON_MEMBER(w, "shadow", bool, true);
    rung_json_close_object(w);
}

static void print_hidden(rung_slice answer, const player_args *args, const char *now) {
    printf("%s is %s%s\n", args->player, now,
           rung_answer_is_true(answer, "changed") ? "" : ", as before");
}

static void print_banned(rung_slice answer, const void *args) {
    print_hidden(answer, args, "hidden everywhere");
}

static void print_unbanned(rung_slice answer, const void *args) {
    print_hidden(answer, args, "shown again");
}

static const rung_question ban = {"POST", "/v1/players/{PLAYER}/ban", write_reason, print_banned};
static const rung_question unban = {"DELETE", "/v1/players/{PLAYER}/ban", .print = print_unbanned};

const rung_command rung_command_player_ban = {
    .name = "player ban",
    .summary = "hide a player from every ranking",
    .details = "Nothing is lost: rung player unban restores every rank. With --shadow the player\n"
               "still sees their own place and may submit; nobody else sees them.\n",
    RUNG_OPTIONS(player_args, ban_options),
    .question = &ban,
};

const rung_command rung_command_player_unban = {
    .name = "player unban",
    .summary = "show a banned player again",
    RUNG_OPTIONS(player_args, player_options),
    .question = &unban,
};

/* ---- history ---- */

typedef struct history_args {
    rung_ask_args ask;
    const char *player, *board, *from, *to, *rank;
    uint64_t limit;
} history_args;

static const rung_option history_options[] = {
    RUNG_OPERAND(history_args, player, "PLAYER", "the player"),
    RUNG_OPTION_TEXT(history_args, board, "--board", "BOARD", "the board"),
    RUNG_OPTION_TEXT(history_args, from, "--from", "TIME", "from this time on"),
    RUNG_OPTION_TEXT(history_args, to, "--to", "TIME", "before this time"),
    RUNG_OPTION_NUMBER(history_args, limit, "--limit", "N", "how many points (default 100)"),
    RUNG_OPTION_TEXT(history_args, rank, "--rank", RUNG_ALTERNATIVES(RUNG_RANK_STYLES),
                     "how equal scores are ranked"),
    RUNG_PAST_OPTION,
    RUNG_ASK_OPTIONS,
};

static void print_history(rung_slice answer, const void *args) {
    static const rung_table_column columns[] = {{"at", false},  {"window", false}, {"taken", false},
                                                {"rank", true}, {"of", true},      {"score", true}};
    static rung_answer_items it; /* large; one thread */
    rung_table *t = rung_table_begin(sizeof columns / sizeof columns[0], columns);
    rung_slice all, point, raw;
    char text[192];
    (void)args;
    if (rung_answer_find(answer, "points", &all))
        for (rung_answer_begin(&it, all); rung_answer_next(&it, &point);) {
            rung_slice window = {0};
            rung_answer_member(point, "at", text, sizeof text);
            rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", text);
            rung_answer_find(point, "window", &window);
            rung_answer_member(window, "id", text, sizeof text);
            rung_table_word(t, RUNG_COLOR_PLAIN, rung_slice_str(text));
            rung_answer_member(point, "taken", text, sizeof text);
            rung_table_cell(t, RUNG_COLOR_DIM, "%s", text);
            static const char *const amounts[] = {"rank", "total", "score"};
            for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
                rung_answer_find(point, amounts[i], &raw);
                rung_table_cell(t, RUNG_COLOR_PLAIN, "%s",
                                rung_answer_amount(raw, text, sizeof text));
            }
        }
    rung_table_print(t, stdout);
}

static const rung_question history = {
    "GET", "/v1/players/{PLAYER}/history?board,from,to,limit,rank,as-of", .print = print_history};

const rung_command rung_command_player_history = {
    .name = "player history",
    .summary = "show a player's rank over time",
    .details = "At the ends of windows, and between them once a day. Needs an archive.\n"
               "\n"
               "  rung player history ada --board race --from 2026-11-01T00:00:00Z\n",
    RUNG_OPTIONS(history_args, history_options),
    .question = &history,
};

/* ---- friends ---- */

typedef struct friends_args {
    rung_view_args view;
    const char *player, *board, *add, *remove;
    bool follow;
} friends_args;

static const rung_option friends_options[] = {
    RUNG_OPERAND(friends_args, player, "PLAYER", "the player"),
    RUNG_OPTION_TEXT(friends_args, add, "--add", "OTHER", "make the two friends"),
    RUNG_OPTION_TEXT(friends_args, remove, "--remove", "OTHER", "end the friendship"),
    RUNG_OPTION_FLAG(friends_args, follow, "--follow", "one direction only"),
    RUNG_OPTION_TEXT(friends_args, board, "--board", "BOARD", "rank them on this board"),
    RUNG_VIEW_OPTIONS,
    RUNG_READ_OPTIONS,
    RUNG_PAST_OPTION,
    RUNG_ASK_OPTIONS,
};

static void print_friends(rung_slice answer, const void *args) {
    rung_answer_items it;
    rung_slice raw;
    (void)args;
    if (rung_answer_find(answer, "friends", &raw))
        for (rung_answer_begin(&it, raw); rung_answer_next(&it, &raw);) {
            rung_value_print(raw);
            putchar('\n');
        }
}

static void print_ranking(rung_slice answer, const void *args) {
    rung_ranking_print(answer, ((const friends_args *)args)->player);
}

static const rung_question list = {"GET", "/v1/players/{PLAYER}/friends?" RUNG_READ_QUERY,
                                   .print = print_friends};
static const rung_question ranked = {
    "GET", "/v1/boards/{--board}/friends/{PLAYER}?" RUNG_VIEW_QUERY "," RUNG_PAST_QUERY,
    .print = print_ranking};
static const rung_question add = {"PUT", "/v1/players/{PLAYER}/friends/{--add}?follow",
                                  .print = rung_change_print};
static const rung_question end = {"DELETE", "/v1/players/{PLAYER}/friends/{--remove}?follow",
                                  .print = rung_change_print};

static int ask_friends(const rung_command *self, rung_client *client, void *args) {
    const friends_args *a = args;
    if (a->add && a->remove)
        return rung_command_refuse(self, RUNG_EXIT_USAGE, "use either --add or --remove");
    const rung_question *q = a->add ? &add : a->remove ? &end : a->board ? &ranked : &list;
    return rung_question_send(self, client, q, args);
}

const rung_command rung_command_player_friends = {
    .name = "player friends",
    .summary = "list, rank or change a player's friends",
    .details = "  rung player friends ada --add bob\n"
               "  rung player friends ada --board race --window week\n",
    RUNG_OPTIONS(friends_args, friends_options),
    .ask = ask_friends,
};
