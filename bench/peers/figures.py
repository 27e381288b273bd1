"""Tests, targets, pairs of samples and verdicts of compare.py. Starts no processes."""

import re
from dataclasses import dataclass, field
from statistics import median

# Flag handshakes on virtual machines of Zen 5 (measured): 0.070-0.075 us if both virtual cores are threads of one
# physical core, 0.080 us and more between two.
ONE_CORE_BELOW_US = 0.078

MET, MISSED, NO_TARGET = "met", "missed", "no target"
NOT_JUDGED = "not judged"
ONE_PHYSICAL_CORE = f"{NOT_JUDGED}, one physical core"
CORES_MOVED = f"{NOT_JUDGED}, one physical core in one of two readings"
OTHER_LIMIT = f"{NOT_JUDGED}, the limit is not that of its device"
NO_HANDSHAKE = f"{NOT_JUDGED}, no handshake reading"


@dataclass(frozen=True)
class Test:
    """A speed test in llama-bench's terms: n_prompt tokens at once or n_gen one by one, after `depth` cached ones."""

    n_prompt: int
    n_gen: int
    depth: int = 0

    @property
    def name(self):
        kind = f"pp{self.n_prompt}" if self.n_prompt else f"tg{self.n_gen}"
        return kind + (f"@d{self.depth}" if self.depth else "")


def parse_test(text):
    """Parses 'pp256', 'tg64' or 'tg32@d1024'; ValueError for anything else."""
    match = re.fullmatch(r"(pp|tg)([1-9]\d*)(?:@d(\d+))?", text.strip())
    if not match:
        raise ValueError(f"not a test: '{text}' (pp256, tg64, tg32@d1024)")
    kind, count, depth = match[1], int(match[2]), int(match[3] or 0)
    return Test(count if kind == "pp" else 0, count if kind == "tg" else 0, depth)


def parse_list(text, parse_one=str):
    items = [parse_one(item) for item in text.split(",") if item.strip()]
    if not items:
        raise ValueError("the list is empty")
    return items


def parse_cores(text):
    """Parses '0', '0,1' or '0-3', as taskset -c does."""
    cores = set()
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip())
        if not match:
            raise ValueError(f"not a list of cores: '{text}' (0, 0,1 or 0-3)")
        cores.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    if not cores:
        raise ValueError(f"no core in '{text}'")
    return cores


@dataclass(frozen=True)
class Target:
    bound: float
    at_least: bool = True

    def met_by(self, value):
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self):
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


# Tandem's tokens/s divided by the peer's, on two cores.
SPEED_TARGETS = {
    "Q4_1": {"tg64": 2.1, "pp256": 4.0},
    "Q4_0": {"tg64": 1.7, "pp256": 1.15},
    "Q8_0": {"tg64": 1.6, "pp256": 1.8},
    "F16": {"tg64": 1.25, "pp256": 1.5},
}
# The same with 8-bit activations, which the peer always uses: on machines with AVX-512 VNNI or AVX-VNNI. F16 weights
# have none.
INT8_SPEED_TARGETS = {
    "Q4_1": {"tg64": 2.5, "pp256": 6.0},
    "Q4_0": {"tg64": 2.2, "pp256": 2.2},
    "Q8_0": {"tg64": 2.2, "pp256": 2.5},
}
NOT_BELOW_THE_PEER = ("pp512", "pp1024", "tg32@d1024")  # for every type of SPEED_TARGETS
NEIGHBOUR_TESTS = ("pp256", "tg64")
NEIGHBOUR_TARGET = Target(0.9)
START_TARGET = Target(1.0, at_least=False)  # Tandem's seconds from start to first token, divided by the peer's
SHARE_TARGET = Target(0.85)  # share of the machine's limit in the same minute
JUDGED_CORES = 2  # the targets are for this number of cores


def speed_target(type_name, test_name, cores, neighbour=False, act=None):
    """The target; None if there is none."""
    targets = INT8_SPEED_TARGETS if act == "i8" else SPEED_TARGETS
    if cores != JUDGED_CORES or type_name not in targets:
        return None
    if neighbour:
        return NEIGHBOUR_TARGET if test_name in NEIGHBOUR_TESTS else None
    if test_name in NOT_BELOW_THE_PEER:
        return Target(1.0)
    bound = targets[type_name].get(test_name)
    return Target(bound) if bound else None


@dataclass
class Pairs:
    """Samples of both programs. Equal indices were measured right after each other. The warm-up is kept apart."""

    peer: list = field(default_factory=list)
    tandem: list = field(default_factory=list)
    warm_up: tuple = ()

    def add(self, peer, tandem, warm_up=False):
        if warm_up:
            self.warm_up = (peer, tandem)
        else:
            self.peer.append(peer)
            self.tandem.append(tandem)

    @property
    def ratios(self):
        return [tandem / peer for peer, tandem in zip(self.peer, self.tandem)]

    @property
    def ratio(self):
        """The median of the pairs' ratios. The machine's speed drifts over minutes, and both samples of a pair drift
        together. The ratio of the two medians would compare different minutes."""
        return median(self.ratios)


@dataclass
class Result:
    """A line of the report: the measured quantity, its samples, and the target of the median ratio."""

    name: str
    unit: str
    pairs: Pairs = field(default_factory=Pairs)
    target: Target = None
    verdict: str = NO_TARGET
    problem: str = ""  # the reason why samples are missing


@dataclass
class Share:
    """The reached share of a limit: `value` of `limit`, both in `unit`, judged by their quotient."""

    name: str
    value: float
    limit: float
    unit: str
    target: Target
    verdict: str = NO_TARGET

    @property
    def quotient(self):
        return self.value / self.limit


def judge(value, target, not_judged=""):
    if target is None:
        return NO_TARGET
    if not_judged:
        return not_judged
    return MET if target.met_by(value) else MISSED


def judge_result(result, not_judged=""):
    """Sets the verdict. A failed result has missed its target: no result passes without having run."""
    if result.verdict.startswith(NOT_JUDGED):
        return  # the caller has left it out
    if result.problem:
        result.verdict = f"{MISSED}, it failed"
    else:
        result.verdict = judge(result.pairs.ratio, result.target, not_judged)


def why_not_judged(before_us, after_us, cores):
    """The reason why ratios of two cores cannot be judged, '' if there is none. It follows from the handshakes before
    and after the measurement (None: no reading), because a hypervisor moves virtual cores within minutes."""
    if cores != JUDGED_CORES:
        return ""
    if before_us is None or after_us is None:
        return NO_HANDSHAKE
    one_core = [reading < ONE_CORE_BELOW_US for reading in (before_us, after_us)]
    if all(one_core):
        return ONE_PHYSICAL_CORE
    return CORES_MOVED if any(one_core) else ""


def kv_cache_bytes(shapes, positions, element_bytes=2):
    """Bytes of keys and values of `positions` tokens; `shapes` is as `tandem info --json` prints it. The unused part
    of a larger cache takes no memory."""
    return 2 * shapes["layers"] * shapes["kv_heads"] * shapes["head_dim"] * positions * element_bytes


def count_verdicts(verdicts):
    counts = {MET: 0, MISSED: 0, NOT_JUDGED: 0}
    for verdict in verdicts:
        for kind in counts:
            counts[kind] += verdict.startswith(kind)
    return counts
