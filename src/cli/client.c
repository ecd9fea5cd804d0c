/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/client.h"

#include "base/buffer.h"
#include "codec/http1.h"
#include "codec/url.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- paths ---- */

static void add_bytes(rung_path *p, const char *bytes, size_t len) {
    if (p->is_cut || len >= sizeof p->text - p->len) {
        p->is_cut = true;
        return;
    }
    memcpy(p->text + p->len, bytes, len);
    p->len += len;
    p->text[p->len] = '\0';
}

void rung_path_add(rung_path *p, const char *literal) {
    add_bytes(p, literal, strlen(literal));
}

void rung_path_name(rung_path *p, const char *name) {
    char encoded[3 * 1024];
    if (strlen(name) > 1024) {
        p->is_cut = true;
        return;
    }
    add_bytes(p, encoded, rung_url_encode(rung_slice_str(name), encoded));
}

void rung_path_query(rung_path *p, const char *name, const char *value) {
    if (!value)
        return;
    rung_path_add(p, p->has_query ? "&" : "?");
    p->has_query = true;
    rung_path_add(p, name);
    rung_path_add(p, "=");
    rung_path_name(p, value);
}

void rung_path_query_number(rung_path *p, const char *name, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    rung_path_query(p, name, value ? text : NULL);
}

/* ---- life ---- */

enum { URL_MAX = 1024, KEY_MAX = 4200 };

struct rung_client {
    CURL *curl;
    char url[URL_MAX]; /* without a trailing slash */
    char base[URL_MAX];
    const char *socket_path; /* in url; NULL: none */
    char auth[KEY_MAX + 32]; /* the header; empty: no key */
    const char *ca_file;     /* the caller's, or the environment's; NULL: the system's */
    rung_buffer body;        /* NUL-terminated */
    bool is_too_long;        /* the answer exceeds the limit */
    char curl_error[CURL_ERROR_SIZE];
};

static rung_status take_url(rung_client *c, const char *url, rung_err *err) {
    const char *from = url ? url : getenv("RUNG_URL");
    if (!from || !*from)
        from = RUNG_URL_DEFAULT;
    size_t len = strlen(from);
    while (len > 0 && from[len - 1] == '/')
        len--;
    bool is_unix = strncmp(from, "unix:", 5) == 0 && len > 5;
    bool is_http = strncmp(from, "http://", 7) == 0 || strncmp(from, "https://", 8) == 0;
    if ((!is_unix && !is_http) || len >= URL_MAX)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--url",
                               "expected http://HOST:PORT, https://... or unix:PATH, not \"%.60s\"",
                               from);
    snprintf(c->url, sizeof c->url, "%.*s", (int)len, from);
    c->socket_path = is_unix ? c->url + 5 : NULL;
    snprintf(c->base, sizeof c->base, "%s", is_unix ? "http://localhost" : c->url);
    return RUNG_OK;
}

static rung_status read_key(const char *path, char key[KEY_MAX], rung_err *err) {
    FILE *f = fopen(path, "re");
    if (!f)
        return RUNG_FAIL_OS(err, RUNG_EIO, errno, "--key-file: cannot open %.100s: %s", path,
                            strerror(errno));
    if (!fgets(key, KEY_MAX, f))
        key[0] = '\0';
    fclose(f);
    return RUNG_OK;
}

static rung_status take_key(rung_client *c, const char *file, rung_err *err) {
    char key[KEY_MAX] = "";
    const char *from_env = getenv("RUNG_KEY"), *file_from_env = getenv("RUNG_KEY_FILE");
    rung_status st = RUNG_OK;
    if (file)
        st = read_key(file, key, err);
    else if (from_env && *from_env)
        snprintf(key, sizeof key, "%.*s", KEY_MAX - 1, from_env);
    else if (file_from_env && *file_from_env)
        st = read_key(file = file_from_env, key, err);
    if (st < 0)
        return st;
    char *word = key + strspn(key, " \t");
    word[strcspn(word, " \t\r\n")] = '\0';
    for (const char *p = word; *p; p++)
        if (*p < '!' || *p > '~')
            return RUNG_FAIL(err, RUNG_EINVAL, "the key contains invalid characters");
    if (*word)
        snprintf(c->auth, sizeof c->auth, "Authorization: Bearer %s", word);
    else if (file)
        return RUNG_FAIL_FIELD(err, RUNG_EINVAL, "--key-file", "there is no key in %.100s", file);
    explicit_bzero(key, sizeof key);
    return RUNG_OK;
}

