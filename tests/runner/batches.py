"""Groups tests by process: starting a program, loading its drivers and opening devices is most of a short test."""

from dataclasses import dataclass
from itertools import groupby

MOST_TESTS = 250  # in a batch, because the command line must hold their names
MOST_LETTERS = 60_000


@dataclass(frozen=True)
class Batch:
    tests: tuple

    @property
    def locks(self):
        return self.tests[0].locks

    @property
    def together(self):
        return len(self.tests) > 1


def kind(test):
    """The kind of a test. Tests of one kind may run in one process."""
    return (test.program, test.folder, sorted(test.locks), test.environment, test.appended)


def pieces(tests):
    piece, letters = [], 0
    for test in tests:
        if piece and (len(piece) == MOST_TESTS or letters + len(test.inside) > MOST_LETTERS):
            yield tuple(piece)
            piece, letters = [], 0
        piece.append(test)
        letters += len(test.inside) + 1
    if piece:
        yield tuple(piece)


def batches(tests, alone=False):
    """The batches in the order of their starts. `alone`: each test has a process of its own, as with ctest."""
    result = [Batch((test,)) for test in tests if alone or not test.inside]
    joined = sorted((test for test in tests if test.inside and not alone), key=lambda test: (kind(test)[0], repr(kind(test))))
    for _, group in groupby(joined, key=kind):
        result += [Batch(piece) for piece in pieces(group)]
    return sorted(result, key=lambda batch: (not batch.tests[0].begun_first, -len(batch.tests)))
