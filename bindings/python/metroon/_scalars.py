"""Scalars of NumPy, pandas and PyArrow as the values of Python that they are."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """The value of Python that a scalar is; the value itself if it is no scalar. What is missing is `None`.

    Dates that have nanoseconds are refused: Python has no value for them, and they would be equal to nothing but themselves.
    """
    library = type(value).__module__.partition(".")[0]
    if library == "pyarrow":
        return plain(value.as_py()) if hasattr(value, "as_py") else value
    if library == "pandas":
        return _of_pandas(value)
    if library == "numpy":
        return _of_numpy(value)
    return value


def _of_pandas(value: Any) -> Any:
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    for convert in ("to_pydatetime", "to_pytimedelta"):
        if hasattr(value, convert) and hasattr(value, "nanosecond" if convert == "to_pydatetime" else "nanoseconds"):
            if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):
                raise ValueError(f"{value!r} has nanoseconds, which Python's dates do not have: round it to microseconds")
            return getattr(value, convert)()
    return value


def _of_numpy(value: Any) -> Any:
    import numpy

    if not isinstance(value, numpy.generic) and getattr(value, "shape", None) != ():
        return value
    kind = value.dtype.kind
    if kind in "mM":
        return _of_date(numpy, value)
    found = value.item()
    # An extended number is a number with some digits less, if it has no more.
    if kind == "f" and not isinstance(found, float):
        found = float(found)
        if found != value and value == value:
            raise ValueError(f"{value!r} has more digits than a number has: take float() of it")
    return found


def _of_date(numpy: Any, value: Any) -> Any:
    if numpy.isnat(value):
        return None
    if numpy.datetime_data(value.dtype)[0] == "generic":
        raise ValueError(f"{value!r} has no unit: give it one, such as numpy.timedelta64(1, 's')")
    found = value.item()
    if not isinstance(found, int):
        return found
    shorter = value.astype(value.dtype.str.partition("[")[0] + "[us]")
    if shorter != value:
        raise ValueError(f"{value!r} has nanoseconds, which Python's dates do not have: round it to microseconds")
    found = shorter.item()
    if isinstance(found, int):
        raise ValueError(f"{value!r} is no date that Python has: give it a unit and a year from 1 to 9999")
    return found
