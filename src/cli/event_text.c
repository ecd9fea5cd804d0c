/* SPDX-License-Identifier: Apache-2.0 */
/* describe() names the fields of each kind of event once; the writer prints them as text or JSON. */
#include "cli/event_text.h"

#include "cli/terminal.h"
#include "model/calendar.h"
#include "state/review.h"

#include <string.h>

/* ---- kinds ---- */

enum { KIND_WORD_MAX = 32 };

/* "board-defined": the kind's name in one word. */
static const char *kind_word(rung_event_kind kind, char word[KIND_WORD_MAX]) {
    snprintf(word, KIND_WORD_MAX, "%s", rung_event_kind_name(kind));
    for (char *p = word; *p; p++)
        if (*p == ' ')
            *p = '-';
    return word;
}

bool rung_event_kind_parse(const char *word, rung_event_kind *kind_out) {
    char known[KIND_WORD_MAX];
    for (int i = RUNG_EVENT_BOARD_DEFINED; i <= RUNG_EVENT_NOTED; i++)
        if (strcmp(word, kind_word((rung_event_kind)i, known)) == 0) {
            *kind_out = (rung_event_kind)i;
            return true;
        }
    return false;
}

/* ---- the names in an event ---- */

/* Offsets in rung_event; 0: none. */
#define AT(member) offsetof(rung_event, member)
static const struct {
    size_t board, player, other;
} subjects[RUNG_EVENT_NOTED + 1] = {
    [RUNG_EVENT_BOARD_DEFINED] = {.board = AT(defined.board)},
    [RUNG_EVENT_BOARD_DELETED] = {.board = AT(deleted.board)},
    [RUNG_EVENT_SCORE] = {AT(score.board), AT(score.player), 0},
    [RUNG_EVENT_ENTRY_REMOVED] = {AT(removed.board), AT(removed.player), 0},
    [RUNG_EVENT_PLAYER_SET] = {.player = AT(profile.player)},
    [RUNG_EVENT_PLAYER_ERASED] = {.player = AT(erased.player)},
    [RUNG_EVENT_FRIEND_ADDED] = {0, AT(friend.player), AT(friend.other)},
    [RUNG_EVENT_FRIEND_REMOVED] = {0, AT(friend.player), AT(friend.other)},
    [RUNG_EVENT_FRIENDS_REPLACED] = {.player = AT(friends.player)},
    [RUNG_EVENT_BANNED] = {.player = AT(ban.player)},
    [RUNG_EVENT_UNBANNED] = {.player = AT(ban.player)},
    [RUNG_EVENT_WINDOW_OPENED] = {.board = AT(window.board)},
    [RUNG_EVENT_WINDOW_CLOSED] = {.board = AT(window.board)},
    [RUNG_EVENT_BOARD_FILLED] = {.board = AT(filled.board)},
    [RUNG_EVENT_BOARD_SWAPPED] = {.board = AT(swapped.board)},
    [RUNG_EVENT_SHADOW_DROPPED] = {.board = AT(dropped.board)},
    [RUNG_EVENT_MATCH] = {.board = AT(match.board)},
    [RUNG_EVENT_SESSION] = {.player = AT(session.player)},
    [RUNG_EVENT_REVIEWED] = {AT(reviewed.board), AT(reviewed.player), 0},
    [RUNG_EVENT_NOTED] = {.player = AT(noted.player)},
};

static rung_slice slice_at(const rung_event *e, size_t offset) {
    return offset ? *(const rung_slice *)((const char *)e + offset) : (rung_slice){0};
}

bool rung_event_is_of_board(const rung_event *e, rung_slice board) {
    return rung_slice_eq(slice_at(e, subjects[e->kind].board), board);
}

/* Does a command name this member? */
static bool keys_name(const rung_event *e, rung_slice player) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    rung_zcommand_item item;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        while (c.kind != RUNG_ZCOMMAND_ZPOP && c.kind != RUNG_ZCOMMAND_DEL &&
               c.kind != RUNG_ZCOMMAND_ZSTORE && rung_zcommand_item_next(&c, &item))
            if (rung_slice_eq(item.name, player))
                return true;
    return false;
}

static bool match_names(const rung_match_event *m, rung_slice player) {
    rung_match_cursor c = {.rest = m->packed};
    rung_match_entry e;
    while (rung_match_next(&c, &e))
        if (rung_slice_eq(e.player, player))
            return true;
    return false;
}

