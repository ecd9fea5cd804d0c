/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of event leaves in the archive. Details of administrative events are JSON, for people and SQL tools.
 *
 * Everything here may be done for an event that the state refused or that changed nothing: hiding, showing and
 * erasing are idempotent and name what they touch, so the outcome need not be known. Only the texts say how it
 * went. */
#include "archive/archive.h"

#include "archive/buffer.h"
#include "archive/closed_window.h"
#include "archive/scope_census.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- JSON ---- */

static void put_str(rung__buffer *b, const char *text) {
    rung__buffer_put(b, text, strlen(text));
}

static void put_quoted(rung__buffer *b, rung_slice text) {
    put_str(b, "\"");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '"' || c == '\\')
            put_str(b, "\\");
        if (c < 0x20) {
            char escaped[8];
            snprintf(escaped, sizeof escaped, "\\u%04x", c);
            put_str(b, escaped);
        } else {
            rung__buffer_put(b, &text.ptr[i], 1);
        }
    }
    put_str(b, "\"");
}

/* A comma unless this is the first member, then "name": */
static void put_name(rung__buffer *b, const char *name) {
    char last = b->len ? b->ptr[b->len - 1] : '{';
    if (last != '{' && last != '[')
        put_str(b, ",");
    put_quoted(b, rung_slice_str(name));
    put_str(b, ":");
}

static void put_text_member(rung__buffer *b, const char *name, rung_slice text) {
    put_name(b, name);
    put_quoted(b, text);
}

static void put_int_member(rung__buffer *b, const char *name, int64_t number) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, number);
    put_name(b, name);
    put_str(b, text);
}

static void put_time_member(rung__buffer *b, const char *name, int64_t ms) {
    char text[RUNG_TIME_TEXT_MAX];
    put_text_member(b, name, rung_slice_of(text, rung_time_format(ms, text)));
}

static void put_value_member(rung__buffer *b, const char *name, const rung_column *column,
                             rung_value value) {
    char text[RUNG_SCORE_TEXT_MAX];
    rung_slice number = rung_slice_of(text, rung_score_format(column, value, text));
    bool is_infinite = memchr(text, 'i', number.len) != NULL; /* JSON has no number for it */
    put_name(b, name);
    if (is_infinite)
        put_quoted(b, number);
    else
        rung__buffer_put(b, number.ptr, number.len);
}

/* ---- a board's definition ---- */

enum { COMMANDS_SHOWN = 100 }; /* of one event, in the audit trail */

static void put_column(rung__buffer *b, const rung_column *c, rung_slice name) {
    put_str(b, "{");
    if (name.len)
        put_text_member(b, "name", name);
    put_text_member(b, "type", rung_slice_str(rung_score_type_words[c->type]));
    if (c->type == RUNG_SCORE_DECIMAL)
        put_int_member(b, "decimals", c->decimals);
    put_text_member(b, "order", rung_slice_str(rung_score_order_words[c->order]));
    put_str(b, "}");
}

static void put_scoring(rung__buffer *b, const rung_board_def *def) {
    put_name(b, "score");
    put_column(b, &def->key.columns[0], (rung_slice){NULL, 0});
    if (def->key.column_count > 1) {
        put_name(b, "columns");
        put_str(b, "[");
        for (uint32_t i = 1; i < def->key.column_count; i++) {
            put_str(b, i > 1 ? "," : "");
            put_column(b, &def->key.columns[i], def->column_names[i - 1]);
        }
        put_str(b, "]");
    }
    put_text_member(b, "update", rung_slice_str(rung_update_words[def->update]));
    if (def->update == RUNG_UPDATE_DECAY)
        put_int_member(b, "half_life_ms", def->half_life_ms);
    put_text_member(b, "tie", rung_slice_str(rung_tie_words[def->key.tie]));
    put_text_member(b, "rank", rung_slice_str(rung_rank_words[def->rank]));
}

