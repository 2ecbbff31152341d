"""Messages in angle brackets: `%d %p [%c] - <%m>%n`, as the layout of Spring's old sample applications has it."""

from __future__ import annotations

import re

from msgspec.structs import replace

from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.layouts.header_remainder import begins_as_kafka_does

_OPENED = re.compile(r"<(?=[A-Z(\[])")


def out_of_angle_brackets(parsed: Parsed) -> Parsed:
    """The record without them: they close in its first line, before a stack trace, or at the end of its last."""
    message = parsed.message
    if not message.startswith("<") or not (_OPENED.match(message) or begins_as_kafka_does(message[1:])):
        return parsed
    first, newline, rest = message.partition("\n")
    if first.endswith(">"):
        return replace(parsed, message=f"{first[1:-1]}{newline}{rest}")
    whole = message.rstrip()
    return replace(parsed, message=whole[1:-1]) if whole.endswith(">") else parsed
