/* SPDX-License-Identifier: Apache-2.0 */
/* rung keys create, list, revoke: the file of keys. A server that runs on it sees every change within half a second. */
#include "app/config.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "guard/base64url.h"
#include "guard/keys_file.h"
#include "model/civil.h"

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

typedef unsigned long long ull;

/* ---- which file ---- */

typedef struct where_args {
    const char *config, *data, *keys;
} where_args;

#define WHERE_OPTIONS                                                                              \
    RUNG_OPTION_TEXT(where_args, data, "--data", "DIR",                                            \
                     "the data folder of the server (or RUNG_DATA)"),                              \
        RUNG_OPTION_TEXT(where_args, keys, "--keys", "FILE",                                       \
                         "the file of keys, if it is not keys in there (or RUNG_KEYS)"),           \
        RUNG_OPTION_TEXT(where_args, config, "--config", "FILE",                                   \
                         "the configuration that says where (or RUNG_CONFIG)")

/* The path of the file, as `rung serve` would find it. With `is_new` the data folder is made. */
static rung_status find_file(const where_args *where, bool is_new, char path[PATH_MAX],
                             rung_err *err) {
    rung_setting_flags flags = {.config = where->config};
    rung_settings settings;
    flags.flags[RUNG_SETTING_data] = where->data;
    flags.flags[RUNG_SETTING_keys] = where->keys;
    rung_status st = rung_settings_load_flags(&settings, &flags, err);
    if (st == RUNG_OK && !settings.keys && !settings.data)
        st = RUNG_FAIL(err, RUNG_EINVAL, "whose keys? --data DIR or --keys FILE says it");
    if (st == RUNG_OK && !settings.keys && is_new && mkdir(settings.data, 0700) != 0 &&
        errno != EEXIST)
        st = RUNG_FAIL_OS(err, RUNG_EIO, errno, "%.120s: cannot make the folder: %s", settings.data,
                          strerror(errno));
    struct stat about;
    if (st == RUNG_OK && !settings.keys && stat(settings.data, &about) != 0)
        st = RUNG_FAIL_OS(err, RUNG_EABSENT, errno, "%.120s: cannot look into the folder: %s",
                          settings.data, strerror(errno));
    if (st == RUNG_OK) {
        int len = settings.keys ? snprintf(path, PATH_MAX, "%s", settings.keys)
                                : snprintf(path, PATH_MAX, "%s/keys", settings.data);
        if (len < 0 || len >= PATH_MAX)
            st = RUNG_FAIL(err, RUNG_EINVAL, "the path of the file is too long");
    }
    rung_settings_deinit(&settings);
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
    RUNG_OPTION_TEXT(create_args, label, "--label", "TEXT", "what it is for"),
    RUNG_OPTION_TEXT(create_args, expires_in, "--expires-in", "TIME",
                     "90d, 12h, 30m: it ends by itself"),
    RUNG_OPTION_TEXT(create_args, output, "--output", "FILE",
                     "write the key to a new file that only you may read, instead of printing it"),
    RUNG_OPTION_NUMBER(create_args, rate, "--rate", "N",
                       "requests per second, in place of the server's rates.key"),
    RUNG_OPTION_TEXT(create_args, alg, "--alg", "ALG", "player-token: EdDSA or HS256"),
    RUNG_OPTION_TEXT(create_args, public_file, "--public", "FILE",
                     "EdDSA: the issuer's Ed25519 public key, PEM"),
    RUNG_OPTION_TEXT(create_args, secret_file, "--secret", "FILE",
                     "HS256: the shared secret, 32 to 128 bytes; without it one is made"),
    RUNG_OPTION_TEXT(create_args, id, "--id", "KID",
                     "player-token: the tokens' kid; without it one is made"),
    RUNG_OPTION_TEXT(create_args, issuer, "--issuer", "TEXT",
                     "player-token: the iss that tokens must have"),
    RUNG_OPTION_TEXT(create_args, audience, "--audience", "TEXT",
                     "player-token: the aud that tokens must have"),
    RUNG_OPTION_NUMBER(create_args, life_s, "--life", "SECONDS",
                       "player-token: the longest life of a token (default a day)"),
    WHERE_OPTIONS,
    RUNG_OPTION_FLAG(create_args, json, "--json", "as one JSON object"),
};

