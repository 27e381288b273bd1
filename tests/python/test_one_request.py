"""One request to the program, the server, the package and the C library: the same tokens from all four."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import pytest
from conftest import HOST_FLAGS, MODEL, ON_HOST, PROGRAM, program, with_template

import tandem

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "clients"))
from serving import Serving  # noqa: E402

REQUESTS = [{"temperature": 0.0, "seed": 0}, {"temperature": 0.9, "seed": 7}]


class LoadOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("devices", ctypes.c_char_p), ("plan", ctypes.c_char_p), ("act", ctypes.c_char_p),
                ("cache_type", ctypes.c_char_p), ("context", ctypes.c_int64), ("parallel", ctypes.c_int64),
                ("logit_rows", ctypes.c_int64), ("threads", ctypes.c_int)]


class GenerateOptions(ctypes.Structure):
    """The beginning of tandem_generate_options, which the library takes for an older header's."""
    _fields_ = [("size", ctypes.c_size_t), ("predict", ctypes.c_int64), ("temperature", ctypes.c_float),
                ("top_k", ctypes.c_int), ("top_p", ctypes.c_float), ("min_p", ctypes.c_float),
                ("repeat_penalty", ctypes.c_float), ("presence_penalty", ctypes.c_float),
                ("frequency_penalty", ctypes.c_float), ("seed", ctypes.c_uint64)]


class Result(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ids", ctypes.POINTER(ctypes.c_int32)), ("id_count", ctypes.c_size_t),
                ("text", ctypes.c_char_p), ("text_bytes", ctypes.c_size_t), ("stop_reason", ctypes.c_char_p)]


