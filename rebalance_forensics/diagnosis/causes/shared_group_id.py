"""Two applications use one group.id."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.members.restarts import in_place_of_others
from rebalance_forensics.diagnosis.episodes.topics.epochs import brings_topics
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import (
    AssignedTopics,
    assigned_topics,
    foreign_assignments,
)
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.durations import counted, listed, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import configured_group
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import topic_of
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.profile import assignors_in
from rebalance_forensics.timeline.time_index import linked, lists_by_key
from rebalance_forensics.timeline.windows import ONE_STEP_MS

_BETWEEN_WORDS = re.compile(r"[-_.#:/@]")
_NUMBER, _DIGIT = re.compile(r"(?<!\d)\d++$"), re.compile(r"\d")
NO_TOPIC_IN_COMMON = clue("no-topic-in-common", DECISIVE, "its members read different topics, none of them in common")
NO_CONFIG_TOPIC_IN_COMMON = clue(
    "no-config-topic-in-common", DECISIVE, "its workers are configured with different config topics"
)
FOREIGN_TOPICS_ASSIGNED = clue(
    "foreign-topics-assigned",
    DECISIVE,
    "an instance was assigned topics that it does not subscribe to: the leader has another topology",
)
ASSIGNED_ONCE = clue(
    "assigned-once", -STRONG, "this was logged once, as while a new release with other topics is rolled out"
)
# For brokers' logs alone, which show no subscriptions.
BROUGHT_TOPICS = clue(
    "other-topics-from-then-on", WEAK, "with its newcomers the group subscribes to topics that no other member reads"
)
UNLIKE_NAMES = clue("unlike-client-ids", WEAK, "its newcomers have client ids of a different form than all others")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members of another application, at most one hypothesis: those that came later or are fewer."""
    if timeline.kind == "connect" and (workers := workers_of_another_cluster(timeline)) is not None:
        yield _another_connect_cluster(timeline, *workers)
    if mismatches := foreign_assignments(timeline):
        yield _another_topology(timeline, mismatches)
    foreign_members = intruders(timeline) if timeline.kind == "consumer" else None
    shown = NO_TOPIC_IN_COMMON
    if foreign_members is None and timeline.kind == "consumer":
        foreign_members, shown = _by_topics(timeline), BROUGHT_TOPICS
    if foreign_members is None and timeline.kind == "consumer":
        foreign_members, shown = _by_names(timeline), UNLIKE_NAMES
    if foreign_members is None:
        return
    members, lines = foreign_members
    foreign = set(members)
    # Each of their arrivals or rejoins rebalanced the other application.
    moves = [fact for facts in (timeline.arrivals, timeline.requests) for fact in facts if fact.participant in foreign]
    count = f" Here {counted(len(members), 'member')} of the other application joined or rejoined {times(len(moves))}."
    single = len(members) == 1
    use, it_has = ("uses", "it has") if single else ("use", "they have")
    use = use if shown is NO_TOPIC_IN_COMMON else "may use"
    if shown is UNLIKE_NAMES:
        why = f"{'its client id differs' if single else 'their client ids differ'} in form from all others"
    elif shown is BROUGHT_TOPICS:
        why = f"with {'it' if single else 'them'} the group subscribes to topics that no other member reads"
    else:
        why = f"{it_has} no topic in common with the other members"
    yield Hypothesis(
        because=lines,
        culprits=culprits_of(timeline, members),
        clues={shown: Present(distinct_events(lines))},
        participants=members,
        severity="warning" if shown is NO_TOPIC_IN_COMMON else "info",
        onset=min((move.at for move in moves), default=None),
        implies=with_rebalances(timeline, moves),
        narrative=f"{listed([a.name for a in members])} {use} the group.id of another application: {why}.",
        advice=(
            Advice(
                action="Give each application its own group.id.",
                why="Every start, stop or slow poll loop of one application rebalances the other as well."
                f"{count if moves else ''}",
                cost="Under a new group.id an application starts at auto.offset.reset unless committed offsets are "
                "copied.",
            ),
        ),
    )


