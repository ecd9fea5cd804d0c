/* SPDX-License-Identifier: Apache-2.0 */
/* Players: profile, friends, ban, erasure, history, submissions. */
#include "codec/board_json.h"
#include "front/api/answers.h"
#include "front/api/archive_calls.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/schemas.h"
#include "model/text.h"
#include "model/utf8.h"

#include <stdlib.h>
#include <string.h>

/* ---- profile ---- */

static int compare_attributes(const void *a, const void *b) {
    return rung_slice_cmp(((const rung_attribute *)a)->name, ((const rung_attribute *)b)->name);
}

static rung_status check_attribute(rung_slice name, rung_slice value, rung_err *err) {
    if (!rung_attribute_name_is_valid(name))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%.*s",
                               "the name of an attribute is 1 to %d of a-z A-Z 0-9 _ . -",
                               (int)name.len, name.ptr, RUNG_ATTRIBUTE_NAME_MAX);
    if (value.len < 1 || value.len > RUNG_ATTRIBUTE_VALUE_MAX || !rung_utf8_is_plain(value))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%.*s",
                               "expected 1 to %d bytes of UTF-8 without control characters",
                               (int)name.len, name.ptr, RUNG_ATTRIBUTE_VALUE_MAX);
    return RUNG_OK;
}

void rung_api_put_player(rung_call *c) {
    enum { SLOTS = PROFILE_FIELDS + RUNG_ATTRIBUTES_MAX };
    rung_slot slots[SLOTS];
    rung_event *e = &c->api->event;
    rung_err err = {0};
    uint32_t count = 0;
    if (!rung__call_read_body(c, slots))
        return;
    e->kind = RUNG_EVENT_PLAYER_SET;
    e->profile.player = c->player;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (!slots[i].present)
            continue;
        rung_slice name =
            i < PROFILE_FIELDS ? rung_slice_str(rung_profile_schema.fields[i].name) : slots[i].name;
        rung_status st =
            count == RUNG_ATTRIBUTES_MAX
                ? RUNG_FAIL_FIELD(&err, RUNG_EINVAL, "%.*s", "expected at most %d attributes",
                                  (int)name.len, name.ptr, RUNG_ATTRIBUTES_MAX)
                : check_attribute(name, slots[i].text, &err);
        if (st < 0) {
            rung__call_malformed(c, st, &err);
            return;
        }
        e->profile.attributes[count++] = (rung_attribute){name, slots[i].text};
    }
    qsort(e->profile.attributes, count, sizeof e->profile.attributes[0], compare_attributes);
    e->profile.count = count;
    rung__call_change(c);
}

enum { PROFILE_BOARDS_MAX = 1024 }; /* scanned for the attributes that a limited key may see */

/* Which attributes the caller may see: all with a key for all boards or with the player's own token, otherwise those
 * that the key's boards show. */
static void mark_shown(rung_call *c, const rung_attribute *attributes, uint32_t count,
                       bool *shown) {
    const rung_state *s = rung__api_state(c->api);
    rung_access *access = c->api->service.access;
    char text[RUNG_SIGHT_MAX];
    rung_slice sight = rung_access_sight(access, &c->who, text), id;
    bool is_all = !sight.ptr || c->who.player_len;
    const rung_board_def *def;
    for (uint32_t i = 0; i < count; i++)
        shown[i] = is_all || rung_slice_eq(attributes[i].name, RUNG_SLICE("name")) ||
                   rung_slice_eq(attributes[i].name, RUNG_SLICE("avatar")) ||
                   rung_slice_eq(attributes[i].name, RUNG_SLICE("country"));
    uint32_t span = is_all ? 0 : rung_state_board_span(s);
    for (uint32_t b = 0; b < span && b < PROFILE_BOARDS_MAX; b++)
        if (rung_state_board_at(s, b, &id, &def) == RUNG_OK && rung_access_sees(access, sight, id))
            for (uint32_t i = 0; i < count; i++)
                shown[i] |= rung_board_ranks_by(def, attributes[i].name);
}

