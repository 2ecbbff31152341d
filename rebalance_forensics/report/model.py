"""The report: one object from which terminal, JSON, HTML and all exports are rendered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.model import Gap, Headline, Incident
from rebalance_forensics.records import Amount, Time
from rebalance_forensics.report.lazy_list import LazyList
from rebalance_forensics.timeline.model import GroupHistory, GroupOutline

SCHEMA_VERSION: Final = 1
"""Increased when a JSON field changes its meaning or is removed, not when fields are added."""


class InputSummary(Struct, frozen=True, kw_only=True):
    """One file (or member of an archive, or host of a stream) and what was read from it."""

    JSON: ClassVar[str] = (
        "path, cluster, host, component, kafka_version, layout, envelope, zone, clock_skew_ms, bytes, lines, records, "
        "matched, unmatched_kafka, unparsed, first, last, errors"
    )

    path: str
    cluster: str
    host: str | None = None
    component: str | None = None
    kafka_version: str | None = None
    layout: str | None = None
    envelope: str | None = None
    zone: str | None = None
    clock_skew_ms: int | None = None
    bytes: Amount = 0
    lines: Amount = 0
    records: Amount = 0
    matched: Amount = 0
    unmatched_kafka: Amount = 0
    unparsed: Amount = 0
    first: Time | None = None
    last: Time | None = None
    errors: tuple[str, ...] = ()
    is_lost: bool = False
    """True if a defect of ours lost what was read of it, as `errors` says."""


class Tool(Struct, frozen=True, kw_only=True):
    """The program that made the report."""

    name: Literal["rebalance-forensics"] = "rebalance-forensics"
    version: str


class Report(Struct, frozen=True, kw_only=True):
    """Everything that was read and found."""

    # Lists are in a defined order: inputs by path, groups and incidents by cluster, group and start. Groups and
    # incidents of a busy cluster lie in a file: they are read one after another, or only their outlines.

    JSON: ClassVar[str] = "schema_version, tool, inputs, groups, incidents, gaps"

    tool_version: str
    inputs: tuple[InputSummary, ...]
    groups: Sequence[GroupHistory]
    incidents: Sequence[Incident]
    gaps: tuple[Gap, ...]
    page: str | None = None
    """The address at which its page is opened in a browser; messages link to it."""

    @property
    def schema_version(self) -> Literal[1]:
        """The version of its JSON."""
        return SCHEMA_VERSION

    @property
    def tool(self) -> Tool:
        """The program that made it."""
        return Tool(version=self.tool_version)

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
        """The address that opens the page at an incident; None if the address of the page is unknown."""
        return f"{self.page}#incident={incident.id}" if self.page else None
