/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config.h"

#include "archive/postgres/url.h"
#include "base/alloc.h"
#include "base/slice.h"
#include "cli/options.h"
#include "front/http/origin.h"
#include "front/net/address.h"
#include "front/net/proxies.h"
#include "model/utf8.h"
#include "service/past.h"
#include "stream/kafka_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const rung_setting rung_setting_table[RUNG_SETTING_COUNT] = {
#define X(field, kind, name, flag, fallback, word, low, high, help)                                \
    {RUNG_SETTING_IS_##kind,        name, flag, fallback, word, help, low, high,                   \
     offsetof(rung_settings, field)},
    RUNG_SETTINGS(X)
#undef X
};

const char *rung_setting_env(rung_setting_id id, char out[RUNG_SETTING_ENV_MAX]) {
    snprintf(out, RUNG_SETTING_ENV_MAX, "RUNG_%s", rung_setting_table[id].flag + 2);
    for (char *p = out; *p; p++)
        *p = *p == '-' ? '_' : *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
    return out;
}

const char *rung_setting_origin(const rung_settings *s, rung_setting_id id, char *out,
                                size_t size) {
    char env[RUNG_SETTING_ENV_MAX];
    if (s->sources[id] == RUNG_SETTING_FROM_FILE)
        snprintf(out, size, "%.120s:%u", s->file, s->lines[id]);
    else
        snprintf(out, size, "%s",
                 s->sources[id] == RUNG_SETTING_FROM_FLAG          ? rung_setting_table[id].flag
                 : s->sources[id] == RUNG_SETTING_FROM_ENVIRONMENT ? rung_setting_env(id, env)
                                                                   : "default");
    return out;
}

/* `value` is `len` bytes of what was given. */
static rung_status refuse(const rung_settings *s, rung_setting_id id, const char *expected,
                          const char *value, size_t len, rung_err *err) {
    char where[192];
    bool is_file = s->sources[id] == RUNG_SETTING_FROM_FILE;
    rung_setting_origin(s, id, where, sizeof where);
    return RUNG_FAIL_WHY(
        err, RUNG_EINVAL,
        s->sources[id] == RUNG_SETTING_FROM_FLAG ? RUNG_REASON_FLAG : RUNG_REASON_NONE,
        "%s%s%s: expected %s, not \"%.*s\"", where, is_file ? ": " : "",
        is_file ? rung_setting_table[id].name : "", expected, (int)(len < 60 ? len : 60), value);
}

/* ---- values ---- */

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

static bool parse_units(const char *text, const unit *units, uint64_t *number_out) {
    char digits[24];
    size_t len = strspn(text, "0123456789");
    if (len == 0 || len >= sizeof digits)
        return false;
    memcpy(digits, text, len);
    digits[len] = '\0';
    uint64_t n;
    if (!rung_number_parse(digits, &n))
        return false;
    for (; units->name; units++)
        if (strcmp(units->name, text + len) == 0)
            return !__builtin_mul_overflow(n, units->factor, number_out);
    return false;
}

#define KEEP_MS_MAX UINT64_C(3153600000000) /* a hundred years */

