"""`aws logs filter-log-events --output text`: columns with tabs between them."""

from __future__ import annotations

import re

from rebalance_forensics.sources.envelopes.base import TextEnvelope

INSIDE = (
    "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.coordinator.group.GroupCoordinator)"
)
SAMPLE = f"EVENTS\t38120567\t1795169730823\tBroker-1\t{INSIDE}\t1795169730123"
REJECT = "EVENTS\tpaid\torders"

ENVELOPE = TextEnvelope(
    shape=re.compile(
        r"EVENTS\t(?:\d+\t)?\d{13}\t(?:(?P<host>[^\t ]+)\t)?(?P<text>.*?)(?:\t(?P<time>\d{13}))?\Z", re.DOTALL
    ),
    rank=12,
)
