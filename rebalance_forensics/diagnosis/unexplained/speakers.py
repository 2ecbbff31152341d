"""Lines that no cause explains by the client that logged them, and findings about that client."""

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

# Lines by member, or by the place of the log if they do not name the member.
Losses = dict[tuple[Participant | None, str], list[Event]]


def speaker_of(timeline: Timeline, event: Event) -> tuple[Participant | None, str]:
    """The participant that logged a line and "", or None and the place of the log if the participant is unknown."""
    participant = timeline.participants.of_speaker(event)
    return participant, "" if participant is not None else place_name(event)


def by_speaker(timeline: Timeline, events: Iterable[Event]) -> Losses:
    """The clients' lines that have a time, by speaker_of()."""
    of_clients = (event for event in events if event.speaker.role != "broker" and event.at is not None)
    return grouped(of_clients, partial(speaker_of, timeline))


def hypothesis_of_client(
    participant: Participant | None,
    place: str,
    events: Sequence[Event],
    severity: Severity,
    sentence: str,
    *,
    ongoing: bool = False,
) -> Hypothesis:
    """The finding about a client; `sentence` is the rest of the sentence after its name."""
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
    """The participant's name as a culprit, or `otherwise` if the participant is unknown."""
    return culprit_of(participant).name if participant is not None else otherwise
