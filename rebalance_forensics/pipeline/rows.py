"""Structs and dataclasses as JSON and back; what a field may hold is read from its annotation."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, Literal, NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct, structs

T = TypeVar("T")
Decode = Callable[[Any], Any]
Adapt = Mapping[type, Decode]
"""What to do with each decoded object of a class before it is put in its place."""


def dumps(value: object) -> str:
    """`value` as JSON; fields that hold their default are left out, so the text stays small."""
    return _ENCODER.encode(value)


class Codec:
    """Reads JSON back into dataclasses.

    `adapt` may replace the objects of some classes on the way; `known` reads some classes in ways of its own.
    """

    def __init__(self, adapt: Adapt | None = None, known: Adapt | None = None) -> None:
        self._adapt = adapt or {}
        self._decoders: dict[Any, Decode | None] = dict(known or {})

    def loads(self, cls: type[T], text: str) -> T:
        """The object of class `cls` that `text` was made from."""
        return self.read(cls, json.loads(text))

    def read(self, cls: type[T], value: object) -> T:
        """The object of class `cls` that the JSON value stands for."""
        decode = self._decoder(cls)
        return cast("T", decode(value) if decode else value)

    def _decoder(self, annotation: Any) -> Decode | None:  # noqa: ANN401 - annotations have no common type
        """How to read a value of this annotation; None where JSON already has it right."""
        if annotation not in self._decoders:
            self._decoders[annotation] = self._build(annotation)
        return self._decoders[annotation]

    def _build(self, annotation: Any) -> Decode | None:  # noqa: ANN401
        if isinstance(annotation, NewType):
            return self._decoder(annotation.__supertype__)
        origin, arguments = get_origin(annotation), get_args(annotation)
        if dataclasses.is_dataclass(annotation) or _is_struct(annotation):
            return self._dataclass(cast("type", annotation))
        if origin is tuple:
            return self._tuple(arguments)
        if origin in (Union, types.UnionType):
            return self._optional([a for a in arguments if a is not type(None)])
        if origin is Literal or annotation in (str, int, float, bool):
            return None
        raise TypeError(f"no row can hold a {annotation!r}")

    def reader(self, cls: type[T], *, given: frozenset[str] = frozenset()) -> Callable[[dict[str, Any]], T]:
        """What makes a `cls` of its decoded JSON object; the fields named in `given` hold their objects already."""
        hints = get_type_hints(cls)
        names = [name for name, _ in _described(cls) if name not in given]
        fields = [(name, decode) for name in names if (decode := self._decoder(hints[name])) is not None]

        def read(value: dict[str, Any]) -> T:
            for name, decode in fields:
                if name in value:
                    value[name] = decode(value[name])
            return cls(**value)

        return read

    def _dataclass(self, cls: type) -> Decode:
        read: Decode = self.reader(cls)
        adapt = self._adapt.get(cls)
        return read if adapt is None else lambda value: adapt(read(value))

    def _tuple(self, arguments: tuple[Any, ...]) -> Decode:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            one = self._decoder(arguments[0])
            return tuple if one is None else lambda value: tuple(map(one, value))
        parts = [self._decoder(a) for a in arguments]
        return lambda value: tuple(p(v) if p else v for p, v in zip(parts, value, strict=True))

    def _optional(self, arguments: list[Any]) -> Decode | None:
        decoders = [self._decoder(a) for a in arguments]
        if all(d is None for d in decoders):
            return None
        if len(decoders) > 1:
            raise TypeError(f"JSON cannot tell {arguments!r} apart")
        decode = decoders[0]
        return lambda value: value if value is None or decode is None else decode(value)


def fields_of(value: object, *, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The fields of a dataclass that differ from their default, not yet encoded."""
    kind: Any = type(value)
    names, defaults, held = _fields(kind, without)
    return {
        name: here
        for name, default, here in zip(names, defaults, held(value), strict=True)
        if here is not default and here != default
    }


@cache
def _fields(
    cls: Any,  # noqa: ANN401 - a class; mypy does not hash type[object]
    without: frozenset[str],
) -> tuple[tuple[str, ...], tuple[object, ...], Callable[[object], tuple[Any, ...]]]:
    """The fields of a dataclass, each with its default, MISSING where it has none, and what takes all their values."""
    fields = [(name, default) for name, default in _described(cls) if name not in without]
    names = tuple(name for name, _ in fields)
    held = attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)
    return names, tuple(default for _, default in fields), held


def _is_struct(cls: Any) -> bool:  # noqa: ANN401
    return isinstance(cls, type) and issubclass(cls, Struct)


def _described(cls: Any) -> list[tuple[str, object]]:  # noqa: ANN401 - a class of either kind
    """The names of a class's fields, each with its default."""
    described: Any = structs.fields(cls) if _is_struct(cls) else dataclasses.fields(cls)
    return [
        (one.name, one.default if one.default_factory in (NODEFAULT, dataclasses.MISSING) else one.default_factory())
        for one in described
    ]


_ENCODER = json.JSONEncoder(default=fields_of, separators=(",", ":"))
