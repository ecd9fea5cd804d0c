# SPDX-License-Identifier: Apache-2.0
"""/openapi.json as a source of tests: values and requests that fit it, and whether an answer does.

    document = Document(server.get("/openapi.json").json)
    for method, path, operation in document.operations(): ...
    url = document.url(path, operation, random.Random(1))           # parameters by chance
    body, headers = document.body(operation, random.Random(1))      # a body that fits
    document.faults(answer.json, schema)                            # [] when it fits

Standard library only."""
import json
import re

from server import quote

KNOWN = {"board": ["race", "sum", "decay", "columns", "teams"], "player": ["ada", "bob", "cyd", "dee"], "friend": ["ada", "bob", "eve"],
         "team": ["red", "blue"], "attribute": ["country"], "key": ["spare"], "session": ["A" * 22]}
TEXTS = ["a", "ada", "x y", "caf\u00e9", "\U0001f3c1", "a/b", "100%", "?&=#", "0", "-1", "all", "day", "2026-11-15", "country:FI", "x" * 128]


class Document:
    def __init__(self, document, known=None):
        """`known`: names that exist, by parameter; they are used most of the time. `min_seq` is always taken from there."""
        self.document, self.known = document, {"min_seq": [0], **(known or KNOWN)}

    def resolve(self, schema):
        while "$ref" in schema:
            target = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            schema = target
        return schema

    def operations(self):
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                if "text/event-stream" not in operation["responses"].get("200", {}).get("content", {}):  # those do not end
                    yield method.upper(), path, operation

    # ---- does a value fit a schema? ----

    def faults(self, value, schema, where="$"):
        """What is wrong with the value, as texts."""
        schema = self.resolve(schema)
        if "anyOf" in schema:
            tries = [self.faults(value, s, where) for s in schema["anyOf"]]
            return [] if any(not t for t in tries) else [f"{where}: none of anyOf: {tries}"]
        kind = schema.get("type")
        good = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "number": (int, float), "integer": int}
        if kind and (not isinstance(value, good[kind]) or kind in ("number", "integer") and isinstance(value, bool)):
            return [f"{where}: {value!r} is not of type {kind}"]
        found = []
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{where}: {value!r} is not in {schema['enum']}")
        if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
            found.append(f"{where}: {value!r} does not match {schema['pattern']}")
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                found.append(f"{where}: {value} is out of range")
        if isinstance(value, list):
            for i, item in enumerate(value):
                found += self.faults(item, schema.get("items", {}), f"{where}[{i}]")
        if isinstance(value, dict) and kind == "object":
            properties = schema.get("properties", {})
            found += [f"{where}: {name} is missing" for name in schema.get("required", []) if name not in value]
            for name, item in value.items():
                more = properties.get(name, schema.get("additionalProperties", True))
                if more is False:
                    found.append(f"{where}: {name} is not in the schema")
                elif more is not True:
                    found += self.faults(item, more, f"{where}.{name}")
        return found

    # ---- a value that fits ----

    def make(self, schema, chance, name="", depth=0):
        schema = self.resolve(schema)
        if "anyOf" in schema:
            return self.make(chance.choice(schema["anyOf"]), chance, name, depth)
        if "enum" in schema:
            return chance.choice(schema["enum"])
        kind = schema.get("type")
        if kind is None:
            return chance.choice([None, True, 5, "text", [1], {"a": 1}])
        return getattr(self, "make_" + kind)(schema, chance, name, depth)

    def make_string(self, schema, chance, name, _):
        if schema.get("format") == "date-time":
            return f"20{chance.randrange(20, 30)}-0{chance.randrange(1, 10)}-15T12:00:00Z"
        pattern = schema.get("pattern", "")
        if pattern.startswith("^(-?[0-9]"):
            return str(chance.randrange(-100, 100))
        if pattern.startswith("^(sum"):
            return chance.choice(["sum", "mean", "top:3", "top:100"])
        if pattern.startswith("^([01]"):
            return chance.choice(["00:00", "04:30", "23:59"])
        if name in self.known and chance.random() < 0.8:
            return chance.choice(self.known[name])
        if name == "timezone":
            return chance.choice(["UTC", "Europe/Helsinki", "Asia/Kathmandu"])
        if "A-Za-z" in pattern:
            return chance.choice(["country", "guild", "a.b-c_D9", "x"])
        text = chance.choice(TEXTS)
        low, high = schema.get("minLength", 0), schema.get("maxLength", 10**9)
        while len(text.encode()) > high:
            text = text[:-1]
        return text if len(text) >= low else "x" * low

    def make_integer(self, schema, chance, *_):
        low, high = schema.get("minimum", -10**6), schema.get("maximum", 10**6)
        return chance.choice([low, min(high, low + 1), chance.randint(low, min(high, low + 1000)), chance.randint(low, high)])

    def make_number(self, schema, chance, *_):
        low, high = schema.get("minimum", schema.get("exclusiveMinimum", -1000)), schema.get("maximum", 1000)
        return chance.choice([chance.randint(low + 1, min(high, low + 1000)), round(chance.uniform(low + 0.5, min(high, low + 1000)), 1)])

    def make_boolean(self, schema, chance, *_):
        return chance.random() < 0.5

    def make_null(self, *_):
        return None

    def make_array(self, schema, chance, name, depth):
        low, high = schema.get("minItems", 0), min(schema.get("maxItems", 3), 3)
        return [self.make(schema["items"], chance, name, depth + 1) for _ in range(chance.randint(min(low, high), high))]

    def make_object(self, schema, chance, _, depth):
        made = {}
        for name, field in schema.get("properties", {}).items():
            if self.resolve(field).get("readOnly"):
                continue
            if name in schema.get("required", []) or chance.random() < 0.35:
                made[name] = self.make(field, chance, name, depth + 1)
        if isinstance(schema.get("additionalProperties"), dict) and chance.random() < 0.4:
            made[chance.choice(["extra", "country", "time"])] = self.make(schema["additionalProperties"], chance, "", depth + 1)
        return made

    # ---- a request that fits ----

    def url(self, path, operation, chance):
        query = []
        for parameter in operation["parameters"]:
            if not parameter["required"] and chance.random() < 0.75:
                continue
            name, schema = parameter["name"], parameter["schema"]
            value = self.make(schema, chance, name)
            if name == "min_seq":
                value = chance.choice(self.known[name])  # a later one makes it wait
            if parameter["in"] == "path":
                value = chance.choice(["5", "-1", "2.5"]) if name == "score" else value
                path = path.replace("{%s}" % name, quote(str(value)))
            else:
                query.append(f"{name}={text_of(value)}")
        return path + ("?" + "&".join(query) if query else "")

    def body(self, operation, chance):
        content = operation.get("requestBody", {}).get("content")
        if not content:
            return None, {}
        kind = chance.choice(sorted(content))
        make = lambda: self.make(content[kind]["schema"], chance)  # noqa: E731
        if kind.endswith("ndjson"):
            return "\n".join(json.dumps(make()) for _ in range(5)).encode(), {"Content-Type": kind}
        return json.dumps(make()).encode(), {"Content-Type": kind}


def text_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(quote(text_of(v)) for v in value)
    return quote(str(value))
