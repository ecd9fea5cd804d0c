/* SPDX-License-Identifier: Apache-2.0 */
/* A password with an '@', '/' or '?' that is not percent-encoded would end up in the host's name, and from there in
 * messages. So an address with an '@' in the wrong place is refused. */
#include "archive/postgres/url.h"

#include <string.h>

#define PARAMETER "schema="

/* What follows "postgres://"; NULL: not such an address. */
static const char *after_scheme(const char *text) {
    static const char *const schemes[] = {"postgres://", "postgresql://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
            return text + strlen(schemes[i]);
    return NULL;
}

bool rung_postgres_url_is(const char *text) {
    return after_scheme(text) != NULL;
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_plain(const char *text) {
    for (const char *p = text; *p; p++) {
        if (*p <= ' ' || *p > '~' || *p == '#')
            return false;
        if (*p == '%' && (!is_hex(p[1]) || !is_hex(p[2]) || (p[1] == '0' && p[2] == '0')))
            return false;
    }
    return true;
}

static bool is_schema(const char *name, size_t len) {
    if (len == 0 || len > RUNG_POSTGRES_SCHEMA_MAX || (name[0] >= '0' && name[0] <= '9'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!((name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') ||
              name[i] == '_'))
            return false;
    return len < 3 || strncmp(name, "pg_", 3) != 0;
}

static void append(char *out, const char *text, size_t len) {
    size_t used = strlen(out);
    memcpy(out + used, text, len); /* never longer than the whole address */
    out[used + len] = '\0';
}

/* Copy the parameters but `schema`. False: that is not a name. */
static bool take_parameters(const char *query, rung_postgres_url *out) {
    char mark = '?';
    for (const char *p = query; *p;) {
        size_t len = strcspn(p, "&");
        if (strncmp(p, PARAMETER, strlen(PARAMETER)) == 0) {
            const char *name = p + strlen(PARAMETER);
            size_t name_len = len - strlen(PARAMETER);
            if (!is_schema(name, name_len))
                return false;
            memcpy(out->schema, name, name_len);
            out->schema[name_len] = '\0';
        } else if (len) {
            append(out->libpq, &mark, 1);
            append(out->libpq, p, len);
            mark = '&';
        }
        p += len + (p[len] == '&');
    }
    return true;
}

rung_status rung_postgres_url_parse(const char *text, rung_postgres_url *out, rung_err *err) {
    const char *rest = after_scheme(text);
    if (!rest)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "archive", "expected postgres://HOST/DATABASE");
    if (strlen(text) > RUNG_POSTGRES_URL_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "archive", "%d bytes at most",
                               RUNG_POSTGRES_URL_MAX);
    size_t base_len = strcspn(text, "?"), host_len = strcspn(rest, "/?");
    const char *at = memchr(rest, '@', host_len);
    const char *other = strchr(at ? at + 1 : rest, '@');
    if (!is_plain(text) || other)
        return RUNG_FAIL_FIELD(
            err, RUNG_EINVAL, "archive",
            "special characters in a PostgreSQL address must be percent-encoded (%%40 for @)");
    *out = (rung_postgres_url){.schema = RUNG_POSTGRES_SCHEMA_DEFAULT};
    append(out->libpq, text, base_len);
    if (text[base_len] == '?' && !take_parameters(text + base_len + 1, out))
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "archive",
                               "schema: expected 1 to %d of a-z, 0-9 and _",
                               RUNG_POSTGRES_SCHEMA_MAX);
    append(out->shown, text, (size_t)(rest - text));
    if (at) { /* the user without the password */
        append(out->shown, rest, strcspn(rest, ":@"));
        append(out->shown, "@", 1);
        rest = at + 1;
    }
    append(out->shown, rest, (size_t)(text + base_len - rest));
    return RUNG_OK;
}