def _another_topology(timeline: Timeline, mismatches: Mapping[Participant, Sequence[Request]]) -> Hypothesis:
    """Instances of Streams whose topics the others assign, or the others if they came later."""
    requests = sorted((r for found in mismatches.values() for r in found), key=lambda r: r.at)
    lines = {who: [e for r in found for e in r.events] for who, found in mismatches.items()}
    others = {p: [e for a in timeline.arrivals.of(p)[:1] for e in a.events] for p in timeline.membership.members}
    others = {p: events for p, events in others.items() if events and p not in lines}
    found = _newcomers(timeline, [[*lines], [*others]], {**others, **lines}) if others else None
    members = tuple(lines) if found is None else found[0]
    run, has = ("runs", "has") if len(members) == 1 else ("run", "have")
    shown = [e for r in requests for e in r.events]
    lines_shown = Present(distinct_events(shown))
    came = [a for member in members for a in timeline.arrivals.of(member) if not a.while_empty]
    return Hypothesis(
        because=shown,
        culprits=culprits_of(timeline, members),
        clues={FOREIGN_TOPICS_ASSIGNED: lines_shown} | ({} if requests[1:] else {ASSIGNED_ONCE: lines_shown}),
        participants=members,
        severity="warning",
        onset=min([requests[0].at, *(a.at for a in came)]),
        implies=with_rebalances(timeline, [*came, *requests]),
        narrative=f"{listed([a.name for a in members])} {run} under the application.id of an application with other "
        f"topics: {times(len(requests))}{span(shown)} an instance rejoined because it was assigned partitions of "
        "topics that it does not subscribe to.",
        advice=(
            Advice(
                action="Give each application its own application.id. If it is a new release with another topology, "
                "stop all instances of the former one before it starts.",
                why=f"The leader assigns the tasks of its own topology; an instance that {has} another one rejoins at "
                "once, for as long as both are in the group.",
                cost="Under a new application.id an application starts at auto.offset.reset and with empty state "
                "stores.",
            ),
        ),
    )


def _another_connect_cluster(
    timeline: Timeline, workers: tuple[Participant, ...], lines: Sequence[Event]
) -> Hypothesis:
    foreign = set(workers)
    moves = [fact for facts in (timeline.arrivals, timeline.requests) for fact in facts if fact.participant in foreign]
    topics = list(dict.fromkeys(filter(None, map(_config_topic, lines))))
    use, their = ("uses", "its") if len(workers) == 1 else ("use", "their")
    return Hypothesis(
        because=lines,
        culprits=culprits_of(timeline, workers),
        clues={NO_CONFIG_TOPIC_IN_COMMON: Present(distinct_events(lines))},
        participants=workers,
        severity="warning",
        onset=min((move.at for move in moves), default=None),
        implies=with_rebalances(timeline, moves),
        narrative=f"{listed([a.name for a in workers])} {use} the group.id of another Connect cluster: {their} "
        f"config.storage.topic is {listed(topics[:-1])}, that of the other workers {topics[-1]}.",
        advice=(
            Advice(
                action="Give each Connect cluster its own group.id, config, offset and status topics.",
                why="Workers with one group.id elect one leader, which assigns connectors and tasks from its own "
                "config topic; workers with another config topic do not know them and cannot catch up.",
                cost="None for connectors: their configurations and offsets are in topics, not in the group.",
            ),
        ),
    )


CAUSE = Cause(
    propose=propose,
    implies=("scale-out", "startup", "scaling-flap", "subscription-change"),
    lookalikes=("subscription-change", "scale-out"),
)


def intruders(timeline: Timeline) -> tuple[tuple[Participant, ...], Sequence[Event]] | None:
    """Members without a topic in common with those that came first or are more, and the lines; None if there are none.

    Members with a topic in common, directly or through others, are a family.
    """
    subscribed, lines = _subscriptions(timeline)
    assigned = assigned_topics(timeline)
    topics = {**assigned.topics, **subscribed}
    families = linked(sorted(topics, key=lambda participant: participant.name), topics.__getitem__)
    families.sort(key=lambda family: family[-1].name)
    if len(families) < 2 or not (
        all(_has_own_topics(timeline, f, subscribed, assigned) for f in families)
        or _assigned_apart(timeline, families, assigned)
    ):
        return None
    return _newcomers(timeline, families, {a: lines[a] or assigned.lines[a] for family in families for a in family})