/* A key in the making, with the memory its texts are in. */
typedef struct making {
    rung_key key;
    char text[RUNG_KEY_TEXT_MAX]; /* what is shown once; empty: nothing */
    char id[RUNG_KEY_ID_SIZE];
    uint8_t verify[RUNG_KEY_SECRET_MAX + 1];
} making;

/* "90d" in milliseconds. */
static bool parse_time(const char *text, int64_t *ms_out) {
    static const struct {
        char unit;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    char digits[16];
    size_t len = strlen(text);
    uint64_t number;
    if (len < 2 || len > sizeof digits)
        return false;
    memcpy(digits, text, len - 1);
    digits[len - 1] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (text[len - 1] == units[i].unit)
            return rung_number_parse(digits, &number) && number > 0 && number < 1000000000 &&
                   !__builtin_mul_overflow((int64_t)number, units[i].ms, ms_out);
    return false;
}

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

/* The bytes of a small file; one more than fits is refused. */
static rung_status read_small(const char *path, uint8_t *buffer, size_t size, size_t *len_out,
                              rung_err *err) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "%.120s: cannot open it: %s", path,
                            strerror(errno));
    *len_out = fread(buffer, 1, size, f);
    bool is_whole = !ferror(f) && *len_out < size;
    fclose(f);
    return is_whole
               ? RUNG_OK
               : RUNG_FAIL(err, RUNG_EINVAL, "%.120s: not a small file that can be read", path);
}

static rung_status read_public(const char *path, making *m, rung_err *err) {
    size_t size = 32;
    FILE *f = fopen(path, "rb");
    if (!f)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "%.120s: cannot open it: %s", path,
                            strerror(errno));
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
    size_t len = 0;
    rung_status st = read_small(path, m->verify, sizeof m->verify, &len, err);
    if (st == RUNG_OK && len && m->verify[len - 1] == '\n')
        len--;
    m->key.verify = rung_slice_of(m->verify, len);
    return st;
}

/* The secret is the text itself, so that nobody has to wonder whether to decode it. */
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
    if (!is_eddsa && !(args->alg && strcmp(args->alg, "HS256") == 0))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--alg", "expected EdDSA or HS256");
    if (is_eddsa ? !args->public_file || args->secret_file : !!args->public_file)
        return RUNG_FAIL(err, RUNG_EINVAL,
                         "EdDSA takes --public FILE, HS256 takes --secret FILE or makes a secret");
    if (args->life_s > UINT32_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--life", "expected fewer seconds");
    rung_status st = rung_key_mint(&minted, chance, text, err); /* for its id alone */
    if (st < 0)
        return st;
    memcpy(m->id, minted.id.ptr, sizeof m->id);
    OPENSSL_cleanse(text, sizeof text);
    m->key.id = args->id ? rung_slice_str(args->id) : rung_slice_of(m->id, sizeof m->id);
    m->key.alg = is_eddsa ? RUNG_ALG_EDDSA : RUNG_ALG_HS256;
    m->key.issuer = rung_slice_str(args->issuer ? args->issuer : "");
    m->key.audience = rung_slice_str(args->audience ? args->audience : "");
    m->key.life_max_s = (uint32_t)args->life_s;
    if (is_eddsa)
        return read_public(args->public_file, m, err);
    if (args->secret_file)
        return read_secret(args->secret_file, m, err);
    make_secret(chance + 8, m);
    return RUNG_OK;
}

static rung_status make_key(const create_args *args, making *m, rung_err *err) {
    uint8_t chance[RUNG_KEY_CHANCE_SIZE];
    int64_t life_ms = 0;
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
    if (args->expires_in && !parse_time(args->expires_in, &life_ms))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--expires-in",
                               "expected a time such as 90d, 12h or 30m");
    if (args->rate > UINT32_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--rate", "expected a smaller number");
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "the system has no randomness to give");
    key->label = rung_slice_str(args->label ? args->label : "");
    key->rate_per_s = (uint32_t)args->rate;
    key->created_ms = now_ms();
    key->expires_ms = life_ms ? key->created_ms + life_ms : 0;
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

