"""Which client library logs which facts, and which it does not log.

`dialects.yaml` defines each fact by the events and fields that show it, and records what no pattern can: that a client
does not log a fact, with the place in its source. The messages themselves are in patterns/; docs/site/clients_page.py
combines both to docs/clients.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
import yaml
from msgspec import Struct

from rebalance_forensics.events.base import Event

FILE = Path(__file__).with_name("dialects.yaml")

NO_SUCH_STEP = "no such step"
Condition = Mapping[str, str | int | bool | list[str | None] | None]
"""Values that fields must have: `*` is any value but null, `~text` a value that contains the text."""


Release = tuple[int, ...]


def _release(text: str) -> Release:
    return tuple(map(int, text.split(".")))


class Words(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Patterns of one folder, restricted to source files that match `sources` and not `but`.

    If one source file logs for several kinds of groups, `messages` selects those of one kind.
    """

    folder: str
    sources: str = ""
    but: str = ""
    messages: str = ""


class Dialect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client, broker or framework, or a range of its releases with the same wording."""

    name: str
    source: str
    """The repository and release in which its messages were looked up."""
    words: tuple[Words, ...]
    since: str | None = None
    until: str | None = None
    embeds: str | None = None
    """For a framework: the client whose lines it logs."""
    silent: str | None = None
    """For a framework: where its source shows that it logs nothing beyond its patterns."""


class Fact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that can happen, and the events that show it: any of them, with these field values."""

    name: str
    shown_by: tuple[Mapping[str, Condition], ...]


class Silence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts that clients or brokers do not log at `level` or above, as `proof` shows.

    In releases before `before`, or since `since`; in all releases if neither is given.

    `level` is the most detailed level that does not show them: INFO if DEBUG does, DEBUG if TRACE does, `any` if no
    level does, `no such step` if the client has nothing to log.
    """

    clients: tuple[str, ...]
    facts: tuple[str, ...]
    level: Literal["INFO", "DEBUG", "any", "no such step"]
    proof: str
    before: str | None = None
    since: str | None = None

    def covers(self, release: Release) -> bool:
        """True if it applies to that release."""
        ended = self.before is not None and release >= _release(self.before)
        return not ended and (self.since is None or release >= _release(self.since))

    @property
    def of_all_releases(self) -> bool:
        """True if no release logs the facts."""
        return self.before is None and self.since is None


class Dialects(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The contents of dialects.yaml; `background` lists events of clients and brokers that belong to no fact."""

    clients: tuple[Dialect, ...]
    brokers: tuple[Dialect, ...]
    frameworks: tuple[Dialect, ...]
    """Frameworks that log about membership themselves, or only pass on the lines of their client."""
    facts: tuple[Fact, ...]
    facts_of_brokers: tuple[Fact, ...]
    facts_of_frameworks: tuple[Fact, ...]
    not_logged: tuple[Silence, ...]
    background: tuple[str, ...]


@cache
def dialects() -> Dialects:
    """The contents of the file, loaded once."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return msgspec.convert(yaml.load(FILE.read_text(encoding="utf-8"), Loader=loader), Dialects)  # noqa: S506 - it is safe


@cache
def unlogged(client: str, fact: str) -> tuple[Silence, ...]:
    """Where a client does not log a fact; empty if it does in every release."""
    return tuple(s for s in dialects().not_logged if client in s.clients and fact in s.facts)


def logged_since(client: str, fact: str) -> Release:
    """The first release that logs the fact; empty if every release does."""
    ends = [_release(s.before) for s in unlogged(client, fact) if s.before]
    return max(ends, default=())


@cache
def last_known_release() -> Release:
    """The latest Kafka release whose messages are known."""
    eras = (*dialects().clients, *dialects().brokers)
    return max(_release(era.until) for era in eras if era.until is not None)


def never_happens(client: str, fact: str) -> bool:
    """True if the client has no such step, so that none of its logs can show it."""
    return any(s.level == NO_SUCH_STEP and s.of_all_releases for s in unlogged(client, fact))


@cache
def unlogged_levels(client: str, event: str) -> frozenset[str]:
    """The levels at which no release of a client logs this type of event; empty if some release does.

    An event represents a fact if it is the first one listed for it, whatever its fields; else with the listed fields.
    """
    first = [fact for fact in dialects().facts if event in fact.shown_by[0]]
    own = [fact for fact in first if not fact.shown_by[0][event]] or first
    levels = [{s.level for s in unlogged(client, fact.name) if s.of_all_releases} for fact in own]
    return frozenset[str]().union(*levels) if own and all(levels) else frozenset()


@cache
def events_at_debug(client: str) -> frozenset[str]:
    """The types of events that this client logs only at DEBUG."""
    own = {event for fact in dialects().facts for event in fact.shown_by[0]}
    return frozenset(event for event in own if unlogged_levels(client, event) == {"INFO"})


CLIENT_FOLDERS = frozenset({
    *("consumer", "librdkafka", "sarama", "franz-go", "kafka-go", "node", "python", "ruby", "erlang"),
})  # fmt: skip
"""The folders of patterns/ that hold the messages of one client library each."""
_OF_JAVA = frozenset({"streams", "connect", "schema-registry"})
_JAVA_COORDINATORS = frozenset({"AbstractCoordinator", "ConsumerCoordinator"})


def words_of(event: Event) -> str | None:
    """The folder of patterns/ with the messages of the client that logged a line; None for brokers and processes."""
    folder, component = event.pattern.partition("/")[0], event.speaker.component or ""
    # kafka-python copied the messages of Java 0.10, so both share a folder; the class distinguishes them.
    if folder in _OF_JAVA or (folder == "python" and component in _JAVA_COORDINATORS):
        return "consumer"
    # kafka-python and aiokafka log some of the newer messages from modules of their own.
    if folder == "consumer" and component.islower():
        return "python"
    return folder if folder in CLIENT_FOLDERS else None
