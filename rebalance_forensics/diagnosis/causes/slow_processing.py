"""A member did not call poll() for max.poll.interval.ms (KIP-62, KIP-800)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.behind import advice_on_slow_call, behind_late_poll, behind_slow_loop
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import (
    UnreachableBroker,
    unreachable_before,
    waited_for,
)
from rebalance_forensics.diagnosis.episodes.members.absences import (
    Absence,
    absences,
    distinct_events,
    first_arrivals,
    is_missing,
)
from rebalance_forensics.diagnosis.episodes.members.departures import settled_after
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses, shown_without_heartbeats
from rebalance_forensics.diagnosis.episodes.members.restarts import same_process
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_absences
from rebalance_forensics.diagnosis.sign import (
    DECISIVE,
    STRONG,
    WEAK,
    Answer,
    Present,
    Row,
    clue,
    speaks_against,
    speaks_for,
)
from rebalance_forensics.diagnosis.signs import departures, heartbeats, process_stops
from rebalance_forensics.diagnosis.signs.process_stops import poll_loop_errors, slow_calls
from rebalance_forensics.diagnosis.wording.culprits import broker, culprits_of, names_of
from rebalance_forensics.diagnosis.wording.durations import capitalized, lasting, rounded_up, seconds
from rebalance_forensics.diagnosis.wording.sessions import consumer_setting, session_end
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import LeaveSent, PollTimeoutExpired
from rebalance_forensics.timeline import clients, timeouts, windows
from rebalance_forensics.timeline.facts import Arrival, Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.time_index import lists_by_key

# More poll timeouts than this within a short time are critical.
MANY = 3
SAME_PROCESS = clue(
    "left-and-rejoined-by-itself", STRONG + WEAK, "it left and rejoined on its own, as the same process"
)
BY_TURNS = clue("left-and-came-back", STRONG, "it left without a stated reason and came back, and no deployment did it")
# The loop may have stalled because a broker was out of reach.
OUT_OF_REACH = clue(
    "broker-out-of-reach",
    -STRONG - WEAK,
    "a broker was out of reach when this one member stopped polling, which may be chance",
)
IMPLAUSIBLE = clue(
    "poll-timeout-implausible",
    STRONG,
    "its poll timeout expired, and by more than any poll loop takes: a stalled loop, a suspended host or a bug "
    "of the client's timer",
)
_LET_HEARTBEATS_THROUGH = {
    "KafkaJS": Advice(
        action="Call heartbeat() in eachMessage or eachBatch while records are handled.",
        why="KafkaJS sends no heartbeat until a handler returns or calls it.",
    ),
    "ruby-kafka": Advice(
        action="Call trigger_heartbeat while records are handled.",
        why="ruby-kafka sends no heartbeat until a handler returns or calls it.",
    ),
    "aiokafka": Advice(
        action="Keep blocking calls out of the event loop: await them, or run them in a thread (asyncio.to_thread).",
        why="aiokafka sends its heartbeats from the application's event loop, which a blocking call stops.",
    ),
}
_RAISE_THE_SESSION = (
    Advice(
        action="Raise the session timeout above the duration of the slowest handler if such records are normal.",
        why="A handler that ends within the session timeout costs no membership.",
        cost="A dead member is then noticed later.",
    ),
)
_POLL_MORE_OFTEN = (
    Advice(
        action="Poll more often: lower max.poll.records (from 0.10 on), or move slow work out of the poll loop.",
        why="This release sends heartbeats from poll(); from 0.10.1 on a thread of their own does (KIP-62).",
    ),
    Advice(
        action="Raise session.timeout.ms above the duration of the slowest loop if such loops are normal.",
        why="A loop that ends within the session timeout costs no membership.",
        cost="A dead member is then noticed later.",
    ),
)
_LET_REBALANCES_THROUGH = (
    Advice(
        action="Return from the handler when its session ends (Sarama: session.Context().Done()), and allow rebalances "
        "while records are handled (franz-go: AllowRebalance).",
        why="A rebalance waits for the handlers of every member, and removes who comes too late.",
    ),
    Advice(
        action="Raise the rebalance timeout above the duration of the slowest handler if such records are normal.",
        why="A handler that ends within it costs no membership.",
        cost="A rebalance may then wait that long for a stuck member.",
    ),
)
# A worker polls its group in DistributedHerder.tick(), which does its other work as well.
_FREE_THE_HERDER = (
    Advice(
        action="Find what held up the worker's DistributedHerder thread: a thread dump shows it, and from 3.8 on the "
        "line of the timeout names it. Connectors that start, stop or validate slowly are the usual cause.",
        why="A worker polls its group from that thread.",
    ),
    Advice(
        action=f"Raise {timeouts.REBALANCE} of the workers above the slowest such step if it is normal.",
        why="A step that ends within it costs no membership.",
        cost="A rebalance may then wait that long for a stuck worker.",
    ),
)
# Minimum number of members for a rolling restart: two that leave and return while a third dies may have been slow.
_ENOUGH_FOR_WALK = 3
Shown = Literal["poll-timeout", "same-process", "by-turns", "silent", "blocked", "too-late"]
"""The evidence for a poll timeout.

