"""Garbage is looked for less often while many objects are made that all live."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (100_000, 20, 50)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """What is made here is looked through in vain: it takes a fifth of the time with Python's own thresholds."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
