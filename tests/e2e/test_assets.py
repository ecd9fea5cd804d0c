#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=120
"""The console's files as they are served: compressed when they were built, cached, with a policy."""
import gzip
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(__file__))
from server import ServerTest  # noqa: E402


class Assets(ServerTest):
    def test_encodings(self):
        server = self.serve()
        plain = self.check(server.get("/", headers={"Accept-Encoding": "identity"}), 200)
        files = ["/"] + re.findall(rb'(?:src|href)="(/[^"]+)"', plain.body)
        for path in [f if isinstance(f, str) else f.decode() for f in files]:
            plain = self.check(server.get(path, headers={"Accept-Encoding": "identity"}), 200)
            packed = self.check(server.get(path, headers={"Accept-Encoding": "br, gzip"}), 200)
            self.assertIsNone(plain.headers.get("content-encoding"), path)
            self.assertEqual(plain.headers.get("etag"), packed.headers.get("etag"))
            self.assertRegex(plain.headers.get("etag"), r'\AW/"[0-9a-f]{16}"\Z')
            if packed.headers.get("content-encoding"):
                self.assertEqual(gzip.decompress(packed.body), plain.body, path)
                self.assertLess(len(packed.body), len(plain.body))
                self.assertIn("Accept-Encoding", ", ".join(packed.headers.get_all("vary")), path)
            known = server.get(path, headers={"Accept-Encoding": "gzip", "If-None-Match": packed.headers.get("etag")})
            self.assertEqual((known.status, known.body), (304, b""), path)
            refused = server.get(path, headers={"Accept-Encoding": "gzip;q=0"})
            self.assertEqual(refused.body, plain.body, path)
        page = server.request("HEAD", "/", headers={"Accept-Encoding": "gzip"})
        self.assertEqual((page.status, page.body), (200, b""))
        self.assertEqual(page.headers.get("content-length"), str(len(server.get("/", headers={"Accept-Encoding": "gzip"}).body)))

    def test_nothing_else(self):
        server = self.serve()
        policy = server.get("/").headers.get("content-security-policy") or ""
        self.assertIn("default-src 'self'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertIn("frame-ancestors 'self'", policy)
        widget = server.get("/widget.html")
        if widget.status == 200:  # not where the console was left out
            # Without the directive every page may show it; * would shut out file: and the schemes of apps.
            self.assertNotIn("frame-ancestors", widget.headers.get("content-security-policy"))
        self.check(server.get("/nothing.js"), 404)
        self.check(server.post("/", {}), 404)


if __name__ == "__main__":
    unittest.main()
