"""What the signs say of one hypothesis."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import DECISIVE, Cause, Row
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Absent, Answer, Present, Subject, answers_about
from rebalance_forensics.timeline.group_timeline import Timeline


class Weighed(Struct, frozen=True, kw_only=True, eq=False):
    """A hypothesis with the answer to each sign of its cause's table, and the odds that come of them."""

    cause: str
    hypothesis: Hypothesis
    answers: tuple[tuple[Row, Answer], ...]
    odds: int
    contradiction: tuple[Row, Answer] | None = None
    """The sign that rules it out, if one does."""


def weighed(timeline: Timeline, name: str, cause: Cause, hypothesis: Hypothesis) -> Weighed:
    """Ask every sign of the table once."""
    answers = answered(timeline, cause.signs, hypothesis.subject(), hypothesis)
    odds, against = cause.prior, None
    for told in answers:
        adds = worth(*told)
        odds += adds
        if adds <= -DECISIVE and against is None:
            against = told
    return Weighed(cause=name, hypothesis=hypothesis, answers=answers, odds=odds, contradiction=against)


def answered(
    timeline: Timeline, signs: Iterable[Row], subject: Subject, hypothesis: Hypothesis | None = None
) -> tuple[tuple[Row, Answer], ...]:
    """Rows of a cause's sign table, asked about somebody; what only a hypothesis can answer is taken from it."""
    own = hypothesis.answers if hypothesis is not None else {}
    known = answers_about(timeline, subject)
    return tuple((row, own[row.sign] if row.sign in own else row.sign.of(known, timeline, subject)) for row in signs)


def worth(row: Row, answer: Answer) -> int:
    """What an answer adds to the odds; what no log could show adds nothing."""
    kind = type(answer)
    return row.present if kind is Present else row.absent if kind is Absent else 0
