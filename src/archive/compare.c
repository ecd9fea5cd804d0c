/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides are read in order of place. The archive gives the rows that are shown, in pages, and the places and ranks
 * of those that are not, at once: every place is in exactly one of the two. */
#include "archive/compare.h"

#include "archive/closed_window.h"

#include <string.h>

enum { PAGE = 256 };

typedef struct comparison {
    rung_archive *archive;
    const rung_alloc *alloc;
    rung_archive_window window; /* the archive's */
    rung_archive_row *page;     /* shown rows from `next_place` on */
    uint32_t count, at, next_place;
    bool is_last; /* there is no page after this one */
    rung_archive_row *hidden;
    uint32_t hidden_count, hidden_at;
} comparison;

static void put_text(char *out, size_t size, rung_slice text) {
    size_t len = text.len < size - 1 ? text.len : size - 1;
    if (len)
        memcpy(out, text.ptr, len);
    out[len] = '\0';
}

static rung_archive_ranking ranking_of(const comparison *c) {
    return (rung_archive_ranking){.window = c->window.key};
}

/* What is kept is only places and ranks: no text of the arena. */
static rung_status read_hidden(comparison *c, rung_err *err) {
    rung_archive_ranking r = ranking_of(c);
    rung_archive_row *rows;
    uint32_t count;
    rung_status st = c->archive->ops->hidden(c->archive, &r, &rows, &count, err);
    if (st < 0 || !count)
        return st;
    c->hidden = rung_alloc_get(c->alloc, count * sizeof *rows);
    if (!c->hidden)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    memcpy(c->hidden, rows, count * sizeof *rows);
    c->hidden_count = count;
    return RUNG_OK;
}

/* The next shown row; NULL in *row_out: there is none. */
static rung_status peek_shown(comparison *c, const rung_archive_row **row_out, rung_err *err) {
    rung_archive_ranking r = ranking_of(c);
    *row_out = NULL;
    if (c->at == c->count && !c->is_last) {
        rung__archive_forget(c->archive);
        rung_status st =
            c->archive->ops->rows(c->archive, &r, c->next_place, PAGE, c->page, &c->count, err);
        if (st < 0)
            return st;
        c->at = 0;
        c->is_last = c->count < PAGE;
        if (c->count)
            c->next_place = c->page[c->count - 1].place + 1;
    }
    if (c->at < c->count)
        *row_out = &c->page[c->at];
    return RUNG_OK;
}

static bool is_same_score(const rung_archive_values *a, const rung_archive_values *b) {
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->types[i] != b->types[i] || a->decimals[i] != b->decimals[i] ||
            a->values[i].i != b->values[i].i)
            return false;
    return true;
}

static bool is_same_rank(const rung_archive_row *a, const rung_archive_row *b) {
    return a->place == b->place && a->sparse == b->sparse && a->dense == b->dense;
}

static const char *difference_of(const rung_archive_row *ours, const rung_archive_row *theirs) {
    if (!rung_slice_eq(ours->player, theirs->player))
        return "player";
    if (!is_same_score(&ours->values, &theirs->values))
        return "score";
    if (ours->has_at != theirs->has_at || (ours->has_at && ours->at_ms != theirs->at_ms))
        return "time";
    return is_same_rank(ours, theirs) ? NULL : "rank";
}

/* `*what_out` NULL: this row is the same. */
static rung_status compare_row(comparison *c, const rung_archive_row *ours, const char **what_out,
                               rung_err *err) {
    const rung_archive_row *shown;
    rung_status st = peek_shown(c, &shown, err);
    if (st < 0)
        return st;
    if (shown && shown->place == ours->place) {
        c->at++;
        *what_out = difference_of(ours, shown);
    } else if (c->hidden_at < c->hidden_count && c->hidden[c->hidden_at].place == ours->place) {
        *what_out = is_same_rank(ours, &c->hidden[c->hidden_at++]) ? NULL : "rank";
    } else {
        *what_out = "standing";
    }
    return RUNG_OK;
}

static rung_status compare_rows(comparison *c, rung_packed_reader *r, rung_archive_difference *out,
                                rung_err *err) {
    rung_archive_row ours;
    const char *what = NULL;
    rung_status st;
    while ((st = rung_packed_next(r, &ours, err)) == RUNG_OK) {
        st = compare_row(c, &ours, &what, err);
        if (st < 0)
            return st;
        if (what) {
            out->what = what;
            out->place = ours.place;
            put_text(out->player, sizeof out->player, ours.player);
            return RUNG_OK;
        }
    }
    return st < 0 ? st : RUNG_UNCHANGED;
}

static rung_status compare(comparison *c, rung_packed_reader *r, rung_archive_difference *out,
                           rung_err *err) {
    const rung_archive_window *ours = &r->window;
    rung_status st = c->archive->ops->find_window(c->archive, ours->board, ours->kind, ours->id,
                                                  &c->window, err);
    if (st != RUNG_OK)
        return st;
    out->archived_total = c->window.total;
    if (c->window.closed_seq != ours->closed_seq)
        return RUNG_PARTIAL;
    if (c->window.total != ours->total || c->window.distinct != ours->distinct)
        out->what = "entries";
    else if (!rung_slice_eq(c->window.definition, ours->definition))
        out->what = "definition";
    if (out->what)
        return RUNG_OK;
    c->next_place = 1;
    st = read_hidden(c, err);
    return st < 0 ? st : compare_rows(c, r, out, err);
}

rung_status rung_archive_compare(rung_archive *a, const rung_alloc *alloc, rung_slice packed,
                                 rung_archive_difference *out, rung_err *err) {
    comparison c = {.archive = a, .alloc = alloc};
    rung_packed_reader r;
    rung_status st = rung_packed_open(packed, &r, err);
    if (st < 0)
        return st;
    *out = (rung_archive_difference){.closed_seq = r.window.closed_seq, .total = r.window.total};
    put_text(out->board, sizeof out->board, r.window.board);
    put_text(out->window, sizeof out->window, r.window.id);
    c.page = rung_alloc_get(alloc, PAGE * sizeof *c.page);
    if (!c.page)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    st = a->ops->read_begin(a, err);
    if (st >= 0) {
        st = compare(&c, &r, out, err);
        rung__archive_forget(a);
        a->ops->read_end(a);
    }
    rung_alloc_free(alloc, c.hidden, c.hidden_count * sizeof *c.hidden);
    rung_alloc_free(alloc, c.page, PAGE * sizeof *c.page);
    return st;
}
