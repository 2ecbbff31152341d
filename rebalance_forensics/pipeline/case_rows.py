"""Cases as rows: each line, member, advice and moment of a picture stands once, however often the case shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from sys import intern
from typing import Any

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.diagnosis.model import Advice, Culprit, WhatIf
from rebalance_forensics.pipeline.rows import Codec, dumps, fields_of
from rebalance_forensics.timeline.model import Evidence, Mark, Member

_TOLD_OFTEN = (Evidence, Member, Culprit, Advice, WhatIf)
"""What a case says again and again; none of them holds another."""


def payload_of(case: GroupCase) -> str:
    """A case as JSON; what it says often by numbers in lists of their own."""
    numbered: dict[type, dict[object, int]] = {cls: {} for cls in _TOLD_OFTEN}

    def encoded(value: object) -> object:
        numbers = numbered.get(type(value))
        if numbers is not None:
            return numbers.setdefault(value, len(numbers))
        if isinstance(value, Mark):
            return value.at, value.kind, value.label, value.severity, value.evidence
        return fields_of(value)

    told = json.JSONEncoder(default=encoded, separators=(",", ":")).encode(case)
    often = {cls.__name__: tuple(numbers) for cls, numbers in numbered.items()}
    return f'{{"case":{told},"often":{dumps(often)}}}'


class CaseReader:
    """Reads cases back; `adapt` corrects each line once."""

    def __init__(self, adapt: Callable[[Evidence], Evidence]) -> None:
        self._adapt = adapt
        self._plain = Codec()
        self._often: dict[type, list[Any]] = {}
        by_number: dict[type, Callable[[Any], Any]] = {cls: partial(self._numbered, cls) for cls in _TOLD_OFTEN}
        self._codec = Codec(known={**by_number, Mark: self._mark})

    def read(self, payload: str) -> GroupCase:
        """The case that a row holds."""
        held: dict[str, Any] = json.loads(payload)
        self._often = {
            cls: [self._plain.read(cls, told) for told in held["often"][cls.__name__]] for cls in _TOLD_OFTEN
        }
        self._often[Evidence] = [self._adapt(line) for line in self._often[Evidence]]
        return self._codec.read(GroupCase, held["case"])

    def _numbered(self, cls: type, number: int) -> object:
        return self._often[cls][number]

    def _mark(self, told: list[Any]) -> Mark:
        at, kind, label, severity, line = told
        return Mark(
            at=at, kind=intern(kind), label=intern(label), severity=severity, evidence=self._often[Evidence][line]
        )
