"""Processes that share the work of a run without Spark; none of them outlives it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import forkserver, resource_tracker, util
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from pathlib import Path
from threading import Thread

from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.process import scratch
from rebalance_forensics.process.stop_signals import at_once

STDERR = 2
LAST_BREATH_S = 0.5


@contextmanager
def worker_processes(number: int, *, load: str) -> Iterator[ProcessPoolExecutor]:
    """A pool of so many processes that have loaded a module; however the block ends, they are gone afterwards.

    Not forked from this process: Arrow and the object stores keep threads of their own, and a fork in the middle of one
    hangs. A server that does nothing else loads the module once and is forked; without one (Windows), each loads it.
    """
    others = {process.pid for process in multiprocessing.active_children()}
    pool = ProcessPoolExecutor(number, _context(load), initializer=_live_as_long_as_the_parent)
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
    """Start multiprocessing's helpers so that they print nothing and a closed terminal does not kill them.

    When a run is interrupted they would print tracebacks and count leaked semaphores beside the sentence that says so.
    What fails in a worker comes back as an exception. The helpers handle SIGINT and SIGTERM themselves; without the
    resource tracker, which SIGHUP kills, a second one is started that knows none of the semaphores.
    """
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
        # Until it is dead it may still make a file in a directory that is being removed.
        process.join(LAST_BREATH_S)


@at_once
def end_all() -> None:
    """End every worker: the program was told to end."""
    _kill(set())


def _live_as_long_as_the_parent() -> None:
    """Ctrl-C reaches the whole foreground group; the parent says so, once, and ends its workers.

    A parent that is killed cannot: it would leave workers that wait for it to hand them more.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
