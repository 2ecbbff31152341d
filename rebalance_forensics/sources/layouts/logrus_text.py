"""logrus in a terminal: four letters of the level, a time or the seconds since the start in brackets, the message."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, TextLayout, pattern

SAMPLE = "WARN[2026-11-20T10:15:30Z] consumer/broker/1 disconnecting due to error processing FetchRequest: EOF"
REJECT = "WARN [main] (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?P<level>TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[(?:(?P<time>{DATED})|\d{{4,9}})\] (?P<message>.*)"
    ),
    starts=(b"TRAC[", b"DEBU[", b"INFO[", b"WARN[", b"ERRO[", b"FATA[", b"PANI["),
    rank=14,
)
