/* SPDX-License-Identifier: Apache-2.0 */
/* TLS with a real client: handshakes, records cut anywhere, much data both ways, goodbye, another certificate while
 * connections live. */
/* ctest: labels=thread */
#include "front/net/tls.h"

#include "support/netkit.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- certificates ---- */

static char folder[] = "/tmp/rung-tls-XXXXXX";
static char cert_path[64], key_path[64];

/* A fresh key and a certificate of its own for `name`, in the two files. */
static void make_certificate(const char *name) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    CHECK(key && cert);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    CHECK(X509_sign(cert, key, EVP_sha256()) > 0);
    FILE *f = fopen(cert_path, "w");
    CHECK(f && PEM_write_X509(f, cert) == 1 && fclose(f) == 0);
    f = fopen(key_path, "w");
    CHECK(f && PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL) == 1 && fclose(f) == 0);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void make_folder(void) {
    CHECK(mkdtemp(folder) != NULL);
    snprintf(cert_path, sizeof cert_path, "%s/cert.pem", folder);
    snprintf(key_path, sizeof key_path, "%s/key.pem", folder);
}

static void remove_folder(void) {
    unlink(cert_path);
    unlink(key_path);
    CHECK(rmdir(folder) == 0);
}

/* ---- an echo server ---- */

typedef struct kit {
    netkit net;
    rung_tls *tls;
    uint32_t opened, closed, ended;
} kit;

static void *on_opened(void *ctx, rung_conn *c) {
    (void)c;
    ((kit *)ctx)->opened++;
    return ctx;
}

/* Echo; 'q' at the front of what comes finishes. */
static size_t on_data(rung_conn *c, rung_slice bytes) {
    CHECK(rung_conn_is_tls(c));
    rung_conn_write(c, bytes);
    if (bytes.ptr[0] == 'q')
        rung_conn_finish(c);
    return bytes.len;
}

static void on_ended(rung_conn *c) {
    ((kit *)rung_conn_session(c))->ended++;
    rung_conn_finish(c);
}

static void on_closed(rung_conn *c) {
    ((kit *)rung_conn_session(c))->closed++;
}

static const rung_protocol echo = {
    .opened = on_opened, .data = on_data, .ended = on_ended, .closed = on_closed};

static void start(kit *k, rung_net_config config) {
    memset(k, 0, sizeof *k);
    make_folder();
    make_certificate("first");
    CHECK_OK(rung_tls_create(rung_alloc_heap(), cert_path, key_path, &k->tls, NULL));
    netkit_start(&k->net, &config);
    netkit_listen(&k->net, &echo, k, k->tls);
    netkit_run(&k->net);
}

static void stop(kit *k) {
    netkit_begin_stop(&k->net, 3000);
    netkit_join(&k->net);
    CHECK_EQ_U64(k->opened, k->closed);
    netkit_end(&k->net);
    rung_tls_destroy(k->tls);
    remove_folder();
}

/* ---- a client ---- */

typedef struct client {
    int fd;
    SSL_CTX *context;
    SSL *ssl;
} client;

static client dial(kit *k, int version_max) {
    client c = {.fd = netkit_connect(&k->net), .context = SSL_CTX_new(TLS_client_method())};
    SSL_CTX_set_security_level(c.context, 0);
    if (version_max)
        SSL_CTX_set_max_proto_version(c.context, version_max);
    c.ssl = SSL_new(c.context);
    SSL_set_fd(c.ssl, c.fd);
    return c;
}

static client connect_tls(kit *k, int version_max) {
    client c = dial(k, version_max);
    CHECK_MSG(SSL_connect(c.ssl) == 1, "%s", ERR_reason_error_string(ERR_peek_error()));
    return c;
}

static void hang_up(client *c) {
    SSL_free(c->ssl);
    SSL_CTX_free(c->context);
    close(c->fd);
}

static void say(client *c, const char *text) {
    char got[64] = "";
    size_t len = strlen(text), n = 0;
    CHECK(SSL_write(c->ssl, text, (int)len) == (int)len);
    while (n < len) {
        int r = SSL_read(c->ssl, got + n, (int)(len - n));
        CHECK(r > 0);
        n += (size_t)r;
    }
    CHECK_EQ_STR(got, text);
}

static const char *name_of(client *c) {
    static char name[64];
    X509 *cert = SSL_get1_peer_certificate(c->ssl);
    X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName, name, sizeof name);
    X509_free(cert);
    return name;
}

/* ---- tests ---- */

TEST(both_versions_and_a_goodbye) {
    kit k;
    char got[8];
    start(&k, (rung_net_config){0});
    for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
        client c = connect_tls(&k, version);
        say(&c, "hello");
        say(&c, "q");
        CHECK(SSL_read(c.ssl, got, sizeof got) == 0);
        CHECK(SSL_get_error(c.ssl, 0) == SSL_ERROR_ZERO_RETURN); /* not just cut */
        hang_up(&c);
    }
    client c = connect_tls(&k, 0);
    say(&c, "x");
    SSL_shutdown(c.ssl);
    CHECK(SSL_read(c.ssl, got, sizeof got) <= 0);
    hang_up(&c);
    stop(&k);
    CHECK_EQ_U64(k.ended, 1);
}