void rung_api_get_player(rung_call *c) {
    const rung_state *s = rung__api_state(c->api);
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    bool shown[RUNG_ATTRIBUTES_MAX];
    uint32_t count;
    bool banned;
    if (rung_state_player(s, c->player, &count, attributes, &banned) != RUNG_OK) {
        rung__call_absent(c, "player", "no such player");
        return;
    }
    mark_shown(c, attributes, count, shown);
    /* Only servers and admins learn of a shadow ban. */
    bool is_shadow = banned && rung_state_is_shadow_banned(s, c->player);
    if (is_shadow && (c->who.player_len || c->who.role < RUNG_ROLE_SERVER))
        banned = is_shadow = false;
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "player", string, c->player);
    RUNG_JSON_OPEN(w, "profile", object);
    for (uint32_t i = 0; i < count; i++) {
        if (!shown[i])
            continue;
        rung_json_write_key(w, attributes[i].name);
        rung_json_write_string(w, attributes[i].value);
    }
    rung_json_close_object(w);
    RUNG_JSON_MEMBER(w, "banned", bool, banned);
    int64_t until_ms = banned ? rung_state_banned_until(s, c->player) : 0;
    if (until_ms)
        RUNG_JSON_MEMBER(w, "banned_until", time, until_ms);
    if (is_shadow)
        RUNG_JSON_MEMBER(w, "shadow", bool, true);
    RUNG_JSON_MEMBER(w, "friends", uint, rung_state_friends(s, c->player, NULL, 0));
    rung__call_answer_seq(c, 200, rung_state_seq(s));
}

void rung_api_erase_player(rung_call *c) {
    c->api->event.kind = RUNG_EVENT_PLAYER_ERASED;
    c->api->event.erased.player = c->player;
    rung__call_change(c);
}

void rung_api_remove_entry(rung_call *c) {
    c->api->event.kind = RUNG_EVENT_ENTRY_REMOVED;
    c->api->event.removed.board = c->board;
    c->api->event.removed.player = c->player;
    rung__call_change(c);
}

/* ---- ban ---- */

static void ban(rung_call *c, rung_event_kind kind, rung_slice reason, int64_t until_ms,
                bool is_shadow) {
    c->api->event.kind = kind;
    c->api->event.ban.player = c->player;
    c->api->event.ban.reason = reason;
    c->api->event.ban.until_ms = until_ms;
    c->api->event.ban.is_shadow = is_shadow;
    rung__call_change(c);
}

void rung_api_ban(rung_call *c) {
    rung_slot slots[BAN_FIELDS] = {0};
    if (c->body_len && !rung__call_read_body(c, slots))
        return;
    rung_slice none = {"", 0};
    int64_t until_ms = slots[BAN_UNTIL].present ? slots[BAN_UNTIL].integer : 0;
    if (slots[BAN_UNTIL].present && until_ms <= rung_hub_now(c->api->service.hub)) {
        rung__call_fail_with(c, RUNG_ERANGE, RUNG_REASON_NONE, "until", "it is in the past");
        return;
    }
    ban(c, RUNG_EVENT_BANNED, slots[BAN_REASON].present ? slots[BAN_REASON].text : none, until_ms,
        slots[BAN_SHADOW].present && slots[BAN_SHADOW].integer);
}

void rung_api_unban(rung_call *c) {
    ban(c, RUNG_EVENT_UNBANNED, rung__call_arg(c, "reason")->text, 0, false);
}

/* ---- friends ---- */

static void befriend(rung_call *c, rung_event_kind kind) {
    rung_event *e = &c->api->event;
    rung_slice other = rung__call_arg(c, "friend")->text;
    e->kind = kind;
    e->friend.player = c->player;
    e->friend.other = other;
    e->friend.follow = rung__call_arg(c, "follow")->number != 0;
    rung__call_change(c);
}

