"""What agents are made of.

An agent is a program of MeTTa with a runner of its own, or a class of Python that inherits from `AgentObject`, or both. A program that
has an agent calls it by writing it first in an expression; `(agent .method ...)` calls a method of Python. An `EventAgent` may hear the
events of a bus as well: those of a queue are worked off on a thread of its own.
"""

from __future__ import annotations

import contextlib
import functools
import queue
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

from metroon.hyperon.atoms import (
    Atom,
    Atoms,
    E,
    ExpressionAtom,
    GroundedAtom,
    OperationAtom,
    OperationObject,
    S,
    SymbolAtom,
    ValueAtom,
    _content,
    unwrap_args,
)
from metroon.hyperon.ext import register_atoms
from metroon.hyperon.runner import Environment, MeTTa


def _text(value: Any) -> Optional[str]:
    """A text of Python, of an atom, or of anything as it is written."""
    plain = value.get_name() if isinstance(value, SymbolAtom) else _content(value)
    return plain if plain is None or isinstance(plain, str) else repr(plain)


def _atom(value: Any) -> Atom:
    """An atom as it is, and anything else as the value of one."""
    return value if isinstance(value, Atom) else ValueAtom(value)


def _program(path: Any, code: Any) -> Any:
    """The program of an agent: a text, or the atom after `quote`; `None` if there is neither a file nor code."""
    # A program of MeTTa writes its code where a path would stand.
    source = path if isinstance(path, ExpressionAtom) else code
    if path is not None and source is not path:
        return Path(str(_text(path))).read_text(encoding="utf-8")
    return source.get_children()[1] if isinstance(source, ExpressionAtom) else _text(source)


def _of_atoms(method: Callable[..., Any]) -> Callable[..., List[Atom]]:
    """A method that takes and gives objects, as a function of atoms."""
    return OperationObject(str(method), method).execute


def _drained(waiting: "queue.Queue[Any]") -> Iterator[Any]:
    """Takes out of a queue what is there by now."""
    with contextlib.suppress(queue.Empty):
        while True:
            yield waiting.get_nowait()


class StreamMethod(threading.Thread):
    """A method whose results come from a thread of its own, one by one."""

    _END = object()

    def __init__(self, method: Callable[..., Any], args: Any) -> None:
        super().__init__(daemon=True)
        self.method, self.args = method, args
        self._result: "queue.Queue[Any]" = queue.Queue()

    def _results(self) -> Iterator[Any]:
        """What the method gives, and an error behind that if it raises."""
        try:
            yield from self.method(*self.args) or ()
        except Exception as error:
            yield E(S("Error"), ValueAtom(self.args), ValueAtom(error))

    def run(self) -> None:
        try:
            for result in self._results():
                self._result.put(result)
        finally:
            self._result.put(self._END)

    def __iter__(self) -> Iterator[Any]:
        while True:
            result = self._result.get()
            if result is self._END:
                # It is put back, so that whoever iterates next finds it too.
                self._result.put(result)
                return
            yield result


