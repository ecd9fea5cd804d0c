/* SPDX-License-Identifier: Apache-2.0 */
/* gzip.h - private to front/http: compress whole bodies with zlib, with one stream and one buffer for all. */
#ifndef RUNG_FRONT_HTTP_GZIP_H
#define RUNG_FRONT_HTTP_GZIP_H

#include "base/buffer.h"
#include "base/slice.h"

#include <stdbool.h>
#include <zlib.h>

#define RUNG__GZIP_BODY_MAX (1u << 20) /* larger ones would block the loop for too long */

/* Initialise to zero, with packed.alloc. */
typedef struct rung__gzip {
    rung_buffer packed; /* the last answer */
    z_stream stream;
    bool is_open;
} rung__gzip;

/* False: out of memory, too large, or not smaller than the body. `*out` is valid until the next call. */
bool rung__gzip_pack(rung__gzip *g, int level, rung_slice body, rung_slice *out);
void rung__gzip_deinit(rung__gzip *g);

#endif
