/* SPDX-License-Identifier: Apache-2.0 */
/* An event as bytes, version 1, in the terms of base/bytes.h (examples: docs/formats/events.md). Nearly
 * all events are scores, so their encoding is the most compact and their code path the fastest.
 *
 *   byte      1, the version
 *   byte      kind
 *   signed    ts, Unix milliseconds
 *   then, by kind:
 *     board defined      text board; to the end, the definition (board.c)
 *     board deleted      text board
 *     score              byte flags: bits 0-1 values, bit 2 delta, bit 3 at, bit 4 id, bit 5 meta, bit 6 when
 *                        text board, text player
 *                        per value: byte, bits 0-1 type, bits 4-7 decimals; then signed, or real for a real
 *                        what the flags announce: signed (at - ts), text id, text meta, byte when
 *     entry removed      text board, text player
 *     player set         text player, number of attributes; per attribute: text name, text value
 *     player erased      text player
 *     friend added, removed      byte follow (0 or 1), text player, text other
 *     friends replaced   byte follow, text player, number of names; to the end, the names: byte length and its bytes
 *     banned, unbanned   text player, text reason
 *     window opened, closed      text board, byte kind of window; for 0 text season, otherwise signed ordinal
 *     tick               nothing
 *     keys               number, bits 0-13 how many commands, bit 14 by an admin; to the end, the commands (zcommand.c)
 *     ids set            number capacity, number keep in milliseconds
 *     rules set          number level
 *     access set         byte has keys (0 or 1)
 *     with an actor (20) text key, text player, text address, text reason; byte kind; then as that kind; not of scores
 *     key changed        only after an actor, as kind 20: byte is revoked (0 or 1), text id, text role, text boards,
 *                        number expires in milliseconds
 *     board filled       text board, number job, number part, text records (state/shadow_fill.c)
 *     board swapped      text board, number job, byte undo (0 or 1)
 *     shadow dropped     text board, number job
 *     match              byte flags: bit 0 at, bit 1 id, bit 2 source; text board; what the flags announce: signed
 *                        (at - ts), text id, text source and number offset; number of players; to the end, the
 *                        players (match.h)
 *     score of a source  text source, number offset; then as a score (decoded, its kind is that of a score)
 *     score with evidence (25)   byte: bit 0 source, bit 1 signature, bit 2 duration, bit 3 seed, bit 4 replay, and
 *                        not bit 0 alone; what the bits announce: text source, number offset; text session, number
 *                        nonce, signed (signed time - ts); number duration in milliseconds; text seed; text replay;
 *                        then as a score
 *     session            byte is ended (0 or 1), text id, text player; if begun: text key, number expires, number
 *                        window, both in milliseconds
 *     reviewed (27)      byte verdict, text board, text player, number id, text reason
 *     noted (28)         byte 0, text player, text note
 *     ban with an end (28)  byte 1 banned, 2 unbanned, 3 banned in the shadow, text player, text reason, signed until
 *                        (not 0, unless the byte is 3); decoded, its kind is banned or unbanned
 *
 * Valid = each value in its only encoding, nothing after it, and the event passes rung_event_check().
 *
 * Invariants
 *   1. What decodes encodes to the same bytes: every byte is a field, a bit without a meaning must be 0, a flag
 *      announces something that is not empty.
 *   2. What is encoded decodes to the same event: only valid events are written.
 *   3. A valid event fits RUNG_EVENT_BYTES_MAX. */
#include "model/event.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "model/coder.h"
#include "model/utf8.h"

#define EVENT_VERSION 1

enum { KIND_OF_SOURCE = 19, KIND_OF_ACTOR = 20, KIND_OF_EVIDENCE = 25 }; /* of bytes alone */
#define COMMANDS_MAX (RUNG_EVENT_BYTES_MAX - 64) /* that an older program may have written */

enum {
    SCORE_COUNT = 3, /* bits 0-1 */
    SCORE_DELTA = 4,
    SCORE_AT = 8,
    SCORE_ID = 16,
    SCORE_META = 32,
    SCORE_WHEN = 64,
    SCORE_FLAGS = 127
};
enum {
    EVIDENCE_SOURCE = 1,
    EVIDENCE_SIGNATURE = 2,
    EVIDENCE_DURATION = 4,
    EVIDENCE_SEED = 8,
    EVIDENCE_REPLAY = 16,
    EVIDENCE_FLAGS = 31
};
enum { KEYS_ADMIN = 1 << 14 };
enum { MATCH_AT = 1, MATCH_ID = 2, MATCH_SOURCE = 4 };
_Static_assert(RUNG_MATCH_PACKED_MAX + 512 <= RUNG_EVENT_BYTES_MAX, "invariant 3");
_Static_assert(RUNG_ZCOMMANDS_MAX < KEYS_ADMIN, "the number of commands leaves the bit free");
enum { VALUE_TYPE = 3, VALUE_DECIMALS_SHIFT = 4, VALUE_UNKNOWN = 0x0c };

bool rung_names_next(rung_slice *packed, rung_slice *name_out) {
    if (packed->len == 0)
        return false;
    size_t len = (uint8_t)packed->ptr[0];
    if (len == 0 || len >= packed->len)
        return false;
    *name_out = rung_slice_of(packed->ptr + 1, len);
    *packed = rung_slice_of(packed->ptr + 1 + len, packed->len - 1 - len);
    return true;
}

bool rung_session_id_is_valid(rung_slice id) {
    for (size_t i = 0; i < id.len; i++)
        if (!rung_is_letter(id.ptr[i]) && !rung_is_digit(id.ptr[i]) && id.ptr[i] != '-' &&
            id.ptr[i] != '_')
            return false;
    return id.len == RUNG_SESSION_ID_SIZE;
}

/* ---- validity ---------------------------------------------------------------------------------------- */

static inline rung_status check_name(rung_slice name, const char *field, rung_err *err) {
    if (name.len >= 1 && name.len <= RUNG_NAME_MAX && rung_utf8_is_plain(name))
        return RUNG_OK; /* rung_name_is_valid() without a call */
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s",
                           "1 to %d bytes of UTF-8 without control characters", field,
                           RUNG_NAME_MAX);
}

static inline rung_status check_board_and_player(rung_slice board, rung_slice player,
                                                 rung_err *err) {
    rung_status st = check_name(board, "board", err);
    return st < 0 ? st : check_name(player, "player", err);
}

static rung_status check_text(rung_slice text, size_t len_max, const char *field, rung_err *err) {
    if (text.len <= len_max && rung_utf8_is_text(text))
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "up to %zu bytes of UTF-8 without NUL", field,
                           len_max);
}

static rung_status check_time(int64_t at_ms, const char *field, rung_err *err) {
    if (at_ms >= RUNG_TIME_MS_MIN && at_ms < RUNG_TIME_MS_END)
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "in the years %d to %d", field, RUNG_YEAR_MIN,
                           RUNG_YEAR_MAX);
}

