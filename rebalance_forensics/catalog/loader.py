"""Pattern files from disk: where the shipped ones are, and YAML to patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import cast

import yaml

from rebalance_forensics.catalog.fields import frozen
from rebalance_forensics.catalog.pattern import Pattern, PatternError, PatternSet, Problem, Sample, Template
from rebalance_forensics.events import EVENT_TYPES

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FRAGMENTS = "fragments"

_PATTERN_KEYS = frozenset(
    {"event", "fragment", "meaning", "loggers", "prefixes", "in_doubt", "templates", "samples", "rejects"}
)
_TEMPLATE_KEYS = frozenset({"text", "logged_by", "releases", "set"})
_SAMPLE_KEYS = frozenset({"name", "message", "fields"})


def shipped_patterns() -> Path:
    """The patterns we ship: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / "_shipped"
    return installed if installed.is_dir() else package.parents[1] / "patterns"


def pattern_files(directories: Iterable[Path]) -> tuple[tuple[Path, str], ...]:
    """Every pattern file with its id, sorted by id; a later directory's file replaces an earlier one of the same id."""
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
    """Read every file; the first that is no pattern raises PatternError."""
    patterns: list[Pattern] = []
    errors: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for path, identifier in files:
        if names_errors(identifier):
            errors |= load_errors(path)
        else:
            patterns.append(load_pattern(path, identifier))
    return PatternSet(tuple(patterns), errors)


def names_errors(identifier: str) -> bool:
    """`fragments/errors.yaml` is no pattern: it lists Kafka's error codes."""
    return identifier == f"{FRAGMENTS}/errors"


def load_errors(path: Path) -> dict[str, Mapping[str, tuple[str, ...]]]:
    """The texts and exception classes of each error code."""
    reading = _Reading(path)
    _, top = reading.mapping(reading.document(), frozenset({"errors"}))
    lines, named = reading.mapping(top["errors"], None) if "errors" in top else ({}, {})
    return {name: reading.error_texts(lines[name], node) for name, node in named.items()}


def load_pattern(path: Path, identifier: str) -> Pattern:
    """Read one file; PatternError says where it is not a pattern."""
    reading = _Reading(path)
    try:
        return reading.pattern(identifier)
    except RecursionError as error:
        raise reading.error(1, "the file contains itself (& and *), or brackets without end") from error


class _Reading:
    """One YAML document while it is taken apart, its lines kept."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def error(self, line: int, sentence: str) -> PatternError:
        return PatternError(Problem(self.path, line, f"{sentence}."))

    def pattern(self, identifier: str) -> Pattern:
        lines, values = self.mapping(self.document(), _PATTERN_KEYS)
        is_fragment = "fragment" in values
        if not is_fragment and "event" not in values:
            raise self.error(1, "no event: is named; write the class in events/, or event: null")
        event = self.text(values.get("event"))
        if event is not None and event not in EVENT_TYPES:
            raise self.error(lines["event"], f"there is no event {event}; docs/events.md lists them")
        return Pattern(
            id=identifier,
            path=self.path,
            event=event,
            fragment=self.text(values.get("fragment")),
            meaning=(self.text(values.get("meaning")) or "").strip(),
            loggers=tuple(self.texts("loggers", lines, values)),
            prefixes=tuple(self.texts("prefixes", lines, values)),
            in_doubt=self.text(values.get("in_doubt")),
            line=lines.get("event", lines.get("fragment", 1)),
            templates=tuple(self.template(node) for node in self.items(values.get("templates"))),
            samples=tuple(self.sample(node) for node in self.items(values.get("samples"))),
            rejects=tuple(self.sample(node) for node in self.items(values.get("rejects"))),
        )

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

    def mapping(self, node: yaml.Node, known: frozenset[str] | None) -> tuple[dict[str, int], dict[str, yaml.Node]]:
        if not isinstance(node, yaml.MappingNode):
            raise self.error(node.start_mark.line + 1, "a mapping is wanted here")
        lines: dict[str, int] = {}
        values: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if known is not None and name not in known:
                raise self.error(line, f"nothing is called {name!r} here; there are {', '.join(sorted(known))}")
            if name in values:
                raise self.error(line, f"{name}: stands here a second time")
            lines[name], values[name] = line, value
        return lines, values

    def error_texts(self, line: int, node: yaml.Node) -> Mapping[str, tuple[str, ...]]:
        value = self.value(node)
        if not isinstance(value, dict) or not set(value) <= {"texts", "exceptions"}:
            raise self.error(line, "an error code has texts: and exceptions:, both lists")
        return {key: tuple(str(item) for item in items) for key, items in value.items()}

    def items(self, node: yaml.Node | None) -> Sequence[yaml.Node]:
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node.start_mark.line + 1, "a list is wanted here; begin each item with a dash")
        return cast("list[yaml.Node]", node.value)

    def template(self, node: yaml.Node) -> Template:
        lines, values = self.mapping(node, _TEMPLATE_KEYS)
        line = lines.get("text", node.start_mark.line + 1)
        text = self.text(values.get("text"))
        if not text:
            raise self.error(line, "a template without text:")
        constants = self.value(values["set"]) if "set" in values else {}
        if not isinstance(constants, dict):
            raise self.error(lines["set"], "set: wants field names and values")
        return Template(
            text=text,
            line=line,
            logged_by=self.text(values.get("logged_by")),
            releases=self.text(values.get("releases")),
            constants={str(name): frozen(value) for name, value in constants.items()},
        )

    def sample(self, node: yaml.Node) -> Sample:
        lines, values = self.mapping(node, _SAMPLE_KEYS)
        line = lines.get("message", node.start_mark.line + 1)
        name, message = self.text(values.get("name")), self.text(values.get("message"))
        if not name or message is None:
            raise self.error(line, "a sample wants a name: and a message:")
        fields = self.value(values["fields"]) if "fields" in values else None
        if fields is not None and not isinstance(fields, dict):
            raise self.error(lines["fields"], "fields: wants field names and values")
        return Sample(name=name, message=message, line=line, fields=cast("Mapping[str, object] | None", fields))

    def texts(self, key: str, lines: Mapping[str, int], values: Mapping[str, yaml.Node]) -> list[str]:
        value = self.value(values[key]) if key in values else []
        if not isinstance(value, list):
            raise self.error(lines[key], f"{key}: wants a list of names")
        return [str(item) for item in value]

    def text(self, node: yaml.Node | None) -> str | None:
        if node is None or node.tag == "tag:yaml.org,2002:null":
            return None
        if not isinstance(node, yaml.ScalarNode):
            raise self.error(node.start_mark.line + 1, "a text is wanted here; put it in double quotes")
        return str(node.value)

    def value(self, node: yaml.Node) -> object:
        """A value in plain Python; dates and the like stay texts, as no field is one."""
        if isinstance(node, yaml.MappingNode):
            return {str(key.value): self.value(item) for key, item in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        return _scalar(node)


def _scalar(node: yaml.Node) -> object:
    text = str(node.value)
    kind = node.tag.rpartition(":")[2]
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() in ("true", "yes", "on")
    if kind == "int" and text.lstrip("-").isdigit():
        return int(text)
    if kind == "float":
        return float(text) if text.replace(".", "", 1).lstrip("-").isdigit() else text
    return text
