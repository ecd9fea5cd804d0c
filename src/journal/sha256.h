/* SPDX-License-Identifier: Apache-2.0 */
/* sha256.h - streaming SHA-256, by OpenSSL. Zero is a valid empty state; deinit may be called twice. */
#ifndef RUNG_JOURNAL_SHA256_H
#define RUNG_JOURNAL_SHA256_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define RUNG_SHA256_SIZE 32

typedef struct rung_sha256 {
    void *context; /* EVP_MD_CTX */
} rung_sha256;

/* Start over. RUNG_ENOMEM is possible only at the first start. */
RUNG_NODISCARD rung_status rung_sha256_start(rung_sha256 *h);
void rung_sha256_add(rung_sha256 *h, const void *bytes, size_t len);
/* The digest of everything added; ends the stream. */
void rung_sha256_finish(rung_sha256 *h, uint8_t digest_out[RUNG_SHA256_SIZE]);
void rung_sha256_deinit(rung_sha256 *h);

#endif
