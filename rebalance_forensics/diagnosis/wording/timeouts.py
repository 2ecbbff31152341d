"""The timeouts of a group in words: what they are, what bounds them, and where an operator sets them."""

from __future__ import annotations

from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.timeline import timeouts
from rebalance_forensics.timeline.clients import SINK_CLIENTS, is_java_member
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant


def session_in_words(timeline: Timeline, participant: Participant | None = None) -> str:
    """session.timeout.ms of a member as what follows `the session timeout is`; of the group where none is given.

    A default is called one: no log shows it in use.
    """
    shown = (
        timeouts.shown_session_ms(timeline)
        if participant is None
        else timeouts.session_of_member_ms(timeline, participant)
    )
    if shown:
        return seconds(shown)
    java = participant is None or is_java_member(timeline, participant)
    if default := timeline.cached(timeouts.default_session_ms) if java else None:
        return f"not in the logs (default {seconds(default)})"
    new, old = seconds(timeouts.DEFAULT_MS[timeouts.SESSION]), seconds(timeouts.SESSION_BEFORE_3_0)
    return f"not in the logs (default {new}, before 3.0 {old}, in Java clients)"


def session_setting(timeline: Timeline) -> str:
    """Where an operator sets it: since KIP-848 members are told it by the brokers, and their own setting is refused."""
    if not timeouts.is_set_by_clients(timeline.protocol):
        return f"the group's {timeline.protocol}.session.timeout.ms (kafka-configs.sh --entity-type groups)"
    return consumer_setting(timeline, timeouts.SESSION)


def consumer_setting(timeline: Timeline, name: str) -> str:
    """How a consumer's setting is called where an operator sets it: a connector's configuration has it with a prefix.

    KIP-458: `consumer.override.` in the connector's configuration; `consumer.` in the worker's is for all connectors.
    """
    return f"consumer.override.{name}" if timeline.cached(_runs_in_connect) else name


def _runs_in_connect(timeline: Timeline) -> bool:
    clients = [client for participant in timeline.participants.everybody for client in participant.client_ids]
    return bool(clients) and all(client.startswith(SINK_CLIENTS) for client in clients)


def least_session(timeline: Timeline) -> str:
    """The broker's lower bound of the session timeout, with its default (GroupCoordinatorConfig)."""
    if not timeouts.is_set_by_clients(timeline.protocol):
        return f"group.{timeline.protocol}.min.session.timeout.ms, 45000 by default"
    return "group.min.session.timeout.ms, 6000 by default"


def session_ceiling(timeline: Timeline) -> str:
    """The broker's upper bound of the session timeout (GroupCoordinatorConfig)."""
    protocol = "" if timeouts.is_set_by_clients(timeline.protocol) else f"{timeline.protocol}."
    return f"group.{protocol}max.session.timeout.ms"


def session_limit(timeline: Timeline, participant: Participant) -> str:
    """What a silent member exceeded, `session.timeout.ms (10000 ms)`, with its value where a log shows it."""
    shown = timeouts.session_of_member_ms(timeline, participant)
    if not timeouts.is_set_by_clients(timeline.protocol):
        return f"its session timeout{f' ({seconds(shown)})' if shown else ''}"
    return f"session.timeout.ms{f' ({shown} ms)' if shown else ''}"
