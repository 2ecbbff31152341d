"""The law of whole seconds: a layout without milliseconds decides nothing about what happened."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from zlib import crc32

import pytest
from msgspec import structs

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.clocks.file_clocks import place_of
from tests.stretching import ClusterLogs, cluster_logs_in

SAMPLES = Path(__file__).parents[2] / "sample_logs"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
WHOSE = ("clients", "all")


def shown() -> list[object]:
    """Both in the long run; in the short one each sample with one of the two, by its hash."""
    pairs = [(name, whose) for name in NAMES for whose in WHOSE]
    return [
        pytest.param(*pair, marks=[] if WHOSE[crc32(pair[0].encode()) % 2] == pair[1] else [pytest.mark.long])
        for pair in pairs
    ]


@cache
def logs_of(name: str) -> tuple[ClusterLogs, ...]:
    return tuple(cluster_logs_in(SAMPLES / name))


def in_whole_seconds(logs: ClusterLogs, whose: str) -> ClusterLogs:
    """The same lines without their milliseconds."""
    brokers = {place_of(event) for event in logs.events if event.speaker.role == "broker"}

    def cut(event: Event) -> Event:
        kept = event.at is None or (whose == "clients" and place_of(event) in brokers)
        return event if kept else structs.replace(event, at=EpochMs((event.at or 0) // 1000 * 1000))

    return replace(logs, events=tuple(map(cut, logs.events)))


@cache
def cases(name: str, whose: str) -> tuple[GroupCase, ...]:
    return tuple(case for logs in logs_of(name) for case in in_whole_seconds(logs, whose).cases())


@pytest.mark.parametrize(("name", "whose"), shown())
def test_the_verdicts_are_those_of_the_milliseconds(name: str, whose: str) -> None:
    found = {case.history.group: sorted(i.root_causes[0].cause for i in case.incidents) for case in cases(name, whose)}
    assert found == {group: causes for logs in logs_of(name) for group, causes in logs.verdicts().items()}


@pytest.mark.parametrize(("name", "whose"), shown())
def test_a_duration_below_a_second_is_not_reported_as_zero(name: str, whose: str) -> None:
    for case in cases(name, whose):
        blurred = [pause for pause in case.history.pauses if pause.is_blurred]
        assert all(pause.lasted_ms is None for pause in blurred)
        for incident in case.incidents:
            during = [p for p in blurred if incident.started_at <= p.started_at <= (incident.ended_at or p.started_at)]
            assert not during or incident.impact.pause_ms != 0
            assert not during or incident.impact.unread_partition_ms != 0
            assert not during or incident.impact.stopped_ms != 0
