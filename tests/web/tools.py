# SPDX-License-Identifier: Apache-2.0
"""What the tests of the console share: node, its packages (from the lock file here, kept in the build folder), Chromium.

A tool that is not there ends the test as skipped (77), saying what is missing.
"""
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("RUNG_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("RUNG_BUILD", SOURCE / "build" / "dev"))
HERE = SOURCE / "tests" / "web"
NODE_MIN = 18  # playwright-core and node --test


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def node():
    for name in ("node", "nodejs"):
        path = shutil.which(name)
        if path:
            version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.strip()
            if int(version.lstrip("v").split(".")[0]) < NODE_MIN:
                skip(f"node {version} is older than {NODE_MIN}")
            return path
    skip("there is no node")


def packages():
    """The node_modules folder of the tests; installed once per build folder and lock file."""
    npm = shutil.which("npm")
    if not npm:
        skip("there is no npm")
    home = BUILD / "web-tests"
    home.mkdir(parents=True, exist_ok=True)
    wanted = (HERE / "package-lock.json").read_bytes()
    stamp = home / "installed"
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_bytes() != wanted:
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copyfile(HERE / name, home / name)
            run = subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                                 cwd=home, capture_output=True, text=True)
            if run.returncode != 0:
                skip(f"the packages cannot be had:\n{run.stderr}")
            stamp.write_bytes(wanted)
    return home / "node_modules"


def console_packages():
    """The packages the console itself is built with; there once the program was built with npm."""
    path = BUILD / "web" / "node_modules"
    if not (path / "preact").is_dir():
        skip("the console was not built: no npm, or no network, when the program was")
    return path


def chromium():
    for name in (os.environ.get("RUNG_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        path = name and shutil.which(name)
        if path:
            return path
    skip("there is no chromium")
