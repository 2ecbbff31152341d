"""All members left the group cleanly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.clean_exits import left_without_client_log
from rebalance_forensics.diagnosis.episodes.members.departures import emptied_after, shutdowns
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, clue, speaks_against
from rebalance_forensics.diagnosis.signs import departures
from rebalance_forensics.diagnosis.wording.culprits import counted_members, the_group
from rebalance_forensics.events.membership import MemberLeft, MemberLoaded
from rebalance_forensics.events.rebalances import AssignmentComputed, GenerationStabilized, GroupEmptied
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

ALL_WENT = clue("all-members-left", DECISIVE, "the last known members left soon after one another")
NOT_COUNTED = clue(
    "members-not-counted", -STRONG - WEAK, "no line lists or counts the members, so others may have stayed"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for each time that the last members of the group shut down cleanly."""
    for group in shutdowns(timeline):
        participants = tuple(dict.fromkeys(a.participant for a in group))
        facts = tuple(f for a in group for f in a.departures)
        last = max(f.at for f in facts)
        emptied = emptied_after(timeline, last)
        empty = "; the group is empty" if emptied is not None else ""
        lines = Present(tuple(e for a in group for e in a.events[:1]))
        # Without a line that lists or counts the members, an excerpt may omit some, a single client's log all others.
        listed = timeline.of(AssignmentComputed, GenerationStabilized, GroupEmptied, MemberLoaded)
        alone = len(participants) == 1 and len(timeline.membership.members) == 1
        uncounted = not listed and (alone or timeline.coverage.is_excerpt)
        yield Hypothesis(
            because=tuple(e for a in group for e in a.events),
            circumstances=(emptied,) if emptied is not None else (),
            culprits=(the_group(timeline, participants),),
            severity="info",
            implies=(*with_rebalances(timeline, facts), *(a.stop for a in group if a.stop)),
            explains=facts,
            participants=participants,
            absences=tuple(group),
            clues={ALL_WENT: lines, NOT_COUNTED: lines} if uncounted else {ALL_WENT: lines},
            narrative=_narrative(timeline, participants, group, empty, uncounted=uncounted),
        )


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_against(departures.error_before_close, STRONG),
        speaks_against(departures.why_unheard, STRONG + WEAK),
    ),
    implies=("scale-in", "member-left", "static-member-expired", "rolling-restart", "unsubscribe"),
    lookalikes=("process-crash", "streams-shutdown"),
    silence="stopped",
)


def _narrative(
    timeline: Timeline, participants: Sequence[Participant], group: Sequence[Absence], empty: str, *, uncounted: bool
) -> str:
    went, single = counted_members(timeline, participants, single="One " if uncounted else ""), len(participants) == 1
    by_coordinator_alone = left_without_client_log(timeline, group)
    left = "closed and left" if by_coordinator_alone else "shut down cleanly"
    if uncounted:
        return f"{went} {left}; the logs do not show whether {'it was' if single else 'they were'} the last."
    if not any(map(_is_known_to_have_closed, group)):
        left = "left"
    why = f"; only {'its own log' if single else 'their own logs'} would show why" if by_coordinator_alone else ""
    return f"The last {went} {left}{empty}{why}."


def _is_known_to_have_closed(absence: Absence) -> bool:
    """False if no reason for the departure was logged, or a different one than a close."""
    if absence.stop is not None:
        return True
    # Coordinators log the reason of a leave since 3.2 (KIP-800); before that, a close and a poll timeout look the same.
    # An administrator who removes members may provide any reason (KafkaAdminClient).
    reasons = [e.why for e in absence.departure_lines if isinstance(e, MemberLeft)]
    logged = absence.start is not None or absence.participant.has_log or absence.whys != {"left"}
    return logged and not any(why in ("other", "removed-by-admin") for why in reasons)
