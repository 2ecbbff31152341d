"""Matches messages with an omission: the text before and after the cut is Kafka's own wording."""

# What was cut is unknown: a value that the cut runs through is dropped, and if the rest fits two messages, only what
# both would report is kept. The start of an id is kept and marked as truncated: other lines may show it in full.

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile

import regex
from msgspec import Struct

from rebalance_forensics.catalog.compiled_catalog import Entry, Release
from rebalance_forensics.catalog.errors import ErrorNames
from rebalance_forensics.catalog.fields import FieldValue
from rebalance_forensics.catalog.prefixes import Peeled
from rebalance_forensics.catalog.program import IGNORED, Program, Types, fields_in
from rebalance_forensics.catalog.speakers import simple_name
from rebalance_forensics.records import LEFT_OUT

_SHORTEST_LEAD = 4
# Characters of literal template text that must be left of a message.
_MIN_LITERAL = 9
# Fewer are enough if the class that logged it is known: each class logs few messages.
_MIN_LITERAL_OF_KNOWN_CLASS = 6
# Characters at the end of a reason whose surrounding message is known.
_MIN_REASON_END = 6
# Kafka has some thirty reasons; few of them share their first characters.
_MIN_REASON_START = 2
_IDS = frozenset({"member", "members", "old_member", "group", "instance_id"})
_ID_LETTERS = re.compile(r"[^\s,;()\[\]{}'\"]+")
# Prose; the objects that Kafka prints end with brackets or numbers.
_PLAIN_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){1,20}")
_LONGEST = 2_000

Fields = Mapping[str, FieldValue]
Programs = Mapping[str, Sequence[Program]]


class Left(Struct, frozen=True):
    """What is left of a message of one template: its values, and `own`, the number of literal characters.

    `cut_off` names the fields whose wording is too short to decide; `begun` holds the starts of truncated ids.
    """

    own: int
    fields: Fields
    cut_off: frozenset[str] = frozenset()
    begun: Fields = {}


class _Side(Struct, frozen=True):
    """One end of a text: the complete values by placeholder, the number of literal characters, and the open value.

    `open` is the value that the cut runs through: the number of its placeholder and the text that is left.
    """

    whole: Mapping[int, str]
    own: int
    open: tuple[int, str] | None = None


