/* SPDX-License-Identifier: Apache-2.0 */
/* Settings: who wins, what is refused and with which words. */
#include "app/config.h"
#include "support/check.h"
#include "support/rng.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static const char *write_file(const char *text) {
    snprintf(path, sizeof path, "/tmp/rung-config-XXXXXX");
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    return path;
}

static const char *env_name, *env_value;

static const char *one_variable(const char *name) {
    return env_name && strcmp(name, env_name) == 0 ? env_value : NULL;
}

static const char *no_flags[RUNG_SETTING_COUNT];

static rung_status load(rung_settings *s, const char *text, rung_err *err) {
    rung_settings_sources from = {
        .file = text ? write_file(text) : NULL, .env = one_variable, .flags = no_flags};
    rung_status st = rung_settings_load(s, &from, err);
    if (text)
        unlink(path);
    return st;
}

static rung_settings must_load(const char *text) {
    rung_settings s;
    rung_err err = {0};
    CHECK_MSG(load(&s, text, &err) == RUNG_OK, "%s", err.message);
    return s;
}

static void must_refuse(const char *text, const char *why) {
    rung_settings s;
    rung_err err = {0};
    CHECK_STATUS(load(&s, text, &err), RUNG_EINVAL);
    CHECK_MSG(strstr(err.message, why), "\"%s\" does not say \"%s\"", err.message, why);
    rung_settings_deinit(&s);
}

TEST(defaults) {
    rung_settings s = must_load(NULL);
    CHECK(!s.data && !s.keys && !s.archive && !s.tls_cert && !s.cors_origins);
    CHECK_EQ_STR(s.http, "127.0.0.1:7864");
    CHECK_EQ_STR(s.resp, "127.0.0.1:7865");
    CHECK_EQ_U64(s.sync_every_ms, 0);
    CHECK(s.gzip && s.metrics);
    CHECK_EQ_U64(s.body_max, 8 << 20);
    CHECK_EQ_U64(s.snapshot_every, 256 << 20);
    CHECK_EQ_U64(s.id_keep_ms, 86400000);
    CHECK_EQ_U64(s.log_format, 0);
    CHECK_EQ_U64(s.log_level, 1);
    CHECK_EQ_U64(s.rate_key.count, 0);
    for (int i = 0; i < RUNG_SETTING_COUNT; i++)
        CHECK(s.sources[i] == RUNG_SETTING_FROM_DEFAULT);
    rung_settings_deinit(&s);
}

TEST(names_follow_one_rule) {
    for (int i = 0; i < RUNG_SETTING_COUNT; i++) {
        const rung_setting *row = &rung_setting_table[i];
        char flag[64] = "--", env[64] = "RUNG_", derived[RUNG_SETTING_ENV_MAX];
        for (size_t k = 0; k <= strlen(row->name); k++) {
            char c = row->name[k];
            flag[k + 2] = c == '.' || c == '_' ? '-' : c;
            env[k + 5] = c == '.' ? '_' : c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
        }
        CHECK_EQ_STR(row->flag, flag);
        CHECK_EQ_STR(rung_setting_env((rung_setting_id)i, derived), env);
    }
}

TEST(a_file) {
    rung_settings s =
        must_load("# Rung\n\ndata = /var/lib/rung\r\n sync=every=50 # fast\n"
                  "limits.connections = 12\n[limits]\n  body = 64KiB\nidle_timeout = 2m\n"
                  "[rates] # per key\nkey = 600/m\nplayer = off\n[snapshot]\nevery = off\n"
                  "[cors]\norigins = https://a.example, http://b.example:8080\n"
                  "[logging]\nformat = json\nlevel = \"error\" # quiet\n");
    char at[192];
    CHECK_EQ_STR(s.data, "/var/lib/rung");
    CHECK_EQ_U64(s.sync_every_ms, 50);
    CHECK_EQ_U64(s.connections_max, 12);
    CHECK_EQ_U64(s.body_max, 65536);
    CHECK_EQ_U64(s.idle_timeout_ms, 120000);
    CHECK_EQ_U64(s.rate_key.count, 600);
    CHECK_EQ_U64(s.rate_key.period_ms, 60000);
    CHECK_EQ_U64(s.rate_player.count, 0);
    CHECK(s.snapshot_every == UINT64_MAX);
    CHECK_EQ_U64(s.log_format, 1);
    CHECK_EQ_U64(s.log_level, 3);
    rung_setting_origin(&s, RUNG_SETTING_body_max, at, sizeof at);
    CHECK_MSG(strstr(at, ":7") && strstr(at, path), "%s", at);
    rung_settings_deinit(&s);
}

