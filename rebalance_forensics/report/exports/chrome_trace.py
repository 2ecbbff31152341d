"""Chrome trace events for Perfetto: a process for each group, a track for each lane."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.records import is_timed
from rebalance_forensics.report.documents import Document, Json, written
from rebalance_forensics.report.lanes import period_of
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.wording import culprits, group_of, place
from rebalance_forensics.timeline.model import GroupHistory, Mark, Span

LABEL_CHARACTERS = 400


class Stretch(Struct, frozen=True, kw_only=True):
    """An interval, from epoch ms to epoch ms."""

    start: int
    end: int
    category: str
    name: str
    details: tuple[tuple[str, str], ...] = ()


class Track(Struct, frozen=True, kw_only=True):
    """One line of the trace."""

    name: str
    stretches: tuple[Stretch, ...]
    marks: tuple[Mark, ...] = ()


def export(report: Report) -> str:
    """Write one trace; open it in ui.perfetto.dev."""
    incidents: dict[tuple[str, str], list[Incident]] = defaultdict(list)
    for incident in report.incidents:
        for group in incident.group_names:
            incidents[incident.cluster, group].append(incident)
    events = [
        event
        for number, history in enumerate(filter(_has_times, report.groups), 1)
        for event in _group(number, history, incidents[history.cluster, history.group])
    ]
    return written({"displayTimeUnit": "ms", "traceEvents": events})


def _has_times(history: GroupHistory) -> bool:
    # True if the trace can place an incident or a generation: lines without times only have an order.
    period = period_of(history)
    return period is None or is_timed(period[0])


def _group(process: int, history: GroupHistory, incidents: Sequence[Incident]) -> Iterator[Document]:
    yield _named("process_name", process, 0, group_of(history))
    yield {"ph": "M", "pid": process, "tid": 0, "name": "process_sort_index", "args": {"sort_index": process}}
    for number, track in enumerate((row for whole in _tracks(history, incidents) for row in _rows(whole)), 1):
        yield _named("thread_name", process, number, track.name)
        yield {"ph": "M", "pid": process, "tid": number, "name": "thread_sort_index", "args": {"sort_index": number}}
        yield from (_complete(process, number, stretch) for stretch in track.stretches)
        yield from (_instant(process, number, mark) for mark in track.marks)


def _tracks(history: GroupHistory, incidents: Sequence[Incident]) -> Iterator[Track]:
    period = period_of(history)
    end = period[1] if period else 0
    yield Track(name="incidents", stretches=tuple(_incident(incident, end) for incident in incidents))
    yield Track(name="generations", stretches=tuple(_rebalances(history)))
    for lane in history.lanes:
        spans = [(span.kind == "paused", _span(span, end)) for span in lane.spans]
        yield Track(name=lane.name, stretches=tuple(span for paused, span in spans if not paused), marks=lane.marks)
        if any(paused for paused, _ in spans):
            yield Track(name=f"{lane.name}: pauses", stretches=tuple(span for paused, span in spans if paused))


def _rows(track: Track) -> Iterator[Track]:
    # Deal stretches that overlap to lines of their own: complete events of one track must nest, and these do not.
    rows: list[list[Stretch]] = [[]]
    for stretch in sorted(track.stretches, key=lambda stretch: (stretch.start, stretch.end)):
        free = next((row for row in rows if not row or row[-1].end <= stretch.start), None)
        if free is None:
            rows.append([stretch])
        else:
            free.append(stretch)
    yield Track(name=track.name, stretches=tuple(rows[0]), marks=track.marks)
    yield from (Track(name=f"{track.name}, besides", stretches=tuple(row)) for row in rows[1:])


def _incident(incident: Incident, end: int) -> Stretch:
    cause = incident.root_causes[0]
    over = None if incident.ongoing else incident.ended_at
    return Stretch(
        start=incident.started_at,
        end=max(end if over is None else over, incident.started_at),
        category=incident.severity,
        name=f"{cause.cause}: {incident.summary}",
        details=(("incident", incident.id), ("culprit", culprits(cause))),
    )


def _rebalances(history: GroupHistory) -> Iterator[Stretch]:
    for generation in history.generations:
        if generation.started_at is not None and generation.completed_at is not None:
            name = f"generation {generation.generation}: {generation.trigger or generation.outcome}"
            done = max(generation.completed_at, generation.started_at)
            yield Stretch(start=generation.started_at, end=done, category="rebalance", name=name)


def _span(span: Span, end: int) -> Stretch:
    over = span.ended_at if span.ended_at is not None else end
    name = span.label if span.label.startswith(span.kind) else f"{span.kind}: {span.label}"
    return Stretch(start=span.started_at, end=max(over, span.started_at), category=span.kind, name=name)


def _complete(process: int, track: int, stretch: Stretch) -> Document:
    base: Document = {
        "ph": "X",
        "pid": process,
        "tid": track,
        "ts": stretch.start * 1000,
        "dur": (stretch.end - stretch.start) * 1000,
        "cat": stretch.category,
        "name": line_of(stretch.name, LABEL_CHARACTERS),
    }
    return {**base, "args": _args(stretch.details)} if stretch.details else base


def _instant(process: int, track: int, mark: Mark) -> Document:
    return {
        "ph": "i",
        "s": "t",
        "pid": process,
        "tid": track,
        "ts": mark.at * 1000,
        "cat": mark.severity,
        # A trace viewer searches and colors by name.
        "name": line_of(f"fault: {mark.label}" if mark.severity == "fault" else mark.label, LABEL_CHARACTERS),
        "args": _args([("place", place(mark.evidence)), ("text", mark.evidence.text)]),
    }


def _args(pairs: Iterable[tuple[str, str]]) -> dict[str, Json]:
    return {name: line_of(value, LABEL_CHARACTERS) for name, value in pairs}


def _named(what: str, process: int, track: int, name: str) -> Document:
    return {"ph": "M", "pid": process, "tid": track, "name": what, "args": _args([("name", name)])}


EXPORTS = {"chrome-trace": export}
