"""Rows as data frames, and data frames as rows. The libraries are asked for when they are needed."""

from __future__ import annotations

import html
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from . import _engine
from ._errors import RowError
from ._rows import PLAIN, check_cell

# So many rows are shown in a notebook.
_SHOWN = 20

Column = Tuple[Any, ...]


def to_pandas(rows: _engine.Rows) -> Any:
    import numpy
    import pandas

    columns = {}
    for name in rows.columns:
        kind, *data = rows.column_data(name)
        if kind in ("int64", "float64", "bool"):
            columns[name] = numpy.frombuffer(data[0], dtype=kind)
        elif kind in ("text", "symbol"):
            columns[name] = _pandas_texts(pandas, data, rows, name)
        else:
            columns[name] = data[0]
    return pandas.DataFrame(columns, columns=list(rows.columns))


def _pandas_texts(pandas: Any, data: Sequence[bytes], rows: _engine.Rows, name: str) -> Any:
    """The texts as pandas keeps them: those of Arrow, not copied, if it uses Arrow for texts."""
    try:
        import pyarrow

        kind = pandas.array(["x"], dtype="str").dtype
        if getattr(kind, "storage", None) == "pyarrow":
            return pandas.array(_arrow_texts(pyarrow, data), dtype=kind)
    except (ImportError, TypeError):
        pass
    return _texts(*data)


def _texts(offsets: bytes, letters: bytes) -> Sequence[str]:
    ends = memoryview(offsets).cast("q")
    if letters.isascii():
        text = letters.decode("ascii")
        return [text[ends[place] : ends[place + 1]] for place in range(len(ends) - 1)]
    return [letters[ends[place] : ends[place + 1]].decode() for place in range(len(ends) - 1)]