static const unit size_units[] = {
    {"", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};
static const unit time_units[] = {{"ms", 1},      {"s", 1000},     {"m", 60000},
                                  {"h", 3600000}, {"d", 86400000}, {NULL, 0}};
static const unit rate_units[] = {{"/s", 1}, {"/m", 1}, {NULL, 0}};

bool rung_setting_parse_time(const char *text, uint64_t *ms_out) {
    return parse_units(text, time_units, ms_out);
}

static bool parse_rate(const char *text, rung_rate_limit *out) {
    uint64_t count;
    if (strcmp(text, "off") == 0) {
        *out = (rung_rate_limit){0};
        return true;
    }
    if (!parse_units(text, rate_units, &count) || count == 0 || count > 1000000000)
        return false;
    *out = (rung_rate_limit){(uint32_t)count, text[strlen(text) - 1] == 's' ? 1000 : 60000};
    return true;
}

/* always, or every=MS. */
static bool parse_sync(const char *text, uint64_t *ms_out) {
    if (strcmp(text, "always") == 0) {
        *ms_out = 0;
        return true;
    }
    return strncmp(text, "every=", 6) == 0 && rung_number_parse(text + 6, ms_out) && *ms_out >= 1 &&
           *ms_out <= 60000;
}

/* One part of 30d,10%. Each kind may occur once. */
static bool parse_keep_part(const char *part, rung_retention *out) {
    static const unit percent_units[] = {{"%", 1}, {NULL, 0}};
    uint64_t n;
    if (parse_units(part, time_units, &n)) {
        bool is_new = out->keep_ms == RUNG_RETENTION_FOREVER;
        out->keep_ms = (int64_t)n;
        return is_new && n >= 60000 && n <= KEEP_MS_MAX;
    }
    if (out->keep_bytes || out->keep_percent)
        return false;
    if (parse_units(part, percent_units, &n)) {
        out->keep_percent = (uint32_t)n;
        return n >= 1 && n <= 100;
    }
    return parse_units(part, size_units, &out->keep_bytes) && out->keep_bytes >= 1 << 20;
}

/* off, forever, or up to two parts: a time, and a size or a share of the disk. */
static bool parse_keep(const char *text, rung_retention *out) {
    *out = (rung_retention){.keep_ms = RUNG_RETENTION_FOREVER};
    if (strcmp(text, "forever") == 0)
        return true;
    if (strcmp(text, "off") == 0) {
        out->keep_ms = 0;
        return true;
    }
    for (;;) {
        char part[32];
        size_t len = strcspn(text, ",");
        if (len >= sizeof part)
            return false;
        memcpy(part, text, len);
        part[len] = '\0';
        if (!parse_keep_part(part, out))
            return false;
        if (text[len] == '\0')
            return true;
        text += len + 1;
        text += strspn(text, " ");
    }
}

/* The index of `text` in "text|json"; false: not there. */
static bool parse_choice(const char *words, const char *text, uint32_t *place_out) {
    size_t len = strlen(text);
    uint32_t at = 0;
    for (const char *word = words;; word += strcspn(word, "|") + 1, at++) {
        size_t word_len = strcspn(word, "|");
        if (word_len == len && memcmp(word, text, len) == 0) {
            *place_out = at;
            return true;
        }
        if (word[word_len] == '\0')
            return false;
    }
}

/* The port is required: a default could surprise. */
static bool is_address(const char *text) {
    uint64_t port;
    rung_address address;
    const char *colon = strrchr(text, ':');
    bool has_port = colon && rung_number_parse(colon + 1, &port);
    return (has_port || strncmp(text, "unix:", 5) == 0) &&
           rung_address_parse(rung_slice_str(text), 0, &address, NULL) == RUNG_OK;
}

/* 1048576 as "1MiB". */
static const char *size_text(uint64_t n, char out[32]) {
    const unit *u = size_units;
    while (u[1].name && n % u[1].factor == 0 && n >= u[1].factor)
        u++;
    snprintf(out, 32, "%llu%s", (unsigned long long)(n / u->factor), u->name);
    return out;
}

static bool is_auto(const rung_setting *row) {
    return strcmp(row->fallback, "auto") == 0;
}

const char *rung_setting_expectation(const rung_setting *row, char out[RUNG_SETTING_EXPECTED_MAX]) {
    typedef unsigned long long ull;
    char low[32];
    switch (row->kind) {
    case RUNG_SETTING_IS_TEXT:
        return "text without control characters";
    case RUNG_SETTING_IS_ADDRESS:
        return "ADDR:PORT, unix:PATH or off";
    case RUNG_SETTING_IS_NUMBER:
        snprintf(out, RUNG_SETTING_EXPECTED_MAX, "a whole number from %llu to %llu", (ull)row->low,
                 (ull)row->high);
        return out;
    case RUNG_SETTING_IS_SIZE:
        snprintf(out, RUNG_SETTING_EXPECTED_MAX, "a size such as %s, from %s on%s%s",
                 row->low > 64 << 10 ? "64MiB or 1GiB" : "64KiB or 1MiB", size_text(row->low, low),
                 row->high == UINT64_MAX ? ", or off" : "", is_auto(row) ? ", or auto" : "");
        return out;
    case RUNG_SETTING_IS_TIME:
        snprintf(out, RUNG_SETTING_EXPECTED_MAX,
                 "a time such as 250ms, 30s, 5m or 24h, from %llu ms on", (ull)row->low);
        return out;
    case RUNG_SETTING_IS_RATE:
        return "a rate such as 100/s or 600/m, or off";
    case RUNG_SETTING_IS_KEEP:
        return "forever, off, or a time, a size or a share of the disk, or two: 30d,10% or "
               "7d,50GiB";
    case RUNG_SETTING_IS_SYNC:
        return "always, or every=MS from every=1 to every=60000";
    case RUNG_SETTING_IS_SWITCH:
    case RUNG_SETTING_IS_CHOICE:
        break;
    }
    snprintf(out, RUNG_SETTING_EXPECTED_MAX, "one of %s", row->word);
    return out;
}

static bool is_within(const rung_setting *row, uint64_t n) {
    return n >= row->low && n <= row->high;
}

bool rung_setting_parse(const rung_setting *row, const char *text, void *field) {
    uint32_t choice;
    switch (row->kind) {
    case RUNG_SETTING_IS_TEXT:
        *(const char **)field = *text ? text : NULL;
        return *text == '\0' || rung_utf8_is_plain(rung_slice_str(text));
    case RUNG_SETTING_IS_ADDRESS:
        *(const char **)field = strcmp(text, "off") == 0 ? NULL : text;
        return strcmp(text, "off") == 0 || is_address(text);
    case RUNG_SETTING_IS_NUMBER:
        return rung_number_parse(text, field) && is_within(row, *(uint64_t *)field);
    case RUNG_SETTING_IS_SIZE:
        *(uint64_t *)field = strcmp(text, "off") == 0 ? UINT64_MAX : 0;
        return (row->high == UINT64_MAX && strcmp(text, "off") == 0) ||
               (is_auto(row) && strcmp(text, "auto") == 0) ||
               (parse_units(text, size_units, field) && is_within(row, *(uint64_t *)field));
    case RUNG_SETTING_IS_TIME:
        return parse_units(text, time_units, field) && is_within(row, *(uint64_t *)field);
    case RUNG_SETTING_IS_SWITCH:
        if (!parse_choice("on|off", text, &choice))
            return false;
        *(bool *)field = choice == 0;
        return true;
    case RUNG_SETTING_IS_CHOICE:
        return parse_choice(row->word, text, field);
    case RUNG_SETTING_IS_RATE:
        return parse_rate(text, field);
    case RUNG_SETTING_IS_SYNC:
        return parse_sync(text, field);
    case RUNG_SETTING_IS_KEEP:
        return parse_keep(text, field);
    }
    return false;
}

static rung_status set(rung_settings *s, rung_setting_id id, const char *text,
                       rung_setting_source source, rung_err *err) {
    const rung_setting *row = &rung_setting_table[id];
    char expected[RUNG_SETTING_EXPECTED_MAX];
    s->texts[id] = text;
    s->sources[id] = source;
    if (rung_setting_parse(row, text, (char *)s + row->offset))
        return RUNG_OK;
    return refuse(s, id, rung_setting_expectation(row, expected), text, strlen(text), err);
}

/* ---- the file ---- */

static rung_status read_text(rung_settings *s, rung_err *err) {
    FILE *f = fopen(s->file, "re");
    if (!f)
        return RUNG_FAIL_OS(err, errno == ENOENT ? RUNG_EABSENT : RUNG_EIO, errno,
                            "%.120s: cannot open the configuration: %s", s->file, strerror(errno));
    s->file_size = RUNG_CONFIG_FILE_MAX + 2;
    s->file_text = rung_alloc_get(rung_alloc_heap(), s->file_size);
    size_t got = s->file_text ? fread(s->file_text, 1, RUNG_CONFIG_FILE_MAX + 1, f) : 0;
    bool is_bad = ferror(f);
    fclose(f);
    if (!s->file_text)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (is_bad)
        return RUNG_FAIL(err, RUNG_EIO, "%.120s: cannot read the configuration", s->file);
    if (got > RUNG_CONFIG_FILE_MAX)
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s: a configuration has at most 64 KiB", s->file);
    s->file_text[got] = '\0';
    if (memchr(s->file_text, '\0', got))
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s: not text: it contains a zero byte", s->file);
    return RUNG_OK;
}

static char *trim(char *text) {
    text += strspn(text, " \t\r");
    size_t len = strlen(text);
    while (len > 0 && strchr(" \t\r", text[len - 1]))
        len--;
    text[len] = '\0';
    return text;
}

/* Remove comment and quotes in place; NULL: the quotes do not end, or text follows them. */
static char *unquote(char *value) {
    if (*value == '"') {
        char *end = strchr(value + 1, '"');
        if (!end)
            return NULL;
        const char *rest = trim(end + 1);
        if (*rest && *rest != '#')
            return NULL;
        *end = '\0';
        return value + 1;
    }
    for (char *p = value; (p = strchr(p, '#')) != NULL; p++)
        if (p == value || p[-1] == ' ' || p[-1] == '\t') {
            *p = '\0';
            break;
        }
    return trim(value);
}

enum { NAME_MAX_LEN = 64 };

typedef struct reading {
    rung_settings *s;
    char section[NAME_MAX_LEN]; /* "" or "limits." */
    uint32_t line;
    rung_err *err;
} reading;

static rung_status fail_line(const reading *r, const char *what, const char *text) {
    return RUNG_FAIL(r->err, RUNG_EINVAL, "%.120s:%u: %s \"%.60s\"", r->s->file, r->line, what,
                     text);
}

static bool is_section(const char *dotted) {
    for (size_t i = 0; i < RUNG_SETTING_COUNT; i++)
        if (strncmp(rung_setting_table[i].name, dotted, strlen(dotted)) == 0)
            return true;
    return false;
}

static rung_status read_section(reading *r, char *line) {
    size_t len = strcspn(line, "]");
    const char *rest = line[len] == ']' ? line + len + 1 + strspn(line + len + 1, " \t") : "x";
    if ((*rest != '\0' && *rest != '#') || len < 2 || len > NAME_MAX_LEN - 2)
        return fail_line(r, "expected [section], not", line);
    snprintf(r->section, sizeof r->section, "%.*s.", (int)(len - 1), line + 1);
    return rung__ingest_open(r->s, r->section) || is_section(r->section)
               ? RUNG_OK
               : fail_line(r, "there is no section", line);
}

static rung_status store_setting(const reading *r, const char *name, const char *value) {
    size_t id = 0;
    if (strncmp(name, "ingest.", 7) == 0)
        return rung__ingest_setting_set(r->s, name, value, r->line, r->err);
    while (id < RUNG_SETTING_COUNT && strcmp(rung_setting_table[id].name, name) != 0)
        id++;
    if (id == RUNG_SETTING_COUNT)
        return fail_line(r, "there is no setting", name);
    if (r->s->lines[id])
        return RUNG_FAIL(r->err, RUNG_EINVAL, "%.120s:%u: %s is given twice; first in line %u",
                         r->s->file, r->line, name, r->s->lines[id]);
    r->s->lines[id] = r->line;
    return set(r->s, (rung_setting_id)id, value, RUNG_SETTING_FROM_FILE, r->err);
}

static rung_status read_setting(const reading *r, char *line) {
    char name[2 * NAME_MAX_LEN];
    char *equals = strchr(line, '=');
    if (!equals)
        return fail_line(r, "expected name = value, not", line);
    *equals = '\0';
    snprintf(name, sizeof name, "%s%.63s", r->section, trim(line));
    const char *value = unquote(trim(equals + 1));
    if (!value)
        return RUNG_FAIL(r->err, RUNG_EINVAL, "%.120s:%u: %s: the quotes do not end with the value",
                         r->s->file, r->line, name);
    return store_setting(r, name, value);
}

static rung_status read_file(rung_settings *s, rung_err *err) {
    reading r = {.s = s, .err = err};
    rung_status st = read_text(s, err);
    for (char *rest = s->file_text; st == RUNG_OK && rest;) {
        char *line = trim(strsep(&rest, "\n"));
        r.line++;
        if (*line == '\0' || *line == '#')
            continue;
        st = *line == '[' ? read_section(&r, line) : read_setting(&r, line);
    }
    return st;
}

/* ---- settings together ---- */

/* `good` is a word, or a prefix if it ends with a colon. */
static rung_status check_engine(const rung_settings *s, rung_setting_id id, const char *good,
                                const char *expected, rung_err *err) {
    const char *text = s->texts[id];
    size_t len = strlen(good);
    if (*text == '\0' || strcmp(text, "off") == 0 ||
        (strncmp(text, good, len) == 0 && (text[len] != '\0') == (good[len - 1] == ':')))
        return RUNG_OK;
    return refuse(s, id, expected, text, strlen(text), err);
}

static bool is_origin(const char *text, size_t len) {
    size_t scheme = len > 8 && memcmp(text, "https://", 8) == 0  ? 8
                    : len > 7 && memcmp(text, "http://", 7) == 0 ? 7
                                                                 : 0;
    return scheme && !memchr(text + scheme, '/', len - scheme) && !memchr(text, ' ', len);
}

static rung_status check_origins(const rung_settings *s, rung_err *err) {
    const char *text = s->cors_origins;
    bool is_good = !text || strcmp(text, "*") == 0;
    while (!is_good) {
        text += strspn(text, " ");
        size_t len = strcspn(text, ", ");
        const char *next = text + len + strspn(text + len, " ");
        if (!is_origin(text, len) || (*next && *next != ','))
            return refuse(s, RUNG_SETTING_cors_origins,
                          "https://HOST[:PORT], separated by commas, or *", text, strlen(text),
                          err);
        is_good = *next == '\0';
        text = next + 1;
    }
    return RUNG_OK;
}

/* How to reach brokers, of the log or of the feed. */
static rung_status check_broker_access(const rung_settings *s, rung_err *err) {
    if (!s->kafka_tls_cert != !s->kafka_tls_key)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "log.kafka.tls_%s",
                               "tls_cert and tls_key belong together; this one is missing",
                               s->kafka_tls_cert ? "key" : "cert");
    if (s->kafka_sasl && (!s->kafka_user || !s->kafka_password_file))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "log.kafka.%s", "missing; log.kafka.sasl needs it",
                               s->kafka_user ? "password_file" : "user");
    return RUNG_OK;
}

