"""What shows only when groups are seen together stands in the tables too."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.job.steps.findings import Incidents
from tests.job.conftest import Run, rows

LOST = (
    "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: coordinator "
    "unavailable. isDisconnected: true. Rediscovery will be attempted."
)
FOUND = "Discovered group coordinator broker-3:9092 (id: 2147483644 rack: null)"


def losing_its_coordinator(group: str, directory: Path) -> None:
    """Both members of a group lose broker-2 and find broker-3."""
    for client in (f"{group}-1", f"{group}-2"):
        lines = [
            f"[2026-03-01 {at}] INFO [Consumer clientId={client}, groupId={group}] {said} "
            "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
            for at, said in (("00:10:00,000", "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)"),
                             ("00:10:01,000", f"Adding newly assigned partitions: {client}-0"),
                             ("01:10:00,000", LOST),
                             ("01:10:01,000", f"Lost previously assigned partitions {client}-0"),
                             ("01:10:05,000", FOUND),
                             ("01:10:08,000", f"Adding newly assigned partitions: {client}-0"))
        ]  # fmt: skip
        (directory / client).mkdir(parents=True)
        (directory / client / "app.log").write_text("".join(lines))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for group in ("audit", "payments"):
        losing_its_coordinator(group, tmp_path / "logs")
    return tmp_path / "logs"


def test_groups_that_lose_the_same_coordinator_are_one_incident_with_a_row_for_each_group(
    run: Run, tmp_path: Path
) -> None:
    run("2026-03-01", "2026-03-02")
    tables = rows(tmp_path / "tables")
    (incident,) = (row for row in tables["incidents"] if row["cause"] == "coordinator-failover")
    assert (incident["scope"], incident["group"]) == ("cluster", None)
    groups = [row["group"] for row in tables["incident_groups"] if row["incident_id"] == incident["id"]]
    assert groups == ["audit", "payments"]
    assert [row["incident_id"] for row in tables["findings"]].count(incident["id"]) == 1
    unread = [row["group"] for row in tables["unread"] if row["incident_id"] == incident["id"]]
    assert sorted(set(unread)) == groups


def test_an_outage_that_every_group_lists_goes_to_the_driver_once(
    run: Run, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage = (
        "[2026-03-01 01:09:59,000] INFO [QuorumController id=9] Unfenced broker 2 has requested and been granted a "
        "controlled shutdown. (org.apache.kafka.controller.BrokerHeartbeatManager)\n"
        "[2026-03-01 01:20:00,000] INFO [QuorumController id=9] The request from broker 2 to unfence has been granted "
        "because it has caught up with the offset of its register broker record 400. "
        "(org.apache.kafka.controller.BrokerHeartbeatManager)\n"
    )
    (logs / "controller").mkdir()
    (logs / "controller" / "controller.log").write_text(outage)
    found: list[Incidents] = []
    relate = Incidents.relate

    def noted(incidents: Incidents) -> None:
        found.append(incidents)
        relate(incidents)

    monkeypatch.setattr(Incidents, "relate", noted)
    run("2026-03-01", "2026-03-02")
    (incidents,) = found
    assert [len(kept.outline.history.outages) for kept in incidents.kept] == [1, 0]
    ((_, shared),) = incidents.of_clusters
    assert shared.group_names == ("audit", "payments")
    assert outage.splitlines()[0] in {line.text for line in shared.root_causes[0].evidence}
