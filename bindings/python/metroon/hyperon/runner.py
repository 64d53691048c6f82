"""Runners and environments as hyperon has them."""

from __future__ import annotations

import importlib
import importlib.util
import os
import site
import sys
import weakref
from typing import Any, Callable, Iterator, List, Optional

from .. import _engine
from .atoms import Atom, Atoms, E, GroundedAtom, OperationAtom, S
from .base import GroundingSpaceRef, SExprParser, SpaceRef, Tokenizer, _Written
from .ext import RegisterType


class EnvBuilder:
    """How a runner finds its files."""

    def __init__(self) -> None:
        self.working_dir: Optional[str] = None
        self.config_dir: Optional[str] = None
        self.include_paths: List[str] = []


class Environment:
    """Makes environments."""

    _common: Optional[EnvBuilder] = None

    @staticmethod
    def config_dir() -> Optional[str]:
        """The folder of the common environment's configuration."""
        common = Environment._common
        return None if common is None else common.config_dir

    @staticmethod
    def init_common_env(
        working_dir: Optional[str] = None,
        config_dir: Optional[str] = None,
        create_config: Optional[bool] = None,
        is_test: Optional[bool] = None,
        include_paths: Any = (),
    ) -> bool:
        """Makes the environment of runners that have none of their own; gives whether there was none before."""
        if Environment._common is not None:
            return False
        builder = Environment.custom_env(working_dir, config_dir, create_config, is_test, include_paths)
        if create_config and builder.config_dir:
            os.makedirs(builder.config_dir, exist_ok=True)
        Environment._common = builder
        return True

    @staticmethod
    def test_env() -> EnvBuilder:
        """An environment for tests."""
        return EnvBuilder()

    @staticmethod
    def custom_env(
        working_dir: Optional[str] = None,
        config_dir: Optional[str] = None,
        create_config: Optional[bool] = None,
        is_test: Optional[bool] = None,
        include_paths: Any = (),
    ) -> EnvBuilder:
        """An environment with these settings."""
        builder = EnvBuilder()
        builder.working_dir, builder.config_dir, builder.include_paths = working_dir, config_dir, list(include_paths)
        return builder


class RunContext:
    """What a loader of a module may use."""

    def __init__(self, metta: "MeTTa") -> None:
        self._metta = metta

    def init_self_module(self, space: Any, resource_dir: Any) -> None:
        """The words of a module that Python makes are those of the module that imports it, so there is nothing to begin."""

    def metta(self) -> "MeTTa":
        return self._metta

    def space(self) -> SpaceRef:
        return self._metta.space()

    def tokenizer(self) -> Tokenizer:
        return self._metta.tokenizer()

    def load_module(self, mod_name: str) -> Any:
        return self._metta._import(mod_name)

    def register_token(self, regexp: str, constr: Callable[[str], Atom]) -> None:
        self._metta.register_token(regexp, constr)

    def register_atom(self, name: str, symbol: Atom) -> None:
        self._metta.register_atom(name, symbol)

    def import_dependency(self, mod_id: Any) -> None:
        """Words of a module that Python has loaded are known already."""


class ModuleDescriptor:
    """What tells a module from others."""

    def __init__(self, c_module_descriptor: Any) -> None:
        self.c_module_descriptor = c_module_descriptor


class RunnerState:
    """A program that is run step by step; each form is a step."""

    def __init__(self, metta: "MeTTa", program: str) -> None:
        self._metta, self._parser = metta, SExprParser(program)
        self._results: List[List[Atom]] = []
        self._complete, self._bang = False, False

    def run_step(self) -> None:
        """Runs the next form."""
        if self._complete:
            return
        try:
            atom = self._parser.parse(self._metta.tokenizer())
        except SyntaxError as error:
            self._complete = True
            raise RuntimeError(error.args[0]) from None
        if atom is None:
            self._complete = True
        elif self._bang:
            self._bang = False
            self._results.append(self._metta.evaluate_atom(atom))
        elif repr(atom) in ("!", "\\!"):
            self._bang = True
        else:
            self._metta.space().add_atom(atom)

    def is_complete(self) -> bool:
        return self._complete

    def current_results(self, flat: bool = False) -> List[Any]:
        return [atom for results in self._results for atom in results] if flat else self._results


