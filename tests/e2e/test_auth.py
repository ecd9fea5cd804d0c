#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300 labels=release
"""Who may do what: every operation of /openapi.json with every kind of credentials, and the rules around them."""
import os
import re
import signal
import socket
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest, ed25519_pem, token, until  # noqa: E402

PRIVATE = bytes(range(1, 33))
SECRET = b"a secret of thirty-two bytes, or more"
RANK = {"none": 0, "read": 2, "server": 3, "admin": 4}
# What goes into the path of an operation. The board is filled in by the case.
PARAMETERS = {"player": "ada", "p": "ada", "friend": "bob", "q": "bob", "score": "5", "team": "red", "attribute": "country", "key": "nobody", "review": "1", "match": "@1", "session": "A" * 22}
# Operations over many boards: each board is asked for by itself, so a key limited to boards may call them.
EACH_BOARD = {("get", "/v1/boards"), ("post", "/v1/scores"), ("post", "/v1/reviews"), ("post", "/v1/reviews/{review}")}


def claims(player, **more):
    return {"sub": player, "exp": int(time.time()) + 3600, "aud": "rung", **more}


def with_keys(server):
    """Keys and tokens of every kind; returns {name: credentials}."""
    pem, secret = server.own_folder / "login.pem", server.own_folder / "secret"
    pem.write_text(ed25519_pem(PRIVATE))
    secret.write_bytes(SECRET)
    server.keys("create", "--role", "player-token", "--alg", "EdDSA", "--public", pem, "--id", "login", "--audience", "rung")
    server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "old", "--audience", "rung")
    server.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "race", "--audience", "rung",
                "--boards", "race-*")
    who = {"revoked": server.key("admin"), "expired": server.keys("create", "--role", "admin", "--expires-in", "1s")}
    server.revoke(who["revoked"])
    who.update({f"race {role}": server.key(role, "--boards", "race-*,weekly") for role in ("read", "server", "admin")})
    who.update({role: server.key(role) for role in ("read", "server", "admin")})
    who["token"] = token(claims("ada"), ed25519=PRIVATE, kid="login")
    who["token hs256"] = token(claims("ada"), secret=SECRET, kid="old")
    who["token race"] = token(claims("ada"), secret=SECRET, kid="race")
    who["token of another"] = token(claims("bob"), ed25519=PRIVATE, kid="login")
    who["token expired"] = token(claims("ada", exp=int(time.time()) - 3600), ed25519=PRIVATE, kid="login")
    who["token unsigned"] = token(claims("ada"), ed25519=PRIVATE, kid="login", alg="none").rpartition(".")[0] + "."
    who["token forged"] = token(claims("ada"), ed25519=bytes(32), kid="login")
    wrong = who["admin"]
    who["wrong secret"] = wrong[:-5] + ("A" if wrong[-5] != "A" else "B") + wrong[-4:]
    who["wrong id"] = re.sub(r"(rung_admin_).", r"\g<1>" + ("0" if wrong[11] != "0" else "1"), wrong)
    who["nothing"] = None
    who["garbage"] = "garbage"
    return who


UNKNOWN = {"revoked", "expired", "token expired", "token unsigned", "token forged", "wrong secret", "wrong id", "nothing", "garbage"}


def expected(name, need, operation, board, player):
    """200 for "may", 401 or 403: the rules of docs/keys.md, written down a second time."""
    if need == "none":
        return 200
    if name in UNKNOWN:
        return 401
    if name.startswith("token"):
        own = "bob" if name == "token of another" else "ada"
        if name == "token race" and board and not board.startswith("race-"):
            return 403
        return 200 if need == "read" and player in (own, "me") else 403
    limited = name.startswith("race ")
    role = name.removeprefix("race ")
    if RANK[role] < RANK[need]:
        return 403
    if limited and board and not board.startswith("race-"):
        return 403
    if limited and not board and RANK[need] > RANK["read"] and operation not in EACH_BOARD:
        return 403
    return 200