static inline rung_status check_value(const rung_score_event *s, uint32_t index, rung_err *err) {
    static const char *const FIELDS[RUNG_COLUMNS_MAX] = {"score", "columns[0]", "columns[1]"};
    unsigned type = s->types[index], decimals = s->decimals[index];
    if (type > RUNG_SCORE_REAL)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "integer, decimal or real", FIELDS[index]);
    if (decimals > (type == RUNG_SCORE_DECIMAL ? RUNG_DECIMALS_MAX : 0))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "up to %d decimals, if it is a decimal",
                               FIELDS[index], RUNG_DECIMALS_MAX);
    if (type == RUNG_SCORE_REAL && __builtin_isnan(s->values[index].d))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "a number", FIELDS[index]);
    return RUNG_OK;
}

static rung_status check_when(const rung_score_event *s, rung_err *err) {
    unsigned when = s->when;
    if (when <= RUNG_SCORE_KEY)
        return RUNG_OK;
    if (!(when & RUNG_SCORE_KEY) || when & ~(unsigned)RUNG_SCORE_WHEN_MASK)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "when", "conditions of a key");
    if ((when & RUNG_IF_NX && when & (RUNG_IF_XX | RUNG_IF_GT | RUNG_IF_LT)) ||
        (when & RUNG_IF_GT && when & RUNG_IF_LT))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "when", "conditions that exclude each other");
    return RUNG_OK;
}

static inline bool has_evidence(const rung_score_event *s) {
    return rung_attested_is_given(&s->attested) | (s->session.len != 0);
}

/* Is there something that most scores do not have? */
static inline bool has_extras(const rung_score_event *s) {
    return s->has_at | (s->id.len != 0) | (s->meta.len != 0) | (s->source.len != 0) |
           has_evidence(s);
}

/* Empty, or without control characters. */
static rung_status check_plain(rung_slice text, size_t len_max, const char *field, rung_err *err) {
    if (text.len <= len_max && rung_utf8_is_plain(text))
        return RUNG_OK;
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s",
                           "up to %zu bytes of UTF-8 without control characters", field, len_max);
}

static rung_status check_session_id(rung_slice id, rung_err *err) {
    return rung_session_id_is_valid(id)
               ? RUNG_OK
               : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "session", "%d characters of base64url",
                                 RUNG_SESSION_ID_SIZE);
}

static rung_status check_signature(const rung_score_event *s, rung_err *err) {
    rung_status st = check_session_id(s->session, err);
    if (st == RUNG_OK && (s->nonce < 1 || s->nonce > RUNG_NONCE_MAX))
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "nonce", "1 to 2^63 - 1");
    if (st == RUNG_OK && s->source.len)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "source", "not of a signed submission");
    return st < 0 ? st : check_time(s->signed_ms, "time", err);
}

static rung_status check_evidence(const rung_score_event *s, rung_err *err) {
    const rung_attested *a = &s->attested;
    if (a->has_duration && (a->duration_ms < 0 || a->duration_ms > RUNG_ATTESTED_DURATION_MAX))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "attested.duration_ms", "0 to 2^53");
    rung_status st = check_plain(a->seed, RUNG_ATTESTED_SEED_MAX, "attested.seed", err);
    if (st == RUNG_OK)
        st = check_plain(a->replay, RUNG_ATTESTED_REPLAY_MAX, "attested.replay", err);
    return st == RUNG_OK && s->session.len ? check_signature(s, err) : st;
}

/* Never inlined, as they are rare. */
__attribute__((noinline)) static rung_status check_extras(const rung_score_event *s,
                                                          rung_err *err) {
    rung_status st;
    if (s->has_at) {
        st = check_time(s->at_ms, "at", err);
        if (st < 0)
            return st;
    }
    if (s->id.len && (s->id.len > RUNG_EVENT_ID_MAX || !rung_utf8_is_plain(s->id)))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "id",
                               "1 to %d bytes of UTF-8 without control characters",
                               RUNG_EVENT_ID_MAX);
    st = s->meta.len ? check_text(s->meta, RUNG_EVENT_META_MAX, "meta", err) : RUNG_OK;
    if (st == RUNG_OK && s->source.len)
        st = check_name(s->source, "source", err);
    if (st == RUNG_OK && s->offset > RUNG_SOURCE_OFFSET_MAX)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "offset", "below 2^63");
    if (st == RUNG_OK && has_evidence(s))
        st = check_evidence(s, err);
    return st;
}

__attribute__((always_inline)) static inline rung_status check_score(const rung_score_event *s,
                                                                     rung_err *err) {
    rung_status st = check_board_and_player(s->board, s->player, err);
    if (st == RUNG_OK)
        st = check_when(s, err);
    if (st < 0)
        return st;
    if (s->value_count > RUNG_COLUMNS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "columns", "at most %d after the score",
                               RUNG_COLUMNS_MAX - 1);
    for (uint32_t i = 0; i < s->value_count; i++) {
        st = check_value(s, i, err);
        if (st < 0)
            return st;
    }
    return has_extras(s) ? check_extras(s, err) : RUNG_OK;
}

static rung_status check_attribute(const rung_event *e, uint32_t index, rung_err *err) {
    const rung_attribute *a = &e->profile.attributes[index];
    if (!rung_attribute_name_is_valid(a->name))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "attributes[%u].name",
                               "1 to %d of a-z A-Z 0-9 _ . -", index, RUNG_ATTRIBUTE_NAME_MAX);
    if (index > 0 && rung_slice_cmp(e->profile.attributes[index - 1].name, a->name) >= 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "attributes[%u].name",
                               "names are unique and ascend", index);
    if (a->value.len < 1 || a->value.len > RUNG_ATTRIBUTE_VALUE_MAX ||
        !rung_utf8_is_plain(a->value))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "attributes[%u].value",
                               "1 to %d bytes of UTF-8 without control characters", index,
                               RUNG_ATTRIBUTE_VALUE_MAX);
    return RUNG_OK;
}

static rung_status check_profile(const rung_event *e, rung_err *err) {
    rung_status st = check_name(e->profile.player, "player", err);
    if (st == RUNG_OK && e->profile.count > RUNG_ATTRIBUTES_MAX)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "attributes", "at most %d", RUNG_ATTRIBUTES_MAX);
    for (uint32_t i = 0; st == RUNG_OK && i < e->profile.count; i++)
        st = check_attribute(e, i, err);
    return st;
}

static rung_status check_friend(const rung_event *e, rung_err *err) {
    rung_status st = check_name(e->friend.player, "player", err);
    if (st == RUNG_OK)
        st = check_name(e->friend.other, "friend", err);
    if (st == RUNG_OK && rung_slice_eq(e->friend.player, e->friend.other))
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friend", "must differ from the player");
    return st;
}

