"""Which other protocols a group could run: by the releases of brokers and clients, and by the kind of client."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.what_if.simulations import Protocol
from rebalance_forensics.timeline.clients import every_client_is_java
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.releases import Release, Side, releases_of

COOPERATIVE = "cooperative rebalancing"
STATIC = "static membership (group.instance.id)"
KIP_848 = "the KIP-848 protocol (group.protocol=consumer)"
BUILT_IN = "org.apache.kafka.clients.consumer."
NEEDS: dict[str, dict[Side, Release]] = {
    COOPERATIVE: {"client": (2, 4)},
    STATIC: {"broker": (2, 3), "client": (2, 3)},
    KIP_848: {"broker": (4, 0), "client": (4, 0)},
}
"""KIP-429; KIP-345; KIP-848, of which 3.7 to 3.9 only have a preview."""


class Alternative(Struct, frozen=True, kw_only=True):
    """A protocol that the group could run. `condition` is what the logs do not tell: `if the brokers run 4.0 …`."""

    name: str
    protocol: Protocol
    condition: str | None = None


def protocol_of(timeline: Timeline) -> Protocol | None:
    """What a plain consumer group of Java clients runs; None for all others, which the simulation does not know."""
    if timeline.kind != "consumer" or timeline.protocol != "classic" or timeline.mode not in ("eager", "cooperative"):
        return None
    members = timeline.members()
    if not members or not timeline.remembered(every_client_is_java):
        return None
    static = [bool(who.instance_ids) for who in members]
    if any(static) != all(static):
        return None
    if timeline.mode == "cooperative":
        return "cooperative, static" if all(static) else "cooperative"
    return "eager, static" if all(static) else "eager"


def alternatives_to(timeline: Timeline, protocol: Protocol) -> Iterator[Alternative]:
    """What else could run there, told from what the logs show of releases and assignors."""
    built_in = _assignors_are_built_in(timeline)
    offers: list[tuple[str, Protocol, bool]] = [
        (COOPERATIVE, "cooperative", protocol == "eager" and built_in),
        (COOPERATIVE, "cooperative, static", protocol == "eager, static" and built_in),
        (STATIC, "eager, static", protocol == "eager"),
        (STATIC, "cooperative, static", protocol == "cooperative"),
        (KIP_848, "KIP-848", protocol in ("eager", "cooperative") and built_in),
    ]
    for name, other, offered in offers:
        if not offered:
            continue
        missing = _missing(timeline, NEEDS[name])
        if missing is not None:
            yield Alternative(name=name, protocol=other, condition=missing or None)


def _missing(timeline: Timeline, needs: dict[Side, Release]) -> str | None:
    """What the logs leave open, empty for nothing; None where a release is too old."""
    told = timeline.remembered(releases_of).told
    unknown = []
    for side, least in needs.items():
        running = [one[-1] for one in told.get(side, {}).values()]
        if any(one.high[:2] < least for one in running):
            return None
        if not running:
            unknown.append(f"the {side}s run {'.'.join(map(str, least))} or newer")
    return f"if {' and '.join(unknown)}" if unknown else ""


def _assignors_are_built_in(timeline: Timeline) -> bool:
    """A custom assignor assigns for a reason of its own; no other protocol would keep it."""
    named = timeline.settings.get("partition.assignment.strategy", "")
    classes = [one.strip(" []").removeprefix("class ") for one in named.split(",") if one.strip(" []")]
    return all(one.startswith(BUILT_IN) or "." not in one for one in classes)
