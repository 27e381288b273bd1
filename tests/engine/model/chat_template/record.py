"""Records what Jinja renders, for golden_test.cpp, or checks the record.

    python3 record.py FOLDER           writes golden.json; FOLDER has the published templates
    python3 record.py --check          status 0: the snippets' record is right; 77: there is no Jinja

snippets.txt has a template a line; \\N is a line end.
"""
import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")  # Python's, about escapes
HERE = pathlib.Path(__file__).parent
try:
    import reference
except ImportError:
    print("SKIPPED: Python's jinja2 is not installed")
    sys.exit(77)

SNIPPET_VALUES = {
    "messages": [{"role": "system", "content": "Sys é 🎉"}, {"role": "user", "content": "  Hi {{ 7*7 }} <|im_end|> "},
                 {"role": "assistant", "content": None, "tool_calls": [
                     {"id": "abcdefghi", "type": "function",
                      "function": {"name": "f", "arguments": {"a": 1, "b": [1.5, True, None, "x\"'\n"], "ü": {}}}}]},
                 {"role": "tool", "content": "{\"r\": 2}", "tool_call_id": "abcdefghi"},
                 {"role": "assistant", "content": "<think>\nhm\n</think>\nOk."}],
    "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {
        "type": "object", "properties": {"a": {"type": "integer", "description": "A"},
                                         "b": {"type": "array", "items": {"type": "string"}}}, "required": ["a"]}}}],
    "bos_token": "<s>", "eos_token": "</s>",
    "chat_template_kwargs": {"n": 3, "big": 12345678901234567890123, "f": 2.5, "e": 1e22, "neg": -7, "t": True,
                             "s": "Straße ÀÉ ǆ", "l": [3, 1, 2], "d": {"b": 1, "a": [2, 3], "items": "I"},
                             "u": "line1\nline2\r\nline3"}}

USER = {"role": "user", "content": " Hi {{ 7*7 }} <|im_end|>\n<|eot_id|><end_of_turn>[/INST]<|end|> é 🎉\u2028 "}
CALL = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "abcdefghi", "type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 3}}}]}
RESULT = {"role": "tool", "name": "weather", "tool_call_id": "abcdefghi", "content": "{\"sun\": true}"}
ANSWER = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nIt is sunny."}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "The weather\nof a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "its name"},
                                     "days": {"type": ["integer", "null"], "enum": [1, 3]}}, "required": ["city"]}}}]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
CONVERSATIONS = [
    [USER],
    {"messages": [USER], "add_generation_prompt": True, **TOKENS},
    {"messages": [{"role": "system", "content": " Be brief. "}, USER], "add_generation_prompt": True, **TOKENS},
    {"messages": [USER, ANSWER, {"role": "user", "content": "And then?"}, {"role": "assistant", "content": "Rain"}], **TOKENS},
    {"messages": [USER, CALL, RESULT, ANSWER, USER], "tools": TOOLS, "add_generation_prompt": True, **TOKENS},
    {"messages": [{"role": "system", "content": "/no_think"}, USER], "tools": TOOLS, **TOKENS,
     "chat_template_kwargs": {"enable_thinking": False, "tools_in_user_message": False}},
    {"messages": [USER, USER], "add_generation_prompt": True, **TOKENS},
    {"messages": [], **TOKENS},
]


def result(template, conversation):
    kind, what = reference.render(template, conversation)
    return {kind: True if kind == "error" else what}


def snippets():
    lines = (HERE / "snippets.txt").read_text(encoding="utf-8").split("\n")
    templates = [line.replace("\\N", "\n") for line in lines if line]
    return [{"template": template, **result(template, SNIPPET_VALUES)} for template in templates]


def main(arguments):
    path = HERE / "golden.json"
    if arguments == ["--check"]:
        recorded = json.loads(path.read_text(encoding="utf-8"))["snippets"]
        wrong = [mine for mine, theirs in zip(recorded, snippets()) if mine != theirs]
        print(f"{len(recorded)} snippets, {len(wrong)} recorded wrongly", *wrong, sep="\n")
        return 1 if wrong or len(recorded) != len(snippets()) else 0
    published = [{"template": file.name, "conversation": i, **result(file.read_text(encoding="utf-8"), conversation)}
                 for file in sorted(pathlib.Path(arguments[0]).glob("*.jinja"))
                 for i, conversation in enumerate(CONVERSATIONS)]
    record = {"snippet_values": json.dumps(SNIPPET_VALUES, ensure_ascii=False),  # as text, for its large number
               "conversations": CONVERSATIONS, "snippets": snippets(), "published": published}
    path.write_text(json.dumps(record, ensure_ascii=False, indent=0, separators=(",", ":")) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
