#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every rule of tools/tidy.py fires on a sample that breaks it, and is silent on a tree that does not."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import tidy  # noqa: E402

HEAD = "/* SPDX-License-Identifier: Apache-2.0 */\n"
CLEAN = {
    "src/base/README.md": "# base\n",
    "src/base/CMakeLists.txt": "rung_room(NAME base)\n",
    "src/base/slice.h": HEAD + "#include <stddef.h>\n",
    "src/base/clock.c": HEAD + "#include <time.h>\nlong now(void) { return time(NULL); }\n",
    "src/model/README.md": "# model\n",
    "src/model/CMakeLists.txt": "rung_room(NAME model DEPS base)\n",
    "src/model/score.h": HEAD + '#include "base/slice.h"\n',
    "src/model/score.c": HEAD + '#include "model/score.h"\n\n#include <string.h>\n',
    "src/state/README.md": "# state\n",
    "src/state/CMakeLists.txt": "rung_room(NAME state\n    DEPS model base\n    LIBS m)\n",
    "src/state/state.c": HEAD + '#include "model/score.h"\n',
    "src/journal/README.md": "# journal\n",
    "src/journal/CMakeLists.txt": "rung_room(NAME journal DEPS base LIBS Threads::Threads)\n",
    "src/journal/log.c": HEAD + '#include "base/slice.h"\n#include <pthread.h>\n#include <stdio.h>\n',
    "docs/one.md": "[two](two.md#part), [web](https://example.org/x), [top](../src/base/README.md), `[no](x)`\n",
    "docs/two.md": "```\n[not a link](nowhere.md)\n```\n",
}


