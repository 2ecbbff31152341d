"""What shows that restarts walked over the members: only the search for such walks can answer."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.restart_walks import RestartWalk
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated

WALKED = stated("restarted-one-after-another", present="one member after another left, until most had been restarted")
ALL_BACK = stated("every-return-logged", present="each of them came back, or was replaced")
ONLY_LISTED = stated(
    "known-from-lists-only",
    present="for at least half of the restarts, only the leader's lists of members show who left and came back",
)
EXPIRED_IN_TURN = stated(
    "expired-in-turn", present="no LeaveGroup and no log of their own shows whether they were stopped"
)
CUT = stated(
    "walk-beyond-the-logs", present="the logs begin or end within a step of it, and most members were not replaced yet"
)


def shown_by(walk: RestartWalk) -> dict[Sign, Answer]:
    """The answers of a walk: departures, returns, and the kinds of lines that show them."""
    went = Present(tuple(e for r in walk.restarts for e in r.absence.events[:1]))
    came = Present(tuple(e for r in walk.restarts for a in r.arrivals[:1] for e in a.events[:1]))
    all_back = all(r.arrivals for r in walk.restarts)
    shown = {WALKED: (went, True), ALL_BACK: (came, all_back), ONLY_LISTED: (went, walk.mostly_listed)}
    shown |= {CUT: (came, walk.cut)}
    in_turn: dict[Sign, Answer] = {EXPIRED_IN_TURN: Present()} if walk.mostly_expired else {}
    return {sign: answer for sign, (answer, is_so) in shown.items() if is_so} | in_turn
