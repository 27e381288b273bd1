"""Memory stays as it is over rounds of load, generate and close. TANDEM_ROUNDS says how many rounds."""
import os
import resource

import numpy as np
from conftest import MODEL, ON_HOST

import tandem

ROUNDS = int(os.environ.get("TANDEM_ROUNDS", "60"))


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def test_rounds_of_load_generate_and_close_leave_memory_flat():
    sizes = []
    for _ in range(ROUNDS):
        with tandem.Model.load(MODEL, context=256, **ON_HOST) as model:
            model.generate("Once", predict=4)
            model.embed("Once")
            model.eval([5, 7])
        sizes.append(resident_kib())
    # The first rounds fill caches of the allocator's.
    first, last = np.median(sizes[ROUNDS // 4: ROUNDS // 2]), np.median(sizes[-ROUNDS // 4:])
    print(f"{ROUNDS} rounds: {first} KiB, then {last} KiB")
    assert abs(last / first - 1) < 0.03, sizes[:: max(1, ROUNDS // 20)]
