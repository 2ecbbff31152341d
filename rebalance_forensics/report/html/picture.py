"""Draws swim lanes and partitions of one group over a period, within the budget of the page."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from rebalance_forensics.diagnosis.cluster.sentences import WHAT_BROKERS_DID
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.records import EpochMs, is_timed, natural
from rebalance_forensics.report.html import names, shapes
from rebalance_forensics.report.html.budget import FEW_LANES, Budget
from rebalance_forensics.report.html.incident_links import SILENT, Links, end_of_incident
from rebalance_forensics.report.html.prepared_history import DISTURBANCES, ReadyHistory, ReadyLane
from rebalance_forensics.report.html.shapes import Bar, Window
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.times import duration
from rebalance_forensics.report.wording import count, in_ranges
from rebalance_forensics.timeline.model import Generation, Lane, Mark, ReadSpan, Span, UnreadSpan
from rebalance_forensics.timeline.windows import AT_ONCE_MS

MARGIN_MS, SHORTEST_MS, LONGEST_LEAD_MS = 10_000, 1_000, 600_000
LABEL_CHARACTERS, REASON_CHARACTERS = 160, 60
NAME_BEGINS, NAME_ENDS = 14, 20
STREAM_THREAD = re.compile(r"StreamThread-(\d+)$")
NUMBERS_SHOWN, NUMBER_SPACE, LAST_NUMBER, REASONS_SHOWN = 40, 2.5, 98.5, 100
FOLLOW_UP = "follow-up"
MADE = ("rebalancing", FOLLOW_UP)
UNTIL_EXPIRED = "no heartbeat arrived until its session expired"
OUTCOMES = {"stable": "stable", "failed": "broken", "superseded": "superseded", "empty": "empty", "unknown": "stable"}


def window_of(history: ReadyHistory, logs_end: int, incident: Incident | None = None) -> shapes.Window | None:
    """The period of a picture: the whole history, or an incident with some time before and after it."""
    # None if nothing has a time, so that there is no axis.
    known = history.period
    if not is_timed(known[0] if known else None if incident is None else incident.started_at):
        return None
    # Ongoing incidents are drawn a little beyond the last event, but never beyond the logs.
    period = known and (known[0], max(known[1], min(logs_end, known[1] + _margin(*known))))
    if incident is None:
        return None if period is None else _at_least(*period)
    last = period[1] if period else incident.started_at
    end = last if incident.ongoing or incident.ended_at is None else incident.ended_at
    # The chain of causes may begin before the incident, and a member may have stopped reading long before its group
    # noticed.
    signs = [link.at for cause in incident.root_causes for link in cause.chain if link.at is not None]
    signs += [gap.started_at for gap in history.unread.touching(incident.started_at, end)]
    begun = min([incident.started_at, *(at for at in signs if at >= incident.started_at - LONGEST_LEAD_MS)])
    margin = _margin(incident.started_at, end)
    left, right = begun - margin, max(end, incident.started_at) + margin
    if period is not None and period[0] <= incident.started_at <= period[1]:
        left, right = max(left, period[0]), min(right, period[1])
    return _at_least(left, right)


def draw(
    name: str,
    history: ReadyHistory,
    window: shapes.Window,
    links: Links,
    budget: Budget,
    incident: Incident | None = None,
) -> shapes.Picture:
    """Draw the generations, the lanes and the partitions of a group."""
    budget.pictures -= 1
    left_out: list[str] = []
    culprits = _culprit_names(incident)
    chosen = chosen_lanes(history.lanes, window, culprits, budget, left_out)
    # The culprits come first: if there are many lanes, the last ones are below the screen. Not all of them are shown at
    # first, so the most disturbed ones come next.
    lanes = sorted(chosen, key=lambda ready: weight_of(ready, culprits)[: 4 if len(chosen) > FEW_LANES else 1])
    marks = chosen_marks(lanes, window, links, budget, left_out)
    partitions = partition_bars(history, window, links, budget, left_out)
    made, unread, *bars = chosen_bars(
        [
            list(_generation_bars(history, window, links)),
            list(share_bars(history, window, links)),
            *(
                [*_blanks(lane, window), *_bars(lane, window, links), *_outages(lane, history, window)]
                for lane in lanes
            ),
            *(partition_bars for _, _, partition_bars in partitions),
        ],
        budget,
        left_out,
    )
    rows = [
        *_group_rows(made, unread),
        *(
            _lane_row(ready.lane, history, bars[number], marks[number], window, links, budget, culprits)
            for number, ready in enumerate(lanes)
        ),
        *(
            shapes.Row(name=whole, label=label, kind="partition", y=0, bars=partition_bars, dots=(), layer="partitions")
            for (label, whole, _), partition_bars in zip(partitions, bars[len(lanes) :], strict=True)
        ),
    ]
    return shapes.Picture(
        id=name,
        group=history.group,
        started_at=window.start,
        ended_at=window.end,
        rows=tuple(replace(row, y=shapes.LANE * place) for place, row in enumerate(rows)),
        ticks=shapes.ticks(window.start, window.end),
        numbers=_numbers(history, window),
        shade=None if incident is None else window.cut(incident.started_at, end_of_incident(incident)),
        owners=_owners(history, window) if partitions else (),
        left_out=tuple(left_out),
        arrows=tuple(_arrows(rows, [n for n, known in links.incidents if incident is None or known.id == incident.id])),
    )


def _lane_row(
    lane: Lane,
    history: ReadyHistory,
    bars: tuple[shapes.Bar, ...],
    marks: Sequence[Mark],
    window: shapes.Window,
    links: Links,
    budget: Budget,
    culprits: frozenset[str],
) -> shapes.Row:
    return shapes.Row(
        name=lane.name,
        label=_beside(lane, history),
        kind=lane.kind,
        y=0,
        bars=bars,
        dots=tuple(_dot(mark, window, links, budget) for mark in marks),
        marked=not culprits.isdisjoint((lane.name, lane.owner)),
        owner=history.owners.get(lane.name),
    )


def _arrows(rows: Sequence[shapes.Row], incidents: Collection[int]) -> Iterator[shapes.Arrow]:
    """Arrows from each disturbance of these incidents to the first rebalance that it caused."""
    made = next((number for number, row in enumerate(rows) if row.kind == "group"), -1)
    begun: dict[int | None, list[int]] = defaultdict(list)
    for bar in rows[made].bars if made >= 0 else ():
        if bar.kind in MADE and bar.incident in incidents:
            insort(begun[bar.incident], bar.started_at)
    led_to: set[int] = set()
    for surely, number, start, end, incident in _disturbances(rows) if begun else ():
        place = bisect_left(begun[incident], start)
        for to in begun[incident][place : place + 1]:
            if (end is None or to <= end + AT_ONCE_MS) and (surely or to not in led_to):
                led_to.add(to)
                yield shapes.Arrow(row=number, at=to if end is None else min(to, end), to_row=made, to=to)


def _disturbances(rows: Sequence[shapes.Row]) -> Iterator[tuple[bool, int, int, int | None, int | None]]:
    """What may have caused a rebalance: whether it is certain, its row, begin, end and incident."""
    # A member that joins causes a rebalance if it is to blame; one that rejoins only follows. Lines about faults count
    # if no lane shows what a member did, first those in its own log, then those of its broker.
    lanes = [(number, row) for number, row in enumerate(rows) if row.layer == "members"]
    for number, row in lanes:
        rejoined = {bar.ended_at for bar in row.bars if bar.kind == "member"}
        for bar in row.bars:
            joined = bar.kind == "joining" and row.marked and bar.started_at not in rejoined
            if joined or bar.kind in shapes.UNABLE:
                yield True, number, bar.started_at, bar.ended_at, bar.incident
    blamed = [(number, row) for number, row in lanes if row.marked]
    members, brokers = (
        [pair for pair in lanes if (pair[1].kind == "broker") is of_broker] for of_broker in (False, True)
    )
    for number, row in (*(blamed or members), *brokers):
        for dot in row.dots:
            if dot.severity == "fault":
                yield False, number, dot.at, dot.at, dot.incident


def _group_rows(made: tuple[shapes.Bar, ...], unread: tuple[shapes.Bar, ...]) -> Iterator[shapes.Row]:
    # A lane without a single generation would only puzzle readers.
    if made:
        # Follow-ups are drawn last: the next generation begins within their rings.
        bars = tuple(sorted(made, key=lambda bar: bar.kind == FOLLOW_UP))
        yield shapes.Row(name="generations", label="generations", kind="group", y=0, bars=bars, dots=(), layer="always")
    if unread:
        yield shapes.Row(
            name="partitions unread", label="unread", kind="share", y=0, bars=unread, dots=(), layer="always"
        )


def _owners(history: ReadyHistory, window: shapes.Window) -> tuple[shapes.Owner, ...]:
    seen = {span.member for span in history.read.touching(window.start, window.end)}
    return tuple(
        shapes.Owner(name=name, label=_cut(names.called(name, history.names)), color=history.owners[name])
        for name in sorted(seen, key=natural)
    )


def _beside(lane: Lane, history: ReadyHistory) -> str:
    # Name a thread like the terminal, `node-2/T1`, even if no generation lists it, below its instance's lane.
    known = names.called(lane.name, history.names)
    if known == lane.name and lane.owner is not None and (found := STREAM_THREAD.search(lane.name)):
        known = f"{lane.owner}/T{found[1]}"
    return _cut(known)


def _cut(whole: str) -> str:
    name = line_of(whole, LABEL_CHARACTERS)
    # Names within a group differ at their end more often than at their start.
    return name if len(name) <= NAME_BEGINS + NAME_ENDS else f"{name[:NAME_BEGINS]}…{name[-NAME_ENDS:]}"


def _margin(start: int, end: int) -> int:
    return max((end - start) // 4, MARGIN_MS)


def _at_least(start: int, end: int) -> shapes.Window:
    return shapes.Window(start=start, end=max(end, start + SHORTEST_MS))


def _culprit_names(incident: Incident | None) -> frozenset[str]:
    if incident is None:
        return frozenset()
    everyone = [culprit for cause in incident.root_causes for culprit in cause.culprits if culprit.kind != "group"]
    return frozenset(name for culprit in everyone for name in (culprit.name, *culprit.names))


def _dot(mark: Mark, window: shapes.Window, links: Links, budget: Budget) -> shapes.Dot:
    return shapes.Dot(
        severity=mark.severity,
        x=window.x(mark.at),
        at=mark.at,
        label=line_of(mark.label, LABEL_CHARACTERS),
        line=budget.lines.number_of(mark.evidence),
        incident=links.of_mark(mark),
    )


def _bars(ready: ReadyLane, window: shapes.Window, links: Links) -> Iterator[shapes.Bar]:
    # That a member was unable to read is drawn over its state at that time.
    for span in sorted(ready.spans.touching(window.start, window.end), key=lambda span: span.kind in shapes.UNABLE):
        incident = links.of_span(span, ready.lane.name)
        yield _bar(links.shown_as(span.kind, incident), span, window, incident)
        if span.kind == "member" and span.generation in ready.led:
            yield _bar("leading", span, window, None)


def _outages(ready: ReadyLane, history: ReadyHistory, window: shapes.Window) -> Iterator[shapes.Bar]:
    # A group stays with a broker that is down until another one loads it, so the outage is drawn over the coordination.
    for outage in history.outages:
        if outage.broker == ready.lane.name and window.shows(outage.started_at, outage.ended_at):
            yield window.bar(shapes.OUT, outage.started_at, outage.ended_at, WHAT_BROKERS_DID[outage.how])


def _blanks(ready: ReadyLane, window: shapes.Window) -> Iterator[shapes.Bar]:
    """Bars for periods in which nothing is known to have happened: a thin line with a word."""
    broker = ready.lane.kind == "broker"
    at, words = window.start, "does not coordinate the group" if broker else "not in the group yet"
    for span in ready.spans.touching(window.start, window.end):
        if span.kind in ("paused", "restoring"):
            continue
        if span.started_at > at and ready.lane.spans:
            yield window.bar("absent", at, span.started_at, words)
        words = words if broker else "not in the group, as far as the logs show"
        at = window.end if span.ended_at is None else max(at, span.ended_at)
    if at < window.end:
        yield window.bar("absent", at, window.end, words if ready.lane.spans else "no line shows it in the group")


def _bar(kind: str, span: Span, window: shapes.Window, incident: int | None) -> shapes.Bar:
    label = f"leads generation {span.generation}" if kind == "leading" else line_of(span.label, LABEL_CHARACTERS)
    # The label shows the verdict; if that is uncertain, the kind of the bar does not.
    label = UNTIL_EXPIRED if kind == SILENT != span.kind else label
    return window.bar(kind, span.started_at, span.ended_at, label, incident)


def _generation_bars(history: ReadyHistory, window: shapes.Window, links: Links) -> Iterator[shapes.Bar]:
    drawn = history.generations.touching(window.start, window.end)
    # If there are many generations, readers skip the reasons, and each of them is another text on the page.
    reasons = len(drawn) <= REASONS_SHOWN
    for generation, until in drawn:
        yield from _phases(generation, until, window, links, reasons=reasons)


def _phases(
    generation: Generation, until: EpochMs | None, window: shapes.Window, links: Links, *, reasons: bool
) -> Iterator[shapes.Bar]:
    incident = links.of_generation(generation)
    start, done = generation.started_at, generation.completed_at
    if done is None and generation.outcome == "empty":
        done = generation.emptied_at
    made = done if done is not None else until
    being_made = (FOLLOW_UP, start if start is not None else done, made) if generation.followup else None
    phases = (being_made or ("rebalancing", start, made), (OUTCOMES[generation.outcome], done, until))
    for kind, begun, ended in phases:
        if begun is not None and window.shows(begun, ended):
            yield window.bar(kind, begun, ended, _generation_label(generation, kind, reasons=reasons), incident)


def _generation_label(generation: Generation, kind: str, *, reasons: bool) -> str:
    made = kind in MADE
    words = [f"generation {generation.generation}", "rebalancing" if made else generation.outcome]
    if generation.took_ms is not None:
        words.append(f"took {duration(generation.took_ms)}")
    words += [generation.trigger] if generation.trigger and generation.trigger != generation.followup else []
    words += [f"{generation.followup} follow-up"] if generation.followup else []
    words += [line_of(generation.reason, REASON_CHARACTERS)] if generation.reason and reasons else []
    return line_of(", ".join(words), LABEL_CHARACTERS)


def _numbers(history: ReadyHistory, window: shapes.Window) -> tuple[shapes.Number, ...]:
    # Numbers of generations that fit, those of the longest generations first.
    placed: list[shapes.Number] = []
    for _, number in sorted(_all_numbers(history, window), key=lambda pair: -pair[0]):
        if len(placed) == NUMBERS_SHOWN:
            break
        if number.percent <= LAST_NUMBER and all(
            abs(number.percent - neighbor.percent) > NUMBER_SPACE for neighbor in placed
        ):
            placed.append(number)
    return tuple(sorted(placed, key=lambda number: number.percent))


def _all_numbers(history: ReadyHistory, window: shapes.Window) -> Iterator[tuple[float, shapes.Number]]:
    for generation, until in history.generations.touching(window.start, window.end):
        begun = generation.completed_at if generation.completed_at is not None else generation.started_at
        if begun is not None and window.shows(begun, until):
            x, width = window.cut(begun, until)
            yield width, shapes.Number(percent=x / shapes.WIDTH * 100, text=str(generation.generation))


NAME_CHARACTERS = 80
Stretches = tuple[shapes.Bar, ...]


def partition_bars(
    history: ReadyHistory, window: shapes.Window, links: Links, budget: Budget, left_out: list[str]
) -> list[tuple[str, str, Stretches]]:
    """The label, full name and bars of each row; partitions with equal bars share a row."""
    # Equal bars are one object: comparing those of thousands of partitions would take seconds.
    alike: dict[tuple[int, ...], tuple[Stretches, list[str]]] = {}
    for partition, bars in _by_partition(history, window, links).items():
        alike.setdefault(tuple(map(id, bars)), (tuple(bars), []))[1].append(partition)
    rows = sorted(alike.values(), key=lambda row: -sum(bar.width for bar in row[0] if bar.kind == "unread"))
    shown = budget.partition_rows.take(rows, budget.pictures)
    if rest := rows[len(shown) :]:
        partitions = sum(len(named) for _, named in rest)
        left_out.append(f"{count(partitions, 'partition')} in {count(len(rest), 'row')}, those least unread")
        budget.omit("partitions in pictures, those least unread", partitions)
    return [(*_named(partitions), bars) for bars, partitions in sorted(shown, key=lambda row: natural(row[1][0]))]


def share_bars(history: ReadyHistory, window: shapes.Window, links: Links) -> Iterator[shapes.Bar]:
    """Bars for the number of unread partitions over time."""
    steps: dict[int, int] = defaultdict(int)
    for gap in history.unread.touching(window.start, window.end):
        steps[gap.started_at] += 1
        if gap.ended_at is not None:
            steps[gap.ended_at] -= 1
    unread, known = 0, len(history.partitions)
    for begun, ended in pairwise([*sorted(steps), None]):
        unread += steps[begun or 0]
        if begun is not None and unread > 0 and window.shows(begun, ended):
            label = f"{unread} of {count(known, 'partition')} unread"
            yield window.bar("unread-share", begun, ended, label, links.of_gap(begun, ended), share=unread / known)


def _by_partition(history: ReadyHistory, window: shapes.Window, links: Links) -> Mapping[str, list[shapes.Bar]]:
    found: dict[str, list[shapes.Bar]] = defaultdict(list)
    for span in history.read.touching(window.start, window.end):
        bar = _read(span, history, window)
        for partition in span.partitions:
            found[partition].append(bar)
    made: dict[UnreadSpan, Stretches] = {}
    for gap in history.unread.touching(window.start, window.end):
        # What a gap has in common with those of other partitions.
        common = replace(gap, partition="")
        if common not in made:
            made[common] = tuple(_unread(gap, history, window, links))
        found[gap.partition].extend(made[common])
    return {partition: found[partition] for partition in sorted(found, key=natural)}


def _read(span: ReadSpan, history: ReadyHistory, window: shapes.Window) -> shapes.Bar:
    # Clipped to the picture: partitions that differ only before or after it are the same in it.
    label = f"read by {line_of(history.names.get(span.member, span.member), NAME_CHARACTERS)}"
    beyond = span.ended_at is not None and span.ended_at > window.end
    label += ", since before this picture begins" if span.started_at < window.start else ""
    label += ", until after it ends" if beyond else ""
    start, end = max(span.started_at, window.start), window.end if beyond else span.ended_at
    return window.bar("read", start, end, label, look=f"o{history.owners[span.member]}")


def _unread(gap: UnreadSpan, history: ReadyHistory, window: shapes.Window, links: Links) -> Iterator[shapes.Bar]:
    reader = gap.client_id and history.names.get(gap.client_id, gap.client_id)
    whose = f", was read by {line_of(reader, NAME_CHARACTERS)}" if reader else ""
    incident = links.of_gap(gap.started_at, gap.ended_at)
    why = links.shown_as(gap.why, incident if gap.incident is None else gap.incident)
    yield window.bar("unread", gap.started_at, gap.ended_at, f"{shapes.REASONS[why]}{whose}", incident, look=why)
    bounds = (
        (gap.from_earliest, gap.started_at, "perhaps unread already: the logs do not show since when"),
        (gap.ended_at, gap.to_latest, "perhaps still unread: the logs do not show until when"),
    )
    for begin, end, label in bounds:
        # An end without a bound may be anywhere up to the end of the picture.
        if begin is not None and (end is None or begin < end) and window.shows(begin, end):
            yield window.bar("perhaps", begin, end, label, incident)


def _named(partitions: Sequence[str]) -> tuple[str, str]:
    ranges = in_ranges(partitions)
    if len(partitions) == 1:
        return ranges, partitions[0]
    return ranges, f"{ranges} ({count(len(partitions), 'partition')}, alike)"


SEVERITIES = {"fault": 0, "notice": 1, "plain": 2}

LeftOut = list[str]


def chosen_lanes(
    lanes: Sequence[ReadyLane], window: Window, culprits: frozenset[str], budget: Budget, left_out: LeftOut
) -> tuple[ReadyLane, ...]:
    """The lanes with content in this period: those of culprits, of brokers, then the most disturbed."""
    seen = [lane for lane in lanes if lane.speaks_in(window)]
    room = budget.lanes.room(budget.pictures)
    budget.lanes.left -= min(len(seen), room)
    if len(seen) <= room:
        return tuple(seen)
    kept = set(sorted(range(len(seen)), key=lambda place: weight_of(seen[place], culprits))[:room])
    left_out.append(f"{count(len(seen) - len(kept), 'lane')} of members with less to tell")
    return tuple(lane for place, lane in enumerate(seen) if place in kept)


def weight_of(ready: ReadyLane, culprits: frozenset[str]) -> tuple[bool, bool, int, int]:
    """Sort key of a lane: culprits, brokers, then by faults and disturbances."""
    faults, disturbances = ready.weight
    theirs = not culprits.isdisjoint((ready.lane.name, ready.lane.owner))
    return not theirs, ready.lane.kind != "broker", -faults, -disturbances


def chosen_marks(
    lanes: Sequence[ReadyLane], window: Window, links: Links, budget: Budget, left_out: LeftOut
) -> list[list[Mark]]:
    """The marks that fit: faults before notices before others, and marks that an incident quotes before others."""
    found = [
        (number, mark) for number, lane in enumerate(lanes) for mark in lane.marks.between(window.start, window.end)
    ]
    room = budget.marks.room(budget.pictures)
    if len(found) > room:
        left_out.append(f"{count(len(found) - room, 'mark')}, the plainest first")
        budget.omit("marks in pictures, the plainest", len(found) - room)
        found = _most_important(found, room, links)
    budget.marks.left -= len(found)
    kept: list[list[Mark]] = [[] for _ in lanes]
    # Faults are drawn last, on top of other marks at the same time.
    for number, mark in sorted(found, key=lambda pair: (-SEVERITIES[pair[1].severity], pair[1].at)):
        kept[number].append(mark)
    return kept


def _most_important(found: Sequence[tuple[int, Mark]], room: int, links: Links) -> list[tuple[int, Mark]]:
    # Fill the space rank by rank; of the rank that no longer fits, take marks evenly spread over time.
    ranks: dict[tuple[int, bool], list[tuple[int, Mark]]] = {}
    for number, mark in sorted(found, key=lambda pair: pair[1].at):
        ranks.setdefault((SEVERITIES[mark.severity], links.of_mark(mark) is None), []).append((number, mark))
    kept: list[tuple[int, Mark]] = []
    for _, marks in sorted(ranks.items()):
        free = room - len(kept)
        kept += marks if len(marks) <= free else [marks[index * len(marks) // free] for index in range(free)]
    return kept


def chosen_bars(rows: Sequence[Sequence[Bar]], budget: Budget, left_out: LeftOut) -> list[tuple[Bar, ...]]:
    """The bars that fit: disturbances before quiet periods, and wide ones before narrow ones."""
    room = budget.spans.room(budget.pictures)
    everything = [bar for bars in rows for bar in bars]
    if len(everything) > room:
        left_out.append(f"{count(len(everything) - room, 'stretch', 'stretches')}, the shortest first")
        budget.omit("stretches in pictures, the shortest", len(everything) - room)
        ordered = sorted(everything, key=lambda bar: (bar.kind not in DISTURBANCES, -bar.width))
        kept = set(map(id, ordered[:room]))
        rows = [[bar for bar in bars if id(bar) in kept] for bars in rows]
    budget.spans.left -= sum(map(len, rows))
    return [tuple(bars) for bars in rows]
