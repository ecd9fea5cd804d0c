#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The work behind tests/hunt/asof.sh and tests/e2e/test_asof_exact.py: answers of the past against answers recorded then.

    asof.py COMPARISONS [SEED]

A random history on one server with an archive: scores over HTTP and the Redis protocol, changed definitions, bans, removals,
erasures, friends, profiles, short seasons that end and leave memory, snapshots, clean restarts and kill -9, each of which seals a
segment that is then compressed. At random moments random questions are asked and their answers recorded. Later, in random order, the
same questions are asked as of the sequence or the time of that moment. Status and body, or the raw reply, must be equal byte for
byte, but for how far the archive had come. What an erasure took from the archive is refused (windows) or gone (history)."""
import pathlib
import random
import re
import signal
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from resp import Connection  # noqa: E402
from server import Server, until  # noqa: E402

FLAGS = ("--as-of-rate", "off", "--as-of-wait", "60s", "--as-of-processes", "3", "--log-keep", "forever")
BOARDS = {
    "best": {"windows": ["all", "day", "hour"]},
    "sum": {"update": "sum", "windows": ["all", "week"], "scopes": ["country"], "teams": {"by": "country"}},
    "low": {"score": {"order": "asc"}, "update": "last", "windows": ["all"]},
}
SPRINT = {"windows": ["all"], "scopes": ["country"], "teams": {"by": "country"}, "keep": 1}  # and seasons
SEASON_S = 1.5
SEASONS_MAX = 12
KEYS = ("zone", "arena")
PLAYERS = [f"p{i}" for i in range(40)]
COUNTRIES = ("CH", "FI", "US")
QUESTIONS_EACH = 40


class History:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.server = Server(*FLAGS).start()
        self.redis = Connection(self.server.resp)
        self.moments = []  # (seq, time, [(question, answer)])
        self.seasons = []  # (name, starts, ends), times in seconds
        self.erased = {}  # player: the last sequence at which it was erased
        try:
            self.define()
        except BaseException:
            self.close()
            raise

    def define(self):
        for board, definition in BOARDS.items():
            self.fine(self.server.put(f"/v1/boards/{board}", definition))
        self.define_seasons()

    def define_seasons(self):
        """The next seasons of the board sprint; those that are over and forgotten by the board leave its definition."""
        now = time.time()
        while not self.seasons or self.seasons[-1][2] < now + 6 * SEASON_S:
            starts = max(now, self.seasons[-1][2] if self.seasons else 0)
            self.seasons.append((f"s{len(self.seasons)}", starts, starts + SEASON_S))
        windows = [{"name": name, "starts": stamp(starts), "ends": stamp(ends)} for name, starts, ends in self.seasons[-SEASONS_MAX:]]
        self.fine(self.server.put("/v1/boards/sprint", {**SPRINT, "windows": SPRINT["windows"] + windows}))

    def close(self):
        self.redis.close()
        self.server.stop()

    @staticmethod
    def fine(answer):
        if answer.status not in (200, 201, 404, 409, 422):
            raise AssertionError(answer)
        return answer

    # ---- changes ----

    def restart(self):
        self.redis.close()
        if self.random.random() < 0.5:
            self.server.kill()
        else:
            self.server.stop()
        self.server.start()
        until(lambda: self.server.get("/readyz").status == 200, "the restart")
        self.redis = Connection(self.server.resp)

    def change(self):
        r, s = self.random, self.server
        board, player, other = r.choice(list(BOARDS)), r.choice(PLAYERS), r.choice(PLAYERS)
        what = r.random()
        if what < 0.25:
            self.fine(s.post("/v1/boards/sprint/scores", {"player": player, "score": r.randrange(200)}))
            if self.seasons[-1][2] < time.time() + 2 * SEASON_S:
                self.define_seasons()
        elif what < 0.55:
            self.fine(s.post(f"/v1/boards/{board}/scores", {"player": player, "score": r.randrange(200)}))
        elif what < 0.72:
            self.redis.call("ZADD", r.choice(KEYS), r.randrange(50), player, r.randrange(50), other)
        elif what < 0.76:
            self.redis.call("ZREM", r.choice(KEYS), player)
        elif what < 0.78:
            self.redis.call("MULTI")
            self.redis.call("ZINCRBY", r.choice(KEYS), 3, player)
            self.redis.call("ZINCRBY", r.choice(KEYS), -2, other)
            self.redis.call("EXEC")
        elif what < 0.84:
            self.fine(s.put(f"/v1/players/{player}", {"country": r.choice(COUNTRIES)}))
        elif what < 0.88:
            self.fine(s.put(f"/v1/players/{player}/friends/{other}"))
        elif what < 0.91:
            self.fine(s.post(f"/v1/players/{player}/ban", {"reason": "test"}))
        elif what < 0.935:
            self.fine(s.delete(f"/v1/players/{player}/ban"))
        elif what < 0.955:
            self.fine(s.delete(f"/v1/boards/{r.choice((board, 'sprint'))}/players/{player}"))
        elif what < 0.957:
            answer = self.fine(s.delete(f"/v1/players/{player}"))
            self.erased[player] = answer.json.get("seq", self.erased.get(player, 0))
        elif what < 0.985:
            self.fine(s.put(f"/v1/boards/{board}", {**BOARDS[board], "rank": r.choice(("unique", "sparse", "dense"))}))
        else:
            s.process.send_signal(signal.SIGUSR1)  # a snapshot

    # ---- questions ----

    def question(self):
        r = self.random
        if r.random() < 0.3:
            key, player = r.choice(KEYS + tuple(BOARDS)), r.choice(PLAYERS)
            return r.choice((("ZREVRANGE", key, 0, r.randrange(20), "WITHSCORES"), ("ZRANK", key, player), ("ZSCORE", key, player),
                             ("ZCARD", key), ("ZCOUNT", key, 5, 60), ("RUNG.TOP", key, "COUNT", 7), ("RUNG.AROUND", key, player),
                             ("RUNG.FRIENDS", key, player), ("ZMSCORE", key, player, "p1", "none"), ("TYPE", key)))
        player = r.choice(PLAYERS)
        if r.random() < 0.45:
            return self.sprint_question(player)
        board = r.choice(list(BOARDS))
        window = r.choice(("", "", "window=day&", "window=hour&", "window=week&", "scope=country:FI&"))
        path = r.choice((f"top?{window}limit={r.randrange(1, 30)}&offset={r.randrange(5)}", f"players/{player}?{window}around={r.randrange(6)}",
                         f"players?{window}ids={player},p1,none", f"friends/{player}?{window}limit=10", f"at-score/{r.randrange(250)}?{window}around=2",
                         f"target?rank={r.randrange(1, 30)}", f"target?top_percent={r.randrange(1, 90)}", f"count?{window}min=10&max=90",
                         f"distribution?{window}buckets=5", "teams?limit=5", f"teams/{r.choice(COUNTRIES)}?around=1", "top?rank=dense", ""))
        return f"/v1/boards/{board}/{path}" if path else f"/v1/boards/{board}?"

    def sprint_question(self, player):
        """About seasons: open, closed, and gone to the archive."""
        r = self.random
        over = [name for name, _, ends in self.seasons if ends < time.time()]
        season = r.choice(over) if over and r.random() < 0.8 else r.choice(self.seasons)[0]
        scope = r.choice(("", "", "scope=country:FI&"))
        path = r.choice((f"top?window={season}&{scope}limit={r.randrange(1, 30)}&offset={r.randrange(3)}", f"top?window={season}&rank=dense",
                         f"players/{player}?window={season}&{scope}around={r.randrange(4)}", f"players?window={season}&{scope}ids={player},p1,none",
                         f"friends/{player}?window={season}&limit=10", f"target?window={season}&rank={r.randrange(1, 20)}",
                         f"teams?window={season}&limit=5", f"teams/{r.choice(COUNTRIES)}?window={season}&around=1",
                         f"distribution?window={season}&buckets=4", f"windows?limit={r.randrange(1, 20)}", "windows?kind=season"))
        if r.random() < 0.2:
            return f"/v1/players/{player}/history?board={r.choice(('sprint', 'sprint', 'best'))}&limit={r.choice((5, 1000))}"
        return f"/v1/boards/sprint/{path}"

    def ask(self, question, moment=None):
        if isinstance(question, tuple):
            return self.redis.call(*(("RUNG.ASOF", moment) if moment else ()), *question).raw
        join = "" if question.endswith("?") else "&" if "?" in question else "?"
        answer = self.server.get(question + (f"{join}as_of={moment}" if moment else ""))
        return answer.status, re.sub(rb'"archived_seq":\d+', b"", answer.body)

    def record(self):
        """Answers between two equal sequences belong to that one; a tick of the clock may come between. An event in flight may have an
        earlier time than the answers: only if the next change directly follows them, the time names the same moment."""
        before = self.server.get("/readyz").json["seq"]
        questions = [self.question() for _ in range(QUESTIONS_EACH)]
        answers = [(q, self.ask(q)) for q in questions]
        time.sleep(0.003)
        now = int(time.time() * 1000)
        if self.server.get("/readyz").json["seq"] == before:
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 1000)) + f".{now % 1000:03d}Z"
            time.sleep(0.003)
            next_seq = self.fine(self.server.put(f"/v1/players/{PLAYERS[0]}/friends/{PLAYERS[1]}")).json["seq"]
            self.moments.append((before, text if next_seq == before + 1 else str(before), answers))
        time.sleep(0.003)

    def compare(self):
        """All answers of a random moment; how many there were."""
        seq, text, answers = self.random.choice(self.moments)
        moment = self.random.choice((str(seq), text))
        for question, then in answers:
            now = self.ask(question, moment)
            if now != then and not self.is_erased(question, now, seq):
                raise AssertionError(f"{question} as of {moment} (sequence {seq}):\n  then {then}\n  now  {now}")
        return len(answers)


    def is_erased(self, question, now, seq):
        """The archive no longer has what the answer needs: an erasure took it."""
        if not any(erased > seq for erased in self.erased.values()) or not isinstance(question, str):
            return False
        player = re.match(r"/v1/players/(\w+)/history", question)
        if player:
            return self.erased.get(player.group(1), 0) > seq
        return now[0] == 404 and b"has been erased since" in now[1]


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(int(seconds))) + f".{int(seconds * 1000) % 1000:03d}Z"


def run(comparisons, seed, say=lambda line: None):
    done, history = 0, History(seed)
    try:
        while done < comparisons:
            for _ in range(history.random.randrange(1, 60)):
                history.change()
            history.record()
            if history.random.random() < 0.06:
                history.restart()
            if history.moments and history.random.random() < 0.8:
                done += history.compare()
                say(f"{done} of {comparisons} answers of {len(history.moments)} moments are equal")
    finally:
        history.close()
    return done


if __name__ == "__main__":
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    run(count, seed, lambda line: print("\r" + line, end="", flush=True))
    print("\nall equal")
