"""The stages without Spark: in this process, or in as many as there are cores where there is much to read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from pathlib import Path

import pyarrow as pa

from rebalance_forensics.pipeline.options import Wanted
from rebalance_forensics.pipeline.read_plan import ReadPlan
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.results import Results, results_of
from rebalance_forensics.pipeline.schemas import ROWS, is_one_of
from rebalance_forensics.pipeline.single_process import run_in_process
from rebalance_forensics.pipeline.stages import in_order, investigate_rows, read_portion
from rebalance_forensics.pipeline.worker_processes import worker_processes
from rebalance_forensics.pipeline.workload import weight
from rebalance_forensics.process import scratch
from rebalance_forensics.sources.records.splits import Split

IN_TURN = 8
"""Shards that each worker takes one after another: rows are put in order in memory, and held twice while they are."""


def run_locally(plan: ReadPlan, wanted: Wanted, *, progress: Callable[[int], None], processes: int = 1) -> Results:
    """What the stages find; `progress` is told the bytes done so far."""
    # A plan for little to read has one portion: other processes would still be starting when it is done.
    number = min(processes, len(plan.portions))
    if number <= 1:
        return run_in_process(plan, wanted, progress=progress)
    return results_of(_side_by_side(plan, number, wanted, progress), first_shard=plan.reading.shards[0])


def _side_by_side(
    plan: ReadPlan, number: int, wanted: Wanted, progress: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    shards = plan.reading.shards
    with run_directory() as directory, worker_processes(number, load=__name__) as pool:
        reads = {
            pool.submit(_read, portion, plan.reading, [directory / f"{shard}-{place}" for shard in shards]): portion
            for place, portion in enumerate(plan.portions)
        }
        done = 0
        for read in as_completed(reads):
            read.result()
            done += sum(map(weight, reads.pop(read)))
            progress(done)
        row_files = [[directory / f"{shard}-{place}" for place in range(len(plan.portions))] for shard in shards]
        of_workers = [
            row_files[first : first + plan.reading.in_turn] for first in range(0, len(row_files), plan.reading.in_turn)
        ]
        found = [directory / f"{shard}-found" for shard in plan.reading.first_shards]
        for file in pool.map(partial(_investigate, wanted=wanted), of_workers, found):
            yield from rows_in([file])
            file.unlink()


def _read(portion: Sequence[Split], reading: Reading, files: Sequence[Path]) -> None:
    """First stage: what the splits tell, a file for each shard."""
    write_by_shard(read_portion(portion, reading), list(zip(reading.shards, files, strict=True)))


def _investigate(row_files: Sequence[Sequence[Path]], found: Path, *, wanted: Wanted) -> Path:
    """Second stage: what is found in the rows of one worker's shards, which it takes in turn."""
    write_rows(investigate_rows(chain.from_iterable(map(_taken, row_files)), wanted), found)
    return found


def _taken(shard: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    """The rows of one shard in order; their files are done with."""
    yield from in_order(rows_in(shard))
    for file in shard:
        file.unlink()


@contextmanager
def run_directory() -> Iterator[Path]:
    """A directory for the files of one run, that only this user may look into; gone with the run."""
    with tempfile.TemporaryDirectory(dir=scratch.directory()) as directory:
        yield Path(directory)


def write_rows(batches: Iterable[pa.RecordBatch], file: Path) -> None:
    """Write batches of ROWS one after another."""
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, ROWS) as out:
        for batch in batches:
            out.write_batch(batch)


def write_by_shard(batches: Iterable[pa.RecordBatch], files: Sequence[tuple[int, Path]]) -> None:
    """Write the rows of each shard to a file of its own."""
    with ExitStack() as opened:
        sinks = [(shard, opened.enter_context(pa.OSFile(str(file), "wb"))) for shard, file in files]
        outs = [(shard, opened.enter_context(pa.ipc.new_stream(sink, ROWS))) for shard, sink in sinks]
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for shard, out in outs:
                rows = table.filter(is_one_of("shard", [shard], table))
                if rows.num_rows:
                    out.write_table(rows)


def rows_in(files: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    """The batches of some files, one after another; a file that was mapped would count as memory to its last page."""
    for file in files:
        with pa.OSFile(str(file)) as source:
            yield from pa.ipc.open_stream(source)
