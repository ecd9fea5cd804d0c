/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the settings of a server: one table, from which the file, the environment and the flags are read, and
 * from which help, man page, docs/configuration.md and `rung config` are made.
 *
 * Where a setting is given more than once: flag before environment before file before default. Within the file a
 * name may come once. Nothing is guessed: what is not known or not right is refused, naming the place
 * ("rung.conf:12", "RUNG_SYNC", "--sync"), the setting and what was expected; also where another source would have
 * won.
 *
 *     # a comment                     a name has at most one dot; [section] puts "section." before the names after it
 *     data = /var/lib/rung
 *     [limits]
 *     body = 1MiB                     the setting limits.body
 *     idle_timeout = "75s"            in double quotes a value may hold " #" or outer blanks; nothing else is special
 *
 * One thread; no globals. */
#ifndef RUNG_APP_CONFIG_H
#define RUNG_APP_CONFIG_H

#include "base/status.h"
#include "cli/options.h"
#include "guard/rate.h"
#include "service/access.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum rung_setting_kind {
    RUNG_SETTING_IS_TEXT,    /* a path, a URL, a list; NULL when empty */
    RUNG_SETTING_IS_ADDRESS, /* HOST:PORT, [IPv6]:PORT, unix:PATH; NULL: off */
    RUNG_SETTING_IS_NUMBER,  /* whole, within low and high */
    RUNG_SETTING_IS_SIZE, /* bytes: 4096, 64KiB, 1MiB, 2GiB; "off" is UINT64_MAX where high is, "auto"
                               0 where it is the default */
    RUNG_SETTING_IS_TIME,   /* milliseconds: 250ms, 30s, 5m, 24h */
    RUNG_SETTING_IS_SWITCH, /* on, off */
    RUNG_SETTING_IS_CHOICE, /* the place of the word in the row's list of words */
    RUNG_SETTING_IS_RATE,   /* 100/s, 600/m, off */
    RUNG_SETTING_IS_SYNC,   /* always (0) or every=MS */
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

/* X(field, kind, name, flag, environment, default, word for the value, low, high, help): numbers, sizes and times lie
 * within low and high. */
