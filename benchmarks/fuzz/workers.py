"""A long run in several processes: finished chunks are stored, hanging processes killed and reported."""

from __future__ import annotations

import json
import multiprocessing as mp
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from benchmarks.fuzz import chunks
from benchmarks.fuzz.chunks import Done
from benchmarks.fuzz.model import Find

LONGEST_CHUNK_S = 900
"""A chunk that takes longer contains an input that not even an alarm ends."""


@dataclass(slots=True)
class _Worker:
    process: BaseProcess
    pipe: Connection
    chunk: int = -1
    since: float = 0.0


def done_before(file: Path) -> list[dict[str, Any]]:
    """The chunks that earlier runs have finished; the last line of a killed run may be truncated."""
    found: dict[int, dict[str, Any]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        found[record["chunk"]] = record
    return list(found.values())


def run_all(seed: int, numbers: Sequence[int], kinds: tuple[str, ...], file: Path, processes: int) -> None:
    """Distribute the chunks to processes; each finished chunk is immediately appended to the file."""
    context = mp.get_context("spawn")
    waiting = list(reversed(numbers))
    workers = [_started(context, seed, kinds) for _ in range(min(processes, len(waiting)))]
    with file.open("a") as out:
        for worker in workers:
            _give(worker, waiting)
        while any(worker.chunk >= 0 for worker in workers):
            busy = {worker.pipe: place for place, worker in enumerate(workers) if worker.chunk >= 0}
            for pipe in wait(list(busy), timeout=10):
                worker = workers[busy[pipe]]  # type: ignore[index]
                try:
                    text = worker.pipe.recv()
                except EOFError:
                    text = _lost(worker, "the process died")
                    workers[busy[pipe]] = worker = _started(context, seed, kinds)  # type: ignore[index]
                _write(out, text)
                _give(worker, waiting)
            for place, worker in enumerate(workers):
                if worker.chunk >= 0 and time.monotonic() - worker.since > LONGEST_CHUNK_S:
                    _write(out, _lost(worker, "nothing ended it"))
                    workers[place] = _started(context, seed, kinds)
                    _give(workers[place], waiting)
    for worker in workers:
        worker.process.terminate()
        worker.process.join()


def _write(out: Any, text: str) -> None:  # noqa: ANN401 - a text file
    out.write(f"{text}\n")
    out.flush()
    record = json.loads(text)
    for find in record["finds"]:
        print(f"{find['number']} {find['kind']}: {find['law']}: {find['sign']}", flush=True)


def _started(context: Any, seed: int, kinds: tuple[str, ...]) -> _Worker:  # noqa: ANN401 - a multiprocessing context
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, seed, kinds), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _give(worker: _Worker, waiting: list[int]) -> None:
    worker.chunk = waiting.pop() if waiting else -1
    worker.since = time.monotonic()
    if worker.chunk >= 0:
        worker.pipe.send(worker.chunk)


def _lost(worker: _Worker, why: str) -> str:
    worker.process.kill()
    worker.process.join()
    done = Done(worker.chunk)
    done.note(worker.chunk * chunks.CHUNK, "?", [Find(law="work is bounded", sign=why, detail=f"chunk {worker.chunk}")])
    return done.text()


def _work(pipe: Connection, seed: int, kinds: tuple[str, ...]) -> None:
    """Run chunks until the pipe is closed."""
    while True:
        try:
            chunk = pipe.recv()
        except EOFError:
            return
        pipe.send(chunks.run(seed, chunk, kinds).text())
