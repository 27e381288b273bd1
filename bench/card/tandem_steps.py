"""The steps that run Tandem itself."""

import json
import os
import platform
import shutil

import golden
import machine as machine_facts
from commands import Failed, OutOfTime
from records import Row

WAYS = ("blocking", "event", "spin", "predict", "gate", "doorbell", "launch+finish")  # ways to start work and to wait
TURNS = ("first time", "second time", "third time")
PROMPT = ("Once upon a time there was a small village at the foot of a mountain, and the people who lived there told each other a story every "
          "evening before they went to sleep.")


def parsed(finished, what):
    """The JSON that a command printed; Failed with its reason if it ended otherwise."""
    if finished.status != 0 or finished.timed_out:
        raise Failed(finished.reason())
    try:
        return json.loads(finished.output)
    except ValueError as error:
        raise Failed(f"{what} printed no JSON: {error}") from error


def notes(finished):
    return "; ".join(line.strip() for line in finished.messages.splitlines() if line.strip())[:400]


def plans(ran):
    names = []
    for one in ran or []:
        if one["plan"] not in names:
            names.append(one["plan"])
    return ", ".join(names)


def machine(run):
    """The facts that the system reports about itself; missing ones are left out."""
    facts = run.records.facts
    facts["system"] = platform.platform()
    facts["cores"] = str(len(os.sched_getaffinity(0)))
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        facts["processor"] = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    smi = shutil.which("nvidia-smi")
    if smi:
        asked = run.command([smi, "--query-gpu=name,driver_version,uuid,pci.bus_id,pcie.link.gen.current,pcie.link.width.current,memory.total",
                             "--format=csv,noheader"])
        if asked.status == 0 and asked.output.strip():
            words = [word.strip() for word in asked.output.strip().splitlines()[0].split(",")]
            facts["card"], facts["driver"] = words[0], words[1]
            facts["bus"] = ", ".join(words[3:])
        run.command([smi])
    used = {name: value for name, value in run.env.items() if name in ("LD_LIBRARY_PATH", "VK_DRIVER_FILES", "OCL_ICD_VENDORS", "__EGL_VENDOR_LIBRARY_FILENAMES")}
    known = machine_facts.names_in_cache()
    drivers = {name: path for name, path in known.items() if "nvidia" in name or name.startswith(("libvulkan.", "libOpenCL.", "libcuda."))}
    run.log.add("drivers, and the variables that lead to them", json.dumps({"variables": used, "libraries": drivers}, indent=1))
    run.command(["/bin/sh", "-c", "ls -l /etc/OpenCL/vendors /usr/share/vulkan/icd.d /etc/vulkan/icd.d /usr/local/nvidia/share/vulkan/icd.d; "
                 "lscpu; cat /proc/meminfo | head -n 3; uname -a; ldd " + run.tandem])


def first_of_each_interface(report):
    """The GPUs to measure, Vulkan's first: one of each interface, preferably a card with memory of its own."""
    found = []
    for interface in ("vulkan", "opencl"):
        usable = [one for one in report["devices"] if one["id"].startswith(interface + ":") and "error" not in one]
        usable.sort(key=lambda one: not one.get("own_memory", False))
        found += [one["id"] for one in usable[:1]]
    return found


