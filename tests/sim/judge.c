/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/judge.h"

#include "service/node_report.h"
#include "sim/fields.h"
#include "support/check.h"
#include "support/state_model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 2 * SIM_PLAYERS };

/* ---- gathering ---- */

void sim_judge_init(sim_judge *j, sim_trace *trace) {
    *j = (sim_judge){.trace = trace};
}

void sim_judge_deinit(sim_judge *j) {
    for (uint64_t i = 0; i < j->count; i++)
        free(j->records[i].bytes);
    for (uint32_t i = 0; i < j->claim_count; i++)
        free(j->claims[i].text);
    for (uint32_t i = 0; i < j->op_count; i++)
        free(j->ops[i]);
    free(j->records);
    free(j->claims);
    free(j->ops);
}

#define GROW(array, count, room)                                                                   \
    do {                                                                                           \
        if ((count) == (room)) {                                                                   \
            (room) = (room) ? 2 * (room) : 64;                                                     \
            (array) = realloc((array), (room) * sizeof *(array));                                  \
            CHECK((array) != NULL);                                                                \
        }                                                                                          \
    } while (0)

sim_op *sim_judge_new_op(sim_judge *j) {
    GROW(j->ops, j->op_count, j->op_room);
    sim_op *op = calloc(1, sizeof *op);
    CHECK(op != NULL);
    op->number = j->op_count;
    return j->ops[j->op_count++] = op;
}

static void note_digest(sim_judge *j, uint64_t seq, rung_digest digest) {
    sim_record *r = &j->records[seq - 1];
    if (r->has_digest && (r->digest.a != digest.a || r->digest.b != digest.b))
        sim_fail(j->trace, "P3: the state at seq %llu has another digest than it had before",
                 (unsigned long long)seq);
    r->has_digest = true;
    r->digest = digest;
}

void sim_judge_opened(sim_judge *j, uint64_t seq, rung_digest digest) {
    if (seq > j->count)
        sim_fail(j->trace, "a snapshot of seq %llu, and only %llu were ever applied",
                 (unsigned long long)seq, (unsigned long long)j->count);
    if (seq)
        note_digest(j, seq, digest);
}

/* What a node applies is what the topic has there. */
static void check_topic(const sim_judge *j, uint64_t seq, const uint8_t *bytes, size_t len) {
    if (seq > j->topic->count)
        sim_fail(j->trace, "seq %llu was applied, and the topic ends at %llu",
                 (unsigned long long)seq, (unsigned long long)j->topic->count);
    const sim_topic_record *r = &j->topic->records[seq - 1];
    if (r->len != len || memcmp(r->bytes, bytes, len) != 0)
        sim_fail(j->trace, "P3: a node applied another event at seq %llu than the topic has",
                 (unsigned long long)seq);
}

static void check_order(const sim_judge *j, uint64_t seq) {
    if (seq > j->count + 1)
        sim_fail(j->trace, "seq %llu was applied after %llu", (unsigned long long)seq,
                 (unsigned long long)j->count);
}

static void note_event(sim_judge *j, uint64_t seq, const rung_event *event, rung_status status) {
    static uint8_t bytes[RUNG_EVENT_BYTES_MAX];
    size_t len;
    check_order(j, seq);
    CHECK_OK(rung_event_encode(event, bytes, sizeof bytes, &len));
    if (j->topic)
        check_topic(j, seq, bytes, len);
    if (seq <= j->count) {
        const sim_record *r = &j->records[seq - 1];
        if (r->len != len || memcmp(r->bytes, bytes, len) != 0)
            sim_fail(j->trace, "P1: seq %llu is another event than it was before",
                     (unsigned long long)seq);
        if (r->status != status)
            sim_fail(j->trace, "P3: seq %llu was %s, and is %s in replay", (unsigned long long)seq,
                     rung_status_name(r->status), rung_status_name(status));
        return;
    }
    GROW(j->records, j->count, j->room);
    uint8_t *copy = malloc(len);
    CHECK(copy != NULL);
    memcpy(copy, bytes, len);
    j->records[j->count++] = (sim_record){.bytes = copy, .len = len, .status = status};
}

