"""The tables of CALIBRATION.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.calibration.judging import Judged, Verdict
from benchmarks.calibration.labels import View


@dataclass(frozen=True, slots=True)
class Bucket:
    """Findings whose confidence lies from `least` up to, and without, `most`."""

    least: float
    most: float

    def holds(self, finding: Judged) -> bool:
        """Whether a finding belongs to it."""
        return self.least <= finding.confidence < self.most

    def __str__(self) -> str:
        """How the tables call it."""
        return f"{self.least:.2f} and more" if self.most > 1 else f"{self.least:.2f} to {self.most:.2f}"


BUCKETS = (Bucket(0.95, 2), Bucket(0.9, 0.95), Bucket(0.8, 0.9), Bucket(0.7, 0.8), Bucket(0.55, 0.7), Bucket(0, 0.55))
TITLES: dict[View, str] = {
    "all": "All logs",
    "brokers": "The brokers' logs alone",
    "clients": "The clients' logs alone",
    "one-client": "One client's log alone",
    "some-hosts": "Every other host's logs",
    "ends-early": "Logs that end in the middle of it",
    "begins-late": "Logs that begin just before it",
}
FOREWORD = """# Calibration

How sure the report says it is, against how often it is right:

```console
$ python -m benchmarks.calibration INCIDENTS
```

INCIDENTS holds one folder an incident, with `logs/` (one directory a host) and `truth.json` (what was done to the
cluster, when and to whom). Every root cause that a report names before the labelled time ends is one finding. Each
incident is analyzed seven times: with all logs, each side's alone, one client's alone (which one, a hash of its name
says), every other host's, logs that end in the middle of it, and logs that begin just before it.

- **right**: it is the cause, and with all logs at hand its culprits are the ones expected.
- **neighbour**: not the cause, but one that these logs cannot tell from it; an honest report is unsure here.
- **wrong**: anything else, also a fault in a healthy group or before the fault.
- Findings about which the labels say nothing (a planned change in a healthy run, `unexplained`) are left out.
- **without the scenario**: the share of right findings in the same row with each scenario left out in turn, lowest and
  highest; a row whose share hangs on one scenario shows it here. The rules themselves were written by people who had
  seen these incidents, so nothing here is proof about others.
"""


def page(findings: Sequence[Judged], incidents: int, views: Sequence[View]) -> str:
    """The whole document."""
    told = [one for one in findings if one.verdict != "unlabelled"]
    parts = [FOREWORD, f"{incidents} incidents, {len(findings)} findings, {len(told)} of them labelled.\n"]
    parts.append(_section("All views together", told))
    parts += [_section(TITLES[view], [one for one in told if one.view == view]) for view in views]
    parts.append("## What was wrong\n\n" + ("\n".join(_mistakes(told)) or "Nothing.") + "\n")
    return "\n".join(parts)


def _section(title: str, told: Sequence[Judged]) -> str:
    causes = [one for one in told if not one.benign]
    held = ((bucket, [one for one in causes if bucket.holds(one)]) for bucket in BUCKETS)
    rows = [_row(str(bucket), found) for bucket, found in held if found]
    rows += [
        _row("**0.90 and more**", [one for one in causes if one.confidence >= 0.9]),
        _row("start-up and shutdown", [one for one in told if one.benign]),
    ]
    head = "| confidence | findings | right | neighbour | wrong | share right | without the scenario |\n"
    return f"## {title}\n\n{head}|---|--:|--:|--:|--:|--:|--:|\n" + "\n".join(rows) + "\n"


def _row(name: str, told: Sequence[Judged]) -> str:
    def many(verdict: Verdict) -> int:
        return sum(one.verdict == verdict for one in told)

    cells = (name, len(told), many("right"), many("neighbour"), many("wrong"), _share(told), _without(told))
    return "| " + " | ".join(map(str, cells)) + " |"


def _share(told: Sequence[Judged]) -> str:
    return f"{100 * sum(one.verdict == 'right' for one in told) / len(told):.0f} %" if told else "-"


def _without(told: Sequence[Judged]) -> str:
    """The share of right findings with each scenario left out, lowest and highest."""
    scenarios = {one.label.scenario for one in told}
    rests = ([one for one in told if one.label.scenario != left_out] for left_out in sorted(scenarios))
    shares = [sum(one.verdict == "right" for one in rest) / len(rest) for rest in rests if rest]
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %" if shares else "-"


def _mistakes(told: Iterable[Judged]) -> Iterator[str]:
    for one in told:
        if one.verdict == "wrong":
            wanted = " or ".join(sorted(one.label.causes)) or "nothing"
            yield f"- {one.label.name}, {one.view}: {one.cause} ({one.confidence:.2f}) instead of {wanted}. {one.said}"
