"""The client that logged a line which no cause explains, and the finding about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.model import Culprit, Severity
from rebalance_forensics.diagnosis.wording.culprits import culprit_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.time_index import grouped

# Lines by member, or by log location where they do not name the member.
Losses = dict[tuple[Participant | None, str], list[Event]]


def speaker_of(timeline: Timeline, event: Event) -> tuple[Participant | None, str]:
    """The participant that wrote a line, or else the place of its log."""
    participant = timeline.participants.of_speaker(event)
    return participant, "" if participant is not None else place_name(event)


def by_speaker(timeline: Timeline, events: Iterable[Event]) -> Losses:
    """The lines of clients that have a time, by speaker_of."""
    own = (event for event in events if event.speaker.role != "broker" and event.at is not None)
    return grouped(own, partial(speaker_of, timeline))


def hypothesis_of_client(
    participant: Participant | None,
    place: str,
    events: Sequence[Event],
    severity: Severity,
    sentence: str,
    *,
    ongoing: bool = False,
) -> Hypothesis:
    """The finding about one client; `sentence` follows its name."""
    culprit = culprit_of(participant) if participant is not None else Culprit(kind="host", name=place)
    return Hypothesis(
        because=tuple(events),
        culprits=(culprit,),
        severity=severity,
        ongoing=ongoing,
        participants=(participant,) if participant is not None else (),
        narrative=f"{culprit.name if participant is not None else f'A client on {culprit.name}'} {sentence}",
    )


def name_of(participant: Participant | None, otherwise: str) -> str:
    """A participant as a report names its culprits."""
    return culprit_of(participant).name if participant is not None else otherwise
