/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a PROXY header, as a list of proxies, and as the fields in which proxies name a client. */
#include "base/assert.h"
#include "front/http/forwarded.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_header(rung_slice bytes) {
    rung_proxy_header h, cut;
    if (rung_proxy_header_read(bytes, &h) != RUNG_OK)
        return;
    RUNG_ASSERT(h.size <= bytes.len && h.size <= RUNG_PROXY_HEADER_MAX);
    RUNG_ASSERT(rung_proxy_header_read(rung_slice_of(bytes.ptr, h.size - 1), &cut) == RUNG_PARTIAL);
    RUNG_ASSERT(!h.has_client || !h.client.is_unix);
}

/* Whatever a list says, an address without a trusted proxy is left as it is. */
static void check_fields(rung_slice bytes) {
    static const rung_head_limits limits = {65535, 8192, 100};
    rung_head head = {0};
    rung_head_problem problem;
    rung_proxies trusted = {0};
    rung_address a, before;
    size_t length;
    if (rung_head_parse(&head, &limits, bytes, &length, &problem) != RUNG_OK ||
        rung_proxies_parse(RUNG_SLICE("10.0.0.0/8"), &trusted, NULL) != RUNG_OK)
        return;
    for (int by = RUNG_FORWARDED_X_FORWARDED_FOR; by <= RUNG_FORWARDED_OFF; by++) {
        RUNG_ASSERT(rung_address_parse_ip(RUNG_SLICE("10.0.0.1"), &a));
        rung_forwarded_find(&head, bytes.ptr, (rung_forwarded_by)by, &trusted, &a);
        RUNG_ASSERT(!a.is_unix);
        RUNG_ASSERT(rung_address_parse_ip(RUNG_SLICE("192.0.2.1"), &before));
        a = before;
        rung_forwarded_find(&head, bytes.ptr, (rung_forwarded_by)by, &trusted, &a);
        RUNG_ASSERT(memcmp(&a, &before, sizeof a) == 0);
    }
}

static void check_list(rung_slice bytes) {
    rung_proxies p;
    if (rung_proxies_parse(bytes, &p, NULL) == RUNG_OK)
        RUNG_ASSERT(p.count <= RUNG_PROXIES_MAX);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    rung_slice bytes = rung_slice_of(data, size);
    check_header(bytes);
    check_fields(bytes);
    check_list(bytes);
    return 0;
}
