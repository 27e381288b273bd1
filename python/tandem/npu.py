"""The emulated NPU by itself."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _tandem
from ._errors import UsageError


@dataclass(frozen=True)
class Product:
    """A matrix product on the array. `cycles` are those that the array needs; `utilization` is the share of its cells'
    multiply-adds that were useful, 0 to 1; `folds` is how often the array was filled anew."""

    result: Any  # float32 [M, N]
    cycles: int
    folds: int
    utilization: float


def gemm(a: Any, b: Any, rows: int = 64, cols: int = 64, dataflow: str = "ws") -> Product:
    """Multiplies a [M, K] by b [K, N] on an array of rows x cols cells, cell by cell.

    Operands are rounded to float16, as the array's inputs are, and sums are float32. dataflow: what stays in the cells,
    "ws" (weights), "os" (outputs) or "is" (inputs).
    """
    x, y = np.asarray(a), np.asarray(b)
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        raise UsageError("the operands are no matrix product", f"{x.shape} and {y.shape}", "Give [M, K] and [K, N]")
    if x.dtype.kind not in "fiub" or y.dtype.kind not in "fiub":
        raise UsageError("the operands are no real numbers", f"{x.dtype} and {y.dtype}", "Give arrays of floats")
    sizes = (x.shape[0], x.shape[1], y.shape[1], rows, cols, dataflow)
    _tandem.npu_cycles(*sizes)  # refuses what is too large, before anything is copied
    product = _tandem.npu_product(x.astype(np.float32).tobytes(), y.T.astype(np.float32).tobytes(), *sizes)
    return Product(np.asarray(product.result()), product.cycles, product.folds, product.utilization)
