"""Processes that share the work of a run without Spark; none of them outlives it."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.process.stop_signals import at_once


@contextmanager
def worker_processes(number: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of so many processes; however the block ends, they are gone afterwards.

    Spawned, not forked: Arrow and the object stores keep threads of their own, and a fork in the middle of one hangs.
    """
    others = {process.pid for process in multiprocessing.active_children()}
    pool = ProcessPoolExecutor(number, multiprocessing.get_context("spawn"), initializer=_leave_signals_to_the_parent)
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


def _kill(others: set[int | None]) -> None:
    for process in multiprocessing.active_children():
        if process.pid not in others:
            process.kill()


@at_once
def end_all() -> None:
    """End every worker: the program was told to end."""
    _kill(set())


def _leave_signals_to_the_parent() -> None:
    """Ctrl-C reaches the whole foreground group; the parent says so, once, and ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
