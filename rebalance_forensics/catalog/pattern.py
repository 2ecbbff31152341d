"""A pattern as its YAML file says it: templates, samples, rejects, each with its line in the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from rebalance_forensics.catalog.fields import Constant

Text = Annotated[str, Meta(min_length=1)]


class Template(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One wording: its text, who logs it since when, and the constants it sets."""

    text: Text
    line: int
    logged_by: str | None = None
    releases: str | None = None
    constants: Mapping[str, Constant] = field(name="set", default_factory=dict)


class Sample(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message that must match, and the fields it must yield; or, as a reject, one that must not."""

    name: Text
    message: str
    line: int
    fields: Mapping[str, object] | None = None


class Pattern(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message of Kafka's: `id` is its path. A fragment is a part of messages and has no event."""

    id: str
    path: Path
    event: str | None = None
    meaning: str = ""
    templates: tuple[Template, ...] = ()
    loggers: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    """The programs that print these words, as syslog names them, with `*` for any letters; a logger never does."""
    beside: str | None = None
    """What finds a line whose message has no rare words: the name of its program, which has to stand beside it."""
    prefixes: tuple[str, ...] = ()
    """The innermost log prefix must be one of these; for words that several speakers share."""
    in_doubt: str | None = None
    """The pattern that says less: a line of which too little is left to tell the two apart is read as that."""
    line: int = 1
    fragment: str | None = None
    samples: tuple[Sample, ...] = ()
    rejects: tuple[Sample, ...] = ()


class ErrorWording(Struct, frozen=True, forbid_unknown_fields=True):
    """What stands for an error in logs: its number in the protocol, its texts, and the exceptions that carry it."""

    code: int | None = None
    texts: tuple[str, ...] = ()
    exceptions: tuple[str, ...] = ()


class PatternSet(Struct, frozen=True):
    """All that the pattern files of one run say."""

    patterns: tuple[Pattern, ...]
    errors: Mapping[str, ErrorWording]


class Problem(Struct, frozen=True):
    """What is wrong with a pattern file, where, and what to do about it."""

    path: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        """As editors and people read it: file:line: sentence."""
        return f"{self.path}:{self.line}: {self.sentence}"


class PatternError(ValueError):
    """A pattern file that cannot be read at all."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem
