"""What a user can put right, said in one sentence: what, where, remedy."""

from __future__ import annotations


class InputError(Exception):
    """The command or its input cannot be used as it is; the message is the sentence to show."""
