/* SPDX-License-Identifier: Apache-2.0 */
/* Keys over HTTP: list, create, revoke, in the file that `rung keys` uses (guard/keys_file.h). A worker thread changes
 * it, since that waits for the disk, one change at a time.
 *
 *     rung_api_create_key, rung_api_revoke_key -> change_file (pool) -> file_changed (loop): reload, answer
 *
 * Invariants:
 *  1. The text of a new key is only in the change and in the answer; both are wiped.
 *  2. A change is in force when it is answered: rung_access has reloaded the file. */
#include "front/api/answers.h"
#include "front/api/handlers.h"
#include "front/api/parts.h"
#include "front/api/schemas.h"
#include "guard/keys_file.h"
#include "service/moderate.h"

#include <string.h>

typedef struct rung_key_change {
    rung_work work;
    rung_call *call;
    bool is_new;
    rung_key key;                 /* to be added; its texts are in `bytes` */
    char text[RUNG_KEY_TEXT_MAX]; /* the new key itself */
    char id[RUNG_NAME_MAX];       /* of the key to be revoked */
    size_t id_len;
    int64_t now_ms;
    rung_status status;
    rung_err err;
    char bytes[RUNG_KEY_LABEL_MAX + RUNG_KEY_PATTERNS_MAX * RUNG_NAME_MAX];
    char *end; /* of the used ones; they suffice, since the schema limits the lengths */
} rung_key_change;

/* ---- writing ---- */

#define NEVER INT64_MAX /* null, as a time */

static rung_slice state_of(const rung_key *key, int64_t now_ms) {
    return key->revoked_ms                 ? RUNG_SLICE("revoked")
           : rung_key_is_live(key, now_ms) ? RUNG_SLICE("live")
                                           : RUNG_SLICE("expired");
}

/* A key, as members of an open object. */
static void write_key(rung_json_writer *w, const rung_key *key, int64_t now_ms) {
    RUNG_JSON_MEMBER(w, "id", string, key->id);
    RUNG_JSON_MEMBER(w, "role", word, rung_role_name(key->role));
    RUNG_JSON_MEMBER(w, "state", string, state_of(key, now_ms));
    RUNG_JSON_OPEN(w, "boards", array);
    for (uint32_t i = 0; i < key->pattern_count; i++)
        rung_json_write_string(w, key->patterns[i]);
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "label", string, key->label);
    RUNG_JSON_MEMBER(w, "created", time, key->created_ms);
    RUNG_JSON_MEMBER(w, "expires", time, key->expires_ms ? key->expires_ms : NEVER);
    RUNG_JSON_MEMBER(w, "revoked", time, key->revoked_ms ? key->revoked_ms : NEVER);
    RUNG_JSON_MEMBER(w, "rate", uint_or_null, key->rate_per_s);
}

void rung_api_list_keys(rung_call *c) {
    const rung_access *access = c->api->service.access;
    const rung_keys *keys = rung_access_keys(access);
    int64_t now_ms = rung_hub_now(c->api->service.hub);
    rung_json_writer *w = rung__call_begin(c);
    RUNG_JSON_OPEN(w, "keys", array);
    for (size_t i = 0; i < rung_keys_count(keys); i++) {
        rung_json_open_object(w);
        write_key(w, rung_keys_at(keys, i), now_ms);
        rung_json_close_object(w);
    }
    rung_json_close_array(w);
    RUNG_JSON_MEMBER(w, "can_change", bool, rung_access_path(access) != NULL);
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer(c, 200);
}

/* ---- changing ---- */

/* On a worker thread. */
static rung_status change_table(void *ctx, const rung_keys *keys, rung_keys **keys_out,
                                rung_err *err) {
    const rung_key_change *k = ctx;
    return k->is_new
               ? rung_keys_add(keys, &k->key, keys_out, err)
               : rung_keys_revoke(keys, rung_slice_of(k->id, k->id_len), k->now_ms, keys_out, err);
}

static void change_file(rung_work *work) {
    rung_key_change *k = work->ctx;
    const rung_api_config *config = &k->call->api->config;
    k->status = rung_keys_file_change(rung_access_fs(config->access), config->alloc,
                                      rung_access_path(config->access), change_table, k, &k->err);
}

static void answer_key(rung_key_change *k) {
    rung_call *c = k->call;
    const rung_keys *keys = rung_access_keys(c->api->service.access);
    const rung_key *key =
        rung_keys_find(keys, k->is_new ? k->key.id : rung_slice_of(k->id, k->id_len));
    if (!key) {
        rung__call_fail_with(c, RUNG_EIO, RUNG_REASON_NONE, NULL,
                             "the keys file was replaced meanwhile");
        return;
    }
    rung_json_writer *w = rung__call_begin(c);
    write_key(w, key, k->now_ms);
    if (k->is_new)
        RUNG_JSON_MEMBER(w, "key", word, k->text);
    if (c->api->config.key_changed)
        c->api->config.key_changed(c->api->config.ctx, key, k->is_new, rung_who_key(&c->who));
    rung_exchange_set(c->x, "Cache-Control", RUNG_SLICE("no-store"));
    rung__call_answer(c, k->is_new ? 201 : 200);
    if (w->data)
        explicit_bzero(w->data, w->size);
}

static void end_change(rung_key_change *k, rung_status st) {
    const rung_alloc *alloc = k->call->api->config.alloc;
    if (st < 0)
        rung__call_fail(k->call, st, &k->err);
    else
        answer_key(k);
    explicit_bzero(k, sizeof *k);
    rung_alloc_free(alloc, k, sizeof *k);
}

