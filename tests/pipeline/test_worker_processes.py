"""Without Spark, several processes read and investigate: the report is that of one, and none of them stays behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from rebalance_forensics.pipeline import local_engine, read_plan
from rebalance_forensics.pipeline.engine_choice import UP_TO_BYTES, engine_by_size
from rebalance_forensics.pipeline.local_engine import rows_in, worker_processes
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.process import scratch
from rebalance_forensics.report.json_report import to_json
from tests.conftest import SAMPLES

LOGS = [str(SAMPLES / name) for name in ("process-pause", "scaling-flap")]


def test_several_processes_say_what_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = analyze(LOGS, AnalyzeOptions(engine="local"))
    monkeypatch.setattr(read_plan, "workload", lambda _splits, _catalog: sys.maxsize)
    assert to_json(analyze(LOGS, AnalyzeOptions(engine="local", processes=2))) == to_json(alone)
    assert not multiprocessing.active_children()


def test_a_killed_process_is_one_sentence_and_the_others_end() -> None:
    with pytest.raises(InputError, match="was killed, most likely because memory ran out"):
        _killed()
    for process in multiprocessing.active_children():
        process.join(5)
    assert not multiprocessing.active_children()


def _killed() -> None:
    with worker_processes(2, load=local_engine.__name__) as pool:
        os.kill(pool.submit(os.getpid).result(), signal.SIGKILL)
        pool.submit(os.getpid).result()


KILLED = """
import os, signal
from rebalance_forensics.pipeline.local_engine import worker_processes
if __name__ == "__main__":
    with worker_processes(1, load="os") as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_no_process_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = tmp_path / "killed.py"
    program.write_text(KILLED)
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    worker = int(done.stdout)
    until = time.monotonic() + 10
    while _lives(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _lives(worker)


def _lives(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_spark_is_chosen_for_much_to_read_and_for_object_stores(tmp_path: Path) -> None:
    log, packed = tmp_path / "server.log", tmp_path / "server.log.gz"
    log.touch()
    os.truncate(log, UP_TO_BYTES)
    assert engine_by_size([str(log)]).engine == "local"
    os.truncate(log, UP_TO_BYTES + 1)
    assert engine_by_size([str(tmp_path)]).engine == "spark"
    packed.touch()
    os.truncate(packed, UP_TO_BYTES // 4)
    assert engine_by_size([str(packed)]).engine == "spark"
    assert engine_by_size(["s3://logs/kafka"]).engine == "spark"
    assert engine_by_size(["-"]).engine == "local"


def test_what_processes_hand_to_each_other_is_gone_with_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_plan, "workload", lambda _splits, _catalog: sys.maxsize)
    place = scratch.directory()
    before = {file.name for file in place.iterdir()}
    written: list[Path] = []

    def noted(files: Sequence[Path]) -> Iterator[pa.RecordBatch]:
        written.extend(files)
        return rows_in(files)

    monkeypatch.setattr(local_engine, "rows_in", noted)
    analyze(LOGS, AnalyzeOptions(engine="local", processes=2))
    assert written
    assert all(place in file.parents for file in written)
    assert {file.name for file in place.iterdir()} == before


def test_a_report_without_pictures_needs_no_swim_lanes() -> None:
    drawn, undrawn = (analyze(LOGS, AnalyzeOptions(engine="local", lanes=lanes)) for lanes in (True, False))
    assert all(group.lanes for group in drawn.groups)
    assert not any(group.lanes for group in undrawn.groups)
    assert to_json(drawn) == to_json(undrawn)
