"""Weeks of incidents in one view: the most expensive groups, causes and culprits, recurring faults, changes.

`fleet_of` turns rows of the job's tables (docs/tables.md) into sections, each a table with a title, without reading
anything itself. Terminal, page, Markdown and CSV show the same sections.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import RANKS
from rebalance_forensics.diagnosis.wording.durations import some, times
from rebalance_forensics.records import EpochMs, natural
from rebalance_forensics.report.times import DAY, EPOCH, WEEK, day, duration, utc
from rebalance_forensics.report.wording import count, severities, thousands

SHOWN = 25
"""Maximum number of rows of a section on a terminal, a page and in Markdown; CSV has all."""
MOST_WEEKS = 8
"""Maximum number of weekly columns; earlier incidents are counted in an additional one."""
SECTIONS = ("groups", "causes", "culprits", "recurring", "muted")
# Planned changes to a group that may have introduced a fault.
DEPLOYMENTS = ("rolling-restart", "static-member-restart", "startup", "scale-out", "scale-in")
# The generated suffix of a pod name, and ids: the same consumer will have others tomorrow.
_MADE_UP = re.compile(r"-[0-9a-f]{6,10}-[0-9a-z]{5}(?=$|-)|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


class GroupCost(Struct, frozen=True, kw_only=True):
    """The cost of an incident for one group; `unread_ms` is its unread partition time, None if not logged."""

    group: str
    unread_ms: int | None = None
    unread_at_least: bool = False
    severity: str = "info"


class FleetIncident(Struct, frozen=True, kw_only=True):
    """A row of `incidents` with its rows of `incident_groups`."""

    id: str
    cluster: str
    started_at: EpochMs
    severity: str
    cause: str
    costs: tuple[GroupCost, ...]
    culprits: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, str, str, tuple[str, ...]]:
        """What recurring incidents have in common: cluster, group, cause and culprits, without ids that change."""
        group = self.costs[0].group if len(self.costs) == 1 else ""
        return self.cluster, group, self.cause, tuple(sorted({_MADE_UP.sub("-*", name) for name in self.culprits}))


class Rebalanced(Struct, frozen=True, kw_only=True):
    """A rebalance of a group."""

    cluster: str
    group: str
    started_at: EpochMs


class Known(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Incidents that a team has accepted: by cause, group and culprit (with `*` and `?`), until a day."""

    cause: str = "*"
    group: str = "*"
    culprit: str = "*"
    until: date | None = None
    why: str = ""

    def mutes(self, incident: FleetIncident) -> bool:
        """True for an incident that began before `until` and matches cause, group and culprit."""
        return (
            (self.until is None or incident.started_at < _midnight(self.until))
            and fnmatchcase(incident.cause, self.cause)
            and all(fnmatchcase(cost.group, self.group) for cost in incident.costs)
            and (self.culprit == "*" or any(fnmatchcase(name, self.culprit) for name in incident.culprits))
        )

    def __str__(self) -> str:
        """The entry as in its file."""
        parts = (("cause", self.cause), ("group", self.group), ("culprit", self.culprit))
        return ", ".join(f"{name} {value}" for name, value in parts if value != "*")


def _midnight(until: date) -> EpochMs:
    return (until - EPOCH.date()).days * DAY


class Section(Struct, frozen=True, kw_only=True):
    """A table with a title; `about` explains its rows. Columns whose index is in `numbers` are right-aligned."""

    id: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    empty: str = ""


class Fleet(Struct, frozen=True, kw_only=True):
    """Incidents of a period, most expensive first in each section."""

    headline: str
    period: str
    changes: tuple[str, ...]
    sections: tuple[Section, ...]
    days: tuple[tuple[str, tuple[int, ...]], ...]
    """Each day with its number of incidents by severity, for a chart."""


class Period(Struct, frozen=True, kw_only=True):
    """From `start` to before `end`."""

    start: EpochMs
    end: EpochMs

    def __contains__(self, at: EpochMs) -> bool:
        """True if a time is within the period."""
        return self.start <= at < self.end

    def week_of(self, at: EpochMs) -> int:
        """0 for the last seven days, 1 for those before."""
        return (self.end - 1 - at) // WEEK

    @property
    def weeks(self) -> range:
        """The last weeks that overlap the period, oldest first."""
        return range(min(self.week_of(self.start), MOST_WEEKS - 1), -1, -1)

    def first_day(self, week: int) -> str:
        """The day on which a week begins, or the period if that is later, as `11-20`."""
        return (day(max(self.start, self.end - (week + 1) * WEEK)) or "unknown").partition("-")[2]


