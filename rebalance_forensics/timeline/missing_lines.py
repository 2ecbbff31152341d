"""Missing lines: spans of a log for which its other lines show that lines are missing.

A log that lost lines to a rate limit, in shipping or with a deleted rotated file starts and ends like a complete one.
The gap shows in a line that cannot occur without a preceding one, in the numbers of its files, or in a notice from the
program that dropped the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex, lists_by_key, united
from rebalance_forensics.timeline.windows import QUIET_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

Span = tuple[int, int]
Reported = tuple[Span, ev.LinesDropped]

# `server.log.2`, `app.log.3.gz`: Log4j's RollingFileAppender, logrotate.
_NUMBERED = re.compile(r"(?P<stem>.+?\D)\.(?P<number>\d{1,2})(?:\.(?:gz|zst|bz2|xz|lz4|zip))?")


def missing_lines(
    events: EventIndex,
    extents: Mapping[Place, Span],
    reported: Mapping[Place, Sequence[Reported]] = MappingProxyType({}),
) -> Mapping[Place, list[Span]]:
    """Log -> the spans with missing lines; for a rolled file, the span since the previous available file.

    `extents` are the first and last time of each log, `reported` is the result of `reported_losses`.
    """
    # A configuration names its client in its text only, and threads log their start in random order.
    starts = events.of_type(*_STARTS).by(place_of)
    answered = (span for pair in _ANSWERS for span in _unasked(events, starts, *pair))
    found = lists_by_key((*answered, *_between_generations(events), *_rotated_away(extents)))
    inferred = _in_all_logs(
        {place: _throughout(united(spans), extents.get(place)) for place, spans in found.items()}, events, extents
    )
    return inferred | {
        place: united([*(span for span, _ in losses), *inferred.get(place, ())]) for place, losses in reported.items()
    }


def reported_losses(
    events: EventIndex, extents: Mapping[Place, Span], dropped: Iterable[ev.LinesDropped]
) -> Mapping[Place, list[Reported]]:
    """Log -> the spans for which a notice reports dropped lines, and the notice; a shipper's covers all until then."""
    notices = list(dropped)
    written = events.by(place_of) if notices else {}
    logs = {place: _Log(written[place]) for place in set(map(place_of, notices)) if place in written}
    return lists_by_key(
        (place, (span, notice)) for notice in notices for place, span in _lost_by(notice, logs, extents)
    )


class _Log:
    """The processes that write to a log; a daemon may log a notice every half a minute for days."""

    def __init__(self, lines: TimeIndex[Event]) -> None:
        self._pids = {event.speaker.pid for event in lines} - {None}
        self._writers = lines.by(lambda event: (event.speaker.client_id, event.speaker.role)).values()

    def last_heard(self, notice: ev.LinesDropped) -> int | None:
        """The last line before a notice of the process that was silent for longest; None if the log has no process."""
        if notice.pid is not None and self._pids and notice.pid not in self._pids:
            return None
        heard = (line for lines in self._writers if (line := lines.last(time_of(notice))) is not None)
        return min(map(time_of, heard), default=0)


def _lost_by(
    notice: ev.LinesDropped, logs: Mapping[Place, _Log], extents: Mapping[Place, Span]
) -> Iterator[tuple[Place, Span]]:
    place, at = place_of(notice), notice.at
    if notice.which == "collected":
        # A shipper in its own pod logs under the name of that pod, and collects the logs of its node.
        there = [log for log in extents if log[1] == place[1]]
        for log in there or extents:
            begin, end = extents[log]
            # What it dropped was written before.
            if at is None or begin <= at:
                yield log, (begin, end if at is None else min(at, end))
    elif at is not None and place in extents:
        begin, end = extents[place]
        if notice.which == "after":
            yield place, (at, max(at, end))
        else:
            since = logs[place].last_heard(notice) if place in logs else 0
            if since is not None:
                # imjournal limits rates over ten minutes by default, journald and imuxsock over at most 30 s.
                yield place, (max(begin, since, at - 2 * QUIET_MS), at)


def _throughout(spans: list[Span], extent: Span | None) -> list[Span]:
    # A log that lost lines several times probably lost them at other times as well.
    return [extent] if len(spans) > 1 and extent is not None else spans


def _in_all_logs(
    found: Mapping[Place, list[Span]], events: EventIndex, extents: Mapping[Place, Span]
) -> dict[Place, list[Span]]:
    """The spans with missing lines of each log; if several logs lack lines, also for logs that do not show it."""
    # The logs were collected together. If they lack the same span, a log without lines in that span may lack it, too.
    # If lines are missing in various places, they may be missing in all logs.
    if len(found) < 2:
        return dict(found)
    begin, end = max(spans[0][0] for spans in found.values()), min(spans[-1][1] for spans in found.values())
    if begin >= end:
        return {**found, **{place: [extent] for place, extent in extents.items()}}
    spoke = {place_of(event) for event in events.between(begin + 1, end - 1)}
    return {**{place: [(begin, end)] for place in extents if place not in spoke}, **found}


