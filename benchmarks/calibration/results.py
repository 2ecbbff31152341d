"""The tables of CALIBRATION.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from benchmarks.calibration.foreword import ASKED_FOR, FOREWORD, PARTS
from benchmarks.calibration.judging import Judged, Run, Verdict
from benchmarks.calibration.labels import LOOKED_INTO, View
from benchmarks.excerpts import LEVELS, Drawn, counted


@dataclass(frozen=True, slots=True)
class Bucket:
    """Findings with a confidence from `least` up to, but not including, `most`, and the share that it claims."""

    least: float
    most: float
    claims: float

    def contains(self, finding: Judged) -> bool:
        """True if the confidence of a finding is in this range."""
        return self.least <= finding.confidence < self.most

    def __str__(self) -> str:
        """The range as shown in the tables."""
        return f"{self.least:.2f} and more" if self.most > 1 else f"{self.least:.2f} to {self.most:.2f}"


BUCKETS = (
    Bucket(0.95, 2, 0.97), Bucket(0.85, 0.95, 0.9), Bucket(0.65, 0.85, 0.75), Bucket(0.5, 0.65, 0.55),
    Bucket(0.35, 0.5, 0.4), Bucket(0, 0.35, 0),
)  # fmt: skip
"""A range around each value of the table (diagnosis/engine/confidence.py), and one for rivals with less."""
TITLES: dict[View, str] = {
    "all": "all logs",
    "brokers": "only the brokers' logs",
    "clients": "only the clients' logs",
    "one-client": "only one client's log",
    "without-culprit": "all but the culprit's own log",
    "some-hosts": "every other host's logs",
    "ends-early": "logs that end in the middle of the incident",
    "begins-late": "logs that begin just before the incident",
    "warnings": "only the clients' warnings and errors",
    "tail": "the last 300 lines of each file",
    "grep": "only lines with the group's name",
    "dropped": "every tenth record lost",
}
Excerpts = Mapping[str, Sequence[Drawn]]
"""Source of the excerpts -> the results for each of its incidents."""
_OF_EXCERPTS = (
    "Excerpts of 1 to 21 consecutive lines, drawn at random and analyzed alone (`python -m benchmarks.excerpts`):\n"
    "the number of their claims that the complete logs confirm.\n"
)
MANY_ERRORS = 2
"""A share this many standard errors below its claim is not due to chance."""


def page(runs: Sequence[Run], views: Sequence[View], excerpts: Excerpts, minutes: int, jobs: int) -> str:
    """The complete document."""
    labelled = _labelled(runs)
    incidents = {run.label.name: run.label.part for run in runs}
    halves = {part: sum(mine == part for mine in incidents.values()) for part in ("A", "B")}
    taken = f"{len(incidents)} incidents, {len(runs)} analyses ({minutes} min in {jobs} processes)"
    parts = [
        FOREWORD,
        f"{taken}, {sum(len(run.findings) for run in runs)} findings, {len(labelled)} of them labelled.\n",
    ]
    parts += ["## All cuts\n", _table(labelled), PARTS.format(**halves, moved=len(LOOKED_INTO))]
    parts += [f"### Part {part}\n\n{_table(_of_part(runs, part))}" for part in ("A", "B")]
    measured = [run for run in runs if run.label.part == "B"]
    parts += [
        "## Each cut\n",
        _by_cut_and_confidence(runs, views),
        "### Only part B\n",
        _by_cut_and_confidence(measured, views),
    ]
    parts += [_asked_for(runs, views), _ruled_out(runs, views)]
    parts.append("## Wrong at 0.75 and more\n\n" + ("\n".join(_mistakes(labelled)) or "Nothing.") + "\n")
    parts.append(claims_of_excerpts(excerpts))
    return "\n".join(parts)


def claims_of_excerpts(excerpts: Excerpts) -> str:
    """The number of claims of random excerpts that the complete logs confirm, by the confidence of the claim."""
    titles = [f"{sum(each.excerpts for each in drawn):,} excerpts of {what}" for what, drawn in excerpts.items()]
    found = [counted([claim for each in drawn for claim in each.claims]) for drawn in excerpts.values()]
    rows = ["## Claims of excerpts\n", _OF_EXCERPTS, _cells("confidence", titles), "|---|" + "--:|" * len(titles)]
    for level, above in zip(LEVELS, (None, *LEVELS), strict=False):
        name = f"{level:.2f} and more" if above is None else f"{level:.2f} to {above:.2f}"
        rows.append(_cells(name, [f"{held:,} of {of:,}" for held, of in (counts[level] for counts in found)]))
    spoke = [f"{sum(each.spoke for each in drawn):,}" for drawn in excerpts.values()]
    return "\n".join([*rows, _cells("something found", spoke), ""])


def _cells(name: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join((name, *cells))} |"


def falls_short(runs: Sequence[Run]) -> list[Bucket]:
    """The ranges whose findings are right less often than they claim, on either part of the incidents."""
    halves = [_of_part(runs, part) for part in ("A", "B")]
    return [bucket for bucket in BUCKETS if any(_is_short(bucket, _causes(half)) for half in halves)]


def _labelled(runs: Iterable[Run]) -> list[Judged]:
    return [finding for run in runs for finding in run.findings if finding.verdict != "unlabelled"]


def _of_part(runs: Iterable[Run], part: str) -> list[Judged]:
    return _labelled(run for run in runs if run.label.part == part)


def _causes(findings: Iterable[Judged]) -> list[Judged]:
    """The findings without start-ups and shutdowns, which are easily right."""
    return [finding for finding in findings if not finding.benign]


def _is_short(bucket: Bucket, findings: Sequence[Judged]) -> bool:
    in_bucket = [finding for finding in findings if bucket.contains(finding)]
    if not in_bucket:
        return False
    right = _right(in_bucket)
    fit = sum(f.verdict in ("right", "neighbour") for f in in_bucket) if bucket.claims < 0.5 else right
    error = sqrt(bucket.claims * (1 - bucket.claims) / len(in_bucket))
    return fit / len(in_bucket) < bucket.claims - MANY_ERRORS * error


def _table(findings: Sequence[Judged]) -> str:
    causes = _causes(findings)
    held = ((bucket, [finding for finding in causes if bucket.contains(finding)]) for bucket in BUCKETS)
    rows = [_row(f"{bucket}{' (too sure)' if _is_short(bucket, causes) else ''}", found) for bucket, found in held]
    rows += [
        _row("**0.90 and more**", [finding for finding in causes if finding.confidence >= 0.9]),
        _row("start-up and shutdown", [finding for finding in findings if finding.benign]),
    ]
    head = "| confidence | findings | right | neighbour | wrong | share right | without the scenario |\n"
    return f"{head}|---|--:|--:|--:|--:|--:|--:|\n" + "\n".join(rows) + "\n"


def _row(name: str, findings: Sequence[Judged]) -> str:
    def many(verdict: Verdict) -> int:
        return sum(finding.verdict == verdict for finding in findings)

    cells = (
        name,
        len(findings),
        many("right"),
        many("neighbour"),
        many("wrong"),
        _share(findings),
        _shares_without_a_scenario(findings),
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _right(findings: Iterable[Judged]) -> int:
    return sum(finding.verdict == "right" for finding in findings)


def _share(findings: Sequence[Judged]) -> str:
    return f"{100 * _right(findings) / len(findings):.0f} %" if findings else "-"


def _shares_without_a_scenario(findings: Sequence[Judged]) -> str:
    """The lowest and the highest share of right findings if one scenario is left out."""
    scenarios = {finding.label.scenario for finding in findings}
    rests = ([finding for finding in findings if finding.label.scenario != left_out] for left_out in sorted(scenarios))
    shares = [_right(rest) / len(rest) for rest in rests if rest]
    return f"{100 * min(shares):.0f} to {100 * max(shares):.0f} %" if shares else "-"


def _by_cut_and_confidence(runs: Sequence[Run], views: Sequence[View]) -> str:
    """The number of right findings and of all findings, by cut and confidence."""
    head = "| logs | " + " | ".join(map(str, BUCKETS)) + " |\n|---|" + "--:|" * len(BUCKETS)
    rows = []
    for view in views:
        findings = _causes(_labelled(run for run in runs if run.view == view))
        held = ([finding for finding in findings if bucket.contains(finding)] for bucket in BUCKETS)
        rows.append(f"| {TITLES[view]} | " + " | ".join(f"{_right(h)} of {len(h)}" if h else "-" for h in held) + " |")
    return f"{head}\n" + "\n".join(rows) + "\n"


def _ruled_out(runs: Sequence[Run], views: Sequence[View]) -> str:
    """The causes that were ruled out, by cut."""
    rows = []
    for view in views:
        mine = [run for run in runs if run.view == view]
        cells = (TITLES[view], len(mine), sum(run.ruled_out for run in mine), sum(run.truths_ruled_out for run in mine))
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    head = "| logs | analyses | causes ruled out | real causes among them |\n|---|--:|--:|--:|"
    return f"## Ruled out\n\n{head}\n" + "\n".join(rows) + "\n"


def _asked_for(runs: Sequence[Run], views: Sequence[View]) -> str:
    """The results of fetching the logs that reports with an open question ask for, by cut."""
    undecided = {run.label.name for run in runs if run.view == "all" and run.open}
    left = [run for run in runs if run.open]
    fair = [run for run in left if run.label.name not in undecided]
    rows = [_fetched(TITLES[v], *([run for run in some if run.view == v] for some in (left, fair))) for v in views]
    misses = [_undecided(run) for view in views for run in fair if run.view == view and run.rounds is None]
    rows.append(_fetched("**together**", left, fair))
    return ASKED_FOR.format(rows="\n".join(rows), misses="\n".join(misses) or "None.")


def _fetched(title: str, left: Sequence[Run], fair: Sequence[Run]) -> str:
    """One row of the table; `fair` are the open questions that the uncut incident answers."""
    asks = [run for run in fair if run.asks]
    alone, at_once = sum(bool(run.decided) for run in asks), sum(run.rounds == 1 for run in asks)
    cells = (title, len(left), len(fair), len(asks), alone, at_once, sum(run.rounds is not None for run in asks))
    return "| " + " | ".join(map(str, cells)) + " |"


def _undecided(run: Run) -> str:
    asked = "; ".join(finding.words.rstrip(".") for finding in run.asks) or "nothing"
    return f"- {run.label.name}, {run.view}: {asked}."


def _mistakes(findings: Iterable[Judged]) -> Iterator[str]:
    for finding in findings:
        if finding.verdict == "wrong" and finding.confidence >= 0.75:
            wanted = " or ".join(sorted(finding.label.causes)) or "nothing"
            found = f"{finding.cause} ({finding.confidence:.2f})"
            yield f"- {finding.label.name}, {finding.view}: {found} instead of {wanted}. {finding.said}"