static void put_windows(rung__buffer *b, const rung_board_def *def) {
    put_name(b, "windows");
    put_str(b, "[");
    const char *comma = "";
    for (uint32_t kind = 0; kind < RUNG_WINDOW_SEASON; kind++)
        if (def->windows >> kind & 1) {
            put_str(b, comma);
            put_quoted(b, rung_slice_str(rung_window_words[kind]));
            comma = ",";
        }
    for (uint32_t i = 0; i < def->season_count; i++) {
        put_str(b, comma);
        put_str(b, "{");
        put_text_member(b, "name", def->seasons[i].name);
        put_time_member(b, "starts", def->seasons[i].starts_ms);
        put_time_member(b, "ends", def->seasons[i].ends_ms);
        put_str(b, "}");
        comma = ",";
    }
    put_str(b, "]");
    put_text_member(b, "timezone", def->zone_name.len ? def->zone_name : RUNG_SLICE("UTC"));
    put_int_member(b, "day_starts_min", def->day_starts_min);
    put_int_member(b, "grace_ms", def->grace_ms);
    put_int_member(b, "keep", def->keep);
}

static void put_limits(rung__buffer *b, const rung_board_def *def) {
    const rung_column *score = &def->key.columns[0];
    char z[RUNG_TEXT_NUMBER_MAX];
    put_name(b, "limits");
    put_str(b, "{");
    if (def->limits & RUNG_LIMIT_MIN)
        put_value_member(b, "min", score, def->min);
    if (def->limits & RUNG_LIMIT_MAX)
        put_value_member(b, "max", score, def->max);
    if (def->limits & RUNG_LIMIT_STEP)
        put_value_member(b, "max_step", score, def->max_step);
    if (def->limits & RUNG_LIMIT_RATE)
        put_int_member(b, "per_player_per_minute", def->per_player_per_minute);
    if (def->limits & RUNG_LIMIT_Z) {
        put_name(b, "z_score");
        rung__buffer_put(b, z, rung_text_format_real(def->z_score, z));
    }
    put_str(b, "}");
}

static void put_definition(rung__buffer *b, const rung_board_def *def) {
    put_str(b, "{");
    if (def->title.len)
        put_text_member(b, "title", def->title);
    put_scoring(b, def);
    put_windows(b, def);
    put_name(b, "scopes");
    put_str(b, "[");
    for (uint32_t i = 0; i < def->scope_count; i++) {
        put_str(b, i ? "," : "");
        put_quoted(b, def->scopes[i]);
    }
    put_str(b, "]");
    if (def->has_teams) {
        put_name(b, "teams");
        put_str(b, "{");
        put_text_member(b, "by", def->team_by);
        put_text_member(b, "combine", rung_slice_str(rung_combine_words[def->team_combine]));
        if (def->team_combine == RUNG_COMBINE_TOP)
            put_int_member(b, "top", def->team_top);
        put_str(b, "}");
    }
    put_limits(b, def);
    put_text_member(b, "writers", rung_slice_str(rung_writers_words[def->writers]));
    put_str(b, "}");
}

/* ---- events ---- */

static rung_status add_score(rung_archive *a, uint64_t seq, const rung_event *e,
                             int64_t log_time_ms, int status, rung_err *err) {
    const rung_score_event *s = &e->score;
    rung_archive_score r = {.seq = seq,
                            .board = s->board,
                            .player = s->player,
                            .is_delta = s->is_delta,
                            .has_at = s->has_at,
                            .at_ms = s->has_at ? s->at_ms : log_time_ms,
                            .ts_ms = e->ts_ms,
                            .values = {.count = s->value_count},
                            .id = s->id,
                            .meta = s->meta,
                            .status = status};
    memcpy(r.values.values, s->values, sizeof r.values.values);
    memcpy(r.values.types, s->types, sizeof r.values.types);
    memcpy(r.values.decimals, s->decimals, sizeof r.values.decimals);
    return a->ops->add_score(a, &r, err);
}

