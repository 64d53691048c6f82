"""Functions that derive pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, Optional, Union, overload

from . import _engine

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Function", "function"]


class Function:
    """A function that derives pages: it is called with an array for each page that it reads, and gives what the page is to hold.

    A state that is opened again finds it by its name and version. If it is to give something else, it gets another version.
    """

    def __init__(self, call: Callable[..., Any], name: str, version: int, dtype: Optional[npt.DTypeLike]) -> None:
        if not callable(call):
            raise TypeError(f"{call!r} cannot be called")
        self.name = name
        self.version = version
        self.dtype = dtype
        self._call = call
        self.__doc__ = call.__doc__
        self.__wrapped__ = call

    def __call__(self, *arrays: Any) -> Any:
        return self._call(*arrays)

    def fill(self, held: List[_engine.PageBytes], length: int) -> bytes:
        """The bytes of a page of this length, from what the pages hold that it reads."""
        import numpy

        kind = None if self.dtype is None else numpy.dtype(self.dtype).newbyteorder("<")
        arrays = [numpy.asarray(each) if kind is None else numpy.asarray(each).view(kind) for each in held]
        given = self._call(*arrays)
        if given is None:
            raise TypeError(f"{self.name} gives nothing; it gives an array, or bytes")
        if isinstance(given, (bytes, bytearray, memoryview)):
            content = bytes(given)
        else:
            array = numpy.asarray(given)
            if array.dtype.hasobject:
                raise TypeError(f"{self.name} gives {type(given).__name__}, which is not bytes, numbers, or an array of them")
            content = (array if kind is None else array.astype(kind, casting="same_kind", copy=False)).tobytes()
        if len(content) != length:
            raise ValueError(f"{self.name} gives {len(content)} bytes, and the page has {length}; give as many, or derive a page of that shape")
        return content

    def __repr__(self) -> str:
        return f"<{self.name} version {self.version}>"


@overload
def function(call: Callable[..., Any], /) -> Function: ...


@overload
def function(
    *, name: Optional[str] = None, version: int = 1, dtype: Optional[npt.DTypeLike] = None
) -> Callable[[Callable[..., Any]], Function]: ...


def function(
    call: Optional[Callable[..., Any]] = None,
    /,
    *,
    name: Optional[str] = None,
    version: int = 1,
    dtype: Optional[npt.DTypeLike] = None,
) -> Union[Function, Callable[[Callable[..., Any]], Function]]:
    """Makes a function of Python one that derives pages. Arrays that it gets have the type `dtype`, and what it gives becomes of that type;
    without one, it gets bytes, and the bytes of what it gives are taken. It must be pure: what it gives depends on what it gets."""

    def made(call: Callable[..., Any]) -> Function:
        return Function(call, name or call.__name__, version, dtype)

    return made if call is None else made(call)