class AgentObject:
    """An agent. A class that inherits from it has its words in `__call__` and in other methods."""

    # They are of the class, since a class of Python need not call `__init__` of this one.
    _name: Optional[str] = None
    _metta: Optional[MeTTa] = None
    _unwrap = True
    # The agents of metta-motto keep there the space of a call, and look first whether there is one.
    _context_space: Optional[Atom] = None

    def __init__(
        self,
        path: Any = None,
        atoms: Optional[Dict[str, Atom]] = None,
        include_paths: Optional[List[str]] = None,
        code: Any = None,
    ) -> None:
        """An agent of a program: its file, its text, or an expression `(quote rule)`. Of none of these it is Python alone."""
        self._atoms, self._include_paths = dict(atoms or {}), include_paths
        self._code = _program(path, code)
        if self._code is not None:
            self._create_metta()

    @classmethod
    def name(cls) -> str:
        return str(cls) if cls._name is None else cls._name

    @classmethod
    def agent_creator_atom(cls, metta: Optional[MeTTa] = None, unwrap: bool = True) -> GroundedAtom:
        """The operation that makes an agent of this class."""
        create = functools.partial(cls.get_agent_atom, metta, unwrap=unwrap)
        return OperationAtom(f"{cls.name()}-agent", create, unwrap=False)

    @classmethod
    def get_agent_atom(cls, metta: Optional[MeTTa], *args: Any, unwrap: bool = True, **kwargs: Any) -> List[Atom]:
        """An agent of this class. With `unwrap` it is made of objects of Python and not of atoms, and so is what it is called with."""
        positional, named = unwrap_args(args) if unwrap else (args, {})
        agent = cls(*positional, **{**kwargs, **named})
        agent._unwrap = unwrap
        if metta is not None:
            agent._take_runner(metta)
        return [OperationAtom(cls.name(), agent.__metta_call__, unwrap=False)]

    def _take_runner(self, metta: MeTTa) -> None:
        """Has an agent that has no program work in the runner of whoever made it."""
        if self._metta is not None:
            raise RuntimeError(f"{self} has a runner already: make it of no program, or give it none")
        self._metta = metta

    def _create_metta(self) -> None:
        """Makes the runner and runs the program in it."""
        self._init_metta()
        wrong = [results for results in self._load_code() if results != [Atoms.UNIT]]
        if wrong:
            raise RuntimeError(f"the program of an agent is to come to nothing but (), and not to {wrong[0]}")

    def _init_metta(self) -> None:
        """Makes the runner, which has nothing of that of the caller."""
        folders = self._include_paths
        runner = MeTTa(env_builder=None if folders is None else Environment.custom_env(include_paths=folders))
        for word, meaning in self._atoms.items():
            runner.register_atom(word, meaning)
        self._metta = runner

    def _load_code(self) -> List[List[Atom]]:
        """Runs the program, or adds it if it is an atom; gives what its forms came to."""
        assert self._metta is not None
        if not isinstance(self._code, Atom):
            return self._metta.run(self._code)
        self._metta.space().add_atom(self._code)
        return []

    def is_daemon(self) -> bool:
        """Whether calls are done on a thread of their own, and give nothing."""
        return getattr(self, "daemon", False) is True

    def __call__(self, atom: Any) -> Any:
        if self._metta is not None and not self._unwrap:
            return self._metta.evaluate_atom(atom)
        raise NotImplementedError(f"{type(self).__name__} has no method __call__: define it to say what a call does")

    def __metta_call__(self, *args: Any) -> Any:
        """What a call by a program does: of a method of Python if the first argument is `.method`."""
        named = self._method_named(args[0]) if args else None
        if named is not None:
            return _of_atoms(named)(*args[1:])
        call = _of_atoms(self.__call__) if self._unwrap else self.__call__
        if not self.is_daemon():
            return call(*args)
        StreamMethod(call, args).start()
        return [Atoms.UNIT]

    def _method_named(self, word: Atom) -> Optional[Callable[..., Any]]:
        """The method that a word `.method` names; `None` if it is not such a word, or there is no such method."""
        name = word.get_name() if isinstance(word, SymbolAtom) else ""
        return getattr(self, name[1:], None) if name.startswith(".") else None


