"""Rows of many kinds as tuples of cells: each is stored as it is meant, or refused with its number.

A row has names or has none. A mapping, a named tuple, a dataclass and the like have names, and all rows of a call have those of the first; a
tuple or a list has none, and all have its length. What cannot be told to be one or the other is not guessed.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
from collections import abc
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Tuple

from . import _engine
from ._errors import RowError

# Cells of these classes are taken without a look.
PLAIN = frozenset((int, float, str, bool, type(None)))

# What to do with values that a base cannot keep.
_INSTEAD = (
    ((datetime.date, datetime.time), "isoformat() is a text of it"),
    (datetime.timedelta, "total_seconds() is a number of it"),
    (decimal.Decimal, "str() is a text of it that keeps all digits, float() a number"),
    (fractions.Fraction, "float() is a number of it, str() a text"),
    ((bytes, bytearray, memoryview), "decode() or hex() is a text of it"),
    (enum.Enum, "take its name or its value"),
    ((abc.Mapping, abc.Set), "a tuple of its items in an order is an expression, json.dumps() a text of it"),
)

_DICT_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))

_TAKEN = "a row is a tuple, a list, a mapping, a named tuple, a dataclass or a row of an array"


def _library(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _kind(value: Any) -> str:
    """What a value is, for people."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def rows_of(source: Any, columns: Optional[Sequence[Any]]) -> Iterator[Tuple[Any, ...]]:
    """The rows of an iterable, checked one by one. `columns` says which of the names of rows are wanted, and in which order."""
    chosen = wanted(columns)
    first: Optional[Tuple[Optional[Tuple[Any, ...]], int]] = None
    for number, row in enumerate(_iterable(source), 1):
        names, cells = _parts(row, number)
        if first is None:
            first = (names, len(cells))
            if names is None and chosen is not None:
                raise RowError(
                    f"row {number} is {_kind(row)} and has no names that columns could choose from",
                    help="leave columns out, or make each row a mapping",
                    row=number,
                )
        cells = _like_first(row, number, (names, cells), first, chosen)
        for place, cell in enumerate(cells):
            if type(cell) not in PLAIN or (type(cell) is str and not cell.isascii()):
                check_cell(cell, number, _column(place, first[0] if chosen is None else chosen))
        yield cells


def _column(place: int, names: Optional[Sequence[Any]]) -> str:
    return f"column {place + 1}" if names is None else f"column {place + 1} ({names[place]!r})"


def wanted(columns: Optional[Sequence[Any]]) -> Optional[Tuple[Any, ...]]:
    """The names of columns that somebody wants."""
    if columns is None:
        return None
    if isinstance(columns, (str, bytes)) or isinstance(columns, abc.Set) or not isinstance(columns, abc.Iterable):
        raise TypeError(f"columns is a list of names in the order that is wanted, not {_kind(columns)}")
    return tuple(columns)


def _iterable(source: Any) -> Iterable[Any]:
    """What hands out rows."""
    if isinstance(source, abc.Mapping):
        raise RowError(
            "a mapping is one row or a set of columns, and no list of rows",
            help="put one row into a list: [row]; for columns, add zip(*columns.values()), or a frame that is made of them",
        )
    if isinstance(source, (str, bytes, bytearray, memoryview)):
        raise RowError(f"{_kind(source)} is no list of rows", help='put each row into a tuple, and the rows into a list: [("Ann", 3)]')
    shape = getattr(source, "shape", None)
    if _library(source) == "numpy" and isinstance(shape, tuple):
        is_structured = getattr(source.dtype, "names", None) is not None
        if len(shape) != (1 if is_structured else 2):
            raise RowError(
                f"an array of {len(shape)} dimensions is no list of rows",
                help="an array of two dimensions has a row for each line: array.reshape(-1, 1) makes one column of one dimension",
            )
        return source
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):
        raise RowError(f"{_kind(source)} has no rows yet", help="collect() makes a frame of it")
    if _library(source) in ("pandas", "polars", "pyarrow"):
        if hasattr(source, "iter_rows"):
            return source.iter_rows()
        raise RowError(f"{_kind(source)} is one column and no list of rows", help="to_frame(), or a table with this column, has rows")
    if _parts_by_name(source) is not None or isinstance(source, type) or not isinstance(source, abc.Iterable):
        raise RowError(f"{_kind(source)} is no list of rows", help=f"put each row into a list: [row]; {_TAKEN}")
    return source


def _parts_by_name(row: Any) -> Optional[Tuple[Tuple[Any, ...], Tuple[Any, ...]]]:
    """The names and the cells of a row that has names."""
    fields = getattr(type(row), "_fields", None)
    if isinstance(row, tuple) and isinstance(fields, tuple):
        return fields, tuple(row)
    if isinstance(row, abc.Mapping):
        return tuple(row.keys()), tuple(row.values())
    if isinstance(row, type):
        return None
    if dataclasses.is_dataclass(row):
        names = tuple(field.name for field in dataclasses.fields(row))
        return names, tuple(getattr(row, name) for name in names)
    attributes = getattr(type(row), "__attrs_attrs__", None) or getattr(type(row), "model_fields", None)
    if attributes is not None:
        names = tuple(getattr(each, "name", each) for each in attributes)
        return names, tuple(getattr(row, name) for name in names)
    library = _library(row)
    if library == "numpy" and getattr(getattr(row, "dtype", None), "names", None) and getattr(row, "shape", None) == ():
        names = row.dtype.names
        return names, tuple(row[name] for name in names)
    if library == "sqlite3" and hasattr(row, "keys"):
        return tuple(row.keys()), tuple(row)
    if library == "pandas" and hasattr(row, "index") and hasattr(row, "tolist") and hasattr(row, "items"):
        return tuple(row.index), tuple(row.tolist())
    return None


