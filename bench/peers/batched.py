#!/usr/bin/env python3
"""Many texts at once: `tandem bench -np` and llama-batched-bench, in turns on the same cores.

For each width B, both read B prompts of PP tokens. Then they write TG tokens of each text, one of every text a pass.
Before Tandem times a width, it compares the logits of each text with those of the text alone. Times are measured
(wall clock).
"""

import argparse
import json
import os
import sys
from statistics import median

sys.dont_write_bytecode = True  # leaves no files beside the sources

import figures  # noqa: E402
import processes  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
from processes import Failed  # noqa: E402


def rows_in(output):
    """{width: (reading, writing, both, in tokens/s)} from JSON: an array, or one object a line."""
    text = output.strip()
    try:
        lines = [line for line in text.splitlines() if line.startswith("{")]
        rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in lines]
    except ValueError as error:
        raise Failed(f"not JSON: {error}") from error
    return {row["pl"]: (row["speed_pp"], row["speed_tg"], row["speed"]) for row in rows}


def table(samples, widths):
    """Lines of Markdown: medians of both programs, and of their ratios within each round."""
    lines = ["| texts at once | reading: Tandem t/s | llama.cpp t/s | ratio | writing: Tandem t/s | llama.cpp t/s | ratio | "
             "Tandem beside one text |", "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for width in widths:
        cells = [str(width)]
        for phase in (0, 1):
            ours = [tandem[width][phase] for tandem, _ in samples]
            peers = [peer[width][phase] for _, peer in samples]
            cells += [f"{median(ours):.1f}", f"{median(peers):.1f}", f"{median(a / b for a, b in zip(ours, peers)):.2f}"]
        beside_one = median(tandem[width][1] / tandem[widths[0]][1] for tandem, _ in samples)
        cells.append(f"{beside_one:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default=programs.default_model())
    parser.add_argument("-np", "--parallel", default="1,2,4,8,16", help="texts at once")
    parser.add_argument("-p", "--prompt", type=int, default=128)
    parser.add_argument("-n", "--generate", type=int, default=64)
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--act", choices=["f16", "i8"], default="f16", help="of Tandem; the peer's are 8 bits wide")
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--tandem")
    parser.add_argument("--timeout", type=float, default=900)
    given = parser.parse_args()
    widths = figures.parse_list(given.parallel, int)
    cores = figures.parse_cores(given.cores)
    os.sched_setaffinity(0, cores)
    tandem = programs.find_tandem(given.tandem)
    if tandem is None:
        raise Failed("there is no tandem; ./dev build makes it")
    peer = programs.Peer(len(cores), given.timeout)
    context = max(widths) * (given.prompt + given.generate)
    ours = [tandem, "bench", "-m", given.model, "-np", given.parallel, "-p", str(given.prompt), "-n", str(given.generate),
            "-r", "1", "-o", "json", "--act", given.act]
    theirs = ["-c", str(context), "-b", "2048", "-ub", "512", "-npp", str(given.prompt), "-ntg", str(given.generate), "-npl",
              given.parallel, "--output-format", "jsonl"]
    samples = []
    for number in range(given.rounds + 1):  # the first round of both fills caches on disk and in memory
        pair = (rows_in(processes.run(ours, given.timeout).output), rows_in(peer.batched(given.model, *theirs)))
        print(f"round {number} of {given.rounds}", file=sys.stderr)
        if number > 0:
            samples.append(pair)
    machine = report.machine_facts(cores)
    print(f"{machine['processor']}, {len(cores)} cores, {machine['date']}; {peer.name}; --act {given.act}; prompts of {given.prompt} tokens, "
          f"{given.generate} tokens written of each; medians of {given.rounds} rounds in turns (measured)\n")
    print("\n".join(table(samples, widths)))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as failure:
        sys.exit(f"batched.py: {failure}")
