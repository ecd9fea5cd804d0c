/* SPDX-License-Identifier: Apache-2.0 */
/* The audit trail, page by page, from the archive. */
#include "front/api/archive_calls.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/problem.h"
#include "model/rule.h"
#include "model/text.h"

#include <string.h>

typedef struct audit_ask {
    rung_archive_call base; /* the first member */
    rung_archive_audit_query query;
    uint32_t limit, count; /* asks for one more than the limit: is there a next page? */
    rung_archive_audit records[];
} audit_ask;

/* In another thread. */
static rung_status ask_audit(rung_archive_job *job, const rung_archive_port *port,
                             rung_archive *archive) {
    audit_ask *ask = (audit_ask *)job;
    rung_status st = port->cursor(archive, &ask->base.cursor_seq, NULL, &job->err);
    if (st < 0)
        return st;
    return port->audit(archive, &ask->query, ask->limit + 1, ask->records, &ask->count, &job->err);
}

/* ---- writing ---- */

static void write_text(rung_json_writer *w, const char *name, rung_slice text) {
    if (!text.len)
        return;
    rung_json_write_key(w, rung_slice_str(name));
    rung_json_write_string(w, text);
}

/* What the archive has as JSON; as text if another program has put something else there. */
static void write_json(rung_json_writer *w, const char *name, rung_slice json, rung_json *reader) {
    if (!json.len)
        return;
    rung_json_init_at(reader, json, NULL, 0, NULL);
    rung_ignore(rung_json_skip(reader, NULL), "the end tells");
    rung_json_write_key(w, rung_slice_str(name));
    if (rung_json_end(reader) == RUNG_OK)
        rung_json_write_raw(w, json);
    else
        rung_json_write_string(w, json);
}

static const char *outcome_name(int status) {
    return status == RUNG_STATUS_UNKNOWN ? "unknown"
           : status < 0                  ? "refused"
           : status == RUNG_UNCHANGED    ? "unchanged"
                                         : "done";
}

static void write_actor(rung_json_writer *w, const rung_archive_audit *r) {
    if (!r->actor_key.len && !r->actor_player.len && !r->actor_address.len)
        return;
    RUNG_JSON_OPEN(w, "actor", object);
    write_text(w, "key", r->actor_key);
    write_text(w, "player", r->actor_player);
    write_text(w, "address", r->actor_address);
    rung_json_close_object(w);
}

static void write_record(rung_json_writer *w, const rung_archive_audit *r, rung_json *reader) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "seq", uint, r->seq);
    if (r->ts_ms)
        RUNG_JSON_MEMBER(w, "at", time, r->ts_ms);
    RUNG_JSON_MEMBER(w, "kind", string, r->kind);
    write_text(w, "board", r->board);
    write_text(w, "player", r->player);
    write_actor(w, r);
    write_text(w, "reason", r->reason);
    RUNG_JSON_MEMBER(w, "outcome", word, outcome_name(r->status));
    if (r->status < 0)
        RUNG_JSON_MEMBER(w, "code", word, rung_problem_of((rung_status)r->status, NULL).code);
    if (r->rule)
        RUNG_JSON_MEMBER(w, "rule", word, rung_rule_words[r->rule]);
    write_json(w, "before", r->before, reader);
    write_json(w, "after", r->after, reader);
    write_json(w, "details", r->details, reader);
    rung_json_close_object(w);
}

/* The position of a page's last record: "seq.entry". */
static void write_place(rung_json_writer *w, const rung_archive_audit *last) {
    char text[2 * RUNG_TEXT_NUMBER_MAX + 1];
    size_t len = rung_digits_format(last->seq, text);
    text[len++] = '.';
    len += rung_digits_format(last->entry, text + len);
    rung_json_write_string(w, rung_slice_of(text, len));
}

static void finish_audit(rung_archive_call *a) {
    const audit_ask *ask = (const audit_ask *)a;
    rung_call *c = a->call;
    rung_json_writer *w = rung__call_begin(c);
    uint32_t shown = ask->count < ask->limit ? ask->count : ask->limit;
    RUNG_JSON_OPEN(w, "records", array);
    for (uint32_t i = 0; i < shown; i++)
        write_record(w, &ask->records[i], &c->api->reader);
    rung_json_close_array(w);
    RUNG_JSON_KEY(w, "next");
    if (ask->count > shown)
        write_place(w, &ask->records[shown - 1]);
    else
        rung_json_write_null(w);
    RUNG_JSON_MEMBER(w, "archived_seq", uint, a->cursor_seq);
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer_seq(c, 200, a->job.seq);
}

/* ---- asking ---- */

static bool read_number(rung_slice text, uint64_t *out) {
    int64_t number;
    if (rung_text_parse_fixed(text, 0, &number, NULL) < 0 || number < 0)
        return false;
    *out = (uint64_t)number;
    return true;
}

static bool read_place(rung_slice text, rung_archive_audit_query *q) {
    const char *dot = memchr(text.ptr, '.', text.len);
    if (!dot)
        return false;
    size_t len = (size_t)(dot - text.ptr);
    return read_number(rung_slice_of(text.ptr, len), &q->after_seq) && q->after_seq &&
           read_number(rung_slice_of(dot + 1, text.len - len - 1), &q->after_entry);
}

/* False: `after` is not a position, and the call is ended. */
static bool fill_query(rung_call *c, rung_archive_audit_query *q) {
    const rung_arg *from = rung__call_arg(c, "from"), *to = rung__call_arg(c, "to");
    const rung_arg *after = rung__call_arg(c, "after");
    *q = (rung_archive_audit_query){.board = rung__call_arg(c, "board")->text,
                                    .player = rung__call_arg(c, "player")->text,
                                    .actor = rung__call_arg(c, "actor")->text,
                                    .kind = rung__call_arg(c, "kind")->text,
                                    .newest_first = !rung__call_arg(c, "oldest_first")->number};
    if (from->given || to->given) {
        q->from_ms = from->given ? from->number : RUNG_TIME_MS_MIN;
        q->to_ms = to->given ? to->number : RUNG_TIME_MS_END;
        if (q->from_ms >= q->to_ms) /* empty; two zeros would mean always */
            q->from_ms = q->to_ms = RUNG_TIME_MS_MIN;
    }
    if (!after->given || read_place(after->text, q))
        return true;
    return rung__call_fail_with(c, RUNG_EINVAL, RUNG_REASON_MALFORMED, "after",
                                "expected `next` of the page before");
}

void rung_api_audit(rung_call *c) {
    rung_archive_audit_query query;
    uint32_t limit = rung__call_count(c, "limit");
    if (!fill_query(c, &query))
        return;
    if (!rung_asker_has_archive(c->api->service.asker)) {
        rung__call_fail_with(c, RUNG_EUNSUPPORTED, RUNG_REASON_NONE, NULL,
                             "this server has no archive, and the audit trail is in the archive");
        return;
    }
    audit_ask *ask = rung__archive_call_new(
        c, sizeof(audit_ask) + (limit + 1) * sizeof(rung_archive_audit), ask_audit, finish_audit);
    if (!ask)
        return;
    ask->query = query;
    ask->limit = limit;
    rung__archive_call_put(&ask->base);
}
