/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews of tentative scores, notes on players, and what a ban would change. */
#include "codec/board_json.h"
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/schemas.h"
#include "service/moderate.h"
#include "state/review.h"

#include <string.h>

/* ---- the list ---- */

static void write_values(rung_json_writer *w, const rung_review *r) {
    if (r->value_count) {
        rung_column column = {.type = (rung_score_type)r->types[0], .decimals = r->decimals[0]};
        rung_json_write_key(w, r->is_delta ? RUNG_SLICE("delta") : RUNG_SLICE("score"));
        rung_score_json_write(w, &column, r->values[0]);
    }
    if (r->value_count < 2)
        return;
    RUNG_JSON_OPEN(w, "columns", object);
    for (uint32_t i = 1; i < r->value_count && i < r->def->key.column_count; i++) {
        rung_column column = {.type = (rung_score_type)r->types[i], .decimals = r->decimals[i]};
        rung_json_write_key(w, r->def->column_names[i - 1]);
        rung_score_json_write(w, &column, r->values[i]);
    }
    rung_json_close_object(w);
}

/* Where the player stands in the board's first window, and where the score would put them; null: not ranked. */
static void write_places(rung_json_writer *w, const rung_state *s, const rung_review *r) {
    rung_query query = {.board = r->board};
    rung_view view;
    rung_row row;
    uint64_t id;
    bool found = false, would = false;
    if (rung_state_view(s, &query, &view, NULL) == RUNG_OK) {
        rung_view_rows(&view, 1, &r->player, &row, &found);
        RUNG_JSON_KEY(w, "standing");
        if (found) {
            rung_json_open_object(w);
            RUNG_JSON_MEMBER(w, "rank", uint, row.rank);
            RUNG_JSON_MEMBER(w, "total", uint, view.total);
            rung_values_json_write(w, r->def, row.values, row.value_count);
            rung_json_close_object(w);
        } else {
            rung_json_write_null(w);
        }
        would = rung_view_tentative(&view, r->player, &row, &id) == RUNG_OK && id == r->id;
    }
    if (would)
        RUNG_JSON_MEMBER(w, "rank", uint, row.rank);
}

/* What the board's rules know of the player's earlier submissions. */
static void write_history(rung_json_writer *w, const rung_state *s, const rung_review *r) {
    rung_history h;
    if (rung_state_history(s, r->board, r->player, &h) != RUNG_OK)
        return;
    RUNG_JSON_OPEN(w, "history", object);
    RUNG_JSON_MEMBER(w, "scores", uint, h.count);
    RUNG_JSON_MEMBER(w, "mean", real, h.mean);
    RUNG_JSON_MEMBER(w, "deviation", real, h.deviation);
    RUNG_JSON_MEMBER(w, "last", time, h.last_ms);
    rung_json_close_object(w);
}

static void write_id(rung_json_writer *w, uint64_t id) {
    char text[RUNG_REVIEW_ID_TEXT_MAX];
    rung_json_write_string(w, rung_slice_of(text, rung_review_id_format(id, text)));
}

static void write_review(rung_json_writer *w, const rung_state *s, const rung_review *r) {
    rung_board_def scores = {.key = {.column_count = 1, .columns = {r->score}}};
    rung_json_open_object(w);
    RUNG_JSON_KEY(w, "id");
    write_id(w, r->id);
    RUNG_JSON_MEMBER(w, "seq", uint, r->id >> RUNG_REVIEW_PART_BITS);
    RUNG_JSON_MEMBER(w, "board", string, r->board);
    RUNG_JSON_MEMBER(w, "player", string, r->player);
    write_values(w, r);
    RUNG_JSON_MEMBER(w, "at", time, r->at_ms);
    RUNG_JSON_MEMBER(w, "submitted", time, r->ts_ms);
    RUNG_JSON_MEMBER(w, "expires", time, r->expires_ms);
    RUNG_JSON_MEMBER(w, "outcome", word, rung_outcome_words[r->outcome]);
    rung_answer_findings(w, &scores, "rules", r->findings, r->finding_count);
    write_places(w, s, r);
    write_history(w, s, r);
    rung_json_close_object(w);
}

static bool has_rule(const rung_review *r, const rung_arg *rule) {
    for (uint32_t i = 0; i < r->finding_count; i++)
        if (r->findings[i].rule == rule->number)
            return true;
    return !rule->given;
}

static bool is_asked_for(const rung_call *c, const rung_review *r, rung_slice sight) {
    const rung_arg *board = rung__call_arg(c, "board"), *player = rung__call_arg(c, "player");
    return (!board->given || rung_slice_eq(r->board, board->text)) &&
           (!player->given || rung_slice_eq(r->player, player->text)) &&
           has_rule(r, rung__call_arg(c, "rule")) &&
           (!sight.ptr || rung_access_sees(c->api->service.access, sight, r->board));
}

