"""The one schema of a report, taken from its model: the Structs that an output shows for the Structs of the model.

An output names the types that it writes in its own way (times, texts of log lines); everything else follows from the
annotations of the model, so that a field is declared once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Struct, convert, defstruct, field

Hint = Any
"""What Python makes of an annotation."""
Value = Any
"""A value of the model, or what an output shows for it."""


class Leaf(type):
    """The type, in an output, of what a function of its own writes: strings and numbers, or nothing."""

    def __instancecheck__(cls, value: object) -> bool:
        """Accept what the function wrote: msgspec asks."""
        return value is None or isinstance(value, (str, int, float))


class View:
    """The Structs of one output, with the fields of the model or with those that JSON shows.

    `leaves` maps types of the model to the functions that write their values.
    """

    def __init__(self, leaves: Mapping[Hint, Callable[[Value], object]], *, as_json: bool) -> None:
        self._leaves: list[tuple[Hint, type]] = [(hint, Leaf(write.__name__, (), {})) for hint, write in leaves.items()]
        self._writers: dict[type, Callable[[Value], object]] = {leaf: leaves[hint] for hint, leaf in self._leaves}
        self._as_json = as_json
        self._structs: dict[type[Struct], type[Struct]] = {}

    def __call__(self, value: Value, kind: Hint = None) -> Value:
        """A value as the output shows it; `kind` is what `type_of` gives for its type, where it is no Struct."""
        kind = self.struct_of(type(value)) if kind is None else kind
        return convert(value, kind, from_attributes=True, dec_hook=self._write)

    def _write(self, leaf: type, value: object) -> object:
        return self._writers[leaf](value)

    def struct_of(self, model: type[Struct]) -> type[Struct]:
        """The Struct that the output shows for one of the model."""
        if model not in self._structs:
            fields = json_fields(model) if self._as_json else fields_of(model)
            self._structs[model] = defstruct(
                model.__name__,
                [(name, self.type_of(hint), field(name=shown)) for name, shown, hint in fields],
                namespace={"__doc__": cleandoc(model.__doc__ or "").partition("\n\n")[0]},
                gc=False,
            )
        return self._structs[model]

    def type_of(self, hint: Hint) -> Hint:
        """The type that the output shows for one of the model."""
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


def fields_of(model: type[Struct]) -> list[tuple[str, str, Hint]]:
    """The fields of a Struct: attribute, name, type."""
    hints = get_type_hints(model, include_extras=True)
    return [(name, name, hints[name]) for name in model.__struct_fields__]


def json_fields(model: type[Struct]) -> list[tuple[str, str, Hint]]:
    """The fields that JSON shows of a Struct, properties among them: attribute, name in JSON, type."""
    if "JSON" not in vars(model):
        return fields_of(model)
    columns = [column.partition(" as ") for column in str(vars(model)["JSON"]).split(", ")]
    return [(name, shown or name, hint_of(model, name)) for name, _, shown in columns]


def hint_of(model: type[Struct], name: str) -> Hint:
    """The type of a field or a property."""
    attribute = getattr(model, name)
    if isinstance(attribute, property):
        return get_type_hints(attribute.fget, include_extras=True)["return"]
    return get_type_hints(model, include_extras=True)[name]
