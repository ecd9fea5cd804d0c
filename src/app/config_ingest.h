/* SPDX-License-Identifier: Apache-2.0 */
/* config_ingest.h - the settings of [ingest.NAME], one section for each foreign topic. Part of config.h; private to the
 * room.
 *
 *     [ingest.plays]
 *     topic = game-plays
 *     board = race
 *     player = $.user.id
 *     score = $.points
 *
 * They come from the file alone: there are no flags and variables for names that the operator chooses. */
#ifndef RUNG_APP_CONFIG_INGEST_H
#define RUNG_APP_CONFIG_INGEST_H

enum { RUNG_INGESTS_MAX = 16, RUNG_INGEST_NAME_MAX = 32 };

/* X(field, kind, name, default, word for the value, low, high, help), as RUNG_SETTINGS. */
#define RUNG_INGEST_SETTINGS(X)                                                                    \
    X(topic, TEXT, "topic", "", "TOPIC", 0, 0, "the topic to read; required")                      \
    X(brokers, TEXT, "brokers", "", "HOST:PORT,...", 0, 0,                                         \
      "its brokers; default: those of log, with its TLS and SASL settings")                        \
    X(group, TEXT, "group", "", "NAME", 0, 0,                                                      \
      "consumer group, shared by all servers of one log; default: rung-NAME")                      \
    X(dead_letters, TEXT, "dead_letters", "", "TOPIC", 0, 0,                                       \
      "topic for records that cannot be ingested; default: TOPIC.dead")                            \
    X(start, CHOICE, "start", "earliest", "earliest|latest", 0, 0,                                 \
      "where a group without committed offsets begins")                                            \
    X(board, TEXT, "board", "", "EXPRESSION", 0, 0, "the board; required")                         \
    X(player, TEXT, "player", "", "EXPRESSION", 0, 0, "the player; required, except with sides")   \
    X(sides, TEXT, "sides", "", "EXPRESSION", 0, 0,                                                \
      "the sides of a match, for rating boards; instead of player and score")                      \
    X(score, TEXT, "score", "", "EXPRESSION", 0, 0, "the score; this or delta")                    \
    X(delta, TEXT, "delta", "", "EXPRESSION", 0, 0, "what to add to the score")                    \
    X(columns, TEXT, "columns", "", "NAME: EXPRESSION, ...", 0, 0, "the board's further columns")  \
    X(at, TEXT, "at", "", "EXPRESSION", 0, 0, "when it happened; default: when it is ingested")    \
    X(id, TEXT, "id", "", "EXPRESSION", 0, 0,                                                      \
      "an id of the sender's own, if it may send something twice")                                 \
    X(meta, TEXT, "meta", "", "EXPRESSION", 0, 0, "kept with the event in log and archive")        \
    X(in_flight, NUMBER, "in_flight", "1024", "N", 1, 2048,                                        \
      "records submitted and not answered; 1: strictly one after the other")                       \
    X(session_ms, TIME, "session_timeout", "10s", "TIME", 1000, 300000,                            \
      "a server that is silent for so long loses its partitions to the others")                    \
    X(tls, SWITCH, "tls", "off", "on|off", 0, 0, "as log.kafka.tls, with brokers")                 \
    X(tls_ca, TEXT, "tls_ca", "", "FILE", 0, 0, "as log.kafka.tls_ca")                             \
    X(tls_cert, TEXT, "tls_cert", "", "FILE", 0, 0, "as log.kafka.tls_cert")                       \
    X(tls_key, TEXT, "tls_key", "", "FILE", 0, 0, "as log.kafka.tls_key")                          \
    X(sasl, CHOICE, "sasl", "off", "off|plain|scram-sha-256|scram-sha-512", 0, 0,                  \
      "as log.kafka.sasl")                                                                         \
    X(user, TEXT, "user", "", "NAME", 0, 0, "as log.kafka.user")                                   \
    X(password_file, TEXT, "password_file", "", "FILE", 0, 0, "as log.kafka.password_file")

typedef enum rung_ingest_setting_id {
#define X(field, ...) RUNG_INGEST_SETTING_##field,
    RUNG_INGEST_SETTINGS(X)
#undef X
        RUNG_INGEST_SETTING_COUNT
} rung_ingest_setting_id;

#endif