void rung_api_put_friend(rung_call *c) {
    befriend(c, RUNG_EVENT_FRIEND_ADDED);
}

void rung_api_remove_friend(rung_call *c) {
    befriend(c, RUNG_EVENT_FRIEND_REMOVED);
}

/* Pack the names as the event wants them, each after a length byte, over the JSON that they come from: with quotes
 * and a comma or bracket a name always takes more bytes there. */
static rung_status pack_friends(rung_call *c, const rung_slot *list, rung_event *e, rung_err *err) {
    rung_json *r = &c->api->reader;
    char *out = (char *)(uintptr_t)list->text.ptr, *at = out;
    rung_slice name;
    uint32_t count = 0;
    rung_json_init_at(r, list->text, "friends", list->offset, err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        st = rung_json_string(r, &name);
        if (st < 0)
            break;
        if (!rung_name_is_valid(name))
            return rung_json_refuse(r, RUNG_EINVAL,
                                    "expected 1 to 128 bytes of UTF-8 without control characters");
        memmove(at + 1, name.ptr, name.len);
        *at = (char)name.len;
        at += 1 + name.len;
        count++;
    }
    if (st < 0)
        return st;
    e->friends.packed = rung_slice_of(out, (size_t)(at - out));
    e->friends.count = count;
    return RUNG_OK;
}

void rung_api_put_friends(rung_call *c) {
    rung_slot slots[FRIENDS_FIELDS];
    rung_event *e = &c->api->event;
    rung_err err = {0};
    if (!rung__call_read_body(c, slots))
        return;
    e->kind = RUNG_EVENT_FRIENDS_REPLACED;
    e->friends.player = c->player;
    e->friends.follow = rung__call_arg(c, "follow")->number != 0;
    rung_status st = pack_friends(c, &slots[FRIENDS_FRIENDS], e, &err);
    if (st < 0)
        rung__call_malformed(c, st, &err);
    else
        rung__call_change(c);
}

void rung_api_get_friends(rung_call *c) {
    const rung_alloc *a = c->api->config.alloc;
    const rung_state *s = rung__api_state(c->api);
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count;
    bool banned;
    if (rung_state_player(s, c->player, &count, attributes, &banned) != RUNG_OK) {
        rung__call_absent(c, "player", "no such player");
        return;
    }
    uint32_t total = rung_state_friends(s, c->player, NULL, 0);
    rung_slice *ids = rung_alloc_get(a, (total + 1) * sizeof *ids);
    if (!ids) {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
        return;
    }
    rung_state_friends(s, c->player, ids, total);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "player", string, c->player);
    RUNG_JSON_OPEN(w, "friends", array);
    uint32_t from = rung__call_count(c, "offset"), limit = rung__call_count(c, "limit");
    for (uint32_t i = from; i < total && i - from < limit; i++)
        rung_json_write_string(w, ids[i]);
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "total", uint, total);
    rung_alloc_free(a, ids, (total + 1) * sizeof *ids);
    rung__call_answer_seq(c, 200, rung_state_seq(s));
}

/* ---- history ---- */

typedef struct history_ask {
    rung_archive_call base; /* the first member */
    int64_t from_ms, to_ms;
    uint32_t limit, count;
    rung_archive_point points[];
} history_ask;

static rung_status ask_history(rung_archive_job *job, const rung_archive_port *port,
                               rung_archive *archive) {
    history_ask *ask = (history_ask *)job;
    const rung_call *c = ask->base.call;
    rung_status st = port->cursor(archive, &ask->base.cursor_seq, NULL, &job->err);
    if (st < 0)
        return st;
    return port->history(archive, c->board, c->player, ask->from_ms, ask->to_ms, ask->limit,
                         ask->points, &ask->count, &job->err);
}

