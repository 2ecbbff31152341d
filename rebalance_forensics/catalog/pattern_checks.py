"""Checks patterns against their own samples and rejects, and against those of all other patterns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from rebalance_forensics.catalog import fields as event_fields
from rebalance_forensics.catalog import loader
from rebalance_forensics.catalog.compiled_catalog import Entry, compile_catalog, compile_entry, type_names
from rebalance_forensics.catalog.fields import SPEAKER_FIELDS, FieldError, FieldValue, coerce
from rebalance_forensics.catalog.literals import words_to_search
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.matcher import Catalog, clean
from rebalance_forensics.catalog.pattern import (
    ErrorWording,
    Pattern,
    PatternError,
    PatternSet,
    Problem,
    Sample,
    Template,
)
from rebalance_forensics.catalog.prefixes import peel
from rebalance_forensics.catalog.program import IGNORED, Types
from rebalance_forensics.catalog.template import Part, TemplateError, literals_of, parse, placeholders_of


class Proof:
    """Checks the patterns of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def problems(self, pattern: Pattern) -> Iterator[Problem]:
        """Every problem with the pattern's templates, samples and rejects."""
        yield from self.template_problems(pattern)
        if pattern.fragment:
            return
        for sample in pattern.samples:
            yield from self.sample_problems(pattern, sample)
        for reject in pattern.rejects:
            yield from self.reject_problems(pattern, reject)

    def template_problems(self, pattern: Pattern) -> Iterator[Problem]:
        """Every template of an event needs a sample of its own; a fragment must read its samples as declared."""
        if pattern.fragment:
            yield from self._fragment_problems(pattern)
        elif pattern.event:
            yield from self._unproven(pattern)

    def sample_problems(self, pattern: Pattern, sample: Sample) -> Iterator[Problem]:
        """A sample must be matched by this pattern alone, with exactly its fields."""
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
        """A reject must not be matched by this pattern."""
        if any(match.pattern == pattern.id for match in self._catalog.matches(reject.message)):
            yield Problem(pattern.path, reject.line, f"the reject {reject.name!r} matches all the same.")

    def _why_not(self, pattern: Pattern, sample: Sample) -> str:
        """The most likely reason why no template matches the sample."""
        peeled = peel(clean(sample.message))
        for entry in self._catalog.compiled.entries:
            if entry.pattern != pattern.id:
                continue
            fields = next(filter(None, (self._catalog.read(entry, stage) for stage in peeled.stages)), None)
            if fields is None:
                continue
            if entry.prefixes and peeled.kind not in entry.prefixes:
                return f"sample {sample.name!r}: its prefix {peeled.kind!r} is none of {', '.join(entry.prefixes)}."
            missing = event_fields.required(str(pattern.event)) - fields.keys() if pattern.event else frozenset()
            if missing:
                return f"sample {sample.name!r}: {pattern.event} needs {', '.join(sorted(missing))}; nothing fills it."
        return f"no template matches the sample {sample.name!r}."

    def _unproven(self, pattern: Pattern) -> Iterator[Problem]:
        entries = [entry for entry in self._catalog.compiled.entries if entry.pattern == pattern.id]
        stages = [stage for sample in pattern.samples for stage in peel(clean(sample.message)).stages]
        for entry, template in zip(entries, pattern.templates, strict=True):
            if not any(self._catalog.read(entry, stage) is not None for stage in stages):
                sentence = "no sample matches this template; add one under samples:."
                yield Problem(pattern.path, template.line, sentence)

    def _fragment_problems(self, pattern: Pattern) -> Iterator[Problem]:
        name = str(pattern.fragment)
        for sample in pattern.samples:
            found = self._catalog.read_fragment(name, sample.message)
            if found is None:
                yield Problem(pattern.path, sample.line, f"no template matches the sample {sample.name!r}.")
            elif not _alike(_present(found), _present(_wanted(sample))):
                difference = f"yields {_shown(_present(found))}, not {_shown(_present(_wanted(sample)))}"
                yield Problem(pattern.path, sample.line, f"sample {sample.name!r}: {difference}.")
        for reject in pattern.rejects:
            if self._catalog.read_fragment(name, reject.message) is not None:
                yield Problem(pattern.path, reject.line, f"the reject {reject.name!r} matches all the same.")


def _wanted(sample: Sample) -> dict[str, FieldValue]:
    return {name: event_fields.frozen(value) for name, value in (sample.fields or {}).items()}


