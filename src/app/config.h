/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the settings of a server: one table for the file, the environment and the flags, and for help, man page,
 * docs/configuration.md and `rung config`.
 *
 * A flag overrides the environment, which overrides the file, which overrides the default. Every source is checked,
 * even if another one wins: an error names the place ("rung.conf:12", "RUNG_SYNC", "--sync"), the setting and what was
 * expected. Sections [ingest.NAME] (config_ingest.h) come from the file alone.
 *
 *     # a comment                     [section] puts "section." before the names after it; a name occurs once
 *     data = /var/lib/rung
 *     [limits]
 *     body = 1MiB                     the setting limits.body
 *     idle_timeout = "75s"            quotes allow " #" and outer blanks in a value; nothing else is special
 *
 * One thread; no globals. */
#ifndef RUNG_APP_CONFIG_H
#define RUNG_APP_CONFIG_H

#include "app/config_ingest.h"
#include "base/status.h"
#include "cli/options.h"
#include "guard/rate.h"
#include "service/access.h"
#include "service/retention.h"
#include "stream/kafka_log.h"
#include "stream/mapping.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum rung_setting_kind {
    RUNG_SETTING_IS_TEXT,    /* a path, a URL, a list; NULL when empty */
    RUNG_SETTING_IS_ADDRESS, /* HOST:PORT, [IPv6]:PORT, unix:PATH; NULL: off */
    RUNG_SETTING_IS_NUMBER,  /* whole, within low and high */
    RUNG_SETTING_IS_SIZE,    /* 4096, 64KiB, 1MiB; "off" is UINT64_MAX if high is, "auto" is 0 */
    RUNG_SETTING_IS_TIME,    /* milliseconds: 250ms, 30s, 5m, 24h */
    RUNG_SETTING_IS_SWITCH,  /* on, off */
    RUNG_SETTING_IS_CHOICE,  /* the index of the word in the row's list */
    RUNG_SETTING_IS_RATE,    /* 100/s, 600/m, off */
    RUNG_SETTING_IS_SYNC,    /* always (0) or every=MS */
    RUNG_SETTING_IS_KEEP,    /* forever, off, or a time, a size or a share of the disk: 30d,10% */
} rung_setting_kind;

#define RUNG_SETTING_TYPE_TEXT    const char *
#define RUNG_SETTING_TYPE_ADDRESS const char *
#define RUNG_SETTING_TYPE_NUMBER  uint64_t
#define RUNG_SETTING_TYPE_SIZE    uint64_t
#define RUNG_SETTING_TYPE_TIME    uint64_t
#define RUNG_SETTING_TYPE_SWITCH  bool
#define RUNG_SETTING_TYPE_CHOICE  uint32_t
#define RUNG_SETTING_TYPE_RATE    rung_rate_limit
#define RUNG_SETTING_TYPE_SYNC    uint64_t
#define RUNG_SETTING_TYPE_KEEP    rung_retention

/* X(field, kind, name, flag, default, word for the value, low, high, help): numbers, sizes and times are within low and
 * high. The variable is named like the flag: --limits-body is RUNG_LIMITS_BODY. */
