"""foreman, honcho and overmind: a clock, the process of the Procfile and a bar before each line."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = "10:15:30.123 [info] Group member (payments,coor=#PID<0.1077.0>,cb=#PID<0.1073.0>,generation=18):"
SAMPLE = f"10:15:30 worker.1  | {INSIDE}"
REJECT = "10:15:30 worker.1 is up"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"[0-2]\d:[0-5]\d:[0-5]\d (?P<host>[A-Za-z][\w-]*(?:\.\d+)?) *\|(?: (?P<text>.*)|(?P<empty>)\Z)", re.DOTALL
    ),
    rank=59,
    certain=False,
)
