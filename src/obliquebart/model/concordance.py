"""Harrell's concordance: how often the row with the higher risk has the earlier event."""

from __future__ import annotations

import numpy as np

from obliquebart.model.times import FloatArray, Times

# Rows that are compared directly; with more of them sorting is faster.
BLOCK = 2048


def concordance(times: Times, risk: FloatArray) -> float:
    """Return the share of comparable pairs that the risk puts in the right order.

    A pair is comparable if one event is known to be earlier than the other: before it, or at the
    time at which the other was censored. Equal risks count half. Without comparable pairs the
    result is NaN.
    """
    lower, upper = times
    is_exact = times.is_exact
    # In this order, the rows that are later than a given event are the last ones.
    order = np.lexsort((~is_exact, lower))
    risks, limits = risk[order], lower[order]
    events = np.isfinite(upper)
    wanted, ends = risk[events], upper[events]
    exact = np.sort(lower[is_exact])
    first = np.searchsorted(limits, ends, "left")
    first += np.searchsorted(exact, ends, "right") - np.searchsorted(exact, ends, "left")
    n_lower = n_equal = 0
    for begin in range(0, len(risks), BLOCK):
        end = min(begin + BLOCK, len(risks))
        here = (first >= begin) & (first < end)
        own, start = wanted[here], first[here]
        later = np.sort(risks[end:])
        left, right = np.searchsorted(later, own, "left"), np.searchsorted(later, own, "right")
        n_lower += int(left.sum())
        n_equal += int((right - left).sum())
        is_later = np.arange(begin, end) >= start[:, None]
        n_lower += int((is_later & (risks[begin:end] < own[:, None])).sum())
        n_equal += int((is_later & (risks[begin:end] == own[:, None])).sum())
    n_pairs = int((len(risks) - first).sum())
    return (n_lower + 0.5 * n_equal) / n_pairs if n_pairs else float("nan")
