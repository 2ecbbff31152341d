"""The odds of a hypothesis, from its clues and the signs of its cause."""

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
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer


class Weighed(Struct, frozen=True, kw_only=True, eq=False, gc=False):
    """A hypothesis with its clues, the answers of the signs of its cause, and the resulting odds."""

    cause: str
    hypothesis: Hypothesis
    subject: Subject
    """What its signs are evaluated for, with their answers; hypotheses of several causes may share one."""
    rows: tuple[Row, ...]
    """Its clues, then the signs of its cause; most hypotheses of one cause share this tuple."""
    given: tuple[Answer, ...] = ()
    """The answer for each row; empty in a storm, where few are ever shown and those are evaluated again."""
    odds: int
    lacks_decision: bool = False
    """True if no line is decisive and lines that could contradict it are missing (an excerpt, a gap in a log).

    Also true if its lines were logged in different clusters.
    """
    contradiction: tuple[Row, Answer] | None = None
    """The sign that rules it out, if one does."""

    def answers(self, timeline: Timeline) -> Iterator[tuple[Row, Answer]]:
        """Return its clues and the signs of its cause, each with its answer."""
        if self.given:
            return zip(self.rows, self.given, strict=True)
        clues, subject = self.hypothesis.clues, self.subject
        return ((row, clues[row] if row in clues else row.sign.answer(timeline, subject)) for row in self.rows)


def weighed(
    timeline: Timeline, name: str, cause: Cause, hypothesis: Hypothesis, subject: Subject, *, keep: bool
) -> Weighed:
    """Add up the weights of its clues and of the signs of its cause; without `keep` the answers are not stored."""
    rows, given = answers_to(timeline, cause.signs, subject, hypothesis.clues)
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
    # A decisive line does not settle it if other signs outweigh it.
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
    """True if lines of that time are missing from a log that supports the hypothesis, or from a log of its members."""
    if any(not timeline.is_followed(away.participant, away.at) for away in subject.absences):
        return True
    missing = timeline.coverage.missing
    # Members that logged their shutdown and rejoined were restarted, whatever the missing lines are.
    restarted = subject.absences and all(away.is_over and away.stop is not None for away in subject.absences)
    if not missing or restarted:
        return False
    # A member that did not rejoin may have done so in missing lines at any later time.
    until = subject.end if all(absence.is_over for absence in subject.absences) else timeline.coverage.end
    files = {event.speaker.file for event in hypothesis.because}
    files |= {file for participant in hypothesis.participants for file in participant.files}
    return any(a < until and b > subject.begin for file in files & missing.keys() for a, b in missing[file])


def spans_clusters(timeline: Timeline, hypothesis: Hypothesis) -> bool:
    """True if its lines come from several clusters: groups with the same name are then different groups."""
    clusters = _clusters_of_logs(timeline)
    if not clusters:
        return False
    files = {event.speaker.file for event in (*hypothesis.because, *hypothesis.circumstances)}
    files |= {file for participant in hypothesis.participants for file in participant.files}
    return len({clusters[file] for file in files if file in clusters}) > 1


@cached_answer
def _clusters_of_logs(timeline: Timeline) -> Mapping[str, str]:
    # Empty if all logs are from one cluster.
    clusters = reported_clusters(timeline.group_events, timeline.participants)
    return clusters if len({*clusters.values()}) > 1 else {}


def answers_to(
    timeline: Timeline, signs: tuple[Row, ...], subject: Subject, clues: Mapping[Row, Answer] = NO_CLUES
) -> tuple[tuple[Row, ...], tuple[Answer, ...]]:
    """Return the clues of a hypothesis and the signs of its cause, and the answer to each for its subject."""
    # Skip signs that a clue already answers.
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
    """Yield decisive answers against a cause; lazily, since the first may be enough."""
    for row in cause.excluding:
        answer = row.sign.answer(timeline, subject)
        if worth(row, answer) <= -DECISIVE:
            yield row, answer


def worth(row: Row, answer: Answer) -> int:
    """Return what an answer adds to the odds; an unobservable sign adds nothing."""
    kind = type(answer)
    return row.present if kind is Present else row.absent if kind is Absent else 0
