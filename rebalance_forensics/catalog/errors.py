"""Kafka's error codes, by the numbers, names, texts and exception classes that stand for them in a log."""

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
# Names as programs write them; words of a sentence hold neither an underscore nor a capital letter inside.
_IDENTIFIER = re.compile(r"\b(?:RD_KAFKA_RESP_ERR_|ERR_)?([A-Za-z]+(?:_|[a-z][A-Z])\w*)")
_SUFFIX = re.compile(r"(?:exception|error|code)$")
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_QUOTES = "'\"` "
_LINE_END = re.compile(r"\n")
_MOST_LINES = 3  # so many lines an error's text is broken into at most
# Characters of a text that was cut which leave no doubt which error it was.
_LONG = 60


class ErrorNames(Struct, frozen=True):
    """The names in Errors by what stands for them, spelled alike, and by number; data of patterns/fragments."""

    by_spelling: Mapping[str, str]
    by_code: Mapping[str, str]

    @classmethod
    def of(cls, errors: Mapping[str, ErrorWording]) -> ErrorNames:
        """Index the `errors:` of a fragment file; the first name that claims a text or a class keeps it."""
        spelled = {_spelling(name): name for name in errors}
        for name, wording in errors.items():
            for text in (*wording.texts, *wording.exceptions):
                spelled.setdefault(_spelling(text), name)
        return cls(spelled, {str(error.code): name for name, error in errors.items() if error.code is not None})

    def name(self, text: str) -> str:
        """The name in Errors of what a log prints for it: number, name, text or exception; else the text itself."""
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
        """The one error whose text begins so; None where several do, or none."""
        begun = _plain(text)
        names = {name for whole, name in self.by_spelling.items() if whole.startswith(begun)}
        return names.pop() if len(names) == 1 else None

    def _above_other_lines(self, text: str) -> str | None:
        """The error in the first lines, as it was printed or broken, where what a person wrote below follows it."""
        ends = [found.start() for found in islice(_LINE_END.finditer(text), _MOST_LINES)]
        return next((name for end in ends if (name := self.by_spelling.get(_spelling(text[:end])))), None)

    def _leading(self, text: str) -> str | None:
        """The error in front of a colon, or behind it where a class stands in front that says no more than `error`."""
        head, _, rest = text.partition(": ")
        qualified = _QUALIFIED.fullmatch(text)
        places = (head, qualified[1] if qualified else "", rest.partition(": ")[0], rest)
        return next((name for place in places if (name := self.by_spelling.get(_spelling(place)))), None)

    def _only_identifier(self, text: str) -> str | None:
        """The one error that a program's own print of it names, as in "NotCoordinator (Broker: Not coordinator)"."""
        named = {self.by_spelling.get(_spelling(found)) for found in _IDENTIFIER.findall(text)} - {None}
        return named.pop() if len(named) == 1 else None


def _exception(text: str) -> str | None:
    """The simple name of an exception's class that stands for no error of the protocol."""
    qualified = _QUALIFIED.fullmatch(text)
    return qualified[1] if qualified and _EXCEPTION.fullmatch(qualified[1]) else None


def _spelling(text: str) -> str:
    """A name or text as all clients spell it: NOT_COORDINATOR, not_coordinator, NotCoordinatorException alike."""
    plain = _plain(text)
    return _SUFFIX.sub("", plain) if " " not in text else plain


def _plain(text: str) -> str:
    return _NO_LETTER.sub("", _OF_A_BROKER.sub("", text.lstrip(_QUOTES)).casefold())


def _in_one_line(text: str) -> str:
    """What is no error of Kafka's, as far as a sentence can hold it: Erlang prints whole terms, with their stacks."""
    line = " ".join(text.split())
    return line if "\n" not in text or len(line) <= _LONG else line[:_LONG].rstrip() + LEFT_OUT