# Pairs of lines from the same logger. A Java client logs a join before its success, and the join before the sync. It
# looks up its coordinator at start, and again only after it logged that it gave it up (AbstractCoordinator,
# CoordinatorRequestManager); a second response may arrive until the request times out. A coordinator prepares a
# rebalance before it creates the generation (GroupCoordinator, GroupMetadataManager).
_STARTS = (ev.Subscribed, ev.SettingsReported, ev.VersionReported, ev.ClientStarted, ev.ConsumerClosed)
_MOVES = (ev.GroupConverted, ev.GroupDied, ev.GroupEmptied, ev.GroupLoaded, ev.GroupUnloaded)
_ANSWERS: tuple[tuple[type[Event], tuple[type[Event], ...], int], ...] = (
    (ev.CoordinatorFound, (ev.CoordinatorLost, *_STARTS), REQUEST_TIMEOUT_MS),
    (ev.JoinSucceeded, (ev.JoinStarted, *_STARTS), ROUND_TRIP_MS),
    (ev.SyncSucceeded, (ev.JoinSucceeded, *_STARTS), ROUND_TRIP_MS),
    (ev.GenerationStabilized, (ev.RebalanceStarted, *_MOVES), ROUND_TRIP_MS),
)


def _unasked(
    events: EventIndex,
    starts: Mapping[Place, TimeIndex[Event]],
    answer: type[Event],
    before_it: tuple[type[Event], ...],
    apart_ms: int,
) -> Iterator[tuple[Place, Span]]:
    """The spans between two lines of a type, further apart than that, without the line that has to precede one."""
    # A transactional producer logs its coordinator lookup like a consumer, without a group.
    found = events.of_type(answer, *before_it)
    lines = (e for e in found if e.speaker.role != "other" and (e.group is not None or e.speaker.client_id is None))
    for (place, client, broker), own in lists_by_key(
        ((place_of(e), e.speaker.client_id, e.speaker.role == "broker"), e) for e in lines
    ).items():
        # Some logs have no lines of the classes that log starts.
        shows_starts = broker or (client is not None and place in starts)
        for first, second in pairwise(own) if shows_starts and _runs_forward(own) else ():
            both = isinstance(first, answer) and isinstance(second, answer)
            begin, end = time_of(first), time_of(second)
            if both and end - begin > apart_ms and not starts.get(place, NOTHING).any_between(begin, end):
                yield place, (begin, end)


def _between_generations(events: EventIndex) -> Iterator[tuple[Place, Span]]:
    # A coordinator logs each generation that it creates, or the number in the next rebalance: not all releases log that
    # a group is empty. If another broker coordinated the group in between, the coordinator loads the group first.
    lines = events.of_type(ev.GenerationStabilized, ev.RebalanceStarted, *_MOVES)
    for place, own in lists_by_key((place_of(e), e) for e in lines if e.speaker.role == "broker").items():
        for before, after in pairwise(own) if _runs_forward(own) else ():
            first, second = _created(before), _created(after)
            if first is not None and second is not None and second > first + 1:
                yield place, (time_of(before), time_of(after))


def _runs_forward(lines: Sequence[Event]) -> bool:
    """False if the clock of a log was set back, for example at the end of daylight saving time."""
    return all(a.origin.byte_offset <= b.origin.byte_offset for a, b in pairwise(lines))


def _created(event: Event) -> int | None:
    numbered = ev.GenerationStabilized | ev.GroupEmptied | ev.RebalanceStarted
    return event.generation if isinstance(event, numbered) else None


def _rotated_away(extents: Mapping[Place, Span]) -> Iterator[tuple[Place, Span]]:
    families: dict[Place, dict[Place, int]] = {}
    for path, host in extents:
        if named := _NUMBERED.fullmatch(path):
            families.setdefault((named["stem"], host), {})[path, host] = int(named["number"])
    for base, family in families.items():
        in_time = sorted(family, key=extents.__getitem__)
        numbers = [family[place] for place in in_time]
        # Log4j 1 and logrotate give the oldest file the highest number, and the active file would be 0. Log4j 2 by
        # default gives the oldest file the lowest number and counts up.
        oldest_first = len(numbers) > 1 and numbers == sorted(numbers, reverse=True)
        if oldest_first and base in extents:
            in_time, numbers = [*in_time, base], [*numbers, 0]
        if not oldest_first and numbers != sorted(numbers):
            continue
        for (earlier, a), (later, b) in pairwise(zip(in_time, numbers, strict=True)):
            (_, end), (begin, _) = extents[earlier], extents[later]
            if abs(a - b) > 1 and end <= begin:
                yield later, (end, begin)
