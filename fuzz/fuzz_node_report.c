/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a server's report: refused, or read; what was read is written and read again without a difference. */
#include "base/assert.h"
#include "service/node_report.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    uint8_t bytes[RUNG_NODE_REPORT_SIZE_MAX], again[RUNG_NODE_REPORT_SIZE_MAX];
    rung_node_report report;
    if (rung_node_report_decode(rung_slice_of(data, size), &report, NULL) != RUNG_OK)
        return 0;
    size_t len = rung_node_report_encode(&report, bytes);
    RUNG_ASSERT(len <= sizeof bytes);
    rung_status st = rung_node_report_decode(rung_slice_of(bytes, len), &report, NULL);
    RUNG_ASSERT(st == RUNG_OK);
    RUNG_ASSERT(rung_node_report_encode(&report, again) == len && memcmp(bytes, again, len) == 0);
    return 0;
}