rung_status rung_client_create(const rung_client_config *config, rung_client **client_out,
                               rung_err *err) {
    rung_client *c = rung_alloc_zeroed(rung_alloc_heap(), sizeof *c);
    if (!c)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    c->body = (rung_buffer){.alloc = rung_alloc_heap(), .limit = RUNG_REPLY_MAX + 1};
    c->ca_file = config->ca_file ? config->ca_file : getenv("RUNG_CA_FILE");
    rung_status st = take_url(c, config->url, err);
    if (st == RUNG_OK)
        st = take_key(c, config->key_file, err);
    if (st == RUNG_OK && !(c->curl = curl_easy_init()))
        st = RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (st < 0) {
        rung_client_destroy(c);
        return st;
    }
    *client_out = c;
    return RUNG_OK;
}

void rung_client_destroy(rung_client *c) {
    if (!c)
        return;
    if (c->curl)
        curl_easy_cleanup(c->curl);
    rung_buffer_deinit(&c->body);
    explicit_bzero(c->auth, sizeof c->auth);
    rung_alloc_free(rung_alloc_heap(), c, sizeof *c);
}

const char *rung_client_url(const rung_client *c) {
    return c->url;
}

/* ---- one request ---- */

static size_t gather(char *bytes, size_t one, size_t len, void *ctx) {
    rung_client *c = ctx;
    (void)one;
    c->is_too_long = len > RUNG_REPLY_MAX - c->body.len;
    if (c->is_too_long || !rung_buffer_reserve(&c->body, len + 1))
        return 0;
    rung_buffer_put(&c->body, bytes, len);
    c->body.data[c->body.len] = '\0';
    return len;
}

static bool is_loopback(const char *base) {
    const char *host = strstr(base, "://") + 3;
    return strncmp(host, "127.", 4) == 0 || strncmp(host, "localhost", 9) == 0 ||
           strncmp(host, "[::1]", 5) == 0;
}

static void allow_http_only(CURL *curl) {
#if LIBCURL_VERSION_NUM >= 0x075500 /* 7.85.0 replaced the bit mask by a list of names */
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/* Options of every request. The caller frees the headers. */
static rung_status set_up(rung_client *c, const char *method, const rung_path *path,
                          const char *type, struct curl_slist **headers_out, rung_err *err) {
    char header[128], url[URL_MAX + RUNG_PATH_MAX];
    struct curl_slist *headers = NULL;
    if (path->is_cut)
        return RUNG_FAIL(err, RUNG_EINVAL, "a name is too long");
    snprintf(url, sizeof url, "%s%s", c->base, path->text);
    snprintf(header, sizeof header, "Content-Type: %s", type ? type : "application/json");
    headers = curl_slist_append(headers, header);
    headers = curl_slist_append(headers, "Expect:"); /* do not wait for 100 Continue */
    if (c->auth[0])
        headers = curl_slist_append(headers, c->auth);
    curl_easy_reset(c->curl); /* keeps the connection */
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->curl_error);
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
    allow_http_only(c->curl);
    curl_easy_setopt(c->curl, CURLOPT_USERAGENT, "rung");
    if (c->socket_path)
        curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->socket_path);
    if (c->ca_file && *c->ca_file)
        curl_easy_setopt(c->curl, CURLOPT_CAINFO, c->ca_file);
    if (c->socket_path || is_loopback(c->base))
        curl_easy_setopt(c->curl, CURLOPT_PROXY, ""); /* a proxy cannot reach this machine */
    c->curl_error[0] = '\0';
    *headers_out = headers;
    return RUNG_OK;
}

