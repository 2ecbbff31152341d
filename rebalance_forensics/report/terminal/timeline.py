"""Every generation of one group, member by member."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import ascii_uppercase

from msgspec import Struct
from rich.console import RenderableType
from rich.text import Text

from rebalance_forensics.diagnosis.wording.durations import some
from rebalance_forensics.records import EpochMs, is_dated, is_timed, natural
from rebalance_forensics.report.lanes import member_name
from rebalance_forensics.report.member_names import hosts_of, short_name, short_names, with_short_names
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.terminal.rebalance_pattern import pattern_in_full
from rebalance_forensics.report.terminal.rich_blocks import (
    heading,
    indented,
    labelled,
    printed,
    side_by_side,
    text_block,
)
from rebalance_forensics.report.times import day, duration, time_of_day, utc
from rebalance_forensics.report.wording import count, group_of, ranges
from rebalance_forensics.timeline.model import CoordinatorTerm, Generation, GroupHistory, Member, Pause

# The text next to the columns of a generation: its outcome, its cause and its duration.
ROOM_FOR_WORDS = 24
LEGEND = "L leads, o member, + joined, - out"
SYMBOLS = {"lead": "L", "member": "o", "joined": "+", "out": "-", "": "."}


class MemberColumns(Struct, frozen=True, kw_only=True):
    """The members of a group in order, and the headings of their columns."""

    short: Mapping[str, str]
    heads: Mapping[str, str]
    hosts: Mapping[str, str]
    lettered: bool
    """True if headings are letters with a key above, and cells are symbols."""

    @property
    def widths(self) -> list[int]:
        """The width of each column, including the separator."""
        cell, between = (2, 1) if self.lettered else (len("member"), 2)
        return [max(len(head), cell) + between for head in self.heads.values()]

    def key(self) -> Iterator[RenderableType]:
        """The key of headings that are letters."""
        if any(head != name for name, head in self.heads.items()):
            yield indented(labelled((head, self._at_home(name)) for name, head in self.heads.items()))
        if self.lettered:
            yield text_block(LEGEND, "dim")

    def _at_home(self, name: str) -> str:
        host = self.hosts.get(name)
        return f"{name} at {host.removeprefix('/')}" if host and host not in (name, self.heads[name]) else name

    def head(self) -> str:
        """The headings of the columns."""
        return self._laid_out(self.heads.values())

    def row(self, generation: Generation) -> str:
        """The state of each member in one generation."""
        return self._laid_out(map(self._cells(generation).__getitem__, self.heads))

    def _laid_out(self, cells: Iterable[str]) -> str:
        return "".join(f"{cell:<{width}}" for cell, width in zip(cells, self.widths, strict=True))

    def _cells(self, generation: Generation) -> dict[str, str]:
        names = [(short_name(member, self.short), member.member_id) for member in generation.members]
        there = Counter(name for name, _ in names)
        came = Counter(name for name, member_id in names if member_id in generation.joined)
        left = Counter(self.short.get(member, member) for member in generation.left)
        leader = next((name for name, member_id in names if member_id == generation.leader), None)
        leads = leader if generation.leader is not None else None
        return {name: self._cell_of(there[name], came[name], left[name], leads=name == leads) for name in self.heads}

    def _cell_of(self, there: int, came: int, left: int, *, leads: bool) -> str:
        symbols = SYMBOLS if self.lettered else {word: word for word in SYMBOLS}
        if there > 1:
            return str(there) + (f"+{came}" if came else "")
        if not there:
            return symbols["out"] if left else symbols[""]
        plus = "+" if came and leads else ""
        return plus + symbols["lead" if leads else "joined" if came else "member"]


def columns_of(history: GroupHistory, short: Mapping[str, str], room: int) -> MemberColumns | None:
    """Columns for all members if they fit next to the text of a generation, by name or by letter."""
    members = [member for generation in history.generations for member in generation.members]
    names = sorted({short_name(member, short) for member in members}, key=natural)
    hosts = dict(hosts_of(members, short))
    by_letters = dict(zip(names, ascii_uppercase, strict=False))
    by_hosts = {name: min(hosts.get(name, name), name, key=len) for name in names}
    for heads, lettered in ((by_hosts, False), (by_letters, True)):
        columns = MemberColumns(short=short, heads=heads, hosts=hosts, lettered=lettered)
        if names and len(heads) == len(names) and sum(columns.widths) + ROOM_FOR_WORDS <= room:
            return columns
    return None


# Number of generations in a cycle: a member leaves, all join, it is back, it joins.
LONGEST_CYCLE = 4
# Number of repetitions before they are folded.
REPEATED = 3
NUMBERED = re.compile(r"(?<![0-9a-zA-Z_-])(?=[a-zA-Z_-]*+\d)[0-9a-zA-Z_-]++")
Sign = tuple[object, ...]


class Stretch(Struct, frozen=True):
    """Generations to be shown, and the following ones that only repeat them."""

    shown: Sequence[Generation]
    repeats: Sequence[Generation] = ()


def stretches(generations: Sequence[Generation]) -> Iterator[Stretch]:
    """Split a history into new and repeated generations."""
    signs = [_look(generation) for generation in generations]
    index, plain = 0, 0
    while index < len(generations):
        length, rounds = _cycle(signs, index)
        if rounds < REPEATED:
            index += 1
            continue
        if plain < index:
            yield Stretch(generations[plain:index])
        end = index + length * rounds
        yield Stretch(generations[index : index + length], generations[index + length : end])
        index = plain = end
    if plain < index:
        yield Stretch(generations[plain:index])


def _cycle(signs: Sequence[Sign], start: int) -> tuple[int, int]:
    # The cycle that covers most generations from here: its length, and the number of repetitions.
    best = (1, 1)
    for length in range(1, LONGEST_CYCLE + 1):
        rounds = 1
        first = signs[start : start + length]
        while signs[start + rounds * length : start + (rounds + 1) * length] == first:
            rounds += 1
        if rounds >= REPEATED and length * rounds > best[0] * best[1]:
            best = (length, rounds)
    return best


def _look(generation: Generation) -> Sign:
    # What two generations have in common for a reader, without numbers, times, random ids and lost requests.
    names = {member.member_id: member_name(member) for member in generation.members}
    return (
        generation.outcome,
        generation.trigger,
        generation.followup,
        NUMBERED.sub("#", generation.reason or ""),
        names.get(generation.leader),
        tuple(sorted(map(member_name, generation.members))),
        tuple(sorted(names.get(joined, "") for joined in generation.joined)),
        len(generation.left),
    )


OUTCOME_STYLES = {"stable": "green", "failed": "red", "superseded": "yellow", "empty": "dim", "unknown": "dim"}
REASON_CHARACTERS = 300
PARTITIONS_SHOWN = 6
MEMBERS_SHOWN = 12
PAUSES_SHOWN = 40
LONGEST_PAUSES = 10
MODES = {"unknown": "eager or cooperative is not known", "server-side": "the coordinator assigns"}

# Characters before the columns of a generation, without those of its number.
BESIDE = len("00:00:00.000  generation   ")


def render_timeline(history: GroupHistory, *, width: int = 80, color: bool = False, verbosity: int = 0) -> str:
    """Render the generations of a group, with a column for each member if they fit."""
    # Repetitions are folded unless `verbosity` is above 0.
    return printed(_blocks(history, verbosity, width), width=width, color=color)


def _blocks(history: GroupHistory, verbosity: int, width: int) -> Iterator[RenderableType]:
    mode = MODES.get(history.rebalance_mode, history.rebalance_mode)
    yield text_block(f"{group_of(history)}: {history.kind} group, {history.protocol} protocol, {mode}", "bold")
    if history.coordinators:
        yield labelled(("Coordinator", term.broker + _during(term)) for term in history.coordinators)
    if not history.generations:
        yield text_block("These logs show no generation of this group.")
    today: str | None = None
    before: tuple[Member, ...] = ()
    longest = max((len(str(generation.generation)) for generation in history.generations), default=1)
    short, unfolded = short_names(history), verbosity > 0
    columns = columns_of(history, short, width - BESIDE - longest)
    layout = _Layout(columns=columns, short=short, longest=longest, unfolded=unfolded)
    if columns is not None:
        yield from columns.key()
    for stretch in [Stretch(history.generations)] if unfolded else stretches(history.generations):
        for generation in stretch.shown:
            begun_at = generation.began_at
            began = None if begun_at is None else _day_of(begun_at)
            if began is not None and began != today:
                yield heading(began.ljust(BESIDE + longest) + (columns.head() if columns else ""))
                today = began
            yield from layout.generation(generation, before)
            before = generation.members
        if stretch.repeats:
            yield from _repeated(stretch)
            before = stretch.repeats[-1].members
    yield from _pauses(
        tuple(pause for pause in history.pauses if is_timed(pause.started_at)), layout.short, unfolded=unfolded
    )
    yield from pattern_in_full(history)


def _day_of(at: EpochMs) -> str:
    if not is_timed(at):
        return "no times"
    return f"{day(at)} UTC" if is_dated(at) else "unknown day"


def _repeated(stretch: Stretch) -> Iterator[RenderableType]:
    length, repeats = len(stretch.shown), stretch.repeats
    numbers = ranges(generation.generation for generation in repeats if generation.generation is not None)
    again = count(len(repeats) // length, "more time", "more times")
    what = f"the same, {again}" if length == 1 else f"the same {length} generations, {again}"
    yield text_block(f"{time_of_day(repeats[0].began_at)}  generations {numbers}  {what}")
    took = [generation.took_ms for generation in repeats if generation.took_ms is not None]
    failures = Counter(failure for generation in repeats for failure in generation.failures)
    facts = [("last", f"at {time_of_day(repeats[-1].began_at)}")]
    facts += [("took", " to ".join(dict.fromkeys(duration(each) for each in (min(took), max(took)))))] if took else []
    facts += [("!", f"{line_of(what, REASON_CHARACTERS)} ({times:,} times)") for what, times in failures.most_common()]
    yield indented(labelled(facts), 14)


class _Layout(Struct, frozen=True, kw_only=True):
    columns: MemberColumns | None
    short: Mapping[str, str]
    longest: int
    unfolded: bool

    def generation(self, generation: Generation, before: tuple[Member, ...]) -> Iterator[RenderableType]:
        """One line with a column for each member, and below it the reason and the failures."""
        at = generation.emptied_at if generation.started_at is None else generation.started_at
        title = Text(f"{time_of_day(at)}  generation {generation.generation:<{self.longest}}  ")
        title.append(self.columns.row(generation) if self.columns else "")
        words = text_block(generation.outcome, OUTCOME_STYLES[generation.outcome])
        words.append_text(text_block(_because(generation)))
        yield side_by_side(title, words)
        listed = self.columns is None
        yield indented(labelled(self._facts(generation, before, listed=listed)), 14)

    def _facts(self, generation: Generation, before: tuple[Member, ...], *, listed: bool) -> Iterator[tuple[str, str]]:
        if generation.reason:
            named = [*(member.member_id or "" for member in generation.members), *generation.left]
            yield "reason", line_of(with_short_names(generation.reason, self.short, named), REASON_CHARACTERS)
        if listed:
            yield from self._listed(generation, before)
        for failure in generation.failures:
            yield "!", line_of(failure, REASON_CHARACTERS)

    def _listed(self, generation: Generation, before: tuple[Member, ...]) -> Iterator[tuple[str, str]]:
        # The members if there are too many for columns: for a large group the leader and new members.
        everybody = generation.members
        if everybody and everybody == before:
            leader = self.short.get(generation.leader or "", "an unknown member")
            yield "", f"the same {count(len(before), 'member')}, led by {leader}"
        else:
            changed = [m for m in everybody if m.member_id in generation.joined or m.member_id == generation.leader]
            shown = everybody if self.unfolded or len(everybody) <= MEMBERS_SHOWN else changed[:MEMBERS_SHOWN]
            for member in shown:
                yield "+" if member.member_id in generation.joined else " ", self._described(generation, member)
            if len(shown) < len(everybody):
                came = sum(member.member_id in generation.joined for member in everybody)
                yield (
                    "",
                    f"and {len(everybody) - len(shown):,} more of {len(everybody):,} members, {came:,} of them new",
                )
        left = generation.left if self.unfolded else generation.left[:MEMBERS_SHOWN]
        yield from (("-", f"{self.short.get(member, member)} is no longer a member") for member in left)
        if len(left) < len(generation.left):
            yield "-", f"{len(generation.left) - len(left):,} more are no longer members"

    def _described(self, generation: Generation, member: Member) -> str:
        words = [short_name(member, self.short)]
        if member.member_id is not None and member.member_id == generation.leader:
            words.append("(leader)")
        if member.host:
            words.append(f"at {member.host}")
        return " ".join(words)


def _during(term: CoordinatorTerm) -> str:
    return f" from {utc(term.started_at)} to {utc(term.ended_at, 'the end')}" if is_timed(term.started_at) else ""


def _because(generation: Generation) -> str:
    words = [f", {generation.trigger}"] if generation.trigger else []
    if generation.followup and generation.followup != generation.trigger:
        words.append(f", {generation.followup} follow-up")
    if generation.took_ms is not None:
        words.append(f", took {duration(generation.took_ms)}")
    return "".join(words)


def _pauses(pauses: tuple[Pause, ...], short: Mapping[str, str], *, unfolded: bool) -> Iterator[RenderableType]:
    if not pauses:
        return
    yield heading(f"{count(len(pauses), 'pause')}, {duration(sum(map(_length, pauses)))} in all")
    if unfolded or len(pauses) <= PAUSES_SHOWN:
        yield from (_pause(pause, short) for pause in pauses)
        return
    by_member: dict[str, list[Pause]] = defaultdict(list)
    for pause in pauses:
        by_member[_who(pause, short)].append(pause)
    summed = sorted(by_member.items(), key=lambda item: (-sum(map(_length, item[1])), item[0]))
    yield indented(labelled(_summed(own_pauses, who) for who, own_pauses in summed[:MEMBERS_SHOWN]))
    if len(summed) > MEMBERS_SHOWN:
        yield indented(f"and {count(len(summed) - MEMBERS_SHOWN, 'more member')}; --verbose shows every pause")
    yield text_block(f"the longest {LONGEST_PAUSES}; --verbose shows every pause")
    longest = sorted(sorted(pauses, key=_length)[-LONGEST_PAUSES:], key=lambda pause: pause.started_at)
    yield from (_pause(pause, short) for pause in longest)


def _summed(pauses: Sequence[Pause], who: str) -> tuple[str, str]:
    longest = max(map(_length, pauses))
    return who, f"{count(len(pauses), 'pause')}, {duration(sum(map(_length, pauses)))}, the longest {duration(longest)}"


def _length(pause: Pause) -> int:
    return pause.lasted_ms or 0


def _who(pause: Pause, short: Mapping[str, str]) -> str:
    name = pause.client_id or pause.member_id or "unnamed member"
    return short.get(name, name)


def _pause(pause: Pause, short: Mapping[str, str]) -> RenderableType:
    length = "until the logs end" if pause.ended_at is None else duration(_length(pause))
    what = some(pause.partitions, PARTITIONS_SHOWN) or "partitions not named"
    return indented(f"{time_of_day(pause.started_at)}  {_who(pause, short)}  {length}  {pause.kind} {what}")
