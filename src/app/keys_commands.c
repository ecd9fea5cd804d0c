/* SPDX-License-Identifier: Apache-2.0 */
/* rung keys create, list, revoke: change the file of keys. A running server notices within half a second. */
#include "app/config.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "guard/base64url.h"
#include "guard/keys_file.h"
#include "model/calendar.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- which file ---- */

typedef struct where_args {
    const char *config, *data, *keys;
} where_args;

#define WHERE_OPTIONS                                                                              \
    RUNG_OPTION_TEXT(where_args, data, "--data", "DIR",                                            \
                     "the server's data folder (or RUNG_DATA)"),                                   \
        RUNG_OPTION_TEXT(where_args, keys, "--keys", "FILE",                                       \
                         "the file of keys, if not DIR/keys (or RUNG_KEYS)"),                      \
        RUNG_OPTION_TEXT(where_args, config, "--config", "FILE",                                   \
                         "the configuration that names them (or RUNG_CONFIG)")

/* The path of the file, as `rung serve` finds it. With `is_new` the data folder is created. */
static rung_status find_file(const where_args *where, bool is_new, char path[PATH_MAX],
                             rung_err *err) {
    rung_setting_flags flags = {.config = where->config};
    rung_settings set;
    struct stat about;
    flags.flags[RUNG_SETTING_data] = where->data;
    flags.flags[RUNG_SETTING_keys] = where->keys;
    rung_status st = rung_settings_load_flags(&set, &flags, err);
    if (st == RUNG_OK && !set.keys && !set.data)
        st = RUNG_FAIL(err, RUNG_EINVAL, "which keys? Use --data DIR or --keys FILE");
    if (st == RUNG_OK && !set.keys && is_new && mkdir(set.data, 0700) != 0 && errno != EEXIST)
        st = RUNG_FAIL_OS(err, RUNG_EIO, errno, "%.120s: cannot create the folder: %s", set.data,
                          strerror(errno));
    if (st == RUNG_OK && !set.keys && stat(set.data, &about) != 0)
        st = RUNG_FAIL_OS(err, RUNG_EABSENT, errno, "%.120s: cannot open the folder: %s", set.data,
                          strerror(errno));
    if (st == RUNG_OK && strlen(set.keys ? set.keys : set.data) >= PATH_MAX - 5)
        st = RUNG_FAIL(err, RUNG_EINVAL, "the path of the file is too long");
    if (st == RUNG_OK && rung_settings_keys_path(&set, path, PATH_MAX) != path)
        snprintf(path, PATH_MAX, "%s", set.keys);
    rung_settings_deinit(&set);
    return st;
}

static int64_t now_ms(void) {
    rung_clock clock = rung_clock_real();
    return rung_clock_now(&clock);
}

/* ---- create ---- */

typedef struct create_args {
    where_args where;
    const char *role, *boards, *label, *expires_in, *output;
    const char *id, *alg, *public_file, *secret_file, *issuer, *audience;
    uint64_t rate, life_s;
    bool json;
} create_args;

static const rung_option create_options[] = {
    RUNG_OPTION_TEXT(create_args, role, "--role", "ROLE", "read, server, admin or player-token"),
    RUNG_OPTION_TEXT(create_args, boards, "--boards", "PATTERNS",
                     "only these boards: race-*,weekly (* any, ? one character)"),
    RUNG_OPTION_TEXT(create_args, label, "--label", "TEXT", "a note for yourself"),
    RUNG_OPTION_TEXT(create_args, expires_in, "--expires-in", "TIME",
                     "when it expires: 90d, 12h, 30m"),
    RUNG_OPTION_TEXT(create_args, output, "--output", "FILE",
                     "write the key to a new file that only you can read"),
    RUNG_OPTION_NUMBER(create_args, rate, "--rate", "N",
                       "requests per second, instead of the server's rates.key"),
    RUNG_OPTION_TEXT(create_args, alg, "--alg", "ALG",
                     "player-token: EdDSA or HS256; session: the key of players' sessions"),
    RUNG_OPTION_TEXT(create_args, public_file, "--public", "FILE",
                     "EdDSA: the issuer's Ed25519 public key, PEM"),
    RUNG_OPTION_TEXT(create_args, secret_file, "--secret", "FILE",
                     "HS256, session: the secret, 32 to 128 bytes (default: a new one)"),
    RUNG_OPTION_TEXT(create_args, id, "--id", "KID",
                     "player-token: the kid of the tokens (default: a new one)"),
    RUNG_OPTION_TEXT(create_args, issuer, "--issuer", "TEXT", "player-token: the required iss"),
    RUNG_OPTION_TEXT(create_args, audience, "--audience", "TEXT", "player-token: the required aud"),
    RUNG_OPTION_NUMBER(create_args, life_s, "--life", "SECONDS",
                       "player-token: the longest lifetime of a token (default one day)"),
    WHERE_OPTIONS,
    RUNG_OPTION_FLAG(create_args, json, "--json", "print one JSON object"),
};

