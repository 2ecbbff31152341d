"""The last resort: a time, perhaps a level and a logger somewhere after it, and the message."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import CLOCK, DATED, DIGITS, MONTHS, TextLayout, pattern
from rebalance_forensics.sources.layouts.either_end import logger_at_either_end
from rebalance_forensics.sources.times.zone_names import ZONE

SAMPLE = (
    "2026-11-20 10:15:30.123 [main-thread] {trace} INFO a.b.ConsumerCoordinator # [Consumer clientId=c, "
    "groupId=g] (Re-)joining group"
)
REJECT = "\tat org.apache.kafka.clients.consumer.KafkaConsumer.poll(KafkaConsumer.java:1200)"

_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AaPp]\.?[Mm]\b\.?)?"
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )"
_MONTH = r"[A-Z][a-z]{2,8}\.?"
_TIME = (
    rf"{_WEEKDAY}?{DATED}|{CLOCK}"
    rf"|{_WEEKDAY}?{_MONTH} +\d{{1,2}}(?:st|nd|rd|th)?,?(?: \d{{4}})?,?(?: at| @)? {_CLOCK}(?: ?{ZONE})?"
    r"(?: 20\d\d(?![\d-]))?"
    rf"|{_WEEKDAY}?\d{{1,2}}[ /-]{_MONTH}[ /-]\d{{4}}(?:[ :]{{1,2}}|, ){_CLOCK}(?: ?{ZONE})?"
    r"|1\d{9}(?:\d{3}|[.,]\d{1,9})"
)
_DAYS = (b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat", b"Sun")


LAYOUT = TextLayout(
    header=pattern(rf"[\[<(\"]?(?P<time>{_TIME})[\])>\"]?(?:[,:|;]|\s|-)\s*(?P<message>.*)"),
    starts=(*DIGITS, *(b"[" + digit for digit in DIGITS), *MONTHS, *_DAYS),
    finish=logger_at_either_end,
    rank=90,
)


def end_of_time(text: str) -> int:
    """Where the time in front of a line ends."""
    match = LAYOUT.header.match(text)
    return match.end("time") if match else 0