/* Values carry their types: they may be of an earlier board of the same name. Column names come from the current board,
 * if there is one (`def` may be NULL). */
static void write_archived_values(rung_json_writer *w, const rung_archive_values *v, bool is_delta,
                                  const rung_board_def *def) {
    rung_column column = {.type = (rung_score_type)v->types[0], .decimals = v->decimals[0]};
    rung_json_write_key(w, is_delta ? RUNG_SLICE("delta") : RUNG_SLICE("score"));
    rung_score_json_write(w, &column, v->values[0]);
    if (v->count < 2 || !def || def->key.column_count < v->count)
        return;
    RUNG_JSON_OPEN(w, "columns", object);
    for (uint32_t i = 1; i < v->count; i++) {
        column = (rung_column){.type = (rung_score_type)v->types[i], .decimals = v->decimals[i]};
        rung_json_write_key(w, def->column_names[i - 1]);
        rung_score_json_write(w, &column, v->values[i]);
    }
    rung_json_close_object(w);
}

static void write_point(rung_json_writer *w, const rung_archive_point *point, rung_rank_style style,
                        const rung_board_def *def) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "at", time, point->time_ms);
    RUNG_JSON_MEMBER(w, "taken", string,
                     point->is_sample ? RUNG_SLICE("daily") : RUNG_SLICE("window_end"));
    RUNG_JSON_OPEN(w, "window", object);
    RUNG_JSON_MEMBER(w, "kind", word, rung_window_words[point->kind]);
    RUNG_JSON_MEMBER(w, "id", string, point->window_id);
    rung_json_close_object(w);
    RUNG_JSON_MEMBER(w, "rank", uint,
                     rung_rank_in(style, point->place, point->sparse, point->dense));
    RUNG_JSON_MEMBER(w, "total", uint, point->total);
    write_archived_values(w, &point->values, false, def);
    rung_json_close_object(w);
}

/* `a` NULL: there is no archive. */
static void end_answer(rung_call *c, const rung_archive_call *a) {
    RUNG_JSON_MEMBER(&c->api->out, "archived_seq", uint, a ? a->cursor_seq : 0);
    rung__call_answer_seq(c, 200, a ? a->job.seq : rung_state_seq(rung__api_state(c->api)));
}

static void answer_history(rung_call *c, const history_ask *ask) {
    const rung_board_def *def = rung__call_board(c);
    if (!def)
        return;
    const rung_arg *rank = rung__call_arg(c, "rank");
    rung_rank_style style = rank->given ? (rung_rank_style)rank->number : def->rank;
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "player", string, c->player);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_MEMBER(w, "rank_style", word, rung_rank_words[style]);
    RUNG_JSON_OPEN(w, "points", array);
    for (uint32_t i = 0; ask && i < ask->count; i++)
        write_point(w, &ask->points[i], style, def);
    rung_json_close_array(w);
    end_answer(c, ask ? &ask->base : NULL);
}

static void finish_history(rung_archive_call *a) {
    answer_history(a->call, (const history_ask *)a);
}

void rung_api_history(rung_call *c) {
    const rung_arg *from = rung__call_arg(c, "from"), *to = rung__call_arg(c, "to");
    const rung_board_def *def;
    uint32_t limit = rung__call_count(c, "limit");
    if (!rung_asker_has_archive(c->api->service.asker) ||
        rung_state_board(rung__api_state(c->api), c->board, &def) != RUNG_OK) {
        answer_history(c, NULL);
        return;
    }
    history_ask *ask = rung__archive_call_new(
        c, sizeof(history_ask) + limit * sizeof(rung_archive_point), ask_history, finish_history);
    if (!ask)
        return;
    ask->limit = limit;
    ask->from_ms = from->given ? from->number : RUNG_TIME_MS_MIN;
    ask->to_ms = to->given ? to->number : RUNG_TIME_MS_END;
    ask->base.job.needs_closed = true;
    rung__archive_call_put(&ask->base);
}