static rung_status put_profile(rung_archive *a, uint64_t seq, const rung_event *e, rung_err *err) {
    rung__buffer b = {.alloc = a->alloc};
    put_str(&b, "{");
    for (uint32_t i = 0; i < e->profile.count; i++) {
        char name[RUNG_ATTRIBUTE_NAME_MAX + 1] = "";
        memcpy(name, e->profile.attributes[i].name.ptr, e->profile.attributes[i].name.len);
        put_text_member(&b, name, e->profile.attributes[i].value);
    }
    put_str(&b, "}");
    rung_status st = b.failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory")
                              : a->ops->put_player(a, seq, e->ts_ms, e->profile.player,
                                                   rung_slice_of(b.ptr, b.len), err);
    rung__buffer_deinit(&b);
    return st;
}

static void put_window_details(rung__buffer *b, uint32_t kind, rung_slice id) {
    put_str(b, "{");
    put_text_member(b, "kind", rung_slice_str(rung_window_words[kind]));
    put_text_member(b, "window", id);
    put_str(b, "}");
}

/* Commands by name and key; what they did to each member is the log's to tell. */
static void put_commands(rung__buffer *b, const rung_event *e) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    const char *comma = "";
    put_str(b, "[");
    for (uint32_t i = 0; i < COMMANDS_SHOWN && rung_zcommand_next(&rest, &c, NULL) == RUNG_OK;
         i++) {
        put_str(b, comma);
        put_str(b, "{");
        put_text_member(b, "command", rung_slice_str(rung_zcommand_kind_name(c.kind)));
        if (c.key.len)
            put_text_member(b, "key", c.key);
        if (c.other.len)
            put_text_member(b, "other", c.other);
        put_int_member(b, "items", c.item_count);
        put_str(b, "}");
        comma = ",";
    }
    put_str(b, "]");
}

static bool renews_key(const rung_zcommand *c) {
    return c->kind == RUNG_ZCOMMAND_RENAME || c->kind == RUNG_ZCOMMAND_ZSTORE ||
           c->kind == RUNG_ZCOMMAND_ZRANGESTORE;
}

/* Keys that a command takes away or writes anew begin a new life: what is archived under the name is of the old one. */
static rung_status retire_keys(rung_archive *a, uint64_t seq, const rung_event *e, rung_err *err) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    rung_zcommand_item item;
    rung_status st = RUNG_OK;
    while (st >= 0 && rung_zcommand_next(&rest, &c, NULL) == RUNG_OK) {
        if (renews_key(&c))
            st = a->ops->retire_board(a, c.key, seq, err);
        if (st >= 0 && c.kind == RUNG_ZCOMMAND_RENAME)
            st = a->ops->retire_board(a, c.other, seq, err);
        while (st >= 0 && c.kind == RUNG_ZCOMMAND_DEL && rung_zcommand_item_next(&c, &item))
            st = a->ops->retire_board(a, item.name, seq, err);
        if (st >= 0 && c.kind == RUNG_ZCOMMAND_FLUSH)
            st = a->ops->retire_all(a, seq, err);
    }
    return st;
}

/* Members come and go by the million; whole keys that somebody deleted or renamed are for the audit trail. */
static bool takes_keys_away(const rung_event *e) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        if (c.kind == RUNG_ZCOMMAND_DEL || c.kind == RUNG_ZCOMMAND_RENAME ||
            c.kind == RUNG_ZCOMMAND_FLUSH)
            return true;
    return false;
}

static bool retires_keys(const rung_event *e) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        if (c.kind == RUNG_ZCOMMAND_DEL || c.kind == RUNG_ZCOMMAND_FLUSH || renews_key(&c))
            return true;
    return false;
}

static void put_event_details(rung__buffer *b, const rung_event *e) {
    char id[RUNG_WINDOW_ID_MAX];
    switch (e->kind) {
    case RUNG_EVENT_BOARD_DEFINED:
        put_definition(b, &e->defined.def);
        break;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        put_str(b, "{");
        put_text_member(b, "reason", e->ban.reason);
        put_str(b, "}");
        break;
    case RUNG_EVENT_KEYS:
        put_commands(b, e);
        break;
    case RUNG_EVENT_IDS_SET:
        put_str(b, "{");
        put_int_member(b, "capacity", e->ids.capacity);
        put_int_member(b, "keep_ms", e->ids.keep_ms);
        put_str(b, "}");
        break;
    case RUNG_EVENT_RULES_SET:
        put_str(b, "{");
        put_int_member(b, "level", e->rules.level);
        put_str(b, "}");
        break;
    case RUNG_EVENT_ACCESS_SET:
        put_str(b, e->access.has_keys ? "{\"has_keys\":true}" : "{\"has_keys\":false}");
        break;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        if (e->window.kind)
            put_window_details(
                b, e->window.kind,
                rung_slice_of(id, rung_window_id_format((rung_window_kind)e->window.kind,
                                                        e->window.ordinal, id)));
        else
            put_window_details(b, RUNG_WINDOW_SEASON, e->window.season);
        break;
    default:
        break;
    }
}

