"""Made-up calls of every public name: each ends in an exception of Python's or in a result, and the model goes on.

TANDEM_FUZZ_CALLS says how many calls, TANDEM_FUZZ_SEED which ones.
"""
import gc
import inspect
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from conftest import MODEL, ON_HOST

import tandem
from tandem import _tandem

CALLS = int(os.environ.get("TANDEM_FUZZ_CALLS", "600"))
SEED = int(os.environ.get("TANDEM_FUZZ_SEED", "11"))
ODD = [None, True, -1, 0, 1, 5, 2**31 - 1, 2**31, 2**63, 2**64, -(2**80), 0.5, 1e300, float("nan"), float("inf"), "", "x",
       "\udcff", "\0", b"\xff", [], [1], [[1]], [None], ["a", 3], {}, {"a": 1}, (), object(), int, np.zeros(0, np.int32),
       np.array([[1]]), np.array([1.5]), np.array([np.nan], np.float32), np.array([7], np.uint64), np.array(["x"]),
       np.array(5), np.int8(-1), range(3), lambda *_: 0, memoryview(b"abcd"), "x" * 3000, [5] * 9000, [2**31 - 1] * 40,
       {"role": "user"}, [{"role": "user", "content": None}], ["Once", "\udcff"]]
OPTIONS = ["predict", "temperature", "top_k", "top_p", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty",
           "seed", "stop", "json_schema", "grammar", "json_object", "tools", "sampler", "sequence", "logprobs", "ignore_end",
           "spec", "draft_max", "predictions", "no_such"]
LOADS = ["plan", "act", "cache_type", "context", "parallel", "logit_rows", "threads", "machine", "expert_budget",
         "host_budget", "expert_copies", "expert_policy", "packed", "split", "chunk", "draft_model",
         "history", "no_such"]


def public_names():
    """"Model.generate", "devices", ... of everything that the package and tandem.npu show."""
    for name in [*tandem.__all__, "npu.gemm", "npu.Product"]:
        thing = getattr(tandem.npu, name[4:]) if "." in name else getattr(tandem, name)
        if inspect.ismodule(thing):
            continue
        yield name
        if inspect.isclass(thing) and thing.__module__.startswith("tandem"):
            for each, member in vars(thing).items():
                if not each.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
                    yield f"{name}.{each}"