def _present(fields: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
    return {name: value for name, value in fields.items() if value is not None}


def _alike(found: Mapping[str, FieldValue], wanted: Mapping[str, FieldValue]) -> bool:
    """True if both are equal before conversion to the types of an event: x equals (x,), 5 equals "5"."""
    return found.keys() == wanted.keys() and all(_plain(found[name]) == _plain(wanted[name]) for name in found)


def _plain(value: FieldValue) -> FieldValue:
    items = value if isinstance(value, tuple) else (value,)
    return tuple(_plain(item) if isinstance(item, tuple) else str(item) for item in items)


def _differences(match: Match, sample: Sample) -> Iterator[str]:
    """The differences between a match and the fields of its sample; a prefix's fields need not be listed."""
    if match.event is None and sample.fields is None:
        return
    hints = event_fields.declared(match.event) if match.event else {}
    spoken = peel(clean(sample.message)).fields
    wanted = _wanted(sample)
    unsaid = event_fields.defaults(match.event) if match.event else {}
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


def check(paths: Sequence[Path]) -> list[Problem]:
    """Every problem in these pattern files or directories, checked within the whole catalog."""
    asked = {identifier: path for path, identifier in _asked(paths)}
    shipped = {identifier: path for path, identifier in loader.pattern_files([loader.shipped_patterns()])}
    loaded = Loaded({**shipped, **asked})
    catalog = loaded.catalog()
    proof = Proof(catalog)
    checked = [pattern for pattern in loaded.sound if pattern.id in asked]
    files = set(asked.values())
    problems = [problem for problem in loaded.problems if problem.path in files]
    problems += [problem for pattern in checked for problem in proof.problems(pattern)]
    problems += _false_claims(loaded, checked, catalog)
    return sorted(set(problems), key=lambda problem: (str(problem.path), problem.line, problem.sentence))


def _false_claims(loaded: Loaded, checked: Sequence[Pattern], catalog: Catalog) -> Iterator[Problem]:
    """Samples of other patterns that one of these also matches, alone and within the whole catalog."""
    paths = {pattern.id: pattern.path for pattern in checked}
    fragments = tuple(pattern for pattern in loaded.sound if pattern.fragment and pattern.id not in paths)
    claimants = Catalog(compile_catalog(PatternSet((*checked, *fragments), loaded.errors)))
    for pattern in loaded.sound:
        if pattern.id in paths or pattern.fragment:
            continue
        for sample in pattern.samples:
            claims = {match.pattern for match in claimants.matches(sample.message)}
            for match in catalog.matches(sample.message) if claims else ():
                if match.pattern in claims:
                    claim = f"this claims the sample {sample.name!r} of {pattern.id}, too."
                    yield Problem(paths[match.pattern], 1, claim)


def _asked(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    found: list[tuple[Path, str]] = []
    for path in paths:
        if path.is_dir():
            found += loader.pattern_files([path])
        else:
            found.append((path, _id_of_file(path)))
    return found


def _id_of_file(path: Path) -> str:
    """The id of a file within its patterns directory; else the name of its folder and its own."""
    resolved = path.resolve()
    shipped = loader.shipped_patterns().resolve()
    root = shipped if resolved.is_relative_to(shipped) else resolved.parent.parent
    return loader.pattern_id(resolved, root)


class Loaded:
    """The patterns that compile, and the problems of all files."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.problems: list[Problem] = []
        self.errors: dict[str, ErrorWording] = {}
        loaded = [pattern for identifier, path in files.items() if (pattern := self._load(path, identifier))]
        self._entries: dict[int, Entry] = {}
        types = type_names((pattern.fragment for pattern in loaded if pattern.fragment), self.errors)
        self.sound = tuple(self._sound_part(pattern, types) for pattern in loaded)

    def catalog(self) -> Catalog:
        """The catalog of all patterns that compile."""
        return Catalog(compile_catalog(PatternSet(self.sound, self.errors), self._entry))

    def _entry(self, pattern: Pattern, template: Template, types: Types) -> Entry:
        """Compile a template once: there are thousands, and users with custom patterns wait for them in each run."""
        if id(template) not in self._entries:
            self._entries[id(template)] = compile_entry(pattern, template, types)
        return self._entries[id(template)]

    def _load(self, path: Path, identifier: str) -> Pattern | None:
        try:
            if loader.names_errors(identifier):
                self.errors |= loader.load_errors(path)
                return None
            return loader.load_pattern(path, identifier)
        except PatternError as error:
            self.problems.append(error.problem)
            return None

    def _sound_part(self, pattern: Pattern, types: Types) -> Pattern:
        """The pattern without the templates that do not compile."""
        self.problems += shape_problems(pattern, types)
        sound = []
        for template in pattern.templates:
            try:
                self._entry(pattern, template, types)
            except PatternError as error:
                self.problems.append(error.problem)
            else:
                sound.append(template)
        return replace(pattern, templates=tuple(sound))


def shape_problems(pattern: Pattern, types: Types) -> Iterator[Problem]:
    """Problems that can be found without matching."""
    yield from (Problem(pattern.path, pattern.line, f"{sentence}.") for sentence in _missing(pattern))
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
        return  # reported when it is compiled
    if pattern.event:
        yield from _unknown_fields(pattern.event, template, parts, types)
    if pattern.event and pattern.beside is None and words_to_search(literals_of(parts)) is None:
        yield "no words in it are rare enough to look for in a log; spell out more of the message"


def _unknown_fields(event: str, template: Template, parts: tuple[Part, ...], types: Types) -> Iterator[str]:
    hints = event_fields.declared(event)
    known = hints.keys() | SPEAKER_FIELDS | {"group", IGNORED}
    for placeholder in placeholders_of(parts):
        composite = placeholder.type in types and types[placeholder.type].composite
        if placeholder.name not in known and not composite:
            yield f"{event} has no field {placeholder.name!r}; it has {', '.join(sorted(hints)) or 'none'}"
    for name, value in template.constants.items():
        if name not in hints:
            yield f"set: {event} has no field {name!r}; it has {', '.join(sorted(hints)) or 'none'}"
            continue
        try:
            coerce(value, hints[name])
        except FieldError as error:
            yield f"set: {name}: {error}"


def main(arguments: Sequence[str]) -> Iterator[str]:
    """One line for each problem, for `python -m rebalance_forensics.catalog.pattern_checks patterns/`."""
    return map(str, check([Path(argument) for argument in arguments] or [loader.shipped_patterns()]))


if __name__ == "__main__":
    lines = list(main(sys.argv[1:]))
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.exit(1 if lines else 0)
