"""A cause that declares which lines and facts tell of it has nothing to say of a group that shows none of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import pytest

from rebalance_forensics.diagnosis.case import GroupCase, investigate
from rebalance_forensics.diagnosis.engine.discovery import all_causes
from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline import stages
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.group_timeline import Timeline
from tests.incidents.sample import LOCAL, all_samples

DECLARED = sorted(name for name, cause in all_causes().items() if cause.evidence_types)


class Group(NamedTuple):
    """What a timeline is built of."""

    cluster: str
    name: str
    events: tuple[Event, ...]
    ungrouped: UngroupedEvents

    def timeline_without(self, kinds: Iterable[type]) -> Timeline:
        """The group as if nobody had logged lines of these types."""
        left_out = tuple(kinds)
        return build(self.cluster, self.name, [e for e in self.events if not isinstance(e, left_out)], self.ungrouped)


@cache
def groups() -> list[tuple[Group, Timeline]]:
    """Every group of the samples."""
    found: list[Group] = []

    def kept(
        cluster: str, group: str, events: Iterable[Event], ungrouped: UngroupedEvents, *, lanes: bool
    ) -> GroupCase:
        found.append(Group(cluster, group, tuple(events), ungrouped))
        return investigate(cluster, group, found[-1].events, ungrouped, lanes=lanes)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "investigate", kept)
        for sample in all_samples():
            analyze([str(sample.folder)], LOCAL)
    return [(group, group.timeline_without(())) for group in found]


@pytest.mark.parametrize("name", DECLARED)
def test_a_cause_is_silent_on_groups_that_show_nothing_of_it(name: str) -> None:
    cause = all_causes()[name]
    spoke_up = unasked = 0
    for group, timeline in groups():
        proposes = bool(list(cause.propose(timeline)))
        if not timeline.shows_any(cause.evidence_types):
            unasked += 1
            assert not proposes, group.name
        elif proposes:
            spoke_up += 1
            bare = group.timeline_without(cause.evidence_types)
            assert bare.shows_any(cause.evidence_types) or not list(cause.propose(bare)), group.name
    assert spoke_up
    assert unasked
