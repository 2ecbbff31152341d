"""A pattern as in its YAML file: templates, samples and rejects, each with its line in the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from rebalance_forensics.catalog.fields import Constant

Text = Annotated[str, Meta(min_length=1)]


class Template(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One wording: its text, the class and releases that log it, and the constants it sets."""

    text: Text
    line: int
    logged_by: str | None = None
    releases: str | None = None
    constants: Mapping[str, Constant] = field(name="set", default_factory=dict)


class Sample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message that must match and yield these fields; as a reject, one that must not match."""

    name: Text
    message: str
    line: int
    fields: Mapping[str, object] | None = None


class Pattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One log message; `id` is its path. A fragment is a part of messages and has no event."""

    id: str
    path: Path
    event: str | None = None
    meaning: str = ""
    templates: tuple[Template, ...] = ()
    loggers: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    """The programs that print this message, as syslog names them, with `*` as a wildcard; loggers never print it."""
    beside: str | None = None
    """The program name to search for if the message has no rare words; the line must contain it."""
    prefixes: tuple[str, ...] = ()
    """The innermost log prefix must be one of these; for messages that several kinds of process share."""
    in_doubt: str | None = None
    """The less specific pattern that a truncated line is read as if the two cannot be distinguished."""
    line: int = 1
    fragment: str | None = None
    samples: tuple[Sample, ...] = ()
    rejects: tuple[Sample, ...] = ()


class ErrorWording(Struct, frozen=True, forbid_unknown_fields=True):
    """How logs denote an error: its code in the protocol, its texts and its exceptions."""

    code: int | None = None
    texts: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()


class PatternSet(Struct, frozen=True):
    """The contents of all pattern files of a run."""

    patterns: tuple[Pattern, ...]
    errors: Mapping[str, ErrorWording]


class Problem(Struct, frozen=True):
    """A problem in a pattern file: where it is and what to do about it."""

    path: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        """`file:line: sentence`, as editors parse it."""
        return f"{self.path}:{self.line}: {self.sentence}"


class PatternError(ValueError):
    """A pattern file that cannot be loaded."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem
