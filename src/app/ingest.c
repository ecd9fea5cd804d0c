/* SPDX-License-Identifier: Apache-2.0 */
/* ingest.c - the sections [ingest.NAME]: started when the server is recovered, stopped before the hub is closed, and
 * turned by one task of the loop. */
#include "app/server.h"

#include "base/alloc.h"
#include "front/api/problem.h"

#include <string.h>

static const char *code_of(rung_status st, const rung_err *err) {
    return rung_problem_of(st, err).code;
}

static void on_wake(void *ctx) {
    rung__server *s = ctx;
    rung_loop_wake(s->loop, &s->ingest_turn);
}

static void turn(void *ctx) {
    const rung__server *s = ctx;
    rung_service service = {.hub = s->hub,
                            .alloc = rung_alloc_heap()}; /* no rates: it is the operator's own */
    for (uint32_t i = 0; i < s->settings.ingest_count; i++)
        if (s->ingests[i].ingest)
            rung_ingest_turn(s->ingests[i].ingest, &service);
}

static rung_status connect_like(rung__kafka *k, const rung_ingest_settings *set, rung_err *err) {
    const rung__kafka_security security = {.tls = set->tls,
                                           .tls_ca = set->tls_ca,
                                           .tls_cert = set->tls_cert,
                                           .tls_key = set->tls_key,
                                           .sasl = set->sasl,
                                           .user = set->user,
                                           .password_file = set->password_file};
    char field[RUNG_INGEST_NAME_MAX + 32];
    snprintf(field, sizeof field, "ingest.%s.password_file", set->name);
    return rung__kafka_secure(k, &security, field, err);
}

static rung_status start_one(rung__server *s, uint32_t i, rung_err *err) {
    const rung_ingest_settings *set = &s->settings.ingests[i];
    rung__ingest *own = &s->ingests[i];
    rung_status st = rung_ingest_settings_mapping(set, &own->mapping, err);
    if (st == RUNG_OK && set->brokers)
        st = connect_like(&own->kafka, set, err);
    if (st < 0)
        return st;
    const rung__kafka *kafka = set->brokers ? &own->kafka : &s->kafka;
    rung_ingest_config config = {
        .alloc = rung_alloc_heap(),
        .name = set->name,
        .brokers = set->brokers ? set->brokers : s->kafka.url.brokers,
        .topic = set->topic,
        .group = rung_ingest_settings_group(set, own->group),
        .dead_letters = rung_ingest_settings_dead_letters(set, own->dead_letters),
        .options = kafka->options,
        .option_count = kafka->option_count,
        .mapping = &own->mapping,
        .starts_at_end = set->start == 1,
        .in_flight_max = (uint32_t)set->in_flight,
        .session_ms = (uint32_t)set->session_ms,
        .clock = rung_clock_real(),
        .code = code_of,
        .wake = on_wake,
        .say = rung__server_say,
        .ctx = s,
    };
    return rung_ingest_start(&config, &own->ingest, err);
}

rung_status rung__server_start_ingests(rung__server *s, rung_err *err) {
    rung_status st = RUNG_OK;
    if (!s->settings.ingest_count)
        return RUNG_OK;
    s->ingest_turn = (rung_task){.run = turn, .ctx = s};
    rung_turn_add(&s->loop->turn, RUNG_PHASE_ANSWER, &s->ingest_turn);
    for (uint32_t i = 0; i < s->settings.ingest_count && st == RUNG_OK; i++)
        st = start_one(s, i, err);
    return st;
}

void rung__server_stop_ingests(rung__server *s) {
    for (uint32_t i = 0; i < s->settings.ingest_count; i++)
        if (s->ingests[i].ingest)
            rung_ingest_stop(s->ingests[i].ingest);
}

void rung__server_end_ingests(rung__server *s) {
    if (!s->settings.ingest_count)
        return;
    for (uint32_t i = 0; i < s->settings.ingest_count; i++) {
        rung_ingest_destroy(s->ingests[i].ingest);
        s->ingests[i].ingest = NULL;
    }
    rung_turn_remove(&s->loop->turn, &s->ingest_turn);
}

bool rung__server_ingest_stat(void *ctx, uint32_t i, rung_api_ingest_stat *out) {
    rung__server *s = ctx;
    rung_ingest_stats stats;
    rung_ingest_lag lags[RUNG_API_INGEST_LAGS_MAX];
    if (i >= s->settings.ingest_count || !s->ingests[i].ingest)
        return false;
    uint32_t count = rung_ingest_stat(s->ingests[i].ingest, &stats, lags, RUNG_API_INGEST_LAGS_MAX);
    *out = (rung_api_ingest_stat){.name = s->settings.ingests[i].name,
                                  .records = stats.records,
                                  .applied = stats.applied,
                                  .duplicates = stats.duplicates,
                                  .dead_letters = stats.dead_letters,
                                  .retries = stats.retries,
                                  .in_flight = stats.in_flight,
                                  .stuck = stats.stuck,
                                  .stalled_ms = stats.stalled_ms,
                                  .lag_count = count};
    for (uint32_t k = 0; k < count; k++) {
        out->lags[k].partition = lags[k].partition;
        out->lags[k].records = lags[k].records;
    }
    return true;
}
