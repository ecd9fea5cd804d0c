/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/sha256.h"

#include "base/assert.h"

#include <openssl/evp.h>

rung_status rung_sha256_start(rung_sha256 *h) {
    if (!h->context)
        h->context = EVP_MD_CTX_new();
    if (!h->context || EVP_DigestInit_ex(h->context, EVP_sha256(), NULL) != 1)
        return RUNG_ENOMEM;
    return RUNG_OK;
}

void rung_sha256_add(rung_sha256 *h, const void *bytes, size_t len) {
    int done = EVP_DigestUpdate(h->context, bytes, len);
    RUNG_ASSERT(done == 1);
}

void rung_sha256_finish(rung_sha256 *h, uint8_t digest_out[RUNG_SHA256_SIZE]) {
    int done = EVP_DigestFinal_ex(h->context, digest_out, NULL);
    RUNG_ASSERT(done == 1);
}

void rung_sha256_deinit(rung_sha256 *h) {
    EVP_MD_CTX_free(h->context);
    h->context = NULL;
}
