"""The report: one object, of which terminal, JSON, HTML and every export are functions."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.model import Gap, Headline, Incident
from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.lazy_list import LazyList
from rebalance_forensics.timeline.model import GroupHistory, GroupOutline


class InputSummary(Struct, frozen=True, kw_only=True):
    """One file (or member of an archive, or host of a stream) and what was read of it."""

    path: str
    cluster: str
    host: str | None
    component: str | None
    kafka_version: str | None
    layout: str | None
    envelope: str | None
    zone: str | None
    clock_skew_ms: int | None
    bytes: int
    lines: int
    records: int
    matched: int
    unmatched_kafka: int
    unparsed: int
    first: EpochMs | None
    last: EpochMs | None
    errors: tuple[str, ...] = ()


class Report(Struct, frozen=True, kw_only=True):
    """All that was read and found.

    Lists are in a defined order: inputs by path, groups and incidents by cluster, group and start. Groups and incidents
    of a busy cluster lie in a file: whoever looks at all of them takes one after another, or their outlines.
    """

    tool_version: str
    inputs: tuple[InputSummary, ...]
    groups: Sequence[GroupHistory]
    incidents: Sequence[Incident]
    gaps: tuple[Gap, ...]
    page: str | None = None
    """The address at which its page is opened in a browser; messages link to it."""

    @property
    def lazy_groups(self) -> LazyList[GroupHistory, GroupOutline]:
        """The groups with their outlines."""
        return self.groups if isinstance(self.groups, LazyList) else LazyList(self.groups, self.groups.__getitem__)

    @property
    def lazy_incidents(self) -> LazyList[Incident, Headline]:
        """The incidents with their headlines."""
        return (
            self.incidents
            if isinstance(self.incidents, LazyList)
            else LazyList(self.incidents, self.incidents.__getitem__)
        )

    def link_to(self, incident: Incident) -> str | None:
        """The address that opens the page at an incident; None where nobody said where the page is."""
        return f"{self.page}#incident={incident.id}" if self.page else None
