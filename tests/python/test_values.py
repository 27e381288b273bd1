"""Logits, sequences, plans and timelines, and what is refused."""
import json
import os
import pathlib
import pickle
import re
import resource
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import HOST_FLAGS, MODEL, ON_HOST, PROGRAM, program

import tandem
from tandem import _tandem

IDS = [1, 403, 407, 261, 378, 500, 17, 9, 44]


def test_logits_are_those_of_the_program(model, tmp_path):
    ids, out = tmp_path / "ids.txt", tmp_path / "logits.f32"
    ids.write_text(" ".join(map(str, IDS)))
    said = program("eval", "-m", MODEL, "--ids", str(ids), "--logits", str(out), "--perplexity", *HOST_FLAGS)
    logits = model.eval(IDS)
    assert logits.shape == (len(IDS), model.vocabulary) and logits.dtype == np.float32
    assert logits.tobytes() == out.read_bytes()
    assert model.perplexity(IDS) == pytest.approx(said["perplexity"], rel=1e-6)


def test_arrays_show_the_buffer_that_the_pass_wrote_and_no_later_pass_writes_there(model):
    values = model._model.eval(IDS)
    assert values.in_place, "the pass wrote them there: nothing was copied"
    array = np.asarray(memoryview(values))
    assert array.ctypes.data == values.address
    kept = array.copy()
    del values
    for _ in range(5):
        model.eval([5] * 30)
        model.generate("The dog", predict=8)
    assert np.array_equal(array, kept)
    assert not array.flags.writeable
    with pytest.raises(ValueError):
        array[0, 0] = 1
    with pytest.raises(ValueError):
        array.flags.writeable = True


def test_buffers_of_arrays_that_are_gone_are_used_again(model):
    def address():
        return model.eval(IDS).ctypes.data

    first = address()
    assert address() == first
    logits = model.eval(IDS)
    for _ in range(6):  # the array before lives until the next one is there
        before, logits = logits.ctypes.data, model.eval(IDS)
        assert logits.ctypes.data != before
    del logits
    assert address() == first
    held = [model._model.eval(IDS) for _ in range(4)]
    assert [each.in_place for each in held] == [True, True, False, False], "passes need one buffer"
    kept = [np.array(memoryview(each)) for each in held]
    text = model.sequence()
    text.extend([5] * 20)
    for each, before in zip(held, kept):
        assert np.array_equal(np.asarray(memoryview(each)), before)


def test_rows_of_sequences_and_of_drafts_lie_in_the_buffer_too(model):
    text = _tandem.Sequence(model._model)
    assert text.extend(IDS[:4]).in_place
    assert text.draft([IDS[4], 7], [-1, 0]).in_place
    long = model._model.eval([5] * 300)
    assert not long.in_place and np.asarray(memoryview(long)).shape[0] == 300, "several passes are gathered"


def test_logits_outlive_their_model():
    with tandem.Model.load(MODEL, **ON_HOST) as other:
        logits = other.eval(IDS)
        kept = logits.copy()
    assert other.closed
    assert np.array_equal(logits, kept)


def test_sequences_are_extended_forked_rewound_saved_and_continued(model, tmp_path):
    logits = model.eval(IDS)
    text = model.sequence()
    assert isinstance(text, tandem.Sequence) and len(text) == 0
    assert np.array_equal(text.extend(IDS[:6]), logits[5])
    fork = text.fork(4)
    assert np.array_equal(fork.extend(np.array(IDS[4:6])), logits[5])
    text.rewind(3)
    assert np.array_equal(text.extend(IDS[3:5]), logits[4])
    text.save(tmp_path / "text.state")
    loaded = model.load_sequence(tmp_path / "text.state")
    assert loaded.ids == IDS[:5]
    empty = model.sequence()
    go_on = threading.Event()
    stream = model.stream(IDS, predict=40, ignore_end=True, sequence=empty, sampler=lambda _: 5 if go_on.wait(60) else -1)
    with pytest.raises(tandem.UsageError, match="in use"):
        empty.extend([5])
    go_on.set()
    list(stream)
    assert len(empty) == len(IDS) + 39
    whole = model.generate(IDS, predict=6)
    assert loaded.generate(IDS[5:], predict=6).ids == whole.ids
    assert len(loaded.fork()) == len(loaded)
    with pytest.raises(tandem.UsageError):
        text.rewind(99)


