"""Application errors: records at ERROR, or with a stack trace, that no Kafka class wrote and no pattern knows."""

# An exception just before a close is the cause behind the cause; its wording is the application's own: no template
# fits.

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.prefixes import SpeakerWords
from rebalance_forensics.records import LogRecord

PATTERN = "process/exception"
_THROWN = re.compile(r"(?:^|[\s\">(])((?:[a-z_]\w*\.)+[A-Z]\w*(?:Exception|Error|Throwable))(?::[ \t]*([^\n]*))?")
# What a listener container wraps in an exception of its own says why the member is no longer one, or never was.
_THROWN_BY_KAFKA = re.compile(
    r"\nCaused by: (org\.apache\.kafka\.(?:clients\.consumer\.CommitFailed"
    r"|common\.errors\.(?:FencedInstanceId|GroupAuthorization|GroupMaxSizeReached|InconsistentGroupProtocol))"
    r"Exception)(?:: ([^\n]*))?"
)
# Kafka itself logs it with words that the catalog knows: elsewhere it was thrown to the application, which logs it.
_FOR_THE_CALLER = re.compile(r"\norg\.apache\.kafka\.clients\.consumer\.CommitFailedException\b")
_TRACE = re.compile(r"\n[^\S\n]*+at [\w.$/<>]+\(")
_RAISED = re.compile(
    r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n|\n){1,1000}([A-Za-z_][\w.]*)(?::[ \t]*([^\n]*))?"
)
# .NET and Node.js print it below the message, above its frames, and name no package or a namespace in capitals.
_ABOVE_ITS_FRAMES = re.compile(
    r"\n[ \t]*+((?:[A-Za-z_]\w{0,60}\.){0,12}[A-Z]\w{0,60}(?:Exception|Error)): ([^\n]*)\n[ \t]++at "
)
# What prints the frames of a stack: Java, .NET and Node; Python; Ruby; PHP.
_STACK = re.compile(
    r"\n(?:[ \t]++(?:at |File \"|from )|Traceback |[^\s:]+\.rb:\d|#\d+ |[ \t]*+Stack trace:)", re.IGNORECASE
)
_STATED = re.compile(
    r"^[ \t]*(?:(?:Caused by: |-+> )?((?:[A-Za-z_]\w*(?:\.|::|\\)){0,12}[A-Z]\w*(?:: | ?\()[^\n]+)|Message=([^\n]+))",
    re.MULTILINE,
)
_MOST_STATED = 10
# Its exceptions for answers have no stack (ApiException), and a logger may be set to print none.
_ALONE_BELOW = re.compile(
    r"\n(?:Caused by: )?(org\.apache\.kafka\.(?:common\.errors|clients\.consumer)\.[A-Z]\w{1,60}Exception"
    r"(?:: [^\n]*)?)\Z"
)
# Kafka's packages, spelled out or shortened (`k.s.ReplicaManager`), and how its classes begin what they say.
# Its tools are applications: what the console consumer prints, its client has thrown at it.
_KAFKAS = re.compile(
    r"(?:org\.apache\.(?:kafka|zookeeper)|o\.a\.(?:k|kafka|z)|kafka)\.(?!tools\.)|k\.(?!t\.)[a-z]{1,2}\."
)
_SPOKEN = re.compile(
    r"(?:\[[^\]\[|\n=]+\|(?:worker|task-\d)[^\]\n]*\] )?"
    r"(?:\[[A-Z][A-Za-z]+ (?:[^\s\]=]+ )*?[A-Za-z]+=|(?:stream|standby|task|state-updater)[a-z-]* \[)"
)
_FRAME = re.compile(r"\n[^\S\n]*+at (?:[\w.@$-]+/{1,2})*([\w.$]+)\.[\w$<>]+\(")
_FRAMES_OF_KAFKA = ("org.apache.kafka.", "kafka.", "java.", "javax.", "jdk.", "sun.", "scala.")
# The leader's part of a rebalance, under its name before and since 3.3 (AbstractCoordinator), and what it calls
# (ConsumerPartitionAssignor): of a trace that somebody cut short only the latter may be left.
_ASSIGNING = re.compile(
    r"\n[^\S\n]*+at [\w.$/]*"
    r"(?:(?:Consumer|Worker)Coordinator\.(?:performAssignment|onLeaderElected)|Assignor\.assign)\("
)
LONGEST_DETAIL = 300


def exception_in(record: LogRecord, component: str | None) -> Match | None:
    """An ExceptionLogged for an application's error; None for brokers, Kafka's own classes and anything milder."""
    logger = record.logger or ""
    if component == "broker" or _KAFKAS.match(logger) or ("." not in logger and _speaks_as_kafka(record.message)):
        return None
    loud = record.level in ("ERROR", "FATAL", "SEVERE", "CRITICAL")
    thrown = _thrown_in(record.message)
    if not (loud or _RAISED.search(record.message) or (thrown and _TRACE.search(record.message))):
        return None
    return Match(
        pattern=PATTERN, event="ExceptionLogged", fields=thrown_in(record.message), group=None, speaker=SpeakerWords()
    )


def thrown_in(message: str) -> dict[str, Any]:
    """The fields of an ExceptionLogged that a message with a stack trace shows, whatever words announce it."""
    thrown = _thrown_in(message) or _ABOVE_ITS_FRAMES.search(message)
    detail = (thrown[2] if thrown and thrown[2] else message.partition("\n")[0]).strip()
    return {
        "exception": thrown[1] if thrown else None,
        "detail": detail[:LONGEST_DETAIL],
        "assigning": _ASSIGNING.search(message) is not None,
    }


def _thrown_in(message: str) -> re.Match[str] | None:
    return _RAISED.search(message) or _THROWN_BY_KAFKA.search(message) or _THROWN.search(message)


def thrown_below(message: str, *, announced: bool = False) -> Iterator[str]:
    """The lines below the first in which exceptions say what went wrong, class first: those of a stack trace.

    Below a line that has `announced` them they are known without, and so is one of Kafka's that stands there alone.
    """
    begin = message.find("\n")
    if begin >= 0 and (answer := _ALONE_BELOW.match(message, begin)) is not None:
        yield answer[1]
    elif begin >= 0 and (announced or _STACK.search(message, begin)):
        yield from (stated[1] or stated[2] for stated in islice(_STATED.finditer(message, begin), _MOST_STATED))


def thrown_at(message: str, exception: str) -> str | None:
    """The first line of an exception's stack trace that is neither Java's nor Kafka's; None where no such line is."""
    trace = message[message.find(exception) :].partition("\nCaused by: ")[0]
    frame = next((f for f in _FRAME.finditer(trace) if not f[1].startswith(_FRAMES_OF_KAFKA)), None)
    return trace[frame.start() + 1 :].partition("\n")[0].strip() if frame is not None else None


def _speaks_as_kafka(message: str) -> bool:
    """True if one of Kafka's classes wrote it: it begins as their messages do, or its trace has only their frames."""
    frames = _FRAME.findall(message)
    return _SPOKEN.match(message) is not None or (
        not _FOR_THE_CALLER.search(message)
        and any(frame.startswith(_FRAMES_OF_KAFKA[:2]) for frame in frames)
        and all(frame.startswith(_FRAMES_OF_KAFKA) for frame in frames)
    )