def _arrow_texts(pyarrow: Any, data: Sequence[bytes]) -> Any:
    offsets, letters = data
    buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(letters)]
    return pyarrow.Array.from_buffers(pyarrow.large_utf8(), len(offsets) // 8 - 1, buffers)


def to_arrow(rows: _engine.Rows) -> Any:
    import pyarrow

    arrays = []
    for name in rows.columns:
        kind, *data = rows.column_data(name)
        if kind in ("int64", "float64"):
            wanted = pyarrow.int64() if kind == "int64" else pyarrow.float64()
            arrays.append(pyarrow.Array.from_buffers(wanted, len(rows), [None, pyarrow.py_buffer(data[0])]))
        elif kind == "bool":
            bytes_of = pyarrow.Array.from_buffers(pyarrow.uint8(), len(rows), [None, pyarrow.py_buffer(data[0])])
            arrays.append(bytes_of.cast(pyarrow.bool_()))
        elif kind in ("text", "symbol"):
            arrays.append(_arrow_texts(pyarrow, data))
        else:
            arrays.append(_arrow_values(pyarrow, name, [None if cell is None else _plain(cell) for cell in data[0]]))
    return pyarrow.table(arrays, names=list(rows.columns))


def _arrow_values(pyarrow: Any, name: str, cells: List[Any]) -> Any:
    try:
        return pyarrow.array(cells)
    except (pyarrow.ArrowException, OverflowError) as error:
        message = f"column {name!r} has values of several kinds, or such as a column of Arrow cannot have: {error}"
        raise RowError(message, help="to_pandas() and to_polars() keep them as objects", name=name) from error


def _plain(cell: Any) -> Any:
    return str(cell) if isinstance(cell, _engine.Atom) else cell


def to_polars(rows: _engine.Rows) -> Any:
    import polars

    try:
        import pyarrow  # noqa: F401
    except ImportError:
        pyarrow = None
    columns = {}
    for name in rows.columns:
        kind, *data = rows.column_data(name)
        if kind in ("int64", "float64", "bool"):
            code = {"int64": "q", "float64": "d"}.get(kind, "?")
            numbers: Any = memoryview(data[0]).cast(code)
            try:
                import numpy

                numbers = numpy.frombuffer(data[0], dtype=kind)
            except ImportError:
                numbers = list(numbers)
            columns[name] = polars.Series(name, numbers)
        elif kind in ("text", "symbol"):
            texts = _texts(*data) if pyarrow is None else _arrow_texts(pyarrow, data)
            columns[name] = polars.Series(name, texts, dtype=polars.Utf8)
        else:
            columns[name] = _polars_values(polars, name, [_plain(cell) for cell in data[0]])
    return polars.DataFrame(columns)


def _polars_values(polars: Any, name: str, cells: List[Any]) -> Any:
    """A column of values: those of several kinds are objects, since one kind for all would make other values of them."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) < 2 or kinds == {int, float}:
        try:
            return polars.Series(name, cells)
        except (TypeError, OverflowError, polars.exceptions.PolarsError):
            pass
    return polars.Series(name, cells, dtype=polars.Object)


def to_html(rows: _engine.Rows) -> str:
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in rows.columns)
    lines = [
        "<tr>" + "".join(f"<td>{html.escape(_shown(cell))}</td>" for cell in row) + "</tr>" for row in rows[:_SHOWN]
    ]
    more = f"<p>{len(rows)} rows</p>" if len(rows) > _SHOWN else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def tree_of_reasons(reasons: Sequence[Any]) -> str:
    """Reasons as a tree: commits, the sources of each, the atoms of each with their places."""
    tree: Dict[int, Dict[str, List[str]]] = {}
    for reason in reasons:
        leaf = f"<code>{html.escape(str(reason.atom))}</code>, line {reason.line}, column {reason.column}"
        tree.setdefault(reason.epoch, {}).setdefault(reason.origin, []).append(leaf)
    commits = []
    for epoch, origins in sorted(tree.items()):
        sources = "".join(
            f"<li>{html.escape(origin)}<ul>{''.join(f'<li>{leaf}</li>' for leaf in leaves)}</ul></li>"
            for origin, leaves in origins.items()
        )
        commits.append(f"<li>commit {epoch}<ul>{sources}</ul></li>")
    return f"<ul>{''.join(commits)}</ul>"


def _shown(cell: Any) -> str:
    return f'"{cell}"' if isinstance(cell, str) else str(cell)


def columns_of(source: Any, wanted: Optional[Sequence[Any]] = None) -> Optional[List[Column]]:
    """The columns of a frame or a table, each as its kind and its bytes, or as a list; `None` of anything else. `wanted` names those that are
    taken, in this order."""
    if hasattr(source, "read_all") and hasattr(source, "schema"):
        source = source.read_all()
    if hasattr(source, "itertuples"):
        _check_index(source)
        places = _places(list(source.columns), wanted)
        return [_checked(_of_series, source.iloc[:, place], source.columns[place]) for place in places]
    if hasattr(source, "to_pydict") and hasattr(source, "itercolumns"):
        names, columns = source.schema.names, list(source.itercolumns())
        return [_checked(_of_arrow, columns[place], names[place]) for place in _places(names, wanted)]
    if hasattr(source, "iter_rows") and hasattr(source, "get_columns"):
        return [_checked(_of_polars, source.get_columns()[place], source.columns[place]) for place in _places(source.columns, wanted)]
    return None


def _places(names: Sequence[Any], wanted: Optional[Sequence[Any]]) -> Iterable[int]:
    """Where the columns are that are wanted."""
    if wanted is None:
        return range(len(names))
    places = []
    for name in wanted:
        found = [place for place, known in enumerate(names) if known == name]
        if len(found) != 1:
            has = f"has {len(found)} columns" if found else "has no column"
            raise RowError(f"the frame {has} {name!r}; it has {', '.join(map(repr, names))}", help="name its columns as they are", name=name)
        places += found
    return places


def _check_index(frame: Any) -> None:
    """Refuses a frame of pandas whose rows have names: they are no column, and would be lost."""
    names = [name for name in frame.index.names if name is not None]
    if names:
        raise RowError(
            f"the index of the frame has a name ({', '.join(map(repr, names))}) and is no column, so it would be lost",
            help="reset_index() makes a column of it, reset_index(drop=True) leaves it out",
        )


def _checked(of: Callable[[Any], Column], column: Any, name: Any) -> Column:
    """A column, or an error that names it and the row."""
    try:
        found = of(column)
    except (ValueError, TypeError, OverflowError) as error:
        raise RowError(f"column {name!r} cannot be stored: {error}", help="change its type, or leave it out", name=name) from error
    if found[0] == "object":
        for number, cell in enumerate(found[1], 1):
            if type(cell) not in PLAIN or (type(cell) is str and not cell.isascii()):
                check_cell(cell, number, f"column {name!r}")
    return found


def _of_series(series: Any) -> Column:
    """A column of pandas. What is missing is `None` in a list, and not a number where numbers have that."""
    kind = str(series.dtype)
    if kind in ("int64", "float64", "bool"):
        return (kind, series.to_numpy().tobytes())
    if kind.endswith("[pyarrow]"):
        import pyarrow

        return _of_arrow(pyarrow.array(series))
    if kind in ("str", "string", "large_string[pyarrow]", "string[pyarrow]"):
        try:
            import pyarrow

            return _of_arrow(pyarrow.array(series, from_pandas=True))
        except ImportError:
            pass
    return ("object", [None if missing else cell for cell, missing in zip(series.tolist(), _missing(series, kind))])


def _missing(series: Any, kind: str) -> Iterable[bool]:
    # Not a number is a number, where numbers cannot be missing.
    if kind in ("float16", "float32", "float64") or kind.startswith("complex"):
        return (False for _ in range(len(series)))
    return series.isna().tolist()


def _of_polars(column: Any) -> Column:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return ("object", column.to_list())
    return _of_arrow(column.to_arrow())


def _of_arrow(column: Any) -> Column:
    """A column of PyArrow: its buffers, unless something is missing in it or it is of another kind."""
    import pyarrow
    import pyarrow.types as kinds

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if isinstance(column, pyarrow.ChunkedArray):
            column = pyarrow.concat_arrays(column.chunks) if column.num_chunks else pyarrow.array([], column.type)
    kind, count = column.type, len(column)
    if column.null_count:
        return ("object", column.to_pylist())
    if kinds.is_integer(kind) and kind != pyarrow.uint64():
        return ("int64", _bytes(column.cast(pyarrow.int64()), 1, count))
    if kinds.is_float32(kind) or kinds.is_float64(kind):
        return ("float64", _bytes(column.cast(pyarrow.float64()), 1, count))
    if kinds.is_boolean(kind):
        values = column.cast(pyarrow.uint8())
        return ("bool", memoryview(values.buffers()[1])[values.offset : values.offset + count].tobytes())
    if kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_string_view(kind):
        texts = column.cast(pyarrow.large_utf8())
        if texts.offset:
            texts = pyarrow.concat_arrays([texts, pyarrow.array([], texts.type)])
        offsets = _bytes(texts, 1, count + 1)
        ends = memoryview(offsets).cast("q")
        letters = texts.buffers()[2]
        first, last = ends[0], ends[-1]
        if first:
            offsets = b"".join((end - first).to_bytes(8, "little") for end in ends)
        return ("text", offsets, b"" if letters is None else memoryview(letters)[first:last].tobytes())
    return ("object", column.to_pylist())


def _bytes(array: Any, buffer: int, count: int) -> bytes:
    """The numbers of eight bytes in a buffer of an array."""
    found = array.buffers()[buffer]
    if found is None:
        return bytes(8 * count)
    start = array.offset * 8
    return memoryview(found)[start : start + count * 8].tobytes()
