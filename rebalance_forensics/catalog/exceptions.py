"""Application errors: records at ERROR, or with a stack trace, that no Kafka class wrote and no pattern knows.

An exception just before a close is the cause behind the cause; its wording is the application's own: no template fits.
"""

from __future__ import annotations

import re

from rebalance_forensics.catalog.matcher import Match
from rebalance_forensics.catalog.prefixes import SpeakerWords
from rebalance_forensics.records import LogRecord

PATTERN = "process/exception"
_THROWN = re.compile(r"(?:^|[\s\"])((?:[a-z_]\w*\.)+[A-Z]\w*(?:Exception|Error|Throwable))(?::[ \t]*([^\n]*))?")
_TRACE = re.compile(r"\n\s*at [\w.$/<>]+\(")
_KAFKAS = ("org.apache.kafka.", "kafka.", "o.a.k.", "o.a.kafka.", "org.apache.zookeeper")
LONGEST_DETAIL = 300


def exception_in(record: LogRecord, component: str | None) -> Match | None:
    """An ExceptionLogged for an application's error; None for brokers, Kafka's own classes and anything milder."""
    if component == "broker" or (record.logger or "").startswith(_KAFKAS):
        return None
    loud = record.level in ("ERROR", "FATAL", "SEVERE", "CRITICAL")
    thrown = _THROWN.search(record.message)
    if not (loud or (thrown and _TRACE.search(record.message))):
        return None
    detail = (thrown[2] if thrown and thrown[2] else record.message.partition("\n")[0]).strip()
    return Match(
        pattern=PATTERN,
        event="ExceptionLogged",
        fields={"exception": thrown[1] if thrown else None, "detail": detail[:LONGEST_DETAIL]},
        group=None,
        speaker=SpeakerWords(),
    )
