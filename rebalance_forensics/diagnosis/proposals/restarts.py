"""Members that went and came back by plan: restarted in turn, or again and again."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.diagnosis.advice.deployments import calm_the_autoscaler, static_membership
from rebalance_forensics.diagnosis.episodes.members.flaps import Flapping
from rebalance_forensics.diagnosis.episodes.members.restart_walks import RestartWalk
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs.walks import shown_by
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.wording.durations import lasting, times
from rebalance_forensics.diagnosis.wording.participants import members
from rebalance_forensics.events.epochs import GroupConverted
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import TICK_MS

CYCLED = stated("left-and-came-back-repeatedly", present="the same members left and came back while the others stayed")
TAKEN_OVER = stated("places-taken-in-turn", present="unnamed members left and others took their place")


def about_walk(timeline: Timeline, walk: RestartWalk) -> Hypothesis:
    """Restarts walked over the members."""
    new_names = " under new names" if walk.new_names else ""
    everyone, who = the_group(timeline, walk.participants), members(timeline, walk.participants)
    found = about_absences(
        timeline,
        [r.absence for r in walk.restarts],
        because=walk.lines,
        culprits=(everyone,) if walk.everyone else culprits_of(timeline, walk.participants),
        severity="info",
        implies=[a for r in walk.restarts for a in r.arrivals],
        answers=shown_by(walk),
        narrative=(
            f"{len(walk.participants)} {who} were restarted one after another{new_names}"
            f"{lasting(timeline.measured(walk.took_ms), ' within {}')}{_migrated(timeline, walk)}."
        ),
        advice=static_membership(timeline, walk),
    )
    return replace(found, participants=walk.participants)


def _migrated(timeline: Timeline, walk: RestartWalk) -> str:
    """The protocols between which the group was converted meanwhile (KIP-848), as its coordinator logged it."""
    times = sorted(event.at for event in walk.lines if event.at is not None)
    if not times:
        return ""
    ungrouped = timeline.of(GroupConverted).between(times[0] - TICK_MS, times[-1] + TICK_MS)
    known = [e for e in ungrouped if e.before and e.after]
    return f"; the group migrated from the {known[0].before} to the {known[-1].after} protocol" if known else ""


def about_flapping(timeline: Timeline, flapping: Flapping) -> Hypothesis:
    """Members left and came back while the others stayed."""
    found = about_absences(
        timeline,
        flapping.absences,
        culprits=culprits_of(timeline, flapping.participants),
        answers={TAKEN_OVER if flapping.nameless else CYCLED: Present(flapping.lines)},
        severity="warning",
        implies=flapping.arrivals,
        narrative=_flap_in_words(flapping),
        advice=calm_the_autoscaler(flapping),
    )
    return replace(found, participants=flapping.participants)


def _flap_in_words(flapping: Flapping) -> str:
    number = len(flapping.absences)
    how = "the other members stayed: the scaling does not settle."
    if flapping.nameless:
        return f"Members that no lasting name tells apart came and left again {times(number)} while {how}"
    in_all = " in all" if len(flapping.participants) > 1 else ""
    return f"{{who}} left and came back {number} times{in_all} while {how}"
