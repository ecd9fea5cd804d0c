/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of event leaves in the archive. Details of administrative events are JSON, for people and SQL tools.
 *
 * All of it is also correct for an event that the state refused or that changed nothing: hiding, showing and erasing
 * are idempotent. So the outcome need not be known; only the status column records it. */
#include "archive/archive.h"

#include "archive/closed_window.h"
#include "archive/results.h"
#include "archive/scope_census.h"
#include "codec/board_json.h"
#include "codec/json_writer.h"
#include "state/review.h"

#include <inttypes.h>

enum { COMMANDS_SHOWN = 100 }; /* of one event, in the audit trail */

/* ---- events ---- */

static rung_status add_score(rung_archive *a, uint64_t seq, const rung_event *e,
                             int64_t log_time_ms, const rung_archive_effect *effect,
                             rung_err *err) {
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
                            .status = effect->status,
                            .rule = effect->rule,
                            .has_result = effect->result.count > 0,
                            .result = effect->result};
    memcpy(r.values.values, s->values, sizeof r.values.values);
    memcpy(r.values.types, s->types, sizeof r.values.types);
    memcpy(r.values.decimals, s->decimals, sizeof r.values.decimals);
    return a->ops->add_score(a, &r, err);
}

static rung_status put_profile(rung_archive *a, uint64_t seq, const rung_event *e, rung_err *err) {
    rung_json_writer w = {.alloc = a->alloc};
    rung_json_open_object(&w);
    for (uint32_t i = 0; i < e->profile.count; i++) {
        rung_json_write_key(&w, e->profile.attributes[i].name);
        rung_json_write_string(&w, e->profile.attributes[i].value);
    }
    rung_json_close_object(&w);
    rung_status st = w.is_failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory")
                                 : a->ops->put_player(a, seq, e->ts_ms, e->profile.player,
                                                      rung_json_written(&w), err);
    rung_json_writer_deinit(&w);
    return st;
}

static void put_window(rung_json_writer *w, uint32_t kind, rung_slice id) {
    RUNG_JSON_MEMBER(w, "kind", word, rung_window_words[kind]);
    RUNG_JSON_MEMBER(w, "window", string, id);
}

/* The keys that a command deletes. */
static void put_keys(rung_json_writer *w, rung_zcommand c) {
    rung_zcommand_item item;
    RUNG_JSON_OPEN(w, "keys", array);
    for (uint32_t i = 0; i < COMMANDS_SHOWN && rung_zcommand_item_next(&c, &item); i++)
        rung_json_write_string(w, item.name);
    rung_json_close_array(w);
}

/* Commands by name and key; score events have their members. */
static void put_commands(rung_json_writer *w, const rung_event *e) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    rung_json_open_array(w);
    for (uint32_t i = 0; i < COMMANDS_SHOWN && rung_zcommand_next(&rest, &c, NULL) == RUNG_OK;
         i++) {
        rung_json_open_object(w);
        RUNG_JSON_MEMBER(w, "command", word, rung_zcommand_kind_name(c.kind));
        if (c.key.len)
            RUNG_JSON_MEMBER(w, "key", string, c.key);
        if (c.other.len)
            RUNG_JSON_MEMBER(w, "other", string, c.other);
        if (c.kind == RUNG_ZCOMMAND_DEL)
            put_keys(w, c);
        RUNG_JSON_MEMBER(w, "items", int, c.item_count);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
}

/* Write `r` with the details in `w`; an empty object is omitted. */
static rung_status write_audit(rung_archive *a, rung_archive_audit r, rung_json_writer *w,
                               rung_err *err) {
    if (w->len > 2)
        r.details = rung_json_written(w);
    rung_status st =
        w->is_failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory") : a->ops->add_audit(a, &r, err);
    rung_json_writer_deinit(w);
    return st;
}

/* ---- refusals ---- */

