"""Partitions or topics appeared or vanished under the subscription."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from rebalance_forensics.diagnosis.absences import (
    NEAR_MS,
    Absence,
    absences,
    distinct_events,
    formed_at,
    runs,
    seconds,
    span,
    touched,
)
from rebalance_forensics.diagnosis.finding import CERTAIN, GUESS, LIKELY, PROBABLE, Finding, Rule
from rebalance_forensics.diagnosis.given_topics import given_topics
from rebalance_forensics.diagnosis.growth import Growth, growths
from rebalance_forensics.diagnosis.model import Advice, Culprit, Severity
from rebalance_forensics.diagnosis.subscriptions import (
    of_the_group,
    read_by_the_group,
    topics_changed_before,
    topics_told,
    topics_under_pattern,
    wordless_rejoins,
)
from rebalance_forensics.diagnosis.unready_topics import Unready, unready_topics
from rebalance_forensics.diagnosis.vanished_topics import Vanished, vanished_topics
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import TopicChanged
from rebalance_forensics.events.epochs import GroupEpochBumped
from rebalance_forensics.events.rebalancing import JoinRequested, RebalanceStarted
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Rebalance, Request
from rebalance_forensics.timeline.told import time_of

ONE_CHANGE_MS = 120_000
LONG_MS = 30_000
"""Members that stand still for longer are no longer a planned change."""
HELD_UP = 17
"""Who cannot commit misses max.poll.interval.ms, and the group waits for it: deeper than either."""
NOTICED_MS = 10_000
"""The coordinator of a KIP-848 group sees a changed topic at the next heartbeat of any member."""
STORM = 3
_TOPICS = re.compile(r"([^\s{},=()]+)=(\[[^\]]*\]|[^,}]*)")


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Leaders that saw changed metadata; without their word, new partitions, or rejoins after a topic changed."""
    formed = formed_at(timeline)
    asked = [r for r in timeline.requests if r.at > formed]
    told = [r for r in asked if r.why == "metadata-changed" or topics_under_pattern(timeline, r) is not None]
    for group in runs(told, lambda r: r.at, ONE_CHANGE_MS):
        yield _finding(timeline, group, CERTAIN, [])
    wordless = [r for r in wordless_rejoins(timeline) if not _next_to(r, told)]
    for request in wordless:
        changed = of_the_group(timeline, topics_changed_before(timeline, request.at))
        grown = _grown_by(timeline, [request])
        if grown:
            changed = [e for e in changed if set(_names_of([e])) & {t for g in grown for t in g.topics}]
        topics = [*changed, *(e for g in grown for e in g.told)]
        if topics and not any(g.taken_up_by for g in grown):
            yield _finding(timeline, [request], _sure_of(timeline, topics, grown), topics)
    yield from _grown(timeline, [*told, *wordless])
    yield from (_without_tasks(timeline, u) for u in unready_topics(timeline) if u.missing and u.read_before)
    yield from (_held_up(timeline, vanished) for vanished in vanished_topics(timeline))
    yield from _right_after_a_change(timeline)
    yield from _bumped_by_metadata(timeline)


def _held_up(timeline: Timeline, vanished: Vanished) -> Finding:
    """Members that do not rejoin because they cannot commit what they read of a topic that is gone."""
    begin, end, names = vanished.begin, vanished.end, ", ".join(vanished.topics)
    late = [a for a in absences(timeline, ("poll-timeout",)) if vanished.held_up(a)]
    facts = [*timeline.moves(begin, end + NEAR_MS), *(fact for away in late for fact in away.facts())]
    asked = timeline.requests.between(begin, end)
    who = f"{vanished.members} members" if vanished.members > 1 else "one member"
    return Finding(
        because=distinct_events([*vanished.deleted[:2], *_first_and_last(vanished)]),
        culprits=_culprits(list(vanished.topics)),
        confidence=CERTAIN if vanished.deleted else PROBABLE,
        severity=_severity(timeline, vanished, late),
        onset=begin,
        ongoing=vanished.still,
        rank=HELD_UP,
        claims=(*asked, *facts, *touched(timeline, [*asked, *facts])),
        narrative=(
            f"{names} vanished under the members; {who} tried for {seconds(end - begin)} to commit what was read of it "
            "and did not rejoin meanwhile."
        ),
        advice=(
            Advice(
                action=f"Create {names} again, or take it out of the application and restart.",
                why="A commit for a topic that is gone is repeated until a timeout; the whole group waits for it.",
                cost="What was in the topic stays lost.",
            ),
        ),
    )


def _severity(timeline: Timeline, vanished: Vanished, late: list[Absence]) -> Severity:
    # An application of Streams cannot do without a source topic; a consumer reads on what is left to it.
    if timeline.kind == "streams":
        return "critical"
    return "warning" if late or vanished.end - vanished.begin > LONG_MS else "info"


