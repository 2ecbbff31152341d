"""How long each stage of a run takes, for `--timings`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


@dataclass(slots=True)
class Timings:
    """The stages of a run in the order in which they ended, with wall-clock seconds and CPU seconds.

    For Spark's executors and JVM only wall-clock seconds are known.
    """

    stages: dict[str, tuple[float, float]] = field(default_factory=dict)
    _begun: tuple[float, float] = field(default_factory=_clocks)
    _cpu_elsewhere: float = 0.0

    def add(self, name: str, since: tuple[float, float], cpu_elsewhere: float) -> None:
        """Add the time since `since` to a stage, and the CPU seconds of other processes."""
        seconds, cpu = self.stages.get(name, (0.0, 0.0))
        now = _clocks()
        self.stages[name] = seconds + now[0] - since[0], cpu + now[1] - since[1] + cpu_elsewhere
        self._cpu_elsewhere += cpu_elsewhere

    def table(self) -> str:
        """One line for each stage, then the total, including time outside any stage."""
        whole = Timings({"total": (0.0, self._cpu_elsewhere)})
        whole.add("total", self._begun, 0.0)
        rows = [("stage", "seconds", "CPU s")]
        rows += [(name, f"{took:.2f}", f"{cpu:.2f}") for name, (took, cpu) in (self.stages | whole.stages).items()]
        width = max(len(name) for name, *_ in rows)
        return "\n".join(f"{name:<{width}}  {took:>8}  {cpu:>7}" for name, took, cpu in rows)


def so_far() -> dict[str, tuple[float, float]]:
    """The stages that have ended within `taken`."""
    timings = _wanted.get()
    return dict(timings.stages) if timings else {}


_wanted: ContextVar[Timings | None] = ContextVar("timings", default=None)


@contextmanager
def taken(*, wanted: bool = True) -> Iterator[Timings | None]:
    """Time the stages within the block, if `wanted`."""
    token = _wanted.set(Timings() if wanted else None)
    try:
        yield _wanted.get()
    finally:
        _wanted.reset(token)


@contextmanager
def stage(name: str) -> Iterator[Callable[[float], None]]:
    """Time a stage of the run; yields a function to report the CPU seconds of other processes."""
    timings, begun = _wanted.get(), _clocks()
    elsewhere: list[float] = []
    try:
        yield elsewhere.append
    finally:
        if timings is not None:
            timings.add(name, begun, sum(elsewhere))
