"""Cases of groups that no line names, and whether they are told among the cases of groups that are named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from rebalance_forensics.diagnosis.case import CaseOutline
from rebalance_forensics.timeline.unnamed_groups import SpeakerKey


def not_named_elsewhere(cases: Sequence[CaseOutline]) -> list[int]:
    """The places of all cases but those of clients that name no group, whose lines are tied to a group with a name."""
    named: set[tuple[str, str]] = set()
    tied: dict[str, set[SpeakerKey]] = defaultdict(set)
    for case in cases:
        if not case.from_unnamed:
            named.add((case.history.cluster, case.history.group))
            # A line without a client's name belongs to whoever writes into its log.
            tied[case.history.cluster] |= {*case.speakers, *((host, log, None) for host, log, _ in case.speakers)}

    def is_elsewhere(case: CaseOutline) -> bool:
        cluster, group = case.history.cluster, case.history.group
        return case.from_unnamed and ((cluster, group) in named or tied[cluster].issuperset(case.speakers))

    return [place for place, case in enumerate(cases) if not is_elsewhere(case)]
