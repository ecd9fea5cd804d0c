/* SPDX-License-Identifier: Apache-2.0 */
#include "front/api/routes.h"
#include "front/api/schemas.h"
#include "support/check.h"

#include <string.h>

static const rung_route *find(rung_method method, const char *path, rung_status want) {
    static rung_slice segments[RUNG_URL_SEGMENTS_MAX];
    const rung_route *route = NULL;
    rung_err err = {0};
    CHECK_STATUS(rung_route_find(method, rung_slice_str(path), &route, segments, NULL, &err), want);
    return route;
}

/* ---- the table ---- */

/* The invariants at the head of routes.c. */
TEST(table_is_sound) {
    for (uint32_t i = 0; i < rung_route_count; i++) {
        const rung_route *r = &rung_routes[i];
        CHECK(r->id && r->tag && r->summary && r->doc && r->handle && r->results[0].status);
        CHECK(r->param_count <= RUNG_PARAMS_MAX);
        CHECK((r->body_kind == RUNG_BODY_NONE) == (r->body == NULL));
        bool is_question = r->method == RUNG_METHOD_GET || strcmp(r->id, "predictMatch") == 0 ||
                           strcmp(r->id, "checkScore") == 0 ||
                           strcmp(r->id, "checkRules") == 0;
        CHECK(is_question == !(r->flags & RUNG_IS_CHANGE));
        CHECK(!(r->flags & RUNG_IS_CHANGE) || r->role >= RUNG_ROLE_SERVER);
        CHECK((r->role == RUNG_ROLE_NONE) == ((r->flags & RUNG_IS_UNGUARDED) != 0));
        for (uint32_t k = 0; k < i; k++) {
            CHECK_MSG(strcmp(r->id, rung_routes[k].id) != 0, "%s twice", r->id);
            CHECK_MSG(r->method != rung_routes[k].method ||
                          strcmp(r->path, rung_routes[k].path) != 0,
                      "%s twice", r->path);
        }
    }
}

TEST(params_are_those_of_the_path_first) {
    for (uint32_t i = 0; i < rung_route_count; i++) {
        const rung_route *r = &rung_routes[i];
        uint32_t n = 0;
        for (const char *at = strchr(r->path, '{'); at; at = strchr(at + 1, '{'), n++) {
            CHECK(n < r->param_count && r->params[n].in_path && r->params[n].required);
            size_t len = strlen(r->params[n].name);
            CHECK_MSG(strncmp(at + 1, r->params[n].name, len) == 0 && at[len + 1] == '}', "%s",
                      r->path);
        }
        for (uint32_t k = 0; k < r->param_count; k++) {
            const rung_param *p = &r->params[k];
            CHECK_MSG(p->in_path == (k < n), "%s %s", r->path, p->name);
            CHECK(p->doc && (p->type == RUNG_PARAM_CHOICE) == (p->choices != NULL));
            CHECK(!(p->required && p->has_default));
            for (uint32_t j = 0; j < k; j++)
                CHECK(strcmp(p->name, r->params[j].name) != 0);
        }
    }
}

TEST(paths) {
    CHECK_EQ_STR(find(RUNG_METHOD_GET, "/v1/boards", RUNG_OK)->id, "listBoards");
    CHECK_EQ_STR(find(RUNG_METHOD_HEAD, "/v1/boards/a%2Fb/top", RUNG_OK)->id, "getTop");
    CHECK_EQ_STR(find(RUNG_METHOD_GET, "/v1/boards/players/players", RUNG_OK)->id, "getEntries");
    CHECK_EQ_STR(find(RUNG_METHOD_DELETE, "/v1/players/a/friends/b", RUNG_OK)->id, "removeFriend");
    find(RUNG_METHOD_GET, "/", RUNG_NOT_FOUND);
    find(RUNG_METHOD_GET, "/v1/boards/a/top/", RUNG_NOT_FOUND);
    find(RUNG_METHOD_GET, "/V1/boards", RUNG_NOT_FOUND);
    find(RUNG_METHOD_GET, "v1/boards", RUNG_EINVAL);
    find(RUNG_METHOD_PATCH, "/v1/boards/a", RUNG_EUNSUPPORTED);
    find(RUNG_METHOD_OTHER, "/healthz", RUNG_EUNSUPPORTED);
    find(RUNG_METHOD_GET, "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t", RUNG_NOT_FOUND);
}

TEST(allowed_methods) {
    rung_slice segments[RUNG_URL_SEGMENTS_MAX];
    const rung_route *route;
    char allowed[RUNG_ALLOWED_MAX];
    CHECK_STATUS(rung_route_find(RUNG_METHOD_POST, RUNG_SLICE("/v1/players/a/friends/b"), &route,
                                 segments, allowed, NULL),
                 RUNG_EUNSUPPORTED);
    CHECK_EQ_STR(allowed, "PUT, DELETE");
}

/* ---- the path ---- */

static rung_status read_path(const char *path, rung_args *args, char *scratch) {
    rung_slice segments[RUNG_URL_SEGMENTS_MAX];
    const rung_route *route;
    rung_err err;
    CHECK_OK(rung_route_find(RUNG_METHOD_GET, rung_slice_str(path), &route, segments, NULL, &err));
    return rung_route_read_path(route, segments, args, scratch, &err);
}

TEST(names_in_paths) {
    rung_args args;
    char scratch[512];
    CHECK_OK(read_path("/v1/boards/a%2Fb%25/players/c+d%20e", &args, scratch));
    CHECK(rung_slice_eq(args.arg[0].text, RUNG_SLICE("a/b%")));
    CHECK(rung_slice_eq(args.arg[1].text, RUNG_SLICE("c+d e"))); /* a plus is a plus in a path */
    CHECK_STATUS(read_path("/v1/boards//top", &args, scratch), RUNG_EINVAL);
    CHECK_STATUS(read_path("/v1/boards/%/top", &args, scratch), RUNG_EINVAL);
    CHECK_STATUS(read_path("/v1/boards/%0a/top", &args, scratch), RUNG_EINVAL);
    CHECK_STATUS(read_path("/v1/boards/%C0%AF/top", &args, scratch), RUNG_EINVAL);
}