bool rung_event_is_about(const rung_event *e, rung_slice player) {
    if (rung_slice_eq(slice_at(e, subjects[e->kind].player), player) ||
        rung_slice_eq(slice_at(e, subjects[e->kind].other), player))
        return true;
    if (e->kind == RUNG_EVENT_KEYS)
        return keys_name(e, player);
    if (e->kind == RUNG_EVENT_MATCH)
        return match_names(&e->match, player);
    rung_slice name,
        rest = e->kind == RUNG_EVENT_FRIENDS_REPLACED ? e->friends.packed : (rung_slice){0};
    while (rung_names_next(&rest, &name))
        if (rung_slice_eq(name, player))
            return true;
    return false;
}

/* ---- fields ---- */

typedef struct writer {
    FILE *out;
    bool is_json;
} writer;

static void begin_field(const writer *w, const char *name) {
    if (w->is_json)
        fprintf(w->out, ",\"%s\":", name);
    else
        fprintf(w->out, "  %s=", name);
}

static void print_text(const writer *w, rung_slice text) {
    if (w->is_json)
        rung_print_json(w->out, text);
    else
        rung_print_word(w->out, text);
}

static void put_text(const writer *w, const char *name, rung_slice text) {
    begin_field(w, name);
    print_text(w, text);
}

/* Nothing if the text is empty. */
static void put_optional(const writer *w, const char *name, rung_slice text) {
    if (text.len)
        put_text(w, name, text);
}

/* A name: in a line it stands alone. Nothing if it is empty. */
static void put_subject(const writer *w, const char *name, rung_slice text) {
    if (w->is_json) {
        put_optional(w, name, text);
    } else if (text.len) {
        fputs("  ", w->out);
        rung_print_word(w->out, text);
    }
}

static void put_word(const writer *w, const char *name, const char *word) {
    put_text(w, name, rung_slice_str(word));
}

static void put_flag(const writer *w, const char *name, bool value) {
    if (!w->is_json && value)
        fprintf(w->out, "  %s", name);
    else if (w->is_json)
        fprintf(w->out, ",\"%s\":%s", name, value ? "true" : "false");
}

static void put_count(const writer *w, const char *name, uint64_t count) {
    begin_field(w, name);
    fprintf(w->out, "%llu", (unsigned long long)count);
}

static void put_time(const writer *w, const char *name, int64_t at_ms) {
    char text[RUNG_TIME_TEXT_MAX];
    put_text(w, name, rung_slice_of(text, rung_time_format(at_ms, text)));
}

/* ---- what each kind says ---- */

/* JSON has no infinities: those are strings there. */
static void print_value(const writer *w, const rung_column *column, rung_value value) {
    char text[RUNG_SCORE_TEXT_MAX];
    size_t len = rung_score_format(column, value, text);
    bool is_quoted = w->is_json && memchr(text, 'i', len);
    fprintf(w->out, is_quoted ? "\"%.*s\"" : "%.*s", (int)len, text);
}

static void put_values(const writer *w, const rung_score_event *s) {
    if (w->is_json)
        fprintf(w->out, ",\"%s\":[", s->is_delta ? "delta" : "score");
    else
        fputs("  ", w->out);
    for (uint32_t i = 0; i < s->value_count; i++) {
        rung_column column = {.type = s->types[i], .decimals = s->decimals[i]};
        fputs(i == 0 ? "" : ",", w->out);
        if (i == 0 && s->is_delta && !w->is_json)
            fputs("delta:", w->out);
        print_value(w, &column, s->values[i]);
    }
    fputs(w->is_json ? "]" : "", w->out);
}

/* "key", and the conditions, in the protocol's words. */
static void put_when(const writer *w, unsigned when) {
    char text[32];
    int len = snprintf(text, sizeof text, "key%s%s%s%s", when & RUNG_IF_NX ? " nx" : "",
                       when & RUNG_IF_XX ? " xx" : "", when & RUNG_IF_GT ? " gt" : "",
                       when & RUNG_IF_LT ? " lt" : "");
    put_text(w, "when", rung_slice_of(text, (size_t)len));
}

static void describe_review(const writer *w, const rung_event *e) {
    char id[RUNG_REVIEW_ID_TEXT_MAX];
    put_text(w, "review", rung_slice_of(id, rung_review_id_format(e->reviewed.id, id)));
    put_text(w, "verdict", rung_slice_str(rung_verdict_words[e->reviewed.verdict]));
    put_optional(w, "reason", e->reviewed.reason);
}

