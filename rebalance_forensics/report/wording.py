"""Phrases that all outputs for people share."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.model import RANKS, Blame, Culprit, Headline, Impact, Saving, WhatIf
from rebalance_forensics.diagnosis.wording.durations import capitalized, some, times
from rebalance_forensics.records import SECOND_MS, EpochMs, input_name, is_dated, is_timed, natural
from rebalance_forensics.report.model import InputSummary
from rebalance_forensics.report.times import day, duration, time_to_second, utc
from rebalance_forensics.timeline.identity.names import is_bare_member_id, topic_and_number
from rebalance_forensics.timeline.model import Evidence, Generation, GroupOutline
from rebalance_forensics.timeline.unnamed_groups import in_words, is_named

NEVER, NOT_LOGGED = "never", "not in the logs"
UNREAD_NOT_LOGGED = "the logs do not show how long partitions were unread"
UNPLACED_NOT_LOGGED = "the logs do not show how long connectors and tasks had no worker"
CULPRITS_SHOWN = 8
# Random ids and addresses.
GENERATED = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|^\d+(?:\.\d+){3}$")
UNNAMED_CLUSTERS = ("", "default")


def cluster_of(subject: Headline | GroupOutline) -> str | None:
    """The name of the cluster, if it has one."""
    return None if subject.cluster in UNNAMED_CLUSTERS else subject.cluster


def group_of(subject: Headline | GroupOutline) -> str:
    """`payments on prod`; only `payments` if the cluster has no name; `21 groups` for a cluster's incident."""
    cluster = cluster_of(subject)
    return f"{_named(subject)} on {cluster}" if cluster else _named(subject)


def named(group: str) -> str:
    """The name of a group; a description if no line names it: `the group of client rdkafka#consumer-1`."""
    return group if is_named(group) else in_words(group)


def _named(subject: Headline | GroupOutline) -> str:
    if subject.group is not None:
        return named(subject.group)
    return count(len(subject.groups), "group") if isinstance(subject, Headline) else ""


def place(line: Evidence) -> str:
    """`broker-1.log:4711`."""
    return f"{input_name(line.path)}:{line.line}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 member`, `1,204 members`."""
    words = noun if number == 1 else plural or f"{noun}s"
    return f"{thousands(number)} {words}"


_STATES = {"superseded": "rebalancing", "unknown": "state unknown"}


def state_after(last: Generation, *, counted: bool = True) -> str:
    """The state of a group after its last generation: `stable, 3 members`, `rebalancing`, `empty`."""
    state = _STATES.get(last.outcome, last.outcome)
    return f"{state}, {count(last.size, 'member')}" if counted and last.members and state != "empty" else state


def severities(found: Mapping[str, int]) -> list[str]:
    """`3 critical`, `5 warnings`: the number of each severity, worst first; only `warning` has a plural."""
    plurals = {"warning": "warnings"}
    return [count(found[name], name, plurals.get(name, name)) for name in RANKS if found.get(name)]


def each_with_times(names: Iterable[str]) -> list[str]:
    """Each name once, in order: `ledger (7 times)`, `orders`."""
    return [f"{name} ({times(often)})" if often > 1 else name for name, often in Counter(names).items()]


def left_out(number: int, option: str = "--verbose") -> str:
    """`and 3 more; --verbose shows them all`."""
    return f"and {thousands(number)} more; {option} shows {'it' if number == 1 else 'them all'}"


def thousands(number: int) -> str:
    """`1,204,332`."""
    return f"{number:,}"


def size(number: int) -> str:
    """`812 B`, `4.2 kB`, `1.1 GB`."""
    value, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{number} B" if unit == "B" else f"{value:.3g} {unit}"


def sureness(confidence: float) -> str:
    """`97 % sure`; never rounded up to certainty."""
    return f"{share(confidence)} sure"


def share(confidence: float) -> str:
    """`20 %`."""
    return f"{int(confidence * 100 + 1e-9)} %"


def culprit(culprit: Culprit) -> str:
    """`client payments-2`; the name of a broker says that it is one."""
    if culprit.kind == "broker" and culprit.name.startswith("broker"):
        return culprit.name
    return f"the whole group {culprit.name}" if culprit.kind == "group" else f"{culprit.kind} {culprit.name}"


