"""Newcomers whose member id was cut off in a paste: the client that asks again at that moment, or who was just away."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberIdIssued, MemberJoined
from rebalance_forensics.timeline.facts import Start
from rebalance_forensics.timeline.replay.drafts import DepartureDraft
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import ASKS_AGAIN_MS, RESTART_PAIR_MS

Newcomer = MemberIdIssued | MemberJoined


class NamelessNewcomers:
    """Those of whom nobody knows yet who they are, oldest first."""

    def __init__(self) -> None:
        self.waiting: deque[Newcomer] = deque()

    def came(self, event: Newcomer) -> None:
        """The coordinator took somebody in, or gave an id to somebody."""
        self.waiting.append(event)

    def is_one(self, event: Event) -> bool:
        """Whether the client that asks to join now is one of them; it is named then."""
        if not any(abs((event.at or 0) - (waiting.at or 0)) <= ASKS_AGAIN_MS for waiting in self.waiting):
            return False
        self.waiting.popleft()
        return True

    def back(
        self, now: int | None, departures: dict[DepartureDraft, None], starts: InTime[Start]
    ) -> Iterator[tuple[DepartureDraft, Event]]:
        """Those whom no client's line named: each is who has been away longest of those that went shortly before.

        Where a process has just started, it is that one. `now` is how far the logs are read, None at their end;
        `departures` are all so far.
        """
        while self.waiting and (now is None or now - (self.waiting[0].at or 0) > ASKS_AGAIN_MS):
            event = self.waiting.popleft()
            at = event.at or 0
            start = starts.last(at)
            started = start.participant if start is not None and start.at > at - RESTART_PAIR_MS else None
            away: DepartureDraft | None = None
            for gone in reversed(departures):
                if gone.at <= at - RESTART_PAIR_MS:
                    break
                if gone.returned is None and gone.at <= at and started in (None, gone.participant):
                    away = gone
            if away is not None:
                yield away, event