`poll-timeout`: a line reports it. `same-process`: the same process came back. `by-turns`: members left in turn.
`silent`: a member stopped sending heartbeats. `blocked`: likewise, but its client has no poll timer and sends
heartbeats from the loop that handles records. `too-late`: a client without a poll timer was removed because it rejoined
after the rebalance timeout.
"""


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for each run of poll timeouts, certain or likely."""
    for slow in poll_timeouts(timeline):
        duplicates = [
            a for away in slow.absences if (a := duplicate_consumer(timeline, away, slow.limit_ms or 0)) is not None
        ]
        unclosed = len(duplicates) == len(slow.absences)
        losses = [d for a in slow.absences for d in a.departures]
        waited = waited_for(timeline, losses)
        missing = is_missing(timeline, slow.absences) and not unclosed
        # The clue is how they came back. If a line reports the poll timeout, or nothing shows it, other signs decide.
        shown = {"same-process": SAME_PROCESS, "by-turns": BY_TURNS}.get(slow.shown)
        shown = IMPLAUSIBLE if slow.implausible_ms is not None else shown
        clues: dict[Row, Answer] = {} if shown is None else {shown: Present(slow.lines)}
        if waited is not None and len(losses) == 1:  # several at once are no coincidence
            clues[OUT_OF_REACH] = Present(waited.lines)
        stacks = [e for a in slow.absences for e in slow_calls(timeline, a)]
        links = behind_slow_loop(stacks) or behind_late_poll(
            [e for a in slow.absences for e in poll_loop_errors(timeline, a)]
        )
        shown_in = [link.why for link in links[:1] if link.confidence > 0.5]
        who = names_of(culprits_of(timeline, [a.participant for a in slow.absences]))
        yield about_absences(
            timeline,
            slow.absences,
            because=slow.lines,
            circumstances=[
                *(e for a in duplicates for e in a.events[:1]),
                *(waited.lines if waited is not None else ()),
            ],
            implies=[*missed_between(timeline, slow.absences), *duplicates],
            clues=clues,
            severity="critical" if missing or len(slow.absences) > MANY else "warning",
            culprits=(broker(waited.broker),) if waited is not None else (),
            narrative=" ".join(
                [did_not_poll(timeline, slow, waited, unclosed=unclosed).replace("{who}", who), *shown_in]
            ),
            advice=(_CLOSE_THE_OLD,)
            if unclosed
            else (*advice_on_slow_call(links), *shorten_loops(timeline, slow, waited)),
            behind=links,
            onset=min(a.at for a in duplicates) if unclosed else None,
        )


