"""The words that Python gives to every runner."""

from __future__ import annotations

import importlib
import os
import re
import sys
from typing import Any, Dict, List, Optional

from .. import _engine
from .atoms import (
    Atom,
    Atoms,
    AtomType,
    E,
    ExpressionAtom,
    G,
    GroundedAtom,
    IncorrectArgumentError,
    MatchableObject,
    NoReduceError,
    OperationAtom,
    S,
    SymbolAtom,
    ValueAtom,
    _content,
    get_string_value,
)
from .ext import register_atoms, register_tokens


class Char:
    """A character."""

    def __init__(self, char: str) -> None:
        if len(char) != 1:
            raise ValueError(f"{char!r} is not one character")
        self.char = char

    def __str__(self) -> str:
        return self.char

    def __repr__(self) -> str:
        return f"'{self.char}'"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Char) and self.char == other.char

    def __hash__(self) -> int:
        return hash(self.char)


class RegexMatchableObject(MatchableObject):
    """`regex:"..."`: matches texts that have what it says; `[[` and `]]` are brackets, and `~` is a space."""

    def __init__(self, content: str, id: Optional[str] = None) -> None:
        super().__init__(content.replace("[[", "(").replace("]]", ")").replace("~", " "), id)

    def match_text(self, text: str, regexpr: str) -> Any:
        return re.search(regexpr, text.strip(), re.IGNORECASE)

    def match_(self, atom: Atom) -> List[Dict[str, Atom]]:
        text = " ".join(get_string_value(atom).split())
        if not self.content.startswith("regex:"):
            return []
        pattern = get_string_value(self.content[len("regex:") :])
        return [] if self.match_text(text, pattern) is None else [{"matched_pattern": S(pattern)}]

    __hash__ = MatchableObject.__hash__


def _text_of(atom: Atom) -> str:
    found = atom.get_object().content if isinstance(atom, GroundedAtom) else None
    if not isinstance(found, str):
        raise IncorrectArgumentError()
    return found


@register_atoms(pass_metta=True)
def text_ops(metta: Any) -> Dict[str, Atom]:
    """Texts as atoms, and atoms as texts."""

    def parse(atom: Atom) -> List[Atom]:
        try:
            return [metta.parse_single(_text_of(atom))]
        except (SyntaxError, StopIteration):
            raise IncorrectArgumentError() from None

    def repr_of(atom: Atom) -> List[Atom]:
        return [ValueAtom(repr(atom), "String")]

    def to_chars(atom: Atom) -> List[Atom]:
        return [E(*[ValueAtom(Char(char)) for char in _text_of(atom)])]

    def from_chars(atom: Atom) -> List[Atom]:
        if not isinstance(atom, ExpressionAtom):
            raise IncorrectArgumentError()
        return [ValueAtom("".join(str(child.get_object().content) for child in atom.get_children()))]  # type: ignore[attr-defined]

    return {
        "repr": OperationAtom("repr", repr_of, ["Atom", "String"], unwrap=False),
        "parse": OperationAtom("parse", parse, ["String", "Atom"], unwrap=False),
        "stringToChars": OperationAtom("stringToChars", to_chars, ["String", "Atom"], unwrap=False),
        "charsToString": OperationAtom("charsToString", from_chars, ["Atom", "String"], unwrap=False),
    }


@register_tokens
def type_tokens() -> Dict[str, Any]:
    """Characters and regular expressions."""
    return {
        r"'[^']'": lambda token: ValueAtom(Char(token[1]), "Char"),
        r'regex:"[^"]*"': lambda token: G(RegexMatchableObject(token), AtomType.UNDEFINED),
    }


