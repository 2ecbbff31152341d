"""Whatever the order and the grouping of runs: over the same files the tables are those of one run over all of them.

Logs grow, are rolled over and packed between runs; files arrive in any order, and any of them may be the one that tells
the zone, the release or the component of the others, the day of a log without dates, or how the last record of another
file continues.
"""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.steps.engines import InProcess
from tests.job.conftest import Rows, rows
from tests.job.days import START, failure, line, packed

ZONE = timedelta(hours=2)
GENERATION = 100
AGE = (START + timedelta(days=40)).timestamp()


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
    """A member that has partitions, loses them, and has one of them back."""
    at = START + timedelta(days=day, hours=3)
    name = "[Consumer clientId=app-1-StreamThread-1-consumer, groupId=app]"
    said = [
        f"{name} Adding newly assigned partitions: orders-0, orders-1",
        f"{name} Request joining group due to: group is already rebalancing",
        f"{name} Revoke previously assigned partitions orders-0, orders-1",
        f"{name} (Re-)joining group",
        f"{name} Adding newly assigned partitions: orders-0",
    ]
    return [
        f"[{at + timedelta(seconds=n):%Y-%m-%d %H:%M:%S},000] INFO {words} "
        "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
        for n, words in enumerate(said)
    ]


def run(logs: Path, output: Path, *more: str) -> int:
    asked = ["--input", str(logs), "--output", str(output), "--since", "2026-02-20", "--until", "2026-04-20", *more]
    outcome = run_job(parse(asked).options, InProcess())
    assert not outcome.failures
    return int(outcome.summary["scanned"] or 0)


def assert_as_one_run(logs: Path, output: Path) -> None:
    """The tables are those of a run over what is there now; one more run reads nothing."""
    run(logs, output.with_name("at-once"))
    assert_as(rows(output.with_name("at-once")), logs, output)


def assert_as(expected: Rows, logs: Path, output: Path) -> None:
    assert run(logs, output) == 0
    found = rows(output)
    for table in expected:
        assert found[table] == expected[table], table


def without_dates(day: int) -> str:
    """The same as a log that prints no dates; its age tells another day than its neighbours do."""
    return "".join(failures(day)).replace(f"[{START + timedelta(days=day):%Y-%m-%d} ", "[")


def torn(text: str) -> tuple[str, str]:
    """A log whose last record continues in the next file, behind a line that is whole."""
    at = text.index("(reason: removing")
    return text[:at] + "\n", "\tat " + text[at:]


TORN = torn("".join(failures(0)))
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
    "day": {
        "broker-1/server.log": "".join(failures(0)),
        "broker-2/server.log": without_dates(0),
        "broker-3/server.log": "".join(failures(5)),
    },
    "end of a record": {
        "broker-1/server.log.2": TORN[0],
        "broker-1/server.log.1": TORN[1],
        "broker-1/server.log": "".join(failures(1)),
    },
    "copy": {
        "broker-1/server.log": "".join(failures(0)),
        "broker-1/a-copy.log": "".join(failures(0)),
        "broker-1/z-copy.log": "".join(failures(0)),
    },
}


def put(logs: Path, name: str, text: str) -> None:
    path = logs / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (AGE, AGE))


OFTEN_TRIED = ("zone and release", "end of a record")


@pytest.mark.parametrize(
    "family", [pytest.param(name, marks=() if name in OFTEN_TRIED else pytest.mark.long) for name in FAMILIES]
)
def test_files_may_come_in_any_order(family: str, tmp_path: Path) -> None:
    logs, files = tmp_path / "logs", FAMILIES[family]
    for name, text in files.items():
        put(logs, name, text)
    run(logs, tmp_path / "at-once")
    expected = rows(tmp_path / "at-once")
    for number, names in enumerate(permutations(files)):
        shutil.rmtree(logs)
        for name in names:
            put(logs, name, files[name])
            run(logs, tmp_path / f"{number}")
        assert_as(expected, logs, tmp_path / f"{number}")


def test_what_cannot_be_read_is_named_alike_by_every_run(tmp_path: Path) -> None:
    logs, output = tmp_path / "logs", tmp_path / "tables"
    put(logs, "broker-1/server.log", "".join(failures(0)))
    (logs / "core").write_bytes(bytes(range(256)) * 64)
    (logs / "gone.log").symlink_to(logs / "nowhere")
    (logs / "passing.log").symlink_to(logs / "nowhere")
    run(logs, output, "--until", "2026-03-01")
    (logs / "passing.log").unlink()
    run(logs, output)
    assert_as_one_run(logs, output)


