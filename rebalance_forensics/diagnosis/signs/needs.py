"""Logs that would answer a sign, in the words in which a person would ask for them."""

from __future__ import annotations

from functools import lru_cache

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.sign import Need
from rebalance_forensics.timeline.identity.participants import Participant


def own_log(absence: Absence, silence_ms: int) -> Need:
    """The log of a member around its absence."""
    return client_log(absence.participant, absence.at - silence_ms, absence.back_at or absence.at + silence_ms)


def client_log(participant: Participant, begin: int, end: int) -> Need:
    """The log of one member, worker or Streams instance at INFO."""
    return Need(what=_log_of(participant), who=participant.name, begin=begin, end=end)


@lru_cache(maxsize=1 << 11)
def _log_of(participant: Participant) -> str:
    """The member's log in words; cached because sign after sign asks for it."""
    there = f" at INFO, in {min(participant.files)}" if participant.has_log and participant.files else ""
    return f"the log of {participant.kind} {participant.name}{there}"


def coordinator_log(begin: int, end: int) -> Need:
    """What the group's coordinator wrote."""
    what = "the broker log (server.log) of the group's coordinator"
    return Need(what=what, who=None, begin=begin, end=end, of_the_coordinator=True)


def earlier_logs(begin: int, end: int) -> Need:
    """The earlier part of the same logs."""
    return Need(what="earlier logs of the brokers and clients", who=None, begin=begin, end=end)


def later_logs(begin: int, end: int) -> Need:
    """More of what is at hand already."""
    return Need(what="later logs of the brokers and clients", who=None, begin=begin, end=end)
