"""How Kafka Streams prints tasks, participants and client states, read back."""

from __future__ import annotations

import re

from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.java_values import items

_TASK = re.compile(r"(?<!\w)(?:\w+__)?\d+_\d+")
_NOTHING = re.compile(r"[\W_]*+(?:(?:null|None|Set|List|HashSet)[\W_]*+)?")
_OWNER = re.compile(r"(?:^|[{\n]|,\s)[^\S\n]*+([^={}\[\],\n]+?)=\[([^\[\]]*)\]")
_PARTICIPANT = re.compile(r"(?:^|[{\n]|[\]),]\s)[^\S\n]*+([^:=\n\[\]{),]+?)(?:(?<!\s)\s++)?[:=]\s*+(\[[^\[\]]*\])")
_CLIENT = re.compile(r"(?:^|[{\n]|\],?\s)[^\S\n]*+([^={}\[\]\s]++)=\[(?=activeTasks)")
_ACTIVE = re.compile(r"activeTasks: \(([^()]*)\)")
_STANDBY = re.compile(r"standbyTasks: \(([^()]*)\)")


def tasks(text: str) -> tuple[str, ...]:
    """Task ids (`0_1`, `topology__0_1`), whatever collection they stand in."""
    found = tuple(_TASK.findall(text))
    if not found and not _NOTHING.fullmatch(text):
        raise ValueError(text)
    return found


def tasks_by_member(text: str) -> FieldValue:
    """Member -> tasks, from `{c-1=[0_0, 0_1], c-2=[]}`."""
    return tuple(sorted((member.strip(), tasks(owned)) for member, owned in _OWNER.findall(text)))


def participants(text: str) -> FieldValue:
    """Process -> consumer member ids, from `p-1: [c-1, c-2]` line by line."""
    return tuple(sorted((process.strip(), items(members)) for process, members in _PARTICIPANT.findall(text)))


def client_states(text: str) -> dict[str, FieldValue]:
    """Process -> tasks as `assignment` and `standby`, from `p-1=[activeTasks: ([0_0]) standbyTasks: ([])]`."""
    starts = [(match[1], match.end()) for match in _CLIENT.finditer(text)]
    ends = [start for _, start in starts[1:]] + [len(text)]
    states = [(process, text[start:end]) for (process, start), end in zip(starts, ends, strict=True)]
    return {"assignment": _held(states, _ACTIVE), "standby": _held(states, _STANDBY)}


def _held(states: list[tuple[str, str]], kind: re.Pattern[str]) -> FieldValue:
    matches = ((process, kind.search(state)) for process, state in states)
    return tuple(sorted((process, tasks(match[1]) if match else ()) for process, match in matches))