static rung_status check_kafka(const rung_settings *s, rung_err *err) {
    rung_kafka_url url;
    const char *text = s->log;
    if (rung_kafka_url_parse(rung_slice_str(text), &url, NULL) < 0)
        return refuse(s, RUNG_SETTING_log, "kafka://HOST:PORT,.../TOPIC", text, strlen(text), err);
    if (!s->data)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "log",
                               "Kafka needs a data folder for snapshots (data = DIR)");
    return check_broker_access(s, err);
}

static rung_status check_log(const rung_settings *s, rung_err *err) {
    if (s->log && strncmp(s->log, "kafka:", 6) == 0)
        return check_kafka(s, err);
    return check_engine(s, RUNG_SETTING_log, "local", "local or kafka://HOST:PORT,.../TOPIC", err);
}

/* Brokers and topic must be those of a URL, as for the log. */
static rung_status check_feed(const rung_settings *s, rung_err *err) {
    char text[RUNG_KAFKA_BROKERS_MAX + RUNG_KAFKA_TOPIC_MAX + 16];
    rung_kafka_url url;
    bool is_shared = s->log && strncmp(s->log, "kafka:", 6) == 0;
    if (!s->feed_topic)
        return RUNG_OK;
    if (!s->data)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "feed.topic", "needs a data folder (data = DIR)");
    if (!s->feed_brokers && !is_shared)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "feed.brokers",
                               "missing; feed.topic needs it where log is local");
    snprintf(text, sizeof text, "kafka://%s/x", s->feed_brokers ? s->feed_brokers : "x");
    if (rung_kafka_url_parse(rung_slice_str(text), &url, NULL) < 0)
        return refuse(s, RUNG_SETTING_feed_brokers, "HOST:PORT,...", s->feed_brokers,
                      strlen(s->feed_brokers), err);
    snprintf(text, sizeof text, "kafka://x/%s", s->feed_topic);
    if (rung_kafka_url_parse(rung_slice_str(text), &url, NULL) < 0 ||
        strcmp(url.topic, s->feed_topic) != 0)
        return refuse(s, RUNG_SETTING_feed_topic, "letters, digits, '.', '_' and '-'",
                      s->feed_topic, strlen(s->feed_topic), err);
    return check_broker_access(s, err);
}