#define RUNG_SETTINGS(X)                                                                           \
    X(data, TEXT, "data", "--data", "RUNG_DATA", "", "DIR", 0, 0,                                  \
      "the data folder; without one nothing is kept")                                              \
    X(http, ADDRESS, "http", "--http", "RUNG_HTTP", "127.0.0.1:7864", "ADDR:PORT", 0, 0,           \
      "where HTTP is spoken; port 0 picks a free one; unix:PATH; off")                             \
    X(resp, ADDRESS, "resp", "--resp", "RUNG_RESP", "127.0.0.1:7865", "ADDR:PORT", 0, 0,           \
      "where the Redis protocol is spoken; as above")                                              \
    X(archive, TEXT, "archive", "--archive", "RUNG_ARCHIVE", "", "URL", 0, 0,                      \
      "sqlite:FILE, or off; by default archive.db in the data folder")                             \
    X(log, TEXT, "log", "--log", "RUNG_LOG", "local", "URL", 0, 0,                                 \
      "where events are ordered and kept: local, the data folder")                                 \
    X(keys, TEXT, "keys", "--keys", "RUNG_KEYS", "", "FILE", 0, 0,                                 \
      "the file of keys; by default keys in the data folder (rung keys create)")                   \
    X(allow_no_keys, SWITCH, "allow_no_keys", "--allow-no-keys", "RUNG_ALLOW_NO_KEYS", "off",      \
      "on|off", 0, 0,                                                                              \
      "start without keys although the data folder has had some: everybody is an admin then")      \
    X(public_boards, TEXT, "public", "--public", "RUNG_PUBLIC", "", "LIST", 0, 0,                  \
      "boards that anybody may read without a key: race-*,weekly")                                 \
    X(sync_every_ms, SYNC, "sync", "--sync", "RUNG_SYNC", "always", "always|every=MS", 0, 0,       \
      "when an answer may be given: synced, or written and synced every MS milliseconds")          \
    X(gzip, SWITCH, "gzip", "--gzip", "RUNG_GZIP", "on", "on|off", 0, 0,                           \
      "compress answers for clients that ask for it")                                              \
    X(metrics, SWITCH, "metrics", "--metrics", "RUNG_METRICS", "on", "on|off", 0, 0,               \
      "serve /metrics")                                                                            \
    X(stop_timeout_ms, TIME, "stop_timeout", "--stop-timeout", "RUNG_STOP_TIMEOUT", "10s", "TIME", \
      100, 3600000, "how long a stopping server waits for requests under way")                     \
    X(tls_cert, TEXT, "tls.cert", "--tls-cert", "RUNG_TLS_CERT", "", "FILE", 0, 0,                 \
      "certificate chain, PEM; SIGHUP reads it again")                                             \
    X(tls_key, TEXT, "tls.key", "--tls-key", "RUNG_TLS_KEY", "", "FILE", 0, 0,                     \
      "its private key, PEM; SIGHUP reads it again")                                               \
    X(cors_origins, TEXT, "cors.origins", "--cors-origins", "RUNG_CORS_ORIGINS", "", "LIST", 0, 0, \
      "web pages that may ask from a browser: https://game.example,... or *")                      \
    X(connections_max, NUMBER, "limits.connections", "--limits-connections",                       \
      "RUNG_LIMITS_CONNECTIONS", "10000", "N", 1, 1000000,                                         \
      "open connections, all ports together; more are turned away")                                \
    X(per_address_max, NUMBER, "limits.connections_per_address",                                   \
      "--limits-connections-per-address", "RUNG_LIMITS_CONNECTIONS_PER_ADDRESS", "0", "N", 0,      \
      1000000,                                                                                     \
      "connections from one address (IPv6: one /64); 0: a quarter, and no limit for this machine") \
    X(buffers_max, SIZE, "limits.buffers", "--limits-buffers", "RUNG_LIMITS_BUFFERS", "48MiB",     \
      "SIZE", 1u << 20, (uint64_t)1 << 40,                                                         \
      "what all connections hold: requests, queued commands, answers; then the largest are cut "   \
      "off")                                                                                       \
    X(body_max, SIZE, "limits.body", "--limits-body", "RUNG_LIMITS_BODY", "8MiB", "SIZE", 1024,    \
      8u << 20, "the body of one request; streamed batches are limited per line instead")          \
    X(in_flight_max, NUMBER, "limits.in_flight", "--limits-in-flight", "RUNG_LIMITS_IN_FLIGHT",    \
      "16384", "N", 16, 1048576, "requests under way on all connections; more are answered 503")   \
    X(waiting_max, NUMBER, "limits.waiting", "--limits-waiting", "RUNG_LIMITS_WAITING", "65536",   \
      "N", 16, 16777216, "changes waiting for the disk; more are answered 503")                    \
    X(work_max, NUMBER, "limits.work", "--limits-work", "RUNG_LIMITS_WORK", "1000000", "N", 1000,  \
      UINT32_MAX, "members that one Redis command may look at; a million takes some 50 ms")        \
    X(header_timeout_ms, TIME, "limits.header_timeout", "--limits-header-timeout",                 \
      "RUNG_LIMITS_HEADER_TIMEOUT", "10s", "TIME", 100, 86400000,                                  \
      "from the first byte of a request to the end of its headers")                                \
    X(body_timeout_ms, TIME, "limits.body_timeout", "--limits-body-timeout",                       \
      "RUNG_LIMITS_BODY_TIMEOUT", "10s", "TIME", 100, 86400000,                                    \
      "for the body of a request, and a second more for every 500 bytes")                          \
    X(body_deadline_ms, TIME, "limits.body_deadline", "--limits-body-deadline",                    \
      "RUNG_LIMITS_BODY_DEADLINE", "60s", "TIME", 100, 86400000,                                   \
      "but never longer than this; a streamed batch: between two pieces of it")                    \
    X(auth_timeout_ms, TIME, "limits.auth_timeout", "--limits-auth-timeout",                       \
      "RUNG_LIMITS_AUTH_TIMEOUT", "10s", "TIME", 100, 86400000,                                    \
      "a connection of the Redis protocol until AUTH, where there are keys")                       \
    X(command_timeout_ms, TIME, "limits.command_timeout", "--limits-command-timeout",              \
      "RUNG_LIMITS_COMMAND_TIMEOUT", "10s", "TIME", 100, 86400000,                                 \
      "for one command of the Redis protocol, and a second more for every 64 KiB")                 \
    X(idle_timeout_ms, TIME, "limits.idle_timeout", "--limits-idle-timeout",                       \
      "RUNG_LIMITS_IDLE_TIMEOUT", "75s", "TIME", 100, 86400000,                                    \
      "a connection between two requests; of the Redis protocol in MULTI, or when few are left")   \
    X(write_timeout_ms, TIME, "limits.write_timeout", "--limits-write-timeout",                    \
      "RUNG_LIMITS_WRITE_TIMEOUT", "30s", "TIME", 100, 86400000,                                   \
      "a client that does not take its answer")                                                    \
    X(at_ahead_ms, TIME, "limits.at_ahead", "--limits-at-ahead", "RUNG_LIMITS_AT_AHEAD", "1m",     \
      "TIME", 1, INT64_C(3153600000000),                                                           \
      "how far ahead of now the time of a submission (at) may lie; further is refused")            \
    X(rate_key, RATE, "rates.key", "--rates-key", "RUNG_RATES_KEY", "off", "N/s", 0, 0,            \
      "requests with one key: 500/s, 600/m, off")                                                  \
    X(rate_player, RATE, "rates.player", "--rates-player", "RUNG_RATES_PLAYER", "off", "N/s", 0,   \
      0, "requests with one player's tokens, and submissions for one player")                      \
    X(rate_peer, RATE, "rates.peer", "--rates-peer", "RUNG_RATES_PEER", "off", "N/s", 0, 0,        \
      "requests from one address without a key")                                                   \
    X(id_capacity, NUMBER, "ids.capacity", "--ids-capacity", "RUNG_IDS_CAPACITY", "1000000", "N",  \
      1, UINT32_MAX, "submission ids remembered; a folder keeps to its own until told otherwise")  \
    X(id_keep_ms, TIME, "ids.keep", "--ids-keep", "RUNG_IDS_KEEP", "24h", "TIME", 1000,            \
      INT64_C(3153600000000), "and for how long, at least; likewise")                              \
    X(snapshot_every, SIZE, "snapshot.every", "--snapshot-every", "RUNG_SNAPSHOT_EVERY", "256MiB", \
      "SIZE", 1u << 20, UINT64_MAX,                                                                \
      "bytes of log between snapshots, at least; off: only when asked")                            \
    X(max_jump_ms, TIME, "clock.max_jump", "--clock-max-jump", "RUNG_CLOCK_MAX_JUMP", "5m",        \
      "TIME", 1000, INT64_C(3153600000000),                                                        \
      "a wall clock that jumps further ahead is not followed until rung clock accept")             \
    X(memory_max, SIZE, "memory.max", "--memory-max", "RUNG_MEMORY_MAX", "auto", "SIZE", 1u << 20, \
      UINT64_MAX,                                                                                  \
      "memory of players and rankings; then only what removes is accepted; auto: from the "        \
      "machine's")                                                                                 \
    X(live_frames, NUMBER, "live.frames", "--live-frames", "RUNG_LIVE_FRAMES", "10", "N", 1, 60,   \
      "live updates per second at most")                                                           \
    X(live_viewers, NUMBER, "live.viewers", "--live-viewers", "RUNG_LIVE_VIEWERS", "20000", "N",   \
      2, 1000000, "viewers of live topics; more, or more than half from one, are answered 503")    \
    X(live_topics, NUMBER, "live.topics", "--live-topics", "RUNG_LIVE_TOPICS", "10000", "N", 2,    \
      1000000, "different questions being watched; likewise")                                      \
    X(log_format, CHOICE, "logging.format", "--logging-format", "RUNG_LOGGING_FORMAT", "text",     \
      "text|json", 0, 0, "how the server's own lines on standard error look")                      \
    X(log_level, CHOICE, "logging.level", "--logging-level", "RUNG_LOGGING_LEVEL", "info",         \
      "debug|info|warning|error", 0, 0, "and which of them are written")

