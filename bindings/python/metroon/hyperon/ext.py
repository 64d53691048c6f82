"""Marks for functions that give a runner its words."""

from __future__ import annotations

from enum import Enum
from functools import wraps
from typing import Any, Callable, Dict

from .atoms import OperationAtom


class RegisterType(Enum):
    """What a function gives."""

    ATOM = 1
    TOKEN = 2


def mark_register_function(type: RegisterType, args: Any, kwargs: Dict[str, Any]) -> Any:
    """Marks a function as one that gives words: `args` is the function, or empty if there are options."""

    def mark(func: Callable[..., Any], pass_metta: bool) -> Callable[..., Any]:
        @wraps(func)
        def marked(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **kwargs)

        marked.metta_type = type  # type: ignore[attr-defined]
        marked.metta_pass_metta = pass_metta  # type: ignore[attr-defined]
        return marked

    if len(args) == 1 and not kwargs and callable(args[0]):
        return mark(args[0], False)
    return lambda func: mark(func, kwargs.get("pass_metta", False))


def register_atoms(*args: Any, **kwargs: Any) -> Any:
    """Marks a function that gives atoms by the regular expressions of their words."""
    return mark_register_function(RegisterType.ATOM, args, kwargs)


def register_tokens(*args: Any, **kwargs: Any) -> Any:
    """Marks a function that gives what makes an atom of a word, by regular expressions."""
    return mark_register_function(RegisterType.TOKEN, args, kwargs)


def grounded(arg: Any) -> Any:
    """Makes a function an operation: `@grounded` in a module that is imported, `@grounded(metta)` for a runner at hand."""
    if callable(arg) and not hasattr(arg, "register_atom"):
        atom = OperationAtom(arg.__name__, arg, unwrap=True)
        return mark_register_function(RegisterType.ATOM, [lambda: {arg.__name__: atom}], {})

    def register(func: Callable[..., Any]) -> Callable[..., Any]:
        arg.register_atom(func.__name__, OperationAtom(func.__name__, func, unwrap=True))
        return func

    return register
