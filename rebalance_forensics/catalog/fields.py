"""The values of placeholders, and their conversion to the declared types of event fields."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT

from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import own_names

Scalar = str | int | float | bool | None
FieldValue = Scalar | tuple["FieldValue", ...]
# An assignment, pairs of a name and a list, is the most nested value of an event; msgspec cannot decode a recursive
# type.
Constant = Scalar | tuple[Scalar | tuple[Scalar | tuple[Scalar, ...], ...], ...]
"""A value that a template sets under `set:`."""

SPEAKER_FIELDS = frozenset({"broker", "client_id", "instance_id", "thread", "task", "offsets_partition"})
"""Names of placeholders that describe the speaker if the event has no field of that name."""


class FieldError(ValueError):
    """A value that does not fit its field."""


@cache
def declared(event: str) -> dict[str, object]:
    """The event's own fields and their annotations, without those that every event has."""
    cls = EVENT_TYPES[event]
    # Facts about the type itself are ClassVars.
    return {name: hint for name, hint in get_type_hints(cls).items() if name in own_names(cls)}


@cache
def required(event: str) -> frozenset[str]:
    """The event's own fields that have no default."""
    return frozenset(own_names(EVENT_TYPES[event])) - defaults(event).keys()


@cache
def unknown(event: str) -> frozenset[str]:
    """The event's own fields for which `unknown` is a value."""
    return frozenset(
        name for name, hint in declared(event).items() if any("unknown" in get_args(h) for h in (hint, *get_args(hint)))
    )


@cache
def defaults(event: str) -> dict[str, FieldValue]:
    """The values of the event's own fields if a line does not set them."""
    # `msgspec.structs.fields` evaluates every annotation first, which takes 0.1 s, noticeable for a short log.
    kind = EVENT_TYPES[event]
    having = kind.__struct_fields__[len(kind.__struct_fields__) - len(kind.__struct_defaults__) :]
    known = zip(having, kind.__struct_defaults__, strict=True)
    return {name: default for name, default in known if name in own_names(kind) and default is not NODEFAULT}


Coercer = Callable[[FieldValue], FieldValue]


class Hint(NamedTuple):
    """What a field accepts: a value of type `exact` as it is, any other after `coerced`."""

    exact: type | None
    coerced: Coercer


@cache
def own_fields(event: str) -> tuple[dict[str, Hint], frozenset[str]]:
    """What each of the event's own fields accepts, and which of them are required."""
    return {name: _hint(hint) for name, hint in declared(event).items()}, required(event)


def _hint(hint: object) -> Hint:
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return Hint(None, coercer(hint))
    if any(get_origin(argument) is Literal for argument in (hint, *arguments)):
        return Hint(None, coercer(hint))
    exact = next((argument for argument in (*arguments, hint) if argument in (str, int, bool)), None)
    return Hint(exact, coercer(hint))


def coerce(value: FieldValue, hint: object) -> FieldValue:
    """Convert a value to the annotated type; FieldError if that would be a guess."""
    return coercer(hint)(value)


@cache
def coercer(hint: object) -> Coercer:
    """The conversion to an annotated type; the annotation is analyzed once."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return partial(_choice, choices=arguments)
    if origin in (Union, types.UnionType):
        some = coercer(next(argument for argument in arguments if argument is not type(None)))
        return lambda value: None if value is None else some(value)
    if origin is tuple and arguments[1:] == (Ellipsis,):
        return partial(_all, coerced=coercer(arguments[0]), kind=arguments[0])
    if origin is tuple:
        return partial(_each, coerced=tuple(map(coercer, arguments)))
    return partial(_scalar, hint=hint)


def _choice(value: FieldValue, choices: tuple[object, ...]) -> FieldValue:
    if value in choices:
        return value
    raise FieldError(f"{value!r} is none of {', '.join(map(str, choices))}")


def _items(value: FieldValue) -> tuple[FieldValue, ...]:
    """The items of a value, which may be a single one."""
    return value if isinstance(value, tuple) else () if value in (None, "") else (value,)


def _all(value: FieldValue, coerced: Coercer, kind: object) -> FieldValue:
    items = _items(value)
    # Most items already have the right type.
    return items if {*map(type, items)} <= {kind} else tuple([coerced(item) for item in items])


def _each(value: FieldValue, coerced: Sequence[Coercer]) -> FieldValue:
    items = _items(value)
    if len(items) != len(coerced):
        raise FieldError(f"{value!r} has {len(items)} parts, not {len(coerced)}")
    return tuple([made(item) for made, item in zip(coerced, items, strict=True)])


def _scalar(value: FieldValue, hint: object) -> FieldValue:
    if type(value) is hint:
        return value
    if hint is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if hint is str and isinstance(value, (int, float)):
        return str(value)
    try:
        if hint is int and isinstance(value, (str, int)):
            return int(value)
        if hint is float and isinstance(value, (str, int, float)):
            return float(value)
    except ValueError:
        pass
    raise FieldError(f"{value!r} is no {getattr(hint, '__name__', hint)}")


def frozen(value: object) -> FieldValue:
    """Lists as tuples, mappings as sorted pairs, as events store them."""
    if isinstance(value, dict):
        return tuple(sorted((str(name), frozen(item)) for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    return cast("FieldValue", value)