def culprits(cause: Blame) -> str:
    """All culprits, grouped by kind; `not named in the logs` if there are none."""
    by_kind: dict[str, list[Culprit]] = {}
    for named in cause.culprits:
        by_kind.setdefault(named.kind, []).append(named)
    phrases = (culprit(same[0]) if len(same) == 1 else _several(kind, same) for kind, same in by_kind.items())
    return ", ".join(phrases) or "not named in the logs"


def _several(kind: str, same: Sequence[Culprit]) -> str:
    """`connectors orders-sink, audit-sink and 5 more`."""
    return f"{kind}s {some([named.name for named in same], CULPRITS_SHOWN)}"


def impact(impact: Impact, *, groups: int = 1, outside: str = "") -> str:
    """The cost: unread partitions and stops of the whole group first, then pauses.

    `outside` is when partitions were unread before or after the incident.
    """
    return "; ".join(_costs(impact, groups, outside))


def _costs(impact: Impact, groups: int = 1, outside: str = "") -> Iterator[str]:
    """Unread partitions, the stop of the whole group if any, and the pauses."""
    yield unread(impact) + outside
    if (stop := stopped(impact)) not in (NEVER, NOT_LOGGED):
        yield f"{'whole group stopped for' if groups == 1 else 'longest stop of a whole group'} {stop}"
    yield _paused(impact)


def _paused(impact: Impact) -> str:
    """`1 rebalance paused 3 members, 37.4 s in total`."""
    # Pauses belong to a rebalance: without one of its own, pauses at that time belong to another incident.
    if not impact.rebalances:
        return "no rebalance"
    rebalances = count(impact.rebalances, "rebalance")
    if not impact.pause_ms:
        return rebalances
    return f"{rebalances} paused {count(impact.members or 0, 'member')}, {duration(impact.pause_ms)} in total"


def unread(impact: Impact) -> str:
    """`2 of 6 partitions unread for up to 11.2 s`, or a note that the logs do not show it."""
    if impact.unread_partition_ms is None:
        whose = _by_member(impact)
        if whose:
            return f"the {_work(impact)} of {f' {_left(impact)} for '.join(whose)}"
        return UNPLACED_NOT_LOGGED if impact.of_connect else UNREAD_NOT_LOGGED
    if not impact.unread_partitions:
        return "no connector or task was left without a worker" if impact.of_connect else "no partition was left unread"
    return f"{_how_many_unread(impact)} {_left(impact)} for {_how_long_unread(impact)}"


def unread_figure(impact: Impact) -> str:
    """The unread partitions without the word unread: `2 of 6 partitions, up to 11.2 s`."""
    if impact.unread_partition_ms is None:
        whose = _by_member(impact)
        return f"the {_work(impact)} of {', '.join(whose)}" if whose else NOT_LOGGED
    return (
        f"{_how_many_unread(impact)}, {_how_long_unread(impact)}" if impact.unread_partitions else f"no {_one(impact)}"
    )


def unread_briefly(impact: Impact) -> str:
    """For a column: `2 of 6 partitions, 11.2 s`, `none`, `1 of 3 members, at least 10.8 s`; the longest time of any."""
    if impact.unread_partition_ms is None:
        return ", ".join(_by_member(impact) or (NOT_LOGGED,))
    if not impact.unread_partitions:
        return "none"
    least = "at least " if impact.unread_at_least else ""
    return f"{_how_many_unread(impact)}, {least}{duration(impact.longest_unread_ms or 0)}"


def _by_member(impact: Impact) -> tuple[str, str] | None:
    """`1 of 3 members` and the duration, if no line names partitions."""
    members = impact.by_member
    if members is None or not members.members:
        return None
    who = count(members.members, "member")
    if members.of_members is not None:
        every = members.members == members.of_members > 1
        who = f"{'all' if every else f'{thousands(members.members)} of'} {count(members.of_members, 'member')}"
    several = members.unread_member_ms != members.longest_ms * members.members
    return who, f"{'at least' if members.at_least else 'up to' if several else 'about'} {duration(members.longest_ms)}"


def _how_many_unread(impact: Impact) -> str:
    if impact.known_partitions is None:
        return count(impact.unread_partitions or 0, _one(impact), _work(impact))
    return f"{impact.unread_partitions} of {count(impact.known_partitions, _one(impact), _work(impact))}"


