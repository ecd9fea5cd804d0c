/* SPDX-License-Identifier: Apache-2.0 */
/* A packed window whose bytes a stranger chose: read twice, as the archive does, with the ranks of its scopes. */
#include "archive/closed_window.h"
#include "archive/scope_census.h"
#include "support/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ranks(const rung_archive_row *row, const rung_archive_scope *scopes,
                        uint32_t count) {
    for (uint32_t i = 0; i < row->scope_count; i++) {
        const rung_archive_scope_rank *r = &row->scopes[i];
        CHECK(r->scope < count);
        CHECK(r->place >= 1 && r->place <= scopes[r->scope].total && r->place <= row->place);
        CHECK(r->sparse <= r->place && r->dense <= r->sparse &&
              r->dense <= scopes[r->scope].distinct);
    }
}

static void read_twice(const rung_packed_reader *packed, rung__census *census) {
    rung_packed_reader first = *packed, second = *packed;
    const rung_archive_scope *scopes;
    rung_archive_row row;
    rung_err err;
    uint32_t count;
    rung_status st = RUNG_OK;
    while (st == RUNG_OK && (st = rung_packed_next(&first, &row, &err)) == RUNG_OK)
        st = rung__census_count(census, &first, &row, &err);
    if (st < 0)
        return;
    CHECK_OK(rung__census_list(census, &scopes, &count, &err));
    while (rung_packed_next(&second, &row, &err) == RUNG_OK) {
        rung__census_rank(census, &second, &row);
        check_ranks(&row, scopes, count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    rung_packed_reader r;
    rung__census *census;
    rung_err err;
    if (rung_packed_open(rung_slice_of(data, size), &r, &err) < 0 || r.is_sample)
        return 0;
    CHECK_OK(rung__census_create(rung_alloc_heap(), &r, &census, &err));
    read_twice(&r, census);
    rung__census_destroy(census);
    return 0;
}
