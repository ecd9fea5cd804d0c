/* SPDX-License-Identifier: Apache-2.0 */
/* resp_reply.h - find the end of a Redis reply, RESP2 or RESP3, in bytes that arrive piece by piece.
 *
 *     rung_resp_reply r = {0};
 *     while ((st = rung_resp_reply_end(&r, bytes, &len)) == RUNG_PARTIAL) ... append more to bytes ...
 *
 * `bytes` begins with the reply; what was looked at is not looked at again. Pure; one thread at a time. */
#ifndef RUNG_CODEC_RESP_REPLY_H
#define RUNG_CODEC_RESP_REPLY_H

#include "base/slice.h"
#include "base/status.h"

#include <stdint.h>

/* Private; zero before the first call. */
typedef struct rung_resp_reply {
    size_t at;       /* bytes that are understood */
    uint64_t behind; /* replies that end with this one: it is the last of them when this is 0 */
    bool has_begun;
} rung_resp_reply;

/* RUNG_OK: it has *len_out bytes. RUNG_PARTIAL: it goes on. RUNG_EINVAL: it is not a reply. */
RUNG_NODISCARD rung_status rung_resp_reply_end(rung_resp_reply *r, rung_slice bytes,
                                               size_t *len_out);

#endif
