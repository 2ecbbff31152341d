"""Workers behind in the config topic: the logs show that they force the rebalances, and not why they stay behind."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.rebalances.config_lag import NOTHING_READ, ConfigLag, is_right_after
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.signs import leads
from rebalance_forensics.diagnosis.wording.culprits import culprit_of
from rebalance_forensics.diagnosis.wording.durations import span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConfigOffsetBehind, WorkerAssigned
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.windows import REQUEST_TIMEOUT_MS


def one_config_topic() -> tuple[Advice, ...]:
    """A worker that never reads as far as the assignment demands: it reads another topic, or records are gone."""
    same = Advice(
        action=(
            "Compare config.storage.topic and bootstrap.servers of all workers with this group.id: each logs them at "
            "start, under 'DistributedConfig values'."
        ),
        why=(
            "An assignment demands the furthest offset that a worker has read; a worker that reads another config "
            "topic, or another Kafka cluster, never reaches it. A Connect cluster of its own needs its own group.id."
        ),
        cost="A worker must be restarted to change either: one rebalance for each.",
    )
    kept = Advice(
        action="Check that the config topic is compacted, has one partition and was not recreated or truncated.",
        why=(
            "Workers that read it earlier keep the offset of records that retention, a new topic of the same name or "
            "an unclean leader election has removed since."
        ),
        cost="After a restart workers read what is left: connectors whose records are gone must be created again.",
    )
    return same, kept


def reachable_config_topic() -> tuple[Advice, ...]:
    """A worker that does not come to the end of the config topic in time."""
    reach = Advice(
        action="Find out why the worker reads the config topic so slowly: the partition's leader, or the way to it.",
        why="It gives up after worker.sync.timeout.ms (3 s by default) and takes up no work until it succeeds.",
        cost="A longer worker.sync.timeout.ms only helps where reading is slow, not where it fails.",
    )
    return (reach,)


MOST_NAMED = 3


def about_lag(timeline: Timeline, lag: ConfigLag, unexplained: Sequence[Rebalance]) -> Hypothesis:
    """Workers that read the config topic to its end in vain, again and again, and what they brought about."""
    named = [*(w.participant for w in lag.workers), *(leader.participant for leader in lag.leaders)]
    blamed = tuple(dict.fromkeys(p for p in named if p is not None))
    culprits = [culprit_of(participant) for participant in blamed]
    culprits += [Culprit(kind="host", name=w.place) for w in lag.workers if w.participant is None]
    return Hypothesis(
        because=lag.lines,
        culprits=tuple(dict.fromkeys(culprits)),
        answers={leads.rejoin_requested: Present(lag.lines)},
        severity="warning",
        explains=tuple(r for r in unexplained if is_right_after(r, lag.lines)),
        participants=blamed,
        until=max(map(time_of, lag.lines)),
        ongoing=_is_open_at_end(timeline, lag),
        narrative=" ".join(filter(None, (*_behind(lag), _leader(lag), "The logs do not show why."))),
        advice=reachable_config_topic() if timed_out(lag) else one_config_topic(),
    )


def why_forced(timeline: Timeline, line: Event | None) -> str:
    """The reason of one rebalance by the line that forced it, as a clause; nothing where none did."""
    match line:
        case ConfigOffsetBehind(current=int(current), wanted=int(wanted)):
            side = "not read the config topic as far as" if current < wanted else "read the config topic further than"
            return (
                f"because {_speaker(timeline, line)} had {side} the group's assignment (offset {current}, the "
                f"assignment {wanted})"
            )
        case ConfigOffsetBehind():
            return f"because {_speaker(timeline, line)} had not read the config topic to its end in time"
        case WorkerAssigned(leader=str(leader)):
            who = _leader_name(timeline.participants.of_member(leader), leader)
            far = "" if line.config_offset is None else f" (offset {line.config_offset})"
            return (
                f"because the assignment before it failed (error 1): the leader, {who}, had not read the config topic "
                f"as far as another worker{far}"
            )
    return ""


def _behind(lag: ConfigLag) -> Sequence[str]:
    """The worker that tried most often, then the others."""
    if not lag.workers:
        return ()
    first, *others = lag.workers
    name, often = _name(first.participant, first.lines[0]), f"{times(len(first.reads))}{span(first.reads)}"
    where = f"offset {first.reached}{' (it had read no record)' if first.reached == NOTHING_READ else ''}"
    if timed_out(lag):
        sentence = (
            f"{name} did not reach the end of the config topic in time {often}: it was at {where}, the group's "
            f"assignment at {first.wanted}."
        )
    else:
        sentence = (
            f"{name} could not catch up with the group's configuration: reading the config topic to its end left it "
            f"at {where}, the group's assignment demanded {first.wanted}, and it asked for another rebalance {often}."
        )
    if not others:
        return (sentence,)
    named = ", ".join(f"{_name(w.participant, w.lines[0])} (at offset {w.reached})" for w in others[:MOST_NAMED])
    more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
    return sentence, f"{named}{more} stayed behind as well."


def _leader(lag: ConfigLag) -> str:
    """That a leader was behind, so that its assignments failed for everybody."""
    if not lag.leaders:
        return ""
    first = lag.leaders[0]
    often = f"{times(len(first.failed))}{span(first.failed)}"
    if any(w.participant is not None and w.participant is first.participant for w in lag.workers):
        return f"It led the group, so the assignments failed for every worker (error 1) {often}."
    far = "" if first.wanted is None else f" (offset {first.wanted})"
    return (
        f"The leader, {_leader_name(first.participant, first.member)}, had not read the config topic as far as another "
        f"worker{far}: the assignments failed (error 1) {often}, and the workers had to rejoin."
    )


def _speaker(timeline: Timeline, line: Event) -> str:
    return _name(timeline.participants.of_speaker(line), line)


def _name(participant: Participant | None, line: Event) -> str:
    return culprit_of(participant).name if participant is not None else f"a worker on {place_name(line)}"


def _leader_name(participant: Participant | None, member: str) -> str:
    return culprit_of(participant).name if participant is not None else member


def timed_out(lag: ConfigLag) -> bool:
    """True if the worker that tried most often never reached the end of the config topic, as when a broker is down."""
    reads = [e for e in lag.workers[0].lines if isinstance(e, ConfigOffsetBehind)] if lag.workers else []
    return any(e.failed and e.wanted is None for e in reads) and not any(
        e.failed and e.wanted is not None for e in reads
    )


def _is_open_at_end(timeline: Timeline, lag: ConfigLag) -> bool:
    """True if the logs end before a worker that was behind received an assignment that it could take up."""
    last = max(map(time_of, lag.lines))
    given = timeline.own.of_type(WorkerAssigned).between(last + 1, timeline.last)
    return timeline.last - last < REQUEST_TIMEOUT_MS and all(e.error for e in given)