void rung_api_reviews(rung_call *c) {
    const rung_state *s = rung__api_state(c->api);
    const rung_arg *after = rung__call_arg(c, "after");
    uint32_t limit = rung__call_count(c, "limit"), shown = 0;
    char text[RUNG_SIGHT_MAX];
    rung_slice sight = rung_access_sight(c->api->service.access, &c->who, text);
    rung_review r = {0};
    uint64_t last = 0, total = 0;
    if (after->given && !rung_review_id_parse(after->text, &r.id)) {
        rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "after",
                             "expected `next` of the page before");
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_OPEN(w, "reviews", array);
    while (rung_state_review_next(s, r.id, &r) == RUNG_OK) {
        if (!is_asked_for(c, &r, sight))
            continue;
        total++;
        if (shown == limit)
            continue;
        write_review(w, s, &r);
        last = r.id;
        shown++;
    }
    rung_json_close_array(w);
    RUNG_JSON_KEY(w, "next");
    if (total > shown)
        write_id(w, last);
    else
        rung_json_write_null(w);
    RUNG_JSON_MEMBER(w, "total", uint, total);
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer_seq(c, 200, rung_state_seq(s));
}

/* ---- verdicts ---- */

enum { VERDICTS_MAX = RUNG_API_VERDICTS_MAX };

struct verdicts;

typedef struct verdict {
    struct verdicts *all;
    uint64_t id;
    rung_status st;
    rung_err err;
} verdict;

/* One request: several verdicts in flight. */
typedef struct verdicts {
    rung_call *call;
    bool is_one; /* of a path: a failure is the answer */
    uint32_t count, left;
    verdict items[];
} verdicts;

