"""Sink tasks that Connect workers stop and start; lines recorded from Connect 3.3, with other hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from rebalance_forensics.diagnosis.model import Incident

GROUP, COORDINATOR = "connect-wh", "kafka.coordinator.group.GroupCoordinator"
ROLLED = "[UnifiedLog partition=facts-0, dir=/data] Rolled new log segment at offset 5 in 1 ms. (kafka.log.UnifiedLog)"
IDS = {
    "wh-0": "connector-consumer-wh-0-f8114656-0ccc-4ea0-8535-0a58438523ac",
    "wh-1": "connector-consumer-wh-1-75c37a40-be92-42c9-9c31-8d7e8b83e207",
}
MOVED = {task: f"{member[:-4]}9999" for task, member in IDS.items()}


def says(time: str, message: str) -> str:
    return f"[2026-11-28 05:{time}] INFO [GroupCoordinator 1]: {message} ({COORDINATOR})\n"


def comes(time: str, members: list[str], generation: int, state: str = "Stable") -> str:
    created = "".join(
        says(
            f"{time},205",
            f"Dynamic member with unknown member id joins group {GROUP} in {state} state. Created a new member id {m} "
            "and request the member to rejoin with this id.",
        )
        for m in members
    )
    reason = f"Adding new member {members[-1]} with group instance id None; client reason: not provided"
    return created + says(
        f"{time},227",
        f"Preparing to rebalance group {GROUP} in state PreparingRebalance with old generation {generation} "
        f"(__consumer_offsets-1) (reason: {reason})",
    )


def leaves(time: str, member: str, host: str) -> str:
    client = member[: len("connector-consumer-wh-0")]
    metadata = f"memberId={member}, groupInstanceId=None, clientId={client}, clientHost=/{host}"
    rest = "sessionTimeoutMs=10000, rebalanceTimeoutMs=15000, supportedProtocols=List(range, cooperative-sticky)"
    why = "client reason: the consumer is being closed"
    return says(
        f"{time},460",
        f"Member MemberMetadata({metadata}, {rest}) has left group {GROUP} through explicit `LeaveGroup`; {why}",
    )


def stable(time: str, generation: int, members: int) -> str:
    return says(
        f"{time},672", f"Stabilized group {GROUP} generation {generation} (__consumer_offsets-1) with {members} members"
    )


def leaving(time: str, member: str, generation: int) -> str:
    reason = f"Removing member {member} on LeaveGroup; client reason: the consumer is being closed"
    return says(
        f"{time},459",
        f"Preparing to rebalance group {GROUP} in state PreparingRebalance with old generation {generation} "
        f"(__consumer_offsets-1) (reason: {reason})",
    )


FORMED = comes("47:32", [*IDS.values()], 0, "Empty") + stable("47:38", 1, 2)


def incidents(folder: Path, lines: str) -> list[Incident]:
    """The incidents after the start of the group, by its coordinator's log alone."""
    before, after = (
        "".join(f"[2026-11-28 05:{minute}:{n:02},000] INFO {ROLLED}\n" for n in range(60)) for minute in (40, 59)
    )
    (folder / "broker-1").mkdir()
    (folder / "broker-1" / "server.log").write_text(before + FORMED + lines + after)
    found = rf.analyze(folder, engine="local").report.incidents
    return [i for i in found if i.root_causes[0].cause != "startup"]


@pytest.mark.parametrize("host", ["10.0.0.4", "10.0.0.5"])
def test_a_task_that_leaves_and_joins_again_was_moved_or_restarted_by_its_worker(tmp_path: Path, host: str) -> None:
    lines = leaving("51:42", IDS["wh-1"], 1) + leaves("51:42", IDS["wh-1"], "10.0.0.4") + stable("51:42", 2, 1)
    lines += comes("51:43", [MOVED["wh-1"]], 2) + stable("51:46", 3, 2)
    lines += leaving("55:42", MOVED["wh-1"], 3) + leaves("55:42", MOVED["wh-1"], host) + stable("55:42", 4, 1)
    lines += comes("55:43", [f"{IDS['wh-1'][:-4]}7777"], 4) + stable("55:46", 5, 2)
    (moved,) = incidents(tmp_path, lines)
    assert (moved.root_causes[0].cause, moved.severity) == ("member-left", "info")
    where = "" if host == "10.0.0.4" else " on 10.0.0.5"
    assert moved.summary.startswith(f"Sink task wh-1 was stopped and started again{where}: Connect workers")


