from __future__ import annotations

import json
from pathlib import Path

from lab.cost import cost_of
from lab.members import PROTOCOLS, Group
from lab.recording import Expected, Fault, truth_of, write_rows
from lab.scenarios import scenarios


def a_recording(folder: Path, *faults: Fault, rows: list[tuple[int, str, str, list[str]]]) -> Path:
    """Leave what a run of two eager members would, from its first fault to 30 s."""
    group = Group(members=2, partitions=2)
    truth = truth_of("x", group, "4.1.1", 1, list(faults), Expected(cause="x", culprit="x"), 30_000)
    (folder / "truth.json").write_text(json.dumps(truth))
    write_rows(
        folder / "listener.jsonl",
        [{"ts": at, "client": who, "event": event, "partitions": named} for at, who, event, named in rows],
    )
    return folder


START = [(0, "payments-1", "assigned", ["orders-0"]), (0, "payments-2", "assigned", ["orders-1"])]


def test_a_killed_member_reads_nothing_from_then_on(tmp_path: Path) -> None:
    fault = Fault(ts=5_000, kind="kill-process", target="payments-2")
    taken = (
        (16_000, "payments-1", "revoked", ["orders-0"]),
        (16_100, "payments-1", "assigned", ["orders-0", "orders-1"]),
    )
    cost = cost_of(a_recording(tmp_path, fault, rows=[*START, *taken]))
    assert cost.unread == {"orders-0": ((16_000, 16_100),), "orders-1": ((5_000, 16_100),)}
    assert cost.stopped == ((16_000, 16_100),)


def test_a_frozen_member_owns_without_reading(tmp_path: Path) -> None:
    fault = Fault(ts=5_000, kind="pause-process", target="payments-2", ms=4_000)
    cost = cost_of(a_recording(tmp_path, fault, rows=START))
    assert cost.unread == {"orders-0": (), "orders-1": ((5_000, 9_000),)}
    assert cost.partition_seconds == 4.0
    assert cost.stopped_seconds == 0.0


def test_static_members_alone_have_an_instance_id() -> None:
    for protocol in PROTOCOLS:
        settings = Group(protocol=protocol).consumer_settings(1, "127.0.0.1:9092")
        assert ("group.instance.id" in settings) == (protocol == "static")
        # A client that leaves the session to its brokers refuses a session timeout of its own (KIP-848).
        assert ("session.timeout.ms" in settings) == (protocol != "kip-848")


def test_a_scenario_is_called_as_its_file() -> None:
    assert {"process-crash", "rolling-restart", "scale-out"} <= set(scenarios())
