"""Application errors: records at ERROR or with a stack trace that no Kafka class logged and no pattern matches."""

# An exception just before a close explains the close; its wording is the application's own, so no template fits.

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
# The cause inside a listener container's exception says why the client is not, or no longer, a member.
_THROWN_BY_KAFKA = re.compile(
    r"\nCaused by: (org\.apache\.kafka\.(?:clients\.consumer\.CommitFailed"
    r"|common\.errors\.(?:FencedInstanceId|GroupAuthorization|GroupMaxSizeReached|InconsistentGroupProtocol)"
    r"|common\.Kafka(?=Exception: Unexpected error (?:in join group response|from SyncGroup|in heartbeat response): ))"
    r"Exception)(?:: ([^\n]*))?"
)
# Kafka's own lines about it are in the catalog: any other line is from the application that it was thrown to.
_FOR_THE_CALLER = re.compile(r"\norg\.apache\.kafka\.clients\.consumer\.CommitFailedException\b")
_TRACE = re.compile(r"\n[^\S\n]*+at [\w.$/<>]+\(")
_RAISED = re.compile(
    r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n|\n){1,1000}([A-Za-z_][\w.]*)(?::[ \t]*([^\n]*))?"
)
# .NET and Node.js print the exception below the message, above its frames, without a package or with a capitalized
# namespace.
_ABOVE_ITS_FRAMES = re.compile(
    r"\n[ \t]*+((?:[A-Za-z_]\w{0,60}\.){0,12}[A-Z]\w{0,60}(?:Exception|Error)): ([^\n]*)\n[ \t]++at "
)
# Stack frames of Java, .NET and Node.js; Python; Ruby; PHP.
_STACK = re.compile(
    r"\n(?:[ \t]++(?:at |File \"|from )|Traceback |[^\s:]+\.rb:\d|#\d+ |[ \t]*+Stack trace:)", re.IGNORECASE
)
_STATED = re.compile(
    r"^[ \t]*(?:(?:Caused by: |-+> )?((?:[A-Za-z_]\w*(?:\.|::|\\)){0,12}[A-Z]\w*(?:: | ?\()[^\n]+)|Message=([^\n]+))",
    re.MULTILINE,
)
_MOST_STATED = 10
# Kafka's exceptions for error codes have no stack trace (ApiException), and a logger may be configured to omit it.
_ALONE_BELOW = re.compile(
    r"\n(?:Caused by: )?(org\.apache\.kafka\.(?:common\.errors|clients\.consumer)\.[A-Z]\w{1,60}Exception"
    r"(?:: [^\n]*)?)\Z"
)
# Kafka's packages, in full or abbreviated (`k.s.ReplicaManager`), and how its classes start their messages. Its tools
# are applications: the console consumer prints what its client throws.
_KAFKAS = re.compile(
    r"(?:org\.apache\.(?:kafka|zookeeper)|o\.a\.(?:k|kafka|z)|kafka)\.(?!tools\.)|k\.(?!t\.)[a-z]{1,2}\."
)
_SPOKEN = re.compile(
    r"(?:\[[^\]\[|\n=]+\|(?:worker|task-\d)[^\]\n]*\] )?"
    r"(?:\[[A-Z][A-Za-z]+ (?:[^\s\]=]+ )*?[A-Za-z]+=|(?:stream|standby|task|state-updater)[a-z-]* \[)"
)
_FRAME = re.compile(r"\n[^\S\n]*+at (?:[\w.@$-]+/{1,2})*([\w.$]+)\.[\w$<>]+\(")
_FRAMES_OF_KAFKA = ("org.apache.kafka.", "kafka.", "java.", "javax.", "jdk.", "sun.", "scala.")
# The leader's assignment, under its names before and since 3.3 (AbstractCoordinator), and the assignor that it calls
# (ConsumerPartitionAssignor), which may be all that is left of a shortened trace.
_ASSIGNING = re.compile(
    r"\n[^\S\n]*+at [\w.$/]*"
    r"(?:(?:Consumer|Worker)Coordinator\.(?:performAssignment|onLeaderElected)|Assignor\.assign)\("
)
LONGEST_DETAIL = 300
# Exceptions that are thrown only in a member of a group or a client that joins one (org.apache.kafka.common.errors,
# org.apache.kafka.clients.consumer), with their names in Errors; CommitFailedException has several error codes.
_THROWN_AT_MEMBERS = {
    "CommitFailedException": "CommitFailedException",
    "FencedInstanceIdException": "FENCED_INSTANCE_ID",
    "GroupAuthorizationException": "GROUP_AUTHORIZATION_FAILED",
    "GroupMaxSizeReachedException": "GROUP_MAX_SIZE_REACHED",
    "InconsistentGroupProtocolException": "INCONSISTENT_GROUP_PROTOCOL",
}
_OF_A_MEMBER = re.compile(rf"\b(?:{'|'.join(_THROWN_AT_MEMBERS)})\b")
# KafkaException of a request that failed for good (AbstractCoordinator's response handlers, ConsumerCoordinator);
# Logstash prints `:backtrace=>` after it.
_OF_A_REQUEST = re.compile(
    r"Unexpected error (?P<request>in join group response|from SyncGroup|in heartbeat response|in commit): "
    r"(?P<answer>[^:\n]*?)(?=, :|[:\n]|$)"
)
_REQUESTS = {
    "in join group response": "JoinGroup",
    "from SyncGroup": "SyncGroup",
    "in heartbeat response": "Heartbeat",
    "in commit": "OffsetCommit",
}
# GroupAuthorizationException and, since 0.9, TopicAuthorizationException.
_DENIED = re.compile(r"Not authorized to access (?:group: (?P<group>\S+)|topics: \[(?P<topics>[^\]\n]{1,1000})\])")
# GroupMetadataManager.throwIfConsumerGroupIsFull, and its equivalents for share and Streams groups.
_FULL = re.compile(r"maximum capacity of (\d{1,9}) members")
_DISK_FULL = "No space left on device"  # ENOSPC


