"""Cases of groups that no line names, and whether they are told among the cases of groups that are named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.timeline.unnamed_groups import SpeakerKey


def without_those_named_elsewhere(cases: Iterable[GroupCase]) -> list[GroupCase]:
    """The cases but for clients that name no group and whose lines another line ties to a group that has a name."""
    known = list(cases)
    if not any(case.from_unnamed for case in known):
        return known
    named: set[tuple[str, str]] = set()
    tied: dict[str, set[SpeakerKey]] = defaultdict(set)
    for case in known:
        if not case.from_unnamed:
            named.add((case.history.cluster, case.history.group))
            # A line without a client's name belongs to whoever writes into its log.
            tied[case.history.cluster] |= {*case.speakers, *((host, log, None) for host, log, _ in case.speakers)}

    def is_elsewhere(case: GroupCase) -> bool:
        cluster, group = case.history.cluster, case.history.group
        return case.from_unnamed and ((cluster, group) in named or tied[cluster].issuperset(case.speakers))

    return [case for case in known if not is_elsewhere(case)]