static rung_status check_friends(const rung_event *e, rung_err *err) {
    rung_slice rest = e->friends.packed, name;
    rung_status st = check_name(e->friends.player, "player", err);
    if (st < 0)
        return st;
    if (e->friends.count > RUNG_FRIENDS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friends", "at most %d", RUNG_FRIENDS_MAX);
    if (rest.len > RUNG_FRIENDS_BYTES_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "friends",
                               "%zu bytes of names, and one event has room for %zu", rest.len,
                               RUNG_FRIENDS_BYTES_MAX);
    uint32_t count = 0;
    for (; rung_names_next(&rest, &name); count++) {
        if (!rung_name_is_valid(name))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friends[%u]",
                                   "1 to %d bytes of UTF-8 without control characters", count,
                                   RUNG_NAME_MAX);
        if (rung_slice_eq(name, e->friends.player))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friends[%u]", "must differ from the player",
                                   count);
    }
    if (rest.len || count != e->friends.count)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "friends", "%u names, packed without a gap",
                               e->friends.count);
    return RUNG_OK;
}

static rung_status check_ban(const rung_event *e, rung_err *err) {
    rung_status st = check_name(e->ban.player, "player", err);
    if (st == RUNG_OK && e->ban.until_ms)
        st = check_time(e->ban.until_ms, "until", err);
    if (st == RUNG_OK && e->ban.is_shadow && e->kind == RUNG_EVENT_UNBANNED)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "shadow", "not of the end of a ban");
    return st < 0 ? st : check_text(e->ban.reason, RUNG_REASON_MAX, "reason", err);
}

static rung_status check_reviewed(const rung_event *e, rung_err *err) {
    rung_status st = check_board_and_player(e->reviewed.board, e->reviewed.player, err);
    if (st == RUNG_OK && !e->reviewed.id)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "id", "at least 1");
    if (st == RUNG_OK && e->reviewed.verdict > RUNG_VERDICT_BAN)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "verdict", "expected one of %s",
                             RUNG_ALTERNATIVES(RUNG_VERDICTS));
    return st < 0 ? st : check_text(e->reviewed.reason, RUNG_REASON_MAX, "reason", err);
}

static rung_status check_noted(const rung_event *e, rung_err *err) {
    rung_status st = check_name(e->noted.player, "player", err);
    if (st == RUNG_OK && !e->noted.note.len)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "note", "must not be empty");
    return st < 0 ? st : check_text(e->noted.note, RUNG_NOTE_MAX, "note", err);
}

static rung_status check_window(const rung_event *e, rung_err *err) {
    rung_window window;
    rung_status st = check_name(e->window.board, "board", err);
    if (st < 0)
        return st;
    if (e->window.kind > RUNG_WINDOW_YEAR)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "window",
                               "a season, hour, day, week, month or year");
    if (e->window.kind == 0) {
        if (e->window.ordinal)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "window.ordinal", "a season has none");
        return check_name(e->window.season, "window.season", err);
    }
    if (e->window.season.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "window.season", "only a season has a name");
    rung_window_kind kind = (rung_window_kind)e->window.kind;
    if (rung_window_span(kind, e->window.ordinal, NULL, 0, &window) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "window.ordinal", "in the years %d to %d",
                               RUNG_YEAR_MIN, RUNG_YEAR_MAX);
    return RUNG_OK;
}

static rung_status check_defined(const rung_event *e, rung_err *err) {
    rung_status st = check_name(e->defined.board, "board", err);
    return st < 0 ? st : rung_board_def_check(&e->defined.def, err);
}

static rung_status check_keys(const rung_event *e, rung_err *err) {
    size_t max = e->has_actor ? RUNG_ZCOMMANDS_BYTES_MAX : COMMANDS_MAX;
    if (e->keys.packed.len > max)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "commands",
                               "%zu bytes of them, and one event has room for %zu",
                               e->keys.packed.len, max);
    return rung_zcommands_check(e->keys.count, e->keys.packed, err);
}

static rung_status check_ids(const rung_event *event, rung_err *err) {
    if (event->ids.capacity < 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "capacity", "at least 1");
    if (event->ids.keep_ms < 1 || event->ids.keep_ms > RUNG_IDS_KEEP_MS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "keep", "1 ms to 100 years");
    return RUNG_OK;
}

static rung_status check_rules(const rung_event *event, rung_err *err) {
    if (event->rules.level < 1)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "level", "at least 1");
    if (event->rules.level > RUNG_RULES_LEVEL)
        return RUNG_FAIL_FIELD(err, RUNG_EVERSION, "level",
                               "a newer version has raised the rules to level %u; this one knows "
                               "levels up to %u",
                               event->rules.level, RUNG_RULES_LEVEL);
    return RUNG_OK;
}

static rung_status check_job(rung_slice board, uint64_t job, rung_err *err) {
    rung_status st = check_name(board, "board", err);
    if (st == RUNG_OK && !job)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "job", "at least 1");
    return st;
}

static rung_status check_filled(const rung_event *e, rung_err *err) {
    if (e->filled.packed.len > RUNG_FILL_BYTES_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_ELIMIT, "packed",
                               "%zu bytes of records, and one event has room for %zu",
                               e->filled.packed.len, RUNG_FILL_BYTES_MAX);
    return check_job(e->filled.board, e->filled.job, err);
}

static rung_status check_swapped(const rung_event *e, rung_err *err) {
    return check_job(e->swapped.board, e->swapped.job, err);
}

static rung_status check_dropped(const rung_event *e, rung_err *err) {
    return check_job(e->dropped.board, e->dropped.job, err);
}

static rung_status check_match(const rung_event *e, rung_err *err) {
    const rung_match_event *m = &e->match;
    rung_status st = check_name(m->board, "board", err);
    if (st == RUNG_OK && m->has_at)
        st = check_time(m->at_ms, "at", err);
    if (st < 0)
        return st;
    if (m->id.len && (m->id.len > RUNG_EVENT_ID_MAX || !rung_utf8_is_plain(m->id)))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "id",
                               "1 to %d bytes of UTF-8 without control characters",
                               RUNG_EVENT_ID_MAX);
    if (m->source.len)
        st = check_name(m->source, "source", err);
    if (st == RUNG_OK && m->source.len && m->offset > RUNG_SOURCE_OFFSET_MAX)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "offset", "below 2^63");
    if (st < 0)
        return st;
    uint32_t count = 0;
    st = rung_match_packed_check(m->packed, &count, err);
    if (st == RUNG_OK && count != m->player_count)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "sides", "%u players, not %u", count,
                             m->player_count);
    return st;
}

static rung_status check_deleted(const rung_event *e, rung_err *err) {
    return check_name(e->deleted.board, "board", err);
}

static rung_status check_score_event(const rung_event *e, rung_err *err) {
    return check_score(&e->score, err);
}

static rung_status check_removed(const rung_event *e, rung_err *err) {
    return check_board_and_player(e->removed.board, e->removed.player, err);
}

static rung_status check_erased(const rung_event *e, rung_err *err) {
    return check_name(e->erased.player, "player", err);
}

