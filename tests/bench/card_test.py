"""The steps of ./dev card without a card and without measurements.

The tests use recorded outputs and a program that stands in for tandem.
"""

import array
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import card
import commands
import golden
import machine
import peer_steps
import records
import steps
import table
import tandem_steps

# The output of a run on PoCL, cut to the parts that the steps read.
BENCH = [{"n_prompt": 0, "n_gen": 64, "n_depth": 0, "avg_ts": 201.4, "stddev_ts": 1.5, "plan_ran": [{"plan": "gpu-only", "tokens": 1, "passes": 9}],
          "device": "opencl:0", "verified": "bits"},
         {"n_prompt": 2048, "n_gen": 0, "n_depth": 0, "avg_ts": 4805.2, "stddev_ts": 500.0, "plan_ran": [], "device": "opencl:0", "verified": "bits"},
         {"n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ts": 5160.1, "stddev_ts": 10.0, "plan_ran": [], "device": "opencl:0", "verified": "bits"},
         {"n_prompt": 0, "n_gen": 64, "n_depth": 2048, "avg_ts": 163.0, "stddev_ts": 0.1, "plan_ran": [], "device": "opencl:0", "verified": "bits"}]
MANY = [{"pl": 8, "speed_pp": 2765.3, "speed_tg": 989.1, "device": "vulkan:0", "plan": "gpu-only"}]
SYNC = {"devices": [{"problem": "", "rows": [
    {"work_us": 0.0, "spinners": 0, "policy": "blocking", "status": "measured", "reason": "", "round_trip": {"p50_us": 41.0}},
    {"work_us": 0.0, "spinners": 0, "policy": "gate", "status": "off", "reason": "stores are not seen"},
    {"work_us": 1000.0, "spinners": 0, "policy": "blocking", "status": "measured", "reason": "", "round_trip": {"p50_us": 1050.0}}]}]}

# Answers like tandem. BROKEN names a command that fails, and STUCK a command that never ends.
FAKE = """#!/bin/sh
[ "$1" != "$BROKEN" ] || { echo "vkCreateDevice: lost" >&2; exit 1; }
[ "$1" != "$STUCK" ] || exec sleep 60
case $1 in
  devices) echo '{"devices": [{"id": "opencl:0", "name": "Card", "driver": "580", "own_memory": true}, {"id": "vulkan:0", "error": "no"}]}' ;;
  make-random) while [ "$1" != -o ]; do shift; done; echo weights >"$2"; echo '{"shape": "tiny", "type": "Q4_0", "bytes": 7}' ;;
  run) echo '{"timings": {"predicted_per_second": 47.2, "prompt_per_second": 90}, "device": "opencl:0", "plan_ran": []}' ;;
  bench-sync) echo '%s' ;;
  bench) case "$*" in *-np*) echo '%s' ;; *) echo '%s' ;; esac ;;
  *) echo "what is $1?" >&2; exit 2 ;;
esac
""" % (json.dumps(SYNC), json.dumps(MANY), json.dumps(BENCH))