static void file_changed(rung_work *work) {
    rung_key_change *k = work->ctx;
    rung_api *api = k->call->api;
    api->key_change = NULL;
    api->key_caller = k->call;
    rung_status st =
        k->status < 0 ? k->status : rung_access_reload(api->service.access, true, &k->err);
    api->key_caller = NULL;
    end_change(k, st);
}

void rung__api_key_changed(void *ctx, const rung_key *key, bool is_revoked) {
    rung_api *api = ctx;
    rung__call_actor room = {.actor = {.address = RUNG_SLICE("file")}};
    if (api->key_caller)
        rung__call_signed(api->key_caller, &room);
    if (api->service.hub)
        rung_ignore(rung_moderate_key(&api->service, &room.actor, key, is_revoked, NULL),
                    "the log takes nothing now: the server's own log still has it");
}

/* A new change; NULL: the call is ended. */
static rung_key_change *begin_change(rung_call *c) {
    rung_api *api = c->api;
    if (!rung_access_path(api->service.access)) {
        rung__call_fail_with(c, RUNG_EUNSUPPORTED, RUNG_REASON_NONE, NULL,
                             "this server has no data folder to keep keys in");
        return NULL;
    }
    if (api->key_change) {
        rung__call_overloaded(c);
        return NULL;
    }
    rung_key_change *k = rung_alloc_zeroed(api->config.alloc, sizeof *k);
    if (!k) {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
        return NULL;
    }
    k->call = c;
    k->end = k->bytes;
    k->now_ms = rung_hub_now(api->service.hub);
    k->work = (rung_work){.run = change_file, .done = file_changed, .ctx = k};
    return k;
}

static void start_change(rung_key_change *k) {
    rung_api *api = k->call->api;
    api->key_change = k;
    rung_status st = rung_loop_work(api->config.loop, &k->work);
    if (st < 0) {
        k->status = st;
        file_changed(&k->work);
    }
}

/* ---- a new key ---- */

static rung_status read_boards(rung_key_change *k, const rung_slot *slot) {
    rung_json *r = &k->call->api->reader;
    rung_slice pattern;
    rung_json_init_at(r, slot->text, "boards", slot->offset, &k->err);
    rung_status st = rung_json_enter_array(r);
    while (st == RUNG_OK && (st = rung_json_next_item(r)) == RUNG_OK) {
        st = rung_json_string(r, &pattern);
        if (st == RUNG_OK)
            k->key.patterns[k->key.pattern_count++] = rung_slice_put(&k->end, pattern);
    }
    return st < 0 ? st : RUNG_OK;
}

static rung_status read_key(rung_key_change *k, const rung_slot *slots) {
    static const rung_role roles[] = {RUNG_ROLE_READ, RUNG_ROLE_SERVER, RUNG_ROLE_ADMIN};
    rung_key *key = &k->key;
    key->role = roles[slots[KEY_ROLE].choice];
    key->label =
        rung_slice_put(&k->end, slots[KEY_LABEL].present ? slots[KEY_LABEL].text : RUNG_SLICE(""));
    key->rate_per_s = slots[KEY_RATE].present ? (uint32_t)slots[KEY_RATE].integer : 0;
    key->created_ms = k->now_ms;
    key->expires_ms = slots[KEY_EXPIRES].present ? slots[KEY_EXPIRES].integer : 0;
    if (slots[KEY_EXPIRES].present && key->expires_ms <= k->now_ms)
        return RUNG_FAIL_FIELD(&k->err, RUNG_EINVAL, "expires", "expected a time in the future");
    rung_status st = slots[KEY_BOARDS].present ? read_boards(k, &slots[KEY_BOARDS]) : RUNG_OK;
    if (st < 0)
        return st;
    if (rung_access_is_open(k->call->api->service.access) &&
        (key->role != RUNG_ROLE_ADMIN || key->pattern_count || key->expires_ms))
        return RUNG_FAIL_FIELD(
            &k->err, RUNG_EREFUSED, "role",
            "the first key must be an admin's, for all boards and without an expiry, "
            "or nobody could create another");
    return RUNG_OK;
}

static rung_status mint(rung_key_change *k) {
    uint8_t chance[RUNG_KEY_CHANCE_SIZE];
    if (rung_loop_random(k->call->api->config.loop, chance, sizeof chance) < 0)
        return RUNG_FAIL(&k->err, RUNG_EIO, "the system gave no random bytes");
    rung_status st = rung_key_mint(&k->key, chance, k->text, &k->err);
    explicit_bzero(chance, sizeof chance);
    return st;
}

void rung_api_create_key(rung_call *c) {
    rung_slot slots[KEY_FIELDS];
    if (!rung__call_read_body(c, slots))
        return;
    rung_key_change *k = begin_change(c);
    if (!k)
        return;
    k->is_new = true;
    rung_status st = read_key(k, slots);
    if (st == RUNG_OK)
        st = mint(k);
    if (st < 0)
        end_change(k, st);
    else
        start_change(k);
}

void rung_api_revoke_key(rung_call *c) {
    rung_slice id = rung__call_arg(c, "key")->text;
    rung_key_change *k = begin_change(c);
    if (!k)
        return;
    memcpy(k->id, id.ptr, id.len);
    k->id_len = id.len;
    start_change(k);
}
