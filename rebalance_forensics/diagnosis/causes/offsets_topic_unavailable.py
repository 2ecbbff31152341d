"""`__consumer_offsets` cannot be written, or has no leader for the group."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator import offsets_outages
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_searches import REPEATED, Search, searches_in_vain
from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import OFFSETS
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import broker, culprit_of, names_of
from rebalance_forensics.diagnosis.wording.durations import counted, how_often, times
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline

REFUSED = clue("offsets-write-refused", DECISIVE, f"writes to {OFFSETS} were rejected again and again")
LATE = clue("offsets-write-late", WEAK, f"one write to {OFFSETS} was not replicated in time")
TOO_LARGE = clue("metadata-too-large", DECISIVE, f"the group's metadata was too large for {OFFSETS}")
NOT_CREATED = clue("too-few-brokers", DECISIVE, f"there were too few brokers to create {OFFSETS}")
ANSWERED = clue(
    "answered-unknown-server-error",
    WEAK,
    "SyncGroup was answered UNKNOWN_SERVER_ERROR, as for an assignment that is too large to be stored",
)
NO_COORDINATOR = clue("no-coordinator", 0, "a broker answered that the group has no coordinator")
NEVER_A_COORDINATOR = clue("never-a-coordinator", WEAK, "brokers kept answering that the group has no coordinator")
TOO_FEW = clue("too-few-replicas", WEAK, f"a broker logged too few in-sync replicas of {OFFSETS}")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Assignments or commits that could not be stored, else searches for a coordinator without success."""
    outages = [*offsets_outages.outages(timeline)]
    for outage in outages:
        if outage.of_missing_topic:
            yield _not_created(timeline, outage)
        else:
            yield _too_large(timeline, outage) if outage.too_large else _not_writable(timeline, outage)
    if not outages:
        yield from (about_search(timeline, search) for search in searches_in_vain(timeline))


def _not_writable(timeline: Timeline, outage: offsets_outages.Outage) -> Hypothesis:
    short = (*outage.shrunk, *outage.insufficient)
    culprits = tuple(broker(number) for number in outage.missing)
    were = "was" if len(culprits) == 1 else "were"
    missing = f"; {names_of(culprits)} {were} missing from its in-sync replicas." if culprits else "."
    return Hypothesis(
        because=outage.lines,
        culprits=culprits,
        clues={LATE if outage.is_one_late_write else REFUSED: Present(outage.refused)}
        | ({TOO_FEW: Present(short)} if short else {}),
        severity="warning" if outage.of_empty_group else "critical",
        onset=outage.onset,
        implies=_implied(timeline, outage),
        narrative=f"The coordinator could not write {_failed_writes(outage)}{missing}",
        advice=(
            Advice(
                action=f"Bring the missing replica back, or lower min.insync.replicas of {OFFSETS} until it is back.",
                why=(
                    "A write needs at least min.insync.replicas in-sync replicas; "
                    f"without them requests failed {how_often(outage.refused)}."
                ),
                cost="With fewer replicas one more failure may lose committed offsets.",
            ),
            Advice(
                action=f"Give {OFFSETS} three replicas (kafka-reassign-partitions.sh) and min.insync.replicas=2.",
                why="The topic then survives the loss of one broker; offsets.topic.replication.factor does not "
                "change an existing topic.",
                cost="Each commit then waits for a second replica.",
            ),
        ),
    )


def _too_large(timeline: Timeline, outage: offsets_outages.Outage) -> Hypothesis:
    """A classic group whose metadata, one record for all members, is larger than the topic allows."""
    apparently = "" if outage.shows_its_size else "apparently "
    return Hypothesis(
        because=outage.too_large,
        culprits=(),
        clues={TOO_LARGE if outage.shows_its_size else ANSWERED: Present(outage.too_large)},
        severity="critical",
        onset=outage.onset,
        implies=_implied(timeline, outage),
        narrative=f"The coordinator could not store the group's assignment: it is {apparently}larger than a record of "
        f"{OFFSETS} may be.",
        advice=(
            Advice(
                action=f"Raise max.message.bytes of {OFFSETS} above the size of the group's metadata "
                "(kafka-configs.sh --entity-type topics).",
                why="The coordinator stores the subscriptions and assignments of all members in one record; unless the "
                "topic is configured otherwise, message.max.bytes of the broker (1 MB by default) limits it.",
                cost="Each rebalance writes, replicates and later loads a record of that size.",
            ),
            Advice(
                action="Split the group, or have its members subscribe to fewer topics; with brokers 4.0 or newer, use "
                "group.protocol=consumer.",
                why="The record grows with members, topics and partitions. With the consumer protocol each member's "
                "assignment is a record of its own.",
                cost="Each part of a split group commits offsets of its own.",
            ),
        ),
    )


