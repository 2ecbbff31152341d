"""A root cause, declared: what it explains, which signs speak for and against it, what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Sign
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline

Usual = Literal["fault", "planned", "benign", "unknown"]

DECISIVE, STRONG, WEAK = 4, 2, 1
"""Log-odds to base 2, in coarse steps: nothing is learned from samples."""


class Row(Struct, frozen=True, kw_only=True):
    """One line of a sign table: what a sign adds to the odds where it is present, and where it is absent."""

    sign: Sign
    present: int = 0
    absent: int = 0
    weight: int = 0
    """The most it can decide."""

    def __post_init__(self) -> None:
        """Of its two weights the heavier one counts."""
        force_setattr(self, "weight", max(abs(self.present), abs(self.absent)))


def speaks_for(sign: Sign, weight: int, *, absent: int = 0) -> Row:
    """Present, it supports the cause; `absent` is what its absence takes away, where it would have been seen."""
    return Row(sign=sign, present=weight, absent=-absent)


def speaks_against(sign: Sign, weight: int, *, absent: int = 0) -> Row:
    """Present, it counts against the cause; `absent` is what its absence adds."""
    return Row(sign=sign, present=-weight, absent=absent)


class Cause(Struct, frozen=True, kw_only=True):
    """One root cause: how to put it forward, how to weigh it, how to explain it. Its id is its module's name.

    `brings` names the causes that follow from this one: told in its incident, not beside it.
    `lookalikes` names those that a reader would think of; where a sign contradicts them, the report rules them out.
    """

    summary: str
    mechanism: str
    shows: str
    remedy: str
    usual: Usual
    propose: Callable[[Timeline], Iterable[Hypothesis]]
    evidence_types: tuple[type[Event | Fact], ...] = ()
    """The types of lines and facts that tell of it: without any of them it proposes nothing, and is not asked.

    A cause that declares none is always asked.
    """
    signs: tuple[Row, ...] = ()
    excluding: tuple[Row, ...] = ()
    """Those of its signs that alone can rule it out, as their weights say."""
    deciding: tuple[Row, ...] = ()
    """Rows with enough weight to fetch a log for them."""
    prior: int = 0
    implies: tuple[str, ...] = ()
    lookalikes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    kips: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Pick out the signs that decide against it."""
        force_setattr(self, "excluding", tuple(row for row in self.signs if min(row.present, row.absent) <= -DECISIVE))
        force_setattr(self, "deciding", tuple(row for row in self.signs if row.weight >= STRONG))
