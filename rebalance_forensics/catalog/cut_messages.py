"""Messages with something left out: what stands before the cut and what stands behind it are both Kafka's own words."""

# What was cut away is unknown: a value that the cut goes through is none, and where the words that are left may be of
# two messages, only what both would say is reported. Of an id its beginning is kept, marked as such: the lines beside
# it may show it whole.

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
# So many letters of its own must be left of a message.
_LEAST = 9
# So many where the class that logged it is known: it says few things.
_LEAST_OF_ITS_CLASS = 6
# So many of the end of a reason, whose message around it is known.
_LEAST_OF_A_REASON = 6
# Kafka has some thirty reasons: with so many characters of one, few others begin alike.
_LEAST_TO_BEGIN_A_REASON = 2
_IDS = frozenset({"member", "members", "old_member", "group", "instance_id"})
_ID_LETTERS = re.compile(r"[^\s,;()\[\]{}'\"]+")
# What a person writes; objects that Kafka prints end with brackets or numbers.
_PLAIN_WORDS = re.compile(r"[A-Za-z]+(?: [A-Za-z]+){1,20}")
_LONGEST = 2_000

Fields = Mapping[str, FieldValue]
Programs = Mapping[str, Sequence[Program]]


class Left(Struct, frozen=True):
    """What is left of a message of one template: its values, and how many letters are the template's own.

    `cut_off` are the names of fields that words could tell of which too little is left, `begun` the beginnings of ids.
    """

    own: int
    fields: Fields
    cut_off: frozenset[str] = frozenset()
    begun: Fields = {}


class _Side(Struct, frozen=True):
    """What one end of a text shows: the groups that are whole, the letters of the template's own, and what is open.

    `open` is the text of the value that the cut goes through, and which hole that is by its number.
    """

    whole: Mapping[int, str]
    own: int
    open: tuple[int, str] | None = None