void sim_judge_applied(sim_judge *j, uint64_t first_seq, uint32_t count,
                       const rung_event *const *events, const rung_status *statuses,
                       rung_digest digest) {
    char tag[SIM_TAG_SIZE];
    if (j->is_over)
        return;
    for (uint32_t i = 0; i < count; i++) {
        note_event(j, first_seq + i, events[i], statuses[i]);
        sim_event_tag(events[i], tag);
        sim_tell(j->trace, "    seq %llu at %lld: %s (%s)", (unsigned long long)first_seq + i,
                 (long long)events[i]->ts_ms, tag[0] ? tag : rung_event_kind_name(events[i]->kind),
                 rung_status_name(statuses[i]));
    }
    if (count)
        note_digest(j, first_seq + count - 1, digest);
}

void sim_judge_passed(sim_judge *j, uint64_t seq, rung_digest digest) {
    if (j->is_over)
        return;
    check_order(j, seq);
    if (j->topic->records[seq - 1].type != RUNG_LOG_TYPE_REPORT)
        sim_fail(j->trace, "P3: a node passed over seq %llu, which is an event",
                 (unsigned long long)seq);
    sim_tell(j->trace, "    seq %llu: a report", (unsigned long long)seq);
    if (seq > j->count) {
        GROW(j->records, j->count, j->room);
        j->records[j->count++] = (sim_record){0};
    }
    note_digest(j, seq, digest);
}

void sim_judge_forget(sim_judge *j, uint64_t seq) {
    while (!j->topic && j->count > seq)
        free(j->records[--j->count].bytes);
}

void sim_judge_claim(sim_judge *j, sim_claim claim, const char *text) {
    GROW(j->claims, j->claim_count, j->claim_room);
    claim.step = j->trace->step;
    claim.text = strdup(text);
    CHECK(claim.text != NULL);
    j->claims[j->claim_count++] = claim;
}

/* ---- the model at one sequence ---- */

typedef struct table { /* of keys */
    bool has[SIM_KEYS][SIM_MEMBERS];
    double score[SIM_KEYS][SIM_MEMBERS];
} table;

typedef struct walk {
    sim_judge *judge;
    state_model *model;
    table keys;
    uint64_t seq; /* what the model has */
    /* The last event. */
    uint64_t hash;
    sim_op *op; /* any op of that tag; NULL: the server's own event */
    model_answer answer;
    char reply[200];
    bool is_copy; /* that the brokers have made: nobody is answered with it */
    bool is_used; /* a claim has it */
    char why[400];
} walk;

/* ---- keys ---- */

static uint32_t number_of(rung_slice name) {
    CHECK(name.len == 2 && (name.ptr[0] == 'k' || name.ptr[0] == 'm'));
    return (uint32_t)(name.ptr[1] - '0');
}

/* True: the member is new. */
static bool set_member(table *t, uint32_t key, uint32_t member, double score, bool is_delta) {
    bool is_new = !t->has[key][member];
    t->score[key][member] = score + (is_delta && !is_new ? t->score[key][member] : 0);
    t->has[key][member] = true;
    return is_new;
}

static void apply_zcommand(table *t, rung_zcommand *c, char *reply, size_t size) {
    rung_zcommand_item item;
    uint32_t key = number_of(c->key), changed = 0, member = 0;
    bool is_delta = c->flags & RUNG_ZCOMMAND_INCR;
    while (rung_zcommand_item_next(c, &item)) {
        member = number_of(item.name);
        if (c->kind == RUNG_ZCOMMAND_ZADD) {
            changed += set_member(t, key, member, item.number, is_delta);
        } else {
            changed += t->has[key][member];
            t->has[key][member] = false;
        }
    }
    if (is_delta)
        snprintf(reply, size, "%.0f", t->score[key][member]);
    else
        snprintf(reply, size, "%u", changed);
}

static void apply_keys(walk *w, const rung_event *e) {
    size_t len = 0;
    rung_slice packed = e->keys.packed;
    rung_zcommand c;
    w->reply[0] = 0;
    while (rung_zcommand_next(&packed, &c, NULL) == RUNG_OK) {
        if (len)
            w->reply[len++] = ' ';
        apply_zcommand(&w->keys, &c, w->reply + len, sizeof w->reply - len);
        len += strlen(w->reply + len);
    }
}

