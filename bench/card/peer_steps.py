"""llama.cpp for the same card: built beside the first steps, but timed alone."""

import json
import os
import shutil
import tarfile

import machine
from commands import Background, Failed
from tandem_steps import many_rows, speed_rows

WHO = "llama.cpp, CUDA"
PROGRAMS = ("llama-bench", "llama-batched-bench")
OPTIONS = ("-DCMAKE_BUILD_TYPE=Release", "-DGGML_CUDA=ON", "-DGGML_CUDA_FA=OFF", "-DCMAKE_CUDA_ARCHITECTURES=native", "-DGGML_NATIVE=OFF",
           "-DGGML_CUDA_NCCL=OFF", "-DGGML_CCACHE=OFF", "-DLLAMA_OPENSSL=OFF")
GIBIBYTES_OF_A_COMPILER = 2.5


def compilers_at_once(cores, memory_kib):
    return max(1, min(cores, int(memory_kib / 1048576 / GIBIBYTES_OF_A_COMPILER)))


def start_build(run):
    """Unpacks and compiles in the background. If that is impossible, it raises Failed, and
    run.no_peer has the reason."""
    archive = os.path.join(run.folder, "peer", "llama.cpp.tar.gz")
    run.no_peer = ""
    if run.options.peer_programs:
        return
    if run.options.no_peer:
        run.no_peer = "it was not asked for (--no-peer)"
    elif not os.path.exists(archive):
        run.no_peer = "its source was not packed (./dev card --peer)"
    elif not machine.nvcc():
        run.no_peer = "there is no nvcc here"
    elif not shutil.which("cmake"):
        run.no_peer = "there is no cmake here"
    if run.no_peer:
        raise Failed(run.no_peer)
    source = os.path.join(run.scratch, "peer")
    shutil.copytree(os.path.join(run.folder, "peer"), source, dirs_exist_ok=True)
    with tarfile.open(archive) as tar:
        tar.extractall(os.path.join(source, "llama.cpp"))  # safe: ./dev card packed this archive
    with open("/proc/meminfo", encoding="ascii") as file:
        memory_kib = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    jobs = compilers_at_once(len(os.sched_getaffinity(0)), memory_kib)
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    build = run.peer_build
    configure = ["cmake", "-S", source, "-B", build, *generator, *OPTIONS, "-DCMAKE_CUDA_COMPILER=" + machine.nvcc()]
    compile_them = ["cmake", "--build", build, "--parallel", str(jobs), "--target", *PROGRAMS]
    script = "set -e; nice -n 5 " + _shell(configure) + "; nice -n 5 " + _shell(compile_them)
    env = {name: value for name, value in run.base_env.items()}
    run.peer = Background(["/bin/sh", "-c", script], os.path.join(run.out, "peer-build.log"), env)


def _shell(words):
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def program(run, name):
    """The path of a built program; Failed with the reason if there is none."""
    if run.options.peer_programs:
        return os.path.join(run.options.peer_programs, name)
    if run.no_peer:
        raise Failed("llama.cpp: " + run.no_peer)
    if run.peer is None:
        raise Failed("llama.cpp: its build was not started")
    status = run.peer.status()
    if status is None:
        raise Failed("llama.cpp: its build had not ended")
    if status != 0:
        raise Failed(f"llama.cpp: its build failed (status {status}, peer-build.log): {last_error(run)}")
    folder = "llama-bench" if name == "llama-bench" else "batched-bench"
    for path in (os.path.join(run.peer_build, "llama.cpp", "tools", folder, name), os.path.join(run.peer_build, "bin", name)):
        if os.path.exists(path):
            return path
    raise Failed(f"llama.cpp: {name} is not where its build should put it")


def last_error(run):
    try:
        with open(os.path.join(run.out, "peer-build.log"), encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if "error" in line.lower()]
    except OSError:
        return ""
    return lines[-1][:300] if lines else ""


def bench(run):
    sizes = run.sizes
    command = [program(run, "llama-bench"), "-m", run.model, "-ngl", "99", "-fa", "0", "-p", ",".join(map(str, sizes.prompts)), "-n",
               str(sizes.tokens), "-d", f"0,{sizes.depth}", "-r", str(sizes.repetitions), "-o", "json"]
    finished = run.command(command, env=run.base_env)
    if finished.status != 0 or finished.timed_out:
        raise Failed(finished.reason())
    array = json.loads(finished.output)
    run.records.rows += speed_rows(WHO, array, ", ".join(sorted({str(one.get("gpu_info", "")) for one in array})))


def many_texts(run):
    sizes = run.sizes
    context = max(sizes.widths) * (sizes.many_prompt + sizes.many_tokens)
    command = [program(run, "llama-batched-bench"), "-m", run.model, "-ngl", "99", "-fa", "0", "-c", str(context), "-b", "2048", "-ub", "512", "-npp",
               str(sizes.many_prompt), "-ntg", str(sizes.many_tokens), "-npl", ",".join(map(str, sizes.widths)), "--output-format", "jsonl"]
    finished = run.command(command, env=run.base_env)
    if finished.status != 0 or finished.timed_out:
        raise Failed(finished.reason())
    run.records.rows += many_rows(WHO, [json.loads(line) for line in finished.output.splitlines() if line.startswith("{")])


