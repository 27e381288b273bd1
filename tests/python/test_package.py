"""What the package says of itself: the waiting laboratory, shared memory, wrong interpreters."""
import subprocess
import sys

import numpy as np
import pytest


import tandem

IDS = [1, 403, 407, 261]


def test_the_laboratory_measures_each_way_of_waiting():
    lab = tandem.sync_lab("host", policies=["blocking", "spin"], work_seconds=[0, 1e-5], quick=True)
    assert isinstance(lab, tandem.SyncLab) and all(isinstance(row, tandem.SyncRow) for row in lab.rows)
    assert {row.policy for row in lab.rows} >= {"blocking", "spin"} and {row.device for row in lab.rows} == {"host"}
    measured = [row for row in lab.rows if row.status == "measured"]
    assert measured and all(0 < row.round_trip["p50_us"] <= row.round_trip["max_us"] for row in measured)
    assert lab.report["clock"] == "measured"
    for wrong in ({"device": "tpu:0"}, {"policies": ["sleeping"]}, {"work_seconds": [float("nan")]}, {"rounds": -1}):
        with pytest.raises(tandem.Error):
            tandem.sync_lab(**{"device": "host", **wrong})


def test_other_libraries_see_the_memory_of_logits(model):
    logits = model.eval(IDS)
    assert isinstance(logits, tandem.Logits) and logits.__dlpack_device__() == (1, 0)
    other = np.from_dlpack(logits)
    assert other.__array_interface__["data"][0] == logits.__array_interface__["data"][0]
    assert np.array_equal(other, logits)
    row = np.from_dlpack(model.sequence().extend(IDS))
    assert np.array_equal(row, logits[-1])
    del logits
    model.eval([5] * 40)
    assert np.isfinite(other).all()


REFUSED = """
import sys, {before}
try:
    import tandem
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize("before, words", [
    ("sysconfig; sysconfig.get_config_var = lambda name: 1", "free-threaded"),
    ("importlib.machinery as m; m.EXTENSION_SUFFIXES[:] = ['.cpython-399-sparc.so']", "another interpreter or processor"),
    ("importlib.util as u; find = u.find_spec; u.find_spec = lambda name, *more: None if name == 'numpy' else find(name, *more)",
     "needs numpy, and"),
])
def test_an_interpreter_that_cannot_load_the_library_is_named(before, words):
    said = subprocess.run([sys.executable, "-c", REFUSED.format(before=before)], capture_output=True, text=True)
    assert words in said.stdout, said.stdout + said.stderr
    assert said.stdout.count("\n") == 1


def test_the_help_reads_like_a_page():
    for each in [tandem.Model, tandem.Sequence, tandem.Stream, tandem.Chat, tandem.Machine]:
        for name, member in vars(each).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
                assert getattr(each, name).__doc__, f"{each.__name__}.{name}"
    assert "float32 [tokens, vocabulary]" in tandem.Model.eval.__doc__
