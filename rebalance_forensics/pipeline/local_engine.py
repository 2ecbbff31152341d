"""The stages without Spark: in this process, or in one process per core if there is much to read.

In one process the stages pass objects, and nothing is encoded; several processes exchange files of rows, which are
deleted with the run.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from multiprocessing import forkserver, resource_tracker, util
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from pathlib import Path
from threading import Thread

import pyarrow as pa
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline import catalogs, schemas, stages, workload
from rebalance_forensics.pipeline.options import Wanted
from rebalance_forensics.pipeline.read_plan import ReadPlan
from rebalance_forensics.pipeline.read_split import Reading, read_split
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.results import CasesInMemory, Results, in_order_of_groups, results_of
from rebalance_forensics.pipeline.stats import Failure, LinesBefore, SplitStats
from rebalance_forensics.process import resources, scratch, stop_signals, timings
from rebalance_forensics.sources.files.archives import held_open
from rebalance_forensics.sources.records.splits import Split
from rebalance_forensics.timeline.coverage import LogSpan

STDERR = 2
KILL_WAIT_S = 0.5


@contextmanager
def worker_processes(number: int, *, load: str) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes that have loaded a module; all of them have ended when the block ends, even by an error."""
    # Not forked from this process: Arrow and the object stores run threads, and a fork may hang on their locks.
    # A fork server loads the module once; without one (on Windows), each process loads it.
    others = {process.pid for process in multiprocessing.active_children()}
    pool = ProcessPoolExecutor(number, _context(load), initializer=_end_with_parent)
    try:
        yield pool
    except BrokenProcessPool as error:
        raise InputError(
            "a process that was reading logs was killed, most likely because memory ran out: "
            "analyze fewer logs at a time, or use --engine spark, which holds less in memory."
        ) from error
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        _kill(others)
        raise
    pool.shutdown()


def _context(load: str) -> BaseContext:
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([load])
    scratch.adopt(Path(util.get_temp_dir()))
    with _helpers_are_quiet():
        resource_tracker.ensure_running()
        forkserver.ensure_running()
    return context


@contextmanager
def _helpers_are_quiet() -> Iterator[None]:
    # Start multiprocessing's helper processes so that they print nothing and a closed terminal does not kill them.
    # When a run is interrupted, they would print tracebacks and warnings about leaked semaphores in addition to our
    # message. Errors in workers are returned as exceptions. The helpers handle SIGINT and SIGTERM themselves; if SIGHUP
    # killed the resource tracker, a second one would start that knows none of the semaphores.
    hangup = {signal.SIGHUP} if hasattr(signal, "SIGHUP") else set[signal.Signals]()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, hangup)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    kept = _duplicate(STDERR)
    try:
        if kept is not None:
            os.dup2(nowhere, STDERR)
        yield
    finally:
        if kept is not None:
            os.dup2(kept, STDERR)
            os.close(kept)
        os.close(nowhere)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _duplicate(descriptor: int) -> int | None:
    try:
        return os.dup(descriptor)
    except OSError:  # closed by the shell (`2>&-`)
        return None


def _kill(others: set[int | None]) -> None:
    workers = [process for process in multiprocessing.active_children() if process.pid not in others]
    for process in workers:
        process.kill()
    for process in workers:
        # Until it has ended, it may still create a file in a directory that is being removed.
        process.join(KILL_WAIT_S)


@stop_signals.at_once
def end_all() -> None:
    """Kill all workers, because the program was asked to stop."""
    _kill(set())


def _end_with_parent() -> None:
    # Ctrl-C reaches the whole foreground process group; the parent alone reports it and ends its workers.
    # If the parent is killed, its workers would wait forever for more work; so they watch it and exit.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_exit_after, args=(parent.sentinel,), daemon=True).start()


def _exit_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


Group = tuple[str, str | None]
"""Cluster and group; the group is None for events that name none."""


def run_in_process(plan: ReadPlan, wanted: Wanted, *, progress: Callable[[int], None]) -> Results:
    """What the stages find; `progress` gets the bytes done so far."""
    with resources.collecting_rarely():
        with timings.stage("read"):
            events, stats = _read_all(plan, progress)
            _count_lines_on(events, stats)
            rows = _rows_of(plan, events) if wanted.events else schemas.NO_ROWS
        with timings.stage("explain"):
            found = list(stages.investigated(_parts(plan, events, stats), unnamed=lambda: True, lanes=wanted.lanes))
    return Results(
        stats=stats,
        cases=CasesInMemory([answer for answer in found if isinstance(answer, GroupCase)]),
        failures=in_order_of_groups(answer for answer in found if isinstance(answer, Failure)),
        events=rows,
    )


def _read_all(
    plan: ReadPlan, progress: Callable[[int], None]
) -> tuple[dict[Group, list[Event]], tuple[SplitStats, ...]]:
    catalog = catalogs.catalog_of(plan.reading.patterns)
    events: dict[Group, list[Event]] = defaultdict(list)
    stats: list[SplitStats] = []
    done = 0
    for portion in plan.portions:
        for split in portion:
            with held_open():
                for result in read_split(split, catalog, plan.reading):
                    if isinstance(result, SplitStats):
                        stats.append(result)
                    else:
                        events[result.cluster, result.group].append(result)
            done += workload.weight(split)
            progress(done)
    return events, tuple(stats)


def _count_lines_on(events: dict[Group, list[Event]], stats: Sequence[SplitStats]) -> None:
    if not any(counts.start for counts in stats):
        return
    before = LinesBefore(counts.split_lines for counts in stats)
    for of_group in events.values():
        for number, event in enumerate(of_group):
            at = event.origin
            if lines := before.at(at.path, at.byte_offset):
                of_group[number] = replace(event, origin=replace(at, line=at.line + lines))


