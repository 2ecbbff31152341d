"""Cases as rows: each log line, member and moment of a picture stands once, however often the case shows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from sys import intern
from typing import Any

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.pipeline.rows import Codec, dumps, fields_of
from rebalance_forensics.timeline.model import Evidence, Mark, Member


def payload_of(case: GroupCase) -> str:
    """A case as JSON; lines, members and marks by their numbers in lists of their own."""
    lines: dict[object, int] = {}
    members: dict[object, int] = {}
    numbered = {Evidence: lines, Member: members}

    def encoded(value: object) -> object:
        numbers = numbered.get(type(value))
        if numbers is not None:
            return numbers.setdefault(value, len(numbers))
        if isinstance(value, Mark):
            return value.at, value.kind, value.label, value.severity, value.evidence
        return fields_of(value)

    told = json.JSONEncoder(default=encoded, separators=(",", ":")).encode(case)
    return f'{{"case":{told},"lines":{dumps(tuple(lines))},"members":{dumps(tuple(members))}}}'


class CaseReader:
    """Reads cases back; `adapt` corrects each line once."""

    def __init__(self, adapt: Callable[[Evidence], Evidence]) -> None:
        self._adapt = adapt
        self._plain = Codec()
        self._lines: list[Evidence] = []
        self._members: list[Member] = []
        self._codec = Codec(
            known={
                Evidence: lambda number: self._lines[number],
                Member: lambda number: self._members[number],
                Mark: self._mark,
            }
        )

    def read(self, payload: str) -> GroupCase:
        """The case that a row holds."""
        held: dict[str, Any] = json.loads(payload)
        self._lines = [self._line(line) for line in held["lines"]]
        self._members = [self._plain.read(Member, member) for member in held["members"]]
        return self._codec.read(GroupCase, held["case"])

    def _line(self, told: dict[str, Any]) -> Evidence:
        told["path"] = intern(told["path"])
        return self._adapt(Evidence(**told))

    def _mark(self, told: list[Any]) -> Mark:
        at, kind, label, severity, line = told
        return Mark(at=at, kind=intern(kind), label=intern(label), severity=severity, evidence=self._lines[line])
