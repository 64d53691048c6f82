"""Spaces, words and texts as hyperon has them."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any, Iterator, List, Optional, Tuple

from .. import _engine
from .atoms import Atom, Atoms, AtomType, BindingsSet, E, GroundedAtom


def _lacks(owner: object, method: str) -> NotImplementedError:
    name = type(owner).__name__
    return NotImplementedError(f"{name} has no method {method}: define it in the class")


class AbstractSpace:
    """What a space written in Python is made of."""

    def query(self, query_atom: Atom) -> BindingsSet:
        raise _lacks(self, "query")

    def add(self, atom: Atom) -> None:
        raise _lacks(self, "add")

    def remove(self, atom: Atom) -> bool:
        raise _lacks(self, "remove")

    def replace(self, atom: Atom, replacement: Atom) -> bool:
        raise _lacks(self, "replace")

    def atom_count(self) -> Optional[int]:
        return None

    def atoms_iter(self) -> Optional[Iterator[Atom]]:
        return None


class GroundingSpace(AbstractSpace):
    """A space of the engine that can be extended in Python."""

    def __init__(self) -> None:
        self.gspace = GroundingSpaceRef()

    def query(self, query_atom: Atom) -> BindingsSet:
        return self.gspace.query(query_atom)

    def add(self, atom: Atom) -> None:
        self.gspace.add_atom(atom)

    def remove(self, atom: Atom) -> bool:
        return self.gspace.remove_atom(atom)

    def replace(self, from_atom: Atom, to_atom: Atom) -> bool:
        return self.gspace.replace_atom(from_atom, to_atom)

    def atom_count(self) -> int:
        return self.gspace.atom_count()

    def atoms_iter(self) -> Iterator[Atom]:
        return iter(self.gspace.get_atoms())


class _Written:
    """A space that is an object of Python, as the engine holds it."""

    def __init__(self, payload: Any) -> None:
        self.payload = payload
        self._atom: Optional[_engine.Atom] = None

    def atom(self) -> _engine.Atom:
        if self._atom is None:
            self._atom = _engine.opaque(self, AtomType.GROUNDED_SPACE.catom, None, None)
        return self._atom

    def __repr__(self) -> str:
        return f"GroundingSpace-{id(self.payload):#x}"

    # What the engine asks, with atoms of its own.

    def add_native(self, catom: _engine.Atom) -> None:
        self.payload.add(Atom._from_catom(catom))

    def remove_native(self, catom: _engine.Atom) -> bool:
        return bool(self.payload.remove(Atom._from_catom(catom)))

    def atoms_native(self, _: Any) -> List[_engine.Atom]:
        found = self.payload.atoms_iter() if hasattr(self.payload, "atoms_iter") else None
        if found is None:
            raise RuntimeError(f"{self} does not list its atoms")
        return [atom.catom for atom in found]

    def query_native(self, catom: _engine.Atom) -> List[_engine.Bindings]:
        return self.payload.query(Atom._from_catom(catom))._frames


class SpaceRef:
    """A space: of the engine, or an object of Python."""

    def __init__(self, space_obj: Any) -> None:
        self.cspace: Any = space_obj if isinstance(space_obj, (_engine.Space, _Written)) else _Written(space_obj)

    @staticmethod
    def _from_cspace(cspace: Any) -> "SpaceRef":
        return SpaceRef(cspace)

    @staticmethod
    def _of_atom(catom: _engine.Atom) -> "SpaceRef":
        return SpaceRef(_engine.Space.of(catom))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpaceRef):
            return False
        if isinstance(self.cspace, _Written) or isinstance(other.cspace, _Written):
            return self.get_payload() is not None and self.get_payload() is other.get_payload()
        return self.cspace == other.cspace

    def __hash__(self) -> int:
        return id(self.cspace.payload) if isinstance(self.cspace, _Written) else hash(self.cspace)

    def __repr__(self) -> str:
        return repr(self.cspace)

    def copy(self) -> "SpaceRef":
        return self

    def add_atom(self, atom: Atom) -> None:
        if isinstance(self.cspace, _Written):
            self.cspace.payload.add(atom)
        else:
            self.cspace.add(atom.catom)

    def remove_atom(self, atom: Atom) -> bool:
        if isinstance(self.cspace, _Written):
            return self.cspace.payload.remove(atom)
        return self.cspace.remove(atom.catom)

    def replace_atom(self, atom: Atom, replacement: Atom) -> bool:
        if isinstance(self.cspace, _Written):
            return self.cspace.payload.replace(atom, replacement)
        if not self.cspace.remove(atom.catom):
            return False
        self.cspace.add(replacement.catom)
        return True

    def atom_count(self) -> int:
        if isinstance(self.cspace, _Written):
            count = self.cspace.payload.atom_count() if hasattr(self.cspace.payload, "atom_count") else None
            return -1 if count is None else count
        return len(self.cspace)

    def get_atoms(self) -> Any:
        if isinstance(self.cspace, _Written):
            atoms = self.cspace.payload.atoms_iter() if hasattr(self.cspace.payload, "atoms_iter") else None
            return None if atoms is None else list(atoms)
        return [Atom._from_catom(catom) for catom in self.cspace.atoms()]

    def get_payload(self) -> Any:
        """The object of Python, if the space is one."""
        return self.cspace.payload if isinstance(self.cspace, _Written) else None

    def query(self, pattern: Atom) -> BindingsSet:
        if isinstance(self.cspace, _Written):
            return self.cspace.payload.query(pattern)
        return BindingsSet._of(self.cspace.query(pattern.catom))

    def subst(self, pattern: Atom, templ: Atom) -> List[Atom]:
        """The template for each way in which a pattern matches."""
        found = []
        for bindings in self.query(pattern).iterator():
            values = {repr(var): value for var, value in bindings.iterator()}
            found.append(_filled(templ, values))
        return found


def _filled(atom: Atom, values: Any) -> Atom:
    if isinstance(atom.catom, _engine.Variable):
        return values.get(repr(atom), atom)
    if isinstance(atom.catom, _engine.Expression):
        return E(*[_filled(child, values) for child in atom.get_children()])  # type: ignore[attr-defined]
    return atom


class GroundingSpaceRef(SpaceRef):
    """A space of the engine."""

    def __init__(self, cspace: Any = None) -> None:
        super().__init__(_engine.Space() if cspace is None else cspace)

    @staticmethod
    def _from_cspace(cspace: Any) -> "GroundingSpaceRef":
        return GroundingSpaceRef(cspace)


class Tokenizer:
    """Words that mean something else than symbols: those of a runner, or of nobody."""

    def __init__(self, ctokenizer: Any = None) -> None:
        self.ctokenizer = ctokenizer
        self._own: List[Tuple[Any, Any]] = []

    @staticmethod
    def _from_ctokenizer(ctokenizer: Any) -> "Tokenizer":
        return Tokenizer(ctokenizer)

    def register_token(self, regex: str, constr: Any) -> None:
        """Makes the words that a regular expression covers mean what a function makes of each."""
        if self.ctokenizer is None:
            self._own.append((re.compile(regex), constr))
        else:
            self.ctokenizer.bind_all([(regex, lambda word: constr(word).catom)])


class SyntaxNodeType(Enum):
    """The kinds of parts of a text."""

    COMMENT = 0
    VARIABLE_TOKEN = 1
    STRING_TOKEN = 2
    WORD_TOKEN = 3
    OPEN_PAREN = 4
    CLOSE_PAREN = 5
    WHITESPACE = 6
    LEFTOVER_TEXT = 7
    EXPRESSION_GROUP = 8
    ERROR_GROUP = 9


class SyntaxNode:
    """A part of a text, with the parts that it has."""

    def __init__(self, kind: SyntaxNodeType, start: int, end: int, parts: Optional[List["SyntaxNode"]] = None) -> None:
        self._kind, self._range, self._parts = kind, range(start, end), parts or []

    def get_type(self) -> SyntaxNodeType:
        return self._kind

    def src_range(self) -> range:
        return self._range

    def unroll(self) -> List["SyntaxNode"]:
        """The parts that have none themselves."""
        if not self._parts:
            return [self]
        return [leaf for part in self._parts for leaf in part.unroll()]


_TOKEN = re.compile(
    r"""(?P<WHITESPACE>\s+)|(?P<COMMENT>;[^\n]*)|(?P<OPEN_PAREN>\()|(?P<CLOSE_PAREN>\))"""
    r"""|(?P<STRING_TOKEN>[^\s();"]*"(?:[^"\\]|\\.)*")|(?P<VARIABLE_TOKEN>\$[^\s();]*)|(?P<WORD_TOKEN>[^\s();"$][^\s();"]*)"""
    r"""|(?P<LEFTOVER_TEXT>.)""",
    re.DOTALL,
)


class SExprParser:
    """A text that is read atom by atom."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self._waiting: Optional[List[_engine.Atom]] = None

    def parse(self, tokenizer: Tokenizer) -> Optional[Atom]:
        """The next atom; `None` at the end."""
        node = self.parse_to_syntax_tree()
        while node is not None and node.get_type() in (SyntaxNodeType.COMMENT, SyntaxNodeType.WHITESPACE):
            node = self.parse_to_syntax_tree()
        if node is None:
            return None
        place = node.src_range()
        text = self.text[place.start : place.stop]
        if node.get_type() is SyntaxNodeType.ERROR_GROUP:
            open_string = any(leaf.get_type() is SyntaxNodeType.LEFTOVER_TEXT for leaf in node.unroll())
            closes = text.startswith(")")
            raise SyntaxError(
                "Unclosed String Literal" if open_string else "Unexpected right bracket" if closes else
                "Unexpected end of expression"
            )
        return _read(text, tokenizer)

    def parse_to_syntax_tree(self) -> Optional[SyntaxNode]:
        """The next part of the text."""
        token = _TOKEN.match(self.text, self._at)
        if token is None:
            return None
        kind, start = SyntaxNodeType[token.lastgroup or ""], token.start()
        self._at = token.end()
        if kind is SyntaxNodeType.CLOSE_PAREN or kind is SyntaxNodeType.LEFTOVER_TEXT:
            leaf = SyntaxNode(kind, start, len(self.text) if kind is SyntaxNodeType.LEFTOVER_TEXT else self._at)
            self._at = leaf.src_range().stop
            return SyntaxNode(SyntaxNodeType.ERROR_GROUP, start, self._at, [leaf])
        if kind is not SyntaxNodeType.OPEN_PAREN:
            return SyntaxNode(kind, start, self._at)
        parts, depth = [SyntaxNode(kind, start, self._at)], 1
        while depth:
            token = _TOKEN.match(self.text, self._at)
            if token is None or token.lastgroup == "LEFTOVER_TEXT":
                if token is not None:
                    parts.append(SyntaxNode(SyntaxNodeType.LEFTOVER_TEXT, token.start(), len(self.text)))
                self._at = len(self.text)
                return SyntaxNode(SyntaxNodeType.ERROR_GROUP, start, self._at, parts)
            kind = SyntaxNodeType[token.lastgroup or ""]
            depth += {SyntaxNodeType.OPEN_PAREN: 1, SyntaxNodeType.CLOSE_PAREN: -1}.get(kind, 0)
            parts.append(SyntaxNode(kind, token.start(), token.end()))
            self._at = token.end()
        return SyntaxNode(SyntaxNodeType.EXPRESSION_GROUP, start, self._at, parts)


def _read(text: str, tokenizer: Tokenizer) -> Atom:
    if tokenizer.ctokenizer is not None:
        # A `!` before an atom is a word by itself here.
        found, error = tokenizer.ctokenizer.parse("\\!" if text == "!" else text)
        if error is not None or not found:
            raise SyntaxError(error or f"{text!r} cannot be read")
        return Atom._from_catom(found[0])
    atom = Atom._from_catom(_engine.atom(_engine.parse(text)))
    return _with_own(atom, tokenizer._own)


def _with_own(atom: Atom, words: List[Tuple[Any, Any]]) -> Atom:
    if isinstance(atom.catom, _engine.Symbol):
        name = repr(atom)
        for pattern, constr in reversed(words):
            if pattern.fullmatch(name):
                return constr(name)
    if words and isinstance(atom.catom, _engine.Expression):
        return E(*[_with_own(child, words) for child in atom.get_children()])  # type: ignore[attr-defined]
    return atom


_shared: Optional[_engine.Runner] = None


def _evaluator() -> _engine.Runner:
    """The engine that evaluates in spaces that no runner has."""
    global _shared
    if _shared is None:
        _shared = _engine.Runner("")
    return _shared


class Interpreter:
    """The evaluation of an atom in a space, which is made in one step."""

    def __init__(self, gnd_space: SpaceRef, expr: Atom) -> None:
        self._space, self._expr = gnd_space, expr
        self._result: Optional[List[Atom]] = None

    def has_next(self) -> bool:
        return self._result is None

    def next(self) -> None:
        if not self.has_next():
            raise StopIteration()
        parts = self._expr.get_children() if isinstance(self._expr.catom, _engine.Expression) else []  # type: ignore[attr-defined]
        expr = self._expr
        if not parts or parts[0] != Atoms.METTA:
            expr = E(Atoms.METTA, self._expr, AtomType.UNDEFINED, GroundedAtom(self._space.cspace.atom()))
        self._result = [Atom._from_catom(catom) for catom in _evaluator().evaluate(expr.catom)]

    def get_result(self) -> List[Atom]:
        if self._result is None:
            raise RuntimeError("Plan execution is not finished")
        return self._result

    def get_step_result(self) -> Optional[List[Atom]]:
        return self._result


def interpret(gnd_space: SpaceRef, expr: Atom) -> List[Atom]:
    """What an atom comes to in a space."""
    interpreter = Interpreter(gnd_space, expr)
    interpreter.next()
    return interpreter.get_result()


def get_atom_types(gnd_space: SpaceRef, atom: Atom) -> List[Atom]:
    """The types of an atom in a space."""
    return [Atom._from_catom(catom) for catom, is_valid in gnd_space.cspace.types(atom.catom) if is_valid]


def check_type(gnd_space: SpaceRef, atom: Atom, type: Atom) -> bool:
    """Whether an atom has a type in a space."""
    if type in (AtomType.UNDEFINED, AtomType.ATOM):
        return True
    found = get_atom_types(gnd_space, atom)
    return any(one == AtomType.UNDEFINED or not one.match_atom(type).is_empty() for one in found)


def validate_atom(gnd_space: SpaceRef, atom: Atom) -> bool:
    """Whether an atom is well typed in a space."""
    return bool(get_atom_types(gnd_space, atom))


def atom_is_error(atom: Atom) -> bool:
    """Whether an atom is an error."""
    if not isinstance(atom.catom, _engine.Expression):
        return False
    children = atom.get_children()  # type: ignore[attr-defined]
    return bool(children) and repr(children[0]) == "Error"