def test_a_tree_of_drafts_gives_the_logits_of_each_path(model):
    text = model.sequence()
    text.extend(IDS[:4])
    drafted = text.draft([IDS[4], 7, IDS[5]], [-1, -1, 0])
    logits = model.eval(IDS)
    assert np.array_equal(drafted[0], logits[4]) and np.array_equal(drafted[2], logits[5])
    text.accept([0, 2])
    assert text.ids == IDS[:6]
    assert np.array_equal(text.extend([IDS[6]]), logits[6])
    with pytest.raises(tandem.UsageError, match="parent"):
        text.draft([1, 2], [-1])


def test_two_models_share_a_machine(told):
    machine = tandem.Machine("host")
    with tandem.Model.load(MODEL, machine=machine, plan="host-only", act="f32", cache_type="f32") as first:
        with tandem.Model.load(MODEL, machine=machine, plan="host-only", act="f32", cache_type="f32") as second:
            assert first.generate("Once upon a time", predict=24).ids == told["ids"]
            assert second.generate("Once upon a time", predict=24).ids == told["ids"]


def test_activations_are_chosen_by_name():
    for act, chosen in [("auto", "f32"), ("exact", "f32"), ("i8", "i8")]:
        with tandem.Model.load(MODEL, device="host", act=act) as model:
            assert model.info["act"] == chosen, "its weights are F16"
    with pytest.raises(tandem.UsageError, match="act"):
        tandem.Model.load(MODEL, device="host", act="exactly")


def test_devices_and_the_model_are_reported(model):
    assert "host" in [device["id"] for device in tandem.devices()]
    assert model.info["device"] == "host" and model.info["architecture"] == "llama"
    assert model.context == model.info["context"] and model.vocabulary == model.info["vocabulary"]
    assert tandem.__version__ == subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout.split()[1]
    for name in tandem.__all__:
        assert getattr(tandem, name).__doc__, name


def test_a_plan_has_the_steps_of_the_program(model):
    plan = model.plan(prompt=40)
    assert isinstance(plan, tandem.Plan)
    assert [(phase.name, phase.tokens, phase.position) for phase in plan.phases] == [("prefill", 40, 0), ("decode", 1, 40)]
    said = program("plan", "-m", MODEL, "--prompt", "40", *HOST_FLAGS)
    for mine, theirs in zip(plan.phases, said["phases"]):
        assert isinstance(mine, tandem.Phase) and isinstance(mine.steps[0], tandem.Step)
        assert [(step.device, step.waits) for step in mine.steps] == [(s["device"], s["waits"]) for s in theirs["steps"]]
        assert mine.predicted_ms > 0 and mine.steps[-1].end_ms <= mine.predicted_ms + 1e-6