/* ---- submissions ---- */

typedef struct submissions_ask {
    rung_archive_call base; /* the first member */
    rung_archive_score_query query;
    uint32_t limit, count; /* asks for one more than the limit: is there a next page? */
    rung_archive_score scores[];
} submissions_ask;

static rung_status ask_submissions(rung_archive_job *job, const rung_archive_port *port,
                                   rung_archive *archive) {
    submissions_ask *ask = (submissions_ask *)job;
    rung_status st = port->cursor(archive, &ask->base.cursor_seq, NULL, &job->err);
    if (st < 0)
        return st;
    return port->scores(archive, &ask->query, ask->limit + 1, ask->scores, &ask->count, &job->err);
}

static const char *outcome_name(int status) {
    switch (status) {
    case RUNG_OK:
        return "accepted";
    case RUNG_UNCHANGED:
        return "unchanged";
    case RUNG_DUPLICATE:
        return "duplicate";
    case RUNG_TENTATIVE:
        return "tentative";
    default:
        return status < 0 ? "refused" : "unknown";
    }
}

/* The code that the sender was refused with. Only the board of a submission can be absent. */
static const char *refusal_code(rung_status st) {
    rung_err err = {0};
    if (st == RUNG_EABSENT)
        RUNG_FAIL_FIELD(&err, st, "board", "no such board");
    return rung_problem_of(st, &err).code;
}

/* Write an object or array as it was sent, anything else as a string. */
static void write_meta(rung_json_writer *w, rung_slice meta, rung_json *reader) {
    bool is_json = meta.ptr[0] == '{' || meta.ptr[0] == '[';
    if (is_json) {
        rung_json_init_at(reader, meta, NULL, 0, NULL);
        rung_ignore(rung_json_skip(reader, NULL), "the end tells");
        is_json = rung_json_end(reader) == RUNG_OK;
    }
    RUNG_JSON_KEY(w, "meta");
    if (is_json)
        rung_json_write_raw(w, meta);
    else
        rung_json_write_string(w, meta);
}

static void write_submission(rung_json_writer *w, const rung_archive_score *s, rung_api *api) {
    const rung_board_def *def = NULL;
    if (rung_state_board(rung__api_state(api), s->board, &def) != RUNG_OK)
        def = NULL;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "seq", uint, s->seq);
    RUNG_JSON_MEMBER(w, "at", time, s->at_ms);
    RUNG_JSON_MEMBER(w, "board", string, s->board);
    if (s->values.count)
        write_archived_values(w, &s->values, s->is_delta, def);
    RUNG_JSON_MEMBER(w, "kind", string, rung_slice_str(rung_archive_kind_of(s)));
    if (s->is_removal)
        RUNG_JSON_MEMBER(w, "removed", bool, true);
    if (s->has_result && s->result.count) {
        rung_column column = {.type = (rung_score_type)s->result.types[0],
                              .decimals = s->result.decimals[0]};
        RUNG_JSON_KEY(w, "result");
        rung_score_json_write(w, &column, s->result.values[0]);
    }
    if (s->id.len)
        RUNG_JSON_MEMBER(w, "id", string, s->id);
    if (s->meta.len)
        write_meta(w, s->meta, &api->reader);
    RUNG_JSON_MEMBER(w, "outcome", word, outcome_name(s->status));
    if (s->status < 0)
        RUNG_JSON_MEMBER(w, "reason", string, rung_slice_str(refusal_code((rung_status)s->status)));
    rung_json_close_object(w);
}

/* The position of a page's last submission: "at.seq", or "at.seq.part". */
static void write_place(rung_json_writer *w, const rung_archive_score *last) {
    char text[RUNG_TEXT_NUMBER_MAX + 1 + 20 + 1 + 20];
    size_t len = rung_text_format_fixed(last->at_ms, 0, text);
    text[len++] = '.';
    len += rung_digits_format(last->seq, text + len);
    if (last->part) {
        text[len++] = '.';
        len += rung_digits_format(last->part, text + len);
    }
    rung_json_write_string(w, rung_slice_of(text, len));
}

