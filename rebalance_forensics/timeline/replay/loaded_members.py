"""Members that a broker reads from `__consumer_offsets`: a copy of the past until that broker coordinates the group.

While it loads, a broker prints the members of every record of the group that compaction has left, the old ones as well
(GroupMetadata.loadGroup), and also when it loads a group whose coordinator is another broker by then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import GroupLoaded, GroupUnloaded
from rebalance_forensics.events.membership import MemberLoaded
from rebalance_forensics.events.rebalances import GenerationStabilized
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.replay.drafts import DepartureDraft
from rebalance_forensics.timeline.replay.lost_membership import never_left


class LoadedMembers:
    """Keeps what brokers loaded until one of them speaks as the coordinator, and knows which generation is the last."""

    def __init__(self) -> None:
        self._by_log: dict[Place, list[MemberLoaded]] = defaultdict(list)
        self._generation = -1

    def hear(self, event: Event, gone: Mapping[str, DepartureDraft]) -> list[MemberLoaded]:
        """Take in one event; the members of the last generation that its broker loaded, once it coordinates the group.

        Whoever is known to have left since is not among them.
        """
        if isinstance(event, GenerationStabilized):
            self._generation = event.generation
        if isinstance(event, MemberLoaded):  # the line itself does not say which broker wrote it
            self._by_log[place_of(event)].append(event)
            return []
        if not self._by_log or event.speaker.role != "broker" or event.group is None:
            return []
        told = self._by_log.pop(place_of(event), [])
        if not told or isinstance(event, GroupUnloaded):
            return []
        newest = max(_generation(e) for e in told)
        if isinstance(event, GroupLoaded) and event.generation is not None:
            newest = event.generation
        if 0 <= newest < self._generation:
            return []
        return [e for e in told if _generation(e) in (newest, -1) and not _has_left(gone.get(e.member), e)]


def _has_left(departure: DepartureDraft | None, loaded: MemberLoaded) -> bool:
    return departure is not None and not never_left(departure, loaded)


def _generation(event: MemberLoaded) -> int:
    return event.generation if event.generation is not None else -1
