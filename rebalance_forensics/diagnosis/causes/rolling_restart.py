"""The members were restarted one after another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rebalance_forensics.diagnosis.advice.deployments import static_membership
from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.restart_walks import restart_walks
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.signs.walks import ALL_BACK, EXPIRED_IN_TURN, ONLY_LISTED, WALKED, shown_by
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Restarts that walk over at least two members and most of the group."""
    for walk in restart_walks(timeline):
        aways = [r.away for r in walk.restarts]
        new_names = " under new names" if walk.new_names else ""
        everyone = the_group(timeline, walk.participants)
        yield replace(
            about_absences(
                timeline,
                aways,
                because=walk.lines,
                culprits=(everyone,) if walk.everyone else culprits_of(timeline, walk.participants),
                severity="info",
                brings=[a for r in walk.restarts for a in r.arrivals],
                answers=shown_by(walk),
                narrative=(
                    f"{len(walk.participants)} members were restarted one after another{new_names} within "
                    f"{seconds(walk.took_ms)}."
                ),
                advice=static_membership(timeline, walk),
            ),
            participants=walk.participants,
        )


CAUSE = Cause(
    summary="The members were restarted one after another, as a deployment does.",
    mechanism="Each restart is a leave and a join: two rebalances a member, more when they overlap.",
    shows="Leave (or expiry) and join pairs that walk over the members with a steady gap.",
    remedy=(
        "Static membership with a session timeout above the restart time; cooperative rebalancing or "
        "KIP-848 keep the others reading."
    ),
    usual="planned",
    propose=propose,
    signs=(
        speaks_for(WALKED, STRONG),
        speaks_for(ALL_BACK, STRONG),
        speaks_against(ONLY_LISTED, STRONG + WEAK),
        speaks_against(EXPIRED_IN_TURN, STRONG + WEAK),
    ),
    brings=("member-left", "process-crash", "scale-in", "scale-out", "startup", "static-member-expired", "unsubscribe"),
    lookalikes=("scaling-flap", "slow-processing", "member-left", "process-crash"),
    settings=("group.instance.id", "session.timeout.ms"),
    kips=("KIP-345", "KIP-429"),
)