static bool read_place(rung_slice text, rung_archive_score_query *q) {
    const char *dot = memchr(text.ptr, '.', text.len);
    if (!dot)
        return false;
    rung_slice at = rung_slice_of(text.ptr, (size_t)(dot - text.ptr));
    rung_slice seq = rung_slice_of(dot + 1, text.len - at.len - 1);
    int64_t number, part = 0;
    const char *second = memchr(seq.ptr, '.', seq.len);
    if (second) {
        rung_slice last = rung_slice_of(second + 1, (size_t)(seq.ptr + seq.len - second) - 1);
        seq.len = (size_t)(second - seq.ptr);
        if (rung_text_parse_fixed(last, 0, &part, NULL) < 0 || part < 1 || part > UINT32_MAX)
            return false;
    }
    if (rung_text_parse_fixed(at, 0, &q->after_at_ms, NULL) < 0 ||
        rung_text_parse_fixed(seq, 0, &number, NULL) < 0 || number < 1 ||
        q->after_at_ms < RUNG_TIME_MS_MIN || q->after_at_ms >= RUNG_TIME_MS_END)
        return false;
    q->after_seq = (uint64_t)number;
    q->after_part = (uint32_t)part;
    return true;
}

static void answer_submissions(rung_call *c, const submissions_ask *ask) {
    rung_json_writer *w = rung__call_begin(c);
    uint32_t shown = !ask ? 0 : ask->count < ask->limit ? ask->count : ask->limit;
    RUNG_JSON_MEMBER(w, "player", string, c->player);
    RUNG_JSON_OPEN(w, "submissions", array);
    for (uint32_t i = 0; i < shown; i++)
        write_submission(w, &ask->scores[i], c->api);
    rung_json_close_array(w);
    RUNG_JSON_KEY(w, "next");
    if (ask && ask->count > shown)
        write_place(w, &ask->scores[shown - 1]);
    else
        rung_json_write_null(w);
    end_answer(c, ask ? &ask->base : NULL);
}

static void finish_submissions(rung_archive_call *a) {
    answer_submissions(a->call, (const submissions_ask *)a);
}

/* The query that the arguments describe; false: `before` is not a position, and the call is ended. */
static bool fill_query(rung_call *c, rung_archive_score_query *q) {
    const rung_arg *from = rung__call_arg(c, "from"), *to = rung__call_arg(c, "to");
    const rung_arg *before = rung__call_arg(c, "before");
    *q = (rung_archive_score_query){.board = rung__call_arg(c, "board")->text,
                                    .player = c->player,
                                    .from_ms = from->given ? from->number : RUNG_TIME_MS_MIN,
                                    .to_ms = to->given ? to->number : RUNG_TIME_MS_END,
                                    .newest_first = true};
    if (q->from_ms >= q->to_ms) /* empty; two zeros would mean always */
        q->from_ms = q->to_ms = RUNG_TIME_MS_MIN;
    if (!before->given || read_place(before->text, q))
        return true;
    return rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "before",
                                "expected `next` of the page before");
}

void rung_api_submissions(rung_call *c) {
    rung_archive_score_query query;
    uint32_t limit = rung__call_count(c, "limit");
    if (!fill_query(c, &query))
        return;
    if (!rung_asker_has_archive(c->api->service.asker)) {
        answer_submissions(c, NULL);
        return;
    }
    submissions_ask *ask = rung__archive_call_new(
        c, sizeof(submissions_ask) + (limit + 1) * sizeof(rung_archive_score), ask_submissions,
        finish_submissions);
    if (!ask)
        return;
    ask->query = query;
    ask->limit = limit;
    rung__archive_call_put(&ask->base);
}
