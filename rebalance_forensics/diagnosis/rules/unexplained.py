"""A rebalance whose cause the logs do not show; incidents.py makes it of what no other rule explains."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.finding import Finding, Rule
from rebalance_forensics.timeline.build import Timeline


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Nothing by itself: what is left over is known only after every other rule has spoken."""
    del timeline
    yield from ()


RULE = Rule(
    summary="A rebalance whose cause the logs do not show.",
    mechanism=(
        "Something made the coordinator rebalance, and the lines that would name it are missing: a log "
        "was not given, a level was too high, the window is too short, or a client logs nothing."
    ),
    signs=(
        "A new generation without a departure, an arrival, a changed subscription or metadata, or a coordinator move."
    ),
    remedy="Add the logs that the gaps name: the coordinator's server.log and the members' logs at INFO.",
    usual="unknown",
    rank=99,
    diagnose=diagnose,
)