class TidyTest(unittest.TestCase):
    def found(self, files=None):
        """What tidy says about the clean tree with some files replaced (None: removed)."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**CLEAN, **(files or {})}.items():
                if text is not None:
                    path = pathlib.Path(root, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
            return tidy.Tidy(root).run()

    def fires(self, rule, name, text, times=1):
        found = self.found(files={name: text})
        self.assertEqual(len(found), times, found)
        for line in found:
            self.assertIn(f": {rule}: ", line)

    def silent(self, name, text):
        self.assertEqual(self.found(files={name: text}), [])

    def test_clean_tree(self):
        self.assertEqual(self.found(), [])

    # ---- documents ----

    def test_long_prose(self):
        self.fires("wrap", "docs/three.md", "words " * 17 + "\n")
        self.fires("wrap", "src/base/README.md", "- " + "words " * 17 + "\n")
        self.silent("docs/three.md", "| " + "words " * 17 + "|\n```\n" + "words " * 17 + "\n```\n    " + "words " * 17 + "\n")
        self.silent("docs/http.md", "words " * 17 + "\n")

    # ---- direction ----

    def test_inner_includes_outer(self):
        self.fires("direction", "src/model/b.c", HEAD + '#include "state/state.h"\n')

    def test_ladder_knows_base_only(self):
        files = {"src/ladder/README.md": "#\n", "src/ladder/CMakeLists.txt": "rung_room(NAME ladder DEPS base)\n"}
        bad = HEAD + '#include "model/words.h"\n#include "model/score.h"\n'
        found = self.found(files={**files, "src/ladder/a.c": bad})
        self.assertEqual(len(found), 1, found)
        self.assertIn("src/ladder/a.c:3: direction: ladder may not include model", found[0])

    def test_allowed_but_not_declared(self):
        self.fires("direction", "src/journal/b.c", HEAD + '#include "model/score.h"\n')

    def test_cmake_names_an_outer_room(self):
        self.fires("direction", "src/model/CMakeLists.txt", "rung_room(NAME model DEPS base state)\n")

    def test_unknown_room(self):
        self.fires("direction", "src/common/README.md", "#\n")

    def test_relative_include(self):
        self.fires("direction", "src/model/b.c", HEAD + '#include "../state/state.h"\n')
        self.fires("direction", "src/model/b.c", HEAD + '#include "score.h"\n')

    FRONT = {
        "src/front/README.md": "#\n",
        "src/front/CMakeLists.txt": "rung_room(NAME front/net DEPS base)\nrung_room(NAME front/http DEPS front_net base)\n"
                                    "rung_room(NAME front/resp DEPS front_net model base)\n",
        "src/front/net/net.h": HEAD + '#include "base/slice.h"\n',
        "src/front/http/http.h": HEAD + '#include "front/net/net.h"\n',
        "src/front/resp/resp.c": HEAD + '#include "front/net/net.h"\n#include "model/score.h"\n',
    }

    def test_rooms_inside_a_room(self):
        self.assertEqual(self.found(files=self.FRONT), [])
        for name, include, room, target in (
                ("src/front/resp/a.c", "front/http/http.h", "front/resp", "front/http"),
                ("src/front/net/a.c", "front/http/http.h", "front/net", "front/http"),
                ("src/front/net/a.c", "model/score.h", "front/net", "model"),  # declared by another part of front
                ("src/state/a.c", "front/net/net.h", "state", "front/net")):
            with self.subTest(name=name, include=include):
                found = self.found(files={**self.FRONT, name: HEAD + f'#include "{include}"\n'})
                self.assertEqual(len(found), 1, found)
                self.assertIn(f"{name}:2: direction: {room} may not include {target} ", found[0])

    def test_a_room_inside_a_room_depends_outward(self):
        cmake = self.FRONT["src/front/CMakeLists.txt"] + "rung_room(NAME front/api DEPS app)\n"
        found = self.found(files={**self.FRONT, "src/front/CMakeLists.txt": cmake})
        self.assertEqual(found, ["src/front/CMakeLists.txt:1: direction: front/api may not depend on app"])

    def test_foreign_header_behind_a_port(self):
        uv = HEAD + "#include <uv.h>\n"
        self.assertEqual(self.found(files={**self.FRONT, "src/front/net/uv_loop.c": uv}), [])
        found = self.found(files={**self.FRONT, "src/front/net/net.c": HEAD + '#include "front/net/net.h"\n#include <uv.h>\n'})
        self.assertEqual(len(found), 1, found)
        self.assertIn("src/front/net/net.c:3: direction: <uv.h> belongs to src/front/net/uv_loop.c", found[0])

    # ---- private headers ----

    def test_private_header(self):
        service = {"src/service/README.md": "#\n", "src/service/CMakeLists.txt": "rung_room(NAME service DEPS state base)\n",
                   "src/service/a.c": HEAD + '#include "state/board.h"\n',
                   "src/state/keyspace/keys.c": HEAD + '#include "state/board.h"\n'}
        for head in ("/* board.h - a board. Private to the room. */\n", "/* board.h - a board;\n * private to state. */\n"):
            with self.subTest(head=head):
                found = self.found(files={**service, "src/state/board.h": HEAD + head})
                self.assertEqual(found, ['src/service/a.c:2: private: "state/board.h" is private to state'])
        for head in ("/* board.h - a board. */\n", "/* board.h - its field is private to save.c. */\n"):
            with self.subTest(head=head):
                self.assertEqual(self.found(files={**service, "src/state/board.h": HEAD + head}), [])

    def test_private_header_of_a_room_inside_a_room(self):
        files = {**self.FRONT, "src/front/net/conn.h": HEAD + "/* conn.h - a connection. Private to front/net. */\n",
                 "src/front/net/conn.c": HEAD + '#include "front/net/conn.h"\n',
                 "src/front/http/a.c": HEAD + '#include "front/net/conn.h"\n'}
        self.assertEqual(self.found(files=files), ['src/front/http/a.c:2: private: "front/net/conn.h" is private to front/net'])

    def test_include_in_a_comment(self):
        self.silent("src/model/b.c", HEAD + '/*\n#include "state/state.h"\n*/\n')

    # ---- pure rooms ----

    def test_impure_calls(self):
        for call in ("time(NULL)", "clock_gettime(0, p)", "rand()", "getrandom(p, n, 0)", "open(p, 0)", "read(1, p, n)",
                     "stat(p, s)", "socket(1, 2, 3)", "pthread_mutex_lock(m)", "thrd_create(t, f, p)", "printf(p)",
                     "fprintf (f, p)", "strtod(p, q)", "setlocale(1, p)", "isalpha(c)", "getenv(p)", "localtime(p)"):
            for room in ("model", "state"):
                with self.subTest(call=call, room=room):
                    self.fires("pure", f"src/{room}/b.c", HEAD + f"void f(void) {{ {call}; }}\n")

    def test_impure_headers(self):
        for header in ("time.h", "unistd.h", "pthread.h", "sys/socket.h", "netinet/in.h", "stdio.h"):
            with self.subTest(header=header):
                self.fires("pure", "src/state/b.c", HEAD + f"#include <{header}>\n")

    def test_base_is_pure_but_for_its_ports(self):
        self.fires("pure", "src/base/b.c", HEAD + "void f(void) { time(0); }\n")

    def test_snprintf_needs_a_comment(self):
        self.fires("pure", "src/model/b.c", HEAD + "void f(void) { snprintf(p, n, q); }\n")
        self.silent("src/model/b.c", HEAD + "void f(void) { snprintf(p, n, q); /* tidy: allow, integers only */ }\n")

    def test_other_rooms_may(self):
        self.silent("src/journal/b.c", HEAD + "#include <unistd.h>\nvoid f(void) { write(1, p, n); time(0); }\n")

    def test_comments_strings_and_members_are_no_calls(self):
        self.silent("src/model/b.c", HEAD + "/* time(0) */ // open(1)\n"
                    'const char *s = "read(\\"x\\") time(0)";\nchar c = \'"\';\n'
                    "void f(void) { port->read(1); port.write(2); rung_file_open(3); time_of(4); }\n")

    # ---- words ----

    def test_second_table_of_words(self):
        table = '#define RUNG_TIES(X) \\\n    X(RUNG_A, 0, "first") \\\n    X(RUNG_B, 1, "last")\n'
        words = {"src/model/words.h": HEAD + table}
        for code in ('const char *t[] = {"first", "last"};', '{"first|last"}', '"enum|first|last"',
                     'if (is(a, "last"))\n    b = 1;\nelse if (is(a, "first"))'):
            with self.subTest(code=code):
                found = self.found({**words, "src/state/b.c": HEAD + code + "\n"})
                self.assertEqual(len(found), 1, found)
                self.assertIn("src/state/b.c:2: words: ", found[0])
        for code in ('f("first", "second");', '/* "first", "last" */', '"the first or last one"'):
            self.assertEqual(self.found({**words, "src/state/b.c": HEAD + code + "\n"}), [])

    # ---- heap and unsafe ----

    def test_heap_outside_base(self):
        for call in ("malloc(1)", "calloc(1, 1)", "realloc(p, 1)", "free(p)", "strdup(p)"):
            with self.subTest(call=call):
                self.fires("heap", "src/journal/b.c", HEAD + f"void f(void) {{ {call}; }}\n")
        self.silent("src/base/b.c", HEAD + "void f(void) { free(0); }\n")
        self.silent("tests/unit/base/test_b.c", HEAD + "void f(void) { free(0); }\n")

    def test_unsafe_everywhere(self):
        for call in ("strcpy(a, b)", "strcat(a, b)", "sprintf(a, b)", "gets(a)", "strtok(a, b)"):
            for name in ("src/base/clock.c", "src/journal/b.c", "tests/unit/base/test_b.c", "fuzz/fuzz_b.c", "bench/b.c"):
                with self.subTest(call=call, name=name):
                    self.fires("unsafe", name, HEAD + f"void f(void) {{ {call}; }}\n")

    # ---- messages ----

    def test_messages_are_for_people(self):
        for use in ('strncmp(err->message, "window", 6) == 0', 'strstr(err.message, "window") != 0', "err.message[4] == 'x'",
                    "err->message[0] == '-'", 'rung_slice_eq(rung_slice_str(err->message), board)', "strchr(err.message, ':')",
                    'snprintf(err->message, sizeof err->message, "delta")', 'memcpy(own.message, "delta", 5)'):
            with self.subTest(use=use):
                self.fires("message", "src/journal/b.c", HEAD + f"int f(void) {{ return ({use}) != 0; }}\n")
                self.silent("tests/unit/journal/test_b.c", HEAD + f"int f(void) {{ return ({use}) != 0; }}\n")
        self.silent("src/journal/b.c", HEAD + "void f(void) { say(err.message[0] ? err.message : 0, err->message); }\n")
        self.silent("src/journal/b.c", HEAD + "/* strcmp(err->message, 0) */\nvoid f(void) { g(\"strcmp(err->message\"); }\n")

    # ---- files ----

    def test_readme(self):
        self.fires("readme", "src/model/README.md", None)

    def test_layout(self):
        self.fires("layout", "src/model/b.c", HEAD + "int a;\t\n", times=2)
        self.fires("layout", "src/model/b.c", HEAD + "\tint a;\n")
        self.fires("layout", "src/model/b.c", HEAD + "int a; \n")
        self.fires("layout", "src/model/b.c", HEAD + "int a;")
        self.fires("layout", "src/model/b.c", HEAD + "int " + "a" * 117 + ";\n")
        self.silent("src/model/b.c", HEAD + "int " + "a" * 115 + ";\n")

    def test_spdx(self):
        self.fires("spdx", "tests/support/b.h", "int a;\n")
        self.fires("spdx", "src/model/b.c", "\n" + HEAD)

    def test_own_header_first(self):
        self.fires("own-header", "src/model/score.c", HEAD + '#include <string.h>\n\n#include "model/score.h"\n')
        self.fires("own-header", "src/model/score.c", HEAD + "int a;\n")

    def test_assertions_are_listed(self):
        code = HEAD + "void f(int a) { RUNG_ASSERT(a); /* RUNG_ASSERT(no) */ RUNG_ASSERT_SLOW(a); }\n"
        self.fires("assert", "src/model/a.c", code)
        row = "| `src/model/a.c` | {} | order |\n"
        for count, times in ((1, 0), (2, 1)):
            found = self.found({"src/model/a.c": code, "docs/assertions.md": row.format(count)})
            self.assertEqual(len(found), times, found)
        self.fires("assert", "docs/assertions.md", "| `src/model/gone.c` | 1 | order |\n")

    def test_links(self):
        self.fires("link", "docs/three.md", "see [this](gone.md)\n")
        self.fires("link", "src/base/README.md", "see [this](../../docs/gone.md)\n")
        self.fires("link", "README.md", "see [this](/docs/gone.md) and [that](/docs/two.md)\n")


if __name__ == "__main__":
    unittest.main()