class Matrix(ServerTest):
    def status(self, server, method, path, credentials, more=""):
        """The status line alone: an answer may be a stream without end."""
        head = f"{method.upper()} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}"
        if credentials:
            head += f"Authorization: Bearer {credentials}\r\n"
        if method in ("post", "put", "patch"):
            head += "Content-Type: application/json\r\nContent-Length: 2\r\n"
        data = head.encode() + b"\r\n" + (b"{}" if method in ("post", "put", "patch") else b"")
        with server.connect() as s:
            s.sendall(data)
            got = b""
            while b"\r\n" not in got:
                chunk = s.recv(4096)
                if not chunk:
                    break
                got += chunk
        self.assertRegex(got, rb"\AHTTP/1\.1 \d{3} ", f"{method} {path}")
        return int(got[9:12])

    def operations(self, server):
        document = server.get("/openapi.json").json
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if method in ("get", "put", "post", "delete", "patch"):
                    yield method, path, operation

    def test_every_operation(self):
        server = self.serve()
        who = with_keys(server)
        until(lambda: server.get("/v1/boards", key=who["expired"]).status == 401, "the end of a key")
        self.assertEqual(server.put("/v1/boards/race-1", {}, key=who["admin"]).status // 100, 2)
        self.assertEqual(server.put("/v1/boards/chess", {}, key=who["admin"]).status // 100, 2)
        count, wrong = 0, []
        for method, path, operation in self.operations(server):
            need = operation["x-rung-role"]
            self.assertIn(need, RANK, f"{method} {path}")
            names = re.findall(r"{(\w+)}", path)
            boards = ["race-1", "chess"] if "board" in names else [None]
            players = ["ada", "me"] if names and ({"player", "p"} & set(names)) else [None]
            for board in boards:
                for player in players:
                    url = re.sub(r"{(\w+)}", lambda m: board if m[1] == "board" else player if m[1] in ("player", "p")
                                 else PARAMETERS[m[1]], path)
                    for name, credentials in who.items():
                        got = self.status(server, method, url, credentials)
                        if got == 429:  # bad tokens are limited to 10 a second from one address
                            seen = []
                            until(lambda: seen.append(self.status(server, method, url, credentials)) or seen[-1] != 429, "bad tokens")
                            got = seen[-1]
                        want = expected(name, need, (method, path), board, player)
                        count += 1
                        if (got if got in (401, 403) else 200) != want:
                            wrong.append(f"{method} {url} ({need}) with {name}: {got}, expected {want}")
        self.assertEqual(wrong, [])
        self.assertGreater(count, 500)
        # A signature, good or not, opens one operation: a player's own submission, which then verifies it.
        forged = f"Rung-Session: {'A' * 22}\r\nRung-Time: 1\r\nRung-Nonce: 1\r\nRung-Signature: {'0' * 64}\r\n"
        for method, path, operation in self.operations(server):
            url = re.sub(r"{(\w+)}", lambda m: "race-1" if m[1] == "board" else PARAMETERS[m[1]], path)
            for name in ("token", "token race", "nothing", "read", "race server"):
                got = self.status(server, method, url, who[name], forged)
                want = self.status(server, method, url, who[name])
                if (method, path) == ("post", "/v1/boards/{board}/scores") and name.startswith("token"):
                    want = 401
                self.assertEqual(got if got in (401, 403) else 200, want if want in (401, 403) else 200, f"{method} {url} with {name}")
        self.assertEqual(server.stop(), 0)

    def test_the_document_says_who(self):
        server = self.serve()
        roles = {}
        for method, path, operation in self.operations(server):
            roles[method, path] = operation["x-rung-role"]
        for method, path, role in (("get", "/healthz", "none"), ("get", "/readyz", "none"), ("get", "/v1/boards", "read"),
                                   ("get", "/v1/boards/{board}/top", "read"), ("post", "/v1/boards/{board}/scores", "server"),
                                   ("post", "/v1/scores", "server"), ("put", "/v1/boards/{board}", "admin"),
                                   ("delete", "/v1/boards/{board}", "admin"), ("post", "/v1/players/{player}/ban", "admin"),
                                   ("get", "/v1/snapshot", "admin"), ("post", "/v1/snapshot", "admin"),
                                   ("put", "/v1/players/{player}", "server"), ("delete", "/v1/players/{player}", "admin")):
            self.assertEqual(roles.get((method, path)), role, f"{method} {path}")

    def test_refusals_tell_nothing(self):
        """The same answer for an unknown id and a wrong secret, for a board that exists and one that does not."""
        server = self.serve()
        who = with_keys(server)
        server.put("/v1/boards/chess", {}, key=who["admin"])
        one, two = (server.get("/v1/boards/chess", key=who[name]) for name in ("wrong secret", "wrong id"))
        self.assertEqual((one.status, one.json), (two.status, two.json))
        self.assertIn("bearer", one.headers.get("www-authenticate", "").lower())
        one, two = (server.get(f"/v1/boards/{board}", key=who["race read"]) for board in ("chess", "nowhere"))
        self.assertEqual((one.status, one.code), (two.status, two.code))
        self.assertEqual(one.status, 403)
        # What is wrong with the body is not told to who may not send it.
        self.check(server.put("/v1/boards/x", b"not json"), 401)
        self.check(server.put("/v1/boards/x", b"not json", key=who["read"]), 403)

    def test_limited_keys(self):
        server = self.serve()
        who = with_keys(server)
        for board in ("race-1", "weekly", "chess"):
            server.put(f"/v1/boards/{board}", {}, key=who["admin"])
        listed = server.get("/v1/boards", key=who["race read"]).json["boards"]
        self.assertEqual(sorted(b["id"] for b in listed), ["race-1", "weekly"])
        # A board in the query counts as one in the path; without it the question is about all of them.
        sent = "/v1/players/ada/submissions"
        for query, name, status in (("?board=race-1", "race server", 200), ("?board=chess", "race server", 403), ("", "race server", 403),
                                    ("?limit=5", "race admin", 403), ("", "server", 200), ("?board=race-1", "race read", 403)):
            self.check(server.get(sent + query, key=who[name]), status)
        answer = server.post("/v1/scores", [{"board": b, "player": "ada", "score": 5} for b in ("race-1", "chess", "weekly")],
                             key=who["race server"])
        self.assertEqual([r.get("error", {}).get("status") for r in answer.json], [None, 403, None], answer)
        self.assertEqual(server.get("/v1/boards/chess/top", key=who["admin"]).json["total"], 0)
        self.check(server.put("/v1/boards/race-new", {}, key=who["race admin"]), 201)
        self.check(server.put("/v1/boards/other", {}, key=who["race admin"]), 403)

    def test_players_me(self):
        server = self.serve()
        who = with_keys(server)
        server.put("/v1/boards/race-1", {}, key=who["admin"])
        for player, score in (("ada", 5), ("bob", 7), ("cid", 6)):
            server.post("/v1/boards/race-1/scores", {"player": player, "score": score}, key=who["server"])
        for name in ("token", "token hs256", "token race"):
            mine = server.get("/v1/boards/race-1/players/me?around=1", key=who[name])
            self.check(mine, 200)
            self.assertEqual(mine.json["entry"]["player"], "ada")
            self.assertEqual(mine.json["entry"]["rank"], 3)
            self.assertEqual(mine.json, server.get("/v1/boards/race-1/players/ada?around=1", key=who["read"]).json)
        self.assertEqual(server.get("/v1/boards/race-1/players/me", key=who["token of another"]).json["entry"]["player"], "bob")
        self.check(server.get("/v1/boards/race-1/players/bob", key=who["token"]), 403)
        self.check(server.get("/v1/boards/race-1/players?ids=ada", key=who["token"]), 403)
        self.check(server.post("/v1/boards/race-1/scores", {"player": "me", "score": 99}, key=who["token"]), 403)
        self.check(server.get("/v1/boards/race-1/friends/me", key=who["token"]), 200)
        # For a key "me" is a name like any other.
        self.check(server.get("/v1/boards/race-1/players/me", key=who["read"]), 404)


class Life(ServerTest):
    def test_without_keys_all_on_loopback_may_all(self):
        server = self.serve()
        self.check(server.put("/v1/boards/race", {}), 201)
        self.check(server.get("/v1/boards/race"), 200)
        self.check(server.get("/v1/boards/race", key="rung_admin_000000000000_" + "0" * 43), 401)
        self.assertRegex(server.log.lower(), "loopback|without keys|no keys")

    def test_the_first_key_closes_the_door(self):
        server = self.serve()
        connection = server.open()
        self.addCleanup(connection.close)
        self.check(server.put("/v1/boards/race", {}, connection=connection), 201)
        key = server.key("read")
        self.check(server.get("/v1/boards/race", connection=connection), 401)
        self.check(server.get("/v1/boards/race", key=key, connection=connection), 200)
        self.check(server.put("/v1/boards/race", {}, key=key, connection=connection), 403)

    def test_revoked_at_once_on_an_open_connection(self):
        server = self.serve()
        keep, key = server.key("admin"), server.key("admin")
        server.put("/v1/boards/race", {}, key=keep)
        connection = server.open()
        self.addCleanup(connection.close)
        self.check(server.get("/v1/boards/race", key=key, connection=connection), 200)
        server.revoke(key)
        until(lambda: server.get("/v1/boards/race", key=key, connection=connection).status == 401, "the end of the key")
        self.check(server.get("/v1/boards/race", key=keep, connection=connection), 200)

    def test_sighup_reads_the_keys(self):
        server = self.serve()
        server.key("admin")
        key = server.keys("create", "--role", "read")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.get("/v1/boards", key=key).status == 200, "the new key")
        self.assertTrue(server.is_running)

    def test_a_file_that_goes_bad_opens_nothing(self):
        server = self.serve()
        key = server.key("admin")
        good = server.keys_file.read_bytes()
        for bad in (None, b"", good[:-3], b"rung-keys 2\n"):
            said = len(server.said)
            if bad is None:
                server.keys_file.unlink()
            else:  # in one step: a look between two would say a word of its own, and another one later
                aside = server.keys_file.with_suffix(".aside")
                aside.write_bytes(bad)
                aside.chmod(0o600)
                aside.replace(server.keys_file)
            until(lambda: any("keys" in line for line in server.said[said:]), "a word about the keys")
            self.check(server.get("/v1/boards"), 401)
            self.check(server.get("/v1/boards", key=key), 200)
        server.stop()
        server.start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        self.assertIn("keys", server.log)
        server.keys_file.write_bytes(good)
        server.keys_file.chmod(0o644)
        server.start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        self.assertIn("chmod", server.log)

    def test_no_secret_in_the_log(self):
        server = self.serve("--logging-level", "debug")
        key = server.key("admin")
        wrong = key[:-4] + "AAAA"
        server.get("/v1/boards", key=key)
        server.get("/v1/boards", key=wrong)
        server.get(f"/v1/boards?key={key}", key=key)
        server.stop()
        for text in (key, wrong, key[-43:]):
            self.assertNotIn(text, server.log)

    def test_keys_survive_a_restart(self):
        server = self.serve()
        key = server.key("server")
        self.assertEqual(server.stop(), 0)
        server.start()
        self.check(server.get("/v1/boards", key=key), 200)
        self.check(server.get("/v1/boards"), 401)


class OverHttp(ServerTest):
    """Keys listed, made and revoked over HTTP, in the file that `rung keys` has."""

    def test_from_the_first_key_to_its_end(self):
        server = self.serve()
        self.assertEqual(server.get("/v1/keys").json, {"keys": [], "can_change": True})
        for body in ({"role": "read"}, {"role": "admin", "boards": ["race-*"]}, {"role": "admin", "expires": "2999-01-01T00:00:00Z"}):
            answer = self.check(server.post("/v1/keys", body), 422)  # or nobody could make the next
            self.assertEqual(answer.json["rule"], "role")
        made = self.check(server.post("/v1/keys", {"role": "admin", "label": "me"}), 201)
        self.assertEqual(made.headers.get("cache-control"), "no-store")
        admin = made.json["key"]
        self.assertRegex(admin, rf"\Arung_admin_{made.json['id']}_[\w-]{{43}}\Z")
        self.check(server.get("/v1/boards"), 401)  # in force at once, without a wait
        self.check(server.post("/v1/keys", {"role": "read"}), 401)
        body = {"role": "server", "boards": ["race-*", "weekly"], "label": "game \u2605 servers", "rate": 500, "expires": "2999-01-01T00:00:00Z"}
        made = self.check(server.post("/v1/keys", body, key=admin), 201).json
        self.check(server.put("/v1/boards/race-1", {}, key=admin), 201)
        score = {"player": "ada", "score": 5}
        self.check(server.post("/v1/boards/race-1/scores", score, key=made["key"]), 200)
        self.check(server.put("/v1/boards/chess", {}, key=made["key"]), 403)
        for key in ("server", "read"):  # of keys those may not even ask
            self.check(server.get("/v1/keys", key=server.key(key)), 403)
        limited = self.check(server.post("/v1/keys", {"role": "admin", "boards": ["race-*"]}, key=admin), 201).json["key"]
        for method, path, more in (("GET", "", None), ("POST", "", {"role": "read"}), ("DELETE", "/" + made["id"], None)):
            self.check(server.request(method, "/v1/keys" + path, more, key=limited), 403)

        listed = server.get("/v1/keys", key=admin)
        for secret in (b"sha256", admin[-43:].encode(), made["key"][-43:].encode()):
            self.assertNotIn(secret, listed.body)
        mine = next(k for k in listed.json["keys"] if k["id"] == made["id"])
        created = mine.pop("created")
        self.assertRegex(created, r"\A20\d\d-")
        self.assertEqual(mine, {"id": made["id"], "role": "server", "state": "live", "boards": body["boards"], "label": body["label"],
                                "expires": "2999-01-01T00:00:00.000Z", "revoked": None, "rate": 500})
        self.assertIn(f'"id":"{made["id"]}","role":"server","state":"live"', server.keys("list", "--json"))

        connection = server.open()
        self.addCleanup(connection.close)
        self.check(server.get("/v1/boards", key=made["key"], connection=connection), 200)
        gone = self.check(server.delete("/v1/keys/" + made["id"], key=admin), 200).json
        self.assertEqual((gone["id"], gone["state"]), (made["id"], "revoked"))
        self.check(server.get("/v1/boards", key=made["key"], connection=connection), 401)
        self.assertEqual(self.check(server.delete("/v1/keys/" + made["id"], key=admin), 200).json, gone)  # once is for ever
        self.check(server.delete("/v1/keys/nobody", key=admin), 404)
        self.assertEqual(server.stop(), 0)
        self.assertRegex(server.log, r"key made over HTTP.*%s" % made["id"])
        self.assertRegex(server.log, r"key revoked over HTTP.*%s" % made["id"])
        self.assertNotIn(admin[-43:], server.log)
        server.start()
        self.check(server.get("/v1/boards", key=made["key"]), 401)
        self.check(server.get("/v1/boards", key=admin), 200)

    def test_what_cannot_be_made(self):
        server = self.serve()
        admin = server.key("admin")
        for body, status in (({}, 400), ({"role": "player-token"}, 400), ({"role": "read", "boards": "x"}, 400), ({"role": "read", "boards": ["x"] * 17}, 400),
                             ({"role": "read", "boards": ["x" * 129]}, 400), ({"role": "read", "boards": [""]}, 422), ({"role": "read", "boards": ["a\nb"]}, 422),
                             ({"role": "read", "label": "x" * 129}, 400), ({"role": "read", "label": "two\nkey lines"}, 422),
                             ({"role": "read", "expires": "2020-01-01T00:00:00Z"}, 422), ({"role": "read", "rate": 0}, 400), ({"role": "read", "id": "x"}, 400)):
            self.check(server.post("/v1/keys", body, key=admin), status)
        self.assertEqual(len(server.get("/v1/keys", key=admin).json["keys"]), 1)
        # A page of another origin that found the key, or a server without keys.
        self.check(server.post("/v1/keys", {"role": "admin"}, key=admin, headers={"Origin": "https://evil.example"}), 403)

    def test_many_at_once(self):
        server = self.serve()
        admin = server.key("admin")
        connections = [server.open() for _ in range(8)]
        for connection in connections:
            self.addCleanup(connection.close)
            connection.request("POST", "/v1/keys", b'{"role":"read"}', {"Content-Type": "application/json", "Authorization": f"Bearer {admin}"})
        answers = [connection.getresponse().status for connection in connections]
        self.assertLessEqual(set(answers), {201, 503})
        self.assertIn(201, answers)
        self.assertEqual(len(server.get("/v1/keys", key=admin).json["keys"]), 1 + answers.count(201))

    def test_without_a_folder(self):
        server = self.serve(data=False)
        self.assertEqual(server.get("/v1/keys").json, {"keys": [], "can_change": False})
        self.check(server.post("/v1/keys", {"role": "admin"}), 422)
        self.check(server.delete("/v1/keys/x"), 422)


class Public(ServerTest):
    def test_boards_for_everybody(self):
        server = self.serve("--public", "race-*,weekly")
        admin = server.key("admin")
        for board in ("race-1", "weekly", "chess"):
            self.check(server.put(f"/v1/boards/{board}", {"scopes": ["country"], "teams": {"by": "guild", "combine": "sum"}}, key=admin), 201)
            self.check(server.post(f"/v1/boards/{board}/scores", {"player": "ada", "score": 5}, key=admin), 200)
        self.assertEqual(sorted(b["id"] for b in server.get("/v1/boards").json["boards"]), ["race-1", "weekly"])
        reads = ("", "/top", "/players/ada", "/players?ids=ada", "/at-score/5", "/target?rank=1", "/count", "/distribution",
                 "/scopes/country", "/teams", "/windows")
        for path in reads:
            self.check(server.get("/v1/boards/race-1" + path), 200)
            self.check(server.get("/v1/boards/chess" + path), 401)
        self.check(server.get("/v1/players/ada/history?board=race-1"), 200)
        for path in ("/v1/players/ada/history?board=chess", "/v1/players/ada", "/v1/players/ada/friends", "/v1/boards/race-1/friends/ada", "/v1/players/ada/submissions?board=race-1", "/metrics",
                     "/v1/keys", "/v1/players/ada/live", "/v1/boards/chess/live"):
            self.check(server.get(path), 401)
        self.check(server.post("/v1/boards/race-1/scores", {"player": "ada", "score": 6}), 401)
        self.check(server.put("/v1/boards/race-1", {}), 401)
        self.check(server.delete("/v1/boards/race-1/players/ada"), 401)
        self.check(server.get("/v1/boards/race-1/top", key="garbage"), 401)
        with server.connect() as s:
            s.sendall(b"GET /v1/boards/race-1/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            got = b""
            while b"event: state" not in got:
                chunk = s.recv(4096)
                self.assertTrue(chunk, got)
                got += chunk

    def test_a_bad_list_is_refused(self):
        server = self.serve("--public", "a,,b", start=False)
        server.start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0)
        self.assertIn("public", server.log)


class Listening(ServerTest):
    def refused(self, *flags):
        server = self.serve(*flags, start=False)
        server.start(wait=False)
        self.assertNotEqual(server.wait_exit(), 0, flags)
        self.assertRegex(server.log, "key", flags)
        self.assertNotIn("listening", server.log)

    def test_elsewhere_than_loopback_only_with_keys(self):
        for flags in (("--http", "0.0.0.0:0"), ("--resp", "0.0.0.0:0"), ("--http", "[::]:0")):
            if "[::]:0" in flags and not socket.has_ipv6:
                continue
            self.refused(*flags)

    def test_elsewhere_with_keys(self):
        server = self.serve("--http", "0.0.0.0:0", start=False)
        key = server.key("read")
        server.start()
        server.http = ("127.0.0.1", server.http[1])
        self.check(server.get("/v1/boards", key=key), 200)
        self.check(server.get("/v1/boards"), 401)

    def test_a_revoked_key_is_a_key(self):
        """Keys that are all revoked keep the door shut; they do not open it."""
        server = self.serve(start=False)
        server.revoke(server.key("admin"))
        server.start()
        self.check(server.get("/v1/boards"), 401)


class Resp(ServerTest):
    """The same keys over the Redis protocol."""

    def ask(self, s, *words):
        s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w.encode()), w.encode()) for w in words))
        got = b""
        while not got.endswith(b"\r\n"):
            chunk = s.recv(4096)
            if not chunk:
                break
            got += chunk
        return got.decode()

    def test_auth(self):
        server = self.serve()
        if not server.resp:
            self.skipTest("no RESP here")
        admin, reader, race = server.key("admin"), server.key("read"), server.key("server", "--boards", "race-*")
        with socket.create_connection(server.resp, 60) as s:
            self.assertRegex(self.ask(s, "ZADD", "race-1", "5", "ada"), r"\A-NOAUTH")
            self.assertRegex(self.ask(s, "AUTH", "nonsense"), r"\A-WRONGPASS")
            self.assertRegex(self.ask(s, "AUTH", admin[:-1] + ("A" if admin[-1] != "A" else "E")), r"\A-WRONGPASS")
            self.assertEqual(self.ask(s, "AUTH", race), "+OK\r\n")
            self.assertEqual(self.ask(s, "ZADD", "race-1", "5", "ada"), ":1\r\n")
            self.assertRegex(self.ask(s, "ZADD", "chess", "5", "ada"), r"\A-NOPERM")
            self.assertRegex(self.ask(s, "ZCARD", "chess"), r"\A-NOPERM")
            self.assertEqual(self.ask(s, "AUTH", "default", reader), "+OK\r\n")
            self.assertEqual(self.ask(s, "ZCARD", "race-1"), ":1\r\n")
            self.assertRegex(self.ask(s, "ZADD", "race-1", "6", "bob"), r"\A-NOPERM")
            self.assertRegex(self.ask(s, "FLUSHALL"), r"\A-NOPERM")
            server.revoke(reader)
            until(lambda: not self.ask(s, "ZCARD", "race-1").startswith(":"), "the end of the key")


if __name__ == "__main__":
    unittest.main(verbosity=2)