def find_py_obj(path: str, mod: Any = None) -> Any:
    """The object of Python of a dotted path: in an object, a module, `__main__`, or as an expression."""
    parts = path.split(".")
    if mod is not None:
        try:
            for part in parts:
                mod = getattr(mod, part)
            return mod
        except AttributeError:
            raise RuntimeError(f'Failed to find "{path}"') from None
    sys.path.append(os.getcwd())
    try:
        for count in range(len(parts), 0, -1):
            try:
                found: Any = importlib.import_module(".".join(parts[:count]))
                for part in parts[count:]:
                    found = getattr(found, part)
                return found
            except (ImportError, AttributeError, ValueError):
                continue
    finally:
        sys.path.remove(os.getcwd())
    main = sys.modules.get("__main__")
    if hasattr(main, path):
        return getattr(main, path)
    try:
        return eval(path, {}, {})
    except Exception:
        raise RuntimeError(f'Failed to find "{path}"') from None


def get_py_atom(path: Atom, typ: Any = AtomType.UNDEFINED, unwrap: Any = True, mod: Any = None) -> List[Atom]:
    """An object of Python as an atom."""
    if mod is not None:
        if not isinstance(mod, GroundedAtom):
            raise NoReduceError()
        mod = _content(mod)
    name = str(_content(path))
    found = find_py_obj(name, mod)
    typ, unwrap = _content(typ), _content(unwrap)
    if isinstance(typ, bool):
        typ, unwrap = AtomType.UNDEFINED, typ
    return [OperationAtom(name, found, typ, unwrap=unwrap) if callable(found) else ValueAtom(found, typ)]


def do_py_dot(mod: Atom, path: Atom, typ: Any = AtomType.UNDEFINED, unwrap: Any = True) -> List[Atom]:
    """What an object of Python has under a name."""
    return get_py_atom(path, typ, unwrap, mod)


@register_atoms
def py_obj_atoms() -> Dict[str, Atom]:
    return {
        "py-atom": OperationAtom("py-atom", get_py_atom, unwrap=False),
        "py-dot": OperationAtom("py-dot", do_py_dot, unwrap=False),
    }


@register_atoms(pass_metta=True)
def load_ascii(metta: Any) -> Dict[str, Atom]:
    def load(space: Atom, name: Atom) -> List[Atom]:
        with open(os.path.join(metta.working_dir(), get_string_value(name)), encoding="utf-8") as file:
            for atom in metta.parse_all(file.read()):
                space.get_object().add_atom(atom)  # type: ignore[attr-defined]
        return [Atoms.UNIT]

    return {"load-ascii": OperationAtom("load-ascii", load, unwrap=False)}


def _nested(make: Any, atom: Atom) -> Any:
    if not isinstance(atom, ExpressionAtom):
        raise IncorrectArgumentError()
    return make(
        [_nested(make, child) if isinstance(child, ExpressionAtom) else _content(child) for child in atom.get_children()]
    )


def _pair(atom: Atom) -> Any:
    parts = atom.get_children() if isinstance(atom, ExpressionAtom) else []
    if len(parts) != 2:
        raise RuntimeError(f"{atom} is to be a pair of a key and a value")
    key = parts[0].get_name() if isinstance(parts[0], SymbolAtom) else _content(parts[0])
    return key, _content(parts[1])


def py_tuple(atom: Atom) -> List[Atom]:
    return [ValueAtom(_nested(tuple, atom))]


def py_list(atom: Atom) -> List[Atom]:
    return [ValueAtom(_nested(list, atom))]


def py_dict(atom: Atom) -> List[Atom]:
    if not isinstance(atom, ExpressionAtom):
        raise IncorrectArgumentError()
    return [ValueAtom(dict(_pair(child) for child in atom.get_children()))]


def py_chain(atom: Atom) -> List[Atom]:
    """Objects joined by `|`."""
    if not isinstance(atom, ExpressionAtom):
        raise IncorrectArgumentError()
    first, *others = [_content(child) for child in atom.get_children()]
    for other in others:
        first = first | other
    return [ValueAtom(first)]


@register_atoms()
def py_funs() -> Dict[str, Atom]:
    made = {"py-tuple": py_tuple, "py-list": py_list, "py-dict": py_dict, "py-chain": py_chain}
    return {name: OperationAtom(name, function, unwrap=False) for name, function in made.items()}
