"""Chrome trace events for Perfetto: a process for each group, a track for each lane."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.documents import Document, written
from rebalance_forensics.report.lanes import lanes_of, period_of
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.wording import place
from rebalance_forensics.timeline.model import GroupHistory, Lane, Span

SUFFIX = ".trace.json"
LABEL_CHARACTERS = 400
INCIDENTS_TRACK, GENERATIONS_TRACK, FIRST_LANE = 1, 2, 3


def export(report: Report) -> str:
    """Write one trace; open it in ui.perfetto.dev."""
    events = [event for number, history in enumerate(report.groups, 1) for event in _group(number, history, report)]
    return written({"displayTimeUnit": "ms", "traceEvents": events})


def _group(process: int, history: GroupHistory, report: Report) -> Iterator[Document]:
    period = period_of(history)
    end = period[1] if period else 0
    yield _named(
        "process_name", process, 0, f"{history.group} on {history.cluster}" if history.cluster else history.group
    )
    yield _named("thread_name", process, INCIDENTS_TRACK, "incidents")
    yield _named("thread_name", process, GENERATIONS_TRACK, "generations")
    for incident in report.incidents:
        if (incident.cluster, incident.group) == (history.cluster, history.group):
            yield from _incident(process, incident, end)
    for one in history.generations:
        if one.started_at is not None and one.completed_at is not None:
            name = f"generation {one.generation}: {one.trigger or one.outcome}"
            yield from _stretch(process, GENERATIONS_TRACK, "rebalance", name, one.started_at, one.completed_at)
    for track, lane in enumerate(lanes_of(history), FIRST_LANE):
        yield from _lane(process, track, lane, end)


def _lane(process: int, track: int, lane: Lane, end: int) -> Iterator[Document]:
    yield _named("thread_name", process, track, lane.name)
    for span in lane.spans:
        yield from _span(process, track, span, end)
    for mark in lane.marks:
        yield {
            "ph": "i",
            "s": "t",
            "pid": process,
            "tid": track,
            "ts": mark.at * 1000,
            "cat": mark.severity,
            "name": line_of(mark.label, LABEL_CHARACTERS),
            "args": {"place": place(mark.evidence), "text": line_of(mark.evidence.text, LABEL_CHARACTERS)},
        }


def _span(process: int, track: int, span: Span, end: int) -> Iterator[Document]:
    until = span.ended_at if span.ended_at is not None else max(end, span.started_at)
    yield from _stretch(process, track, span.kind, f"{span.kind}: {span.label}", span.started_at, until)


def _incident(process: int, incident: Incident, end: int) -> Iterator[Document]:
    open_end = incident.ongoing or incident.ended_at is None
    until = max(end, incident.started_at) if open_end or incident.ended_at is None else incident.ended_at
    name = f"{incident.root_causes[0].cause}: {incident.summary}"
    yield from _stretch(process, INCIDENTS_TRACK, incident.severity, name, incident.started_at, until)


def _stretch(process: int, track: int, category: str, name: str, start: int, end: int) -> Iterator[Document]:
    # Asynchronous pairs, since complete events of one track must not overlap and a pause overlaps its generation.
    mark = f"{process}.{track}.{category}.{start}"
    base: Document = {
        "pid": process,
        "tid": track,
        "cat": category,
        "id": mark,
        "name": line_of(name, LABEL_CHARACTERS),
    }
    yield {"ph": "b", "ts": start * 1000, **base}
    yield {"ph": "e", "ts": max(end, start) * 1000, **base}


def _named(what: str, process: int, track: int, name: str) -> Document:
    return {"ph": "M", "pid": process, "tid": track, "name": what, "args": {"name": line_of(name, LABEL_CHARACTERS)}}