static rung_status add_audit(rung_archive *a, uint64_t seq, const rung_event *e, rung_slice board,
                             rung_slice player, int status, rung_err *err) {
    rung__buffer b = {.alloc = a->alloc};
    put_event_details(&b, e);
    rung_archive_audit r = {.seq = seq,
                            .ts_ms = e->ts_ms,
                            .kind = rung_event_kind_name(e->kind),
                            .board = board,
                            .player = player,
                            .details = rung_slice_of(b.ptr, b.len),
                            .status = status};
    rung_status st =
        b.failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory") : a->ops->add_audit(a, &r, err);
    rung__buffer_deinit(&b);
    return st;
}

rung_status rung_archive_add_event(rung_archive *a, uint64_t seq, const rung_event *e,
                                   int64_t log_time_ms, int status, rung_err *err) {
    const rung_slice none = {NULL, 0};
    rung_status st;
    switch (e->kind) {
    case RUNG_EVENT_SCORE:
        return add_score(a, seq, e, log_time_ms, status, err);
    case RUNG_EVENT_PLAYER_SET:
        return put_profile(a, seq, e, err);
    case RUNG_EVENT_BOARD_DEFINED:
        return add_audit(a, seq, e, e->defined.board, none, status, err);
    case RUNG_EVENT_BOARD_DELETED:
        st = a->ops->retire_board(a, e->deleted.board, seq, err);
        return st < 0 ? st : add_audit(a, seq, e, e->deleted.board, none, status, err);
    case RUNG_EVENT_ENTRY_REMOVED:
        st = a->ops->hide(a, e->removed.board, e->removed.player, RUNG_HIDDEN_REMOVED, true, err);
        return st < 0 ? st : add_audit(a, seq, e, e->removed.board, e->removed.player, status, err);
    case RUNG_EVENT_PLAYER_ERASED: /* the audit record does not say who */
        st = a->ops->erase(a, e->erased.player, err);
        return st < 0 ? st : add_audit(a, seq, e, none, none, status, err);
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        st = a->ops->hide(a, none, e->ban.player, RUNG_HIDDEN_BANNED, e->kind == RUNG_EVENT_BANNED,
                          err);
        return st < 0 ? st : add_audit(a, seq, e, none, e->ban.player, status, err);
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        return add_audit(a, seq, e, e->window.board, none, status, err);
    case RUNG_EVENT_IDS_SET:
    case RUNG_EVENT_RULES_SET:
    case RUNG_EVENT_ACCESS_SET:
        return add_audit(a, seq, e, none, none, status, err);
    case RUNG_EVENT_KEYS:
        st = status == RUNG_OK ? retire_keys(a, seq, e, err) : RUNG_OK;
        return st < 0 || !takes_keys_away(e) ? st : add_audit(a, seq, e, none, none, status, err);
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
    case RUNG_EVENT_FRIENDS_REPLACED:
    case RUNG_EVENT_TICK:
        return RUNG_OK; /* who follows whom is nobody's history; what a tick closed comes as windows */
    }
    return RUNG_FAIL(err, RUNG_EVERSION, "event %" PRIu64 ": kind %d is not known", seq,
                     (int)e->kind);
}

bool rung_archive_is_changed_by(const rung_event *event) {
    switch (event->kind) {
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
    case RUNG_EVENT_ENTRY_REMOVED:
    case RUNG_EVENT_PLAYER_ERASED:
    case RUNG_EVENT_BOARD_DELETED:
        return true;
    case RUNG_EVENT_KEYS:
        return retires_keys(event);
    default:
        return false;
    }
}

