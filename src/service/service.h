/* SPDX-License-Identifier: Apache-2.0 */
/* service.h - the parts that the use cases work with.
 *
 *     rung_service service = {.access = access, .hub = hub, .asker = asker, .alloc = alloc};
 *     rung_submit_put(&service, from, &event, now_ms, answer, ctx, &why);
 *
 * A plain value of borrowed parts. Thread: the owner of the state. */
#ifndef RUNG_SERVICE_SERVICE_H
#define RUNG_SERVICE_SERVICE_H

#include "service/access.h"
#include "service/asker.h"
#include "service/hub.h"

typedef struct rung_service {
    rung_access *access;     /* NULL: no checks and no rate limits */
    rung_hub *hub;           /* NULL: not started */
    rung_asker *asker;       /* NULL: no archive */
    const rung_alloc *alloc; /* for questions to the archive */
} rung_service;

#endif