CAUSE = Cause(
    propose=propose,
    prior=-WEAK,
    signs=(
        speaks_for(departures.poll_timeout_logged, DECISIVE + STRONG, absent=STRONG),
        speaks_for(process_stops.stuck_in_a_call, STRONG),
        speaks_for(heartbeats.heartbeats_in_the_loop, STRONG + WEAK),
        speaks_for(heartbeats.heartbeats_between_records, WEAK),
        speaks_for(heartbeats.other_threads_stayed, DECISIVE),
        speaks_against(heartbeats.expiry_logged, DECISIVE - STRONG),
        speaks_for(heartbeats.awake_without_a_leave, STRONG + WEAK),
        speaks_for(heartbeats.own_log_continues, 0, absent=DECISIVE),
        speaks_for(heartbeats.learned_by_commit, STRONG),
        speaks_for(heartbeats.left_unasked, DECISIVE),
        speaks_for(heartbeats.lost_before_its_log, WEAK),
        speaks_against(heartbeats.gave_up_coordinator, WEAK),
        speaks_against(departures.other_reason_logged, DECISIVE),
        speaks_against(departures.reason_cut_off, WEAK),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
    ),
    implies=(
        *("rebalance-straggler", "member-left", "scaling-flap", "startup"),
        *("unstable-leader", "scale-out", "scale-in"),
    ),
    lookalikes=("process-pause", "process-crash", "network-partition", "member-left"),
    silence="stuck",
)


def duplicate_consumer(timeline: Timeline, absence: Absence, limit_ms: int) -> Arrival | None:
    """The arrival of a second consumer of the same process while this member was in the group, or None.

    `limit_ms` is max.poll.interval.ms, 0 if unknown.
    """
    # Not threads that share a client id: they join together, or the first is polled for longer than the poll timeout
    # after the others joined.
    participant = absence.participant
    if participant.kind != "client" or not participant.has_log or participant.has_namesakes:
        return None
    former_ids = {d.member for d in absence.departures}
    arrivals, first = timeline.arrivals.of(participant), first_arrivals(timeline)
    joins = (first.get((participant, member)) for member in former_ids)
    joined = min((at for at in joins if at is not None), default=timeline.first)
    since = max(
        settled_after(timeline, joined + 1), absence.at - limit_ms - windows.ROUND_TRIP_MS if limit_ms else joined + 1
    )
    newcomers = (a for a in arrivals.between(since, absence.at) if a.member not in former_ids and a.start is None)
    return next(newcomers, None)


def did_not_poll(timeline: Timeline, slow: PollTimeouts, waited: UnreachableBroker | None, *, unclosed: bool) -> str:
    """A sentence on the members whose poll timeout expired, or may have expired if no line reports it."""
    members = len({a.participant for a in slow.absences})
    who = f"{members} members" if members > 1 else "{who}"
    worker = timeline.kind == "connect"
    setting = timeouts.REBALANCE if worker else timeouts.POLL
    limit = f"{setting}{f' ({slow.limit_ms} ms)' if slow.limit_ms and not worker else ''}"
    absent = f"; {'it was ' if members == 1 else ''}out of the group for {'up to ' if slow.absences[1:] else ''}{{}}"
    away = lasting(timeline.measured(slow.away_ms(timeline)) or None, absent)
    if unclosed:
        return (
            "{who} made a new consumer and did not close the old one: that one stayed in the group, not polled any "
            f"more, until {limit} had passed."
        )
    match slow.shown:
        case "poll-timeout" if slow.implausible_ms is not None:
            return (
                f"{who} left the group because {limit} had passed, according to its client, by another "
                f"{seconds(slow.implausible_ms)}. That figure is implausible for a poll loop: the loop stalled, the "
                f"host was suspended, or the client's timer is wrong{away}."
            )
        case "poll-timeout":
            lost = f", while broker-{waited.broker} was out of reach," if waited is not None else ""
            busy = f"; it was {doing}" if (doing := slow.doing) else ""
            return f"{who} did not call poll() for {limit}{lost} and left the group{away}{busy}."
        case "silent":
            return f"{who} lost its membership, and may not have called poll() for {limit}{away}."
        case "too-late":
            return f"{who} lost its membership, and may have handled a record for longer than a rebalance waits{away}."
        case "blocked":
            ended = session_end(timeline, slow.absences[0])
            return f"{who} {ended}: handling records may have blocked its heartbeats{away}."
    return f"{who} left the group, gave no reason and rejoined: most likely a poll loop took longer than {limit}{away}."


