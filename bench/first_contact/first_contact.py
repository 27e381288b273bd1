#!/usr/bin/env python3
"""How long does a user wait for the first token, when machine, model, length or depth are new to Tandem?

Runs whole commands, in turns with llama.cpp's. Each program keeps its files in a folder of its own.
Exit status: 0 every target is met, 1 one is missed or the work failed, 2 wrong usage, 130 interrupted."""

import argparse
import dataclasses
import json
import os
import signal
import sys

sys.dont_write_bytecode = True  # leaves no files beside the sources
sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "peers"))

import contacts  # noqa: E402
import figures  # noqa: E402
import launches  # noqa: E402
import lines  # noqa: E402
import processes  # noqa: E402
import programs  # noqa: E402
import report as reports  # noqa: E402
from figures import Target  # noqa: E402
from lines import Samples  # noqa: E402

SCHEMA = 1
ROWS = ("never-run", "new-length", "new-model", "new-depth", "dialogue")
PROMPT = "Once upon a time"
TOKENS = 16  # tokens to generate in runs that time the first token
TEXT_TOKENS = 64  # tokens to generate in runs that time the text's speed
KNOWN_LENGTHS = (20, 90, 300, 700)  # prompt lengths that a machine has run if it knows a model
DEPTHS = (1300, 2100, 3000)  # prompts far longer than the known ones
LARGE_SHAPE, NEW_SHAPE = "llama-3.2-1b", "smollm2-360m"
LARGE_TYPE = "Q4_0"

START_LATER_SECONDS = 0.5  # allowed after the peer's first token, on a machine that knows nothing yet
TEXT_SPEED = Target(0.5)  # share of the steady speed
AS_WARM = Target(1.1, at_least=False)
AS_THE_PEER = Target(1.0, at_least=False)
DIALOGUE = Target(0.7, at_least=False)


def say(text):
    print(text, file=sys.stderr, flush=True)


def argument_parser():
    parser = argparse.ArgumentParser(prog="./dev bench first-contact", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--models", metavar="FILE,...",
        help="GGUF files, comma separated (default: TANDEM_MODEL, else the one ./dev run fetches; for new lengths "
             f"also {LARGE_SHAPE} of random {LARGE_TYPE} weights)")
    add("--only", metavar="ROW,...", help=f"of {', '.join(ROWS)}, comma separated (default: all)")
    add("--rounds", type=int, help="samples of each (default: 3; --quick: 1)")
    add("--lengths", type=int, metavar="N", help="how many random prompt lengths (default: 30; --quick: 3)")
    add("--seed", type=int, default=1, help="of the lengths (default: %(default)s)")
    add("--quick", action="store_true", help="one round, three lengths, no large model: shows that everything works")
    add("--timeout", type=int, default=900, metavar="SECONDS", help="limit of one process (default: %(default)s)")
    add("--json", action="store_true", help="print every sample as JSON in place of the tables")
    add("--tandem", metavar="PATH", help="the program to measure (default: as bench/peers/compare.py)")
    add("--dialogue", metavar="PATH", help="bench/dialogue beside it")
    return parser


def parse_arguments(argv):
    """Ends with status 2 if an argument is wrong."""
    parser = argument_parser()
    options = parser.parse_args(argv)
    try:
        options.only = figures.parse_list(options.only) if options.only else list(ROWS)
        options.models = figures.parse_list(options.models) if options.models else None
    except ValueError as error:
        parser.error(str(error))
    options.rounds = (1 if options.quick else 3) if options.rounds is None else options.rounds
    options.lengths = (3 if options.quick else 30) if options.lengths is None else options.lengths
    options.large = options.models is None and not options.quick
    options.models = options.models or [programs.default_model()]
    options.tandem = programs.find_tandem(options.tandem)
    if options.tandem and not options.dialogue:
        options.dialogue = os.path.join(os.path.dirname(os.path.realpath(options.tandem)), "bench", "dialogue")
    complaint = _complaint(options)
    if complaint:
        parser.error(complaint)
    return options


def _complaint(options):
    unknown = [row for row in options.only if row not in ROWS]
    if unknown:
        return f"no such row: {unknown[0]} ({', '.join(ROWS)})"
    if options.rounds < 1:
        return "--rounds is at least 1"
    if not 1 <= options.lengths <= lines.LENGTHS[1] - lines.LENGTHS[0] + 1:
        return "there are not so many lengths"
    missing = [model for model in options.models if not os.path.isfile(model)]
    if missing:
        return f"no such model: {missing[0]}"
    for program in (options.tandem, options.dialogue):
        if not program or not os.access(program, os.X_OK):
            return "no tandem program, or no bench/dialogue beside it: build them (./dev build)"
    return None


