#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files of the console as a C table (src/front/api/assets.h).

    tools/embed.py OUT.c [DIST]     DIST is what `npm run build` made in web/; without it, or where it has no
                                    index.html, the table holds one page that says that the console was not built

The same files give the same bytes: no times, no paths of the machine, gzip without a clock. index.html is served as
"/", everything else by its path below DIST. A name with a hash in it (name-XXXXXXXX.ext) is immutable.
"""
import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}

# Pages may load and ask only from where they came; nothing inline. The console may be shown in a frame of its own origin
# only: no other site can lay it under a visitor's click. The widget may be shown by any page. It has no frame-ancestors at
# all, as * matches http, https and the like but neither file: nor the schemes of apps (capacitor:, app:).
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'; img-src 'self' data:"
ALONE = "; frame-ancestors 'self'"
FRAMED = {"/widget.html"}

HASHED = re.compile(r"-[0-9A-Za-z]{8}\.\w+$")

NOT_BUILT = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rung</title>
<h1>Rung is running</h1>
<p>The console is not part of this program: npm was missing, or failed, when it was built.
Install nodejs and npm and build again, or use <code>./dev up</code>, which does both.</p>
<p>Everything else works: see <a href="/openapi.json">/openapi.json</a> for the HTTP interface.</p>
</html>
"""


def collect(dist):
    """{path: bytes}, and whether that is the console."""
    if dist is None or not (dist / "index.html").is_file():
        return {"/": NOT_BUILT.encode()}, False
    files = {}
    for file in sorted(p for p in dist.rglob("*") if p.is_file()):
        name = "/" + file.relative_to(dist).as_posix()
        if file.suffix not in TYPES:
            sys.exit(f"embed.py: {file}: no content type is known for {file.suffix or 'a name without ending'}")
        files["/" if name == "/index.html" else name] = file.read_bytes()
    return files, True


def array(name, data):
    """A C array; an empty one would not be C, so there is always a last 0 beyond the size."""
    rows = [data[i:i + 32] for i in range(0, len(data), 32)]
    body = "".join("    " + "".join(f"{b}," for b in row) + "\n" for row in rows)
    return f"static const unsigned char {name}[] = {{\n{body}    0,\n}};\n"


def generate(files, is_built):
    arrays, rows = [], []
    for number, path in enumerate(sorted(files, key=lambda p: p.encode())):
        data = files[path]
        packed = gzip.compress(data, 9, mtime=0)
        suffix = ".html" if path == "/" else pathlib.PurePosixPath(path).suffix
        etag = hashlib.sha256(data).hexdigest()[:16]
        policy = "NULL"
        if suffix == ".html":
            policy = f'"{POLICY}{"" if path in FRAMED else ALONE}"'
        arrays.append(array(f"bytes_{number}", data))
        zipped = "NULL, 0"
        if len(packed) < len(data):
            arrays.append(array(f"gzip_{number}", packed))
            zipped = f"gzip_{number}, {len(packed)}"
        rows.append(f'    {{"{path}", "{TYPES[suffix]}", "W/\\"{etag}\\"", {policy},\n'
                    f"     bytes_{number}, {len(data)}, {zipped}, {str(bool(HASHED.search(path))).lower()}}},\n")
    return ("/* SPDX-License-Identifier: Apache-2.0 */\n/* Made by tools/embed.py. */\n"
            '#include "front/api/assets.h"\n\n' + "\n".join(arrays) +
            "\nconst rung_web_asset rung_web_assets[] = {\n" + "".join(rows) + "};\n"
            f"const size_t rung_web_asset_count = {len(rows)};\n"
            f"const bool rung_web_is_built = {str(is_built).lower()};\n")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    files, is_built = collect(pathlib.Path(sys.argv[2]) if len(sys.argv) == 3 else None)
    text = generate(files, is_built)
    if not out.exists() or out.read_text() != text:
        out.write_text(text)


if __name__ == "__main__":
    main()
