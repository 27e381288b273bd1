"""A wheel that cannot be built says in one sentence what is missing."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# scikit-build-core comes from PyPI, so these tests put a module of that name in its place.
CALL = """
import sys, types
build = types.ModuleType("scikit_build_core.build")
build.build_sdist = build.get_requires_for_build_sdist = None
build.get_requires_for_build_wheel = lambda settings: ["ninja"]
build.prepare_metadata_for_build_wheel = lambda folder, settings: "metadata"
build.build_wheel = lambda folder, settings, metadata: "wheel"
sys.modules["scikit_build_core"] = types.ModuleType("scikit_build_core")
sys.modules["scikit_build_core"].build = sys.modules["scikit_build_core.build"] = build
sys.path.insert(0, sys.argv[1])
import wheel_backend
print(getattr(wheel_backend, sys.argv[2])(*sys.argv[3:]))
"""
HOOKS = {"get_requires_for_build_wheel": [], "prepare_metadata_for_build_wheel": ["x"], "build_wheel": ["x"]}


def hook(name, **environment):
    return subprocess.run([sys.executable, "-B", "-c", CALL, ROOT / "python", name, *HOOKS[name]], text=True,
                          capture_output=True, env={**os.environ, **environment})


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("environment, package", [
    ({"CXX": "no-such-compiler"}, "g++"), ({"PKG_CONFIG_LIBDIR": "/nowhere", "PKG_CONFIG_PATH": ""}, "libspdlog-dev"),
    ({"PATH": "/nowhere"}, "glslang-tools")])
def test_what_the_build_lacks_is_named(name, environment, package):
    said = hook(name, **environment)
    assert said.returncode == 1 and said.stdout == ""
    assert said.stderr.startswith("tandem: the build needs ") and package in said.stderr and "./dev setup" in said.stderr
    assert said.stderr.count("\n") == 1, said.stderr


@pytest.mark.skipif(not shutil.which("glslangValidator"), reason="what ./dev setup installs is not here")
@pytest.mark.parametrize("name, answer", [("get_requires_for_build_wheel", "['ninja']"), ("build_wheel", "wheel")])
def test_a_complete_system_is_passed_on(name, answer):
    said = hook(name)
    assert (said.returncode, said.stdout.strip()) == (0, answer), said.stderr
