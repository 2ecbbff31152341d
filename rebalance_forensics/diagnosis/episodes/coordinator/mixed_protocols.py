"""Members rejected because the group uses the other protocol (KIP-848, group.consumer.migration.policy)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import ConversionRefused, GroupHeartbeatFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS

# Comes with GROUP_ID_NOT_FOUND (GroupMetadataManager.getOrMaybeCreateConsumerGroup).
_NOT_OF_THIS_TYPE = "is not a consumer group"
MIXING = (ConversionRefused, GroupHeartbeatFailed)
"""Lines that may show a member of the other protocol."""
_MIGRATION_OFF = "group migration is disabled"


class MixedProtocols(Struct, frozen=True, kw_only=True):
    """Rejections for the same protocol close in time, and the rejected members as far as known."""

    lines: tuple[Event, ...]
    participants: tuple[Participant, ...]
    joined_with: str
    """The protocol that the refused members speak."""
    reason: str | None

    @property
    def begin(self) -> int:
        """The first refusal."""
        return time_of(self.lines[0])

    @property
    def end(self) -> int:
        """The last refusal."""
        return time_of(self.lines[-1])


def mixed_protocols(timeline: Timeline) -> Iterator[MixedProtocols]:
    """Every time members of the other protocol were rejected."""
    for protocol in ("consumer", "classic"):
        refusals = [e for e in timeline.of(*MIXING) if _joined_with(e) == protocol]
        for run in runs(refusals, time_of, ONE_REBALANCE_MS):
            yield MixedProtocols(
                lines=tuple(run),
                participants=_refused(timeline, run),
                joined_with=protocol,
                reason=next((e.reason for e in run if isinstance(e, ConversionRefused)), None),
            )


def _joined_with(event: Event) -> str | None:
    # A refused downgrade rejects nobody: the group keeps its protocol and its members.
    match event:
        case GroupHeartbeatFailed(error="GROUP_ID_NOT_FOUND", detail=detail):
            return "consumer" if _NOT_OF_THIS_TYPE in (detail or "") else None
        case ConversionRefused(before="classic", after="consumer"):
            return "consumer"
        case ConversionRefused(reason=reason) if _MIGRATION_OFF in (reason or ""):
            return "classic"
    return None


def _refused(timeline: Timeline, lines: Sequence[Event]) -> tuple[Participant, ...]:
    speakers = (timeline.participants.of_speaker(e) for e in lines if e.speaker.role != "broker")
    return tuple(dict.fromkeys(participant for participant in speakers if participant is not None))