enum {
    REFUSALS_SHOWN = 10,
    MINUTE_MS = 60000
}; /* of one board, rule and minute, in the audit trail */

/* The limit, in the type of the score or of the rule itself. */
static void put_limit(rung_json_writer *w, const rung_archive_effect *effect) {
    const rung_archive_values *v = &effect->result;
    rung_measure measure = rung_rule_measure(effect->rule);
    bool is_real = v->types[0] == RUNG_SCORE_REAL;
    if (effect->rule == RUNG_RULE_RATE || measure == RUNG_MEASURE_INTEGER)
        RUNG_JSON_MEMBER(w, "limit", int, effect->limit.i);
    else if (measure == RUNG_MEASURE_REAL || (measure == RUNG_MEASURE_SCORE && is_real))
        RUNG_JSON_MEMBER(w, "limit", real, effect->limit.d);
    else if (measure == RUNG_MEASURE_SCORE) {
        RUNG_JSON_KEY(w, "limit");
        rung_json_write_fixed(w, effect->limit.i, v->decimals[0]);
    }
}

static void put_value(rung_json_writer *w, const rung_score_event *s) {
    if (!s->value_count)
        return;
    RUNG_JSON_KEY(w, "value");
    if (s->types[0] == RUNG_SCORE_REAL)
        rung_json_write_real(w, s->values[0].d);
    else
        rung_json_write_fixed(w, s->values[0].i, s->decimals[0]);
}

/* Every refusal is a row of the score events. The first few of a minute get a record here, and all are counted, so that
 * a flood of them adds little. */
static rung_status add_refusal(rung_archive *a, uint64_t seq, const rung_event *e,
                               int64_t log_time_ms, const rung_archive_effect *effect,
                               rung_err *err) {
    rung_archive_refusals r = {.board = e->score.board,
                               .rule = effect->rule,
                               .minute_ms = log_time_ms - log_time_ms % MINUTE_MS};
    rung_status st = a->ops->find_refusals(a, &r, err);
    if (st < 0)
        return st;
    r.first_seq = r.count ? r.first_seq : seq;
    r.last_seq = seq;
    r.count++;
    st = a->ops->put_refusals(a, &r, err);
    if (st < 0 || r.count > REFUSALS_SHOWN)
        return st;
    rung_json_writer w = {.alloc = a->alloc};
    rung_json_open_object(&w);
    put_value(&w, &e->score);
    put_limit(&w, effect);
    rung_json_close_object(&w);
    return write_audit(a,
                       (rung_archive_audit){.seq = seq,
                                            .ts_ms = e->ts_ms,
                                            .kind = RUNG_SLICE("refused"),
                                            .board = e->score.board,
                                            .player = e->score.player,
                                            .status = effect->status,
                                            .rule = effect->rule},
                       &w, err);
}

#define COMMAND(kind) (UINT64_C(1) << RUNG_ZCOMMAND_##kind)
/* Commands that delete keys, and those that replace a key. */
#define ENDS_KEYS   (COMMAND(DEL) | COMMAND(RENAME) | COMMAND(FLUSH))
#define RENEWS_KEYS (COMMAND(RENAME) | COMMAND(ZSTORE) | COMMAND(ZRANGESTORE))

static bool has_command(const rung_event *e, uint64_t kinds) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        if (kinds >> c.kind & 1)
            return true;
    return false;
}

