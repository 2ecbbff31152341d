"""Parses the rest of a header that a layout left before the message: columns, threads, contexts, loggers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import LEVEL, Parsed, level_of

# Log prefixes of Kafka's classes (LogContext): the message starts here, whatever precedes it. ruby-kafka starts with a
# tag in brackets, brod with a heading whose message is on the next line.
OPENING = (
    r"\[(?:[A-Z][A-Za-z]+ (?:[^\s\]=]+ )*?[A-Za-z]+=|(?:[A-Z][A-Za-z]+ )+\d+\]|KafkaApi-\d+\]"
    r"|Group(?:Id)?[ =]|MemberId |[^\]\[|\n=]+\|(?:worker|task-\d+)|thrd:"
    r"|(?:ConsumerGroup|Runner|Consumer|Connection)\] "
    r"|\[[^\]\[\n]+\] \{[^}\n]*\}:\] )"
    r"|Group member \([^\n]*?,generation=|group coordinator \(groupId="
    r"|(?:(?:global-)?stream-(?:thread|client|task)|state-updater|standby-task|topology-name) \[|task \[\d+_\d+\]"
)
_MESSAGE = re.compile(OPENING)
# librdkafka's own line: its facility and the client's handle are not a thread.
_OF_LIBRDKAFKA = re.compile(
    r"[A-Z][A-Z0-9_]{2,}(?: \[|\|)[^\]|\n]{1,250}#(?:consumer|producer)-\d+[\]|] |%\d\|\d+\.\d+\|[A-Z]"
)
_QUALIFIED = r"(?:[A-Za-z_][\w$]*\.)+[A-Za-z_][\w$]*"
# A Java class with a method; a module of the Python clients.
_CLASS = re.compile(
    r"(?P<name>(?:[a-z_]\w*\.){2,}[A-Z][\w$]*)(?:\.[a-z_]\w*)?\Z|(?P<module>(?:aio)?kafka(?:\.[a-z_]\w*)+)\Z"
)
_SIMPLE = r"[A-Z][a-z0-9]+[A-Z][\w$]*"
_NESTED = r"\((?:[^()\n]++|\([^()\n]*+\))*\)"
# The full name ends with a bar and the group id, which may contain blanks (AbstractCoordinator).
_HEARTBEAT_THREAD = "kafka-coordinator-heartbeat-thread"
_TOKEN = re.compile(
    rf"""(?P<heartbeat>{_HEARTBEAT_THREAD}\ \|\ (?:(?!\ +[|-]\ )[^\[\n]){{1,249}}(?=\ +\|\ ))
    | (?P<bundle>\d+\ -\ [\w.-]+\ -\ \d[\w.]*(?=\s*\|))
    | (?P<worker>\#\d+(?=\s))
    | (?P<separator>(?:[-\u2013|:,=>\#/~]+|\|\|)(?=[\s\[]|\Z)|[|\t]+|(?<!\ );+(?!\ ))
    | (?P<level>\[?{LEVEL}(?![\w.-])\s*\]?:?)
    | (?P<jvm>Thread\[(?:\#\d+,)?(?P<name>[^\],\n]*+)[^\]\n]*+\]:(?=\s))
    | (?P<bracketed>\[[^\]\n]*\]|{_NESTED}|\{{[^}}\n]*\}}|<(?!\w+Connection\ )[^>\n]*>)
    | (?P<source>[\w$]+\.(?:java|scala|kt|py|go)(?::\d+)?(?=[\s:\]]))
    | (?P<logger>{_QUALIFIED}(?:\(\))?|{_SIMPLE})(?P<place>:\d+)?(?=[\s:;|,\[(]|\Z)
    | (?P<pair>[\w.@-]+=(?:"[^"\n]*"|[^\s,;|\]]*),?|[A-Za-z][\w.@-]*:[\w.@-]*(?=\s))
    | (?P<number>(?=[a-fA-F]*+\d)[0-9a-fA-F]++(?![\w.-]))
    | (?P<letter>[IWEAF](?=\s))
    | (?P<word>[^\s|;\[\](){{}}]+)""",
    re.VERBOSE,
)
_LETTERS = {"I": "INFO", "W": "WARN", "E": "ERROR", "A": "INFO", "F": "FATAL"}
_BLANKS = re.compile(r" +")
_COLUMN = re.compile(r"[|;\t]")
# The start of a record that another logger passes on as a whole. A sentence may start with the name of a level: "Error
# reading from kafka".
_SENTENCE_OF_AN_ERROR = r"[EeWwFf][a-z]+ [a-z]+(?: [a-z]|\Z)"
_HEADED = re.compile(
    r"\[?(?:\d{4}[-/.]\d\d[-/.]\d\d[ T]|\d\d:\d\d:\d\d[.,]\d"
    rf'|(?!{_SENTENCE_OF_AN_ERROR}){LEVEL}\]?:?\s+(?=\S))|\{{"|%\d\|\d|(?:time|ts)='
)
_NO_LOGGER = re.compile(
    r"(?:Exception|Error|Throwable|(?:Assigned|Revoked)Partitions)\Z|\.(?:com|org|net|io|local|svc|log|jar)\Z"
)
# Python prints the code of an error in brackets: `GroupAuthorizationFailedError: [Error 30] …`.
_THROWN = re.compile(r"[\w$.]+(?:Exception|Error):")
_ASIDE = rf"(?:\s*+(?:\[[^\]\n]*+\]|{_NESTED}))?"
# A tab among the whitespace before a separator is a separator itself.
_ENDS = re.compile(rf"(?:(?:\s++[\w$.]++:\d++)?{_ASIDE}){{0,3}}(?:\s*+(?:[-\u2013|:;=>#]++\s|[|;])|[^\S\t]*+\t)")
_NAMED = re.compile(r"[A-Z][a-z]+\Z")
_DASH = re.compile(rf"{_ASIDE}\s++[-|]\s")
_LEVEL_NEXT = re.compile(rf"\s++(?:\S++\s++)??(?:\[?{LEVEL}\b|[IWEAF]\s)")
_METHOD = re.compile(r"[a-z]\w*\Z")
_THREAD_NEXT = re.compile(r"\s+\[(?P<name>[^\]=,\n]*)\] (?=\S)")
_SECOND_LINE = re.compile(rf"[^\n]*\n(?P<level>{LEVEL}): ?")
_THREAD = re.compile(r"main\Z|(?=.*[A-Za-z]).*[-#@\d]")
# Names of Python threads: after a level, no message starts like this.
_PYTHONS = re.compile(r"(?:MainThread|(?:Thread|Dummy)-\d+|\w*ThreadPoolExecutor-\d+_\d+)\Z")
# Once level and logger are known, text that starts with a capitalized word is the message.
_SENTENCE = re.compile(rf"(?!{LEVEL}\b)[A-Z][a-z]+ ")
_OPENED = re.compile(r"<(?=[A-Z(\[])")
_MOST = 14
_MOST_WORDS = 3


@dataclass(slots=True)
class _Heading:
    """Reads header tokens up to the message; everything before `done` is certainly header.

    `loose` counts the words since then that may also belong to the message, `plain` is True if the last one was a bare
    word, `named` is True if one of them was a logger.
    """

    text: str
    level: str | None
    logger: str | None
    thread: str | None
    at: int = 0
    done: int = 0
    loose: int = 0
    plain: bool = False
    named: bool = False
    aside: str | None = None

    def read(self) -> None:
        """Read the header."""
        for _ in range(_MOST):
            if blanks := _BLANKS.match(self.text, self.at):
                self.at = blanks.end()
            of_librdkafka = _OF_LIBRDKAFKA.match(self.text, self.at)
            if of_librdkafka and self.level is not None:
                self.logger = self.logger or self.text[self.done : self.at].strip(": ") or None
            if of_librdkafka or _MESSAGE.match(self.text, self.at):
                if not self.plain:
                    self._settle()
                return
            token = _TOKEN.match(self.text, self.at)
            if token is None or _THROWN.match(self.text, self.at) or not self._takes(token):
                return

    def _settle(self) -> None:
        self.done = self.at
        self.thread, self.aside = self.thread or self.aside, None
        self.loose, self.plain, self.named = 0, False, False

    def _takes(self, token: re.Match[str]) -> bool:
        """Consume a token of the header; False if the message starts with it."""
        before, self.at = self.at, token.end()
        if token["separator"]:
            self.plain = False
            if self.named or not self.loose or _COLUMN.search(token[0]):
                self._settle()
            return True
        if token["level"] or (token["letter"] and self.named):
            return self._level(_LETTERS.get(token[0]) or level_of(token[0].strip("[]: \t")))
        # Fluentd prints the number of the worker process after the level.
        worker = token["worker"] if self.level is not None and not self.loose else None
        if token["heartbeat"] or token["jvm"] or worker or self._is_method(token[0]):
            self.thread = token["heartbeat"] or self.thread or token["name"] or worker
            self._settle()
            return True
        if self.level is not None and not self.loose and _PYTHONS.match(token[0]):
            self.thread = self.thread or token[0]
            self._settle()
            return True
        if token["bracketed"]:
            return self._in_brackets(token[0])
        if token["logger"] and self.logger is None and not _NO_LOGGER.search(token["logger"]):
            return self._logger(token)
        if token["logger"] or token["word"] or token["letter"]:
            return self._word(token[0])
        return before < self.at

    def _is_method(self, text: str) -> bool:
        """True for the method in java.util.logging's `%2$s`: a constructor, or a word before Kafka's own message."""
        if self.level is None or self.logger is None or self.loose:
            return False
        blanks = _BLANKS.match(self.text, self.at)
        begins = blanks is not None and _MESSAGE.match(self.text, blanks.end()) is not None
        return text == "<init>" or (begins and _METHOD.match(text) is not None)

    def _level(self, level: str | None) -> bool:
        if self.level is not None:
            return False
        self.level = level
        self._settle()
        return True

    def _in_brackets(self, text: str) -> bool:
        inside = text[1:-1].strip()
        if self.text[self.at : self.at + 1] == ":" and self.level is not None:
            return False
        if self.plain:
            return _ENDS.match(self.text, self.at) is not None
        if not inside and self.level is not None and not self.loose:  # a context without entries
            self._settle()
        elif self.logger is None and not self.loose and text[0] in "[(" and _is_class(inside):
            self.logger = inside
            self._settle()
        elif _THREAD.match(inside) and "=" not in inside and "," not in inside:
            self.aside = self.aside or inside
            if self.logger is not None and self.thread is None and self.text[self.at : self.at + 1] in (" ", "\t"):
                self._settle()
        return True

    def _logger(self, token: re.Match[str]) -> bool:
        """Consume a class name as the logger: a qualified one, or before a separator, a level or a line number."""
        name = token["logger"]
        full = _CLASS.match(name)
        ended = _ENDS.match(self.text, self.at)
        level_next = self.level is None and _LEVEL_NEXT.match(self.text, self.at)
        if not (ended or full) and self._threaded(name):
            return True
        if not (ended or full or token["place"] or level_next):
            return self._word(name)
        self.logger, self.named = full["name"] or full["module"] if full else name.removesuffix("()"), True
        second = _SECOND_LINE.match(self.text, self.at) if self.level is None else None
        if second:
            self.at = second.end()
            return self._level(level_of(second["level"]))
        if not ended and not level_next:
            self._settle()
        return True

    def _threaded(self, name: str) -> bool:
        """True if a class name between the level and a thread in brackets is the logger."""
        thread = _THREAD_NEXT.match(self.text, self.at) if self.level is not None else None
        if thread is None or not _THREAD.match(thread["name"]):
            return False
        self.logger, self.thread, self.at = name, self.thread or thread["name"], thread.end()
        self._settle()
        return True

    def _word(self, text: str) -> bool:
        """Consume a word that may name a thread, a host or a class, as long as level or logger are missing."""
        if self.plain or self.loose == _MOST_WORDS or (self.level is not None and self.logger is not None):
            return False
        # After a module of the Python clients the message starts, even if the level is unknown.
        if self.logger is not None and (known := _CLASS.match(self.logger)) and known["module"]:
            return False
        first = self.level is not None and self.logger is None and not self.loose
        if first and _NAMED.match(text) and _DASH.match(self.text, self.at):
            self.logger, self.named = text, True
            return True
        self.loose += 1
        self.plain = self.level is not None and not _THREAD.match(text.rstrip(":"))
        return True


@lru_cache(maxsize=4096)
def _is_class(name: str) -> bool:
    name = re.sub(r":\d+\Z", "", name)
    if re.fullmatch(_SIMPLE, name) or (name.count(".") > 1 and re.fullmatch(_QUALIFIED, name)):
        return True
    return (found := _CLASS.match(name)) is not None and found["module"] is not None


def begins_as_kafka_does(message: str) -> bool:
    """True if a message starts with the prefix of a Kafka class."""
    return _MESSAGE.match(message) is not None


def brings_a_header(message: str) -> bool:
    """True if a message is a record of another logger, with its own time, level or client prefix."""
    return _HEADED.match(message) is not None


def without_heading(parsed: Parsed) -> Parsed:
    """The record without the rest of the header that its layout left before the message."""
    message = parsed.message
    if begins_as_kafka_does(message):
        return parsed
    logger, thread = parsed.logger, parsed.thread
    if logger == _HEARTBEAT_THREAD:
        logger, message = None, f"{logger} | {message}"
    if logger and not _is_class(logger):
        logger, thread = None, thread or logger
    elif logger and parsed.level is not None and _SENTENCE.match(message):
        return parsed
    heading = _Heading(message, parsed.level, logger, thread)
    heading.read()
    if not heading.done:
        return parsed
    return replace(
        parsed,
        level=heading.level,
        logger=heading.logger or parsed.logger,
        thread=heading.thread,
        message=message[heading.done :].lstrip(" \t"),
    )


def out_of_angle_brackets(parsed: Parsed) -> Parsed:
    """The record without the `<` and `>` around its message, as in `%d %p [%c] - <%m>%n` of Spring's samples."""
    # The `>` is on the first line, before a stack trace, or at the end of the last one.
    message = parsed.message
    if message[:1] != "<" or not (_OPENED.match(message) or begins_as_kafka_does(message[1:])):
        return parsed
    first, newline, rest = message.partition("\n")
    if first.endswith(">"):
        return replace(parsed, message=f"{first[1:-1]}{newline}{rest}")
    whole = message.rstrip()
    return replace(parsed, message=whole[1:-1]) if whole.endswith(">") else parsed
