/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a reply, whole and in two pieces: the same end, within the bytes. */
#include "base/assert.h"
#include "codec/resp_reply.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    size_t whole_len = 0, len = 0, cut = size ? data[0] % (size + 1) : 0;
    rung_resp_reply whole = {0}, parts = {0};
    rung_status st = rung_resp_reply_end(&whole, rung_slice_of(data, size), &whole_len);
    rung_status first = rung_resp_reply_end(&parts, rung_slice_of(data, cut), &len);
    if (first == RUNG_PARTIAL)
        first = rung_resp_reply_end(&parts, rung_slice_of(data, size), &len);
    RUNG_ASSERT(first == st);
    RUNG_ASSERT(st != RUNG_OK || (len == whole_len && len <= size));
    return 0;
}
