/* SPDX-License-Identifier: Apache-2.0 */
/* Binary search: the generated table is sorted by path, without repeats (tools/embed.py; the unit test checks it). */
#include "front/api/assets.h"

const rung_web_asset *rung_web_asset_find(rung_slice path) {
    size_t low = 0;
    size_t high = rung_web_asset_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = rung_slice_cmp(path, rung_slice_str(rung_web_assets[middle].path));
        if (order == 0)
            return &rung_web_assets[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