def workers_of_another_cluster(timeline: Timeline) -> tuple[tuple[Participant, ...], Sequence[Event]] | None:
    """Connect workers whose last start had another config topic than those that came first or are more; or None."""
    members = set(timeline.membership.members)
    topics: dict[Participant, frozenset[str]] = {}
    lines: dict[Participant, Sequence[Event]] = {}
    for event in timeline.of(ev.SettingsReported):
        who, topic = timeline.participants.of_speaker(event), _config_topic(event)
        if who in members and topic is not None and configured_group(dict(event.settings)) == timeline.group:
            topics[who], lines[who] = frozenset({topic}), [event]
    families = linked(sorted(topics, key=lambda participant: participant.name), topics.__getitem__)
    families.sort(key=lambda family: family[-1].name)
    return _newcomers(timeline, families, lines) if len(families) > 1 else None


def _config_topic(event: Event) -> str | None:
    return dict(event.settings).get("config.storage.topic") if isinstance(event, ev.SettingsReported) else None


def _newcomers(
    timeline: Timeline, families: Sequence[Sequence[Participant]], lines: Mapping[Participant, Sequence[Event]]
) -> tuple[tuple[Participant, ...], Sequence[Event]] | None:
    """The members of all families but the first or largest, and lines of each; None if they replace the others."""
    shown_at = {a: min(map(time_of, lines[a])) for family in families for a in family}
    home = max(families, key=lambda f: (-_first_seen(timeline, f), len(f), -min(shown_at[a] for a in f)))
    newcomers = [a for family in families if family is not home for a in family]
    if _replace(timeline, newcomers, home, since=min(shown_at[a] for a in newcomers)):
        return None
    foreign = sorted((a for f in families if f is not home for a in f), key=lambda a: a.name)
    shown = [e for a in foreign for e in lines[a][:2]]
    return tuple(foreign), [*shown, *(e for a in home for e in lines[a][:1])]


def _replace(timeline: Timeline, newcomers: Sequence[Participant], home: Sequence[Participant], *, since: int) -> bool:
    """True if the others all left for good when these joined: a new release of the application reads other topics."""
    departures = [timeline.membership.final_departure(participant) for participant in home]
    stay = any(timeline.membership.final_departure(participant) is None for participant in newcomers)
    return stay and all(d is not None and since <= d.at <= since + ONE_STEP_MS for d in departures)


def _subscriptions(
    timeline: Timeline,
) -> tuple[dict[Participant, frozenset[str]], dict[Participant, list[ev.Subscribed]]]:
    named = (e for e in timeline.of(ev.Subscribed) if e.topics and not e.by_hand)
    lines = lists_by_key((who, e) for e in named if (who := timeline.participants.of_speaker(e)) is not None)
    return {who: frozenset(topic for e in events for topic in e.topics) for who, events in lines.items()}, lines


def _has_own_topics(
    timeline: Timeline,
    family: list[Participant],
    subscribed: dict[Participant, frozenset[str]],
    assigned: AssignedTopics,
) -> bool:
    """True if no other member reads the family's topics, by its subscriptions or by the partitions of a topic."""
    # Without logged subscriptions only assignments show topics. Every subscriber of a topic with at least as many
    # partitions as the group has members is assigned some of it; members that are not do not subscribe to it.
    if all(a in subscribed for a in family):
        return True
    if _balances_totals(timeline):
        return False
    members = len(subscribed.keys() | assigned.topics.keys())
    return any(assigned.width(topic) >= members for a in family for topic in assigned.topics.get(a, ()))


