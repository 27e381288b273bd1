"""The build backend of `pip install .`: scikit-build-core, behind a look at what the build needs of the system.

What is missing is said in one sentence, before the compiler would say it in many.
"""
import os
import shutil
import subprocess
import sys
from typing import Any, List

from scikit_build_core import build as _build
from scikit_build_core.build import build_sdist, get_requires_for_build_sdist  # noqa: F401

# Debian's packages, by the module that pkg-config knows.
MODULES = {"spdlog": "libspdlog-dev", "eigen3": "libeigen3-dev", "nlohmann_json": "nlohmann-json3-dev",
           "libpcre2-8": "libpcre2-dev", "libhwy": "libhwy-dev", "OpenCL": "ocl-icd-opencl-dev", "vulkan": "libvulkan-dev"}
PROGRAMS = {"pkg-config": "pkg-config", "glslangValidator": "glslang-tools", "spirv-val": "spirv-tools"}


def missing() -> List[str]:
    """Debian's packages that the build lacks."""
    compiler = os.environ.get("CXX", "c++").split() or ["c++"]
    packages = [] if shutil.which(compiler[0]) else ["g++"]
    packages += [package for program, package in PROGRAMS.items() if not shutil.which(program)]
    if "pkg-config" not in packages:
        packages += [package for module, package in MODULES.items()
                     if subprocess.run(["pkg-config", "--exists", module], check=False).returncode != 0]
    return packages


def require_all() -> None:
    packages = missing()
    if packages:
        sys.exit(f"tandem: the build needs {', '.join(packages)}; ./dev setup installs what it needs on Debian")


def get_requires_for_build_wheel(config_settings: Any = None) -> List[str]:
    require_all()
    return list(_build.get_requires_for_build_wheel(config_settings))


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Any = None) -> str:
    require_all()
    return str(_build.prepare_metadata_for_build_wheel(metadata_directory, config_settings))


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    require_all()
    return str(_build.build_wheel(wheel_directory, config_settings, metadata_directory))
