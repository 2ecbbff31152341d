"""Evidence for and against a hypothesis: signs, evaluated from the logs, and clues, found by the search of its cause.

A sign is a testable statement about a group's history. It is absent only if a log at hand would have shown it;
otherwise it is unobservable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps

from msgspec import Struct, field
from msgspec.structs import force_setattr

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant


class LookedIn(Struct, frozen=True, kw_only=True, gc=False):
    """A log and the part of it that was searched for a sign."""

    path: str
    begin: int
    end: int


class Need(Struct, frozen=True, kw_only=True, gc=False):
    """A missing log that would answer a sign: who wrote it, and the time that it must cover."""

    what: str
    """The log in words, with `{who}` for a member and `{s}` for the plural: `the log{s} of client{s} {who}`."""
    who: str | None
    begin: int | None
    end: int | None
    of_the_coordinator: bool = False
    """True for the log of the group's coordinator, whichever broker it was."""
    of_its_host: bool = False
    """True for a log of the JVM, the kernel or a supervisor of its process, which no log of the group replaces."""


class Present(Struct, frozen=True, gc=False):
    """The logs show it, in these lines; without lines if it follows from the history as a whole."""

    lines: tuple[Event, ...] = ()


class Absent(Struct, frozen=True, gc=False):
    """The logs that would have shown it do not."""

    looked_in: tuple[LookedIn, ...] = ()
    lines: tuple[Event, ...] = ()
    """Lines that show the opposite."""


class Unobservable(Struct, frozen=True, gc=False):
    """No log at hand could show it; `needs` are the logs that could."""

    needs: tuple[Need, ...] = ()


Answer = Present | Absent | Unobservable
UNKNOWN, NOT_SHOWN = Unobservable(), Absent()

# Base-2 log-odds, in coarse steps so that they are not fitted to samples.
DECISIVE, STRONG, WEAK = 4, 2, 1


class Subject(Struct, frozen=True, kw_only=True, gc=False):
    """What a sign is evaluated for: participants, their absences, facts, and a time span."""

    participants: tuple[Participant, ...] = ()
    absences: tuple[Absence, ...] = ()
    facts: tuple[Fact, ...] = ()
    begin: int = 0
    end: int = 0
    answers: dict[Sign, Answer] = field(default_factory=dict)
    """Answers so far, by sign."""


Ask = Callable[[Timeline, Subject], Answer]
Lines = Iterable[Event]


class Sign(Struct, frozen=True, kw_only=True, eq=False):
    """A named statement; `present` and `absent` are its sentences in a report."""

    id: str
    present: str
    absent: str
    ask: Ask
    is_clue: bool = False
    """True if only the search of its cause can find it, so that `ask` never does."""

    def answer(self, timeline: Timeline, subject: Subject) -> Answer:
        """Return the answer for a subject; it is evaluated once."""
        answer = subject.answers.get(self)
        if answer is None:
            answer = subject.answers[self] = self.ask(timeline, subject)
        return answer

    def is_present(self, timeline: Timeline, subject: Subject) -> bool:
        """True if the logs show it."""
        return isinstance(self.answer(timeline, subject), Present)


def sign(present: str, absent: str = "", *, name: str = "") -> Callable[[Ask], Sign]:
    """Decorate a function that evaluates a sign; the sign's id defaults to the function's name."""

    def made(ask: Ask) -> Sign:
        return Sign(id=name or ask.__name__.replace("_", "-"), present=present, absent=absent, ask=ask)

    return made


def shown(
    present: str, *, otherwise: Answer = UNKNOWN, name: str = ""
) -> Callable[[Callable[[Timeline, Subject], Lines]], Sign]:
    """Decorate a function that finds the lines of a sign; the answer is `otherwise` if there are none."""

    def made(find: Callable[[Timeline, Subject], Lines]) -> Sign:
        def ask(timeline: Timeline, subject: Subject) -> Answer:
            lines = tuple(find(timeline, subject))
            return Present(lines) if lines else otherwise

        return sign(present, name=name)(wraps(find)(ask))

    return made


