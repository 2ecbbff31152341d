"""Derives the schema of an output from the report's model: the Structs that it writes for the Structs of the model.

An output defines how it writes certain types (times, log lines); everything else follows from the annotations of the
model, so that each field is declared once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import cleandoc
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, convert, defstruct, field
from msgspec.structs import fields

from rebalance_forensics.records import Time

Hint = Any
"""A resolved annotation."""
Value = Any
"""A value of the model, or its form in an output."""


class Leaf(type):
    """The output type of values that a custom function writes: strings, numbers or None."""

    def __instancecheck__(cls, value: object) -> bool:
        """Accept the result of the function; called by msgspec."""
        return value is None or isinstance(value, (str, int, float))


class View:
    """The Structs of one output, with all fields of the model or with those that JSON shows."""

    # `leaves` maps types of the model to the functions that write their values.

    def __init__(self, leaves: Mapping[Hint, Callable[[Value], object]], *, as_json: bool) -> None:
        self._leaves: list[tuple[Hint, type]] = [(hint, Leaf(write.__name__, (), {})) for hint, write in leaves.items()]
        self._writers: dict[type, Callable[[Value], object]] = {leaf: leaves[hint] for hint, leaf in self._leaves}
        self._as_json = as_json
        self._structs: dict[type[Struct], type[Struct]] = {}

    def __call__(self, value: Value, kind: Hint = None) -> Value:
        """The output form of a value; `kind` is its `type_of`, unless it is a Struct."""
        kind = self.struct_of(type(value)) if kind is None else kind
        return convert(value, kind, from_attributes=True, dec_hook=self._write)

    def fields(self, value: Struct, slice_of: int) -> Iterator[tuple[str, Value | Iterator[Value]]]:
        """The fields of a Struct in the output, computed on demand; long lists in slices."""
        for shown in fields(self.struct_of(type(value))):
            whole = getattr(value, shown.name)
            if isinstance(whole, tuple) and len(whole) > slice_of:
                yield (
                    shown.encode_name,
                    (self(whole[begin : begin + slice_of], shown.type) for begin in range(0, len(whole), slice_of)),
                )
            else:
                yield shown.encode_name, self(whole, shown.type)

    def _write(self, leaf: type, value: object) -> object:
        return self._writers[leaf](value)

    def struct_of(self, model: type[Struct]) -> type[Struct]:
        """The output Struct for a Struct of the model."""
        if model not in self._structs:
            fields = selected(model, vars(model).get("JSON") if self._as_json else None)
            self._structs[model] = defstruct(
                model.__name__,
                [(shown.attribute, self.type_of(shown.hint), field(name=shown.name)) for shown in fields],
                namespace={"__doc__": cleandoc(model.__doc__ or "").partition("\n\n")[0]},
                gc=False,
            )
        return self._structs[model]

    def type_of(self, hint: Hint) -> Hint:
        """The output type for a type of the model."""
        for kind, leaf in self._leaves:
            if kind == hint:
                return leaf
        if isinstance(hint, type) and issubclass(hint, Struct):
            return self.struct_of(hint)
        origin: Hint = get_origin(hint)
        arguments = get_args(hint)
        if origin is Annotated:
            return Annotated[(self.type_of(arguments[0]), *hint.__metadata__)]
        if origin in (Union, UnionType):
            return Union[tuple(map(self.type_of, arguments))]  # noqa: UP007 - types that are known at run time only
        return tuple.__class_getitem__((self.type_of(arguments[0]), ...)) if origin in (tuple, Sequence) else hint


class Shown(NamedTuple):
    """A field or a property of a Struct in an output."""

    model: type[Struct]
    attribute: str
    name: str
    """Its name in the output."""
    hint: Hint


def selected(model: type[Struct], selection: str | None = None) -> list[Shown]:
    """The fields in a selection such as `client_id, lasted_ms as ms`; every field without a selection."""
    columns = [column.partition(" as ") for column in selection.split(", ")] if selection else []
    columns = columns or [(name, "", "") for name in model.__struct_fields__]
    return [Shown(model, attribute, name or attribute, hint_of(model, attribute)) for attribute, _, name in columns]


def hint_of(model: type[Struct], name: str) -> Hint:
    """The type of a field or a property."""
    attribute = getattr(model, name)
    if isinstance(attribute, property):
        return get_type_hints(attribute.fget, include_extras=True)["return"]
    return get_type_hints(model, include_extras=True)[name]


class Columns:
    """Columns selected from several Structs, in order."""

    def __init__(self, *selections: tuple[type[Struct], str]) -> None:
        shown = [column for model, selection in selections for column in selected(model, selection)]
        models = list(dict.fromkeys(model for model, _ in selections))
        self._sources = [(models.index(column.model), column.attribute) for column in shown]
        self.names = [column.name for column in shown]
        self.times = [column.name for column in shown if column.hint == Time or Time in get_args(column.hint)]

    def values(self, *parts: Struct) -> list[Value]:
        """A row of model values, from one Struct of each type, in the order of first use."""
        return [getattr(parts[place], attribute) for place, attribute in self._sources]