def exception_in(record: LogRecord, component: str | None) -> Match | None:
    """An ExceptionLogged for an application's error; None for brokers, Kafka's own classes and lesser severities."""
    logger = record.logger or ""
    if component == "broker" or _KAFKAS.match(logger) or ("." not in logger and _logged_by_kafka(record.message)):
        return None
    loud = record.level in ("ERROR", "FATAL", "SEVERE", "CRITICAL")
    thrown = _exception(record.message)
    if not (loud or _RAISED.search(record.message) or (thrown and _TRACE.search(record.message))):
        return None
    return Match(
        pattern=PATTERN,
        event="ExceptionLogged",
        fields=exception_fields(record.message),
        group=None,
        speaker=SpeakerWords(),
    )


def exception_fields(message: str) -> dict[str, Any]:
    """The fields of an ExceptionLogged in a message with a stack trace, whatever words announce it."""
    thrown = _exception(message) or _ABOVE_ITS_FRAMES.search(message)
    detail = (thrown[2] if thrown and thrown[2] else message.partition("\n")[0]).strip()
    return {
        "exception": thrown[1] if thrown else None,
        "detail": detail[:LONGEST_DETAIL],
        "assigning": _ASSIGNING.search(message) is not None,
    }


def thrown_facts(exception: str | None, detail: str | None, line: str) -> dict[str, Any]:
    """The facts in the class and the message of an exception: the broker's response to a client, or a full disk.

    `line` is searched if the exception has no message.
    """
    text = detail or ""
    found: dict[str, Any] = {}
    if (thrown := _OF_A_MEMBER.search(f"{exception} {text}")) is not None:
        found["error"] = _THROWN_AT_MEMBERS[thrown[0]]
    if (failed := _OF_A_REQUEST.search(text)) is not None:
        found |= {"request": _REQUESTS[failed["request"]], "answer": failed["answer"].rstrip(". ")}
    if (denied := _DENIED.search(text)) is not None:
        group, topics = denied["group"], denied["topics"]
        names = (group,) if topics is None else tuple(map(str.strip, topics.split(",")))
        found |= {"resource": "group" if topics is None else "topic", "names": names}
    if (full := _FULL.search(text)) is not None:
        found["max_size"] = int(full[1])
    if _DISK_FULL in (detail or line):
        found["disk_full"] = True
    return found


def _exception(message: str) -> re.Match[str] | None:
    return _RAISED.search(message) or _THROWN_BY_KAFKA.search(message) or _THROWN.search(message)


def exception_lines(message: str, *, announced: bool = False) -> Iterator[str]:
    """The lines of exceptions (class first) below the first line of a message with a stack trace.

    Below a line that `announced` them, or for a single Kafka exception, no stack trace is required.
    """
    begin = message.find("\n")
    if begin >= 0 and (answer := _ALONE_BELOW.match(message, begin)) is not None:
        yield answer[1]
    elif begin >= 0 and (announced or _STACK.search(message, begin)):
        yield from (stated[1] or stated[2] for stated in islice(_STATED.finditer(message, begin), _MOST_STATED))


def application_frame(message: str, exception: str) -> str | None:
    """The first frame of an exception's stack trace that is neither Java's nor Kafka's; None if there is none."""
    trace = message[message.find(exception) :].partition("\nCaused by: ")[0]
    frame = next((f for f in _FRAME.finditer(trace) if not f[1].startswith(_FRAMES_OF_KAFKA)), None)
    return trace[frame.start() + 1 :].partition("\n")[0].strip() if frame is not None else None


def _logged_by_kafka(message: str) -> bool:
    """True if a Kafka class logged it: it starts like their messages, or its trace has only their frames."""
    frames = _FRAME.findall(message)
    return _SPOKEN.match(message) is not None or (
        not _FOR_THE_CALLER.search(message)
        and any(frame.startswith(_FRAMES_OF_KAFKA[:2]) for frame in frames)
        and all(frame.startswith(_FRAMES_OF_KAFKA) for frame in frames)
    )