/* A key that a command deletes or overwrites is a new key afterwards: retire what is archived under its name. */
static rung_status retire_keys(rung_archive *a, uint64_t seq, const rung_event *e, rung_err *err) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    rung_zcommand_item item;
    rung_status st = RUNG_OK;
    while (st >= 0 && rung_zcommand_next(&rest, &c, NULL) == RUNG_OK) {
        if (RENEWS_KEYS >> c.kind & 1)
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

/* ---- events with several rows: Redis commands, matches ---- */

/* The rows of one event. */
typedef struct command_rows {
    rung_archive *archive;
    rung_archive_score row; /* what they have in common; `part` is that of the last one */
    rung_slice results;     /* of the rows to come */
} command_rows;

static command_rows rows_of(rung_archive *a, uint64_t seq, const rung_event *e, int64_t log_time_ms,
                            const rung_archive_effect *effect) {
    return (command_rows){.archive = a,
                          .row = {.seq = seq,
                                  .at_ms = log_time_ms,
                                  .ts_ms = e->ts_ms,
                                  .status = effect->status,
                                  .rule = effect->rule},
                          .results = effect->results};
}

static rung_status add_row(command_rows *r, uint32_t command, rung_slice board, rung_slice player,
                           rung_slice meta, rung_err *err) {
    r->row.part++;
    r->row.command = (uint8_t)command;
    r->row.board = board;
    r->row.player = player;
    r->row.meta = meta;
    return r->archive->ops->add_score(r->archive, &r->row, err);
}

/* A row about a player, with the score after the event: results are in the order of these rows. */
static rung_status add_player_row(command_rows *r, uint32_t command, rung_slice board,
                                  rung_slice player, rung_slice meta, rung_err *err) {
    bool has_result = rung_results_next(&r->results, &r->row.result);
    r->row.has_result = has_result && !r->row.is_removal && r->row.status >= 0;
    rung_status st = add_row(r, command, board, player, meta, err);
    r->row.has_result = false;
    return st;
}

/* A row for each member that ZADD or ZREM names. */
static rung_status add_members(command_rows *r, rung_zcommand *c, rung_err *err) {
    rung_zcommand_item item;
    rung_status st = RUNG_OK;
    r->row.is_delta = c->flags & RUNG_ZCOMMAND_INCR;
    r->row.is_removal = c->kind == RUNG_ZCOMMAND_ZREM;
    while (st >= 0 && rung_zcommand_item_next(c, &item)) {
        r->row.values = (rung_archive_values){.count = !r->row.is_removal,
                                              .values = {{.d = item.number}},
                                              .types = {RUNG_SCORE_REAL}};
        st = add_player_row(r, 0, c->key, item.name, (rung_slice){0}, err);
    }
    r->row.is_delta = r->row.is_removal = false;
    r->row.values.count = 0;
    return st;
}

static void put_range(rung_json_writer *w, const rung_zcommand *c) {
    static const char *const by[] = {"rank", "score", "member"};
    const rung_range *g = &c->range;
    RUNG_JSON_MEMBER(w, "by", word, by[g->by]);
    if (g->by == RUNG_RANGE_RANK) {
        RUNG_JSON_MEMBER(w, "start", int, g->start);
        RUNG_JSON_MEMBER(w, "stop", int, g->stop);
    }
}

/* What a command says beside its keys, as JSON. */
static void put_command_meta(rung_json_writer *w, const rung_zcommand *c) {
    rung_json_open_object(w);
    if (c->kind == RUNG_ZCOMMAND_ZREMRANGE || c->kind == RUNG_ZCOMMAND_ZRANGESTORE)
        put_range(w, c);
    if (c->kind == RUNG_ZCOMMAND_ZPOP) {
        RUNG_JSON_MEMBER(w, "end", word, c->flags & RUNG_ZCOMMAND_MAX ? "highest" : "lowest");
        RUNG_JSON_MEMBER(w, "count", uint, c->pop_count);
    }
    if (c->other.len)
        RUNG_JSON_MEMBER(w, "other", string, c->other);
    if (c->kind == RUNG_ZCOMMAND_EXPIRE)
        RUNG_JSON_MEMBER(w, "at", time, c->at_ms);
    rung_json_close_object(w);
}

/* A row for each key that the command names as what it works on. */
static rung_status add_keys(command_rows *r, rung_zcommand *c, rung_slice meta, rung_err *err) {
    rung_zcommand_item item;
    rung_status st = RUNG_OK;
    rung_slice nobody = {0};
    if (c->kind != RUNG_ZCOMMAND_ZPOP && c->kind != RUNG_ZCOMMAND_DEL)
        st = add_row(r, c->kind, c->key, nobody, meta, err);
    else
        while (st >= 0 && rung_zcommand_item_next(c, &item))
            st = add_row(r, c->kind, item.name, nobody, meta, err);
    if (st >= 0 && c->kind == RUNG_ZCOMMAND_RENAME) /* the new name, too, is a new key */
        st = add_row(r, c->kind, c->other, nobody, meta, err);
    return st;
}

static rung_status add_command(command_rows *r, rung_zcommand *c, rung_err *err) {
    if (c->kind == RUNG_ZCOMMAND_ZADD || c->kind == RUNG_ZCOMMAND_ZREM)
        return add_members(r, c, err);
    rung_json_writer w = {.alloc = r->archive->alloc};
    put_command_meta(&w, c);
    rung_slice meta = w.len > 2 ? rung_json_written(&w) : (rung_slice){0};
    rung_status st =
        w.is_failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory") : add_keys(r, c, meta, err);
    rung_json_writer_deinit(&w);
    return st;
}

/* Every command has its rows. */
static rung_status add_commands(rung_archive *a, uint64_t seq, const rung_event *e,
                                int64_t log_time_ms, const rung_archive_effect *effect,
                                rung_err *err) {
    command_rows r = rows_of(a, seq, e, log_time_ms, effect);
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    rung_status st = RUNG_OK;
    while (st >= 0 && rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        st = add_command(&r, &c, err);
    return st;
}

static void put_match_entry(rung_json_writer *w, const rung_match_entry *m) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "side", uint, m->side);
    RUNG_JSON_MEMBER(w, "place", int, m->place);
    if (m->weight != 1)
        RUNG_JSON_MEMBER(w, "weight", real, m->weight);
    if (m->played != 1)
        RUNG_JSON_MEMBER(w, "played", real, m->played);
    rung_json_close_object(w);
}

