/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config_ingest.h"

#include "app/config.h"
#include "base/slice.h"
#include "stream/ingest.h"

#include <stdio.h>
#include <string.h>

static const char prefix[] = "ingest.";

const rung_setting rung_ingest_setting_table[RUNG_INGEST_SETTING_COUNT] = {
#define X(field, kind, name, fallback, word, low, high, help)                                      \
    {RUNG_SETTING_IS_##kind,                                                                       \
     name,                                                                                         \
     NULL,                                                                                         \
     fallback,                                                                                     \
     word,                                                                                         \
     help,                                                                                         \
     low,                                                                                          \
     high,                                                                                         \
     offsetof(rung_ingest_settings, field)},
    RUNG_INGEST_SETTINGS(X)
#undef X
};

/* ---- names ---- */

/* The length of NAME in "ingest.NAME."; 0: it is none. */
static size_t name_len(const char *dotted) {
    if (strncmp(dotted, prefix, sizeof prefix - 1) != 0)
        return 0;
    const char *name = dotted + sizeof prefix - 1;
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    return name[len] == '.' && len <= RUNG_INGEST_NAME_MAX ? len : 0;
}

static rung_ingest_settings *find(rung_settings *s, const char *name, size_t len) {
    for (uint32_t i = 0; i < s->ingest_count; i++)
        if (strlen(s->ingests[i].name) == len && memcmp(s->ingests[i].name, name, len) == 0)
            return &s->ingests[i];
    return NULL;
}

static rung_ingest_settings *add(rung_settings *s, const char *name, size_t len) {
    if (s->ingest_count == RUNG_INGESTS_MAX)
        return NULL;
    rung_ingest_settings *set = &s->ingests[s->ingest_count++];
    memcpy(set->name, name, len);
    for (size_t i = 0; i < RUNG_INGEST_SETTING_COUNT; i++) {
        const rung_setting *row = &rung_ingest_setting_table[i];
        set->texts[i] = row->fallback;
        rung_setting_parse(row, row->fallback, (char *)set + row->offset);
    }
    return set;
}

bool rung__ingest_open(rung_settings *s, const char *dotted) {
    size_t len = name_len(dotted);
    const char *name = dotted + sizeof prefix - 1;
    if (!len || name[len + 1] != '\0')
        return false;
    if (!find(s, name, len))
        add(s, name, len); /* one too many is refused with its first setting */
    return true;
}

rung_status rung__ingest_setting_set(rung_settings *s, const char *name, const char *value,
                                     uint32_t line, rung_err *err) {
    size_t len = name_len(name), id = 0;
    const char *own = name + sizeof prefix - 1, *key = own + len + 1;
    char expected[RUNG_SETTING_EXPECTED_MAX];
    while (len && id < RUNG_INGEST_SETTING_COUNT &&
           strcmp(rung_ingest_setting_table[id].name, key) != 0)
        id++;
    if (!len || id == RUNG_INGEST_SETTING_COUNT)
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s:%u: there is no setting \"%.60s\"", s->file,
                         line, name);
    rung_ingest_settings *set = find(s, own, len);
    if (!set && !(set = add(s, own, len)))
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s:%u: at most %d sections [ingest.NAME]", s->file,
                         line, RUNG_INGESTS_MAX);
    if (set->lines[id])
        return RUNG_FAIL(err, RUNG_EINVAL, "%.120s:%u: %s is given twice; first in line %u",
                         s->file, line, name, set->lines[id]);
    const rung_setting *row = &rung_ingest_setting_table[id];
    set->lines[id] = line;
    set->texts[id] = value;
    if (rung_setting_parse(row, value, (char *)set + row->offset))
        return RUNG_OK;
    return RUNG_FAIL(err, RUNG_EINVAL, "%.100s:%u: %s: expected %s, not \"%.60s\"", s->file, line,
                     name, rung_setting_expectation(row, expected), value);
}

/* ---- values ---- */

const char *rung_ingest_settings_group(const rung_ingest_settings *set,
                                       char out[RUNG_INGEST_NAME_MAX + 8]) {
    if (set->group)
        return set->group;
    snprintf(out, RUNG_INGEST_NAME_MAX + 8, "rung-%s", set->name);
    return out;
}

const char *rung_ingest_settings_dead_letters(const rung_ingest_settings *set,
                                              char out[RUNG_KAFKA_TOPIC_MAX + 8]) {
    if (set->dead_letters)
        return set->dead_letters;
    snprintf(out, RUNG_KAFKA_TOPIC_MAX + 8, "%.249s.dead", set->topic);
    return out;
}

/* Fail as one setting of a section. */
static rung_status refuse(const rung_ingest_settings *set, const char *key, const char *what,
                          rung_err *err) {
    return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "ingest.%s.%s", "%s", set->name, key, what);
}

