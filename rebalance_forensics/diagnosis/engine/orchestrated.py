"""Actions of an orchestrator or a host on a hypothesis's members: evidence for or against it, and the cause behind it.

They matter to every cause in which processes stop, start or go silent, so they are added here and not by each cause.
"""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.behind import Link, advice_on
from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.episodes.members.orders_to_stop import behind_unit
from rebalance_forensics.diagnosis.episodes.members.pods import links_behind
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import STRONG, WEAK, Present, Row, clue
from rebalance_forensics.diagnosis.signs.heartbeats import log_continues
from rebalance_forensics.diagnosis.signs.process_stops import behind_clock, behind_host
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer

# Kind of link -> its statement (here) and its weight for each cause (`_ADDS`).
_SAYS = {
    "stopped": "their processes were told to stop from outside",
    "rollout": "their workload was rolled out at that time",
    "recreated": "a controller deleted and recreated their pods",
    "scaled-down": "their workload was scaled down at that time",
    "scaled-up": "their workload was scaled up at that time",
    "suspended": "the host was suspended while the session ran out",
    "link-down": "the network link of the host was down while the session ran out",
    "cpu-stuck": "the kernel logged that its CPU was stuck while the session ran out",
    "node-lost": "nothing was heard of their node any more either",
    "rescaled": "their workload was scaled up and down in turn",
    "clock-step": "the clock of its host was set forward beyond its poll timeout",
}
_RESTARTED = {
    "rolling-restart": STRONG, "scale-in": -STRONG - WEAK, "scale-out": -STRONG - WEAK, "scaling-flap": -STRONG - WEAK,
    "member-left": -STRONG,
}  # fmt: skip
_ADDS: dict[str, dict[str, int]] = {
    # A process that was stopped on request but sent no LeaveGroup ended without closing its consumer.
    "stopped": {
        "process-crash": 0, "process-pause": -STRONG, "network-partition": -STRONG, "scale-in": WEAK,
        "rolling-restart": WEAK, "shutdown": WEAK, "static-member-restart": WEAK,
    },
    "suspended": {"process-pause": STRONG, "process-crash": -STRONG, "network-partition": -STRONG},
    "link-down": {"network-partition": STRONG, "process-crash": -STRONG, "process-pause": -STRONG},
    "cpu-stuck": {"process-pause": STRONG, "process-crash": -WEAK, "network-partition": -STRONG},
    "clock-step": {"slow-processing": 0},
    # A lost node crashed, paused or was cut off from the network, together with its members.
    "node-lost": {"process-crash": 0, "process-pause": 0, "network-partition": 0},
    "rollout": _RESTARTED,
    "recreated": _RESTARTED,
    "scaled-down": {"scale-in": STRONG, "shutdown": WEAK, "rolling-restart": -STRONG, "member-left": -STRONG},
    "scaled-up": {"scale-out": STRONG, "startup": WEAK, "rolling-restart": -STRONG},
    "rescaled": {
        "scaling-flap": STRONG + WEAK, "rolling-restart": -STRONG - WEAK, "scale-in": -WEAK, "scale-out": -WEAK,
    },
}  # fmt: skip
# Causes that a paused or disconnected host produces or resembles.
_OF_A_HOST = frozenset(("process-pause", "network-partition", "process-crash"))
# Causes in which processes stop or start, possibly because something else made them.
_STOPS_AND_STARTS = frozenset(
    (
        *("rolling-restart", "scale-in", "scale-out", "scaling-flap", "shutdown", "startup", "member-left"),
        *("static-member-restart", "static-member-expired"),
    )
)
_CLOSE = (
    Advice(
        action="Close the consumer of {who} on SIGTERM, within the grace period of its container.",
        why="It was stopped on request, and no LeaveGroup followed.",
    ),
)
_CLUES: dict[tuple[str, str], Row] = {
    (what, cause): clue(f"behind-{what}", weight, _SAYS[what])
    for what, causes in _ADDS.items()
    for cause, weight in causes.items()
}


@cached_answer
def _shows_any(timeline: Timeline) -> bool:
    return bool(timeline.orchestration) or timeline.shows_any((ev.HostDisturbed, ev.UnitStopping))


def with_orchestration(timeline: Timeline, cause: str, hypothesis: Hypothesis) -> Hypothesis:
    """Add actions of its host, or of orchestrators on its pods, to the hypothesis; unchanged if no log shows any."""
    if not _shows_any(timeline):
        return hypothesis
    links: tuple[Link, ...] = ()
    if len(hypothesis.absences) == 1 and cause in _OF_A_HOST:
        links = behind_host(timeline, hypothesis.absences[0])
    if len(hypothesis.absences) == 1 and cause == "slow-processing":
        links = behind_clock(timeline, hypothesis.absences[0])
    if not links and timeline.orchestration:
        arrivals = [fact for fact in hypothesis.explains if isinstance(fact, Arrival)]
        links = links_behind(timeline, hypothesis.absences, arrivals)
    links = links or behind_unit(timeline, hypothesis.absences)
    if cause in _OF_A_HOST and any(link.what == "stopped" for link in links):
        # A member that keeps logging was not stopped: that was another container, or another pod with its name.
        if any(isinstance(log_continues(timeline, absence), Present) for absence in hypothesis.absences):
            return hypothesis
        links = tuple(
            replace(link, clause=f"{link.clause} and its consumer did not leave the group")
            if link.what == "stopped"
            else link
            for link in links
        )
    if not links:
        return hypothesis
    rows = {_CLUES[link.what, cause]: Present(tuple(link.lines)) for link in links if (link.what, cause) in _CLUES}
    found = replace(hypothesis, clues={**hypothesis.clues, **rows}) if rows else hypothesis
    of_its_host = bool(rows) and (cause in _OF_A_HOST or links[0].what == "clock-step")
    if hypothesis.behind or any(row.present < 0 for row in rows) or not (cause in _STOPS_AND_STARTS or of_its_host):
        return found
    return replace(
        found,
        behind=links,
        unseen=(),
        narrative=f"{hypothesis.narrative} {links[-1].why}",
        advice=(*advice_on(links), *(_CLOSE if cause == "process-crash" else ()), *hypothesis.advice),
    )
