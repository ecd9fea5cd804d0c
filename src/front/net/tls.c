/* SPDX-License-Identifier: Apache-2.0 */
/* tls.c - OpenSSL behind two small doors: the certificate (rung_tls), and one connection (rung__tls_session).
 *
 * The session's BIO has no socket and no buffer of its own: it reads from the bytes that the loop has just read, and
 * writes to the queue that is sent anyway. So an idle connection holds nothing but OpenSSL's own state, and OpenSSL
 * releases its record buffers between records (SSL_MODE_RELEASE_BUFFERS).
 *
 * 1. `in` points into the loop's buffer only between feed and keep, and only if `kept` is empty. After keep both are
 *    empty, or `in` points into `kept`.
 * 2. A reload replaces the whole context, once the new one is checked (the key fits the certificate). Sessions hold
 *    their own reference. */
#include "front/net/tls.h"

#include "front/net/tls_session.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <stdio.h>
#include <string.h>

struct rung_tls {
    const rung_alloc *alloc;
    SSL_CTX *context;
    BIO_METHOD *bio;
    rung_buffer cert_path, key_path; /* with their NUL */
};

/* ---- the certificate ---- */

/* OpenSSL's newest error as text. */
static const char *reason(char text[160]) {
    unsigned long code = ERR_peek_last_error();
    const char *why = code ? ERR_reason_error_string(code) : NULL;
    snprintf(text, 160, "%s", why ? why : "unknown reason");
    ERR_clear_error();
    return text;
}

/* http/1.1 or nothing: a client that offers only other protocols is refused. */
static int choose_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                       const unsigned char *offered, unsigned int offered_len, void *ctx) {
    static const unsigned char ours[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    unsigned char *chosen = NULL;
    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static rung_status load(const rung_tls *t, SSL_CTX **out, rung_err *err) {
    char why[160];
    const char *cert_path = t->cert_path.data, *key_path = t->key_path.data;
    ERR_clear_error();
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context)
        return RUNG_FAIL(err, RUNG_ENOMEM, "tls: out of memory");
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    /* TLS 1.2 only with forward secrecy: a key that leaks later does not decrypt what was recorded before. */
    if (SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
        SSL_CTX_free(context);
        return RUNG_FAIL(err, RUNG_EUNSUPPORTED, "tls: no ciphers: %s", reason(why));
    }
    SSL_CTX_set_session_id_context(context, (const unsigned char *)"rung", 4);
    SSL_CTX_set_alpn_select_cb(context, choose_alpn, NULL);
    rung_status st = RUNG_OK;
    if (SSL_CTX_use_certificate_chain_file(context, cert_path) != 1)
        st = RUNG_FAIL(err, RUNG_EINVAL, "tls certificate %s: %s", cert_path, reason(why));
    else if (SSL_CTX_use_PrivateKey_file(context, key_path, SSL_FILETYPE_PEM) != 1)
        st = RUNG_FAIL(err, RUNG_EINVAL, "tls key %s: %s", key_path, reason(why));
    else if (SSL_CTX_check_private_key(context) != 1)
        st = RUNG_FAIL(err, RUNG_EINVAL, "tls key %s: does not belong to %s", key_path, cert_path);
    if (st < 0) {
        SSL_CTX_free(context);
        return st;
    }
    *out = context;
    return RUNG_OK;
}

rung_status rung_tls_reload(rung_tls *t, rung_err *err) {
    SSL_CTX *fresh;
    rung_status st = load(t, &fresh, err);
    if (st < 0)
        return st;
    SSL_CTX_free(t->context);
    t->context = fresh;
    return RUNG_OK;
}

static BIO_METHOD *make_bio_method(void);

rung_status rung_tls_create(const rung_alloc *alloc, const char *cert_path, const char *key_path,
                            rung_tls **tls_out, rung_err *err) {
    rung_tls *t = rung_alloc_zeroed(alloc, sizeof *t);
    if (!t)
        return RUNG_FAIL(err, RUNG_ENOMEM, "tls: out of memory");
    t->alloc = t->cert_path.alloc = t->key_path.alloc = alloc;
    rung_buffer_put(&t->cert_path, cert_path, strlen(cert_path) + 1);
    rung_buffer_put(&t->key_path, key_path, strlen(key_path) + 1);
    t->bio = make_bio_method();
    rung_status st = !t->cert_path.is_failed && !t->key_path.is_failed && t->bio
                         ? load(t, &t->context, err)
                         : RUNG_FAIL(err, RUNG_ENOMEM, "tls: out of memory");
    if (st < 0)
        rung_tls_destroy(t);
    else
        *tls_out = t;
    return st;
}

void rung_tls_destroy(rung_tls *t) {
    if (!t)
        return;
    SSL_CTX_free(t->context);
    BIO_meth_free(t->bio);
    rung_buffer_deinit(&t->cert_path);
    rung_buffer_deinit(&t->key_path);
    rung_alloc_free(t->alloc, t, sizeof *t);
}

/* ---- the BIO ---- */

static int bio_read(BIO *bio, char *to, size_t room, size_t *n_out) {
    rung__tls_session *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!s->in.len) {
        BIO_set_retry_read(bio);
        return 0;
    }
    size_t n = s->in.len < room ? s->in.len : room;
    memcpy(to, s->in.ptr, n);
    s->in = rung_slice_of(s->in.ptr + n, s->in.len - n);
    *n_out = n;
    return 1;
}

