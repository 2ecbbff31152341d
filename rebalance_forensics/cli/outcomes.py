"""Exit codes, and the streams they go with."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import NoReturn, TextIO

from rebalance_forensics.process import scratch, stop_signals
from rebalance_forensics.report.plain_text import printable

OK, FOUND, REFUSED, PARTIAL, DEFECT, INTERRUPTED = 0, 1, 2, 3, 70, 130
PIPED_WIDTH = 80


def say(text: str) -> None:
    """Put a result on standard output, byte for byte as it is."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        # What is left in the stream's buffer must not fail once more when the process ends.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - there until the process ends
        raise OSError(f"cannot write to standard output: {why}; send it elsewhere") from error


def warn(sentence: str) -> None:
    """Write a sentence for the user to standard error; where that fails, the exit code still tells."""
    # A sentence may name a file or a group, whose name may be meant to harm terminals.
    harmless = "\n".join(map(printable, sentence.split("\n")))
    with suppress(OSError):
        sys.stderr.write(f"rebalance-forensics: {harmless}\n")
        sys.stderr.flush()


def status(sentence: str) -> None:
    """Show a line below the output in place of the last one; nothing unless on a terminal, empty to take it away."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with suppress(OSError):
            sys.stderr.write(f"\r\x1b[2K{printable(sentence)[: width(sys.stderr) - 1]}")
            sys.stderr.flush()


def warn_all(sentences: Iterable[str]) -> None:
    """Tell the user several things, each once."""
    for sentence in dict.fromkeys(sentences):
        warn(sentence)


def width(stream: TextIO | None = None) -> int:
    """Columns to lay text out for: the terminal's; a pipe gets what COLUMNS says, else always the same number."""
    fallback = (PIPED_WIDTH, 24)
    if (stream or sys.stdout).isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size(fallback).columns
    return PIPED_WIDTH


def colored() -> bool:
    """Colours only for a terminal that wants them (https://no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def leave(code: int) -> NoReturn:
    """End at once: Spark's orderly shutdown takes a second, and all that it would tidy up is removed here."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # a reader that has seen enough, a disk that is full: both were reported already
            stream.flush()
    if "py4j" in sys.modules:
        from rebalance_forensics.pipeline.spark.jvm_launch import kill_all  # noqa: PLC0415

        # All is said; PySpark's threads would print traces about the JVM's end.
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - there until the process ends
        kill_all()
    if "py4j" in sys.modules or stop_signals.is_stopping():
        # Threads that still run must not be waited for, and print nothing more.
        scratch.forget()
        os._exit(code)
    sys.exit(code)
