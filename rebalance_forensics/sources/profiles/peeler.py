"""Removes the envelopes around a raw line, one after another."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources import envelopes, layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.envelopes.colours import is_coloured, without_colours
from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.json_fields import Fields, object_of

_DEEPEST = 6
_ANY_OBJECT = "json-object"
_DATED = "dated-message"


def parse_fields(fields: Fields, first: str | None = None) -> tuple[str, Parsed] | None:
    """Parse a record that is a JSON object, with its expected layout or the first that matches."""
    known = layouts.by_name()
    names = (first, *known) if first in known else tuple(known)
    for name in names:
        read = getattr(known[str(name)], "parse_fields", None)
        if read and (parsed := read(fields)):
            return str(name), parsed
    return None


def _settle(line: Line, layout: str | None) -> Line:
    """Classify a JSON object as a record or as the envelope of a text."""
    # Shippers add a level to every line, including those that continue a record: in a file of text records a level
    # alone does not make a record.
    fields = line.fields
    if fields is None:
        return line
    line = replace(line, text=without_colours(line.text))
    expected = layouts.by_name().get(layout) if layout else None
    if line.text and ((expected and expected.is_header(line.text)) or layouts.begins_record(line.text)):
        return replace(line, fields=None)
    found = parse_fields(fields)
    in_text = layout is not None and layout in layouts.by_name() and not layouts.is_json(layout)
    if found and found[1].message and (found[1].logger or found[1].level) and not (in_text and found[0] == _ANY_OBJECT):
        return line
    return replace(line, fields=None)


def _peel(line: Line, name: str, layout: str | None = None) -> list[Line] | None:
    inside = envelopes.by_name()[name].peel(line)
    if inside is None:
        return None
    chain = (*line.envelopes, name)
    return [_settle(replace(each, envelopes=chain), layout) for each in inside]


def _sniffed(line: Line, layout: str | None) -> list[Line] | None:
    """Remove an envelope that is recognized by itself or by its content; None if there is none."""
    if line.envelopes if line.fields is not None else not line.text:
        return None
    for name, envelope in envelopes.by_name().items():
        if envelope.certain and (inside := _peel(line, name, layout)) is not None:
            return inside
    if line.fields is not None or (line.text.startswith("{") and object_of(line.text) is not None):
        inside = _peel(line, "json-text", layout)
        return inside if inside and inside[0].fields is None and layouts.begins_record(inside[0].text) else None
    own = layouts.header_layout(line.text)
    if own == "logfmt":
        inside = _peel(line, "logfmt-text", layout)
        return inside if inside and layouts.begins_record(inside[0].text) else None
    dated = own == _DATED
    if not dated and layouts.begins_record_in(own, line.text):
        return None
    for name, envelope in envelopes.by_name().items():
        if (
            not envelope.certain
            and (inside := _peel(line, name, layout))
            and (not dated or _behind_its_time(line.text, inside[0]))
            and _convincing(inside[0], surely=dated and line.text.endswith(inside[0].text))
        ):
            return inside
    return None


def _behind_its_time(text: str, inside: Line) -> bool:
    """True if the content of a line starts after the time at its start."""
    if inside.fields is not None or not text.endswith(inside.text):
        return True
    return len(text) - len(inside.text) >= layouts.end_of_time(text)


def _convincing(line: Line, depth: int = 1, *, surely: bool) -> bool:
    """True if the content proves the envelope: the start of a record, or another envelope that is proven."""
    if line.fields is not None or (_is_sure(line.text) if surely else layouts.header_layout(line.text) is not None):
        return True
    for name, envelope in envelopes.by_name().items():
        if (
            (envelope.certain or depth)
            and (inside := _peel(line, name))
            and (envelope.certain or _convincing(inside[0], depth - 1, surely=surely))
        ):
            return True
    return False


def _is_sure(text: str) -> bool:
    found = layouts.parse(text)
    return found is not None and (found[1].stamp is not None or layouts.begins_record(text))


def _chain_step(line: Line, name: str, layout: str | None) -> list[Line]:
    inside = _peel(line, name, layout)
    return [line] if inside is None else inside


def opened(line: Line, chain: Sequence[str] = (), layout: str | None = None) -> list[Line]:
    """Remove the envelopes of a line: first those of its file, whose records have `layout`, then any others."""
    lines, depth = [line], 0
    for name in chain:
        peeled = [inside for each in lines for inside in _chain_step(each, name, layout)]
        if any(each.fields is not None for each in peeled):
            return peeled
        lines = peeled
    done: list[Line] = []
    while lines and depth < _DEEPEST:
        depth += 1
        waiting: list[Line] = []
        for each in lines:
            settled = not each.text.startswith(("{", "<")) and not is_coloured(each.text)
            if (chain and settled and len(each.envelopes) >= len(chain)) or (inside := _sniffed(each, layout)) is None:
                done.append(each)
            else:
                waiting.extend(inside)
        lines = waiting
    return done + lines