def of_first(present: str, *, otherwise: Answer = NOT_SHOWN) -> Callable[[Callable[[Timeline, Absence], Lines]], Sign]:
    """Decorate a function that finds the lines of one absence: present with those of the first absence that has any."""

    def made(find: Callable[[Timeline, Absence], Lines]) -> Sign:
        def ask(timeline: Timeline, subject: Subject) -> Answer:
            found = (tuple(find(timeline, absence)) for absence in subject.absences)
            return next((Present(lines) for lines in found if lines), otherwise)

        return sign(present)(wraps(find)(ask))

    return made


def of_every(
    present: str, *, otherwise: Answer = UNKNOWN, name: str = ""
) -> Callable[[Callable[[Timeline, Absence], Lines]], Sign]:
    """Decorate a function that finds the lines of one absence: present, with all lines, if every absence has some."""

    def made(find: Callable[[Timeline, Absence], Lines]) -> Sign:
        def ask(timeline: Timeline, subject: Subject) -> Answer:
            lines: list[Event] = []
            for absence in subject.absences:
                found = tuple(find(timeline, absence))
                if not found:
                    return otherwise
                lines += found
            return Present(tuple(lines)) if lines else otherwise

        return sign(present, name=name)(wraps(find)(ask))

    return made


def of_any(present: str, *, name: str = "") -> Callable[[Callable[[Timeline, Absence], bool]], Sign]:
    """Decorate a predicate on one absence: present, without lines, if it is true for any absence."""

    def made(holds: Callable[[Timeline, Absence], bool]) -> Sign:
        def ask(timeline: Timeline, subject: Subject) -> Answer:
            return Present() if any(holds(timeline, absence) for absence in subject.absences) else NOT_SHOWN

        return sign(present, name=name)(wraps(holds)(ask))

    return made


def of_each(present: str, absent: str, *, name: str = "") -> Callable[[Callable[[Timeline, Absence], Answer]], Sign]:
    """Decorate the answer for one absence: present if it is for any absence, absent only if it is for all."""

    def made(ask: Callable[[Timeline, Absence], Answer]) -> Sign:
        def of_all(timeline: Timeline, subject: Subject) -> Answer:
            answers = [ask(timeline, absence) for absence in subject.absences]
            if len(answers) == 1:
                return answers[0]
            present = [answer for answer in answers if type(answer) is Present]
            if present:
                return Present(tuple(line for answer in present for line in answer.lines))
            known = [answer for answer in answers if type(answer) is Absent]
            if known and len(known) == len(answers):
                return Absent(tuple(p for a in known for p in a.looked_in), tuple(e for a in known for e in a.lines))
            return Unobservable(tuple(n for a in answers if isinstance(a, Unobservable) for n in a.needs))

        return sign(present, absent, name=name)(wraps(ask)(of_all))

    return made


class Row(Struct, frozen=True, kw_only=True, eq=False):
    """What a sign adds to the odds of a cause if it is present, and if it is absent."""

    sign: Sign
    present: int = 0
    absent: int = 0
    weight: int = 0
    """The larger of both, without its sign."""

    def __post_init__(self) -> None:
        """Compute the weight."""
        force_setattr(self, "weight", max(abs(self.present), abs(self.absent)))


def speaks_for(sign: Sign, weight: int, *, absent: int = 0) -> Row:
    """Support the cause by `weight` if the sign is present; count against it by `absent` if the sign is absent."""
    return Row(sign=sign, present=weight, absent=-absent)


def speaks_against(sign: Sign, weight: int, *, absent: int = 0) -> Row:
    """Count against the cause by `weight` if the sign is present; support it by `absent` if the sign is absent."""
    return Row(sign=sign, present=-weight, absent=absent)


def clue(name: str, weight: int, present: str) -> Row:
    """Declare evidence that the search of a cause finds by itself; a negative weight counts against the cause.

    The hypothesis has its lines or, if no log at hand could show it, the log that would.
    """
    sign = Sign(id=name, present=present, absent="", ask=lambda _timeline, _subject: Unobservable(), is_clue=True)
    return Row(sign=sign, present=weight)