class FirstContact:
    """All rows of the table; each gives one or more lines."""

    def __init__(self, options, both, caches):
        self._options, self._both, self._caches = options, both, caches
        self._knowing = {}  # cache folders of machines that know a model, by model
        self.details = []  # tables of single lengths and depths, by title

    def rows(self, row, model):
        """Lines of one row; a row that fails gives a line that has missed its target."""
        name = os.path.basename(model).removesuffix(".gguf")
        try:
            return {"never-run": self._never_run, "new-length": self._new_length, "new-model": self._new_model,
                    "new-depth": self._new_depth, "dialogue": self._dialogue}[row](model, name)
        except processes.Failed as failure:
            say(failure)
            return [lines.failed_line(f"{name}, {row}", failure.what)]

    def _never_run(self, model, name):
        warm = self._warm(model, [PROMPT], TEXT_TOKENS)
        launches_of = self._in_turns({
            "new": lambda: self._once(lambda cache: self._both.tandem(model, PROMPT, TEXT_TOKENS, cache),
                                      self._caches.empty()),
            "warm": lambda: self._both.tandem(model, PROMPT, TEXT_TOKENS, warm),
            "peer": lambda: self._both.peer(model, PROMPT, TEXT_TOKENS)})
        starts = Samples(*([one.first_seconds for one in launches_of[who]] for who in ("new", "warm", "peer")))
        speeds = Samples(*([one.text_rate(TEXT_TOKENS) for one in launches_of[who]] for who in ("new", "warm", "peer")))
        totals = Samples(*([one.total_seconds for one in launches_of[who]] for who in ("new", "warm", "peer")))
        again = Samples(new=starts.warm, warm=starts.warm, peer=starts.peer)
        return [lines.difference_line(f"{name}: never run here, start to first token", starts, "peer",
                                      START_LATER_SECONDS),
                lines.ratio_line("the same, the text's speed", speeds, "warm", TEXT_SPEED, "t/s"),
                lines.ratio_line("the same, the whole command", totals, "peer", None),
                lines.ratio_line(f"{name}: run again, start to first token", again, "peer", AS_THE_PEER)]

    def _new_length(self, model, name):
        lengths = lines.random_lengths(self._options.lengths, self._options.seed)
        known = [length if length not in lengths else length + 1 for length in KNOWN_LENGTHS]
        knowing = self._knowing_machine(model, [self._both.prompt_of(model, length) for length in known])
        return self._prompts(model, f"{name}: new prompt length", f"{name}: new prompt lengths", lengths, knowing)

    def _new_depth(self, model, name):
        knowing = self._knowing_machine(model, [self._both.prompt_of(model, length) for length in KNOWN_LENGTHS])
        depths = DEPTHS[:1] if self._options.quick else DEPTHS
        return self._prompts(model, f"{name}: new depth", f"{name}: new depths", depths, knowing)

    def _prompts(self, model, what, title, lengths, knowing):
        all_samples, counts = [], []
        for length in lengths:
            prompt = self._both.prompt_of(model, length)
            counts.append(self._both.tokens(model, prompt))
            all_samples.append(self._starts(model, prompt, knowing))
            say(f"{what}: {counts[-1]} tokens done")
        self.details.append((title, counts, all_samples))
        return [lines.worst_line(f"{what}, start to first token", all_samples, "warm", AS_WARM),
                lines.worst_line("the same", all_samples, "peer", AS_THE_PEER)]

    def _new_model(self, model, name):
        type_name = self._both.known_type(model)
        other = self._both.make_random(NEW_SHAPE, type_name)
        knowing = self._knowing_machine(model, [self._both.prompt_of(model, length) for length in KNOWN_LENGTHS])
        samples = self._starts(other, PROMPT, knowing)
        what = f"{NEW_SHAPE} of {type_name} after {name}: new model of a known type, start to first token"
        return [lines.ratio_line(what, samples, "warm", AS_WARM),
                lines.ratio_line("the same", samples, "peer", AS_THE_PEER)]

    def _dialogue(self, model, name):
        warm = self._caches.empty()
        self._both.tandem_dialogue(model, warm)
        self._caches.settle(warm, self._options.timeout)
        launches_of = self._in_turns({
            "new": lambda: self._once(lambda cache: self._both.tandem_dialogue(model, cache), self._caches.empty()),
            "warm": lambda: self._both.tandem_dialogue(model, warm),
            "peer": lambda: self._both.peer_dialogue(model)})
        # Times end at the last token. Work after the text keeps no user waiting, but perhaps the next command.
        text = Samples(*([one.last_seconds for one in launches_of[who]] for who in ("new", "warm", "peer")))
        whole = Samples(*([one.total_seconds for one in launches_of[who]] for who in ("new", "warm", "peer")))
        what = f"{name}: dialogue of {len(contacts.TURNS)} turns, cold"
        return [lines.ratio_line(f"{what}, the whole command", whole, "peer", DIALOGUE),
                lines.ratio_line("the same to the last token", text, "peer", None)]

    def _starts(self, model, prompt, knowing):
        """Start to first token: on a machine that has not run this prompt, on one that has, and by the peer."""
        warm = self._caches.copy(knowing)
        for _ in range(2):
            self._both.tandem(model, prompt, TOKENS, warm)
            self._caches.settle(warm, self._options.timeout)
        launches_of = self._in_turns({
            "new": lambda: self._once(lambda cache: self._both.tandem(model, prompt, TOKENS, cache),
                                      self._caches.copy(knowing)),
            "warm": lambda: self._both.tandem(model, prompt, TOKENS, warm),
            "peer": lambda: self._both.peer(model, prompt, TOKENS)})
        self._caches.drop(warm)
        return Samples(*([one.first_seconds for one in launches_of[who]] for who in ("new", "warm", "peer")))

    def _in_turns(self, measures):
        return lines.in_turns(self._options.rounds, measures)

    def _once(self, run, cache):
        try:
            return run(cache)
        finally:
            self._caches.drop(cache)

    def _warm(self, model, prompts, count):
        """A cache folder of a machine that has run these prompts twice each and has compiled the model's kernels."""
        folder = self._caches.empty()
        for _ in range(2):
            for prompt in prompts:
                self._both.tandem(model, prompt, count, folder)
            self._caches.settle(folder, self._options.timeout)
        return folder

    def _knowing_machine(self, model, prompts):
        key = (model, tuple(prompts))
        if key not in self._knowing:
            self._knowing[key] = self._warm(model, prompts, TOKENS)
            say(f"{os.path.basename(model)}: a machine that knows it")
        return self._knowing[key]