class CutMessages(Struct, frozen=True):
    """Matches messages that have an omission against the templates of a catalog and the fragments they refer to."""

    entries: Sequence[Entry]
    fragments: Programs
    types: Types
    errors: ErrorNames
    by_lead: Mapping[str, Sequence[int]]
    """First literal characters -> the indexes of the entries that start with them."""

    @classmethod
    def of(cls, entries: Sequence[Entry], fragments: Programs, types: Types, errors: ErrorNames) -> CutMessages:
        """Index these templates."""
        by_lead: dict[str, list[int]] = defaultdict(list)
        for place, entry in enumerate(entries):
            by_lead[entry.program.lead[:_SHORTEST_LEAD]].append(place)
        return cls(entries, fragments, types, errors, by_lead)

    def read(
        self,
        peeled: Peeled,
        tail: str,
        *,
        logger: str | None,
        level: str | None = None,
        since: Release | None = None,
    ) -> tuple[Entry, Left] | None:
        """The template that both ends belong to, and what they show; None if several events fit equally well.

        `peeled` precedes the cut and `tail` follows it, empty if nothing of the message does. Only the end of a
        `logger`'s name may be left, or its start followed by an ellipsis. `since` is the oldest release that the
        coordinator may run: messages that only older releases log are excluded.
        """
        if len(peeled.stages[0]) + len(tail) > _LONGEST or not (peeled.stages[-1] or tail):
            return None
        fitting = [each for each in self._fitting(peeled, tail) if _can_log(each[0], peeled.role, level, since)]
        from_logger = [each for each in fitting if _logged_by(each[0], logger)]
        found = from_logger or fitting
        most = max((left.own for _, left in found), default=0)
        best = _most_specific([(entry, left) for entry, left in found if left.own == most])
        best = best if tail else [*best, *_preferred_siblings(found, best)]
        least = _MIN_LITERAL_OF_KNOWN_CLASS if from_logger and (peeled.kind or not peeled.bare) else _MIN_LITERAL
        if not from_logger and (logger or "").endswith(LEFT_OUT):
            return None
        if not best or best[0][1].own < least or len({entry.event for entry, _ in best}) > 1:
            return self._quoting_application(peeled, tail, logger)
        cut_off = frozenset(name for _, left in best for name in left.cut_off)
        return best[0][0], Left(
            best[0][1].own,
            _common([left.fields for _, left in best]),
            cut_off,
            _common([left.begun for _, left in best]),
        )

    def _quoting_application(self, peeled: Peeled, tail: str, logger: str | None) -> tuple[Entry, Left] | None:
        """A message that quotes an application: no text of Kafka's own ends in such words."""
        head = peeled.stages[-1]
        if not head or _PLAIN_WORDS.fullmatch(tail) is None:
            return None
        found = [
            (entry, text)
            for entry in self._starting_with([head])
            if entry.program.lead.startswith(head) and _logged_by(entry, logger) and _takes(entry, peeled)
            if (text := self._free_text(entry.program, tail)) is not None
        ]
        if len({entry.event for entry, _ in found}) != 1:
            return None
        entry, text = found[0]
        return entry, Left(len(head) + len(tail), text)

    def _free_text(self, program: Program, tail: str) -> Fields | None:
        """The field for an application's text at the end of a message, if the pattern has one."""
        texts = self.fragments.get(program.placeholders[-1][1], ()) if program.placeholders else ()
        behind = _behind(program, tail)
        if behind is None or behind.open is None or behind.open[0] != len(program.placeholders) - 1:
            return None
        if any(text.words and (side := _behind(text, tail)) is not None and side.own for text in texts):
            return None
        name = program.placeholders[-1][0]
        return next(
            ({**text.constants, name: LEFT_OUT + tail} for text in texts if text.constants and not text.words), None
        )

    def _fitting(self, peeled: Peeled, tail: str) -> Iterator[tuple[Entry, Left]]:
        for entry in self._starting_with(peeled.stages):
            if not _takes(entry, peeled):
                continue
            for head in peeled.stages if entry.spells_prefix else peeled.stages[-1:]:
                lead = entry.program.lead
                begins = len(lead) >= _SHORTEST_LEAD and (head.startswith(lead) or lead.startswith(head))
                alike = begins if head else self._ends_like(entry.program, tail)
                if alike and (left := self._left(entry.program, head, tail)):
                    yield entry, left

    def _starting_with(self, heads: Sequence[str]) -> Sequence[Entry]:
        """The entries that may start like one of the texts, in order."""
        if min(map(len, heads)) < _SHORTEST_LEAD:
            return self.entries
        places = {place for head in heads for place in self.by_lead.get(head[:_SHORTEST_LEAD], ())}
        return [self.entries[place] for place in sorted(places)]

    def _ends_like(self, program: Program, tail: str) -> bool:
        """True if a tail shares enough text with the template, or with a reason that the template ends with."""
        words = [*program.words]
        if program.placeholders and (kind := program.placeholders[-1][1]) in self.fragments:
            words += [word for fragment in self.fragments[kind] for word in fragment.words]
        long_enough = len(tail) >= _MIN_LITERAL
        return any(
            len(word) >= _MIN_LITERAL and (word in tail or (long_enough and word.endswith(tail))) for word in words
        )

    def _left(self, program: Program, head: str, tail: str) -> Left | None:
        """The fields of a text of which only the start and the end are left; None if the program does not match."""
        before, behind = _before(program, head), _behind(program, tail)
        if before is None or behind is None:
            return None
        if any(before.whole[n] != behind.whole[n] for n in before.whole.keys() & behind.whole.keys()):
            return None
        whole = {**behind.whole, **before.whole}
        own = min(before.own + behind.own, sum(map(len, program.words)))
        fields: dict[str, FieldValue] = dict(program.constants)
        cut_off: set[str] = set()
        begun: Fields = {}
        for (at, (name, kind)), text in (
            (placeholder, whole.get(placeholder[0])) for placeholder in enumerate(program.placeholders)
        ):
            if text is not None:
                read = fields_in([(name, kind)], [text], self.types)
                if read is None:
                    return None
                fields |= read
            elif (inner := self._inner(at, name, kind, before, behind)) is not None:
                own += inner.own
                fields |= inner.fields
                begun = inner.begun or begun
            elif self._contradicts(at, kind, before):
                return None
            else:
                cut_off |= {constant for inside in self.fragments.get(kind, ()) for constant in inside.constants}
                open_text = before.open[1] if before.open and before.open[0] == at else ""
                fields |= _word_of(name, kind, open_text)
                begun = {name: open_text + LEFT_OUT} if name in _IDS and _ID_LETTERS.fullmatch(open_text) else begun
        return Left(own, fields, frozenset(cut_off), begun)

    def _contradicts(self, at: int, kind: str, before: _Side) -> bool:
        """True if no text that this kind of placeholder accepts starts with what is left of the value."""
        head = before.open[1] if before.open and before.open[0] == at else ""
        texts = self.fragments.get(kind, ())
        return bool(head and texts) and all(_before(text, head) is None for text in texts)

    def _inner(self, at: int, name: str, kind: str, before: _Side, behind: _Side) -> Left | None:
        """What is left of a fragment, or of the text of an error, that the cut runs through."""
        head = before.open[1] if before.open and before.open[0] == at else ""
        tail = behind.open[1] if behind.open and behind.open[0] == at else ""
        if kind == "error" and len(head) >= _MIN_LITERAL and (error := self.errors.beginning_with(head)):
            return Left(len(head), {name: error})
        if kind not in self.fragments or not (head or tail):
            return None
        found = [left for program in self.fragments[kind] if (left := self._left(program, head, tail))]
        most = max((left.own for left in found), default=0)
        if most < (_MIN_REASON_START if head else _MIN_REASON_END):
            return None
        likely = [left for left in found if left.own == most]
        return Left(most, _common([left.fields for left in likely]), begun=_common([left.begun for left in likely]))


