#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120 labels=release
"""rung keys create, list, revoke: what they print, what they write, what they refuse."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from pages import run_page  # noqa: E402
from server import ed25519_pem, rung  # noqa: E402

KEY = re.compile(r"rung_(read|server|admin)_[0-9a-hjkmnp-tv-z]{12}_[A-Za-z0-9_-]{43}\n")


class Keys(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rung-keys-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.data = self.folder / "data"

    def keys(self, *args, code=0, where=True, **more):
        run = rung("keys", *args, *(["--data", self.data] if where else []), **more)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run

    def listed(self):
        return json.loads(self.keys("list", "--json").stdout)["keys"]

    def test_create_list_revoke(self):
        self.assertIn("no keys", rung("keys", "list", "--keys", self.folder / "none").stdout)
        for role in ("read", "server", "admin"):
            run = self.keys("create", "--role", role)
            self.assertRegex(run.stdout, KEY)
            self.assertTrue(run.stdout.startswith(f"rung_{role}_"))
            self.assertIn("shown only once", run.stderr)
            secret = run.stdout.strip()[-43:]
            self.assertNotIn(secret, (self.data / "keys").read_text())
        self.assertEqual((self.data / "keys").stat().st_mode & 0o777, 0o600)
        self.assertEqual([k["role"] for k in self.listed()], ["read", "server", "admin"])
        self.assertEqual({k["state"] for k in self.listed()}, {"live"})
        first = self.listed()[0]["id"]
        self.assertEqual(self.keys("revoke", first).stdout, f"{first} is revoked\n")
        self.assertEqual(self.keys("revoke", first).stdout, f"{first} was revoked before\n")
        self.assertEqual([k["state"] for k in self.listed()], ["revoked", "live", "live"])
        self.assertIn("no key nobody", self.keys("revoke", "nobody", code=1).stderr)
        table = self.keys("list").stdout
        self.assertIn(first, table)
        self.assertNotIn("sha256", table)

    def test_fields(self):
        made = json.loads(self.keys("create", "--role", "server", "--boards", "race-*,w?ekly", "--label", "größer\u20ac",
                                    "--expires-in", "90d", "--rate", "500", "--json").stdout)
        self.assertEqual(set(made), {"id", "role", "key"})
        key = self.listed()[0]
        self.assertEqual(key["id"], made["id"])
        self.assertEqual(key["boards"], ["race-*", "w?ekly"])
        self.assertEqual(key["label"], "größer€")
        self.assertEqual(key["rate"], 500)
        self.assertIn("expires", key)

    def test_output(self):
        """A file that only its owner may read, whatever the umask; never over another; and no key without its file."""
        out = self.folder / "admin.key"
        run = self.keys("create", "--role", "admin", "--output", out, preexec_fn=lambda: os.umask(0))
        self.assertEqual(run.stdout, "")
        self.assertRegex(out.read_text(), KEY)
        self.assertEqual(out.stat().st_mode & 0o777, 0o600)
        self.assertNotIn(out.read_text().strip(), run.stderr)
        before = out.read_text()
        self.assertIn("--output: cannot make", self.keys("create", "--role", "admin", "--output", out, code=1).stderr)
        self.assertEqual(out.read_text(), before)
        link = self.folder / "link"
        link.symlink_to(self.folder / "elsewhere")
        self.keys("create", "--role", "admin", "--output", link, code=1)
        self.keys("create", "--role", "admin", "--output", self.folder / "none" / "key", code=1)
        self.assertEqual(len(self.listed()), 1)
        made = json.loads(self.keys("create", "--role", "read", "--output", self.folder / "read.key", "--json").stdout)
        self.assertEqual((set(made), made["output"]), ({"id", "role", "output"}, str(self.folder / "read.key")))
        refused = self.folder / "refused.key"
        self.keys("create", "--role", "read", "--label", "x" * 129, "--output", refused, code=1)
        self.assertFalse(refused.exists())
        self.keys("create", "--role", "player-token", "--alg", "HS256", "--output", self.folder / "secret.key")
        self.assertRegex((self.folder / "secret.key").read_text(), r"\A[A-Za-z0-9_-]{43}\n\Z")
        pem = self.folder / "login.pem"
        pem.write_text(ed25519_pem(bytes(range(32))))
        self.assertIn("--output", self.keys("create", "--role", "player-token", "--alg", "EdDSA", "--public", pem,
                                            "--output", refused, code=2).stderr)

    def test_token_keys(self):
        pem, secret = self.folder / "login.pem", self.folder / "secret"
        pem.write_text(ed25519_pem(bytes(range(32))))
        secret.write_bytes(b"s" * 32 + b"\n")
        self.keys("create", "--role", "player-token", "--alg", "EdDSA", "--public", pem, "--id", "login-1", "--audience", "rung",
                  "--issuer", "https://login.example", "--life", "3600")
        self.keys("create", "--role", "player-token", "--alg", "HS256", "--secret", secret, "--id", "login-2")
        made = self.keys("create", "--role", "player-token", "--alg", "HS256").stdout
        self.assertRegex(made, r"\A[A-Za-z0-9_-]{43}\n\Z")
        self.assertEqual([k["alg"] for k in self.listed()], ["EdDSA", "HS256", "HS256"])
        text = (self.data / "keys").read_text()
        self.assertIn("audience rung\n", text)
        self.assertIn("life 3600\n", text)
        self.assertIn("there is a key login-1 already",
                      self.keys("create", "--role", "player-token", "--alg", "HS256", "--id", "login-1", code=1).stderr)

    def test_refusals(self):
        pem, short = self.folder / "rsa.pem", self.folder / "short"
        pem.write_text("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")
        short.write_bytes(b"x" * 31)
        for words, why in (
            (["--role", "owner"], "--role"), ([], "--role"), (["--role", "read", "--alg", "HS256"], "player-token"),
            (["--role", "read", "--expires-in", "soon"], "--expires-in"), (["--role", "read", "--expires-in", "0d"], "--expires-in"),
            (["--role", "player-token"], "--alg"), (["--role", "player-token", "--alg", "none"], "--alg"),
            (["--role", "player-token", "--alg", "EdDSA"], "--public"),
            (["--role", "player-token", "--alg", "HS256", "--public", pem], "--public"),
            (["--role", "player-token", "--alg", "EdDSA", "--public", pem], "Ed25519"),
            (["--role", "read", "--boards", ",".join("abcdefghijklmnopq")], "at most 16"),
            (["--role", "read", "--rate", "many"], "--rate"),
        ):
            run = self.keys("create", *words, code=2)
            self.assertIn(why, run.stderr, words)
            self.assertEqual(run.stdout, "")
        for words, why in (
            (["--role", "read", "--boards", "a,,b"], "boards"), (["--role", "read", "--label", "x" * 129], "label"),
            (["--role", "player-token", "--alg", "HS256", "--secret", short], "secret"),
            (["--role", "player-token", "--alg", "HS256", "--id", "a b"], "id"),
            (["--role", "player-token", "--alg", "EdDSA", "--public", self.folder / "none"], "cannot open"),
        ):
            self.assertIn(why, self.keys("create", *words, code=1).stderr, words)
        self.assertFalse((self.data / "keys").exists())
        self.assertIn("which keys", self.keys("list", code=1, where=False).stderr)

    def test_a_damaged_file_is_left_alone(self):
        self.keys("create", "--role", "read")
        path = self.data / "keys"
        good = path.read_bytes()
        for bad in (b"", good[:-1], good.replace(b"role read", b"role admi"), good + b"\n"):
            path.write_bytes(bad)
            self.assertIn(str(path), self.keys("list", code=1).stderr)
            self.keys("create", "--role", "read", code=1)
            self.assertEqual(path.read_bytes(), bad)
        path.write_bytes(good)
        path.chmod(0o644)
        self.assertIn("chmod 600", self.keys("list", code=1).stderr)

    def test_where(self):
        elsewhere = self.folder / "elsewhere"
        env = {**os.environ, "RUNG_KEYS": str(elsewhere)}
        self.keys("create", "--role", "read", where=False, env=env)
        self.assertTrue(elsewhere.exists())
        self.keys("create", "--role", "read", "--keys", self.folder / "flag", where=False, env=env)
        self.assertTrue((self.folder / "flag").exists())
        config = self.folder / "rung.conf"
        config.write_text(f"data = {self.folder}/conf\n")
        self.keys("create", "--role", "read", "--config", config, where=False)
        self.assertTrue((self.folder / "conf" / "keys").exists())

    @unittest.skipUnless(shutil.which("openssl") and shutil.which("curl"), "the page uses openssl and curl")
    def test_the_page(self):
        self.assertGreater(run_page(self, "docs/keys.md", self.folder), 9)

    def test_many_at_once(self):
        running = [subprocess.Popen([os.environ["RUNG_BUILD"] + "/rung", "keys", "create", "--role", "read", "--data", self.data],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(8)]
        self.assertEqual([p.wait(120) for p in running], [0] * 8)
        self.assertEqual(len({k["id"] for k in self.listed()}), 8)


if __name__ == "__main__":
    unittest.main(verbosity=2)
