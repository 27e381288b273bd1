"""Made-up calls of the package: each ends in an exception of Python's or in a result, and the model goes on.

TANDEM_FUZZ_CALLS says how many calls; TANDEM_FUZZ_ROUNDS how often a model is loaded, used and closed.
"""
import os
import random
import resource

import numpy as np
from conftest import MODEL, ON_HOST

import tandem

CALLS = int(os.environ.get("TANDEM_FUZZ_CALLS", "400"))
ROUNDS = int(os.environ.get("TANDEM_FUZZ_ROUNDS", "60"))
ODD = [None, True, -1, 0, 1, 5, 2**31 - 1, 2**31, 2**64, -(2**80), 0.5, float("nan"), float("inf"), "", "x", "\udcff",
       "\0", b"\xff", [], [1], [[1]], [None], ["a", 3], {}, {"a": 1}, (), object(), int, np.zeros(0, np.int32),
       np.array([[1]]), np.array([1.5]), np.array([7], np.uint64), np.array(["x"]), np.int8(-1), range(3), lambda *_: 0,
       "x" * 3000, [5] * 9000, {"role": "user"}, [{"role": "user", "content": None}]]
OPTIONS = ["predict", "temperature", "top_k", "top_p", "min_p", "repeat_penalty", "seed", "stop", "json_schema", "grammar",
           "json_object", "tools", "sampler", "sequence", "logprobs", "ignore_end", "no_such"]


def made_up_call(model, sequences, choose):
    """One call with arguments that may be anything."""
    def odd():
        return choose(ODD)

    text = choose(sequences)
    calls = [
        lambda: model.generate(odd(), **{"predict": 2, choose(OPTIONS): odd()}), lambda: model.eval(odd()),
        lambda: model.embed(odd(), pooling=choose(["", "mean", odd()])), lambda: model.perplexity(odd()),
        lambda: model.tokenize(odd()), lambda: model.detokenize(odd()), lambda: model.plan(odd()),
        lambda: model.load_sequence(odd()), lambda: setattr(model, "planner", odd()), lambda: text.extend(odd()),
        lambda: text.fork(odd()), lambda: text.rewind(odd()), lambda: text.draft(odd(), odd()), lambda: text.accept(odd()),
        lambda: text.generate(odd(), predict=2), lambda: text.save(odd()),
        lambda: tandem.npu.gemm(odd(), odd(), rows=odd()), lambda: tandem.Machine(odd(), odd()),
        lambda: tandem.Model.load(odd()), lambda: tandem.Model.load(MODEL, **{choose(["plan", "act", "context"]): odd()}),
        lambda: next(iter(model.stream(odd(), predict=odd()))), lambda: model.chat(odd()).say(odd()),
        lambda: tandem.sync_lab("host", policies=[odd()], work_seconds=[odd()], quick=True),
    ]
    return choose(calls)()


def test_made_up_calls_end_and_the_model_goes_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = random.Random(int(os.environ.get("TANDEM_FUZZ_SEED", "11")))
    refused = done = 0
    with tandem.Model.load(MODEL, **ON_HOST) as model:
        expected = model.generate("The dog", predict=6).ids
        closed = tandem.Model.load(MODEL, **ON_HOST)
        lost = closed.sequence()
        closed.close()
        sequences = [model.sequence(), model.sequence(), lost]
        for _ in range(CALLS):
            try:
                made_up_call(source.choice([model, model, model, closed]), sequences, source.choice)
                done += 1
            except Exception:  # of any kind, but no end of the process
                refused += 1
        model.planner = None
        assert model.generate("The dog", predict=6).ids == expected
    print(f"{CALLS} calls: {refused} refused, {done} done")
    assert refused > CALLS // 4 and done > 0


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def test_rounds_of_load_generate_and_close_leave_memory_flat():
    sizes = []
    for _ in range(ROUNDS):
        with tandem.Model.load(MODEL, context=256, **ON_HOST) as model:
            model.generate("Once", predict=4)
            model.embed("Once")
            model.eval([5, 7])
        sizes.append(resident_kib())
    # The first rounds fill caches of the allocator's.
    first, last = np.median(sizes[ROUNDS // 4: ROUNDS // 2]), np.median(sizes[-ROUNDS // 4:])
    print(f"{ROUNDS} rounds: {first} KiB, then {last} KiB")
    assert last < 1.03 * first, sizes[:: max(1, ROUNDS // 20)]