/* A row for each player, with the rating after the match. */
static rung_status add_match(rung_archive *a, uint64_t seq, const rung_event *e,
                             int64_t log_time_ms, const rung_archive_effect *effect,
                             rung_err *err) {
    command_rows r = rows_of(a, seq, e, log_time_ms, effect);
    rung_match_cursor c = {.rest = e->match.packed};
    rung_match_entry entry;
    rung_status st = RUNG_OK;
    r.row.id = e->match.id;
    r.row.has_at = e->match.has_at;
    r.row.at_ms = e->match.has_at ? e->match.at_ms : log_time_ms;
    while (st >= 0 && rung_match_next(&c, &entry)) {
        rung_json_writer w = {.alloc = a->alloc};
        put_match_entry(&w, &entry);
        st = w.is_failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory")
                         : add_player_row(&r, RUNG_ARCHIVE_MATCH, e->match.board, entry.player,
                                          rung_json_written(&w), err);
        rung_json_writer_deinit(&w);
    }
    return st;
}

/* A verdict that lets a tentative score count. */
static rung_status add_promotion(rung_archive *a, uint64_t seq, const rung_event *e,
                                 int64_t log_time_ms, const rung_archive_effect *effect,
                                 rung_err *err) {
    command_rows r = rows_of(a, seq, e, log_time_ms, effect);
    char id[RUNG_REVIEW_ID_TEXT_MAX];
    rung_json_writer w = {.alloc = a->alloc};
    rung_json_open_object(&w);
    RUNG_JSON_MEMBER(&w, "review", string,
                     rung_slice_of(id, rung_review_id_format(e->reviewed.id, id)));
    rung_json_close_object(&w);
    rung_status st = w.is_failed ? RUNG_FAIL(err, RUNG_ENOMEM, "out of memory")
                                 : add_player_row(&r, RUNG_ARCHIVE_PROMOTED, e->reviewed.board,
                                                  e->reviewed.player, rung_json_written(&w), err);
    rung_json_writer_deinit(&w);
    return st;
}

