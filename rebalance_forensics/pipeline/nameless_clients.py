"""Which group a librdkafka client belongs to whose handler prints the message alone, without the client's name.

librdkafka names the group when it asks and not when it is answered (`JoinGroup response: GenerationId 4, …`). Lines
with the client's name are tied together by that; without it, they are of the one group that such lines of the log name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.pipeline.paste_zones import until_failure
from rebalance_forensics.timeline.group_attribution import OF_A_MEMBER


def in_their_only_group(events: Iterable[Event]) -> Iterator[Event]:
    """The events of a short log; those of clients without any name with the group that others of them name."""
    kept, failure = until_failure(events)
    groups: dict[str | None, set[str]] = defaultdict(set)
    for event in kept:
        if event.group is not None and _is_nameless(event):
            groups[event.speaker.host].add(event.group)
    for event in kept:
        named = groups.get(event.speaker.host, set())
        if event.group is None and len(named) == 1 and _is_nameless(event):
            yield replace(event, group=min(named))
        else:
            yield event
    if failure is not None:
        raise failure


def _is_nameless(event: Event) -> bool:
    """True if a member logged it whose line lacks the client's name; Java clients name theirs in each line."""
    return event.speaker.role == "other" and event.speaker.client_id is None and isinstance(event, OF_A_MEMBER)