/* The output comes first: a key that nobody could read must not get into the file of keys. */
static rung_status keep_key(const create_args *args, making *m, const char *path, rung_err *err) {
    rung_status st = args->output ? write_output(args->output, m->text, err) : RUNG_OK;
    if (st < 0)
        return st;
    st = rung_keys_file_change(NULL, rung_alloc_heap(), path, add_key, m, err);
    if (st < 0 && args->output)
        unlink(args->output);
    return st;
}

static void print_written(const making *m, const char *path, const create_args *args) {
    if (args->json) {
        fputs("{\"id\":", stdout);
        rung_print_json(stdout, m->key.id);
        printf(",\"role\":\"%s\",\"output\":", rung_role_name(m->key.role));
        rung_print_json(stdout, rung_slice_str(args->output));
        puts("}");
        return;
    }
    fprintf(stderr, "%s %.*s, in %s. The %s is in %s, and nowhere else: keep it.\n",
            m->key.role == RUNG_ROLE_PLAYER ? "Tokens with the kid" : "The key", (int)m->key.id.len,
            m->key.id.ptr, path, m->key.role == RUNG_ROLE_PLAYER ? "secret" : "key", args->output);
}

static void print_created(const making *m, const char *path, bool json) {
    const rung_key *key = &m->key;
    if (json) {
        fputs("{\"id\":", stdout);
        rung_print_json(stdout, key->id);
        printf(",\"role\":\"%s\"", rung_role_name(key->role));
        if (m->text[0])
            printf(",\"%s\":\"%s\"", key->role == RUNG_ROLE_PLAYER ? "secret" : "key", m->text);
        puts("}");
        return;
    }
    if (m->text[0])
        puts(m->text);
    else
        printf("%.*s\n", (int)key->id.len, key->id.ptr);
    fflush(stdout); /* so that the two come in order where they go to one place */
    fprintf(stderr, "%s %.*s, in %s.%s\n",
            key->role == RUNG_ROLE_PLAYER ? "Tokens with the kid" : "The key", (int)key->id.len,
            key->id.ptr, path, m->text[0] ? " It is shown this once: keep it." : "");
}

static int run_create(const rung_command *self, int argc, char **argv) {
    create_args args = {0};
    making m = {0};
    char path[PATH_MAX];
    rung_err err = {0};
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    rung_status st = make_key(&args, &m, &err);
    if (st == RUNG_OK && args.output && !m.text[0])
        st = RUNG_FAIL_FIELD(&err, RUNG_EINVAL, "--output",
                             "this key is yours already, nothing is made");
    bool is_misused = st == RUNG_EINVAL;
    if (st == RUNG_OK)
        st = find_file(&args.where, true, path, &err);
    if (st == RUNG_OK)
        st = keep_key(&args, &m, path, &err);
    if (st == RUNG_OK && args.output)
        print_written(&m, path, &args);
    else if (st == RUNG_OK)
        print_created(&m, path, args.json);
    OPENSSL_cleanse(&m, sizeof m);
    if (st == RUNG_OK)
        return RUNG_EXIT_OK;
    rung_command_fail(self, &err);
    return is_misused ? RUNG_EXIT_USAGE : RUNG_EXIT_PROBLEM;
}

const rung_command rung_command_keys_create = {
    .group = RUNG_GROUP_SERVER,
    .name = "keys create",
    .summary = "make a key, shown once and kept as a hash",
    .details =
        "Roles: read asks, server also submits scores and keeps players, admin also defines "
        "boards,\n"
        "bans and erases. A key with --boards may touch those boards only; patterns are separated "
        "by\n"
        "commas (a comma in a name is written ?). The key is the only line on standard output, or "
        "goes\n"
        "to a file of its own, which is never overwritten and which only its owner may read:\n"
        "\n"
        "  rung keys create --data /var/lib/rung --role server --boards 'race-*' --output "
        "server.key\n"
        "  curl -H \"Authorization: Bearer $(cat server.key)\" ...\n"
        "\n"
        "As soon as there is a key, requests without one are refused, also by a server that runs.\n"
        "\n"
        "A key of the role player-token verifies tokens (JWT) that your login service signs for\n"
        "players; a game client then reads its own player's places, as players/me, and nothing "
        "else:\n"
        "\n"
        "  rung keys create --data /var/lib/rung --role player-token --alg EdDSA --public "
        "login.pem \\\n"
        "      --id login-1 --audience rung\n",
    RUNG_OPTIONS(create_options),
    .run = run_create,
};

