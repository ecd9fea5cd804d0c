/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot file and a manifest whose bytes a stranger chose. First byte even: the rest is the snapshot as it is; odd:
 * a list of changes (offset 16 bits, value to xor) to a good one. What loads without complaint must be the
 * stream that was written. */
#include "journal/snapshot_file.h"
#include "support/check.h"
#include "support/memfs.h"
#include "support/snapshot_load.h"

#include <string.h>

#define PATH "data"
#define NAME "snapshot-00000000000000000002.snap"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t UUID[16] = {1, 2, 3};
static const char TEXT[] = "what a state looks like when it is written down, more or less";

static void save(const rung_dir *dir, uint64_t seq) {
    rung_snapshot_writer *w;
    rung_snapshot_info info;
    rung_err err;
    uint8_t digest[32] = {7};
    CHECK_OK(rung_snapshot_writer_begin(dir, rung_alloc_heap(), UUID, seq, &w, &err));
    CHECK_OK(rung_snapshot_writer_append(w, TEXT, sizeof TEXT, &err));
    CHECK_OK(rung_snapshot_writer_finish(w, digest, &info, &err));
}

typedef struct load {
    char bytes[sizeof TEXT];
    size_t len;
} load;

static rung_status on_begin(void *ctx, uint64_t seq) {
    (void)seq;
    ((load *)ctx)->len = 0;
    return RUNG_OK;
}

static rung_status on_feed(void *ctx, const void *bytes, size_t len) {
    load *l = ctx;
    if (len > sizeof l->bytes - l->len)
        return RUNG_ECORRUPT;
    memcpy(l->bytes + l->len, bytes, len);
    l->len += len;
    return RUNG_OK;
}

static rung_status on_end(void *ctx, const rung_snapshot_info *info) {
    load *l = ctx;
    return l->len == info->size_bytes ? RUNG_OK : RUNG_ECORRUPT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rung_memfs fs;
    rung_dir dir;
    rung_err err;
    if (size < 1 || size > 200000)
        return 0;
    rung_memfs_init(&fs);
    CHECK_OK(rung_dir_open(&dir, &fs.port, PATH, true, &err));
    save(&dir, 1);
    save(&dir, 2);
    memfs_bytes *snapshot = rung_memfs_bytes(&fs, PATH, NAME);
    memfs_bytes *manifest = rung_memfs_bytes(&fs, PATH, RUNG_SNAPSHOT_MANIFEST);
    bool is_ours = data[0] & 1;
    if (is_ours) {
        for (size_t i = 1; i + 3 <= size && i < 3 * 64; i += 3) {
            size_t at = (size_t)data[i] | (size_t)data[i + 1] << 8;
            memfs_bytes *b = at & 0x8000 ? manifest : snapshot;
            b->bytes[(at & 0x7fff) % b->size] ^= data[i + 2];
        }
    } else {
        rung_memfs_resize(snapshot, size - 1);
        memcpy(snapshot->bytes, data + 1, size - 1);
    }
    load l = {.len = 0};
    snapshot_sink sink = {&l, on_begin, on_feed, on_end, NULL};
    rung_snapshot_info info;
    rung_status st = snapshot_load(&dir, rung_alloc_heap(), UUID, UINT64_MAX, &sink, &info, &err);
    if (is_ours) { /* the older one is good in any case */
        CHECK_OK(st);
        CHECK_EQ_U64(l.len, sizeof TEXT);
        CHECK_EQ_MEM(l.bytes, TEXT, sizeof TEXT);
    }
    rung_dir_close(&dir);
    rung_memfs_deinit(&fs);
    return 0;
}
