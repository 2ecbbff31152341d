"""Describes unexpected exceptions (our own defects), so that each spoils as little as possible."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

ASK = "please report it as a bug, with this sentence and, if you may share them, the lines that it names"
# If set, the full stack trace of each defect is printed to standard error.
TRACE = "REBALANCE_FORENSICS_TRACE"
_LONGEST = 200
_PACKAGE = Path(__file__).parent


class DefectError(Exception):
    """A defect of ours that left no result; the message says what failed, where, and what to send us."""


def describe(error: Exception) -> str:
    """The error and our innermost frame: `ValueError: month must be in 1..12 (sources/profiles/dates.py:81, near_to)`.

    A MemoryError is not a defect and is raised again.
    """
    place = place_of(error)
    if os.environ.get(TRACE):
        traceback.print_exception(error)
    first, *_ = f"{error}".strip().splitlines() or [""]
    message = first.encode(errors="backslashreplace").decode()
    short = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
    return f"{type(error).__name__}{': ' if short else ''}{short} ({place})"


def place_of(error: Exception) -> str:
    """Our innermost frame, by which defects are distinguished."""
    if isinstance(error, MemoryError):
        raise error
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    if not ours:
        return "outside of this program"
    return f"{Path(ours[-1].filename).relative_to(_PACKAGE).as_posix()}:{ours[-1].lineno}, {ours[-1].name}"


def sentence(what: str, error: Exception) -> str:
    """The sentence about a defect; `what` says what could not be done, and to which lines."""
    return f"{what}: {describe(error)}; {ASK}"