/* ---- list ---- */

typedef struct list_args {
    where_args where;
    bool json;
} list_args;

static const rung_option list_options[] = {
    WHERE_OPTIONS,
    RUNG_OPTION_FLAG(list_args, json, "--json", "as one JSON object"),
};

static const char *time_text(int64_t ms, char out[48]) {
    int64_t days = rung_floor_div(ms, 86400000), seconds = (ms - days * 86400000) / 1000;
    rung_civil c = rung_civil_from_days(days);
    snprintf(out, 48, "%04lld-%02d-%02dT%02d:%02d:%02dZ", (long long)c.year % 10000, c.month, c.day,
             (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
    return out;
}

static const char *state_of(const rung_key *key, int64_t now) {
    return rung_key_is_live(key, now) ? "live" : key->revoked_ms ? "revoked" : "expired";
}

static void print_list_json(const rung_keys *keys, int64_t now) {
    char text[48];
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
            printf(",\"alg\":\"%s\"", key->alg == RUNG_ALG_EDDSA ? "EdDSA" : "HS256");
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
    char text[48];
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

static int run_list(const rung_command *self, int argc, char **argv) {
    list_args args = {0};
    char path[PATH_MAX];
    rung_keys *keys = NULL;
    rung_err err = {0};
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    rung_status st = find_file(&args.where, false, path, &err);
    if (st == RUNG_OK)
        st = rung_keys_file_read(NULL, rung_alloc_heap(), path, &keys, NULL, &err);
    if (st == RUNG_NOT_FOUND)
        st = rung_keys_create(rung_alloc_heap(), (rung_slice){NULL, 0}, &keys, &err);
    if (st < 0)
        return rung_command_fail(self, &err);
    if (args.json)
        print_list_json(keys, now_ms());
    else if (rung_keys_count(keys))
        print_list(keys, now_ms());
    else
        puts("there are no keys: a server listens on loopback only, and asks nobody for one");
    rung_keys_destroy(keys);
    return RUNG_EXIT_OK;
}

const rung_command rung_command_keys_list = {
    .group = RUNG_GROUP_SERVER,
    .name = "keys list",
    .summary = "the keys there are, without their secrets",
    .details =
        "Revoked and expired keys stay in the list, so that an id in a log can be looked up.\n",
    RUNG_OPTIONS(list_options),
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

static int run_revoke(const rung_command *self, int argc, char **argv) {
    revoke_args args = {0};
    char path[PATH_MAX];
    rung_err err = {0};
    if (!rung_command_read(self, argc, argv, &args))
        return RUNG_EXIT_USAGE;
    rung_slice id = rung_slice_str(args.id);
    rung_status st = find_file(&args.where, false, path, &err);
    if (st == RUNG_OK)
        st = rung_keys_file_change(NULL, rung_alloc_heap(), path, revoke_key, &id, &err);
    if (st < 0)
        return rung_command_fail(self, &err);
    printf("%s %s\n", args.id, st == RUNG_UNCHANGED ? "was revoked before" : "is revoked");
    return RUNG_EXIT_OK;
}

const rung_command rung_command_keys_revoke = {
    .group = RUNG_GROUP_SERVER,
    .name = "keys revoke",
    .summary = "end a key at once",
    .details = "A running server refuses it within half a second, also on connections that are "
               "open. It cannot be\n"
               "taken back: make a new key.\n",
    RUNG_OPTIONS(revoke_options),
    .run = run_revoke,
};
