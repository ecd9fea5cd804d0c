#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plant bugs, one at a time, in a copy of the tree, and count the seeds that the simulator takes to find each.

    tests/sim/mutate.py [--seeds N] [--markdown] [name ...]     also ./dev hunt mutations

A mutation replaces one piece of text in one file. Where the text is gone the mutation is stale: that is a failure here,
so that this list stays honest. The copy is .cache/mutations; the tree itself is never touched.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPY = ROOT / ".cache" / "mutations"
BUILD = COPY / "build" / "dev"

# name: (file, text, replacement). One server with its own log finds these,
SINGLE = {
    "skipped sync": (
        "src/journal/segment_log.c",
        "rung_status st = rung_file_datasync(&log->active, &detail);\n        if (st < 0)\n            return fail",
        "rung_status st = RUNG_OK;\n        if (st < 0)\n            return fail"),
    "every eighth sync skipped": (
        "src/journal/segment_log.c",
        "rung_status st = rung_file_datasync(&log->active, &detail);\n        if (st < 0)\n            return fail",
        "rung_status st = log->state.next_seq % 8 ? rung_file_datasync(&log->active, &detail) : RUNG_OK;\n"
        "        if (st < 0)\n            return fail"),
    "failed sync tried again": (
        "src/journal/segment_log.c",
        "rung_status st = rung_file_datasync(&log->active, &detail);\n        if (st < 0)\n            return fail",
        "rung_status st = rung_file_datasync(&log->active, &detail);\n        if (st < 0)\n"
        "            st = rung_file_datasync(&log->active, &detail);\n        if (st < 0)\n            return fail"),
    "rename without directory sync": (
        "src/journal/spare.c",
        "        st = rung_dir_rename(dir, SPARE_NAME, name, err);\n    if (st == RUNG_OK)\n"
        "        st = rung_dir_sync(dir, err);\n",
        "        st = rung_dir_rename(dir, SPARE_NAME, name, err);\n"),
    "recovered segment sealed without sync": (
        "src/journal/segment_log.c",
        "    st = rung_file_truncate(&file, info->end, err);\n    if (st == RUNG_OK)\n"
        "        st = rung_file_sync(&file, err);\n",
        "    st = rung_file_truncate(&file, info->end, err);\n"),
    "missed window": (
        "src/state/score.c",
        "            reach_calendar(&to, order[i]);",
        "            if (order[i] != RUNG_WINDOW_HOUR || s->seq % 16)\n                reach_calendar(&to, order[i]);"),
    "double apply: id table not consulted": (
        "src/state/ids.c",
        "        answer_again(s, rung__ids_record(s, i), out);\n        return RUNG_DUPLICATE;",
        "        if (s->seq % 2)\n            return RUNG_NOT_FOUND;\n"
        "        answer_again(s, rung__ids_record(s, i), out);\n        return RUNG_DUPLICATE;"),
    "ids lost with a snapshot": (
        "src/state/image/load.c",
        "    rung_status st = rung__ids_restore(l->s, rung_slice_of(key, len), &r);",
        "    key[len - 1] ^= 1;\n    rung_status st = rung__ids_restore(l->s, rung_slice_of(key, len), &r);"),
    "answer of a repeated id wrong after a snapshot": (
        "src/state/image/load.c",
        "    r.rank = rung__in_count(&l->in, UINT32_MAX);",
        "    r.rank = rung__in_count(&l->in, UINT32_MAX) + 1;"),
    "log time runs backwards": (
        "src/state/state.c",
        "if (in_time && e->ts_ms > s->time_ms)",
        "if (in_time)"),
    "banned player scores": (
        "src/state/score.c",
        "rung_numbermap_get(&s->bans.map, u->player) != RUNG_NUMBER_NONE)",
        "rung_numbermap_get(&s->bans.map, u->player) != RUNG_NUMBER_NONE && s->seq % 4)"),
    "wrong order of ties": (
        "src/state/ranking.c",
        ".tie = tie == RUNG_TIE_PLAYER        ? rung_names_compare",
        ".tie = tie == RUNG_TIE_PLAYER        ? compare_larger_first"),
    "min_seq answered early": (
        "src/front/api/api.c",
        "(uint64_t)min_seq->number > rung_state_seq(",
        "(uint64_t)min_seq->number > 1 + rung_state_seq("),
    "answer before durable": (
        "src/journal/writer.c",
        "    if (is_sync_due(w))\n        st = sync_log(w, err);\n    if (st < 0)\n        return st;\n"
        "    publish(w, d->count, d->bytes, (uint64_t)(now_us(w) - begun_us));\n",
        "    publish(w, d->count, d->bytes, (uint64_t)(now_us(w) - begun_us));\n"
        "    if (is_sync_due(w))\n        st = sync_log(w, err);\n    if (st < 0)\n        return st;\n"),
    "torn tail accepted": (
        "src/journal/segment_scan.c",
        "t.data_end > s->offset || !is_batch_whole ? RUNG_TAIL_TORN",
        "is_batch_whole && t.data_end > s->offset + 65536 ? RUNG_TAIL_TORN"),
    "seal not written again": (
        "src/journal/segment_log.c",
        "        st = seal_again(log, err);",
        "        st = log->epoch == UINT32_MAX ? seal_again(log, err) : RUNG_OK;"),
    "tail not kept on a full disk": (
        "src/journal/segment_log.c",
        "    if (st == RUNG_ENOSPC && !atomic_load(&log->is_start_due)) {",
        "    if (st == RUNG_ENOSPC && log->epoch == UINT32_MAX) {"),
    "stream waits for a sequence alone": (
        "src/front/api/batch.c",
        "        if (!b->is_throttled && !b->is_waiting)",
        "        if (!b->is_throttled)"),
    "stale page": (
        "src/front/api/page_cache.c",
        "page->key.seq == key->seq && page->key.ordinal",
        "page->key.seq + 4 >= key->seq && page->key.ordinal"),
    "pipelined answers swapped": (
        "src/front/http/exchange.c",
        "    if (s->first == x) {\n        rung_conn_write(s->conn, bytes);",
        "    if (s->first) {\n        rung_conn_write(s->conn, bytes);"),
    "lost tick": (
        "src/service/commit.c",
        "if (c->has_tick || rung_state_next_close(c->state) > c->time_ms)",
        "if (c->has_tick || rung_state_next_close(c->state) > INT64_MIN)"),
    "lost wake-up": (
        "src/journal/writer.c",
        "    s->sync_us[time_bucket(us)]++;\n    pthread_mutex_unlock(&w->lock);\n    wake(w);",
        "    s->sync_us[time_bucket(us)]++;\n    pthread_mutex_unlock(&w->lock);\n"
        "    if (s->batches % 8)\n        wake(w);"),
    "refusal of a full disk told as done": (
        "src/journal/writer.c",
        "    rung_proposals_settle(&w->proposals, RUNG_LOG_REJECTED, why);\n    w->status = w->config.is_inline",
        "    rung_proposals_commit(&w->proposals);\n    w->status = w->config.is_inline"),
    "revoked key still writes": (
        "src/guard/keys.c",
        "return key->revoked_ms == 0 && (",
        "return (key->revoked_ms == 0 || key->role == RUNG_ROLE_ADMIN) && ("),
    "revocation not durable": (
        "src/journal/file.c",
        "    if (st == RUNG_OK)\n        return rung_dir_sync(d, err);\n    rung_ignore(rung_dir_unlink(d, temporary",
        "    if (st == RUNG_OK)\n        return mode == RUNG_FILE_PRIVATE ? RUNG_OK : rung_dir_sync(d, err);\n"
        "    rung_ignore(rung_dir_unlink(d, temporary"),
    "archive ahead of a log that is not sure": (
        "src/archive/follower.c",
        "    if (last > sure && !is_gap)",
        "    if (last > sure && f->config.batch_events == 0)"),
    "WAL of the archive not written again": (
        "src/archive/sqlite/sqlite_archive.c",
        "            st = write_again(a, err);",
        "            st = a->db ? RUNG_OK : write_again(a, err);"),
    "empty archive keeps the log of another life": (
        "src/archive/sqlite/sqlite_archive.c",
        "            st = adopt_log(a, c->log_id, err);",
        "            st = a->db ? RUNG_OK : adopt_log(a, c->log_id, err);"),
    "snapshot does not wait for the archive": (
        "src/archive/attach.c",
        "    return oldest ? oldest : UINT64_MAX;",
        "    return oldest == UINT64_MAX ? oldest : UINT64_MAX;"),
    "archive asked before it has the last ban": (
        "src/service/asker.c",
        "        job->needs_closed && m.closed_seq > m.changed_seq ? m.closed_seq : m.changed_seq;",
        "        job->needs_closed && m.closed_seq > m.changed_seq ? m.closed_seq : 0;"),
    "damaged snapshot is loaded": (
        "src/journal/snapshot_file.c",
        "    if (crc != rung_get32(r->block + 8))",
        "    if (r->block_count > 100 && crc != rung_get32(r->block + 8))"),
    "damaged record is read": (
        "src/journal/segment.c",
        "    if (chain != r.payload_crc || !rung_is_zero",
        "    if ((chain != r.payload_crc && r.length == 0) || !rung_is_zero"),
    "one id too few is remembered": (
        "src/state/ids.c",
        "    while (rung_names_count(s->ids.table) > s->ids.capacity) {",
        "    while (rung_names_count(s->ids.table) > s->ids.capacity - (s->ids.capacity > 1)) {"),
    "reads as of a clock behind the log": (
        "src/service/ask.c",
        "    return now_ms < log_ms ? log_ms : now_ms;",
        "    return now_ms < log_ms - 86400000 ? log_ms : now_ms;"),
}

