"""The level in front of the time: Schema Registry's images, Django, Celery."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, DOTTED, LEVEL, LEVEL_FIRST, LOGGER, TextLayout, pattern

SAMPLE = (
    "[INFO] 2026-11-20 10:15:30,123 [pool-4-thread-1] i.c.k.s.l.k.SchemaRegistryCoordinator requestRejoin - "
    "app=sr - [Schema registry clientId=sr-1, groupId=schema-registry] Request joining group due to: x"
)
REJECT = "[INFO] [main] [Consumer clientId=c, groupId=g] (Re-)joining group"

LAYOUT = TextLayout(
    header=pattern(
        rf"\[?(?P<level>{LEVEL})(?:\s*+(?:\]:?|:))?\s++\[?(?P<time>{DATED})\]?\s+"
        rf"(?:\[(?P<thread>[^\]\n]*)\]\s+(?P<logger>{LOGGER})(?::\d+)?(?: \w+)?(?: [-:]| - \w+=[^\n]*? -) "
        rf"(?:[\w.]+=[^\n]*? - )?"
        rf"|(?P<logger2>{LOGGER}) (?:\d+ )+|(?P<logger3>{DOTTED}): |)(?P<message>.*)"
    ),
    starts=LEVEL_FIRST,
    rank=20,
)