static void apply_key_score(walk *w, const rung_score_event *e) {
    uint32_t key = number_of(e->board), member = number_of(e->player);
    bool is_new = set_member(&w->keys, key, member, e->values[0].d, e->is_delta);
    if (e->is_delta)
        snprintf(w->reply, sizeof w->reply, "%.0f", w->keys.score[key][member]);
    else
        snprintf(w->reply, sizeof w->reply, "%d", is_new);
}

/* ---- one event ---- */

static bool is_of_keys(const rung_event *e) {
    return e->kind == RUNG_EVENT_KEYS ||
           (e->kind == RUNG_EVENT_SCORE && e->score.when & RUNG_SCORE_KEY);
}

/* Closed windows that left the server's memory are in its archive, with the same rows: the model keeps them. */
static void keep_windows(rung_event *e) {
    if (e->kind == RUNG_EVENT_BOARD_DEFINED)
        e->defined.def.keep = RUNG_KEEP_MAX;
}

/* The state model counts and dates every event, also those that it does not know. */
static void apply_substitute(walk *w, const rung_event *e) {
    rung_event other = {.kind = RUNG_EVENT_ACCESS_SET, .ts_ms = e->ts_ms};
    state_model_apply(w->model, &other, RUNG_OK, &w->answer);
    w->answer.status = RUNG_OK;
}

static sim_op *find_op(walk *w, const char *tag) {
    const sim_judge *j = w->judge;
    for (uint32_t i = 0; i < j->op_count; i++)
        if (j->ops[i]->hash == w->hash && strcmp(j->ops[i]->tag, tag) == 0)
            return j->ops[i];
    return NULL;
}

/* Of scores that fade: too little to say whether anything changed. */
static bool is_status_doubtful(const walk *w, rung_status status) {
    return w->answer.is_change_doubtful && (status == RUNG_OK || status == RUNG_UNCHANGED);
}

/* A report: only the sequence moves on. */
static void pass_next(walk *w) {
    apply_substitute(w, &(rung_event){.ts_ms = state_model_time(w->model)});
    w->seq++;
    w->op = NULL;
    w->hash = 0;
    w->is_used = true;
}

static void apply_next(walk *w) {
    const sim_record *r = &w->judge->records[w->seq];
    rung_event e;
    char tag[SIM_TAG_SIZE];
    if (!r->bytes) {
        pass_next(w);
        return;
    }
    CHECK_OK(rung_event_decode(rung_slice_of(r->bytes, r->len), &e, NULL));
    w->seq++;
    sim_event_tag(&e, tag);
    w->hash = sim_tag_hash(tag);
    w->is_used = w->is_copy = w->judge->topic && w->judge->topic->records[w->seq - 1].is_copy;
    w->op = tag[0] ? find_op(w, tag) : NULL;
    if (tag[0] && !w->op)
        sim_fail(w->judge->trace, "seq %llu is an event that nobody sent: %s",
                 (unsigned long long)w->seq, tag);
    if (w->op && !w->is_copy)
        w->op->found++;
    keep_windows(&e);
    if (is_of_keys(&e) || e.kind == RUNG_EVENT_IDS_SET)
        apply_substitute(w, &e);
    else
        state_model_apply(w->model, &e, r->status, &w->answer);
    if (e.kind == RUNG_EVENT_KEYS)
        apply_keys(w, &e);
    else if (is_of_keys(&e))
        apply_key_score(w, &e.score);
    else if (r->status != w->answer.status && e.kind != RUNG_EVENT_IDS_SET &&
             !is_status_doubtful(w, r->status))
        sim_fail(w->judge->trace, "P5: seq %llu (%s) was %s, the model says %s",
                 (unsigned long long)w->seq, tag, rung_status_name(r->status),
                 rung_status_name(w->answer.status));
}

/* ---- one answer against the model ---- */

__attribute__((format(printf, 2, 3))) static bool differ(walk *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->why, sizeof w->why, format, args);
    va_end(args);
    return false;
}

