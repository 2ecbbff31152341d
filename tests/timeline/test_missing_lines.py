from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import GroupCase, investigate
from rebalance_forensics.diagnosis.gaps import once_for_each_log
from rebalance_forensics.diagnosis.model import Gap
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.coverage import LogRead, covering
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.missing_lines import Span, missing_lines
from rebalance_forensics.timeline.time_index import lists_by_key
from tests.diagnosis.closings import closes, comes
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_network_partition import LOST, cut_off
from tests.diagnosis.test_process_pause import UNKNOWN
from tests.story import Story, ms

PRODUCER = "org.apache.kafka.clients.producer.internals.TransactionManager"
GENERATION = f"Generation{{generationId=1, memberId='c-3-{'0' * 8}', protocol='range'}}"
FOUND = "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)"


def found_twice(between: str | None = None) -> Story:
    story = Story().formed("c-1", "c-2").client("c-1", "01:00:00.010", FOUND)
    if between is not None:
        story.client("c-1", "01:20:00.000", between)
    return story.client("c-1", "01:30:00.000", FOUND)


def test_a_coordinator_found_again_that_was_never_given_up_shows_that_lines_are_missing() -> None:
    timeline = found_twice().timeline()
    assert timeline.coverage.missing == {"c-1/app.log": [(ms("01:00:00.010"), ms("01:30:00.000"))]}
    (c_1,) = (a for a in timeline.participants.everybody if a.name == "c-1")
    assert not covering(timeline.coverage.of(c_1), ms("01:10:00.000"), ms("01:30:00.000"))


def test_a_coordinator_found_again_after_it_was_given_up_shows_a_whole_log() -> None:
    assert not found_twice(LOST).timeline().coverage.missing


def test_a_process_that_was_started_again_finds_its_coordinator_again() -> None:
    # The threads of a Streams instance subscribe after they have found it, and its configuration names no client.
    assert not found_twice("Kafka version: 4.4.0").timeline().coverage.missing


def test_a_transactional_producer_looks_for_its_coordinator_again_without_a_word() -> None:
    story = Story().formed("c-1", "c-2")
    for time in ("01:00:00.010", "01:30:00.000"):
        message = f"[Producer clientId=c-1, transactionalId=orders] {FOUND}"
        story.line(
            "c-1/app.log", time, message, logger="org.apache.kafka.clients.producer.internals.TransactionManager"
        )
    assert not story.timeline().coverage.missing


def test_a_coordinator_that_skips_a_generation_logged_it_where_its_lines_are_missing() -> None:
    story = Story().formed("c-1", "c-2")
    assert not story.timeline().coverage.missing
    story.generation += 4
    story.rebalanced("01:30:00.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert list(story.timeline().coverage.missing) == ["broker-2/server.log"]


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_rolled_file_is_missing_where_the_numbers_of_the_others_skip(suffix: str) -> None:
    base, first, third = ("server.log", "b"), (f"server.log.1{suffix}", "b"), (f"server.log.3{suffix}", "b")
    assert missing_lines(EventIndex([]), {third: (0, 9), first: (20, 29), base: (30, 39)}) == {first: [(9, 20)]}
    second = f"server.log.2{suffix}", "b"
    assert not missing_lines(EventIndex([]), {third: (0, 9), second: (9, 19), first: (20, 29), base: (30, 39)})


def test_log4j_2_counts_rolled_files_on() -> None:
    names = ("app.log.17", "app.log.18", "app.log.19", "app.log")
    whole: dict[Place, Span] = {(name, "b"): (10 * place, 10 * place + 9) for place, name in enumerate(names)}
    assert not missing_lines(EventIndex([]), whole)
    del whole["app.log.18", "b"]
    assert missing_lines(EventIndex([]), whole) == {("app.log.19", "b"): [(9, 20)]}


def test_a_hole_around_the_time_when_a_member_was_cut_off_proves_no_pause() -> None:
    story = cut_off().client("c-3", "01:00:00.010", FOUND)
    story.client("c-3", "01:10:12.000", FOUND)
    story.client("c-3", "01:10:12.010", UNKNOWN.format(GENERATION))
    hole = ms("01:09:00.000"), ms("01:10:11.000")
    story.events = [e for e in story.events if e.speaker.client_id != "c-3" or not hole[0] <= (e.at or 0) <= hole[1]]
    assert all(cause.confidence < 0.75 for i in story.incidents() for cause in i.root_causes)
    assert any("c-3/app.log" in gap.what for gap in story.case().gaps)


def test_a_returned_member_that_never_logged_its_loss_may_have_been_restarted() -> None:
    story = evicted().reborn("c-3")
    story.rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert all(cause.confidence < 0.75 for i in story.incidents() for cause in i.root_causes)


JOURNALD = "Suppressed 1427 messages from orders.service"
FLUENTD = "failed to write data into buffer by buffer overflow action=:drop_oldest_chunk"
QUEUE_FULL = (
    "Async queue is full, discarding event with level INFO. This message will only appear once; future events from "
    "INFO are silently discarded until queue capacity becomes available."
)


def silent_and_back() -> Story:
    """A member that is silent while its session runs out, and then learns that it was removed."""
    story = evicted().client("c-3", "01:10:20.000", UNKNOWN.format(GENERATION))
    story.reborn("c-3")
    return story.rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])