def shorten_loops(timeline: Timeline, slow: PollTimeouts, waited: UnreachableBroker | None) -> tuple[Advice, ...]:
    """Advice to restore the broker that it waited for, and to shorten the poll loop or raise its limit."""
    if timeline.kind == "connect":
        return _FREE_THE_HERDER
    advice: tuple[Advice, ...] = ()
    if waited is not None:
        back = Advice(
            action=f"Find out why broker-{waited.broker} could not be reached, and give what it leads a second "
            "replica.",
            why="A loop that writes to a partition without a leader, or commits there, waits for it and does not poll.",
            cost="Replicas take disk and network; a write with acks=all waits for them.",
        )
        advice = (back,)
    if all(clients.heartbeats_from_poll(timeline, away.participant) for away in slow.absences):
        return (*advice, *_POLL_MORE_OFTEN)
    libraries = [clients.library_of(timeline, away.participant) for away in slow.absences]
    if slow.shown == "too-late":
        return (*advice, *_LET_REBALANCES_THROUGH)
    if slow.shown == "blocked":
        names = dict.fromkeys(library.name for library in libraries if library is not None)
        in_handlers = (_LET_HEARTBEATS_THROUGH[name] for name in names if name in _LET_HEARTBEATS_THROUGH)
        return (*advice, *in_handlers, *_RAISE_THE_SESSION)
    records, limit, away_ms = "", slow.limit_ms, timeline.measured(slow.away_ms(timeline))
    if timeline.kind == "streams":
        action, cost = _FIND_WHAT_BLOCKS_THE_THREAD, None
    elif all(library is not None and library.name == "librdkafka" for library in libraries):
        action, cost = _HANDLE_FEWER_MESSAGES, "Work outside the loop needs its own commit logic."
    else:
        records = timeline.settings.get("max.poll.records", "")
        lower = consumer_setting(timeline, "max.poll.records")
        action = f"Lower {lower}, or move slow work out of the poll loop."
        cost = "Smaller batches cost throughput; work outside the loop needs its own commit logic."
    enough, figure = "above the duration of the slowest loop", None
    if not limit:  # the default differs between clients
        longer = lasting(away_ms or None, " by about {}")
        why = f"one poll loop exceeded max.poll.interval.ms{longer}; the logs do not show its value."
    elif not away_ms:
        why = f"one poll loop took longer than max.poll.interval.ms, which is {seconds(limit)}."
    else:
        slowest = limit + away_ms
        fit = (timeouts.number_of(records) or 0) * limit // slowest
        full = f" If it was a full batch (max.poll.records is {records}), only {fit} would have finished in time."
        why = f"one poll loop took about {seconds(slowest)}; max.poll.interval.ms is {seconds(limit)}."
        why, enough, figure = f"{why}{full if fit else ''}", "to about {figure}", rounded_up(slowest)
    why = f"If so: {why}" if slow.shown == "silent" else capitalized(why)
    longer_interval = Advice(
        action=f"Raise {consumer_setting(timeline, timeouts.POLL)} {enough} if such loops are normal.",
        figure=figure,
        why="A loop that ends within max.poll.interval.ms causes no rebalance.",
        cost="A stuck consumer is then noticed later, and a rebalance may wait that long for it.",
    )
    return (*advice, Advice(action=action, why=why, cost=cost), longer_interval)