def devices(run):
    finished = run.command([run.tandem, "devices", "--json", "-v"])
    report = parsed(finished, "tandem devices")
    with open(os.path.join(run.out, "devices.json"), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    run.gpus = first_of_each_interface(report)
    for one in report["devices"]:
        if "error" in one:
            run.records.rows.append(Row("devices", one["id"], "is usable", "no", "failed", one["error"]))
        elif one["id"] in run.gpus:
            run.records.facts.setdefault("card", one["name"])
            run.records.facts.setdefault("driver", one["driver"])
    if not run.gpus:
        raise Failed("no GPU can be used: " + (notes(finished) or "see devices.json"))
    run.command([run.tandem, "devices"])
    explain_missing(run)
    if not any(one["id"].startswith("vulkan:") for one in report["devices"]):
        run.records.rows.append(Row("devices", "vulkan:0", "is usable", "no", "failed", "there is none; the loader's words are in log.txt"))


def explain_missing(run):
    """If Vulkan shows no device, the log says why, by the loader's own messages."""
    if not any(gpu.startswith("vulkan") for gpu in run.gpus):
        env = machine_facts.with_cache({**run.env, "VK_LOADER_DEBUG": "error,warn,driver"}, os.path.join(run.scratch, "vulkan-loader"))
        run.command([run.tandem, "devices"], 20, env)


def make_model(run):
    asked = [run.tandem, "make-random", "--shape", run.shape, "--type", run.type, "-o", run.model + ".new", "--json"]
    made = parsed(run.command(asked), "make-random")
    os.replace(run.model + ".new", run.model)  # this name belongs only to a whole model
    run.records.facts["model"] = f"{made['shape']}, {made['type']}, random weights, {made['bytes'] / 1e9:.2f} GB"


def golden_logits(run, device):
    cases, tally, short = golden.cases(os.path.join(run.folder, "data"))[: run.sizes.golden_cases], golden.Tally(), ""
    scratch = os.path.join(run.scratch, "golden")
    os.makedirs(scratch, exist_ok=True)
    ids_file, logits_file = os.path.join(scratch, "ids"), os.path.join(scratch, "logits")

    def evaluate(case, plan, where, act, chunk):
        key = (case.name, plan, act, chunk)
        if plan == "host-only" and key in run.host_logits:
            return run.host_logits[key]
        with open(ids_file, "w", encoding="ascii") as file:
            file.write(" ".join(map(str, case.ids)))
        command = [run.tandem, "eval", "-m", case.model, "--ids", ids_file, "--logits", logits_file, "--json", "--plan", plan, "--device", where,
                   "--act", act, "--cache-type", "f32", *(["--chunk", str(chunk)] if chunk else [])]
        finished = run.command(command, 60)
        if finished.timed_out and run.left() < 1:
            raise OutOfTime("the time for them was over")
        told = parsed(finished, "eval")
        found = (golden.floats(logits_file), told["n_vocab"], told["bits"]["same_on_every_plan"])
        if plan == "host-only":
            run.host_logits[key] = found
        return found

    for case in cases:
        try:
            golden.check(case, device, evaluate, tally)
        except OutOfTime as over:
            short = str(over)
            break
    run.records.rows += golden.rows(tally, device, len(cases), short)


def first_texts(run, who, flags):
    """Three runs after each other; the first one finds nothing compiled and nothing measured."""
    env = machine_facts.with_cache(run.env, os.path.join(run.scratch, "fresh-" + str(len(run.records.steps))))
    command = [run.tandem, "run", "-m", run.model, "-p", PROMPT, "-n", str(run.sizes.text_tokens), "--ignore-eos", "--temp", "0", "--json", *flags]
    for name in TURNS:
        finished = run.command(command, 45, env)
        told = parsed(finished, "run")
        times = told["timings"]
        why = f"{told['device']}; plans that ran: {plans(told['plan_ran'])}; {notes(finished)}"
        row = [("writing, tokens/s", times["predicted_per_second"], why), ("reading, tokens/s", times["prompt_per_second"], ""),
               ("start to end, s", finished.seconds, "")]
        run.records.rows += [Row("first text", f"{who}, {name}", what, value, "ok", reason) for what, value, reason in row]


def speed_name(prompt, tokens, depth):
    return (f"prompt {prompt}" if prompt else "tokens") + (f" behind {depth}" if depth else "")


def speed_names(sizes):
    return [speed_name(prompt, 1, depth) for depth in (0, sizes.depth) for prompt in (*sizes.prompts, 0)]


def speed_rows(who, array, explained=""):
    """Rows from the JSON of tandem bench or llama-bench, which use the same names, in the order of the columns."""
    array = sorted(array, key=lambda one: (one["n_depth"], one["n_prompt"] == 0, one["n_prompt"]))
    rows = []
    for one in array:
        why = explained if not rows else ""
        rows.append(Row("speed", who, speed_name(one["n_prompt"], one["n_gen"], one["n_depth"]), one["avg_ts"], "ok", why, "tokens/s",
                        {"spread": one["stddev_ts"], "plan": one.get("plan", ""), "verified": one.get("verified", "")}))
    return rows


def bench(run, who, flags):
    """Runs a program for each depth, so that the first one's figures stay if the second one fails."""
    for depth in (0, run.sizes.depth):
        bench_at(run, who, flags, depth)


def bench_at(run, who, flags, depth):
    sizes = run.sizes
    finished = run.command([run.tandem, "bench", "-m", run.model, "-p", ",".join(map(str, sizes.prompts)), "-n", str(sizes.tokens), "-d",
                            str(depth), "-r", str(sizes.repetitions), "-o", "json", *flags])
    array = parsed(finished, "bench")
    ran = "; ".join(f"{speed_name(one['n_prompt'], one['n_gen'], one['n_depth'])}: {plans(one['plan_ran'])}" for one in array)
    run.records.rows += speed_rows(who, array, f"{array[0]['device']}; {ran}; {array[0]['verified']}; {notes(finished)}")


def many_names(sizes):
    return [f"{width} texts, {phase}" for width in sizes.widths for phase in ("reading", "writing")]


def many_rows(who, array, explained=""):
    rows = []
    for one in array:
        for phase, key in (("reading", "speed_pp"), ("writing", "speed_tg")):
            why = explained if not rows else ""
            rows.append(Row("texts", who, f"{one['pl']} texts, {phase}", one[key], "ok", why, "tokens/s"))
    return rows


def many_texts(run, who, flags):
    sizes = run.sizes
    finished = run.command([run.tandem, "bench", "-m", run.model, "-np", ",".join(map(str, sizes.widths)), "-p", str(sizes.many_prompt), "-n",
                            str(sizes.many_tokens), "-r", "2", "-o", "json", *flags])
    array = parsed(finished, "bench -np")
    run.records.rows += many_rows(who, array, f"{array[0]['device']}; plan {array[0]['plan']}; {notes(finished)}")


def waiting_rows(device, report):
    """Rows of empty steps, one for each policy, and of the other figures in the report."""
    found = []
    for one in report["devices"]:
        if one["problem"]:
            raise Failed(one["problem"])
        if one.get("bus"):
            found.append(Row("waiting", device, "a read across the bus", one["bus"]["p50_us"], "ok", "", "us"))
        for row in one["rows"]:
            if row["work_us"] != 0 or row["spinners"] != 0:
                continue
            if row["status"] == "measured":
                found.append(Row("waiting", device, row["policy"], row["round_trip"]["p50_us"], "ok", "", "us"))
            else:
                found.append(Row("waiting", device, row["policy"], None, row["status"], row["reason"]))
    if not any(row.status == "ok" and row.what in WAYS for row in found):
        raise Failed("no figure: " + "; ".join(sorted({row.reason for row in found})))
    return found


def waiting(run, device):
    finished = run.command([run.tandem, "bench-sync", "--device", device, "--sizes", "0,1ms", "--rounds", str(run.sizes.sync_rounds), "--json"])
    if not finished.output.strip():
        raise Failed(finished.reason())
    report = json.loads(finished.output.strip().splitlines()[0])
    with open(os.path.join(run.out, f"sync-{device.split(':')[0]}.json"), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
    run.records.rows += waiting_rows(device, report)


def breakdown(run, device):
    """Logs a table, for people, of the parts of a token's time."""
    finished = run.command([run.tandem, "bench", "-m", run.model, "--device", device, "--plan", "gpu-only", "-p", "0", "-n", str(run.sizes.tokens),
                            "-r", "1", "--breakdown"])
    if finished.status != 0:
        raise Failed(finished.reason())