class CutMessages(Struct, frozen=True):
    """Reads messages with a hole in them by the templates of a catalog, and the fragments their holes refer to."""

    entries: Sequence[Entry]
    fragments: Programs
    types: Types
    errors: ErrorNames
    by_lead: Mapping[str, Sequence[int]]
    """The places of the entries whose own words begin with these letters."""

    @classmethod
    def of(cls, entries: Sequence[Entry], fragments: Programs, types: Types, errors: ErrorNames) -> CutMessages:
        """What reads by these templates."""
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
        """The template that head and tail are of, and what they tell; None where several events fit as well.

        `peeled` is what stands before the cut; `tail` what stands behind it, empty where nothing of the message does.
        Of a `logger` only the end of its name may be left, or its beginning with the ellipsis behind it. `since` is the
        oldest release that the coordinator may have: what older ones alone log, it does not.
        """
        if len(peeled.stages[0]) + len(tail) > _LONGEST or not (peeled.stages[-1] or tail):
            return None
        fitting = [each for each in self._fitting(peeled, tail) if _may_be_of(each[0], peeled.role, level, since)]
        from_logger = [each for each in fitting if _logged_by(each[0], logger)]
        found = from_logger or fitting
        most = max((left.own for _, left in found), default=0)
        best = _most_specific([(entry, left) for entry, left in found if left.own == most])
        best = best if tail else [*best, *_first_asked(found, best)]
        least = _LEAST_OF_ITS_CLASS if from_logger and (peeled.kind or not peeled.bare) else _LEAST
        if not from_logger and (logger or "").endswith(LEFT_OUT):
            return None
        if not best or best[0][1].own < least or len({entry.event for entry, _ in best}) > 1:
            return self._in_own_words(peeled, tail, logger)
        cut_off = frozenset(name for _, left in best for name in left.cut_off)
        return best[0][0], Left(
            best[0][1].own,
            _common([left.fields for _, left in best]),
            cut_off,
            _common([left.begun for _, left in best]),
        )

    def _in_own_words(self, peeled: Peeled, tail: str, logger: str | None) -> tuple[Entry, Left] | None:
        """A message that repeats what an application said: none of Kafka's own texts ends in such words."""
        head = peeled.stages[-1]
        if not head or _PLAIN_WORDS.fullmatch(tail) is None:
            return None
        found = [
            (entry, text)
            for entry in self._beginning_so([head])
            if entry.program.lead.startswith(head) and _logged_by(entry, logger) and _takes(entry, peeled)
            if (text := self._free_text(entry.program, tail)) is not None
        ]
        if len({entry.event for entry, _ in found}) != 1:
            return None
        entry, text = found[0]
        return entry, Left(len(head) + len(tail), text)

    def _free_text(self, program: Program, tail: str) -> Fields | None:
        """The field for a foreign text at the end of a message, where the pattern has one."""
        texts = self.fragments.get(program.holes[-1][1], ()) if program.holes else ()
        behind = _behind(program, tail)
        if behind is None or behind.open is None or behind.open[0] != len(program.holes) - 1:
            return None
        if any(text.words and (side := _behind(text, tail)) is not None and side.own for text in texts):
            return None
        name = program.holes[-1][0]
        return next(
            ({**text.constants, name: LEFT_OUT + tail} for text in texts if text.constants and not text.words), None
        )

    def _fitting(self, peeled: Peeled, tail: str) -> Iterator[tuple[Entry, Left]]:
        for entry in self._beginning_so(peeled.stages):
            if not _takes(entry, peeled):
                continue
            for head in peeled.stages if entry.dressed else peeled.stages[-1:]:
                lead = entry.program.lead
                begins = len(lead) >= _SHORTEST_LEAD and (head.startswith(lead) or lead.startswith(head))
                alike = begins if head else self._ends_alike(entry.program, tail)
                if alike and (left := self._left(entry.program, head, tail)):
                    yield entry, left

    def _beginning_so(self, heads: Sequence[str]) -> Sequence[Entry]:
        """The entries that may begin as one of the texts does, in their order: a text may begin anywhere in a line."""
        if min(map(len, heads)) < _SHORTEST_LEAD:
            return self.entries
        places = {place for head in heads for place in self.by_lead.get(head[:_SHORTEST_LEAD], ())}
        return [self.entries[place] for place in sorted(places)]

    def _ends_alike(self, program: Program, tail: str) -> bool:
        """True if enough of a tail may be a template's own words, or those of a reason that it ends with."""
        words = [*program.words]
        if program.holes and (kind := program.holes[-1][1]) in self.fragments:
            words += [word for fragment in self.fragments[kind] for word in fragment.words]
        long_enough = len(tail) >= _LEAST
        return any(len(word) >= _LEAST and (word in tail or (long_enough and word.endswith(tail))) for word in words)

    def _left(self, program: Program, head: str, tail: str) -> Left | None:
        """The fields of a text whose beginning and end are left; None where it is not of this program."""
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
        for (at, (name, kind)), text in ((hole, whole.get(hole[0])) for hole in enumerate(program.holes)):
            if text is not None:
                read = fields_in([(name, kind)], [text], self.types)
                if read is None:
                    return None
                fields |= read
            elif (inner := self._inner(at, name, kind, before, behind)) is not None:
                own += inner.own
                fields |= inner.fields
                begun = inner.begun or begun
            elif self._is_of_another(at, kind, before):
                return None
            else:
                cut_off |= {constant for inside in self.fragments.get(kind, ()) for constant in inside.constants}
                open_text = before.open[1] if before.open and before.open[0] == at else ""
                fields |= _word_of(name, kind, open_text)
                begun = {name: open_text + LEFT_OUT} if name in _IDS and _ID_LETTERS.fullmatch(open_text) else begun
        return Left(own, fields, frozenset(cut_off), begun)

    def _is_of_another(self, at: int, kind: str, before: _Side) -> bool:
        """True if what is left of a value begins no text that a hole of this kind can hold."""
        head = before.open[1] if before.open and before.open[0] == at else ""
        texts = self.fragments.get(kind, ())
        return bool(head and texts) and all(_before(text, head) is None for text in texts)

    def _inner(self, at: int, name: str, kind: str, before: _Side, behind: _Side) -> Left | None:
        """What is left of the words of a fragment, or of the text of an error, that the cut goes through."""
        head = before.open[1] if before.open and before.open[0] == at else ""
        tail = behind.open[1] if behind.open and behind.open[0] == at else ""
        if kind == "error" and len(head) >= _LEAST and (error := self.errors.beginning_with(head)):
            return Left(len(head), {name: error})
        if kind not in self.fragments or not (head or tail):
            return None
        found = [left for program in self.fragments[kind] if (left := self._left(program, head, tail))]
        most = max((left.own for left in found), default=0)
        if most < (_LEAST_TO_BEGIN_A_REASON if head else _LEAST_OF_A_REASON):
            return None
        likely = [left for left in found if left.own == most]
        return Left(most, _common([left.fields for left in likely]), begun=_common([left.begun for left in likely]))


