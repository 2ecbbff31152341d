"""Consoles of .NET: `[10:15:30 WRN] msg` of Serilog, `warn: Acme.Consumer[0]` and the message below of Microsoft's."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import DATED, DIGITS, TextLayout, pattern

SAMPLE = "[10:15:30 WRN] [thrd:main]: Application maximum poll interval (300000ms) exceeded by 129ms"
REJECT = "warn: the consumer was too slow"
_CLOCK = r"[0-2]\d:[0-5]\d:[0-5]\d(?:[.,]\d{1,7})?"

LAYOUT = TextLayout(
    header=pattern(
        rf"(?:\[(?P<time>{DATED}|{_CLOCK}) (?P<level>VRB|DBG|INF|WRN|ERR|FTL)\] (?:\[(?P<logger>[\w.+`]+)\] )?"
        rf"|(?:\[?(?P<time2>{DATED}|{_CLOCK})\]? ?)?(?P<level2>trce|dbug|info|warn|fail|crit): "
        r"(?P<logger2>[A-Za-z_][\w.+`]*)\[\d+\]\s+)(?P<message>.*)"
    ),
    starts=(*DIGITS, *(b"[" + digit for digit in DIGITS), b"trce:", b"dbug:", b"info:", b"warn:", b"fail:", b"crit:"),
    rank=14,
)
