"""Atoms as hyperon has them, on the engine's own."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Any, Dict, Iterator, List, Optional, Union

from .. import _engine, _errors
from .._errors import NotReducible


class AtomKind(Enum):
    """What an atom is."""

    SYMBOL = 0
    VARIABLE = 1
    EXPR = 2
    GROUNDED = 3


class Atom:
    """Any atom; `catom` is the one of the engine."""

    __slots__ = ("catom", "__weakref__")

    def __init__(self, catom: _engine.Atom) -> None:
        self.catom = catom

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Atom) and _equal(self, other)

    def __hash__(self) -> int:
        return hash(self.catom)

    def __repr__(self) -> str:
        return repr(self.catom)

    def get_metatype(self) -> AtomKind:
        return _KINDS[type(self.catom)]

    def iterate(self) -> List["Atom"]:
        """This atom and all inside it, depth first."""
        found, rest = [], [self]
        while rest:
            atom = rest.pop()
            found.append(atom)
            if isinstance(atom, ExpressionAtom):
                rest.extend(reversed(atom.get_children()))
        return found

    def match_atom(self, other: "Atom") -> "BindingsSet":
        """The ways in which two atoms are equal."""
        return BindingsSet._of(_engine.Bindings.match(self.catom, other.catom))

    @staticmethod
    def _from_catom(catom: _engine.Atom) -> "Atom":
        return _CLASSES[type(catom)](catom)


class SymbolAtom(Atom):
    """A name."""

    __slots__ = ()

    def get_name(self) -> str:
        return self.catom.name


class VariableAtom(Atom):
    """A variable."""

    __slots__ = ()

    def get_name(self) -> str:
        return repr(self.catom)[1:]

    @staticmethod
    def parse_name(name: str) -> "VariableAtom":
        return V(name)


class ExpressionAtom(Atom):
    """A sequence of atoms."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"({' '.join(map(repr, self.get_children()))})"

    def get_children(self) -> List[Atom]:
        return [Atom._from_catom(_engine.atom(child)) for child in _children(self.catom)]


class GroundedAtom(Atom):
    """A value: of the language, or any object of Python."""

    __slots__ = ()

    def __repr__(self) -> str:
        found = _engine.object_of(self.catom)
        return repr(self.catom if found is None else found)

    def get_object(self) -> Any:
        """The object, or a `ValueObject` of a number, truth value or string."""
        found = _engine.object_of(self.catom)
        if hasattr(found, "query_native"):
            from .base import SpaceRef

            return SpaceRef(found)
        if found is not None:
            return found
        if repr(_engine.grounded_type(self.catom)) == "SpaceType":
            from .base import SpaceRef

            return SpaceRef._of_atom(self.catom)
        value = _engine.value(self.catom)
        if isinstance(value, (bool, int, float, str)):
            return ValueObject(value)
        raise TypeError(f"{self} is a value of the engine, and no object of Python")

    def get_grounded_type(self) -> Atom:
        return Atom._from_catom(_engine.grounded_type(self.catom))


_CLASSES = {
    _engine.Symbol: SymbolAtom,
    _engine.Variable: VariableAtom,
    _engine.Expression: ExpressionAtom,
    _engine.Grounded: GroundedAtom,
}
_KINDS = {
    _engine.Symbol: AtomKind.SYMBOL,
    _engine.Variable: AtomKind.VARIABLE,
    _engine.Expression: AtomKind.EXPR,
    _engine.Grounded: AtomKind.GROUNDED,
}


def _children(catom: _engine.Expression) -> List[_engine.Atom]:
    return catom.atoms()


def _equal(left: Atom, right: Atom) -> bool:
    if left.catom == right.catom:
        return True
    kinds = (left.get_metatype(), right.get_metatype())
    if kinds == (AtomKind.EXPR, AtomKind.EXPR):
        mine, others = left.get_children(), right.get_children()  # type: ignore[attr-defined]
        return len(mine) == len(others) and all(_equal(one, other) for one, other in zip(mine, others))
    if kinds == (AtomKind.GROUNDED, AtomKind.GROUNDED):
        mine, others = _engine.object_of(left.catom), _engine.object_of(right.catom)
        if mine is None and others is None:
            return False
        try:
            return bool(left.get_object() == right.get_object())  # type: ignore[attr-defined]
        except TypeError:
            return False
    return False