_CLOSE_THE_OLD = Advice(
    action="Close the old consumer before a new one is made, also after an error (try-with-resources).",
    why="A consumer that nobody polls keeps its partitions until its poll timeout; every rebalance waits for it.",
)
# StreamThread.runOnce stops taking records from its buffer at half of max.poll.interval.ms.
_FIND_WHAT_BLOCKS_THE_THREAD = (
    "Find the one slow call: a record, a punctuator, a commit or a restore. A stream thread polls again after half of "
    "max.poll.interval.ms, so a lower max.poll.records rarely helps."
)
# librdkafka's CONFIGURATION.md has no max.poll.records: its poll timer restarts with each call of the consumer.
_HANDLE_FEWER_MESSAGES = (
    "Move slow work out of the poll loop, or handle fewer messages between two calls: librdkafka has no "
    "max.poll.records."
)


class PollTimeouts(Struct, frozen=True):
    """Absences at about the same time that poll timeouts explain or may explain."""

    absences: tuple[Absence, ...]
    shown: Shown
    limit_ms: int | None = None
    """max.poll.interval.ms, None if the logs do not show it."""

    @property
    def lines(self) -> tuple[Event, ...]:
        """The lines of the absences, those in which a client reports its poll timeout first."""
        departures = (d for a in self.absences for d in a.departures)
        expiries = (e for d in departures for e in d.events if isinstance(e, PollTimeoutExpired))
        return distinct_events([*expiries, *(e for a in self.absences for e in a.events)])

    @property
    def doing(self) -> str | None:
        """The last known action of a worker that timed out, None if no line shows it."""
        lines = (e for a in self.absences for e in a.departure_lines if isinstance(e, PollTimeoutExpired))
        return next((e.doing for e in lines if e.doing), None)

    @property
    def implausible_ms(self) -> int | None:
        """Milliseconds beyond the poll timeout according to the client, if implausible for a poll loop, else None."""
        lines = (e for a in self.absences for e in a.departure_lines if isinstance(e, PollTimeoutExpired))
        overruns = [e.exceeded_ms for e in lines]
        return max(filter(None, overruns)) if overruns and all(map(timeouts.is_implausible, overruns)) else None

    def away_ms(self, timeline: Timeline) -> int:
        """The longest absence in ms of a member that rejoined; 0 without one whose time of departure is known."""
        return max(
            [a.back_at - a.at for a in self.absences if a.back_at is not None and not _logged_late(timeline, a)],
            default=0,
        )


def _logged_late(timeline: Timeline, absence: Absence) -> bool:
    """True if only the client logged its departure, and perhaps not before it polled again.

    confluent-kafka-python's `logger` receives librdkafka's lines only during poll() (rd_kafka_set_log_queue).
    """
    library = clients.library_of(timeline, absence.participant)
    at_once = absence.back_at is not None and absence.back_at - absence.at <= windows.ROUND_TRIP_MS
    of_client = all(e.speaker.role != "broker" for e in absence.departure_lines)
    return at_once and of_client and library is not None and library.name == "librdkafka"


def poll_timeouts(timeline: Timeline) -> Iterator[PollTimeouts]:
    """Poll timeouts from members' logs or the reasons in LeaveGroup, and absences that may be poll timeouts."""
    unlogged = [
        a for a in absences(timeline, ("left",)) if _left_and_came_back(timeline, a) and _may_have_expired(timeline, a)
    ]
    logged = absences(timeline, ("poll-timeout",))
    # Members that waited for a broker are separate from those whose loop took too long.
    waited = [a for a in logged if any(unreachable_before(timeline, d) for d in a.departures)]
    groups: list[tuple[Sequence[Absence], Shown]] = []
    for alike in (waited, [a for a in logged if a not in waited]):
        groups += [(group, "poll-timeout") for group in runs(alike, lambda a: a.at, windows.ONE_SCALING_MS)]
    for group in runs(unlogged, lambda a: a.at, windows.ONE_SCALING_MS):
        if all(same_process(timeline, a) for a in group):
            groups.append((group, "same-process"))
        elif _like_poll_timeouts(timeline, group):
            groups.append((group, "by-turns"))
    for absence in losses(timeline):
        # Of a client with a poll timer, a failed commit may also show that this timer expired.
        untimed = clients.lacks_poll_timer(timeline, absence.participant)
        shared_loop = clients.shared_loop_lines(timeline, [absence.participant])
        blocked = shared_loop and (untimed or not shown_without_heartbeats(absence))
        groups.append(([absence], "blocked" if blocked else "too-late" if untimed else "silent"))
    return (PollTimeouts(tuple(group), shown, _limit_ms(timeline, group)) for group, shown in groups)


