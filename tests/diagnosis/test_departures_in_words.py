"""A member leaves by LeaveGroup; any other that is out was removed, fenced, or is merely missing."""

from __future__ import annotations

from typing import get_args

from rebalance_forensics.diagnosis.group_patterns import DEPARTED
from rebalance_forensics.timeline.facts import DepartureWhy

BY_LEAVE_GROUP = {"poll-timeout", "unsubscribed", "closed", "left"}


def test_only_a_member_that_sends_leave_group_is_reported_to_have_left() -> None:
    assert DEPARTED.keys() == set(get_args(DepartureWhy))
    assert {why for why, words in DEPARTED.items() if words.startswith("left")} == BY_LEAVE_GROUP