TEST(how_much_to_keep) {
    static const struct {
        const char *text;
        rung_retention want;
    } rows[] = {
        {"30d,10%", {30 * INT64_C(86400000), 0, 10}},
        {"forever", {RUNG_RETENTION_FOREVER, 0, 0}},
        {"off", {0, 0, 0}},
        {"90m", {5400000, 0, 0}},
        {"50GiB", {RUNG_RETENTION_FOREVER, (uint64_t)50 << 30, 0}},
        {"50GiB, 7d", {7 * INT64_C(86400000), (uint64_t)50 << 30, 0}},
        {"100%", {RUNG_RETENTION_FOREVER, 0, 100}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[64];
        snprintf(text, sizeof text, "log.keep = %s\n", rows[i].text);
        rung_settings s = must_load(text);
        CHECK_EQ_I64(s.log_keep.keep_ms, rows[i].want.keep_ms);
        CHECK_EQ_U64(s.log_keep.keep_bytes, rows[i].want.keep_bytes);
        CHECK_EQ_U64(s.log_keep.keep_percent, rows[i].want.keep_percent);
        rung_settings_deinit(&s);
    }
    rung_settings s = must_load("");
    CHECK_EQ_U64(s.log_keep.keep_percent, 10);
    rung_settings_deinit(&s);
}

TEST(quotes_and_hashes) {
    rung_settings s = must_load("data = \"/a #b\"\nkeys = /a#b\n");
    CHECK_EQ_STR(s.data, "/a #b");
    CHECK_EQ_STR(s.keys, "/a#b");
    rung_settings_deinit(&s);
    s = must_load("keys = # none\n");
    CHECK(!s.keys);
    rung_settings_deinit(&s);
}

TEST(precedence) {
    char at[192];
    env_name = "RUNG_LIMITS_BODY";
    env_value = "2MiB";
    rung_settings s = must_load("limits.body = 1MiB\n");
    CHECK_EQ_U64(s.body_max, 2 << 20);
    CHECK_EQ_STR(rung_setting_origin(&s, RUNG_SETTING_body_max, at, sizeof at), "RUNG_LIMITS_BODY");
    rung_settings_deinit(&s);
    no_flags[RUNG_SETTING_body_max] = "3MiB";
    s = must_load("limits.body = 1MiB\n");
    CHECK_EQ_U64(s.body_max, 3 << 20);
    CHECK_EQ_STR(rung_setting_origin(&s, RUNG_SETTING_body_max, at, sizeof at), "--limits-body");
    rung_settings_deinit(&s);
    must_refuse("limits.body = x\n",
                ":1: limits.body: expected a size"); /* also where it would not win */
    env_value = "x";
    must_refuse("", "RUNG_LIMITS_BODY: expected a size");
    env_name = NULL;
    no_flags[RUNG_SETTING_body_max] = "3MB";
    must_refuse("", "--limits-body: expected a size");
    no_flags[RUNG_SETTING_body_max] = NULL;
}

TEST(the_file_may_be_named_by_the_environment) {
    rung_settings s;
    rung_err err = {0};
    env_name = "RUNG_CONFIG";
    env_value = write_file("data = here\n");
    CHECK(rung_settings_load(&s, &(rung_settings_sources){.env = one_variable}, &err) == RUNG_OK);
    CHECK_EQ_STR(s.data, "here");
    rung_settings_deinit(&s);
    unlink(path);
    CHECK_STATUS(rung_settings_load(&s, &(rung_settings_sources){.env = one_variable}, &err),
                 RUNG_EABSENT);
    CHECK(strstr(err.message, path));
    rung_settings_deinit(&s);
    env_name = NULL;
}

TEST(refusals) {
    must_refuse("\nnonsense\n", ":2: expected name = value");
    must_refuse("htpp = 1\n", "there is no setting \"htpp\"");
    must_refuse("[nonsense]\n", "there is no section");
    must_refuse("[limits\n", "expected [section]");
    must_refuse("[limits] x\n", "expected [section]");
    must_refuse("[]\n", "expected [section]");
    must_refuse("[limits]\ndata = x\n", "no setting \"limits.data\"");
    must_refuse("gzip = on\ngzip = on\n", ":2: gzip is given twice; first in line 1");
    must_refuse("gzip = yes\n", "one of on|off");
    must_refuse("http = 127.0.0.1\n", "ADDR:PORT");
    must_refuse("http = 127.0.0.1:70000\n", "ADDR:PORT");
    must_refuse("http = :80\n", "ADDR:PORT");
    must_refuse("http = ::1:80\n", "ADDR:PORT");
    must_refuse("http = unix:\n", "ADDR:PORT");
    must_refuse("limits.connections = 0\n", "from 1 to 1000000");
    must_refuse("limits.connections = -1\n", "from 1 to 1000000");
    must_refuse("limits.body = 99999999999999999999GiB\n", "a size");
    must_refuse("limits.body = 18446744073709551615KiB\n", "a size");
    must_refuse("limits.body = 1\n", "a size");
    must_refuse("limits.idle_timeout = 5\n", "a time");
    must_refuse("rates.key = 0/s\n", "a rate");
    must_refuse("log.keep = 30\n", "forever, off, or");
    must_refuse("log.keep = 30d,7d\n", "forever, off, or");
    must_refuse("log.keep = 10%,5GiB\n", "forever, off, or");
    must_refuse("log.keep = 101%\n", "forever, off, or");
    must_refuse("log.keep = 0%\n", "forever, off, or");
    must_refuse("log.keep = 1s\n", "forever, off, or");
    must_refuse("log.keep = 30d,\n", "forever, off, or");
    must_refuse("log.keep = 30d,forever\n", "forever, off, or");
    must_refuse("log.keep = 99999999999999999999d\n", "forever, off, or");
    must_refuse("rates.key = 5/h\n", "a rate");
    must_refuse("sync = every=0\n", "always, or every=MS");
    must_refuse("sync = never\n", "always, or every=MS");
    must_refuse("logging.level = loud\n", "one of debug|info|warning|error");
    must_refuse("data = \"x\n", "quotes");
    must_refuse("data = \"x\" y\n", "quotes");
    must_refuse("data = a\001b\n", "control");
}

TEST(settings_must_agree) {
    must_refuse("tls.cert = a\n", "tls.key");
    must_refuse("tls.key = a\n", "tls.cert");
    must_refuse("http = off\nresp = off\n", "both off");
    must_refuse("archive = sqlite:x\n", "needs a data folder");
    must_refuse("data = x\narchive = mysql://me:pw@h/db\n",
                "archive: expected sqlite:FILE, postgres://... or off");
    must_refuse("data = x\narchive = postgres://me:p@w@h/db\n", "percent-encoded");
    must_refuse("data = x\narchive = sqlite:\n", "expected sqlite:FILE, postgres://... or off");
    must_refuse("log = redis://h\n",
                "log: expected local or kafka://HOST:PORT,.../TOPIC, not \"redis://h\"");
    must_refuse("data = d\nlog = kafka://\n",
                "log: expected kafka://HOST:PORT,.../TOPIC, not \"kafka://\"");
    must_refuse("log = kafka://h:9092\n", "log: Kafka needs a data folder");
    must_refuse("data = d\nlog = kafka://h\n[log.kafka]\nsasl = plain\n",
                "log.kafka.user: missing");
    must_refuse("data = d\nlog = kafka://h\n[log.kafka]\nsasl = plain\nuser = u\n",
                "log.kafka.password_file: missing");
    must_refuse("data = d\nlog = kafka://h\n[log.kafka]\ntls_key = k\n",
                "log.kafka.tls_cert: tls_cert and tls_key belong together");
    must_refuse("[feed]\ntopic = t\n", "feed.topic: needs a data folder");
    must_refuse("data = d\n[feed]\ntopic = t\n", "feed.brokers: missing");
    must_refuse("data = d\n[feed]\ntopic = a/b\nbrokers = h:1\n",
                "feed.topic: expected letters, digits, '.', '_' and '-', not \"a/b\"");
    must_refuse("data = d\n[feed]\ntopic = t\nbrokers = u@h:1\n",
                "feed.brokers: expected HOST:PORT,..., not \"u@h:1\"");
    must_refuse("data = d\n[feed]\ntopic = t\nbrokers = h:1\n[log.kafka]\nsasl = plain\n",
                "log.kafka.user: missing");
    must_refuse("log = locally\n", "expected local");
    must_refuse("log = off\n", "cannot be off");
    must_refuse("cors.origins = game.example\n", "https://HOST");
    must_refuse("cors.origins = https://a.example/\n", "https://HOST");
    must_refuse("cors.origins = https://a.example,\n", "https://HOST");
    must_refuse("cors.origins = https://a.example https://b.example\n", "separated by commas");
    rung_settings s = must_load(
        "data = x\narchive = off\nhttp = [::1]:0\nresp = unix:/run/x\ncors.origins = *\n");
    rung_settings_deinit(&s);
}

TEST(sections_for_topics) {
    rung_settings s = must_load("data = d\nlog = kafka://h:9092/t\n[ingest.plays]\ntopic = plays\n"
                                "board = race # a constant\nplayer = $.user.id\nscore = $.points\n"
                                "[ingest.more-1]\nbrokers = b:1\ntopic = orders\nboard = $.b\n"
                                "player = $key\ndelta = 1\nin_flight = 7\nstart = latest\n"
                                "group = g\ndead_letters = lost\nsasl = plain\nuser = u\n"
                                "password_file = p\n");
    char text[RUNG_KAFKA_TOPIC_MAX + 8];
    rung_mapping m;
    CHECK_EQ_U64(s.ingest_count, 2);
    const rung_ingest_settings *a = &s.ingests[0], *b = &s.ingests[1];
    CHECK_EQ_STR(a->name, "plays");
    CHECK(!a->brokers && !a->delta && a->start == 0);
    CHECK_EQ_U64(a->in_flight, 1024);
    CHECK_EQ_STR(a->board, "race");
    CHECK_EQ_STR(rung_ingest_settings_group(a, text), "rung-plays");
    CHECK_EQ_STR(rung_ingest_settings_dead_letters(a, text), "plays.dead");
    CHECK_OK(rung_ingest_settings_mapping(a, &m, NULL));
    CHECK(m.targets[RUNG_MAP_PLAYER].step_count == 2);
    CHECK_EQ_STR(b->name, "more-1");
    CHECK_EQ_U64(b->in_flight, 7);
    CHECK(b->start == 1 && b->sasl == 1);
    CHECK_EQ_STR(rung_ingest_settings_group(b, text), "g");
    CHECK_EQ_STR(rung_ingest_settings_dead_letters(b, text), "lost");
    rung_settings_deinit(&s);
}

#define INGEST "[ingest.x]\nbrokers = b:1\ntopic = t\nboard = b\nplayer = $.p\n"

TEST(sections_that_are_refused) {
    must_refuse("[ingest.x]\n", "ingest.x.brokers: missing");
    must_refuse("[ingest.x]\nbrokers = b:1\n", "ingest.x.topic: required but missing");
    must_refuse("[ingest.x]\nbrokers = b:1\ntopic = t\n", "ingest.x.board: required but missing");
    must_refuse("[ingest]\n", "there is no section");
    must_refuse("[ingest.X]\n", "there is no section");
    must_refuse("[ingest.a.b]\n", "there is no section");
    must_refuse("ingest.x = 1\n", "there is no setting \"ingest.x\"");
    must_refuse(INGEST "topics = t\n", ":6: there is no setting \"ingest.x.topics\"");
    must_refuse(INGEST "topic = u\n", "ingest.x.topic is given twice; first in line 3");
    must_refuse(INGEST "in_flight = 4096\n", "in_flight: expected a whole number from 1 to 2048");
    must_refuse(INGEST "start = now\n", "start: expected one of earliest|latest, not \"now\"");
    must_refuse(INGEST "score = $points\n", "ingest.x.score: expected $.KEY.KEY");
    must_refuse(INGEST "columns = a\n", "ingest.x.columns: expected");
    must_refuse(INGEST "at = $.p.q\n", "ingest.x.at: $.p.q is inside of $.p");
    must_refuse(INGEST "dead_letters = t\n", "ingest.x.dead_letters: the same as topic");
    must_refuse(INGEST "tls_key = k\n", "ingest.x.tls_cert: tls_cert and tls_key belong together");
    must_refuse(INGEST "sasl = plain\n", "ingest.x.user: missing");
    must_refuse(INGEST "[ingest.y]\nbrokers = c:1\ntopic = t\nboard = b\nplayer = $.p\n"
                       "group = rung-x\n",
                "ingest.y.group: another section has the same topic and group");
    must_refuse("data = d\nlog = kafka://h/t\n[ingest.x]\ntopic = t\nboard = b\nplayer = p\n",
                "ingest.x.topic: the server's own log");
    must_refuse("data = d\nlog = kafka://h/l\n[ingest.x]\ntopic = t\nboard = b\nplayer = p\n"
                "tls = on\n",
                "ingest.x.brokers: missing: without it, TLS and SASL are those of log.kafka");
    char text[2048] = "";
    for (int i = 0; i <= RUNG_INGESTS_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "ingest.n%d.topic = t\n", i);
    must_refuse(text, "at most 16 sections [ingest.NAME]");
}

TEST(too_much_or_no_text) {
    static char big[RUNG_CONFIG_FILE_MAX + 2];
    memset(big, '\n', sizeof big - 1);
    must_refuse(big, "at most 64 KiB");
    big[RUNG_CONFIG_FILE_MAX] = '\0';
    rung_settings s = must_load(big);
    rung_settings_deinit(&s);
}

/* Whatever a file holds, it is taken or refused with a place, and nothing else happens. */
TEST(any_bytes) {
    static const char sample[] =
        "# x\ndata = \"/a #b\"\n[limits]\nbody = 64KiB # y\nidle_timeout=2m\n[rates]\nkey = 6/m\n"
        "[cors]\norigins = https://a.example\n[tls]\ncert=a\nkey=b\n"
        "[ingest.x]\nbrokers=b:1\ntopic=t\nboard=b\nplayer=$.p\ncolumns=a: $.x\n";
    rung_rng rng;
    rung_rng_seed(&rng, 11);
    int taken = 0;
    for (int i = 0; i < 2000; i++) {
        char text[sizeof sample];
        memcpy(text, sample, sizeof sample);
        for (uint64_t k = rung_rng_below(&rng, 4); k > 0; k--) {
            static const char bytes[] = "=\"#[]\n\\ .,*x0\t\x80";
            text[rung_rng_below(&rng, sizeof sample - 1)] =
                bytes[rung_rng_below(&rng, sizeof bytes - 1)];
        }
        rung_settings s;
        rung_err err = {0};
        rung_status st = load(&s, text, &err);
        CHECK(st == RUNG_OK || (st == RUNG_EINVAL && err.message[0]));
        taken += st == RUNG_OK;
        rung_settings_deinit(&s);
    }
    CHECK(taken > 100 && taken < 1900);
}

RUNG_TEST_MAIN
