"""Session timeouts and silences of members in words: how long, what bounds them, and where an operator sets them."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.wording.durations import lasting, seconds
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.timeline import timeouts
from rebalance_forensics.timeline.clients import SINK_CLIENTS
from rebalance_forensics.timeline.group_timeline import Timeline, answered_once
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import EXPELLED


def session_in_words(timeline: Timeline, participant: Participant | None = None) -> str:
    """session.timeout.ms of a member as what follows `the session timeout is`; of the group where none is given.

    A default is called one: no log shows it in use.
    """
    if shown := timeouts.shown_session_ms(timeline, participant):
        return seconds(shown)
    if default := timeouts.known_session_ms(timeline, participant):
        return f"not in the logs (default {seconds(default)})"
    new, old = seconds(timeouts.DEFAULTS[timeouts.SESSION]), seconds(timeouts.SESSION_BEFORE_3_0)
    return f"not in the logs (default {new}, before 3.0 {old}, in Java clients)"


def session_setting(timeline: Timeline) -> str:
    """Where an operator sets it: since KIP-848 brokers send it to members, and Java clients refuse their own."""
    if not timeouts.is_set_by_clients(timeline.protocol):
        return f"the group's {timeline.protocol}.session.timeout.ms (kafka-configs.sh --entity-type groups)"
    return consumer_setting(timeline, timeouts.SESSION)


def consumer_setting(timeline: Timeline, name: str) -> str:
    """How a consumer's setting is called where an operator sets it: a connector's configuration has it with a prefix.

    KIP-458: `consumer.override.` in the connector's configuration; `consumer.` in the worker's is for all connectors.
    """
    return f"consumer.override.{name}" if _runs_in_connect(timeline) else name


@answered_once
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
    shown = timeouts.shown_session_ms(timeline, participant)
    if not timeouts.is_set_by_clients(timeline.protocol):
        return f"its session timeout{f' ({seconds(shown)})' if shown else ''}"
    return f"session.timeout.ms{f' ({shown} ms)' if shown else ''}"


def silenced(timeline: Timeline, absence: Absence) -> str:
    """How its session ended, as far as lines show it: by the coordinator's log, by a refusal, or by its own count."""
    limit = session_limit(timeline, absence.participant)
    if expired_by_own_count(absence):
        return f"got no answer from its coordinator for {limit} and considered its session expired"
    if any(e.speaker.role == "broker" for e in absence.departure_lines) or not absence.departure_lines:
        return f"was evicted after {limit} without a heartbeat"
    # A client learns that it is out, and not why: no line of the coordinator is there to show an eviction.
    errors = (getattr(e, "error", None) for e in absence.departure_lines)
    refusal = next((f" ({error})" for error in errors if error in EXPELLED), "")
    return f"was no longer a member{refusal}, as after {limit} without a heartbeat"


def expired_by_own_count(absence: Absence) -> bool:
    """True if only the client itself logged the end of its session."""
    return all(isinstance(e, CoordinatorLost) for e in absence.departure_lines)


def its_log(absence: Absence) -> str:
    """The reason why it is unknown: `its log does not show` or `without its log nobody can tell`."""
    return "its log does not show" if absence.participant.has_log else "without its own log it is unknown"


def raise_session(timeline: Timeline, figure: int | None) -> str:
    """The setting to raise, and to what: to the figure of the advice, None where the length of a silence is unknown."""
    return f"set {session_setting(timeline)} {'to about {figure}' if figure else 'above the longest'}"


def away_ms(absence: Absence) -> int | None:
    """From when the group lost it to its return, 0 for one that had joined anew before; None where it is not back."""
    return None if absence.back_at is None else max(absence.back_at - absence.at, 0)


def silence_ms(timeline: Timeline, participant: Participant, away: int | None) -> int | None:
    """How long no heartbeat came, as far as is known; None where no session timeout is, or no time."""
    session, back_after = timeouts.known_session_ms(timeline, participant), away or 0
    return None if session is None or timeline.measured(back_after) is None else session + back_after


def missed_heartbeats(timeline: Timeline, absence: Absence) -> str:
    """How long no heartbeat came, where the coordinator shows that; else the rule by which members are evicted."""
    if any(e.speaker.role == "broker" for e in absence.departure_lines):
        silence = silence_in_words(timeline, absence.participant, away_ms(absence))
        return f"The coordinator received no heartbeat from it {silence}"
    return "A member is evicted after its session timeout without a heartbeat"


def silence_in_words(timeline: Timeline, participant: Participant, away: int | None) -> str:
    """Length of the silence as the end of a sentence."""
    if (silence := silence_ms(timeline, participant, away)) is not None:
        return f"for {'at least' if away is None else 'about'} {seconds(silence)}"
    longer = lasting(timeline.measured(away or 0) or None, "for {} longer than its session timeout")
    return longer or "for its whole session timeout"
