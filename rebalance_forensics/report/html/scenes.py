"""The pictures of a page: one for each incident told in full, one for each group, within one budget."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.report.html.budget import Budget
from rebalance_forensics.report.html.incident_links import Links, links_of
from rebalance_forensics.report.html.picture import draw, window_of
from rebalance_forensics.report.html.prepared_history import ReadyHistory, ready
from rebalance_forensics.report.html.shapes import Picture
from rebalance_forensics.report.lazy_list import LazyList
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.urgency_order import Incidents
from rebalance_forensics.timeline.model import GroupHistory, GroupOutline

Key = tuple[str, str]


class Scenes(Struct, frozen=True, kw_only=True):
    """Draws pictures one after another; each takes its share of the budget."""

    groups: LazyList[GroupHistory, GroupOutline]
    numbered: Incidents
    """In the order of the page."""
    places: Mapping[Key, int]
    """Of each group among the groups."""
    numbers: Mapping[Key, list[int]]
    """Of each group's incidents."""
    ends: Mapping[str, int]
    """When the logs of each cluster end."""
    budget: Budget
    made_ready: dict[Key, ReadyHistory] = field(default_factory=dict)
    linked: dict[Key, Links] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Report, numbered: Incidents, budget: Budget) -> Scenes:
        """The scenes of a report; `numbered` are the incidents in the order of the page."""
        groups = report.lazy_groups
        numbers: dict[Key, list[int]] = {}
        for number, incident in enumerate(numbered.outlines):
            for group in incident.group_names:
                numbers.setdefault((incident.cluster, group), []).append(number)
        ends: dict[str, int] = {}
        for log in report.inputs:
            if log.last is not None:
                ends[log.cluster] = max(log.last, ends.get(log.cluster, 0))
        return cls(
            groups=groups,
            numbered=numbered,
            places={(group.cluster, group.group): place for place, group in enumerate(groups.outlines)},
            numbers=numbers,
            ends=ends,
            budget=budget,
        )

    def of_incident(self, number: int, incident: Incident) -> Picture | None:
        """Draw an incident with some time before and after it."""
        # A cluster's incident is drawn with the group that it disturbed most.
        key = incident.cluster, incident.group_names[0]
        return self._drawn(f"picture-{number}", key, incident) if key in self.places else None

    def of_group(self, number: int, history: GroupHistory) -> Picture | None:
        """Draw a whole history."""
        return self._drawn(f"history-{number}", (history.cluster, history.group), None)

    def incidents_of(self, history: GroupHistory) -> tuple[Incident, ...]:
        """List the incidents of a group, the most urgent first."""
        return tuple(incident for _, incident in self._links(history.cluster, history.group).incidents)

    def _drawn(self, name: str, key: Key, incident: Incident | None) -> Picture | None:
        if key not in self.made_ready:
            self.made_ready[key] = ready(self.groups[self.places[key]])
        history = self.made_ready[key]
        window = window_of(history, self.ends.get(key[0], 0), incident)
        return None if window is None else draw(name, history, window, self._links(*key), self.budget, incident)

    def _links(self, cluster: str, group: str) -> Links:
        key = cluster, group
        if key not in self.linked:
            self.linked[key] = links_of([(number, self.numbered[number]) for number in self.numbers.get(key, ())])
        return self.linked[key]
