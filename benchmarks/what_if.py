"""Twins: the same fault under four protocols on real Kafka, compared with the model of diagnosis/what_if.

`python -m benchmarks.what_if RECORDING…` reads recordings of the lab (folders named SCENARIO-PROTOCOL), stores their
faults and unread spans in tests/diagnosis/what_if/twins.json, and writes benchmarks/WHAT_IF.md. Without recordings, it
updates the page from the stored ones.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.cost import cost_of
from lab.members import PROTOCOLS
from rebalance_forensics.diagnosis.what_if.alternatives import COOPERATIVE, KIP_848, STATIC
from rebalance_forensics.diagnosis.what_if.faults import (
    Fault,
    FaultSequence,
    Pace,
    ProcessEnded,
    ProcessStalled,
    ProcessStarted,
)
from rebalance_forensics.diagnosis.what_if.simulations import Protocol, Simulated, simulate
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze_with_events

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "tests" / "diagnosis" / "what_if" / "twins.json"
PAGE = Path(__file__).with_name("WHAT_IF.md")
NAMES: Mapping[str, Protocol] = {
    "eager": "eager",
    "cooperative": "cooperative",
    "static": "eager, static",
    "kip-848": "KIP-848",
}
PACE = Pace(between_polls=(2_000, 2_000), heartbeat=3_000, session=10_000, poll_interval=30_000)
"""The settings of the lab's members."""
OFFERS = {COOPERATIVE: "cooperative", STATIC: "static", KIP_848: "kip-848"}
QUIET_MS = 15_000
JOINS_AFTER_MS = 800
"""A consumer sends JoinGroup about this long after its first line."""
STANDS = {"pause-process": "frozen", "stall-polling-thread": "stuck"}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """One recorded run. Times are milliseconds from its first fault."""

    scenario: str
    protocol: str
    sequence: FaultSequence
    unread: Mapping[str, tuple[tuple[int, int], ...]]
    stopped: tuple[tuple[int, int], ...]
    said: Mapping[str, tuple[int, int, int]]
    """Protocol -> what it would have saved according to the report on this run: at least, likely, at most (ms)."""

    def partition_ms(self) -> list[int]:
        """For how long each partition was unread, shortest first."""
        return sorted(sum(end - begin for begin, end in spans) for spans in self.unread.values())

    def simulated(self) -> Simulated:
        """The model's simulation of the same faults."""
        return simulate(self.sequence, PACE, NAMES[self.protocol])


def read_kept() -> list[Twin]:
    """The twins stored as test data."""
    return [_twin(row) for row in json.loads(KEPT.read_text())]


def _twin(row: Mapping[str, Any]) -> Twin:
    return Twin(
        scenario=row["scenario"],
        protocol=row["protocol"],
        sequence=FaultSequence(
            members=tuple(row["members"]),
            partitions=tuple(row["unread"]),
            faults=tuple(_fault(*fault) for fault in row["faults"]),
            begin=0,
            until=row["until"],
            steady_for=QUIET_MS,
        ),
        unread={partition: tuple((a, b) for a, b in spans) for partition, spans in row["unread"].items()},
        stopped=tuple((a, b) for a, b in row["stopped"]),
        said={protocol: (low, likely, high) for protocol, (low, likely, high) in row["said"].items()},
    )


def _fault(kind: str, member: str, begin: int, end: int | None = None) -> Fault:
    match kind:
        case "came":
            return ProcessStarted(member=member, at=begin)
        case "closed" | "died":
            return ProcessEnded(member=member, at=begin, how=kind)
        case "frozen" | "stuck":
            return ProcessStalled(member=member, begin=begin, end=end or begin, how=kind)
        case _:
            raise ValueError(kind)


def recorded(folder: Path) -> Row:
    """The stored row of a recording."""
    truth = json.loads((folder / "truth.json").read_text())
    rows = [json.loads(line) for line in (folder / "listener.jsonl").read_text().splitlines()]
    zero, cost = truth["window"]["from"], cost_of(folder)
    protocol = next(name for name in PROTOCOLS if folder.name.endswith(f"-{name}"))
    return {
        "scenario": folder.name.removesuffix(f"-{protocol}"),
        "protocol": protocol,
        "members": sorted({row["client"] for row in rows if row["event"] == "started" and row["ts"] < zero}),
        "faults": [fault for injected in truth["faults"] for fault in _kept_faults(injected, rows, zero)],
        "until": truth["window"]["to"] - zero,
        "unread": {p: [[a - zero, b - zero] for a, b in spans] for p, spans in cost.unread.items()},
        "stopped": [[a - zero, b - zero] for a, b in cost.stopped],
        "said": _said(folder),
    }


def _said(folder: Path) -> dict[str, list[int]]:
    """Protocol -> the unread partition time that it would have saved, according to the report on the logs."""
    options = AnalyzeOptions(engine="local")
    incidents = analyze_with_events([str(folder / "logs")], options, keep_events=False).report.incidents
    found = ((one.alternative, one.unread) for incident in incidents for one in incident.what_if)
    return {OFFERS[name]: [saved.low, saved.likely, saved.high] for name, saved in found if saved is not None}


def _kept_faults(fault: Row, rows: Sequence[Row], zero: int) -> Iterator[list[Any]]:
    who, at = fault["target"], fault["ts"]
    after = [(row["event"], row["ts"] - zero) for row in rows if row["client"] == who and row["ts"] >= at]
    if fault["kind"] in STANDS:
        yield [STANDS[fault["kind"]], who, at - zero, at + fault["ms"] - zero]
    if fault["kind"] == "kill-process":
        yield ["died", who, at - zero]
    if fault["kind"] == "restart-process":
        yield ["closed", who, next(ts for event, ts in after if event == "closed")]
    if fault["kind"] in ("restart-process", "start-process"):
        yield ["came", who, next(ts for event, ts in after if event == "started") + JOINS_AFTER_MS]


