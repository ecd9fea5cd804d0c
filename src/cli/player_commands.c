/* SPDX-License-Identifier: Apache-2.0 */
/* rung player show, set, ban, unban, friends. */
#include "cli/ask.h"

#include "base/alloc.h"
#include "codec/json_writer.h"

#include <string.h>

typedef struct player_args {
    rung_ask_args ask;
    const char *player, *reason;
    rung_words pairs;
} player_args;

static void player_path(rung_path *path, const char *player, const char *rest) {
    rung_path_add(path, "/v1/players/");
    rung_path_name(path, player);
    rung_path_add(path, rest);
}

/* ---- show ---- */

static const rung_option show_options[] = {
    RUNG_OPERAND(player_args, player, "PLAYER", "the player"),
    RUNG_ASK_OPTIONS,
};

static void line(const char *name, rung_slice raw) {
    char text[600];
    printf("%s%-12s%s ", rung_terminal_color(stdout, RUNG_COLOR_DIM), name,
           rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
    rung_print_word(stdout, rung_slice_str(rung_answer_text(raw, text, sizeof text)));
    putchar('\n');
}

static void print_player(rung_slice answer) {
    rung_answer_items it;
    rung_slice raw;
    if (rung_answer_find(answer, "player", &raw))
        line("player", raw);
    if (rung_answer_find(answer, "profile", &raw))
        for (rung_answer_begin(&it, raw); rung_answer_next(&it, &raw);)
            line(it.key, raw);
    if (rung_answer_find(answer, "friends", &raw))
        line("friends", raw);
    if (rung_answer_is_true(answer, "banned"))
        printf("%sbanned: shown nowhere%s\n", rung_terminal_color(stdout, RUNG_COLOR_BAD),
               rung_terminal_color(stdout, RUNG_COLOR_PLAIN));
}

static int run_show(const rung_command *self, int argc, char **argv) {
    player_args args = {0};
    rung_client *client;
    rung_path path = {0};
    rung_reply reply;
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    int code = rung_ask_open(self, &args.ask, &client);
    if (code)
        return code;
    player_path(&path, args.player, "");
    code = rung_ask_for(self, client, "GET", &path, (rung_slice){0}, &reply);
    if (code == RUNG_EXIT_OK && args.ask.json)
        rung_reply_print(&reply);
    else if (code == RUNG_EXIT_OK)
        print_player(rung_reply_body(&reply));
    rung_client_destroy(client);
    return code;
}

const rung_command rung_command_player_show = {
    .group = RUNG_GROUP_ASK,
    .name = "player show",
    .summary = "a player's profile",
    .details = "",
    RUNG_OPTIONS(show_options),
    .run = run_show,
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
static void write_profile(rung_json_writer *w, rung_slice profile, const rung_words *pairs) {
    rung_answer_items it;
    rung_slice raw;
    rung_json_open_object(w);
    for (rung_answer_begin(&it, profile); rung_answer_next(&it, &raw);)
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
        rung_json_write_string(w, rung_slice_str(value));
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

static int set_profile(const rung_command *self, rung_client *client, const player_args *args) {
    rung_path path = {0};
    rung_reply reply;
    rung_err err = {0};
    rung_slice profile = {0};
    rung_json_writer body = {.alloc = rung_alloc_heap()};
    player_path(&path, args->player, "");
    if (rung_client_ask(client, "GET", &path, NULL, (rung_slice){0}, &reply, &err) < 0) {
        rung_command_fail(self, &err);
        return RUNG_EXIT_UNREACHED;
    }
    if (reply.status != 200 && reply.status != 404)
        return rung_ask_fail(self, &reply);
    if (reply.status == 200)
        rung_answer_find(rung_reply_body(&reply), "profile", &profile);
    write_profile(&body, profile, &args->pairs);
    int code = rung_ask_for(self, client, "PUT", &path, rung_json_written(&body), &reply);
    if (code == RUNG_EXIT_OK && args->ask.json)
        rung_reply_print(&reply);
    else if (code == RUNG_EXIT_OK)
        puts(rung_answer_is_true(rung_reply_body(&reply), "changed") ? "changed"
                                                                     : "it was so already");
    rung_json_writer_deinit(&body);
    return code;
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

static int run_ban_or_unban(const rung_command *self, int argc, char **argv, bool is_ban) {
    player_args args = {0};
    rung_client *client;
    rung_path path = {0};
    rung_reply reply;
    rung_json_writer body = {.alloc = rung_alloc_heap()};
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    int code = rung_ask_open(self, &args.ask, &client);
    if (code)
        return code;
    if (args.reason) {
        rung_json_open_object(&body);
        RUNG_JSON_KEY(&body, "reason");
        rung_json_write_string(&body, rung_slice_str(args.reason));
        rung_json_close_object(&body);
    }
    player_path(&path, args.player, "/ban");
    code = rung_ask_for(self, client, is_ban ? "POST" : "DELETE", &path, rung_json_written(&body),
                        &reply);
    if (code == RUNG_EXIT_OK && args.ask.json)
        rung_reply_print(&reply);
    else if (code == RUNG_EXIT_OK)
        printf("%s is %s%s\n", args.player, is_ban ? "hidden everywhere" : "shown again",
               rung_answer_is_true(rung_reply_body(&reply), "changed") ? "" : ", as before");
    rung_json_writer_deinit(&body);
    rung_client_destroy(client);
    return code;
}

static int run_ban(const rung_command *self, int argc, char **argv) {
    return run_ban_or_unban(self, argc, argv, true);
}

static int run_unban(const rung_command *self, int argc, char **argv) {
    return run_ban_or_unban(self, argc, argv, false);
}

const rung_command rung_command_player_ban = {
    .group = RUNG_GROUP_ASK,
    .name = "player ban",
    .summary = "hide a player from every ranking, at once",
    .details = "Nothing is lost: rung player unban brings everything back exactly.\n",
    RUNG_OPTIONS(ban_options),
    .run = run_ban,
};

const rung_command rung_command_player_unban = {
    .group = RUNG_GROUP_ASK,
    .name = "player unban",
    .summary = "show a banned player again",
    .details = "",
    RUNG_OPTIONS(unban_options),
    .run = run_unban,
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

static int change_friend(const rung_command *self, rung_client *client, const friends_args *args) {
    rung_path path = {0};
    rung_reply reply;
    const char *other = args->add ? args->add : args->remove;
    player_path(&path, args->player, "/friends/");
    rung_path_name(&path, other);
    rung_path_query(&path, "follow", args->follow ? "true" : NULL);
    int code =
        rung_ask_for(self, client, args->add ? "PUT" : "DELETE", &path, (rung_slice){0}, &reply);
    if (code == RUNG_EXIT_OK && args->view.ask.json)
        rung_reply_print(&reply);
    else if (code == RUNG_EXIT_OK)
        puts(rung_answer_is_true(rung_reply_body(&reply), "changed") ? "changed"
                                                                     : "it was so already");
    return code;
}

static void print_friends(rung_slice answer) {
    rung_answer_items it;
    rung_slice raw, item;
    char text[300];
    if (rung_answer_find(answer, "friends", &raw))
        for (rung_answer_begin(&it, raw); rung_answer_next(&it, &item);) {
            rung_print_word(stdout, rung_slice_str(rung_answer_text(item, text, sizeof text)));
            putchar('\n');
        }
}

static void print_ranking(rung_slice answer, const char *player) {
    rung_slice entries;
    rung_ranking_print_title(answer);
    if (!rung_answer_find(answer, "entries", &entries))
        return;
    rung_table *t = rung_ranking_begin();
    rung_ranking_add(t, entries, player);
    rung_ranking_print(t);
}

static int show_friends(const rung_command *self, rung_client *client, const friends_args *args) {
    rung_path path = {0};
    rung_reply reply;
    if (args->board) {
        rung_path_add(&path, "/v1/boards/");
        rung_path_name(&path, args->board);
        rung_path_add(&path, "/friends/");
        rung_path_name(&path, args->player);
        rung_view_query(&path, &args->view);
    } else {
        player_path(&path, args->player, "/friends");
    }
    int code = rung_ask_for(self, client, "GET", &path, (rung_slice){0}, &reply);
    if (code == RUNG_EXIT_OK && args->view.ask.json)
        rung_reply_print(&reply);
    else if (code == RUNG_EXIT_OK && args->board)
        print_ranking(rung_reply_body(&reply), args->player);
    else if (code == RUNG_EXIT_OK)
        print_friends(rung_reply_body(&reply));
    return code;
}

static int run_friends(const rung_command *self, int argc, char **argv) {
    friends_args args = {0};
    rung_client *client;
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    if (args.add && args.remove) {
        fprintf(stderr, "rung %s: --add or --remove, one at a time\n", self->name);
        return RUNG_EXIT_USAGE;
    }
    int code = rung_ask_open(self, &args.view.ask, &client);
    if (code)
        return code;
    code = args.add || args.remove ? change_friend(self, client, &args)
                                   : show_friends(self, client, &args);
    rung_client_destroy(client);
    return code;
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
