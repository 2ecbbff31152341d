"""Growth: events in many groups, and in one, from events to findings."""

from __future__ import annotations

from pathlib import Path

from benchmarks.generate import generate
from benchmarks.measuring import ours, table, timed

BYTES_A_LINE = 200


def measure(directory: Path, *, events: int) -> str:
    """A log of nothing but relevant lines: a quarter of the events, half, all of them; then all in one group."""
    rows = []
    for share, groups in ((0.25, 5_000), (0.5, 10_000), (1.0, 20_000)):
        rows.append(_row(directory, int(events * share), int(groups * events / 1_000_000)))
    rows.append(_row(directory, events // 20, 1))
    return "### Growth\n\n" + table(("events", "groups", "s", "events/s", "peak MiB"), rows)


def _row(directory: Path, events: int, groups: int) -> list[object]:
    file = directory / f"events-{events}-{groups}.log"
    if not file.exists():
        generate(file, events * BYTES_A_LINE, share=1.0, seed=5, groups=max(groups, 1))
    lines = sum(chunk.count(b"\n") for chunk in iter(file.open("rb").read, b""))
    timing = timed(ours("analyze", file, "--quiet", "--json", "/dev/null"), 1)
    return [lines, groups, f"{timing.best:.1f}", f"{lines / timing.best:.0f}", timing.peak_mib]