# Atoms never change, and most names are made again and again.
@lru_cache(maxsize=1024)
def S(name: str) -> SymbolAtom:
    """The symbol of this name."""
    return SymbolAtom(_engine.Symbol(name))


@lru_cache(maxsize=1024)
def V(name: str) -> VariableAtom:
    """The variable of this name."""
    return VariableAtom(_engine.Variable(name))


def E(*children: Atom) -> ExpressionAtom:
    """The expression of these atoms."""
    return ExpressionAtom(_engine.expression_of(children))


class GroundedObject:
    """An object as the content of an atom, with a name to print under, if there is one."""

    def __init__(self, content: Any, id: Optional[str] = None) -> None:
        self.content = content
        self.id = id

    def __repr__(self) -> str:
        if isinstance(self.content, str):
            inner = repr(self.content + "'")[1:-2].replace('"', '\\"') if '"' in self.content else repr(self.content)[1:-1]
            return f'"{inner}"'
        return repr(self.content) if self.id is None else self.id

    def copy(self) -> "GroundedObject":
        return self


class ValueObject(GroundedObject):
    """An object that is equal to others by its content."""

    @property
    def value(self) -> Any:
        return self.content

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueObject) and bool(self.content == other.content)

    def __hash__(self) -> int:
        return hash(self.content)


class MatchableObject(ValueObject):
    """An object that says itself what it matches: `match_` gives a dictionary of bindings for each way."""

    def match_(self, atom: Atom) -> List[Dict[str, Atom]]:
        raise NotImplementedError(f"{type(self).__name__} has no method match_: define it to say what the object matches")

    __hash__ = ValueObject.__hash__


class NoReduceError(NotReducible):
    """Raised by an operation to say that the call stays as it is."""


class IncorrectArgumentError(NotReducible):
    """Raised by an operation whose arguments are not those that it takes: the call stays as it is."""


class MettaError(Exception):
    """Raised by an operation to give an error atom of its arguments."""


def get_string_value(value: Any) -> str:
    """A text without the quotes around it."""
    text = value if isinstance(value, str) else repr(value)
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == '"' else text


def unwrap_args(atoms: Any) -> Any:
    """Atoms as arguments of a function of Python: `(Kwargs (name value) ...)` are those by name."""
    positional: List[Any] = []
    named: Dict[str, Any] = {}
    for atom in atoms:
        if isinstance(atom, ExpressionAtom):
            children = atom.get_children()
            if not children or repr(children[0]) != "Kwargs":
                raise NoReduceError()
            for pair in children[1:]:
                parts = pair.get_children() if isinstance(pair, ExpressionAtom) else []
                if len(parts) != 2:
                    raise RuntimeError(f"{pair} is to be an argument by name: write (name value)")
                if not isinstance(parts[1], GroundedAtom):
                    raise NoReduceError()
                named[get_string_value(parts[0])] = _content(parts[1])
        elif isinstance(atom, GroundedAtom):
            positional.append(_content(atom))
        else:
            raise NoReduceError()
    return positional, named


def _content(atom: Any) -> Any:
    """The object in a grounded atom; anything else as it is."""
    if not isinstance(atom, GroundedAtom):
        return atom
    found = atom.get_object()
    return found.content if isinstance(found, GroundedObject) else found


class OperationObject(GroundedObject):
    """A function that programs call. `unwrap` says whether it takes and gives objects, and not atoms."""

    def __init__(self, name: str, op: Any, unwrap: bool = True) -> None:
        super().__init__(op, name)
        self.unwrap = unwrap

    @property
    def op(self) -> Any:
        return self.content

    @property
    def name(self) -> Optional[str]:
        return self.id

    def execute(self, *atoms: Atom, res_typ: Any = None) -> List[Atom]:
        if not self.unwrap:
            found = self.op(*atoms)
            try:
                return list(found)
            except TypeError:
                raise RuntimeError(f"Grounded operation `{self.name}` should return list") from None
        positional, named = unwrap_args(atoms)
        try:
            found = self.op(*positional, **named)
        except MettaError as error:
            return [E(S("Error"), *error.args)]
        if found is None:
            return [Atoms.UNIT]
        if callable(found):
            return [OperationAtom(repr(found), found, unwrap=True)]
        return [ValueAtom(found, AtomType.UNDEFINED if res_typ is None else res_typ)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OperationObject) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class AtomType:
    """The types of the language."""

    UNDEFINED = S("%Undefined%")
    TYPE = S("Type")
    ATOM = S("Atom")
    SYMBOL = S("Symbol")
    VARIABLE = S("Variable")
    EXPRESSION = S("Expression")
    GROUNDED = S("Grounded")
    GROUNDED_SPACE = S("SpaceType")
    UNIT = E(S("->"))
    NUMBER = S("Number")
    BOOL = S("Bool")
    STRING = S("String")