/* `format` makes the path of the field. */
static bool same_number(walk *w, const sim_fields *f, const char *path, double want) {
    const char *value = sim_fields_get(f, "%s", path);
    double got = value && value[0] ? strtod(value, NULL) : 0;
    if (!value || fabs(got - want) > 1e-8)
        return differ(w, "%s is %s, the model says %.10g", path, value ? value : "missing", want);
    return true;
}

static bool same_text(walk *w, const sim_fields *f, const char *path, rung_slice want) {
    const char *value = sim_fields_get(f, "%s", path);
    if (!value || strlen(value) != want.len || memcmp(value, want.ptr, want.len) != 0)
        return differ(w, "%s is %s, the model says %.*s", path, value ? value : "missing",
                      (int)want.len, want.ptr);
    return true;
}

static bool same_window(walk *w, const sim_fields *f, const rung_window_outcome *o) {
    char path[64];
    const char *name =
        o->kind == RUNG_WINDOW_SEASON ? sim_windows[SIM_WINDOWS - 1] : sim_windows[o->kind];
    const struct {
        const char *name;
        uint32_t value;
    } parts[] = {{"changed", o->changed},
                 {"rank_before", o->rank_before},
                 {"rank", o->rank},
                 {"total", o->total}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "windows.%s.%s", name, parts[i].name);
        if (!same_number(w, f, path, parts[i].value))
            return false;
    }
    return true;
}

static bool same_place(walk *w, const sim_fields *f, const rung_outcome *o) {
    return same_number(w, f, "rank_before", o->rank_before) &&
           same_number(w, f, "passed", o->passed) && same_number(w, f, "percentile", o->percentile);
}

static bool same_next(walk *w, const sim_fields *f, const rung_outcome *o) {
    return !o->has_next || (same_text(w, f, "next.player", o->next) &&
                            same_number(w, f, "next.gap", (double)o->gap.i));
}

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-6 * (fabs(a) + fabs(b)) + 1e-12;
}

/* Of a board whose scores fade: the sum of doubles leaves the last digits open, and with them who is above. */
static bool same_fading_outcome(walk *w, const sim_fields *f, bool has_seq) {
    const rung_outcome *o = &w->answer.outcome;
    const char *score = sim_fields_get(f, "score");
    if (has_seq && !same_number(w, f, "seq", (double)o->seq))
        return false;
    if (!score || !is_near(strtod(score, NULL), o->values[0].d))
        return differ(w, "score is %s, the model says %.9g", score ? score : "missing",
                      o->values[0].d);
    return same_number(w, f, "total", o->total) &&
           (w->answer.is_rank_doubtful || same_number(w, f, "rank", o->rank));
}

/* Three shapes of one answer: HTTP has all, a line of a batch and RUNG.SUBMIT less. */
static bool same_outcome(walk *w, const sim_claim *c) {
    static sim_fields f;
    const rung_outcome *o = &w->answer.outcome;
    bool is_resp = c->status == 0, is_line;
    if (is_resp)
        sim_fields_read_pairs(&f, c->text);
    else if (!sim_fields_read(&f, c->text, strlen(c->text)))
        return differ(w, "the answer is no JSON");
    is_line = !is_resp && sim_fields_get(&f, "line");
    if (w->answer.is_decay)
        return same_fading_outcome(w, &f, !is_resp);
    if (!same_number(w, &f, "changed", o->changed) ||
        !same_number(w, &f, "score", (double)o->values[0].i) ||
        !same_number(w, &f, "rank", o->rank) || !same_number(w, &f, "total", o->total))
        return false;
    if (!is_resp && !same_number(w, &f, "seq", (double)o->seq))
        return false;
    if (is_line)
        return true;
    if (!same_number(w, &f, "duplicate", o->duplicate) || !same_place(w, &f, o))
        return false;
    if (!is_resp && !same_next(w, &f, o))
        return false;
    for (uint32_t i = 0; !is_resp && i < o->window_count; i++)
        if (!same_window(w, &f, &o->windows[i]))
            return false;
    return true;
}

