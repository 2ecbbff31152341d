"""What a pattern file must have before any sample is tried: its event, its words, its fields, its proof."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.catalog.fields import SPEAKER_FIELDS, FieldError, coerce, declared
from rebalance_forensics.catalog.literals import words_to_search
from rebalance_forensics.catalog.pattern import Pattern, Problem, Template
from rebalance_forensics.catalog.program import IGNORED, Types
from rebalance_forensics.catalog.template import Part, TemplateError, holes_of, literals_of, parse


def shape_problems(pattern: Pattern, types: Types) -> Iterator[Problem]:
    """Everything that can be said without matching."""
    sentences = list(_missing(pattern))
    yield from (Problem(pattern.path, pattern.line, f"{sentence}.") for sentence in sentences)
    for template in pattern.templates:
        for sentence in _template_problems(pattern, template, types):
            yield Problem(pattern.path, template.line, f"{sentence}.")


def _missing(pattern: Pattern) -> Iterator[str]:
    if not pattern.meaning:
        yield "meaning: is missing; say in one sentence what the line tells"
    if not pattern.templates:
        yield "templates: is missing"
    if not pattern.samples:
        yield "samples: is missing; add at least one message that must match"
    if not pattern.rejects and not pattern.fragment:
        yield "rejects: is missing; add at least one similar message that must not match"


def _template_problems(pattern: Pattern, template: Template, types: Types) -> Iterator[str]:
    if not (template.logged_by or pattern.loggers or pattern.fragment):
        yield "logged_by: is missing; name the source file that logs this, or the classes under loggers:"
    try:
        parts = parse(template.text)
    except TemplateError:
        return  # compiling says it
    if pattern.event:
        yield from _unknown_fields(pattern.event, template, parts, types)
    if pattern.event and words_to_search(literals_of(parts)) is None:
        yield "no words in it are rare enough to look for in a log; spell out more of the message"


def _unknown_fields(event: str, template: Template, parts: tuple[Part, ...], types: Types) -> Iterator[str]:
    hints = declared(event)
    known = hints.keys() | SPEAKER_FIELDS | {"group", IGNORED}
    for hole in holes_of(parts):
        composite = hole.type in types and types[hole.type].composite
        if hole.name not in known and not composite:
            yield f"{event} has no field {hole.name!r}; it has {', '.join(sorted(hints)) or 'none'}"
    for name, value in template.constants.items():
        if name not in hints:
            yield f"set: {event} has no field {name!r}; it has {', '.join(sorted(hints)) or 'none'}"
            continue
        try:
            coerce(value, hints[name])
        except FieldError as error:
            yield f"set: {name}: {error}"