def own_and_shared(story: Story) -> tuple[list[Event], UngroupedEvents]:
    """The lines of logs that last from their first to their last line here."""
    logs = {
        place: LogRead(min(times), max(times))
        for place, times in lists_by_key((place_of(e), e.at) for e in story.events if e.at is not None).items()
    }
    shared = UngroupedEvents([e for e in story.events if e.group is None], logs)
    return [e for e in story.events if e.group is not None], shared


def case_of(story: Story) -> GroupCase:
    """What the program makes of them."""
    return investigate("default", story.group, *own_and_shared(story))


def timeline_of(story: Story) -> Timeline:
    """The group's history by them."""
    return build("default", story.group, *own_and_shared(story))


def surest(case: GroupCase) -> float:
    """The confidence of the surest cause, but of the start and the end of the group."""
    causes = [cause for incident in case.incidents for cause in incident.root_causes]
    return max(cause.confidence for cause in causes if cause.cause not in {"startup", "shutdown"})


@pytest.mark.parametrize(
    ("log", "time", "notice"),
    [
        ("c-3/app.log", "01:10:19.900", "Discarded 812 messages due to full event buffer including: Heartbeat failed"),
        ("c-3/app.log", "01:08:01.000", QUEUE_FULL),
        ("c-3/fluentd.log", "01:11:00.000", FLUENTD),
        ("logging/fluentd-x7k2p.log", "01:11:00.000", FLUENTD),
    ],
)
def test_a_log_of_which_lines_were_dropped_proves_nothing_by_its_silence(log: str, time: str, notice: str) -> None:
    assert surest(case_of(silent_and_back())) >= 0.75
    case = case_of(silent_and_back().line(log, time, notice))
    assert surest(case) < 0.75
    assert any("c-3/app.log" in gap.what and "dropped" in gap.what for gap in case.gaps)


def test_a_shipper_drops_no_lines_that_are_written_later() -> None:
    for log in ("c-3/fluentd.log", "logging/fluentd-x7k2p.log"):
        assert surest(case_of(silent_and_back().line(log, "00:01:00.000", FLUENTD))) >= 0.75


def test_lines_that_another_process_lost_leave_a_log_as_it_is() -> None:
    story = silent_and_back()
    story.line("c-3/app.log", "01:10:19.900", "imuxsock[pid 4242]: 236 messages lost due to rate-limiting")
    story.events = [replace(e, speaker=replace(e.speaker, pid=17)) for e in story.events]
    assert surest(case_of(story)) >= 0.75


def found_again(spans: Mapping[str, Span]) -> Mapping[str, Sequence[Span]]:
    """Path -> missing lines, where each of these clients found its coordinator twice and never gave it up between."""
    story = Story().formed("c-1", "c-2", "c-3")
    for client, minutes in spans.items():
        for minute in minutes:
            story.client(client, f"02:{minute:02}:00.000", FOUND)
    story.client("c-3", "02:59:00.000", "Revoke previously assigned partitions orders-4")
    return timeline_of(story).coverage.missing


def test_a_stretch_that_two_logs_lack_is_missing_from_all_that_are_silent_then() -> None:
    missing = found_again({"c-1": (0, 30), "c-2": (10, 40)})
    assert missing["c-3/app.log"] == [(ms("02:10:00.000"), ms("02:30:00.000"))]
    assert "c-3/app.log" not in found_again({"c-1": (0, 30)})


def test_logs_that_lack_lines_at_different_times_were_collected_with_losses() -> None:
    missing = found_again({"c-1": (0, 10), "c-2": (20, 40)})
    assert missing["c-3/app.log"][-1][1] == ms("02:59:00.000")


def test_members_that_stopped_and_came_back_were_restarted_though_logs_lose_lines() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    for client, minute in (("c-2", 10), ("c-3", 11)):
        closes(story, client, f"01:{minute}:00.000", [c for c in ("c-1", "c-2", "c-3") if c != client])
        comes(story, client, f"01:{minute}:08.000", ["c-1", "c-2", "c-3"])
    whole = surest(case_of(story))
    for minute in (20, 30):
        story.client("c-1", f"01:{minute}:00.000", FOUND)
    assert surest(case_of(story)) == whole >= 0.75


@pytest.mark.parametrize("lossy", [False, True])
def test_a_member_that_closed_may_be_back_where_logs_lose_lines(*, lossy: bool) -> None:
    story = closes(Story().formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    for client, minutes in {"c-1": (20, 30), "c-2": (40, 50)}.items():
        for minute in minutes:
            story.client(client, f"01:{minute}:00.000", FOUND if lossy else "Revoke previously assigned partitions")
    assert (surest(case_of(story)) < 0.75) is lossy


def test_missing_lines_of_a_log_are_a_gap_once_with_the_groups_that_lack_them() -> None:
    def gap(group: str, begin: int) -> Gap:
        template = "Lines of app.log are missing ({group}): Fluentd logged that lines were dropped."
        what = template.replace("{group}", f"group {group}")
        return Gap(
            what=what, template=template, group=group, log="a/app.log", started_at=EpochMs(begin), consequence=""
        )

    alone = gap("orders", 3)
    assert [*once_for_each_log([alone])] == [alone]
    (together,) = once_for_each_log([gap("payments", 2), alone])
    assert "(groups orders and payments)" in together.what
    assert (together.started_at, together.group) == (2, None)
