/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h - a server's certificate and key, exchangeable while connections live. TLS 1.2 and newer, ALPN http/1.1.
 *
 *     rung_tls_create(alloc, "cert.pem", "key.pem", &tls, &err);
 *     rung_net_listen(net, &address, protocol, ctx, tls, ...);
 *     rung_tls_reload(tls, &err);      // SIGHUP: new connections get the new certificate, the others keep theirs
 *
 * Thread: the loop's. The files are read while one of these functions runs. */
#ifndef RUNG_FRONT_NET_TLS_H
#define RUNG_FRONT_NET_TLS_H

#include "base/alloc.h"
#include "base/status.h"

typedef struct rung_tls rung_tls; /* heap object; whoever created it calls rung_tls_destroy() */

/* The certificate file holds the chain, leaf first; both are PEM. RUNG_EINVAL or RUNG_EIO say which file and why. */
RUNG_NODISCARD rung_status rung_tls_create(const rung_alloc *alloc, const char *cert_path,
                                           const char *key_path, rung_tls **tls_out, rung_err *err);

/* Read both files again. On failure the old certificate stays in use. */
RUNG_NODISCARD rung_status rung_tls_reload(rung_tls *t, rung_err *err);

/* After the last listener that uses it; connections may still be open. NULL is fine. */
void rung_tls_destroy(rung_tls *t);

#endif
