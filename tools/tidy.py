#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house that a compiler does not know. Runs as the test `tidy`.

    tools/tidy.py [ROOT]        prints path:line: rule: what; exit code 1 if there is anything to print

Rules: direction, private, pure, heap, unsafe, readme, layout, spdx, own-header, link, wrap, assert, words, message. Each
has a sample that breaks it in tests/tidy/test_tidy.py. Comments and strings are blanked before the code is searched.
"""
import pathlib
import re
import sys

# Which room may include which: dependencies point inward (docs/ARCHITECTURE.md). A room's CMakeLists.txt names the
# ones it really uses, from this table; its sources may include those and no others.
INNER = {
    "base": "",
    "model": "base",
    "ladder": "base",  # keys are 64-bit words here: the ladder must not know what they mean
    "rating": "model base",
    "sketch": "base",
    "codec": "model base",
    "state": "ladder rating sketch model base",
    "journal": "model base",
    "guard": "journal ladder rating sketch codec model base",  # of the journal the file port alone
    "service": "state guard journal ladder rating sketch codec model base",
    "archive": "service state guard journal ladder rating sketch codec model base",
    "stream": "service state guard journal ladder rating sketch codec model base",
    "cluster": "service state guard journal ladder rating sketch codec model base",
    "front": "archive service state guard journal ladder rating sketch codec model base",
    "cli": "service state guard journal ladder rating sketch codec model base",
    "app": "cli front archive stream cluster service state guard journal ladder rating sketch codec model base",
}
INNER = {room: set(rooms.split()) for room, rooms in INNER.items()}
# Single headers of rooms that are closed otherwise: the ladder counts in rank styles.
SHARED = {("ladder", "model/words.h")}
# A header whose first lines say "Private to ROOM" or "Private to the room" is included inside that room only.
PRIVATE = re.compile(r"\bprivate to (the room|[a-z]+(?:/[a-z]+)?)\b", re.I)
PRIVATE_WITHIN = 1500  # characters: the head of a header
# Foreign headers behind a port: nobody else includes them.
ADAPTERS = {"uv.h": "src/front/net/uv_loop.c"}

# Rooms that are plain functions of their arguments: no clock, chance, file, socket, thread or locale.
PURE = {"base", "model", "ladder", "rating", "sketch", "state", "codec"}
# The files of base that are the way out of the pure world.
PORTS = {f"src/base/{name}.c" for name in ("alloc", "assert", "clock", "random", "file", "status", "worker")}
# Calls by name. A member of a port (clock->now()) is not meant, and not found.
IMPURE_CALLS = """
    time clock clock_gettime clock_nanosleep gettimeofday timespec_get nanosleep sleep usleep
    localtime localtime_r gmtime gmtime_r mktime timegm strftime strptime tzset
    rand rand_r srand random srandom drand48 lrand48 arc4random getrandom getentropy
    fopen fdopen freopen fclose fread fwrite fseek ftell fflush fgets fputs fputc fgetc getc putc getline
    open openat creat close read write pread pwrite readv writev lseek stat fstat lstat fsync fdatasync ftruncate
    truncate rename unlink remove mkdir rmdir opendir readdir mmap munmap mremap msync flock fcntl ioctl
    socket bind listen accept accept4 connect send sendto sendmsg recv recvfrom recvmsg setsockopt getsockopt
    getaddrinfo poll ppoll select pselect epoll_create1 epoll_ctl epoll_wait pipe eventfd
    fork execve system popen signal sigaction kill getenv setenv
    printf fprintf vprintf vfprintf dprintf puts putchar perror scanf fscanf sscanf
    setlocale uselocale newlocale strcoll strxfrm strtod strtof strtold atof atoi atol atoll
    isalpha isalnum isdigit isspace isupper islower ispunct isprint iscntrl isgraph isxdigit toupper tolower
""".split()
IMPURE_PREFIXES = ("pthread_", "thrd_", "mtx_", "cnd_", "sem_", "dlopen", "dlsym")
LOCALE_CALLS = ["snprintf", "vsnprintf", "asprintf", "vasprintf"]
IMPURE_HEADERS = """
    time.h sys/time.h sys/timerfd.h sys/socket.h sys/un.h netdb.h poll.h sys/epoll.h sys/eventfd.h pthread.h threads.h
    semaphore.h fcntl.h unistd.h dirent.h sys/stat.h sys/mman.h sys/file.h sys/uio.h sys/random.h signal.h locale.h
    ctype.h sys/wait.h dlfcn.h
