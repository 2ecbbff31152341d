"""Kafka's error codes, by the numbers, names, texts and exception classes that denote them in logs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

from msgspec import Struct

from rebalance_forensics.catalog.pattern import ErrorWording
from rebalance_forensics.records import LEFT_OUT

# A class or an enum's value may be qualified, as in "org.apache.kafka.common.errors.X: …" and "Kafka::X".
_QUALIFIED = re.compile(r"(?:[A-Za-z_$][\w$]*(?:\.|::))*(\w+)(?:\(\))?(?::\s*(.*))?", re.DOTALL)
_EXCEPTION = re.compile(r"[A-Z]\w*(?:Exception|Error)")
# "[25] Unknown Member ID: …" (kafka-go), "[Error 25] …", before 1.3 "UnknownMemberIdError - 25 - …" (kafka-python),
# "KafkaError{code=UNKNOWN_MEMBER_ID,val=25,…" (confluent-kafka-python).
_NUMBERED = re.compile(r"(?:\[(?:Error )?|\w+ - |KafkaError\{code=\w+,val=)?(-?\d+)(?:$|\] | - |,str=)")
_OF_A_BROKER = re.compile(r"^(?:Broker|kafka server): ")  # librdkafka's and Sarama's texts of errors of the protocol
# Identifiers, as opposed to words of a sentence, contain an underscore or an inner capital letter.
_IDENTIFIER = re.compile(r"\b(?:RD_KAFKA_RESP_ERR_|ERR_)?([A-Za-z]+(?:_|[a-z][A-Z])\w*)")
_SUFFIX = re.compile(r"(?:exception|error|code)$")
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_QUOTES = "'\"` "
_LINE_END = re.compile(r"\n")
_MOST_LINES = 3  # an error's text is wrapped into at most this many lines
# Characters of a truncated text that identify the error.
_LONG = 60


class ErrorNames(Struct, frozen=True):
    """The names in Errors by normalized spelling and by number; data of patterns/fragments."""

    by_spelling: Mapping[str, str]
    by_code: Mapping[str, str]

    @classmethod
    def of(cls, errors: Mapping[str, ErrorWording]) -> ErrorNames:
        """Index the `errors:` of a fragment file; the first error that claims a text or a class keeps it."""
        spelled = {_spelling(name): name for name in errors}
        for name, wording in errors.items():
            for text in (*wording.texts, *wording.exceptions):
                spelled.setdefault(_spelling(text), name)
        return cls(spelled, {str(error.code): name for name, error in errors.items() if error.code is not None})

    def name(self, text: str) -> str:
        """The name in Errors for what a log prints: number, name, text or exception; else the text itself."""
        plain = text.strip().strip(_QUOTES)
        numbered = _NUMBERED.match(plain)
        return (
            (self.by_code.get(numbered[1]) if numbered else None)
            or self.by_spelling.get(_spelling(plain))
            or self._above_other_lines(plain)
            or self._leading(plain)
            or self._only_identifier(plain)
            or (self.beginning_with(plain) if len(plain) >= _LONG else None)
            or _exception(plain)
            or _in_one_line(text)
        )

    def beginning_with(self, text: str) -> str | None:
        """The only error whose text starts like this; None if there are several or none."""
        begun = _plain(text)
        names = {name for whole, name in self.by_spelling.items() if whole.startswith(begun)}
        return names.pop() if len(names) == 1 else None

    def _above_other_lines(self, text: str) -> str | None:
        """The error in the first lines, which may be wrapped, if a person added text below."""
        ends = [found.start() for found in islice(_LINE_END.finditer(text), _MOST_LINES)]
        return next((name for end in ends if (name := self.by_spelling.get(_spelling(text[:end])))), None)

    def _leading(self, text: str) -> str | None:
        """The error before a colon, or after it if the class before it is no more specific than `error`."""
        head, _, rest = text.partition(": ")
        qualified = _QUALIFIED.fullmatch(text)
        places = (head, qualified[1] if qualified else "", rest.partition(": ")[0], rest)
        return next((name for place in places if (name := self.by_spelling.get(_spelling(place)))), None)

    def _only_identifier(self, text: str) -> str | None:
        """The only error that a program's own format names, as in "NotCoordinator (Broker: Not coordinator)"."""
        named = {self.by_spelling.get(_spelling(found)) for found in _IDENTIFIER.findall(text)} - {None}
        return named.pop() if len(named) == 1 else None


def _exception(text: str) -> str | None:
    """The simple name of an exception class that denotes no error code."""
    qualified = _QUALIFIED.fullmatch(text)
    return qualified[1] if qualified and _EXCEPTION.fullmatch(qualified[1]) else None


def _spelling(text: str) -> str:
    """The normalized spelling, the same for NOT_COORDINATOR, not_coordinator and NotCoordinatorException."""
    plain = _plain(text)
    return _SUFFIX.sub("", plain) if " " not in text else plain


def _plain(text: str) -> str:
    return _NO_LETTER.sub("", _OF_A_BROKER.sub("", text.lstrip(_QUOTES)).casefold())


def _in_one_line(text: str) -> str:
    """An unknown error, shortened to fit into a sentence: Erlang prints whole terms with their stacks."""
    line = " ".join(text.split())
    return line if "\n" not in text or len(line) <= _LONG else line[:_LONG].rstrip() + LEFT_OUT
