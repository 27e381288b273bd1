#!/usr/bin/env python3
"""What do clients of `tandem serve` get, beside what the engine can do?

Four questions: tokens a second of 1, 4 and 16 clients beside `tandem bench -np`; the time to the first token, alone and
beside a long prompt; what the second turn of a dialogue costs; what the server adds to a text. Before anything is timed,
each text with others must be the text alone. --load is another question: what happens with many clients, some of which
misbehave. All times are measured (wall clock, as a client sees it).
Exit status: 0 it worked, 1 a text differed or the work failed, 130 interrupted."""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from statistics import median

sys.dont_write_bytecode = True  # leaves no files beside the sources
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import programs  # noqa: E402
import load  # noqa: E402
from asking import Failed, Server, random_prompt  # noqa: E402
from sums import milliseconds, percentile, ratio_of_pairs, speed  # noqa: E402

SCHEMA = 1


def say(text):
    print(text, file=sys.stderr, flush=True)


def argument_parser():
    parser = argparse.ArgumentParser(prog="./dev bench serve", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", default=programs.default_model(), help="GGUF file (default: the one ./dev run fetches)")
    add("--tandem", required=True, help=argparse.SUPPRESS)
    add("-np", "--clients", default="1,4,16", help="clients at once, comma separated (default: %(default)s)")
    add("-p", "--prompt", type=int, default=128, help="tokens of each prompt (default: %(default)s)")
    add("-n", "--generate", type=int, default=64, help="tokens of each answer (default: %(default)s)")
    add("-r", "--rounds", type=int, default=3, help="rounds that count, after one that does not (default: %(default)s)")
    add("--firsts", type=int, default=30, help="requests that time the first token (default: %(default)s)")
    add("--only", default="speed,first,turn,added", help="of speed, first, turn, added (default: all)")
    add("--flags", default="", help='flags of the server and of bench alike, such as "--device opencl:0,npu:0"')
    add("--load", type=int, metavar="SECONDS", help="64 clients for so long, beside others that misbehave; nothing else")
    add("--json", metavar="FILE", help="also write every sample to this file")
    return parser


def verify(server, clients, prompt, tokens, vocabulary):
    """Error if a text with others is not the text alone."""
    prompts = [random_prompt(1000 + i, prompt, vocabulary) for i in range(clients)]
    alone = [server.whole(each, tokens).text for each in prompts]
    together, _ = server.at_once(prompts, tokens)
    for i, (one, other) in enumerate(zip(alone, together)):
        if one != other.text:
            raise Failed(f"with {clients} clients, text {i} is not the text that it is alone")


def bench_row(arguments, flags):
    command = [arguments.tandem, "bench", "-m", arguments.model, *flags, "-r", "1", "-o", "json", "-q",
               *arguments.flags.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise Failed("tandem bench failed:\n" + done.stderr[-1000:])
    rows = json.loads(done.stdout) if done.stdout.lstrip().startswith("[") else [
        json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return rows[-1]


def bench_speed(arguments, clients):
    sizes = ["--parallel", str(clients), "-p", str(arguments.prompt), "-n", str(arguments.generate)]
    return bench_row(arguments, sizes)["speed"]


def speeds(arguments, server, vocabulary, report):
    print("\n| clients | server t/s | `tandem bench -np` t/s | ratio |\n| ---: | ---: | ---: | ---: |")
    for clients in map(int, arguments.clients.split(",")):
        verify(server, clients, arguments.prompt, arguments.generate, vocabulary)
        ours, others = [], []
        for i in range(arguments.rounds + 1):
            prompts = [random_prompt(10000 * clients + 100 * i + k, arguments.prompt, vocabulary) for k in range(clients)]
            _, seconds = server.at_once(prompts, arguments.generate)
            other = bench_speed(arguments, clients)
            if i > 0:
                ours.append(speed(clients, arguments.prompt, arguments.generate, seconds))
                others.append(other)
        report[f"speed_{clients}"] = {"server": ours, "bench": others}
        print(f"| {clients} | {median(ours):.1f} | {median(others):.1f} | {ratio_of_pairs(ours, others):.2f} |", flush=True)


def firsts(arguments, server, vocabulary, report):
    def times(count, seed):
        return [server.stream(random_prompt(seed + i, 32, vocabulary), 2).first_seconds for i in range(count)]

    times(3, 20000)
    alone = times(arguments.firsts, 21000)
    beside, worst = [], []
    for i in range(max(1, arguments.firsts // 5)):
        long = threading.Thread(target=server.whole, args=(random_prompt(30000 + i, 1500, vocabulary), 1))
        long.start()
        time.sleep(0.05)
        answer = server.stream(random_prompt(31000 + i, 32, vocabulary), 8)
        beside.append(answer.first_seconds)
        worst.append(max(answer.gaps, default=0.0))
        long.join()
    report["first"] = {"alone": alone, "beside": beside, "worst_gap": worst}
    print("\n| time to the first token of a prompt of 32 tokens | p50, p99 |\n| --- | ---: |")
    print(f"| alone ({len(alone)} requests) | {milliseconds(alone)} |")
    print(f"| beside a prompt of 1,500 tokens ({len(beside)}) | {milliseconds(beside)} |")
    print(f"| worst gap between two tokens there | {milliseconds(worst)} |", flush=True)


def outside(answer):
    """Milliseconds that a whole answer took beyond the engine's own times."""
    return answer.seconds * 1e3 - answer.timings["prompt_ms"] - answer.timings["predicted_ms"]


def turns(arguments, server, vocabulary, report):
    """The second turn of a dialogue of 1,000 tokens, beside its new tokens alone, and beside the engine at that depth.
    Each round has another number of new tokens, for which nothing is prepared, as in most dialogues."""
    ratios, to_engine, outside_ms, engine_ratios = [], [], [], []
    for i in range(arguments.rounds + 1):
        first = random_prompt(40000 + i, 992, vocabulary)
        first += server.ids_of(server.whole(first, 8).text)
        size = 100 + i
        second = server.whole(first + random_prompt(41000 + i, size, vocabulary), 1)
        alone = server.whole(random_prompt(42000 + i, size, vocabulary), 1)
        if second.usage["prompt_tokens_details"]["cached_tokens"] < 992:
            raise Failed("the first turn ran again")
        engine, engine_alone = (size / bench_row(arguments, ["-p", str(size), "-n", "0", "-d", depth])["avg_ts"]
                                for depth in ("1000", "0"))
        if i > 0:
            ratios.append(second.seconds / alone.seconds)
            to_engine.append(second.seconds / engine)
            engine_ratios.append(engine / engine_alone)
            outside_ms.append(outside(second))
    report["turn"], report["turn_engine"], report["turn_outside_ms"] = ratios, to_engine, outside_ms
    report["turn_engine_ratio"] = engine_ratios
    print(f"\nSecond turn, some 100 tokens behind 1,000: {median(ratios):.2f} times as long as these tokens alone, and "
          f"{median(to_engine):.2f} times as long as the engine takes for them there. {median(outside_ms):.1f} ms of it lie "
          f"outside of the engine's own times. The engine takes {median(engine_ratios):.2f} times as long there as for these "
          "tokens alone.", flush=True)


def added(arguments, server, vocabulary, report):
    """What a client waits beyond the engine's own times."""
    firsts_ms, shares = [], []
    for i in range(20):
        one = server.whole(random_prompt(50000 + i, 32, vocabulary), 1)
        firsts_ms.append(outside(one))
    for i in range(arguments.rounds):
        text = server.stream(random_prompt(51000 + i, 32, vocabulary), 128)
        engine = server.whole(random_prompt(52000 + i, 32, vocabulary), 128).timings
        shares.append(text.seconds * 1e3 / (engine["prompt_ms"] + engine["predicted_ms"]) - 1)
    report["added"] = {"first_ms": firsts_ms, "shares": shares}
    print(f"\nThe server adds {median(firsts_ms):.2f} ms to a first token (p99 {percentile(firsts_ms, 99):.2f} ms), and "
          f"{median(shares) * 100:.1f} % to a streamed text of 128 tokens.", flush=True)


def under_load(arguments, server, vocabulary, report):
    clients = 64
    counts = load.load(server, vocabulary, clients, arguments.load)
    load.judge(counts, clients)
    found = report["load"] = load.report_of(counts, clients, arguments.load)
    print(f"\n| {clients} clients, {arguments.load} s | |\n| --- | ---: |")
    print(f"| texts, each the text that it is alone | {found['texts']} |")
    print(f"| lost | {found['lost']} |\n| left by their clients | {found['left']} |")
    print(f"| tokens/s, written | {found['tokens'] / arguments.load:.0f} |")
    print(f"| first token | {milliseconds(counts.firsts)} |")
    print(f"| time for a token, slowest client over the middle one | {found['slowest_over_median']:.2f} |")
    print(f"| memory, end over begin | {found['memory_growth']:.3f} |")
    print(f"| `/health`, p99 and most | {found['health_p99'] * 1e3:.1f} ms, {found['health_most'] * 1e3:.1f} ms |", flush=True)


PARTS = {"speed": speeds, "first": firsts, "turn": turns, "added": added}


def measure(arguments):
    most = max(map(int, arguments.clients.split(",")))
    if arguments.load:
        most = 16
    flags = ["-np", str(most), "-c", "2048", "--queue", "256", "--spec", "none", *arguments.flags.split()]
    report = {"schema": SCHEMA, "model": os.path.basename(arguments.model), "clock": "measured"}
    with Server(arguments.tandem, arguments.model, flags) as server:
        vocabulary = server.vocabulary()
        print(f"{report['model']}, prompts of {arguments.prompt} tokens, answers of {arguments.generate}; measured")
        if arguments.load:
            under_load(arguments, server, vocabulary, report)
        for part in [] if arguments.load else arguments.only.split(","):
            PARTS[part](arguments, server, vocabulary, report)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


def main():
    parser = argument_parser()
    arguments = parser.parse_args()
    if not arguments.model or not os.path.exists(arguments.model):
        parser.error("there is no model; give one with -m")
    if unknown := set(arguments.only.split(",")) - set(PARTS):
        parser.error("--only does not know " + ", ".join(sorted(unknown)))
    if arguments.load is not None and arguments.load < 5:
        parser.error("--load takes 5 seconds or more")
    try:
        measure(arguments)
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        say(f"serve: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
