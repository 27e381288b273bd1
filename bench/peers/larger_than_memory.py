#!/usr/bin/env python3
"""A mixture of experts whose file is twice as large as the memory: `tandem run` and llama.cpp with mapped weights, in turns.

Both run in a memory cgroup (version 1 or 2; root) that holds half of the file, or --limit bytes. The system's page cache
is dropped before each sample. The peer is the wheel xllamacpp, whose interpreter is named by --peer-python (`python3 -m
venv V; V/bin/pip install xllamacpp`); without it Tandem runs alone. Before the timing, Tandem's ids under the limit are
compared with its ids without a limit. The last samples have no limit. Times are measured.
"""

import argparse
import json
import os
import sys
import time
from statistics import median

sys.dont_write_bytecode = True  # leaves no files beside the sources

import figures  # noqa: E402
import processes  # noqa: E402
import programs  # noqa: E402
from processes import Failed  # noqa: E402

_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "larger_than_memory_server.py")
_MIB = 1 << 20


class MemoryGroup:
    """A cgroup with `limit` bytes of memory; None: no group. Its processes may use no swap beyond it."""

    def __init__(self, limit, root="/sys/fs/cgroup"):
        self._limit, self._folder = limit, None
        if limit is None:
            return
        is_first = os.path.isdir(os.path.join(root, "memory"))
        base = os.path.join(root, "memory") if is_first else root
        names = ("memory.limit_in_bytes", "tasks") if is_first else ("memory.max", "cgroup.procs")
        self._bytes_name, self._tasks_name = names
        self._folder = os.path.join(base, f"tandem-larger-{os.getpid()}")

    def __enter__(self):
        if self._folder is None:
            return self
        try:
            os.mkdir(self._folder)
            with open(os.path.join(self._folder, self._bytes_name), "w", encoding="ascii") as file:
                file.write(str(self._limit))
        except OSError as error:
            self.__exit__()
            raise Failed(f"no memory cgroup can be made here: {error.strerror}") from error
        return self

    def __exit__(self, *_):
        if self._folder is None:
            return
        for _ in range(20):  # the last process may still be leaving
            try:
                os.rmdir(self._folder)
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.1)

    def enter(self):
        """In the child, before it becomes the program."""
        if self._folder is not None:
            with open(os.path.join(self._folder, self._tasks_name), "w", encoding="ascii") as file:
                file.write(str(os.getpid()))


def drop_page_cache():
    os.sync()
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")


def tandem_sample(given, limit):
    command = [given.tandem, "run", "-m", given.model, "--packed", given.packed, "-f", given.prompt, "-n",
               str(given.generate), "--temp", "0", "--spec", "none", "--device", given.device, "--json"]
    drop_page_cache()
    with MemoryGroup(limit) as group:
        done = processes.run(command, given.timeout, enter=group.enter)
    return sample_of_tandem(json.loads(done.output), done.seconds, done.peak_bytes)


def sample_of_tandem(answer, seconds, peak):
    timings, store = answer["timings"], answer["expert_store"]
    prompt, text = timings["prompt_ms"] / 1000, timings["predicted_ms"] / 1000
    reads = store["prompts"] if store else {"read_bytes": 0}
    return {"ids": answer["ids"], "first": seconds - text, "whole": seconds, "peak": peak,
            "prompt": timings["prompt_tokens"] / prompt, "text": (len(answer["ids"]) - 1) / text,
            "read_gbps": reads["read_bytes"] / prompt / 1e9 if store else 0.0}


def peer_sample(given, limit):
    with open(given.prompt, encoding="utf-8") as file:
        prompt = file.read()
    asked = {"model": given.model, "threads": len(figures.parse_cores(given.cores)), "prompt": prompt,
             "count": given.generate}
    drop_page_cache()
    with MemoryGroup(limit) as group:
        done = processes.run([given.peer_python, _SERVER], given.timeout, json.dumps(asked), group.enter)
    return sample_of_peer(json.loads(done.output.splitlines()[-1]), done.seconds, done.peak_bytes)


def sample_of_peer(answer, seconds, peak):
    timings = answer["timings"]
    return {"first": seconds - timings["predicted_ms"] / 1000, "whole": seconds, "peak": peak,
            "prompt": timings["prompt_n"] * 1000 / timings["prompt_ms"],
            "text": timings["predicted_n"] * 1000 / timings["predicted_ms"], "read_gbps": 0.0}


def table(rows):
    """Lines of Markdown. rows: [(engine, limit or None, samples)]."""
    lines = ["| engine | memory, MiB | prompt, tokens/s | text, tokens/s | first token after, s | whole, s | peak, MiB |"
             " prompt reads, GB/s |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for engine, limit, samples in rows:
        def of(key, samples=samples):
            return median(sample[key] for sample in samples)
        lines.append(f"| {engine} | {'all' if limit is None else limit // _MIB} | {of('prompt'):.1f} | {of('text'):.2f} | "
                     f"{of('first'):.2f} | {of('whole'):.2f} | {of('peak') / _MIB:.0f} | "
                     f"{of('read_gbps'):.2f} |".replace("| 0.00 |", "| |"))
    return lines


def ratios(ours, theirs):
    """Tandem over the peer, by rounds: a line of words."""
    def of(key, higher_is_better=True):
        each = [a[key] / b[key] if higher_is_better else b[key] / a[key] for a, b in zip(ours, theirs)]
        return f"{median(each):.2f}"
    return (f"Tandem / llama.cpp under the limit: prompt {of('prompt')}, text {of('text')}, "
            f"time to the first token {of('first', False)}, whole {of('whole', False)}.")


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--packed", required=True, help="the model's packed file, by `tandem pack`")
    parser.add_argument("--prompt", required=True, help="a file with the prompt")
    parser.add_argument("--limit", type=int, help="bytes of memory; default: half of the file")
    parser.add_argument("--peer-python", help="an interpreter with xllamacpp")
    parser.add_argument("--tandem", help="the program; default: the one of this repository")
    parser.add_argument("--device", default="opencl:0,host")
    parser.add_argument("--cores", default="0-1", help="cores that both engines have (0-1)")
    parser.add_argument("-n", "--generate", type=int, default=64)
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=600, help="seconds that a sample may take")
    given = parser.parse_args(arguments)
    given.tandem = programs.find_tandem(given.tandem)
    if given.tandem is None:
        raise Failed("there is no tandem; ./dev build makes it")
    if given.limit is None:
        given.limit = os.path.getsize(given.model) // 2
    return given


def measure(given):
    free, limited = [tandem_sample(given, None)], [tandem_sample(given, given.limit)]
    if free[0]["ids"] != limited[0]["ids"]:
        raise Failed("the text under the limit differs from the text without it")
    ours, theirs = [], []
    for _ in range(given.rounds):
        ours.append(tandem_sample(given, given.limit))
        if given.peer_python:
            theirs.append(peer_sample(given, given.limit))
    rows = [("Tandem", given.limit, ours), ("Tandem", None, free)]
    if theirs:
        rows[1:1] = [("llama.cpp", given.limit, theirs)]
    return table(rows) + (["", ratios(ours, theirs)] if theirs else [])


def main():
    try:
        print("\n".join(measure(parsed(sys.argv[1:]))))
    except (Failed, OSError) as error:
        print(f"larger_than_memory.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
