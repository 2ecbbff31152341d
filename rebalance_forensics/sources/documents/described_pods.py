"""Output of `kubectl describe`: the fields of pods, workloads or nodes, and a table of their events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from rebalance_forensics.records import EpochMs
from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.envelopes.kubernetes import ended_container, row_of_pod, running_container, written
from rebalance_forensics.sources.lines.text import lines_of, text_of

_BEGINS = re.compile(r"Name: +\S+\r?\n(?:[A-Z][\w ]*:[^\n]*\n)*?(?:Namespace|Roles|Labels|CreationTimestamp): ")
_FIELD = re.compile(r"(?P<blanks> *)(?P<name>[A-Z][\w ]*):(?P<value>.*)")
_CONTAINER = re.compile(r"  (?P<name>[a-z0-9][a-z0-9-]*):\s*\Z")
# Fields that only one kind of object has; of all others (pods, workloads) only the events are read.
_KINDS = {"Roles": "node", "StrategyType": "deployment", "Reference": "horizontalpodautoscaler", "Controlled By": "pod"}


def is_document(text: str) -> bool:
    """True if a text starts such a description."""
    return _BEGINS.match(text) is not None


class _Object:
    """A described object, as far as it has been read."""

    def __init__(self, name: str) -> None:
        self.name, self.kind = name, "pod"
        self.namespace: str | None = None
        self.node: str | None = None
        self.container: str | None = None
        self.states: list[tuple[int, int, dict[str, str]]] = []
        """Those of the container that is being read: where each stands, what it says."""

    def line(self, kind: str, reason: str, message: str, at: EpochMs | None) -> Line:
        """The line of an event of the object."""
        about = f"{self.kind}/{self.name}"
        return Line(text=written(kind, reason, about, message, namespace=self.namespace, node=self.node), at=at)

    def of_container(self, name: str | None = None) -> Iterator[Placed]:
        """The states of the container that was read up to here; the next one is called `name`."""
        for offset, number, state in self.states:
            if state["is"] == "Terminated" and "Exit Code" in state:
                message = ended_container(self.container, state["Exit Code"], state.get("Reason"))
                yield offset, number, self.line("Warning", "Terminated", message, _instant(state.get("Finished")))
            elif state["is"] == "Running" and "Started" in state:
                message = running_container(self.container, self.states[-1][2].get("Restart Count"))
                yield offset, number, self.line("Normal", "Running", message, _instant(state["Started"]))
        self.states, self.container = [], name


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """Starts and ends of containers, and the events, as lines; ages are relative to an unknown time."""
    about = _Object("")
    in_events, offset = False, 0
    for number, raw in enumerate(lines_of(chunks), 1):
        text, place = text_of(raw.rstrip(b"\r\n")), (offset, number)
        offset += len(raw)
        field = _FIELD.fullmatch(text)
        if field is not None and not field["blanks"]:
            yield from about.of_container()
            in_events = field["name"] == "Events"
            if field["name"] == "Name":
                about = _Object(field["value"].strip())
            elif field["name"] == "Namespace":
                about.namespace = field["value"].strip()
            elif field["name"] == "Node":
                about.node = field["value"].partition("/")[0].strip()
            about.kind = _KINDS.get(field["name"], about.kind)
        elif in_events:
            if (line := row_of_pod(text, f"{about.kind}/{about.name}", about.namespace, about.node)) is not None:
                yield *place, line
        elif container := _CONTAINER.fullmatch(text):
            yield from about.of_container(container["name"])
        elif field is not None and field["name"] in ("State", "Last State"):
            about.states.append((*place, {"is": field["value"].strip()}))
        elif field is not None and about.states:
            about.states[-1][2].setdefault(field["name"], field["value"].strip())
    yield from about.of_container()


def _instant(text: str | None) -> EpochMs | None:
    # Go's RFC1123Z: `Fri, 20 Nov 2026 10:15:30 +0100`.
    try:
        return EpochMs(parsedate_to_datetime(text or "").timestamp() * 1000)
    except ValueError:
        return None