def as_markdown(facts, header, all_lines, details):
    cores = f"{len(facts['cores'])} of {facts['cores_of_machine']} core(s)"
    text = ["# First contact", "", f"{facts['processor']}, {cores}, {facts['system']}, {facts['date']}, load average "
            f"{facts['load_average']:.2f} at the start.", "",
            *header, "", *lines.table(all_lines), ""]
    text += [f"- {line.name}: {line.problem}" for line in all_lines if line.problem]
    for title, counts, all_samples in details:
        text += ["", f"## {title}", "", *lines.length_table(counts, all_samples)]
    return "\n".join(text) + "\n"


def measure(options):
    cores = os.sched_getaffinity(0)
    peer = programs.Peer(len(cores), options.timeout)
    tandem = programs.Tandem(os.path.realpath(options.tandem), options.timeout)
    both = contacts.Contacts(peer, tandem, os.path.realpath(options.dialogue), options.timeout)
    facts, load, all_lines = reports.machine_facts(cores), processes.OtherLoad(), []
    with launches.Caches() as caches:
        contact = FirstContact(options, both, caches)
        for row in options.only:
            models = [os.path.abspath(model) for model in options.models]
            if row == "new-length" and options.large:
                models.append(both.make_random(LARGE_SHAPE, LARGE_TYPE))
            for model in models:
                say(f"{row}: {os.path.basename(model)}")
                found = contact.rows(row, model)
                say("\n".join(lines.table(found)[2:]))  # a run takes minutes, and may be interrupted
                all_lines += found
    busy = load.cores()
    header = [
        f"{tandem.name} (defaults of a user) against {peer.name}. Start to first token is from before the process is "
        f"started to the first byte on its standard output; {options.rounds} round(s), in turns; medians, ratios are "
        "medians of the rounds' ratios. A new machine has empty folders for what programs keep; one that knows a model "
        f"has run prompts of {', '.join(map(str, KNOWN_LENGTHS))} tokens of it twice, and is the same before each "
        f"sample. Lengths are random with seed {options.seed}. The dialogue is held in one process by both: Tandem's by "
        "bench/dialogue, since the program has no interactive command, the peer's by its interactive mode.", "",
        "Tandem's text of each prompt was compared over all its runs." +
        ("" if busy is None else f" Other processes kept {busy:.2f} cores busy.")]
    if options.json:
        print(json.dumps({"schema": SCHEMA, "bench": "first-contact", "clock": "measured", "machine": facts,
                          "peer": peer.name, "tandem": tandem.name, "rounds": options.rounds, "seed": options.seed,
                          "other_load_cores": busy, "lines": [dataclasses.asdict(line) for line in all_lines],
                          "details": [{"title": title, "tokens": counts,
                                       "samples": [dataclasses.asdict(one) for one in all_samples]}
                                      for title, counts, all_samples in contact.details]},
                         indent=1, ensure_ascii=False))
    else:
        print(as_markdown(facts, header, all_lines, contact.details), end="")
    return 1 if any(line.verdict == figures.MISSED for line in all_lines) else 0


def main(argv):
    options = parse_arguments(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unwinds, so that every program ends
    try:
        return measure(options)
    except processes.Failed as failure:
        say(f"first-contact: {failure}")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