/* The board's scores are others from here on. */
static rung_status add_swap(rung_archive *a, uint64_t seq, const rung_event *e, int64_t log_time_ms,
                            const rung_archive_effect *effect, rung_err *err) {
    command_rows r = rows_of(a, seq, e, log_time_ms, effect);
    rung_slice nobody = {0};
    return add_row(&r, RUNG_ARCHIVE_SWAPPED, e->swapped.board, nobody, nobody, err);
}

/* The members of the details. */
static void put_event_details(rung_json_writer *w, const rung_event *e) {
    char id[RUNG_WINDOW_ID_MAX];
    switch (e->kind) {
    case RUNG_EVENT_BOARD_DEFINED:
        rung_board_json_write(w, e->defined.board, &e->defined.def);
        break;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        RUNG_JSON_MEMBER(w, "reason", string, e->ban.reason);
        if (e->ban.until_ms)
            RUNG_JSON_MEMBER(w, "until", time, e->ban.until_ms);
        if (e->ban.is_shadow)
            RUNG_JSON_MEMBER(w, "shadow", bool, true);
        break;
    case RUNG_EVENT_REVIEWED:
        RUNG_JSON_MEMBER(w, "review", string,
                         rung_slice_of(id, rung_review_id_format(e->reviewed.id, id)));
        RUNG_JSON_MEMBER(w, "verdict", word, rung_verdict_words[e->reviewed.verdict]);
        break;
    case RUNG_EVENT_NOTED:
        RUNG_JSON_MEMBER(w, "note", string, e->noted.note);
        break;
    case RUNG_EVENT_IDS_SET:
        RUNG_JSON_MEMBER(w, "capacity", uint, e->ids.capacity);
        RUNG_JSON_MEMBER(w, "keep_ms", int, e->ids.keep_ms);
        break;
    case RUNG_EVENT_RULES_SET:
        RUNG_JSON_MEMBER(w, "level", uint, e->rules.level);
        break;
    case RUNG_EVENT_ACCESS_SET:
        RUNG_JSON_MEMBER(w, "has_keys", bool, e->access.has_keys);
        break;
    case RUNG_EVENT_KEY_CHANGED:
        RUNG_JSON_MEMBER(w, "id", string, e->key.id);
        RUNG_JSON_MEMBER(w, "role", string, e->key.role);
        RUNG_JSON_MEMBER(w, "boards", string, e->key.boards);
        if (e->key.expires_ms)
            RUNG_JSON_MEMBER(w, "expires", time, e->key.expires_ms);
        RUNG_JSON_MEMBER(w, "revoked", bool, e->key.is_revoked);
        break;
    case RUNG_EVENT_BOARD_SWAPPED:
        RUNG_JSON_MEMBER(w, "job", uint, e->swapped.job);
        RUNG_JSON_MEMBER(w, "undo", bool, e->swapped.is_undo);
        break;
    case RUNG_EVENT_SHADOW_DROPPED:
        RUNG_JSON_MEMBER(w, "job", uint, e->dropped.job);
        break;
    case RUNG_EVENT_SESSION:
        if (e->session.id.len)
            RUNG_JSON_MEMBER(w, "session", string, e->session.id);
        RUNG_JSON_MEMBER(w, "ended", bool, e->session.is_ended);
        break;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        if (e->window.kind)
            put_window(w, e->window.kind,
                       rung_slice_of(id, rung_window_id_format((rung_window_kind)e->window.kind,
                                                               e->window.ordinal, id)));
        else
            put_window(w, RUNG_WINDOW_SEASON, e->window.season);
        break;
    default:
        break;
    }
}

