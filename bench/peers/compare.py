#!/usr/bin/env python3
"""How much faster or slower is Tandem than llama.cpp on the same files and the same cores?

Runs both in turns. Prints the ratios, start-up, memory and the share of the machine's limits, each with its target.
Exit status: 0 every judged target is met, 1 one is missed or the work failed, 2 wrong usage,
130 interrupted."""

import argparse
import json
import os
import signal
import sys
from statistics import median

sys.dont_write_bytecode = True  # leaves no files beside the sources

import figures  # noqa: E402
import processes  # noqa: E402
import programs  # noqa: E402
import report as reports  # noqa: E402
from figures import Result  # noqa: E402

TESTS = "pp256,pp512,pp1024,tg64,tg32@d1024"
QUICK_TESTS = "pp64,tg16"
NEIGHBOUR_TESTS = ",".join(figures.NEIGHBOUR_TESTS)
PARTS = ("speed", "start", "limits")
MEMORY_CONTEXT = 2048
MEGA = 1e6


class WrongUsage(Exception):
    """Something that the command line names does not exist."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def argument_parser():
    parser = argparse.ArgumentParser(prog="bench/peers/compare.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("model", nargs="?", metavar="MODEL", help="GGUF file (default: TANDEM_MODEL, else the one ./dev run fetches)")
    add("--tandem", metavar="PATH",
        help="the program to measure (default: build/tandem, else the newest build/*/tandem)")
    add("--types", help="of MODEL and its Q4_0, Q8_0 and F16 variants, comma separated (default: all)")
    add("--tests", help=f"comma separated (default: {TESTS}; --quick: {QUICK_TESTS}; --neighbour: {NEIGHBOUR_TESTS})")
    add("--parts", default=",".join(PARTS), help="what to measure, comma separated (default: %(default)s)")
    add("--pairs", type=int, help="pairs that count, after one that does not (default: 5; --quick: 1)")
    add("--act", choices=("f32", "f16", "i8"),
        help="Tandem's activations; the peer's are of 8 bits (default: what a user gets, f16)")
    add("--cores", help="bind both to these cores, as taskset -c does: 0 or 0,1 (default: all)")
    add("--neighbour", action="store_true",
        help="speed only, while another process computes all the time; the target is then 0.9")
    add("--prompt", default="Once upon a time", help="text of the start-up runs (default: %(default)s)")
    add("--quick", action="store_true", help="one pair of short tests and one type: shows that everything works")
    add("--timeout", type=int, default=600, metavar="SECONDS", help="limit of one process (default: %(default)s)")
    add("--json", metavar="FILE", help="also write every sample to this file, anew after each type")
    add("--markdown", metavar="FILE", help="also write the report to this file, anew after each type")
    return parser


def parse_arguments(argv):
    """Ends with status 2 if an argument is wrong."""
    parser = argument_parser()
    options = parser.parse_args(argv)
    tests = options.tests or (NEIGHBOUR_TESTS if options.neighbour else QUICK_TESTS if options.quick else TESTS)
    try:
        options.tests = figures.parse_list(tests, figures.parse_test)
        options.types = figures.parse_list(options.types) if options.types else None
        options.parts = ["speed"] if options.neighbour else figures.parse_list(options.parts)
        options.cores = figures.parse_cores(options.cores) if options.cores else os.sched_getaffinity(0)
    except ValueError as error:
        parser.error(str(error))
    if options.pairs is None:
        options.pairs = 1 if options.quick else 5
    options.model = options.model or programs.default_model()
    options.tandem = programs.find_tandem(options.tandem)
    complaint = _complaint(options)
    if complaint:
        parser.error(complaint)
    return options


def _complaint(options):
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        return f"no such part: {unknown[0]} ({', '.join(PARTS)})"
    if options.pairs < 1:
        return "--pairs is at least 1"
    if not options.cores <= os.sched_getaffinity(0):
        return "--cores names a core that this process may not use"
    if not os.path.isfile(options.model):
        return f"no such model: {options.model}"
    if not options.tandem or not os.access(options.tandem, os.X_OK):
        return "no tandem program: build it (./dev build) or name it (--tandem PATH)"
    return None


class Comparison:
    """Both programs and the tests to measure; call measure_type() once per model file."""

    def __init__(self, options, peer, tandem):
        self._options, self._peer, self._tandem = options, peer, tandem
        self._cores = len(options.cores)

    def handshake_us(self):
        """The handshake time; None if no ratio depends on it or if it could not be read."""
        if self._cores != figures.JUDGED_CORES:
            return None
        try:
            return self._tandem.handshake_us()
        except processes.Failed as failure:
            say(f"no handshake: {failure}")
            return None

    def measure_type(self, type_name, model, handshake_before_us):
        one = reports.TypeReport(type_name, os.path.basename(model), os.path.getsize(model))
        load = processes.OtherLoad()
        with processes.busy_neighbour(self._options.neighbour):
            if "start" in self._options.parts:
                self._measure_start(one, model)
            if "speed" in self._options.parts:
                self._measure_speed(one, model)
            elif "limits" in self._options.parts:
                self._measure_limits(one, model)
            one.other_load_cores = load.cores()
        one.handshake_us = (handshake_before_us, self.handshake_us())
        why_not = figures.why_not_judged(*one.handshake_us, self._cores)
        for result in [*one.speed, *one.start]:
            figures.judge_result(result, why_not)
        return one

    def _measure_speed(self, one, model):
        measurements = []
        for test in self._options.tests:
            target = figures.speed_target(one.type_name, test.name, self._cores, self._options.neighbour,
                                          self._options.act)
            result = Result(test.name, "t/s", target=target)
            one.speed.append(result)
            if test.depth and not self._tandem.can_bench("-d"):
                result.verdict, result.problem = f"{figures.NOT_JUDGED}, not measured", "this tandem bench has no -d"
                continue
            measurements.append((result, *self._of_both(self._rate, model, test)))
        for number in self._rounds(one, measurements):
            # Halfway through the pairs: the limits belong to the minutes in which the speeds were measured.
            if number == (self._options.pairs + 1) // 2 and "limits" in self._options.parts:
                self._measure_limits(one, model)

    def _rounds(self, one, measurements):
        for number in processes.in_rounds(self._options.pairs, measurements):
            say(f"{one.type_name}: " + ("warm-up done" if number == 0 else f"pair {number} of {self._options.pairs}"))
            yield number

    def _measure_limits(self, one, model):
        if not self._tandem.can_bench("--roofline"):
            one.left_out.append("no shares of the machine's limits: this tandem bench has no --roofline")
            return
        quick = self._options.quick
        prefill, decode = (figures.parse_test(name) for name in (("pp64", "tg16") if quick else ("pp256", "tg64")))
        try:
            one.shares += self._tandem.shares(model, prefill, decode)
        except processes.Failed as failure:
            one.failures.append(f"no shares of the machine's limits: {failure.what}")
            say(failure)

    def _measure_start(self, one, model):
        filled = []  # filled positions of the cache, one entry for each run of Tandem
        first = Result("start to first token", "s", target=self._start_target())
        sixteenth = Result("start to 16 tokens", "s")
        memory = Result("peak memory, 16 tokens", "MB")
        one.start += [first, sixteenth, memory]
        measurements = [(first, *self._of_both(self._seconds, model, 1)),
                        (sixteenth, *self._of_both(self._seconds, model, 16)),
                        (memory, lambda: self._peak(self._peer, model, 16),
                         lambda: self._peak(self._tandem, model, 16, filled))]
        for _ in self._rounds(one, measurements):
            pass
        if not memory.problem:
            needed = self._tandem.weight_bytes(model) + self._tandem.kv_cache_bytes(model, max(filled))
            one.shares.append(self._memory_share(needed, memory))

    def _of_both(self, measure, *arguments):
        return lambda: measure(self._peer, *arguments), lambda: measure(self._tandem, *arguments)

    def _start_target(self):
        return figures.START_TARGET if self._cores == figures.JUDGED_CORES else None

    @staticmethod
    def _rate(program, model, test):
        return program.rate(model, test)

    def _seconds(self, program, model, count):
        return program.complete(model, self._options.prompt, count).seconds

    def _peak(self, program, model, count, filled=None):
        finished = program.complete(model, self._options.prompt, count, "-c", str(MEMORY_CONTEXT))
        if filled is not None:
            filled.append(programs.positions_in(finished.messages))
        return finished.peak_bytes / MEGA

    @staticmethod
    def _memory_share(needed_bytes, memory):
        """It has no target: a process's peak includes the GPU's driver, which `./dev bench memory` lists apart."""
        return figures.Share("Tandem's peak, the driver in it, of weights + touched cache",
                             median(memory.pairs.tandem), needed_bytes / MEGA, "MB", None)


def chosen_types(options, files):
    """The {type: file} to measure."""
    wanted = options.types or list(files)[: 1 if options.quick else None]
    for name in wanted:
        if name not in files:
            raise WrongUsage(f"no type {name} of this model ({', '.join(files)})")
    return {name: files[name] for name in wanted}


def write_file(path, text):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def keep(options, report):
    write_file(options.markdown, reports.as_markdown(report))
    write_file(options.json, json.dumps(reports.as_json(report), indent=1, ensure_ascii=False) + "\n")


def compare(options):
    os.sched_setaffinity(0, options.cores)  # every program inherits it
    peer = programs.Peer(len(options.cores), options.timeout)
    tandem = programs.Tandem(options.tandem, options.timeout, options.act)
    types = chosen_types(options, programs.variants(options.model))
    settings = {"model": os.path.basename(options.model), "types": list(types), "pairs": options.pairs,
                "tests": [test.name for test in options.tests], "parts": options.parts, "quick": options.quick,
                "act": options.act, "neighbour": options.neighbour, "prompt": options.prompt, "memory_context": MEMORY_CONTEXT}
    report = reports.Report(reports.machine_facts(options.cores), settings, peer.name, tandem.name)
    comparison = Comparison(options, peer, tandem)
    handshake_us = comparison.handshake_us()
    for type_name, model in types.items():
        one = comparison.measure_type(type_name, model, handshake_us)
        handshake_us = one.handshake_us[1]  # the reading after one type is the reading before the next
        report.types.append(one)
        keep(options, report)  # a run takes minutes, and may be interrupted
    return report


def main(argv):
    options = parse_arguments(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unwinds, so that every program ends
    try:
        report = compare(options)
    except WrongUsage as error:
        say(f"compare.py: {error}")
        return 2
    except processes.Failed as failure:
        say(f"compare.py: {failure}")
        return 1
    except KeyboardInterrupt:
        return 130
    print(reports.as_markdown(report), end="")
    return 1 if report.counts()[figures.MISSED] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
