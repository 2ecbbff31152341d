"""Groups that a log names though it says nothing of their members: the report names them, and what would tell more."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import (
    ClusterReported,
    ExceptionLogged,
    SettingsReported,
    StartTimeReported,
    VersionReported,
)

# What a client says of itself before it is a member of anything, and what an application says.
_OF_THE_PROCESS = (ClusterReported, ExceptionLogged, SettingsReported, StartTimeReported, VersionReported)


class Mentions:
    """The first line of each group that a log names, as long as nothing in it shows what a member did."""

    def __init__(self) -> None:
        self._first: dict[str, Event] = {}
        self.has_group_event = False
        """True if a line has shown what a member did."""

    def may_be_only_mention(self, event: Event | None) -> bool:
        """True if a line with this event, or with none, may still be the only one that names a group."""
        self.has_group_event = self.has_group_event or not (event is None or isinstance(event, _OF_THE_PROCESS))
        return not self.has_group_event

    def note(self, mention: Event | None) -> None:
        """Keep it if its group was not mentioned before."""
        if mention is not None and mention.group is not None:
            self._first.setdefault(mention.group, mention)

    def left(self) -> Iterable[Event]:
        """The mentions of groups in a log that says nothing else of any."""
        return () if self.has_group_event else self._first.values()
