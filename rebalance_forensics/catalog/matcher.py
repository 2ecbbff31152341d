"""Finds the pattern of a message: candidates by their words, then one anchored program for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from rebalance_forensics.catalog import bare_messages
from rebalance_forensics.catalog.cache import compiled, key_of
from rebalance_forensics.catalog.compiled_catalog import CompiledCatalog, Entry, Release
from rebalance_forensics.catalog.contenders import Contenders, Rivals
from rebalance_forensics.catalog.cut_messages import CutMessages
from rebalance_forensics.catalog.errors import ErrorNames
from rebalance_forensics.catalog.exceptions import exception_lines
from rebalance_forensics.catalog.fields import FieldValue, required, unknown
from rebalance_forensics.catalog.filling import Filling
from rebalance_forensics.catalog.loader import pattern_files, shipped_patterns
from rebalance_forensics.catalog.match import Match
from rebalance_forensics.catalog.prefilter import Scan, scan_for
from rebalance_forensics.catalog.prefixes import Peeled, peel, peel_cut, without_unknown
from rebalance_forensics.catalog.speakers import EXCEPTION_WORDS, GROUP_CLASSES, simple_name


class Catalog:
    """All patterns, compiled."""

    def __init__(self, compiled: CompiledCatalog, *, key: str | None = None) -> None:
        self.compiled = compiled
        self._key = key
        self._scan: Scan | None = None
        self._types = compiled.types()
        self._cut_messages = CutMessages.of(
            compiled.entries, compiled.fragments, self._types, ErrorNames.of(compiled.errors)
        )
        self._contenders = Contenders(compiled.entries)
        self._fillings: dict[int, Filling] = {}

    @classmethod
    def load(cls, extra: Sequence[Path] = ()) -> Catalog:
        """The shipped patterns and those in the given directories, compiled once and cached by their hash."""
        files = pattern_files([shipped_patterns(), *extra])
        key = key_of(files)
        return cls(compiled(files, key), key=key)

    def match(self, message: str, *, logger: str | None = None, level: str | None = None) -> Match | None:  # noqa: ARG002 - part of the interface; a level confirms nothing yet
        """The matching pattern with the longest literal text; None if no pattern matches.

        Most patterns are found by the start of the message. A message whose start is unknown, and which has none of the
        words that index the other templates, matches none.
        """
        spoken = clean(message)
        if "\n" in spoken and (blank := _BLANK_LINE.search(spoken)) is not None:
            whole, above = self._match(spoken, logger), self._match(spoken[: blank.start()].rstrip(), logger)
            # No single-line message contains an empty line: what follows was added by a person. In a copy with an
            # empty line after each line, the rest of a multi-line message fills further fields.
            if above is None or whole is None:
                return above or whole
            if whole.pattern == above.pattern:
                return whole if _filled(whole) > _filled(above) else above
            return above if whole.weight <= above.weight else whole
        return self._match(spoken, logger)

    def _match(self, spoken: str, logger: str | None) -> Match | None:
        peeled = peel(spoken)
        stages = peeled.stages
        bare = stages[-1]
        is_likely = False
        for entry, at, needle, lead in self._contenders.leading(peeled, logger):
            stage = stages[at]
            if needle in stage and stage.startswith(lead):
                is_likely = True
                groups = entry.program.groups_of(stage)
                if groups is None:
                    continue
                filling = self._fillings.get(id(entry)) or self._filling(entry)
                if (match := filling.match(groups, peeled)) is not None:
                    rivals = filling.rivals or self._rivals_of(filling)
                    if not rivals.may_win(bare, groups):
                        return match
                    break
        if is_likely or "\n" in spoken or self._contenders.has_others(bare):
            return next(self._matches(spoken, peeled, logger), None)
        return None

    def matches(self, message: str, *, logger: str | None = None) -> list[Match]:
        """All patterns that match the message, the winner first; more than one is ambiguous."""
        best: dict[str, Match] = {}
        spoken = clean(message)
        for match in self._matches(spoken, peel(spoken), logger):
            best.setdefault(match.pattern, match)
        return list(best.values())

    def match_inside(
        self,
        text: str,
        *,
        logger: str | None = None,
        level: str | None = None,
        headed: bool = False,
        begun: bool = False,
        since: Release | None = None,
    ) -> Match | None:
        """The message that a text contains, wherever it starts; a truncated one as far as it goes.

        A `headed` text followed a header of a known layout, so it does not start with prose. With `begun`, truncated
        ids are reported with their ellipsis. `since` is the oldest release that the coordinator may run, judging by
        its other lines.
        """
        cut = bare_messages.split_at_omission(text := bare_messages.without_omitted_prefix(text))
        if cut is None:
            return bare_messages.find_message(text, self.match)
        whole_lines, newline, _ = cut.head.rpartition("\n")
        if newline:
            whole = self.match(whole_lines, logger=logger) if headed else None
            whole = whole or bare_messages.find_message(whole_lines, self.match)
            if whole is not None or text.count("\n") > _MOST_BREAKS:
                return whole
            text = " ".join([line.strip() for line in text.split("\n")])
            return self.match_inside(text, logger=logger, level=level, headed=headed, begun=begun, since=since)
        whole = bare_messages.find_message(cut.head, self.match) if cut.is_whole else None
        if cut.ends_at_word:
            whole = whole or self._whole(cut.head.rstrip())
        cut = cut._replace(logger=logger or cut.logger)
        found = (
            self._cut(each, at, level, headed=headed, begun=begun, since=since)
            for each in (cut, bare_messages.without_thread(cut))
            if each is not None
            for at in bare_messages.beginnings(cut.head)
        )
        if (match := whole or next(filter(None, found), None) or self._behind_its_logger(cut, level)) is not None:
            return match
        rest = bare_messages.after_first_omission(text)
        return None if rest is None else self.match_inside(rest, logger=logger, level=level, begun=begun, since=since)

    def _whole(self, head: str) -> Match | None:
        """A message that ends with literal text, so that only its logger was cut."""
        found = bare_messages.find_message(head, self.match)
        longer = None if found is None else bare_messages.find_message(f"{head} x", self.match)
        # If it ends with a value, part of the value may be missing.
        return None if longer is not None and longer != found else found

    def _behind_its_logger(self, cut: bare_messages.Cut, level: str | None) -> Match | None:
        """Match the end of a message whose start was left out together with the end of its logger."""
        logger = bare_messages.truncated_logger(cut.head if cut.head or not cut.logger else cut.logger)
        if logger is None:
            return None
        peeled = peel("")
        found = self._cut_messages.read(peeled, cut.tail, logger=logger, level=level)
        return None if found is None else self._filling(found[0]).matched(found[1].fields, peeled)

    def _cut(
        self, cut: bare_messages.Cut, at: int, level: str | None, *, headed: bool, begun: bool, since: Release | None
    ) -> Match | None:
        """Match the start and the end of a message with an omission."""
        peeled = peel_cut(cut.head[at:]) or peel(cut.head[at:])
        found = self._cut_messages.read(peeled, cut.tail, logger=cut.logger, level=level, since=since)
        if found is None:
            return None
        entry, left = found
        nameless = unknown(entry.event) & (required(entry.event) | left.cut_off) if entry.event else ()
        cut_off = {name: "unknown" for name in nameless if name not in left.fields}
        match = self._filling(entry).matched({**left.fields, **cut_off, **(left.begun if begun else {})}, peeled)
        if match is None:
            return None
        match = replace(match, weight=left.own)
        amid = at > 0 or not (headed or left.own >= bare_messages.LONG_LITERAL)
        return match if bare_messages.is_kafka_message(match, amid=amid) else None

    def match_thrown(self, message: str) -> Match | None:
        """The exception that a Connect task's consumer threw, below the line in which the worker reports it."""
        for line in exception_lines(clean(message), announced=True):
            if (match := self.match(line)) is not None and match.event is not None:
                return replace(match, thrown=line)
        return None

    def prefilter(self) -> Scan:
        """The scan that finds relevant lines in raw bytes."""
        if self._scan is None:
            self._scan = scan_for(self.search_words(), key=self._key)
        return self._scan

    def search_words(self) -> frozenset[str]:
        """Each relevant line contains one of these: words of a message or an exception, or the class that logs it."""
        words = {entry.search_words for entry in self.compiled.entries if entry.search_words}
        return frozenset(words | {f".{name}" for name in GROUP_CLASSES} | EXCEPTION_WORDS)

    def is_group_class(self, logger_or_component: str) -> bool:
        """True if the class logs about groups, so that its unknown lines are counted."""
        return simple_name(logger_or_component) in GROUP_CLASSES

    def read(self, entry: Entry, text: str) -> dict[str, FieldValue] | None:
        """The fields that one template reads in a text."""
        strictly = entry.program.read(text, self._types)
        return strictly if strictly is not None else entry.program.read(text, self._types, loosely=True)

    def read_fragment(self, name: str, text: str) -> Mapping[str, FieldValue] | None:
        """The fields that a fragment reads in a text; None if none of its templates matches."""
        try:
            found = self._types[name].read(text)
        except ValueError:
            return None
        return found if isinstance(found, Mapping) else None

    def _matches(self, spoken: str, whole: Peeled, logger: str | None) -> Iterator[Match]:
        """Matches in order of preference: the strictest reading first, then the longest literal text."""
        for form, thrown in _forms(spoken):
            for peeled in _without_prefixes(whole if form is spoken else peel(form)):
                candidates = self._contenders.all(peeled, logger)
                for loosely in (False, True):
                    found = False
                    for entry, text in candidates:
                        groups = entry.program.groups_of(text, loosely=loosely)
                        if groups is not None and (match := self._filling(entry).match(groups, peeled)) is not None:
                            found = True
                            yield match if thrown is None else replace(match, thrown=thrown)
                    if found:
                        return

    def _filling(self, entry: Entry) -> Filling:
        """What fills the fields of a template's event."""
        if (known := self._fillings.get(id(entry))) is None:
            known = self._fillings[id(entry)] = Filling(entry, self._types)
        return known

    def _rivals_of(self, filling: Filling) -> Rivals:
        filling.rivals = Rivals(filling.entry, self._contenders.bare.rest.places, self._types)
        return filling.rivals