class Atoms:
    """Atoms that mean something to the language."""

    EMPTY = S("Empty")
    UNIT = E()
    METTA = S("metta")


def _carry_out(object: Any, catoms: List[_engine.Atom]) -> List[_engine.Atom]:
    """Called by the engine for a call of an operation."""
    found = object.execute(*[Atom._from_catom(catom) for catom in catoms])
    results = []
    for atom in found:
        if not isinstance(atom, Atom):
            raise _Told("Grounded operation which is defined using unwrap=False should return atom instead of Python type")
        results.append(atom.catom)
    return results


def _asked(object: Any, catom: _engine.Atom) -> List[List[Any]]:
    """Called by the engine where an object meets an atom: the ways in which it matches."""
    ways = object.match_(Atom._from_catom(catom))
    if isinstance(ways, BindingsSet):
        return [list(frame.items()) for frame in ways._frames]
    return [
        [(_engine.Variable(name) if isinstance(name, str) else name.catom, value.catom) for name, value in way.items()] for way in ways
    ]


class _Told(_errors.MettaError):
    """An error whose text is all that there is to say."""


# The kinds of values that are the engine's own, with their types.
_PRIMITIVES = ((bool, AtomType.BOOL, "bool"), (int, AtomType.NUMBER, "int"), (float, AtomType.NUMBER, "float"), (str, AtomType.STRING, "str"))
_PLAIN = frozenset(kind for kind, *_ in _PRIMITIVES)


def G(object: Any, type: Atom = AtomType.UNDEFINED) -> GroundedAtom:
    """The atom of an object: a `GroundedObject`, or what has a space."""
    space = getattr(object, "cspace", None)
    if space is not None:
        assert type == AtomType.UNDEFINED, f"Grounded Space Atoms {object} can't have a custom type {type}"
        return GroundedAtom(space.atom())
    if isinstance(object, ValueObject) and not isinstance(object, MatchableObject):
        for kind, own, name in _PRIMITIVES:
            if isinstance(object.content, kind):
                assert type in (own, AtomType.UNDEFINED), f"Grounded {name} {object} can't have a custom type {type}"
                return GroundedAtom(_engine.atom(object.content))
    assert hasattr(object, "copy"), f"Method copy should be implemented by grounded object {object}"
    carry_out = _carry_out if hasattr(object, "execute") else None
    if carry_out is None and hasattr(object, "match_"):
        return GroundedAtom(_engine.matching(object, type.catom, _asked))
    return GroundedAtom(_engine.opaque(object, type.catom, getattr(object, "id", None), carry_out))


def _type_sugar(names: Any) -> Atom:
    """A type of a name, of a list of them (a function), or as it is."""
    if names is None:
        return AtomType.UNDEFINED
    if isinstance(names, list):
        return E(S("->"), *[_type_sugar(name) for name in names])
    if isinstance(names, str):
        return V(names[1:]) if names.startswith("$") else S(names)
    return names


def OperationAtom(name: str, op: Any, type_names: Any = None, unwrap: bool = True) -> GroundedAtom:
    """A function of Python as an atom."""
    return G(OperationObject(name, op, unwrap), _type_sugar(type_names))


def ValueAtom(value: Any, type_name: Any = None, atom_id: Optional[str] = None) -> GroundedAtom:
    """A value of Python as an atom: numbers, truth values and strings become those of the language."""
    if type_name is None and type(value) in _PLAIN:
        return GroundedAtom(_engine.atom(value))
    return G(ValueObject(value, atom_id), _type_sugar(type_name))


def PrimitiveAtom(value: Any, type_name: Any = None, atom_id: Optional[str] = None) -> GroundedAtom:
    """A number or truth value as an object of Python, not as one of the language."""
    assert isinstance(value, (int, float, bool)), f"Primitive value {(int, float, bool)} is expected"
    return GroundedAtom(_engine.opaque(ValueObject(value, atom_id), _type_sugar(type_name).catom, atom_id, None))


def MatchableAtom(value: Any, type_name: Any = None, atom_id: Optional[str] = None) -> GroundedAtom:
    """A value that says itself what it matches."""
    return G(MatchableObject(value, atom_id), _type_sugar(type_name))


