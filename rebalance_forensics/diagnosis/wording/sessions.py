"""Session timeouts and missed heartbeats of members in words: lengths, limits, and the settings to change."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import down_ms
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import lasting, rounded_up, seconds
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.timeline import clients, timeouts
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import EXPELLED


def session_in_words(timeline: Timeline, participant: Participant | None = None) -> str:
    """The session timeout of a member (by default: of the group), as the end of `the session timeout is …`.

    If no log shows it, the text names the default and calls it so.
    """
    if shown := timeouts.shown_session_ms(timeline, participant):
        return seconds(shown)
    if default := timeouts.known_session_ms(timeline, participant):
        return f"not in the logs (default {seconds(default)})"
    if participant is not None and not clients.is_java_member(timeline, participant):
        library = clients.probable_library(timeline, participant)
        return f"not in the logs (default of {library.name}: {library.default_session})"
    new, old = seconds(timeouts.DEFAULTS[timeouts.SESSION]), seconds(timeouts.SESSION_BEFORE_3_0)
    return f"not in the logs (default {new}, before 3.0 {old}, in Java clients)"


def session_setting(timeline: Timeline) -> str:
    """The setting of the session timeout: a group configuration since KIP-848, session.timeout.ms before.

    With the consumer protocol brokers send it to members, and Java clients reject session.timeout.ms.
    """
    if not timeouts.is_set_by_clients(timeline.protocol):
        return f"the group's {timeline.protocol}.session.timeout.ms (kafka-configs.sh --entity-type groups)"
    return consumer_setting(timeline, timeouts.SESSION)


def consumer_setting(timeline: Timeline, name: str) -> str:
    """The name of a consumer setting, with the prefix that a connector's configuration requires for sink connectors.

    KIP-458: `consumer.override.` in a connector's configuration; `consumer.` in the worker's applies to all connectors.
    """
    return f"consumer.override.{name}" if runs_in_connect(timeline) else name


@cached_answer
def runs_in_connect(timeline: Timeline) -> bool:
    """True if the members are consumers of sink tasks, which Connect workers start and stop."""
    names = [client for participant in timeline.participants.everybody for client in participant.client_ids]
    return bool(names) and all(name.startswith(clients.SINK_CLIENTS) for name in names)


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
    """`session.timeout.ms (10000 ms)`: the limit that a member without heartbeats exceeded, with its value if known."""
    shown = timeouts.shown_session_ms(timeline, participant)
    if not timeouts.is_set_by_clients(timeline.protocol):
        return f"its session timeout{f' ({seconds(shown)})' if shown else ''}"
    return f"session.timeout.ms{f' ({shown} ms)' if shown else ''}"


def session_end(timeline: Timeline, absence: Absence) -> str:
    """How a member's session ended, as logged by the coordinator, by an error response or by the client's own timer."""
    limit = session_limit(timeline, absence.participant)
    if expired_by_own_count(absence):
        return f"got no answer from its coordinator for {limit} and considered its session expired"
    if any(e.speaker.role == "broker" for e in absence.departure_lines) or not absence.departure_lines:
        return f"was evicted after {limit} without a heartbeat"
    # The response shows a client that it is no longer a member, but not why; no coordinator's line shows an eviction.
    errors = (getattr(e, "error", None) for e in absence.departure_lines)
    response = next((f" ({error})" for error in errors if error in EXPELLED), "")
    return f"was no longer a member{response}, as after {limit} without a heartbeat"


def expired_by_own_count(absence: Absence) -> bool:
    """True if only the client itself logged the end of its session."""
    return all(isinstance(e, CoordinatorLost) for e in absence.departure_lines)


def its_log(absence: Absence) -> str:
    """The reason why something about a member is unknown: its log does not show it, or is not among the logs."""
    return "its log does not show" if absence.participant.has_log else "without its own log it is unknown"


def raise_session(timeline: Timeline, figure: int | None) -> str:
    """The setting to raise and its new value in ms; `figure` is None if the time without heartbeats is unknown."""
    return f"set {session_setting(timeline)} {'to about {figure}' if figure else 'above the longest'}"


def away_ms(absence: Absence) -> int | None:
    """Milliseconds from a member's departure to its return, 0 if it rejoined before; None if it did not return."""
    return None if absence.back_at is None else max(absence.back_at - absence.at, 0)


def silence_ms(timeline: Timeline, participant: Participant, away: int | None) -> int | None:
    """Milliseconds without a heartbeat: the session timeout and the absence; None if either cannot be determined."""
    session, back_after = timeouts.known_session_ms(timeline, participant), away or 0
    return None if session is None or timeline.measured(back_after) is None else session + back_after


def missed_heartbeats(timeline: Timeline, absence: Absence) -> str:
    """The time without heartbeats if the coordinator logged the eviction, otherwise when members are evicted."""
    if any(e.speaker.role == "broker" for e in absence.departure_lines):
        silence = silence_in_words(timeline, absence.participant, away_ms(absence))
        return f"The coordinator received no heartbeat from it {silence}"
    return "A member is evicted after its session timeout without a heartbeat"


def silence_in_words(timeline: Timeline, participant: Participant, away: int | None) -> str:
    """The time without heartbeats as the end of a sentence: `for about 12 s`."""
    if (silence := silence_ms(timeline, participant, away)) is not None:
        return f"for {'at least' if away is None else 'about'} {seconds(silence)}"
    longer = lasting(timeline.measured(away or 0) or None, "for {} longer than its session timeout")
    return longer or "for its whole session timeout"


def after_static_expiry(timeline: Timeline, away: Absence, who: str = "It") -> tuple[Advice, ...]:
    """Advice to raise the session timeout above the time that the static member was down, or to remove it."""
    down = timeline.measured(down_ms(timeline, away)) if away.back_at is not None else None
    late = (
        f"{who} was not back by the end of the logs"
        if away.back_at is None
        else f"{who} was back only after its session expired"
    )
    late = f"{who} was down for {seconds(down)}" if down is not None else late
    figure = rounded_up(down) if down is not None else None
    wait = f"for {seconds(figure)}" if figure is not None else "longer"
    enough = "to about {figure}" if figure is not None else "above the duration of a restart"
    unless_back = "If it was being restarted, raise" if away.back_at is None else "Raise"
    raised = Advice(
        action=f"{unless_back} {session_setting(timeline)} {enough}.",
        figure=figure,
        why=f"{late}; the session timeout is {session_in_words(timeline, away.participant)}.",
        cost=(
            f"The partitions of a member that is really gone then stay unread {wait} "
            f"({session_ceiling(timeline)} is the limit)."
        ),
    )
    if away.back_at is not None:
        return (raised,)
    removed = Advice(
        action="If it was removed for good, take it out of the group with Admin.removeMembersFromConsumerGroup.",
        why="A static member sends no LeaveGroup when it closes; its partitions wait until its session expires.",
        cost="The group rebalances at once.",
    )
    return raised, removed