/* The address of a database may have a password: no message repeats it. */
static rung_status check_archive(const rung_settings *s, rung_err *err) {
    const char *text = s->texts[RUNG_SETTING_archive];
    rung_postgres_url url;
    if (rung_postgres_url_is(text)) {
        rung_status st = rung_postgres_url_parse(text, &url, err);
        explicit_bzero(&url, sizeof url);
        return st;
    }
    if (strstr(text, "://"))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "archive",
                               "expected sqlite:FILE, postgres://... or off");
    return check_engine(s, RUNG_SETTING_archive, "sqlite:", "sqlite:FILE, postgres://... or off",
                        err);
}

static rung_status check_peers(const rung_settings *s, rung_err *err) {
    if (s->peers && (!s->log || strncmp(s->log, "kafka:", 6) != 0))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "peers",
                               "needs a log that servers share (log = kafka://...)");
    return RUNG_OK;
}

static rung_status check_past(const rung_settings *s, rung_err *err) {
    rung_moment moment;
    if (s->as_of_parent && !s->as_of)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of.parent", "needs as_of");
    if (s->as_of_since_ms && !s->as_of)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of.since", "needs as_of");
    if (!s->as_of)
        return RUNG_OK;
    if (!s->data)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "as_of", "needs a data folder (data = DIR)");
    return rung_moment_parse(rung_slice_str(s->as_of), &moment, err);
}

