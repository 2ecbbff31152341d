"""Every generation of one group, member by member."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.terminal.paper import heading, indented, labelled, printed, said
from rebalance_forensics.report.terminal.reading import read_in_full
from rebalance_forensics.report.times import day, duration, time_of_day, utc
from rebalance_forensics.report.wording import count, group_of, some
from rebalance_forensics.timeline.model import Generation, GroupHistory, Member, Pause

OUTCOME_STYLES = {"stable": "green", "failed": "red", "superseded": "yellow", "empty": "dim", "unknown": "dim"}
REASON_CHARACTERS = 300
PARTITIONS_SHOWN = 6

Names = dict[str | None, str]


def render_timeline(history: GroupHistory, *, width: int = 80, color: bool = False) -> str:
    """Lay out how a group went from generation to generation."""
    return printed(_blocks(history), width=width, color=color)


def _blocks(history: GroupHistory) -> Iterator[RenderableType]:
    what = f"{history.kind} group, {history.protocol} protocol, {history.rebalance_mode}"
    yield said(f"{group_of(history)}: {what}", "bold")
    if history.coordinators:
        yield labelled(
            ("Coordinator", f"{term.broker} from {utc(term.started_at)} to {utc(term.ended_at, 'the end')}")
            for term in history.coordinators
        )
    if not history.generations:
        yield said("No generation of it stands in these logs.")
    today: str | None = None
    before: tuple[Member, ...] = ()
    names = {one.member_id: name_of(one) for generation in history.generations for one in generation.members}
    for generation in history.generations:
        began = day(generation.started_at if generation.started_at is not None else generation.completed_at)
        if began is not None and began != today:
            yield heading(f"{began} UTC")
            today = began
        yield from _generation(generation, before, names)
        before = generation.members
    yield from _pauses(history.pauses)
    yield from read_in_full(history)


def _generation(generation: Generation, before: tuple[Member, ...], names: Names) -> Iterator[RenderableType]:
    title = Text(f"{time_of_day(generation.started_at)}  generation {generation.generation}  ")
    title.append_text(said(generation.outcome, OUTCOME_STYLES[generation.outcome]))
    title.append_text(said(_because(generation)))
    yield title
    yield indented(labelled(_facts(generation, before, names)), 14)


def _because(generation: Generation) -> str:
    words = [f", {generation.trigger}"] if generation.trigger else []
    if generation.followup and generation.followup != generation.trigger:
        words.append(f", {generation.followup} follow-up")
    if generation.started_at is not None and generation.completed_at is not None:
        words.append(f", took {duration(generation.completed_at - generation.started_at)}")
    return "".join(words)


def _facts(generation: Generation, before: tuple[Member, ...], names: Names) -> Iterator[tuple[str, str]]:
    if generation.reason:
        yield "reason", line_of(generation.reason, REASON_CHARACTERS)
    if generation.members and generation.members == before:
        yield "", f"the same {count(len(before), 'member')}, led by {names.get(generation.leader, 'an unknown one')}"
    else:
        yield from ((_sign(generation, member), _described(generation, member)) for member in generation.members)
    for gone in generation.left:
        yield "-", f"{names.get(gone, gone)} left"
    for failure in generation.failures:
        yield "!", line_of(failure, REASON_CHARACTERS)


def _sign(generation: Generation, member: Member) -> str:
    return "+" if member.member_id in generation.joined else " "


def _described(generation: Generation, member: Member) -> str:
    words = [name_of(member)]
    if member.member_id is not None and member.member_id == generation.leader:
        words.append("(leader)")
    if member.host:
        words.append(f"at {member.host}")
    return " ".join(words)


def name_of(member: Member) -> str:
    """Name a member as an operator would."""
    return member.client_id or member.instance_id or member.member_id or "unnamed member"


def _pauses(pauses: tuple[Pause, ...]) -> Iterator[RenderableType]:
    if not pauses:
        return
    ended = [pause.ended_at - pause.started_at for pause in pauses if pause.ended_at is not None]
    yield heading(f"{count(len(pauses), 'pause')}, {duration(sum(ended))} in all")
    for pause in pauses:
        who = pause.client_id or pause.member_id or "unnamed member"
        length = "until the logs end" if pause.ended_at is None else duration(pause.ended_at - pause.started_at)
        what = some(pause.partitions, PARTITIONS_SHOWN) or "partitions not named"
        yield indented(f"{time_of_day(pause.started_at)}  {who}  {length}  {pause.kind} {what}")
