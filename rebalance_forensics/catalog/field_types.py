"""The types of holes: what Kafka prints for a value, and how it is read back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from rebalance_forensics.catalog import java_values
from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.settings import read_settings


class HoleType(Struct, frozen=True):
    """One type: `source` is its program, `read` its value, or several fields as a mapping.

    `loose` is a second program, tried when no template matches with the first. `composite` types yield fields
    of their own names; the text of such a hole is kept too if the event has a field of the hole's name.
    """

    source: str
    read: Callable[[str], FieldValue | dict[str, FieldValue]]
    loose: str | None = None
    composite: bool = False


_COLLECTION = r"(?:[A-Z]\w*|set|frozenset)?[\[({][^\n]*?[\])}]|[^\s\[\](){}][^\n\[\](){}]*?|"
# Go prints a map of topics as `orders[0 1], returns[0]`.
_PARTITIONS = rf"(?:\S+?\[[\d ]*\](?:, )?)+|{_COLLECTION}"
_OPTION = r"Some\([^\n]*?\)|Optional(?:Int|Long)?\[[^\n]*?\]|Optional(?:Int|Long)?\.empty"
ANY = r"(?s:.*?)"
_MASKED = r"\*{2,}(?::\*+)?|[xX]{3,}|<[\w .-]{1,40}>(?::<[\w .-]{1,40}>)?"
"""What people put in place of an address before they publish a log."""

TYPES: Mapping[str, HoleType] = {
    "id": HoleType(r"\S+?", java_values.name, loose=r"[^\n]+?"),
    "word": HoleType(r"""[^\s,;()\[\]{}'"]+?""", str),
    "text": HoleType(ANY, str),
    "line": HoleType(r"[^\n]*?", str),
    "uncoded": HoleType(r"[^\n]*?", java_values.uncoded),
    "rest": HoleType(r"(?s:.*)", str.strip),
    "dot": HoleType(r"\.", str),
    "int": HoleType(r"-?\d+", java_values.integer),
    "float": HoleType(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", java_values.decimal),
    "bool": HoleType(r"(?i:true|false)", lambda text: text.lower() == "true"),
    "option": HoleType(rf"{_OPTION}|[^\s(){{}}\[\]]*?", java_values.option, loose=rf"{_OPTION}|[^\n(){{}}\[\]]*?"),
    "option_int": HoleType(rf"{_OPTION}|-?\d+|None|null", java_values.option_int),
    "list": HoleType(_COLLECTION, java_values.items),
    # kafka-go's default client id has blanks and brackets, and with it every member id made of it.
    "ids": HoleType(_COLLECTION, java_values.items, loose=rf"{_COLLECTION}|[^\s\[\](){{}}]+ [^\n\[\]{{}}]+?"),
    "partitions": HoleType(_PARTITIONS, java_values.partitions),
    "assignment": HoleType(r"\{(?s:.*?)\}", java_values.assignment),
    "plan": HoleType(r"[^\s{},][^\n{}]*\{[^\n]*\}", java_values.plan),
    "target": HoleType(ANY, java_values.target, composite=True),
    "settings": HoleType(r"(?s:.*)", read_settings),
    "epoch_ms": HoleType(r"-?\d+|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d{3} \S+?", java_values.epoch_ms),
    "connection": HoleType(r"[-+]?\d+", java_values.connection),
    "node": HoleType(
        rf"(?:\S*? )?\(id: [-+]?\d+(?: rack: [^()\n]*)?\)|[^\s()]+:\d+|null|{_MASKED}",
        java_values.node,
        composite=True,
    ),
    "tasks": HoleType(_COLLECTION, java_values.tasks),
    "tasks_by_member": HoleType(r"\{[^\n]*?\}", java_values.tasks_by_member),
    "participants": HoleType(ANY, java_values.participants),
    "client_states": HoleType(ANY, java_values.client_states, composite=True),
}
"""The types written in Python; `error` and those of patterns/fragments come from data."""


def choices(spec: str) -> HoleType:
    """The type of `{phase:starting|started}`: one of the words named."""
    return HoleType("|".join(re.escape(word) for word in spec.split("|")), str)