def _takes(entry: Entry, peeled: Peeled) -> bool:
    """True if the template follows the prefix that the line has."""
    return not entry.prefixes or peeled.kind in entry.prefixes


def _may_be_of(entry: Entry, role: str | None, level: str | None, since: Release | None) -> bool:
    """True if the process that a prefix shows may have logged it: a broker logs nothing that a client does."""
    of_broker = entry.pattern.startswith("broker/")
    if entry.only_at_debug and level not in (None, "DEBUG", "TRACE"):
        return False
    if of_broker and since is not None and entry.releases is not None and entry.releases[1] < since:
        return False
    return role is None or role == "unknown" or (role == "broker") == of_broker


def _logged_by(entry: Entry, logger: str | None) -> bool:
    """True if a class of that name logs it: what stands in its own source, or in that of the one it extends."""
    # ConsumerCoordinator and WorkerCoordinator log what AbstractCoordinator says.
    name = simple_name(logger) if logger else ""
    own = tuple(each for source in entry.sources for each in (source, *_heirs(source, entry.loggers)))
    classes = own or entry.loggers
    if name.endswith(LEFT_OUT):
        return any(each.startswith(name.removesuffix(LEFT_OUT)) for each in classes)
    return bool(name) and any(each.endswith(name) for each in classes)


def _heirs(source: str, loggers: Sequence[str]) -> Sequence[str]:
    """Those of the loggers that extend an abstract class, as their names show."""
    kind = source.removeprefix("Abstract")
    return () if kind == source else [each for each in loggers if each.endswith(kind)]


def _most_specific(best: Sequence[tuple[Entry, Left]]) -> Sequence[tuple[Entry, Left]]:
    """Of patterns that fit as well as each other, the one that the others name as saying less."""
    names = {entry.pattern: entry.in_doubt for entry, _ in best}
    less = next((name for name in names if {name} == {other for each, other in names.items() if each != name}), None)
    return best if less is None else [(entry, left) for entry, left in best if entry.pattern == less]


def _first_asked(
    found: Sequence[tuple[Entry, Left]], best: Sequence[tuple[Entry, Left]]
) -> Iterator[tuple[Entry, Left]]:
    """Those that the same pattern has before the best: of a whole message they would say what it is."""
    patterns = {entry.pattern: entry.weight for entry, _ in reversed(best)}
    for entry, left in takewhile(lambda each: each is not best[0], found) if best else ():
        if entry.weight >= patterns.get(entry.pattern, entry.weight + 1):
            yield entry, left


def _before(program: Program, head: str) -> _Side | None:
    """What the beginning of a text shows."""
    match = _forwards(program.source).fullmatch(head, partial=True)
    if match is None:
        return None
    whole = {n: group for n, group in enumerate(match.groups()) if group is not None and match.end(n + 1) < len(head)}
    end = max((match.end(n + 1) for n in whole), default=0)
    rest = head[end:]
    alike = max((_alike(words, rest) for words in program.words), default=0)
    own = end - sum(map(len, whole.values())) + alike
    # The words between two values are said in full before the next one begins.
    following = max(whole, default=-1) + 1
    is_open = alike < len(rest) and following < len(program.holes)
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
    before = min(whole, default=len(program.holes)) - 1
    is_open = alike < len(rest) and before >= 0
    return _Side(whole, own, (before, rest[: len(rest) - alike]) if is_open else None)


def _alike(words: str, text: str) -> int:
    """How many letters of a text are these words: all of them, or as many as the text has."""
    return min(len(words), len(text)) if text.startswith(words) or words.startswith(text) else 0


def _word_of(name: str, kind: str, text: str) -> Fields:
    """Which of a few words begins so."""
    words = [word for word in kind.split("|") if word.startswith(text)] if text and "|" in kind else []
    return {name: words[0]} if len(words) == 1 and name != IGNORED else {}


def _common(readings: Sequence[Fields]) -> Fields:
    """What all of them say."""
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
    """A program whose values are kept apart from the words beside them by a test that always holds."""
    # Where words follow a value, regex looks for them as a whole; if only some are left, it takes them for the value.
    done: list[str] = []
    holes: list[bool] = []
    at = 0
    for token in _TOKEN.finditer(source):
        done.append(source[at : token.start()])
        at = token.end()
        if token[0].startswith("("):
            holes.append(token[0] == "(")
            done.append("(?<!\\x00)(" if holes[-1] else token[0])
        elif token[0] == ")" and holes.pop():
            done.append(")(?!\\x00)")
        else:
            done.append(token[0])
    return "".join([*done, source[at:]])
