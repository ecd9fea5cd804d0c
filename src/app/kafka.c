/* SPDX-License-Identifier: Apache-2.0 */
/* The settings log, log.kafka.* and feed.*: a log that several servers share, and the change feed. */
#include "app/kafka.h"

#include "app/server.h"
#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char default_topic[] = "rung";

bool rung__server_is_replicated(const rung__server *s) {
    return s->settings.log && strcmp(s->settings.log, "local") != 0; /* empty: local, too */
}

static rung_status read_password(rung__kafka *k, const char *path, const char *field,
                                 rung_err *err) {
    FILE *f = fopen(path, "re");
    if (!f)
        return RUNG_FAIL_OS(err, RUNG_EABSENT, errno, "%s: %.120s: %s", field, path,
                            strerror(errno));
    size_t len = fread(k->password, 1, sizeof k->password, f);
    fclose(f);
    if (len == sizeof k->password)
        return RUNG_FAIL(err, RUNG_EINVAL, "%s: %.120s is too long", field, path);
    k->password[len] = '\0';
    k->password[strcspn(k->password, "\r\n")] = '\0';
    return RUNG_OK;
}

/* librdkafka would say which step of OpenSSL failed, but not on which file. */
static rung_status check_file(const char *setting, const char *path, rung_err *err) {
    FILE *f = path ? fopen(path, "re") : NULL;
    if (path && !f)
        return RUNG_FAIL_OS(err, RUNG_EABSENT, errno, "%s: %.120s: %s", setting, path,
                            strerror(errno));
    if (f)
        fclose(f);
    return RUNG_OK;
}

static rung_status check_files(const rung_settings *set, rung_err *err) {
    rung_status st = check_file("log.kafka.tls_ca", set->kafka_tls_ca, err);
    if (st == RUNG_OK)
        st = check_file("log.kafka.tls_cert", set->kafka_tls_cert, err);
    return st == RUNG_OK ? check_file("log.kafka.tls_key", set->kafka_tls_key, err) : st;
}

static void add(rung__kafka *k, const char *name, const char *value) {
    if (value && *value)
        k->options[k->option_count++] = (rung_kafka_option){name, value};
}

rung_status rung__kafka_secure(rung__kafka *k, const rung__kafka_security *set, const char *field,
                               rung_err *err) {
    static const char *const mechanisms[] = {NULL, "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"};
    bool has_sasl = set->sasl != 0;
    k->option_count = 0;
    add(k, "security.protocol",
        set->tls ? (has_sasl ? "sasl_ssl" : "ssl") : (has_sasl ? "sasl_plaintext" : "plaintext"));
    add(k, "ssl.ca.location", set->tls_ca);
    add(k, "ssl.certificate.location", set->tls_cert);
    add(k, "ssl.key.location", set->tls_key);
    if (!has_sasl)
        return RUNG_OK;
    add(k, "sasl.mechanism", mechanisms[set->sasl]);
    add(k, "sasl.username", set->user);
    rung_status st =
        set->password_file ? read_password(k, set->password_file, field, err) : RUNG_OK;
    add(k, "sasl.password", k->password);
    return st;
}

static rung_status gather_options(rung__kafka *k, const rung_settings *set, rung_err *err) {
    static const char *const codecs[] = {"none", "lz4", "zstd", "snappy", "gzip"};
    const rung__kafka_security security = {.tls = set->kafka_tls,
                                           .tls_ca = set->kafka_tls_ca,
                                           .tls_cert = set->kafka_tls_cert,
                                           .tls_key = set->kafka_tls_key,
                                           .sasl = set->kafka_sasl,
                                           .user = set->kafka_user,
                                           .password_file = set->kafka_password_file};
    rung_status st = rung__kafka_secure(k, &security, "log.kafka.password_file", err);
    add(k, "compression.type", codecs[set->kafka_compression]);
    return st;
}

rung_status rung__kafka_configure(rung__kafka *k, const rung_settings *set, const char *url,
                                  rung_kafka_config *config_out, rung_err *err) {
    rung_status st = rung_kafka_url_parse(rung_slice_str(url), &k->url, err);
    if (st == RUNG_OK)
        st = check_files(set, err);
    if (st == RUNG_OK)
        st = gather_options(k, set, err);
    if (st < 0)
        return st;
    *config_out = (rung_kafka_config){
        .alloc = rung_alloc_heap(),
        .brokers = k->url.brokers,
        .topic = k->url.topic[0] ? k->url.topic : default_topic,
        .options = k->options,
        .option_count = k->option_count,
        .replication = (uint32_t)set->kafka_replication,
        .min_isr = (uint32_t)set->kafka_min_isr,
        .accepts_unsafe = set->kafka_accept_unsafe,
        .timeout_ms = (uint32_t)set->kafka_timeout_ms,
        .clock = rung_clock_real(),
    };
    return RUNG_OK;
}

rung_status rung__server_open_kafka(rung__server *s, const rung_hub_config *hub, rung_log **log_out,
                                    rung_err *err) {
    rung_kafka_config config;
    rung_status st = rung__kafka_configure(&s->kafka, &s->settings, s->settings.log, &config, err);
    if (st < 0)
        return st;
    config.proposals_max = hub->waiting_max + 1;
    config.must_exist = s->settings.as_of != NULL;
    config.wake = hub->wake;
    config.fatal = hub->fatal;
    config.say = hub->say;
    config.ctx = hub->ctx;
    return rung_kafka_log_open(&config, log_out, err);
}

/* ---- the change feed ---- */

/* Its brokers are those of the log, unless there are others. */
static rung_status configure_feed(rung__server *s, rung_kafka_config *config_out, rung_err *err) {
    const rung_settings *set = &s->settings;
    char url[RUNG_KAFKA_BROKERS_MAX + RUNG_KAFKA_TOPIC_MAX + 16];
    rung_kafka_url log = {0};
    rung_status st =
        set->feed_brokers ? RUNG_OK : rung_kafka_url_parse(rung_slice_str(set->log), &log, err);
    if (st < 0)
        return st;
    snprintf(url, sizeof url, "kafka://%s/%s", set->feed_brokers ? set->feed_brokers : log.brokers,
             set->feed_topic);
    return rung__kafka_configure(&s->feed_kafka, set, url, config_out, err);
}

rung_status rung__server_set_up_feed(rung__server *s, rung_err *err) {
    const rung_settings *set = &s->settings;
    rung_feed_config config = {
        .alloc = rung_alloc_heap(),
        .folder = set->data,
        .boards = set->feed_boards,
        .partitions = (uint32_t)set->feed_partitions,
        .is_from_first = set->feed_start == 1,
        .memory_bytes = (size_t)set->feed_memory,
        .keep_ms = (int64_t)set->feed_keep_ms,
    };
    if (!set->feed_topic || set->as_of)
        return RUNG_OK;
    rung_status st = configure_feed(s, &config.kafka, err);
    if (st < 0)
        return st;
    config.kafka.say = rung__server_say;
    config.kafka.ctx = s;
    return rung_feed_create(&config, &s->feed, err);
}
