"""Members were removed for good."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members import heartbeat_loss
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings, left_without_client_log
from rebalance_forensics.diagnosis.episodes.members.departures import shutdowns
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.episodes.members.restarts import restarts
from rebalance_forensics.diagnosis.episodes.members.sink_tasks import next_start
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.proposals import about_absences, surrounding_generations
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import departures, heartbeats, others, returns
from rebalance_forensics.diagnosis.wording.culprits import counted_members, members
from rebalance_forensics.diagnosis.wording.durations import listed
from rebalance_forensics.timeline.clients import closes_without_leave_group
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.windows import ONE_SCALING_MS


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that shut down cleanly, or may have done so, and did not come back, while others stayed."""
    for absences in (*removals(timeline), *([away] for away in unlogged_removals(timeline))):
        silent = all(a.stop is None and a.fell_silent for a in absences)
        by_hand = [heartbeat_loss.removed_by_application(timeline, a) for a in absences]
        threads = [e.thread or "" for lines in by_hand for e in lines]
        in_words = removed_by_hand(threads) if all(by_hand) else removals_in_words(timeline, absences, silent=silent)
        yield about_absences(
            timeline,
            absences,
            because=list(chain.from_iterable(by_hand)),
            circumstances=surrounding_generations(timeline, [a.at for a in absences]),
            severity="info",
            narrative=in_words,
        )


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_for(departures.closed, STRONG, absent=DECISIVE),
        speaks_for(departures.shutdown_logged, STRONG),
        speaks_against(departures.error_before_close, DECISIVE),
        speaks_against(departures.error_beside_close, STRONG),
        speaks_against(departures.only_reason_logged, STRONG),
        speaks_against(departures.thread_left, STRONG),
        speaks_against(departures.task_left, STRONG),
        speaks_against(returns.came_back, DECISIVE),
        speaks_against(heartbeats.lost_in_the_move, STRONG),
        speaks_for(heartbeats.closes_without_leaving, WEAK),
        speaks_for(heartbeats.closes_without_a_line, WEAK),
        speaks_for(heartbeats.log_just_ends, WEAK),
        speaks_for(returns.logs_continue_long_enough, 0, absent=STRONG),
        speaks_for(others.others_stayed, 0, absent=DECISIVE),
        speaks_against(others.others_unheard, STRONG),
        speaks_against(others.as_many_as_before, STRONG),
    ),
    lookalikes=("member-left", "process-crash", "rolling-restart", "shutdown"),
    silence="stopped",
)


def removed_by_hand(threads: Sequence[str]) -> str:
    """A sentence on stream threads that the application removed while other threads of the instance stayed."""
    were = "was" if len(threads) == 1 else "were"
    names = listed(threads)
    return f"{names} of {{who}} {were} removed by hand (KafkaStreams.removeStreamThread); its other threads stay."


def removals_in_words(timeline: Timeline, absences: Sequence[Absence], *, silent: bool) -> str:
    """A sentence on members that left for good while others stayed; `silent` if only expired sessions show it."""
    removed = {a.participant for a in absences}
    number = len(removed)
    everybody = max(number, timeline.membership.size_at(min(a.at for a in absences) - 1))
    who = f"{number} of {everybody} {_members_in_words(timeline)}"
    if timeline.coverage.is_excerpt or number == everybody:
        who = counted_members(timeline, removed, single="1 ")  # excerpts may omit members, so the total is unknown
    if silent:
        why = (
            "a Streams instance sends no LeaveGroup on close, so its members are evicted as if it had died"
            if any(participant.kind == "instance" for participant in removed)
            else "a consumer before 2.1 logs nothing when it closes, and Log4j 2 may stop first, so the log ends as if "
            "the process had died"
        )
        return f"{who} may have been shut down: {why}."
    was, its = ("was", "its own log") if number == 1 else ("were", "their own logs")
    if left_without_client_log(timeline, absences):
        reasons = {d.why for a in absences for d in a.departures}
        closed = "closed its consumer" if number == 1 else "closed their consumers"
        how = closed if reasons == {"closed"} else "left the group"
        return f"{who} {how} and {was} not back by the end of the logs; only {its} would show why."
    return f"{who} shut down cleanly and {was} not back by the end of the logs."


@cached_answer
def _members_in_words(timeline: Timeline) -> str:
    return members(timeline, timeline.membership.members)


def _last_to_leave(timeline: Timeline) -> set[str]:
    return {d.id for group in shutdowns(timeline) for a in group for d in a.departures}


def removals(timeline: Timeline) -> list[list[Absence]]:
    """Members that shut down cleanly and did not come back while others stayed, in one list for each scaling step."""
    # Members that newcomers replaced are separate steps: they may have been restarted under another name.
    last, replaced = _last_to_leave(timeline), {id(r.absence) for r in restarts(timeline)}
    left = [a for a in closings(timeline) if a.back_at is None and a.departures[0].id not in last]
    left = [a for a in left if not exception_before(timeline, a) and next_start(timeline, a) is None]
    steps = ((a for a in left if (id(a) in replaced) is taken) for taken in (False, True))
    return [run for kind in steps for run in runs(kind, lambda a: a.at, ONE_SCALING_MS)]


def unlogged_removals(timeline: Timeline) -> Iterator[Absence]:
    """Members that may have closed without logging it: Streams instances without a log, consumers before 2.1."""
    last = _last_to_leave(timeline)
    for away in heartbeat_loss.losses(timeline):
        for_good = not away.is_over and away.departures[0].id not in last
        quiet = closes_without_leave_group(timeline, away.participant) or heartbeat_loss.close_not_logged(
            timeline, away
        )
        if for_good and (quiet or heartbeat_loss.log_ends_without_shutdown(timeline, away)):
            yield away