def atoms_are_equivalent(first: Atom, second: Atom) -> bool:
    """Whether two atoms are equal but for the names of their variables."""
    return _engine.equivalent(first.catom, second.catom)


class Bindings:
    """What variables are bound to, in one way."""

    def __init__(self, bindings: Optional[_engine.Bindings] = None) -> None:
        self.cbindings = _engine.Bindings() if bindings is None else bindings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bindings) and self.cbindings == other.cbindings

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.cbindings)

    def __deepcopy__(self, memo: Any = None) -> "Bindings":
        return self.clone()

    def __enter__(self) -> "Bindings":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def clone(self) -> "Bindings":
        # The engine's own are never changed, so both may have them.
        return Bindings(self.cbindings)

    def merge(self, other: "Bindings") -> "BindingsSet":
        return BindingsSet._of(self.cbindings.merge(other.cbindings))

    def add_var_binding(self, var: Atom, atom: Atom) -> bool:
        """Binds a variable; gives whether that can be, in one way."""
        found = self.cbindings.with_equal(var.catom, atom.catom)
        if len(found) == 1:
            self.cbindings = found[0]
        return len(found) == 1

    def is_empty(self) -> bool:
        return len(self.cbindings) == 0

    def narrow_vars(self, vars: Any) -> None:
        """Keeps these variables only."""
        self.cbindings = self.cbindings.narrowed([var.catom for var in vars])

    def resolve(self, var: Atom) -> Optional[Atom]:
        found = self.cbindings.resolve(var.catom)
        return None if found is None else Atom._from_catom(found)

    def iterator(self) -> Iterator[Any]:
        return iter([(Atom._from_catom(var), Atom._from_catom(value)) for var, value in self.cbindings.items()])


def _named(frame: _engine.Bindings) -> Dict[str, Atom]:
    return {name: Atom._from_catom(value) for name, value in frame.named().items()}


class BindingsSet:
    """The ways in which variables may be bound."""

    def __init__(self, input: Union[Bindings, "BindingsSet", None] = None) -> None:
        if input is None:
            self._frames = [_engine.Bindings()]
        elif isinstance(input, Bindings):
            self._frames = [input.cbindings]
        else:
            self._frames = list(input._frames)

    @classmethod
    def _of(cls, frames: List[_engine.Bindings]) -> "BindingsSet":
        made = cls.__new__(cls)
        made._frames = list(frames)
        return made

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BindingsSet) or len(self._frames) != len(other._frames):
            return False
        left = list(other._frames)
        for frame in self._frames:
            if frame not in left:
                return False
            left.remove(frame)
        return True

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"[ {', '.join(map(repr, self._frames))} ]"

    def __deepcopy__(self, memo: Any = None) -> "BindingsSet":
        return self.clone()

    def __enter__(self) -> "BindingsSet":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __getitem__(self, key: Any) -> Any:
        """A way as a dictionary of names."""
        if isinstance(key, slice):
            return [_named(frame) for frame in self._frames[key]]
        return _named(self._frames[key])

    def __iter__(self) -> Iterator[Dict[str, Atom]]:
        return map(_named, self._frames)

    @staticmethod
    def empty() -> "BindingsSet":
        return BindingsSet._of([])

    def clone(self) -> "BindingsSet":
        return BindingsSet._of(self._frames)

    def is_empty(self) -> bool:
        return not self._frames

    def is_single(self) -> bool:
        return len(self._frames) == 1 and len(self._frames[0]) == 0

    def push(self, bindings: Bindings) -> None:
        self._frames.append(bindings.cbindings)

    def add_var_binding(self, var: Union[Atom, str], value: Atom) -> bool:
        """Binds a variable in each way in which that can be; gives whether one is left."""
        variable = V(var) if isinstance(var, str) else var
        self._frames = [found for frame in self._frames for found in frame.with_equal(variable.catom, value.catom)]
        return bool(self._frames)

    def add_var_equality(self, a: Atom, b: Atom) -> bool:
        return self.add_var_binding(a, b)

    def merge_into(self, input: Union["BindingsSet", Bindings]) -> None:
        others = input._frames if isinstance(input, BindingsSet) else [input.cbindings]
        self._frames = [found for frame in self._frames for other in others for found in frame.merge(other)]

    def iterator(self) -> Iterator[Bindings]:
        return iter([Bindings(frame) for frame in self._frames])