def _first_and_last(vanished: Vanished) -> list[Event]:
    """The first and the last refusal of each topic and partition."""
    ends: dict[str | None, list[Event]] = {}
    for event in vanished.refused:
        ends.setdefault(event.partition, []).append(event)
    return [event for told in ends.values() for event in (told[0], told[-1])]


def _without_tasks(timeline: Timeline, unready: Unready) -> Finding:
    """A KIP-1071 group whose source topics were deleted: its coordinator takes all tasks away."""
    begin, end = time_of(unready.told[0]), time_of(unready.told[-1])
    names = ", ".join(unready.topics)
    return Finding(
        because=distinct_events(unready.told),
        culprits=_culprits(list(unready.topics)),
        confidence=CERTAIN,
        severity="critical",
        onset=begin,
        rank=HELD_UP,
        claims=(*timeline.rebalances.between(begin - NEAR_MS, end), *timeline.moves(begin, end + NEAR_MS)),
        narrative=f"{names} vanished under the application, and the coordinator gave it no task any more.",
        advice=(
            Advice(
                action=f"Create {names} again, or take it out of the topology and restart.",
                why=f"The members were told that it is missing for {seconds(end - begin)}.",
            ),
        ),
    )


def _grown_by(timeline: Timeline, group: list[Request]) -> list[Growth]:
    mine = {r.id for r in touched(timeline, group)}
    return [g for g in growths(timeline) if g.rebalance.id in mine]


def _grown(timeline: Timeline, told: list[Request]) -> Iterator[Finding]:
    """New partitions after a rebalance for which nobody gave a reason."""
    known = {r.id for r in touched(timeline, told)}
    silent = [g for g in growths(timeline) if g.rebalance.id not in known and g.taken_up_by is None]
    for run in runs(silent, lambda g: g.rebalance.started_at, ONE_CHANGE_MS):
        names = sorted({t for g in run for t in g.topics})
        facts = tuple(g.rebalance for g in run)
        yield Finding(
            because=distinct_events(e for g in run for e in (*g.told[:3], *g.rebalance.events[:1])),
            culprits=_culprits(names),
            confidence=min(g.sure for g in run),
            severity="warning" if len(run) > STORM else "info",
            onset=facts[0].started_at,
            claims=facts,
            core=facts,
            narrative=_narrative(timeline, ", ".join(names)),
            advice=_advice(len(names), len(facts)),
        )


def _sure_of(timeline: Timeline, topics: list[Event], grown: list[Growth]) -> float:
    # Workers subscribe to no topic: what created the topics may have changed the connectors as well.
    # Members of Streams rejoin for reasons of their own, and no broker tells which.
    if timeline.kind in ("connect", "streams"):
        return GUESS
    if grown:
        return min(g.sure for g in grown)
    told, read = topics_told(timeline), read_by_the_group(timeline, topics)
    if read and (not told or told & set(_names_of(read))):
        return LIKELY
    # Every group of the cluster sees topics come and go; this one may read none of them, or only from now on.
    return GUESS if told and not read else PROBABLE


def _next_to(request: Request, told: list[Request]) -> bool:
    return any(abs(request.at - other.at) < 5_000 for other in told)


def _right_after_a_change(timeline: Timeline) -> Iterator[Finding]:
    """Before 2.1 a coordinator gives no reason at all: a topic that changed since the last rebalance may be it."""
    if timeline.kind != "consumer" or any(a.has_log for a in timeline.actors()):
        return
    grown = {g.rebalance.id for g in growths(timeline)}
    for before, rebalance in pairwise(timeline.rebalances):
        opened = [e for e in rebalance.events if isinstance(e, RebalanceStarted)]
        if rebalance.id in grown or not opened or any(e.trigger is not None for e in opened):
            continue
        made = topics_changed_before(timeline, rebalance.started_at)
        topics = [e for e in made if time_of(e) > before.ended_at()]
        if topics and not timeline.moves(rebalance.started_at - NEAR_MS, rebalance.ended_at()):
            names = _names_of(topics)
            yield Finding(
                because=distinct_events([*opened, *topics[:4]]),
                culprits=_culprits(names),
                confidence=GUESS,
                severity="info",
                claims=(rebalance,),
                narrative=f"No line says why; {', '.join(names)} changed just before, which may be the reason.",
                advice=_advice(len(names), 1),
            )


def _bumped_by_metadata(timeline: Timeline) -> Iterator[Finding]:
    """A KIP-848 epoch that no member caused, after a topic changed."""
    for rebalance in timeline.rebalances:
        bumps = [e for e in rebalance.events if isinstance(e, GroupEpochBumped)]
        if not bumps or _member_did_it(timeline, rebalance) or _same_metadata(timeline, bumps[0]):
            continue
        topics = of_the_group(timeline, topics_changed_before(timeline, rebalance.started_at))
        if topics:
            prompt = rebalance.started_at - time_of(topics[-1]) <= NOTICED_MS
            yield Finding(
                because=distinct_events([*bumps, *topics]),
                culprits=_culprits(_names_of(topics)),
                confidence=LIKELY if prompt else GUESS,
                severity="info",
                claims=(rebalance,),
                narrative=f"The group epoch rose after {', '.join(_names_of(topics))} changed.",
                advice=_advice(len(_names_of(topics)), 1),
            )


