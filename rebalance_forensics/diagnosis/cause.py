"""A root cause, declared, and the hypotheses that it puts forward: what each explains, and what follows from it."""

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
    """One cause with its culprit, put forward for the facts that it explains. It decides nothing.

    `because` are the lines that suggest it, the best first, each taken once; none, no hypothesis. `circumstances` are
    the few without which those alone would look like another cause. `clues` are what its search found; the signs of
    its cause are asked about `participants` and `absences`. `onset` is when it began, `until` its last effect, as far
    as known; `hit_at` when it hit the culprit, where one fault may hit several (a host, a switch, a power line).
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
    """The logs that would show what is behind the last of `behind`, or, where that is empty, behind it all."""
    accounts_for: tuple[Fact, ...] = ()
    """Everything it explains or implies."""

    def __post_init__(self) -> None:
        """Refuse a claim without proof; take each line once; without an onset it began with the first."""
        if not self.because:
            raise ValueError("a hypothesis needs evidence")
        force_setattr(self, "because", distinct_events(self.because))
        facts: dict[str, Fact] = {}
        for fact in self.explains:
            facts[fact.id] = fact
        for fact in self.implies:
            facts[fact.id] = fact
        accounts_for = tuple(facts.values())
        # Most imply all that they explain: in a storm of evictions dozens of rebalances each, and hypotheses about one
        # loss share the list of what it implies.
        force_setattr(self, "accounts_for", self.implies if accounts_for == self.implies else accounts_for)
        if self.onset is None:
            force_setattr(self, "onset", min([e.at for e in self.because if e.at is not None], default=0))

    def started_at(self) -> int:
        """The onset, or the first of its lines."""
        assert self.onset is not None
        return self.onset

    def last_at(self) -> int:
        """The last line, fact or effect."""
        times = [e.at for e in self.because if e.at is not None]
        times += [fact_ended_at(fact) for fact in self.accounts_for]
        if self.until is not None:
            times.append(self.until)
        return max(times, default=self.started_at())

    def spans(self) -> tuple[int, int]:
        """From when to when its signs are asked about."""
        if len(self.explains) == 1:
            at = fact_at(self.explains[0])
            return at, at
        times = [fact_at(fact) for fact in self.explains] or [self.started_at(), self.until or self.started_at()]
        return min(times), max(times)

    def subject(self) -> Subject:
        """What its signs are asked about."""
        begin, end = self.spans()
        return Subject(
            participants=self.participants, absences=self.absences, facts=self.explains, begin=begin, end=end
        )

    def subject_key(self) -> tuple[object, ...]:
        """What tells its subject from another: facts are distinguished by identity, not by content."""
        absences = tuple([absence.departures[0].id for absence in self.absences])
        return self.participants, absences, tuple(map(_ID, self.explains)), *self.spans()

    def share(self, subject: Subject) -> None:
        """Hold what its subject holds by the same tuples: in a storm four hypotheses are about each absence."""
        for name, same in (
            ("participants", subject.participants), ("absences", subject.absences), ("explains", subject.facts),
        ):  # fmt: skip
            if getattr(self, name) == same:
                force_setattr(self, name, same)


class Cause(Struct, frozen=True, kw_only=True):
    """One root cause: how to put it forward and how to weigh it. Its id is its module's name.

    What `explain` prints of it stands in reference/glossary.yaml.

    `implies` names the causes that follow from this one: they are part of its incident, not another one beside it.
    `lookalikes` names those that a reader would think of; where a sign contradicts them, the report rules them out.
    """

    propose: Callable[[Timeline], Iterable[Hypothesis]]
    evidence_types: tuple[type[Event | Fact], ...] = ()
    """The types of lines and facts that show it: without any of them it proposes nothing, and is not asked.

    A cause that declares none is always asked.
    """
    signs: tuple[Row, ...] = ()
    excluding: tuple[Row, ...] = ()
    """Those of its signs that alone can rule it out, by their weights."""
    deciding: tuple[Row, ...] = ()
    """Rows with enough weight to fetch a log for them."""
    prior: int = 0
    implies: tuple[str, ...] = ()
    lookalikes: tuple[str, ...] = ()
    silence: WhyUnread | None = None
    """Why the members that it explains sent no more heartbeats, where it is a reason for that."""

    def __post_init__(self) -> None:
        """Pick out the signs that decide against it."""
        force_setattr(self, "excluding", tuple(row for row in self.signs if min(row.present, row.absent) <= -DECISIVE))
        force_setattr(self, "deciding", tuple(row for row in self.signs if row.weight >= STRONG))