static rung_status add_audit(rung_archive *a, uint64_t seq, const rung_event *e, rung_slice board,
                             rung_slice player, const rung_archive_effect *effect, rung_err *err) {
    rung_json_writer w = {.alloc = a->alloc};
    if (e->kind == RUNG_EVENT_KEYS) {
        put_commands(&w, e);
    } else {
        rung_json_open_object(&w);
        put_event_details(&w, e);
        rung_json_close_object(&w);
    }
    const rung_actor none = {0}, *actor = e->has_actor ? &e->actor : &none;
    bool is_ban = e->kind == RUNG_EVENT_BANNED || e->kind == RUNG_EVENT_UNBANNED;
    rung_slice reason = is_ban                           ? e->ban.reason
                        : e->kind == RUNG_EVENT_REVIEWED ? e->reviewed.reason
                                                         : actor->reason;
    return write_audit(a,
                       (rung_archive_audit){.seq = seq,
                                            .ts_ms = e->ts_ms,
                                            .actor_key = actor->key,
                                            .actor_player = actor->player,
                                            .actor_address = actor->address,
                                            .reason = reason,
                                            .kind = rung_slice_str(rung_event_kind_name(e->kind)),
                                            .board = board,
                                            .player = player,
                                            .status = effect->status,
                                            .rule = effect->rule,
                                            .before = effect->before,
                                            .after = effect->after},
                       &w, err);
}

/* A row for a player who is removed, or, without a player, for a board that is deleted. */
static rung_status add_removal(rung_archive *a, uint64_t seq, const rung_event *e,
                               int64_t log_time_ms, rung_slice board, rung_slice player,
                               const rung_archive_effect *effect, rung_err *err) {
    rung_archive_score r = {.seq = seq,
                            .board = board,
                            .player = player,
                            .at_ms = log_time_ms,
                            .ts_ms = e->ts_ms,
                            .status = effect->status,
                            .rule = effect->rule,
                            .is_removal = player.len > 0,
                            .part = player.len ? 0 : 1,
                            .command = player.len ? 0 : RUNG_ZCOMMAND_DEL};
    return a->ops->add_score(a, &r, err);
}

