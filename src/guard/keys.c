/* SPDX-License-Identifier: Apache-2.0 */
/* keys.c - the table of keys and its file.
 *
 * The file is lines of `name value`, the value to the end of the line (docs/formats/keys.md):
 *
 *     rung-keys 1
 *     key 7k2m9q4xw3bt
 *     role server
 *     created 1794733290000
 *     sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
 *     label nightly import
 *     boards race-*
 *     end 5f3c9a01
 *
 * Invariants:
 *   1. `order` has every index once, sorted by id; no id is there twice.
 *   2. Every slice of an entry points into the table's own block: into `bytes`, or (verify) into `decoded`.
 *   3. `bytes` makes this very table again.
 * The CRC-32C behind `end` is over all bytes before that line: a file cut short could otherwise lose the line that
 * revokes a key. */
#include "guard/keys.h"

#include "base/ascii.h"
#include "base/assert.h"
#include "base/hash.h"
#include "guard/base64url.h"
#include "model/board.h"
#include "model/text.h"
#include "model/utf8.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#define FIRST_LINE "rung-keys 1"

enum {
    SECRET_BYTES = 32,
    SECRET_CHARS = RUNG_BASE64URL_TEXT_SIZE(SECRET_BYTES),
    KEY_BYTES_MAX =
        4096, /* no key is longer in the file: 16 patterns of 128, 3 texts of 128, a secret, numbers */
};

struct rung_keys {
    const rung_alloc *alloc;
    size_t size; /* of the whole block, this struct included */
    rung_key *entries;
    uint32_t count;
    uint32_t *order;
    EVP_MD *sha256; /* fetched once: fetching costs more than hashing */
    uint8_t *decoded;
    size_t decoded_len;
    char *bytes;
    size_t len;
};

/* ---- names ---- */

const char *rung_role_name(rung_role role) {
    static const char *const names[] = {"none", "player-token", "read", "server", "admin"};
    return (size_t)role < sizeof names / sizeof names[0] ? names[role] : "none";
}

bool rung_role_parse(rung_slice name, rung_role *role_out) {
    for (int role = RUNG_ROLE_PLAYER; role <= RUNG_ROLE_ADMIN; role++)
        if (rung_slice_eq(name, rung_slice_str(rung_role_name((rung_role)role)))) {
            *role_out = (rung_role)role;
            return true;
        }
    return false;
}

const char *rung_alg_name(rung_token_alg alg) {
    return alg == RUNG_ALG_EDDSA ? "EdDSA" : alg == RUNG_ALG_SESSION ? "session" : "HS256";
}

/* ---- one key ---- */

bool rung_key_is_live(const rung_key *key, int64_t now_ms) {
    return key->revoked_ms == 0 && (key->expires_ms == 0 || now_ms < key->expires_ms);
}

bool rung_key_covers(const rung_key *key, rung_slice board) {
    for (uint32_t i = 0; i < key->pattern_count; i++)
        if (rung_pattern_matches(key->patterns[i], board))
            return true;
    return key->pattern_count == 0;
}

static bool is_continuation(char c) {
    return ((uint8_t)c & 0xC0) == 0x80;
}