def _takes(entry: Entry, peeled: Peeled) -> bool:
    """True if the template accepts the prefix of the line."""
    return not entry.prefixes or peeled.kind in entry.prefixes


def _can_log(entry: Entry, role: str | None, level: str | None, since: Release | None) -> bool:
    """True if the process behind the prefix can have logged it: brokers and clients share no messages."""
    of_broker = entry.pattern.startswith("broker/")
    if entry.debug_only and level not in (None, "DEBUG", "TRACE"):
        return False
    if of_broker and since is not None and entry.releases is not None and entry.releases[1] < since:
        return False
    return role is None or role == "unknown" or (role == "broker") == of_broker


def _logged_by(entry: Entry, logger: str | None) -> bool:
    """True if a class of that name logs it, in its own source or in that of its superclass."""
    # Messages of AbstractCoordinator are logged under the name of ConsumerCoordinator or WorkerCoordinator.
    name = simple_name(logger) if logger else ""
    own = tuple(each for source in entry.sources for each in (source, *_subclasses(source, entry.loggers)))
    classes = own or entry.loggers
    if name.endswith(LEFT_OUT):
        return any(each.startswith(name.removesuffix(LEFT_OUT)) for each in classes)
    return bool(name) and any(each.endswith(name) for each in classes)


def _subclasses(source: str, loggers: Sequence[str]) -> Sequence[str]:
    """The loggers that extend an abstract class, judging by their names."""
    kind = source.removeprefix("Abstract")
    return () if kind == source else [each for each in loggers if each.endswith(kind)]


def _most_specific(best: Sequence[tuple[Entry, Left]]) -> Sequence[tuple[Entry, Left]]:
    """Of patterns that fit equally well, the one that the others name under `in_doubt`."""
    names = {entry.pattern: entry.in_doubt for entry, _ in best}
    less = next((name for name in names if {name} == {other for each, other in names.items() if each != name}), None)
    return best if less is None else [(entry, left) for entry, left in best if entry.pattern == less]


