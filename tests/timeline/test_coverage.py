from __future__ import annotations

from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.coverage import LogSpan, logs_read


def part(start: int, opening: int | None, closing: int | None) -> LogSpan:
    """A part of one log; its times as its own clock says."""
    first, last = (None if at is None else EpochMs(at) for at in (opening, closing))
    return LogSpan(path="app.log", host=None, opening=first, closing=last, start=start)


def test_a_clock_that_stands_at_the_beginning_of_time_tells_a_time() -> None:
    """Whoever has no battery begins in 1970, until a time server is heard."""
    read = logs_read([part(0, 0, 0), part(100, 5_000, 9_000)])
    assert read["app.log", None][:2] == (0, 9_000)


def test_parts_without_a_time_say_nothing_of_how_far_a_log_was_read() -> None:
    assert logs_read([part(0, None, None), part(100, 5_000, 9_000)])["app.log", None][:2] == (5_000, 9_000)
    assert logs_read([part(0, None, None)])["app.log", None][:2] == (None, None)