/* A new key, with the memory of its texts. */
typedef struct making {
    rung_key key;
    char text[RUNG_KEY_TEXT_MAX]; /* shown once; empty: nothing to show */
    char id[RUNG_KEY_ID_SIZE];
    uint8_t verify[RUNG_KEY_SECRET_MAX + 1];
} making;

static rung_status split_patterns(const char *list, rung_key *key, rung_err *err) {
    for (const char *at = list; at; at = *at ? at + 1 : NULL) {
        size_t len = strcspn(at, ",");
        if (key->pattern_count == RUNG_KEY_PATTERNS_MAX)
            return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--boards", "expected at most %d patterns",
                                   RUNG_KEY_PATTERNS_MAX);
        key->patterns[key->pattern_count++] = rung_slice_of(at, len);
        at += len;
    }
    return RUNG_OK;
}

static FILE *open_file(const char *path, rung_err *err) {
    FILE *f = fopen(path, "rbe");
    if (!f)
        rung_ignore(
            RUNG_FAIL_OS(err, RUNG_EIO, errno, "%.120s: cannot open it: %s", path, strerror(errno)),
            "the caller returns it");
    return f;
}

static rung_status read_public(const char *path, making *m, rung_err *err) {
    size_t size = 32;
    FILE *f = open_file(path, err);
    if (!f)
        return RUNG_EIO;
    EVP_PKEY *pkey = PEM_read_PUBKEY(f, NULL, NULL, NULL);
    fclose(f);
    bool is_good = pkey && EVP_PKEY_get_id(pkey) == EVP_PKEY_ED25519 &&
                   EVP_PKEY_get_raw_public_key(pkey, m->verify, &size) == 1;
    EVP_PKEY_free(pkey);
    if (!is_good)
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "%.120s: expected an Ed25519 public key in PEM (openssl pkey -pubout)",
                         path);
    m->key.verify = rung_slice_of(m->verify, size);
    return RUNG_OK;
}

static rung_status read_secret(const char *path, making *m, rung_err *err) {
    FILE *f = open_file(path, err);
    if (!f)
        return RUNG_EIO;
    size_t len = fread(m->verify, 1, sizeof m->verify, f);
    bool is_whole = !ferror(f) && len < sizeof m->verify;
    fclose(f);
    if (!is_whole)
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s: cannot be read, or is too large", path);
    if (len && m->verify[len - 1] == '\n')
        len--;
    m->key.verify = rung_slice_of(m->verify, len);
    return RUNG_OK;
}

/* The secret is the text itself: nobody has to decode it. */
static void make_secret(const uint8_t chance[32], making *m) {
    size_t len = rung_base64url_encode(rung_slice_of(chance, 32), m->text);
    m->text[len] = '\0';
    memcpy(m->verify, m->text, len);
    m->key.verify = rung_slice_of(m->verify, len);
}

static rung_status make_token_key(const create_args *args, const uint8_t *chance, making *m,
                                  rung_err *err) {
    rung_key minted = {.role = RUNG_ROLE_READ};
    char text[RUNG_KEY_TEXT_MAX];
    bool is_eddsa = args->alg && strcmp(args->alg, "EdDSA") == 0;
    bool is_session = args->alg && strcmp(args->alg, "session") == 0;
    if (!is_eddsa && !is_session && !(args->alg && strcmp(args->alg, "HS256") == 0))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--alg", "expected EdDSA, HS256 or session");
    if (is_session && (args->issuer || args->audience || args->life_s || args->boards))
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "--issuer, --audience, --life and --boards are not for --alg session");
    if (is_eddsa ? !args->public_file || args->secret_file : !!args->public_file)
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "EdDSA takes --public FILE, the others --secret FILE, or make a secret");
    if (args->life_s > UINT32_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--life", "expected fewer seconds");
    rung_status st = rung_key_mint(&minted, chance, text, err); /* for its id alone */
    if (st < 0)
        return st;
    memcpy(m->id, minted.id.ptr, sizeof m->id);
    OPENSSL_cleanse(text, sizeof text);
    m->key.id = args->id ? rung_slice_str(args->id) : rung_slice_of(m->id, sizeof m->id);
    m->key.alg = is_eddsa ? RUNG_ALG_EDDSA : is_session ? RUNG_ALG_SESSION : RUNG_ALG_HS256;
    m->key.issuer = rung_slice_str(args->issuer ? args->issuer : "");
    m->key.audience = rung_slice_str(args->audience ? args->audience : "");
    m->key.life_max_s = (uint32_t)args->life_s;
    if (is_eddsa)
        return read_public(args->public_file, m, err);
    if (args->secret_file)
        return read_secret(args->secret_file, m, err);
    make_secret(chance + 8, m);
    if (is_session) /* nobody else needs it */
        OPENSSL_cleanse(m->text, sizeof m->text);
    return RUNG_OK;
}

