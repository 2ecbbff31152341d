"""Incidents to render that were weighed: a crash with its signs, one that stays open, one that nothing explains."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Advice, Incident, SearchedLog, SignRow, WouldDecide
from rebalance_forensics.report.model import Report
from tests.report.building import LAST_WORDS, STABILIZED, a_crash, a_startup, at, crash_report


def the_signs() -> tuple[SignRow, ...]:
    """Weigh a crash against what looks like one."""
    searched = SearchedLog(path="broker-1/server.log", started_at=at(131), ended_at=at(600))
    return (
        SignRow(
            sign="came-back", says="it came back", answer="present",
            weighs=(("process-crash", 0), ("process-pause", 0)), evidence=(STABILIZED,),
        ),
        SignRow(
            sign="not-back-yet", says="it was not seen again by the end of the logs", answer="absent",
            weighs=(("process-crash", 1), ("process-pause", -4)), looked_in=(searched,),
        ),
        SignRow(
            sign="own-log-continues", says="its own log does not continue", answer="absent",
            weighs=(("process-crash", 4), ("process-pause", 2), ("network-partition", -4)), evidence=(LAST_WORDS,),
        ),
        SignRow(
            sign="disconnects", says="its own log shows lost connections", answer="unobservable",
            weighs=(("process-crash", 0), ("network-partition", 0)),
        ),
    )  # fmt: skip


def an_open_case() -> Incident:
    """Tell the same eviction as brokers alone show it: two causes fit, and one log would part them."""
    crash = a_weighed_crash()
    verdict = replace(crash.root_causes[0], confidence=0.55)
    rival = replace(
        verdict, cause="network-partition", confidence=0.27, narrative="Consumer payments-2 lost its brokers.",
        advice=(Advice(action="Check the network of payments-2.", why="It was cut off."),),
    )  # fmt: skip
    return replace(
        crash,
        id="5a17c0de0b1e",
        root_causes=(verdict, rival),
        ruled_out=crash.ruled_out[:1],
        would_decide=(
            WouldDecide(
                needs="the log of client payments-2",
                who="payments-2",
                started_at=at(86),
                ended_at=at(134.3),
                between=("process-crash", "network-partition"),
                template="the log{s} of client{s} {who}",
            ),
        ),
    )


def an_unexplained() -> Incident:
    """A rebalance that nothing explains; it did no harm."""
    startup = a_startup()
    cause = replace(startup.root_causes[0], cause="unexplained", confidence=0.4, culprits=(), narrative="Who knows.")
    return replace(
        startup, id="0ddba11c0ffe", summary="Generation 9 began and no reason was logged.", root_causes=(cause,)
    )


def a_weighed_crash() -> Incident:
    """Blame consumer payments-2, with the signs that say so."""
    return replace(a_crash(), signs=the_signs())


def weighed_report() -> Report:
    """All of them in one report."""
    return replace(crash_report(), incidents=(a_weighed_crash(), an_open_case(), an_unexplained()))
