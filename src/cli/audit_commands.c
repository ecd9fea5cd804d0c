/* SPDX-License-Identifier: Apache-2.0 */
/* rung audit: who did what, newest first. */
#include "cli/ask.h"

typedef struct audit_args {
    rung_ask_args ask;
    const char *board, *player, *actor, *kind, *from, *to, *after;
    uint64_t limit;
} audit_args;

static const rung_option audit_options[] = {
    RUNG_OPTION_TEXT(audit_args, board, "--board", "BOARD", "only records about this board"),
    RUNG_OPTION_TEXT(audit_args, player, "--player", "PLAYER", "only records about this player"),
    RUNG_OPTION_TEXT(audit_args, actor, "--actor", "KEY", "only what this key did, by its id"),
    RUNG_OPTION_TEXT(audit_args, kind, "--kind", "KIND", "only these: banned, \"board defined\""),
    RUNG_OPTION_TEXT(audit_args, from, "--from", "TIME", "from this time on"),
    RUNG_OPTION_TEXT(audit_args, to, "--to", "TIME", "before this time"),
    RUNG_OPTION_TEXT(audit_args, after, "--after", "NEXT", "the next page: `next` of the last one"),
    RUNG_OPTION_NUMBER(audit_args, limit, "--limit", "N", "how many, up to 1000 (default 100)"),
    RUNG_ASK_OPTIONS,
};

/* Escaped, since anybody may have chosen it. */
static void add_text(rung_table *t, rung_color color, rung_slice record, const char *name) {
    char text[300];
    if (*rung_answer_member(record, name, text, sizeof text))
        rung_table_word(t, color, rung_slice_str(text));
    else
        rung_table_cell(t, color, "%s", "");
}

static void add_record(rung_table *t, rung_slice record) {
    rung_slice actor, raw;
    char text[64];
    if (rung_answer_find(record, "seq", &raw))
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", rung_answer_amount(raw, text, sizeof text));
    add_text(t, RUNG_COLOR_PLAIN, record, "at");
    rung_table_cell(t, RUNG_COLOR_BOLD, "%s",
                    rung_answer_member(record, "kind", text, sizeof text));
    add_text(t, RUNG_COLOR_PLAIN, record, "board");
    add_text(t, RUNG_COLOR_PLAIN, record, "player");
    if (!rung_answer_find(record, "actor", &actor))
        actor = RUNG_SLICE("{}");
    add_text(t, RUNG_COLOR_PLAIN, actor, "key");
    add_text(t, RUNG_COLOR_DIM, actor, "address");
    add_text(t, RUNG_COLOR_PLAIN, record, "reason");
    add_text(t, RUNG_COLOR_PLAIN, record, "outcome");
}

static void print_audit(rung_slice answer, const void *args) {
    static const rung_table_column columns[] = {
        {"seq", true},  {"at", false},      {"what", false},   {"board", false},  {"player", false},
        {"key", false}, {"address", false}, {"reason", false}, {"outcome", false}};
    rung_table *t = rung_table_begin(sizeof columns / sizeof columns[0], columns);
    rung_answer_items it;
    rung_slice records, record;
    (void)args;
    if (rung_answer_find(answer, "records", &records))
        for (rung_answer_begin(&it, records); rung_answer_next(&it, &record);)
            add_record(t, record);
    rung_table_print(t, stdout);
}

static const rung_question audit = {"GET", "/v1/audit?board,player,actor,kind,from,to,after,limit",
                                    .print = print_audit};

const rung_command rung_command_audit = {
    .name = "audit",
    .summary = "show who changed what, and why",
    .details =
        "Newest first, from the archive. --json also shows what was there before and after.\n"
        "Needs an admin key if the server has keys.\n",
    RUNG_OPTIONS(audit_args, audit_options),
    .question = &audit,
};
