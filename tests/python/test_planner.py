"""Planners in Python: their plans run, keep the bits, and are refused where they break a rule."""
import numpy as np
import pytest
from conftest import MODEL

import tandem

IDS = [1, 403, 407, 261, 378, 500, 17, 9, 44]


@pytest.fixture(scope="module")
def both():
    with tandem.Model.load(MODEL, device="opencl:0,npu:0", plan="gpu-only", act="f16", parallel=1) as model:
        yield model


@pytest.fixture(autouse=True)
def no_planner(both):
    yield
    both.planner = None


def fastest(op):
    return min(op.seconds, key=op.seconds.get)


def halves(work):
    return [{each: 1 / len(work.cutters) for each in work.cutters} if op.rows else fastest(op) for op in work.operators]


def test_a_planner_decides_what_runs_where_and_bits_stay(both):
    logits, text = both.eval(IDS), both.generate("The dog", predict=12)
    seen = []

    def planner(work):
        assert isinstance(work, tandem.Work) and all(isinstance(op, tandem.Operator) for op in work.operators)
        seen.append(work)
        return halves(work)

    both.planner = planner
    assert both.planner is planner
    assert np.array_equal(both.eval(IDS), logits)
    assert both.generate("The dog", predict=12).ids == text.ids
    with both.trace() as trace:
        both.eval(IDS)
    kinds = len(seen)
    held = [both.eval(IDS), both.eval(IDS)]  # a held array's buffer is another pass's: the plan is not made anew
    assert len(seen) == kinds and all(np.array_equal(each, logits) for each in held)
    ran = {lane for lane, kind in zip(trace.lane, trace.kind) if kind == "matmul"}
    assert ran == {"opencl:0", "npu:0"}
    assert seen[0].devices == ["opencl:0", "npu:0"] == seen[0].cutters and seen[0].sync_seconds > 0
    assert {op.tokens for work in seen for op in work.operators} >= {1, len(IDS)}
    assert any(op.seconds["npu:0"] == float("inf") for op in seen[0].operators if not op.rows)
    both.planner = None
    with both.trace() as trace:
        both.eval(IDS)
    assert {lane for lane, kind in zip(trace.lane, trace.kind) if kind == "matmul"} == {"opencl:0"}


def test_a_plan_says_who_made_it(both):
    both.planner = halves
    phase = both.plan(prompt=40).phases[0]
    assert phase.plan == "own" and {step.device for step in phase.steps} == {"opencl:0", "npu:0"}
    assert any(step.waits for step in phase.steps)


def change_matmul(place):
    return lambda work: [place if op.rows else fastest(op) for op in work.operators]


@pytest.mark.parametrize("planner, error, words", [
    (lambda work: halves(work)[1:], tandem.Error, "places for"),
    (lambda work: halves(work) + ["npu:0"], tandem.Error, "places for"),
    (change_matmul("tpu:0"), tandem.UsageError, "unknown device"),
    (change_matmul(3), tandem.UsageError, "no place"),
    (change_matmul({"npu:0": 0.4}), tandem.Error, "add up to 1"),
    (change_matmul({"npu:0": 1.5, "opencl:0": -0.5}), tandem.Error, "add up to 1"),
    (change_matmul({"npu:0": float("nan"), "opencl:0": 1}), tandem.Error, "add up to 1"),
    (lambda work: ["npu:0"] * len(work.operators), tandem.Error, "does not run it"),
    (lambda work: [{"opencl:0": 0.5, "npu:0": 0.5}] * len(work.operators), tandem.Error, "npu:0|no matmul"),
    (lambda work: {}["none"], KeyError, "none"),
    (lambda work: None, tandem.UsageError, "no list of places"),
    (lambda work: "npu:0", tandem.UsageError, "no list of places"),
])
def test_a_plan_that_breaks_a_rule_is_refused_by_name_and_the_model_goes_on(both, planner, error, words):
    both.planner = planner
    with pytest.raises(error, match=words):
        both.eval([5] * 11)
    with pytest.raises(error, match=words):
        both.generate("Once", predict=2)
    both.planner = halves
    assert np.isfinite(both.eval([5] * 11)).all()


def test_a_planner_that_calls_the_model_is_refused(both):
    both.planner = lambda work: both.tokenize("x") and both.eval([1])
    with pytest.raises(tandem.UsageError, match="callback"):
        both.eval([5] * 12)