class FleetTables(Struct, frozen=True, kw_only=True):
    """Incidents and rebalances of a period; `unreadable` are sentences about files that could not be read.

    The incidents of the last two weeks are included even if the period is shorter, so that weeks can be compared.
    """

    period: Period
    uncovered_ms: int = 0
    """How much of the period no run of the job covers, in ms."""
    is_comparable: bool = True
    """True if runs cover the last two weeks completely, so that they can be compared."""
    incidents: tuple[FleetIncident, ...]
    rebalances: tuple[Rebalanced, ...]
    unreadable: tuple[str, ...] = ()


class Unread(Struct, frozen=True, kw_only=True):
    """Unread partition time as far as the logs show it; `unknown` if they do not show all of it."""

    ms: int = 0
    unknown: bool = False

    @classmethod
    def of(cls, costs: Iterable[GroupCost]) -> Unread:
        """The total of several costs."""
        listed = list(costs)
        unknown = any(cost.unread_ms is None or cost.unread_at_least for cost in listed)
        return cls(ms=sum(cost.unread_ms or 0 for cost in listed), unknown=unknown)

    def __str__(self) -> str:
        """`none`, `2 min 10 s`, `at least 2 min 10 s`, or a note that the logs do not show it."""
        if self.unknown and not self.ms:
            return "not in the logs"
        return f"{'at least ' if self.unknown else ''}{duration(self.ms)}" if self.ms else "none"


def _unread(incidents: Iterable[FleetIncident]) -> Unread:
    return Unread.of(cost for each in incidents for cost in each.costs)


def fleet_of(tables: FleetTables, known: Sequence[Known] = ()) -> Fleet:
    """The sections for a period; accepted incidents are only counted, in a separate section."""
    period = tables.period
    within = [each for each in tables.incidents if each.started_at in period]
    within.sort(key=lambda each: (each.started_at, each.id))
    muted = [(each, _muting(each, known)) for each in within]
    counted = [each for each, entry in muted if entry is None]
    begun = Counter((each.cluster, each.group) for each in tables.rebalances if each.started_at in period)
    sections = (
        _groups(counted, begun, period),
        _causes(counted, period),
        _culprits(counted),
        _recurring(counted),
        _muted([(each, entry) for each, entry in muted if entry is not None], known, period),
    )
    return Fleet(
        headline=_headline(counted, begun, len(within) - len(counted)),
        period=f"{utc(period.start)} to {utc(period.end)} UTC{_uncovered(tables)}",
        changes=tuple(_changes(tables.incidents, known, period)) if tables.is_comparable else (),
        sections=tuple(_without_cluster(section) for section in sections if section.rows or section.empty),
        days=tuple(_days(counted, period)),
    )


def _without_cluster(section: Section) -> Section:
    """The section without its cluster column if that is the same in each row."""
    if "cluster" not in section.columns:
        return section
    at = section.columns.index("cluster")
    if len({row[at] for row in section.rows}) > 1:
        return section
    return replace(
        section,
        columns=section.columns[:at] + section.columns[at + 1 :],
        rows=tuple(row[:at] + row[at + 1 :] for row in section.rows),
        numbers=frozenset(index - (index > at) for index in section.numbers),
    )


def _headline(counted: Sequence[FleetIncident], begun: Counter[tuple[str, str]], muted: int) -> str:
    by_severity = Counter(each.severity for each in counted)
    groups = {(each.cluster, cost.group) for each in counted for cost in each.costs if each.severity != "info"}
    begin = f"{count(len(counted), 'incident')} ({', '.join(severities(by_severity))})" if counted else "No incident"
    faults = f"; faults in {len(groups)} of {count(len({*begun, *groups}), 'group')}" if begun or groups else ""
    hidden = f"; {count(muted, 'known incident')} muted" if muted else ""
    return f"{begin}{faults}; {count(begun.total(), 'rebalance')}{hidden}."


def _uncovered(tables: FleetTables) -> str:
    return f"; no run of the job covers {duration(tables.uncovered_ms)} of it" if tables.uncovered_ms else ""


def _muting(incident: FleetIncident, known: Sequence[Known]) -> Known | None:
    return next((entry for entry in known if entry.mutes(incident)), None)


