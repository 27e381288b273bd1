"""Random schemas, judged by another validator (jsonschema): what is written at random validates, and random valid texts
are taken. Usage: random_schemas_test.py PROGRAM [SCHEMAS [SEED]]. Exits with 77 if jsonschema is not installed."""

import json
import random
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("jsonschema is not installed (Debian: python3-jsonschema)")
    sys.exit(77)

NAMES = ["name", "na", "id", "é", 'q"t', "a b", "x", "long_name_1", ""]
TEXTS = ["", "a", "name", "é你", 'q"\\', "😀", "line\nend", "  ", "0123"]
PATTERNS = {"^[a-c]{1,4}$": ["a", "cab", "bbbb"], "b": ["b", "abc", "éb"], "^x|y$": ["x", "xé", "zy"],
            "^(ab|\\d)*$": ["", "ab1", "42"], "^[^a\\n]+$": ["é", "bc", '"\\']}
FORMATS = {"date": ["2024-02-29", "1999-01-31"], "uuid": ["123e4567-e89b-12d3-a456-426614174000"],
           "date-time": ["2024-02-29T10:11:12.5+01:00"], "time": ["23:59:59Z"], "email": ["a.b@c.de"]}


class Maker:
    """Makes a schema and values that satisfy it."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def schema(self, depth):
        kinds = [self.constant, self.string, self.integer, self.number, self.simple]
        if depth > 0:
            kinds += [self.object, self.array, self.any_of, self.all_of, self.object]
        schema, value = self.random.choice(kinds)(depth)
        if self.random.random() < 0.1:
            schema = dict(schema, title="t", description="d")
        return schema, value

    def any_value(self):
        return self.random.choice([None, True, False, 0, -3, 12.5, 1e-07, 1e22, *TEXTS, [], [1, [None]], {}, {"k": [1]}])

    def simple(self, _):
        pick = self.random.randrange(4)
        if pick == 0:
            return {"type": "null"}, lambda: None
        if pick == 1:
            return {"type": "boolean"}, lambda: self.random.random() < 0.5
        if pick == 2:
            return {}, self.any_value
        return {"type": ["string", "null"]}, lambda: self.random.choice([None, *TEXTS])

    def constant(self, _):
        values = [self.any_value() for _ in range(self.random.randint(1, 4))]
        if len(values) == 1:
            return {"const": values[0]}, lambda: values[0]
        return {"enum": values}, lambda: self.random.choice(values)

    def string(self, _):
        pick = self.random.random()
        if pick < 0.3:
            pattern = self.random.choice(list(PATTERNS))
            return {"type": "string", "pattern": pattern}, lambda: self.random.choice(PATTERNS[pattern])
        if pick < 0.45:
            name = self.random.choice(list(FORMATS))
            return {"type": "string", "format": name}, lambda: self.random.choice(FORMATS[name])
        least, most = sorted((self.random.randint(0, 4), self.random.randint(0, 9)))
        letters = 'ab é你😀"\\\n\t/\x7f'
        schema = {"type": "string"}
        if self.random.random() < 0.7:
            schema["minLength"] = least
        if self.random.random() < 0.7:
            schema["maxLength"] = most
        return schema, lambda: "".join(self.random.choice(letters) for _ in range(self.random.randint(least, most)))

    def bounds(self, low, high, step):
        """Open or closed bounds, and whether each is there."""
        schema = {}
        if self.random.random() < 0.8:
            if self.random.random() < 0.3:
                schema["exclusiveMinimum"] = low - step
            else:
                schema["minimum"] = low
        if self.random.random() < 0.8:
            if self.random.random() < 0.3:
                schema["exclusiveMaximum"] = high + step
            else:
                schema["maximum"] = high
        return schema

    def integer(self, _):
        low, high = sorted((self.random.randint(-1200, 1200), self.random.randint(-30, 30)))
        return {"type": "integer", **self.bounds(low, high, 1)}, lambda: self.random.randint(low, high)

    def number(self, _):
        low, high = sorted((round(self.random.uniform(-99, 99), 2), round(self.random.uniform(-3, 3), 1)))
        return {"type": "number", **self.bounds(low, high, 0.5)}, lambda: min(high, max(low, round(self.random.uniform(low, high), self.random.choice([0, 1, 3, 12]))))

    def object(self, depth):
        names = self.random.sample(NAMES, self.random.randint(0, 4))
        members = {name: self.schema(depth - 1) for name in names}
        required = [name for name in names if self.random.random() < 0.5]
        schema = {"type": "object", "properties": {name: member[0] for name, member in members.items()}}
        if required:
            schema["required"] = required
        rest = None
        pick = self.random.random()
        if pick < 0.5:
            schema["additionalProperties"] = False
        elif pick < 0.7:
            schema["additionalProperties"], rest = self.schema(depth - 1)
        else:
            rest = self.any_value
        most = None
        if self.random.random() < 0.3:
            most = schema["maxProperties"] = max(len(required), self.random.randint(0, 4))

        def value():
            result = {name: members[name][1]() for name in names
                      if name in required or self.random.random() < 0.6 and most is None}
            free = [name for name in NAMES if name not in names]
            if rest and most is None and self.random.random() < 0.6:
                for name in self.random.sample(free, self.random.randint(1, 2)):
                    result[name] = rest()
            return result
        return schema, value

    def array(self, depth):
        item, make = self.schema(depth - 1)
        least, most = sorted((self.random.randint(0, 3), self.random.randint(0, 5)))
        schema = {"type": "array", "items": item}
        prefix = []
        if self.random.random() < 0.3:
            prefix = [self.schema(depth - 1) for _ in range(self.random.randint(1, 3))]
            schema["prefixItems"] = [one[0] for one in prefix]
        if self.random.random() < 0.6:
            schema["minItems"] = least
        if self.random.random() < 0.6:
            schema["maxItems"] = most
        return schema, lambda: [(prefix[i][1] if i < len(prefix) else make)() for i in range(self.random.randint(least, most))]

    def any_of(self, depth):
        parts = [self.schema(depth - 1) for _ in range(self.random.randint(1, 3))]
        return {"anyOf": [part[0] for part in parts]}, lambda: self.random.choice(parts)[1]()

    def all_of(self, depth):
        schema, value = self.schema(depth - 1)
        if self.random.random() < 0.5:
            return {"allOf": [schema, {}]}, value
        return {"$ref": "#/$defs/d", "$defs": {"d": schema}}, value


def hoisted(schema):
    """Local references are looked up in the root, so all definitions go there, each under a name of its own."""
    definitions = {}

    def walk(node):
        if isinstance(node, list):
            return [walk(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node and "$defs" in node:
            name = f"d{len(definitions)}"
            definitions[name] = None
            definitions[name] = walk(node["$defs"]["d"])
            return {"$ref": f"#/$defs/{name}"}
        return {key: value if key in ("enum", "const") else walk(value) for key, value in node.items()}
    result = walk(schema)
    return dict(result, **{"$defs": definitions}) if definitions else result


def texts_of(value):
    yield json.dumps(value)
    yield json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main():
    program = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 400
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    asked = []
    for i in range(count):
        schema, value = Maker(seed * 100_000 + i).schema(3)
        schema = hoisted(schema)
        checker = jsonschema.Draft202012Validator(schema)
        valid = [one for one in (value() for _ in range(6)) if checker.is_valid(one)]
        asked.append((schema, [text for one in valid for text in texts_of(one)]))
    lines = "".join(json.dumps({"schema": schema, "valid": valid, "write": 12}) + "\n" for schema, valid in asked)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    written = refused_count = errors = 0
    failures = []
    for (schema, valid), line in zip(asked, done.stdout.splitlines(), strict=True):
        answer = json.loads(line)
        checker = jsonschema.Draft202012Validator(schema)
        if "error" in answer:
            # A schema with a valid text may not be refused.
            errors += 1
            if valid:
                failures.append(f"refused although {valid[0]} is valid: {answer['error']}\n  {json.dumps(schema)}")
            continue
        for text in answer["written"]:
            written += 1
            try:
                checker.validate(json.loads(text))
            except (ValueError, jsonschema.ValidationError) as error:
                failures.append(f"written, but wrong ({str(error).splitlines()[0]}): {text}\n  {json.dumps(schema)}")
        for text, place in answer["refused"]:
            refused_count += 1
            failures.append(f"valid, but refused at {place}: {text}\n  {json.dumps(schema)}")
    texts = sum(len(valid) for _, valid in asked)
    print(f"{count} schemas ({errors} that nothing satisfies or that are refused), {written} texts written, {texts} valid texts read")
    for failure in failures[:20]:
        print(failure)
    if failures or written < count or texts < count:
        print(f"{len(failures)} failures")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