/* Backtrack only to the last star: whatever an earlier one could match, the last one can match as well. */
bool rung_pattern_matches(rung_slice pattern, rung_slice text) {
    size_t p = 0, t = 0, star = SIZE_MAX, star_text = 0;
    while (t < text.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            star_text = t;
        } else if (p < pattern.len && pattern.ptr[p] == '?') {
            p++;
            for (t++; t < text.len && is_continuation(text.ptr[t]);)
                t++;
        } else if (p < pattern.len && pattern.ptr[p] == text.ptr[t]) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            for (star_text++; star_text < text.len && is_continuation(text.ptr[star_text]);)
                star_text++;
            t = star_text;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

/* ---- validation, for keys that are added and keys that are read ---- */

static bool is_id(rung_slice id) {
    for (size_t i = 0; i < id.len; i++)
        if (!rung_is_letter(id.ptr[i]) && !rung_is_digit(id.ptr[i]) && id.ptr[i] != '.' &&
            id.ptr[i] != '_' && id.ptr[i] != '-')
            return false;
    return id.len > 0 && id.len <= RUNG_KEY_ID_MAX;
}

static bool is_line(rung_slice text, size_t max) {
    return text.len <= max && rung_utf8_is_plain(text);
}

static rung_status check_label(rung_slice text, const char *field, rung_err *err) {
    return is_line(text, RUNG_KEY_LABEL_MAX)
               ? RUNG_OK
               : RUNG_FAIL_FIELD(err, RUNG_EINVAL, "%s", "expected at most %d bytes of plain text",
                                 field, RUNG_KEY_LABEL_MAX);
}

static rung_status check_token_key(const rung_key *key, rung_err *err) {
    bool is_eddsa = key->alg == RUNG_ALG_EDDSA;
    if (!is_eddsa && key->alg != RUNG_ALG_HS256 && key->alg != RUNG_ALG_SESSION)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "alg", "expected EdDSA, HS256 or session");
    if (is_eddsa && key->verify.len != 32)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "public",
                               "expected the 32 bytes of an Ed25519 key, not %zu", key->verify.len);
    if (!is_eddsa &&
        (key->verify.len < RUNG_KEY_SECRET_MIN || key->verify.len > RUNG_KEY_SECRET_MAX))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "secret", "expected %d to %d bytes, not %zu",
                               RUNG_KEY_SECRET_MIN, RUNG_KEY_SECRET_MAX, key->verify.len);
    rung_status st = check_label(key->issuer, "issuer", err);
    return st < 0 ? st : check_label(key->audience, "audience", err);
}

static rung_status check_key(const rung_key *key, rung_err *err) {
    if (!is_id(key->id))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "id", "expected 1 to %d of a-z A-Z 0-9 . _ -",
                               RUNG_KEY_ID_MAX);
    if (key->role < RUNG_ROLE_PLAYER || key->role > RUNG_ROLE_ADMIN)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "role",
                               "expected read, server, admin or player-token");
    if (check_label(key->label, "label", err) < 0)
        return RUNG_EINVAL;
    if (key->pattern_count > RUNG_KEY_PATTERNS_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "boards", "expected at most %d patterns",
                               RUNG_KEY_PATTERNS_MAX);
    for (uint32_t i = 0; i < key->pattern_count; i++)
        if (key->patterns[i].len == 0 || !is_line(key->patterns[i], RUNG_NAME_MAX))
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "boards",
                                   "expected patterns of 1 to %d bytes of plain text",
                                   RUNG_NAME_MAX);
    if (key->created_ms <= 0 || key->expires_ms < 0 || key->revoked_ms < 0)
        return RUNG_FAIL(err, RUNG_EINVAL, "created, expires, revoked: expected times after 1970");
    return key->role == RUNG_ROLE_PLAYER ? check_token_key(key, err) : RUNG_OK;
}

/* ---- reading ---- */

/* The lines, from the first to the one before `end`. */
typedef struct reading {
    rung_keys *keys;
    const char *at, *stop;
    unsigned line;
    unsigned seen; /* fields of the current key: bits by number in `fields` */
    rung_err *err;
} reading;

#define BIT(field)  (1u << (field))
#define BAD(r, ...) RUNG_FAIL((r)->err, RUNG_ECORRUPT, "line " __VA_ARGS__)

static bool parse_number(rung_slice text, uint64_t max, uint64_t *number_out) {
    uint64_t n = 0;
    if (text.len == 0 || text.len > 19)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!rung_is_digit(text.ptr[i]))
            return false;
        n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    *number_out = n;
    return n <= max;
}

