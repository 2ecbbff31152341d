"""Loads every module of the program, then forks one run for each caller: `python -m tests.forks.parent SOCKET`."""

from __future__ import annotations

import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import rebalance_forensics

STREAMS = 3
LONGEST_CALL = 4_000_000
ONLY_WITH_SPARK = "pyspark"


def load() -> None:
    """Import what the commands import; what needs Spark is left to the runs that use it."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a thread would not live on in a fork
    for module in pkgutil.walk_packages(rebalance_forensics.__path__, "rebalance_forensics."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):
                import_module(module.name)
    del os.environ["OPENBLAS_NUM_THREADS"]


def serve(listener: socket.socket) -> None:
    """One run after the other, for a test waits for its own, until nobody is left who could ask."""
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        caller, _ = listener.accept()
        with caller:
            call, streams, _, _ = socket.recv_fds(caller, LONGEST_CALL, STREAMS)
            while not call.endswith(b"\n"):
                call += caller.recv(LONGEST_CALL)
            child = os.fork()
            if not child:
                listener.close()
                caller.close()
                run(json.loads(call), streams)
            for stream in streams:
                os.close(stream)
            with suppress(OSError):
                caller.sendall(f"{exit_code(child, caller)}\n".encode())


def exit_code(child: int, caller: socket.socket) -> int:
    """How the run ended; it does not outlive who asked for it."""
    ended = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([ended, caller.fileno()], [], [])
        if ended not in ready:
            os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        os.close(ended)


def run(call: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the program, to the end of the interpreter."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(call["cwd"])
    os.umask(call["umask"])
    os.environ.clear()
    os.environ.update(call["env"])
    time.tzset()
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, errors=errors, closefd=False)  # noqa: SIM115 - the process's own
        for number, mode, errors in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )
    sys.path[0] = call["cwd"]
    sys.argv[1:] = call["arguments"]
    runpy.run_module("rebalance_forensics", run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    load()
    with socket.socket(socket.AF_UNIX) as waiting:
        waiting.bind(sys.argv[1])
        waiting.listen()
        os.write(1, b"loaded\n")
        serve(waiting)
