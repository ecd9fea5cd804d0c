/* SPDX-License-Identifier: Apache-2.0 */
/* The servers that share a log, and the digest of this one's state. A server that has diverged answers these calls, and
 * hardly any other. */
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "model/words.h"

#include <stdio.h>

enum { CHECKPOINTS_LISTED = 16 };

void rung__write_digest(rung_json_writer *w, rung_digest d) {
    char text[2 * 16 + 1];
    snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)d.a, (unsigned long long)d.b);
    rung_json_write_string(w, rung_slice_str(text));
}

/* ---- nodes ---- */

static void write_checkpoint(rung_json_writer *w, const rung_checkpoint *c) {
    if (!c->seq) {
        rung_json_write_null(w);
        return;
    }
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "seq", uint, c->seq);
    RUNG_JSON_KEY(w, "digest");
    rung__write_digest(w, c->digest);
    rung_json_close_object(w);
}

static void write_text(rung_json_writer *w, rung_slice text) {
    if (text.len)
        rung_json_write_string(w, text);
    else
        rung_json_write_null(w);
}

static void write_node(rung_json_writer *w, const rung_node_info *node) {
    static const char *const states[] = {[RUNG_NODE_PRESENT] = "present",
                                         [RUNG_NODE_SILENT] = "silent",
                                         [RUNG_NODE_LEFT] = "left",
                                         [RUNG_NODE_DIVERGED] = "diverged"};
    char id[17];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)node->id);
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "id", string, rung_slice_str(id));
    RUNG_JSON_MEMBER(w, "self", bool, node->is_self);
    RUNG_JSON_MEMBER(w, "state", word, states[node->state]);
    RUNG_JSON_KEY(w, "address");
    write_text(w, node->address);
    RUNG_JSON_KEY(w, "version");
    write_text(w, node->version);
    RUNG_JSON_MEMBER(w, "level", uint, node->level);
    RUNG_JSON_MEMBER(w, "seq", uint, node->seq);
    RUNG_JSON_KEY(w, "digest");
    write_checkpoint(w, &node->checkpoint);
    RUNG_JSON_MEMBER(w, "disagrees", bool, node->is_disagreeing);
    RUNG_JSON_KEY(w, "heard_at");
    if (node->heard_ms)
        rung_json_write_time(w, node->heard_ms);
    else
        rung_json_write_null(w);
    rung_json_close_object(w);
}

/* What this server knows of itself is newer than its last report. */
static void write_self(rung_json_writer *w, const rung_api *api, rung_node_info *self) {
    const rung_state *s = rung__api_state(api);
    self->is_self = true;
    self->seq = rung_state_seq(s);
    self->level = RUNG_RULES_LEVEL;
    self->version = rung_slice_str(api->config.version ? api->config.version : "");
    self->heard_ms = rung_hub_now(api->service.hub);
    self->checkpoint = (rung_checkpoint){.seq = self->seq, .digest = rung_state_digest(s)};
    write_node(w, self);
}

void rung_api_nodes(rung_call *c) {
    const rung_api *api = c->api;
    const rung_nodes *nodes = rung_hub_nodes(api->service.hub);
    rung_node_info node = {.state = RUNG_NODE_PRESENT};
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "shared", bool, nodes != NULL);
    RUNG_JSON_MEMBER(w, "level", uint, rung_state_rules(rung__api_state(api)));
    RUNG_JSON_OPEN(w, "nodes", array);
    if (nodes)
        rung_nodes_at(nodes, 0, &node);
    write_self(w, api, &node);
    for (uint32_t i = 1; nodes && rung_nodes_at(nodes, i, &node); i++)
        write_node(w, &node);
    rung_json_close_array(w);
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer_seq(c, 200, rung_state_seq(rung__api_state(api)));
}

/* ---- the digest ---- */

static void write_divergence(rung_json_writer *w, const rung_divergence *d) {
    RUNG_JSON_KEY(w, "diverged");
    if (!d) {
        rung_json_write_null(w);
        return;
    }
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "seq", uint, d->seq);
    RUNG_JSON_KEY(w, "ours");
    rung__write_digest(w, d->ours);
    RUNG_JSON_KEY(w, "theirs");
    rung__write_digest(w, d->theirs);
    RUNG_JSON_MEMBER(w, "with_us", uint, d->with_us);
    RUNG_JSON_MEMBER(w, "with_them", uint, d->with_them);
    RUNG_JSON_MEMBER(w, "voters", uint, d->voters);
    RUNG_JSON_MEMBER(w, "undecided", bool, d->is_tie);
    rung_json_close_object(w);
}

static void write_agreed(rung_json_writer *w, const rung_nodes *nodes) {
    rung_nodes_stats s = rung_nodes_stat(nodes);
    RUNG_JSON_KEY(w, "agreed");
    write_checkpoint(w, &s.agreed);
    RUNG_JSON_KEY(w, "agreed_at");
    if (s.agreed.seq)
        rung_json_write_time(w, s.agreed_ms);
    else
        rung_json_write_null(w);
}

static void write_checkpoints(rung_json_writer *w, const rung_nodes *nodes) {
    rung_checkpoint one;
    RUNG_JSON_OPEN(w, "checkpoints", array);
    for (uint32_t i = 0; i < CHECKPOINTS_LISTED && rung_nodes_checkpoint_at(nodes, i, &one); i++)
        write_checkpoint(w, &one);
    rung_json_close_array(w);
}

void rung_api_digest(rung_call *c) {
    const rung_api *api = c->api;
    const rung_hub *hub = api->service.hub;
    const rung_state *s = rung__api_state(api);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_KEY(w, "digest");
    rung__write_digest(w, rung_state_digest(s));
    if (rung_hub_nodes(hub)) {
        write_agreed(w, rung_hub_nodes(hub));
        write_checkpoints(w, rung_hub_nodes(hub));
        write_divergence(w, rung_hub_divergence(hub));
    }
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer_seq(c, 200, rung_state_seq(s));
}

static void write_window_digest(rung_json_writer *w, const rung_window_info *info) {
    rung_json_open_object(w);
    RUNG_JSON_MEMBER(w, "kind", word, rung_window_words[info->kind]);
    RUNG_JSON_MEMBER(w, "id", string, rung_slice_str(info->id));
    RUNG_JSON_MEMBER(w, "closed", bool, info->closed);
    RUNG_JSON_MEMBER(w, "total", uint, info->total);
    RUNG_JSON_KEY(w, "digest");
    rung__write_digest(w, info->digest);
    rung_json_close_object(w);
}

void rung_api_board_digest(rung_call *c) {
    if (!rung__call_board(c))
        return;
    const rung_alloc *a = c->api->config.alloc;
    const rung_state *s = rung__api_state(c->api);
    uint32_t n = rung_state_windows(s, c->board, NULL, 0);
    size_t size = ((size_t)n + 1) * sizeof(rung_window_info);
    rung_window_info *windows = rung_alloc_get(a, size);
    if (!windows) {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
        return;
    }
    rung_state_windows(s, c->board, windows, n);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_MEMBER(w, "board", string, c->board);
    RUNG_JSON_OPEN(w, "windows", array);
    for (uint32_t i = 0; i < n; i++)
        write_window_digest(w, &windows[i]);
    rung_json_close_array(w);
    rung_alloc_free(a, windows, size);
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer_seq(c, 200, rung_state_seq(s));
}