/* ---- the query ---- */

static const rung_route *route_of(const char *id) {
    for (uint32_t i = 0; i < rung_route_count; i++)
        if (strcmp(rung_routes[i].id, id) == 0)
            return &rung_routes[i];
    CHECK_MSG(false, "no route %s", id);
    return NULL;
}

static const rung_arg *arg_of(const rung_route *r, const rung_args *args, const char *name) {
    for (uint32_t i = 0; i < r->param_count; i++)
        if (strcmp(r->params[i].name, name) == 0)
            return &args->arg[i];
    CHECK_MSG(false, "no parameter %s", name);
    return NULL;
}

static char scratch_bytes[4096];

static rung_status read_query(const char *id, const char *query, rung_args *args, rung_err *err) {
    return rung_route_read_query(route_of(id), rung_slice_str(query), args, scratch_bytes, err);
}

TEST(defaults_and_values) {
    const rung_route *top = route_of("getTop");
    rung_args args;
    CHECK_OK(read_query("getTop", "", &args, NULL));
    CHECK_EQ_I64(arg_of(top, &args, "limit")->number, 10);
    CHECK(!arg_of(top, &args, "limit")->given && !arg_of(top, &args, "rank")->given);
    CHECK_OK(read_query("getTop",
                        "offset=4294967295&limit=1000&rank=dense&scope=a:b%26c+d&window=week",
                        &args, NULL));
    CHECK_EQ_I64(arg_of(top, &args, "offset")->number, UINT32_MAX);
    CHECK_EQ_I64(arg_of(top, &args, "rank")->number, 2);
    CHECK(rung_slice_eq(arg_of(top, &args, "scope")->text, RUNG_SLICE("a:b&c d")));
    CHECK(rung_slice_eq(arg_of(top, &args, "window")->text, RUNG_SLICE("week")));
    CHECK_OK(read_query("putFriend", "follow=true", &args, NULL));
    CHECK_EQ_I64(arg_of(route_of("putFriend"), &args, "follow")->number, 1);
    CHECK_OK(read_query("getHistory", "board=x&from=2026-01-01T00:00:00Z&to=1767225600001", &args,
                        NULL));
    CHECK_EQ_I64(arg_of(route_of("getHistory"), &args, "from")->number, INT64_C(1767225600000));
    CHECK_EQ_I64(arg_of(route_of("getHistory"), &args, "to")->number, INT64_C(1767225600001));
    CHECK_OK(read_query("getTarget", "top_percent=0.5", &args, NULL));
    CHECK_EQ_F64(arg_of(route_of("getTarget"), &args, "top_percent")->real, 0.5);
}

TEST(lists) {
    rung_args args;
    CHECK_OK(read_query("getEntries", "ids=a,b%2Cc,%64", &args, NULL));
    rung_slice rest = arg_of(route_of("getEntries"), &args, "ids")->text, name;
    const char *want[] = {"a", "b,c", "d"};
    for (size_t i = 0; i < 3; i++) {
        CHECK(rung_arg_next(&rest, &name));
        CHECK(rung_slice_eq(name, rung_slice_str(want[i])));
    }
    CHECK(!rung_arg_next(&rest, &name));
    CHECK_EQ_I64(arg_of(route_of("getEntries"), &args, "ids")->number, 3);
}

TEST(what_is_wrong_is_named) {
    static const char *const bad[][3] = {
        {"getTop", "limit=0", "limit"},
        {"getTop", "limit=1001", "limit"},
        {"getTop", "limit=+1", "limit"},
        {"getTop", "limit=1e1", "limit"},
        {"getTop", "limit", "limit"},
        {"getTop", "limit=1&limit=1", "limit"},
        {"getTop", "x=1", "x"},
        {"getTop", "board=x", "board"},
        {"getTop", "=1", "query"},
        {"getTop", "&", "query"},
        {"getTop", "limit=1&", "query"},
        {"getTop", "limit=1&&offset=1", "query"},
        {"getTop", "a=%", "a"},
        {"getTop", "rank=", "rank"},
        {"getTop", "scope=%00", "scope"},
        {"getTop", "on=2026-01-01T00:00", "on"},
        {"getEntries", "", "ids"},
        {"getEntries", "ids", "ids"},
        {"getEntries", "ids=a,", "ids"},
        {"getEntries", "ids=%0a", "ids"},
        {"putFriend", "follow=1", "follow"},
        {"getTarget", "top_percent=0", "top_percent"},
        {"getTarget", "top_percent=nan", "top_percent"},
        {"getTarget", "top_percent=100.1", "top_percent"},
        {"getHistory", "from=now&board=a", "from"},
        {"getAtScore", "columns=1,,2", "columns"},
        {"getAtScore", "columns=1,2,3", "columns"},
    };
    rung_args args;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        rung_err err = {0};
        rung_status st = read_query(bad[i][0], bad[i][1], &args, &err);
        size_t len = strlen(bad[i][2]);
        CHECK_MSG(st == RUNG_EINVAL, "%s?%s: %s", bad[i][0], bad[i][1], rung_status_name(st));
        CHECK_MSG(strncmp(err.message, bad[i][2], len) == 0 && err.message[len] == ':', "%s?%s: %s",
                  bad[i][0], bad[i][1], err.message);
    }
}

RUNG_TEST_MAIN