static rung_status make_key(const create_args *args, making *m, rung_err *err) {
    uint8_t chance[RUNG_KEY_CHANCE_SIZE];
    uint64_t life_ms = 0;
    rung_key *key = &m->key;
    if (!args->role || !rung_role_parse(rung_slice_str(args->role), &key->role))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--role",
                               "expected read, server, admin or player-token");
    if (key->role != RUNG_ROLE_PLAYER &&
        (args->alg || args->public_file || args->secret_file || args->id || args->issuer ||
         args->audience || args->life_s))
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "--alg, --public, --secret, --id, --issuer, --audience and --life are for "
                         "the role player-token");
    if (args->expires_in && (!rung_setting_parse_time(args->expires_in, &life_ms) || !life_ms ||
                             life_ms > INT64_MAX / 2))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--expires-in",
                               "expected a time such as 90d, 12h or 30m");
    if (args->rate > UINT32_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--rate", "expected a smaller number");
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "the system has no randomness");
    key->label = rung_slice_str(args->label ? args->label : "");
    key->rate_per_s = (uint32_t)args->rate;
    key->created_ms = now_ms();
    key->expires_ms = life_ms ? key->created_ms + (int64_t)life_ms : 0;
    rung_status st = args->boards ? split_patterns(args->boards, key, err) : RUNG_OK;
    if (st == RUNG_OK)
        st = key->role == RUNG_ROLE_PLAYER ? make_token_key(args, chance, m, err)
                                           : rung_key_mint(key, chance, m->text, err);
    OPENSSL_cleanse(chance, sizeof chance);
    return st;
}

static rung_status add_key(void *ctx, const rung_keys *keys, rung_keys **keys_out, rung_err *err) {
    return rung_keys_add(keys, &((making *)ctx)->key, keys_out, err);
}

/* Write the key to a file that did not exist before, readable by its owner only. */
static rung_status write_output(const char *path, const char *text, rung_err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return RUNG_FAIL_OS(err, errno == EEXIST ? RUNG_EEXIST : RUNG_EIO, errno,
                            "--output: cannot make %.120s: %s", path, strerror(errno));
    bool is_written = dprintf(fd, "%s\n", text) > 0 && fsync(fd) == 0;
    int why = errno;
    if (close(fd) == 0 && is_written)
        return RUNG_OK;
    unlink(path);
    return RUNG_FAIL_OS(err, RUNG_EIO, why, "--output: cannot write %.120s: %s", path,
                        strerror(why));
}

/* The output comes first: no key that nobody could read gets into the file of keys. */
static rung_status keep_key(const create_args *args, making *m, const char *path, rung_err *err) {
    rung_status st = args->output ? write_output(args->output, m->text, err) : RUNG_OK;
    if (st < 0)
        return st;
    st = rung_keys_file_change(NULL, rung_alloc_heap(), path, add_key, m, err);
    if (st < 0 && args->output)
        unlink(args->output);
    return st;
}

static void print_key_json(const making *m, const char *output) {
    fputs("{\"id\":", stdout);
    rung_print_json(stdout, m->key.id);
    printf(",\"role\":\"%s\"", rung_role_name(m->key.role));
    if (output) {
        fputs(",\"output\":", stdout);
        rung_print_json(stdout, rung_slice_str(output));
    } else if (m->text[0]) {
        printf(",\"%s\":\"%s\"", m->key.role == RUNG_ROLE_PLAYER ? "secret" : "key", m->text);
    }
    puts("}");
}

/* The key goes to standard output, everything else to standard error. */
static void print_key(const making *m, const char *path, const char *output) {
    bool is_player = m->key.role == RUNG_ROLE_PLAYER;
    int id_len = (int)m->key.id.len;
    if (!output && m->text[0])
        puts(m->text);
    else if (!output)
        printf("%.*s\n", id_len, m->key.id.ptr);
    fflush(stdout); /* keeps the order when both streams go to one place */
    fprintf(stderr, "%s %.*s, in %s.",
            m->key.alg == RUNG_ALG_SESSION ? "The key of sessions"
            : is_player                    ? "Tokens with the kid"
                                           : "The key",
            id_len, m->key.id.ptr, path);
    if (output)
        fprintf(stderr, " The %s is only in %s: keep it.\n", is_player ? "secret" : "key", output);
    else
        fprintf(stderr, "%s\n", m->text[0] ? " It is shown only once: keep it." : "");
}