""".split()
IMPURE_HEADER_DIRS = ("netinet/", "arpa/", "linux/")
HEAP_CALLS = "malloc calloc realloc reallocarray free aligned_alloc posix_memalign memalign strdup strndup".split()
UNSAFE_CALLS = "strcpy strcat sprintf vsprintf gets strtok stpcpy alloca".split()

SPDX = "SPDX-License-Identifier: Apache-2.0"
LINE_MAX = 120
PROSE_MAX = 100  # of documents; tables, code and generated pages are as wide as they are
GENERATED = {"docs/http.md", "docs/configuration.md"}


def calls(names, prefixes=()):
    """A pattern for a call of one of `names`, but not of a member (x.read(), x->read())."""
    words = "|".join(map(re.escape, names))
    more = "".join(rf"|{p}\w*" for p in prefixes)
    return re.compile(rf"(?<![\w.])(?<!->)({words}{more})\s*\(")


IMPURE = calls(IMPURE_CALLS, IMPURE_PREFIXES)
LOCALE = calls(LOCALE_CALLS)
HEAP = calls(HEAP_CALLS)
UNSAFE = calls(UNSAFE_CALLS)
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
INCLUDE = re.compile(r"^\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", re.M)
DEPS = re.compile(r"rung_room\(([^)]*)\)", re.S)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)")
WORDS = "src/model/words.h"
WORD_TABLE = re.compile(r"^#define (RUNG_\w+)\(X\)((?:.*\\\n)*.*)", re.M)
WORD_GAP = 120  # characters between two words of one table that make a second table of it
# Compared, searched or cut up; written to; or looked at beyond "is there one".
MESSAGE = re.compile(
    r"\b(?:str\w*cmp|memcmp|str\w*str|str\w*chr|str\w*spn|strpbrk|strto\w+|sscanf|mem\w*chr|memmem|rung_slice_(?:eq|cmp))"
    r"\s*\([^;{}]*?(?:\.|->)message\b"
    r"|\b(?:memcpy|memmove|memset|\w*snprintf|strncpy)\s*\(\s*[^,;{}]*(?:\.|->)message\b"
    r"|(?:\.|->)message\s*\[\s*(?!0\s*\])|(?:\.|->)message\s*\[\s*0\s*\]\s*[=!]=")
ASSERT = re.compile(r"\bRUNG_ASSERT\s*\(")
ASSERTIONS = re.compile(r"^\| `(src/[^`]+)` \| (\d+) \|", re.M)


def blank(text):
    """`text` with comments and literals replaced by spaces, line breaks kept; include lines stay readable."""
    def spaces(match):
        line_start = text.rfind("\n", 0, match.start()) + 1
        if match[0][0] == '"' and text[line_start:match.start()].lstrip().startswith("#"):
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])
    return TOKEN.sub(spaces, text)


class Tidy:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.rooms = self.read_rooms()
        self.found = []
        words = self.root / WORDS
        tables = WORD_TABLE.findall(words.read_text()) if words.exists() else []
        self.words = {name: re.findall(r'"(\w+)"', rows) for name, rows in tables}

    def report(self, path, line, rule, what):
        self.found.append((str(path), line, f"{path}:{line}: {rule}: {what}"))

    def run(self):
        for top in ("src", "include", "tests", "fuzz", "bench"):
            for path in sorted((self.root / top).rglob("*.[ch]")):
                self.check_source(path.relative_to(self.root))
        for room in sorted(p for p in (self.root / "src").glob("*") if p.is_dir()):
            self.check_room(room)
        pages = [*self.root.glob("*.md"), *(self.root / "docs").rglob("*.md"), *(self.root / "src").rglob("*.md")]
        for page in sorted(pages):
            self.check_links(page.relative_to(self.root))
            self.check_wrapped(page.relative_to(self.root))
        self.check_assertions()
        return [text for _, _, text in sorted(self.found)]

    # ---- one source file ----

    def check_source(self, path):
        raw = (self.root / path).read_bytes().decode("utf-8", errors="replace")
        self.check_layout(path, raw)
        code = blank(raw)
        lines = raw.split("\n")
        includes = [(code.count("\n", 0, m.start(2)) + 1, m[1], m[2]) for m in INCLUDE.finditer(code)]
        room = path.parts[1] if path.parts[0] == "src" and len(path.parts) > 2 else None

        self.ban(path, code, UNSAFE, "unsafe", "is banned everywhere")
        if room:
            self.check_words(path, raw)
            self.check_direction(path, includes)
            self.check_private(path, includes)
            self.check_own_header(path, includes)
            self.check_messages(path, code)
            if room != "base":
                self.ban(path, code, HEAP, "heap", "outside base: take memory from the allocator port")
        if room in PURE and path.as_posix() not in PORTS:
            self.check_pure(path, room, code, lines, includes)

    def ban(self, path, code, pattern, rule, why):
        for match in pattern.finditer(code):
            self.report(path, code.count("\n", 0, match.start()) + 1, rule, f"{match[1]}() {why}")

    def check_messages(self, path, code):
        """An error's message is for people: programs decide by its code, reason and field (base/status.h)."""
        for match in MESSAGE.finditer(code) if path.as_posix() not in PORTS else ():
            line = code.count("\n", 0, match.start()) + 1
            self.report(path, line, "message", "an error's message is neither compared nor parsed nor put together here")

    def check_layout(self, path, raw):
        if SPDX not in raw.split("\n", 1)[0]:
            self.report(path, 1, "spdx", f"the first line is not /* {SPDX} */")
        for number, line in enumerate(raw.split("\n"), 1):
            if "\t" in line:
                self.report(path, number, "layout", "tab")
            if line != line.rstrip():
                self.report(path, number, "layout", "white space at the end of the line")
            if len(line) > LINE_MAX:
                self.report(path, number, "layout", f"{len(line)} columns, more than {LINE_MAX}")
        if raw and not raw.endswith("\n"):
            self.report(path, raw.count("\n") + 1, "layout", "no line break at the end of the file")

    def check_direction(self, path, includes):
        room = self.room_of(path.relative_to("src").as_posix())
        top = room.split("/")[0]
        for number, kind, name in includes:
            target = self.room_of(name)
            if kind == "<" and ADAPTERS.get(name, path.as_posix()) != path.as_posix():
                self.report(path, number, "direction", f"<{name}> belongs to {ADAPTERS[name]}: use its port")
            elif kind == '"' and (name.startswith(".") or target.split("/")[0] not in INNER):
                self.report(path, number, "direction", f'"{name}" is not of the form "room/noun.h"')
            elif kind == '"' and not self.may_include(room, target) and (room, name) not in SHARED:
                self.report(path, number, "direction",
                            f"{room} may not include {target} (DEPS in src/{top}/CMakeLists.txt)")

    def may_include(self, room, target):
        top, target_top = room.split("/")[0], target.split("/")[0]
        is_inward = top == target_top or target_top in INNER.get(top, ())
        return target == room or (is_inward and target in self.rooms.get(room, ()))

    def check_private(self, path, includes):
        for number, kind, name in includes:
            header = self.root / "src" / name
            if kind != '"' or not header.exists():
                continue
            match = PRIVATE.search(header.read_text(errors="replace")[:PRIVATE_WITHIN])
            owner = match and (self.room_of(name) if match[1].lower() == "the room" else match[1])
            if owner and (self.root / "src" / owner).is_dir() and not path.as_posix().startswith(f"src/{owner}/"):
                self.report(path, number, "private", f'"{name}" is private to {owner}')

    def check_own_header(self, path, includes):
        own = path.with_suffix(".h")
        if path.suffix != ".c" or not (self.root / own).exists():
            return
        wanted = own.relative_to("src").as_posix()
        if not includes or includes[0][2] != wanted:
            self.report(path, includes[0][0] if includes else 1, "own-header", f'the first include is not "{wanted}"')

    def check_pure(self, path, room, code, lines, includes):
        self.ban(path, code, IMPURE, "pure", f"in {room}, which knows no clock, chance, file, socket, thread or locale")
        for number, kind, name in includes:
            if kind == "<" and (name in IMPURE_HEADERS or name.startswith(IMPURE_HEADER_DIRS)):
                self.report(path, number, "pure", f"<{name}> in {room}")
            if kind == "<" and name == "stdio.h" and not self.is_allowed(lines, number):
                self.report(path, number, "pure", f"<stdio.h> in {room} without a comment tidy: allow")
        for match in LOCALE.finditer(code):
            number = code.count("\n", 0, match.start()) + 1
            if not self.is_allowed(lines, number):
                self.report(path, number, "pure", f"{match[1]}() in {room} without a comment tidy: allow")

    @staticmethod
    def is_allowed(lines, number):
        return any("tidy: allow" in line for line in lines[max(0, number - 2):number])

    def check_words(self, path, raw):
        """The words of a definition are spelled in model/words.h; two of one table side by side are a second table."""
        if path.as_posix() == WORDS:
            return
        code = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), raw, flags=re.S)
        for name, words in self.words.items():
            choice = "|".join(words)
            again = rf'"({choice})"[^"]{{1,{WORD_GAP}}}"(?!\1")({choice})"|"(?:enum.)?({choice})\|({choice})\b'
            for match in re.finditer(again, code):
                line = code.count("\n", 0, match.start()) + 1
                self.report(path, line, "words", f"{match[0].split()[0]} ... again: use {name} of {WORDS}")

    # ---- assertions ----

    def check_assertions(self):
        """Every assertion is listed with the reason why no input reaches it: docs/assertions.md counts them by file."""
        page = pathlib.Path("docs/assertions.md")
        text = (self.root / page).read_text() if (self.root / page).exists() else ""
        listed = {m[1]: (int(m[2]), text.count("\n", 0, m.start()) + 1) for m in ASSERTIONS.finditer(text)}
        for path in sorted((self.root / "src").rglob("*.[ch]")):
            name = path.relative_to(self.root).as_posix()
            count = 0 if name == "src/base/assert.h" else len(ASSERT.findall(blank(path.read_text(errors="replace"))))
            known, line = listed.pop(name, (0, 1))
            if count != known:
                self.report(page, line, "assert", f"{name} has {count} assertions, {known} are listed: can input reach them?")
        for name, (_, line) in listed.items():
            self.report(page, line, "assert", f"there is no {name}")

    # ---- one room ----

    def read_rooms(self):
        """The rooms by name, each with what follows DEPS of its rung_room in src/*/CMakeLists.txt."""
        rooms = {}
        for path in sorted((self.root / "src").glob("*/CMakeLists.txt")):
            for call in DEPS.findall(path.read_text()):
                words, key = {}, []
                for word in call.split():
                    if word.isupper():
                        key = words.setdefault(word, [])
                    else:
                        key.append(word)
                rooms[words["NAME"][0]] = set(words.get("DEPS", ()))
        slashed = {name.replace("/", "_"): name for name in rooms}
        return {name: {slashed.get(dep, dep) for dep in deps} - {name} for name, deps in rooms.items()}

    def room_of(self, name):
        """The room of a file, named from src: front/net for front/net/conn.h, state for state/image/save.h."""
        inner = "/".join(name.split("/")[:2])
        return inner if inner in self.rooms else name.split("/")[0]

    def check_room(self, room):
        where = room.relative_to(self.root)
        has_sources = any(room.rglob("*.[ch]"))
        if has_sources and not (room / "README.md").exists():
            self.report(where, 1, "readme", "a room needs a README.md")
        if room.name not in INNER:
            self.report(where, 1, "direction", "not a room: tools/tidy.py does not know what it may include")
            return
        for inner in sorted(name for name in self.rooms if name.split("/")[0] == room.name):
            for outer in sorted({dep.split("/")[0] for dep in self.rooms[inner]} - INNER[room.name] - {room.name}):
                self.report(where / "CMakeLists.txt", 1, "direction", f"{inner} may not depend on {outer}")

    # ---- documents ----

    def check_links(self, page):
        text = (self.root / page).read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S | re.M)
        text = re.sub(r"`[^`\n]*`", "", text)
        for match in LINK.finditer(text):
            target = match[1].split("#")[0]
            if not target or re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            base = self.root if target.startswith("/") else (self.root / page).parent
            if not (base / target.lstrip("/")).exists():
                self.report(page, text.count("\n", 0, match.start()) + 1, "link", f"there is no {target}")

    def check_wrapped(self, page):
        """Prose is wrapped, so that a diff shows what changed. A line without a space to break at is fine."""
        is_code = False
        for number, line in enumerate((self.root / page).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            if line.lstrip().startswith("```"):
                is_code = not is_code
            elif (not is_code and len(line) > PROSE_MAX and not line.startswith(("|", "    ", "#"))
                  and " " in re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)", "x", line.strip())[2:] and page.as_posix() not in GENERATED):
                self.report(page, number, "wrap", f"{len(line)} columns, more than {PROSE_MAX}")


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = Tidy(root).run()
    for text in found:
        print(text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