def _not_created(timeline: Timeline, outage: offsets_outages.Outage) -> Hypothesis:
    brokers, factor = outage.brokers_and_factor
    return Hypothesis(
        because=outage.refused,
        culprits=(),
        clues={NOT_CREATED: Present(outage.refused)},
        severity="critical" if outage.lasts else "warning",
        onset=outage.onset,
        ongoing=not timeline.generations and not timeline.coverage.goes_on_after(outage.refused[-1]),
        implies=_implied(timeline, outage),
        narrative=f"{OFFSETS} could not be created: {counted(brokers, 'broker')} {'was' if brokers == 1 else 'were'} "
        f"there, and it needs {factor}. Until it exists, no group has a coordinator.",
        advice=(
            Advice(
                action=f"Start the missing brokers, so that there are at least {factor}.",
                why=f"{OFFSETS} is created when the first group looks for its coordinator, and only with all its "
                "replicas (offsets.topic.replication.factor).",
                cost="None, if the cluster is just starting: the topic is then created at the next attempt.",
            ),
            Advice(
                action=f"In a cluster that is to have {counted(brokers, 'broker')}, set "
                f"offsets.topic.replication.factor={brokers} on each and restart it.",
                why="The default is 3; the setting counts only until the topic exists.",
                cost="With fewer replicas, the loss of one broker may make all groups stop.",
            ),
        ),
    )


def _implied(timeline: Timeline, outage: offsets_outages.Outage) -> tuple[Fact, ...]:
    moves = with_rebalances(timeline, offsets_outages.moves_in_outage(timeline, outage))
    return (*moves, *offsets_outages.rebalances_in_outage(timeline, outage))


CAUSE = Cause(
    propose=propose,
    implies=(
        "coordinator-failover",
        "network-partition",
        "process-pause",
        "process-crash",
        "rebalance-straggler",
        "scale-out",
        "startup",
        "assignment-failure",
        "unstable-leader",
    ),
)


def about_search(timeline: Timeline, search: Search) -> Hypothesis:
    """A client whose group has no coordinator because its partition of the topic has no leader."""
    who = culprit_of(search.participant).name if search.participant is not None else f"a client on {search.place}"
    often = len(search.answers) >= REPEATED
    return Hypothesis(
        because=search.answers,
        culprits=(),
        clues={NEVER_A_COORDINATOR if often else NO_COORDINATOR: Present(search.answers)},
        participants=(search.participant,) if search.participant is not None else (),
        severity="warning",
        ongoing=timeline.coverage.is_excerpt,
        narrative=(
            f"Brokers answered {who} {times(len(search.answers))} that its group has no coordinator "
            f"(COORDINATOR_NOT_AVAILABLE): the group's partition of {OFFSETS} has no leader. The topic could not be "
            "created or all replicas of that partition are down, unless its broker was just restarting."
        ),
        advice=(
            Advice(
                action=f"Look at {OFFSETS} with kafka-topics.sh --describe. If it does not exist, set "
                "offsets.topic.replication.factor to no more than the number of brokers; if the partition has no "
                "leader, bring its replicas back.",
                why="The broker that leads the group's partition of that topic is the group's coordinator; without a "
                "leader no member can join, send heartbeats or commit.",
            ),
            Advice(
                action=f"Give {OFFSETS} three replicas (kafka-reassign-partitions.sh).",
                why="Another replica then takes over when a broker is down.",
                cost="Each commit then waits for its replicas.",
            ),
        ),
    )


def _failed_writes(outage: offsets_outages.Outage) -> str:
    if outage.of_empty_group:
        return f"to {OFFSETS} that the group is empty"
    if outage.stored_no_assignment:
        return f"the group's assignment to {OFFSETS}: every rebalance failed and started over"
    if any(isinstance(e, OffsetCommitFailed) for e in outage.refused):
        return f"to {OFFSETS}: offset commits failed"
    return f"to the group's partition of {OFFSETS}: no assignment or offset could be stored"
