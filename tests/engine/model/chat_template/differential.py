"""Compares Tandem's chat templates with Jinja on made-up templates and on published ones.

    python3 differential.py PROGRAM [CASES [SEED]]            made-up snippets
    python3 differential.py PROGRAM --published FOLDER [N]    N conversations for each template of the folder

PROGRAM is chat_render_lines of the build. A template that Tandem refuses because it does not know a construct is
counted apart. Every other difference is printed, and the status is 1 then.
"""
import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import warnings

import reference

warnings.simplefilter("ignore")  # Python's, about escapes


class Tandem:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        encoding="utf-8")

    def render(self, template, conversation):
        asked = {"template": template, "conversation": json.dumps(conversation, ensure_ascii=False)}
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the program died of {template!r}")
        return next(iter(json.loads(line).items()))


STRINGS = ["", "a", "b", "abc", "Hello World", " x ", "a,b,,c", "aé🎉b", "Straße", "ﬁn ΑΣ", "it's", 'say "hi"', "\n\tq\\",
           "<a> & b", "12", "-3.5", "1e3", "0x1f", "%s|%d", "{} {0}", "role", "content", "user", "--", "\u2028x\u00a0", "ǆx",
           "line1\nline2\n\nline4", "  ", "None", "true"]
NAMES = ["s", "n", "f", "t", "l", "d", "messages", "tools", "missing", "none_", "e", "m", "x", "u"]
ATTRIBUTES = ["role", "content", "a", "b", "items", "keys", "foo", "name", "tool_calls", "function", "0", "count", "index"]
METHODS = [("upper", 0), ("lower", 0), ("title", 0), ("capitalize", 0), ("swapcase", 0), ("strip", 0), ("strip", 1),
           ("lstrip", 1), ("rstrip", 1), ("lstrip", 0), ("rstrip", 0), ("split", 0), ("split", 1), ("split", 2),
           ("rsplit", 1), ("rsplit", 2), ("splitlines", 0), ("startswith", 1), ("endswith", 1), ("replace", 2),
           ("replace", 3), ("find", 1), ("rfind", 1), ("find", 2), ("count", 1), ("index", 1), ("join", 1), ("isdigit", 0),
           ("isalpha", 0), ("isalnum", 0), ("isspace", 0), ("isupper", 0), ("islower", 0), ("center", 1), ("ljust", 1),
           ("rjust", 1), ("zfill", 1), ("partition", 1), ("rpartition", 1), ("removeprefix", 1), ("removesuffix", 1),
           ("format", 1), ("format", 2), ("items", 0), ("keys", 0), ("values", 0), ("get", 1), ("get", 2), ("copy", 0),
           ("isprintable", 0), ("isascii", 0), ("isdecimal", 0), ("startswith", 2), ("append", 1)]
FILTERS = [("upper", 0), ("lower", 0), ("title", 0), ("capitalize", 0), ("trim", 0), ("trim", 1), ("length", 0),
           ("count", 0), ("first", 0), ("last", 0), ("list", 0), ("join", 0), ("join", 1), ("reverse", 0), ("sort", 0),
           ("unique", 0), ("tojson", 0), ("tojson(indent=2)", 0), ("string", 0), ("int", 0), ("int", 1), ("float", 0),
           ("abs", 0), ("round", 0), ("round", 1), ("default", 1), ("default(5, true)", 0), ("d", 1), ("replace", 2),
           ("items", 0), ("dictsort", 0), ("sum", 0), ("min", 0), ("max", 0), ("batch(2)", 0), ("slice(2)", 0), ("e", 0),
           ("safe", 0), ("indent", 0), ("indent(2, true)", 0), ("truncate(8)", 0), ("wordcount", 0), ("center(9)", 0),
           ("select", 0), ("reject", 0), ("map('upper')", 0), ("map(attribute='role')", 0), ("map('string')", 0),
           ("selectattr('role')", 0), ("selectattr('role', 'equalto', 'user')", 0), ("rejectattr('content', 'none')", 0),
           ("select('string')", 0), ("reject('number')", 0), ("attr('role')", 0), ("groupby('role')", 0),
           ("map('length')", 0), ("sort(attribute='role')", 0), ("sort(reverse=true)", 0), ("format", 1),
           ("map('tojson')", 0), ("tojson(sort_keys=true)", 0), ("urlize", 0)]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence", "iterable",
         "callable", "true", "false", "odd", "even", "upper", "lower", "escaped", "divisibleby 2", "eq(1)", "in [1, 'a']",
         "sameas none", "gt 1", "not none", "not string"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]


