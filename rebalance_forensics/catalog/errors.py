"""Kafka's error codes, by the texts and exception classes that stand for them in a log."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from rebalance_forensics.catalog.pattern import ErrorWording
from rebalance_forensics.records import LEFT_OUT

_CLASS = re.compile(r"(?:[A-Za-z_$][\w$]*\.)*([A-Z]\w*(?:Exception|Error))(?::\s*(.*))?", re.DOTALL)
# "UNKNOWN_MEMBER_ID: The coordinator …" (franz-go), "[25] Unknown Member ID: …" (kafka-go), "[Error 25] …" and, before
# 1.3, "UnknownMemberIdError - 25 - …" (kafka-python).
_LEADING = re.compile(r"(?:\[(?:Error )?-?\d+\] )?(.+?)(?:: .*| - -?\d+ - .*)?", re.DOTALL)
_QUOTES = "'\"` "
# Characters of a text that was cut which leave no doubt which error it was.
_LONG = 60


class ErrorNames(Struct, frozen=True):
    """The names in Errors by text (its final dot dropped) and by simple class name; data of patterns/fragments."""

    by_text: Mapping[str, str]
    by_class: Mapping[str, str]

    @classmethod
    def of(cls, errors: Mapping[str, ErrorWording]) -> ErrorNames:
        """Index the `errors:` of a fragment file; the first name that claims a text or a class keeps it."""
        by_text: dict[str, str] = {}
        by_class: dict[str, str] = {}
        for name, wording in errors.items():
            by_text[name] = name
            by_text.setdefault(name.lower(), name)  # an atom of brod's
            if wording.code is not None:
                by_text.setdefault(str(wording.code), name)  # of clients that log the number alone
            for text in wording.texts:
                by_text.setdefault(_plain(text), name)
            for simple_name in wording.exceptions:
                by_class.setdefault(simple_name, name)
        return cls(by_text, by_class)

    def name(self, text: str) -> str:
        """The name in Errors of what a log prints for it: the name, a text or an exception; else the text itself."""
        plain = _plain(text)
        if known := self.by_text.get(plain):
            return known
        if match := _CLASS.match(plain):
            return self._of_exception(match[1], match[2])
        if known := self._leading(plain):
            return known
        return (self.beginning_with(plain) if len(plain) >= _LONG else None) or _in_one_line(text)

    def beginning_with(self, text: str) -> str | None:
        """The one error whose text begins so; None where several do, or none."""
        begun = text.lstrip(_QUOTES)
        names = {name for whole, name in self.by_text.items() if whole.startswith(begun)}
        return names.pop() if len(names) == 1 else None

    def _leading(self, text: str) -> str | None:
        match = _LEADING.fullmatch(text)
        return (self.by_text.get(match[1]) or self.by_class.get(match[1])) if match else None

    def _of_exception(self, simple_name: str, message: str | None) -> str:
        by_text = self.by_text.get(_plain(message)) if message else None
        return self.by_class.get(simple_name) or by_text or simple_name


def _in_one_line(text: str) -> str:
    """What is no error of Kafka's, as far as a sentence can hold it: Erlang prints whole terms, with their stacks."""
    line = " ".join(text.split())
    return line if "\n" not in text or len(line) <= _LONG else line[:_LONG].rstrip() + LEFT_OUT


def _plain(text: str) -> str:
    return text.strip().strip(_QUOTES).rstrip(". ")
