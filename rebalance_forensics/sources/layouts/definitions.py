"""Loads formats: each layout and each envelope is a YAML file with samples and rejects.

An expression may be a list of pieces and refer to others in braces: those in `parts` of its own file, and shared ones
(`{DATED}`, `{LEVEL}` …). `code` and `then` name a class or a function in the same folder if a format needs more than an
expression or names of keys.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import yaml
from msgspec import Struct, ValidationError, convert

from rebalance_forensics.sources.layouts import base
from rebalance_forensics.sources.layouts.header_remainder import OPENING
from rebalance_forensics.sources.lines.text import JVM_OUTPUT
from rebalance_forensics.sources.times.zones import ZONE

Expression = str | list[str]
"""A regular expression, whole or in pieces."""

# BaseLoader keeps every scalar as text: `10:15:30` is not a base-60 number and `no` is not a boolean.
_Loader: type[yaml.BaseLoader] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_SHARED = {
    "DATED": base.DATED,
    "CLOCK": base.CLOCK,
    "LEVEL": base.LEVEL,
    "LOGGER": base.LOGGER,
    "DOTTED": base.DOTTED,
    "NESTING": base.NESTING,
    "OPENING": OPENING,
    "ZONE": ZONE,
    "JVM_OUTPUT": JVM_OUTPUT,
}
_REFERENCE = re.compile(r"\{([A-Z_]+)\}")
_BEGINNINGS = {
    "DIGIT": tuple("0123456789"),
    "YEAR": ("20", "19"),
    "MONTH": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
}


class Sample(Struct, frozen=True, forbid_unknown_fields=True):
    """A text in the format, and the fields read from it."""

    line: str
    fields: Mapping[str, str]


class Definition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Keys that the files of layouts and envelopes share.

    `about` is the row in docs/formats.md. Formats of lower `rank` are tried first: specific ones before general ones.
    """

    about: str
    rank: int
    parts: Mapping[str, Expression] = {}
    code: str | None = None
    samples: tuple[Sample, ...]
    rejects: tuple[str, ...]

    def pattern(self, expression: Expression) -> re.Pattern[str]:
        """The compiled expression, whose group message or text runs to the end of the record."""
        return re.compile(_expanded(expression, self.parts), re.DOTALL)


D = TypeVar("D", bound=Definition)


def definitions_in(folder: Path, kind: type[D]) -> dict[str, D]:
    """Name (that of the file, with dashes) -> definition in a folder, in the order in which they are tried."""
    found = {path.stem.replace("_", "-"): _definition(path, kind) for path in folder.glob("*.yaml")}
    return dict(sorted(found.items(), key=lambda item: (item[1].rank, item[0])))


def _definition(path: Path, kind: type[D]) -> D:
    try:
        return convert(yaml.load(path.read_bytes(), Loader=_Loader), kind, strict=False)  # noqa: S506 - texts only
    except (yaml.YAMLError, ValidationError) as error:
        raise ValueError(f"{path}: {error}") from error


def _expanded(expression: Expression, parts: Mapping[str, Expression]) -> str:
    text = expression if isinstance(expression, str) else "".join(expression)
    return _REFERENCE.sub(lambda found: _expanded(parts.get(found[1]) or _SHARED[found[1]], parts), text)


def beginnings(starts: Sequence[str]) -> tuple[bytes, ...]:
    """The bytes that a first line can start with: `[{DIGIT}` expands to ten."""
    return tuple(
        "".join(pieces).encode()
        for start in starts
        for pieces in product(*(_BEGINNINGS.get(piece, (piece,)) for piece in re.split(r"[{}](?=\w|\Z)|\}", start)))
    )


def in_code(package: str, name: str) -> Any:  # noqa: ANN401 - a class or a function
    """The class or function that a file of this package names as `module.name`."""
    module, _, attribute = name.partition(".")
    return getattr(importlib.import_module(f"{package}.{module}"), attribute)
