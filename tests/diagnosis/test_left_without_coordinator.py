"""Members that lose their coordinator and cannot reach a broker until their logs end, in the words of each client."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

JAVA = "[2026-03-01 01:{},112] {} [Consumer clientId=c-1, groupId=payments] {} (org.apache.kafka.clients.NetworkClient)"
PYTHON = "2026-03-01 01:{},112 {} kafka: {}"
JOINED = (
    "Successfully joined group payments <Generation 6 (member_id: c-1-5d7348ff-08cf-4e17-9a3d-6db5719a9def, "
    "protocol: range)>"
)
MEMBER = "Generation{generationId=6, memberId='c-1-5d7348ff-08cf-4e17-9a3d-6db5719a9def', protocol='range'}"
WORDS = {
    "Java": (
        JAVA,
        ("INFO", f"Successfully joined group with generation {MEMBER}"),
        (
            "INFO",
            (
                "Group coordinator b1:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: "
                "coordinator unavailable. isDisconnected: true. Rediscovery will be attempted."
            ),
        ),
        ("WARN", "Connection to node 1 (b1/10.0.0.1:9092) could not be established. Node may not be available."),
        ("INFO", "Discovered group coordinator b1:9092 (id: 2147483646 rack: null)"),
    ),
    "kafka-python": (
        PYTHON,
        ("INFO", JOINED),
        (
            "WARNING",
            (
                "Marking the coordinator dead (node coordinator-1) for group payments: KafkaConnectionError: socket "
                "disconnected."
            ),
        ),
        ("WARNING", "Node 1 connection failed -- refreshing metadata"),
        ("INFO", "Discovered coordinator coordinator-1 for group payments"),
    ),
    "aiokafka": (
        PYTHON,
        ("INFO", "Successfully joined group payments with generation 6"),
        ("WARNING", "Marking the coordinator dead (node 1)for group payments."),
        ("ERROR", "Unable connect to node with id 1: [Errno 111] Connect call failed ('10.0.0.1', 9092)"),
        ("INFO", "Discovered coordinator 1 for group payments"),
    ),
}


def reported(tmp_path: Path, client: str, *last: str) -> list[Incident]:
    """Its log: it joins, loses its coordinator, tries in vain for half a minute; then `last`."""
    record, joined, lost, failed, _ = WORDS[client]
    lines = [record.format("10:00", *joined), record.format("15:00", *lost)]
    lines += [record.format(f"15:{second:02}", *failed) for second in (1, 5, 12, 30)]
    (tmp_path / "app.log").write_text("\n".join([*lines, *last]) + "\n", encoding="utf-8")
    return [*analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents]


@pytest.mark.parametrize("client", WORDS)
def test_a_coordinator_that_stays_out_of_reach_is_an_ongoing_fault(tmp_path: Path, client: str) -> None:
    faults = [i for i in reported(tmp_path, client) if i.severity != "info"]
    assert [i.ongoing for i in faults] == [True]
    assert "did not find it again" in faults[0].summary


@pytest.mark.parametrize("client", WORDS)
def test_a_coordinator_that_is_found_again_is_no_such_fault(tmp_path: Path, client: str) -> None:
    record, *_, found = WORDS[client]
    again = reported(tmp_path, client, record.format("15:31", *found))
    assert not any("did not find it again" in i.summary for i in again)
