"""Clients and facts: which library writes which facts, and which it leaves unsaid.

`dialects.yaml` names each fact by the events and fields that carry it, and holds what no pattern can show: that a
client does not log a fact, with the place in its source. The words themselves are in patterns/;
docs/site/clients_page.py brings both together as docs/clients.md.
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
"""Values that fields must have. `*` is any value but null, `~text` a value that contains the text."""


Release = tuple[int, ...]


def _release(text: str) -> Release:
    return tuple(map(int, text.split(".")))


class Words(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Patterns of one folder, narrowed to the source files that `sources` matches and `but` does not.

    Where one file logs for several kinds of groups, `messages` finds those of one kind.
    """

    folder: str
    sources: str = ""
    but: str = ""
    messages: str = ""


class Dialect(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One client, broker or framework, or one era of its wording."""

    name: str
    source: str
    """The repository and release that its cells were read in."""
    words: tuple[Words, ...]
    since: str | None = None
    until: str | None = None
    embeds: str | None = None
    """Of a framework: the client whose lines it passes on."""
    silent: str | None = None
    """Of a framework: where its source shows that it logs no more than its patterns read."""


class Fact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that happened, and the events that show it: any of them, with fields as given."""

    name: str
    shown_by: tuple[Mapping[str, Condition], ...]


class Silence(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts that clients or brokers do not log: at `level` or above, as `proof` shows.

    In releases before `before`, or from `since` on; in all of them where neither is given.

    `level` is the most detailed level that does not show them, so INFO where DEBUG does and DEBUG where TRACE does;
    `any` where no level shows them, and `no such step` where the client has nothing to log.
    """

    clients: tuple[str, ...]
    facts: tuple[str, ...]
    level: Literal["INFO", "DEBUG", "any", "no such step"]
    proof: str
    before: str | None = None
    since: str | None = None

    def covers(self, release: Release) -> bool:
        """True where it is about that release."""
        ended = self.before is not None and release >= _release(self.before)
        return not ended and (self.since is None or release >= _release(self.since))

    @property
    def of_all_releases(self) -> bool:
        """True where no release logs the facts."""
        return self.before is None and self.since is None


class Dialects(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that dialects.yaml says. `background` are events of clients and brokers that no row names."""

    clients: tuple[Dialect, ...]
    brokers: tuple[Dialect, ...]
    frameworks: tuple[Dialect, ...]
    """What logs something itself about membership, or only passes on the lines of the client in it."""
    facts: tuple[Fact, ...]
    facts_of_brokers: tuple[Fact, ...]
    facts_of_frameworks: tuple[Fact, ...]
    not_logged: tuple[Silence, ...]
    background: tuple[str, ...]


@cache
def dialects() -> Dialects:
    """The file, read once."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return msgspec.convert(yaml.load(FILE.read_text(encoding="utf-8"), Loader=loader), Dialects)  # noqa: S506 - it is safe


@cache
def unlogged(client: str, fact: str) -> tuple[Silence, ...]:
    """The silences of a client about a fact; none where it logs the fact in every release."""
    return tuple(s for s in dialects().not_logged if client in s.clients and fact in s.facts)


def logged_since(client: str, fact: str) -> Release:
    """The first release that logs the fact, of a client that did not do so before; empty where every release does."""
    ends = [_release(s.before) for s in unlogged(client, fact) if s.before]
    return max(ends, default=())


@cache
def last_known_release() -> Release:
    """Kafka's last release whose words are known here."""
    eras = (*dialects().clients, *dialects().brokers)
    return max(_release(era.until) for era in eras if era.until is not None)


def never_happens(client: str, fact: str) -> bool:
    """The client has no such step, so no log of it can show one."""
    return any(s.level == NO_SUCH_STEP and s.of_all_releases for s in unlogged(client, fact))


@cache
def unlogged_levels(client: str, event: str) -> frozenset[str]:
    """The levels that show no event of this type, of a client that logs it in no release; empty where one shows it.

    A fact is an event's own if it is the first that says it, whatever its fields; else with the fields given.
    """
    first = [fact for fact in dialects().facts if event in fact.shown_by[0]]
    own = [fact for fact in first if not fact.shown_by[0][event]] or first
    levels = [{s.level for s in unlogged(client, fact.name) if s.of_all_releases} for fact in own]
    return frozenset[str]().union(*levels) if own and all(levels) else frozenset()


@cache
def events_at_debug(client: str) -> frozenset[str]:
    """The types of events that this client logs at DEBUG only."""
    own = {event for fact in dialects().facts for event in fact.shown_by[0]}
    return frozenset(event for event in own if unlogged_levels(client, event) == {"INFO"})


CLIENT_FOLDERS = frozenset({
    *("consumer", "librdkafka", "sarama", "franz-go", "kafka-go", "node", "python", "ruby", "erlang"),
})  # fmt: skip
"""The folders of patterns/ with the words of a client library each."""
_OF_JAVA = frozenset({"streams", "connect", "schema-registry"})
_JAVA_COORDINATORS = frozenset({"AbstractCoordinator", "ConsumerCoordinator"})


def words_of(event: Event) -> str | None:
    """The folder of patterns/ with the words of the client that wrote a line; None for a broker and a process."""
    folder, component = event.pattern.partition("/")[0], event.speaker.component or ""
    # kafka-python took over the words of Java 0.10, so both stand in one folder; the class tells them apart.
    if folder in _OF_JAVA or (folder == "python" and component in _JAVA_COORDINATORS):
        return "consumer"
    # kafka-python and aiokafka log some of the newer words from modules of theirs.
    if folder == "consumer" and component.islower():
        return "python"
    return folder if folder in CLIENT_FOLDERS else None