static rung_status check_proxies(const rung_settings *s, rung_err *err) {
    rung_proxies proxies = {0};
    rung_status st = RUNG_OK;
    if (s->trusted_proxies)
        st = rung_proxies_parse(rung_slice_str(s->trusted_proxies), &proxies, err);
    if (st == RUNG_OK && s->proxy_protocol && !proxies.count && !proxies.has_unix)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "trusted_proxies",
                             "proxy.protocol is on, but no proxy is trusted");
    return st;
}

static rung_status check_together(const rung_settings *s, rung_err *err) {
    rung_status st = check_log(s, err);
    if (st == RUNG_OK && strcmp(s->texts[RUNG_SETTING_log], "off") == 0)
        st = RUNG_FAIL_FIELD(err, RUNG_EINVAL, "log",
                             "cannot be off; leave data empty to keep nothing");
    if (st == RUNG_OK)
        st = check_archive(s, err);
    if (st == RUNG_OK)
        st = check_origins(s, err);
    if (st == RUNG_OK)
        st = check_proxies(s, err);
    if (st == RUNG_OK)
        st = check_peers(s, err);
    if (st == RUNG_OK)
        st = check_past(s, err);
    if (st == RUNG_OK)
        st = rung__ingest_settings_check(s, err);
    if (st == RUNG_OK)
        st = check_feed(s, err);
    if (st < 0)
        return st;
    if (!s->tls_cert != !s->tls_key)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "tls.%s",
                               "tls.cert and tls.key belong together; this one is missing",
                               s->tls_cert ? "key" : "cert");
    if (!s->http && !s->resp && !s->as_of_parent)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "http",
                               "http and resp are both off: nothing to serve");
    if (!s->data && s->archive && strcmp(s->archive, "off") != 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "archive", "needs a data folder (data = DIR)");
    return RUNG_OK;
}