static int run_create(const rung_command *self, void *arguments) {
    const create_args *args = arguments;
    making m = {0};
    char path[PATH_MAX];
    rung_err err = {0};
    rung_status st = make_key(args, &m, &err);
    if (st == RUNG_OK && args->output && !m.text[0])
        st = RUNG_FAIL_FIELD(&err, RUNG_EINVAL, "--output",
                             "you have this key already, nothing is created");
    bool is_misused = st == RUNG_EINVAL;
    if (st == RUNG_OK)
        st = find_file(&args->where, true, path, &err);
    if (st == RUNG_OK)
        st = keep_key(args, &m, path, &err);
    if (st == RUNG_OK && args->json)
        print_key_json(&m, args->output);
    else if (st == RUNG_OK)
        print_key(&m, path, args->output);
    OPENSSL_cleanse(&m, sizeof m);
    if (st == RUNG_OK)
        return RUNG_EXIT_OK;
    rung_command_fail(self, &err);
    return is_misused ? RUNG_EXIT_USAGE : RUNG_EXIT_PROBLEM;
}

const rung_command rung_command_keys_create = {
    .name = "keys create",
    .summary = "create a key; only its hash is stored",
    .details =
        "Roles: read can only read, server also submits scores and changes players, admin also\n"
        "defines boards, bans and erases. --boards limits a key to some boards; separate patterns\n"
        "with commas (for a comma in a name write ?). The key is the only line on standard\n"
        "output, or goes to a new file that only its owner can read:\n"
        "\n"
        "  rung keys create --data /var/lib/rung --role server --boards 'race-*' --output s.key\n"
        "  curl -H \"Authorization: Bearer $(cat s.key)\" ...\n"
        "\n"
        "Once there is a key, requests without one are refused, also by a running server.\n"
        "\n"
        "A player-token key verifies the tokens (JWT) that your login service signs for players.\n"
        "A game client with a token can read its own player's data, as players/me:\n"
        "\n"
        "  rung keys create --data /var/lib/rung --role player-token --alg EdDSA \\\n"
        "      --public login.pem --id login-1 --audience rung\n",
    RUNG_OPTIONS(create_args, create_options),
    .run = run_create,
};

/* ---- list ---- */

typedef struct list_args {
    where_args where;
    bool json;
} list_args;

static const rung_option list_options[] = {
    WHERE_OPTIONS,
    RUNG_OPTION_FLAG(list_args, json, "--json", "print one JSON object"),
};

/* Without milliseconds. */
static const char *time_text(int64_t ms, char out[RUNG_TIME_TEXT_MAX]) {
    size_t len = rung_time_format(ms < RUNG_TIME_MS_END ? ms : RUNG_TIME_MS_END - 1, out);
    snprintf(out + len - 5, 2, "Z");
    return out;
}

static const char *state_of(const rung_key *key, int64_t now) {
    return rung_key_is_live(key, now) ? "live" : key->revoked_ms ? "revoked" : "expired";
}

static void print_list_json(const rung_keys *keys, int64_t now) {
    char text[RUNG_TIME_TEXT_MAX];
    fputs("{\"keys\":[", stdout);
    for (size_t i = 0; i < rung_keys_count(keys); i++) {
        const rung_key *key = rung_keys_at(keys, i);
        printf("%s{\"id\":", i ? "," : "");
        rung_print_json(stdout, key->id);
        printf(",\"role\":\"%s\",\"state\":\"%s\",\"created\":\"%s\"", rung_role_name(key->role),
               state_of(key, now), time_text(key->created_ms, text));
        if (key->expires_ms)
            printf(",\"expires\":\"%s\"", time_text(key->expires_ms, text));
        if (key->revoked_ms)
            printf(",\"revoked\":\"%s\"", time_text(key->revoked_ms, text));
        if (key->rate_per_s)
            printf(",\"rate\":%u", key->rate_per_s);
        if (key->alg)
            printf(",\"alg\":\"%s\"", rung_alg_name(key->alg));
        fputs(",\"label\":", stdout);
        rung_print_json(stdout, key->label);
        fputs(",\"boards\":[", stdout);
        for (uint32_t p = 0; p < key->pattern_count; p++) {
            fputs(p ? "," : "", stdout);
            rung_print_json(stdout, key->patterns[p]);
        }
        fputs("]}", stdout);
    }
    puts("]}");
}

