"""Map odds to the confidence that a report prints, with one table for all causes."""

from __future__ import annotations

from functools import lru_cache

# The lines state the cause explicitly.
CERTAIN = 0.97
# The lines of both the coordinator and the clients match this cause and no other.
LIKELY = 0.9
# The best match, but ruling out a similar cause takes another log.
PROBABLE = 0.75
# A similar cause matches nearly as well.
UNSURE = 0.55
# Several causes would look the same in these logs: each is less likely than not.
GUESS = 0.4

# Minimum probability -> how often such verdicts are right, measured on logs truncated as people truncate them
# (benchmarks/CALIBRATION.md). A hypothesis at odds 4 without a rival has a probability of 16/17.
_TABLE = ((0.955, CERTAIN), (0.88, LIKELY), (0.7, PROBABLE), (0.51, UNSURE), (0.0, GUESS))
MOST_ODDS = 7
LEAST_SHOWN = 0.05


@lru_cache(maxsize=1 << 10)
def confidences(odds: tuple[int, ...]) -> tuple[float, ...]:
    """Return the confidence of the first hypothesis and of its rivals: none exceeds the first, and their sum at most 1.

    Odds are base-2 logarithms; "something else", at odds 0, always competes too.
    """
    parts = [2.0 ** min(max(o, -MOST_ODDS), MOST_ODDS) for o in odds]
    whole = 1 + sum(parts)
    first = next(worth for least, worth in _TABLE if parts[0] / whole >= least)
    left, others = 1 - first, sum(parts[1:])
    return (first, *(round(min(part / whole, left * part / others, first), 2) for part in parts[1:]))