typedef enum rung_setting_id {
#define X(field, ...) RUNG_SETTING_##field,
    RUNG_SETTINGS(X)
#undef X
        RUNG_SETTING_COUNT
} rung_setting_id;

typedef struct rung_setting {
    rung_setting_kind kind;
    const char *name, *flag, *env, *fallback, *word, *help;
    uint64_t low, high;
    size_t offset; /* of its field in rung_settings */
} rung_setting;

extern const rung_setting rung_setting_table[RUNG_SETTING_COUNT];

/* What a command that takes settings reads from its words: the first member of its own struct. Its table of options
 * begins with RUNG_SETTING_OPTIONS. */
typedef struct rung_setting_flags {
    const char *config;                    /* the file; NULL: not given */
    const char *flags[RUNG_SETTING_COUNT]; /* NULL: not given */
} rung_setting_flags;

#define RUNG_SETTING_OPTION(field, kind, name, flag, env, fallback, word, low, high, help)         \
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

/* The settings, parsed. Texts borrow from the file's text inside, from the environment and from the flags. */
typedef struct rung_settings {
#define X(field, kind, ...) RUNG_SETTING_TYPE_##kind field;
    RUNG_SETTINGS(X)
#undef X
    const char *texts[RUNG_SETTING_COUNT]; /* as they were given */
    rung_setting_source sources[RUNG_SETTING_COUNT];
    uint32_t lines[RUNG_SETTING_COUNT]; /* of the file */
    const char *file;                   /* NULL: none */
    char *file_text;                    /* ours */
    size_t file_size;
} rung_settings;

