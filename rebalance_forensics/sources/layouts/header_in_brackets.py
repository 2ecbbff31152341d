"""The whole header in one pair of brackets: `[time LEVEL target] msg` (env_logger), `[LEVEL time file:line] msg`."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, LEVEL, TextLayout, pattern

SAMPLE = (
    "[2026-11-20T10:15:30Z WARN  rdkafka::client] librdkafka: MAXPOLL [thrd:main]: Application maximum poll interval"
)
REJECT = "[2026-11-20 10:15:30,123] WARN Heartbeat failed"
_PLACE = r"[\w.@/-]++:\d++"

LAYOUT = TextLayout(
    header=pattern(
        rf"\[(?:(?P<time>{DATED})[ \t]+(?P<level>{LEVEL})(?:[ \t]+(?P<logger>[A-Za-z_][\w:.$/-]*))?"
        rf"|(?P<level2>{LEVEL})[ \t]+(?P<time2>{DATED})[ \t]+{_PLACE})\]\s+(?P<message>.*)"
    ),
    starts=(b"[20", b"[T", b"[D", b"[I", b"[N", b"[W", b"[E", b"[F", b"[C", b"[t", b"[d", b"[i", b"[w", b"[e", b"[f"),
    rank=17,
)
