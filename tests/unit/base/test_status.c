/* SPDX-License-Identifier: Apache-2.0 */
/* A failure carries its parts as data, and a message composed of them. */
#include "base/status.h"
#include "support/check.h"

#include <string.h>

TEST(a_failure_without_a_field) {
    rung_err err;
    CHECK(RUNG_FAIL(&err, RUNG_ENOMEM, "byte %d: out of memory", 7) == RUNG_ENOMEM);
    CHECK_EQ_I64(err.code, RUNG_ENOMEM);
    CHECK_EQ_I64(err.reason, RUNG_REASON_NONE);
    CHECK_EQ_I64(err.os_errno, 0);
    CHECK_EQ_STR(err.field, "");
    CHECK_EQ_STR(err.message, "byte 7: out of memory");
    CHECK(strncmp(err.where, "test_status.c:", 14) == 0);
}

TEST(a_field_takes_the_first_arguments) {
    rung_err err;
    RUNG_FAIL_FIELD(&err, RUNG_EINVAL, "seasons[%u].%.*s", "%d to %d bytes", 3u, 4, "name!", 1, 64);
    CHECK_EQ_STR(err.field, "seasons[3].name");
    CHECK_EQ_STR(err.message, "seasons[3].name: 1 to 64 bytes");
    RUNG_FAIL_FIELD(&err, RUNG_EINVAL, "tie", "not known");
    CHECK_EQ_STR(err.field, "tie");
    CHECK_EQ_STR(err.message, "tie: not known");
}

TEST(reason_and_system_error) {
    rung_err err;
    RUNG_FAIL_FIELD_WHY(&err, RUNG_NOT_FOUND, RUNG_REASON_NOT_IN_MEMORY, "window", "gone");
    CHECK_EQ_I64(err.reason, RUNG_REASON_NOT_IN_MEMORY);
    RUNG_FAIL_WHY(&err, RUNG_EINVAL, RUNG_REASON_FLAG, "--x: no");
    CHECK_EQ_I64(err.reason, RUNG_REASON_FLAG);
    CHECK_EQ_STR(err.field, "");
    RUNG_FAIL_OS(&err, RUNG_EIO, 5, "cannot read");
    CHECK_EQ_I64(err.os_errno, 5);
    CHECK_EQ_I64(err.reason, RUNG_REASON_NONE);
}

TEST(nobody_has_to_listen) {
    CHECK(RUNG_FAIL_FIELD(NULL, RUNG_ERANGE, "score", "%d is too much", 7) == RUNG_ERANGE);
}

TEST(long_texts_are_cut) {
    rung_err err;
    char name[400];
    memset(name, 'x', sizeof name);
    RUNG_FAIL_FIELD(&err, RUNG_EINVAL, "%.*s", "no", (int)sizeof name, name);
    CHECK_EQ_U64(strlen(err.field), sizeof err.field - 1);
    CHECK_EQ_U64(strlen(err.message), sizeof err.message - 1);
}

RUNG_TEST_MAIN
