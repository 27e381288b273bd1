"""Texts of the package are those of the program."""
import asyncio
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import HOST_FLAGS, MODEL, ON_HOST, program

import tandem

MESSAGES = [{"role": "user", "content": "Who is Lily?"}]


def test_a_text_has_the_ids_of_the_program(model, told):
    text = model.generate("Once upon a time", predict=24)
    assert isinstance(text, tandem.Generation)
    assert (text.ids, text.text, text.stop_reason) == (told["ids"], told["text"], "length")
    assert text.prompt_ids == told["prompt_ids"] == model.tokenize("Once upon a time")
    assert text.timings["prompt_tokens"] == len(told["prompt_ids"])
    assert model.generate(np.array(told["prompt_ids"], dtype=np.uint16), predict=24).ids == told["ids"]


@pytest.mark.parametrize("plan", ["gpu-only", "npu-only", "tensor", "auto"])
def test_every_plan_has_the_ids_of_the_program(plan):
    flags = ["--plan", plan, "--act", "f16"]
    said = program("run", "-m", MODEL, "-p", "The dog", "-n", "12", *flags)
    with tandem.Model.load(MODEL, plan=plan, act="f16", parallel=1) as model:
        assert model.generate("The dog", predict=12).ids == said["ids"]


def test_a_seed_draws_what_the_program_draws(model):
    said = program("run", "-m", MODEL, "-p", "The dog", "-n", "20", "--temp", "0.9", "--top-k", "30", "-s", "11", *HOST_FLAGS)
    assert model.generate("The dog", predict=20, temperature=0.9, top_k=30, seed=11).ids == said["ids"]


def test_a_stream_gives_the_text_in_pieces(model, told):
    stream = model.stream("Once upon a time", predict=24, logprobs=True)
    assert isinstance(stream, tandem.Stream)
    pieces = list(stream)
    assert all(isinstance(piece, tandem.Piece) for piece in pieces)
    assert "".join(piece.text for piece in pieces) == told["text"] == stream.result.text
    assert [piece.id for piece in pieces if piece.id >= 0] == told["ids"]
    assert all(piece.logprob < 0 for piece in pieces if piece.id >= 0)

    async def read():
        return "".join([piece.text async for piece in model.stream("Once upon a time", predict=24)])

    assert asyncio.run(read()) == told["text"]


def test_a_stream_that_is_cancelled_or_dropped_ends(model):
    stream = model.stream("Once", predict=-1, ignore_end=True)
    next(stream)
    with pytest.raises(tandem.UsageError, match="not ended"):
        stream.result
    stream.cancel()
    list(stream)
    assert stream.result.stop_reason == "interrupted"
    other = model.stream("Once", predict=-1, ignore_end=True)
    next(other)
    del other
    assert model.generate("Once", predict=2).stop_reason == "length"


def test_texts_of_a_list_and_of_threads_are_those_of_each_alone(model):
    prompts = ["Once upon a time", "The dog", "Lily", "One day"]
    alone = [model.generate(prompt, predict=16).ids for prompt in prompts]
    assert [text.ids for text in model.generate(prompts, predict=16)] == alone
    found = [None] * len(prompts)

    def write(i):
        found[i] = model.generate(prompts[i], predict=16).ids

    threads = [threading.Thread(target=write, args=(i,)) for i in range(len(prompts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone


def test_a_text_keeps_its_form(model):
    schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 9}},
              "required": ["age"], "additionalProperties": False}
    assert 0 <= json.loads(model.generate("Once", predict=60, json_schema=schema).text)["age"] <= 9
    assert model.generate("Once", grammar='root ::= "yes" | "no"').text in ("yes", "no")
    assert model.generate("Once", predict=20, json_object=True, temperature=1.0).text.startswith("{")
    with pytest.raises(tandem.UsageError):
        model.generate("Once", grammar="root ::= (")
    with pytest.raises(tandem.UsageError, match="one form"):
        model.generate("Once", grammar='root ::= "a"', json_object=True)


def test_a_list_has_prompts_of_every_kind(model, told):
    ids = told["prompt_ids"]
    texts = model.generate([ids, tuple(ids), np.array(ids), "Once upon a time"], predict=8)
    assert [text.ids for text in texts] == [told["ids"][:8]] * 4
    with pytest.raises(tandem.UsageError, match="no chat template"):
        model.generate([MESSAGES, MESSAGES])
    with pytest.raises(tandem.UsageError, match="no token ids"):
        model.generate([["Once"], [5]])
    with pytest.raises(tandem.UsageError, match="no token ids"):
        model.eval([[1, 2], [3]])


