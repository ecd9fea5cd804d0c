/* SPDX-License-Identifier: Apache-2.0 */
/* kafka.h - the settings log.kafka.* as the configuration of a log in a topic; TLS and SASL of any connection to
 * brokers. Private to the room. */
#ifndef RUNG_APP_KAFKA_H
#define RUNG_APP_KAFKA_H

#include "app/config.h"
#include "stream/kafka_log.h"

#include <stddef.h>

enum { RUNG__KAFKA_OPTIONS = 8 };

/* What the configuration borrows. */
typedef struct rung__kafka {
    rung_kafka_url url;
    rung_kafka_option options[RUNG__KAFKA_OPTIONS];
    size_t option_count;
    char password[256];
} rung__kafka;

/* TLS and SASL of connections to brokers, as settings have them. */
typedef struct rung__kafka_security {
    bool tls;
    const char *tls_ca, *tls_cert, *tls_key;
    uint32_t sasl;
    const char *user, *password_file;
} rung__kafka_security;

/* Options for librdkafka in `k`, replacing those before. `field` names the setting of the password's file. */
RUNG_NODISCARD rung_status rung__kafka_secure(rung__kafka *k, const rung__kafka_security *security,
                                              const char *field, rung_err *err);

/* `url` is kafka://HOST:PORT,...[/TOPIC]. The configuration borrows from `k` and `set`. RUNG_EINVAL: the URL;
 * RUNG_EABSENT: a file that the settings name. */
RUNG_NODISCARD rung_status rung__kafka_configure(rung__kafka *k, const rung_settings *set,
                                                 const char *url, rung_kafka_config *config_out,
                                                 rung_err *err);

#endif
