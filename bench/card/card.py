"""Measures Tandem on a machine with a graphics card, beside llama.cpp, within a given time.

Writes to the folder --out: card.md (the table), card.json (all rows and steps), devices.json, sync-*.json,
log.txt (the output of all commands) and peer-build.log. They are complete after every step, however the run ends.
Exit 0: the run came to its end; rows without a figure say why. 1: nothing could be measured."""

import argparse
import datetime
import json
import os
import shutil
import signal
import sys
import tempfile
import time

import machine
import steps
import table
from commands import Failed, Log, run as run_command
from records import Records, Row, StepRecord

ENDING_SECONDS = 5  # reserved for ending running commands and for the report
HELPER_SECONDS = 20
# Shares of all time. Timed steps wait for llama.cpp's build until the first share; from the second on they wait again,
# until the third.
SHARES_OF_THE_BUILD = (0.42, 0.6, 0.75)


def about(folder):
    """The contents of the package: the program's commit and the peer's version."""
    with open(os.path.join(folder, "about.json"), encoding="utf-8") as file:
        return json.load(file)


class Run:
    """The state that the steps share."""

    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.out = os.path.abspath(options.out)
        os.makedirs(self.out, exist_ok=True)
        self.scratch = tempfile.mkdtemp(prefix="tandem-card-")
        self.sizes = steps.SMALL if options.small else steps.Sizes()
        self.type = options.type
        self.shape = options.shape or (os.path.join(folder, "data", "tiny-models", "stories260K-F16.gguf") if options.small else "llama-3.2-1b")
        self.model = os.path.join(self.scratch, "model.gguf")
        self.programs = machine.programs(os.path.abspath(options.programs or os.path.join(folder, "bin")), self.scratch)
        self.tandem = os.path.join(self.programs, "tandem")
        self.base_env = dict(os.environ)
        self.env = machine.environment(folder, self.scratch)
        self.log = Log(os.path.join(self.out, "log.txt"))
        self.gpus = ["vulkan:0", "opencl:0"]  # assumed until the devices are known
        self.host_logits = {}
        self.peer, self.no_peer, self.peer_build = None, "", os.path.join(self.scratch, "peer-build")
        self.records = Records(self.out, {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), **about(folder)})
        self.started = time.monotonic()
        self.end = self.started + options.seconds - ENDING_SECONDS
        self.step_end = self.end

    def left(self):
        """Seconds that are left to the step in progress."""
        return min(self.step_end, self.end) - time.monotonic()

    def command(self, command, limit=None, env=None):
        return run_command(command, min(limit or 1e9, self.left()), self.log, self.env if env is None else env)

    def write(self):
        self.records.facts["seconds"] = f"{time.monotonic() - self.started:.0f} of {self.options.seconds:.0f}"
        self.records.write(table.table)


def missing_rows(records, owes, status, reason):
    have = {(row.section, row.who, row.what) for row in records.rows}
    records.rows += [Row(*key, None, status, reason) for key in owes if key not in have]


def be_alone(run):
    """Makes sure that none of our programs runs beside a timed one: llama.cpp's build stops, and helpers have ended."""
    if run.peer:
        run.peer.pause()
    if not machine.wait_until_quiet(run.programs, min(HELPER_SECONDS, run.end - time.monotonic())):
        run.log.add(f"after {HELPER_SECONDS} s a helper of an earlier step still runs beside the next one")


def perform(run, step):
    """Runs one step, catches whatever happens in it, and writes its rows and its record."""
    began = time.monotonic() - run.started
    left = run.end - time.monotonic()
    if left < step.least:
        status, reason = "left out", f"{max(0.0, left):.0f} s were left of {run.options.seconds:.0f} s"
    else:
        print(f"{began:5.0f} s  {step.name}", file=sys.stderr, flush=True)
        status, reason = "ok", ""
        try:
            if step.alone:
                be_alone(run)
            run.step_end = time.monotonic() + step.limit
            step.act(run)
        except Failed as failure:
            status, reason = "failed", str(failure)
        except (KeyboardInterrupt, SystemExit):
            raise
        except Exception as error:  # a report of an unexpected form must not end the run
            status, reason = "failed", f"{type(error).__name__}: {error}"
        finally:
            if step.alone and run.peer:
                run.peer.resume()
    if status != "ok":
        missing_rows(run.records, step.owes, status, reason)
    run.records.steps.append(StepRecord(step.name, status, time.monotonic() - run.started - began, began, reason))
    run.write()
    return status == "ok"


def wait_for_build(run, until):
    """Waits for llama.cpp's build, at most until `until` seconds after the start."""
    if run.peer and run.peer.status() is None:
        run.peer.resume()
        began = time.monotonic() - run.started
        run.peer.wait(run.started + until - time.monotonic())
        run.records.steps.append(StepRecord("waiting for llama.cpp's build", "ok", time.monotonic() - run.started - began, began))
        run.write()


def perform_all(run):
    wanted = [name for name in run.options.steps.split(";") if name]

    def chosen(some):
        return [step for step in some if not wanted or any(step.name.startswith(name) for name in wanted)]

    for step in chosen(steps.beside_the_build()):
        perform(run, step)
    for step in chosen(steps.correctness(run)):
        perform(run, step)
    perform_timed(run, chosen(steps.timed(run)))


def perform_timed(run, waiting):
    """Runs the timed steps. llama.cpp's steps run in their turn as soon as it is built. The others wait for the build
    twice, each time up to a share of all time."""
    shares = [share * run.options.seconds for share in SHARES_OF_THE_BUILD]
    wait_for_build(run, shares[0])
    later = []
    while waiting:
        step = waiting.pop(0)
        if step.needs_peer and run.peer and run.peer.status() is None:
            later.append(step)
        else:
            perform(run, step)
        if later and (not waiting or time.monotonic() - run.started > shares[1]):
            wait_for_build(run, shares[2])
            for one in later:
                perform(run, one)
            later = []


def parse(arguments):
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="card-results", help="folder of the results")
    parser.add_argument("--seconds", type=float, default=480, help="for all of it; what does not fit is left out, and the table says so")
    parser.add_argument("--shape", default="", help="of the random model; default: llama-3.2-1b")
    parser.add_argument("--type", default="Q4_0", help="its storage type")
    parser.add_argument("--small", action="store_true", help="a tiny model and short texts: shows that the steps work, also without a card")
    parser.add_argument("--no-peer", action="store_true", help="without llama.cpp")
    parser.add_argument("--peer-programs", default="", metavar="FOLDER", help="llama-bench and llama-batched-bench that are built already")
    parser.add_argument("--programs", default="", metavar="FOLDER", help="tandem and tandem-prove of another build")
    parser.add_argument("--steps", default="", metavar="NAME;...", help="only the steps whose names begin so")
    return parser.parse_args(arguments)


def stop(*_):
    raise KeyboardInterrupt


def main(arguments):
    options = parse(arguments)
    signal.signal(signal.SIGTERM, stop)
    run = Run(options, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    try:
        perform_all(run)
    except KeyboardInterrupt:
        run.records.steps.append(StepRecord("the run", "interrupted", 0, time.monotonic() - run.started, "it was asked to end"))
    finally:
        if run.peer:
            run.peer.end()
        run.write()
        shutil.rmtree(run.scratch, ignore_errors=True)
    with open(os.path.join(run.out, "card.md"), encoding="utf-8") as file:
        sys.stdout.write(file.read())
    return 0 if any(row.status == "ok" for row in run.records.rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