class Maker:
    """Makes random expressions and templates."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, choices):
        return self.random.choice(choices)

    def string(self):
        value = self.pick(STRINGS)
        return json.dumps(value, ensure_ascii=False).replace("\\/", "/")

    def number(self):
        return self.pick(["0", "1", "2", "3", "-1", "7", "10", "1.5", "0.1", "-2.5", "100000000000000000000", "1e16", "2.0",
                          "0.5", "1_000", "0x10", "255", "1e-7"])

    def leaf(self):
        return self.pick([self.string, self.number, lambda: self.pick(NAMES), lambda: self.pick(NAMES),
                          lambda: self.pick(["true", "false", "none", "[]", "{}", "()", "loop.index", "range(3)"])])()

    def expression(self, depth):
        if depth <= 0:
            return self.leaf()
        inner = lambda: self.expression(depth - 1 - (self.random.random() < 0.4))
        kind = self.random.randrange(14)
        if kind < 2:
            return self.leaf()
        if kind < 4:
            name, count = self.pick(METHODS)
            return f"{self.atom(inner())}.{name}({', '.join(inner() for _ in range(count))})"
        if kind < 6:
            name, count = self.pick(FILTERS)
            given = f"({', '.join(inner() for _ in range(count))})" if count else ""
            return f"{self.atom(inner())} | {name}{given}"
        if kind == 6:
            return f"({inner()} is {self.pick(TESTS)})"
        if kind < 9:
            return f"({inner()} {self.pick(BINARY)} {inner()})"
        if kind == 9:
            return f"{self.atom(inner())}.{self.pick(ATTRIBUTES)}"
        if kind == 10:
            # Jinja computes a slice of a constant with other rules than one of a variable.
            sliced = self.pick([self.pick(NAMES), self.string(), "messages", "s"])
            return self.pick([f"{self.atom(inner())}[{inner()}]", f"{sliced}[{self.part()}:{self.part()}]",
                              f"{sliced}[{self.part()}:{self.part()}:{self.part()}]"])
        if kind == 11:
            return self.pick([f"[{inner()}, {inner()}]", f"({inner()}, {inner()})", f"{{{self.string()}: {inner()}, 'b': {inner()}}}",
                              f"dict(a={inner()})", f"namespace(a={inner()}).a"])
        if kind == 12:
            return f"({inner()} if {inner()} else {inner()})"
        return self.pick([f"(not {inner()})", f"(-{self.atom(inner())})", f"({inner()} ~ {inner()})"])

    def part(self):
        return self.pick(["", "", "0", "1", "2", "-1", "-2", "5", "n", "-100", "100"])

    @staticmethod
    def atom(expression):
        return expression if re.fullmatch(r"\w+|'[^']*'|\"[^\"\\]*\"|[\[({].*[\])}]", expression) else f"({expression})"

    def block(self, depth, in_loop=False):
        parts = []
        for _ in range(self.random.randrange(1, 4)):
            parts.append(self.statement(depth, in_loop))
        return "".join(parts)

    def mark(self, inside):
        return "{%" + self.pick(["", "-", "-", "+", ""]) + " " + inside + " " + self.pick(["", "-", "-", "+", ""]) + "%}"

    def text(self):
        return self.pick(["", " ", "\n", "x", "a\n  b", "  \n ", "<|im_start|>", "\n\n", "\u00a0", "{", "}", "é"])

    def statement(self, depth, in_loop):
        kind = self.random.randrange(16)
        m, e = self.mark, lambda: self.expression(2)
        if depth <= 0 or kind < 3:
            return self.text() + "{{" + self.pick(["", "-", ""]) + " " + self.expression(2) + " " + self.pick(["", "-"]) + "}}"
        if kind == 3:
            return self.text()
        inner = lambda loop=in_loop: self.block(depth - 1, loop)
        if kind < 6:
            middle = self.pick(["", m("else") + inner(), m(f"elif {e()}") + inner()])
            return m(f"if {e()}") + inner() + middle + m("endif")
        if kind < 9:
            target = self.pick(["x", "m", "x, m", "x"])
            source = self.pick([e(), "messages", "l", "d.items()", "range(3)", "'aé'"])
            test = self.pick(["", "", f" if {e()}"])
            tail = self.pick(["", m("else") + inner()])
            return m(f"for {target} in {source}{test}") + inner(True) + tail + m("endfor")
        if kind == 9:
            return m(f"set {self.pick(['x', 'm', 'n', 't', 'ns.a'])} = {e()}")
        if kind == 10:
            return m(f"set {self.pick(['x', 'n'])}{self.pick(['', ' | upper'])}") + inner() + m("endset")
        if kind == 11:
            name = self.pick(["f", "g"])
            parameters = self.pick(["", "x", "x=1", "x, m=x"])
            call = "{{ " + name + "(" + self.pick(["", e(), f"x={e()}", f"{e()}, {e()}"]) + ") }}"
            return m(f"macro {name}({parameters})") + self.block(depth - 1) + m("endmacro") + call
        if kind == 12:
            return m("filter " + self.pick(["upper", "trim", "length", "replace('a', 'b')"])) + inner() + m("endfilter")
        if kind == 13:
            return "{#" + self.pick(["", "-", "+"]) + self.pick([" c ", "", "\n"]) + self.pick(["", "-"]) + "#}" + self.text()
        if kind == 14:
            return self.pick([m("raw") + "{{ x }}{% y %}" + m("endraw"), m("generation") + self.block(depth - 1) + m("endgeneration"),
                              m(f"with x = {e()}") + inner() + m("endwith"),
                              "{{ loop.index ~ loop.last ~ loop.revindex ~ loop.length }}" if in_loop else "",
                              "{{ loop.cycle(1, 'b') ~ loop.changed(x) }}" if in_loop else ""])
        return m(self.pick(["break", "continue"])) if in_loop else self.text()

    def template(self):
        if self.random.random() < 0.5:
            return "{{ " + self.expression(3) + " }}"
        return self.pick(["", "{% set ns = namespace(a=1) %}"]) + self.block(3) + self.pick(["", "\n", "\n\n"])

    # A conversation as a client would send it, with odd letters.
    def content(self):
        return self.pick(["Hi", "  two\nlines \n", "{{ 7*7 }} {% raw %}", "<|im_end|>\n<|im_start|>system\nx", "é 🎉 \u2028 \u00a0",
                          "", "<think>\nhm\n</think>\n\nOk.", "no </think> end", "/no_think please", "\"quoted\" \\ 'both'\t",
                          "[INST] x [/INST]", "<start_of_turn>model", "a" * 50, "None", "\n"])

    def spoken(self):
        """Content as a client may send it: mostly a text, or parts, or nothing."""
        kind = self.random.randrange(12)
        if kind < 9:
            return self.content()
        part = {"type": "text", "text": self.content()}
        return self.pick([[part], [part, {"type": "image"}, {"type": "text", "text": "x"}], [], [self.content()], None])

    def call(self):
        arguments = self.pick([{"a": 1, "b": "x"}, {}, {"ü": [1, None, True, 1.5]}, {"n": {"m": "q\n\""}}, "{\"a\": 1}", "", None,
                               {"a": -1e-7, "b": [], "c": {}, "d": 123456789012345678901234567890}])
        call = {"id": "abcdefghi", "type": "function", "function": {"name": self.pick(["f", "g-1", "ü"]), "arguments": arguments}}
        return self.pick([call, call, call, {"name": "f", "arguments": arguments}, {**call, "id": "x" * 12}])

    def documents(self):
        return [{"title": "T", "text": self.content()}, {"doc_id": 7, "title": "U\"", "text": "x", "snippet": None},
                {"contents": "c"}][:self.random.randrange(4)]

    def parameters(self):
        return self.pick([{"type": "object", "properties": {"a": {"type": "integer", "description": "An é"},
                                                            "b": {"type": ["string", "null"], "enum": ["x", "y"]}}, "required": ["a"]},
                          {"type": "object", "properties": {}}, {},
                          {"type": "object", "required": [], "properties": {
                              "l": {"type": "array", "items": {"type": "object", "properties": {"k": {"type": "number", "default": 1.0}}}},
                              "o": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "O"},
                              "items": {"type": "boolean", "description": "", "nullable": True, "default": False}}}])

    def kwargs(self):
        return self.pick([{"enable_thinking": False}, {"enable_thinking": True}, {"thinking": True}, {"date_string": "1 Jan 2026"},
                          {"tools_in_user_message": False}, {"builtin_tools": ["code_interpreter", "f"]}, {"custom_tools": [{"name": "c"}]},
                          {"reasoning_effort": "high", "model_identity": "M"}, {"xml_tools": [{"name": "x"}]}, {"python_tools": []}, {},
                          {"reasoning": True, "controls": {"length": "long", "originality": "x"}, "available_tools": []},
                          {"add_vision_id": True, "keep_cot": True, "preserve_thinking": True, "datetime": "now", "citations": "on"}])

    def conversation(self):
        messages = []
        if self.random.random() < 0.6:
            messages.append({"role": self.pick(["system"] * 9 + ["developer"]), "content": self.spoken()})
        for _ in range(self.random.randrange(0, 5)):
            messages.append({"role": "user", "content": self.spoken()})
            kind = self.random.randrange(5)
            if kind == 0:
                messages.append({"role": "assistant", "content": self.pick([None, "", "calling"]),
                                 "tool_calls": [self.call() for _ in range(self.random.randrange(3))]})
                for _ in range(self.random.randrange(1, 3)):
                    messages.append({"role": "tool", "name": "f", "tool_call_id": "abcdefghi",
                                     "content": self.pick([self.spoken(), "{\"r\": 2}", {"r": [1]}])})
                if self.random.random() < 0.7:
                    messages.append({"role": "assistant", "content": self.content()})
            elif kind == 1:
                messages.append({"role": "assistant", "content": self.spoken(),
                                 self.pick(["reasoning_content", "thinking", "thought"]): self.content()})
            elif kind < 4:
                messages.append({"role": "assistant", "content": self.spoken()})
        if self.random.random() < 0.1:
            messages.append({"role": self.pick(["ipython", "developer", "odd"]), "content": self.content()})
        result = {"messages": messages, "add_generation_prompt": self.random.random() < 0.6, "bos_token": "<s>", "eos_token": "</s>"}
        if self.random.random() < 0.4:
            result["tools"] = [{"type": "function", "function": {"name": name, "description": "does\nit", "parameters": self.parameters(),
                                                                 "return": {"type": "string"}}}
                               for name in ["f", "g"][:self.random.randrange(3)]]
            if self.random.random() < 0.1:
                result["tools"] = [{"name": "f", "description": "bare", "parameters": self.parameters()}]
        if self.random.random() < 0.2:
            result["documents"] = self.documents()
        if self.random.random() < 0.4:
            result["chat_template_kwargs"] = self.kwargs()
        if self.random.random() < 0.05:
            del result["bos_token"]
        return result


VALUES = {"messages": [{"role": "system", "content": "Sys é 🎉"}, {"role": "user", "content": "  Hi {{ 7*7 }} <|im_end|> "},
                       {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}],
          "tools": [{"type": "function", "function": {"name": "f", "parameters": {"a": [1, 2.5]}}}], "bos_token": "<s>",
          "chat_template_kwargs": {"s": "Straße É", "n": 3, "f": 2.5, "t": True, "l": [3, 1, 2], "d": {"b": 1, "a": [2], "items": "I"},
                                   "none_": None, "e": "", "u": "l1\nl2\r\nl3", "x": "x"}}


class Comparison:
    def __init__(self, program):
        self.tandem = Tandem(program)
        self.counts = collections.Counter()
        self.unknown = collections.Counter()

    def compare(self, template, conversation, shown):
        expected, actual = reference.render(template, conversation), self.tandem.render(template, conversation)
        if actual[0] == "error" and "is not known here" in actual[1]:
            self.counts["unknown"] += 1
            self.unknown[actual[1].split("uses ")[1].split(", which is")[0]] += 1
            return
        same = expected[0] == actual[0] and (expected[0] == "error" or expected[1] == actual[1])
        self.counts[expected[0] if same else "different"] += 1
        if not same and self.counts["different"] <= 40:
            print(f"---- {shown}\n  Jinja:  {expected}\n  Tandem: {actual}", flush=True)

    def report(self):
        print(dict(self.counts), "unknown:", dict(self.unknown.most_common(30)))
        return 1 if self.counts["different"] else 0


def main(arguments):
    comparison = Comparison(arguments[0])
    if len(arguments) > 2 and arguments[1] == "--published":
        maker = Maker(1)
        for path in sorted(pathlib.Path(arguments[2]).glob("*.jinja")):
            template = path.read_text(encoding="utf-8")
            for _ in range(int(arguments[3]) if len(arguments) > 3 else 300):
                conversation = maker.conversation()
                comparison.compare(template, conversation, f"{path.name} {json.dumps(conversation)}")
        return comparison.report()
    maker = Maker(int(arguments[2]) if len(arguments) > 2 else 1)
    for _ in range(int(arguments[1]) if len(arguments) > 1 else 10000):
        template = maker.template()
        comparison.compare(template, VALUES, repr(template))
    return comparison.report()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
