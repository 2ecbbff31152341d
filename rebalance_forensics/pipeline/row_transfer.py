"""Rows on their way from one process to another: in files, so that nobody holds in memory what only others need."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa

from rebalance_forensics.pipeline.schemas import ROWS, is_one_of
from rebalance_forensics.process import scratch


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