typedef struct rung_settings_sources {
    const char *file;                     /* NULL: RUNG_CONFIG of the environment, or none */
    const char *(*env)(const char *name); /* NULL: there is no environment */
    const char *const *flags;             /* RUNG_SETTING_COUNT of them; NULL: none */
} rung_settings_sources;

/* Read all sources, check each setting and what they must agree on. RUNG_OK, or RUNG_EINVAL / RUNG_EABSENT / RUNG_EIO
 * with the place and the setting in `err`; its reason is RUNG_REASON_FLAG if the command was used wrongly.
 * Deinit in any case. */
RUNG_NODISCARD rung_status rung_settings_load(rung_settings *s, const rung_settings_sources *from,
                                              rung_err *err);
void rung_settings_deinit(rung_settings *s);

/* The same from a command's flags and this process's environment. */
RUNG_NODISCARD rung_status rung_settings_load_flags(rung_settings *s,
                                                    const rung_setting_flags *flags, rung_err *err);

/* Where the keys are: the setting, or keys in the data folder. NULL: nowhere. May return `out`. */
const char *rung_settings_keys_path(const rung_settings *s, char *out, size_t size);

/* While there are no keys everybody who can connect may do everything, so nobody from elsewhere may: RUNG_EREFUSED for
 * an address that others reach, with how to make a key. */
RUNG_NODISCARD rung_status rung_settings_check_reach(const rung_settings *s,
                                                     const rung_access *access, rung_err *err);

/* "default", "rung.conf:12", "RUNG_HTTP", "--http". Returns `out`. */
const char *rung_setting_origin(const rung_settings *s, rung_setting_id id, char *out, size_t size);

/* "250ms", "30s", "5m", "24h", "90d" in milliseconds; false: none of these. */
bool rung_setting_parse_time(const char *text, uint64_t *ms_out);

enum { RUNG_CONFIG_FILE_MAX = 64 << 10 };

#endif
