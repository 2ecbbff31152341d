"""Settings in a TOML file; whatever is wrong there is named with its line and the remedy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rebalance_forensics.job.settings import BY_NAME, Setting
from rebalance_forensics.pipeline.refusals import InputError


@dataclass(frozen=True, slots=True)
class FileSettings:
    """Settings, and where those of a file stand in it."""

    values: Mapping[str, Any]
    places: Mapping[str, str] = field(default_factory=dict)
    """By name, `job.toml:3: `."""


def from_file(path: Path) -> FileSettings:
    """The settings of a TOML file."""
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except OSError as error:
        raise InputError(f"--config {path}: {(error.strerror or str(error)).lower()}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"--config {path}: this is not TOML: {error}.") from error
    places = {name: f"{path}:{_line_of(text, name)}: " for name in values}
    written = {name: _written(name, value) for name, value in values.items()}
    for name, value in written.items():
        problem = _problem(name, value)
        if problem:
            raise InputError(f"{places[name]}{problem}.")
    return FileSettings(written, places)


def _written(name: str, value: object) -> object:
    """TOML has times of its own; here they are what a person would write on the command line."""
    return value.isoformat() if isinstance(value, date) and name in ("since", "until") else value


def _problem(name: str, value: object) -> str | None:
    setting = BY_NAME.get(name)
    if setting is None:
        near = get_close_matches(name, BY_NAME, 1)
        return f"{name} is no setting; " + (f"did you mean {near[0]}?" if near else f"use {', '.join(BY_NAME)}")
    if setting.choices:
        right, wanted = value in setting.choices, f"one of {', '.join(setting.choices)}"
        return None if right else f"{name} = {value!r}: use {wanted}"
    right, wanted = _kind(setting, value)
    return None if right else f"{name} = {value!r}: write {wanted}"


def _kind(setting: Setting, value: object) -> tuple[bool, str]:
    """Whether a value is of the right kind, and what that is."""
    if setting.flag:
        return isinstance(value, bool), "true or false"
    if setting.number:
        return isinstance(value, int) and not isinstance(value, bool) and value > 0, "a number above 0"
    if setting.repeated:
        texts = isinstance(value, list) and all(isinstance(element, str) for element in value)
        return texts, 'a list of texts, ["…"]'
    return isinstance(value, str), 'a text, "…"'


def _line_of(text: str, name: str) -> int:
    key = re.compile(rf"\s*[\[\"']*{re.escape(name)}\b(?!-)")
    return next((number for number, line in enumerate(text.splitlines(), 1) if key.match(line)), 1)