class MadeUp:
    """Calls with arguments that may be anything, on things that may be closed or gone."""

    def __init__(self, model, closed, sequences, choose):
        self.choose, self.models, self.sequences = choose, [model, model, model, closed], sequences
        self.streams = [model.stream("Once", predict=2), model.stream("Once", predict=-1, ignore_end=True)]
        self.views = [model.eval([5, 7]), closed_view()]

    def odd(self):
        return self.choose(ODD)

    def some(self, most=4):
        return [self.odd() for _ in range(self.choose(range(most + 1)))]

    def model(self):
        return self.choose(self.models)

    def options(self):
        return {"predict": 2, self.choose(OPTIONS): self.odd()}

    def stream(self):
        return self.choose(self.streams)

    def sequence(self):
        return self.choose(self.sequences)

    def trace(self):
        with tandem.Trace(self.model()._model) as trace:
            self.model().eval(self.odd())
        return trace

    def table(self):
        """{public name: call}. Classes of results are made of anything."""
        calls = {
            "Model": lambda: tandem.Model(self.odd()).eval([1]), "Model.load": self.load,
            "Model.close": lambda: self.models[-1].close(), "Model.closed": lambda: self.model().closed,
            "Model.vocabulary": lambda: self.model().vocabulary, "Model.context": lambda: self.model().context,
            "Model.info": lambda: self.model().info, "Model.tokenize": lambda: self.model().tokenize(*self.some(3)),
            "Model.detokenize": lambda: self.model().detokenize(self.odd(), self.odd()),
            "Model.stream": lambda: next(iter(self.model().stream(self.odd(), **self.options()))),
            "Model.generate": lambda: self.model().generate(self.choose(["Once", [5, 7], self.odd()]), **self.options()),
            "Model.chat": lambda: self.model().chat(self.odd(), **self.options()).say(self.odd()),
            "Model.eval": lambda: self.model().eval(self.odd()),
            "Model.embed": lambda: self.model().embed(self.odd(), pooling=self.choose(["", "mean", self.odd()])),
            "Model.perplexity": lambda: self.model().perplexity(self.odd()),
            "Model.sequence": lambda: self.model().sequence().extend(self.odd()),
            "Model.load_sequence": lambda: self.model().load_sequence(self.odd()),
            "Model.planner": self.plan_by, "Model.plan": lambda: self.model().plan(self.odd()),
            "Model.trace": lambda: self.model().trace().__exit__(), "Trace": self.trace,
            "Trace.save": lambda: self.trace().save(self.odd()),
            "Machine.close": lambda: tandem.Machine("host").close(*self.some(1)),
            "Machine": lambda: tandem.Machine(self.odd(), self.odd()),
            "Chat": lambda: tandem.Chat(self.model(), self.odd(), {}).say("x"),
            "Chat.say": lambda: self.model().chat().say(self.odd()),
            "Chat.stream": lambda: next(self.model().chat().stream(self.odd())),
            "Stream": lambda: next(tandem.Stream(self.odd(), self.odd())),
            "Stream.cancel": lambda: self.stream().cancel(), "Stream.result": lambda: self.stream().result,
            "Sequence": lambda: tandem.Sequence(self.odd(), self.odd()).extend([1]),
            "Sequence.ids": lambda: self.sequence().ids, "Sequence.extend": lambda: self.sequence().extend(self.odd()),
            "Sequence.fork": lambda: self.sequence().fork(self.odd()).extend([5]),
            "Sequence.rewind": lambda: self.sequence().rewind(self.odd()),
            "Sequence.generate": lambda: self.sequence().generate(self.odd(), **self.options()),
            "Sequence.draft": lambda: self.sequence().draft(self.odd(), self.odd()),
            "Sequence.accept": lambda: self.sequence().accept(self.odd()),
            "Sequence.save": lambda: self.sequence().save(self.odd()),
            "Logits": lambda: tandem.Logits(*self.some()), "devices": lambda: tandem.devices(*self.some(1)),
            "npu.gemm": lambda: tandem.npu.gemm(self.odd(), self.odd(), *self.some(3)),
            "sync_lab": lambda: tandem.sync_lab("host", policies=[self.odd()], work_seconds=[self.odd()], quick=True),
        }
        for name in public_names():
            if name not in calls:
                calls[name] = lambda name=name: made_of(name)(*self.some(10))
        return calls

    def load(self):
        path = self.choose([MODEL, MODEL, self.odd()])
        tandem.Model.load(path, **{**ON_HOST, self.choose(LOADS): self.odd()}).close()

    def plan_by(self):
        model = self.model()
        model.planner = self.choose([self.odd(), lambda work: self.some(), lambda work: [self.odd() for _ in work.operators]])
        model.eval([5, 7])

    def raw(self):
        """A call of the extension module, around the package's own checks."""
        kind = self.choose([_tandem.Model, _tandem.Sequence, _tandem.Text, _tandem.TextAsked, _tandem.Values, _tandem.Machine,
                            _tandem.NpuProduct])
        of = {_tandem.Model: self.model()._model, _tandem.Sequence: self.sequence()._sequence, _tandem.Text: self.stream()._text,
              _tandem.TextAsked: _tandem.TextAsked()}.get(kind)
        name = self.choose([each for each in sorted(vars(kind)) if not each.startswith("_")] + ["__init__"])
        if kind is _tandem.Model and name in ("close", "__init__"):
            of = self.models[-1]._model  # the others are still wanted
        member = getattr(kind, name)
        if not callable(member) or member is _tandem.Text.next and of is self.streams[1]._text:
            return None
        if self.choose(range(6)) == 0:
            return kind(*self.some(10))
        return member(self.choose([of, of, of, self.odd()]), *self.some())

    def view(self):
        """Arrays whose model, text or owner is gone."""
        view = self.choose(self.views)
        gc.collect()
        shown = memoryview(view)
        shown.release()
        return float(np.asarray(view).sum()), np.from_dlpack(view).shape, view[self.odd()], memoryview(view)[0, 0]


