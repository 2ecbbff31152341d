"""What shows that two members use one group.instance.id: only the search for fenced members can answer."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.members.fences import Fence
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, Unobservable, stated
from rebalance_forensics.diagnosis.signs.needs import coordinator_log
from rebalance_forensics.timeline.windows import PROCESS_START_MS

FENCED = stated("fenced", present="a member was fenced: another one had registered with its group.instance.id")
BOTH_SEEN = stated("both-members-seen", present="the logs show the second member with the same group.instance.id")
PERHAPS_REMOVED = stated(
    "perhaps-removed", present="an admin may have removed it before the other member took its id, as its log says"
)
ONCE = stated("fenced-once", present="one member was fenced, once: a restart whose processes overlap looks the same")
HOLDER_UNHEARD = stated(
    "holder-unheard",
    present="no log shows that the member that held the id was running: one that died holds it for a session, too",
)


def shown_by(fence: Fence) -> dict[Sign, Answer]:
    """The answers of a fence; without a line of the coordinator or the other member, the other's log would decide."""
    lines = Present(distinct_events(fence.events))
    unseen = Unobservable((coordinator_log(fence.begin - PROCESS_START_MS, fence.end + PROCESS_START_MS),))
    found: dict[Sign, Answer] = {FENCED: lines, BOTH_SEEN: lines if fence.both_seen else unseen}
    doubts = ((PERHAPS_REMOVED, fence.perhaps_removed), (ONCE, fence.once), (HOLDER_UNHEARD, _holder_unheard(fence)))
    return found | {sign: lines for sign, is_so in doubts if is_so}


def _holder_unheard(fence: Fence) -> bool:
    return fence.refused and not fence.holder_ran