static void describe_score(const writer *w, const rung_score_event *s) {
    put_values(w, s);
    if (s->has_at)
        put_time(w, "at", s->at_ms);
    put_optional(w, "id", s->id);
    put_optional(w, "meta", s->meta);
    if (s->when)
        put_when(w, s->when);
    put_optional(w, "source", s->source);
    if (s->source.len)
        put_count(w, "offset", s->offset);
    if (s->attested.has_duration)
        put_count(w, "duration_ms", (uint64_t)s->attested.duration_ms);
    put_optional(w, "seed", s->attested.seed);
    put_optional(w, "replay", s->attested.replay);
}

static void put_windows(const writer *w, const rung_board_def *def) {
    char list[400];
    size_t at = 0;
    list[0] = '\0';
    for (unsigned kind = 0; rung_plain_window_words[kind]; kind++)
        if (def->windows & RUNG_WINDOWS_BIT(kind))
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at ? "," : "",
                                   rung_window_words[kind]);
    put_word(w, "windows", list);
    if (def->season_count)
        put_count(w, "seasons", def->season_count);
}

static void describe_definition(const writer *w, const rung_board_def *def) {
    put_optional(w, "title", def->title);
    put_word(w, "type", rung_score_type_words[def->key.columns[0].type]);
    put_word(w, "order", rung_score_order_words[def->key.columns[0].order]);
    if (def->key.column_count > 1)
        put_count(w, "columns", def->key.column_count);
    put_word(w, "update", rung_update_words[def->update]);
    put_word(w, "tie", rung_tie_words[def->key.tie]);
    put_word(w, "rank", rung_rank_words[def->rank]);
    put_windows(w, def);
    put_optional(w, "timezone", def->zone_name);
    fputs(w->is_json ? ",\"scopes\":[" : "", w->out);
    for (uint32_t i = 0; i < def->scope_count; i++) {
        fputs(!w->is_json ? "  scope=" : i ? "," : "", w->out);
        print_text(w, def->scopes[i]);
    }
    fputs(w->is_json ? "]" : "", w->out);
    if (def->has_teams)
        put_text(w, "teams", def->team_by);
}

static void describe_profile(const writer *w, const rung_event *e) {
    fputs(w->is_json ? ",\"attributes\":{" : "", w->out);
    for (uint32_t i = 0; i < e->profile.count; i++) {
        const rung_attribute *a = &e->profile.attributes[i];
        fputs(!w->is_json ? "  " : i ? "," : "", w->out);
        if (w->is_json)
            rung_print_json(w->out, a->name);
        else
            fwrite(a->name.ptr, 1, a->name.len, w->out);
        fputc(w->is_json ? ':' : '=', w->out);
        print_text(w, a->value);
    }
    fputs(w->is_json ? "}" : "", w->out);
}

static void describe_friends(const writer *w, const rung_event *e) {
    rung_slice rest = e->friends.packed, name;
    put_flag(w, "follow", e->friends.follow);
    put_count(w, "count", e->friends.count);
    fputs(w->is_json ? ",\"friends\":[" : " ", w->out);
    for (bool is_first = true; rung_names_next(&rest, &name); is_first = false) {
        fputs(!w->is_json ? " " : is_first ? "" : ",", w->out);
        print_text(w, name);
    }
    fputs(w->is_json ? "]" : "", w->out);
}

/* Players by side, each side with its place. */
static void describe_match(const writer *w, const rung_match_event *m) {
    rung_match_cursor c = {.rest = m->packed};
    rung_match_entry e;
    put_optional(w, "id", m->id);
    if (m->has_at)
        put_time(w, "at", m->at_ms);
    put_optional(w, "source", m->source);
    if (m->source.len)
        put_count(w, "offset", m->offset);
    fputs(w->is_json ? ",\"sides\":[" : "", w->out);
    while (rung_match_next(&c, &e)) {
        if (e.is_first && w->is_json)
            fprintf(w->out, "%s{\"place\":%d,\"players\":[", e.side ? "]}," : "", (int)e.place);
        else if (e.is_first)
            fprintf(w->out, "  place %d:", (int)e.place);
        fputs(!w->is_json ? " " : e.is_first ? "" : ",", w->out);
        print_text(w, e.player);
    }
    fputs(w->is_json ? "]}]" : "", w->out);
}

/* Commands, each with its key and how many members or keys it names. */
static void describe_keys(const writer *w, const rung_event *e) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    put_count(w, "count", e->keys.count);
    fputs(w->is_json ? ",\"commands\":[" : "", w->out);
    for (bool is_first = true; rung_zcommand_next(&rest, &c, NULL) == RUNG_OK; is_first = false) {
        const char *name = rung_zcommand_kind_name(c.kind);
        fprintf(w->out, w->is_json ? "%s{\"command\":\"%s\"" : "%s  %s",
                is_first || !w->is_json ? "" : ",", name);
        put_subject(w, "key", c.key);
        put_subject(w, "other", c.other);
        if (c.item_count)
            put_count(w, "items", c.item_count);
        fputs(w->is_json ? "}" : "", w->out);
    }
    fputs(w->is_json ? "]" : "", w->out);
}