def _left_and_came_back(timeline: Timeline, absence: Absence) -> bool:
    # Old brokers log no reason. A client that leaves and rejoins by itself most likely had a slow poll loop.
    by_itself = not absence.participant.has_log or (absence.start is None and absence.stop is None)
    if not by_itself or absence.back_at is None or absence.participant.kind == "worker":
        return False
    # A client that generates its member id does so when it starts, so that a different id is a different process.
    ids = [*(d.member for d in absence.departures), *(a.member for a in absence.arrivals)]
    return same_process(timeline, absence) or not all(is_bare_member_id(m or "") for m in ids)


def _may_have_expired(timeline: Timeline, absence: Absence) -> bool:
    """True if the member may have exceeded its poll timeout without a line: long enough after it had joined.

    If max.poll.interval.ms is unknown, NEXT_HEARTBEAT_MS is long enough.
    """
    # If the member's own log has the LeaveGroup, it would also show why it was sent.
    leave_logged = any(isinstance(event, LeaveSent) for event in absence.departure_lines)
    if not clients.expires_unlogged(timeline, absence.participant, leave_logged=leave_logged):
        return False
    # A member joins in poll(). After an earlier departure it has joined again, logged or not.
    allowed = _limit_ms(timeline, [absence]) or windows.NEXT_HEARTBEAT_MS
    joins_and_leaves = (timeline.arrivals, timeline.departures)
    before = [facts.of(absence.participant).last(absence.at - 1) for facts in joins_and_leaves]
    return all(fact is None or absence.at - fact.at >= allowed - windows.ROUND_TRIP_MS for fact in before)


def _limit_ms(timeline: Timeline, group: Sequence[Absence]) -> int | None:
    """The members' max.poll.interval.ms, None if it is unknown or differs.

    Not for Connect workers, which have rebalance.timeout.ms.
    """
    limits = {
        timeouts.shown_poll_ms(timeline, absence.departure_lines, absence.participant)
        for absence in group
        if absence.participant.kind != "worker"
    }
    return limits.pop() if len(limits) == 1 else None


def _like_poll_timeouts(timeline: Timeline, group: list[Absence]) -> bool:
    participants = {a.participant for a in group}
    everybody = timeline.membership.size_at(group[0].at - 1)
    if len(participants) >= _ENOUGH_FOR_WALK:
        # A deployment does not restart dead members, those lost for good while the others left in turn.
        until = max(a.back_at or a.at for a in group)
        died = {a.participant for a in losses(timeline) if a.back_at is None and group[0].at <= a.at <= until}
        everybody -= len(died - participants)
    return len(group) > len(participants) or len(participants) == 1 or len(participants) < everybody


def missed_between(timeline: Timeline, group: Sequence[Absence]) -> list[Fact]:
    """Facts about members between their poll timeouts: missed rebalances and returns."""
    departed_at = lists_by_key((absence.participant, d.at) for absence in group for d in absence.departures)
    facts: list[Fact] = []
    for participant, times in departed_at.items():
        begin, end = min(times), max(times) + windows.ROUND_TRIP_MS
        missed = [d for d in timeline.departures.of(participant).between(begin, end) if d.why != "session-expired"]
        facts += [*missed, *timeline.arrivals.of(participant).between(begin, end)]
    return facts