def by_kind(twins: Iterable[Twin]) -> dict[tuple[str, str], list[Twin]]:
    """The runs of each scenario and protocol."""
    found: dict[tuple[str, str], list[Twin]] = defaultdict(list)
    for twin in twins:
        found[twin.scenario, twin.protocol].append(twin)
    return found


def page(twins: Sequence[Twin]) -> Iterator[str]:
    """The page, line by line."""
    runs = by_kind(twins)
    scenarios = list(dict.fromkeys(twin.scenario for twin in twins))
    yield from (INTRODUCTION, "", f"| fault | {' | '.join(PROTOCOLS)} |", f"|---|{'---|' * len(PROTOCOLS)}")
    for scenario in scenarios:
        yield f"| {scenario} | {' | '.join(_cell(runs[scenario, protocol]) for protocol in PROTOCOLS)} |"
    yield from ("", STOPS, "", f"| fault | {' | '.join(PROTOCOLS)} |", f"|---|{'---|' * len(PROTOCOLS)}")
    for scenario in scenarios:
        yield f"| {scenario} | {' | '.join(_stops(runs[scenario, protocol]) for protocol in PROTOCOLS)} |"
    near = sum(_near(one)[0] for one in twins)
    whole = sum(_near(one)[1] for one in twins)
    yield from ("", PROMISES, "", "| run | would have saved under | said | sibling runs |", "|---|---|---|---|")
    yield from _promises(twins, runs)
    yield from ("", f"{near} of {whole} partitions of single runs lie within 25 % or 2 s of the model. {CLOSING}")


def _promises(twins: Sequence[Twin], runs: Mapping[tuple[str, str], Sequence[Twin]]) -> Iterator[str]:
    """Savings according to the reports, compared with the runs under the other protocols."""
    for twin in twins:
        for other, (low, likely, high) in twin.said.items():
            real = [sum(twin.partition_ms()) - sum(one.partition_ms()) for one in runs[twin.scenario, other]]
            shown = " / ".join(f"{ms / 1000:.0f} s" for ms in real)
            said = f"{likely / 1000:.0f} s ({low / 1000:.0f} s to {high / 1000:.0f} s)"
            yield f"| {twin.scenario}, {twin.protocol} | {other} | {said} | {shown} |"


def _cell(runs: Sequence[Twin]) -> str:
    measured = " / ".join(f"{sum(one.partition_ms()) / 1000:.0f}" for one in runs)
    simulated = [one.simulated().partition_ms for one in runs]
    low, high = min(one.low for one in simulated) / 1000, max(one.high for one in simulated) / 1000
    return f"**{measured}** ({low:.0f} to {high:.0f})"


def _stops(runs: Sequence[Twin]) -> str:
    measured = " / ".join(f"{sum(end - begin for begin, end in one.stopped) / 1000:.1f}" for one in runs)
    return f"**{measured}** ({max(one.simulated().stopped_ms.high for one in runs) / 1000:.1f})"


def mean_by_partition(found: Simulated) -> list[float]:
    """How long each partition is unread in the model, averaged over all simulations, shortest first."""
    each = zip(*(sorted(run.by_partition().values()) for run in found.runs), strict=True)
    return [sum(figures) / len(figures) for figures in each]


def is_near(model: float, real: float) -> bool:
    """True within a quarter, or two seconds."""
    return abs(model - real) <= max(2_000, 0.25 * real)


def _near(twin: Twin) -> tuple[int, int]:
    pairs = list(zip(mean_by_partition(twin.simulated()), twin.partition_ms(), strict=True))
    return sum(is_near(model, real) for model, real in pairs), len(pairs)


INTRODUCTION = """# The same fault under four protocols

Kafka 4.1.1, one broker, four members with batches of about two seconds (1.5 s to 2.5 s), eight partitions that always
hold records, sessions of 10 s, heartbeats every 3 s, `max.poll.interval.ms` 30 s, auto-commit on; recorded with `lab/`
(`python -m lab SCENARIO --protocol PROTOCOL`) on two busy cores. Unread partition-seconds, from the first fault to the
end of the run, by the consumers' own rebalance listeners; in brackets what the model of
`rebalance_forensics/diagnosis/what_if/` makes of the same faults (four in five of forty simulations). Two figures are
two runs: what one run costs depends on where in their batches the members were."""
STOPS = """Seconds in which nobody read any partition; in brackets the most that the model makes of it:"""
PROMISES = """What the report on the logs of one run says that another protocol would have saved of unread partition
time, beside what the runs under that protocol took less (with two of them, both):"""
CLOSING = """Where in their batches the members were decides the rest: two runs of the same fault differ by up to a
factor of two.

- Eager members that poll every two seconds rejoin within seconds of each other, so that the whole group stops for a
  moment only. It stops for long where one member keeps the barrier open.
- A cooperative member keeps reading, so that each of its steps waits for its next poll: commit, join, answer,
  assignment. What moves is unread until a second rebalance is over.
- Under KIP-848 nobody waits for a barrier, but what moves waits for a further poll of the member that gave it up (its
  rebalance listeners) and for a heartbeat of the one that gets it.
- A static member that is back within its session costs its own partitions alone. One that is not, as happens on a
  machine as busy as this one was in the second run, costs its session and a rebalance."""


def main(folders: Sequence[str]) -> None:
    """Store recordings and write the page."""
    if folders:
        rows = sorted((recorded(Path(one)) for one in folders), key=lambda row: (row["scenario"], row["protocol"]))
        KEPT.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n")
    PAGE.write_text("\n".join(page(read_kept())) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
