"""Removes logger, thread, MDC and trace ids that some layouts print after the message, or at either end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import LOGGER, Parsed
from rebalance_forensics.sources.layouts.header_remainder import without_heading

_SUFFIX = re.compile(
    r"(?<![ \t])[ \t]++(?:\{(?:[\w.@-]+=[^{}\n]*)?\}"
    r"|\[(?:[\w.-]{0,80}?(?:trace|span|correlation|request|tenant)[\w.-]{0,80}?[=:][^\[\]\n]*)\]"
    r"|(?:[\w.-]{0,80}?(?:[tT]race|[sS]pan|correlation|request|tenant)[\w.-]{0,80}?="
    r"\S*+[ \t]*+){1,8})[ \t]*+$",
    re.MULTILINE,
)
_FEWEST = 5
_MOSTLY = 0.7


def are_appended(messages: Sequence[str]) -> bool:
    """True if nearly every message ends with a suffix, so that it belongs to the layout, not to Kafka."""
    ending = sum(_SUFFIX.search(message) is not None for message in messages)
    return len(messages) >= _FEWEST and ending > _MOSTLY * len(messages)


def without_suffix(message: str) -> str:
    """The message without its suffix, which a stack trace may follow."""
    found = list(_SUFFIX.finditer(message))
    return message[: found[-1].start()] + message[found[-1].end() :] if found else message


# A class name contains a dot or starts with a capital: `(none)` at the end of a message is not a logger, nor is an
# exception, nor the source line of a stack frame. The last line of a paste may end within the context.
_LOGGER = re.compile(
    r"(?: |^)\((?P<logger>[\w$-]+(?:[./][\w$-]+)+|[A-Z][\w$]{3,})(?<!Exception)(?<!Error)(?::\d+|:\?)?\)"
    r"(?: \[(?P<thread>[^\]\n]*)\])?(?: - (?P<context>[\w.]+=[^\n]*)| \{[^{}\n]*\}| -(?: [\w.]{0,40})?\Z)?"
    r"(?:,\d{4}-[\d:.T Z-]+)?[ \t]*\r?(?=\n|\Z)",
    re.MULTILINE,
)
# A paste may end within it; in messages, Kafka's packages never follow an opening parenthesis.
_LOGGER_START = re.compile(r" \((?:kafka|org\.apache\.kafka|io\.confluent)(?:\.[\w$]*)+\Z")
# Evidence that an exception follows, whose first line may be any text.
_TRACE = re.compile(
    r"^(?:[ \t]++(?:at |\.\.\. \d)|[ \t]*+(?:Caused by: |Traceback |[\w.$]*(?:Exception|Error|Throwable)\b))",
    re.MULTILINE,
)
# structlog's console renderer pads the event and prints logger and values after it.
_STRUCTLOG = re.compile(
    rf"\A(?P<event>[^\n]*?)(?<! ) *+\[(?P<logger>{LOGGER})\](?: \w+=[^\n]*)?\s*(?P<trace>\n.*)?\Z", re.DOTALL
)
# Only names of threads: `[GroupId g] ` and `[KafkaApi-1] ` belong to the message.
_THREAD = re.compile(
    r"\[(?P<thread>main|[^\]=|:]{0,400}?StreamThread-\d+|[^\]=|:]{0,400}?[Tt]hread[^\]=:]*"
    r"|pool-[^\]=:]*|executor-[^\]=:]*"
    r"|[^\]=|: ]{0,400}?(?:processor|worker|scheduler|manager|container|listener)"
    r"[\w#]{0,80}-[\w#-]{0,80}?\d+(?:-C-\d+)?)\] (?=\S)"
)


def without_trailer(parsed: Parsed, match: re.Match[str] | None) -> Parsed:
    """The record without the trailer that an expression matched; its groups logger and thread are kept."""
    if match is None:
        return parsed
    parts = match.groupdict()
    message = parsed.message[: match.start()] + parsed.message[match.end() :]
    thread = parts.get("thread") or parsed.thread
    return replace(parsed, logger=parts.get("logger") or parsed.logger, thread=thread, message=message)


class _Ending(NamedTuple):
    """The end of a line: a logger, a thread next to it, and trailing whitespace."""

    logger: str | None
    thread: str | None
    behind: str


@lru_cache(maxsize=4096)
def _ending(text: str) -> _Ending | None:
    """The parsed end of a line, from its last parenthesis on; cached, since a log has few loggers."""
    found = _LOGGER.match(text)
    return None if found is None else _Ending(found["logger"], found["thread"], text[found.end() :])


def logger_in_parentheses(parsed: Parsed) -> Parsed:
    """Remove `(org.apache.kafka.X:123) [thread] - mdc` from the message; a stack trace may follow it."""
    message = parsed.message
    if "\n" not in message:
        # On a single line, the logger is in the last parentheses.
        at = message.rfind(" (")
        if at >= 0 and (ended := _ending(message[at:])):
            return Parsed(
                stamp=parsed.stamp,
                level=parsed.level,
                logger=ended.logger,
                thread=ended.thread or parsed.thread,
                message=message[:at] + ended.behind,
            )
        if at >= 0 and _LOGGER_START.match(message, at):
            return replace(parsed, message=message[:at])
    return _ended(without_trailer(parsed, found := _LOGGER.search(message)), found)


def _ended(parsed: Parsed, logger: re.Match[str] | None) -> Parsed:
    """The record, which ends at the logger except for indented lines; other lines after it are torn ones."""
    # An indented line that itself ends with a logger is the end of another record.
    first, newline, rest = parsed.message.partition("\n")
    if logger is None or not newline or logger.start() > len(first) or _TRACE.search(rest):
        return parsed
    indented = takewhile(lambda line: line[:1] in (" ", "\t") and not _LOGGER.search(line), rest.split("\n"))
    return replace(parsed, message="\n".join((first, *indented)))


def logger_behind_thread_in_front(parsed: Parsed) -> Parsed:
    """Remove the logger that Kafka's own pattern prints after the message; some images add a thread before it."""
    done = logger_in_parentheses(parsed)
    message = done.message
    behind = message.find("]") + 1
    if message[:1] == "[" and message[behind : behind + 1] == " " and (thread := _THREAD.match(message)):
        return replace(done, thread=thread["thread"], message=message[thread.end() :])
    return done


def logger_at_either_end(parsed: Parsed) -> Parsed:
    """Remove level, thread and logger before the message, else the logger after it, for headers without them."""
    front = without_heading(parsed)
    return front if front.logger else logger_in_parentheses(front)


def logger_before_values(parsed: Parsed) -> Parsed:
    """Remove the logger that structlog prints after the event: `event   [logger] key=value`."""
    found = _STRUCTLOG.match(parsed.message)
    if found is None:
        return parsed
    return replace(parsed, logger=found["logger"], message=found["event"] + (found["trace"] or ""))


def context_of_monolog(parsed: Parsed) -> Parsed:
    """Read the context and extra values that Monolog prints as JSON after the message: `message {"key":1} []`."""
    message = parsed.message.removesuffix(" []").removesuffix(" []")
    return replace(parsed, message=message.partition(' {"')[0])