def write(path, text, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if executable:
        os.chmod(path, stat.S_IRWXU)
    return path


class InAFolder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def at(self, *parts):
        return os.path.join(self.folder, *parts)


class Commands(InAFolder):
    def log(self):
        return commands.Log(self.at("log.txt"))

    def test_end_at_their_limit_with_all_that_they_started(self):
        finished = commands.run(["/bin/sh", "-c", f"sleep 61 & echo $! >{self.at('child')}; echo early; wait"], 0.5, self.log())
        self.assertTrue(finished.timed_out)
        self.assertEqual(finished.output, "early\n")
        self.assertIn("limit", finished.reason())
        with open(self.at("child"), encoding="ascii") as file:
            child = int(file.read())
        end = time.monotonic() + 20
        while time.monotonic() < end and os.path.exists(f"/proc/{child}/exe") and state_of(child) not in ("Z", ""):
            time.sleep(0.02)
        self.assertIn(state_of(child), ("Z", ""))

    def test_that_are_not_there_are_a_reason_and_no_exception(self):
        finished = commands.run([self.at("nothing")], 5, self.log())
        self.assertEqual(finished.status, 127)
        self.assertIn("No such file", finished.reason())

    def test_leave_what_they_printed_in_the_log(self):
        commands.run(["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], 20, self.log())
        with open(self.at("log.txt"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("status 3", text)
        self.assertIn("\nout\nerr\n", text)

    def test_in_the_background_stand_still_while_they_are_paused(self):
        process = commands.Background(["/bin/sleep", "60"], self.at("log.txt"))
        self.addCleanup(process.end)
        process.pause()
        end = time.monotonic() + 20
        while state_of(process._process.pid) != "T" and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(state_of(process._process.pid), "T")
        process.end()  # a stopped process also ends
        self.assertIsNotNone(process.status())


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


class Environment(InAFolder):
    def env(self, cache, **base):
        return machine.environment(self.at("packed"), self.at("scratch"), cache, self.at("root"), base)

    def test_takes_a_spare_library_only_where_the_machine_has_none_of_that_name(self):
        for name in ("libvulkan.so.1", "libOpenCL.so.1"):
            write(self.at("packed", "spare", name), "")
        env = self.env({"libOpenCL.so.1": "/usr/lib/libOpenCL.so.1"})
        self.assertEqual(os.listdir(self.at("scratch", "spare")), ["libvulkan.so.1"])
        self.assertEqual(env["LD_LIBRARY_PATH"].split(":"), [self.at("packed", "lib"), self.at("scratch", "spare")])

    def test_names_a_manifest_of_vulkan_that_lies_elsewhere(self):
        manifest = write(self.at("root", "usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json"), "{}")
        self.assertEqual(self.env({})["VK_DRIVER_FILES"], manifest)

    def test_keeps_other_drivers_beside_a_manifest_that_lies_elsewhere(self):
        manifest = write(self.at("root", "usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json"), "{}")
        other = write(self.at("root", "usr/share/vulkan/icd.d/lvp_icd.json"), "{}")
        self.assertEqual(self.env({})["VK_DRIVER_FILES"], manifest + ":" + other)

    def test_leaves_the_loader_alone_where_the_manifest_is_where_it_looks(self):
        write(self.at("root", "usr/share/vulkan/icd.d/nvidia_icd.json"), "{}")
        write(self.at("root", "etc/OpenCL/vendors/nvidia.icd"), "libnvidia-opencl.so.1")
        env = self.env({"libGLX_nvidia.so.0": "/x", "libnvidia-opencl.so.1": "/y"})
        self.assertNotIn("VK_DRIVER_FILES", env)
        self.assertNotIn("OCL_ICD_VENDORS", env)

    def test_writes_manifests_for_drivers_that_have_none(self):
        env = self.env({"libGLX_nvidia.so.0": "/x/libGLX_nvidia.so.0", "libnvidia-opencl.so.1": "/y/libnvidia-opencl.so.1"})
        with open(env["VK_DRIVER_FILES"], encoding="ascii") as file:
            self.assertEqual(json.load(file)["ICD"]["library_path"], "/x/libGLX_nvidia.so.0")
        with open(os.path.join(env["OCL_ICD_VENDORS"], "nvidia.icd"), encoding="ascii") as file:
            self.assertEqual(file.read(), "/y/libnvidia-opencl.so.1\n")

    def test_finds_a_drivers_libraries_in_a_folder_that_the_system_does_not_search(self):
        library = write(self.at("root", "usr/local/nvidia/lib64/libnvidia-opencl.so.1"), "")
        env = self.env({})
        self.assertTrue(env["LD_LIBRARY_PATH"].endswith(os.path.dirname(library)))
        with open(os.path.join(env["OCL_ICD_VENDORS"], "nvidia.icd"), encoding="ascii") as file:
            self.assertEqual(file.read().strip(), library)

    def test_names_the_vendor_of_egl_that_lies_elsewhere(self):
        vendor = write(self.at("root", "usr/local/nvidia/share/glvnd/egl_vendor.d/10_nvidia.json"), "{}")
        self.assertEqual(self.env({})["__EGL_VENDOR_LIBRARY_FILENAMES"], vendor)

    def test_obeys_a_choice_that_was_made(self):
        write(self.at("root", "usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json"), "{}")
        self.assertEqual(self.env({}, VK_DRIVER_FILES="mine")["VK_DRIVER_FILES"], "mine")


class Programs(InAFolder):
    def test_that_came_without_their_permissions_are_copied(self):
        write(self.at("packed", "bin", "tandem"), "#!/bin/sh\n", True)
        self.assertEqual(machine.programs(self.at("packed", "bin"), self.at("scratch")), self.at("packed", "bin"))
        write(self.at("packed", "bin", "tandem-prove"), "#!/bin/sh\n")
        found = machine.programs(self.at("packed", "bin"), self.at("scratch"))
        self.assertTrue(all(os.access(os.path.join(found, name), os.X_OK) for name in ("tandem", "tandem-prove")))

    def test_that_still_run_are_waited_for(self):
        sleeper = self.at("bin", "sleeper")
        os.makedirs(self.at("bin"))
        shutil.copy("/bin/sleep", sleeper)
        process = subprocess.Popen([sleeper, "60"])
        self.addCleanup(process.wait)
        self.assertFalse(machine.wait_until_quiet(self.at("bin"), 0))
        process.kill()
        self.assertTrue(machine.wait_until_quiet(self.at("bin"), 20))


class Rows(unittest.TestCase):
    def test_of_a_bench_are_in_the_order_of_the_columns(self):
        rows = tandem_steps.speed_rows("Tandem", BENCH, "why")
        self.assertEqual([(row.what, row.value) for row in rows], [("prompt 512", 5160.1), ("prompt 2048", 4805.2), ("tokens", 201.4),
                                                                   ("tokens behind 2048", 163.0)])
        self.assertEqual([row.reason for row in rows], ["why", "", "", ""])

    def test_that_a_bench_owes_have_the_names_of_those_that_it_gives(self):
        owed = tandem_steps.speed_names(steps.Sizes())
        for row in tandem_steps.speed_rows("Tandem", BENCH):
            self.assertIn(row.what, owed)
        for row in tandem_steps.many_rows("Tandem", MANY):
            self.assertIn(row.what, tandem_steps.many_names(steps.Sizes()))

    def test_of_waiting_are_of_empty_steps_with_reasons_where_a_policy_is_off(self):
        rows = tandem_steps.waiting_rows("vulkan:0", SYNC)
        self.assertEqual([(row.what, row.status, row.value) for row in rows], [("blocking", "ok", 41.0), ("gate", "off", None)])
        self.assertEqual(rows[1].reason, "stores are not seen")

    def test_of_waiting_for_a_card_say_what_its_bus_takes_and_what_a_launch_takes(self):
        launched = {**SYNC["devices"][0]["rows"][0], "policy": "launch+finish"}
        rows = tandem_steps.waiting_rows("vulkan:0", {"devices": [{"problem": "", "bus": {"p50_us": 2.5}, "rows": [launched]}]})
        self.assertEqual([(row.what, row.value) for row in rows], [("a read across the bus", 2.5), ("launch+finish", 41.0)])

    def test_of_waiting_without_any_figure_are_a_failure(self):
        off = {"devices": [{"problem": "", "rows": [SYNC["devices"][0]["rows"][1]]}]}
        with self.assertRaisesRegex(commands.Failed, "stores are not seen"):
            tandem_steps.waiting_rows("opencl:0", off)

    def test_are_measured_on_one_gpu_of_each_interface_a_card_before_others(self):
        report = {"devices": [{"id": "opencl:0"}, {"id": "vulkan:0", "own_memory": False}, {"id": "vulkan:1", "own_memory": True},
                              {"id": "vulkan:2", "error": "crashes"}, {"id": "host"}]}
        self.assertEqual(tandem_steps.first_of_each_interface(report), ["vulkan:1", "opencl:0"])


class Golden(InAFolder):
    def check(self, whole, pieces, host, promised):
        case = golden.Case("a", "a.gguf", [1, 2], [], write_floats(self.at("golden"), [1.0, 2.0, 3.0, 4.0]))
        answers = {("gpu-only", 0): whole, ("gpu-only", 7): pieces, ("host-only", 0): host}

        def evaluate(_, plan, __, ___, chunk):
            return array.array("f", answers[plan, chunk]), 2, promised

        tally = golden.Tally()
        golden.check(case, "vulkan:0", evaluate, tally)
        return {row.what: row for row in golden.rows(tally, "vulkan:0", 1, "")}

    def test_logits_near_enough_with_the_same_bits_are_right(self):
        good = [1.0, 2.0, 3.0, 4.001]
        rows = self.check(good, good, good, True)
        self.assertEqual({row.status for row in rows.values()}, {"ok"})
        self.assertEqual(rows["the host's bits"].value, "1 of 1")

    def test_logits_too_far_away_are_wrong_and_so_is_what_is_no_number(self):
        for wrong in (4.01, float("nan")):
            bad = [1.0, 2.0, 3.0, wrong]
            self.assertEqual(self.check(bad, bad, bad, True)["golden logits"].status, "failed")

    def test_logits_of_another_number_are_wrong(self):
        self.assertEqual(self.check([1.0], [1.0], [1.0], True)["golden logits"].status, "failed")

    def test_other_bits_in_pieces_are_a_failure(self):
        good, other = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0001]
        self.assertEqual(self.check(good, other, good, True)["the same bits in pieces of 7 tokens"].status, "failed")

    def test_other_bits_than_the_hosts_are_a_failure_only_where_the_same_were_promised(self):
        good, other = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0001]
        self.assertEqual(self.check(good, good, other, True)["the host's bits"].status, "failed")
        self.assertEqual(self.check(good, good, other, False)["the host's bits"].status, "ok")

    def test_positions_choose_the_rows(self):
        self.assertEqual(golden.largest_difference([0, 0, 5, 6, 7, 8], [5, 6, 7, 9], 2, [1, 2]), 1)
        self.assertEqual(golden.largest_difference([0, 0], [5, 6], 2, [1]), float("inf"))


def write_floats(path, values):
    with open(path, "wb") as file:
        array.array("f", values).tofile(file)
    return path


class Table(unittest.TestCase):
    def text(self, rows, steps_=()):
        kept = records.Records("", {"card": "A card", "date": "today"})
        kept.rows, kept.steps = list(rows), list(steps_)
        return table.table(kept.as_dict())

    def test_has_a_row_for_each_program_and_a_column_for_each_test(self):
        text = self.text(tandem_steps.speed_rows("Tandem", BENCH) + [records.Row("speed", "peer", "tokens", 717.4)])
        self.assertIn("| program, devices | prompt 512 | prompt 2048 | tokens | tokens behind 2048 |", text)
        self.assertIn("| Tandem | 5,160 | 4,805 ± 500 | 201 | 163 |", text)
        self.assertIn("| peer |  |  | 717 |  |", text)

    def test_gives_the_reason_for_each_figure_that_is_missing_once(self):
        lost = [records.Row("speed", "Tandem", what, None, "failed", "ended by signal 6") for what in ("prompt 512", "tokens")]
        text = self.text(lost, [records.StepRecord("bench", "failed", 1.0, 0.0, "ended by signal 6"),
                                records.StepRecord("devices", "failed", 1.0, 0.0, "no GPU")])
        self.assertIn("- Tandem (prompt 512, tokens): failed: ended by signal 6\n", text)
        self.assertEqual(text.count("ended by signal 6"), 1)
        self.assertIn('- step "devices": failed: no GPU', text)

    def test_cells_cannot_break_it(self):
        self.assertIn("a / b c", self.text([records.Row("correct", "x", "y", "a | b\nc")]))


class WholeRuns(InAFolder):
    def setUp(self):
        super().setUp()
        write(self.at("card", "bin", "tandem"), FAKE, True)
        write(self.at("card", "about.json"), '{"program": "tandem, commit 1234"}')
        os.makedirs(self.at("card", "card"))
        for name in os.listdir(os.path.dirname(card.__file__)):
            if name.endswith(".py"):
                os.symlink(os.path.join(os.path.dirname(card.__file__), name), self.at("card", "card", name))
        os.symlink(os.path.join(os.path.dirname(card.__file__), "run.sh"), self.at("card", "run.sh"))

    def start(self, *flags, **env):
        # The script's folder decides what runs. So the test calls the script there, and not where its links lead.
        program = "import sys; sys.path.insert(0, sys.argv[1]); import card; card.__file__ = sys.argv[1] + '/card.py'; sys.exit(card.main(sys.argv[2:]))"
        command = [sys.executable, "-B", "-c", program, self.at("card", "card"), "--out", self.at("out"), "--small", "--no-peer", *flags]
        return subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_it(self, *flags, **env):
        process = self.start(*flags, **env)
        self.output, self.messages = process.communicate(timeout=50)
        return process.returncode, self.kept()

    def kept(self):
        with open(self.at("out", "card.json"), encoding="utf-8") as file:
            return json.load(file)

    def rows(self, kept, who):
        return {row["what"]: row for row in kept["rows"] if row["who"] == who}

    def test_give_every_figure_and_the_reasons_for_those_that_are_missing(self):
        status, kept = self.run_it("--seconds", "45")
        self.assertEqual(status, 0, self.messages)
        self.assertEqual(self.rows(kept, "Tandem, opencl:0")["tokens"]["value"], 201.4)
        self.assertEqual(self.rows(kept, "opencl:0")["blocking"]["value"], 41.0)
        self.assertEqual(self.rows(kept, "default devices, first time")["writing, tokens/s"]["value"], 47.2)
        self.assertIn("not asked for", self.rows(kept, peer_steps.WHO)["tokens"]["reason"])
        self.assertEqual(self.rows(kept, "vulkan:0")["is usable"]["reason"], "no")
        self.assertEqual(sorted(os.listdir(self.at("out"))), ["card.json", "card.md", "devices.json", "log.txt", "sync-opencl.json"])
        self.assertEqual(kept["facts"]["program"], "tandem, commit 1234")

    def test_go_on_behind_a_command_that_fails(self):
        status, kept = self.run_it("--seconds", "45", BROKEN="bench")
        self.assertEqual(status, 0, self.messages)
        self.assertIn("vkCreateDevice: lost", self.rows(kept, "Tandem, opencl:0")["tokens"]["reason"])
        self.assertEqual(self.rows(kept, "opencl:0")["blocking"]["value"], 41.0)

    def test_end_in_time_with_their_table_though_a_command_never_ends(self):
        _, kept = self.run_it("--seconds", "14", "--steps", "devices;model;bench-sync;breakdown", STUCK="bench-sync")
        self.assertIn("limit", self.rows(kept, "opencl:0")["blocking"]["reason"])
        self.assertEqual([step["status"] for step in kept["steps"]], ["ok", "ok", "failed", "left out"])

    def test_leave_their_table_when_they_are_asked_to_end(self):
        process = self.start("--seconds", "45", "--steps", "devices;model;first;bench", STUCK="bench")
        end = time.monotonic() + 40
        while time.monotonic() < end:
            if os.path.exists(self.at("out", "card.json")) and "default devices, third time" in json.dumps(self.kept()):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=40)
        self.assertIn("default devices, third time", output)
        self.assertIn("interrupted", output)


class Peer(unittest.TestCase):
    def test_as_many_compilers_run_as_cores_and_memory_allow(self):
        self.assertEqual(peer_steps.compilers_at_once(16, 128 << 20), 16)
        self.assertEqual(peer_steps.compilers_at_once(16, 8 << 20), 3)
        self.assertEqual(peer_steps.compilers_at_once(2, 1 << 20), 1)


if __name__ == "__main__":
    unittest.main()