static bool same_change(walk *w, const sim_claim *c) {
    static sim_fields f;
    if (!sim_fields_read(&f, c->text, strlen(c->text)))
        return differ(w, "the answer is no JSON");
    return c->op->kind == SIM_DEFINE || same_number(w, &f, "changed", w->answer.status == RUNG_OK);
}

static bool same_reply(walk *w, const sim_claim *c) {
    char want[220];
    snprintf(want, sizeof want, c->op->is_multi ? "[%s]" : "%s", w->reply);
    return strcmp(want, c->text) == 0 ||
           differ(w, "the reply is %s, the table says %s", c->text, want);
}

static bool is_absent(const walk *w, uint32_t board) {
    return !state_model_board(w->model, rung_slice_str(sim_board_names[board]));
}

/* Its own event, with the answer that the model gives to it. */
static bool is_change_met(walk *w, const sim_claim *c) {
    const sim_op *op = c->op;
    bool is_own = w->seq > c->lo && w->hash == op->hash && w->op && !w->is_used;
    if (c->answer == SIM_REFUSED)
        return (is_own && w->answer.status < 0) ||
               ((op->kind == SIM_SUBMIT || op->kind == SIM_REMOVE) && is_absent(w, op->board)) ||
               differ(w, "refused, and the model would not");
    if (!is_own)
        return differ(w, "there is no event for it in the log");
    if (w->answer.status < 0)
        return differ(w, "the model refuses it");
    bool is_same = op->kind == SIM_SUBMIT        ? same_outcome(w, c)
                   : op->kind == SIM_KEYS_CHANGE ? same_reply(w, c)
                                                 : same_change(w, c);
    if (is_same)
        w->is_used = true;
    return is_same;
}

/* ---- questions ---- */

static rung_status view_of(walk *w, const sim_claim *c, const sim_fields *f, model_view *view) {
    static const rung_rank_style styles[] = {RUNG_RANK_UNIQUE, RUNG_RANK_SPARSE, RUNG_RANK_DENSE};
    const sim_op *op = c->op;
    char scope[24];
    rung_query q = {.board = rung_slice_str(sim_board_names[op->board]),
                    .window = rung_slice_str(sim_windows[op->window])};
    const char *id = f ? sim_fields_get(f, "window_id") : op->window_id;
    if (op->window && op->window < SIM_WINDOWS - 1 && id)
        q.window_id = rung_slice_str(id);
    q.teams = op->kind == SIM_TEAMS;
    if (op->has_country) {
        snprintf(scope, sizeof scope, "country:%s", sim_country(op->country));
        q.scope = rung_slice_str(scope);
    }
    if (op->style) {
        q.has_rank = true;
        q.rank = styles[op->style - 1];
    }
    return state_model_view(w->model, &q, view);
}

static bool same_row(walk *w, const sim_fields *f, const char *path, const rung_row *row) {
    char at[64];
    bool is_team = row->members > 0;
    snprintf(at, sizeof at, "%s.%s", path, is_team ? "team" : "player");
    if (!same_text(w, f, at, row->id))
        return false;
    snprintf(at, sizeof at, "%s.rank", path);
    if (!same_number(w, f, at, row->list_rank ? row->list_rank : row->rank))
        return false;
    snprintf(at, sizeof at, "%s.%s", path, is_team ? "members" : "global_rank");
    if ((is_team || row->list_rank) && !same_number(w, f, at, is_team ? row->members : row->rank))
        return false;
    snprintf(at, sizeof at, "%s.score", path);
    if (!same_number(w, f, at, (double)row->values[0].i))
        return false;
    snprintf(at, sizeof at, "%s.percentile", path);
    return same_number(w, f, at, row->percentile);
}

static bool same_rows(walk *w, const sim_fields *f, const char *list, const rung_row *rows,
                      uint32_t count) {
    char path[64];
    for (uint32_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s.%u", list, i);
        if (!same_row(w, f, path, &rows[i]))
            return false;
    }
    return !sim_fields_get(f, "%s.%u.rank", list, count) ||
           differ(w, "%s has more than the model's %u", list, count);
}