def test_a_task_that_ends_by_a_timeout_loses_no_piece(model, told):
    may_write = threading.Event()

    def sampler(logits):
        may_write.wait(60)
        return int(logits.argmax())

    stream = model.stream("Once upon a time", predict=24, sampler=sampler)

    async def impatient():
        for _ in range(3):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(stream.__anext__(), 0.01)
        may_write.set()
        return [await stream.__anext__() for _ in range(3)]

    pieces = asyncio.run(impatient()) + list(stream)
    assert [piece.id for piece in pieces if piece.id >= 0] == told["ids"]

    async def both():
        shared = model.stream("Once upon a time", predict=24)

        async def some():
            return [piece.id async for piece in shared if piece.id >= 0]

        return await asyncio.gather(some(), some())

    assert sorted(sum(asyncio.run(both()), [])) == sorted(told["ids"])


def test_a_stop_ends_the_text(model, told):
    word = told["text"].split()[3]
    text = model.generate("Once upon a time", predict=24, stop=word)
    assert text.stop_reason == "stop" and word not in text.text
    assert model.generate("Once upon a time", predict=24, stop=[word, "zzz"]).text == text.text


def test_a_sampler_sees_the_logits_and_chooses(model, told):
    shapes = set()

    def largest(logits):
        shapes.add((logits.shape, logits.dtype.name, logits.flags.writeable))
        return int(logits.argmax())

    assert model.generate("Once upon a time", predict=24, sampler=largest).ids == told["ids"]
    assert shapes == {((model.vocabulary,), "float32", False)}

    def broken(logits):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        model.generate("Once", sampler=broken)
    with pytest.raises(tandem.Error, match="may not come"):
        model.generate("Once", sampler=lambda logits: -1)
    for wrong in (2**80, -(2**80), 512):
        with pytest.raises(tandem.Error, match="may not come"):
            model.generate("Once", sampler=lambda logits: wrong)
    for wrong in (None, 5.0, "5", float("nan"), [5]):
        with pytest.raises(TypeError):
            model.generate("Once", sampler=lambda logits: wrong)
    with pytest.raises(tandem.UsageError, match="callback"):
        model.generate("Once", sampler=lambda logits: model.eval([1]) is None)
    assert model.generate("Once upon a time", predict=24).ids == told["ids"]


def test_a_model_without_a_template_refuses_messages(model):
    with pytest.raises(tandem.UsageError, match="no chat template"):
        model.generate(MESSAGES)
    with pytest.raises(tandem.UsageError, match="no chat template"):
        model.chat("Be short.").say("Hello")
    with pytest.raises(tandem.UsageError, match="tools"):
        model.generate("Hello", tools=[{}])


@pytest.mark.skipif(not os.environ.get("TANDEM_TEST_CHAT_MODEL"), reason="the default model is not here")
def test_a_chat_answers_as_the_program_does():
    path = os.environ["TANDEM_TEST_CHAT_MODEL"]
    said = program("run", "-m", path, "--chat", "-p", "What is the capital of France?", "-n", "12", *HOST_FLAGS)
    with tandem.Model.load(path, context=512, **ON_HOST) as model:
        chat = model.chat(predict=12)
        assert isinstance(chat, tandem.Chat)
        assert chat.say("What is the capital of France?") == said["text"]
        assert [each["role"] for each in chat.messages] == ["user", "assistant"]
        answer = "".join(piece.text for piece in chat.stream("And of Spain?"))
        assert chat.messages[-1]["content"] == answer and len(chat.messages) == 4


INTERRUPTED = """
import os, signal, sys, threading, time, tandem
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore the signal
model = tandem.Model.load(sys.argv[1], device="host", plan="host-only")
def stop(): os.kill(os.getpid(), signal.SIGINT)
for work in (lambda: model.generate("Once", predict=-1, ignore_end=True, sampler=lambda logits: time.sleep(0.01) or 5),
             lambda: [model.eval([5] * 400) for _ in range(10 ** 6)],
             lambda: tandem.npu.gemm(np.ones((700, 700)), np.ones((700, 700)), rows=8, cols=8)):
    threading.Timer(0.3, stop).start()
    try:
        work()
        print("not interrupted")
    except KeyboardInterrupt:
        print("interrupted", len(model.generate("Once", predict=3).ids))
"""


def test_ctrl_c_is_a_keyboard_interrupt_and_the_model_stays_usable():
    said = subprocess.run([sys.executable, "-c", INTERRUPTED, MODEL], capture_output=True, text=True, timeout=120)
    assert said.stdout.split("\n")[:-1] == ["interrupted 3"] * 3, said.stdout + said.stderr
