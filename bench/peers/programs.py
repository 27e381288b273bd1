"""The two programs that compare.py compares: how to call each, and how to find the figures in its output."""

import glob
import json
import os
import re
import subprocess
from statistics import median

import figures
import processes
from processes import Failed

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(os.path.dirname(_HERE))
_SHARE_REPETITIONS = 5  # limits are measured between them; a single reading may meet a disturbance
_LLAMA_CPP = os.path.join(_HERE, "llama_cpp.sh")


def _parsed(text, program):
    try:
        return json.loads(text)
    except ValueError as error:
        raise Failed(f"{program} printed no JSON: {error}") from error


def rate_in(output, test, program):
    """The tokens/s of `test` in the output of `llama-bench -o json` or `tandem bench -o json`."""
    for row in _parsed(output, program):
        # A row without a depth may lack the key.
        if (row["n_prompt"], row["n_gen"], row.get("n_depth", 0)) == (test.n_prompt, test.n_gen, test.depth):
            return float(row["avg_ts"])
    raise Failed(f"{program} printed no row for {test.name}")


def shares_in(output, target):
    """Shares from `tandem bench --roofline -o json`: decode's share of the DRAM read rate, and prefill's of the FMA
    peak or of the peak of 8-bit integers. A whole pass has no target for the latter."""
    shares = []
    for row in _parsed(output, "tandem"):
        if row["n_gen"] > 0:
            name, keys, unit = f"tg{row['n_gen']} of DRAM read", ("gbps", "dram_read_gbps"), "GB/s"
        elif "int8_peak_gops" in row:
            name, keys, unit = f"pp{row['n_prompt']} of int8 peak", ("gflops", "int8_peak_gops"), "GOP/s"
        else:
            name, keys, unit = f"pp{row['n_prompt']} of FMA peak", ("gflops", "fma_peak_gflops"), "GFLOP/s"
        value, limit = (row.get(key) for key in keys)
        if not value or not limit:
            raise Failed(f"tandem bench --roofline printed no {keys[0]} or no {keys[1]} for {name}")
        wanted = None if unit == "GOP/s" else target
        share = figures.Share(name, value, limit, unit, wanted)
        # A device that computes on none of the measured cores has no share; its JSON has null.
        elsewhere = any(key in row and row[key] is None for key in ("dram_share", "fma_share"))
        share.verdict = figures.judge(share.quotient, wanted, figures.OTHER_LIMIT if elsewhere else "")
        shares.append(share)
    return shares


def positions_in(messages):
    """The number of positions of the cache that a run filled, from the last lines of `tandem run`."""
    found = re.search(r"^prompt (\d+) tokens?,.*generated (\d+) tokens?,", messages, re.MULTILINE)
    if not found:
        raise Failed("tandem run did not say how many tokens it had")
    return int(found[1]) + int(found[2])


def handshake_in(output):
    """Microseconds of a flag handshake from `tandem bench-sync --json`: the round trip of a cache line between two
    threads (there and back, not one way), as the mean of the middle half. None: it was not measured.

    The clock ticks in steps of 10 ns there, so a median would jump over the bound. Reading the clock is included."""
    limit = _parsed(output, "tandem bench-sync")["devices"][0]["limit"]
    return limit["round_trip"]["middle_us"] if limit else None


def _bench_arguments(test):
    depth = ["-d", str(test.depth)] if test.depth else []
    return ["-p", str(test.n_prompt), "-n", str(test.n_gen), *depth, "-r", "1", "-o", "json"]


def _peer_name(program, folder):
    version = re.search(r"llama_cpp-([\d.]+)-build", folder)
    return program + (f" (of llama-cpp-python {version[1]})" if version else "")


class Peer:
    """llama.cpp as llama_cpp.sh builds it."""

    def __init__(self, cores, timeout):
        folder = _ask_llama_cpp("build").strip()
        self._folder, self._cores, self._timeout = folder, cores, timeout
        self.name = _peer_name("llama.cpp", folder)

    def _run(self, program, model, *arguments):
        command = [os.path.join(self._folder, program), "-m", model, "-t", str(self._cores), *arguments]
        return processes.run(command, self._timeout)

    def rate(self, model, test):
        return rate_in(self._run("llama-bench", model, *_bench_arguments(test)).output, test, "llama-bench")

    def batched(self, model, *arguments):
        """The output of llama-batched-bench."""
        return self._run("llama-batched-bench", model, *arguments).output

    def complete(self, model, prompt, count, *more):
        return processes.run(self.completion(model, prompt, count, *more), self._timeout)

    def completion(self, model, prompt, count, *more):
        """The command line. Without --no-conversation the program would wait for a user's next line."""
        return [os.path.join(self._folder, "llama-completion"), "-m", model, "-t", str(self._cores), "-p", prompt,
                "-n", str(count), "--temp", "0", "--ignore-eos", "--no-conversation", *more]