static bool same_top(walk *w, const sim_claim *c, const sim_fields *f, const model_view *view) {
    rung_row rows[ROWS_MAX];
    uint32_t count = model_top(view, c->op->offset, c->op->limit, rows);
    return same_number(w, f, "total", view->total) && same_number(w, f, "closed", view->closed) &&
           same_rows(w, f, "entries", rows, count);
}

/* Scores that fade are as of the server's time, which the answer does not tell: all have faded by one factor. */
static bool same_fading_top(walk *w, const sim_fields *f, model_view *view) {
    rung_row rows[ROWS_MAX];
    double factor = 0;
    uint32_t count = 0;
    for (; count < ROWS_MAX && count < view->total; count++) {
        const char *player = sim_fields_get(f, "entries.%u.player", count),
                   *score = sim_fields_get(f, "entries.%u.score", count),
                   *rank = sim_fields_get(f, "entries.%u.rank", count);
        if (!player || !score || !rank || !model_row_of(view, rung_slice_str(player), &rows[count]))
            return differ(w, "entry %u is missing, or somebody else", count);
        double faded = strtod(score, NULL) / rows[count].values[0].d;
        factor = count ? factor : faded;
        if (!is_near(faded, factor) || factor > 1.000001)
            return differ(w, "entry %u has faded by %.9g, the first by %.9g", count, faded, factor);
        rows[count].rank = (uint32_t)strtoul(rank, NULL, 10);
    }
    const char *wrong = model_view_adopt(view, rows, count);
    return !wrong || differ(w, "%s", wrong);
}

static bool same_friends(walk *w, const sim_claim *c, const sim_fields *f, const model_view *view) {
    rung_row rows[ROWS_MAX];
    char player[8];
    uint32_t count, total;
    sim_player_name(c->op->player, player);
    if (model_friends(view, rung_slice_str(player), 0, c->op->limit, rows, &count, &total) !=
        RUNG_OK)
        return differ(w, "the model does not know the player");
    return same_number(w, f, "total", view->total) && same_number(w, f, "count", total) &&
           same_rows(w, f, "entries", rows, count);
}

static bool same_player(walk *w, const sim_claim *c, const sim_fields *f, const model_view *view) {
    rung_row rows[ROWS_MAX + 1];
    char player[8];
    uint32_t count, self;
    sim_player_name(c->op->player, player);
    if (model_around(view, rung_slice_str(player), c->op->around, rows, &count, &self) != RUNG_OK)
        return differ(w, "the model does not rank the player");
    return same_number(w, f, "total", view->total) && same_row(w, f, "entry", &rows[self]) &&
           same_rows(w, f, "above", rows, self) &&
           same_rows(w, f, "below", rows + self + 1, count - self - 1);
}

static bool is_view_met(walk *w, const sim_claim *c) {
    static sim_fields f;
    model_view view;
    bool is_same;
    if (!sim_fields_read(&f, c->text, strlen(c->text)))
        return differ(w, "the answer is no JSON");
    if (view_of(w, c, &f, &view) != RUNG_OK)
        return differ(w, "the model has no such ranking");
    is_same = view.is_decay                ? same_fading_top(w, &f, &view)
              : c->op->kind == SIM_PLAYER  ? same_player(w, c, &f, &view)
              : c->op->kind == SIM_FRIENDS ? same_friends(w, c, &f, &view)
                                           : same_top(w, c, &f, &view);
    model_view_deinit(&view);
    return is_same;
}

/* The current hour is that of the server's clock, not of the last event. */
static bool is_elsewhere(const walk *w, const sim_claim *c) {
    return c->op->window && !c->op->window_id[0] &&
           (w->judge->has_jumps || state_model_time(w->model) / 3600000 != c->wall_ms / 3600000);
}

