from __future__ import annotations

from itertools import product

from rebalance_forensics.diagnosis.engine.confidence import confidences


def test_no_rival_is_surer_than_the_verdict_and_together_they_leave_room_for_something_else() -> None:
    """A verdict may stand before a likelier rival that follows from it, and is rounded down besides."""
    for odds in product(range(-2, 7), repeat=3):
        verdict, *rivals = confidences(tuple(odds))
        assert max(rivals) <= verdict, odds
        assert verdict + sum(rivals) <= 1.01, odds