static rung_status unreached(const rung_client *c, CURLcode code, rung_err *err) {
    return RUNG_FAIL(err, RUNG_EIO, "cannot reach %.80s: %.120s", c->url,
                     c->curl_error[0] ? c->curl_error : curl_easy_strerror(code));
}

/* An empty body, NUL-terminated. */
static rung_status begin_body(rung_client *c, rung_err *err) {
    rung_buffer_reset(&c->body, RUNG_REPLY_MAX + 1);
    if (gather(NULL, 1, 0, c) == 0 && !c->body.data)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    return RUNG_OK;
}

static void give_up_when_silent(CURL *curl) {
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L); /* bytes per second, for a minute */
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
}

rung_status rung_client_ask(rung_client *c, const char *method, const rung_path *path,
                            const char *type, rung_slice body, rung_reply *reply_out,
                            rung_err *err) {
    struct curl_slist *headers;
    rung_status st = begin_body(c, err);
    if (st == RUNG_OK)
        st = set_up(c, method, path, type, &headers, err);
    if (st < 0)
        return st;
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, gather);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(c->curl, CURLOPT_ACCEPT_ENCODING, "gzip");
    give_up_when_silent(c->curl);
    if (body.len > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0) {
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body.len ? body.ptr : "");
        curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    }
    CURLcode code = curl_easy_perform(c->curl);
    curl_slist_free_all(headers);
    if (c->is_too_long)
        return RUNG_FAIL(err, RUNG_ELIMIT, "the answer of %.80s is too large", c->url);
    if (c->body.is_failed)
        return RUNG_FAIL(err, RUNG_ENOMEM, "out of memory");
    if (code != CURLE_OK)
        return unreached(c, code, err);
    *reply_out = (rung_reply){.body = c->body.data, .len = c->body.len};
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &reply_out->status);
    return RUNG_OK;
}

/* ---- downloads ---- */

typedef struct downloading {
    rung_client *c;
    rung_status (*put)(void *ctx, const rung_download_head *head, rung_slice bytes);
    void *ctx;
    rung_status status; /* of put */
    rung_download_head head;
} downloading;

/* The value of a header line, if it has this name. */
static bool is_header(rung_slice line, const char *name, rung_slice *value_out) {
    size_t len = strlen(name);
    if (line.len <= len || strncasecmp(line.ptr, name, len) != 0 || line.ptr[len] != ':')
        return false;
    const char *from = line.ptr + len + 1, *end = line.ptr + line.len;
    while (from < end && *from == ' ')
        from++;
    while (end > from && (end[-1] == '\r' || end[-1] == '\n' || end[-1] == ' '))
        end--;
    *value_out = rung_slice_of(from, (size_t)(end - from));
    return true;
}

static void keep_text(char *out, size_t size, rung_slice value) {
    snprintf(out, size, "%.*s", (int)(value.len < size ? value.len : 0), value.ptr);
}

static size_t take_header(char *bytes, size_t one, size_t len, void *ctx) {
    downloading *d = ctx;
    rung_slice line = rung_slice_of(bytes, len), value;
    (void)one;
    if (len > 5 && memcmp(bytes, "HTTP/", 5) == 0)
        d->head = (rung_download_head){0};
    else if (is_header(line, "ETag", &value))
        keep_text(d->head.etag, sizeof d->head.etag, value);
    else if (is_header(line, "Rung-Seq", &value))
        keep_text(d->head.seq, sizeof d->head.seq, value);
    else if (is_header(line, "Rung-Log", &value))
        keep_text(d->head.log, sizeof d->head.log, value);
    else if (is_header(line, "Content-Range", &value))
        rung_content_range_read(value, &d->head.from, &d->head.size);
    return len;
}

