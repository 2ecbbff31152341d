"""The declaration of a root cause, and the hypotheses that it proposes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import force_setattr

from rebalance_forensics.diagnosis.behind import Link
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, distinct_events
from rebalance_forensics.diagnosis.model import Advice, Culprit, Severity
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, Answer, Need, Row, Subject
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import Fact, fact_at, fact_ended_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.model import WhyUnread

_ID = attrgetter("id")
NO_CLUES: Mapping[Row, Answer] = MappingProxyType({})


class Hypothesis(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """A cause with its culprits, proposed as the explanation of some facts; the contest decides.

    `because` are the lines that suggest it, best first and without duplicates; at least one is required.
    `circumstances` are the few lines without which those alone would look like another cause. `explains` are the facts
    that it explains, `implies` those that follow from it. `clues` are findings of its search; the signs of its cause
    are evaluated for `participants` and `absences`. `onset` is the time at which it started, `until` that of its last
    effect, if known; `hit_at` is when it hit the culprit, if one fault (a host, a switch) may hit several.
    """

    because: Sequence[Event]
    circumstances: Sequence[Event] = ()
    culprits: tuple[Culprit, ...]
    narrative: str
    severity: Severity
    explains: tuple[Fact, ...] = ()
    implies: tuple[Fact, ...] = ()
    participants: tuple[Participant, ...] = ()
    absences: tuple[Absence, ...] = ()
    clues: Mapping[Row, Answer] = NO_CLUES
    onset: int | None = None
    until: int | None = None
    hit_at: int | None = None
    ongoing: bool = False
    followups: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()
    behind: tuple[Link, ...] = ()
    unseen: tuple[Need, ...] = ()
    """The logs that would show the cause behind the last link of `behind`, or behind this cause if there is none."""
    accounts_for: tuple[Fact, ...] = ()
    """All facts that it explains or implies."""

    def __post_init__(self) -> None:
        """Require evidence, drop duplicate lines, and default the onset to the time of the first line."""
        if not self.because:
            raise ValueError("a hypothesis needs evidence")
        force_setattr(self, "because", distinct_events(self.because))
        facts: dict[str, Fact] = {}
        for fact in self.explains:
            facts[fact.id] = fact
        for fact in self.implies:
            facts[fact.id] = fact
        accounts_for = tuple(facts.values())
        # Most imply everything that they explain. In a storm of evictions that is dozens of rebalances each, so
        # hypotheses about one loss share the tuple of implied facts.
        force_setattr(self, "accounts_for", self.implies if accounts_for == self.implies else accounts_for)
        if self.onset is None:
            force_setattr(self, "onset", min([e.at for e in self.because if e.at is not None], default=0))

    def started_at(self) -> int:
        """Return the onset."""
        assert self.onset is not None
        return self.onset

    def last_at(self) -> int:
        """Return the time of its last line, fact or effect."""
        times = [e.at for e in self.because if e.at is not None]
        times += [fact_ended_at(fact) for fact in self.accounts_for]
        if self.until is not None:
            times.append(self.until)
        return max(times, default=self.started_at())

    def spans(self) -> tuple[int, int]:
        """Return the time for which its signs are evaluated."""
        if len(self.explains) == 1:
            at = fact_at(self.explains[0])
            return at, at
        times = [fact_at(fact) for fact in self.explains] or [self.started_at(), self.until or self.started_at()]
        return min(times), max(times)

    def subject(self) -> Subject:
        """Return the subject for which its signs are evaluated."""
        begin, end = self.spans()
        return Subject(
            participants=self.participants, absences=self.absences, facts=self.explains, begin=begin, end=end
        )

    def subject_key(self) -> tuple[object, ...]:
        """Return a key of its subject, in which facts are compared by identity and not by content."""
        absences = tuple([absence.departures[0].id for absence in self.absences])
        return self.participants, absences, tuple(map(_ID, self.explains)), *self.spans()

    def share(self, subject: Subject) -> None:
        """Share tuples with an equal subject to save memory: in a storm, four hypotheses are about each absence."""
        for name, same in (
            ("participants", subject.participants), ("absences", subject.absences), ("explains", subject.facts),
        ):  # fmt: skip
            if getattr(self, name) == same:
                force_setattr(self, name, same)


class Cause(Struct, frozen=True, kw_only=True):
    """A root cause: how to propose it and how to weigh it. Its id is the name of its module.

    reference/glossary.yaml has the text that `explain` prints.

    `implies` names the causes that can follow from this one: they become part of its incident, not a separate one.
    `lookalikes` names those that a reader would suspect; if a sign contradicts them, the report rules them out.
    """

    propose: Callable[[Timeline], Iterable[Hypothesis]]
    evidence_types: tuple[type[Event | Fact], ...] = ()
    """The types of events and facts that can show it: without any of them, `propose` is not called.

    It is always called for a cause that declares none.
    """
    signs: tuple[Row, ...] = ()
    excluding: tuple[Row, ...] = ()
    """The signs that can rule it out on their own."""
    deciding: tuple[Row, ...] = ()
    """The signs with enough weight to justify fetching a log."""
    prior: int = 0
    implies: tuple[str, ...] = ()
    lookalikes: tuple[str, ...] = ()
    silence: WhyUnread | None = None
    """Why its members stopped sending heartbeats, if it is a reason for that."""

    def __post_init__(self) -> None:
        """Select the excluding and the deciding signs."""
        force_setattr(self, "excluding", tuple(row for row in self.signs if min(row.present, row.absent) <= -DECISIVE))
        force_setattr(self, "deciding", tuple(row for row in self.signs if row.weight >= STRONG))