class EventAgent(AgentObject):
    """An agent that hears events of a bus, which has `create_subscription(event, function)` and `publish(event, content)`."""

    StopEvent = object()

    def __init__(
        self,
        path: Any = None,
        atoms: Optional[Dict[str, Atom]] = None,
        include_paths: Optional[List[str]] = None,
        code: Any = None,
        event_bus: Any = None,
    ) -> None:
        self.running = False
        self.event_bus = _content(event_bus)
        # A program may subscribe while it is loaded, so they are there before.
        self.events: "queue.Queue[Any]" = queue.Queue()
        self.outputs: "queue.Queue[Any]" = queue.Queue()
        of_bus = {} if event_bus is None else self._words_of_bus(event_bus)
        super().__init__(path, {**(atoms or {}), **of_bus}, include_paths, code)

    def _words_of_bus(self, event_bus: Any) -> Dict[str, Atom]:
        """The words by which the program reaches the bus."""

        def has_event_bus() -> bool:
            return hasattr(self.event_bus, "create_subscription")

        return {
            "&event_bus": _atom(event_bus),
            "has-event-bus": OperationAtom("has-event-bus", has_event_bus),
            "queue-subscription": OperationAtom("queue-subscription", self.queue_subscription, unwrap=False),
        }

    def _init_metta(self) -> None:
        super()._init_metta()
        assert self._metta is not None
        self._metta.run("!(import! &self agents)")

    def start(self, *args: Any) -> None:
        """Begins to work off the queue."""
        if self.running:
            raise RuntimeError("the agent has been started: it works off its queue on one thread")
        self.running = True
        StreamMethod(self.event_processor, args).start()

    def stop(self) -> None:
        """Ends that, once what is in the queue by now is done."""
        if self.running:
            self.running = False
            self.events.put((self.StopEvent, None, ()))

    def queue_subscription(self, event_id: Any, func: Any) -> List[Atom]:
        """Puts what comes on a channel into the queue, to be given to a function of the program."""
        self.event_bus.create_subscription(_text(event_id), functools.partial(self.recv_queue_event, event_id, func))
        return [Atoms.UNIT]

    def recv_queue_event(self, event_id: Any, func: Any, *args: Any) -> None:
        """Puts an event into the queue, to be given to a function of the program."""
        self.events.put((event_id, func, args))

    def event_processor(self, *_: Any) -> None:
        """Works off the queue until the agent is stopped; `start` runs it, on a thread."""
        while True:
            event = self.events.get()
            if event[0] is self.StopEvent:
                return
            for result in self._answers(*event):
                self.outputs.put(result)

    def _answers(self, event_id: Any, func: Any, args: Any) -> List[Atom]:
        """What a function of the program gives for an event: an error if that raises, since the next event is to be heard all the same."""
        try:
            return _called(self._metta, func, *args)
        except Exception as error:
            return [E(S("Error"), E(_atom(event_id), *map(_atom, args)), ValueAtom(error))]

    def clear_outputs(self) -> None:
        """Forgets what functions gave so far."""
        for _ in _drained(self.outputs):
            pass

    def get_output(self) -> Iterator[Any]:
        """What functions gave for events of the queue, as far as it is there."""
        return _drained(self.outputs)


def _called(metta: Any, func: Atom, *args: Any) -> List[Atom]:
    """What a function of a program gives for some objects or atoms."""
    return metta.evaluate_atom(E(func, *map(_atom, args)))


def _method_of_bus(event_bus: Any, name: str) -> Callable[..., Any]:
    """A method of a bus, which may be any object that has it."""
    method = getattr(_content(event_bus), name, None)
    if method is None:
        raise RuntimeError(f"{event_bus} is not a bus of events: it has no method {name}")
    return method


def subscribe_metta_func(metta: MeTTa, event_bus: Atom, event_id: Atom, func: Atom) -> List[Atom]:
    """Calls a function of the program for each event of a channel, where it is published."""
    _method_of_bus(event_bus, "create_subscription")(_text(event_id), functools.partial(_called, metta, func))
    return [Atoms.UNIT]


def publish_event(event_bus: Atom, event_id: Atom, content: Atom) -> List[Atom]:
    """Publishes an atom on a channel."""
    _method_of_bus(event_bus, "publish")(_text(event_id), content)
    return [Atoms.UNIT]


def _create_event_agent(path: Any = None, event_bus: Any = None) -> List[Atom]:
    """An agent of a program, which may hear the events of a bus."""
    return EventAgent.get_agent_atom(None, unwrap=False, path=path, event_bus=event_bus)


@register_atoms(pass_metta=True)
def agent_atoms(metta: MeTTa) -> Dict[str, Atom]:
    """The words of `(import! &self agents)`."""
    of_atoms: Dict[str, Callable[..., List[Atom]]] = {
        "event-agent": _create_event_agent,
        "direct-subscription": functools.partial(subscribe_metta_func, metta),
        "publish-event": publish_event,
    }
    words = {word: OperationAtom(word, function, unwrap=False) for word, function in of_atoms.items()}
    return {"create-agent": AgentObject.agent_creator_atom(unwrap=False), **words}