static void finish_head(downloading *d) {
    curl_off_t length = -1;
    if (d->head.status)
        return;
    curl_easy_getinfo(d->c->curl, CURLINFO_RESPONSE_CODE, &d->head.status);
    curl_easy_getinfo(d->c->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (d->head.status == 200)
        d->head.size = length < 0 ? 0 : (uint64_t)length;
}

static size_t take_piece(char *bytes, size_t one, size_t len, void *ctx) {
    downloading *d = ctx;
    finish_head(d);
    if (d->head.status != 200 && d->head.status != 206)
        return gather(bytes, one, len, d->c);
    d->status = d->put(d->ctx, &d->head, rung_slice_of(bytes, len));
    return d->status < 0 ? 0 : len;
}

rung_status rung_client_download(
    rung_client *c, const rung_path *path, uint64_t from, const char *etag,
    rung_status (*put)(void *ctx, const rung_download_head *head, rung_slice bytes), void *ctx,
    rung_download_head *head_out, rung_reply *reply_out, rung_err *err) {
    struct curl_slist *headers;
    downloading d = {.c = c, .put = put, .ctx = ctx};
    char line[160];
    rung_status st = begin_body(c, err);
    if (st == RUNG_OK)
        st = set_up(c, "GET", path, NULL, &headers, err);
    if (st < 0)
        return st;
    if (from > 0) {
        snprintf(line, sizeof line, "Range: bytes=%llu-", (unsigned long long)from);
        headers = curl_slist_append(headers, line);
        snprintf(line, sizeof line, "If-Range: %s", etag);
        headers = curl_slist_append(headers, line);
        curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    }
    curl_easy_setopt(c->curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(c->curl, CURLOPT_HEADERDATA, &d);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_piece);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &d);
    give_up_when_silent(c->curl);
    CURLcode code = curl_easy_perform(c->curl);
    curl_slist_free_all(headers);
    finish_head(&d);
    *head_out = d.head;
    *reply_out = (rung_reply){.status = d.head.status, .body = c->body.data, .len = c->body.len};
    if (d.status < 0)
        return d.status;
    return code == CURLE_OK ? RUNG_OK : unreached(c, code, err);
}

/* ---- streams ---- */

typedef struct following {
    rung_client *c;
    bool (*each)(void *ctx, rung_slice bytes);
    void *ctx;
    bool is_checked, is_stream, is_enough;
} following;

static size_t pass_on(char *bytes, size_t one, size_t len, void *ctx) {
    following *f = ctx;
    (void)one;
    if (!f->is_checked) {
        long status = 0;
        const char *type = NULL;
        curl_easy_getinfo(f->c->curl, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(f->c->curl, CURLINFO_CONTENT_TYPE, &type);
        f->is_checked = true;
        f->is_stream = status == 200 && type && strncmp(type, "text/event-stream", 17) == 0;
    }
    if (!f->is_stream)
        return 0;
    f->is_enough = !f->each(f->ctx, rung_slice_of(bytes, len));
    return f->is_enough ? 0 : len;
}

static int look_up(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    following *f = ctx;
    (void)a, (void)b, (void)c, (void)d;
    if (f->is_stream && !f->is_enough)
        f->is_enough = !f->each(f->ctx, (rung_slice){0});
    return f->is_enough;
}

rung_status rung_client_follow(rung_client *c, const rung_path *path,
                               bool (*each)(void *ctx, rung_slice bytes), void *ctx,
                               rung_err *err) {
    struct curl_slist *headers;
    following f = {.c = c, .each = each, .ctx = ctx};
    rung_status st = set_up(c, "GET", path, NULL, &headers, err);
    if (st < 0)
        return st;
    headers = curl_slist_append(headers, "Accept: text/event-stream");
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, pass_on);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &f);
    curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, look_up);
    curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, &f);
    CURLcode code = curl_easy_perform(c->curl);
    curl_slist_free_all(headers);
    if (f.is_enough)
        return RUNG_OK;
    if (code == CURLE_OK ? !f.is_stream : f.is_checked && !f.is_stream)
        return RUNG_NOT_FOUND;
    return code == CURLE_OK ? RUNG_FAIL(err, RUNG_EIO, "%.80s ended the stream", c->url)
                            : unreached(c, code, err);
}
