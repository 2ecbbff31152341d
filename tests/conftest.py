"""What tests of several stages need: the sample logs, the command, one Spark session."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark.java import find_java
from tests.forks import STARTED_ANEW, loaded_program, starts_alike

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How fast a busy machine draws examples shows nothing about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_logs"
SOME_OF_EVERY_KIND = (
    "connect-config-change", "network-partition", "process-crash", "rolling-restart", "shared-group-id",
    "static-member-fenced", "streams-endpoint-change", "topic-metadata-change",
)  # fmt: skip
SHORT_LOG = """\
[2026-03-01 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group payments in state \
PreparingRebalance with old generation 0 (__consumer_offsets-3) (reason: Adding new member c-1-77aa with group \
instance id None; client reason: not provided) (kafka.coordinator.group.GroupCoordinator)
[2026-03-01 10:00:03,000] INFO [GroupCoordinator 1]: Stabilized group payments generation 1 \
(__consumer_offsets-3) with 1 members (kafka.coordinator.group.GroupCoordinator)
[2026-03-01 10:00:03,050] INFO [GroupCoordinator 1]: Assignment received from leader c-1-77aa for group payments \
for generation 1. The group has 1 members, 0 of which are static. (kafka.coordinator.group.GroupCoordinator)
[2026-03-01 10:05:00,000] INFO [GroupCoordinator 1]: Member c-1-77aa in group payments has failed, removing it \
from the group (kafka.coordinator.group.GroupCoordinator)
[2026-03-01 10:05:00,001] INFO [GroupCoordinator 1]: Preparing to rebalance group payments in state \
PreparingRebalance with old generation 1 (__consumer_offsets-3) (reason: removing member c-1-77aa on heartbeat \
expiration) (kafka.coordinator.group.GroupCoordinator)
[2026-03-01 10:05:00,002] INFO [GroupCoordinator 1]: Group payments with generation 2 is now empty \
(__consumer_offsets-3) (kafka.coordinator.group.GroupCoordinator)
"""
"""One group of one member, whose member fails."""

LONGEST = ("spark", "browser")
"""What takes longest begins first, so that no process waits for it at the end."""
Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say what runs in one process where there are several, longest first: Spark (one session), Chromium, a file."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(_process_of(item)))
    items.sort(key=lambda item: LONGEST.index(name) if (name := _process_of(item)) in LONGEST else len(LONGEST))


def _process_of(item: pytest.Item) -> str:
    fixtures = getattr(item, "fixturenames", ())
    if item.get_closest_marker("spark") or "spark" in fixtures:
        return "spark"
    return "browser" if item.get_closest_marker("browser") or "chromium" in fixtures else str(item.path)


def some_samples(place: Path) -> Path:
    """Samples of every kind of group, each in a directory of its own."""
    for name in SOME_OF_EVERY_KIND:
        shutil.copytree(SAMPLES / name, place / name)
    return place


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A directory with one small broker log."""
    directory = tmp_path / "logs" / "broker-1"
    directory.mkdir(parents=True)
    (directory / "server.log").write_text(SHORT_LOG)
    return tmp_path / "logs"


@pytest.fixture(scope="session")
def program() -> Iterator[list[str]]:
    """The program, loaded once for all that `command` runs."""
    with loaded_program() as call:
        yield call


@pytest.fixture
def command(tmp_path: Path, program: list[str]) -> Command:
    """The program as a user runs it, in an empty directory."""
    here = tmp_path / "cwd"
    here.mkdir()

    def run(
        *arguments: str | Path,
        env: Mapping[str, str] = os.environ,
        **settings: Any,  # noqa: ANN401 - whatever subprocess.run takes
    ) -> subprocess.CompletedProcess[str]:
        call = program if starts_alike(env, os.environ) else STARTED_ANEW
        return subprocess.run(
            [*call, *map(str, arguments)],
            cwd=here, capture_output=True, text=True, timeout=300, check=False,
            env={"XDG_CONFIG_HOME": str(tmp_path / "config"), **env, "PYTHONPATH": str(ROOT)}, **settings,
        )  # fmt: skip

    return run


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one Spark session of a test run, started when the first test asks for it."""
    from rebalance_forensics.pipeline.spark.session import start_session  # noqa: PLC0415 - other tests start no JVM

    try:
        find_java()
    except InputError as refusal:
        pytest.skip(str(refusal))
    session = start_session(workers=2)
    yield session
    session.stop()
