"""Resources of this process: cores, memory, and the time it spends on garbage collection."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

THRESHOLDS = (100_000, 20, 50)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spare_memory() -> int | None:
    """Bytes that this process can still allocate within its own, its container's and the machine's limits, if known.

    A Python worker of Spark that exceeds them is killed without warning.
    """
    found: list[int] = []
    with suppress(ImportError, OSError, ValueError, LookupError):
        import resource  # noqa: PLC0415 - Windows has none

        # spark.executor.pyspark.memory is this limit.
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        found += [limit - pages * resource.getpagesize()] if limit != resource.RLIM_INFINITY else []
    with suppress(OSError, ValueError, LookupError):
        group = Path("/sys/fs/cgroup")
        cached = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())["inactive_file"]
        used = int((group / "memory.current").read_text()) - int(cached)
        found.append(int((group / "memory.max").read_text()) - used)
    with suppress(OSError, ValueError, LookupError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")]
    return max(0, min(found)) if found else None


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Collect garbage less often while many long-lived objects are created."""
    # With Python's default thresholds the collector takes a fifth of the time and finds nothing. Events, hypotheses and
    # reports are excluded entirely (`gc=False`): frozen values contain no cycles, and tracking them took half of the
    # time to decode a case. Objects that refer to a timeline are tracked, since its cached answers may refer back.
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