/* ---- loading ---- */

rung_status rung_settings_load(rung_settings *s, const rung_settings_sources *from, rung_err *err) {
    char name[RUNG_SETTING_ENV_MAX];
    *s = (rung_settings){0};
    rung_status st = RUNG_OK;
    s->file = from->file ? from->file : from->env ? from->env("RUNG_CONFIG") : NULL;
    for (rung_setting_id i = 0; st == RUNG_OK && i < RUNG_SETTING_COUNT; i++)
        st = set(s, i, rung_setting_table[i].fallback, RUNG_SETTING_FROM_DEFAULT, err);
    if (st == RUNG_OK && s->file)
        st = read_file(s, err);
    for (rung_setting_id i = 0; st == RUNG_OK && i < RUNG_SETTING_COUNT; i++) {
        const char *text = from->env ? from->env(rung_setting_env(i, name)) : NULL;
        if (text)
            st = set(s, i, text, RUNG_SETTING_FROM_ENVIRONMENT, err);
    }
    for (rung_setting_id i = 0; st == RUNG_OK && i < RUNG_SETTING_COUNT && from->flags; i++)
        if (from->flags[i])
            st = set(s, i, from->flags[i], RUNG_SETTING_FROM_FLAG, err);
    return st < 0 ? st : check_together(s, err);
}

