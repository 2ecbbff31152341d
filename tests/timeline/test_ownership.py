from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_forensics.events.partitions import PartitionsRevoked
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.model import UnreadSpan
from rebalance_forensics.timeline.ownership.owners import ownership_of
from tests.diagnosis.expiries import evicted
from tests.diagnosis.statics import said_by_static
from tests.incidents.sample import Sample, all_samples, report_of
from tests.kafka_words import generation_of
from tests.story import Story, ms


def unread(story: Story, partition: str) -> list[UnreadSpan]:
    return [span for span in story.history().unread if span.partition == partition]


def test_partitions_of_a_dead_member_are_unread_for_its_session_and_until_they_are_reassigned() -> None:
    story = evicted()
    story.started("c-1", "00:59:00.000", **{"session.timeout.ms": 45_000}).goes_on("01:12:00.000")
    (span,) = [s for s in story.history().unread if s.client_id == "c-3" and s.partition == "orders-4"]
    assert (span.why, span.certain) == ("dead", False)
    assert span.from_earliest == ms("01:09:15.000")
    assert ms("01:09:15.000") <= span.started_at <= ms("01:09:18.000"), "a heartbeat interval after the last one"


def killed_and_restarted() -> Story:
    """c-3's new process prints its settings at 01:10:00 and joins; the session of the killed one ends at 01:10:30."""
    story = Story(release=(4, 0)).formed("c-1", "c-2", "c-3")
    story.started("c-1", "00:59:00.000", **{"session.timeout.ms": 45_000})
    settings = "ConsumerConfig values: \n\tclient.id = c-3\n\tgroup.id = payments\n\tsession.timeout.ms = 45000\n"
    config = "org.apache.kafka.clients.consumer.ConsumerConfig"
    return story.line("c-3/app.log", "01:10:00.000", settings, logger=config)


def test_a_member_that_was_killed_had_stopped_reading_a_session_before_its_own_session_ended() -> None:
    """Its new process started before that: the group missed the member only when its session ended."""
    story = killed_and_restarted()
    killed = story.id_of("c-3")
    story.line(
        "c-3/app.log", "01:10:00.001", "Kafka version: 4.0.0", logger="org.apache.kafka.common.utils.AppInfoParser"
    )
    story.broker("01:10:30.000", story.words.failed(killed))
    story.reborn("c-3").rebalanced(
        "01:10:10.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"], takes_ms=20_100
    )
    story.goes_on("01:12:00.000")
    (span,) = unread(story, "orders-4")
    assert (span.why, span.certain, span.from_earliest) == ("dead", False, ms("01:09:45.000"))
    assert ms("01:09:45.000") < span.started_at < ms("01:09:48.000")