static int bio_write(BIO *bio, const char *from, size_t len, size_t *n_out) {
    rung__tls_session *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!rung__queue_add(&s->wire, s->pool, rung_slice_of(from, len))) {
        s->is_out_of_memory = true;
        return 0;
    }
    *n_out = len;
    return 1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH; /* everything else: not known here */
}

static BIO_METHOD *make_bio_method(void) {
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "rung");
    if (!m)
        return NULL;
    BIO_meth_set_read_ex(m, bio_read);
    BIO_meth_set_write_ex(m, bio_write);
    BIO_meth_set_ctrl(m, bio_control);
    return m;
}

/* ---- one connection ---- */

rung_status rung__tls_session_create(rung_tls *t, rung__pool *pool, rung__tls_session **out) {
    rung__tls_session *s = rung_alloc_zeroed(pool->alloc, sizeof *s);
    if (!s)
        return RUNG_ENOMEM;
    s->pool = pool;
    s->kept.alloc = pool->alloc;
    s->ssl = SSL_new(t->context);
    BIO *bio = s->ssl ? BIO_new(t->bio) : NULL;
    if (!bio) {
        rung__tls_session_destroy(s);
        return RUNG_ENOMEM;
    }
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    SSL_set_bio(s->ssl, bio, bio);
    SSL_set_accept_state(s->ssl);
    *out = s;
    return RUNG_OK;
}

void rung__tls_session_destroy(rung__tls_session *s) {
    if (!s)
        return;
    SSL_free(s->ssl);
    rung__queue_clear(&s->wire, s->pool);
    rung_buffer_deinit(&s->kept);
    rung_alloc_free(s->pool->alloc, s, sizeof *s);
}

bool rung__tls_feed(rung__tls_session *s, rung_slice bytes) {
    if (!s->in.len) {
        s->in = bytes;
        return true;
    }
    /* Rare: something was left from before, in `kept`. */
    memmove(s->kept.data, s->in.ptr, s->in.len);
    s->kept.len = s->in.len;
    rung_buffer_put(&s->kept, bytes.ptr, bytes.len);
    s->in = rung_buffer_slice(&s->kept);
    return !s->kept.is_failed;
}

bool rung__tls_keep(rung__tls_session *s) {
    if (!s->in.len) {
        rung_buffer_deinit(&s->kept);
    } else if (!s->kept.len) {
        rung_buffer_put(&s->kept, s->in.ptr, s->in.len);
        s->in = rung_buffer_slice(&s->kept);
    }
    return !s->kept.is_failed;
}

rung_status rung__tls_read(rung__tls_session *s, char *to, size_t room, size_t *n_out) {
    ERR_clear_error();
    if (SSL_read_ex(s->ssl, to, room, n_out) == 1)
        return RUNG_OK;
    int error = SSL_get_error(s->ssl, 0);
    ERR_clear_error();
    if (s->is_out_of_memory)
        return RUNG_EINVAL;
    if (error == SSL_ERROR_WANT_READ)
        return RUNG_PARTIAL;
    return error == SSL_ERROR_ZERO_RETURN ? RUNG_ECLOSED : RUNG_EINVAL;
}

bool rung__tls_is_open(const rung__tls_session *s) {
    return SSL_is_init_finished(s->ssl) == 1;
}

rung_status rung__tls_write(rung__tls_session *s, rung_slice bytes, size_t *n_out) {
    ERR_clear_error();
    bool ok = SSL_write_ex(s->ssl, bytes.ptr, bytes.len, n_out) == 1 && !s->is_out_of_memory;
    ERR_clear_error();
    return ok ? RUNG_OK : RUNG_EINVAL;
}

void rung__tls_goodbye(rung__tls_session *s) {
    ERR_clear_error();
    if (rung__tls_is_open(s))
        SSL_shutdown(s->ssl);
    ERR_clear_error();
}
