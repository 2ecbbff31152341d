"""Timelines from log lines as Kafka writes them, read by the shipped catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from rebalance_forensics.catalog.event_assembly import event_of
from rebalance_forensics.catalog.exceptions import exception_in
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import EpochMs, LogRecord, Origin
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.group_timeline import Timeline

NOON = 1_772_366_400_000
"""2026-03-01T12:00:00.000Z."""


@cache
def catalog() -> Catalog:
    """Load what is shipped, once."""
    return Catalog.load()


def at(seconds: float) -> int:
    """Count from noon."""
    return NOON + round(seconds * 1000)


@dataclass
class Logs:
    """Lines of one group's processes, said one by one; an unknown line is a mistake in the test."""

    group: str = "payments"
    events: list[Event] = field(default_factory=list)

    def broker(self, seconds: float, message: str, host: str = "broker-1") -> Logs:
        """Let a broker's server.log say it."""
        return self._say(host, "server.log", "broker", seconds, message)

    def client(self, seconds: float, message: str, host: str = "app-1", role: str = "consumer") -> Logs:
        """Let a client's app.log say it."""
        return self._say(host, "app.log", role, seconds, message)

    def coordinator(self, seconds: float, message: str, host: str = "broker-1") -> Logs:
        """Let the group coordinator say it."""
        return self.broker(seconds, f"[GroupCoordinator 1]: {message}", host)

    def consumer(self, seconds: float, message: str, client: str = "c-1", host: str = "app-1") -> Logs:
        """Let a consumer of the group say it."""
        return self.client(seconds, f"[Consumer clientId={client}, groupId={self.group}] {message}", host)

    def version(self, release: str, host: str = "app-1", role: str = "consumer") -> Logs:
        """Let AppInfoParser tell the release of a process."""
        name = "server.log" if role == "broker" else "app.log"
        return self._say(host, name, role, -60, f"Kafka version: {release}")

    def timeline(self) -> Timeline:
        """Rebuild the group's history."""
        mine = [e for e in self.events if e.group == self.group]
        return build("default", self.group, mine, [e for e in self.events if e.group is None])

    def _say(self, host: str, name: str, role: str, seconds: float, message: str) -> Logs:
        number = len(self.events) + 1
        record = LogRecord(
            origin=Origin(path=f"{host}/{name}", byte_offset=number * 100, line=number),
            at=EpochMs(at(seconds)),
            zoned=True,
            level="INFO",
            logger=None,
            thread=None,
            message=message,
            text=message.partition("\n")[0],
        )
        match = catalog().match(message) or exception_in(record, role)
        assert match is not None, f"the catalog does not know: {message}"
        event = event_of(match, record, cluster="default", host=host, component=role)
        assert event is not None, f"the line says nothing about groups: {message}"
        self.events.append(event)
        return self
