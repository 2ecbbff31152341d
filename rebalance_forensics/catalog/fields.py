"""What a hole can hold, and how a text becomes what an event's field is declared to be."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache, partial
from typing import Literal, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT

from rebalance_forensics.events import EVENT_TYPES
from rebalance_forensics.events.base import own_names

Scalar = str | int | float | bool | None
FieldValue = Scalar | tuple["FieldValue", ...]
# An assignment, pairs of a name and a list, is the deepest value of an event; msgspec cannot decode a recursive type.
Constant = Scalar | tuple[Scalar | tuple[Scalar | tuple[Scalar, ...], ...], ...]
"""What a template sets without a hole."""

SPEAKER_FIELDS = frozenset({"broker", "client_id", "instance_id", "thread", "task", "offsets_partition"})
"""What a hole may tell about the speaker when the event has no field of that name."""


class FieldError(ValueError):
    """A value does not fit the field it is meant for."""


@cache
def declared(event: str) -> dict[str, object]:
    """The event's own fields and their annotations, without those every event has."""
    cls = EVENT_TYPES[event]
    # What is said of the type itself is a ClassVar.
    return {name: hint for name, hint in get_type_hints(cls).items() if name in own_names(cls)}


@cache
def required(event: str) -> frozenset[str]:
    """The event's own fields that have no default."""
    return frozenset(own_names(EVENT_TYPES[event])) - defaults(event).keys()


@cache
def unknown(event: str) -> frozenset[str]:
    """The event's own fields that have a value for unknown."""
    return frozenset(
        name for name, hint in declared(event).items() if any("unknown" in get_args(h) for h in (hint, *get_args(hint)))
    )


@cache
def defaults(event: str) -> dict[str, FieldValue]:
    """What a line that does not say a field of the event means by it."""
    # `msgspec.structs.fields` would read each annotation first: a tenth of a second for a short log.
    kind = EVENT_TYPES[event]
    having = kind.__struct_fields__[len(kind.__struct_fields__) - len(kind.__struct_defaults__) :]
    known = zip(having, kind.__struct_defaults__, strict=True)
    return {name: default for name, default in known if name in own_names(kind) and default is not NODEFAULT}


class Hint(NamedTuple):
    """What a field takes: a value of type `exact` as it is, any other once it is `coerced`."""

    exact: type | None
    coerced: Callable[[FieldValue], FieldValue]


@cache
def own_fields(event: str) -> tuple[dict[str, Hint], frozenset[str]]:
    """What each of the event's own fields takes, and which of them it needs."""
    return {name: _hint(hint) for name, hint in declared(event).items()}, required(event)


def _hint(hint: object) -> Hint:
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        if arguments != (str, ...):
            return Hint(None, partial(coerce, hint=hint))
        return Hint(None, partial(_texts, hint=hint))
    choices = next((argument for argument in (hint, *arguments) if get_origin(argument) is Literal), None)
    if choices is not None:
        words = frozenset(get_args(choices))
        return Hint(None, lambda value: value if type(value) is str and value in words else coerce(value, hint))
    exact = next((argument for argument in (*arguments, hint) if argument in (str, int, bool)), None)
    return Hint(exact, partial(coerce, hint=hint))


def _texts(value: FieldValue, hint: object) -> FieldValue:
    """Several texts, or one of them alone."""
    if type(value) is str and value:
        return (value,)
    return value if type(value) is tuple and all(map(_is_text, value)) else coerce(value, hint)


def _is_text(value: FieldValue) -> bool:
    return type(value) is str


def coerce(value: FieldValue, hint: object) -> FieldValue:
    """Make the value what the annotation asks for; FieldError where that would be a guess."""
    origin = get_origin(hint)
    if origin is Literal:
        return _choice(value, get_args(hint))
    if origin in (Union, types.UnionType):
        options = [arg for arg in get_args(hint) if arg is not type(None)]
        return None if value is None else coerce(value, options[0])
    if origin is tuple:
        return _tuple(value, get_args(hint))
    return _scalar(value, hint)


def _choice(value: FieldValue, choices: tuple[object, ...]) -> FieldValue:
    if value in choices:
        return value
    raise FieldError(f"{value!r} is none of {', '.join(map(str, choices))}")


def _tuple(value: FieldValue, args: tuple[object, ...]) -> FieldValue:
    items = value if isinstance(value, tuple) else () if value in (None, "") else (value,)
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(coerce(item, args[0]) for item in items)
    if len(items) != len(args):
        raise FieldError(f"{value!r} has {len(items)} parts, not {len(args)}")
    return tuple(coerce(item, arg) for item, arg in zip(items, args, strict=True))


def _scalar(value: FieldValue, hint: object) -> FieldValue:
    if hint is bool and isinstance(value, bool):
        return value
    if hint is bool and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if hint is str and isinstance(value, (str, int, float)):
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
    """Lists as tuples, mappings as sorted pairs: how events hold them."""
    if isinstance(value, dict):
        return tuple(sorted((str(name), frozen(item)) for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    return cast("FieldValue", value)
