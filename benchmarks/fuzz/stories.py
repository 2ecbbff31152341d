"""Short incidents: the relevant lines of the samples, and one log that two groups share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from benchmarks.fuzz.corpus import Source, logs
from tests.conftest import SHORT_LOG

KEPT = "payments"
"""The group whose lines are not damaged."""
_MOST_LINES = 16
_MOST_FILES = 4
_LINES_BESIDES = 40


@cache
def stories() -> Mapping[str, Mapping[str, bytes]]:
    """Sample -> a few lines of some of its logs."""
    found: dict[str, dict[str, bytes]] = {}
    for source in logs():
        name, _, path = source.path.partition("/")
        files = found.setdefault(name, {})
        if len(files) < _MOST_FILES:
            files[path] = _telling(source)
    return found


def _telling(source: Source) -> bytes:
    """The lines that the prefilter matches, with their continuation lines."""
    wanted = {at + more for at in source.telling[:_MOST_LINES] for more in (0, 1) if at + more < len(source.lines)}
    return b"".join(source.lines[at] + b"\n" for at in sorted(wanted))


def short_stories() -> dict[str, dict[str, bytes]]:
    """The undamaged logs next to damaged inputs: a broker that loses a member, and the beginning of a sample."""
    crash = {path: b"".join(data.splitlines(keepends=True)[:8]) for path, data in stories()["process-crash"].items()}
    return {
        "untouched-broker": {"broker-1/server.log": SHORT_LOG.encode()},
        "untouched-crash": dict(list(crash.items())[-2:]),
    }


def shared_log() -> tuple[list[bytes], list[bytes]]:
    """The lines of the undamaged group, and those of its neighbor in the same log, each ten minutes later."""
    own = SHORT_LOG.encode().splitlines()
    other = SHORT_LOG.replace(KEPT, "shipping").replace("c-1-77aa", "s-9-02de").replace(":0", ":1")
    return own, other.encode().splitlines()


def interleaved(own: list[bytes], other: list[bytes], *, turns: int = 1) -> bytes:
    """Both in one file, alternating, among other lines of the broker: a dozen lines would look like an excerpt."""
    lines: list[bytes] = []
    rest = list(other)
    for line in own:
        lines += [line, *_partition_lines(line), *rest[:turns]]
        rest = rest[turns:]
    return b"".join(line + b"\n" for line in (*lines, *rest))


def _partition_lines(line: bytes) -> list[bytes]:
    """Lines of the same broker about its partitions at the same time."""
    time, _, _ = line.partition(b" INFO ")
    said = b"%s INFO [UnifiedLog partition=orders-%d, dir=/kafka] Rolled new log segment (kafka.log.UnifiedLog)"
    return [said % (time, number) for number in range(_LINES_BESIDES)]