#define RUNG_SETTINGS(X)                                                                           \
    X(data, TEXT, "data", "--data", "", "DIR", 0, 0,                                               \
      "the data folder; without one nothing is stored")                                            \
    X(http, ADDRESS, "http", "--http", "127.0.0.1:7864", "ADDR:PORT", 0, 0,                        \
      "address of HTTP; port 0 picks a free one; or unix:PATH, off")                               \
    X(resp, ADDRESS, "resp", "--resp", "127.0.0.1:7865", "ADDR:PORT", 0, 0,                        \
      "address of the Redis protocol; likewise")                                                   \
    X(as_of, TEXT, "as_of", "--as-of", "", "TIME|SEQ", 0, 0,                                       \
      "show the data folder as it was then, beside the server that writes it; changes nothing")    \
    X(as_of_processes, NUMBER, "as_of.processes", "--as-of-processes", "2", "N", 0, 16,            \
      "helper processes for questions with as_of, one for each moment; 0: no such questions")      \
    X(as_of_memory, SIZE, "as_of.memory", "--as-of-memory", "auto", "SIZE", 1u << 20, UINT64_MAX,  \
      "memory of players and rankings in one helper; auto: a quarter of the machine's")            \
    X(as_of_idle_ms, TIME, "as_of.idle", "--as-of-idle", "60s", "TIME", 100, 86400000,             \
      "a helper that nobody asks for so long ends")                                                \
    X(as_of_wait_ms, TIME, "as_of.wait", "--as-of-wait", "2s", "TIME", 1, 60000,                   \
      "how long a question waits for its helper; then 503 as_of_building")                         \
    X(as_of_rate, RATE, "as_of.rate", "--as-of-rate", "60/m", "N/s", 0, 0,                         \
      "new helpers, whoever asks")                                                                 \
    X(as_of_since_ms, TIME, "as_of.since", "--as-of-since", "0s", "TIME", 0,                       \
      INT64_C(366) * 86400000, "with as_of: also keep the ranks of so long before, for movers")    \
    X(as_of_parent, NUMBER, "as_of.parent", "--as-of-parent", "0", "PID", 0, INT32_MAX,            \
      "of a helper that a server starts for as_of questions: ends with that process")              \
    X(reconcile_every_ms, TIME, "reconcile.every", "--reconcile-every", "24h", "TIME", 0,          \
      INT64_C(366) * 86400000,                                                                     \
      "how often to compare log, snapshots, archive and state, slowly; 0s: never")                 \
    X(archive, TEXT, "archive", "--archive", "", "URL", 0, 0,                                      \
      "sqlite:FILE, postgres://... or off; default: archive.db in the data folder")                \
    X(archive_keep_ms, TIME, "archive.keep", "--archive-keep", "0s", "TIME", 0,                    \
      INT64_C(3153600000000), "how long the archive keeps events and closed windows; 0s: forever") \
    X(log, TEXT, "log", "--log", "local", "URL", 0, 0,                                             \
      "where events are ordered and stored: local (the data folder), or kafka://HOST:PORT/TOPIC")  \
    X(heartbeat_ms, TIME, "log.heartbeat", "--log-heartbeat", "10s", "TIME", 100, 3600000,         \
      "how often servers of a shared log report to each other, at least; the same on all")         \
    X(advertise, TEXT, "log.advertise", "--log-advertise", "", "ADDR:PORT", 0, 0,                  \
      "the address of HTTP to tell the other servers; default: the one that is listened on")       \
    X(kafka_replication, NUMBER, "log.kafka.replication", "--log-kafka-replication", "3", "N", 1,  \
      32, "replicas of the topic, if the server creates it")                                       \
    X(kafka_min_isr, NUMBER, "log.kafka.min_isr", "--log-kafka-min-isr", "0", "N", 0, 32,          \
      "replicas that a write waits for; 0: all but one, or both of two")                           \
    X(kafka_accept_unsafe, SWITCH, "log.kafka.accept_unsafe", "--log-kafka-accept-unsafe", "off",  \
      "on|off", 0, 0, "use a topic whose settings may lose records")                               \
    X(kafka_timeout_ms, TIME, "log.kafka.timeout", "--log-kafka-timeout", "10s", "TIME", 100,      \
      600000, "how long a write waits for the brokers; then it is answered 503")                   \
    X(kafka_compression, CHOICE, "log.kafka.compression", "--log-kafka-compression", "none",       \
      "none|lz4|zstd|snappy|gzip", 0, 0, "compression of the records")                             \
    X(kafka_tls, SWITCH, "log.kafka.tls", "--log-kafka-tls", "off", "on|off", 0, 0,                \
      "encrypt the connections to the brokers")                                                    \
    X(kafka_tls_ca, TEXT, "log.kafka.tls_ca", "--log-kafka-tls-ca", "", "FILE", 0, 0,              \
      "authorities of the brokers' certificates, PEM; default: the system's")                      \
    X(kafka_tls_cert, TEXT, "log.kafka.tls_cert", "--log-kafka-tls-cert", "", "FILE", 0, 0,        \
      "certificate of this client, PEM")                                                           \
    X(kafka_tls_key, TEXT, "log.kafka.tls_key", "--log-kafka-tls-key", "", "FILE", 0, 0,           \
      "its private key, PEM")                                                                      \
    X(kafka_sasl, CHOICE, "log.kafka.sasl", "--log-kafka-sasl", "off",                             \
      "off|plain|scram-sha-256|scram-sha-512", 0, 0,                                               \
      "log in to the brokers with user and password")                                              \
    X(kafka_user, TEXT, "log.kafka.user", "--log-kafka-user", "", "NAME", 0, 0,                    \
      "the user for SASL")                                                                         \
    X(kafka_password_file, TEXT, "log.kafka.password_file", "--log-kafka-password-file", "",       \
      "FILE", 0, 0, "file with the password for SASL")                                             \
    X(feed_topic, TEXT, "feed.topic", "--feed-topic", "", "TOPIC", 0, 0,                           \
      "Kafka topic to publish every change of a standing to; default: none")                       \
    X(feed_brokers, TEXT, "feed.brokers", "--feed-brokers", "", "HOST:PORT,...", 0, 0,             \
      "its brokers; default: those of log. log.kafka.* says how to reach them")                    \
    X(feed_boards, TEXT, "feed.boards", "--feed-boards", "", "LIST", 0, 0,                         \
      "the boards that it is about: race-*,weekly; default: all")                                  \
    X(feed_start, CHOICE, "feed.start", "--feed-start", "now", "now|first", 0, 0,                  \
      "where an empty topic begins: with the next change, or the first one that the log has")      \
    X(feed_partitions, NUMBER, "feed.partitions", "--feed-partitions", "6", "N", 1, 1024,          \
      "partitions of the topic, if the server creates it")                                         \
    X(feed_memory, SIZE, "feed.memory", "--feed-memory", "32MiB", "SIZE", 1u << 16,                \
      (uint64_t)1 << 40, "memory for changes that are not published; others are replayed")         \
    X(feed_keep_ms, TIME, "feed.keep", "--feed-keep", "24h", "TIME", 1000, INT64_C(3153600000000), \
      "how long snapshots and the log wait for a feed that is behind")                             \
    X(peers, TEXT, "peers", "--peers", "", "URL,...", 0, 0,                                        \
      "other servers on the same log: an empty data folder begins with the snapshot of one")       \
    X(peers_key_file, TEXT, "peers.key_file", "--peers-key-file", "", "FILE", 0, 0,                \
      "file with an admin key of the peers")                                                       \
    X(ready_lag_max, NUMBER, "ready.lag_max", "--ready-lag-max", "10000", "N", 1, UINT32_MAX,      \
      "a starting server is ready when at most so many records of a shared log are not applied")   \
    X(log_keep, KEEP, "log.keep", "--log-keep", "30d,10%", "TIME,SIZE", 0, 0,                      \
      "how much of the log to keep: a time, a size or share of the disk, or both; forever; off")   \
    X(log_compress, SWITCH, "log.compress", "--log-compress", "on", "on|off", 0, 0,                \
      "compress the segments of the local log that are full")                                      \
    X(keys, TEXT, "keys", "--keys", "", "FILE", 0, 0,                                              \
      "the file of keys; default: keys in the data folder (rung keys create)")                     \
    X(allow_no_keys, SWITCH, "allow_no_keys", "--allow-no-keys", "off", "on|off", 0, 0,            \
      "start although the data folder lost its keys: everybody is an admin then")                  \
    X(public_boards, TEXT, "public", "--public", "", "LIST", 0, 0,                                 \
      "boards that anybody may read without a key: race-*,weekly")                                 \
    X(sync_every_ms, SYNC, "sync", "--sync", "always", "always|every=MS", 0, 0,                    \
      "answer after a sync, or sync every MS milliseconds")                                        \
    X(gzip, SWITCH, "gzip", "--gzip", "on", "on|off", 0, 0,                                        \
      "compress answers for clients that accept it")                                               \
    X(metrics, SWITCH, "metrics", "--metrics", "on", "on|off", 0, 0, "serve /metrics")             \
    X(stop_timeout_ms, TIME, "stop_timeout", "--stop-timeout", "10s", "TIME", 100, 3600000,        \
      "how long a stopping server waits for requests in flight")                                   \
    X(stop_delay_ms, TIME, "stop_delay", "--stop-delay", "0s", "TIME", 0, 3600000,                 \
      "how long it serves on before that, with /readyz 503, so that a load balancer notices")      \
    X(tls_cert, TEXT, "tls.cert", "--tls-cert", "", "FILE", 0, 0,                                  \
      "certificate chain, PEM; SIGHUP reloads it")                                                 \
    X(tls_key, TEXT, "tls.key", "--tls-key", "", "FILE", 0, 0,                                     \
      "private key of the certificate, PEM; SIGHUP reloads it")                                    \
    X(cors_origins, TEXT, "cors.origins", "--cors-origins", "", "LIST", 0, 0,                      \
      "web pages allowed to call the API: https://game.example,... or *")                          \
    X(connections_max, NUMBER, "limits.connections", "--limits-connections", "10000", "N", 1,      \
      1000000, "open connections on all ports; more are refused")                                  \
    X(per_address_max, NUMBER, "limits.connections_per_address",                                   \
      "--limits-connections-per-address", "0", "N", 0, 1000000,                                    \
      "connections from one address (IPv6: one /64); 0: a quarter of all, this machine unlimited") \
    X(trusted_proxies, TEXT, "trusted_proxies", "--trusted-proxies", "", "LIST", 0, 0,             \
      "proxies that say whom they speak for: 10.0.0.0/8,192.0.2.1,unix; all others are not heard") \
    X(proxy_header, CHOICE, "proxy.header", "--proxy-header", "x-forwarded-for",                   \
      "x-forwarded-for|forwarded|off", 0, 0, "the header of HTTP in which they say it")            \
    X(proxy_protocol, SWITCH, "proxy.protocol", "--proxy-protocol", "off", "on|off", 0, 0,         \
      "their connections, on all ports, begin with a header of the PROXY protocol, version 2")     \
    X(buffers_max, SIZE, "limits.buffers", "--limits-buffers", "48MiB", "SIZE", 1u << 20,          \
      (uint64_t)1 << 40,                                                                           \
      "memory for requests, queued commands and answers; beyond it the largest are closed")        \
    X(body_max, SIZE, "limits.body", "--limits-body", "8MiB", "SIZE", 1024, 8u << 20,              \
      "body of a request; of a streamed batch, one line")                                          \
    X(in_flight_max, NUMBER, "limits.in_flight", "--limits-in-flight", "16384", "N", 16, 1048576,  \
      "requests in flight on all connections; more get 503")                                       \
    X(waiting_max, NUMBER, "limits.waiting", "--limits-waiting", "65536", "N", 16, 16777216,       \
      "changes waiting for the disk; more get 503")                                                \
    X(work_max, NUMBER, "limits.work", "--limits-work", "1000000", "N", 1000, UINT32_MAX,          \
      "members that one Redis command may visit; a million takes about 50 ms")                     \
    X(header_timeout_ms, TIME, "limits.header_timeout", "--limits-header-timeout", "10s", "TIME",  \
      100, 86400000, "from the first byte of a request to the end of its headers")                 \
    X(body_timeout_ms, TIME, "limits.body_timeout", "--limits-body-timeout", "10s", "TIME", 100,   \
      86400000, "for the body of a request, plus one second per 500 bytes")                        \
    X(body_deadline_ms, TIME, "limits.body_deadline", "--limits-body-deadline", "60s", "TIME",     \
      100, 86400000, "for the body in any case; for a streamed batch, between two pieces")         \
    X(auth_timeout_ms, TIME, "limits.auth_timeout", "--limits-auth-timeout", "10s", "TIME", 100,   \
      86400000, "Redis protocol: until AUTH, if there are keys")                                   \
    X(command_timeout_ms, TIME, "limits.command_timeout", "--limits-command-timeout", "10s",       \
      "TIME", 100, 86400000, "Redis protocol: for one command, plus one second per 64 KiB")        \
    X(idle_timeout_ms, TIME, "limits.idle_timeout", "--limits-idle-timeout", "75s", "TIME", 100,   \
      86400000, "between two requests; Redis protocol: in MULTI, or when connections are scarce")  \
    X(write_timeout_ms, TIME, "limits.write_timeout", "--limits-write-timeout", "30s", "TIME",     \
      100, 86400000, "for a client that does not read its answer")                                 \
    X(at_ahead_ms, TIME, "limits.at_ahead", "--limits-at-ahead", "1m", "TIME", 1,                  \
      INT64_C(3153600000000), "how far in the future the time of a submission (at) may be")        \
    X(signature_window_ms, TIME, "limits.signature_window", "--limits-signature-window", "5m",     \
      "TIME", 1000, 3600000,                                                                       \
      "how far the time that a player signed may be from the server's, in new sessions")           \
    X(rate_key, RATE, "rates.key", "--rates-key", "off", "N/s", 0, 0,                              \
      "requests per key: 500/s, 600/m, off")                                                       \
    X(rate_player, RATE, "rates.player", "--rates-player", "off", "N/s", 0, 0,                     \
      "requests per player's tokens, and submissions per player")                                  \
    X(rate_peer, RATE, "rates.peer", "--rates-peer", "off", "N/s", 0, 0,                           \
      "requests per address, without a key")                                                       \
    X(rate_address, RATE, "rates.address", "--rates-address", "off", "N/s", 0, 0,                  \
      "requests per address, with or without a key; not of keys that have a rate of their own")    \
    X(rate_submissions, RATE, "rates.address_submissions", "--rates-address-submissions", "off",   \
      "N/s", 0, 0, "submissions per address, likewise; a batch counts each")                       \
    X(id_capacity, NUMBER, "ids.capacity", "--ids-capacity", "1000000", "N", 1, UINT32_MAX,        \
      "submission ids remembered; a folder keeps its value until told otherwise")                  \
    X(id_keep_ms, TIME, "ids.keep", "--ids-keep", "24h", "TIME", 1000, INT64_C(3153600000000),     \
      "how long at least; likewise")                                                               \
    X(snapshot_every, SIZE, "snapshot.every", "--snapshot-every", "256MiB", "SIZE", 1u << 20,      \
      UINT64_MAX, "bytes of log between snapshots, at least; off: only on request")                \
    X(recovery_target_ms, TIME, "recovery.target", "--recovery-target", "15s", "TIME", 0,          \
      86400000,                                                                                    \
      "a snapshot is due when replaying the log would take so long; 0s: by snapshot.every alone")  \
    X(max_jump_ms, TIME, "clock.max_jump", "--clock-max-jump", "5m", "TIME", 1000,                 \
      INT64_C(3153600000000), "a larger jump of the wall clock waits for rung clock accept")       \
    X(memory_max, SIZE, "memory.max", "--memory-max", "auto", "SIZE", 1u << 20, UINT64_MAX,        \
      "memory of players and rankings; when full, only removals; auto: by the machine")            \
    X(live_frames, NUMBER, "live.frames", "--live-frames", "10", "N", 1, 60,                       \
      "live updates per second, at most")                                                          \
    X(live_viewers, NUMBER, "live.viewers", "--live-viewers", "20000", "N", 2, 1000000,            \
      "live viewers; more, or more than half from one address, get 503")                           \
    X(live_topics, NUMBER, "live.topics", "--live-topics", "10000", "N", 2, 1000000,               \
      "different live queries; likewise")                                                          \
    X(log_format, CHOICE, "logging.format", "--logging-format", "text", "text|json", 0, 0,         \
      "format of the server's log on standard error")                                              \
    X(log_level, CHOICE, "logging.level", "--logging-level", "info", "debug|info|warning|error",   \
      0, 0, "the least severe lines to write")