# three servers on one log these. Those in topic.c stand for bugs of a log that nodes share, such as the one on Kafka.
CLUSTER = {
    "answer before applied": (
        "src/service/commit.c",
        "    if (c->run.entries[c->run_at++].tag == RUNG_LOG_FOREIGN)\n        return;",
        "    if (c->run.entries[c->run_at++].tag == RUNG_LOG_FOREIGN && c->proposed == c->head)\n        return;"),
    "foreign record skipped": (
        "src/service/commit.c",
        "            st = rung_applier_add_record(c->applier, &record, err);\n            continue;",
        "            if (record.seq % 64)\n                st = rung_applier_add_record(c->applier, &record, err);\n"
        "            else\n                c->run_at++;\n            continue;"),
    "unknown told as rejected": (
        "src/service/commit.c",
        "        RUNG_FAIL_WHY(&err, why.code, RUNG_REASON_OUTCOME_UNKNOWN,",
        "        RUNG_FAIL_WHY(&err, why.code, RUNG_REASON_LOG_UNAVAILABLE,"),
    "unknown told as done": (
        "src/service/commit.c",
        "    while (c->run_at < c->run.count && item_at(c, c->head)->kind != ITEM_READ) {",
        "    if (c->run.outcome == RUNG_LOG_UNKNOWN)\n        err.code = RUNG_UNCHANGED;\n"
        "    while (c->run_at < c->run.count && item_at(c, c->head)->kind != ITEM_READ) {"),
    "min_seq: the log has it, the state not yet": (
        "src/front/api/api.c",
        "(uint64_t)min_seq->number > rung_state_seq(rung__api_state(c->api)))",
        "(uint64_t)min_seq->number > rung_hub_stat(c->api->service.hub).log_end_seq)"),
    "min_seq of another node ignored": (
        "src/front/api/api.c",
        "(uint64_t)min_seq->number > rung_state_seq(rung__api_state(c->api)))",
        "(uint64_t)min_seq->number == 1 + rung_state_seq(rung__api_state(c->api)))"),
    "latest=true asks this node alone": (
        "src/service/hub.c",
        "    if (!rung_log_is_shared(h->log)) {\n        w->seq = rung_log_durable_seq(h->log);",
        "    if (h->log) {\n        w->seq = rung_log_durable_seq(h->log);"),
    "latest=true joins a probe that has left": (
        "src/service/hub.c",
        "w->probe = h->probes + !h->is_probe_queued;",
        "w->probe = h->probes + !h->has_probe;"),
    "ids of other nodes not remembered": (
        "src/state/score.c",
        "        rung__ids_remember(u->s, u->b, u->record, u->old_record, u->e, out);",
        "        if (!u->e->is_brief || u->s->seq % 8)\n"
        "            rung__ids_remember(u->s, u->b, u->record, u->old_record, u->e, out);"),
    "tick of a second node closes again": (
        "src/state/board.c",
        "    if (s->time_ms < s->next_close_ms)\n        return RUNG_UNCHANGED;",
        "    if (s->time_ms < s->next_close_ms && s->next_close_ms == INT64_MAX)\n        return RUNG_UNCHANGED;"),
    "own record settled twice": (
        "tests/sim/topic.c",
        "    if (r->node != l->node || r->serial < l->head)",
        "    if (r->node != l->node || (r->serial < l->head && l->head == l->tail))"),
    "foreign record delivered twice": (
        "tests/sim/topic.c",
        "        l->stats.foreign += !is_own;\n",
        "        l->stats.foreign += !is_own;\n        l->next_seq -= !is_own && l->stats.foreign % 100 == 0;\n"),
    "replay begins one record too late": (
        "src/service/store.c",
        "    uint64_t next = rung_state_seq(state) + 1;\n    rung_log_record",
        "    uint64_t next = rung_state_seq(state) + 1 + (rung_log_is_shared(s->log) && rung_state_seq(state));\n"
        "    rung_log_record"),
    "wrong state goes on": (
        "src/service/nodes.c",
        "        diverge(n, c, all, false);\n    } else if (2",
        "        agree(n, c);\n    } else if (2"),
    "right states stop with the wrong one": (
        "src/service/nodes.c",
        "    } else if (2 * size_of(c->with_us & all) > total) {",
        "    } else if (2 * size_of(c->with_us & all) > 2 * total) {"),
    "snapshot ahead of delivery": (
        "src/service/store.c",
        "rung_log_id(s->log), rung_state_seq(state), &to.writer, err);",
        "rung_log_id(s->log), rung_log_stat(s->log).end_seq, &to.writer, err);"),
}
MUTATIONS = SINGLE | CLUSTER


