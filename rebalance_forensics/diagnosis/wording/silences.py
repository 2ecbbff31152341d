"""The silence of a member in words: how long it was, what would outlast it, and what the logs do not show of it."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.wording.durations import lasting, rounded_up, seconds
from rebalance_forensics.diagnosis.wording.timeouts import session_limit, session_setting
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import EXPELLED
from rebalance_forensics.timeline.timeouts import known_session_ms


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


def raise_above(timeline: Timeline, silence: int | None) -> str:
    """The setting to raise, and to what: above a silence in ms, None where its length is unknown."""
    enough = f"to about {rounded_up(silence)}" if silence else "above the longest"
    return f"set {session_setting(timeline)} {enough}"


def away_ms(absence: Absence) -> int | None:
    """From when the group lost it to its return, 0 for one that had joined anew before; None where it is not back."""
    return None if absence.back_at is None else max(absence.back_at - absence.at, 0)


def silence_ms(timeline: Timeline, participant: Participant, away: int | None) -> int | None:
    """How long no heartbeat came, as far as is known; None where no session timeout is, or no time."""
    session, back_after = known_session_ms(timeline, participant), away or 0
    return None if session is None or timeline.measured(back_after) is None else session + back_after


def silence_in_words(timeline: Timeline, participant: Participant, away: int | None) -> str:
    """Length of the silence as the end of a sentence."""
    if (silence := silence_ms(timeline, participant, away)) is not None:
        return f"for {'at least' if away is None else 'about'} {seconds(silence)}"
    longer = lasting(timeline.measured(away or 0) or None, "for {} longer than its session timeout")
    return longer or "for its whole session timeout"
