"""Layouts that do not say where the logger stands: in front of the message or behind it."""

from __future__ import annotations

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.header_remainder import without_heading
from rebalance_forensics.sources.layouts.message_trailer import logger_in_parentheses


def logger_at_either_end(parsed: Parsed) -> Parsed:
    """Find level, thread and logger in front of the message, else the logger behind it."""
    front = without_heading(parsed)
    return front if front.logger else logger_in_parentheses(front)
