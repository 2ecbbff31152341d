"""Members whose principal lost its permission on the group, shown only by the brokers' authorizer log.

A Java member does not fail when its heartbeats are denied: the heartbeat thread retries until the session is over
(AbstractCoordinator.HeartbeatResponseHandler), and only the authorizer names the reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import denied
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.membership import AccessDenied
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_REBALANCE_MS


class DeniedPrincipals(Struct, frozen=True):
    """Denials of the group close in time, and the members whose sessions ended meanwhile."""

    events: tuple[AccessDenied, ...]
    lost: tuple[Participant, ...]

    @property
    def begin(self) -> int:
        """The first denial."""
        return time_of(self.events[0])

    @property
    def end(self) -> int:
        """The last denial."""
        return time_of(self.events[-1])

    @property
    def principals(self) -> list[str]:
        """The principals that were denied."""
        return sorted({e.principal for e in self.events if e.principal})

    @property
    def operations(self) -> list[str]:
        """The denied operations, as ACLs name them."""
        return sorted({e.operation.upper() for e in self.events if e.operation})

    @property
    def requests(self) -> list[str]:
        """The requests that needed these operations."""
        return sorted({e.request for e in self.events if e.request})


def denied_principals(timeline: Timeline) -> Iterator[DeniedPrincipals]:
    """Every time brokers denied members the group and no client logged it."""
    client_lines = [e for events in denied(timeline).values() for e in events]
    for run in runs(timeline.of(AccessDenied), time_of, ONE_REBALANCE_MS):
        begin, end = time_of(run[0]), time_of(run[-1])
        if any(begin - AT_ONCE_MS <= time_of(e) <= end + AT_ONCE_MS for e in client_lines):
            continue
        departures = timeline.departures.between(begin, end + session_timeout_ms(timeline))
        lost = dict.fromkeys(d.participant for d in departures if d.why in UNANNOUNCED)
        yield DeniedPrincipals(tuple(run), tuple(lost))