def ids_of_c(prompt_ids, request):
    library = ctypes.CDLL(os.environ["TANDEM_TEST_LIBRARY"])
    library.tandem_last_error.restype = ctypes.c_char_p
    load, options, result = LoadOptions(), GenerateOptions(), Result(size=ctypes.sizeof(Result))
    library.tandem_load_options_init(ctypes.byref(load), ctypes.c_size_t(ctypes.sizeof(load)))
    load.devices, load.plan, load.act, load.cache_type = b"host", b"host-only", b"f32", b"f32"
    library.tandem_generate_options_init(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
    options.predict, options.temperature, options.seed = 24, request["temperature"], request["seed"]
    model = ctypes.c_void_p()
    assert library.tandem_model_load(MODEL.encode(), ctypes.byref(load), ctypes.byref(model)) == 0, library.tandem_last_error()
    ids = (ctypes.c_int32 * len(prompt_ids))(*prompt_ids)
    status = library.tandem_generate(model, ids, ctypes.c_size_t(len(prompt_ids)), ctypes.byref(options), None, None,
                                     ctypes.byref(result))
    assert status == 0, library.tandem_last_error()
    library.tandem_model_free(model)
    return result.ids[:result.id_count]


def prompt_of_c(path, conversation):
    library = ctypes.CDLL(os.environ["TANDEM_TEST_LIBRARY"])
    library.tandem_last_error.restype = ctypes.c_char_p
    load, model = LoadOptions(), ctypes.c_void_p()
    library.tandem_load_options_init(ctypes.byref(load), ctypes.c_size_t(ctypes.sizeof(load)))
    load.devices, load.plan = b"host", b"host-only"
    assert library.tandem_model_load(path.encode(), ctypes.byref(load), ctypes.byref(model)) == 0, library.tandem_last_error()
    ids, count = ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
    status = library.tandem_chat_prompt(model, json.dumps(conversation).encode(), ctypes.byref(ids), ctypes.byref(count))
    assert status == 0, library.tandem_last_error()
    library.tandem_model_free(model)
    return ids[:count.value]


TEMPLATE = ("{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
            "{% for t in tools or [] %}<tool_call> {{ t.function.name }}{% endfor %}"
            "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% for c in m.tool_calls %}"
            "{{ c.function.arguments.city }}{% endfor %}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}")
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
USER = {"role": "user", "content": "Once upon a time"}
CONVERSATIONS = {
    "plain": {"messages": [USER]},
    "refused system": {"messages": [{"role": "system", "content": "Be short."}, USER]},
    "begun answer": {"messages": [USER, {"role": "assistant", "content": "Lily was"}]},
    "parts": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Once"}, {"type": "text", "text": " upon"}]}]},
    "calls": {"tools": TOOLS, "messages": [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Rome\"}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "sunny"}]},
}


def test_conversations_have_one_prompt_for_server_package_and_library(tmp_path):
    path = with_template(tmp_path / "chat.gguf", TEMPLATE)
    with Serving(PROGRAM, *HOST_FLAGS, model=path) as server, tandem.Model.load(path, **ON_HOST) as model:
        for name, conversation in CONVERSATIONS.items():
            body = {**conversation, "max_tokens": 8, "temperature": 0}
            asked = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1/chat/completions", json.dumps(body).encode(),
                                           {"Content-Type": "application/json"})
            with urllib.request.urlopen(asked, timeout=120) as answer:
                served = json.load(answer)
            written = model.generate(conversation["messages"], tools=conversation.get("tools"), predict=8)
            assert len(written.prompt_ids) == served["usage"]["prompt_tokens"], name
            assert written.text == served["choices"][0]["message"]["content"], name
            assert prompt_of_c(path, conversation) == written.prompt_ids, name
        begun = model.generate(CONVERSATIONS["begun answer"]["messages"], predict=1).prompt_ids
        assert model.detokenize(begun).endswith("[assistant]Lily was")
        assert model.detokenize(begun).count("Lily was") == 1


def test_functions_are_offered_where_the_template_has_them_and_calls_are_read(tmp_path):
    with tandem.Model.load(with_template(tmp_path / "plain.gguf", "{{ messages[0].content }}"), **ON_HOST) as model:
        with pytest.raises(tandem.UsageError, match="no functions"):
            model.generate([USER], tools=TOOLS)
    with tandem.Model.load(with_template(tmp_path / "chat.gguf", TEMPLATE), **ON_HOST) as model:
        call = '{"name": "weather", "arguments": {"city": "Rome"}}'
        grammar = 'root ::= ' + json.dumps("<tool_call>" + call + "</tool_call>")
        written = model.generate([USER], tools=TOOLS, grammar=grammar)
        assert written.calls == [{"name": "weather", "arguments": '{"city": "Rome"}'}]
        assert model.generate([USER], predict=4).calls == []
        for broken in ([{"a": 1}], [{"type": "function", "function": {}}], TOOLS * 2):
            with pytest.raises(tandem.UsageError, match="tools"):
                model.generate([USER], tools=broken)
        with pytest.raises(tandem.UsageError, match="role"):
            model.generate([{"role": "wizard", "content": "x"}])


def tokens_of_server(request):
    """The text of each token, because answers have no ids."""
    with Serving(PROGRAM, *HOST_FLAGS, model=MODEL) as server:
        body = {"prompt": "Once upon a time", "max_tokens": 24, "logprobs": 0, **request}
        asked = urllib.request.Request(f"http://127.0.0.1:{server.port}/v1/completions", json.dumps(body).encode(),
                                       {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=120) as answer:
            choice = json.load(answer)["choices"][0]
    return choice["logprobs"]["tokens"], choice["text"]


@pytest.mark.parametrize("request_", REQUESTS, ids=["greedy", "drawn"])
def test_program_server_package_and_library_write_the_same(model, request_):
    flags = ["--temp", str(request_["temperature"]), "-s", str(request_["seed"])]
    said = program("run", "-m", MODEL, "-p", "Once upon a time", "-n", "24", *flags, *HOST_FLAGS)
    assert model.generate("Once upon a time", predict=24, **request_).ids == said["ids"]
    assert ids_of_c(said["prompt_ids"], request_) == said["ids"]
    tokens, text = tokens_of_server(request_)
    assert text == said["text"]
    assert len(tokens) == len(said["ids"]) and "".join(tokens) == text
    ends = [len(model.detokenize(said["ids"][:n])) for n in range(len(said["ids"]) + 1)]
    assert tokens == [text[begin:end] for begin, end in zip(ends, ends[1:])]
