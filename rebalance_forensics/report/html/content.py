"""What the page holds, in which order, and what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.html.budget import GROUPS, INCIDENTS, OVERVIEW_ROWS, Budget
from rebalance_forensics.report.html.linking import Links, links_of
from rebalance_forensics.report.html.picture import draw, window_of
from rebalance_forensics.report.html.shapes import Picture
from rebalance_forensics.report.html.tables import GroupTables, tables_of
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.ranking import most_urgent_first
from rebalance_forensics.report.readings import Passage, readings_of
from rebalance_forensics.timeline.model import GroupHistory

Key = tuple[str, str]
PASSAGES = 60
"""So many sentences a part; a group that rebalances all day has more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPage:
    """One incident, told in full."""

    number: int
    incident: Incident
    picture: Picture | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPage:
    """One group: its whole history."""

    number: int
    history: GroupHistory
    incidents: tuple[Incident, ...]
    picture: Picture | None
    tables: GroupTables
    readings: tuple[tuple[str, tuple[Passage, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The whole page; `told` are the ids of incidents that have a section of their own."""

    numbered: tuple[Incident, ...]
    overview: tuple[Incident, ...]
    faults: tuple[IncidentPage, ...]
    planned: tuple[IncidentPage, ...]
    groups: tuple[GroupPage, ...]
    pictures: tuple[Picture, ...]
    told: frozenset[str]
    causes: tuple[str, ...]
    budget: Budget
    left_out: tuple[str, ...]
    urgent: int
    critical: int


def content_of(report: Report) -> Content:
    """Choose and lay out what the page holds, the most urgent first."""
    shown = min(len(report.incidents), INCIDENTS) + min(len(report.groups), GROUPS)
    budget = Budget(pictures=max(shown, 1), logs_end=_logs_end(report))
    histories = {(history.cluster, history.group): history for history in report.groups}
    numbered = most_urgent_first(report.incidents)
    links = _links(numbered)
    incidents = [
        IncidentPage(number=number, incident=one, picture=_incident_picture(number, one, histories, links, budget))
        for number, one in enumerate(numbered[:INCIDENTS])
    ]
    groups = _groups(report, numbered, links, budget)
    budget.omit("incidents without a section of their own; the overview lists them", len(numbered) - len(incidents))
    budget.omit("incidents beyond the end of the overview; the JSON report has them", len(numbered) - OVERVIEW_ROWS)
    budget.omit("groups without a section of their own", len(report.groups) - len(groups))
    drawn = [page.picture for page in incidents] + [page.picture for page in groups]
    return Content(
        numbered=numbered,
        overview=numbered[:OVERVIEW_ROWS],
        faults=tuple(page for page in incidents if page.incident.severity != "info"),
        planned=tuple(page for page in incidents if page.incident.severity == "info"),
        groups=tuple(groups),
        pictures=tuple(picture for picture in drawn if picture is not None),
        told=frozenset(page.incident.id for page in incidents),
        causes=tuple(sorted({one.root_causes[0].cause for one in numbered})),
        budget=budget,
        left_out=tuple(budget.sentences()),
        urgent=sum(one.severity != "info" for one in numbered),
        critical=sum(one.severity == "critical" for one in numbered),
    )


def _logs_end(report: Report) -> dict[str, int]:
    """When the logs of each cluster end."""
    ends: dict[str, int] = {}
    for one in report.inputs:
        if one.last is not None:
            ends[one.cluster] = max(one.last, ends.get(one.cluster, 0))
    return ends


def _end_of(history: GroupHistory, budget: Budget) -> int:
    return budget.logs_end.get(history.cluster, 0)


def _links(numbered: Sequence[Incident]) -> dict[Key, Links]:
    by_group: dict[Key, list[tuple[int, Incident]]] = {}
    for number, incident in enumerate(numbered):
        by_group.setdefault((incident.cluster, incident.group), []).append((number, incident))
    return {key: links_of(found) for key, found in by_group.items()}


def _incident_picture(
    number: int, incident: Incident, histories: dict[Key, GroupHistory], links: dict[Key, Links], budget: Budget
) -> Picture | None:
    key = incident.cluster, incident.group
    history = histories.get(key)
    window = window_of(history, _end_of(history, budget), incident) if history else None
    if history is None or window is None:
        return None
    return draw(f"picture-{number}", history, window, links[key], budget, incident)


def _groups(report: Report, numbered: Sequence[Incident], links: dict[Key, Links], budget: Budget) -> list[GroupPage]:
    """Tell of the groups with the most urgent incidents first, then of the others."""
    rank: dict[Key, int] = {}
    for number, incident in enumerate(numbered):
        rank.setdefault((incident.cluster, incident.group), number)
    ordered = sorted(report.groups, key=lambda one: rank.get((one.cluster, one.group), len(numbered)))
    return [_group(number, history, links, budget) for number, history in enumerate(ordered[:GROUPS])]


def _group(number: int, history: GroupHistory, links: dict[Key, Links], budget: Budget) -> GroupPage:
    linked = links.get((history.cluster, history.group), links_of(()))
    window = window_of(history, _end_of(history, budget))
    return GroupPage(
        number=number,
        history=history,
        incidents=tuple(incident for _, incident in linked.incidents),
        picture=None if window is None else draw(f"history-{number}", history, window, linked, budget),
        tables=tables_of(history, budget),
        readings=tuple(_shown(title, passages, budget) for title, passages in readings_of(history).parts()),
    )


def _shown(title: str, passages: tuple[Passage, ...], budget: Budget) -> tuple[str, tuple[Passage, ...]]:
    budget.omit("sentences on how rebalances read", len(passages) - PASSAGES)
    return title, passages[:PASSAGES]
