"""Exit codes, and writing to standard output and standard error."""

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
    """Write a result to standard output, unchanged.

    Raises:
        OSError: Standard output cannot be written to.

    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        # The rest of the buffer would fail again when the process exits.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - there until the process ends
        raise OSError(f"cannot write to standard output: {why}; send it elsewhere") from error


def warn(sentence: str) -> None:
    """Write a sentence to standard error; if that fails, only the exit code remains."""
    # File and group names may contain terminal escape sequences.
    harmless = "\n".join(map(printable, sentence.split("\n")))
    with suppress(OSError):
        sys.stderr.write(f"rebalance-forensics: {harmless}\n")
        sys.stderr.flush()


def status(sentence: str) -> None:
    """Replace the status line below the output of a terminal; an empty sentence removes it."""
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with suppress(OSError):
            sys.stderr.write(f"\r\x1b[2K{printable(sentence)[: width(sys.stderr) - 1]}")
            sys.stderr.flush()


def warn_all(sentences: Iterable[str]) -> None:
    """Write each distinct sentence to standard error once."""
    for sentence in dict.fromkeys(sentences):
        warn(sentence)


def width(stream: TextIO | None = None) -> int:
    """The width of the output in columns: the terminal's, or for a pipe COLUMNS or a fixed default."""
    fallback = (PIPED_WIDTH, 24)
    if (stream or sys.stdout).isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size(fallback).columns
    return PIPED_WIDTH


def colored() -> bool:
    """True if standard output is a terminal that supports colors and NO_COLOR is not set (https://no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def leave(code: int) -> NoReturn:
    """Exit immediately: Spark's shutdown takes a second, and the files it would delete are deleted here."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # a closed pipe or a full disk, already handled
            stream.flush()
    if "py4j" in sys.modules:
        from rebalance_forensics.pipeline.spark.jvm_launch import kill_all  # noqa: PLC0415

        # PySpark's threads would print stack traces when the JVM exits.
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - there until the process ends
        kill_all()
    if "py4j" in sys.modules or stop_signals.is_stopping():
        # Don't wait for running threads, and don't let them print anything.
        scratch.forget()
        os._exit(code)
    sys.exit(code)