/* ---- packed rankings ---- */

/* The rows of a closed window on their second reading. */
typedef struct window_rows {
    rung_packed_reader reader;
    rung__census *census;
} window_rows;

static rung_status next_row(void *ctx, rung_archive_row *row_out, rung_err *err) {
    window_rows *w = ctx;
    rung_status st = rung_packed_next(&w->reader, row_out, err);
    if (st == RUNG_OK)
        rung__census_rank(w->census, &w->reader, row_out);
    return st;
}

/* The first reading, with a reader of its own. */
static rung_status count_scopes(rung_packed_reader r, rung__census *census, rung_err *err) {
    rung_archive_row row;
    rung_status st = RUNG_OK;
    while (r.slot_count && st == RUNG_OK && (st = rung_packed_next(&r, &row, err)) == RUNG_OK)
        st = rung__census_count(census, &r, &row, err);
    return st < 0 ? st : RUNG_OK;
}

static rung_status add_window(rung_archive *a, const rung_packed_reader *r, rung_err *err) {
    window_rows rows = {.reader = *r};
    const rung_archive_scope *scopes;
    uint32_t count;
    rung_status st = rung__census_create(a->alloc, r, &rows.census, err);
    if (st < 0)
        return st;
    st = count_scopes(*r, rows.census, err);
    if (st >= 0)
        st = rung__census_list(rows.census, &scopes, &count, err);
    if (st >= 0)
        st = a->ops->add_window(a, &r->window, scopes, count, next_row, &rows, err);
    rung__census_destroy(rows.census);
    return st;
}

static rung_status add_samples(rung_archive *a, rung_packed_reader *r, rung_err *err) {
    rung_archive_row row;
    rung_status st;
    while ((st = rung_packed_next(r, &row, err)) == RUNG_OK) {
        rung_archive_sample s = {.seq = r->window.closed_seq,
                                 .board = r->window.board,
                                 .player = row.player,
                                 .point = {.time_ms = r->time_ms,
                                           .is_daily = true,
                                           .kind = r->window.kind,
                                           .window_id = r->window.id,
                                           .place = row.place,
                                           .sparse = row.sparse,
                                           .dense = row.dense,
                                           .total = r->window.total,
                                           .values = row.values}};
        rung_status added = a->ops->add_sample(a, &s, err);
        if (added < 0)
            return added;
    }
    return st < 0 ? st : RUNG_OK;
}

static rung_status audit_close(rung_archive *a, const rung_archive_window *w, rung_err *err) {
    rung__buffer b = {.alloc = a->alloc};
    put_window_details(&b, w->kind, w->id);
    rung_archive_audit r = {.seq = w->closed_seq,
                            .ts_ms = w->closed_ms,
                            .kind = "window archived",
                            .board = w->board,
                            .details = rung_slice_of(b.ptr, b.len),
                            .status = RUNG_OK};
    rung_status st =
        b.failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory") : a->ops->add_audit(a, &r, err);
    rung__buffer_deinit(&b);
    return st;
}

rung_status rung_archive_add_packed(rung_archive *a, rung_slice packed, rung_err *err) {
    rung_packed_reader r;
    rung_status st = rung_packed_open(packed, &r, err);
    if (st < 0)
        return st;
    if (r.is_sample)
        return add_samples(a, &r, err);
    st = add_window(a, &r, err);
    return st < 0 ? st : audit_close(a, &r.window, err);
}

rung_status rung_archive_add_gap(rung_archive *a, uint64_t first_seq, uint64_t last_seq,
                                 rung_err *err) {
    char details[96];
    int len = snprintf(details, sizeof details,
                       "{\"first_seq\":%" PRIu64 ",\"last_seq\":%" PRIu64 "}", first_seq, last_seq);
    rung_archive_audit r = {.seq = last_seq,
                            .kind = "not archived",
                            .details = rung_slice_of(details, (size_t)len),
                            .status = RUNG_STATUS_UNKNOWN};
    return a->ops->add_audit(a, &r, err);
}