def made_of(name):
    return getattr(tandem.npu, name[4:]) if name.startswith("npu.") else getattr(tandem, name)


def closed_view():
    with tandem.Model.load(MODEL, **ON_HOST) as model:
        return model.eval([5])


def test_made_up_calls_of_every_public_name_end_and_the_model_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = random.Random(SEED)
    refused = done = 0
    with tandem.Model.load(MODEL, **ON_HOST) as model:
        expected = model.generate("The dog", predict=6).ids
        closed = tandem.Model.load(MODEL, **ON_HOST)
        lost = closed.sequence()
        closed.close()
        made_up = MadeUp(model, closed, [model.sequence(), model.sequence(), lost], source.choice)
        table = made_up.table()
        assert set(table) == set(public_names())
        calls = [*table.values(), made_up.raw, made_up.view] + [made_up.raw] * 20
        for call in [*table.values(), *source.choices(calls, k=CALLS)]:
            try:
                call()
                done += 1
            except Exception:  # of any kind, but no end of the process
                refused += 1
        model.planner = None
        made_up.streams[1].cancel()
        assert model.generate("The dog", predict=6).ids == expected
    print(f"{refused + done} calls: {refused} refused, {done} done")
    assert refused > CALLS // 4 and done > CALLS // 20


def test_an_exception_of_a_callback_is_raised_as_often_as_it_is_asked_for():
    def broken(work):
        raise KeyError("mine")

    with tandem.Model.load(MODEL, **ON_HOST) as model:
        model.planner = broken
        streams = [model.stream("Once", predict=4) for _ in range(4)]
        for stream in streams * 2:
            for _ in range(2):
                with pytest.raises(KeyError, match="mine"):
                    next(stream)
            with pytest.raises(KeyError, match="mine"):
                stream.result
        model.planner = None
        assert len(model.generate("Once", predict=4).ids) == 4


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("error", [Unprintable("mine"), ValueError("\udcff"), ValueError("\0"), SystemExit(3),
                                   KeyboardInterrupt(), GeneratorExit()])
def test_any_exception_of_a_callback_is_raised_as_it_is(error):
    def broken(_):
        raise error

    with tandem.Model.load(MODEL, **ON_HOST) as model:
        stream = model.stream("Once", predict=4, sampler=broken)
        for _ in range(3):
            with pytest.raises(type(error)) as caught:
                next(stream)
            assert caught.value is error
        model.planner = broken
        with pytest.raises(type(error)):
            model.eval([5, 7, 9])
        model.planner = None
        assert len(model.generate("Once", predict=4).ids) == 4


DAEMONS = """
import sys, threading, time, tandem
model = tandem.Model.load(sys.argv[1], device="host", plan="host-only", parallel=4)
def write(work):
    while True:
        try:
            work()
        except tandem.Error:
            time.sleep(0.001)
works = [lambda: list(model.stream("Once", predict=50)), lambda: model.eval([5] * 9),
         lambda: model.tokenize("Once " * 50),
         lambda: model.generate("Once", predict=9, sampler=lambda logits: int(logits.argmax()))]
for work in works:
    threading.Thread(target=write, args=(work,), daemon=True).start()
time.sleep(float(sys.argv[2]))
"""


def test_an_interpreter_ends_while_threads_still_write():
    for i in range(6):
        said = subprocess.run([sys.executable, "-c", DAEMONS, MODEL, str(0.05 + 0.02 * i)], capture_output=True,
                              text=True, timeout=120)
        assert (said.returncode, said.stderr) == (0, "")


@pytest.mark.parametrize("wrong", [lambda: _tandem.Sequence(None), lambda: _tandem.Sequence.load(None, "x"),
                                   lambda: _tandem.Model.start(None, [1], _tandem.TextAsked(), None)])
def test_an_object_that_is_none_is_refused(wrong):
    with pytest.raises((TypeError, tandem.Error)):
        wrong()
