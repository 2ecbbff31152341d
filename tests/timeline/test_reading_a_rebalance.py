"""The three tips of "How to Read a Rebalance", answered for its own example: leaders, timing, membership."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.group_patterns import patterns_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.read_plan import plan_reading
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.pipeline.schemas import Kind, event_of, rows_of
from rebalance_forensics.pipeline.stages import read_portion
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.terminal import render_timeline
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.model import Reading
from tests.timeline.otter import consumer_of, otter_app

LOCAL = AnalyzeOptions(engine="local")
MINUTE = 60_000


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return otter_app().write(tmp_path_factory.mktemp("otter") / "logs")


@pytest.fixture(scope="module")
def report(nodes: Path) -> Report:
    return analyze([str(nodes)], LOCAL)


def events_in(logs: Path) -> list[Event]:
    plan = plan_reading([str(logs)], LOCAL, workers=1)
    batches = chain.from_iterable(read_portion(portion, plan.reading) for portion in plan.portions)
    return [
        event_of(row) for row in chain.from_iterable(map(rows_of, batches)) if row.kind in (Kind.SHARED, Kind.EVENT)
    ]


@pytest.fixture(scope="module")
def patterns(nodes: Path) -> Reading:
    events = events_in(nodes)
    own, shared = [e for e in events if e.group], [e for e in events if not e.group]
    timeline = build("default", "otter-app", own, shared)
    return patterns_of(timeline)


def test_it_is_a_streams_application_of_two_nodes_without_a_broker(report: Report) -> None:
    (group,) = report.groups
    assert (group.group, group.kind) == ("otter-app", "streams")
    assert "broker" not in {i.component for i in report.inputs}


def test_tip_1_who_led_each_rebalance(patterns: Reading) -> None:
    leaders = [one.leader for one in patterns.participants]
    assert leaders == [consumer_of((0, 2)), consumer_of((1, 1)), *[consumer_of((0, 1))] * 5]


def test_tip_1_the_report_names_them_too(report: Report) -> None:
    leaders = [(g.leader or "").rpartition("-consumer-")[0] for g in report.groups[0].generations]
    named = [consumer_of((0, 2)), consumer_of((1, 1)), *[consumer_of((0, 1))] * 5]
    assert leaders == [name.removesuffix("-consumer") for name in named]


def test_tip_1_leadership_was_not_stable_until_the_third_took_over(patterns: Reading) -> None:
    assert patterns.leadership.stable is False
    assert [change.generation for change in patterns.leadership.changes] == [741, 742]


def test_tip_2_two_rebalances_are_close_together(patterns: Reading) -> None:
    burst = next(b for b in patterns.close_together if 743 in b.generations)
    assert 742 in burst.generations


def test_tip_2_the_sync_in_between_failed_because_another_rebalance_had_begun(patterns: Reading) -> None:
    failed = [f for burst in patterns.close_together for f in burst.failures if f.generation == 742]
    assert [(f.api, f.error, f.who) for f in failed] == [("SyncGroup", "REBALANCE_IN_PROGRESS", consumer_of((0, 1)))]


def test_tip_2_why_the_leaders_before_lost_their_role_is_shown(report: Report) -> None:
    failures = [f for g in report.groups[0].generations for f in g.failures]
    assert sum("UNKNOWN_MEMBER_ID" in f for f in failures) == 2


def test_tip_2_the_probing_rebalances_are_evenly_spaced(patterns: Reading, report: Report) -> None:
    even = [s for s in patterns.spacings if s.evenly]
    assert {s.setting for s in even} == {"probing.rebalance.interval.ms"}
    assert all(abs(s.gap_ms - 10 * MINUTE) < 1_000 for s in even)
    followups = {g.generation: g.followup for g in report.groups[0].generations}
    assert [followups[n] for n in (744, 745, 746)] == ["probing"] * 3


def test_tip_3_the_same_four_consumers_took_part_each_time(patterns: Reading) -> None:
    assert [(p.clients, p.consumers) for p in patterns.participants] == [(2, 4)] * 7
    assert all(p.missing == p.new == () for p in patterns.participants)


def test_tip_3_those_that_lost_their_membership_came_back_under_a_new_id(patterns: Reading) -> None:
    renewed = {p.generation: p.renewed for p in patterns.participants if p.renewed}
    assert renewed == {741: (consumer_of((0, 2)),), 742: (consumer_of((1, 1)),)}


def test_all_three_are_answered_in_the_timeline_and_the_page_without_grep(report: Report) -> None:
    words = " ".join(render_timeline(report.groups[0], width=400).split())
    page = " ".join(re.sub("<[^>]+>", " ", to_html(report)).split())
    for answer in (
        "Leadership moved twice in 7 rebalances.",
        f"{consumer_of((0, 1))} led generations 742-746",
        f"SyncGroup of {consumer_of((0, 1))} failed at 11:10:57.345 with REBALANCE_IN_PROGRESS",
        "another rebalance had begun before the assignment of generation 742 reached this member",
        "3 regular intervals of 10 min to 10 min 01 s, which matches probing.rebalance.interval.ms (600000 ms",
        f"back under a new id: {consumer_of((0, 2))}",
    ):
        assert _by_host_and_number(answer) in words
        assert _by_host_and_number(answer) in page
    for consumer in ((0, 1), (0, 2), (1, 1)):
        assert consumer_of(consumer) in to_html(report)


def _by_host_and_number(answer: str) -> str:
    """Sentences call a stream thread as operators do, by the host of its process and its number there."""
    for thread in ((0, 1), (0, 2), (1, 1), (1, 2)):
        answer = answer.replace(consumer_of(thread), f"node{thread[0]}/T{thread[1]}")
    return answer


def test_the_report_proves_the_failed_sync_by_its_line(report: Report, nodes: Path) -> None:
    (proof,) = {f.evidence for b in report.groups[0].reading.close_together for f in b.failures if f.generation == 742}
    assert "SyncGroup failed" in (nodes / proof.path).read_text().splitlines()[proof.line - 1]
