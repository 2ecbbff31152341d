"""Whatever the order and the grouping of runs: over the same files the tables are those of one run over all of them.

Logs grow, are rolled over and packed between runs; files arrive in any order, and any of them may be the one that tells
the zone, the release or the component of the others, the day of a log without dates, or how the last record of another
file goes on.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.running import run_job
from rebalance_forensics.pipeline.tables.engines import InProcess
from tests.job.conftest import rows
from tests.job.days import START, failure, line

ZONE = timedelta(hours=2)
GENERATION = 100

Step = Callable[[], None]


def app_info(at: datetime, said: str) -> str:
    stamp = at.strftime("%Y-%m-%d %H:%M:%S,") + f"{at.microsecond // 1000:03d}"
    return f"[{stamp}] INFO {said} (org.apache.kafka.common.utils.AppInfoParser)\n"


def failures(day: int, group: str = "payments") -> list[str]:
    at = START + timedelta(days=day, hours=12)
    return [line(moment, words) for moment, words in failure(at, group, GENERATION + 10 * day)]


def started(day: int) -> list[str]:
    """The start of a broker whose clock is two hours east: the only line that shows it, and the release."""
    at = START + timedelta(days=day, hours=1)
    epoch_ms = int((at - ZONE).replace(tzinfo=UTC).timestamp() * 1000)
    return [app_info(at, "Kafka version: 3.7.1"), app_info(at, f"Kafka startTimeMs: {epoch_ms}")]


def of_streams(day: int) -> list[str]:
    """What shows that consumers' lines are those of a Streams application."""
    at = START + timedelta(days=day, hours=2)
    stamp = at.strftime("%Y-%m-%d %H:%M:%S,000")
    said = "stream-thread [app-1-StreamThread-1] State transition from CREATED to STARTING"
    return [f"[{stamp}] INFO {said} (org.apache.kafka.streams.processor.internals.StreamThread)\n"] * 3


def consumer(day: int) -> list[str]:
    """A member that loses its partitions."""
    at = START + timedelta(days=day, hours=3)
    name = "[Consumer clientId=app-1-StreamThread-1-consumer, groupId=app]"
    said = [
        f"{name} Request joining group due to: group is already rebalancing",
        f"{name} Revoke previously assigned partitions orders-0, orders-1",
        f"{name} (Re-)joining group",
    ]
    return [
        f"[{at + timedelta(seconds=n):%Y-%m-%d %H:%M:%S},000] INFO {words} "
        "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
        for n, words in enumerate(said)
    ]


def run(logs: Path, output: Path) -> int:
    asked = ["--input", str(logs), "--output", str(output), "--since", "2026-02-20", "--until", "2026-03-20"]
    outcome = run_job(parse(asked).options, InProcess())
    assert not outcome.failures
    return int(outcome.summary["scanned"] or 0)


def assert_as_one_run(logs: Path, output: Path) -> None:
    """The tables are those of a run over what is there now; and one more run finds nothing to do."""
    assert run(logs, output) == 0
    run(logs, output.with_name("at-once"))
    found, expected = rows(output), rows(output.with_name("at-once"))
    for table in expected:
        assert found[table] == expected[table], table


FAMILIES: dict[str, dict[str, str]] = {
    "zone and release": {
        "broker-1/server.log.2026-03-01": "".join(started(0) + failures(0)),
        "broker-1/server.log.2026-03-02": "".join(failures(1)),
        "broker-1/server.log": "".join(failures(2)),
    },
    "component": {
        "app-1/app.log.2026-03-01": "".join(of_streams(0) + consumer(0)),
        "app-1/app.log.2026-03-02": "".join(consumer(1)),
        "app-1/app.log": "".join(consumer(2)),
    },
}


@pytest.mark.parametrize("family", FAMILIES)
def test_files_may_come_in_any_order(family: str, tmp_path: Path) -> None:
    for number, names in enumerate(permutations(FAMILIES[family])):
        logs, output = tmp_path / f"{number}" / "logs", tmp_path / f"{number}" / "tables"
        for name in names:
            (logs / name).parent.mkdir(parents=True, exist_ok=True)
            (logs / name).write_text(FAMILIES[family][name])
            run(logs, output)
        assert_as_one_run(logs, output)
