"""The cost of a recorded incident, derived from the members' rebalance listeners and the injected faults.

`python -m lab.cost DIR…` prints the unread partition-seconds and the seconds for which the whole group was stopped.
`python -m lab.cost --reports DIR…` prints a table that compares them with reports, also for whole nights.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.recording import Row

Span = tuple[int, int]
STANDS_STILL = ("pause-process", "stall-polling-thread", "network-partition")
CLOSE_MS, CLOSE_SHARE = 2_000, 0.15
"""Tolerance of a duration: absolute, or as a share of the true one. The ends of a span have half of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The spans in which each partition was unread, and in which all were, from the first fault on (epoch ms)."""

    unread: Mapping[str, tuple[Span, ...]]
    stopped: tuple[Span, ...]

    @property
    def partition_seconds(self) -> float:
        """Unread time in seconds, summed over the partitions."""
        return sum(length(spans) for spans in self.unread.values()) / 1000

    @property
    def stopped_seconds(self) -> float:
        """Time in seconds for which no partition of the group was read."""
        return length(self.stopped) / 1000


def length(spans: Iterable[Span]) -> int:
    """The total length in milliseconds."""
    return sum(end - begin for begin, end in spans)


def cost_of(folder: Path, group: str | None = None) -> Cost:
    """Compute the cost from truth.json and listener.jsonl of an incident, or of one group of a night."""
    truth = json.loads((folder / "truth.json").read_text())
    rows = [json.loads(line) for line in (folder / "listener.jsonl").read_text().splitlines()]
    begin, end = truth["window"]["from"], truth["window"]["to"]
    read = _read(truth, rows, end, truth["expected"]["group"] if group is None else group)
    everything = [span for spans in read.values() for span in spans]
    # A new partition does not count as unread before it has its first owner.
    since = {
        partition: max(begin, min((span[0] for span in spans), default=begin)) for partition, spans in read.items()
    }
    unread = {partition: tuple(_gaps(read[partition], since[partition], end)) for partition in sorted(read)}
    return Cost(unread=unread, stopped=tuple(_gaps(everything, begin, end)))


def _of_group(truth: Mapping[str, Any], group: str, rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """The listener rows and the faults of the group's members. The fault of a host affects each member on it."""
    hosts: Mapping[str, Any] = truth["hosts"]
    seats = {name: host if isinstance(host, list) else [host.get("client_id", name)] for name, host in hosts.items()}
    members = {c for clients in seats.values() for c in clients} if len(truth["groups"]) == 1 else set()
    members |= {c for clients in seats.values() for c in clients if c.rpartition("-")[0] == group}
    faults = [
        {**fault, "target": client}
        for fault in truth["faults"]
        for client in seats.get(fault["target"], [fault["target"]])
        if client in members
    ]
    # A partition without records still has its owner.
    return [row for row in rows if row["client"] in members and row["event"] != "dry"], faults


def _read(truth: Mapping[str, Any], everything: Iterable[Row], end: int, group: str) -> dict[str, list[Span]]:
    """The spans in which each partition had an owner that was neither dead nor paused."""
    rows, faults = _of_group(truth, group, everything)
    settings = truth["groups"][group]
    eager = settings.get("assignor") == "RangeAssignor" or settings.get("protocol") in ("eager", "static")
    still: dict[str, list[Span]] = defaultdict(list)
    moments = [(row["ts"], 1, row) for row in rows]
    for fault in faults:
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


# Duplicates diagnosis/what_if/simulations.py on purpose: a measurement must not share the mistakes of the model.
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


def reported_and_observed(folder: Path) -> Counter[str]:
    """Unread time according to the report and to the listeners, and how many spans of the report are right."""
    # Imported only when needed: the costs alone require no analysis.
    from rebalance_forensics.pipeline.options import AnalyzeOptions  # noqa: PLC0415
    from rebalance_forensics.pipeline.run import analyze  # noqa: PLC0415

    truth = json.loads((folder / "truth.json").read_text())
    begin, end = truth["window"]["from"], truth["window"]["to"]
    histories = {h.group: h for h in analyze([str(folder / "logs")], AnalyzeOptions(engine="local")).groups}
    found: Counter[str] = Counter()
    for group in truth["groups"]:
        unread = cost_of(folder, group).unread
        spans = histories[group].unread if group in histories else ()
        for partition in sorted({*unread, *(span.partition for span in spans)}):
            real, own = unread.get(partition, ()), [span for span in spans if span.partition == partition]
            cut = [(max(s.started_at, begin), min(end if s.ended_at is None else s.ended_at, end)) for s in own]
            reported, observed = length(span for span in cut if span[1] > span[0]), length(real)
            found += Counter(reported=reported, observed=observed)
            if reported or observed > CLOSE_MS // 4:
                near_enough = abs(reported - observed) <= max(CLOSE_MS, CLOSE_SHARE * observed)
                right = near_enough and (reported > 0 or observed <= CLOSE_MS // 4)
                found += Counter(partitions=1, partitions_right=int(right))
            for each, (left, until) in zip(own, cut, strict=True):
                near = [gap for gap in real if gap[0] < until and left < gap[1]]
                true_begin, true_end = (near[0][0], near[-1][1]) if near else (left, left)
                slack = max(CLOSE_MS / 2, CLOSE_SHARE * (true_end - true_begin))
                if until <= left:
                    continue
                if each.certain:
                    found += Counter(certain=1, certain_right=int(abs(until - left - true_end + true_begin) <= slack))
                else:
                    earliest = left if each.from_earliest is None else each.from_earliest
                    latest = end if each.to_latest is None else each.to_latest
                    holds = bool(near) and earliest - slack <= true_begin and true_end <= latest + slack
                    found += Counter(bounds=1, bounds_right=int(holds))
    return found


def _row(name: str, found: Counter[str]) -> str:
    shares = (f"{found[f'{kind}_right']} of {found[kind]}" for kind in ("partitions", "certain", "bounds"))
    return f"| {name} | {found['reported'] / 1000:.1f} | {found['observed'] / 1000:.1f} | {' | '.join(shares)} |"


def main() -> None:
    """Print one line per folder."""
    parser = argparse.ArgumentParser(prog="python -m lab.cost", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR")
    parser.add_argument("--reports", action="store_true", help="compare with the report of the logs")
    chosen = parser.parse_args()
    if chosen.reports:
        print("| recording | reported, s | observed, s | partitions right | certain spans right | bounds hold |")
        print("|---|---|---|---|---|---|")
        whole: Counter[str] = Counter()
        for folder in chosen.folders:
            found = reported_and_observed(folder)
            print(_row(folder.name, found), flush=True)
            whole += found
        print(_row("all", whole))
        return
    for folder in chosen.folders:
        cost = cost_of(folder)
        print(f"{folder}: {cost.partition_seconds:.1f} unread partition-seconds, stopped {cost.stopped_seconds:.1f} s")


if __name__ == "__main__":
    main()
