"""Permissions of output files, as the user writes them."""

from __future__ import annotations

import re

from rebalance_forensics.pipeline.refusals import InputError


def mode_of(option: str, text: str) -> int:
    """Permissions as chmod takes them in digits: 640, 0644."""
    if re.fullmatch(r"0?[0-7]{3}", text) and int(text, 8) & 0o600 == 0o600:
        return int(text, 8)
    raise InputError(f"{option} {text}: write permissions as chmod does, with read and write for the owner: 600, 640.")
