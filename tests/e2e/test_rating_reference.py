# SPDX-License-Identifier: Apache-2.0
# ctest: timeout=300
"""10,000 random matches rated by each of two independent packages, openskill of PyPI and openskill of npm, and by us.

The packages are installed by name into .cache/rating, once; without them (no network) the test is skipped, and the 600
committed matches of rating.reference remain.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["RUNG_SOURCE"])
PROGRAM = pathlib.Path(os.environ["RUNG_BUILD"]) / "tests/test_rating_reference"
CACHE = SOURCE / ".cache/rating"
COUNT = 10000


def run(*command, **more):
    return subprocess.run([str(c) for c in command], check=True, **more)


def python_package():
    """The interpreter of a virtual environment with openskill."""
    python = CACHE / "python/bin/python"
    if subprocess.run([str(python), "-c", "import openskill"], stderr=subprocess.DEVNULL).returncode if python.exists() else True:
        run(sys.executable, "-m", "venv", "--clear", CACHE / "python")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "openskill>=6.2,<7")
    return python


def javascript_package():
    """A folder whose node_modules has openskill."""
    folder = CACHE / "javascript"
    if not (folder / "node_modules/openskill/package.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, "openskill@5")
    return folder


def compare(vectors):
    run(PROGRAM, "a_given_file_agrees", env={**os.environ, "RUNG_RATING_VECTORS": vectors})


def main():
    tool = SOURCE / "tools/rating_reference.py"
    try:
        python, folder = python_package(), javascript_package()
    except (subprocess.CalledProcessError, OSError) as error:
        print("the packages cannot be had:", error)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as work:
        for package, command in (("python", [python, tool, "python", COUNT]),
                                 ("javascript", [sys.executable, tool, "javascript", COUNT, folder])):
            path = pathlib.Path(work) / f"{package}.txt"
            with open(path, "wb") as out:
                run(*command, stdout=out)
            compare(str(path))


if not shutil.which("node") or not shutil.which("npm"):
    print("no node and npm here")
    sys.exit(77)
main()
