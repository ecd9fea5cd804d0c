/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the target of a request: path, '?', query. Every name that comes out is a valid one, every number in its
 * limits. The first byte chooses the method. */
#include "base/assert.h"
#include "front/api/routes.h"
#include "model/board.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check_names(const rung_param *p, rung_slice names, int64_t count) {
    rung_slice name;
    while (rung_arg_next(&names, &name)) {
        RUNG_ASSERT(p->type != RUNG_PARAM_NAMES || rung_name_is_valid(name));
        count--;
    }
    RUNG_ASSERT(count == 0);
}

static void check_arg(const rung_param *p, const rung_arg *arg) {
    if (!arg->given)
        return;
    switch (p->type) {
    case RUNG_PARAM_NAME:
        RUNG_ASSERT(rung_name_is_valid(arg->text));
        return;
    case RUNG_PARAM_COUNT:
        RUNG_ASSERT(arg->number >= p->min && arg->number <= p->max);
        return;
    case RUNG_PARAM_REAL:
        RUNG_ASSERT(arg->real > (double)p->min && arg->real <= (double)p->max);
        return;
    case RUNG_PARAM_FLAG:
        RUNG_ASSERT(arg->number == 0 || arg->number == 1);
        return;
    case RUNG_PARAM_NAMES:
    case RUNG_PARAM_SCORES:
        check_names(p, arg->text, arg->number);
        return;
    default:
        return;
    }
}

static void check_target(rung_method method, rung_slice path, rung_slice query, char *scratch) {
    const rung_route *route;
    rung_slice segments[RUNG_URL_SEGMENTS_MAX];
    rung_args args;
    rung_err err = {0};
    if (rung_route_find(method, path, &route, segments, NULL, &err) != RUNG_OK) {
        RUNG_ASSERT(err.message[0]);
        return;
    }
    if (rung_route_read_path(route, segments, &args, scratch, &err) < 0 ||
        rung_route_read_query(route, query, &args, scratch + path.len, &err) < 0) {
        RUNG_ASSERT(err.message[0]);
        return;
    }
    for (uint32_t i = 0; i < route->param_count; i++)
        check_arg(&route->params[i], &args.arg[i]);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size == 0)
        return 0;
    rung_slice path = rung_slice_of(data + 1, size - 1), query = {NULL, 0};
    const char *mark = path.len ? memchr(path.ptr, '?', path.len) : NULL;
    if (mark) {
        query = rung_slice_of(mark + 1, path.len - (size_t)(mark - path.ptr) - 1);
        path.len = (size_t)(mark - path.ptr);
    }
    size_t room = path.len + 2 * query.len + 2; /* as the API gives it */
    char *scratch = malloc(room);
    check_target((rung_method)(data[0] % (RUNG_METHOD_OTHER + 1)), path, query, scratch);
    free(scratch);
    return 0;
}
