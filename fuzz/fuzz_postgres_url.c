/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as the address of a database. What is accepted shows no more than the address up to its '?', and its
 * password is not in it. */
#include "archive/postgres/url.h"
#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    static rung_postgres_url url;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (rung_postgres_url_parse(text, &url, NULL) == RUNG_OK) {
        const char *user = strstr(url.shown, "://") + 3, *at = strchr(user, '@');
        RUNG_ASSERT(rung_postgres_url_is(url.libpq) && strlen(url.libpq) <= strlen(text));
        RUNG_ASSERT(!strchr(url.shown, '?') && url.schema[0]);
        RUNG_ASSERT(!at || !memchr(user, ':', (size_t)(at - user)));
    }
    free(text);
    return 0;
}