def test_what_a_log_showed_of_others_stays_known_when_it_is_deleted(tmp_path: Path) -> None:
    family = FAMILIES["zone and release"]
    for name, text in family.items():
        put(tmp_path / "logs", name, text)
    run(tmp_path / "logs", tmp_path / "tables")
    before = rows(tmp_path / "tables")
    (tmp_path / "logs" / min(family)).unlink()
    (tmp_path / "logs" / "broker-1" / "server.log.2026-03-01").unlink(missing_ok=True)
    assert run(tmp_path / "logs", tmp_path / "tables") == 0
    assert rows(tmp_path / "tables") == before


def test_another_zone_on_the_command_line_is_that_of_all_files(tmp_path: Path) -> None:
    put(tmp_path / "logs", "broker-1/server.log", "".join(failures(0)))
    run(tmp_path / "logs", tmp_path / "tables")
    run(tmp_path / "logs", tmp_path / "tables", "--tz", "+02:00")
    run(tmp_path / "logs", tmp_path / "at-once", "--tz", "+02:00")
    assert rows(tmp_path / "tables") == rows(tmp_path / "at-once")


def test_a_release_that_becomes_known_is_noted_without_reading_again(tmp_path: Path) -> None:
    logs, output = tmp_path / "logs", tmp_path / "tables"
    put(logs, "broker-1/server.log.2026-03-01", "".join(failures(0)))
    run(logs, output)
    put(
        logs,
        "broker-1/server.log",
        "".join([app_info(START + timedelta(days=1), "Kafka version: 3.7.1"), *failures(1)]),
    )
    assert run(logs, output) == 1
    assert {row["kafka_version"] for row in rows(output)["inputs"]} == {"3.7.1"}


LINES = [*failures(0), *started(1), *of_streams(1), *failures(1), *consumer(2), *failures(2)]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 9)),
        st.tuples(st.just("tear"), st.integers(1, 90)),
        st.tuples(st.just("roll"), st.just(0)),
        st.tuples(st.just("pack"), st.integers(1, 3)),
        st.tuples(st.just("run"), st.just(0)),
    ),
    min_size=4,
    max_size=12,
)


class Broker:
    """A log as a broker, logrotate and a shipper treat it. All that was written stays there, in one file or another."""

    def __init__(self, logs: Path) -> None:
        self.directory = logs / "broker-1"
        self.directory.mkdir(parents=True)
        self.left = "".join(LINES)
        self.take("write", 1)

    @property
    def live(self) -> Path:
        """The file that is written."""
        return self.directory / "server.log"

    def take(self, step: str, count: int) -> None:
        """Do one thing to it."""
        if step == "write":
            self._write(sum(map(len, self.left.splitlines(keepends=True)[:count])))
        elif step == "tear":
            self._write(count)
        elif step == "pack" and (path := self.directory / f"server.log.{count}").exists():
            packed(path)
        elif step == "roll" and self.live.stat().st_size:
            for number in range(len(list(self.directory.iterdir())), 0, -1):
                for path in self.directory.glob(f"server.log.{number}*"):
                    if path.name.split(".")[2] == str(number):
                        path.rename(self.directory / path.name.replace(f".{number}", f".{number + 1}", 1))
            (self.directory / "server.log.1").write_bytes(self.live.read_bytes())
            self.live.write_bytes(b"")

    def _write(self, characters: int) -> None:
        with self.live.open("a") as stream:
            stream.write(self.left[:characters])
        self.left = self.left[characters:]


TORN_IN_ITS_FIRST_TIME = [("roll", 0), ("run", 0), ("tear", 25), ("run", 0), ("write", 9)]
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)


@settings(max_examples=7, deadline=None, phases=PHASES)
@example(TORN_IN_ITS_FIRST_TIME)
@given(STEPS)
def test_a_log_may_grow_be_rolled_and_packed_between_runs(steps: list[tuple[str, int]]) -> None:
    told_as_by_one_run(steps)


@pytest.mark.long
@settings(max_examples=400, deadline=None, phases=PHASES, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_a_log_may_grow_be_rolled_and_packed_between_runs_in_hundreds_of_ways(steps: list[tuple[str, int]]) -> None:
    told_as_by_one_run(steps)


def told_as_by_one_run(steps: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as place:
        logs, output = Path(place) / "logs", Path(place) / "tables"
        broker = Broker(logs)
        for step, count in [*steps, ("write", len(LINES))]:
            if step == "run":
                run(logs, output)
            broker.take(step, count)
        run(logs, output)
        assert_as_one_run(logs, output)
