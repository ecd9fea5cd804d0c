/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the asker on the loop, and the calls that wait for it. */
#include "front/api/archive_calls.h"

#include "front/api/parts.h"
#include "front/net/loop.h"

/* ---- the loop's side ---- */

static bool begin_work(void *ctx, uint32_t reader, rung_asker_work *work) {
    rung_api *api = ctx;
    return rung__api_begin_work(api, &api->archive_work[reader], work);
}

static void look(void *ctx) {
    rung_asker_look(((rung_api *)ctx)->service.asker);
}

static void look_in(void *ctx, uint32_t ms) {
    rung_api *api = ctx;
    rung_timer_start(api->config.loop, &api->ask_timer, ms, 0);
}

static int64_t now_ms(void *ctx) {
    return (int64_t)rung_loop_now_ms(((rung_api *)ctx)->config.loop);
}

static bool marks(void *ctx, rung_archive_stats *out) {
    const rung_api *api = ctx;
    return api->config.archive_stat && api->config.archive_stat(api->config.ctx, out);
}

rung_status rung__archive_create(rung_api *api, rung_err *err) {
    api->ask_timer = (rung_timer){.call = look, .ctx = api};
    return rung_asker_create(&(rung_asker_config){.alloc = api->config.alloc,
                                                  .wait_ms = api->config.wait_ms,
                                                  .work = begin_work,
                                                  .look_in = look_in,
                                                  .now_ms = now_ms,
                                                  .marks = marks,
                                                  .ctx = api},
                             &api->service.asker, err);
}

/* ---- calls ---- */

static void done(rung_archive_job *job) {
    rung_archive_call *a = (rung_archive_call *)job;
    rung_call *c = a->call;
    const rung_alloc *alloc = c->api->config.alloc;
    if (!rung__call_may_still(c))
        ; /* it is answered */
    else if (job->status == RUNG_OK)
        a->finish(a);
    else
        rung__call_fail(c, job->status, &job->err);
    rung_alloc_free(alloc, a, a->size);
}

void *rung__archive_call_new(rung_call *c, size_t size, rung_archive_run *run,
                             void (*finish)(rung_archive_call *a)) {
    rung_archive_call *a = rung_alloc_zeroed(c->api->config.alloc, size);
    if (!a) {
        rung__call_fail(c, RUNG_ENOMEM, NULL);
        return NULL;
    }
    a->job = (rung_archive_job){
        .run = run, .done = done, .share = rung__call_share(c), .deadline_ms = c->deadline_ms};
    a->call = c;
    a->finish = finish;
    a->size = size;
    return a;
}

void rung__archive_call_put(rung_archive_call *a) {
    rung_call *c = a->call;
    rung_err err = {0};
    rung_status st = rung_asker_put(c->api->service.asker, &a->job, &err);
    if (st == RUNG_OK)
        return;
    rung_alloc_free(c->api->config.alloc, a, a->size);
    rung__call_fail(c, st, &err);
}
