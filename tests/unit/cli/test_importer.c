/* SPDX-License-Identifier: Apache-2.0 */
/* How far an import is, on disk. */
#include "cli/importer.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(state_is_read_back) {
    char folder[] = "/tmp/rung-import-XXXXXX", path[64];
    rung_import_state in = {.run = UINT64_MAX,
                            .head_size = 16384,
                            .head_hash = 1,
                            .offset = UINT64_C(5000000000),
                            .line = 3,
                            .accepted = 2,
                            .duplicate = 1,
                            .refused = 4,
                            .is_done = true},
                      out = {0};
    rung_err err = {0};
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/state", folder);
    CHECK_STATUS(rung_import_state_read(path, &out, &err), RUNG_NOT_FOUND);
    CHECK(rung_import_state_write(path, &in, &err) == RUNG_OK);
    CHECK(rung_import_state_write(path, &in, &err) == RUNG_OK);
    CHECK_MSG(rung_import_state_read(path, &out, &err) == RUNG_OK, "%s", err.message);
    CHECK(out.run == in.run && out.head_size == in.head_size && out.head_hash == in.head_hash);
    CHECK(out.offset == in.offset && out.line == in.line && out.accepted == in.accepted);
    CHECK(out.duplicate == in.duplicate && out.refused == in.refused && out.is_done);
    CHECK(truncate(path, 40) == 0);
    CHECK_STATUS(rung_import_state_read(path, &out, &err), RUNG_ECORRUPT);
    CHECK(strstr(err.message, "--restart"));
    unlink(path);
    rmdir(folder);
    CHECK_STATUS(rung_import_state_write(path, &in, &err), RUNG_EIO);
}

RUNG_TEST_MAIN
