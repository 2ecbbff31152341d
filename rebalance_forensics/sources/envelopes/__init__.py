"""Envelopes: what collectors wrap around log lines. Each is a YAML file in this folder, with samples and rejects.

A file defines either the `shape` of the text before each line as an expression, or the `keys` of a JSON object; `code`
names a class if that is not enough. To add an envelope, add a file; tests/sources/test_envelopes.py checks all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from msgspec import convert

from rebalance_forensics.sources.envelopes.base import CodedEnvelope, Envelope
from rebalance_forensics.sources.envelopes.json_envelopes import JsonEnvelope
from rebalance_forensics.sources.envelopes.text_envelopes import TextEnvelope
from rebalance_forensics.sources.layouts.definitions import Definition, Expression, definitions_in, in_code


class EnvelopeFile(Definition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The YAML file of an envelope; `keys` are the fields of JsonEnvelope, added to those of another file by `like`."""

    certain: bool = True
    shape: Expression | None = None
    only_headers: bool = False
    octal_escapes: bool = False
    not_behind: Mapping[str, Expression] = {}
    like: str | None = None
    keys: Mapping[str, Any] = {}

    def envelope(self) -> Envelope:
        """Build the envelope that the file describes."""
        settings: dict[str, Any] = {"rank": self.rank, "certain": self.certain}
        if self.shape:
            settings |= {"shape": self.pattern(self.shape), "only_headers": self.only_headers}
            settings["octal_escapes"] = self.octal_escapes
            settings["not_behind"] = {name: self.pattern(text) for name, text in self.not_behind.items()}
            return TextEnvelope(**settings)
        kind = in_code(__name__, self.code) if self.code else JsonEnvelope
        if not isinstance(kind, type):
            return CodedEnvelope(opened=kind, **settings)
        base = definitions()[self.like].keys if self.like else {}
        return cast("Envelope", convert({**base, **self.keys, **settings}, kind))


@cache
def definitions() -> Mapping[str, EnvelopeFile]:
    """The file of each envelope by name, the most specific first."""
    return definitions_in(Path(__file__).parent, EnvelopeFile)


@cache
def by_name() -> Mapping[str, Envelope]:
    """Name (that of the file, with dashes) -> envelope, the most specific first."""
    return {name: file.envelope() for name, file in definitions().items()}