rung_status rung_ingest_settings_mapping(const rung_ingest_settings *set, rung_mapping *out,
                                         rung_err *err) {
    const struct {
        rung_map_target target;
        const char *text;
    } all[] = {{RUNG_MAP_BOARD, set->board}, {RUNG_MAP_PLAYER, set->player},
               {RUNG_MAP_SCORE, set->score}, {RUNG_MAP_DELTA, set->delta},
               {RUNG_MAP_AT, set->at},       {RUNG_MAP_ID, set->id},
               {RUNG_MAP_META, set->meta},   {RUNG_MAP_SIDES, set->sides}};
    rung_err why;
    char what[sizeof why.message + 16];
    rung_status st = RUNG_OK;
    *out = (rung_mapping){0};
    for (size_t i = 0; i < RUNG_COUNT_OF(all) && st == RUNG_OK; i++)
        if (all[i].text &&
            (st = rung_mapping_set(out, all[i].target, rung_slice_str(all[i].text), &why)) < 0) {
            snprintf(what, sizeof what, "expected %s", why.message);
            return refuse(set, rung_map_target_name(all[i].target), what, err);
        }
    if (set->columns && rung_mapping_set_columns(out, rung_slice_str(set->columns), &why) < 0) {
        snprintf(what, sizeof what, "expected %s", why.message);
        return refuse(set, "columns", what, err);
    }
    if (rung_mapping_check(out, &why) < 0)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "ingest.%s.%s", "%s", set->name, why.field,
                               why.message + strlen(why.field) + 2);
    return RUNG_OK;
}

static rung_status check_connection(const rung_settings *s, const rung_ingest_settings *set,
                                    rung_err *err) {
    rung_kafka_url url;
    bool has_log = s->log && rung_kafka_url_parse(rung_slice_str(s->log), &url, NULL) == RUNG_OK;
    bool is_secured = set->tls || set->tls_ca || set->tls_cert || set->sasl || set->user;
    if (!set->brokers && !has_log)
        return refuse(set, "brokers", "missing, and log has no brokers either", err);
    if (!set->brokers && is_secured)
        return refuse(set, "brokers", "missing: without it, TLS and SASL are those of log.kafka",
                      err);
    if (!set->tls_cert != !set->tls_key)
        return refuse(set, set->tls_cert ? "tls_key" : "tls_cert",
                      "tls_cert and tls_key belong together; this one is missing", err);
    if (set->sasl && (!set->user || !set->password_file))
        return refuse(set, set->user ? "password_file" : "user", "missing; sasl needs it", err);
    return RUNG_OK;
}

static rung_status check_topics(const rung_settings *s, const rung_ingest_settings *set,
                                rung_err *err) {
    char group[RUNG_INGEST_NAME_MAX + 8], dead[RUNG_KAFKA_TOPIC_MAX + 8];
    rung_kafka_url url = {0};
    rung_err why;
    if (!set->topic || strlen(set->topic) >= RUNG_KAFKA_TOPIC_MAX)
        return refuse(set, "topic", set->topic ? "too long" : "required but missing", err);
    if (rung_ingest_check_names(rung_ingest_settings_group(set, group), set->topic, &why) < 0)
        return refuse(set, "group", why.message, err);
    if (strcmp(rung_ingest_settings_dead_letters(set, dead), set->topic) == 0)
        return refuse(set, "dead_letters", "the same as topic", err);
    if (s->log && !set->brokers)
        rung_ignore(rung_kafka_url_parse(rung_slice_str(s->log), &url, NULL), "it was checked");
    if (strcmp(url.topic[0] ? url.topic : "rung", set->topic) == 0 && !set->brokers)
        return refuse(set, "topic", "the server's own log", err);
    return RUNG_OK;
}

/* Two sections with the same group and topic would take each other's records for their own. */
static rung_status check_different(const rung_settings *s, uint32_t i, rung_err *err) {
    char group[RUNG_INGEST_NAME_MAX + 8], other[RUNG_INGEST_NAME_MAX + 8];
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(s->ingests[k].topic, s->ingests[i].topic) == 0 &&
            strcmp(rung_ingest_settings_group(&s->ingests[k], group),
                   rung_ingest_settings_group(&s->ingests[i], other)) == 0)
            return refuse(&s->ingests[i], "group", "another section has the same topic and group",
                          err);
    return RUNG_OK;
}

rung_status rung__ingest_settings_check(const rung_settings *s, rung_err *err) {
    rung_status st = RUNG_OK;
    for (uint32_t i = 0; i < s->ingest_count && st == RUNG_OK; i++) {
        const rung_ingest_settings *set = &s->ingests[i];
        rung_mapping mapping;
        st = check_connection(s, set, err);
        if (st == RUNG_OK)
            st = check_topics(s, set, err);
        if (st == RUNG_OK)
            st = rung_ingest_settings_mapping(set, &mapping, err);
        if (st == RUNG_OK)
            st = check_different(s, i, err);
    }
    return st;
}
