"""The chain of a cause as readers see it: steps that say the same in a row are told once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from rebalance_forensics.diagnosis.model import ChainLink, RootCause
from rebalance_forensics.records import EpochMs, is_timed
from rebalance_forensics.report.times import time_of_day
from rebalance_forensics.timeline.model import Evidence


class Step(Struct, frozen=True, kw_only=True):
    """One step, with how often it came in a row and when last."""

    at: EpochMs | None
    what: str
    evidence: Evidence | None
    times: int = 1
    last_at: EpochMs | None = None

    @property
    def repeated(self) -> str:
        """`, 9 times until 02:20:38.647`; empty for what happened once."""
        until = f" until {time_of_day(self.last_at)}" if is_timed(self.last_at) else ""
        return f", {self.times} times{until}" if self.times > 1 else ""


def steps_of(cause: RootCause) -> Iterator[Step]:
    """Fold each run of links with the same words."""
    for what, run in groupby(cause.chain, key=lambda link: link.what):
        links: list[ChainLink] = list(run)
        first = links[0]
        yield Step(at=first.at, what=what, evidence=first.evidence, times=len(links), last_at=links[-1].at)