static void add_boards(rung_table *t, const rung_key *key) {
    char text[300];
    size_t len = 0;
    for (uint32_t p = 0; p < key->pattern_count && len < sizeof text - 1; p++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%.*s", p ? "," : "",
                                (int)key->patterns[p].len, key->patterns[p].ptr);
    if (key->pattern_count)
        rung_table_word(t, RUNG_COLOR_PLAIN, rung_slice_str(text));
    else
        rung_table_cell(t, RUNG_COLOR_DIM, "all");
}

static void print_list(const rung_keys *keys, int64_t now) {
    static const rung_table_column columns[] = {
        {"id", false},      {"role", false},  {"state", false}, {"boards", false},
        {"created", false}, {"until", false}, {"label", false}};
    char text[RUNG_TIME_TEXT_MAX];
    rung_table *t = rung_table_begin(sizeof columns / sizeof columns[0], columns);
    for (size_t i = 0; i < rung_keys_count(keys); i++) {
        const rung_key *key = rung_keys_at(keys, i);
        bool is_live = rung_key_is_live(key, now);
        int64_t until = key->revoked_ms ? key->revoked_ms : key->expires_ms;
        rung_table_word(t, RUNG_COLOR_BOLD, key->id);
        rung_table_cell(t, RUNG_COLOR_PLAIN, "%s", rung_role_name(key->role));
        rung_table_cell(t, is_live ? RUNG_COLOR_GOOD : RUNG_COLOR_BAD, "%s", state_of(key, now));
        add_boards(t, key);
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", time_text(key->created_ms, text));
        rung_table_cell(t, RUNG_COLOR_DIM, "%s", until ? time_text(until, text) : "-");
        rung_table_word(t, RUNG_COLOR_PLAIN, key->label.len ? key->label : RUNG_SLICE("-"));
    }
    rung_table_print(t, stdout);
}

static int run_list(const rung_command *self, void *arguments) {
    const list_args *args = arguments;
    char path[PATH_MAX];
    rung_keys *keys = NULL;
    rung_err err = {0};
    rung_status st = find_file(&args->where, false, path, &err);
    if (st == RUNG_OK)
        st = rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err);
    if (st == RUNG_NOT_FOUND)
        st = rung_keys_create(rung_alloc_heap(), (rung_slice){NULL, 0}, &keys, &err);
    if (st < 0)
        return rung_command_fail(self, &err);
    if (args->json)
        print_list_json(keys, now_ms());
    else if (rung_keys_count(keys))
        print_list(keys, now_ms());
    else
        puts("there are no keys: a server listens on loopback only and needs none");
    rung_keys_destroy(keys);
    return RUNG_EXIT_OK;
}

const rung_command rung_command_keys_list = {
    .name = "keys list",
    .summary = "list the keys, without their secrets",
    .details = "Revoked and expired keys stay listed, so that you can look up an id from a log.\n",
    RUNG_OPTIONS(list_args, list_options),
    .run = run_list,
};

/* ---- revoke ---- */

typedef struct revoke_args {
    where_args where;
    const char *id;
} revoke_args;

static const rung_option revoke_options[] = {
    RUNG_OPERAND(revoke_args, id, "ID", "the key's id, as rung keys list shows it"),
    WHERE_OPTIONS,
};

static rung_status revoke_key(void *ctx, const rung_keys *keys, rung_keys **keys_out,
                              rung_err *err) {
    return rung_keys_revoke(keys, *(const rung_slice *)ctx, now_ms(), keys_out, err);
}

static int run_revoke(const rung_command *self, void *arguments) {
    const revoke_args *args = arguments;
    char path[PATH_MAX];
    rung_err err = {0};
    rung_slice id = rung_slice_str(args->id);
    rung_status st = find_file(&args->where, false, path, &err);
    if (st == RUNG_OK)
        st = rung_keys_file_change(NULL, rung_alloc_heap(), path, revoke_key, &id, &err);
    if (st < 0)
        return rung_command_fail(self, &err);
    printf("%s %s\n", args->id, st == RUNG_UNCHANGED ? "was revoked before" : "is revoked");
    return RUNG_EXIT_OK;
}

const rung_command rung_command_keys_revoke = {
    .name = "keys revoke",
    .summary = "revoke a key, for good",
    .details = "A running server refuses it within half a second, also on open connections.\n",
    RUNG_OPTIONS(revoke_args, revoke_options),
    .run = run_revoke,
};
