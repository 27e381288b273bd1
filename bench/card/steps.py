"""The steps, the most useful first. Each has its own limit, and names the rows that it owes when it fails."""

from dataclasses import dataclass, field

import peer_steps
import tandem_steps


@dataclass
class Sizes:
    prompts: tuple = (512, 2048)
    tokens: int = 64
    depth: int = 2048
    widths: tuple = (8, 32)
    many_prompt: int = 128
    many_tokens: int = 32
    text_tokens: int = 128
    repetitions: int = 3
    sync_rounds: int = 300
    golden_cases: int = 100  # all of them


SMALL = Sizes((32, 64), 8, 64, (2, 4), 8, 4, 8, 1, 20, 4)


@dataclass
class Step:
    name: str
    act: object  # act(run) adds rows to run.records; raises Failed
    limit: float  # seconds
    least: float = 3  # with fewer seconds left, the step is left out
    owes: list = field(default_factory=list)  # (section, who, what) of the rows that it should give
    alone: bool = True  # it is timed, so nothing else runs
    needs_peer: bool = False


def beside_the_build():
    return [
        Step("machine", tandem_steps.machine, 15, alone=False),
        Step("llama.cpp: start of its build", peer_steps.start_build, 10, alone=False),
        Step("devices", tandem_steps.devices, 60, alone=False),
        Step("model", tandem_steps.make_model, 90, alone=False),
    ]


def correctness(run):
    return [Step(f"golden logits, {device}", lambda run, device=device: tandem_steps.golden_logits(run, device), 80, alone=False,
                 owes=[("correct", device, "golden logits")]) for device in run.gpus]


def timed(run):
    """The steps whose figures are times. The model file must exist."""
    sizes, gpus = run.sizes, run.gpus
    speeds = tandem_steps.speed_names(sizes)
    many = tandem_steps.many_names(sizes)

    def speed(who, flags, limit=75):
        return Step(f"bench, {who}", lambda run: tandem_steps.bench(run, who, flags), limit, 8, [("speed", who, what) for what in speeds])

    def texts(who, flags, limit=60):
        return Step(f"many texts, {who}", lambda run: tandem_steps.many_texts(run, who, flags), limit, 8, [("texts", who, what) for what in many])

    def alone(device, *more):
        return ["--device", device, "--plan", "gpu-only", *more]

    default = "Tandem, default devices"
    first, others = gpus[:1], gpus[1:]
    def first_texts(name, who, flags):
        return Step(name, lambda run: tandem_steps.first_texts(run, who, flags), 100, 8,
                    [("first text", f"{who}, {turn}", "writing, tokens/s") for turn in tandem_steps.TURNS])

    only = ["--plan", "gpu-only"]  # on the default device: plan auto must not be slower
    steps = [
        first_texts("first texts", "default devices", []),
        first_texts("first texts, gpu-only", "gpu-only", only),
        speed(default, [], 90),
        speed(default + ", gpu-only", only, 90),
        Step("bench, llama.cpp", peer_steps.bench, 60, 5, [("speed", peer_steps.WHO, what) for what in speeds], needs_peer=True),
        *(speed(f"Tandem, {device}", alone(device)) for device in first),
        speed(default + " --fast", ["--fast"], 90),
        texts(default, []),
        Step("many texts, llama.cpp", peer_steps.many_texts, 60, 5, [("texts", peer_steps.WHO, what) for what in many], needs_peer=True),
        *(Step(f"bench-sync, {device}", lambda run, device=device: tandem_steps.waiting(run, device), 40, 4, [("waiting", device, "blocking")])
          for device in gpus),
        *(speed(f"Tandem, {device} --fast", alone(device, "--fast")) for device in first),
        *(speed(f"Tandem, {device}", alone(device)) for device in others),
        *(texts(f"Tandem, {device}", alone(device)) for device in first),
        *(texts(f"Tandem, {device} --fast", alone(device, "--fast")) for device in first),
        *(speed(f"Tandem, {device} --fast", alone(device, "--fast")) for device in others),
        *(Step(f"breakdown, {device}", lambda run, device=device: tandem_steps.breakdown(run, device), 50, 6) for device in first),
        first_texts("first texts --fast", "default devices --fast", ["--fast"]),
    ]
    return steps