_OF_BOTH = "partition, connector or task", "partitions, connectors and tasks", "unread or without a worker"


def _one(impact: Impact) -> str:
    return "connector or task" if impact.of_connect else "partition" if impact.of_connect is False else _OF_BOTH[0]


def _left(impact: Impact) -> str:
    return "without a worker" if impact.of_connect else "unread" if impact.of_connect is False else _OF_BOTH[2]


def _work(impact: Impact) -> str:
    return "connectors and tasks" if impact.of_connect else "partitions" if impact.of_connect is False else _OF_BOTH[1]


def _how_long_unread(impact: Impact) -> str:
    longest = impact.longest_unread_ms or 0
    several = impact.unread_partition_ms != longest * (impact.unread_partitions or 0)
    return f"{'at least ' if impact.unread_at_least else 'up to ' if several else ''}{duration(longest)}"


def stopped(impact: Impact) -> str:
    """How long no partition of the group was read."""
    if impact.stopped_ms is not None:
        return duration(impact.stopped_ms) if impact.stopped_ms else NEVER
    bounds = impact.by_member
    if bounds is None or not (bounds.stopped_at_least_ms or bounds.stopped_at_most_ms):
        return NOT_LOGGED
    if bounds.stopped_at_most_ms is None:
        return f"at least {duration(bounds.stopped_at_least_ms or 0)}"
    least, most = duration(bounds.stopped_at_least_ms or 0), duration(bounds.stopped_at_most_ms)
    return f"at most {most}" if not bounds.stopped_at_least_ms else most if least == most else f"{least} to {most}"


def besides(impact: Impact) -> str:
    """Other costs: `2 rebalances paused 3 members, 1.7 s in total`."""
    return capitalized(_paused(impact) + ("; no member paused" if impact.pause_ms == 0 else ""))


def worst_of(impacts: Sequence[Impact], outside: str = "") -> Sequence[str]:
    """The highest cost among several planned incidents: `partitions unread for up to 3.2 s`, and the longest stop.

    `outside` is as in `impact`, for a single one.
    """
    if len(impacts) == 1:
        return [*_costs(impacts[0], outside=outside)]
    unread_ms = max((cost.longest_unread_ms for cost in impacts if cost.longest_unread_ms is not None), default=None)
    stopped_ms = max((cost.stopped_ms for cost in impacts if cost.stopped_ms is not None), default=None)
    if not unread_ms:
        return [UNREAD_NOT_LOGGED if unread_ms is None else "no partition was left unread"]
    stop = [f"a whole group stopped for up to {duration(stopped_ms)}"] if stopped_ms else []
    return [f"partitions unread for up to {duration(unread_ms)}", *stop]


def alternative(other: WhatIf) -> str:
    """The cost with another protocol, and how that is known."""
    return f"{other.alternative}{saved(other)}{other.explanation}"


def saved(other: WhatIf) -> str:
    """` would have cut the stop of the whole group by 40 s (38 s to 41 s). `; `: ` if that is not known."""
    costs = (other.stopped, "the stop of the whole group"), (other.unread, "the unread partition time")
    known = [(saving, what) for saving, what in costs if saving is not None]
    if not known:
        return ": "
    less = [_difference(*cost) for cost in known if cost[0].likely >= SECOND_MS]
    more = [_difference(*cost) for cost in known if cost[0].likely <= -SECOND_MS]
    but = f", but {' and '.join(more)}" if more else ""
    condition = f", {other.condition}" if other.condition else ""
    return f" would have {' and '.join(less)}{but}{condition}. "


def _difference(saving: Saving, what: str) -> str:
    """`cut the unread partition time by 12 s (8 s to 15 s)`: the likeliest value and the range of 80 % of runs."""
    less = saving.likely > 0
    # If a few simulations show the opposite, the range begins at zero.
    ends = (saving.low, saving.high) if less else (-saving.high, -saving.low)
    low, high = (duration(max(0, end)) for end in ends)
    within = f" ({low} to {high})" if low != high else ""
    return f"{'cut' if less else 'lengthened'} {what} by {duration(abs(saving.likely))}{within}"


class Period(Struct, frozen=True, kw_only=True):
    """When an incident began and ended, how long it took and whether it is over, as shown in outputs."""

    begin: EpochMs | None
    """None if the lines have no times."""
    end: EpochMs | None = None
    """None if begin and duration are enough."""
    ends_same_day: bool = False
    length: str = ""
    state: str = ""


