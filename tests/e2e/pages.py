# SPDX-License-Identifier: Apache-2.0
"""Pages of documentation that are run: every console block, command by command, its output held against the page.

    $ rung board create race            a command, run by bash in an empty folder
    board race created                  what it must print (standard output and error); ... stands for anything

"..." alone on a line is any lines. `$ rung serve ...` starts a server on a free port and stops the one before; wherever
the page says 127.0.0.1:7864, its address is meant. A command with "# a moment later" behind it is tried until it is so."""
import os
import re
import subprocess

from server import BUILD, SOURCE, WAIT, Server, until

HERE = "127.0.0.1:7864"


def pattern(expected):
    """A page's output as a regular expression."""
    lines = []
    for line in expected.splitlines():
        lines.append(r"(?:.*\n)*" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n")
    return "".join(lines)


def examples(page):
    """(command, expected output) of every console block, in order; a command goes on in the next line after a backslash."""
    text = (SOURCE / page).read_text()
    for block in re.findall(r"^```console\n(.*?)^```", text, re.S | re.M):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, expected = re.match(r"((?:[^\n]*\\\n)*[^\n]*)(\n|\Z)(.*)", part, re.S).groups()
            yield command, expected


def clean_environment():
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RUNG_")}
    return {**clean, "PATH": f"{BUILD}:{BUILD}/examples:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TERM": "xterm"}


def run_page(test, page, folder, env=None):
    """Run a page in `folder`; returns how many commands it had. `test` is the TestCase."""
    env = {**clean_environment(), **(env or {})}
    server, count = None, 0
    try:
        for command, expected in examples(page):
            count += 1
            if re.match(r"rung serve\b", command):
                server = restart(test, server, command, folder, env)
                env = {**env, "RUNG_URL": "http://%s:%d" % server.http}
                test.assertRegex(server.log.replace("%s:%d" % server.http, HERE) + "\n", pattern(expected), command)
                continue
            there = "%s:%d" % server.http if server else HERE
            wanted = rf"\A{pattern(expected)}\Z"
            if command.endswith("# a moment later"):
                until(lambda: re.search(wanted, say(command, there, folder, env)), command)
            else:
                test.assertRegex(say(command, there, folder, env), wanted, command)
    finally:
        if server:
            server.close()
    return count


def say(command, there, folder, env):
    """What a command prints. An answer of the server has no line break at its end: it gets one."""
    run = subprocess.run(["bash", "-c", command.replace(HERE, there)], cwd=folder, env=env, text=True, timeout=WAIT,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = run.stdout.replace(there, HERE)
    return said if not said or said.endswith("\n") else said + "\n"


def restart(test, server, command, folder, env):
    if server:
        test.assertEqual(server.stop(), 0, server.log)
        server.close()
    words = command.split()[2:]
    new = Server(*words, data=False, env={k: v for k, v in env.items() if k != "RUNG_URL"},
                 preexec=lambda: os.chdir(folder))
    return new.start()