def _rows_of(plan: ReadPlan, events: dict[Group, list[Event]]) -> pa.Table:
    rows = [
        schemas.row_of(event, shard=plan.reading.shards[0], split=0)
        for of_group in events.values()
        for event in of_group
    ]
    batches = (
        schemas.batch_of(rows[begin : begin + schemas.BATCH_ROWS]) for begin in range(0, len(rows), schemas.BATCH_ROWS)
    )
    return pa.Table.from_batches(batches, schemas.ROWS)


def _parts(
    plan: ReadPlan, events: dict[Group, list[Event]], stats: Sequence[SplitStats]
) -> Iterator[stages.Heard | stages.GroupEvents]:
    # The input of the second stage, in the order of the rows of a shard; events are freed as they are consumed.
    spans: dict[str, list[LogSpan]] = defaultdict(list)
    for counts in sorted(stats, key=lambda split_counts: (split_counts.path, split_counts.start)):
        spans[plan.reading.cluster_of(counts.path)].extend(counts.heard)
    for cluster in sorted(cluster for cluster, heard in spans.items() if heard):
        yield stages.Heard(cluster, spans[cluster])
    for cluster, group in sorted(events, key=lambda key: (key[1] is not None, key)):
        yield stages.GroupEvents(cluster, group, sorted(events.pop((cluster, group)), key=_by_time_and_place))


def _by_time_and_place(event: Event) -> tuple[bool, int, str, int]:
    # The order of the rows of a group: events without a time are last.
    return event.at is None, event.at or 0, event.origin.path, event.origin.byte_offset


IN_TURN = 8
"""Shards that each worker processes in sequence: sorting a shard takes memory for its rows twice."""


def run_locally(plan: ReadPlan, wanted: Wanted, *, progress: Callable[[int], None], processes: int = 1) -> Results:
    """What the stages find; `progress` gets the bytes done so far."""
    # A plan for a small input has one portion: it is done before other processes would have started.
    number = min(processes, len(plan.portions))
    if number <= 1:
        return run_in_process(plan, wanted, progress=progress)
    return results_of(_in_parallel(plan, number, wanted, progress), first_shard=plan.reading.shards[0])


def _in_parallel(
    plan: ReadPlan, number: int, wanted: Wanted, progress: Callable[[int], None]
) -> Iterator[pa.RecordBatch]:
    shards = plan.reading.shards
    # Only this user can read the directory of a run's files, and it is deleted with the run.
    with (
        tempfile.TemporaryDirectory(dir=scratch.directory()) as name,
        worker_processes(number, load=__name__) as pool,
    ):
        directory = Path(name)
        reads = {
            pool.submit(_read, portion, plan.reading, [directory / f"{shard}-{place}" for shard in shards]): portion
            for place, portion in enumerate(plan.portions)
        }
        done = 0
        with timings.stage(f"read, in {number} processes") as spent_elsewhere:
            for read in as_completed(reads):
                spent_elsewhere(read.result())
                done += sum(map(workload.weight, reads.pop(read)))
                progress(done)
        row_files = [[directory / f"{shard}-{place}" for place in range(len(plan.portions))] for shard in shards]
        of_workers = [
            row_files[first : first + plan.reading.in_turn] for first in range(0, len(row_files), plan.reading.in_turn)
        ]
        found = [directory / f"{shard}-found" for shard in plan.reading.first_shards]
        with timings.stage(f"explain, in {number} processes") as spent_elsewhere:
            for file, cpu in pool.map(partial(_investigate, wanted=wanted), of_workers, found):
                spent_elsewhere(cpu)
                yield from rows_in([file])
                file.unlink()


def _read(portion: Sequence[Split], reading: Reading, files: Sequence[Path]) -> float:
    # First stage; returns the CPU seconds that it took.
    started = time.process_time()
    write_by_shard(stages.read_portion(portion, reading), list(zip(reading.shards, files, strict=True)))
    return time.process_time() - started


def _investigate(row_files: Sequence[Sequence[Path]], found: Path, *, wanted: Wanted) -> tuple[Path, float]:
    # Second stage for the shards of one worker, in sequence; returns the file of results and the CPU seconds.
    started = time.process_time()
    write_rows(stages.investigate_rows(chain.from_iterable(map(_consumed, row_files)), wanted), found)
    return found, time.process_time() - started


def _consumed(shard: Sequence[Path]) -> Iterator[pa.RecordBatch]:
    # The rows of one shard in order; then deletes their files.
    yield from stages.in_order(rows_in(shard))
    for file in shard:
        file.unlink()


def write_rows(batches: Iterable[pa.RecordBatch], file: Path) -> None:
    """Write batches of ROWS to a file."""
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, schemas.ROWS) as out:
        for batch in batches:
            out.write_batch(batch)


def write_by_shard(batches: Iterable[pa.RecordBatch], files: Sequence[tuple[int, Path]]) -> None:
    """Write the rows of each shard to its file."""
    with ExitStack() as opened:
        sinks = [(shard, opened.enter_context(pa.OSFile(str(file), "wb"))) for shard, file in files]
        outs = [(shard, opened.enter_context(pa.ipc.new_stream(sink, schemas.ROWS))) for shard, sink in sinks]
        for batch in batches:
            table = pa.Table.from_batches([batch])
            for shard, out in outs:
                rows = table.filter(schemas.is_one_of("shard", [shard], table))
                if rows.num_rows:
                    out.write_table(rows)


def rows_in(files: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    """The batches of some files, in sequence; not memory-mapped, since mapped pages would count as memory."""
    for file in files:
        with pa.OSFile(str(file)) as source:
            yield from pa.ipc.open_stream(source)
