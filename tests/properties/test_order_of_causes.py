"""The law of order: which cause is asked first, and which of its hypotheses it puts forward first, decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis import case
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.engine import discovery
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.timeline.group_timeline import Timeline
from tests.stretching import cluster_logs_in

SAMPLES = Path(__file__).parents[2] / "sample_logs"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


def last_first(propose: Callable[[Timeline], Iterator[Hypothesis]]) -> Callable[[Timeline], Iterator[Hypothesis]]:
    return lambda timeline: reversed(list(propose(timeline)))


def turned_round(causes: dict[str, Cause]) -> dict[str, Cause]:
    """The same causes in the opposite order, each with its signs and its hypotheses in the opposite order."""
    return {
        name: replace(one, signs=one.signs[::-1], propose=last_first(one.propose))  # type: ignore[arg-type]
        for name, one in reversed(causes.items())
    }


def verdict(one: Incident) -> object:
    """What an incident says, but for the order in which equals stand."""
    causes = [(c.cause, c.confidence, sorted(u.name for u in c.culprits)) for c in one.root_causes]
    ruled_out = sorted(r.cause for r in one.ruled_out)
    wanted = sorted((w.needs, w.started_at or 0, w.ended_at or 0, sorted(w.between)) for w in one.would_decide)
    return one.started_at, one.ended_at, one.severity, one.summary, one.generations, causes, ruled_out, wanted


@pytest.mark.parametrize("name", NAMES)
def test_causes_asked_in_the_opposite_order_reach_the_same_verdicts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (in_order, *others) = cluster_logs_in(SAMPLES / name)
    assert not others
    as_it_is = [verdict(one) for group in in_order.cases() for one in group.incidents]
    opposite = turned_round(discovery.all_causes())
    monkeypatch.setattr(discovery, "all_causes", lambda: opposite)
    monkeypatch.setattr(case, "all_causes", lambda: opposite)
    assert [verdict(one) for group in in_order.cases() for one in group.incidents] == as_it_is
