"""The timeouts of each member, as its own configuration, its coordinator or anybody in the group shows them."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rebalance_forensics.events.membership import MemberDescribed, MemberLeft, MemberLoaded
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.ownership.readings import Owner
from rebalance_forensics.timeline.session_timeouts import number_of, session_timeout_of
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

LEAST_SESSION = "group.min.session.timeout.ms"
SESSION, POLL, HEARTBEAT = "session.timeout.ms", "max.poll.interval.ms", "heartbeat.interval.ms"


class Timeouts(Struct, frozen=True, kw_only=True):
    """What bounds the time between a member's last moment as a reader and the moment the group misses it."""

    shown: Mapping[tuple[str, str], int]
    """(client id, setting) -> its value in milliseconds."""
    rebalance: Mapping[Participant, int]
    """A Java consumer's rebalance timeout is its max.poll.interval.ms (KIP-62)."""
    group: Mapping[str, int]
    """The same settings as any dump of the group shows them."""
    session: int | None
    own_session: bool
    """From KIP-848 on the broker sets the session timeout: what a client prints is not used."""

    def session_ms(self, owner: Owner) -> int | None:
        """session.timeout.ms of a member."""
        own = self._of(owner, SESSION) if self.own_session else None
        return own if own is not None else self.session

    def poll_ms(self, owner: Owner) -> int | None:
        """max.poll.interval.ms of a member."""
        own = self._of(owner, POLL)
        return own if own is not None else self.rebalance.get(owner[0], self.group.get(POLL))

    def heartbeat_ms(self, owner: Owner) -> int:
        """heartbeat.interval.ms of a member; what clients have unless set where no log shows it."""
        own = self._of(owner, HEARTBEAT) if self.own_session else None
        return own if own is not None else self.group.get(HEARTBEAT, HEARTBEAT_MS)

    def _of(self, owner: Owner, name: str) -> int | None:
        return self.shown.get((owner[1], name))


def timeouts_of(timeline: Timeline) -> Timeouts:
    """Every timeout that the logs of a group show."""
    shown = {}
    for dump in timeline.own.telling(SettingsReported):
        settings = dict(dump.settings)
        for name in (SESSION, POLL, HEARTBEAT):
            if (value := number_of(settings.get(name, ""))) is not None:
                shown[settings.get("client.id", ""), name] = value
    rebalance = {}
    for event in timeline.own.telling(MemberLoaded, MemberLeft, MemberDescribed):
        assert isinstance(event, MemberLoaded | MemberLeft | MemberDescribed)
        told = event.rebalance_timeout_ms
        participant = timeline.participants.of_member(event.member or "")
        if participant is not None and told is not None and timeline.kind != "connect":
            rebalance[participant] = told
    group = {name: number_of(timeline.settings.get(name, "")) for name in (POLL, HEARTBEAT)}
    return Timeouts(
        shown=shown,
        rebalance=rebalance,
        group={name: value for name, value in group.items() if value is not None},
        session=session_timeout_of(timeline.own, timeline.protocol, timeline.settings),
        own_session=timeline.protocol in ("classic", "unknown"),
    )
