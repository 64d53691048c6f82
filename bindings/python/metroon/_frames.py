"""Rows as data frames, and data frames as rows. The libraries are asked for when they are needed."""

from __future__ import annotations

import html
from typing import Any, Iterable, Sequence, Tuple

from . import _engine

# So many rows are shown in a notebook.
_SHOWN = 20


def to_pandas(rows: _engine.Rows) -> Any:
    import numpy
    import pandas

    columns = {}
    for name in rows.columns:
        kind, *data = rows.column_data(name)
        if kind in ("int64", "float64", "bool"):
            columns[name] = numpy.frombuffer(data[0], dtype=kind)
        elif kind in ("text", "symbol"):
            columns[name] = _texts(*data)
        else:
            columns[name] = data[0]
    return pandas.DataFrame(columns, columns=list(rows.columns))


def _texts(offsets: bytes, letters: bytes) -> Sequence[str]:
    ends = memoryview(offsets).cast("q")
    if letters.isascii():
        text = letters.decode("ascii")
        return [text[ends[place] : ends[place + 1]] for place in range(len(ends) - 1)]
    return [letters[ends[place] : ends[place + 1]].decode() for place in range(len(ends) - 1)]


def to_arrow(rows: _engine.Rows) -> Any:
    import pyarrow

    arrays = []
    for name in rows.columns:
        kind, *data = rows.column_data(name)
        if kind in ("int64", "float64"):
            wanted = pyarrow.int64() if kind == "int64" else pyarrow.float64()
            arrays.append(pyarrow.Array.from_buffers(wanted, len(rows), [None, pyarrow.py_buffer(data[0])]))
        elif kind == "bool":
            arrays.append(pyarrow.array([bool(byte) for byte in data[0]], pyarrow.bool_()))
        elif kind in ("text", "symbol"):
            offsets, letters = data
            buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(letters)]
            arrays.append(pyarrow.Array.from_buffers(pyarrow.large_utf8(), len(rows), buffers))
        else:
            arrays.append(pyarrow.array([None if cell is None else _plain(cell) for cell in data[0]]))
    return pyarrow.table(arrays, names=list(rows.columns))


def _plain(cell: Any) -> Any:
    return str(cell) if isinstance(cell, _engine.Atom) else cell


def to_polars(rows: _engine.Rows) -> Any:
    import polars

    columns = {}
    for name in rows.columns:
        kind, *data = rows.column_data(name)
        if kind in ("int64", "float64", "bool"):
            columns[name] = polars.Series(name, list(memoryview(data[0]).cast({"int64": "q", "float64": "d"}.get(kind, "?"))))
        elif kind in ("text", "symbol"):
            columns[name] = polars.Series(name, _texts(*data), dtype=polars.Utf8)
        else:
            columns[name] = polars.Series(name, [_plain(cell) for cell in data[0]], strict=False)
    return polars.DataFrame(columns)


def to_html(rows: _engine.Rows) -> str:
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in rows.columns)
    lines = [
        "<tr>" + "".join(f"<td>{html.escape(_shown(cell))}</td>" for cell in row) + "</tr>" for row in rows[:_SHOWN]
    ]
    more = f"<p>{len(rows)} rows</p>" if len(rows) > _SHOWN else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>{more}"


def _shown(cell: Any) -> str:
    return f'"{cell}"' if isinstance(cell, str) else str(cell)


def rows_of(source: Any) -> Iterable[Tuple[Any, ...]]:
    """The rows of a frame, a table or an iterable."""
    if hasattr(source, "itertuples"):
        # pandas: columns as lists of Python's own values are several times faster than tuples of NumPy's.
        return zip(*(source[name].tolist() for name in source.columns))
    if hasattr(source, "iter_rows"):
        return source.iter_rows()
    if hasattr(source, "to_pydict"):
        return zip(*source.to_pydict().values())
    return source