def period(incident: Headline) -> Period:
    """The period of an incident."""
    going_on = "still going on when the logs end"
    if not is_timed(incident.started_at):
        return Period(begin=None, state=going_on if incident.ongoing else "")
    if incident.ongoing or incident.ended_at is None:
        return Period(begin=incident.started_at, state=going_on if incident.ongoing else "end not seen")
    begin, end = utc(incident.started_at), utc(incident.ended_at)
    # Lines of a single moment, such as a rejection, show neither a duration nor a recovery.
    at_length = (incident.lasted_ms or 0) >= SECOND_MS
    return Period(
        begin=incident.started_at,
        # Two times that look the same are less informative than the duration alone.
        end=None if begin == end else incident.ended_at,
        ends_same_day=day(incident.started_at) == day(incident.ended_at),
        length=duration(incident.lasted_ms or 0) if at_length else "",
        state="resolved" if at_length else "",
    )


def clock_of(at: EpochMs) -> str:
    """The clock of a time: UTC, or that of its host for a log without dates."""
    return "UTC" if is_dated(at) else "on an unknown day"


def since(incident: Headline) -> str:
    """`2026-03-01 10:02:11 UTC to 10:02:14, lasted 3.3 s, resolved`."""
    when = period(incident)
    begin = "the lines have no times" if when.begin is None else f"{utc(when.begin)} {clock_of(when.begin)}"
    end = time_to_second(when.end) if when.ends_same_day else utc(when.end)
    until = f" to {end}" if when.end is not None else ""
    length = f"lasted {when.length}" if when.length else ""
    return ", ".join(filter(None, (begin + until, length, when.state)))


def ranges(numbers: Iterable[int]) -> str:
    """`5-18, 20`: consecutive generations as one range."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], number]
        else:
            runs.append([number])
    return ", ".join("-".join(str(edge) for edge in run) for run in runs)


def names_besides(culprit: Culprit) -> tuple[str, ...]:
    """Other names of a culprit, those chosen by people before generated ones."""
    # A reader of `broker-1` knows that its id is 1.
    known = (culprit.name, culprit.name.removeprefix("broker-") if culprit.kind == "broker" else culprit.name)
    others = (name for name in culprit.names if name not in known)
    return tuple(sorted(others, key=lambda name: bool(GENERATED.search(name)) or is_bare_member_id(name)))


def totals_of_inputs(inputs: Sequence[InputSummary]) -> str:
    """The amount read, and how many records were recognized, are unknown or are about other things."""
    # A file with the logs of several processes is an input for each of them.
    files = count(len({log.path for log in inputs}), "file")
    return f"{files}, {size(sum(log.bytes for log in inputs))}, {lines_of_inputs(inputs)}."


def lines_of_inputs(inputs: Sequence[InputSummary]) -> str:
    """The number of lines, and how many records were recognized, are unknown or are about other things."""
    lines, records = sum(log.lines for log in inputs), sum(log.records for log in inputs)
    matched, unknown = sum(log.matched for log in inputs), sum(log.unmatched_kafka for log in inputs)
    unparsed = sum(log.unparsed for log in inputs)
    # A stack trace is part of its record, and a line of an export may contain several records.
    read = count(lines, "line") if records == lines else f"{count(lines, 'line')} with {count(records, 'record')}"
    of_them = [
        f"{thousands(matched)} recognized",
        f"{thousands(unknown)} about consumer groups but not recognized",
        f"{thousands(max(0, records - matched - unknown))} about other things",
    ]
    rest = f"; {count(unparsed, 'line')} in an unknown layout" if unparsed else ""
    return f"{read}: {', '.join(of_them)}{rest}"


def in_ranges(partitions: Iterable[str]) -> str:
    """`orders 0-3, 5; audit 1`; a name that is not a topic with a number is left unchanged."""
    topics: dict[str, list[int]] = defaultdict(list)
    for name in sorted(partitions, key=natural):
        topic, number = topic_and_number(name)
        topics[topic].extend(() if number is None else (number,))
    return "; ".join(f"{topic} {ranges(numbers)}" if numbers else topic for topic, numbers in topics.items())
