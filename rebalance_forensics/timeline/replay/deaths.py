"""Processes that died without closing their clients, by the last line of their logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.events.process import ProcessDied
from rebalance_forensics.timeline.coverage import Coverage
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.identity.participants import Participant, Participants


def ended_with(participants: Participants, event: ProcessDied) -> Sequence[Participant]:
    """The participants that ended with a process: all that write to its log."""
    return [participant for participant in participants.at_place(event) if event.speaker.file in participant.files]


def final_deaths(
    participants: Participants, events: EventIndex, coverage: Coverage
) -> Iterator[tuple[Participant, ProcessDied]]:
    """The deaths after which neither the participant nor any other process writes to the same log.

    Where the log goes on, several processes share it, and the JVM does not print which of them ended.
    """
    heard: set[Participant] = set()
    for event in reversed(events) if events.has_type(ProcessDied) else ():
        if isinstance(event, ProcessDied) and event.at is not None and coverage.goes_on_after(event):
            continue
        if isinstance(event, ProcessDied) and event.at is not None:
            for participant in ended_with(participants, event):
                if participant not in heard:
                    heard.add(participant)
                    yield participant, event
        elif event.speaker.role != "broker" and (speaker := participants.of_speaker(event)) is not None:
            heard.add(speaker)