def run(command, **more):
    return subprocess.run(command, cwd=COPY, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def make_copy():
    """The tree as it is, with a build folder that stays for the next time. Only what differs is written, so that its
    date is new: an object of the last mutation must not look up to date."""
    COPY.mkdir(parents=True, exist_ok=True)
    files = set(subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True, check=True,
                               stdout=subprocess.PIPE).stdout.split("\n"))
    for old in COPY.rglob("*"):
        name = str(old.relative_to(COPY))
        if not name.startswith("build") and old.is_file() and name not in files:
            old.unlink()
    for name in filter(None, files):
        source, target = ROOT / name, COPY / name
        if source.is_file() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)
    run(["cmake", "--preset", "dev"], check=True)


def build():
    return run(["cmake", "--build", str(BUILD), "--target", "test_sim_world"])


def hunt(seeds, nodes):
    """How many seeds until the simulator fails, and what it says; None if it never does."""
    for first in range(1, seeds + 1, 100):
        count = min(100, seeds + 1 - first)
        try:
            done = run([str(BUILD / "tests" / "test_sim_world"), "many_seeds"], timeout=300,
                       env={"RUNG_SIM_SEED": str(first), "RUNG_SIM_SEEDS": str(count), "RUNG_SIM_COUNT": "1",
                            "RUNG_SIM_NODES": str(nodes)})
        except subprocess.TimeoutExpired:
            return first, "it hangs"
        if done.returncode == 0:
            continue
        why = re.search(r"^seed (\d+): (.*)$", done.stdout, re.M)
        at = re.findall(r"^seed (\d+)$", done.stdout, re.M)
        if why:
            return int(why[1]), why[2]
        lines = done.stdout.strip().split("\n")
        return int(at[-1]) if at else first, next((x for x in lines if "assert" in x.lower()), lines[-1])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    make_copy()
    missed = 0
    for name in args.names or MUTATIONS:
        path, text, replacement = MUTATIONS[name]
        file = COPY / path
        before = file.read_text()
        if before.count(text) != 1:
            print(f"{name}: stale, {path} has the text {before.count(text)} times", flush=True)
            missed += 1
            continue
        file.write_text(before.replace(text, replacement))
        built = build()
        begun = time.time()
        found = hunt(args.seeds, 3 if name in CLUSTER else 1) if built.returncode == 0 else None
        took = time.time() - begun
        file.write_text(before)
        if built.returncode != 0:
            print(f"{name}: does not build\n{built.stdout[-2000:]}", flush=True)
            missed += 1
        elif args.markdown:
            print(f"| {name} | {found[0] if found else '-'} | {found[1][:90] if found else 'not found'} |", flush=True)
        else:
            print(f"{name}: " + (f"seed {found[0]}, {took:.1f} s: {found[1][:150]}" if found
                                 else f"not found in {args.seeds} seeds"), flush=True)
        missed += built.returncode == 0 and not found
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
