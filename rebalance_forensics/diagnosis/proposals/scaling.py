"""Groups that were scaled: by members that lines name, or that only the coordinator counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, Absence, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.circumstances import surrounding_generations
from rebalance_forensics.diagnosis.episodes.members.counted_growth import Growth
from rebalance_forensics.diagnosis.episodes.members.surviving_threads import removed_by_application
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.signs.newcomers import ALONE, COUNTED, NEWCOMERS, PICKED_COUNTS, shown_to_be_new
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.wording.narratives import removals_in_words, removed_by_hand
from rebalance_forensics.diagnosis.wording.participants import member
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline


def about_additions(timeline: Timeline, arrivals: Sequence[Arrival]) -> Hypothesis:
    """Members never seen before came while others were in."""
    participants = tuple(dict.fromkeys(a.participant for a in arrivals))
    shown = shown_to_be_new(timeline, arrivals)
    number, what = len(participants), member(timeline, participants)
    new = f"A new {what}" if number == 1 else f"{number} new {what}s"
    return Hypothesis(
        because=[e for a in arrivals for e in (*a.events[:2], *(a.start.events[:1] if a.start else ()))],
        circumstances=surrounding_generations(timeline, [a.at for a in arrivals]),
        culprits=culprits_of(timeline, participants),
        answers={shown: Present(tuple(e for a in arrivals for e in a.events[:1]))},
        severity="info",
        implies=with_rebalances(timeline, arrivals),
        explains=tuple(arrivals),
        participants=participants,
        narrative=(
            f"{new} joined {'the group' if shown is ALONE else 'the running group'}"
            f"{'' if shown is NEWCOMERS else f'; {shown.present}'}."
        ),
    )


def about_growth(timeline: Timeline, growth: Growth) -> Hypothesis:
    """Growth of a group whose new members no line names."""
    shown = COUNTED if growth.since_the_first else PICKED_COUNTS
    return Hypothesis(
        because=growth.lines,
        culprits=(the_group(timeline),),
        answers={shown: Present(growth.lines[:2])},
        severity="info",
        explains=growth.rebalances,
        narrative=f"The group grew from {growth.before} to {growth.after} members; no line names who joined.",
    )


def about_removals(timeline: Timeline, absences: Sequence[Absence]) -> Hypothesis:
    """Members, or stream threads, went for good while others stayed."""
    silent = all(a.stop is None and all(d.why in UNANNOUNCED for d in a.departures) for a in absences)
    by_hand = [removed_by_application(timeline, a) for a in absences]
    threads = [e.thread or "" for lines in by_hand for e in lines]
    return about_absences(
        timeline,
        absences,
        because=list(chain.from_iterable(by_hand)),
        circumstances=surrounding_generations(timeline, [a.at for a in absences]),
        severity="info",
        narrative=(removed_by_hand(threads) if all(by_hand) else removals_in_words(timeline, absences, silent=silent)),
    )