static rung_status check_actor(const rung_event *e, rung_err *err) {
    const rung_actor *a = &e->actor;
    if (e->kind == RUNG_EVENT_SCORE || e->kind == RUNG_EVENT_FRIENDS_REPLACED)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "actor", "not of this kind of event");
    rung_status st = check_plain(a->key, RUNG_ACTOR_TEXT_MAX, "actor.key", err);
    if (st == RUNG_OK)
        st = check_plain(a->player, RUNG_NAME_MAX, "actor.player", err);
    if (st == RUNG_OK)
        st = check_plain(a->address, RUNG_ACTOR_ADDRESS_MAX, "actor.address", err);
    return st < 0 ? st : check_text(a->reason, RUNG_REASON_MAX, "reason", err);
}

static rung_status check_key(const rung_event *e, rung_err *err) {
    if (!e->has_actor)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "actor", "always there for a key");
    rung_status st = check_name(e->key.id, "key", err);
    if (st == RUNG_OK)
        st = check_name(e->key.role, "role", err);
    if (st == RUNG_OK)
        st = check_plain(e->key.boards, RUNG_KEY_BOARDS_MAX, "boards", err);
    if (st == RUNG_OK && e->key.expires_ms < 0)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "expires", "not negative");
    return st;
}

static rung_status check_session(const rung_event *e, rung_err *err) {
    bool has_id = e->session.id.len != 0, has_player = e->session.player.len != 0;
    rung_status st = has_id ? check_session_id(e->session.id, err) : RUNG_OK;
    if (st == RUNG_OK && has_player)
        st = check_name(e->session.player, "player", err);
    if (st < 0)
        return st;
    if (e->session.is_ended)
        return has_id != has_player
                   ? RUNG_OK
                   : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "session", "either its id or a player");
    if (!has_id || !has_player)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "session", "an id and a player");
    if (!e->session.key.len)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "key", "required but missing");
    st = check_plain(e->session.key, RUNG_SESSION_KEY_MAX, "key", err);
    if (st == RUNG_OK)
        st = check_time(e->session.expires_ms, "expires", err);
    if (st == RUNG_OK && e->session.expires_ms < 0)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "expires", "not negative");
    if (st == RUNG_OK &&
        (e->session.window_ms < 1 || e->session.window_ms > RUNG_SESSION_WINDOW_MS_MAX))
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "window", "1 ms to one hour");
    return st;
}

typedef struct event_kind {
    const char *name;
    rung_status (*check)(const rung_event *e, rung_err *err); /* NULL: any is valid */
} event_kind;

static const event_kind KINDS[] = {
    [RUNG_EVENT_BOARD_DEFINED] = {"board defined", check_defined},
    [RUNG_EVENT_BOARD_DELETED] = {"board deleted", check_deleted},
    [RUNG_EVENT_SCORE] = {"score", check_score_event},
    [RUNG_EVENT_ENTRY_REMOVED] = {"entry removed", check_removed},
    [RUNG_EVENT_PLAYER_SET] = {"player set", check_profile},
    [RUNG_EVENT_PLAYER_ERASED] = {"player erased", check_erased},
    [RUNG_EVENT_FRIEND_ADDED] = {"friend added", check_friend},
    [RUNG_EVENT_FRIEND_REMOVED] = {"friend removed", check_friend},
    [RUNG_EVENT_FRIENDS_REPLACED] = {"friends replaced", check_friends},
    [RUNG_EVENT_BANNED] = {"banned", check_ban},
    [RUNG_EVENT_UNBANNED] = {"unbanned", check_ban},
    [RUNG_EVENT_WINDOW_OPENED] = {"window opened", check_window},
    [RUNG_EVENT_WINDOW_CLOSED] = {"window closed", check_window},
    [RUNG_EVENT_TICK] = {"tick", NULL},
    [RUNG_EVENT_KEYS] = {"keys", check_keys},
    [RUNG_EVENT_IDS_SET] = {"ids set", check_ids},
    [RUNG_EVENT_RULES_SET] = {"rules set", check_rules},
    [RUNG_EVENT_ACCESS_SET] = {"access set", NULL},
    [RUNG_EVENT_KEY_CHANGED] = {"key changed", check_key},
    [RUNG_EVENT_BOARD_FILLED] = {"board filled", check_filled},
    [RUNG_EVENT_BOARD_SWAPPED] = {"board swapped", check_swapped},
    [RUNG_EVENT_SHADOW_DROPPED] = {"shadow dropped", check_dropped},
    [RUNG_EVENT_MATCH] = {"match", check_match},
    [RUNG_EVENT_SESSION] = {"session", check_session},
    [RUNG_EVENT_REVIEWED] = {"reviewed", check_reviewed},
    [RUNG_EVENT_NOTED] = {"noted", check_noted},
};

static const event_kind *kind_of(unsigned number) {
    return number < sizeof KINDS / sizeof *KINDS && KINDS[number].name ? &KINDS[number] : NULL;
}

const char *rung_event_kind_name(rung_event_kind kind) {
    return kind_of(kind) ? kind_of(kind)->name : "unknown";
}

/* A definition is well-formed but its values do not fit together. Everything else refused here is malformed. */
rung_status rung_event_check(const rung_event *event, rung_err *err) {
    const event_kind *k = kind_of(event->kind);
    rung_status st = check_time(event->ts_ms, "ts", err);
    if (st == RUNG_OK && !k)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "kind", "%u is not known here",
                             (unsigned)event->kind);
    else if (st == RUNG_OK && event->has_actor)
        st = check_actor(event, err);
    if (st == RUNG_OK && k->check)
        st = k->check(event, err);
    if (st == RUNG_EINVAL && err && event->kind != RUNG_EVENT_BOARD_DEFINED)
        err->reason = RUNG_REASON_MALFORMED;
    return st;
}

#define COMMAND(kind) (UINT64_C(1) << RUNG_ZCOMMAND_##kind)

static bool has_deletion(const rung_event *e) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        if ((COMMAND(DEL) | COMMAND(RENAME) | COMMAND(FLUSH)) >> c.kind & 1)
            return true;
    return false;
}

/* Is it about a ban that ends by itself, or a shadow ban? */
static bool has_terms(const rung_event *e) {
    return (e->kind == RUNG_EVENT_BANNED || e->kind == RUNG_EVENT_UNBANNED) &&
           (e->ban.until_ms || e->ban.is_shadow);
}

static bool has_sketches(const rung_event *e) {
    rung_slice rest = e->keys.packed;
    rung_zcommand c;
    while (rung_zcommand_next(&rest, &c, NULL) == RUNG_OK)
        if (c.kind >= RUNG_ZCOMMAND_SKETCH)
            return true;
    return false;
}

