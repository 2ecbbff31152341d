"""From odds to the confidence that a report prints: one table, for every cause."""

from __future__ import annotations

from functools import lru_cache

# The lines say it in so many words.
CERTAIN = 0.97
# The lines of both sides fit this cause and no other.
LIKELY = 0.9
# It fits best; a neighbour cannot be excluded without another log.
PROBABLE = 0.75
# It fits, and so does a neighbour, a little less well.
UNSURE = 0.55
# Several causes would look the same in these logs, so each is less likely than not.
GUESS = 0.4

# Share of the odds -> how often such findings are right: benchmarks/CALIBRATION.md is measured on logs cut down as
# people cut them. A hypothesis at odds 4 against nothing but chance has 16 of 17 parts.
_TABLE = ((0.955, CERTAIN), (0.88, LIKELY), (0.7, PROBABLE), (0.51, UNSURE), (0.0, GUESS))
MOST_ODDS = 7
LEAST_SHOWN = 0.05


@lru_cache(maxsize=1 << 10)
def confidences(odds: tuple[int, ...]) -> tuple[float, ...]:
    """How sure the first of these rivals is, and the others, none of them surer than it; together at most 1.

    Odds are logarithms to base 2; beside the rivals there is always "something else" at odds 0.
    """
    parts = [2.0 ** min(max(o, -MOST_ODDS), MOST_ODDS) for o in odds]
    whole = 1 + sum(parts)
    first = next(worth for least, worth in _TABLE if parts[0] / whole >= least)
    left, others = 1 - first, sum(parts[1:])
    return (first, *(round(min(part / whole, left * part / others, first), 2) for part in parts[1:]))
