"""Loads pattern files: finds the shipped ones and converts YAML to patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from rebalance_forensics.catalog.fields import frozen
from rebalance_forensics.catalog.pattern import ErrorWording, Pattern, PatternError, PatternSet, Problem
from rebalance_forensics.events import EVENT_TYPES

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FRAGMENTS = "fragments"


def shipped_patterns() -> Path:
    """The shipped patterns: inside the installed package, or next to it in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "_shipped"
    return installed if installed.is_dir() else package.parents[1] / "patterns"


def pattern_files(directories: Iterable[Path]) -> tuple[tuple[Path, str], ...]:
    """Every pattern file with its id, sorted by id; a file in a later directory replaces one with the same id."""
    found = {
        pattern_id(path, directory): path
        for directory in directories
        for path in directory.rglob("*.yaml")
        if path.is_file()
    }
    return tuple((path, identifier) for identifier, path in sorted(found.items()))


def pattern_id(path: Path, directory: Path) -> str:
    """`broker/member_failed.yaml` is called broker/member-failed."""
    return path.relative_to(directory).with_suffix("").as_posix().replace("_", "-")


def load_all(files: Iterable[tuple[Path, str]]) -> PatternSet:
    """Load every file; PatternError for the first that is not a pattern."""
    patterns: list[Pattern] = []
    errors: dict[str, ErrorWording] = {}
    for path, identifier in files:
        if names_errors(identifier):
            errors |= load_errors(path)
        else:
            patterns.append(load_pattern(path, identifier))
    return PatternSet(tuple(patterns), errors)


def names_errors(identifier: str) -> bool:
    """True for `fragments/errors.yaml`, which is not a pattern but lists Kafka's error codes."""
    return identifier == f"{FRAGMENTS}/errors"


def load_errors(path: Path) -> Mapping[str, ErrorWording]:
    """The texts and exception classes of each error code."""
    file = _File(path)
    return file.converted(file.document(), _ErrorsFile).errors


def load_pattern(path: Path, identifier: str) -> Pattern:
    """Load one file; PatternError says where it is invalid."""
    file = _File(path)
    try:
        node = file.document()
        found = file.converted(node, Pattern, {"id": identifier, "path": path})
    except RecursionError as error:
        raise file.error(1, "the file contains itself (& and *), or brackets without end") from error
    if found.event is None and found.fragment is None and all(key.value != "event" for key, _ in node.value):
        raise file.error(1, "no event: is named; write the class in events/, or event: null")
    if found.event is not None and found.event not in EVENT_TYPES:
        raise file.error(found.line, f"there is no event {found.event}; docs/events.md lists them")
    return replace(found, meaning=found.meaning.strip())


class _ErrorsFile(Struct, forbid_unknown_fields=True):
    errors: Mapping[str, ErrorWording] = {}
    line: int = 1


F = TypeVar("F")
_STEP = re.compile(r"\.(?P<key>\w+)|\[(?P<index>\d+)\]")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`")
# Keys whose values are typed; everywhere else every scalar is a text, including `2.4` and `no`.
_TYPED = frozenset({"set", "fields", "errors"})
# Keys whose line a problem with a whole pattern, template or sample is reported at.
_HEADS = ("text", "message", "event", "fragment")


class _File:
    """One YAML document; its problems are reported by line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, line: int, sentence: str) -> PatternError:
        return PatternError(Problem(self.path, line, f"{sentence}."))

    def document(self) -> yaml.Node:
        try:
            node = yaml.compose(self.path.read_text(encoding="utf-8"), Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise self.error(line, f"this is not YAML: {error.problem}") from error
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise self.error(1, f"the file cannot be read: {error}") from error
        if node is None:
            raise self.error(1, "the file is empty")
        return node

    def converted(self, node: yaml.Node, kind: type[F], known: Mapping[str, object] | None = None) -> F:
        """The document as this type; PatternError names the line that does not fit."""
        value = self._value(node)
        try:
            return convert({**value, **(known or {})} if isinstance(value, dict) else value, kind)
        except ValidationError as error:
            problem, _, path = str(error).partition(" - at `$")
            if unknown := _UNKNOWN.fullmatch(problem):
                problem, path = (
                    f"nothing is called {unknown['key']!r} here; docs/adding-a-pattern.md lists the keys",
                    f"{path}.{unknown['key']}",
                )
            place = node
            for step in _STEP.finditer(path):
                if step["index"]:
                    place = node = node.value[int(step["index"])]
                else:
                    place, node = next((entry for entry in node.value if entry[0].value == step["key"]), (place, node))
            raise self.error(place.start_mark.line + 1, problem) from error

    def _value(self, node: yaml.Node, *, typed: bool = False) -> Any:  # noqa: ANN401 - any of YAML's
        """A value as plain Python, with its line if it is a mapping; dates and the like stay texts."""
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, typed=typed) for item in node.value]
        if not isinstance(node, yaml.MappingNode):
            return _scalar(node, typed=typed)
        found: dict[str, Any] = {}
        for key, value in node.value:
            if key.value in found:
                raise self.error(key.start_mark.line + 1, f"duplicate key {key.value}:")
            found[str(key.value)] = self._value(value, typed=typed or key.value in _TYPED)
        if typed:
            return found
        if isinstance(found.get("set"), dict):
            found["set"] = {name: frozen(value) for name, value in found["set"].items()}
        head = next((key for name in _HEADS for key, _ in node.value if key.value == name), node)
        return {**found, "line": head.start_mark.line + 1}


def _scalar(node: yaml.Node, *, typed: bool) -> object:
    text = str(node.value)
    kind = node.tag.rpartition(":")[2]
    if kind == "null":
        return None
    if typed and kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if typed and kind == "int" and text.lstrip("-").isdigit():
        return int(text)
    if typed and kind == "float" and text.replace(".", "", 1).lstrip("-").isdigit():
        return float(text)
    return text
