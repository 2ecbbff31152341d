"""Selects and orders the content of the page: incidents, groups, pictures and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from rebalance_forensics.diagnosis.model import RANKS, DisturbedGroup, Headline, Incident, Severity
from rebalance_forensics.records import natural
from rebalance_forensics.report.html.budget import GLIMPSES, GROUPS, INCIDENTS, OVERVIEW_ROWS, Budget
from rebalance_forensics.report.html.incident_links import Links, links_of
from rebalance_forensics.report.html.overview import Day, Overview, days_of, filter_groups, overview_of
from rebalance_forensics.report.html.picture import draw, window_of
from rebalance_forensics.report.html.prepared_history import Glimpse, ReadyHistory, glimpse_of, ready
from rebalance_forensics.report.html.shapes import Picture
from rebalance_forensics.report.html.tables import GroupTables, tables_of
from rebalance_forensics.report.lazy_list import LazyList
from rebalance_forensics.report.member_names import short_names
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.rebalance_patterns import Passage, readings_of
from rebalance_forensics.report.urgency_order import Incidents, is_unexplained, most_urgent_first
from rebalance_forensics.report.wording import group_of, names_besides
from rebalance_forensics.timeline.model import GroupHistory, GroupOutline


class IncidentPage(Struct, frozen=True, kw_only=True):
    """One incident in full."""

    number: int
    incident: Incident
    picture: Picture | None


class GroupPage(Struct, frozen=True, kw_only=True):
    """One group with its whole history."""

    number: int
    history: GroupHistory
    incidents: tuple[Incident, ...]
    causes: tuple[str, ...]
    """The most likely cause of each of its incidents."""
    picture: Picture | None
    names: Mapping[str, str]
    """Member -> short name, if that is not its client id."""
    tables: GroupTables
    readings: tuple[tuple[str, tuple[Passage, ...]], ...]


class Content(Struct, frozen=True, kw_only=True):
    """The whole page."""

    numbered: Incidents
    overview: Sequence[Headline]
    axis: Overview | None
    """All incidents on one time axis."""
    days: tuple[Day, ...]
    """An index of days, for logs of several days."""
    faults: tuple[IncidentPage, ...]
    unexplained: tuple[IncidentPage, ...]
    planned: tuple[IncidentPage, ...]
    groups: tuple[GroupPage, ...]
    group_names: tuple[str, ...]
    """All groups with incidents or a section, with their cluster if it has a name."""
    pictures: tuple[Picture, ...]
    with_sections: frozenset[str]
    targets: frozenset[str]
    """The ids of elements that show an incident."""
    causes: tuple[str, ...]
    names: Mapping[str, tuple[str, ...]]
    """Id of an incident in the overview -> the names by which the filter finds it."""
    names_left_out: int
    hosts: Mapping[str, tuple[str, ...]]
    """Id of an incident in the overview -> the hosts of its culprits, else of the disturbed members."""
    group_hosts: tuple[tuple[str, ...], ...]
    """The hosts of the members of each group that has a section."""
    host_names: tuple[str, ...]
    severities: tuple[Severity, ...]
    states: Mapping[str, str]
    """Group disturbed by the first incident -> its state afterwards."""
    axis_first: bool
    """True if several groups are in trouble, so that the axis that shows them follows the first verdict."""
    budget: Budget
    left_out: tuple[str, ...]
    urgent: int
    critical: int


def content_of(report: Report) -> Content:
    """Select the content of the page, the most urgent first."""
    shown = min(len(report.incidents), INCIDENTS) + min(len(report.groups), GROUPS)
    budget = Budget(pictures=max(shown, 1))
    numbered = most_urgent_first(report.lazy_incidents)
    headlines = numbered.outlines
    scenes = Scenes.of(report, numbered, budget)
    incidents = [
        IncidentPage(number=number, incident=incident, picture=scenes.of_incident(number, incident))
        for number, incident in enumerate(numbered[:INCIDENTS])
    ]
    groups = _groups(report, headlines, scenes)
    budget.omit("incidents without a section of their own; the overview lists them", len(numbered) - len(incidents))
    budget.omit("incidents beyond the end of the overview; the JSON report has them", len(numbered) - OVERVIEW_ROWS)
    budget.omit("groups without a section of their own", len(report.groups) - len(groups))
    names = filter_names(headlines[:OVERVIEW_ROWS], budget)
    axis = overview_of(headlines, {page.incident.id for page in incidents}, scenes.end_of, scenes.look)
    hosts = {incident.id: scenes.hosts_of(incident) for incident in headlines[:OVERVIEW_ROWS]}
    group_hosts = [_hosts(scenes.look((page.history.cluster, page.history.group))) for page in groups]
    troubled = {key for incident in headlines if incident.severity != "info" for key in _keys(incident)}
    benign = [page for page in incidents if page.incident.severity == "info"]
    drawn = [page.picture for page in incidents] + [page.picture for page in groups]
    return Content(
        numbered=numbered,
        overview=headlines[:OVERVIEW_ROWS],
        axis=axis,
        days=days_of(headlines[:OVERVIEW_ROWS], {page.incident.id for page in incidents}),
        axis_first=axis is not None and len(troubled) > 1,
        faults=tuple(page for page in incidents if page.incident.severity != "info"),
        unexplained=tuple(page for page in benign if is_unexplained(page.incident)),
        planned=tuple(page for page in benign if not is_unexplained(page.incident)),
        groups=tuple(groups),
        group_names=tuple(
            dict.fromkeys(
                [
                    *(group_of(page.history) for page in groups),
                    *(group for incident in headlines for group in filter_groups(incident)),
                ]
            )
        ),
        pictures=tuple(picture for picture in drawn if picture is not None),
        with_sections=frozenset(page.incident.id for page in incidents),
        targets=frozenset(f"incident-{page.incident.id}" for page in incidents)
        | {f"listed-{incident.id}" for incident in headlines[len(incidents) : OVERVIEW_ROWS]},
        causes=tuple(sorted({incident.root_causes[0].cause for incident in headlines})),
        names=names,
        names_left_out=budget.left_out.get(NAMES_LEFT_OUT, 0),
        hosts=hosts,
        group_hosts=tuple(group_hosts),
        host_names=tuple(sorted({host for known in (*hosts.values(), *group_hosts) for host in known}, key=natural)),
        severities=tuple(sorted({incident.severity for incident in headlines}, key=RANKS.__getitem__)),
        states={} if not headlines else scenes.states_of(headlines[0]),
        budget=budget,
        left_out=tuple(budget.sentences()),
        urgent=sum(incident.severity != "info" for incident in headlines),
        critical=sum(incident.severity == "critical" for incident in headlines),
    )


def _keys(incident: Headline) -> list[Key]:
    return [(incident.cluster, group) for group in incident.group_names]


def _hosts(seen: Glimpse | None) -> tuple[str, ...]:
    return () if seen is None else tuple(sorted(set(seen.hosts.values()), key=natural))


def _groups(report: Report, headlines: Sequence[Headline], scenes: Scenes) -> list[GroupPage]:
    rank: dict[Key, int] = {}
    for number, incident in enumerate(headlines):
        for key in _keys(incident):
            rank.setdefault(key, number)
    groups = report.lazy_groups
    ranks = [rank.get((group.cluster, group.group), len(headlines)) for group in groups.outlines]
    ordered = groups.at(sorted(range(len(groups)), key=ranks.__getitem__)[:GROUPS])
    return [_group(number, history, scenes) for number, history in enumerate(ordered)]


def _group(number: int, history: GroupHistory, scenes: Scenes) -> GroupPage:
    incidents = scenes.incidents_of(history)
    return GroupPage(
        number=number,
        history=history,
        incidents=incidents,
        causes=tuple(dict.fromkeys(incident.root_causes[0].cause for incident in incidents)),
        picture=scenes.of_group(number, history),
        names=short_names(history),
        tables=tables_of(history, scenes.budget, scenes.links(history.cluster, history.group)),
        readings=tuple(_shown(title, passages, scenes.budget) for title, passages in readings_of(history).parts()),
    )


def _shown(title: str, passages: tuple[Passage, ...], budget: Budget) -> tuple[str, tuple[Passage, ...]]:
    shown = tuple(budget.passages.take(passages))
    budget.omit("sentences on how rebalances read", len(passages) - len(shown))
    return title, shown


NAMES_LEFT_OUT = "names of members that the filter would find an incident by"


def filter_names(incidents: Sequence[Headline], budget: Budget) -> dict[str, tuple[str, ...]]:
    """Incident id -> names of its culprits, as many as fit, those chosen by people before generated ones."""
    names: dict[str, tuple[str, ...]] = {}
    for number, incident in enumerate(incidents):
        known = _names_of(incident)
        names[incident.id] = shown = tuple(budget.names.take(known, len(incidents) - number - 1))
        budget.omit(NAMES_LEFT_OUT, len(known) - len(shown))
    return names


def _names_of(incident: Headline) -> list[str]:
    everyone = [culprit for cause in incident.root_causes for culprit in cause.culprits]
    others = (name for culprit in everyone for name in names_besides(culprit))
    return list(dict.fromkeys([*(culprit.name for culprit in everyone), *others]))


Key = tuple[str, str]


def _visible(disturbed: DisturbedGroup) -> tuple[int, int, int]:
    impact = disturbed.impact
    return impact.unread_partition_ms or 0, impact.stopped_ms or 0, impact.rebalances


class Scenes(Struct, frozen=True, kw_only=True):
    """Draws the pictures of the page; each takes its share of the budget."""

    groups: LazyList[GroupHistory, GroupOutline]
    numbered: Incidents
    """In the order of the page."""
    places: Mapping[Key, int]
    """Group -> its index among the groups."""
    numbers: Mapping[Key, list[int]]
    """Group -> the numbers of its incidents."""
    ends: Mapping[str, int]
    """Path of a log -> its last time."""
    cluster_ends: Mapping[str, int]
    budget: Budget
    made_ready: dict[Key, ReadyHistory] = field(default_factory=dict)
    linked: dict[Key, Links] = field(default_factory=dict)
    glimpses: dict[Key, Glimpse] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Report, numbered: Incidents, budget: Budget) -> Scenes:
        """The scenes of a report; `numbered` are the incidents in the order of the page."""
        groups = report.lazy_groups
        numbers: dict[Key, list[int]] = {}
        for number, incident in enumerate(numbered.outlines):
            for key in _keys(incident):
                numbers.setdefault(key, []).append(number)
        ends: dict[str, int] = {}
        cluster_ends: dict[str, int] = {}
        for log in report.inputs:
            if log.last is not None:
                ends[log.path] = max(log.last, ends.get(log.path, 0))
                cluster_ends[log.cluster] = max(log.last, cluster_ends.get(log.cluster, 0))
        return cls(
            groups=groups,
            numbered=numbered,
            places={(group.cluster, group.group): place for place, group in enumerate(groups.outlines)},
            numbers=numbers,
            ends=ends,
            cluster_ends=cluster_ends,
            budget=budget,
        )

    def of_incident(self, number: int, incident: Incident) -> Picture | None:
        """Draw an incident with some time before and after it."""
        # A cluster's incident is drawn for the group with the longest unread time.
        most = max(incident.groups, key=_visible, default=None)
        key = incident.cluster, incident.group_names[0] if most is None else most.group
        return self._drawn(f"picture-{number}", key, incident) if key in self.places else None

    def of_group(self, number: int, history: GroupHistory) -> Picture | None:
        """Draw a whole history."""
        return self._drawn(f"history-{number}", (history.cluster, history.group), None)

    def end_of_logs(self, key: Key) -> int:
        """When the last log of a group's members and brokers ends."""
        seen = self.look(key)
        own = [self.ends[path] for path in (() if seen is None else seen.files) if path in self.ends]
        return max(own, default=self.cluster_ends.get(key[0], 0))

    def end_of(self, incident: Headline) -> int:
        """When the logs of the disturbed groups end."""
        return max(map(self.end_of_logs, _keys(incident)))

    def look(self, key: Key) -> Glimpse | None:
        """A glimpse of a group, computed once; None if the page has used up its glimpses."""
        if key not in self.glimpses and key in self.places and len(self.glimpses) < GLIMPSES:
            self.glimpses[key] = glimpse_of(self.groups[self.places[key]])
        return self.glimpses.get(key)

    def hosts_of(self, incident: Headline) -> tuple[str, ...]:
        """The hosts of the culprits, or of all members if no member is blamed; empty if unknown."""
        seen = [found for found in map(self.look, _keys(incident)) if found is not None]
        culprits = [culprit for cause in incident.root_causes for culprit in cause.culprits]
        names = [name for culprit in culprits for name in (culprit.name, *culprit.names)]
        blamed = {host for found in seen for name in names if (host := found.hosts.get(name))}
        blamed |= {culprit.name for culprit in culprits if culprit.kind == "host"}
        return tuple(sorted(blamed or {host for found in seen for host in found.hosts.values()}, key=natural))

    def states_of(self, incident: Headline) -> dict[str, str]:
        """Group -> its state after the incident, for groups with a glimpse."""
        return {key[1]: found.state for key in _keys(incident) if (found := self.look(key)) is not None}

    def incidents_of(self, history: GroupHistory) -> tuple[Incident, ...]:
        """The incidents of a group, the most urgent first."""
        return tuple(incident for _, incident in self.links(history.cluster, history.group).incidents)

    def _drawn(self, name: str, key: Key, incident: Incident | None) -> Picture | None:
        if key not in self.made_ready:
            self.made_ready[key] = ready(self.groups[self.places[key]])
        history = self.made_ready[key]
        window = window_of(history, self.end_of_logs(key), incident)
        return None if window is None else draw(name, history, window, self.links(*key), self.budget, incident)

    def links(self, cluster: str, group: str) -> Links:
        """The links to the incidents of a group, computed once."""
        key = cluster, group
        if key not in self.linked:
            self.linked[key] = links_of([(number, self.numbered[number]) for number in self.numbers.get(key, ())])
        return self.linked[key]