def _preferred_siblings(
    found: Sequence[tuple[Entry, Left]], best: Sequence[tuple[Entry, Left]]
) -> Iterator[tuple[Entry, Left]]:
    """Templates of the same pattern that precede the best one and would win against it on a whole message."""
    patterns = {entry.pattern: entry.weight for entry, _ in reversed(best)}
    for entry, left in takewhile(lambda each: each is not best[0], found) if best else ():
        if entry.weight >= patterns.get(entry.pattern, entry.weight + 1):
            yield entry, left


def _before(program: Program, head: str) -> _Side | None:
    """What the start of a text shows."""
    match = _forwards(program.source).fullmatch(head, partial=True)
    if match is None:
        return None
    whole = {n: group for n, group in enumerate(match.groups()) if group is not None and match.end(n + 1) < len(head)}
    end = max((match.end(n + 1) for n in whole), default=0)
    rest = head[end:]
    alike = max((_alike(words, rest) for words in program.words), default=0)
    own = end - sum(map(len, whole.values())) + alike
    # The literal text between two values is complete before the next value starts.
    following = max(whole, default=-1) + 1
    is_open = alike < len(rest) and following < len(program.placeholders)
    return _Side(whole, own, (following, rest[alike:]) if is_open else None)


def _behind(program: Program, tail: str) -> _Side | None:
    """What the end of a text shows."""
    if not tail:
        return _Side({}, 0)
    match = _backwards(program.source).fullmatch(tail, partial=True)
    if match is None:
        return None
    whole = {n: group for n, group in enumerate(match.groups()) if group is not None and match.start(n + 1) > 0}
    start = min((match.start(n + 1) for n in whole), default=len(tail))
    rest = tail[:start]
    alike = max((_alike(words[::-1], rest[::-1]) for words in program.words), default=0)
    own = len(tail) - start - sum(map(len, whole.values())) + alike
    before = min(whole, default=len(program.placeholders)) - 1
    is_open = alike < len(rest) and before >= 0
    return _Side(whole, own, (before, rest[: len(rest) - alike]) if is_open else None)


def _alike(words: str, text: str) -> int:
    """The length of the common start, if one of the texts starts with the other; else 0."""
    return min(len(words), len(text)) if text.startswith(words) or words.startswith(text) else 0


def _word_of(name: str, kind: str, text: str) -> Fields:
    """The field of a choice of words, if only one of them starts like this."""
    words = [word for word in kind.split("|") if word.startswith(text)] if text and "|" in kind else []
    return {name: words[0]} if len(words) == 1 and name != IGNORED else {}


def _common(readings: Sequence[Fields]) -> Fields:
    """The fields on which all of them agree."""
    first, *others = readings
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


@lru_cache(maxsize=2048)
def _forwards(source: str) -> regex.Pattern[str]:
    return regex.compile(_apart(source))


@lru_cache(maxsize=2048)
def _backwards(source: str) -> regex.Pattern[str]:
    return regex.compile(_apart(source), regex.REVERSE)


_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\\\]]){0,80}\]|\(\?(?:P<\w+>)?|[()]", re.DOTALL)


def _apart(source: str) -> str:
    """The program with an assertion that always holds around each value."""
    # Without it, regex searches for the literal text after a value as a whole and, if only part of that is left, takes
    # the part for the value.
    done: list[str] = []
    placeholders: list[bool] = []
    at = 0
    for token in _TOKEN.finditer(source):
        done.append(source[at : token.start()])
        at = token.end()
        if token[0].startswith("("):
            placeholders.append(token[0] == "(")
            done.append("(?<!\\x00)(" if placeholders[-1] else token[0])
        elif token[0] == ")" and placeholders.pop():
            done.append(")(?!\\x00)")
        else:
            done.append(token[0])
    return "".join([*done, source[at:]])