static int hex_value(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(rung_slice text, uint8_t *bytes_out, size_t size) {
    if (text.len != size * 2)
        return false;
    for (size_t i = 0; i < size; i++) {
        int high = hex_value(text.ptr[2 * i]), low = hex_value(text.ptr[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes_out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* A positive number up to `max`. */
static bool parse_positive(rung_slice text, uint64_t max, uint64_t *number_out) {
    return parse_number(text, max, number_out) && *number_out > 0;
}

static bool read_verify(rung_keys *keys, rung_key *key, rung_slice value) {
    size_t len;
    uint8_t *to = keys->decoded + keys->decoded_len;
    if (!rung_base64url_decode(value, to, &len))
        return false;
    keys->decoded_len += len;
    key->verify = rung_slice_of(to, len);
    return true;
}

/* The fields of a key, in the order in which they are written. */
typedef enum field_kind { ROLE, TIME, U32, TEXT, BOARDS, ALG, PUBLIC, SECRET, HASH } field_kind;
static const struct {
    const char *name;
    field_kind kind;
    bool is_of_tokens; /* only for player-token */
    size_t offset;     /* of a time, number or text */
} fields[] = {
    {"role", ROLE, false, 0},
    {"created", TIME, false, offsetof(rung_key, created_ms)},
    {"alg", ALG, true, 0},
    {"public", PUBLIC, true, 0},
    {"secret", SECRET, true, 0},
    {"issuer", TEXT, true, offsetof(rung_key, issuer)},
    {"audience", TEXT, true, offsetof(rung_key, audience)},
    {"life", U32, true, offsetof(rung_key, life_max_s)},
    {"sha256", HASH, false, 0},
    {"label", TEXT, false, offsetof(rung_key, label)},
    {"boards", BOARDS, false, 0},
    {"rate", U32, false, offsetof(rung_key, rate_per_s)},
    {"expires", TIME, false, offsetof(rung_key, expires_ms)},
    {"revoked", TIME, false, offsetof(rung_key, revoked_ms)},
};
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

static bool read_field(rung_keys *keys, rung_key *key, int field, rung_slice value) {
    uint64_t number;
    char *to = (char *)key + fields[field].offset;
    switch (fields[field].kind) {
    case ROLE:
        return rung_role_parse(value, &key->role);
    case TIME:
        if (!parse_positive(value, INT64_MAX, &number))
            return false;
        *(int64_t *)to = (int64_t)number;
        return true;
    case U32:
        if (!parse_positive(value, UINT32_MAX, &number))
            return false;
        *(uint32_t *)to = (uint32_t)number;
        return true;
    case TEXT:
        *(rung_slice *)to = value;
        return value.len > 0;
    case BOARDS:
        if (key->pattern_count == RUNG_KEY_PATTERNS_MAX)
            return false;
        key->patterns[key->pattern_count++] = value;
        return value.len > 0;
    case ALG:
        key->alg = rung_slice_eq(value, RUNG_SLICE("EdDSA"))     ? RUNG_ALG_EDDSA
                   : rung_slice_eq(value, RUNG_SLICE("HS256"))   ? RUNG_ALG_HS256
                   : rung_slice_eq(value, RUNG_SLICE("session")) ? RUNG_ALG_SESSION
                                                                 : RUNG_ALG_NONE;
        return key->alg != RUNG_ALG_NONE;
    case PUBLIC:
        return key->alg == RUNG_ALG_EDDSA && read_verify(keys, key, value);
    case SECRET:
        return (key->alg == RUNG_ALG_HS256 || key->alg == RUNG_ALG_SESSION) &&
               read_verify(keys, key, value);
    case HASH:
        return parse_hex(value, key->hash, sizeof key->hash);
    }
    return false;
}

static rung_status finish_key(reading *r) {
    if (r->keys->count == 0)
        return RUNG_OK;
    rung_key *key = &r->keys->entries[r->keys->count - 1];
    rung_err why;
    bool is_token = key->role == RUNG_ROLE_PLAYER, has_hash = false, has_token_field = false;
    for (int i = 0; i < FIELD_COUNT; i++) {
        has_hash |= fields[i].kind == HASH && (r->seen & BIT(i));
        has_token_field |= fields[i].is_of_tokens && (r->seen & BIT(i));
    }
    if (!key->role || !key->created_ms || has_hash == is_token || has_token_field != is_token)
        return BAD(r, "%u: the key before it has too few fields, or some of another role", r->line);
    if (check_key(key, &why) < 0)
        return BAD(r, "%u: the key before it: %s", r->line, why.message);
    return RUNG_OK;
}

static rung_status begin_key(reading *r, rung_slice id) {
    rung_status st = finish_key(r);
    if (st < 0)
        return st;
    r->keys->entries[r->keys->count++] = (rung_key){.id = id};
    r->seen = 0;
    return RUNG_OK;
}

static rung_status read_line(reading *r) {
    const char *line_end = memchr(r->at, '\n', (size_t)(r->stop - r->at));
    RUNG_ASSERT(line_end); /* the text before `end` is whole lines */
    rung_slice line = {r->at, (size_t)(line_end - r->at)};
    r->at = line_end + 1;
    r->line++;
    const char *space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
    if (!space)
        return BAD(r, "%u: expected a name and a value", r->line);
    rung_slice name = {line.ptr, (size_t)(space - line.ptr)},
               value = {space + 1, (size_t)(line_end - space - 1)};
    if (rung_slice_eq(name, RUNG_SLICE("key")))
        return begin_key(r, value);
    int field = 0;
    while (field < FIELD_COUNT && !rung_slice_eq(name, rung_slice_str(fields[field].name)))
        field++;
    if (field == FIELD_COUNT || r->keys->count == 0)
        return BAD(r, "%u: expected a field of a key", r->line);
    if (fields[field].kind != BOARDS && (r->seen & BIT(field)))
        return BAD(r, "%u: %s is given twice", r->line, fields[field].name);
    r->seen |= BIT(field);
    if (!read_field(r->keys, &r->keys->entries[r->keys->count - 1], field, value))
        return BAD(r, "%u: the value of %s is not valid", r->line, fields[field].name);
    return RUNG_OK;
}

/* Cut off the last line and compare its checksum with the bytes before it. */
static rung_status check_frame(rung_slice bytes, size_t *body_len_out, rung_err *err) {
    static const char end[] = "end ";
    enum { LAST_LINE = sizeof end - 1 + 8 + 1, FIRST = sizeof FIRST_LINE - 1 };
    uint8_t sum[4];
    if (bytes.len < FIRST + 1 || memcmp(bytes.ptr, FIRST_LINE, FIRST) != 0 ||
        bytes.ptr[FIRST] != '\n') {
        bool is_newer = bytes.len > FIRST && memcmp(bytes.ptr, FIRST_LINE, FIRST - 1) == 0;
        return RUNG_FAIL(err, is_newer ? RUNG_EVERSION : RUNG_ECORRUPT, "line 1: expected \"%s\"%s",
                         FIRST_LINE, is_newer ? ": a newer version wrote this" : "");
    }
    if (bytes.len < FIRST + 1 + LAST_LINE || bytes.ptr[bytes.len - 1] != '\n')
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "the last line is not whole: the file has been cut short");
    size_t body = bytes.len - LAST_LINE;
    if (bytes.ptr[body - 1] != '\n' || memcmp(bytes.ptr + body, end, sizeof end - 1) != 0 ||
        !parse_hex(rung_slice_of(bytes.ptr + body + sizeof end - 1, 8), sum, sizeof sum))
        return RUNG_FAIL(
            err, RUNG_ECORRUPT,
            "the last line is not \"end\" and a checksum: the file has been cut short");
    uint32_t crc = rung_crc32c(0, bytes.ptr, body);
    if (crc != ((uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 | (uint32_t)sum[2] << 8 | sum[3]))
        return RUNG_FAIL(err, RUNG_ECORRUPT,
                         "the checksum does not match (the file is not to be edited by hand)");
    *body_len_out = body;
    return RUNG_OK;
}

static size_t count_keys(const char *bytes, size_t len) {
    size_t count = 0;
    for (const char *at = bytes, *stop = bytes + len; at < stop; at++) {
        count += (size_t)(stop - at) >= 4 && memcmp(at, "key ", 4) == 0;
        at = memchr(at, '\n', (size_t)(stop - at));
        if (!at)
            break;
    }
    return count;
}

static rung_status create_block(const rung_alloc *alloc, rung_slice bytes, size_t count,
                                rung_keys **keys_out, rung_err *err) {
    size_t entries_size = count * sizeof(rung_key), order_size = count * sizeof(uint32_t);
    size_t size = sizeof(rung_keys) + entries_size + order_size + bytes.len * 2;
    rung_keys *keys = rung_alloc_zeroed(alloc, size);
    if (!keys)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for %zu keys", count);
    keys->alloc = alloc;
    keys->size = size;
    keys->entries = (rung_key *)(keys + 1);
    keys->order = (uint32_t *)(keys->entries + count);
    keys->bytes = (char *)(keys->order + count);
    keys->len = bytes.len;
    keys->decoded = (uint8_t *)keys->bytes + bytes.len;
    if (bytes.len)
        memcpy(keys->bytes, bytes.ptr, bytes.len);
    keys->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (!keys->sha256) {
        rung_keys_destroy(keys);
        return RUNG_FAIL(err, RUNG_ENOMEM, "OpenSSL gives no SHA-256");
    }
    *keys_out = keys;
    return RUNG_OK;
}

/* The index in `order` of the first id not before `id`. Always takes the same number of steps: a known id is found no
 * faster than an unknown one. */
static uint32_t lower_bound(const rung_keys *keys, uint32_t count, rung_slice id) {
    uint32_t from = 0;
    while (count > 0) {
        uint32_t half = count / 2;
        bool is_right = rung_slice_cmp(keys->entries[keys->order[from + half]].id, id) < 0;
        from += is_right ? half + 1 : 0;
        count = is_right ? count - half - 1 : half;
    }
    return from;
}

static rung_status sort_ids(rung_keys *keys, rung_err *err) {
    for (uint32_t i = 0; i < keys->count; i++) {
        rung_slice id = keys->entries[i].id;
        uint32_t at = lower_bound(keys, i, id);
        if (at < i && rung_slice_eq(keys->entries[keys->order[at]].id, id))
            return RUNG_FAIL(err, RUNG_ECORRUPT, "the key %.*s is given twice", (int)id.len,
                             id.ptr);
        memmove(keys->order + at + 1, keys->order + at, (i - at) * sizeof keys->order[0]);
        keys->order[at] = i;
    }
    return RUNG_OK;
}

static rung_status read_body(rung_keys *keys, size_t body_len, rung_err *err) {
    reading r = {.keys = keys,
                 .at = keys->bytes + sizeof FIRST_LINE,
                 .stop = keys->bytes + body_len,
                 .line = 1,
                 .err = err};
    rung_status st = RUNG_OK;
    while (st == RUNG_OK && r.at < r.stop)
        st = read_line(&r);
    r.line++;
    return st < 0 ? st : finish_key(&r);
}

rung_status rung_keys_create(const rung_alloc *alloc, rung_slice bytes, rung_keys **keys_out,
                             rung_err *err) {
    size_t body_len = 0;
    rung_keys *keys = NULL;
    if (bytes.len > RUNG_KEYS_BYTES_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "more than %zu bytes of keys", RUNG_KEYS_BYTES_MAX);
    rung_status st = bytes.len ? check_frame(bytes, &body_len, err) : RUNG_OK;
    if (st < 0)
        return st;
    size_t count = bytes.len ? count_keys(bytes.ptr, body_len) : 0;
    if (count > RUNG_KEYS_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "more than %d keys", RUNG_KEYS_MAX);
    st = create_block(alloc, bytes, count, &keys, err);
    if (st < 0)
        return st;
    if (bytes.len) {
        st = read_body(keys, body_len, err);
        if (st >= 0)
            st = sort_ids(keys, err);
    }
    if (st < 0) {
        rung_keys_destroy(keys);
        return st;
    }
    *keys_out = keys;
    return RUNG_OK;
}

void rung_keys_destroy(rung_keys *keys) {
    if (!keys)
        return;
    const rung_alloc *alloc = keys->alloc;
    size_t size = keys->size;
    EVP_MD_free(keys->sha256);
    OPENSSL_cleanse(keys, size);
    rung_alloc_free(alloc, keys, size);
}

/* ---- writing ---- */

typedef struct writing {
    char *bytes;
    size_t len, room;
} writing;

static void put(writing *w, rung_slice text) {
    RUNG_ASSERT(text.len <= w->room - w->len);
    if (text.len)
        memcpy(w->bytes + w->len, text.ptr, text.len);
    w->len += text.len;
}

static void put_field(writing *w, const char *name, rung_slice value) {
    put(w, rung_slice_str(name));
    put(w, RUNG_SLICE(" "));
    put(w, value);
    put(w, RUNG_SLICE("\n"));
}

static void put_number(writing *w, const char *name, uint64_t number) {
    char digits[20];
    if (number)
        put_field(w, name, rung_slice_of(digits, rung_digits_format(number, digits)));
}

static void put_hex(writing *w, const char *name, const uint8_t *bytes, size_t size) {
    static const char hex[] = "0123456789abcdef";
    char text[64];
    RUNG_ASSERT(size * 2 <= sizeof text);
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = hex[bytes[i] >> 4];
        text[2 * i + 1] = hex[bytes[i] & 15];
    }
    put_field(w, name, rung_slice_of(text, size * 2));
}

static void put_verify(writing *w, const char *name, const rung_key *key) {
    char text[RUNG_BASE64URL_TEXT_SIZE(RUNG_KEY_SECRET_MAX)];
    put_field(w, name, rung_slice_of(text, rung_base64url_encode(key->verify, text)));
    OPENSSL_cleanse(text, sizeof text);
}

/* Nothing if the key does not have it. */
static void put_value(writing *w, int field, const rung_key *key) {
    const char *name = fields[field].name, *at = (const char *)key + fields[field].offset;
    bool is_token = key->role == RUNG_ROLE_PLAYER;
    if (fields[field].is_of_tokens && !is_token)
        return;
    switch (fields[field].kind) {
    case ROLE:
        put_field(w, name, rung_slice_str(rung_role_name(key->role)));
        break;
    case TIME:
        put_number(w, name, (uint64_t) * (const int64_t *)at);
        break;
    case U32:
        put_number(w, name, *(const uint32_t *)at);
        break;
    case TEXT:
        if (((const rung_slice *)at)->len)
            put_field(w, name, *(const rung_slice *)at);
        break;
    case BOARDS:
        for (uint32_t i = 0; i < key->pattern_count; i++)
            put_field(w, name, key->patterns[i]);
        break;
    case ALG:
        put_field(w, name, rung_slice_str(rung_alg_name(key->alg)));
        break;
    case PUBLIC:
    case SECRET:
        if ((key->alg == RUNG_ALG_EDDSA) == (fields[field].kind == PUBLIC))
            put_verify(w, name, key);
        break;
    case HASH:
        if (!is_token)
            put_hex(w, name, key->hash, sizeof key->hash);
        break;
    }
}

static void put_key(writing *w, const rung_key *key) {
    size_t before = w->len;
    put_field(w, "key", key->id);
    for (int i = 0; i < FIELD_COUNT; i++)
        put_value(w, i, key);
    RUNG_ASSERT(w->len - before <= KEY_BYTES_MAX);
}

static void put_end(writing *w) {
    uint32_t crc = rung_crc32c(0, w->bytes, w->len);
    uint8_t sum[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
                      (uint8_t)crc};
    put_hex(w, "end", sum, sizeof sum);
}

/* The table with `key` replacing the entry at `index`, or appended if that is the count. */
static rung_status create_with(const rung_keys *keys, uint32_t index, const rung_key *key,
                               rung_keys **keys_out, rung_err *err) {
    size_t room = keys->len + KEY_BYTES_MAX + 64;
    writing w = {rung_alloc_get(keys->alloc, room), 0, room};
    if (!w.bytes)
        return RUNG_FAIL(err, RUNG_ENOMEM, "no memory for %zu bytes of keys", room);
    put(&w, RUNG_SLICE(FIRST_LINE "\n"));
    for (uint32_t i = 0; i < keys->count; i++)
        put_key(&w, i == index ? key : &keys->entries[i]);
    if (index == keys->count)
        put_key(&w, key);
    put_end(&w);
    rung_status st = rung_keys_create(keys->alloc, rung_slice_of(w.bytes, w.len), keys_out, err);
    OPENSSL_cleanse(w.bytes, room);
    rung_alloc_free(keys->alloc, w.bytes, room);
    return st;
}

rung_status rung_keys_add(const rung_keys *keys, const rung_key *key, rung_keys **keys_out,
                          rung_err *err) {
    rung_status st = check_key(key, err);
    if (st < 0)
        return st;
    if (rung_keys_find(keys, key->id))
        return RUNG_FAIL_FIELD(err, RUNG_EEXIST, "id", "there is a key %.*s already",
                               (int)key->id.len, key->id.ptr);
    if (keys->count == RUNG_KEYS_MAX)
        return RUNG_FAIL(err, RUNG_ELIMIT, "there are %d keys, as many as there can be",
                         RUNG_KEYS_MAX);
    return create_with(keys, keys->count, key, keys_out, err);
}

rung_status rung_keys_revoke(const rung_keys *keys, rung_slice id, int64_t now_ms,
                             rung_keys **keys_out, rung_err *err) {
    const rung_key *key = rung_keys_find(keys, id);
    if (!key)
        return RUNG_FAIL_FIELD(err, RUNG_EABSENT, "id", "there is no key %.*s",
                               id.len < 100 ? (int)id.len : 100, id.ptr);
    if (key->revoked_ms)
        return RUNG_UNCHANGED;
    rung_key revoked = *key;
    revoked.revoked_ms = now_ms > 0 ? now_ms : 1;
    return create_with(keys, (uint32_t)(key - keys->entries), &revoked, keys_out, err);
}

/* ---- asking ---- */

size_t rung_keys_count(const rung_keys *keys) {
    return keys->count;
}

const rung_key *rung_keys_at(const rung_keys *keys, size_t index) {
    RUNG_ASSERT(index < keys->count);
    return &keys->entries[index];
}

const rung_key *rung_keys_find(const rung_keys *keys, rung_slice id) {
    uint32_t at = lower_bound(keys, keys->count, id);
    if (at == keys->count || !rung_slice_eq(keys->entries[keys->order[at]].id, id))
        return NULL;
    return &keys->entries[keys->order[at]];
}

rung_slice rung_keys_bytes(const rung_keys *keys) {
    return rung_slice_of(keys->bytes, keys->len);
}

/* ---- secrets ---- */

/* Five bits per character: without i, l, o and u, an id can be read aloud and contains no words. */
static void write_id(const uint8_t chance[8], char out[RUNG_KEY_ID_SIZE]) {
    static const char letters[32] = "0123456789abcdefghjkmnpqrstvwxyz";
    uint64_t bits;
    memcpy(&bits, chance, sizeof bits);
    for (int i = 0; i < RUNG_KEY_ID_SIZE; i++, bits >>= 5)
        out[i] = letters[bits & 31];
}

static rung_status hash_text(const EVP_MD *sha256, rung_slice text, uint8_t hash_out[32]) {
    return EVP_Digest(text.ptr, text.len, hash_out, NULL, sha256, NULL) == 1 ? RUNG_OK
                                                                             : RUNG_ENOMEM;
}

rung_status rung_key_mint(rung_key *key, const uint8_t chance[RUNG_KEY_CHANCE_SIZE],
                          char text_out[RUNG_KEY_TEXT_MAX], rung_err *err) {
    if (key->role <= RUNG_ROLE_PLAYER || key->role > RUNG_ROLE_ADMIN)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "role", "expected read, server or admin");
    writing w = {text_out, 0, RUNG_KEY_TEXT_MAX - 1};
    char id[RUNG_KEY_ID_SIZE], secret[SECRET_CHARS];
    write_id(chance, id);
    rung_base64url_encode(rung_slice_of(chance + 8, SECRET_BYTES), secret);
    put(&w, RUNG_SLICE("rung_"));
    put(&w, rung_slice_str(rung_role_name(key->role)));
    put(&w, RUNG_SLICE("_"));
    put(&w, rung_slice_of(id, sizeof id));
    put(&w, RUNG_SLICE("_"));
    put(&w, rung_slice_of(secret, sizeof secret));
    OPENSSL_cleanse(secret, sizeof secret);
    text_out[w.len] = '\0';
    if (hash_text(EVP_sha256(), rung_slice_of(text_out, w.len), key->hash) < 0)
        return RUNG_FAIL(err, RUNG_ENOMEM, "OpenSSL gives no SHA-256");
    key->id =
        rung_slice_of(text_out + w.len - SECRET_CHARS - 1 - RUNG_KEY_ID_SIZE, RUNG_KEY_ID_SIZE);
    return RUNG_OK;
}

/* The id in the text of a key; empty if the text is malformed, which is no secret. */
static rung_slice id_in(rung_slice text) {
    enum { TAIL = 1 + RUNG_KEY_ID_SIZE + 1 + SECRET_CHARS };
    if (text.len < 5 + 4 + TAIL || text.len >= RUNG_KEY_TEXT_MAX ||
        memcmp(text.ptr, "rung_", 5) != 0)
        return (rung_slice){"", 0};
    const char *tail = text.ptr + text.len - TAIL;
    if (tail[0] != '_' || tail[1 + RUNG_KEY_ID_SIZE] != '_')
        return (rung_slice){"", 0};
    return rung_slice_of(tail + 1, RUNG_KEY_ID_SIZE);
}

const rung_key *rung_keys_verify(const rung_keys *keys, rung_slice presented) {
    /* Its hash is all zeros: compared like any other, and equal to none. */
    static const rung_key nobody;
    uint8_t hash[32];
    rung_slice id = id_in(presented);
    if (id.len == 0 || hash_text(keys->sha256, presented, hash) < 0)
        return NULL;
    const rung_key *found = rung_keys_find(keys, id);
    const rung_key *key = found ? found : &nobody;
    bool is_equal = CRYPTO_memcmp(hash, key->hash, sizeof hash) == 0;
    return is_equal && found && found->role > RUNG_ROLE_PLAYER ? found : NULL;
}
