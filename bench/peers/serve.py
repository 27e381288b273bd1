#!/usr/bin/env python3
"""What do clients of `tandem serve` get, beside those of llama.cpp's llama-server on the same cores?

Both servers hold the same model, and are asked in turns with the same prompts; the one that is not asked is stopped.
Before anything is timed, each of Tandem's texts with others must be its text alone; llama.cpp's texts need not be, and
those that are another one are counted. Both must write all tokens. All times are measured (wall clock, as a client sees
it), and clients run on the same cores."""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from statistics import median

sys.dont_write_bytecode = True  # leaves no files beside the sources
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "serve"))

import asking  # noqa: E402
import figures  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
from processes import Failed  # noqa: E402
from sums import percentile, ratio_of_pairs, speed  # noqa: E402

START_SECONDS = 60


class LlamaServer(asking.Server):
    """llama-server on a free port, for the time of a `with`. Each text has the context, as with Tandem."""

    def __init__(self, program, model, cores, texts, context):
        self.port = asking.free_port()
        self.command = [program, "-m", model, "-t", str(cores), "-np", str(texts), "-c", str(texts * context),
                        "--port", str(self.port)]

    def __enter__(self):
        self.words = tempfile.TemporaryFile()
        self.child = subprocess.Popen(self.command, stdout=self.words, stderr=self.words)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.child.poll() is None:
            if self.is_ready():
                return self
            time.sleep(0.1)
        self.child.kill()
        self.words.seek(0)
        raise Failed("llama-server did not start", self.words.read().decode(errors="replace")[-2000:])


@contextmanager
def stopped(server):
    """The server's process stands still meanwhile, so that it takes nothing from the other."""
    server.child.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.child.send_signal(signal.SIGCONT)


def in_turns(ours, theirs, rounds, measure):
    """[(measured of ours, of theirs)] of each round; the order changes from round to round. measure gets the server and
    the number of the round. Round 0 does not count: it fills caches."""
    pairs = []
    for number in range(rounds + 1):
        found = {}
        for one, other in [(ours, theirs), (theirs, ours)][::1 if number % 2 == 0 else -1]:
            with stopped(other):
                found[one] = measure(one, number)
        if number > 0:
            pairs.append((found[ours], found[theirs]))
    return pairs


def check_texts(ours, theirs, clients, prompt, tokens, vocabulary):
    """Error if one of our texts is not what it is alone. Returns how many of theirs are not."""
    prompts = [asking.random_prompt(1000 + i, prompt, vocabulary) for i in range(clients)]
    with stopped(theirs):
        if changed := differences(ours, prompts, tokens):
            raise Failed(f"with {clients} clients, {changed} texts of Tandem are not what they are alone")
    with stopped(ours):
        return differences(theirs, prompts, tokens)


def differences(server, prompts, tokens):
    alone = [server.stream(each, tokens).text for each in prompts]
    together, _ = server.at_once(prompts, tokens)
    return sum(one != other.text for one, other in zip(alone, together))


def wrote_all(answers, tokens):
    for each in answers:
        if each.usage["completion_tokens"] != tokens:
            raise Failed(f"a text has {each.usage['completion_tokens']} tokens instead of {tokens}")


def speed_of(server, given, clients, number, vocabulary):
    prompts = [asking.random_prompt(10000 * clients + 100 * number + i, given.prompt, vocabulary) for i in range(clients)]
    answers, seconds = server.at_once(prompts, given.generate)
    wrote_all(answers, given.generate)
    return speed(clients, given.prompt, given.generate, seconds)


def first_alone(server, number, vocabulary):
    """The first token of four prompts of 32 tokens, one after the other."""
    return [server.stream(asking.random_prompt(20000 + 10 * number + i, 32, vocabulary), 2).first_seconds for i in range(4)]


def first_beside(server, number, vocabulary):
    """The first token of such a prompt while one of 1,500 tokens is read."""
    prompt = asking.random_prompt(30000 + number, 1500, vocabulary)
    long = threading.Thread(target=server.whole, args=(prompt, 1))
    long.start()
    time.sleep(0.05)
    answer = server.stream(asking.random_prompt(31000 + number, 32, vocabulary), 2)
    long.join()
    return [answer.first_seconds]


