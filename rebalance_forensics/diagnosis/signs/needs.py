"""The logs that would answer, said as a person would ask for them."""

from __future__ import annotations

from rebalance_forensics.diagnosis.absences import Absence
from rebalance_forensics.diagnosis.sign import Need
from rebalance_forensics.timeline.identity.actors import Actor


def own_log(absence: Absence, silence_ms: int) -> Need:
    """The log of a member around its absence."""
    return client_log(absence.actor, absence.at - silence_ms, absence.back_at or absence.at + silence_ms)


def client_log(actor: Actor, begin: int, end: int) -> Need:
    """The log of one member, worker or Streams instance at INFO."""
    kind = {"client": "client", "worker": "worker", "instance": "instance"}[actor.kind]
    level = " at INFO" if actor.has_log else ""
    return Need(what=f"the log of {kind} {actor.name}{level}", who=actor.name, begin=begin, end=end)


def coordinator_log(begin: int, end: int) -> Need:
    """What the group's coordinator wrote."""
    return Need(what="the broker log (server.log) of the group's coordinator", who=None, begin=begin, end=end)


def later_logs(begin: int, end: int) -> Need:
    """More of what is at hand already."""
    return Need(what="later logs of the brokers and clients", who=None, begin=begin, end=end)
