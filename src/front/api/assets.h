/* SPDX-License-Identifier: Apache-2.0 */
/* assets.h - the console's files, built into the program.
 *
 * web/ is built by npm and packed into a C table by tools/embed.py (see cmake/RungWeb.cmake). Without npm the table
 * holds one page that says so. Constant data; any thread.
 *
 *     const rung_web_asset *asset = rung_web_asset_find(RUNG_SLICE("/"));
 *     if (asset && client_takes_gzip && asset->gzip_size) ... send asset->gzip ...
 */
#ifndef RUNG_FRONT_API_ASSETS_H
#define RUNG_FRONT_API_ASSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

typedef struct rung_web_asset {
    const char *path;         /* as asked for: "/", "/widget.js", "/assets/console-1f3c9a2b.js" */
    const char *content_type; /* ready for the header */
    const char *etag;         /* ready for the header; weak, since both encodings have the same */
    const char *policy;       /* Content-Security-Policy of a page, else NULL */
    const unsigned char *bytes;
    size_t size;
    const unsigned char *gzip; /* compressed; NULL where not smaller */
    size_t gzip_size;
    bool is_immutable; /* the path contains a hash of the bytes: cache it for a year */
} rung_web_asset;

/* Sorted by path, byte by byte; generated. */
extern const rung_web_asset rung_web_assets[];
extern const size_t rung_web_asset_count;

/* Is the console in the table, or only the page that says it was not built? */
extern const bool rung_web_is_built;

/* The asset with exactly this path (query string cut off by the caller), or NULL. */
const rung_web_asset *rung_web_asset_find(rung_slice path);

#endif
