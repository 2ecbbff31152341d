"""The conclusion for logs without a fault: only what could be judged is called planned or benign."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.diagnosis.model import Gap, GapKind
from rebalance_forensics.diagnosis.wording.durations import capitalized
from rebalance_forensics.records import is_timed
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.times import utc
from rebalance_forensics.report.urgency_order import planned, unexplained
from rebalance_forensics.report.wording import count


class Conclusion(Struct, frozen=True, kw_only=True):
    """A title, and a sentence on what it is based on, empty if there is nothing to add."""

    title: str
    details: str
    calm: bool
    """True if everything could be judged and nothing is wrong."""

    def __str__(self) -> str:
        """Both as one sentence: `No fault found: 2 groups with 5 generations, everything planned or benign.`."""
        return f"{self.title}: {self.details}." if self.details else f"{self.title}."


def conclusion(report: Report, *, so_far: bool = False) -> Conclusion:
    """The conclusion for a report without a fault; `so_far`: its logs are still being written."""
    failed, too_little = _gaps(report, "failed"), _gaps(report, "too-little")
    if not report.groups and not (failed or too_little):
        return Conclusion(title="No consumer group was found in these logs", details="", calm=False)
    open_ones = unexplained(report)
    unknown = f"too little is logged about {count(len(too_little), 'group')}" if too_little else ""
    if too_little and not report.groups:
        unknown = "no line names a consumer group or shows what a member of one did"
    if not report.incidents and len(too_little) >= len(report.groups):
        return Conclusion(title="Nothing could be judged", details=unknown, calm=False)
    no_fault, judged = "no fault so far" if so_far else "no fault found", _judged(report)
    title = capitalized(no_fault)
    if open_ones:
        rebalances = sum(max(1, incident.impact.rebalances) for incident in open_ones.outlines)
        title = f"{count(rebalances, 'rebalance')} unexplained, {no_fault}"
    elif too_little:
        title = f"{title} in what could be judged"
    elif so_far and not any(history.generations for history in report.groups):
        title, judged = "Too early to judge", f"{count(len(report.groups), 'group')}, no rebalance completed yet"
    last = max((log.last for log in report.inputs if log.last is not None and is_timed(log.last)), default=None)
    details = [judged, unknown, f"read up to {utc(last)} UTC" if so_far and last is not None else ""]
    return Conclusion(
        title=title, details="; ".join(filter(None, details)), calm=not (open_ones or too_little or failed)
    )


def _judged(report: Report) -> str:
    generations = sum(len(history.generations) for history in report.groups)
    judged = f"{count(len(report.groups), 'group')} with {count(generations, 'generation')}"
    if not report.incidents:
        return f"{judged}, no incident"
    if unexplained(report):
        return f"{judged}, everything else planned or benign" if planned(report) else judged
    return f"{judged}, everything planned or benign"


def _gaps(report: Report, kind: GapKind) -> list[Gap]:
    return [gap for gap in report.gaps if gap.kind == kind]


def caveat(report: Report) -> str:
    """Why a verdict may be incomplete, in one sentence; empty if everything was read and judged."""
    failed = len(_gaps(report, "failed"))
    unread = sum(bool(log.errors) for log in report.inputs)
    missing = [
        *([f"{count(failed, 'group')} could not be investigated"] if failed else []),
        *([f"{count(unread, 'file')} could not be read whole"] if unread else []),
    ]
    return f"But {' and '.join(missing)}." if missing else ""
