"""Stories of one group as log lines in Kafka's words, read by the real layouts and the real catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Literal

from msgspec.structs import replace

from rebalance_forensics.catalog.event_assembly import event_of
from rebalance_forensics.catalog.exceptions import exception_in
from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.diagnosis.case import GroupCase, investigate
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import Origin
from rebalance_forensics.sources.records.record_reader import parse_line
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import GroupHistory
from tests.kafka_words import CONSUMER, ConsumerWords, CoordinatorWords, Release, member_id

DAY = "2026-03-01"
Side = Literal["both", "brokers", "clients"]


@cache
def shipped() -> Catalog:
    """The catalog as it is shipped, loaded once."""
    return Catalog.load()


def ms(time: str) -> int:
    """A time of the story's day as epoch ms."""
    return round(datetime.fromisoformat(f"{DAY}T{time}+00:00").timestamp() * 1000)


def clock(at: int) -> str:
    """Epoch ms as a time of the day."""
    return f"{datetime.fromtimestamp(at // 1000, UTC):%H:%M:%S}.{at % 1000:03}"


@dataclass
class Story:
    """Lines said one by one; whole rebalances are told by `formed`, `rebalanced` and `emptied`."""

    group: str = "payments"
    release: Release = (3, 9)
    seen: Side = "both"
    events: list[Event] = field(default_factory=list)
    holds: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lives: dict[str, int] = field(default_factory=dict)
    generation: int = 0
    coordinator: int = 2
    reads: dict[str, str] = field(default_factory=dict)
    """Topics of those who do not read `orders`."""

    @property
    def words(self) -> CoordinatorWords:
        """How the coordinator speaks."""
        return CoordinatorWords(group=self.group, broker=self.coordinator, release=self.release)

    def of(self, client: str) -> ConsumerWords:
        """How a consumer speaks."""
        return ConsumerWords(group=self.group, client=client, release=self.release)

    def id_of(self, client: str) -> str:
        """A client's member id in its present life."""
        return member_id(client, self.lives.setdefault(client, 1))

    def reborn(self, client: str) -> Story:
        """The client comes back under a new member id."""
        self.lives[client] = self.lives.get(client, 1) + 1
        self.holds.pop(client, None)
        return self

    def line(self, path: str, time: str, message: str, *, level: str = "INFO", logger: str = CONSUMER) -> Story:
        """One record of a log in the default layout; one that nobody knows is a mistake in the story."""
        role = "broker" if path.startswith("broker") else "consumer"
        if (self.seen, role) in {("brokers", "consumer"), ("clients", "broker")}:
            return self
        first, newline, rest = message.partition("\n")
        raw = f"[{DAY} {time.replace('.', ',')}] {level} {first} ({logger}){newline}{rest}"
        number = len(self.events) + 1
        record = replace(parse_line(raw), origin=Origin(path=path, byte_offset=number * 1000, line=number))
        match = shipped().match(record.message, logger=record.logger, level=record.level) or exception_in(record, role)
        assert match is not None, f"the catalog does not know: {raw}"
        event = event_of(match, record, cluster="default", host=path.partition("/")[0], component=role)
        if event is not None:
            self.events.append(replace(event, zoned=True))
        return self

    def broker(self, time: str, message: str, number: int | None = None, logger: str | None = None) -> Story:
        """A line of a broker's server.log, the coordinator's unless another is named."""
        return self.line(
            f"broker-{self.coordinator if number is None else number}/server.log",
            time,
            message,
            logger=logger or self.words.logger,
        )

    def goes_on(self, until: str) -> Story:
        """Both sides still write then, nothing of interest."""
        self.line(
            "c-1/app.log",
            until,
            self.of("c-1").prefixed("Discovered group coordinator b-2:9092 (id: 2147483645 rack: null)"),
        )
        created = "Created log for partition unread-0 in /var/kafka with properties {}."
        return self.broker(until, created, logger="kafka.log.LogManager")

    def says(self, time: str, message: str) -> Story:
        """The coordinator says something."""
        return self.broker(time, self.words.prefixed(message))

    def client(self, client: str, time: str, message: str, *, level: str = "INFO", logger: str = CONSUMER) -> Story:
        """A consumer says something in its own app.log."""
        return self.line(f"{client}/app.log", time, self.of(client).prefixed(message), level=level, logger=logger)

    def started(self, client: str, time: str, **settings: object) -> Story:
        """A consumer process starts and prints its configuration."""
        values = {"client.id": client, "group.id": self.group} | {k.replace("_", "."): v for k, v in settings.items()}
        dump = "".join(f"\n\t{name} = {value}" for name, value in values.items())
        self.line(
            f"{client}/app.log",
            time,
            f"ConsumerConfig values: {dump}\n",
            logger="org.apache.kafka.clients.consumer.ConsumerConfig",
        )
        release = ".".join(map(str, self.release)) + ".0"
        version = f"Kafka version : {release}" if self.release < (2, 2) else f"Kafka version: {release}"
        return self.line(f"{client}/app.log", time, version, logger="org.apache.kafka.common.utils.AppInfoParser")

    def formed(self, *clients: str, at: str = "01:00:00.000") -> Story:
        """The group forms from nothing."""
        for client in clients:
            self.started(client, clock(ms(at) - 2_000))
        return self.rebalanced(at, self.words.adding(self.id_of(clients[0])), clients, takes_ms=3_000)

    def rebalanced(
        self, at: str, reason: str, members: Sequence[str], *, takes_ms: int = 500, asked_by: str | None = None
    ) -> Story:
        """One whole rebalance: prepared, joined, synced, assigned, as all of its logs show it."""
        begin, old = ms(at), self.generation
        for newcomer in (m for m in members if m not in self.holds):
            self._introduced(newcomer, begin)
        self.broker(at, self.words.preparing(old, reason))
        for member in members:
            if member in self.holds:
                if member != asked_by:
                    self._unprefixed(member, clock(begin + 90), self.of(member).interrupted())
                self._unprefixed(member, clock(begin + 100), self.of(member).revoking(self.holds[member]))
            self._unprefixed(member, clock(begin + 110), self.of(member).joining())
        self.generation += 1
        return self.assigned(begin + takes_ms, members)

    def _introduced(self, client: str, begin: int) -> None:
        """The round trip of a newcomer that is given its member id first (KIP-394, told from 3.0 on)."""
        if self.release < (3, 0):
            return
        self.broker(clock(begin - 20), self.words.introduced(self.id_of(client)))
        self._unprefixed(client, clock(begin - 10), self.of(client).introduced(self.id_of(client)))

    def assigned(self, at: int, members: Sequence[str]) -> Story:
        """The join barrier opens, the leader (the first) assigns, everybody is given two partitions."""
        ids = {m: self.id_of(m) for m in members}
        topics = [(m, self.reads.get(m, "orders")) for m in members]
        given = {m: (f"{topic}-{2 * i}", f"{topic}-{2 * i + 1}") for i, (m, topic) in enumerate(topics)}
        self.broker(clock(at), self.words.stabilized(self.generation, len(members)))
        for member in members:
            if self.release >= (2, 7):
                self._unprefixed(member, clock(at + 2), self.of(member).joined(self.generation, ids[member]))
        leader = members[0]
        by_id: Mapping[str, Sequence[str]] = {ids[m]: p for m, p in given.items()}
        self._unprefixed(leader, clock(at + 5), self.of(leader).computed(self.generation, by_id))
        self.broker(clock(at + 10), self.words.assigned(self.generation, len(members), ids[leader]))
        for member in members:
            late = self.of(member).joined(self.generation, ids[member]) if self.release < (2, 7) else None
            self._unprefixed(member, clock(at + 12), self.of(member).synced(self.generation, ids[member]) or late)
            self._unprefixed(member, clock(at + 14), self.of(member).assigned(given[member]))
            self.holds[member] = given[member]
        return self

    def _unprefixed(self, client: str, time: str, message: str | None) -> None:
        if message is not None:
            self.line(f"{client}/app.log", time, message)

    def timeline(self) -> Timeline:
        """The group's history for the rules to reason about."""
        own = [e for e in self.events if e.group == self.group]
        return build("default", self.group, own, [e for e in self.events if e.group is None])

    def case(self) -> GroupCase:
        """What the program makes of it."""
        own = [e for e in self.events if e.group == self.group]
        return investigate("default", self.group, own, [e for e in self.events if e.group is None])

    def history(self) -> GroupHistory:
        """The group as the report shows it."""
        return self.case().history

    def failed_causes(self) -> list[str]:
        """The gaps that tell of rules that broke off: mistakes of ours."""
        return [gap.what for gap in self.case().gaps if "could not be evaluated" in gap.what]

    def causes(self) -> list[str]:
        """The first cause of each incident, start-up and shutdown aside."""
        assert not self.failed_causes()
        return [i.root_causes[0].cause for i in self.incidents()]

    def incidents(self) -> list[Incident]:
        """All incidents but start-up and shutdown."""
        return [i for i in self.case().incidents if i.root_causes[0].cause not in {"startup", "shutdown"}]

    def the_incident(self) -> Incident:
        """The only incident there is."""
        (only,) = self.incidents()
        return only

    def blamed(self) -> list[str]:
        """Who is blamed for the only incident."""
        return [culprit.name for culprit in self.the_incident().root_causes[0].culprits]