typedef enum rung_setting_id {
#define X(field, ...) RUNG_SETTING_##field,
    RUNG_SETTINGS(X)
#undef X
        RUNG_SETTING_COUNT
} rung_setting_id;

typedef struct rung_setting {
    rung_setting_kind kind;
    const char *name, *flag, *fallback, *word, *help;
    uint64_t low, high;
    size_t offset; /* of its field in rung_settings */
} rung_setting;

extern const rung_setting rung_setting_table[RUNG_SETTING_COUNT];

/* The first member of the struct of a command that takes settings. Its options begin with RUNG_SETTING_OPTIONS. */
typedef struct rung_setting_flags {
    const char *config;                    /* the file; NULL: not given */
    const char *flags[RUNG_SETTING_COUNT]; /* NULL: not given */
} rung_setting_flags;

#define RUNG_SETTING_OPTION(field, kind, name, flag, fallback, word, low, high, help)              \
    RUNG_OPTION_TEXT(rung_setting_flags, flags[RUNG_SETTING_##field], flag, word, help),
#define RUNG_SETTING_OPTIONS                                                                       \
    RUNG_OPTION_TEXT(rung_setting_flags, config, "--config", "FILE",                               \
                     "the configuration file (or RUNG_CONFIG)"),                                   \
        RUNG_SETTINGS(RUNG_SETTING_OPTION)

typedef enum rung_setting_source {
    RUNG_SETTING_FROM_DEFAULT,
    RUNG_SETTING_FROM_FILE,
    RUNG_SETTING_FROM_ENVIRONMENT,
    RUNG_SETTING_FROM_FLAG,
} rung_setting_source;

/* A section [ingest.NAME]. */
typedef struct rung_ingest_settings {
    char name[RUNG_INGEST_NAME_MAX + 1];
#define X(field, kind, ...) RUNG_SETTING_TYPE_##kind field;
    RUNG_INGEST_SETTINGS(X)
#undef X
    const char *texts[RUNG_INGEST_SETTING_COUNT]; /* as they were given */
    uint32_t lines[RUNG_INGEST_SETTING_COUNT];    /* 0: not given */
} rung_ingest_settings;

/* The settings, parsed. Texts borrow from the file's text inside, from the environment and from the flags. */
typedef struct rung_settings {
#define X(field, kind, ...) RUNG_SETTING_TYPE_##kind field;
    RUNG_SETTINGS(X)
#undef X
    const char *texts[RUNG_SETTING_COUNT]; /* as they were given */
    rung_setting_source sources[RUNG_SETTING_COUNT];
    uint32_t lines[RUNG_SETTING_COUNT]; /* of the file */
    rung_ingest_settings ingests[RUNG_INGESTS_MAX];
    uint32_t ingest_count;
    const char *file; /* NULL: none */
    char *file_text;  /* ours */
    size_t file_size;
} rung_settings;

typedef struct rung_settings_sources {
    const char *file;                     /* NULL: RUNG_CONFIG of the environment, or none */
    const char *(*env)(const char *name); /* NULL: there is no environment */
    const char *const *flags;             /* RUNG_SETTING_COUNT of them; NULL: none */
} rung_settings_sources;

/* Read all sources and check the settings, each and together. RUNG_OK, or RUNG_EINVAL / RUNG_EABSENT / RUNG_EIO with
 * the place and the setting in `err`; its reason is RUNG_REASON_FLAG if a flag is wrong. Deinit in any case. */
RUNG_NODISCARD rung_status rung_settings_load(rung_settings *s, const rung_settings_sources *from,
                                              rung_err *err);
void rung_settings_deinit(rung_settings *s);

/* The same, from a command's flags and this process's environment. */
RUNG_NODISCARD rung_status rung_settings_load_flags(rung_settings *s,
                                                    const rung_setting_flags *flags, rung_err *err);

/* Where the keys are: the setting, or keys in the data folder. NULL: nowhere. May return `out`. */
const char *rung_settings_keys_path(const rung_settings *s, char *out, size_t size);

/* Without keys, everybody who can connect may do everything: RUNG_EREFUSED for an address that other machines reach. */
RUNG_NODISCARD rung_status rung_settings_check_reach(const rung_settings *s,
                                                     const rung_access *access, rung_err *err);

/* The variable of a setting: "RUNG_HTTP". Returns `out`. */
enum { RUNG_SETTING_ENV_MAX = 64 };
const char *rung_setting_env(rung_setting_id id, char out[RUNG_SETTING_ENV_MAX]);

/* "default", "rung.conf:12", "RUNG_HTTP", "--http". Returns `out`. */
const char *rung_setting_origin(const rung_settings *s, rung_setting_id id, char *out, size_t size);

/* Parse a value of a row into its field; false: it is not valid, and the second function says what was expected. */
enum { RUNG_SETTING_EXPECTED_MAX = 96 };
bool rung_setting_parse(const rung_setting *row, const char *text, void *field);
const char *rung_setting_expectation(const rung_setting *row, char out[RUNG_SETTING_EXPECTED_MAX]);

/* "250ms", "30s", "5m", "24h", "90d" in milliseconds; false: none of these. */
bool rung_setting_parse_time(const char *text, uint64_t *ms_out);

/* ---- sections [ingest.NAME] (config_ingest.c) ---- */

extern const rung_setting rung_ingest_setting_table[RUNG_INGEST_SETTING_COUNT];

/* Set "ingest.NAME.KEY" as line `line` of the file gives it; a new NAME begins a section. */
RUNG_NODISCARD rung_status rung__ingest_setting_set(rung_settings *s, const char *name,
                                                    const char *value, uint32_t line,
                                                    rung_err *err);
/* Begin a section if its name is one: "ingest.plays." */
bool rung__ingest_open(rung_settings *s, const char *dotted);
/* All sections, each and together. */
RUNG_NODISCARD rung_status rung__ingest_settings_check(const rung_settings *s, rung_err *err);

/* The mapping; borrows from the settings. */
RUNG_NODISCARD rung_status rung_ingest_settings_mapping(const rung_ingest_settings *set,
                                                        rung_mapping *out, rung_err *err);
/* The setting, or what it is by default. Each returns `out` or a text of the settings. */
const char *rung_ingest_settings_group(const rung_ingest_settings *set,
                                       char out[RUNG_INGEST_NAME_MAX + 8]);
const char *rung_ingest_settings_dead_letters(const rung_ingest_settings *set,
                                              char out[RUNG_KAFKA_TOPIC_MAX + 8]);

enum { RUNG_CONFIG_FILE_MAX = 64 << 10 };

#endif