def _parts(row: Any, number: int) -> Tuple[Optional[Tuple[Any, ...]], Tuple[Any, ...]]:
    """The names of a row, if it has any, and its cells."""
    if type(row) is tuple:
        return None, row
    if type(row) is list:
        return None, tuple(row)
    if isinstance(row, (str, bytes, bytearray, memoryview)):
        raise RowError(f"row {number} is {_kind(row)} and no row: {row!r:.60}", help="for a row of one column write (value,)", row=number)
    named = _parts_by_name(row)
    if named is not None:
        names, cells = named
        if len(set(names)) != len(names):
            raise RowError(f"two columns of row {number} have one name", help="give each column a name of its own", row=number)
        return named
    if isinstance(row, abc.Set) and not isinstance(row, _DICT_VIEWS):
        raise RowError(f"row {number} is {_kind(row)}, which has no order", help="make a tuple of it in the order that is meant", row=number)
    if _library(row) == "numpy" and hasattr(row, "shape"):
        if len(row.shape) == 1:
            # Others are looked at one by one: lists of dates would be numbers.
            return None, tuple(row.tolist() if row.dtype.kind in "biufU" and row.dtype.itemsize <= 8 else row)
    elif isinstance(row, (abc.Sequence, abc.Iterator, _engine.Expression) + _DICT_VIEWS) and not isinstance(row, type):
        return None, tuple(row)
    raise RowError(f"row {number} is {_kind(row)}, and {_TAKEN}", help="for a row of one column write (value,)", row=number)


def _like_first(row: Any, number: int, parts: Any, first: Any, wanted: Optional[Tuple[Any, ...]]) -> Tuple[Any, ...]:
    """The cells of a row in the order of the first one, or in that which is wanted."""
    (names, cells), (names_first, count) = parts, first
    if (names is None) != (names_first is None):
        has, has_first = ("no names", "names") if names is None else ("names", "no names")
        raise RowError(
            f"row {number} is {_kind(row)} and has {has}, and the first row has {has_first}",
            help="make all rows mappings, or all of them tuples",
            row=number,
        )
    if names is None:
        if len(cells) != count:
            raise RowError(
                f"row {number} has {len(cells)} column{'' if len(cells) == 1 else 's'}, and the first row has {count}",
                help="give it the columns that are lacking: None is ()",
                row=number,
            )
        return cells
    order = names_first if wanted is None else wanted
    if names == order:
        return cells
    found = dict(zip(names, cells))
    for name in order:
        if name not in found:
            raise RowError(
                f"row {number} has no column {name!r}; it has {', '.join(map(repr, names)) or 'none'}",
                help="give each row all columns: None is (); or name those that are wanted by columns=[…]",
                row=number,
                name=name,
            )
    if wanted is None and len(names) > len(order):
        name = next(name for name in names if name not in set(order))
        raise RowError(
            f"row {number} has a column {name!r} that the first row does not have",
            help="give each row the same columns, or name those that are wanted by columns=[…]",
            row=number,
            name=name,
        )
    return tuple(found[name] for name in order)


def check_cell(cell: Any, number: int, column: str) -> None:
    """Refuses what a cell cannot be."""
    library = _library(cell)
    is_part = library in ("pandas", "polars", "pyarrow") and (hasattr(cell, "dtype") or hasattr(cell, "columns")) and hasattr(cell, "__len__")
    if is_part:
        raise RowError(f"{column} of row {number} is {_kind(cell)} and no value", help="list() makes a list of it", row=number)
    if isinstance(cell, abc.Iterator):
        raise RowError(
            f"{column} of row {number} is {_kind(cell)}, which hands out its values once only",
            help="list() or tuple() keeps what it hands out",
            row=number,
        )
    try:
        found = _engine.unstorable(cell)
    except (ValueError, TypeError) as error:
        raise RowError(f"{column} of row {number} cannot be stored: {error}", help="change the value, or leave the row out", row=number) from error
    if found is None:
        return
    what = f"{_kind(cell)} with {found:.60} in it" if isinstance(cell, (tuple, list)) else _kind(cell)
    instead = next((instead for kind, instead in _INSTEAD if isinstance(cell, kind)), "give its parts a column each, or a text of it")
    raise RowError(
        f"{column} of row {number} is {what}, and a base keeps numbers, texts, truth values, atoms and lists of these",
        help=instead,
        row=number,
    )


def check_atoms(atoms: Iterable[Any], what: str) -> List[Any]:
    """Atoms that are texts, atoms, tuples, lists or values; rows and frames are refused, since an object would be stored in place of what it holds."""
    checked = list(atoms)
    for number, atom in enumerate(checked, 1):
        if type(atom) in PLAIN or isinstance(atom, (str, tuple, list, _engine.Atom)):
            continue
        is_held = isinstance(atom, (abc.Mapping, abc.Set, abc.Iterator)) or _parts_by_name(atom) is not None or hasattr(atom, "__len__")
        if is_held:
            raise RowError(
                f"atom {number} is {_kind(atom)}, and {what} takes texts, atoms, tuples and lists",
                help="add_rows adds rows and frames; a tuple or a list is an expression",
            )
    return checked