uint32_t rung_event_level(const rung_event *e) {
    uint32_t def = e->kind == RUNG_EVENT_BOARD_DEFINED ? rung_board_def_level(&e->defined.def) : 0;
    if (def > 2)
        return def;
    if (e->kind == RUNG_EVENT_BANNED && e->ban.is_shadow)
        return 3;
    if (e->has_actor || e->kind > RUNG_EVENT_ACCESS_SET ||
        (e->kind == RUNG_EVENT_KEYS && has_sketches(e)) || has_terms(e) ||
        (e->kind == RUNG_EVENT_SCORE && has_evidence(&e->score)))
        return 2;
    return def;
}

bool rung_event_is_audited(const rung_event *e) {
    switch (e->kind) {
    case RUNG_EVENT_BOARD_DEFINED:
    case RUNG_EVENT_BOARD_DELETED:
    case RUNG_EVENT_ENTRY_REMOVED:
    case RUNG_EVENT_PLAYER_ERASED:
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
    case RUNG_EVENT_IDS_SET:
    case RUNG_EVENT_RULES_SET:
    case RUNG_EVENT_ACCESS_SET:
    case RUNG_EVENT_KEY_CHANGED:
    case RUNG_EVENT_BOARD_SWAPPED:
    case RUNG_EVENT_SHADOW_DROPPED:
    case RUNG_EVENT_REVIEWED:
    case RUNG_EVENT_NOTED:
        return true;
    case RUNG_EVENT_KEYS:
        return has_deletion(e);
    case RUNG_EVENT_SESSION: /* one begins with every login */
        return e->session.is_ended;
    case RUNG_EVENT_SCORE:
    case RUNG_EVENT_PLAYER_SET:
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
    case RUNG_EVENT_FRIENDS_REPLACED:
    case RUNG_EVENT_TICK:
    case RUNG_EVENT_BOARD_FILLED:
    case RUNG_EVENT_MATCH:
        break;
    }
    return false;
}

/* ---- all but scores, in both directions -------------------------------------------------------------- */

/* A fault in what is read is returned; one before it is recorded in the reader. */
static rung_status code_definition(const rung__coder *c, rung_event *e, rung_err *err) {
    if (c->r)
        return c->r->fault ? RUNG_OK
                           : rung_board_def_decode(rung_get_rest(c->r), &e->defined.def, err);
    size_t length = 0;
    rung_status st =
        rung_board_def_encode(&e->defined.def, c->w->at, rung_byte_writer_room(c->w), &length);
    RUNG_ASSERT(st == RUNG_OK || st == RUNG_ELIMIT);
    if (st == RUNG_OK)
        c->w->at += length;
    else
        c->w->lost += length;
    return RUNG_OK;
}

static void code_profile(const rung__coder *c, rung_event *e) {
    rung__code_text(c, &e->profile.player);
    rung__code_count(c, &e->profile.count, RUNG_ATTRIBUTES_MAX);
    for (uint32_t i = 0; i < e->profile.count; i++) {
        rung__code_text(c, &e->profile.attributes[i].name);
        rung__code_text(c, &e->profile.attributes[i].value);
    }
}

static void code_keys(const rung__coder *c, rung_event *e) {
    uint32_t count = e->keys.count | (e->keys.is_admin ? KEYS_ADMIN : 0);
    rung__code_count(c, &count, UINT32_MAX);
    rung__code_rest(c, &e->keys.packed);
    if (c->w)
        return;
    e->keys.is_admin = count & KEYS_ADMIN;
    e->keys.count = count & ~(uint32_t)KEYS_ADMIN;
}

/* The kind in the bytes. */
static unsigned coded_kind(const rung_event *e) {
    return has_terms(e) ? RUNG_EVENT_NOTED : e->kind;
}

/* A note, or a ban with an end or in the shadow. */
static void code_noted(const rung__coder *c, rung_event *e) {
    unsigned what = !has_terms(e)                    ? 0
                    : e->kind == RUNG_EVENT_UNBANNED ? 2
                    : e->ban.is_shadow               ? 3
                                                     : 1;
    RUNG__CODE_BYTE(c, what);
    if (what > 3)
        rung_byte_reader_fail(c->r, "neither a note nor a ban");
    if (what == 0) {
        rung__code_text(c, &e->noted.player);
        rung__code_text(c, &e->noted.note);
        return;
    }
    if (c->r) {
        e->kind = what == 2 ? RUNG_EVENT_UNBANNED : RUNG_EVENT_BANNED;
        e->ban.is_shadow = what == 3;
    }
    rung__code_text(c, &e->ban.player);
    rung__code_text(c, &e->ban.reason);
    rung__code_signed(c, &e->ban.until_ms);
    if (c->r && !e->ban.until_ms && what != 3)
        rung_byte_reader_fail(c->r, "a ban without an end has another kind");
}

static void code_actor(const rung__coder *c, rung_event *e) {
    unsigned kind = coded_kind(e);
    rung__code_text(c, &e->actor.key);
    rung__code_text(c, &e->actor.player);
    rung__code_text(c, &e->actor.address);
    rung__code_text(c, &e->actor.reason);
    RUNG__CODE_BYTE(c, kind);
    if (c->r)
        e->kind = (rung_event_kind)kind;
}

static void code_match(const rung__coder *c, rung_event *e) {
    rung_match_event *m = &e->match;
    uint8_t flags = (uint8_t)((m->has_at ? MATCH_AT : 0) | (m->id.len ? MATCH_ID : 0) |
                              (m->source.len ? MATCH_SOURCE : 0));
    int64_t later_ms = m->has_at ? m->at_ms - e->ts_ms : 0; /* both are valid times: no overflow */
    RUNG__CODE_BYTE(c, flags);
    if (flags & ~(MATCH_AT | MATCH_ID | MATCH_SOURCE))
        rung_byte_reader_fail(c->r, "a match has an unknown flag");
    rung__code_text(c, &m->board);
    if (flags & MATCH_AT)
        rung__code_signed(c, &later_ms);
    if (flags & MATCH_ID)
        rung__code_text(c, &m->id);
    if (flags & MATCH_SOURCE) {
        rung__code_text(c, &m->source);
        rung__code_number(c, &m->offset);
    }
    rung__code_count(c, &m->player_count, UINT32_MAX);
    rung__code_rest(c, &m->packed);
    if (c->w)
        return;
    m->has_at = flags & MATCH_AT;
    if ((flags & MATCH_ID && !m->id.len) || (flags & MATCH_SOURCE && !m->source.len))
        rung_byte_reader_fail(c->r, "an announced text is empty");
    if (m->has_at && __builtin_add_overflow(e->ts_ms, later_ms, &m->at_ms))
        rung_byte_reader_fail(c->r, "time out of range");
}