def test_the_first_lines_of_a_new_process_are_no_sign_of_the_old_one() -> None:
    """Its clients are made one after another: those of other groups print their versions before this group's does."""
    story = killed_and_restarted()
    of_another = "Kafka startTimeMs: 1772327399999"
    story.line("c-3/app.log", "01:09:59.999", of_another, logger="org.apache.kafka.common.utils.AppInfoParser")
    story.reborn("c-3").rebalanced("01:10:10.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    (span, *_) = unread(story.goes_on("01:12:00.000"), "orders-4")
    assert (span.why, span.certain) == ("dead", False)
    assert (span.from_earliest or 0) <= ms("01:09:15.000") < span.started_at < ms("01:09:58.000")


def test_a_member_removed_at_the_rebalance_timeout_has_read_nothing_since_the_rebalance_began() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2", "c-3")
    story.broker("01:10:00.000", story.words.preparing(1, "Adding new member c-4"))
    removed = story.id_of("c-3")
    story.broker(
        "01:15:00.000",
        story.words.prefixed(f"Group payments removed dynamic members who haven't joined: Set({removed})"),
    )
    story.generation = 2
    story.assigned(ms("01:15:00.100"), ["c-1", "c-2"]).goes_on("01:17:00.000")
    (span,) = unread(story, "orders-4")
    assert (span.why, span.certain, span.started_at) == ("stuck", False, ms("01:10:00.000"))


def test_where_no_session_timeout_is_known_it_is_unread_from_the_eviction_at_the_latest() -> None:
    (span,) = [s for s in evicted().history().unread if s.client_id == "c-3" and s.partition == "orders-4"]
    assert span.started_at == ms("01:10:00.000")
    assert (span.from_earliest or 0) < span.started_at


def test_revoked_partitions_are_unread_until_they_are_assigned_to_a_member() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.000", "Revoke previously assigned partitions orders-2, orders-3")
    story.client("c-1", "01:10:07.000", "Adding newly assigned partitions: orders-2")
    (span,) = unread(story, "orders-2")
    assert (span.why, span.client_id, span.certain) == ("revoked", "c-2", True)
    assert (span.ended_at or 0) - span.started_at == 7_000
    assert [s.ended_at for s in unread(story, "orders-3")] == [None], "nobody has it when the logs end"


def test_a_partition_that_was_never_assigned_is_not_unread() -> None:
    assert {span.partition for span in evicted().history().unread} <= {f"orders-{n}" for n in range(6)}


def test_a_member_that_did_not_poll_had_stopped_reading_before_it_left() -> None:
    story = Story().formed("c-1", "c-2")
    story.started("c-2", "00:59:00.000", **{"max.poll.interval.ms": 30_000})
    story.client(
        "c-2",
        "01:10:00.000",
        "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
        "configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
        "processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
        "maximum size of batches returned in poll() with max.poll.records.",
        level="WARN",
    )
    story.client(
        "c-2",
        "01:10:00.001",
        f"Member {story.id_of('c-2')} sending LeaveGroup request to coordinator b-2:9092 (id: 2147483645 rack: null) "
        "due to consumer poll timeout has expired.",
    )
    story.goes_on("01:12:00.000")
    stuck = [s for s in story.history().unread if s.why == "stuck"]
    assert {s.partition for s in stuck} == {"orders-2", "orders-3"}
    assert {s.started_at for s in stuck} == {ms("01:09:30.000")}


def test_a_static_member_that_did_not_poll_is_evicted_a_poll_interval_and_a_session_after_it_stopped() -> None:
    """Until 2.8 its own log only shows that it gave up its generation, and nothing that asked it to."""
    story = Story(release=(2, 8)).formed("c-1", "c-2")
    times = {"session.timeout.ms": 10_000, "max.poll.interval.ms": 30_000, "heartbeat.interval.ms": 3_000}
    story.started("c-2", "00:59:00.000", **{"group.instance.id": "pod-2", **times})
    said_by_static(story, "c-2", "pod-2", "01:00:03.100", "Adding newly assigned partitions: orders-2, orders-3")
    old = story.id_of("c-2")
    story.broker("01:10:00.000", story.words.failed(old))
    story.rebalanced("01:10:00.001", f"removing member {old} on heartbeat expiration", ["c-1"])
    lost = "Giving away all assigned partitions as lost since generation has been reset"
    said_by_static(
        story, "c-2", "pod-2", "01:10:20.000", f"{lost},indicating that consumer is no longer part of the group"
    )
    story.goes_on("01:12:00.000")
    stuck = [s for s in story.history().unread if s.why == "stuck"]
    assert {s.partition for s in stuck} == {"orders-2", "orders-3"}
    assert {s.from_earliest for s in stuck} == {ms("01:09:20.000")}
    assert {s.started_at for s in stuck} == {ms("01:09:21.500")}, "in the middle of its last heartbeat interval"


def removed(*, says_so: bool) -> Story:
    """A static member that an administrator removes, and that may say three seconds later that it heard of it."""
    story = Story(release=(3, 9)).formed("c-1", "c-2")
    story.broker("01:10:00.000", story.words.left(story.id_of("c-2"), "member was removed by an admin"))
    if says_so:
        lost = "Giving away all assigned partitions as lost since generation/memberID has been reset"
        story.client(
            "c-2", "01:10:03.000", f"{lost},indicating that consumer is in old state or no longer part of the group"
        )
        story.client("c-2", "01:10:03.001", "Lost previously assigned partitions orders-2, orders-3", level="WARN")
    return story.goes_on("01:12:00.000")


def test_a_removed_member_continues_to_read_until_it_learns_of_it() -> None:
    gaps = [s for s in removed(says_so=True).history().unread if s.why == "fenced"]
    assert {s.partition for s in gaps} == {"orders-2", "orders-3"}
    assert {(s.started_at // 1_000, s.certain) for s in gaps} == {(ms("01:10:03.000") // 1_000, True)}


def test_when_a_removed_member_heard_of_it_is_uncertain_where_it_does_not_say_so() -> None:
    gaps = [s for s in removed(says_so=False).history().unread if s.why == "fenced"]
    assert {(s.started_at, s.certain) for s in gaps} == {(ms("01:10:00.000"), False)}


def test_the_end_of_an_unread_time_is_bounded_where_a_member_without_a_log_may_have_read() -> None:
    """Nobody prints what the leader, which has no log, was assigned meanwhile."""
    story = Story(release=(3, 9)).formed("c-3", "c-1", "c-2")
    story.broker("01:10:00.000", story.words.failed(story.id_of("c-2")))
    story.reborn("c-2").rebalanced("01:10:00.001", story.words.adding("c-1"), ["c-3", "c-1"])
    story.started("c-2", "01:11:58.000").rebalanced("01:12:00.000", story.words.adding("c-2"), ["c-3", "c-1", "c-2"])
    story.goes_on("01:14:00.000")
    story.events = [event for event in story.events if event.speaker.host != "c-3"]
    gaps = [s for s in story.history().unread if s.partition == "orders-4" and s.why != "revoked"]
    assert [(s.certain, s.ended_at, s.to_latest) for s in gaps] == [
        (False, ms("01:10:00.511"), ms("01:12:00.514")),
    ]
    # An exact end is its own latest: without one, nothing bounds the end.
    exact = [s for s in story.history().unread if s.why == "revoked"]
    assert exact
    assert all(s.to_latest == s.ended_at for s in exact)


def refused(*losers: str, later: str = "") -> list[UnreadSpan]:
    """The partitions of c-2, which is refused as soon as it is back, where these members lost their coordinator."""
    clients = ["c-1", "c-2"]
    story = Story(release=(3, 9)).formed(*clients)
    lost = (
        "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: session "
        "timed out without receiving a heartbeat response. isDisconnected: false. Rediscovery will be attempted."
    )
    for number in (1, 3):
        story.broker("01:00:00.000", f"[KafkaServer id={number}] started", number, logger="kafka.server.KafkaServer")
    for client in clients:
        story.started(client, "00:59:00.000", **{"session.timeout.ms": 10_000})
    for client in losers:
        story.client(client, "01:09:58.000", lost)
    story.broker("01:10:00.000", story.words.failed(story.id_of("c-2")))
    if later:
        for second in (53, 55, 57):
            nobody = (
                "Connection to node 3 (broker-3/10.0.0.3:9092) could not be established. Node may not be available."
            )
            story.client("c-2", f"01:09:{second}.000", nobody)
        story.client("c-2", "01:10:00.200", later)
    member = generation_of(1, story.id_of("c-2"))
    story.client(
        "c-2",
        "01:10:00.400",
        f"Attempt to heartbeat with {member} and group instance id Optional.empty failed "
        "due to UNKNOWN_MEMBER_ID, resetting generation",
    )
    given = "Giving away all assigned partitions as lost since generation/memberID has been reset"
    story.client(
        "c-2", "01:10:00.700", f"{given},indicating that consumer is in old state or no longer part of the group"
    )
    story.client("c-2", "01:10:00.701", "Lost previously assigned partitions orders-2, orders-3")
    story.reborn("c-2").rebalanced("01:10:00.800", story.words.adding(story.id_of("c-2")), clients)
    return [s for s in story.history().unread if s.client_id == "c-2" and s.why != "revoked"]


def test_a_running_member_that_its_coordinator_evicted_reads_on_until_it_learns_of_it() -> None:
    """A coordinator that stood still finds the session expired when it runs again, before it reads the heartbeat."""
    assert {(s.partition, s.why, s.started_at, s.certain) for s in refused("c-1", "c-2")} == {
        (f"orders-{number}", "fenced", ms("01:10:00.700"), True) for number in (2, 3)
    }


def test_a_member_that_was_cut_off_read_nothing_since_its_first_unanswered_fetch() -> None:
    given_up = (
        "Cancelled in-flight FETCH request with correlation id 38 due to node 3 being disconnected (elapsed time since "
        "creation: 9500ms, elapsed time since send: 9500ms, throttle time: 0ms, request timeout: 30000ms)"
    )
    assert {(s.partition, s.why, s.started_at, s.certain) for s in refused("c-2", later=given_up)} == {
        (f"orders-{number}", "cut-off", ms("01:09:50.700"), False) for number in (2, 3)
    }


def test_a_partition_is_unread_for_the_reason_that_the_verdict_gives() -> None:
    """The coordinator evicts a member without a log, which joins again: to a second judge any reason would do."""
    story = evicted()
    story.rebalanced("01:10:20.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    story.goes_on("01:12:00.000")
    story.events = [e for e in story.events if e.speaker.role == "broker" or e.speaker.client_id != "c-3"]
    case = story.case()
    (cause,) = {i.root_causes[0].cause for i in case.incidents for c in i.root_causes[0].culprits if c.name == "c-3"}
    reason = {"process-pause": "frozen", "process-crash": "dead"}[cause]
    assert {span.why for span in case.history.unread if span.client_id == "c-3"} == {reason}


def test_brokers_alone_do_not_tell_who_owned_what() -> None:
    assert evicted(seen="brokers").history().unread == ()


def test_the_reader_of_a_partition_is_known_from_its_assignment_until_it_was_given_up() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.000", "Revoke previously assigned partitions orders-2, orders-3")
    story.client("c-1", "01:10:07.000", "Adding newly assigned partitions: orders-2")
    read = [span for span in story.history().read if "orders-2" in span.partitions]
    assert [(span.member, span.ended_at) for span in read] == [("c-2", ms("01:10:00.000")), ("c-1", None)]
    assert read[0].partitions == ("orders-2", "orders-3"), "read from the same moment to the same moment"


@pytest.mark.parametrize("sample", [pytest.param(sample, id=sample.folder.name) for sample in all_samples()])
def test_a_partition_is_never_read_and_unread_at_once(sample: Sample) -> None:
    for group in report_of(sample.folder).groups:
        for gap in group.unread:
            for span in group.read:
                if gap.partition in span.partitions and span.ended_at is not None:
                    assert span.ended_at <= gap.started_at or span.started_at >= (gap.ended_at or span.ended_at)


@pytest.mark.parametrize("sample", [pytest.param(sample, id=sample.folder.name) for sample in all_samples()])
def test_spans_of_a_partition_do_not_overlap(sample: Sample) -> None:
    for group in report_of(sample.folder).groups:
        for partition in {span.partition for span in group.unread}:
            mine = [span for span in group.unread if span.partition == partition]
            assert all(a.ended_at is not None and a.ended_at <= b.started_at for a, b in pairwise(mine))
            assert all(span.ended_at is None or span.ended_at > span.started_at for span in mine)


STEPS = st.lists(st.tuples(st.sampled_from(["c-1", "c-2"]), st.booleans(), st.integers(1, 50)), max_size=8)


@settings(deadline=None)
@given(STEPS, st.integers(0, 8))
def test_cutting_the_log_changes_nothing_before_the_cut(steps: list[tuple[str, bool, int]], kept: int) -> None:
    whole, cut = (_handed_about(part) for part in (steps, steps[:kept]))
    end = ms("01:10:00.000") + 1_000 * sum(seconds for *_, seconds in steps[:kept])
    over = [span for span in whole if span.ended_at is not None and span.ended_at <= end]
    assert set(over) <= set(cut)
    assert all(span.started_at <= end for span in cut)


def _handed_about(steps: list[tuple[str, bool, int]]) -> tuple[UnreadSpan, ...]:
    story, at = Story(seen="clients").formed("c-1", "c-2"), 600
    for client, gives, seconds in steps:
        at += seconds
        words = (
            "Revoke previously assigned partitions orders-0" if gives else "Adding newly assigned partitions: orders-0"
        )
        story.client(client, f"01:{at // 60:02d}:{at % 60:02d}.000", words)
    return story.history().unread


def test_the_whole_group_is_stopped_only_while_no_member_reads() -> None:
    stopped = ownership_of(evicted().timeline()).stopped_ms(ms("01:09:00.000"), ms("01:10:01.000"))
    assert stopped == 414, "from the last that revoked to the first that was assigned"


def test_what_a_client_without_its_peers_logs_gave_up_is_unknown_once_the_next_generation_has_it() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    story.rebalanced("01:10:00.000", "a newcomer", ["c-1", "c-2", "c-3"])
    alone = [event for event in story.events if event.speaker.client_id == "c-2" and event.group]
    owners = ownership_of(build("default", "payments", alone, []))
    assert owners.stopped_ms(ms("01:09:00.000"), ms("01:11:00.000")) is None
    assert not owners.whole_between(ms("01:09:00.000"), ms("01:11:00.000"))
    assert all(span.ended_at is not None for span in owners.spans), "nobody knows that it is unread to the end"


def test_a_member_that_closes_stopped_reading_and_did_not_merely_hand_over() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-2", "01:10:00.000", "Revoke previously assigned partitions orders-2, orders-3")
    leaving = (
        f"Member {story.id_of('c-2')} sending LeaveGroup request to coordinator b-2:9092 (id: 2147483645 rack: null)"
    )
    story.client("c-2", "01:10:00.010", f"{leaving} due to the consumer is being closed")
    story.goes_on("01:12:00.000")
    assert {span.why for span in story.history().unread if span.client_id == "c-2"} == {"stopped"}


def test_a_streams_application_that_was_shut_down_is_ongoing_and_lists_unread_partitions() -> None:
    (sample,) = (one for one in all_samples() if one.folder.name == "streams-shutdown")
    (fault,) = (one for one in report_of(sample.folder).incidents if one.severity != "info")
    assert fault.ongoing
    assert fault.impact.unread_partition_ms


def test_connectors_and_tasks_of_a_worker_are_named() -> None:
    (sample,) = (one for one in all_samples() if one.folder.name == "connect-config-change")
    (workers,) = (group for group in report_of(sample.folder).groups if group.kind == "connect")
    assert any("sink-a-0" in span.partitions for span in workers.read)


def test_what_a_shutdown_left_unread_is_not_counted_again_when_the_offsets_expire() -> None:
    (sample,) = (one for one in all_samples() if one.folder.name == "offsets-expired")
    costs = {one.root_causes[0].cause: one.impact for one in report_of(sample.folder).incidents}
    assert (costs["shutdown"].unread_partition_ms or 0) > 60_000
    assert costs["offsets-expired"].unread_partition_ms == 0


def test_the_owners_are_unknown_after_the_members_logs_end() -> None:
    story = Story().formed("c-1", "c-2")
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-1")), ["c-1", "c-2"]).goes_on("01:40:00.000")
    over = max(event.at or 0 for event in story.events if isinstance(event, PartitionsRevoked))
    heard = [event for event in story.events if event.speaker.role == "broker" or (event.at or 0) <= over]
    mine, ungrouped = ([e for e in heard if (e.group is None) == nobodys] for nobodys in (False, True))
    owners = ownership_of(build("default", "payments", mine, ungrouped))
    assert all(span.ended_at is not None for span in owners.spans), "the rebalance was over when their logs had ended"
    assert not owners.whole_between(over, ms("01:40:00.000"))