/* A refused question: there is no such board, window or player at that moment. */
static bool is_refusal_met(walk *w, const sim_claim *c) {
    model_view view;
    char player[8];
    rung_row row;
    if (is_absent(w, c->op->board) || view_of(w, c, NULL, &view) != RUNG_OK)
        return true;
    sim_player_name(c->op->player, player);
    rung_slice id = rung_slice_str(player);
    uint32_t count, total;
    bool is_there = c->op->kind == SIM_FRIENDS
                        ? model_friends(&view, id, 0, 1, &row, &count, &total) == RUNG_OK
                        : c->op->kind != SIM_PLAYER || model_row_of(&view, id, &row);
    is_there &= !is_elsewhere(w, c) && (!view.closed || c->has_archive);
    model_view_deinit(&view);
    return !is_there || differ(w, "not found, and the model has it");
}

/* RUNG.TOP and RUNG.RANK, of the current window. */
static bool is_resp_view_met(walk *w, const sim_claim *c) {
    char want[600];
    size_t len = 0;
    rung_row rows[ROWS_MAX];
    model_view view;
    char player[8];
    if (view_of(w, c, NULL, &view) != RUNG_OK)
        return strcmp(c->text, c->op->kind == SIM_TOP ? "[]" : "nil") == 0 ||
               differ(w, "the model has no such ranking");
    sim_player_name(c->op->player, player);
    if (c->op->kind == SIM_TOP) {
        uint32_t count = model_top(&view, c->op->offset, c->op->limit, rows);
        want[len++] = '[';
        for (uint32_t i = 0; i < count; i++)
            len += (size_t)snprintf(want + len, sizeof want - len, "%s[%u %.*s %lld]", i ? " " : "",
                                    rows[i].rank, (int)rows[i].id.len, rows[i].id.ptr,
                                    (long long)rows[i].values[0].i);
        snprintf(want + len, sizeof want - len, "]");
    } else if (model_row_of(&view, rung_slice_str(player), &rows[0])) {
        snprintf(want, sizeof want, "%u", rows[0].rank);
    } else {
        snprintf(want, sizeof want, "nil");
    }
    model_view_deinit(&view);
    return strcmp(want, c->text) == 0 ||
           differ(w, "the reply is %s, the model says %s", c->text, want);
}

/* ZREVRANGE: greater scores first, among equals the greater name. */
static size_t write_range(const table *t, uint32_t key, char *out, size_t size) {
    bool is_done[SIM_MEMBERS] = {0};
    size_t len = (size_t)snprintf(out, size, "[");
    for (uint32_t n = 0; n < SIM_MEMBERS; n++) {
        int best = -1;
        for (int m = SIM_MEMBERS - 1; m >= 0; m--)
            if (t->has[key][m] && !is_done[m] &&
                (best < 0 || t->score[key][m] > t->score[key][best]))
                best = m;
        if (best < 0)
            break;
        is_done[best] = true;
        len += (size_t)snprintf(out + len, size - len, "%sm%d %.0f", n ? " " : "", best,
                                t->score[key][best]);
    }
    return len + (size_t)snprintf(out + len, size - len, "]");
}

static bool is_key_question_met(walk *w, const sim_claim *c) {
    char want[300];
    uint32_t key = c->op->board % SIM_KEYS, member = c->op->player % SIM_MEMBERS, count = 0;
    const table *t = &w->keys;
    for (uint32_t m = 0; m < SIM_MEMBERS; m++)
        count += t->has[key][m];
    if (c->op->kind == SIM_ZTOP)
        write_range(t, key, want, sizeof want);
    else if (c->op->kind == SIM_ZCARD)
        snprintf(want, sizeof want, "%u", count);
    else if (t->has[key][member])
        snprintf(want, sizeof want, "%.0f", t->score[key][member]);
    else
        snprintf(want, sizeof want, "nil");
    return strcmp(want, c->text) == 0 ||
           differ(w, "the reply is %s, the table says %s", c->text, want);
}

static bool is_met(walk *w, const sim_claim *c) {
    switch (c->op->kind) {
    case SIM_TOP:
    case SIM_PLAYER:
    case SIM_FRIENDS:
    case SIM_TEAMS:
        return c->answer == SIM_REFUSED ? is_refusal_met(w, c)
               : c->status              ? is_view_met(w, c)
                                        : is_resp_view_met(w, c);
    case SIM_ZTOP:
    case SIM_ZSCORE:
    case SIM_ZCARD:
        return is_key_question_met(w, c);
    default:
        return is_change_met(w, c);
    }
}