/* RUNG_OK, RUNG_EVERSION (an unknown kind), or the failure of a definition. Other faults are recorded in the reader. */
static rung_status code_body(const rung__coder *c, rung_event *e, rung_err *err) {
    switch (coded_kind(e)) {
    case RUNG_EVENT_BOARD_DEFINED:
        rung__code_text(c, &e->defined.board);
        return code_definition(c, e, err);
    case RUNG_EVENT_BOARD_DELETED:
        rung__code_text(c, &e->deleted.board);
        return RUNG_OK;
    case RUNG_EVENT_SCORE: /* encode_score(), decode_score() */
        break;
    case RUNG_EVENT_ENTRY_REMOVED:
        rung__code_text(c, &e->removed.board);
        rung__code_text(c, &e->removed.player);
        return RUNG_OK;
    case RUNG_EVENT_PLAYER_SET:
        code_profile(c, e);
        return RUNG_OK;
    case RUNG_EVENT_PLAYER_ERASED:
        rung__code_text(c, &e->erased.player);
        return RUNG_OK;
    case RUNG_EVENT_FRIEND_ADDED:
    case RUNG_EVENT_FRIEND_REMOVED:
        rung__code_bool(c, &e->friend.follow);
        rung__code_text(c, &e->friend.player);
        rung__code_text(c, &e->friend.other);
        return RUNG_OK;
    case RUNG_EVENT_FRIENDS_REPLACED:
        rung__code_bool(c, &e->friends.follow);
        rung__code_text(c, &e->friends.player);
        rung__code_count(c, &e->friends.count, UINT32_MAX);
        rung__code_rest(c, &e->friends.packed);
        return RUNG_OK;
    case RUNG_EVENT_BANNED:
    case RUNG_EVENT_UNBANNED:
        rung__code_text(c, &e->ban.player);
        rung__code_text(c, &e->ban.reason);
        return RUNG_OK;
    case RUNG_EVENT_WINDOW_OPENED:
    case RUNG_EVENT_WINDOW_CLOSED:
        rung__code_text(c, &e->window.board);
        RUNG__CODE_BYTE(c, e->window.kind);
        if (e->window.kind == 0)
            rung__code_text(c, &e->window.season);
        else
            rung__code_signed(c, &e->window.ordinal);
        return RUNG_OK;
    case RUNG_EVENT_TICK:
        return RUNG_OK;
    case RUNG_EVENT_KEYS:
        code_keys(c, e);
        return RUNG_OK;
    case RUNG_EVENT_IDS_SET:
        rung__code_count(c, &e->ids.capacity, UINT32_MAX);
        rung__code_positive(c, &e->ids.keep_ms);
        return RUNG_OK;
    case RUNG_EVENT_RULES_SET:
        rung__code_count(c, &e->rules.level, UINT32_MAX);
        return RUNG_OK;
    case RUNG_EVENT_ACCESS_SET:
        rung__code_bool(c, &e->access.has_keys);
        return RUNG_OK;
    case RUNG_EVENT_KEY_CHANGED:
        if (!e->has_actor)
            break;
        rung__code_bool(c, &e->key.is_revoked);
        rung__code_text(c, &e->key.id);
        rung__code_text(c, &e->key.role);
        rung__code_text(c, &e->key.boards);
        rung__code_positive(c, &e->key.expires_ms);
        return RUNG_OK;
    case RUNG_EVENT_BOARD_FILLED:
        rung__code_text(c, &e->filled.board);
        rung__code_number(c, &e->filled.job);
        rung__code_count(c, &e->filled.part, UINT32_MAX);
        rung__code_text(c, &e->filled.packed);
        return RUNG_OK;
    case RUNG_EVENT_BOARD_SWAPPED:
        rung__code_text(c, &e->swapped.board);
        rung__code_number(c, &e->swapped.job);
        rung__code_bool(c, &e->swapped.is_undo);
        return RUNG_OK;
    case RUNG_EVENT_SHADOW_DROPPED:
        rung__code_text(c, &e->dropped.board);
        rung__code_number(c, &e->dropped.job);
        return RUNG_OK;
    case RUNG_EVENT_MATCH:
        code_match(c, e);
        return RUNG_OK;
    case RUNG_EVENT_SESSION:
        rung__code_bool(c, &e->session.is_ended);
        rung__code_text(c, &e->session.id);
        rung__code_text(c, &e->session.player);
        if (e->session.is_ended)
            return RUNG_OK;
        rung__code_text(c, &e->session.key);
        rung__code_positive(c, &e->session.expires_ms);
        rung__code_positive(c, &e->session.window_ms);
        return RUNG_OK;
    case RUNG_EVENT_REVIEWED:
        RUNG__CODE_BYTE(c, e->reviewed.verdict);
        rung__code_text(c, &e->reviewed.board);
        rung__code_text(c, &e->reviewed.player);
        rung__code_number(c, &e->reviewed.id);
        rung__code_text(c, &e->reviewed.reason);
        return RUNG_OK;
    case RUNG_EVENT_NOTED:
        code_noted(c, e);
        return RUNG_OK;
    }
    return RUNG_FAIL(err, RUNG_EVERSION, "event: kind %u is not known here", (unsigned)e->kind);
}

/* ---- writing ----------------------------------------------------------------------------------------- */

/* The longest score: version, kind, two kinds of flags, conditions; eight lengths, offset, nonce, duration, three
 * times; the values and the texts. */
enum {
    SCORE_FIXED_MAX =
        5 + 15 * RUNG_NUMBER_BYTES_MAX + RUNG_COLUMNS_MAX * (1 + RUNG_NUMBER_BYTES_MAX),
    EVIDENCE_BYTES_MAX = RUNG_ATTESTED_SEED_MAX + RUNG_ATTESTED_REPLAY_MAX + RUNG_SESSION_ID_SIZE,
    SCORE_BYTES_MAX = SCORE_FIXED_MAX + EVIDENCE_BYTES_MAX + 3 * RUNG_NAME_MAX + RUNG_EVENT_ID_MAX +
                      RUNG_EVENT_META_MAX
};
_Static_assert(SCORE_BYTES_MAX <= RUNG_EVENT_BYTES_MAX, "invariant 3");

static inline uint8_t *encode_value(uint8_t *at, const rung_score_event *s, uint32_t index) {
    *at++ = (uint8_t)(s->types[index] | s->decimals[index] << VALUE_DECIMALS_SHIFT);
    return s->types[index] == RUNG_SCORE_REAL ? rung_encode_real(at, s->values[index].d)
                                              : rung_encode_signed(at, s->values[index].i);
}

__attribute__((noinline)) static uint8_t *encode_extras(uint8_t *at, const rung_event *e) {
    const rung_score_event *s = &e->score;
    if (s->has_at)
        at = rung_encode_signed(at, s->at_ms - e->ts_ms); /* both are valid times: no overflow */
    if (s->id.len)
        at = rung_encode_text(at, s->id);
    if (s->meta.len)
        at = rung_encode_text(at, s->meta);
    return at;
}

static uint8_t *encode_source(uint8_t *at, const rung_score_event *s) {
    at = rung_encode_text(at, s->source);
    return rung_encode_number(at, s->offset);
}