class Tandem:
    """The program under test, with a user's defaults, except for named activations."""

    def __init__(self, path, timeout, act=None):
        self.path, self._timeout = path, timeout
        self._act = ["--act", act] if act else []
        self._bench_help = processes.run([path, "bench", "--help"], timeout).output
        self.name = processes.run([path, "--version"], timeout).output.strip()

    def _run(self, *arguments):
        return processes.run([self.path, *arguments], self._timeout)

    def can_bench(self, flag):
        return bool(re.search(rf"(?:^|[\s,]){re.escape(flag)}\b", self._bench_help, re.MULTILINE))

    def rate(self, model, test):
        arguments = [*_bench_arguments(test), *self._act]
        return rate_in(self._run("bench", "-m", model, *arguments).output, test, "tandem bench")

    def complete(self, model, prompt, count, *more):
        return processes.run(self.completion(model, prompt, count, *more), self._timeout)

    def completion(self, model, prompt, count, *more):
        """The command line."""
        return [self.path, "run", "-m", model, "-p", prompt, "-n", str(count), "--temp", "0", "--ignore-eos",
                *self._act, *more]

    def shares(self, model, prefill, decode):
        """The shares of both tests, each without a depth."""
        output = self._run("bench", "-m", model, "-p", str(prefill.n_prompt), "-n", str(decode.n_gen),
                           "-r", str(_SHARE_REPETITIONS), "--roofline", "-o", "json", *self._act).output
        return shares_in(output, figures.SHARE_TARGET)

    def _info(self, model):
        return _parsed(self._run("info", "-m", model, "--json").output, "tandem info")

    def kv_cache_bytes(self, model, positions):
        return figures.kv_cache_bytes(self._info(model)["shapes"], positions)

    def weight_bytes(self, model):
        """Packed weights are as large as in the file, except for rows that pad a panel of 64."""
        return sum(storage["bytes"] for storage in self._info(model)["storage"])

    def handshake_us(self, readings=5):
        """The median of a few readings (0.2 s each), because single ones differ by a fifth. bench-sync must measure a
        step beside it; this is the shortest one."""
        command = ["bench-sync", "--json", "--quick", "--device", "npu:0", "--policies", "blocking", "--sizes", "0"]
        values = [handshake_in(self._run(*command).output) for _ in range(readings)]
        values = [value for value in values if value is not None]
        return median(values) if values else None


def _ask_llama_cpp(*arguments):
    result = subprocess.run([_LLAMA_CPP, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise Failed(f"llama_cpp.sh {arguments[0]} ended with status {result.returncode}")
    return result.stdout


def variants(model):
    """{type: file} of the model itself and of the variants that the peer's quantiser makes."""
    return dict(line.split(" ", 1) for line in _ask_llama_cpp("variants", model).splitlines())


def llama_server():
    """llama-server as llama_cpp.sh builds it, and its name."""
    folder = _ask_llama_cpp("server").strip()
    return os.path.join(folder, "llama-server"), _peer_name("llama-server", folder)


def find_tandem(given):
    """`given`, else the build that `./dev build` linked last, else the newest one. None if there is no build."""
    if given:
        return given
    linked = os.path.join(_ROOT, "build", "tandem")
    built = sorted(glob.glob(os.path.join(_ROOT, "build", "*", "tandem")), key=os.path.getmtime, reverse=True)
    return next((path for path in [linked, *built] if os.access(path, os.X_OK)), None)


def _cache():
    return os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")


def made_models():
    """The folder of model files that are made for measurements."""
    return os.path.join(_cache(), "tandem", "peers", "models")


def default_model():
    """The model that `./dev run` fetches."""
    name = "SmolLM2-135M-Instruct.Q4_1.gguf"
    return os.environ.get("TANDEM_MODEL") or os.path.join(_cache(), "tandem", "models", name)
