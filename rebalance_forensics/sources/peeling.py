"""From a raw line to what the logger wrote: envelopes are peeled one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rebalance_forensics.sources import envelopes, layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.json_fields import Fields, object_of

_DEEPEST = 6
_FALLBACK_RANK = 80
"""Layouts from this rank on have no header of their own, so they prove nothing about what is around them."""


def has_header(text: str) -> bool:
    """Whether a record starts here, in a layout that has a header of its own."""
    if text[:1] in (" ", "\t", ""):
        return False
    name = layouts.header_layout(text)
    return name is not None and layouts.by_name()[name].rank < _FALLBACK_RANK


def parse_fields(fields: Fields, first: str | None = None) -> tuple[str, Parsed] | None:
    """Take a record apart that is a JSON object: the layout it is expected in, else the first that knows it."""
    known = layouts.by_name()
    names = (first, *known) if first in known else tuple(known)
    for name in names:
        read = getattr(known[str(name)], "parse_fields", None)
        if read and (parsed := read(fields)):
            return str(name), parsed
    return None


def _settle(line: Line) -> Line:
    """Decide what a JSON object is: a record by itself, or the wrapping of a text."""
    fields = line.fields
    if fields is None:
        return line
    if line.text and has_header(line.text):
        return replace(line, fields=None)
    found = parse_fields(fields)
    if found and (found[1].level or found[1].logger) and found[1].message:
        return line
    return replace(line, fields=None)


def _peel(line: Line, name: str) -> list[Line] | None:
    inside = envelopes.by_name()[name].peel(line)
    if inside is None:
        return None
    chain = (*line.envelopes, name)
    return [_settle(replace(each, envelopes=chain)) for each in inside]


def _sniffed(line: Line) -> list[Line] | None:
    """Peel one envelope that shows by itself, or whose content does; None when there is none."""
    if line.fields is not None or not line.text:
        return None
    for name, envelope in envelopes.by_name().items():
        if envelope.certain and (inside := _peel(line, name)) is not None:
            return inside
    if line.text.startswith("{") and object_of(line.text) is not None:
        inside = _peel(line, "json-text")
        return inside if inside and inside[0].fields is None and has_header(inside[0].text) else None
    if has_header(line.text) and not (layouts.header_layout(line.text) == "dated-message"):
        return None
    for name, envelope in envelopes.by_name().items():
        if not envelope.certain and (inside := _peel(line, name)) and _convincing(inside[0]):
            return inside
    return None


def _convincing(line: Line) -> bool:
    """Whether a wrapping is proven by what it held."""
    if line.fields is not None or has_header(line.text):
        return True
    return _opens(line)


def _opens(line: Line) -> bool:
    """Whether a certain envelope is inside."""
    return any(envelope.certain and envelope.peel(line) is not None for envelope in envelopes.by_name().values())


def opened(line: Line, chain: Sequence[str] = ()) -> list[Line]:
    """Peel a line: first the envelopes of its file, then whatever else is around it."""
    lines, depth = [line], 0
    for name in chain:
        peeled = [inside for each in lines for inside in (_peel(each, name) or [each])]
        if any(each.fields is not None for each in peeled):
            return peeled
        lines = peeled
    done: list[Line] = []
    while lines and depth < _DEEPEST:
        depth += 1
        waiting: list[Line] = []
        for each in lines:
            if chain and (not each.text.startswith(("{", "<", "\x1b"))) and len(each.envelopes) >= len(chain):
                done.append(each)
            elif (inside := _sniffed(each)) is None:
                done.append(each)
            else:
                waiting.extend(inside)
        lines = waiting
    return done + lines
