"""Columns of tables, taken from the Structs of a report's model."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pyarrow as pa
from msgspec import Struct, to_builtins

from rebalance_forensics.records import Time, is_dated
from rebalance_forensics.report.schema import Hint, View, hint_of

Cells = dict[str, Any]
TIME = pa.timestamp("us", tz="UTC")
WORDS = pa.list_(pa.string())


class Column(Struct, frozen=True, kw_only=True):
    """One column: an attribute of a Struct of the model, or a value of the table's own (`model` is None)."""

    name: str
    kind: pa.DataType
    doc: str
    model: type[Struct] | None = None
    attribute: str = ""
    shown: Hint = None

    def cell(self, parts: Sequence[Struct]) -> object:
        """Its value, from the Struct that has it."""
        part = next(part for part in parts if isinstance(part, self.model or ()))
        return to_builtins(_VIEW(getattr(part, self.attribute), self.shown))


def own(name: str, kind: pa.DataType, doc: str) -> Column:
    """A column that the model does not have."""
    return Column(name=name, kind=kind, doc=doc)


def columns_of(model: type[Struct], **docs: str | tuple[str, str]) -> list[Column]:
    """Attributes of a Struct as columns, each with what it means.

    A pair begins with the attribute, if it has another name (`ms=("lasted_ms", "how long")`) or if only some fields of
    its Structs are shown, or in another order (`advice=("advice(action, why)", "what to do")`).
    """
    columns = []
    for name, meaning in docs.items():
        source, doc = (name, meaning) if isinstance(meaning, str) else meaning
        attribute, _, fields = source.rstrip(")").partition("(")
        hint = hint_of(model, attribute)
        kind = arrow_type(hint, tuple(filter(None, fields.split(", "))))
        shown = _VIEW.type_of(hint)
        columns.append(Column(name=name, kind=kind, doc=doc, model=model, attribute=attribute, shown=shown))
    return columns


def row_of(columns: Sequence[Column], *parts: Struct, **own_cells: object) -> Cells:
    """A row of the Structs that its columns are taken from, and of the cells that only the table has."""
    return {c.name: own_cells[c.name] if c.model is None else c.cell(parts) for c in columns}


def arrow_type(hint: Hint, only: Sequence[str] = ()) -> pa.DataType:
    """The type of a column for a type of the model; `only` are the fields it shows of a Struct."""
    if hint == Time:
        return TIME
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Struct):
        hints = get_type_hints(hint, include_extras=True)
        return pa.struct([(name, arrow_type(hints[name])) for name in only or hint.__struct_fields__])
    origin: Hint = get_origin(hint)
    arguments = [each for each in get_args(hint) if each not in (NoneType, ...)]
    if origin is Literal:
        return pa.string()
    return pa.list_(arrow_type(arguments[0], only)) if origin is tuple else arrow_type(arguments[0], only)


def micros(at: int | None) -> int | None:
    """Epoch ms as the tables hold times; None where no day is known, or only the order of lines."""
    return at * 1000 if at is not None and is_dated(at) else None


_PLAIN = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), float: pa.float64()}
_VIEW = View({Time: micros}, as_json=False)
