"""Exit codes, and the streams they go with."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from typing import NoReturn, TextIO

OK, FOUND, REFUSED, PARTIAL, INTERRUPTED = 0, 1, 2, 3, 130
PIPED_WIDTH = 100


def say(text: str) -> None:
    """Put a result on standard output, byte for byte as it is."""
    sys.stdout.write(text)
    sys.stdout.flush()


def warn(sentence: str) -> None:
    """Tell the user something on standard error."""
    sys.stderr.write(f"rebalance-forensics: {sentence}\n")
    sys.stderr.flush()


def warn_all(sentences: Iterable[str]) -> None:
    """Tell the user several things, each once."""
    for sentence in dict.fromkeys(sentences):
        warn(sentence)


def width(stream: TextIO | None = None) -> int:
    """Columns to lay text out for; a pipe gets a fixed number, so that its bytes do not depend on a terminal."""
    return shutil.get_terminal_size().columns if (stream or sys.stdout).isatty() else PIPED_WIDTH


def colored() -> bool:
    """Colours only for a terminal that wants them (https://no-color.org)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def leave(code: int) -> NoReturn:
    """End at once: Spark's orderly shutdown takes a second, and its JVM ends with our pipe to it anyway."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = code or OK
    if "py4j" in sys.modules:
        from rebalance_forensics.pipeline.launching import forget_directories  # noqa: PLC0415

        forget_directories()
        os._exit(code)
    sys.exit(code)