rung_status rung_archive_add_event(rung_archive *a, uint64_t seq, const rung_event *e,
                                   int64_t log_time_ms, const rung_archive_effect *effect,
                                   rung_err *err) {
    rung_slice board = {0}, player = {0}; /* of the audit record */
    rung_status st = RUNG_OK;
    switch (e->kind) {
    case RUNG_EVENT_SCORE:
        st = add_score(a, seq, e, log_time_ms, effect, err);
        return st < 0 || !effect->rule ? st : add_refusal(a, seq, e, log_time_ms, effect, err);
    case RUNG_EVENT_PLAYER_SET:
        return put_profile(a, seq, e, err);
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
    case RUNG_EVENT_FRIENDS_REPLACED:
    case RUNG_EVENT_TICK:
    case RUNG_EVENT_BOARD_FILLED: /* of a shadow, which nobody sees */
        return RUNG_OK; /* friendships are not archived; windows that a tick closed arrive separately */
    case RUNG_EVENT_MATCH:
        return add_match(a, seq, e, log_time_ms, effect, err);
    case RUNG_EVENT_BOARD_DEFINED:
        board = e->defined.board;
        break;
    case RUNG_EVENT_BOARD_DELETED:
        board = e->deleted.board;
        st = add_removal(a, seq, e, log_time_ms, board, player, effect, err);
        if (st >= 0)
            st = a->ops->retire_board(a, board, seq, err);
        break;
    case RUNG_EVENT_ENTRY_REMOVED:
        board = e->removed.board;
        player = e->removed.player;
        st = add_removal(a, seq, e, log_time_ms, board, player, effect, err);
        if (st >= 0)
            st = a->ops->hide(a, seq, board, player, RUNG_HIDDEN_REMOVED, true, err);
        break;
    case RUNG_EVENT_PLAYER_ERASED: /* the audit record does not say who */
        st = a->ops->erase(a, seq, e->erased.player, err);
        break;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        player = e->ban.player;
        st = a->ops->hide(a, seq, board, player, RUNG_HIDDEN_BANNED, e->kind == RUNG_EVENT_BANNED,
                          err);
        break;
    case RUNG_EVENT_REVIEWED:
        board = e->reviewed.board;
        player = e->reviewed.player;
        if (e->reviewed.verdict == RUNG_VERDICT_BAN)
            st = a->ops->hide(a, seq, (rung_slice){0}, player, RUNG_HIDDEN_BANNED, true, err);
        else if (e->reviewed.verdict == RUNG_VERDICT_PROMOTE)
            st = add_promotion(a, seq, e, log_time_ms, effect, err);
        break;
    case RUNG_EVENT_NOTED:
        player = e->noted.player;
        break;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        board = e->window.board;
        break;
    case RUNG_EVENT_BOARD_SWAPPED:
        board = e->swapped.board;
        st = add_swap(a, seq, e, log_time_ms, effect, err);
        break;
    case RUNG_EVENT_SHADOW_DROPPED:
        board = e->dropped.board;
        break;
    case RUNG_EVENT_SESSION:
        if (!e->session.is_ended) /* one begins with every login */
            return RUNG_OK;
        player = e->session.player;
        break;
    case RUNG_EVENT_IDS_SET:
    case RUNG_EVENT_RULES_SET:
    case RUNG_EVENT_ACCESS_SET:
    case RUNG_EVENT_KEY_CHANGED:
        break;
    case RUNG_EVENT_KEYS:
        st = add_commands(a, seq, e, log_time_ms, effect, err);
        if (st >= 0 && effect->status == RUNG_OK)
            st = retire_keys(a, seq, e, err);
        if (st < 0 || !has_command(e, ENDS_KEYS)) /* members come and go by the million */
            return st;
        break;
    default:
        return RUNG_FAIL(err, RUNG_EVERSION, "event %" PRIu64 ": kind %d is not known", seq,
                         (int)e->kind);
    }
    return st < 0 ? st : add_audit(a, seq, e, board, player, effect, err);
}

bool rung_archive_is_changed_by(const rung_event *event) {
    switch (event->kind) {
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
    case RUNG_EVENT_ENTRY_REMOVED:
    case RUNG_EVENT_PLAYER_ERASED:
    case RUNG_EVENT_BOARD_DELETED:
        return true;
    case RUNG_EVENT_REVIEWED:
        return event->reviewed.verdict == RUNG_VERDICT_BAN;
    case RUNG_EVENT_KEYS:
        return has_command(event, ENDS_KEYS | RENEWS_KEYS);
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
                                           .is_sample = true,
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

static rung_status audit_close(rung_archive *a, const rung_archive_window *window, rung_err *err) {
    rung_json_writer w = {.alloc = a->alloc};
    rung_json_open_object(&w);
    put_window(&w, window->kind, window->id);
    rung_json_close_object(&w);
    return write_audit(a,
                       (rung_archive_audit){.seq = window->closed_seq,
                                            .ts_ms = window->closed_ms,
                                            .kind = RUNG_SLICE("window archived"),
                                            .board = window->board,
                                            .status = RUNG_OK},
                       &w, err);
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
    rung_json_writer w = {.alloc = a->alloc};
    rung_json_open_object(&w);
    RUNG_JSON_MEMBER(&w, "first_seq", uint, first_seq);
    RUNG_JSON_MEMBER(&w, "last_seq", uint, last_seq);
    rung_json_close_object(&w);
    return write_audit(a,
                       (rung_archive_audit){.seq = last_seq,
                                            .kind = RUNG_SLICE("not archived"),
                                            .status = RUNG_STATUS_UNKNOWN},
                       &w, err);
}
