"""Rebalances that no line numbers, as Spring's listeners and Schema Registry's instances show them."""

from __future__ import annotations

from pathlib import Path

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

ELECTED = (
    "[2026-03-01 01:{},112] INFO Finished rebalance with leader election result: Assignment{{version=1, error=0, "
    "leader='sr-{}-9a1b', leaderIdentity=version=1,host=sr-{},port=8081,scheme=http,leaderEligibility=true,"
    "isLeader=false}} (io.confluent.kafka.schemaregistry.leaderelector.kafka.KafkaGroupLeaderElector)"
)


def summaries(tmp_path: Path, *lines: str) -> list[str]:
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [i.summary for i in analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents]


def test_partitions_of_another_topic_after_a_revocation_are_a_rebalance_that_brought_it(tmp_path: Path) -> None:
    first = "2018-04-30 15:12:49.718  : partitions assigned: [orders-0]"
    revoked = "2018-04-30 15:17:46.585  : partitions revoked: [orders-0]"
    (summary,) = summaries(
        tmp_path, first, revoked, "2018-04-30 15:17:49.655  : partitions assigned: [orders-0, returns-0]"
    )
    assert "a member read returns as well" in summary


def test_a_first_assignment_alone_is_no_rebalance_of_a_running_group(tmp_path: Path) -> None:
    assert summaries(tmp_path, "2018-04-30 15:12:49.718  : partitions assigned: [orders-0]") == []


def test_a_schema_registry_that_elects_another_leader_has_rebalanced(tmp_path: Path) -> None:
    lines = [ELECTED.format("00:00", 1, 1), ELECTED.format("10:00", 1, 1), ELECTED.format("20:00", 2, 2)]
    (summary,) = summaries(tmp_path, *lines)
    assert "elected sr-2-9a1b as its leader" in summary
