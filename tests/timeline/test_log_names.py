"""Whose log a file is, where several programs write to one directory."""

from __future__ import annotations

import pytest

from rebalance_forensics.timeline.identity.participants import Participant, may_be_its_log, may_have_written

MEMBER = Participant(
    kind="client", name="etl-prod-1", client_ids=frozenset({"etl-prod-1"}), files=frozenset({"node-1/app.log"})
)


@pytest.mark.parametrize(
    ("name", "its"),
    [
        ("gc.log.0.current", True),
        ("etl-gc.log", True),
        ("etl-prod-worker-gc.log", True),
        ("node-gc.log", True),
        ("etl-reports-gc.log", False),
        ("billing-gc.log", False),
        ("kafkaServer-gc.log", False),
    ],
)
def test_a_gc_log_with_a_word_that_the_member_lacks_is_another_programs(name: str, *, its: bool) -> None:
    assert may_be_its_log(MEMBER, f"node-1/{name}") is its


@pytest.mark.parametrize(
    ("name", "pid", "its"),
    [
        ("error.log", 4711, True),
        ("billing-gateway.log", 4711, True),
        ("error.log", 4788, False),
        ("etl-prod-errors.log", 4788, False),
        ("etl-reports.log", None, False),
        ("kafka-consumer.log", None, True),
    ],
    ids=["its process", "named otherwise", "77 more is no thread", "another process", "one word", "any program's"],
)
def test_an_application_prints_its_process_id_and_not_a_threads(name: str, pid: int | None, *, its: bool) -> None:
    member = Participant(kind="client", name="etl-prod-1", files=MEMBER.files, pids=frozenset({4711}))
    assert may_have_written(member, f"node-1/{name}", pid) is its


def test_process_1_runs_in_every_container() -> None:
    member = Participant(kind="client", name="etl-prod-1", files=MEMBER.files, pids=frozenset({1}))
    assert not may_have_written(member, "node-1/billing-gateway.log", 1)
    assert may_have_written(member, "node-1/errors.log", 1)
