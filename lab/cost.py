"""What a recorded incident cost, by the members' own rebalance listeners and the injected faults.

`python -m lab.cost DIR…` prints the unread partition-seconds and the seconds in which the whole group stopped.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.recording import Row

Span = tuple[int, int]
STANDS_STILL = ("pause-process", "stall-polling-thread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """When nobody could read each partition, and when nobody read any, from the first fault to the end (epoch ms)."""

    unread: Mapping[str, tuple[Span, ...]]
    stopped: tuple[Span, ...]

    @property
    def partition_seconds(self) -> float:
        """Unread time, summed over the partitions."""
        return sum(length(spans) for spans in self.unread.values()) / 1000

    @property
    def stopped_seconds(self) -> float:
        """Time in which no partition of the group was read."""
        return length(self.stopped) / 1000


def length(spans: Iterable[Span]) -> int:
    """Milliseconds in all."""
    return sum(end - begin for begin, end in spans)


def cost_of(folder: Path) -> Cost:
    """Read truth.json and listener.jsonl of one incident."""
    truth = json.loads((folder / "truth.json").read_text())
    rows = [json.loads(line) for line in (folder / "listener.jsonl").read_text().splitlines()]
    begin, end = truth["window"]["from"], truth["window"]["to"]
    read = _read(truth, rows, end)
    everything = [span for spans in read.values() for span in spans]
    unread = {partition: tuple(_gaps(read[partition], begin, end)) for partition in sorted(read)}
    return Cost(unread=unread, stopped=tuple(_gaps(everything, begin, end)))


def _read(truth: Mapping[str, Any], rows: Iterable[Row], end: int) -> dict[str, list[Span]]:
    """When each partition had an owner that neither was dead nor stood still."""
    group = truth["groups"][truth["expected"]["group"]]
    eager = group["assignor"] == "RangeAssignor"
    still: dict[str, list[Span]] = defaultdict(list)
    moments = [(row["ts"], 1, row) for row in rows]
    for fault in truth["faults"]:
        if fault["kind"] in STANDS_STILL:
            still[fault["target"]].append((fault["ts"], fault["ts"] + fault["ms"]))
        if fault["kind"] == "kill-process":
            moments.append((fault["ts"], 0, {"client": fault["target"], "event": "killed", "partitions": []}))
    read: dict[str, list[Span]] = defaultdict(list)
    owned: dict[str, dict[str, int]] = defaultdict(dict)

    def release(client: str, partitions: Iterable[str], at: int) -> None:
        for partition in list(partitions):
            since = owned[client].pop(partition, None)
            if since is not None:
                read[partition] += _awake((since, at), still[client])

    for at, _, row in sorted(moments, key=lambda moment: moment[:2]):
        mine, named = owned[row["client"]], set(row["partitions"])
        if row["event"] == "assigned":
            release(row["client"], set(mine) - named if eager else (), at)
            mine.update({partition: at for partition in named if partition not in mine})
        else:
            release(row["client"], named if row["event"] in ("revoked", "lost") else set(mine), at)
    for client in list(owned):
        release(client, set(owned[client]), end)
    return read


# Twins of diagnosis/what_if/simulations.py, on purpose: what measures the model must not share its mistakes.
def _awake(span: Span, still: Iterable[Span]) -> list[Span]:
    left = [span]
    for begin, end in still:
        left = [part for a, b in left for part in ((a, min(b, begin)), (max(a, end), b)) if part[0] < part[1]]
    return left


def _gaps(read: Iterable[Span], begin: int, until: int) -> Iterator[Span]:
    reached = begin
    for since, end in sorted(read):
        if since > reached:
            yield reached, min(since, until)
        reached = max(reached, end)
    if reached < until:
        yield reached, until


def main() -> None:
    """Print one line for each folder."""
    for name in sys.argv[1:]:
        cost = cost_of(Path(name))
        print(f"{name}: {cost.partition_seconds:.1f} unread partition-seconds, stopped {cost.stopped_seconds:.1f} s")


if __name__ == "__main__":
    main()