static void answer_verdicts(verdicts *all) {
    rung_call *c = all->call;
    if (all->is_one && all->items[0].st < 0) {
        rung__call_fail(c, all->items[0].st, &all->items[0].err);
        return;
    }
    if (all->is_one) {
        rung__call_answer_changed(c, 200, all->items[0].st == RUNG_OK);
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_OPEN(w, "results", array);
    for (uint32_t i = 0; i < all->count; i++) {
        const verdict *v = &all->items[i];
        rung_json_open_object(w);
        RUNG_JSON_KEY(w, "id");
        write_id(w, v->id);
        RUNG_JSON_MEMBER(w, "changed", bool, v->st == RUNG_OK);
        if (v->st < 0)
            RUNG_JSON_MEMBER(w, "code", word, rung_problem_of(v->st, &v->err).code);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    rung__call_answer_seq(c, 200, rung_state_seq(rung__api_state(c->api)));
}

static void verdict_done(void *ctx, rung_status st, const rung_outcome *outcome,
                         const rung_err *err) {
    verdict *v = ctx;
    (void)outcome;
    v->st = st;
    if (st < 0 && err)
        v->err = *err;
    if (--v->all->left == 0)
        answer_verdicts(v->all);
}

/* Whoever may moderate the board may decide. A ban is about all boards. */
static rung_status check_may(rung_call *c, const rung_review *r, rung_review_verdict what,
                             rung_access_answer *why) {
    rung_need need = {.role = RUNG_ROLE_ADMIN, .board = r->board};
    if (what == RUNG_VERDICT_BAN)
        need = (rung_need){.role = RUNG_ROLE_ADMIN, .player = r->player};
    rung_verdict access = rung_access_allow(c->api->service.access, &c->who, &need,
                                            rung_hub_now(c->api->service.hub), why);
    return access == RUNG_ACCESS_OK ? RUNG_OK : RUNG_EREFUSED;
}

/* Propose one. false: it failed, and v->st says why. */
static bool put_verdict(rung_call *c, verdict *v, rung_review_verdict what, rung_slice reason) {
    rung_review r;
    rung__call_actor actor;
    rung_access_answer why = {0};
    if (rung_state_review(rung__api_state(c->api), v->id, &r) != RUNG_OK) {
        v->st = RUNG_FAIL_FIELD(&v->err, RUNG_EABSENT, "review", "no such review, or it has ended");
        return false;
    }
    v->st = check_may(c, &r, what, &why);
    if (v->st < 0) {
        v->err = why.err;
        return false;
    }
    rung_event *e = &c->api->event;
    e->kind = RUNG_EVENT_REVIEWED;
    e->reviewed.board = r.board;
    e->reviewed.player = r.player;
    e->reviewed.id = r.id;
    e->reviewed.verdict = what;
    e->reviewed.reason = reason;
    v->st = rung_moderate_put(&c->api->service, rung__call_signed(c, &actor), e, verdict_done, v,
                              &v->err);
    return v->st >= 0;
}

static verdicts *verdicts_new(rung_call *c, uint32_t count) {
    verdicts *all = rung__call_alloc(c, sizeof *all + count * sizeof(verdict));
    if (!all)
        return NULL;
    all->call = c;
    all->left = 1; /* until all are put */
    return all;
}

static void put_all(verdicts *all, const rung_slot *slots) {
    rung_review_verdict what = (rung_review_verdict)slots[VERDICT_VERDICT].choice;
    rung_slice reason =
        slots[VERDICT_REASON].present ? slots[VERDICT_REASON].text : (rung_slice){"", 0};
    for (uint32_t i = 0; i < all->count; i++) {
        all->items[i].all = all;
        all->left++;
        if (!put_verdict(all->call, &all->items[i], what, reason))
            all->left--;
    }
    if (--all->left == 0)
        answer_verdicts(all);
}

void rung_api_review(rung_call *c) {
    rung_slot slots[VERDICT_FIELDS] = {0};
    uint64_t id;
    if (!rung__call_read_body(c, slots))
        return;
    if (!rung_review_id_parse(rung__call_arg(c, "review")->text, &id)) {
        rung__call_absent(c, "review", "no such review");
        return;
    }
    verdicts *all = verdicts_new(c, 1);
    if (!all)
        return;
    all->is_one = true;
    all->count = 1;
    all->items[0].id = id;
    put_all(all, slots);
}

static rung_status read_ids(rung_call *c, const rung_slot *list, verdicts *all, rung_err *err) {
    rung_json *r = &c->api->reader;
    rung_slice text;
    rung_json_init_at(r, list->text, "ids", list->offset, err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        st = rung_json_string(r, &text);
        if (st < 0)
            break;
        if (all->count == VERDICTS_MAX || !rung_review_id_parse(text, &all->items[all->count].id))
            return rung_json_refuse(r, RUNG_EINVAL, "expected ids of reviews, at most 100");
        all->count++;
    }
    return st < 0 ? st : RUNG_OK;
}

void rung_api_review_many(rung_call *c) {
    rung_slot slots[VERDICTS_FIELDS] = {0};
    rung_err err = {0};
    if (!rung__call_read_body(c, slots))
        return;
    verdicts *all = verdicts_new(c, VERDICTS_MAX);
    if (!all)
        return;
    rung_status st = read_ids(c, &slots[VERDICTS_IDS], all, &err);
    if (st < 0)
        rung__call_malformed(c, st, &err);
    else
        put_all(all, slots);
}

/* ---- players ---- */

void rung_api_note(rung_call *c) {
    rung_slot slots[NOTE_FIELDS] = {0};
    if (!rung__call_read_body(c, slots))
        return;
    c->api->event.kind = RUNG_EVENT_NOTED;
    c->api->event.noted.player = c->player;
    c->api->event.noted.note = slots[NOTE_NOTE].text;
    rung__call_change(c);
}

enum { PREVIEW_BOARDS = 4096, PREVIEW_SHOWN = 100, PREVIEW_NEXT = 3 };

/* The player's place in the first window of a board, and who would move up. false: not ranked there. */
static bool write_preview(rung_json_writer *w, const rung_state *s, rung_slice board,
                          const rung_board_def *def, rung_slice player) {
    rung_query query = {.board = board};
    rung_view view;
    rung_row rows[2 * PREVIEW_NEXT + 1];
    uint32_t count = 0, self = 0;
    if (rung_state_view(s, &query, &view, NULL) != RUNG_OK ||
        rung_view_around(&view, player, PREVIEW_NEXT, rows, &count, &self) != RUNG_OK)
        return false;
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "board", string, board);
    RUNG_JSON_MEMBER(w, "rank", uint, rows[self].rank);
    rung_values_json_write(w, def, rows[self].values, rows[self].value_count);
    RUNG_JSON_MEMBER(w, "total", uint, view.total);
    RUNG_JSON_MEMBER(w, "move_up", uint, view.total - rows[self].index - 1);
    RUNG_JSON_OPEN(w, "next", array);
    for (uint32_t i = self + 1; i < count && i <= self + PREVIEW_NEXT; i++)
        rung_json_write_string(w, rows[i].id);
    rung_json_close_array(w);
    rung_json_close_object(w);
    return true;
}

void rung_api_ban_preview(rung_call *c) {
    const rung_state *s = rung__api_state(c->api);
    rung_attribute attributes[RUNG_ATTRIBUTES_MAX];
    uint32_t count, shown = 0, i = 0, span = rung_state_board_span(s);
    bool is_banned;
    if (rung_state_player(s, c->player, &count, attributes, &is_banned) != RUNG_OK) {
        rung__call_absent(c, "player", "no such player");
        return;
    }
    int64_t until_ms = rung_state_banned_until(s, c->player);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "player", string, c->player);
    RUNG_JSON_MEMBER(w, "banned", bool, is_banned);
    if (until_ms)
        RUNG_JSON_MEMBER(w, "until", time, until_ms);
    if (rung_state_is_shadow_banned(s, c->player))
        RUNG_JSON_MEMBER(w, "shadow", bool, true);
    RUNG_JSON_OPEN(w, "boards", array);
    for (; i < span && i < PREVIEW_BOARDS && shown < PREVIEW_SHOWN; i++) {
        const rung_board_def *def;
        rung_slice board;
        if (rung_state_board_at(s, i, &board, &def) == RUNG_OK)
            shown += write_preview(w, s, board, def, c->player);
    }
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "complete", bool, i >= span);
    rung__call_answer_seq(c, 200, rung_state_seq(s));
}