def _same_metadata(timeline: Timeline, bump: GroupEpochBumped) -> bool:
    """From 4.1 on the coordinator tells a hash of the topics that the group reads: unchanged, they are not why."""
    before = timeline.of(GroupEpochBumped).last((bump.at or 0) - 1)
    return before is not None and bump.metadata_hash is not None and before.metadata_hash == bump.metadata_hash


def _member_did_it(timeline: Timeline, rebalance: Rebalance) -> bool:
    near = (rebalance.started_at - 2_999, rebalance.started_at + 2_999)
    return bool(timeline.moves(*near)) or timeline.requests.any_between(*near)


def _finding(timeline: Timeline, group: list[Request], confidence: float, topics: list[Event]) -> Finding:
    seen = {t for r in group for e in r.events for t in changed_topics(e)}
    seen |= {t for r in group for t in topics_under_pattern(timeline, r) or ()}
    names = sorted(seen) or _grown_names(timeline, group) or _names_of(topics) or _made_before(timeline, group)
    rounds = touched(timeline, group)
    times = len(rounds) or len(group)
    return Finding(
        because=distinct_events([*(e for r in group for e in r.events), *topics]),
        culprits=_culprits(names),
        confidence=confidence,
        severity="warning" if times > STORM and confidence > GUESS else "info",
        claims=(*group, *rounds),
        core=tuple(group),
        narrative=_narrative(timeline, ", ".join(names) or "which ones, no line says"),
        advice=_advice(len(names), max(times, 1), span(r.events[0] for r in group if r.events)),
    )


def _narrative(timeline: Timeline, which: str) -> str:
    if timeline.kind == "connect":
        return (
            f"The leader asked for a rebalance soon after topics changed: {which}. Workers subscribe to no topic; "
            "their own logs would tell which connector was changed."
        )
    return f"Topics or partitions changed under the subscription: {which}."


def _advice(topics: int, rebalances: int, during: str = "") -> tuple[Advice, ...]:
    changed = f"{topics} topics" if topics > 1 else "One topic" if topics else "What changed"
    made = "one rebalance" if rebalances == 1 else f"{rebalances} rebalances"
    return (
        Advice(
            action="Create topics and add partitions in one go, outside busy hours.",
            why=(
                f"Every change that a leader notices is a rebalance of the whole group: {changed} made {made}{during}."
            ),
            cost="What is new waits for the next round of changes.",
        ),
    )


def _names_of(topics: list[Event]) -> list[str]:
    return sorted({e.topic for e in topics if isinstance(e, TopicChanged)})


def _grown_names(timeline: Timeline, group: list[Request]) -> list[str]:
    return sorted({t for g in _grown_by(timeline, group) for t in g.topics})


def _made_before(timeline: Timeline, group: list[Request]) -> list[str]:
    """The topics that brokers changed just before, of those the members read as far as that is known."""
    made = {name for r in group for name in _names_of(topics_changed_before(timeline, r.at))}
    read = set(given_topics(timeline).partitions)
    return sorted(made & read or made)


def _culprits(names: list[str]) -> tuple[Culprit, ...]:
    return tuple(Culprit(kind="topic", name=name) for name in names)


def changed_topics(event: Event) -> list[str]:
    """The topics whose partitions differ between the two snapshots a leader logs."""
    if isinstance(event, JoinRequested):
        before, after, text = event.before, event.after, event.reason or ""
    elif isinstance(event, RebalanceStarted):
        before, after, text = None, None, event.client_reason or ""
    else:
        return []
    if before is None or after is None:
        found = re.search(r"changed from (.*?) at the beginning of the rebalance to (.*)", text, re.DOTALL)
        found = found or re.search(r"changed from (.*?) to (.*)", text, re.DOTALL)
        if found is None:
            return []
        before, after = found[1], found[2]
    old, new = dict(_TOPICS.findall(before)), dict(_TOPICS.findall(after))
    return sorted(t for t in old.keys() | new.keys() if old.get(t) != new.get(t))


RULE = Rule(
    summary="Partitions or topics appeared or vanished under the subscription.",
    mechanism=(
        "The leader compares the metadata it assigned with what it sees now; on a difference it rejoins "
        "and thereby starts a rebalance; under KIP-848 the coordinator looks by itself. A pattern "
        "subscription also matches topics that nobody thought "
        "of."
    ),
    signs=(
        "'cached metadata has changed from … to …', the group leader rejoins; a topic was created or "
        "extended just before."
    ),
    remedy="Create topics in batches; make pattern subscriptions as narrow as they can be.",
    usual="planned",
    rank=23,
    diagnose=diagnose,
    settings=("metadata.max.age.ms",),
)
