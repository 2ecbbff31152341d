"""What a row holds beside its columns: a Struct as JSON, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache
from typing import TypeVar, cast

from msgspec import Raw
from msgspec.json import Decoder, Encoder

T = TypeVar("T")

_ENCODER = Encoder()


def payload_of(value: object) -> str:
    """`value` as JSON."""
    return _ENCODER.encode(value).decode()


def object_of(cls: type[T], payload: str | bytes | Raw) -> T:
    """The object of class `cls` that a payload was made from; raises msgspec.ValidationError for any other."""
    return cast("T", _reader(cast("Hashable", cls))(payload))


@cache
def _reader(cls: Hashable) -> Callable[[str | bytes | Raw], object]:
    return Decoder(cls).decode