# A terminal wraps a record at most this often; a record with more lines was printed that way, like a configuration.
_MOST_BREAKS = 4
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TRACE = re.compile(
    r"\n(?:[^\S\n]++at (?!(?:offset|position) )|(?:[\w$.]+\.)?[A-Z]\w*(?:Exception|Error)\b|Caused by: |Traceback "
    r"|[^\S\n]++\.\.\. \d+ )"
)


def clean(message: str) -> str:
    """The message without colors, carriage returns and trailing whitespace."""
    if "\x1b" in message:
        message = _ANSI.sub("", message)
    if "\r" in message:
        message = message.replace("\r\n", "\n")
    return message.rstrip()


def _forms(message: str) -> Iterator[tuple[str, str | None]]:
    """The message in several forms: whole, without its stack trace, its first line, each exception in the trace.

    Last, as one line. An exception is paired with its own line, since the application announces it in its own words.
    """
    # A terminal, a form or a console logger may have wrapped the line between words or inside one.
    yield message, None
    if "\n" not in message:
        return
    trace = _TRACE.search(message)
    head = message[: trace.start()].rstrip() if trace else message
    if head != message:
        yield head, None
    if "\n" in head:
        yield head[: head.index("\n")].rstrip(), None
    yield from ((line, line) for line in exception_lines(message))
    if "\n" in head and head.count("\n") <= _MOST_BREAKS:
        lines = [line.strip() for line in head.split("\n")]
        yield " ".join(lines), None
        yield "".join(lines), None


def _without_prefixes(peeled: Peeled) -> Iterator[Peeled]:
    """The message without known prefixes; then without an unknown prefix as well."""
    yield peeled
    if (rest := without_unknown(peeled.bare)) is not None:
        inner = peel(rest)
        yield Peeled(
            inner.stages, {**peeled.fields, **inner.fields}, inner.role or peeled.role, inner.kind or peeled.kind
        )


def _filled(match: Match) -> int:
    """The number of fields that a line filled."""
    return sum(map(bool, match.fields.values()))