class MeTTa:
    """A runner of programs. What runs in one does not change another."""

    def __init__(self, cmetta: Any = None, space: Optional[SpaceRef] = None, env_builder: Optional[EnvBuilder] = None):
        self._environment = env_builder or Environment._common or EnvBuilder()
        directory = self._environment.working_dir or ""
        self.cmetta = _engine.Runner(directory) if cmetta is None else cmetta
        self._custom: Optional[SpaceRef] = None
        self._modules: List[str] = []
        # Words that wait to be bound together.
        self._words: Optional[List[Any]] = None
        if cmetta is None:
            self._begin(space)

    def _begin(self, space: Optional[SpaceRef]) -> None:
        from . import stdlib

        native_import = self.parse_single("import!")
        # All words at once: the engine is asked a single time.
        self._words = []
        # The engine keeps its words, and this keeps the engine: a word that kept this would keep it for ever.
        here = weakref.proxy(self)
        _register_module(stdlib, here)
        importing = OperationAtom("import!", lambda *atoms: here._imported(native_import, atoms), unwrap=False)
        self.register_token("import!", lambda _: importing)
        words, self._words = self._words, None
        self.cmetta.bind_all(words)
        if isinstance(getattr(space, "cspace", None), _Written):
            self._custom = space
            atom = GroundedAtom(space.cspace.atom())  # type: ignore[union-attr]
            self.register_token("&self", lambda _: atom)
        elif space is not None:
            for atom in space.get_atoms():
                self.space().add_atom(atom)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MeTTa) and self.cmetta is other.cmetta

    def __hash__(self) -> int:
        return id(self.cmetta)

    def space(self) -> SpaceRef:
        """The space of the program."""
        return self._custom if self._custom is not None else GroundingSpaceRef(self.cmetta.space())

    def tokenizer(self) -> Tokenizer:
        """The words of the program."""
        return Tokenizer(self.cmetta)

    def working_dir(self) -> str:
        return self._environment.working_dir or ""

    def register_token(self, regexp: str, constr: Callable[[str], Atom]) -> None:
        """Makes the words that a regular expression covers mean what a function makes of each."""
        word = (regexp, lambda word: constr(word).catom)
        if self._words is None:
            self.cmetta.bind_all([word])
        else:
            self._words.append(word)

    def register_atom(self, name: str, symbol: Atom) -> None:
        """Makes the words that a regular expression covers mean an atom."""
        self.register_token(name, lambda _: symbol)

    def _parse_all(self, program: str) -> Iterator[Atom]:
        parser = SExprParser(program)
        while True:
            atom = parser.parse(self.tokenizer())
            if atom is None:
                return
            yield atom

    def parse_all(self, program: str) -> List[Atom]:
        """The atoms of a text."""
        return list(self._parse_all(program))

    def parse_single(self, program: str) -> Atom:
        """The first atom of a text."""
        return next(self._parse_all(program))

    def run(self, program: str, flat: bool = False) -> List[Any]:
        """Runs a program; gives the results of each form after `!`."""
        answers, error = self.cmetta.run(program)
        if error is not None:
            raise RuntimeError(error.split(":")[0])
        results = [[Atom._from_catom(catom) for catom in answer] for answer in answers]
        return [atom for answer in results for atom in answer] if flat else results

    def evaluate_atom(self, atom: Atom) -> List[Atom]:
        """What an atom comes to."""
        return [Atom._from_catom(catom) for catom in self.cmetta.evaluate(atom.catom)]

    def load_module_at_path(self, path: str, mod_name: Optional[str] = None) -> Any:
        """Loads a file of MeTTa or Python; a form of it that comes to an error is an exception."""
        if os.path.basename(path).endswith(".py") or os.path.isdir(path):
            return _load_python(path, mod_name or os.path.splitext(os.path.basename(path))[0], self)
        with open(path, encoding="utf-8") as file:
            runner = MeTTa(env_builder=Environment.custom_env(working_dir=os.path.dirname(path)))
            for results in runner.run(file.read()):
                for result in results:
                    if isinstance(result.catom, _engine.Expression) and repr(result).startswith("(Error "):
                        raise RuntimeError(repr(result))
        return path

    def load_module_direct_from_func(self, mod_name: str, loader_func: Callable[[Tokenizer, "MeTTa"], Any]) -> Any:
        """Loads a module by a function that registers its words."""
        loader_func(self.tokenizer(), self)
        return mod_name

    def load_module_direct_from_pymod(self, mod_name: str, pymod_name: Any) -> Any:
        """Loads a module of Python by name."""
        _register_module(importlib.import_module(pymod_name if isinstance(pymod_name, str) else pymod_name.__name__), self)
        return mod_name

    def _imported(self, native_import: Atom, atoms: Any) -> List[Atom]:
        """`import!`: of a module of Python if there is one of that name, else of the engine's."""
        name = repr(atoms[1]) if len(atoms) == 2 else ""
        path = self._python_module(name)
        if path is None:
            return self.evaluate_atom(E(native_import, *atoms))
        if path not in self._modules:
            parts = name.split(":")
            for count in range(1, len(parts)):
                around = self._python_module(":".join(parts[:count]))
                if around is not None:
                    _load_python(around, ".".join(parts[:count]), self)
            error = _load_python(path, parts[-1], self)
            if error is not None:
                return [E(S("Error"), E(S("import!"), *atoms), S(f"Failed to load {name}: {error!r}"))]
            self._modules.append(path)
        return [Atoms.UNIT]

    def _import(self, name: str) -> Any:
        return self._imported(self.parse_single("import!"), (self.parse_single("&self"), S(name)))

    def _python_module(self, name: str) -> Optional[str]:
        """The file of a module of Python of this name."""
        if not name:
            return None
        relative = name.replace("top:", "").replace("self:", "").replace(":", "/")
        own = os.path.join(os.path.dirname(__file__), "exts")
        folders = [self._environment.working_dir or os.getcwd(), os.getcwd(), *self._environment.include_paths, own]
        for folder in [*folders, *site.getsitepackages()]:
            for file in (f"{relative}.py", f"{relative}/__init__.py"):
                path = os.path.join(folder, file)
                if os.path.isfile(path):
                    return os.path.abspath(path)
        return None


def _load_python(path: str, name: str, metta: MeTTa) -> Optional[BaseException]:
    """Runs a file of Python as a module and registers its words; gives what it raised."""
    package = os.path.dirname(path) if path.endswith("__init__.py") else None
    spec = importlib.util.spec_from_file_location(
        name, path, submodule_search_locations=None if package is None else [package]
    )
    try:
        module = sys.modules.get(name)
        if module is None or os.path.abspath(getattr(module, "__file__", "") or "") != path:
            module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
            sys.modules[name] = module
            spec.loader.exec_module(module)  # type: ignore[union-attr]
        _register_module(module, metta)
        return None
    except Exception as error:
        sys.modules.pop(name, None)
        return error


def _register_module(module: Any, metta: MeTTa) -> None:
    """Registers the words that the marked functions of a module give."""
    for name in dir(module):
        marked = getattr(module, name)
        kind = getattr(marked, "metta_type", None)
        if not isinstance(kind, RegisterType):
            continue
        words = marked(metta) if marked.metta_pass_metta else marked()
        for regexp, meaning in words.items():
            if kind is RegisterType.ATOM:
                metta.register_atom(regexp, meaning)
            else:
                metta.register_token(regexp, meaning)