def _assigned_apart(timeline: Timeline, families: list[list[Participant]], assigned: AssignedTopics) -> bool:
    """True if assignments show that no family reads the topics of another."""
    # A member that is assigned two partitions of a topic while all families are in the group is its only subscriber.
    if timeline.mode != "eager" or _balances_totals(timeline):
        return False
    by_family = [sorted((e for a in family for e in assigned.lines.get(a, ())), key=time_of) for family in families]
    if not all(by_family):
        return False
    first = [time_of(lines[0]) for lines in by_family]
    started = (timeline.rebalances.last(at) for at in first)
    since = max(at if r is None else r.started_at for r, at in zip(started, first, strict=True))
    departure = timeline.departures.first(since)
    until = departure.at if departure is not None else timeline.last + 1
    return all(any(since <= time_of(e) < until and _has_two_of_a_topic(e) for e in lines) for lines in by_family)


def _balances_totals(timeline: Timeline) -> bool:
    """True if the assignor balances only totals, and may assign all of a topic to one of its subscribers."""
    # RangeAssignor and RoundRobinAssignor assign each subscriber of a topic one partition before any gets a second.
    # Sticky assignors and KIP-848's uniform assignor balance the members' total numbers of partitions.
    names = assignors_in(timeline.settings)[:1]
    names += {event.protocol or "" for event in timeline.of(ev.JoinReported)}
    return timeline.mode in ("cooperative", "server-side") or any("sticky" in name.lower() for name in names)


def _has_two_of_a_topic(event: Event) -> bool:
    if not isinstance(event, ev.PartitionsAssigned | ev.JoinReported | ev.SyncSucceeded):
        return False
    topics = [topic_of(p) for p in event.partitions or ()]
    return len(topics) > len(set(topics))


def _by_topics(timeline: Timeline) -> tuple[tuple[Participant, ...], Sequence[Event]] | None:
    """New members with topics that no member of the running group had subscribed to, and the lines; None if none."""
    # A new release may read further topics: then newcomers replace others.
    initial, replaced = initial_arrivals(timeline), in_place_of_others(timeline)
    new = (a for a in timeline.arrivals if a.first and a.id not in initial and a.id not in replaced)
    brought = {a: lines for a in new if (lines := brings_topics(timeline, a))}
    if not brought:
        return None
    foreign = dict.fromkeys(a.participant for a in brought)
    return tuple(foreign), [e for a, lines in brought.items() for e in (*a.events[:1], *lines)]


def _by_names(timeline: Timeline) -> tuple[tuple[Participant, ...], Sequence[Event]] | None:
    """New members whose client ids differ in form from all others, and their lines (brokers' logs alone), or None."""
    # Names are only a hint, because one application may use clients of two languages. Default client ids
    # (`consumer-group-1`) do not distinguish applications, and newcomers that replace all other members are the next
    # release of the same application.
    first = [a for a in timeline.arrivals if a.first]
    members = timeline.membership.members
    if not first or any(participant.has_log for participant in members):
        return None
    stems: dict[str, list[Participant]] = defaultdict(list)
    unset = (_stem(f"consumer-{timeline.group}"), _stem("consumer"))
    for participant in members:
        stem = _stem(participant.name)
        stems[stem].append(participant)
        if stem in unset or len(stems) > 2:
            return None
    if len(stems) != 2 or any(len(participants) < 2 for participants in stems.values()):
        return None
    home = min(stems, key=lambda s: _first_seen(timeline, stems[s]))
    foreign = tuple(a for stem, participants in stems.items() if stem != home for a in participants)
    came = [e for a in first if a.participant in foreign and not a.while_empty for e in a.events[:2]]
    replaced = all(timeline.membership.final_departure(a) for a in stems[home])
    return (foreign, came) if came and not replaced else None


@lru_cache(maxsize=1 << 12)
def _stem(name: str) -> str:
    """The words of a client id without numbers and a deployment's hashes (`orders-7f9c6d-x2kqp` -> `orders`)."""
    words: list[str] = []
    for word in _BETWEEN_WORDS.split(name):
        stem = word if word.isalpha() else _NUMBER.sub("", word)
        if stem and (stem.isalpha() or not _DIGIT.search(stem)):
            words.append(stem)
    return "-".join(words)


def _first_seen(timeline: Timeline, family: Sequence[Participant]) -> int:
    arrivals = (timeline.arrivals.of(participant) for participant in family)
    return min((came[0].at for came in arrivals if came), default=timeline.first)
