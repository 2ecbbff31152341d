"""The samples and rejects of a pattern, tried against the whole catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rebalance_forensics.catalog.fields import FieldError, FieldValue, coerce, declared, defaults, frozen, required
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import Catalog, clean
from rebalance_forensics.catalog.pattern import Pattern, Problem, Sample, Template
from rebalance_forensics.catalog.prefixes import peel


class Proof:
    """A catalog on trial."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def problems(self, pattern: Pattern) -> Iterator[Problem]:
        """What the pattern's samples and rejects disprove."""
        yield from self.template_problems(pattern)
        if pattern.fragment:
            return
        for sample in pattern.samples:
            yield from self.sample_problems(pattern, sample)
        for reject in pattern.rejects:
            yield from self.reject_problems(pattern, reject)

    def template_problems(self, pattern: Pattern) -> Iterator[Problem]:
        """Every template of an event needs a sample of its own; a fragment must keep all its promises."""
        if pattern.fragment:
            yield from self._fragment_problems(pattern)
        elif pattern.event:
            yield from self._unproven(pattern)

    def sample_problems(self, pattern: Pattern, sample: Sample) -> Iterator[Problem]:
        """A sample must be claimed by this pattern, by no other, with exactly its fields."""
        matches = self._catalog.matches(sample.message)
        own = next((match for match in matches if match.pattern == pattern.id), None)
        for other in matches:
            if other.pattern != pattern.id:
                yield Problem(pattern.path, sample.line, f"{other.pattern} claims the sample {sample.name!r}, too.")
        if own is None:
            yield Problem(pattern.path, sample.line, self._why_not(pattern, sample))
        else:
            for sentence in _differences(own, sample):
                yield Problem(pattern.path, sample.line, f"sample {sample.name!r}: {sentence}.")

    def reject_problems(self, pattern: Pattern, reject: Sample) -> Iterator[Problem]:
        """A reject must be left alone by this pattern."""
        if any(match.pattern == pattern.id for match in self._catalog.matches(reject.message)):
            yield Problem(pattern.path, reject.line, f"the reject {reject.name!r} matches all the same.")

    def _why_not(self, pattern: Pattern, sample: Sample) -> str:
        """The nearest reason why no template took the sample."""
        peeled = peel(clean(sample.message))
        for entry in self._catalog.compiled.entries:
            if entry.pattern != pattern.id:
                continue
            fields = next(filter(None, (self._catalog.read(entry, stage) for stage in peeled.stages)), None)
            if fields is None:
                continue
            if entry.prefixes and peeled.kind not in entry.prefixes:
                return f"sample {sample.name!r}: its prefix {peeled.kind!r} is none of {', '.join(entry.prefixes)}."
            missing = required(str(pattern.event)) - fields.keys() if pattern.event else frozenset()
            if missing:
                return f"sample {sample.name!r}: {pattern.event} needs {', '.join(sorted(missing))}; nothing fills it."
        return f"no template matches the sample {sample.name!r}."

    def _unproven(self, pattern: Pattern) -> Iterator[Problem]:
        entries = [entry for entry in self._catalog.compiled.entries if entry.pattern == pattern.id]
        stages = [stage for sample in pattern.samples for stage in peel(clean(sample.message)).stages]
        for entry, template in zip(entries, pattern.templates, strict=True):
            if not any(self._catalog.read(entry, stage) is not None for stage in stages):
                yield _unproven(pattern, template)

    def _fragment_problems(self, pattern: Pattern) -> Iterator[Problem]:
        read = self._catalog.fragment(str(pattern.fragment))
        for sample in pattern.samples:
            found = read(sample.message)
            if found is None:
                yield Problem(pattern.path, sample.line, f"no template matches the sample {sample.name!r}.")
            elif not _alike(_present(found), _present(_wanted(sample))):
                difference = f"yields {_shown(_present(found))}, not {_shown(_present(_wanted(sample)))}"
                yield Problem(pattern.path, sample.line, f"sample {sample.name!r}: {difference}.")
        for reject in pattern.rejects:
            if read(reject.message) is not None:
                yield Problem(pattern.path, reject.line, f"the reject {reject.name!r} matches all the same.")


def _unproven(pattern: Pattern, template: Template) -> Problem:
    return Problem(pattern.path, template.line, "no sample matches this template; add one under samples:.")


def _wanted(sample: Sample) -> dict[str, FieldValue]:
    return {name: frozen(value) for name, value in (sample.fields or {}).items()}


def _present(fields: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
    return {name: value for name, value in fields.items() if value is not None}


def _alike(found: Mapping[str, FieldValue], wanted: Mapping[str, FieldValue]) -> bool:
    """Whether both say the same before an event types them: x is (x,), 5 is "5"."""
    return found.keys() == wanted.keys() and all(_plain(found[name]) == _plain(wanted[name]) for name in found)


def _plain(value: FieldValue) -> FieldValue:
    items = value if isinstance(value, tuple) else (value,)
    return tuple(_plain(item) if isinstance(item, tuple) else str(item) for item in items)


def _differences(match: Match, sample: Sample) -> Iterator[str]:
    """Where the match says something else than the sample wants; what a prefix says need not be listed."""
    if match.event is None and sample.fields is None:
        return
    hints = declared(match.event) if match.event else {}
    spoken = peel(clean(sample.message)).fields
    wanted = _wanted(sample)
    unsaid = defaults(match.event) if match.event else {}
    for name, value in wanted.items():
        try:
            expected = coerce(value, hints[name]) if name in hints else value
        except FieldError as error:
            yield f"{name}: {error}"
            continue
        found = _found(match, name, own=name in hints)
        found = unsaid.get(name) if found is None else found
        if found != expected:
            yield f"{name} is {_value(found)}, not {_value(expected)}"
    from_prefix = spoken.keys() | ({"partition"} if "offsets_partition" in spoken else set())
    for name, value in match.fields.items():
        if name not in wanted and name not in from_prefix and value not in (None, unsaid.get(name)):
            yield f"it yields {name}: {_value(value)}, too; add it to fields:"
    if match.group is not None and "group" not in wanted and "group" not in spoken:
        yield f"it yields group: {match.group}, too; add it to fields:"


def _found(match: Match, name: str, *, own: bool) -> FieldValue:
    if own or name in match.fields:
        return match.fields.get(name)
    if name == "group":
        return match.group
    found: FieldValue = getattr(match.speaker, name, None)
    return found


def _shown(fields: Mapping[str, FieldValue]) -> str:
    return ", ".join(f"{name}: {_value(value)}" for name, value in sorted(fields.items())) or "no fields"


def _value(value: FieldValue) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return "null" if value is None else str(value)