/* ---- summing up ---- */

static void hold_claims(walk *w) {
    sim_judge *j = w->judge;
    char what[300];
    for (uint32_t i = 0; i < j->claim_count; i++) {
        sim_claim *c = &j->claims[i];
        if (c->is_met || w->seq < c->lo || w->seq > c->hi)
            continue;
        c->is_met = is_met(w, c);
        if (c->is_met || w->seq < c->hi)
            continue;
        sim_op_describe(c->op, what, sizeof what);
        sim_fail(j->trace,
                 "%s: client %u, %s, answered %.200s in step %llu, at seq %llu to %llu: %s",
                 sim_op_is_change(c->op) ? "P1" : "P5", c->op->client, what, c->text,
                 (unsigned long long)c->step, (unsigned long long)c->lo, (unsigned long long)c->hi,
                 w->why);
    }
}

/* Several ops may have one tag: all of their transmissions together bound its events. */
static void count_events(const sim_judge *j) {
    for (uint32_t i = 0; i < j->op_count; i++) {
        const sim_op *op = j->ops[i];
        uint32_t allowed = 0;
        if (!op->found)
            continue;
        for (uint32_t k = 0; k < j->op_count; k++)
            if (j->ops[k]->hash == op->hash)
                allowed += j->ops[k]->sent - j->ops[k]->denied;
        if (op->found > allowed)
            sim_fail(j->trace, "P2: %u events \"%s\", and %u requests for it that were taken",
                     op->found, op->tag, allowed);
    }
}

static rung_status fold_one(rung_state *state, const sim_record *r) {
    rung_event e;
    if (!r->bytes) {
        rung_state_pass(state);
        return RUNG_OK;
    }
    CHECK_OK(rung_event_decode(rung_slice_of(r->bytes, r->len), &e, NULL));
    return rung_state_apply(state, &e, NULL, NULL);
}

/* P3 once more, from nothing: the state is a fold of the events and depends on nothing else. */
static void fold_again(const sim_judge *j) {
    rung_state *state;
    CHECK_OK(rung_state_create(&(rung_state_config){.alloc = rung_alloc_heap()}, &state));
    for (uint64_t i = 0; i < j->count; i++) {
        const sim_record *r = &j->records[i];
        int64_t before_ms = rung_state_time(state);
        rung_status st = fold_one(state, r);
        rung_digest digest = rung_state_digest(state);
        if (rung_state_time(state) < before_ms)
            sim_fail(j->trace, "log time goes back at seq %llu", (unsigned long long)i + 1);
        if (st != r->status)
            sim_fail(j->trace, "P3: seq %llu was %s, and is %s when folded again",
                     (unsigned long long)i + 1, rung_status_name(r->status), rung_status_name(st));
        if (r->has_digest && (digest.a != r->digest.a || digest.b != r->digest.b))
            sim_fail(j->trace, "P3: the digest at seq %llu is not that of its events",
                     (unsigned long long)i + 1);
    }
    const char *broken = rung_state_check(state);
    if (broken)
        sim_fail(j->trace, "the state is broken: %s", broken);
    rung_state_destroy(state);
}

/* Of claims that one event could satisfy, the one that can wait the least gets it. */
static int by_end(const void *a, const void *b) {
    const sim_claim *x = a, *y = b;
    return x->hi != y->hi ? (x->hi < y->hi ? -1 : 1) : x->step < y->step ? -1 : x->step > y->step;
}

void sim_judge_sum_up(sim_judge *j) {
    if (j->claim_count)
        qsort(j->claims, j->claim_count, sizeof *j->claims, by_end);
    walk w = {.judge = j,
              .model = state_model_create(&(state_model_config){.id_capacity = j->id_capacity,
                                                                .id_keep_ms = j->id_keep_ms})};
    hold_claims(&w);
    while (w.seq < j->count) {
        apply_next(&w);
        hold_claims(&w);
    }
    state_model_destroy(w.model);
    for (uint32_t i = 0; i < j->claim_count; i++)
        CHECK(j->claims[i].is_met);
    count_events(j);
    fold_again(j);
}
