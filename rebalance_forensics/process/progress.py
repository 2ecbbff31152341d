"""Progress bars for the stages of a run, with amount and rate, on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[str, int, int, str], None]
"""Called with a stage, the amount done, the total, and the unit."""


def quiet(stage: str, done: int, total: int, unit: str) -> None:
    """Show no progress."""


@contextmanager
def shown(*, transient: bool = False) -> Iterator[Show]:
    """Show a bar for each stage, which stays unless `transient`; nothing if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield quiet
        return
    from rich.console import Console  # noqa: PLC0415 - only where somebody watches
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description:<14}"),
        BarColumn(),
        TextColumn("{task.fields[done]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), transient=transient) as bars:
        begun = {}

        def show(stage: str, done: int, total: int, unit: str) -> None:
            if stage not in begun:
                begun[stage] = bars.add_task(stage, total=total, done=""), time.monotonic()
            bar, since = begun[stage]
            rate = _amount(int(done / max(time.monotonic() - since, 0.001)), unit)
            text = f"{_amount(done, unit)} of {_amount(total, unit)}, {rate} a second"
            bars.update(bar, completed=done, total=total, done=text)

        yield show


def _amount(number: int, unit: str) -> str:
    return f"{number / 1e6:,.1f} MB" if unit == "bytes" else f"{number:,} {unit}"