__attribute__((noinline)) static uint8_t *encode_evidence(uint8_t *at, const rung_event *e) {
    const rung_score_event *s = &e->score;
    const rung_attested *a = &s->attested;
    *at++ =
        (uint8_t)((s->source.len != 0) * EVIDENCE_SOURCE |
                  (s->session.len != 0) * EVIDENCE_SIGNATURE | a->has_duration * EVIDENCE_DURATION |
                  (a->seed.len != 0) * EVIDENCE_SEED | (a->replay.len != 0) * EVIDENCE_REPLAY);
    if (s->source.len)
        at = encode_source(at, s);
    if (s->session.len) {
        at = rung_encode_text(at, s->session);
        at = rung_encode_number(at, s->nonce);
        at = rung_encode_signed(at, s->signed_ms - e->ts_ms); /* valid times: no overflow */
    }
    if (a->has_duration)
        at = rung_encode_number(at, (uint64_t)a->duration_ms);
    if (a->seed.len)
        at = rung_encode_text(at, a->seed);
    if (a->replay.len)
        at = rung_encode_text(at, a->replay);
    return at;
}

/* Encode the whole event if there is room. Returns its end. */
static inline uint8_t *encode_score_fields(uint8_t *at, const rung_event *e) {
    const rung_score_event *s = &e->score;
    bool is_more = has_extras(s), is_evident = has_evidence(s);
    *at++ = EVENT_VERSION;
    *at++ = is_evident ? KIND_OF_EVIDENCE : s->source.len ? KIND_OF_SOURCE : RUNG_EVENT_SCORE;
    at = rung_encode_signed(at, e->ts_ms);
    if (is_evident)
        at = encode_evidence(at, e);
    else if (s->source.len)
        at = encode_source(at, s);
    uint8_t *flags = at++;
    *flags =
        (uint8_t)((int)s->value_count | s->is_delta * SCORE_DELTA | (s->when != 0) * SCORE_WHEN);
    if (is_more)
        *flags |= (uint8_t)(s->has_at * SCORE_AT | (s->id.len != 0) * SCORE_ID |
                            (s->meta.len != 0) * SCORE_META);
    at = rung_encode_text(at, s->board);
    at = rung_encode_text(at, s->player);
    for (uint32_t i = 0; i < s->value_count; i++)
        at = encode_value(at, s, i);
    if (is_more)
        at = encode_extras(at, e);
    *at = s->when;
    return at + (s->when != 0);
}

/* Near the end of the buffer. Never inlined, since its stack frame is large. */
__attribute__((noinline)) static rung_status encode_score_aside(const rung_event *e, void *out,
                                                                size_t size, size_t *length_out) {
    uint8_t bytes[SCORE_BYTES_MAX];
    size_t length = (size_t)(encode_score_fields(bytes, e) - bytes);
    *length_out = length;
    if (length > size)
        return RUNG_ELIMIT;
    memcpy(out, bytes, length);
    return RUNG_OK;
}

/* The fast path. */
static inline rung_status encode_score(const rung_event *e, void *out, size_t size,
                                       size_t *length_out) {
    rung_status st = check_time(e->ts_ms, "ts", NULL);
    if (st == RUNG_OK)
        st = check_score(&e->score, NULL);
    if (st < 0)
        return st;
    if (size < SCORE_BYTES_MAX)
        return encode_score_aside(e, out, size, length_out);
    *length_out = (size_t)(encode_score_fields(out, e) - (uint8_t *)out);
    return RUNG_OK;
}

__attribute__((noinline)) static rung_status encode_other(const rung_event *event, void *out,
                                                          size_t size, size_t *length_out) {
    rung_status st = rung_event_check(event, NULL);
    if (st < 0)
        return st;
    rung_byte_writer w = rung_byte_writer_of(out, size);
    rung_put_byte(&w, EVENT_VERSION);
    rung_put_byte(&w, event->has_actor ? KIND_OF_ACTOR : (uint8_t)coded_kind(event));
    rung_put_signed(&w, event->ts_ms);
    if (event->has_actor)
        code_actor(&(rung__coder){.w = &w}, (rung_event *)(uintptr_t)event);
    st = code_body(&(rung__coder){.w = &w}, (rung_event *)(uintptr_t)event, NULL);
    size_t length = rung_byte_writer_length(&w);
    RUNG_ASSERT(st == RUNG_OK && length <= RUNG_EVENT_BYTES_MAX); /* 3 */
    *length_out = length;
    return length <= size ? RUNG_OK : RUNG_ELIMIT;
}

rung_status rung_event_encode(const rung_event *event, void *out, size_t size, size_t *length_out) {
    return event->kind == RUNG_EVENT_SCORE ? encode_score(event, out, size, length_out)
                                           : encode_other(event, out, size, length_out);
}

/* ---- reading ----------------------------------------------------------------------------------------- */

/* A text that a flag announced: 1. */
static rung_slice get_announced_text(rung_byte_reader *r) {
    rung_slice text = rung_get_text(r);
    if (!text.len)
        rung_byte_reader_fail(r, "an announced text is empty");
    return text;
}

static void get_value(rung_byte_reader *r, rung_score_event *s, uint32_t index) {
    uint8_t byte = rung_get_byte(r);
    if (byte & VALUE_UNKNOWN)
        rung_byte_reader_fail(r, "a value has an unknown bit");
    s->types[index] = byte & VALUE_TYPE;
    s->decimals[index] = byte >> VALUE_DECIMALS_SHIFT;
    if (s->types[index] == RUNG_SCORE_REAL)
        s->values[index].d = rung_get_real(r);
    else
        s->values[index].i = rung_get_signed(r);
}

static void get_source(rung_byte_reader *r, rung_score_event *s) {
    s->source = get_announced_text(r);
    s->offset = rung_get_number(r);
}

static void get_signature(rung_byte_reader *r, rung_score_event *s, int64_t ts_ms) {
    s->session = get_announced_text(r);
    s->nonce = rung_get_number(r);
    if (__builtin_add_overflow(ts_ms, rung_get_signed(r), &s->signed_ms))
        rung_byte_reader_fail(r, "time out of range");
}

static void get_evidence(rung_byte_reader *r, rung_score_event *s, int64_t ts_ms) {
    uint8_t flags = rung_get_byte(r);
    if (flags & ~EVIDENCE_FLAGS || flags <= EVIDENCE_SOURCE) {
        rung_byte_reader_fail(r, "the flags of a score's evidence");
        return;
    }
    if (flags & EVIDENCE_SOURCE)
        get_source(r, s);
    if (flags & EVIDENCE_SIGNATURE)
        get_signature(r, s, ts_ms);
    if (flags & EVIDENCE_DURATION) {
        uint64_t ms = rung_get_number(r);
        s->attested.has_duration = true;
        s->attested.duration_ms = ms > INT64_MAX ? -1 : (int64_t)ms; /* refused by the check */
    }
    if (flags & EVIDENCE_SEED)
        s->attested.seed = get_announced_text(r);
    if (flags & EVIDENCE_REPLAY)
        s->attested.replay = get_announced_text(r);
}