static const char *environment(const char *name) {
    return getenv(name);
}

rung_status rung_settings_load_flags(rung_settings *s, const rung_setting_flags *flags,
                                     rung_err *err) {
    return rung_settings_load(
        s,
        &(rung_settings_sources){.file = flags->config, .env = environment, .flags = flags->flags},
        err);
}

void rung_settings_deinit(rung_settings *s) {
    rung_alloc_free(rung_alloc_heap(), s->file_text, s->file_size);
    *s = (rung_settings){0};
}

const char *rung_settings_keys_path(const rung_settings *s, char *out, size_t size) {
    if (s->keys || !s->data)
        return s->keys;
    snprintf(out, size, "%s/keys", s->data);
    return out;
}

/* How to create the first key. */
static const char *key_hint(const rung_settings *s, char out[160]) {
    snprintf(out, 160, "Create a key first: rung keys create --role admin %s%.60s",
             s->keys ? "--keys " : "--data ",
             s->keys   ? s->keys
             : s->data ? s->data
                       : "DIR");
    return out;
}

/* Without keys everybody is an admin, and so is every web page that may call the API. */
static rung_status check_origins_without_keys(const rung_settings *s, rung_err *err) {
    char hint[160];
    for (const char *text = s->cors_origins; text && *text;) {
        size_t len = strcspn(text, ", ");
        if (len && !rung_origin_is_local(rung_slice_of(text, len)))
            return RUNG_FAIL_FIELD(err, RUNG_EREFUSED, "cors.origins",
                                   "there are no keys, so pages of %.*s could change "
                                   "everything. %s",
                                   (int)(len < 60 ? len : 60), text, key_hint(s, hint));
        text += len;
        text += strspn(text, ", ");
    }
    return RUNG_OK;
}

rung_status rung_settings_check_reach(const rung_settings *s, const rung_access *access,
                                      rung_err *err) {
    const char *const addresses[] = {s->http, s->resp}, *const names[] = {"http", "resp"};
    char hint[160];
    if (!rung_access_is_open(access))
        return RUNG_OK;
    for (size_t i = 0; i < 2; i++) {
        rung_address address;
        if (!addresses[i])
            continue;
        rung_status st = rung_address_parse(rung_slice_str(addresses[i]), 0, &address, err);
        if (st < 0)
            return st;
        if (!rung_address_is_local(&address))
            return RUNG_FAIL(err, RUNG_EREFUSED,
                             "%s: %.60s can be reached from elsewhere, and there are no keys. %s",
                             names[i], addresses[i], key_hint(s, hint));
    }
    return check_origins_without_keys(s, err);
}
