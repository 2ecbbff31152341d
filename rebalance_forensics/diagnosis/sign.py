"""What speaks for a hypothesis: signs, which are asked of the logs, and clues, which its own search found.

A sign is one testable statement about a group's history. Silence is an answer only where a log would have spoken: what
no log could show is unobservable, never absent.
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
    """Where a sign was looked for: a log, from when to when."""

    path: str
    begin: int
    end: int


class Need(Struct, frozen=True, kw_only=True, gc=False):
    """A log that would answer: whose it is, and the stretch of time it must cover."""

    what: str
    """As a person would ask for it, `{who}` for a member and `{s}` for the plural: `the log{s} of client{s} {who}`."""
    who: str | None
    begin: int | None
    end: int | None
    of_the_coordinator: bool = False
    """True for the log of the group's coordinator, whichever broker that was."""
    of_its_host: bool = False
    """True for what the JVM, the kernel or a supervisor logged of its process: no log of the group shows it."""


class Present(Struct, frozen=True, gc=False):
    """The logs show it; the lines that do, none where it follows from the history as a whole."""

    lines: tuple[Event, ...] = ()


class Absent(Struct, frozen=True, gc=False):
    """These logs would have shown it, and do not."""

    looked_in: tuple[LookedIn, ...] = ()
    lines: tuple[Event, ...] = ()
    """Lines that say the opposite."""


class Unobservable(Struct, frozen=True, gc=False):
    """No log at hand could show it; those that could."""

    needs: tuple[Need, ...] = ()


Answer = Present | Absent | Unobservable
UNKNOWN, NOT_SHOWN = Unobservable(), Absent()

# Log-odds to base 2, in coarse steps: nothing is learned from samples.
DECISIVE, STRONG, WEAK = 4, 2, 1


class Subject(Struct, frozen=True, kw_only=True, gc=False):
    """What a sign is asked about: who, over which absences and facts, from when to when."""

    participants: tuple[Participant, ...] = ()
    absences: tuple[Absence, ...] = ()
    facts: tuple[Fact, ...] = ()
    begin: int = 0
    end: int = 0
    answers: dict[Sign, Answer] = field(default_factory=dict)
    """What the signs answered so far, by sign."""


Ask = Callable[[Timeline, Subject], Answer]
Lines = Iterable[Event]


class Sign(Struct, frozen=True, kw_only=True, eq=False):
    """A named statement; `present` and `absent` say it as a report would, either way."""

    id: str
    present: str
    absent: str
    ask: Ask
    is_clue: bool = False
    """Only the search of its cause finds it, so nobody is asked."""

    def answer(self, timeline: Timeline, subject: Subject) -> Answer:
        """What the logs answer; each question is asked once."""
        answer = subject.answers.get(self)
        if answer is None:
            answer = subject.answers[self] = self.ask(timeline, subject)
        return answer

    def is_present(self, timeline: Timeline, subject: Subject) -> bool:
        """True if the logs show it."""
        return isinstance(self.answer(timeline, subject), Present)


def sign(present: str, absent: str = "", *, name: str = "") -> Callable[[Ask], Sign]:
    """Make a sign of the function that asks for it; its id is the function's name where none is given."""

    def made(ask: Ask) -> Sign:
        return Sign(id=name or ask.__name__.replace("_", "-"), present=present, absent=absent, ask=ask)

    return made


def shown(
    present: str, *, otherwise: Answer = UNKNOWN, name: str = ""
) -> Callable[[Callable[[Timeline, Subject], Lines]], Sign]:
    """Make a sign of the function that finds the lines which show it; without any the answer is `otherwise`."""

    def made(find: Callable[[Timeline, Subject], Lines]) -> Sign:
        def ask(timeline: Timeline, subject: Subject) -> Answer:
            lines = tuple(find(timeline, subject))
            return Present(lines) if lines else otherwise

        return sign(present, name=name)(wraps(find)(ask))

    return made


def of_first(present: str, *, otherwise: Answer = NOT_SHOWN) -> Callable[[Callable[[Timeline, Absence], Lines]], Sign]:
    """Make a sign of what shows it of one absence: present with the lines of the first that has any."""

    def made(find: Callable[[Timeline, Absence], Lines]) -> Sign:
        def ask(timeline: Timeline, subject: Subject) -> Answer:
            found = (tuple(find(timeline, absence)) for absence in subject.absences)
            return next((Present(lines) for lines in found if lines), otherwise)

        return sign(present)(wraps(find)(ask))

    return made


def of_every(
    present: str, *, otherwise: Answer = UNKNOWN, name: str = ""
) -> Callable[[Callable[[Timeline, Absence], Lines]], Sign]:
    """Make a sign of what shows it of one absence: present with the lines of all, if each has some."""

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
    """Make a sign of what holds for one absence or not, without a line of its own."""

    def made(holds: Callable[[Timeline, Absence], bool]) -> Sign:
        def ask(timeline: Timeline, subject: Subject) -> Answer:
            return Present() if any(holds(timeline, absence) for absence in subject.absences) else NOT_SHOWN

        return sign(present, name=name)(wraps(holds)(ask))

    return made


def of_each(present: str, absent: str, *, name: str = "") -> Callable[[Callable[[Timeline, Absence], Answer]], Sign]:
    """Make a sign of the answer for one absence: present where any shows it, absent only where all do not."""

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
    """What a sign adds to the odds of a cause where it is present, and where it is absent."""

    sign: Sign
    present: int = 0
    absent: int = 0
    weight: int = 0
    """The most it can decide."""

    def __post_init__(self) -> None:
        """Of its two weights the heavier one counts."""
        force_setattr(self, "weight", max(abs(self.present), abs(self.absent)))


def speaks_for(sign: Sign, weight: int, *, absent: int = 0) -> Row:
    """Present, it supports the cause; `absent` is what its absence takes away, where it would have been seen."""
    return Row(sign=sign, present=weight, absent=-absent)


def speaks_against(sign: Sign, weight: int, *, absent: int = 0) -> Row:
    """Present, it counts against the cause; `absent` is what its absence adds."""
    return Row(sign=sign, present=-weight, absent=absent)


def clue(name: str, weight: int, present: str) -> Row:
    """Evidence that the search behind a hypothesis found by itself; a negative weight counts against the cause.

    The hypothesis gives it with its lines, or, where a log at hand could not show it, with the log that would.
    """
    sign = Sign(id=name, present=present, absent="", ask=lambda _timeline, _subject: Unobservable(), is_clue=True)
    return Row(sign=sign, present=weight)