def speed_row(clients, pairs, changed):
    ours, theirs = zip(*pairs)
    return (f"| {clients} | {median(ours):.1f} | {median(theirs):.1f} | {ratio_of_pairs(ours, theirs):.2f} | "
            f"{changed} of {clients} |")


def first_row(name, pairs):
    """Percentiles of all requests, and their ratios."""
    ours, theirs = ([seconds for one in side for seconds in one] for side in zip(*pairs))
    cells = [name, str(len(ours))]
    for percent in (50, 99):
        a, b = percentile(ours, percent) * 1e3, percentile(theirs, percent) * 1e3
        cells += [f"{a:.1f}", f"{b:.1f}", f"{a / b:.2f}"]
    return "| " + " | ".join(cells) + " |"


def measure_speeds(ours, theirs, given, vocabulary, found):
    print("\n| clients | Tandem, tokens/s | llama-server, tokens/s | ratio | its texts that others change |\n"
          "| ---: | ---: | ---: | ---: | ---: |", flush=True)
    for clients in given.clients:
        changed = check_texts(ours, theirs, clients, given.prompt, given.generate, vocabulary)
        pairs = in_turns(ours, theirs, given.rounds,
                         lambda server, number, clients=clients: speed_of(server, given, clients, number, vocabulary))
        found[f"speed_{clients}"] = {"pairs": pairs, "changed": changed}
        print(speed_row(clients, pairs, changed), flush=True)


def measure_firsts(ours, theirs, given, vocabulary, found):
    print("\n| first token of a prompt of 32 tokens | requests | p50: Tandem, ms | llama-server, ms | ratio | "
          "p99: Tandem, ms | llama-server, ms | ratio |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for key, name, measure in (("alone", "alone", first_alone), ("beside", "while 1,500 tokens are read", first_beside)):
        pairs = in_turns(ours, theirs, given.firsts, lambda server, number: measure(server, number, vocabulary))
        found[f"first_{key}"] = pairs
        print(first_row(name, pairs), flush=True)


PARTS = {"speed": measure_speeds, "first": measure_firsts}


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", default=programs.default_model())
    add("-np", "--clients", default="1,4,16", help="clients at once (default: %(default)s)")
    add("-p", "--prompt", type=int, default=128, help="tokens of each prompt (default: %(default)s)")
    add("-n", "--generate", type=int, default=64, help="tokens of each answer (default: %(default)s)")
    add("-r", "--rounds", type=int, default=3, help="rounds that count (default: %(default)s)")
    add("--firsts", type=int, default=8, help="rounds that time first tokens: four alone, and one beside (default: %(default)s)")
    add("--only", default="speed,first", help="of speed, first (default: both)")
    add("--flags", default="", help='flags of tandem serve, such as "--device opencl:0,npu:0"')
    add("--cores", default="0,1")
    add("--tandem")
    add("--json", metavar="FILE", help="also write every sample to this file")
    given = parser.parse_args()
    given.clients = figures.parse_list(given.clients, int)
    given.parts = given.only.split(",")
    if unknown := set(given.parts) - set(PARTS):
        parser.error("--only does not know " + ", ".join(sorted(unknown)))
    if min(given.rounds, given.firsts) < 1:
        parser.error("--rounds and --firsts take 1 or more")
    return given


def main():
    given = parsed()
    cores = figures.parse_cores(given.cores)
    os.sched_setaffinity(0, cores)
    tandem = programs.find_tandem(given.tandem)
    if tandem is None:
        raise Failed("there is no tandem; ./dev build makes it")
    program, name = programs.llama_server()
    texts, context = max(given.clients), 2048
    flags = ["-np", str(texts), "-c", str(context), "--queue", "256", *given.flags.split()]
    machine = report.machine_facts(cores)
    print(f"{machine['processor']}, {len(cores)} cores, {machine['date']}; {name}; prompts of {given.prompt} tokens, answers of "
          f"{given.generate}; medians of {given.rounds} rounds in turns (measured)", flush=True)
    found = {"machine": machine, "peer": name, "model": os.path.basename(given.model), "clock": "measured"}
    with asking.Server(tandem, given.model, flags) as ours, LlamaServer(program, given.model, len(cores), texts, context) as theirs:
        vocabulary = ours.vocabulary()
        for part in given.parts:
            PARTS[part](ours, theirs, given, vocabulary, found)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, asking.Failed) as failure:
        sys.exit(f"serve.py: {failure}")
