"""The weight of one hypothesis by its signs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import NO_CLUES, Cause, Hypothesis
from rebalance_forensics.diagnosis.sign import (
    DECISIVE,
    Absent,
    Answer,
    Present,
    Row,
    Subject,
    Unobservable,
)
from rebalance_forensics.timeline.cluster_events import reported_clusters
from rebalance_forensics.timeline.group_timeline import Timeline, answered_once


class Weighed(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """A hypothesis with its clues, the answer to each sign of its cause, and the odds that come of them."""

    cause: str
    hypothesis: Hypothesis
    subject: Subject
    """What its signs are asked about, with what they answered: hypotheses of several causes share one."""
    rows: tuple[Row, ...]
    """Its clues, then the signs of its cause: most hypotheses of one cause share them."""
    given: tuple[Answer, ...] = ()
    """The answer to each; empty in a storm, where few of them are ever shown and these are asked again."""
    odds: int
    lacks_decision: bool = False
    """True if none of its lines decides, and others that may contradict them were left out of an excerpt or lost.

    Also true if some of them were logged in another cluster than the others.
    """
    contradiction: tuple[Row, Answer] | None = None
    """The sign that rules it out, if one does."""

    def answers(self, timeline: Timeline) -> Iterator[tuple[Row, Answer]]:
        """Its clues and the signs of its cause, each with its answer."""
        if self.given:
            return zip(self.rows, self.given, strict=True)
        clues, subject = self.hypothesis.clues, self.subject
        return ((row, clues[row] if row in clues else row.sign.answer(timeline, subject)) for row in self.rows)


def weighed(
    timeline: Timeline, name: str, cause: Cause, hypothesis: Hypothesis, subject: Subject, *, keep: bool
) -> Weighed:
    """Add up the weights of its clues and of the signs of its cause; `keep` the answers, or ask again for them."""
    rows, given = answered(timeline, cause.signs, subject, hypothesis.clues)
    odds, against, is_decided = cause.prior, None, False
    for row, answer in zip(rows, given, strict=True):
        kind = type(answer)
        if kind is Unobservable:
            continue
        adds = row.present if kind is Present else row.absent
        odds += adds
        is_decided |= adds >= DECISIVE and kind is Present
        if adds <= -DECISIVE and against is None:
            against = row, answer
    # A decisive line does not decide where others speak against it.
    has_gaps = timeline.coverage.is_excerpt or lacks_lines(timeline, hypothesis, subject)
    undecided = has_gaps and not (is_decided and odds >= DECISIVE)
    return Weighed(
        cause=name,
        hypothesis=hypothesis,
        subject=subject,
        rows=rows,
        given=given if keep else (),
        odds=odds,
        lacks_decision=undecided or spans_clusters(timeline, hypothesis),
        contradiction=against,
    )


def lacks_lines(timeline: Timeline, hypothesis: Hypothesis, subject: Subject) -> bool:
    """True if a log that shows it, or one of its members' own, lacks lines of that time."""
    missing = timeline.coverage.missing
    # Members that logged that they stop and came back were restarted, whatever else was logged.
    restarted = subject.absences and all(away.is_over and away.stop is not None for away in subject.absences)
    if not missing or restarted:
        return False
    # A member that did not come back may have done so at any time since.
    until = subject.end if all(absence.is_over for absence in subject.absences) else timeline.coverage.end
    files = {event.speaker.file for event in hypothesis.because}
    files |= {file for participant in hypothesis.participants for file in participant.files}
    return any(a < until and b > subject.begin for file in files & missing.keys() for a, b in missing[file])


def spans_clusters(timeline: Timeline, hypothesis: Hypothesis) -> bool:
    """True if it blames members by what was logged in another cluster: groups of one name are two groups there."""
    clusters = _clusters_of_logs(timeline)
    if not clusters:
        return False
    files = {event.speaker.file for event in (*hypothesis.because, *hypothesis.circumstances)}
    files |= {file for participant in hypothesis.participants for file in participant.files}
    return len({clusters[file] for file in files if file in clusters}) > 1


@answered_once
def _clusters_of_logs(timeline: Timeline) -> Mapping[str, str]:
    # Empty where all logs are of one cluster.
    clusters = reported_clusters(timeline.own, timeline.participants)
    return clusters if len({*clusters.values()}) > 1 else {}


def answered(
    timeline: Timeline, signs: tuple[Row, ...], subject: Subject, clues: Mapping[Row, Answer] = NO_CLUES
) -> tuple[tuple[Row, ...], tuple[Answer, ...]]:
    """The clues of a hypothesis, then the signs of its cause, asked about its subject; and the answer to each."""
    # A sign that a clue answers already is not asked again.
    if clues:
        given = {row.sign for row in clues}
        signs = tuple([row for row in signs if row.sign not in given])
    known = subject.answers
    for row in signs:
        if row.sign not in known:
            known[row.sign] = row.sign.ask(timeline, subject)
    answers = [known[row.sign] for row in signs]
    return ((*clues, *signs), (*clues.values(), *answers)) if clues else (signs, tuple(answers))


def contradictions(timeline: Timeline, cause: Cause, subject: Subject) -> Iterator[tuple[Row, Answer]]:
    """Decisive answers against a cause, lazily: the first may be enough."""
    for row in cause.excluding:
        answer = row.sign.answer(timeline, subject)
        if worth(row, answer) <= -DECISIVE:
            yield row, answer


def worth(row: Row, answer: Answer) -> int:
    """What an answer adds to the odds; what no log could show adds nothing."""
    kind = type(answer)
    return row.present if kind is Present else row.absent if kind is Absent else 0