static void describe_window(const writer *w, const rung_event *e) {
    char id[RUNG_WINDOW_ID_MAX];
    if (e->window.kind == 0)
        put_text(w, "season", e->window.season);
    else
        put_text(w, "window",
                 rung_slice_of(id, rung_window_id_format((rung_window_kind)e->window.kind,
                                                         e->window.ordinal, id)));
}

static void describe(const writer *w, const rung_event *e) {
    put_subject(w, "board", slice_at(e, subjects[e->kind].board));
    put_subject(w, "player", slice_at(e, subjects[e->kind].player));
    put_subject(w, "other", slice_at(e, subjects[e->kind].other));
    switch (e->kind) {
    case RUNG_EVENT_BOARD_DEFINED:
        describe_definition(w, &e->defined.def);
        break;
    case RUNG_EVENT_SCORE:
        describe_score(w, &e->score);
        break;
    case RUNG_EVENT_PLAYER_SET:
        describe_profile(w, e);
        break;
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
        put_flag(w, "follow", e->friend.follow);
        break;
    case RUNG_EVENT_FRIENDS_REPLACED:
        describe_friends(w, e);
        break;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        put_optional(w, "reason", e->ban.reason);
        if (e->ban.until_ms)
            put_time(w, "until", e->ban.until_ms);
        if (e->ban.is_shadow)
            put_flag(w, "shadow", true);
        break;
    case RUNG_EVENT_REVIEWED:
        describe_review(w, e);
        break;
    case RUNG_EVENT_NOTED:
        put_optional(w, "note", e->noted.note);
        break;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        describe_window(w, e);
        break;
    case RUNG_EVENT_KEYS:
        describe_keys(w, e);
        break;
    case RUNG_EVENT_IDS_SET:
        put_count(w, "capacity", e->ids.capacity);
        put_count(w, "keep_ms", (uint64_t)e->ids.keep_ms);
        break;
    case RUNG_EVENT_RULES_SET:
        put_count(w, "level", e->rules.level);
        break;
    case RUNG_EVENT_ACCESS_SET:
        put_count(w, "has_keys", e->access.has_keys);
        break;
    case RUNG_EVENT_KEY_CHANGED:
        put_flag(w, "revoked", e->key.is_revoked);
        put_optional(w, "id", e->key.id);
        put_optional(w, "role", e->key.role);
        put_optional(w, "boards", e->key.boards);
        break;
    case RUNG_EVENT_BOARD_FILLED:
        put_count(w, "job", e->filled.job);
        put_count(w, "part", e->filled.part);
        put_count(w, "bytes", e->filled.packed.len);
        break;
    case RUNG_EVENT_BOARD_SWAPPED:
        put_count(w, "job", e->swapped.job);
        put_flag(w, "undo", e->swapped.is_undo);
        break;
    case RUNG_EVENT_SHADOW_DROPPED:
        put_count(w, "job", e->dropped.job);
        break;
    case RUNG_EVENT_MATCH:
        describe_match(w, &e->match);
        break;
    case RUNG_EVENT_SESSION:
        put_flag(w, "ended", e->session.is_ended);
        put_optional(w, "session", e->session.id);
        put_optional(w, "derived_from", e->session.key);
        break;
    case RUNG_EVENT_BOARD_DELETED:
    case RUNG_EVENT_ENTRY_REMOVED:
    case RUNG_EVENT_PLAYER_ERASED:
    case RUNG_EVENT_TICK:
        break;
    }
}

void rung_event_print(FILE *out, uint64_t seq, const rung_event *e, bool is_json) {
    char time[RUNG_TIME_TEXT_MAX], kind[KIND_WORD_MAX];
    int len = (int)rung_time_format(e->ts_ms, time);
    kind_word(e->kind, kind);
    if (is_json)
        fprintf(out, "{\"seq\":%llu,\"ts\":\"%.*s\",\"kind\":\"%s\"", (unsigned long long)seq, len,
                time, kind);
    else
        fprintf(out, "%8llu  %s%.*s%s  %-13s", (unsigned long long)seq,
                rung_terminal_color(out, RUNG_COLOR_DIM), len, time,
                rung_terminal_color(out, RUNG_COLOR_PLAIN), kind);
    describe(&(writer){out, is_json}, e);
    fputs(is_json ? "}\n" : "\n", out);
}
