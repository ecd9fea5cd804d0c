#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reference part of docs/http.md, from the server's own /openapi.json.

    tools/http_docs.py http://127.0.0.1:7864      rewrites the part of the page between its two marks
"""
import json
import pathlib
import re
import sys
import textwrap
import urllib.request

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/http.md"
FIRST, LAST = "<!-- generated from /openapi.json by tools/http_docs.py -->\n", "<!-- end of the generated part -->\n"


def wrap(text):
    """A paragraph in lines of at most 100 columns, links and code in one piece."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def name_of(schema):
    return schema["$ref"].rpartition("/")[2] if "$ref" in schema else None


def type_of(schema):
    """A schema in a word or two."""
    if "$ref" in schema:
        name = name_of(schema)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        words = [type_of(s) for s in schema["anyOf"]]
        return " or ".join(dict.fromkeys(words))
    if "enum" in schema:
        return " ".join(f"`{v}`" for v in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return "array of " + type_of(schema["items"])
    if schema.get("format") == "date-time":
        return "time"
    return kind or "anything"


def limits_of(schema):
    low, high = schema.get("minimum"), schema.get("maximum")
    if schema.get("type") == "integer" and high is not None and high < 2**32 - 1:
        return f", {low} to {high}"
    return ""


def default_of(schema):
    return f", {json.dumps(schema['default'])} when left out" if "default" in schema else ""


def field_line(name, field, required):
    mark = "" if required else " (optional)"
    text = field.get("description", "")
    return f"| `{name}`{mark} | {type_of(field)}{limits_of(field)}{default_of(field)} | {text} |\n"


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def render_table(document):
    out = "## Calls\n\n| call | what | role |\n|---|---|---|\n"
    for method, path, o in operations(document):
        out += f"| [`{method} {path}`](#{o['operationId'].lower()}) | {o['summary']} | {o['x-rung-role']} |\n"
    return out + "\n"


def render_body(o):
    content = o.get("requestBody", {}).get("content")
    if not content:
        return ""
    parts = [f"`{kind}`: {type_of(c['schema'])}" for kind, c in content.items()]
    return wrap("Body: " + "; ".join(parts) + ("" if o["requestBody"]["required"] else "; may be left out") + ".") + "\n\n"


def render_operation(document, method, path, o):
    words = f"`{method} {path}`: {o['summary'].lower()}. {o['description']}"
    out = f"### {o['operationId']}\n\n{wrap(words)}\n\n"
    out += render_body(o)
    if o["parameters"]:
        out += "| parameter | | |\n|---|---|---|\n"
        for p in o["parameters"]:
            out += field_line(p["name"], {**p["schema"], "description": p["description"]}, p["required"])
        out += "\n"
    answers, problems = [], []
    for status, response in o["responses"].items():
        if "$ref" in response:
            problems.append(status)
            continue
        kinds = response.get("content", {})
        schema = next(iter(kinds.values()))["schema"] if kinds else None
        shown = f" {type_of(schema)}:" if schema and (name_of(schema) or schema.get("type") == "array" or "anyOf" in schema) else ""
        answers.append(f"{status}{shown} {response['description']}")
    return out + wrap(f"Answers {' '.join(answers)} Problems: {', '.join(problems)}.") + "\n\n"


def render_schema(name, schema):
    out = f"### {name}\n\n{wrap(schema['description'])}\n\n| field | | |\n|---|---|---|\n"
    for field, more in schema["properties"].items():
        out += field_line(field, more, field in schema["required"])
    if isinstance(schema["additionalProperties"], dict):
        more = schema["additionalProperties"]
        out += f"| any other | {type_of(more)} | {more.get('description', '')} |\n"
    return out + "\n"


def render_problems(document):
    out = "| status | code | |\n|---|---|---|\n"
    for p in document["x-rung-problems"]:
        out += f"| {p['status']} | `{p['code']}` | {p['description']} |\n"
    return out + "\n"


def render(document):
    out = render_problems(document) + render_table(document)
    for method, path, o in operations(document):
        out += render_operation(document, method, path, o)
    out += "## Bodies and answers\n\n"
    for name, schema in document["components"]["schemas"].items():
        out += render_schema(name, schema)
    return out


def generated_part(page):
    """The page before, in and behind the generated part."""
    before, found, rest = page.partition(FIRST)
    part, end, after = rest.partition(LAST)
    if not found or not end:
        raise SystemExit(f"{PAGE}: the marks are missing")
    return before, part, after


def main():
    with urllib.request.urlopen(sys.argv[1].rstrip("/") + "/openapi.json") as answer:
        document = json.load(answer)
    before, _, after = generated_part(PAGE.read_text())
    PAGE.write_text(before + FIRST + "\n" + re.sub(r"\n{3,}", "\n\n", render(document)) + LAST + after)


if __name__ == "__main__":
    main()