def _changes(incidents: Sequence[FleetIncident], known: Sequence[Known], period: Period) -> Iterator[str]:
    """Faults of the last seven days that the seven days before did not have, and the reverse.

    Muted incidents count unless all occurrences of a fault are muted: a fault that is no longer muted is not new.
    """
    recent = [each for each in incidents if 0 <= period.week_of(each.started_at) <= 1]
    stories = {_story(each) for each in recent if _muting(each, known) is None}
    compared = [each for each in recent if _story(each) in stories]
    now, before = ([each for each in compared if period.week_of(each.started_at) == week] for week in (0, 1))
    faults = [Counter(_story(each) for each in week if each.severity != "info") for week in (now, before)]
    for story in sorted(faults[0].keys() - faults[1].keys(), key=lambda story: (-faults[0][story], story)):
        yield f"New: {story}, {times(faults[0][story])}."
    for story in sorted(faults[1].keys() - faults[0].keys(), key=lambda story: (-faults[1][story], story)):
        yield f"Not seen this week: {story}; {times(faults[1][story])} the week before."
    for story in sorted(faults[0].keys() & faults[1].keys()):
        if faults[0][story] != faults[1][story]:
            more = "More often" if faults[0][story] > faults[1][story] else "Less often"
            yield f"{more}: {story}, {times(faults[0][story])} after {times(faults[1][story])}."
    if _unread([*now, *before]).ms:
        yield f"Unread: {_unread(now)} this week, {_unread(before)} the week before."


def _story(incident: FleetIncident) -> str:
    where = incident.costs[0].group if len(incident.costs) == 1 else count(len(incident.costs), "group")
    cluster = f" on {incident.cluster}" if incident.cluster != "default" else ""
    return f"{incident.cause} in {where}{cluster}"


def _groups(counted: Sequence[FleetIncident], begun: Counter[tuple[str, str]], period: Period) -> Section:
    found: dict[tuple[str, str], list[tuple[FleetIncident, GroupCost]]] = {group: [] for group in begun}
    for each in counted:
        for cost in each.costs:
            found.setdefault((each.cluster, cost.group), []).append((each, cost))

    def unread(group: tuple[str, str], week: int | None = None) -> Unread:
        return Unread.of(cost for each, cost in found[group] if week in (None, period.week_of(each.started_at)))

    def row(group: tuple[str, str]) -> tuple[str, ...]:
        faults = Counter(each.cause for each, cost in found[group] if cost.severity != "info")
        worst = ", ".join(f"{cause} ({number})" if number > 1 else cause for cause, number in faults.most_common(3))
        return (
            group[1],
            group[0],
            str(unread(group)),
            str(unread(group, 0)),
            thousands(begun[group]),
            ", ".join(severities(Counter(cost.severity for _, cost in found[group]))) or "none",
            worst or "none",
        )

    ordered = sorted(found, key=lambda group: (-unread(group).ms, -begun[group], group))
    return Section(
        id="groups",
        title="Groups",
        about="Partition time that nobody read, and rebalances; the most expensive group first.",
        columns=("group", "cluster", "unread", "last 7 days", "rebalances", "incidents", "faults"),
        rows=tuple(map(row, ordered)),
        numbers=frozenset((2, 3, 4)),
        empty="The tables show no group in this period.",
    )


def _causes(counted: Sequence[FleetIncident], period: Period) -> Section:
    before = ("earlier",) if period.week_of(period.start) >= MOST_WEEKS else ()
    by_cause: dict[str, list[FleetIncident]] = defaultdict(list)
    for each in counted:
        by_cause[each.cause].append(each)

    def row(cause: str) -> tuple[str, ...]:
        weeks = Counter(period.week_of(each.started_at) for each in by_cause[cause])
        groups = {(each.cluster, cost.group) for each in by_cause[cause] for cost in each.costs}
        earlier = sum(number for week, number in weeks.items() if week >= MOST_WEEKS)
        counts = (thousands(number) for number in (*[earlier][: len(before)], *(weeks[w] for w in period.weeks)))
        return cause, *counts, thousands(len(groups)), str(_unread(by_cause[cause]))

    weeks = (*before, *(period.first_day(week) for week in period.weeks))
    ordered = sorted(by_cause, key=lambda cause: (-len(by_cause[cause]), cause))
    return Section(
        id="causes",
        title="Causes, by the first day of the week",
        about="Incidents by their most likely cause and the week in which they began.",
        columns=("cause", *weeks, "groups", "unread"),
        rows=tuple(map(row, ordered)),
        numbers=frozenset(range(1, len(weeks) + 3)),
    )


def _groups_of(incidents: Iterable[FleetIncident]) -> list[str]:
    return sorted({cost.group for each in incidents for cost in each.costs}, key=natural)


