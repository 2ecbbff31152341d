"""A log that names no client or member, on a host called like a member; lines of kafka-python 2.0 and Kafka 2.4."""

from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from rebalance_forensics.diagnosis.model import RootCause

GC = "(kafka.coordinator.group.GroupCoordinator)"
GONE, BACK, OTHER = (
    f"mix-{member}"
    for member in (
        "9-9f06ac70-0415-417e-8b16-b39f49229d17",
        "9-92a597ee-9638-4e7d-81f3-13c90b4def3a",
        "1-702e7af3-9bef-4a1a-8e18-74f7bf267da0",
    )
)


def preparing(at: str, generation: int, reason: str) -> str:
    state = f"in state PreparingRebalance with old generation {generation} (__consumer_offsets-4) (reason: {reason})"
    return f"[2026-11-28 {at}] INFO [GroupCoordinator 1]: Preparing to rebalance group mix {state} {GC}\n"


def stabilized(at: str, generation: int) -> str:
    return (
        f"[2026-11-28 {at}] INFO [GroupCoordinator 1]: Stabilized group mix generation {generation} "
        f"(__consumer_offsets-4) {GC}\n"
    )


SERVER_LOG = (
    preparing("05:28:46,542", 0, f"Adding new member {GONE} with group instanceid None")
    + stabilized("05:28:49,585", 1)
    + preparing("05:28:50,822", 1, f"Adding new member {OTHER} with group instanceid None")
    + stabilized("05:28:52,818", 2)
    + f"[2026-11-28 05:29:17,865] INFO [GroupCoordinator 1]: Member {GONE} in group mix has failed, removing it from "
    f"the group {GC}\n"
    + preparing("05:29:17,866", 2, f"removing member {GONE} on heartbeat expiration")
    + stabilized("05:29:20,588", 3)
    + preparing("05:29:33,617", 3, f"Adding new member {BACK} with group instanceid None")
    + stabilized("05:29:36,005", 4)
)
APP_LOG = """\
2026-11-28 05:28:46,304 INFO kafka.coordinator: Discovered coordinator coordinator-1 for group mix
2026-11-28 05:28:46,435 INFO kafka.coordinator: (Re-)joining group mix
2026-11-28 05:28:49,757 INFO kafka.coordinator: Successfully joined group mix with generation 1
2026-11-28 05:28:52,773 WARNING kafka.coordinator: Heartbeat failed for group mix because it is rebalancing
2026-11-28 05:28:52,814 INFO kafka.coordinator: (Re-)joining group mix
2026-11-28 05:28:52,836 INFO kafka.coordinator: Successfully joined group mix with generation 2
2026-11-28 05:29:33,599 WARNING kafka.coordinator: Heartbeat session expired, marking coordinator dead
2026-11-28 05:29:33,603 WARNING kafka.coordinator: Marking the coordinator dead (node coordinator-1) for group mix: \
Heartbeat session expired.
2026-11-28 05:29:33,609 INFO kafka.coordinator: Discovered coordinator coordinator-1 for group mix
2026-11-28 05:29:33,617 INFO kafka.coordinator: (Re-)joining group mix
2026-11-28 05:29:36,012 INFO kafka.coordinator: Successfully joined group mix with generation 4
"""


def verdict(folder: Path, host: str, app_log: str = APP_LOG) -> RootCause:
    for place, name, lines in (("broker-1", "server.log", SERVER_LOG), (host, "app.log", app_log)):
        (folder / place).mkdir()
        (folder / place / name).write_text(lines)
    found = rf.analyze(folder, engine="local").report.incidents
    (lost,) = (i.root_causes[0] for i in found if i.severity != "info")
    return lost


def test_the_log_of_a_host_named_like_a_member_shows_that_the_member_was_paused(tmp_path: Path) -> None:
    lost = verdict(tmp_path, "mix-9")
    assert (lost.cause, [c.name for c in lost.culprits]) == ("process-pause", ["mix-9"])
    assert lost.confidence >= 0.75


@pytest.mark.parametrize("host", ["app-7", "mix-1"])
def test_the_log_of_a_host_called_otherwise_shows_nothing_of_it(tmp_path: Path, host: str) -> None:
    assert verdict(tmp_path, host).confidence < 0.75


def test_a_log_of_two_members_is_that_of_neither(tmp_path: Path) -> None:
    twice = APP_LOG.replace(
        "2026-11-28 05:29:33,599",
        "2026-11-28 05:28:52,840 INFO kafka.coordinator: Successfully joined group mix with generation 2\n"
        "2026-11-28 05:29:33,599",
    )
    assert verdict(tmp_path, "mix-9", twice).confidence < 0.75
