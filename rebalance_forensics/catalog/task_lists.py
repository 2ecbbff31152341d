"""Readers of the lists Kafka Streams prints: tasks, tasks by member, participants, client states."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rebalance_forensics.events.base import Assignment

# Named topologies put `name__` before the task; KIP-1071 brokers write `0-1@epoch` where clients write `0_1`.
_TASK = re.compile(r"((?:[\w.-]{1,249}__)?\d+[_-]\d+)(?:@-?\d+)?")
_OWNER = re.compile(r"([^\s,{}=\[\]]+)=\[([^\]]*)\]")
_PARTICIPANT = re.compile(r"(\S+): \[([^\]]*)\]")
_CLIENT_STATE = re.compile(r"([^\s,{=\[]+)=\[activeTasks: \(([^)]*)\) standbyTasks: \(([^)]*)\)")


def task_ids(text: str) -> tuple[str, ...]:
    """The tasks in a printed set or map (`[0_1, 0_2]`, `{0_1=[t-1]}`), by number; the partitions of a map are no tasks."""
    words = re.split(r"[\s,{}()\[\]=]+", re.sub(r"=\[[^\]]*\]", "", text))
    return tuple(sorted({task[1] for word in words if (task := _TASK.fullmatch(word))}, key=_by_number))


def tasks_by_member(text: str) -> Assignment:
    """`{c-1=[0_0, 0_1], c-2=[]}`: each member with its tasks, sorted by member."""
    return tuple(sorted((member, task_ids(tasks)) for member, tasks in _OWNER.findall(text)))


def participants(text: str) -> Assignment:
    """One `process: [member, member]` per line: each process with its members, sorted by process."""
    return tuple(sorted((process, _items(members)) for process, members in _PARTICIPANT.findall(text)))


def active_by_client(text: str) -> Assignment:
    """The active tasks in `process=[activeTasks: (…) standbyTasks: (…) …]` entries."""
    return tuple(sorted((client, task_ids(active)) for client, active, _ in _CLIENT_STATE.findall(text)))


def standby_by_client(text: str) -> Assignment:
    """The standby tasks in `process=[activeTasks: (…) standbyTasks: (…) …]` entries."""
    return tuple(sorted((client, task_ids(standby)) for client, _, standby in _CLIENT_STATE.findall(text)))


def _items(text: str) -> tuple[str, ...]:
    return tuple(item for item in re.split(r"[,\s]+", text) if item)


def _by_number(task: str) -> tuple[str, int, int]:
    head, _, partition = task.replace("-", "_").rpartition("_")
    name, _, subtopology = head.rpartition("_")
    return (name, int(subtopology), int(partition))