def test_tasks_that_all_stop_and_start_again_are_no_shutdown(tmp_path: Path) -> None:
    lines = leaving("51:42", IDS["wh-1"], 1) + leaves("51:42", IDS["wh-1"], "10.0.0.4")
    lines += says("51:42,574", f"Group {GROUP} with generation 2 is now empty (__consumer_offsets-1)")
    lines += leaves("51:42", IDS["wh-0"], "10.0.0.5")
    lines += comes("51:43", [*MOVED.values()], 2, "Empty") + stable("51:46", 3, 2)
    assert {i.root_causes[0].cause for i in incidents(tmp_path, lines)} == {"member-left"}


def test_a_task_that_stays_away_is_not_started_again(tmp_path: Path) -> None:
    lines = leaving("51:42", IDS["wh-1"], 1) + leaves("51:42", IDS["wh-1"], "10.0.0.4") + stable("51:42", 2, 1)
    assert all("started again" not in i.summary for i in incidents(tmp_path, lines))


def test_a_task_that_fails_again_and_again_is_a_fault(tmp_path: Path) -> None:
    lines, last = "", IDS["wh-1"]
    for n in range(7):
        again = f"{last[:-4]}{n:04}"
        lines += leaving(f"51:{n * 6:02}", last, 1 + 2 * n) + leaves(f"51:{n * 6:02}", last, "10.0.0.4")
        lines += stable(f"51:{n * 6:02}", 2 + 2 * n, 1) + comes(f"51:{n * 6 + 2:02}", [again], 2 + 2 * n)
        lines += stable(f"51:{n * 6 + 3:02}", 3 + 2 * n, 2)
        last = again
    (failing,) = incidents(tmp_path, lines)
    assert (failing.root_causes[0].cause, failing.severity) == ("member-left", "warning")
    assert "started again 7 times" in failing.summary


def test_a_task_that_starts_on_the_only_worker_with_a_log_may_have_run_on_another_before(tmp_path: Path) -> None:
    coordinator = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"

    def line(time: str, task: str, message: str) -> str:
        prefix = f"[Consumer clientId=connector-consumer-{task}, groupId={GROUP}]"
        return f"[2026-11-28 05:{time}] INFO {prefix} {message} ({coordinator})\n"

    def joins(time: str, task: str, generation: int) -> str:
        member = f"Generation{{generationId={generation}, memberId='{IDS[task]}', protocol='range'}}"
        return line(time, task, f"Successfully joined group with generation {member}")

    def asks(time: str, task: str) -> str:
        given = f"Request joining group due to: need to re-join with the given member-id: {IDS[task]}"
        return line(time, task, "(Re-)joining group") + line(time, task, given) + line(time, task, "(Re-)joining group")

    lines = "".join(f"[2026-11-28 05:40:{n:02},000] INFO Rolled ({coordinator[:-11]}Other)\n" for n in range(60))
    lines += asks("47:32,000", "wh-1") + joins("47:38,609", "wh-1", 1) + asks("51:20,000", "wh-0")
    lines += line("51:21,000", "wh-1", "Request joining group due to: group is already rebalancing")
    lines += line("51:21,100", "wh-1", "(Re-)joining group")
    lines += joins("51:24,000", "wh-0", 2) + joins("51:24,000", "wh-1", 2)
    lines += "".join(f"[2026-11-28 05:59:{n:02},000] INFO Rolled ({coordinator[:-11]}Other)\n" for n in range(60))
    (tmp_path / "worker-1").mkdir()
    (tmp_path / "worker-1" / "connect.log").write_text(lines)
    found = rf.analyze(tmp_path, engine="local").report.incidents
    assert [i.root_causes[0].confidence for i in found if i.root_causes[0].cause == "scale-out"] == [0.55]
