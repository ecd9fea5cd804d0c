#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""Shadow bans: the player goes on as if nothing had happened, and nobody else sees them."""
import json
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from resp import Connection  # noqa: E402
from server import ServerTest, until  # noqa: E402
from signer import Signer  # noqa: E402
import test_live  # noqa: E402
import test_signed  # noqa: E402

BOARD = "/v1/boards/duel"


class ShadowBan(ServerTest):
    open, token, session = test_signed.Signed.open, test_signed.Signed.token, test_signed.Signed.session

    def names(self, server, key, path=f"{BOARD}/top"):
        return [e["player"] for e in server.get(path, key=key).json["entries"]]

    def live(self, server, key):
        ws = test_live.WebSocket(server, f"{BOARD}/live?player=cheat&around=1", Authorization=f"Bearer {key}")
        entries = json.loads(ws.frame()[1])["entries"]
        ws.socket.close()
        return [e["player"] for e in entries]

    def test_only_the_player_sees_it(self):
        server = self.open("--public", "duel")  # a token reads public boards, and what concerns its player
        reader, cheat, bob = server.key("read"), self.token("cheat"), self.token("bob")
        self.check(server.put(BOARD, {"writers": "player", "scopes": ["country"]}, key=self.admin), 201)
        for player, country, score in (("ada", "FI", 50), ("bob", "SE", 40), ("cheat", "FI", 60)):
            server.put(f"/v1/players/{player}", {"country": country}, key=self.key)
            self.check(server.post(f"{BOARD}/scores", {"player": player, "score": score}, key=self.key), 200)
        self.check(server.post("/v1/players/cheat/ban", {"shadow": True, "reason": "aim bot"}, key=self.admin), 200)

        def look(place):
            everybody = ["ada", "bob"]
            seen = everybody[:place] + ["cheat"] + everybody[place:]
            for key in (self.admin, reader, bob):
                self.assertEqual(self.names(server, key), everybody)
                self.assertEqual(self.names(server, key, f"{BOARD}/top?scope=country:FI"), ["ada"])
            for key in (self.admin, self.key, reader):
                self.check(server.get(f"{BOARD}/players/cheat", key=key), 404)
                self.assertEqual(server.get(f"{BOARD}/players?ids=cheat", key=key).json["missing"], ["cheat"])
            for _ in range(2):
                self.assertEqual(self.names(server, cheat), seen)
                own = self.check(server.get(f"{BOARD}/players/me", key=cheat), 200).json
                self.assertEqual((own["entry"]["rank"], own["total"]), (place + 1, 3))
                self.assertEqual(self.names(server, cheat, f"{BOARD}/top?scope=country:FI"), [p for p in seen if p != "bob"])
                self.assertEqual(self.names(server, bob), everybody)
            self.assertIn("cheat", self.live(server, cheat))
            self.assertNotIn("cheat", self.live(server, self.admin))

        look(0)
        for key, banned in ((self.admin, True), (self.key, True), (cheat, False), (reader, False)):
            answer = server.get("/v1/players/cheat", key=key).json
            self.assertEqual((answer["banned"], answer.get("shadow", False)), (banned, banned), answer)
        # The player's own submissions count for the player alone, and the answer says so.
        signer = Signer(self.session(server, "cheat"))
        body = b'{"player": "me", "score": 70}'
        path = f"{BOARD}/scores"
        said = self.check(server.request("POST", path, body, key=cheat, headers=signer.headers("POST", path, body)), 200).json
        self.assertEqual((said["rank"], said["total"], said["score"], said["changed"]), (1, 3, 70, True))
        look(0)
        said = self.check(server.post(path, {"player": "cheat", "score": 5}, key=self.key), 200).json
        self.assertEqual((said["rank"], said["changed"]), (1, False))
        resp = Connection(server.resp)
        resp.call("AUTH", cheat)
        self.assertEqual(resp.call("ZREVRANK", "duel", "cheat").value, 0)
        resp.close()
        # All of it survives a kill, and a snapshot.
        digest = server.get("/v1/digest", key=self.admin).json
        for snapshot in (False, True):
            if snapshot:
                self.check(server.post("/v1/snapshot", key=self.admin), 202)
            server.kill()
            server.start()
            look(0)
            self.assertEqual(server.get("/v1/digest", key=self.admin).json["digest"], digest["digest"])
        # A ban without shadow tells; lifting it gives everything back, with what came meanwhile.
        self.check(server.post("/v1/players/cheat/ban", {"reason": "enough"}, key=self.admin), 200)
        self.check(server.get(f"{BOARD}/players/me", key=cheat), 404)
        self.check(server.post(path, {"player": "cheat", "score": 80}, key=self.key), 422, "refused")
        self.check(server.delete("/v1/players/cheat/ban?reason=appeal", key=self.admin), 200)
        self.assertEqual(self.names(server, reader), ["cheat", "ada", "bob"])
        self.assertEqual(server.get(f"{BOARD}/players/cheat", key=reader).json["entry"]["score"], 70)
        records = until(lambda: [r for r in server.get("/v1/audit?player=cheat", key=self.admin).json["records"]
                                 if r["kind"] == "unbanned"] and
                        server.get("/v1/audit?player=cheat", key=self.admin).json["records"], "the audit")
        shadows = [r["after"].get("shadow", False) for r in records if r["kind"] == "banned"]
        self.assertEqual(shadows, [False, True])


if __name__ == "__main__":
    unittest.main()
