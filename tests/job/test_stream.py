"""A job that follows its logs as a stream leaves the tables of a run over all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.run import Outcome
from rebalance_forensics.job.steps.engines import OnSpark
from rebalance_forensics.job.stream import follow
from rebalance_forensics.pipeline.refusals import InputError
from tests.job.conftest import Run, rows
from tests.job.days import packed
from tests.job.test_growing_logs import busy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SINCE, UNTIL = "2026-03-01", "2026-03-09"
Follow = Callable[..., list[Outcome]]


@pytest.fixture
def read(spark: SparkSession, logs: Path, tmp_path: Path) -> Follow:
    """Everything that is new, by way of the stream."""

    def read(then: Callable[[Outcome], None] | None = None) -> list[Outcome]:
        given = ["--input", str(logs), "--output", str(tmp_path / "tables"), "--since", SINCE, "--until", UNTIL]
        outcomes: list[Outcome] = []
        engine, take = OnSpark(session=spark, workers=2), then or outcomes.append
        options = parse([*given, "--stream", "available-now"]).options
        follow(options, engine, lambda whole, ahead: take(run_job(whole, engine, ahead)))
        return outcomes

    return read


def as_at_once(run: Run, tmp_path: Path) -> None:
    run(SINCE, UNTIL, output=tmp_path / "at-once")
    assert rows(tmp_path / "tables") == rows(tmp_path / "at-once")
    assert len(rows(tmp_path / "at-once")["incidents"]) > 0


def test_streams_and_runs_take_turns(read: Follow, run: Run, logs: Path, tmp_path: Path) -> None:
    live, text = logs / "broker-1" / "server.log", busy(8)
    live.write_bytes(text[: 2 << 20])
    (first,) = read()
    live.write_bytes(text[: 3 << 20])
    run(SINCE, UNTIL)
    live.write_bytes(text)
    (second,) = read()
    assert (first.summary["scanned"], second.summary["scanned"]) == (4, 1)
    assert isinstance(second.summary["bytes"], int)
    assert second.summary["bytes"] < len(text) - (1 << 20) + 10_000
    packed(live.rename(logs / "broker-1" / "server.log.2026-02-28"))
    run(SINCE, UNTIL)
    as_at_once(run, tmp_path)


@pytest.mark.long
def test_a_batch_that_broke_off_is_done_again(read: Follow, run: Run, tmp_path: Path) -> None:
    def broken(_outcome: Outcome) -> None:
        raise OSError("no space left")

    with pytest.raises(InputError, match="the stream broke off: no space left"):
        read(broken)
    read()
    as_at_once(run, tmp_path)
