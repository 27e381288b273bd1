"""Sums over times. Pure functions."""

import math
from statistics import median


def percentile(values, percent):
    """The smallest value that so many per cent of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def speed(texts, prompt, written, seconds):
    """Tokens a second, read and written, over all texts."""
    return texts * (prompt + written) / seconds


def ratio_of_pairs(ours, others):
    """The median of the ratios within each round, because a machine's speed changes from round to round."""
    return median(a / b for a, b in zip(ours, others))


def milliseconds(values):
    """p50 and p99 as words."""
    return f"{percentile(values, 50) * 1e3:.1f} ms, {percentile(values, 99) * 1e3:.1f} ms"
