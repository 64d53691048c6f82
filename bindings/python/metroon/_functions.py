"""Functions of Python that MeTTa programs call."""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import traceback
import typing
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from . import _engine
from ._errors import MettaError, NotReducible

_UNDEFINED = "%Undefined%"
_EFFECTS = ("pure", "asks", "acts")


def told(error: BaseException, trace: Any) -> Optional[str]:
    """What an exception says, with the place in the Python code; `None` for one that leaves the call as it is."""
    if isinstance(error, NotReducible):
        return None
    if isinstance(error, MettaError):
        # It says where it was made.
        return error.message
    frames = [frame for frame in traceback.extract_tb(trace) if frame.filename != __file__]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    text = str(error)
    return f"{type(error).__name__}{': ' + text if text else ''}{place}"


def _type_of(annotation: Any) -> str:
    """The MeTTa type of an annotation."""
    if annotation is inspect.Parameter.empty or annotation is Any:
        return _UNDEFINED
    if annotation is None or annotation is type(None):
        return "(->)"
    origin = typing.get_origin(annotation)
    if origin is not None and hasattr(origin, "__name__") and origin.__name__ in ("Iterator", "Generator", "AsyncIterator"):
        return _type_of(typing.get_args(annotation)[0])
    if annotation is bool:
        return "Bool"
    if annotation in (int, float, complex):
        return "Number"
    if annotation is str:
        return "String"
    if annotation is _engine.Symbol:
        return "Symbol"
    if annotation is _engine.Expression or annotation in (tuple, list) or origin in (tuple, list):
        return "Expression"
    if annotation is _engine.Atom:
        return "Atom"
    return _UNDEFINED


def _result_of(annotation: Any) -> str:
    name = _type_of(annotation)
    # What a function gives is a value: its kind does not matter, and nothing more is to be evaluated.
    return "Atom" if name in ("Expression", "Symbol") else name


class Function(NamedTuple):
    """A function as it is registered."""

    name: str
    type: str
    effects: str
    call: Callable[..., Any]
    expected: List[str]

    def registered(self) -> Tuple[str, str, str, Callable[..., Any], List[str]]:
        return (self.name, self.type, self.effects, self.call, self.expected)


def _signature(call: Callable[..., Any]) -> Tuple[str, List[str]]:
    """The MeTTa type of a function, and what its arguments have to be. One with any number of arguments has no type."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return _UNDEFINED, []
    try:
        hints = typing.get_type_hints(call)
    except Exception:
        hints = {}
    kinds = inspect.Parameter
    parameters = list(signature.parameters.values())
    names = [_type_of(hints.get(parameter.name, parameter.annotation)) for parameter in parameters]
    fixed = all(
        parameter.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) and parameter.default is kinds.empty
        for parameter in parameters
    )
    if not fixed:
        return _UNDEFINED, names
    result = _result_of(hints.get("return", signature.return_annotation))
    return f"(-> {' '.join(names + [result])})", names


def _awaited(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function that can be called, of one that is to be awaited."""
    if inspect.isasyncgenfunction(call):

        @functools.wraps(call)
        def collected(*arguments: Any) -> Any:
            async def collect() -> List[Any]:
                return [item async for item in call(*arguments)]

            yield from asyncio.run(collect())

        return collected
    if inspect.iscoroutinefunction(call):

        @functools.wraps(call)
        def finished(*arguments: Any) -> Any:
            return asyncio.run(call(*arguments))

        return finished
    return call


def describe(
    call: Callable[..., Any],
    name: Optional[str] = None,
    type: Optional[str] = None,
    pure: bool = False,
    acts: bool = False,
) -> Function:
    """What is registered of a function."""
    if pure and acts:
        raise ValueError("a function that is pure changes nothing outside: leave out pure or acts")
    found, expected = _signature(call)
    if type is not None:
        parsed = _engine.parse(type)
        children = list(parsed) if isinstance(parsed, _engine.Expression) else []
        expected = [str(child) for child in children[1:-1]]
    effects = "pure" if pure else "acts" if acts else "asks"
    name = name or getattr(call, "__name__", None)
    if not name:
        raise ValueError("the function has no name: give it one by name=")
    return Function(name, type or found, effects, _awaited(call), expected)


def function(
    call: Optional[Callable[..., Any]] = None,
    *,
    name: Optional[str] = None,
    type: Optional[str] = None,
    pure: bool = False,
    acts: bool = False,
) -> Any:
    """Marks a function for MeTTa programs: `kb.register(f)` makes its name mean it.

    The type comes from the annotations, or from `type`. A generator gives several results. `pure` says that equal arguments give equal
    results and nothing else is touched, so that views may call it and recordings leave it out; `acts`, that it changes something outside.
    """

    def mark(call: Callable[..., Any]) -> Callable[..., Any]:
        found = describe(call, name, type, pure, acts)
        try:
            call.__metroon__ = found  # type: ignore[attr-defined]
        except (AttributeError, TypeError):
            # What is built in takes no marks; the function around it does.
            inner = call
            call = lambda *arguments: inner(*arguments)  # noqa: E731
            call.__metroon__ = found  # type: ignore[attr-defined]
        return call

    return mark if call is None else mark(call)


def described(call: Callable[..., Any]) -> Function:
    """What is registered of a function, marked or not."""
    found = getattr(call, "__metroon__", None)
    return found if isinstance(found, Function) else describe(call)