def test_a_trace_has_a_column_for_each_property(model, tmp_path):
    with model.trace() as trace:
        model.generate("Once", predict=4)
    assert isinstance(trace, tandem.Trace)
    assert set(trace.kind) >= {"matmul", "attention"} and "host" in trace.lane
    assert len(trace.lane) == len(trace.name) == len(trace.begin) == len(trace.flops) == len(trace.bytes)
    assert (trace.end >= trace.begin).all() and not trace.modelled.any()
    copied = pickle.loads(pickle.dumps(trace))
    assert (copied.begin == trace.begin).all() and copied._repr_svg_() == trace._repr_svg_()
    for use in (copied.__enter__, copied.__exit__, lambda: pickle.dumps(tandem.Trace(model._model))):
        with pytest.raises(tandem.UsageError):
            use()
    trace.save(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    picture = trace._repr_svg_()
    assert picture.startswith("<svg") and " ms<" in picture and picture.count("<rect") > 5
    trace.save(tmp_path / "trace.svg")
    assert (tmp_path / "trace.svg").read_text() == picture
    for path in ("/dev/full", tmp_path / "no" / "trace.json"):
        with pytest.raises(tandem.FileError, match="cannot write"):
            trace.save(path)
    running = model.trace()
    for early in (lambda: running.lane, lambda: running._repr_svg_(), lambda: running.save(tmp_path / "early.json")):
        with pytest.raises(tandem.UsageError, match="has not ended"):
            early()
    assert not hasattr(running, "no_such_column")
    with pytest.raises(tandem.UsageError, match="recorded"):
        with model.trace(), model.trace():
            pass
    with model.trace():
        pass


def test_a_trace_of_any_length_has_a_picture_of_bounded_size(model):
    with model.trace() as trace:
        model.generate("Once", predict=2)
    many = 200_000
    trace.begin = np.arange(many) * 1e-6
    trace.end = trace.begin + 0.5e-6
    trace.lane, trace.name = np.full(many, "host"), np.full(many, "a < b")
    trace.kind = np.where(np.arange(many) % 2, "matmul", "wait")
    picture = trace._repr_svg_()
    assert len(picture) < 500_000 and "a &lt; b" in picture
    trace.end[7] += 0.1
    assert max(float(w) for w in re.findall(r'width="([0-9.]+)" height="16"', trace._repr_svg_())) > 400


def test_the_npu_multiplies_and_counts_like_the_program():
    random = np.random.default_rng(2)
    a, b = random.normal(size=(5, 33)).astype(np.float16), random.normal(size=(33, 17)).astype(np.float16)
    for dataflow in ("ws", "os", "is"):
        product = tandem.npu.gemm(a, b, rows=8, cols=8, dataflow=dataflow)
        assert isinstance(product, tandem.npu.Product)
        # 33 products in float32: a rounding of 2**-24 each, of sums below 33 * 16.
        assert np.abs(product.result - a.astype(float) @ b.astype(float)).max() < 33 * 2**-24 * 33 * 16
        said = program("npu", "gemm", "--rows", "8", "--cols", "8", "--dataflow", dataflow, "-M", "5", "-K", "33", "-N", "17")
        assert (product.cycles, product.folds) == (said["cycles"], said["folds"])
        assert product.utilization == pytest.approx(said["utilization"])
    with pytest.raises(tandem.UsageError):
        tandem.npu.gemm(a, a)
    with pytest.raises(tandem.UsageError, match="dataflow"):
        tandem.npu.gemm(a, b, dataflow="xs")


def test_text_and_ids_are_each_other(model):
    text = "Lily saw a caf\u00e9\n"
    assert model.detokenize(model.tokenize(text, start=False)) == text
    assert "<s>" in model.detokenize(model.tokenize(text), special=True)


@pytest.mark.parametrize("what, error", [
    (lambda: tandem.Model.load("/nowhere/x.gguf"), tandem.FileError),
    (lambda: tandem.Model.load(__file__), tandem.FileError),
    (lambda: tandem.Model.load(MODEL, device="tpu:0"), tandem.DeviceError),
    (lambda: tandem.Model.load(MODEL, plan="no-such-plan"), tandem.UsageError),
    (lambda: tandem.Model.load(MODEL, context=-1), tandem.UsageError),
])
def test_a_load_that_fails_says_what_on_what_and_what_to_do(what, error):
    with pytest.raises(error) as caught:
        what()
    assert isinstance(caught.value, tandem.Error)
    assert caught.value.what and caught.value.on and caught.value.what in str(caught.value)


def test_wrong_values_are_refused_and_nothing_aborts(model):
    wrong_ids = [[], [-1], [10**6], [2**40], [1.5], ["a"], [[1]], None, object(), [None], b"", [float("nan")]]
    for ids in wrong_ids:
        for call in (model.eval, model.perplexity, model.detokenize, model.sequence().extend, model.generate):
            is_list_of_prompts = call == model.generate and ids in (["a"], [[1]])
            if ids == [] and call == model.detokenize or is_list_of_prompts or ids == b"":
                continue
            with pytest.raises((tandem.Error, TypeError, ValueError)):
                call(ids)
    with pytest.raises(tandem.ContextError):
        model.eval([5] * (model.context + 1))
    for options in ({"temperature": float("nan")}, {"top_p": 2}, {"top_k": -1}, {"predict": "x"}, {"seed": -1},
                    {"stop": 3}, {"json_schema": "{"}, {"sampler": 3}, {"no_such": 1}, {"predict": 2**80}):
        with pytest.raises((tandem.Error, TypeError, ValueError)):
            model.generate("Once", **options)
    assert len(model.generate("Once", predict=3).ids) == 3


def test_a_closed_model_and_a_forked_process_are_named(model):
    other = tandem.Model.load(MODEL, **ON_HOST)
    text = other.sequence()
    other.close()
    other.close()
    for call in (lambda: other.generate("x"), lambda: other.eval([1]), lambda: text.extend([1]), lambda: other.info,
                 lambda: other.plan(), other.sequence):
        with pytest.raises(tandem.UsageError, match="closed"):
            call()
    stream = model.stream("Once", predict=50)
    next(stream)
    child = os.fork()
    if child == 0:
        for call in (lambda: model.generate("x"), lambda: next(stream)):
            try:
                call()
            except tandem.UsageError as error:
                if "fork" not in str(error):
                    os._exit(2)
                continue
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert len(list(stream)) == 49


FORKED = """
import os, sys
import tandem
model = tandem.Model.load(sys.argv[1], device="host", plan="host-only")
text = model.sequence()
stream = model.stream("Once", predict=9)
child = os.fork()
if child == 0:
    model.close()
    with model:
        pass
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert len(list(stream)) == 9
"""


def test_a_forked_process_ends_as_any_other(tmp_path):
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    subprocess.run([sys.executable, str(script), MODEL], check=True, timeout=120)


def test_a_call_out_of_a_sampler_is_refused_and_never_waits(model):
    outer = model.stream("Once", predict=20)
    told = []

    def call_of(work):
        def sampler(logits):
            with pytest.raises(tandem.UsageError, match="callback"):
                work()
            told.append(int(np.argmax(logits)))
            return told[-1]
        return sampler

    for work in (lambda: model.generate("x", predict=1), lambda: model.stream("x"), lambda: next(outer),
                 lambda: model.eval([1])):
        assert len(model.generate("Once", predict=2, sampler=call_of(work)).ids) == 2
    assert len(told) == 8
    assert len(list(outer)) == 20


def test_a_stream_may_be_dropped_in_a_sampler(model):
    dropped = [model.stream("Once", predict=10**6)]

    def sampler(logits):
        dropped.clear()
        return int(np.argmax(logits))

    assert len(model.generate("Once", predict=3, sampler=sampler).ids) == 3


def test_what_would_be_ignored_is_refused(model):
    text = model.sequence()
    text.extend([1, 5])
    for options, words in (({"json_schema": ""}, "schema is empty"), ({"stop": ""}, "stop text is empty"),
                           ({"stop": ["a", ""]}, "stop text is empty")):
        with pytest.raises(tandem.UsageError, match=words):
            model.generate("Once", **options)
    for parents in ([-1, 0.7], [[-1, 0]], [-2, 0], [True, False]):
        with pytest.raises(tandem.UsageError, match="parent"):
            text.draft([5, 6], parents)
    with tandem.Model.load(MODEL, **ON_HOST) as other:
        with pytest.raises(tandem.UsageError, match="another model"):
            other.generate([5], sequence=text, predict=2)
    assert text.ids == [1, 5]


def test_a_closed_model_says_so_before_all_else():
    small = tandem.Model.load(MODEL, context=64, **ON_HOST)
    with pytest.raises(tandem.ContextError):
        small.plan()
    small.close()
    with pytest.raises(tandem.UsageError, match="closed"):
        small.plan()


def test_more_ids_than_the_context_holds_are_refused_before_memory_is_taken(model):
    too_many = np.full(2_000_000, 5)  # their logits would take 4 GB
    for call in (model.eval, model.perplexity, model.generate):
        with pytest.raises(tandem.ContextError):
            call(too_many)
    many = model.tokenize(" dog", start=False) * 9000
    assert len(model.detokenize(many)) >= len(many), "a text of any length has ids"


def test_a_text_with_half_a_character_is_named(model):
    half = "a\udcff"
    for call in (lambda: model.tokenize(half), lambda: model.generate(half), lambda: model.generate("a", stop=half),
                 lambda: model.generate("a", stop=["b", half]),
                 lambda: model.generate("a", grammar=f'root ::= "{half}"'),
                 lambda: model.generate("a", json_schema='"' + half + '"'), lambda: model.embed(half),
                 lambda: model.perplexity(half), lambda: model.generate(["a", half])):
        with pytest.raises(tandem.UsageError, match="surrogate"):
            call()


def test_what_is_computed_of_logits_is_a_usual_array_or_number(model):
    logits = model.eval(IDS)
    assert type(logits[0]) is tandem.Logits and type(logits[0, 0]) is np.float32
    for number in (logits.max(), logits[0].sum(), np.mean(logits), logits[0] @ logits[0]):
        assert isinstance(number, np.floating), type(number)
    for array in (logits - logits.max(), np.exp(logits), logits.max(axis=1)):
        assert type(array) is np.ndarray, type(array)
    assert (logits + 1).flags.writeable


def test_a_tree_of_drafts_that_is_none_is_a_wrong_call(model):
    text = model.sequence()
    text.extend(IDS[:4])
    for parents in ([1, 0], [-1, 1], [-1, 7]):
        with pytest.raises(tandem.UsageError, match="come before"):
            text.draft([5, 6], parents)
    with pytest.raises(tandem.UsageError, match="no tree"):
        text.accept([0])
    text.draft([5, 6], [-1, -1])
    with pytest.raises(tandem.UsageError, match="leaves its tree"):
        text.accept([0, 1])
    assert text.ids == IDS[:4]


def test_names_of_files_need_not_be_utf8(model, tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff\xfe"
    os.mkdir(folder)
    path = folder + b"/model.gguf"
    os.symlink(os.path.abspath(MODEL), path)
    text = model.sequence()
    text.extend(IDS)
    for name in (bytes, os.fsdecode, lambda each: pathlib.Path(os.fsdecode(each))):
        with tandem.Model.load(name(path), **ON_HOST) as other:
            assert other.eval(IDS[:1]).shape[0] == 1
            assert other.info["path"].endswith("model.gguf")
        text.save(name(folder + b"/text.state"))
        assert model.load_sequence(name(folder + b"/text.state")).ids == IDS
        with pytest.raises(tandem.FileError, match=r"\\xff") as caught:
            tandem.Model.load(name(folder + b"/none.gguf"))
        str(caught.value).encode()
    with model.trace() as trace:
        model.eval(IDS)
    trace.save(folder + b"/trace.svg")
    with open(folder + b"/trace.svg") as written:
        assert written.read() == trace._repr_svg_()
    for call in (tandem.Model.load, model.load_sequence, text.save, trace.save):
        with pytest.raises(tandem.UsageError, match="null character"):
            call(MODEL + "\0.gguf")


def test_a_trace_that_cannot_be_written_leaves_the_file_before(model, tmp_path):
    with model.trace() as trace:
        model.eval(IDS)
    (tmp_path / "trace.json").write_text("before")
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
    try:
        with pytest.raises(tandem.FileError, match="cannot write"):
            trace.save(tmp_path / "trace.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert (tmp_path / "trace.json").read_text() == "before"


def test_a_model_that_is_closed_while_it_is_traced_hides_no_exception():
    with pytest.raises(KeyError, match="mine"):
        with tandem.Model.load(MODEL, **ON_HOST) as other, other.trace():
            other.close()
            raise KeyError("mine")


def test_a_machine_has_devices_of_its_own_and_is_closed():
    with tandem.Machine("host") as machine:
        for options, name in (({"device": "host"}, "device"), ({"threads": 1}, "threads"),
                              ({"expert_copies": True}, "expert_copies")):
            with pytest.raises(tandem.UsageError, match="devices of its own") as caught:
                tandem.Model.load(MODEL, machine=machine, plan="host-only", **options)
            assert caught.value.on == name
        model = tandem.Model.load(MODEL, machine=machine, plan="host-only")
    assert model.eval(IDS).shape[0] == len(IDS), "the devices are the model's until it is closed"
    model.close()
    machine.close()
    with pytest.raises(tandem.UsageError, match="machine is closed"):
        tandem.Model.load(MODEL, machine=machine)


def test_drafts_change_no_id(tmp_path):
    history = tmp_path / "history"
    with tandem.Model.load(MODEL, **ON_HOST) as model:
        plain = model.generate("Once upon a time", predict=40, ignore_end=True, spec="none")
        assert plain.timings["draft_n"] == 0
        for spec in ("auto", "sdnpu", "pld", "sam"):
            drafted = model.generate("Once upon a time", predict=40, ignore_end=True, spec=spec, draft_max=8,
                                     predictions=[plain.text, plain.ids])
            assert drafted.ids == plain.ids, spec
            if spec == "sdnpu":
                assert drafted.timings["draft_n_accepted"] > 0
        for wrong in ({"spec": "fast"}, {"spec": ""}, {"draft_max": -1}, {"draft_max": 64}, {"predictions": [[10**6]]}):
            with pytest.raises(tandem.UsageError):
                model.generate("Once", predict=2, **wrong)
    with tandem.Model.load(MODEL, draft_model=MODEL, history=history, chunk=16, **ON_HOST) as model:
        for _ in range(2):
            drafted = model.generate("Once upon a time", predict=40, ignore_end=True, spec="sdnpu")
            assert drafted.ids == plain.ids
        assert drafted.timings["draft_n_accepted"] > 20, "the text was written before"
    assert history.stat().st_size > 0
    with pytest.raises(tandem.FileError):
        tandem.Model.load(MODEL, draft_model=tmp_path / "none.gguf", **ON_HOST)
    with pytest.raises(tandem.FileError):
        tandem.Model.load(MODEL, history=MODEL, **ON_HOST)
    with pytest.raises(tandem.UsageError):
        tandem.Model.load(MODEL, chunk=-1, **ON_HOST)
    with tandem.Model.load(MODEL, device="opencl:0,npu:0", plan="tensor", split=[0.25]) as model:
        assert len(model.generate("Once", predict=2, ignore_end=True).ids) == 2


def test_finished_texts_leave_room_for_sequences():
    with tandem.Model.load(MODEL, context=64, parallel=1, **ON_HOST) as model:
        texts = [model.sequence(), model.sequence()]
        model.generate("Once upon a time", predict=-1, ignore_end=True)
        first = texts[0].extend(IDS)
        model.generate("The sea", predict=-1, ignore_end=True)
        assert model.eval(IDS).shape[0] == len(IDS)
        model.generate("The dog", predict=-1, ignore_end=True)
        assert model.perplexity(IDS) > 1
        model.generate("A cat", predict=-1, ignore_end=True)
        assert (texts[1].extend(IDS) == first).all()


def test_warnings_about_drafts_come_once(tmp_path, capfd):
    where = {"device": "opencl:0,npu:0", "act": "f32", "history": tmp_path / "none" / "history"}
    with tandem.Model.load(MODEL, **where) as model:
        assert model.info["bits_depend_on_passes"], "an NPU rounds activations"
        for spec in ("auto", "none"):
            model.generate("Once", predict=2, spec=spec)
        assert "may change" not in capfd.readouterr().err
        for _ in range(3):
            model.generate("Once", predict=2, spec="pld")
    with tandem.Model.load(MODEL, **where) as model:
        for _ in range(3):
            model.generate("Once", predict=2, spec="pld")
    said = capfd.readouterr().err
    assert said.count("drafts may change the text") == 2, said
    assert said.count("not kept in the history") == 1, said


@pytest.mark.parametrize("split", [[float("nan")], [float("inf")], [-0.5], [2], [0.5, 0.6], [0.25, float("nan")]])
def test_shares_that_are_none_are_refused_at_the_load(split):
    with pytest.raises(tandem.UsageError, match="share"):
        tandem.Model.load(MODEL, device="opencl:0,npu:0", plan="tensor", split=split)


def test_shares_of_minus_one_are_measured():
    with tandem.Model.load(MODEL, device="opencl:0,npu:0", plan="tensor", split=[-1]) as model:
        assert len(model.generate("Once", predict=2, ignore_end=True).ids) == 2


def test_the_host_runs_what_an_npu_does_not():
    with tandem.Model.load(MODEL, device="npu:0") as model:
        assert model.info["device"] == "npu:0,host"
        assert len(model.generate("Once upon a time, there was", predict=3, ignore_end=True).ids) == 3
    with pytest.raises(tandem.Error, match="needs"), tandem.Model.load(MODEL, device="npu:0", plan="gpu-only") as model:
        model.generate("Once", predict=2)


def test_budgets_for_experts_change_memory_and_no_id(tmp_path):
    shape = {"schema": 1, "name": "toy", "architecture": "qwen3moe", "layers": 2, "hidden": 64, "feed_forward": 96,
             "heads": 2, "vocabulary": 300, "context_length": 128, "experts": 8, "experts_used": 2,
             "expert_feed_forward": 64}
    (tmp_path / "shape.json").write_text(json.dumps(shape))
    path, packed = str(tmp_path / "toy.gguf"), tmp_path / "toy.packed"
    made = ["--shape", tmp_path / "shape.json", "--type", "q8_0", "-o", path, "-q"]
    subprocess.run([PROGRAM, "make-random", *made], check=True)
    subprocess.run([PROGRAM, "pack", "-m", path, "-o", packed, "-q"], check=True)

    def written(**options):
        with tandem.Model.load(path, **{**ON_HOST, **options}) as model:
            store = model.info["expert_store"] or {}
            return model.generate([7, 8, 9], predict=8, ignore_end=True).ids, store.get("slots_per_layer")

    alone, slots = written()
    assert slots is None
    assert written(expert_budget="25%") == (alone, 2)
    assert written(host_budget="50%", packed=packed) == (alone, 4)
    assert written(expert_copies=True, expert_budget="25%", expert_policy="lru") == (alone, 2)
    for wrong in ({"expert_budget": "0%"}, {"expert_budget": "2"}, {"host_budget": "-1"}, {"expert_policy": "lru"},
                  {"expert_policy": "no-such", "expert_copies": True}):
        with pytest.raises(tandem.UsageError):
            written(**wrong)
    with pytest.raises(tandem.FileError):
        written(packed=tmp_path / "none.packed")
    with pytest.raises(tandem.Error, match="expert"):
        tandem.Model.load(MODEL, expert_budget="25%", **ON_HOST)


def test_a_product_that_is_too_large_is_refused_before_anything_is_copied():
    large = np.broadcast_to(np.float32(1), (2**20, 2**20))
    with pytest.raises(tandem.UsageError, match="too large"):
        tandem.npu.gemm(large, large)
    with pytest.raises(tandem.UsageError, match="too large"):
        tandem.npu.gemm(np.ones((2**17, 1), np.float16), np.ones((1, 2**17), np.float16), rows=4096, cols=4096)
    for wrong in (np.ones((2, 2), complex), np.array([["a", "b"]] * 2), np.ones((2, 2), object)):
        with pytest.raises(tandem.UsageError, match="real numbers"):
            tandem.npu.gemm(wrong, np.ones((2, 2)))


def test_the_module_has_no_name_that_the_package_does_not_use():
    assert {name for name in vars(_tandem) if not name.startswith("_")} == {
        "Machine", "Model", "NpuProduct", "Sequence", "Text", "TextAsked", "Values", "devices", "npu_cycles",
        "npu_product", "sync_lab", "version", "write_file"}