TEST(old_versions_and_other_protocols_are_refused) {
    kit k;
    char got[256];
    start(&k, (rung_net_config){0});
    client c = dial(&k, TLS1_1_VERSION);
    CHECK(SSL_connect(c.ssl) != 1);
    hang_up(&c);
    c = dial(&k, 0);
    SSL_set_alpn_protos(c.ssl, (const unsigned char *)"\x02h2", 3);
    CHECK(SSL_connect(c.ssl) != 1);
    hang_up(&c);
    c = dial(&k, 0);
    SSL_set_alpn_protos(c.ssl, (const unsigned char *)"\x02h2\x08http/1.1", 12);
    CHECK(SSL_connect(c.ssl) == 1);
    const unsigned char *chosen;
    unsigned len;
    SSL_get0_alpn_selected(c.ssl, &chosen, &len);
    CHECK(len == 8 && memcmp(chosen, "http/1.1", 8) == 0);
    hang_up(&c);
    int fd = netkit_connect(&k.net);
    netkit_send(fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    netkit_read_all(fd, got, sizeof got, NULL);
    close(fd);
    netkit_begin_stop(&k.net, 3000);
    netkit_join(&k.net);
    CHECK_EQ_U64(rung_net_stat(k.net.net).tls_failures, 3);
    netkit_end(&k.net);
    rung_tls_destroy(k.tls);
    remove_folder();
}

TEST(much_data_goes_both_ways) {
    kit k;
    enum { SIZE = 3000000, STEP = 7001 };
    static char out[SIZE], in[SIZE];
    start(&k, (rung_net_config){.output_high = 65536});
    client c = connect_tls(&k, 0);
    for (int i = 0; i < SIZE; i++)
        out[i] = (char)(i % 251 + 1 == 'q' ? 1 : i % 251 + 1);
    int sent = 0, got = 0;
    while (got < SIZE) { /* keep half a megabyte ahead: the server must not read on meanwhile */
        if (sent < SIZE && sent - got < 60000) {
            int n = SIZE - sent < STEP ? SIZE - sent : STEP;
            CHECK(SSL_write(c.ssl, out + sent, n) == n);
            sent += n;
        } else {
            int n = SSL_read(c.ssl, in + got, SIZE - got);
            CHECK(n > 0);
            got += n;
        }
    }
    CHECK_EQ_MEM(in, out, SIZE);
    hang_up(&c);
    stop(&k);
}

/* A client whose cipher text leaves one byte at a time. */
TEST(records_are_put_together) {
    kit k;
    start(&k, (rung_net_config){0});
    client c = dial(&k, 0);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    SSL_set_bio(c.ssl, in, out);
    SSL_set_connect_state(c.ssl);
    char got[8] = "";
    bool is_sent = false;
    for (int turn = 0; turn < 100; turn++) {
        char byte, raw[4096];
        int r = is_sent ? SSL_read(c.ssl, got, 5) : SSL_write(c.ssl, "split", 5);
        if (r == 5 && is_sent)
            break;
        is_sent |= r == 5;
        while (BIO_read(out, &byte, 1) == 1) {
            netkit_send_bytes(c.fd, &byte, 1);
            usleep(20);
        }
        if (r != 5 || is_sent) {
            ssize_t n = netkit_read(c.fd, raw, sizeof raw);
            CHECK(n > 0);
            BIO_write(in, raw, (int)n);
        }
    }
    CHECK_EQ_STR(got, "split");
    hang_up(&c);
    stop(&k);
}

static void reload(void *ctx) {
    rung_err err;
    kit *k = ctx;
    CHECK_OK(rung_tls_reload(k->tls, &err));
}

static void reload_broken(void *ctx) {
    rung_err err;
    kit *k = ctx;
    CHECK_STATUS(rung_tls_reload(k->tls, &err), RUNG_EINVAL);
    CHECK(strstr(err.message, "cert.pem") != NULL);
}

TEST(a_new_certificate_without_dropping_anybody) {
    kit k;
    start(&k, (rung_net_config){0});
    client old = connect_tls(&k, 0);
    say(&old, "one");
    CHECK_EQ_STR(name_of(&old), "first");
    make_certificate("second");
    netkit_call(&k.net, reload, &k);
    client fresh = connect_tls(&k, 0);
    CHECK_EQ_STR(name_of(&fresh), "second");
    say(&old, "two");
    say(&fresh, "three");
    FILE *f = fopen(cert_path, "w"); /* broken: the one in use stays */
    CHECK(f && fclose(f) == 0);
    netkit_call(&k.net, reload_broken, &k);
    client third = connect_tls(&k, 0);
    CHECK_EQ_STR(name_of(&third), "second");
    hang_up(&old);
    hang_up(&fresh);
    hang_up(&third);
    stop(&k);
}

TEST(a_handshake_has_a_deadline) {
    kit k;
    char got[8];
    start(&k, (rung_net_config){.handshake_ms = 200});
    int fd = netkit_connect(&k.net);
    netkit_send_bytes(fd, "\x16\x03\x01", 3);
    netkit_read_all(fd, got, sizeof got, NULL);
    close(fd);
    netkit_begin_stop(&k.net, 3000);
    netkit_join(&k.net);
    CHECK_EQ_U64(rung_net_stat(k.net.net).timed_out, 1);
    netkit_end(&k.net);
    rung_tls_destroy(k.tls);
    remove_folder();
}

TEST(what_does_not_fit_is_said) {
    rung_tls *tls;
    rung_err err;
    make_folder();
    CHECK_STATUS(rung_tls_create(rung_alloc_heap(), cert_path, key_path, &tls, &err), RUNG_EINVAL);
    CHECK(strstr(err.message, "cert.pem") != NULL);
    make_certificate("a");
    char other[64];
    snprintf(other, sizeof other, "%s/other.pem", folder);
    CHECK(rename(key_path, other) == 0);
    make_certificate("b");
    CHECK_STATUS(rung_tls_create(rung_alloc_heap(), cert_path, other, &tls, &err), RUNG_EINVAL);
    CHECK(strstr(err.message, "other.pem") != NULL);
    unlink(other);
    remove_folder();
}

RUNG_TEST_MAIN
