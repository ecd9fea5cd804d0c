#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=release
# ctest: name=long timeout=900 labels=long env="RUNG_STEPS=20000"
"""/openapi.json is true: requests made from it by chance are answered as it says, in status and in every field; and requests
that break it are refused. RUNG_SEED chooses the requests, RUNG_STEPS their number."""
import json
import os
import random
import re
import sys
import unittest
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from openapi import KNOWN, Document  # noqa: E402
from server import ServerTest, until  # noqa: E402

SEED = int(os.environ.get("RUNG_SEED", "1"))
STEPS = int(os.environ.get("RUNG_STEPS", "2500"))


class Openapi(ServerTest):
    def setUp(self):
        """With keys, since some requests make keys; one of them is there to be revoked."""
        self.server = self.serve()
        self.server.always = self.server.key("admin")
        secret = self.server.own_folder / "secret"
        secret.write_bytes(b"a secret of thirty-two bytes, or more")
        self.server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "spare")
        self.server.keys("create", "--role", "player-token", "--alg", "session")
        self.document = Document(self.server.get("/openapi.json").json)

    def fill(self):
        put, post = self.server.put, self.server.post
        put("/v1/boards/race", {"windows": ["all", "day", "week"], "scopes": ["country"], "snapshots": {"every": "1s"}})
        put("/v1/boards/sum", {"update": "sum", "score": {"type": "decimal", "decimals": 2}})
        put("/v1/boards/decay", {"update": "decay", "score": {"type": "real"}, "half_life": 3600})
        put("/v1/boards/columns", {"columns": [{"name": "time", "order": "asc"}, {"name": "x", "type": "real"}]})
        put("/v1/boards/teams", {"teams": {"by": "guild", "combine": "mean"}, "score": {"type": "real", "order": "asc"}})
        for i, player in enumerate(KNOWN["player"]):
            put(f"/v1/players/{player}", {"name": player.title(), "country": "FI", "guild": KNOWN["team"][i % 2]})
            for board in KNOWN["board"]:
                columns = {"columns": {"time": i, "x": 0.5}} if board == "columns" else {}
                post(f"/v1/boards/{board}/scores", {"player": player, "score": i + 1, **columns})

    def expected(self, operation, answer):
        """The schema for this answer; fails when the document does not have its status or type."""
        where = f"{operation['operationId']}: {answer}"
        self.assertIn(str(answer.status), operation["responses"], where)
        response = self.document.resolve(operation["responses"][str(answer.status)])
        kind = (answer.headers.get("content-type") or "").split(";")[0]
        content = {k.split(";")[0]: v for k, v in response.get("content", {}).items()}
        if not content:
            self.assertEqual(answer.body, b"", where)
            return None
        self.assertIn(kind, content, where)
        return kind, content[kind]["schema"]

    def check_answer(self, operation, answer):
        found = self.expected(operation, answer)
        if not found or not found[0].endswith("json"):
            return
        kind, schema = found
        for value in answer.lines if kind.endswith("ndjson") else [answer.json]:
            faults = self.document.faults(value, schema)
            self.assertEqual(faults, [], f"{operation['operationId']}: {answer}")

    def test_document(self):
        operations = list(self.document.operations())
        self.assertGreaterEqual(len(operations), 32)
        ids = [o["operationId"] for _, _, o in operations]
        self.assertEqual(len(ids), len(set(ids)))
        for ref in set(re.findall(r'"\$ref":\s*"([^"]+)"', json.dumps(self.document.document))):
            self.document.resolve({"$ref": ref})
        for _, path, operation in operations:
            in_path = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
            self.assertEqual(in_path, re.findall(r"{(\w+)}", path))
            for field in ("summary", "description", "tags", "x-rung-role", "responses"):
                self.assertIn(field, operation, path)
        for schema in self.document.document["components"]["schemas"].values():
            for field in schema["properties"].values():  # examples and defaults fit
                for value in field.get("examples", []) + ([field["default"]] if "default" in field else []):
                    self.assertEqual(self.document.faults(value, field), [], field)

    def test_answers_are_as_documented(self):
        self.fill()
        operations = list(self.document.operations())
        chance = random.Random(SEED)
        counts, connection = {}, self.server.open()
        self.addCleanup(connection.close)
        for name, path in (("getTeams", "teams"), ("getTeam", f"teams/{KNOWN['team'][0]}")):  # on one board only: rarely met
            answer = self.check(self.server.get(f"/v1/boards/teams/{path}"), 200)
            self.check_answer(next(o for _, _, o in operations if o["operationId"] == name), answer)
            counts[name, 2] = 1
        movers = "/v1/boards/teams/movers?since=1d&as_of=" + str(self.server.get("/readyz").json["seq"])
        until(lambda: self.server.get(movers).status == 200, "a helper")
        for name, path in (("getMovers", movers), ("getTarget", "/v1/boards/teams/target?rank=1")):  # likewise
            self.check_answer(next(o for _, _, o in operations if o["operationId"] == name), self.check(self.server.get(path), 200))
            counts[name, 2] = 1
        self.check(self.server.put("/v1/boards/rated", {"update": "glicko2"}), 201)
        made = self.check(self.server.put("/v1/boards/ruled", {"rules": [{"rule": "max_rate", "value": 5, "per": 60}]}), 201)
        self.check_answer(next(o for _, _, o in operations if o["operationId"] == "putBoard"), made)
        counts["putBoard", 2] = 1  # few combinations of fields are valid
        self.check(self.server.put("/v1/boards/watched", {"review": "top:1"}), 201)
        held = self.check(self.server.post("/v1/boards/watched/scores", {"player": "ada", "score": 1}), 200)
        listed = self.check(self.server.get("/v1/reviews?board=watched"), 200)
        decided = self.check(self.server.post("/v1/reviews/" + held.json["review"], {"verdict": "promote"}), 200)
        for name, answer in (("submitScore", held), ("listReviews", listed), ("decideReview", decided)):
            self.check_answer(next(o for _, _, o in operations if o["operationId"] == name), answer)
        counts["decideReview", 2] = 1  # few ids are of reviews
        sides = [{"players": ["ada"]}, {"players": ["bob", "eve"]}]
        counts["getOpponents", 2] = 1  # below
        for name, path, body in (("submitMatch", "matches", {"sides": [{**side, "place": i} for i, side in enumerate(sides)]}),
                                 ("predictMatch", "predict", {"sides": sides})):  # likewise
            answer = self.check(self.server.post(f"/v1/boards/rated/{path}", body), 200)
            self.check_answer(next(o for _, _, o in operations if o["operationId"] == name), answer)
            counts[name, 2] = 1
            if name == "submitMatch":  # many of them
                operation = next(o for _, _, o in operations if o["operationId"] == name)
                self.check_answer(operation, self.check(self.server.post(f"/v1/boards/rated/{path}", [body, {"sides": []}]), 200))
                opponents = next(o for _, _, o in operations if o["operationId"] == "getOpponents")
                self.check_answer(opponents, self.check(self.server.get("/v1/boards/rated/opponents/ada"), 200))
                for read, where in (("listMatches", "matches?limit=1"), ("getMatch", f"matches/@{answer.json['seq']}"), ("getResults", "players/ada/matches")):
                    played = self.check(self.server.get("/v1/boards/rated/" + where), 200)
                    self.check_answer(next(o for _, _, o in operations if o["operationId"] == read), played)
                    counts[read, 2] = 1
                removed = self.server.delete(f"/v1/boards/rated/matches/@{answer.json['seq']}")
                self.check_answer(next(o for _, _, o in operations if o["operationId"] == "removeMatch"), removed)
                self.assertIn(removed.status, (202, 422))  # a server without a log has nothing to compute it from
                counts["removeMatch", 2] = 1
                lines = (json.dumps(body) + "\n") * 2
                self.check_answer(operation, self.check(self.server.post(f"/v1/boards/rated/{path}", lines.encode(), headers={"Content-Type": "application/x-ndjson"}), 200))
        names = {o["operationId"] for _, _, o in operations}
        for step in range(4 * STEPS):
            good = {name for name, hundred in counts if hundred == 2}
            if step >= STEPS and names == good:  # the more operations there are, the longer it takes to meet each
                break
            method, path, operation = chance.choice(operations)
            if operation["operationId"] in ("deleteBoard", "erasePlayer") and chance.random() < 0.9:
                continue
            url = self.document.url(path, operation, chance)
            body, headers = self.document.body(operation, chance)
            with self.subTest(step=step, seed=SEED, request=f"{method} {url} {body}"):
                answer = self.server.request(method, url, body, headers=headers, connection=connection)
                counts[operation["operationId"], answer.status // 100] = counts.get((operation["operationId"], answer.status // 100), 0) + 1
                self.check_answer(operation, answer)
                self.assertNotIn(answer.status, (401, 403, 413, 415, 429, 507))
            if step % 500 == 499:
                self.fill()
        self.assertEqual(names - {name for name, hundred in counts if hundred == 2}, set(), "never answered well")

    def test_what_breaks_the_document_is_refused(self):
        self.fill()
        for method, path, operation in self.document.operations():
            chance = random.Random(operation["operationId"])
            url = self.document.url(path, {**operation, "parameters": [p for p in operation["parameters"] if p["required"]]}, chance)
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            is_batch = content and content["schema"].get("type") == "array"

            def ask(where, body=b"{}" if content else None):
                headers = {"Content-Type": "application/json"} if content else {}
                answer = self.server.request(method, where, body, headers=headers)
                self.check_answer(operation, answer)
                self.assertEqual(answer.status, 400, f"{method} {where} {body}: {answer}")
            ask(url + ("&" if "?" in url else "?") + "nonsense=1")
            for parameter in operation["parameters"]:
                if parameter["in"] == "query" and parameter["schema"]["type"] in ("integer", "number", "boolean"):
                    ask(f"{path_only(url)}?{with_required(url, parameter['name'])}{parameter['name']}=many")
            if not content or is_batch:
                continue
            alternatives = content["schema"].get("anyOf", [content["schema"]])  # the first is one object
            schema = self.document.resolve(alternatives[0])
            for wrong in (b"[]",) * (len(alternatives) == 1) + (b"null", b"7", b'"text"', b"{", b"{}x", b'{"a":1,"a":2}'):
                ask(url, wrong)
            if schema.get("additionalProperties") is False:
                ask(url, b'{"nonsense":1}')
            for name, field in schema["properties"].items():
                for value in (True, 5, "text", [], {}, None, [[]], {"a": {}}):
                    if self.document.faults(value, field) and not (isinstance(value, str) or value == 5):
                        ask(url, json.dumps({name: value}).encode())
        self.assertTrue(self.server.is_alive())


def path_only(url):
    return url.partition("?")[0]


def with_required(url, name):
    """The query of the url without one parameter, ready for more."""
    pairs = [p for p in url.partition("?")[2].split("&") if p and urllib.parse.unquote(p.partition("=")[0]) != name]
    return "".join(p + "&" for p in pairs)


if __name__ == "__main__":
    unittest.main()
