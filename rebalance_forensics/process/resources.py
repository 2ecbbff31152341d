"""What the process may use of the machine: its processors, and its time for garbage collection."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (100_000, 20, 50)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Collect garbage less often while many objects are made that all live."""
    # With Python's own thresholds the collector takes a fifth of the time and finds nothing. Events, hypotheses and
    # reports are left out of it entirely (`gc=False`): frozen values hold no cycles, and half of the time in which a
    # case is decoded went into that. What may refer to a timeline must be looked through: its answers may refer back.
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
