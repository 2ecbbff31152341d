"""Workers of two Connect clusters with one group.id; lines recorded from Connect 3.3."""

from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from rebalance_forensics.diagnosis.model import RootCause

COORDINATOR = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator"
PREFIX = "INFO [Worker clientId=connect-1, groupId=dwh]"


def started(at: str, config_topic: str) -> str:
    return (
        f"[2026-11-28 {at}:17,466] INFO DistributedConfig values: \n\tclient.id = \n\tconfig.storage.topic = "
        f"{config_topic}\n\tconnect.protocol = sessioned\n\tgroup.id = dwh\n\tsession.timeout.ms = 10000\n "
        f"(org.apache.kafka.connect.runtime.distributed.DistributedConfig)\n"
        f"[2026-11-28 {at}:18,746] {PREFIX} Discovered group coordinator 127.0.0.1:34261 (id: 2147483646 rack: null) "
        f"({COORDINATOR})\n[2026-11-28 {at}:18,769] {PREFIX} Rebalance started ({COORDINATOR})\n"
    )


def joined(at: str, generation: int, worker: str) -> str:
    member = f"Generation{{generationId={generation}, memberId='connect-1-{worker}', protocol='sessioned'}}"
    return "".join(
        f"[2026-11-28 {at}] {PREFIX} Successfully {done} group {where} generation {member} ({COORDINATOR})\n"
        for done, where in (("joined", "with"), ("synced", "in"))
    )


def verdicts(folder: Path, config_topic: str) -> list[RootCause]:
    """Worker 3 is started a minute after two workers that use the config topic `c-config`."""
    first, second, third = (f"4b17586b-293d-4fd9-976b-c5b183dc09c{n}" for n in "123")
    later = "05:48:34,500"
    logs = {
        "worker-1": started("05:47", "c-config") + joined("05:47:22,090", 1, first) + joined(later, 2, first),
        "worker-2": started("05:47", "c-config") + joined("05:47:22,091", 1, second) + joined(later, 2, second),
        "worker-3": started("05:48", config_topic) + joined(later, 2, third),
    }
    for host, lines in logs.items():
        (folder / host).mkdir()
        (folder / host / "connect.log").write_text(lines)
    return [incident.root_causes[0] for incident in rf.analyze(folder, engine="local").report.incidents]


@pytest.mark.parametrize("config_topic", ["c-config", "x-config"])
def test_a_worker_with_another_config_topic_uses_the_group_id_of_another_cluster(
    tmp_path: Path, config_topic: str
) -> None:
    found = [v for v in verdicts(tmp_path, config_topic) if v.cause == "shared-group-id"]
    assert [c.name for v in found for c in v.culprits] == (["worker-3"] if config_topic == "x-config" else [])
    assert all("its config.storage.topic is x-config, that of the other workers c-config" in v.narrative for v in found)
    assert all(v.confidence >= 0.75 for v in found)
