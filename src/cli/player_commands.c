/* SPDX-License-Identifier: Apache-2.0 */
/* rung player show, set, ban, unban, friends. */
#include "cli/ask.h"

#include <string.h>

typedef struct player_args {
    rung_ask_args ask;
    const char *player, *reason;
    rung_words pairs;
    rung_slice profile; /* JSON: as it is before a change */
} player_args;

/* ---- show ---- */

static const rung_option show_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
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
        printf("%sbanned: shown nowhere%s\n", rung_terminal_color(stdout, RUNG_COLOR_BAD),
               rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
}

static const rung_question show = {"GET", "/v1/players/{PLAYER}", .print = print_player};

const rung_command rung_command_player_show = {
    .group = RUNG_GROUP_ASK,
    .name = "player show",
    .summary = "a player's profile",
    .details = "",
    RUNG_OPTIONS(show_options),
    RUNG_QUESTION(player_args, &show),
};

/* ---- set ---- */

static const rung_option set_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
    RUNG_OPERAND_MANY(player_args, pairs, "NAME=VALUE",
                      "an attribute; without a value it is taken away"),
    RUNG_ASK_OPTIONS,
};

/* Is this attribute among the words? */
static bool is_given(const rung_words *pairs, const char *name) {
    size_t len = strlen(name);
    for (size_t i = 0; i < pairs->count; i++)
        if (strncmp(pairs->word[i], name, len) == 0 && pairs->word[i][len] == '=')
            return true;
    return false;
}

/* The profile as it is, with what the words change: a profile is put whole. */
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

static bool are_pairs(const rung_command *self, const rung_words *pairs) {
    for (size_t i = 0; i < pairs->count; i++)
        if (strcspn(pairs->word[i], "=") == 0 || !strchr(pairs->word[i], '=')) {
            fprintf(stderr, "rung %s: expected NAME=VALUE, not \"%s\"\n", self->name,
                    pairs->word[i]);
            return false;
        }
    return true;
}

static int set_profile(const rung_command *self, rung_client *client, player_args *args) {
    static const rung_question set = {"PUT", "/v1/players/{PLAYER}", write_profile,
                                      rung_change_print};
    rung_path path = {0};
    rung_reply reply;
    rung_path_add(&path, "/v1/players/");
    rung_path_name(&path, args->player);
    int code = rung_ask_status(self, client, "GET", &path, &reply);
    if (code)
        return code;
    if (reply.status != 200 && reply.status != 404)
        return rung_ask_fail(self, &reply);
    if (reply.status == 200)
        rung_answer_find(rung_reply_body(&reply), "profile", &args->profile);
    return rung_question_send(self, client, &set, args);
}

static int run_set(const rung_command *self, int argc, char **argv) {
    player_args args = {0};
    rung_client *client;
    if (!rung_command_read(self, argc, argv, &args) || !are_pairs(self, &args.pairs))
        return RUNG_EXIT_USAGE;
    int code = rung_ask_open(self, &args.ask, &client);
    if (code)
        return code;
    code = set_profile(self, client, &args);
    rung_client_destroy(client);
    return code;
}

const rung_command rung_command_player_set = {
    .group = RUNG_GROUP_ASK,
    .name = "player set",
    .summary = "change a player's profile: name, country, guild, anything",
    .details = "Attributes that are not named stay as they are.\n"
               "\n"
               "  rung player set ada name='Ada Lovelace' country=GB guild=\n",
    RUNG_OPTIONS(set_options),
    .run = run_set,
};

/* ---- ban and unban ---- */

static const rung_option ban_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
    RUNG_OPTION_TEXT(player_args, reason, "--reason", "TEXT", "kept in the log"),
    RUNG_ASK_OPTIONS,
};

static const rung_option unban_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
    RUNG_ASK_OPTIONS,
};

static void write_reason(rung_json_writer *w, const void *args) {
    const player_args *a = args;
    if (!a->reason)
        return;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "reason", word, a->reason);
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
    .group = RUNG_GROUP_ASK,
    .name = "player ban",
    .summary = "hide a player from every ranking, at once",
    .details = "Nothing is lost: rung player unban brings everything back exactly.\n",
    RUNG_OPTIONS(ban_options),
    RUNG_QUESTION(player_args, &ban),
};

const rung_command rung_command_player_unban = {
    .group = RUNG_GROUP_ASK,
    .name = "player unban",
    .summary = "show a banned player again",
    .details = "",
    RUNG_OPTIONS(unban_options),
    RUNG_QUESTION(player_args, &unban),
};

/* ---- friends ---- */

typedef struct friends_args {
    rung_view_args view;
    const char *player, *board, *add, *remove;
    bool follow;
} friends_args;

static const rung_option friends_options[] = {
    RUNG_OPERAND(friends_args, player, "PLAYER", "the player"),
    RUNG_OPTION_TEXT(friends_args, add, "--add", "OTHER", "make them friends"),
    RUNG_OPTION_TEXT(friends_args, remove, "--remove", "OTHER", "end it"),
    RUNG_OPTION_FLAG(friends_args, follow, "--follow", "one way only"),
    RUNG_OPTION_TEXT(friends_args, board, "--board", "BOARD",
                     "ranked among themselves on this board"),
    RUNG_VIEW_OPTIONS,
    RUNG_ASK_OPTIONS,
};

static void print_friends(rung_slice answer, const void *args) {
    rung_answer_items it;
    rung_slice raw, item;
    char text[300];
    (void)args;
    if (rung_answer_find(answer, "friends", &raw))
        for (rung_answer_begin(&it, raw); rung_answer_next(&it, &item);) {
            rung_print_word(stdout, rung_slice_str(rung_answer_text(item, text, sizeof text)));
            putchar('\n');
        }
}

static void print_ranking(rung_slice answer, const void *args) {
    rung_ranking_show(answer, ((const friends_args *)args)->player);
}

static const rung_question list = {"GET", "/v1/players/{PLAYER}/friends", .print = print_friends};
static const rung_question ranked = {
    "GET", "/v1/boards/{--board}/friends/{PLAYER}?" RUNG_VIEW_QUERY, .print = print_ranking};
static const rung_question add = {"PUT", "/v1/players/{PLAYER}/friends/{--add}?follow",
                                  .print = rung_change_print};
static const rung_question end = {"DELETE", "/v1/players/{PLAYER}/friends/{--remove}?follow",
                                  .print = rung_change_print};

static int run_friends(const rung_command *self, int argc, char **argv) {
    friends_args args = {0};
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    if (args.add && args.remove) {
        fprintf(stderr, "rung %s: --add or --remove, one at a time\n", self->name);
        return RUNG_EXIT_USAGE;
    }
    return rung_question_ask(self,
                             args.add      ? &add
                             : args.remove ? &end
                             : args.board  ? &ranked
                                           : &list,
                             &args);
}

const rung_command rung_command_player_friends = {
    .group = RUNG_GROUP_ASK,
    .name = "player friends",
    .summary = "a player's friends, ranked among themselves, or changed",
    .details = "  rung player friends ada --add bob\n"
               "  rung player friends ada --board race --window week\n",
    RUNG_OPTIONS(friends_options),
    .run = run_friends,
};
