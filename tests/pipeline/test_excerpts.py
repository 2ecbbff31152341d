"""Lines that somebody picked: what is not among them may have been left out, so its absence says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report
from tests.incidents.sample import LOCAL

_BROKER = "kafka.coordinator.group.GroupCoordinator"
_CLIENT = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
_MEMBER = "c-1-9e7ca01b-ceb9-4009-b792-64f0452fd3a6"
_LEFT = f"Removing member {_MEMBER} on LeaveGroup; client reason: the consumer is being closed"
_UUIDS = ("98ff3933-237d-4088-9d0c-617ba37da587", "4fe382ef-f793-4faf-8224-22f05eefaca8")


def line(second: float, text: str, logger: str = _BROKER) -> str:
    minute, rest = divmod(second, 60)
    return f"[2026-11-21 02:{int(minute):02}:{rest:06.3f}] INFO {text} ({logger})".replace(".", ",", 1)


CLOSED = [
    line(1, "[Consumer clientId=c-1, groupId=payments] Member c-1-9e7ca01b-ceb9-4009-b792-64f0452fd3a6 sending "
            "LeaveGroup request to coordinator b1:9092 (id: 2147483646 rack: null) due to the consumer is being closed",
         _CLIENT),
    line(1.1, f"[GroupCoordinator 1]: Preparing to rebalance group payments in state PreparingRebalance with old "
              f"generation 7 (__consumer_offsets-3) (reason: {_LEFT})"),
]  # fmt: skip
EMPTY = line(1.2, "[GroupCoordinator 1]: Group payments with generation 8 is now empty (__consumer_offsets-3)")
OTHERS = [line(20 + n, f"[SocketServer brokerId=1] Failed authentication with /10.0.0.{n}", "o.a.k.SocketServer")
          for n in range(40)]  # fmt: skip


def first_causes(lines: list[str], directory: Path) -> list[str]:
    return [incident.root_causes[0].cause for incident in report_of(lines, directory).incidents]


def report_of(lines: list[str], directory: Path) -> Report:
    path = directory / "app.log"
    path.write_text("\n".join(lines) + "\n")
    return analyze([str(path)], LOCAL)


def test_the_last_member_that_is_seen_to_close_need_not_be_the_last_of_the_group(tmp_path: Path) -> None:
    assert "shutdown" not in first_causes(CLOSED, tmp_path)


def test_quoted_lines_are_picked_ones_too(tmp_path: Path) -> None:
    assert "shutdown" not in first_causes([f"> {each}" for each in CLOSED], tmp_path)


def test_a_line_that_says_so_shows_that_the_group_is_empty(tmp_path: Path) -> None:
    assert "shutdown" in first_causes([*CLOSED, EMPTY], tmp_path)


def test_a_log_that_also_has_other_lines_is_not_an_excerpt(tmp_path: Path) -> None:
    assert "shutdown" in first_causes([*CLOSED, *OTHERS], tmp_path)


@pytest.mark.parametrize(("mark", "state"), [("", "Stable"), ("> ", "PreparingRebalance")])
def test_a_new_member_of_a_group_whose_start_is_not_shown_does_not_start_it(
    mark: str, state: str, tmp_path: Path
) -> None:
    issued = f"Created a new member id {_MEMBER} and request the member to rejoin with this id."
    joined = f"[GroupCoordinator 1]: Dynamic member with unknown member id joins group payments in {state} state. "
    joins = [mark + line(at, joined + issued.replace("c-1-", f"c-{at}-")) for at in (1, 2)]
    assert "startup" not in first_causes(joins, tmp_path)


def _member(instance: int, thread: int, life: str) -> str:
    return f"shop-{_UUIDS[instance]}-StreamThread-{thread}-consumer-{life}f7a1c2-3b4d-4e5f-8a9b-0c1d2e3f4a5b"


def _stopped(at: float, instance: int) -> str:
    words = f"stream-client [shop-{_UUIDS[instance]}] State transition from RUNNING to PENDING_SHUTDOWN"
    return line(at, words, "org.apache.kafka.streams.KafkaStreams")


def _joined(at: float, member: str) -> str:
    words = "Dynamic member with unknown member id joins group shop in Stable state. Created a new member id"
    return line(at, f"[GroupCoordinator 1]: {words} {member} and request the member to rejoin with this id.")


def _failed(at: float, member: str) -> str:
    return line(at, f"[GroupCoordinator 1]: Member {member} in group shop has failed, removing it from the group")


RESTARTED = [
    _stopped(4, 0), line(8, "StreamsConfig values: ", "org.apache.kafka.streams.StreamsConfig"),
    _joined(10, _member(0, 1, "bb")), _failed(14, _member(0, 1, "aa")),
    _stopped(42, 1), line(46, "StreamsConfig values: ", "org.apache.kafka.streams.StreamsConfig"),
    _joined(48, _member(1, 1, "dd")), _failed(52, _member(1, 1, "cc")),
]  # fmt: skip


def test_streams_instances_in_one_file_with_their_coordinator_are_distinguished(tmp_path: Path) -> None:
    report = report_of(RESTARTED, tmp_path)
    assert [i.root_causes[0].cause for i in report.incidents] == ["rolling-restart"]
    assert {name for c in report.incidents[0].root_causes[0].culprits for name in c.names} >= {
        f"shop-{uuid}" for uuid in _UUIDS
    }


def _cut(text: str) -> str:
    return f"{text[:150]} \u2026 {text[-20:]}"


def test_of_two_streams_instances_the_one_that_has_just_started_is_the_newcomer_without_an_id(tmp_path: Path) -> None:
    # The ids of the newcomers are cut off; the first instance has been back for half a minute by then.
    lines = [_cut(each) if "member" in each else each for each in RESTARTED[:6]]
    lines += [_cut(_failed(50, _member(1, 1, "cc"))), _cut(_joined(52, _member(1, 1, "dd")))]
    assert first_causes(lines, tmp_path) == ["rolling-restart"]


_EPOCHS = "org.apache.kafka.coordinator.group.GroupMetadataManager"
_OWN = "org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager"
_FENCED = [
    line(10, "[GroupCoordinator id=2 topic=__consumer_offsets partition=5] [GroupId payments] Member "
             "XZucSBNXT7SmPPd_rwHa7g fenced from the group because the member session expired.", _EPOCHS),
    line(19, "[Consumer clientId=c-3, groupId=payments] Member XZucSBNXT7SmPPd_rwHa7g with epoch 3 transitioned from "
             "STABLE to FENCED.", _OWN),
    line(19.1, "[Consumer clientId=c-3, groupId=payments] Member XZucSBNXT7SmPPd_rwHa7g with epoch 0 transitioned from "
               "FENCED to JOINING.", _OWN),
    line(19.2, "[GroupCoordinator id=2 topic=__consumer_offsets partition=5] [GroupId payments] Member "
               "XZucSBNXT7SmPPd_rwHa7g joins the consumer group using the consumer protocol.", _EPOCHS),
]  # fmt: skip


def test_a_member_that_logs_its_old_id_after_its_session_expired_was_alive_all_the_time(tmp_path: Path) -> None:
    (incident,) = report_of(_FENCED, tmp_path).incidents
    first, *others = incident.root_causes
    assert (first.cause, first.confidence) == ("process-pause", 0.55)
    assert "network-partition" in {cause.cause for cause in others}, "the lines of one that is cut off are the same"
    assert "process-crash" in {ruled_out.cause for ruled_out in incident.ruled_out}


def test_lines_of_two_zones_in_one_file_that_a_person_put_together_are_on_the_brokers_clock(tmp_path: Path) -> None:
    thrown = (
        "2026-11-21 04:00:00.900 ERROR 6 --- [main] com.acme.Loop : Batch failed\njava.lang.IllegalStateException: no"
    )
    left = CLOSED[0].replace("02:00:01,000", "04:00:01.000").replace("[2026", "2026").replace("] INFO", " INFO")
    (incident,) = report_of([thrown, left, CLOSED[1], left.replace("01.000", "01.200")], tmp_path).incidents
    assert incident.root_causes[0].cause == "member-left"
    assert (incident.started_at or 0) % 86_400_000 < 3 * 3_600_000, "by the coordinator's clock it is two o'clock"


def test_a_worker_that_starts_before_a_new_join_is_the_one_that_was_lost(tmp_path: Path) -> None:
    member = "connect-10.0.0.7:8083-{}2fd2af-87ae-4a7c-b04c-c22c0aa3873c"
    words = "Dynamic member with unknown member id joins group cdc in Stable state. Created a new member id"
    lines = [
        line(10, f"[GroupCoordinator 1]: Member {member.format('e8')} in group cdc has failed, removing it from the "
                 "group"),
        line(10.1, "[GroupCoordinator 1]: Preparing to rebalance group cdc in state PreparingRebalance with old "
                   f"generation 8 (__consumer_offsets-0) (reason: removing member {member.format('e8')} on heartbeat "
                   "expiration)"),
        line(22, "DistributedConfig values: ", "org.apache.kafka.connect.runtime.distributed.DistributedConfig"),
        line(24, f"[GroupCoordinator 1]: {words} {member.format('f9')} and request the member to rejoin with this id."),
    ]  # fmt: skip
    assert first_causes(lines, tmp_path) == ["process-crash"]


_EVICTED = line(1, f"[GroupCoordinator 1]: Preparing to rebalance group payments in state PreparingRebalance with old "
                   f"generation 7 (__consumer_offsets-3) (reason: removing member {_MEMBER} on heartbeat "
                   f"expiration)")  # fmt: skip
_HOURS_LATER = [
    f"[2026-11-21 05:40:00,{at:03}] INFO [GroupCoordinator 1]: {text} ({_BROKER})"
    for at, text in (
        (0, "Stabilized group payments generation 93 (__consumer_offsets-3) with 4 members"),
        (20, (f"Assignment received from leader {_MEMBER.replace('c-1-9', 'c-2-7')} for group payments for generation "
             "93. The group has 4 members, 0 of which are static.")),
    )
]  # fmt: skip
_PROSE = "Hi all, this happens every night, see the two places of the log:\n\n```"


def test_a_return_that_picked_lines_leave_out_makes_no_crash_sure_and_costs_nothing_known(tmp_path: Path) -> None:
    (incident, *_) = report_of([_PROSE, _EVICTED, *_HOURS_LATER, "```"], tmp_path).incidents
    assert incident.root_causes[0].confidence < 0.6
    assert incident.severity != "critical"
    cost = incident.impact.by_member
    assert cost is None or cost.unread_member_ms < 60_000


def test_a_complete_log_in_which_no_member_returns_shows_a_crash_and_its_cost(tmp_path: Path) -> None:
    # The next generation follows: a log that skips 85 of them would show that lines are missing.
    later = [line.replace("generation 93", "generation 8") for line in _HOURS_LATER]
    (incident, *_) = report_of([_EVICTED, *OTHERS, *later], tmp_path).incidents
    assert incident.root_causes[0].cause == "process-crash"
    assert incident.root_causes[0].confidence >= 0.75
    assert incident.severity == "critical"


def test_a_client_that_learns_of_a_rebalance_again_much_later_may_have_rejoined_in_between(tmp_path: Path) -> None:
    message = "[Consumer clientId=c-1, groupId=payments] Request joining group due to: group is already rebalancing"
    lines = [line(at, message, _CLIENT) for at in (0, 3)]
    (sure,) = report_of([_PROSE, *(line(at, message, _CLIENT) for at in range(0, 60, 3)), "```"], tmp_path).incidents
    (guess,) = report_of([_PROSE, *lines, "... 5 minutes of this ...", line(300, message, _CLIENT), "```"],
                         tmp_path).incidents  # fmt: skip
    assert sure.root_causes[0].cause == guess.root_causes[0].cause == "rebalance-straggler"
    assert "an excerpt may leave out that it did" not in sure.summary
    assert "an excerpt may leave out that it did" in guess.summary


def test_a_member_whose_join_is_not_in_the_excerpt_may_have_joined(tmp_path: Path) -> None:
    joined = [
        line(at, f"[Consumer clientId={client}, groupId=payments] Successfully joined group with generation {number}",
             _CLIENT)
        for at, client, number in ((1, "c-1", 2), (1, "c-2", 2), (8, "c-3", 3))
    ]  # fmt: skip
    assert set(first_causes(joined, tmp_path)) <= {"unexplained"}


EVICTED = [
    line(1, f"[GroupCoordinator 1]: Member {_MEMBER} in group payments has failed, removing it from the group"),
    line(20, "[GroupCoordinator 1]: Dynamic member with unknown member id joins group payments in Stable state. "
             f"Created a new member id {_MEMBER[:-4]}beef and request the member to rejoin with this id."),
]  # fmt: skip


def _started(client: str) -> list[str]:
    return ["[2026-11-21 02:00:15,000] INFO ConsumerConfig values: ", f"client.id = {client}", "group.id = payments"]


@pytest.mark.parametrize("shape", ["whole", "bare"])
def test_settings_that_were_quoted_in_part_show_that_a_new_process_of_the_member_started(
    shape: str, tmp_path: Path
) -> None:
    lines = [EVICTED[0], *_started("c-1"), EVICTED[1]]
    lines = [each.partition(" INFO ")[2] or each for each in lines] if shape == "bare" else lines
    assert first_causes(lines, tmp_path) == ["process-crash"]


def test_settings_of_another_client_do_not(tmp_path: Path) -> None:
    assert first_causes([EVICTED[0], *_started("c-9"), EVICTED[1]], tmp_path) != ["process-crash"]


def test_an_application_that_fails_is_heard_in_a_file_that_holds_the_brokers_lines_too(tmp_path: Path) -> None:
    """Logs gathered by hand, or by time, have both sides in one file."""
    failed = line(0.9, "Consumer loop failed", "com.acme.orders.Listener").replace("INFO", "ERROR")
    trace = "java.lang.IllegalStateException: 503\n\tat com.acme.orders.Listener.poll(Listener.java:8)"
    (first,) = first_causes([failed, trace, *CLOSED], tmp_path)
    assert first == "member-left"


_GENERATION = f"Generation{{generationId=1, memberId='{_MEMBER}', protocol='range'}}"
EXPELLED = [
    line(1, "[Consumer clientId=c-1, groupId=payments] Adding newly assigned partitions: orders-0", _CLIENT),
    line(31, f"[Consumer clientId=c-1, groupId=payments] Attempt to heartbeat with {_GENERATION} and group instance id "
             "Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation", _CLIENT),
    line(31.1, "[Consumer clientId=c-1, groupId=payments] Request joining group due to: encountered UNKNOWN_MEMBER_ID "
               "from HEARTBEAT response", _CLIENT),
    line(31.2, "[Consumer clientId=c-1, groupId=payments] (Re-)joining group", _CLIENT),
]  # fmt: skip


def test_an_error_in_generation_1_does_not_open_a_log(tmp_path: Path) -> None:
    # Thirty seconds without a line say nothing of a member whose other lines may have been left out.
    (incident,) = report_of(EXPELLED, tmp_path).incidents
    assert incident.root_causes[0].confidence <= 0.55


def test_a_subscribe_that_an_excerpt_leaves_out_does_not_mean_a_pattern(tmp_path: Path) -> None:
    changed = (
        "[Consumer clientId=c-1, groupId=payments] Request joining group due to: subscription has changed from "
        "[orders] at the beginning of the rebalance to [orders, refunds]"
    )
    joins = line(1.1, "[Consumer clientId=c-1, groupId=payments] (Re-)joining group", _CLIENT)
    (incident,) = report_of([line(1, changed, _CLIENT), joins], tmp_path).incidents
    assert incident.root_causes[0].cause == "subscription-change"
    assert incident.root_causes[0].confidence <= 0.55


def test_a_member_that_continues_to_fetch_logs_other_lines(tmp_path: Path) -> None:
    leader = "LeaderAndEpoch{leader=Optional[b1:9092 (id: 1 rack: null)], epoch=0}"
    position = f"FetchPosition{{offset=0, offsetEpoch=Optional.empty, currentLeader={leader}}}"
    words = "[Consumer clientId=c-2, groupId=payments] Resetting offset for partition orders-{} to position {}."
    fetching = [line(20 + n, words.format(n, position), "o.a.k.c.c.i.SubscriptionState") for n in range(40)]
    assert "shutdown" in first_causes([*CLOSED, *fetching], tmp_path)
