"""Describes the machine, and makes the environment in which the program finds the card's drivers there.

The program's own libraries are in the packed folder. The folder "spare" has loaders, and libraries that a driver may
need on a machine without a display. Each is used only if the machine has none of that name."""

import glob
import json
import os
import shutil
import subprocess
import time

VULKAN_MANIFESTS = ("etc/vulkan/icd.d", "usr/share/vulkan/icd.d", "usr/local/share/vulkan/icd.d", "usr/local/etc/vulkan/icd.d")
EGL_VENDORS = ("usr/share/glvnd/egl_vendor.d", "etc/glvnd/egl_vendor.d")
OTHER_EGL_VENDORS = ("usr/local/nvidia/share/glvnd/egl_vendor.d",)
OTHER_MANIFESTS = ("usr/local/nvidia/share/vulkan/icd.d", "usr/local/nvidia/vulkan/icd.d")
DRIVER_LIBRARIES = ("usr/local/nvidia/lib64", "usr/local/nvidia/lib", "usr/lib64-nvidia", "usr/lib/wsl/lib")


def names_in_cache():
    """{name: path} of the libraries that the dynamic loader finds by itself."""
    program = shutil.which("ldconfig", path="/sbin:/usr/sbin:" + os.environ.get("PATH", ""))
    found = {}
    if program:
        text = subprocess.run([program, "-p"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False).stdout
        for line in text.splitlines():
            if " => " in line:
                found.setdefault(line.split()[0], line.rsplit(" => ", 1)[1].strip())
    return found


def _files(root, folders, pattern):
    return sorted(path for folder in folders for path in glob.glob(os.path.join(root, folder, pattern)))


def environment(folder, scratch, cache=None, root="/", base=None):
    """The variables of a run. cache: {name: path} of known libraries; root: the machine's files (for tests)."""
    env = dict(os.environ if base is None else base)
    known = dict(names_in_cache() if cache is None else cache)
    drivers = [os.path.join(root, path) for path in DRIVER_LIBRARIES if os.path.isdir(os.path.join(root, path))]
    for path in drivers:
        for file in glob.glob(os.path.join(path, "*.so*")):
            known.setdefault(os.path.basename(file), file)
    spare = os.path.join(scratch, "spare")
    os.makedirs(spare, exist_ok=True)
    for file in sorted(glob.glob(os.path.join(folder, "spare", "*.so*"))):
        link = os.path.join(spare, os.path.basename(file))
        if os.path.basename(file) not in known and not os.path.lexists(link):
            os.symlink(os.path.abspath(file), link)
    paths = [os.path.join(folder, "lib"), spare, env.get("LD_LIBRARY_PATH", ""), *drivers]
    env["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
    env.update(_vulkan(root, scratch, known, env))
    env.update(_opencl(root, scratch, known, env))
    if not _files(root, EGL_VENDORS, "*nvidia*.json") and _files(root, OTHER_EGL_VENDORS, "*.json"):
        env.setdefault("__EGL_VENDOR_LIBRARY_FILENAMES", ":".join(_files(root, OTHER_EGL_VENDORS, "*.json")))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "TANDEM_MODEL", "TANDEM_DEVICE", "TANDEM_LOG"):
        env.pop(name, None)
    return with_cache(env, os.path.join(scratch, "kept"))


def with_cache(env, folder):
    """The same variables, with a folder of its own for everything that the program and the drivers keep."""
    os.makedirs(folder, exist_ok=True)
    return {**env, "HOME": folder, "XDG_CACHE_HOME": os.path.join(folder, "cache"), "CUDA_CACHE_PATH": os.path.join(folder, "cuda"),
            "__GL_SHADER_DISK_CACHE_PATH": folder, "POCL_CACHE_DIR": os.path.join(folder, "pocl")}


def _vulkan(root, scratch, known, env):
    if env.get("VK_DRIVER_FILES") or env.get("VK_ICD_FILENAMES"):
        return {}
    usual = _files(root, VULKAN_MANIFESTS, "*.json")
    if any("nvidia" in os.path.basename(path) for path in usual):
        return {}
    others = _files(root, OTHER_MANIFESTS, "*.json")
    library = known.get("libGLX_nvidia.so.0") or known.get("libEGL_nvidia.so.0")
    if not others and library:
        others = [os.path.join(scratch, "nvidia_icd.json")]
        with open(others[0], "w", encoding="ascii") as file:
            json.dump({"file_format_version": "1.0.0", "ICD": {"library_path": library, "api_version": "1.3.0"}}, file)
    return {"VK_DRIVER_FILES": ":".join(others + usual)} if others else {}


def _opencl(root, scratch, known, env):
    if env.get("OCL_ICD_VENDORS") or _files(root, ("etc/OpenCL/vendors",), "*.icd"):
        return {}
    library = known.get("libnvidia-opencl.so.1")
    if not library:
        return {}
    folder = os.path.join(scratch, "vendors")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "nvidia.icd"), "w", encoding="ascii") as file:
        file.write(library + "\n")
    return {"OCL_ICD_VENDORS": folder}


def programs(packed, scratch):
    """The folder of the program and its helper. If a file lacks its execute permission, because that was lost or the
    disk allows none, the folder is copied to `scratch`."""
    copied = os.path.join(scratch, "bin")
    if all(os.access(os.path.join(packed, name), os.X_OK) for name in os.listdir(packed)):
        return packed
    shutil.copytree(packed, copied)
    for name in os.listdir(copied):
        os.chmod(os.path.join(copied, name), 0o755)
    return copied


def wait_until_quiet(folder, seconds):
    """Waits until no program of the folder runs (a text leaves a helper that compiles). False: one still does."""
    end = time.monotonic() + seconds
    while programs_running(folder):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def programs_running(folder):
    found = []
    for link in glob.glob("/proc/[0-9]*/exe"):
        try:
            path = os.readlink(link)
        except OSError:  # it has ended, or belongs to another user
            continue
        if path.startswith(os.path.abspath(folder) + os.sep):
            found.append(path)
    return found


def nvcc():
    """The path of CUDA's compiler; "" if there is none."""
    return shutil.which("nvcc") or next(iter(sorted(glob.glob("/usr/local/cuda*/bin/nvcc"))), "")