static void get_score(rung_byte_reader *r, rung_score_event *s, int64_t ts_ms) {
    uint8_t flags = rung_get_byte(r);
    if (flags & ~SCORE_FLAGS)
        rung_byte_reader_fail(r, "a score has an unknown flag");
    s->is_delta = flags & SCORE_DELTA;
    s->has_at = flags & SCORE_AT;
    s->value_count = flags & SCORE_COUNT;
    s->board = rung_get_text(r);
    s->player = rung_get_text(r);
    for (uint32_t i = 0; i < s->value_count; i++)
        get_value(r, s, i);
    if (s->has_at && __builtin_add_overflow(ts_ms, rung_get_signed(r), &s->at_ms))
        rung_byte_reader_fail(r, "time out of range");
    if (flags & SCORE_ID)
        s->id = get_announced_text(r);
    if (flags & SCORE_META)
        s->meta = get_announced_text(r);
    if (flags & SCORE_WHEN && !(s->when = rung_get_byte(r)))
        rung_byte_reader_fail(r, "announced conditions are none");
}

/* Fast path: touches only the score's part of the large event. A result is written only on success, so it is built in
 * a local copy. */
static inline rung_status decode_score(rung_byte_reader *r, rung_slice bytes, int64_t ts_ms,
                                       unsigned kind, bool is_own, rung_event *event_out,
                                       rung_err *err) {
    rung_score_event aside, *score = is_own ? &event_out->score : &aside;
    *score = (rung_score_event){0};
    if (kind == KIND_OF_SOURCE)
        get_source(r, score);
    else if (kind == KIND_OF_EVIDENCE)
        get_evidence(r, score, ts_ms);
    get_score(r, score, ts_ms);
    rung_status st = rung_byte_reader_finish(r, bytes, "event", err);
    if (st == RUNG_OK && !is_own)
        st = check_time(ts_ms, "ts", err);
    if (st == RUNG_OK && !is_own)
        st = check_score(score, err);
    if (st < 0)
        return st;
    event_out->kind = RUNG_EVENT_SCORE;
    event_out->has_actor = false;
    event_out->ts_ms = ts_ms;
    if (!is_own)
        event_out->score = aside;
    return RUNG_OK;
}

/* Built in a local copy, since a result is written only on success. Never inlined: the stack frame is large, and
 * scores, which do not come here, would pay for it. */
__attribute__((noinline)) static rung_status decode_other(rung_byte_reader r, rung_slice bytes,
                                                          rung_event_kind kind, int64_t ts_ms,
                                                          bool is_own, rung_event *event_out,
                                                          rung_err *err) {
    rung_event event = {.kind = kind, .has_actor = (int)kind == KIND_OF_ACTOR, .ts_ms = ts_ms};
    if (event.has_actor)
        code_actor(&(rung__coder){.r = &r}, &event);
    rung_status st = code_body(&(rung__coder){.r = &r}, &event, err);
    if (st == RUNG_OK)
        st = rung_byte_reader_finish(&r, bytes, "event", err);
    if (st == RUNG_OK && !is_own)
        st = rung_event_check(&event, err);
    if (st == RUNG_OK)
        *event_out = event;
    return st;
}

/* Fast path for nearly every score of our own: short names, one real value, and nothing else except conditions; read
 * in one go. false: not such a score, or not valid; nothing was written. */
static inline bool decode_usual(rung_slice bytes, rung_event *event_out) {
    enum { START = 2 + 8 + 2 }; /* a time, flags and a length are within it */
    const uint8_t *p = (const uint8_t *)bytes.ptr, *end = p + bytes.len;
    if (bytes.len < START || p[0] != EVENT_VERSION || p[1] != RUNG_EVENT_SCORE)
        return false;
    rung_number ts = rung_long_number(p + 2, end);
    if (!ts.behind)
        return false;
    size_t flags = ts.behind[0], board_len = ts.behind[1], when_len = flags >= SCORE_WHEN;
    const uint8_t *board = ts.behind + 2;
    if ((flags & ~(size_t)(SCORE_DELTA | SCORE_WHEN)) != 1 || board_len >= 0x80 ||
        board_len >= (size_t)(end - board))
        return false;
    size_t player_len = board[board_len];
    const uint8_t *player = board + board_len + 1;
    if (player_len >= 0x80 ||
        (size_t)(end - player) != player_len + 1 + sizeof(double) + when_len ||
        player[player_len] != RUNG_SCORE_REAL || (when_len && !end[-1]))
        return false;
    event_out->kind = RUNG_EVENT_SCORE;
    event_out->has_actor = false;
    event_out->ts_ms = rung_unzigzag(ts.value);
    event_out->score = (rung_score_event){.board = rung_slice_of(board, board_len),
                                          .player = rung_slice_of(player, player_len),
                                          .when = when_len ? end[-1] : 0,
                                          .is_delta = flags & SCORE_DELTA,
                                          .value_count = 1,
                                          .values = {{.d = rung_real_at(player + player_len + 1)}},
                                          .types = {RUNG_SCORE_REAL}};
    return true;
}

/* Our own bytes are valid by 2. */
static inline rung_status decode(rung_slice bytes, bool is_own, rung_event *event_out,
                                 rung_err *err) {
    rung_byte_reader r = rung_byte_reader_of(bytes);
    uint8_t version = rung_get_byte(&r);
    if (!r.fault && version != EVENT_VERSION)
        return RUNG_FAIL(err, RUNG_EVERSION, "event: version %u is not known here", version);
    uint8_t kind = rung_get_byte(&r);
    int64_t ts_ms = rung_get_signed(&r);
    if (r.fault)
        return rung_byte_reader_finish(&r, bytes, "event", err);
    if (kind == RUNG_EVENT_SCORE || kind == KIND_OF_SOURCE)
        return decode_score(&r, bytes, ts_ms, kind, is_own, event_out, err);
    rung_status st =
        kind == KIND_OF_EVIDENCE
            ? decode_score(&r, bytes, ts_ms, kind, is_own, event_out, err)
            : decode_other(r, bytes, (rung_event_kind)kind, ts_ms, is_own, event_out, err);
    if (st == RUNG_OK && rung_event_level(event_out) > RUNG_RULES_LEVEL)
        return RUNG_FAIL(err, RUNG_EVERSION, "event: kind %u needs a newer version", kind);
    return st;
}

rung_status rung_event_decode(rung_slice bytes, rung_event *event_out, rung_err *err) {
    return decode(bytes, false, event_out, err);
}

/* Never inlined: the usual score does not pay for it. */
__attribute__((noinline)) static rung_status decode_any_own(rung_slice bytes, rung_event *event_out,
                                                            rung_err *err) {
    return decode(bytes, true, event_out, err);
}

rung_status rung_event_decode_own(rung_slice bytes, rung_event *event_out, rung_err *err) {
    return decode_usual(bytes, event_out) ? RUNG_OK : decode_any_own(bytes, event_out, err);
}
