#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=240 labels=no-asan
"""docs/embed.md as it stands: its commands are run, its page is opened from another origin and from disk, its frame too."""
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path[:0] = [os.path.join(os.environ["RUNG_SOURCE"], "tests", room) for room in ("web", "e2e")]
import tools  # noqa: E402
from server import ServerTest  # noqa: E402

ADDRESS = "127.0.0.1:7864"


def blocks(kind):
    page = (pathlib.Path(os.environ["RUNG_SOURCE"]) / "docs/embed.md").read_text()
    return re.findall(rf"^```{kind}\n(.*?)^```", page, re.S | re.M)


class Site(http.server.ThreadingHTTPServer):
    """Somebody's web site: pages by path."""

    def __init__(self, pages):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = pages.get(self.path, "").encode()
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.address = "http://localhost:%d" % self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Embed(ServerTest):
    def test_page(self):
        node, packages, chromium = tools.node(), tools.packages(), tools.chromium()
        tools.console_packages()
        server = self.serve()
        here = "%s:%d" % server.http

        def run(script):
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", script.replace(ADDRESS, here)], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        setup, more = blocks("sh")
        page, frame = (text.replace(ADDRESS, here) for text in blocks("html"))
        site = Site({"/": page, "/frame": "<!doctype html><title>x</title>" + frame, "/favicon.ico": " "})
        self.addCleanup(site.server_close)
        self.addCleanup(site.shutdown)
        saved = pathlib.Path(tempfile.mkdtemp(prefix="rung-embed-"))
        self.addCleanup(shutil.rmtree, saved)
        (saved / "page.html").write_text(page)
        (saved / "frame.html").write_text("<!doctype html><title>x</title>" + frame)
        run(setup)
        shots = tools.BUILD / "screenshots"
        shots.mkdir(exist_ok=True)
        browser = subprocess.Popen([node, tools.HERE / "embed.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={
            **os.environ, "RUNG_BASE": site.address, "RUNG_ORIGINS": f"http://{here}", "RUNG_NODE_MODULES": str(packages),
            "RUNG_CHROMIUM": chromium, "RUNG_SHOTS": str(shots), "RUNG_SAVED": saved.as_uri()})
        self.addCleanup(self.end, browser)
        for line in browser.stdout:
            if line.startswith("@more"):
                run(more)
                browser.stdin.write("{}\n")
                browser.stdin.flush()
            else:
                print(line, end="", flush=True)
        self.assertEqual(browser.wait(), 0)

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


if __name__ == "__main__":
    import unittest
    unittest.main()