def _culprits(counted: Sequence[FleetIncident]) -> Section:
    found: dict[tuple[str, str], list[FleetIncident]] = defaultdict(list)
    for each in counted:
        if each.severity != "info":
            for name in each.identity[3]:
                found[name, each.cluster].append(each)

    def row(culprit: tuple[str, str]) -> tuple[str, ...]:
        caused = found[culprit]
        causes = [cause for cause, _ in Counter(each.cause for each in caused).most_common()]
        return *culprit, thousands(len(caused)), some(causes, 3), some(_groups_of(caused), 3), str(_unread(caused))

    ordered = sorted(found, key=lambda key: (-_unread(found[key]).ms, -len(found[key]), key))
    return Section(
        id="culprits",
        title="Culprits",
        about="Who caused faults, the most expensive first; unread time is that of their incidents.",
        columns=("culprit", "cluster", "incidents", "causes", "groups", "unread"),
        rows=tuple(map(row, ordered)),
        numbers=frozenset((2, 5)),
    )


def _recurring(counted: Sequence[FleetIncident]) -> Section:
    stories: dict[tuple[str, str, str, tuple[str, ...]], list[FleetIncident]] = defaultdict(list)
    for each in counted:
        if each.severity != "info":
            stories[each.identity].append(each)
    back = {story: seen for story, seen in stories.items() if len(seen) > 1}
    deployed = [each for each in counted if each.cause in DEPLOYMENTS]

    def row(story: tuple[str, str, str, tuple[str, ...]]) -> tuple[str, ...]:
        cluster, group, cause, names = story
        seen = back[story]
        where = group or some(_groups_of(seen), 3)
        after = _deployment_before(seen[0], deployed)
        seen_at = (utc(each.started_at).rpartition(":")[0] for each in (seen[0], seen[-1]))
        return (
            cause,
            some(names, 3) if names else "not named",
            where,
            cluster,
            thousands(len(seen)),
            *seen_at,
            after,
            seen[-1].id,
        )

    ordered = sorted(back, key=lambda story: (-len(back[story]), back[story][0].started_at, story))
    return Section(
        id="recurring",
        title="Coming back",
        about="The same cause and culprit in the same group, more than once; with what was deployed before the first.",
        columns=("cause", "culprit", "group", "cluster", "times", "first seen", "last seen", "after", "last id"),
        rows=tuple(map(row, ordered)),
        numbers=frozenset((4,)),
        empty="No fault came back.",
    )


def _deployment_before(first: FleetIncident, deployed: Sequence[FleetIncident]) -> str:
    """The last planned change to the same groups within a week: `rolling-restart, 2 min 10 s before`."""
    groups = {cost.group for cost in first.costs}
    earlier = [
        each
        for each in deployed
        if each.cluster == first.cluster
        and each.id != first.id
        and 0 <= first.started_at - each.started_at <= WEEK
        and any(cost.group in groups for cost in each.costs)
    ]
    if not earlier:
        return "none in the logs"
    last = max(earlier, key=lambda each: each.started_at)
    return f"{last.cause}, {duration(first.started_at - last.started_at)} before"


def _muted(muted: Sequence[tuple[FleetIncident, Known]], known: Sequence[Known], period: Period) -> Section:
    def row(entry: Known) -> tuple[str, ...]:
        hidden = [each for each, by in muted if by is entry]
        past = entry.until is not None and _midnight(entry.until) <= period.end
        until = "no end" if entry.until is None else f"{entry.until}{', over' if past else ''}"
        return str(entry), until, thousands(len(hidden)), str(_unread(hidden)), entry.why

    return Section(
        id="muted",
        title="Muted",
        about="What --known accepts: these incidents are in no other table.",
        columns=("known", "until", "incidents", "unread", "why"),
        rows=tuple(map(row, known)),
        numbers=frozenset((2, 3)),
    )


def _days(counted: Sequence[FleetIncident], period: Period) -> Iterator[tuple[str, tuple[int, ...]]]:
    found = Counter((day(each.started_at), each.severity) for each in counted)
    for at in range(period.start - period.start % DAY, period.end, DAY):
        name = day(at) or "unknown"
        yield name, tuple(found[name, severity] for severity in RANKS)


def markdown(fleet: Fleet, safe: Callable[[str], str]) -> Iterator[str]:
    """The sections as Markdown; `safe` escapes markup in names."""
    yield from ("# Rebalances of the fleet", "", f"{safe(fleet.headline)} {fleet.period}.", "")
    if fleet.changes:
        yield from ("## Changed since the week before", "", *(f"- {safe(change)}" for change in fleet.changes), "")
    for section in fleet.sections:
        yield from (f"## {section.title}", "", section.about if section.rows else section.empty, "")
        if section.rows:
            yield f"| {' | '.join(section.columns)} |"
            yield f"|{'|'.join('--:' if index in section.numbers else '---' for index in range(len(section.columns)))}|"
            yield from (f"| {' | '.join(map(safe, row))} |" for row in section.rows[:SHOWN])
            if left := len(section.rows) - SHOWN:
                yield from ("", f"And {thousands(left)} more.") if left > 0 else ()
            yield ""
