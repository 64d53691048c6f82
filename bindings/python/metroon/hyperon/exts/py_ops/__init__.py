"""Operators as Python has them: `(import! &self py_ops)` gives them the place of the engine's."""

import operator

from metroon.hyperon.atoms import OperationAtom
from metroon.hyperon.ext import register_atoms


@register_atoms
def operators():
    """Arithmetic, comparison and logic of Python."""
    made = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
        "%": operator.mod,
        "==": operator.eq,
        "<": operator.lt,
        ">": operator.gt,
        "<=": operator.le,
        ">=": operator.ge,
        "or": lambda left, right: left or right,
        "and": lambda left, right: left and right,
        "not": operator.not_,
    }
    escaped = {"+": r"\+", "*": r"\*"}
    return {escaped.get(name, name): OperationAtom(name, function) for name, function in made.items()}
