/* SPDX-License-Identifier: Apache-2.0 */
/* The console's files as the program carries them: found by path, well-formed, packed without loss. */
#include "front/api/assets.h"
#include "support/check.h"

#include <string.h>
#include <zlib.h>

TEST(the_table_is_sorted_and_every_path_is_found) {
    CHECK(rung_web_asset_count > 0);
    for (size_t i = 0; i < rung_web_asset_count; i++) {
        const rung_web_asset *asset = &rung_web_assets[i];
        CHECK(asset->path[0] == '/');
        if (i > 0)
            CHECK(strcmp(rung_web_assets[i - 1].path, asset->path) < 0);
        CHECK(rung_web_asset_find(rung_slice_str(asset->path)) == asset);
    }
}

TEST(only_whole_paths_are_found) {
    CHECK(rung_web_asset_find(RUNG_SLICE("/")) != NULL);
    CHECK_NULL(rung_web_asset_find(RUNG_SLICE("")));
    CHECK_NULL(rung_web_asset_find(RUNG_SLICE("/assets")));
    CHECK_NULL(rung_web_asset_find(RUNG_SLICE("/index.html")));
    CHECK_NULL(rung_web_asset_find(RUNG_SLICE("/\xff")));
    CHECK_NULL(rung_web_asset_find(rung_slice_of("/\0x", 3)));
}

TEST(pages_have_a_policy_and_hashed_names_are_for_ever) {
    for (size_t i = 0; i < rung_web_asset_count; i++) {
        const rung_web_asset *asset = &rung_web_assets[i];
        bool is_page = strncmp(asset->content_type, "text/html", 9) == 0;
        CHECK_EQ_I64(asset->policy != NULL, is_page);
        if (is_page)
            CHECK(strstr(asset->policy, "default-src 'self'") && !strstr(asset->policy, "unsafe"));
        CHECK_EQ_I64(asset->is_immutable, strncmp(asset->path, "/assets/", 8) == 0);
        size_t length = strlen(asset->etag);
        CHECK(length == 20 && strncmp(asset->etag, "W/\"", 3) == 0 && asset->etag[19] == '"');
    }
}

TEST(gzip_holds_the_same_bytes) {
    static unsigned char plain[1 << 20];
    for (size_t i = 0; i < rung_web_asset_count; i++) {
        const rung_web_asset *asset = &rung_web_assets[i];
        CHECK_EQ_I64(asset->gzip != NULL, asset->gzip_size > 0);
        if (!asset->gzip)
            continue;
        CHECK(asset->gzip_size < asset->size && asset->size < sizeof plain);
        z_stream z = {.next_in = (unsigned char *)(uintptr_t)asset->gzip,
                      .avail_in = (unsigned)asset->gzip_size,
                      .next_out = plain,
                      .avail_out = sizeof plain};
        CHECK_EQ_I64(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
        CHECK_EQ_I64(inflate(&z, Z_FINISH), Z_STREAM_END);
        CHECK_EQ_U64(z.total_out, asset->size);
        CHECK(memcmp(plain, asset->bytes, asset->size) == 0);
        CHECK_EQ_I64(inflateEnd(&z), Z_OK);
    }
}

RUNG_TEST_MAIN
