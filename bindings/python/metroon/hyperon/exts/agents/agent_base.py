"""What agents are made of.

An agent is a program of MeTTa with a runner of its own, or a class of Python that inherits from `AgentObject`, or both. A program that
has an agent calls it by writing it first in an expression; `(agent .method ...)` calls a method of Python. An `EventAgent` may hear the
events of a bus as well: those of a queue are worked off on a thread of its own.
"""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Dict, Iterator, List, Optional

from metroon.hyperon.atoms import (
    Atom,
    E,
    ExpressionAtom,
    GroundedAtom,
    GroundedObject,
    OperationAtom,
    OperationObject,
    S,
    SymbolAtom,
    ValueAtom,
    unwrap_args,
)
from metroon.hyperon.ext import register_atoms
from metroon.hyperon.runner import Environment, MeTTa


def _content(atom: Any) -> Any:
    """The object in a grounded atom; anything else as it is."""
    if not isinstance(atom, GroundedAtom):
        return atom
    found = atom.get_object()
    return found.content if isinstance(found, GroundedObject) else found


def _text(value: Any) -> Optional[str]:
    """A text of Python, of an atom, or of anything as it is written."""
    found = value.get_name() if isinstance(value, SymbolAtom) else _content(value)
    return found if found is None or isinstance(found, str) else repr(found)


class StreamMethod(threading.Thread):
    """A method whose results come from a thread of its own, one by one."""

    _END = object()

    def __init__(self, method: Callable[..., Any], args: Any) -> None:
        super().__init__(daemon=True)
        self.method, self.args = method, args
        self._result: "queue.Queue[Any]" = queue.Queue()

    def run(self) -> None:
        try:
            for result in self.method(*self.args) or ():
                self._result.put(result)
        except Exception as error:
            self._result.put(E(S("Error"), ValueAtom(self.args), ValueAtom(error)))
        finally:
            self._result.put(self._END)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._result.get, self._END)


class AgentObject:
    """An agent. A class that inherits from it has its words in `__call__` and in other methods."""

    _name: Optional[str] = None
    _metta: Optional[MeTTa] = None
    _unwrap = True

    @classmethod
    def name(cls) -> str:
        return cls._name if cls._name is not None else str(cls)

    @classmethod
    def agent_creator_atom(cls, metta: Optional[MeTTa] = None, unwrap: bool = True) -> GroundedAtom:
        """The operation that makes an agent of this class."""
        create = lambda *args: cls.get_agent_atom(metta, *args, unwrap=unwrap)  # noqa: E731
        return OperationAtom(f"{cls.name()}-agent", create, unwrap=False)

    @classmethod
    def get_agent_atom(cls, metta: Optional[MeTTa], *args: Any, unwrap: bool = True, **kwargs: Any) -> List[Atom]:
        """An agent of this class. With `unwrap` it is made of objects of Python and not of atoms, and so is what it is called with."""
        if unwrap:
            args, named = unwrap_args(args)
            kwargs = {**kwargs, **named}
        agent = cls(*args, **kwargs)
        if metta is not None:
            if agent._metta is not None:
                raise RuntimeError(f"{agent} has a runner already: make it of no program, or give it none")
            agent._metta = metta
        agent._unwrap = unwrap
        return [OperationAtom(cls.name(), agent.__metta_call__, unwrap=False)]

    def __init__(
        self,
        path: Any = None,
        atoms: Optional[Dict[str, Atom]] = None,
        include_paths: Optional[List[str]] = None,
        code: Any = None,
    ) -> None:
        """An agent of a program: its file, its text, or an expression `(quote rule)`. Of none of these it is Python alone."""
        self._atoms, self._include_paths = dict(atoms or {}), include_paths
        self._code: Any = None
        if isinstance(path, ExpressionAtom):
            path, code = None, path
        if path is not None:
            with open(_text(path) or "", encoding="utf-8") as file:
                code = file.read()
        if code is not None:
            self._code = code.get_children()[1] if isinstance(code, ExpressionAtom) else _text(code)
            self._create_metta()

    def _create_metta(self) -> None:
        self._init_metta()
        for results in self._load_code():
            if results != [E()]:
                raise RuntimeError(f"the program of an agent is to come to nothing but (), and not to {results}")

    def _init_metta(self) -> None:
        """Makes the runner, which has nothing of that of the caller."""
        paths = self._include_paths
        self._metta = MeTTa() if paths is None else MeTTa(env_builder=Environment.custom_env(include_paths=paths))
        for name, atom in self._atoms.items():
            self._metta.register_atom(name, atom)

    def _load_code(self) -> List[List[Atom]]:
        assert self._metta is not None
        if isinstance(self._code, str):
            return self._metta.run(self._code)
        self._metta.space().add_atom(self._code)
        return []

    def is_daemon(self) -> bool:
        """Whether calls are done on a thread of their own, and give nothing."""
        return getattr(self, "daemon", False) is True

    def __call__(self, atom: Any) -> Any:
        if self._unwrap or self._metta is None:
            raise NotImplementedError(f"{type(self).__name__} has no method __call__: define it to say what a call does")
        return self._metta.evaluate_atom(atom)

    def __metta_call__(self, *args: Any) -> Any:
        """What a call by a program does: of a method of Python if the first argument is `.method`."""
        method, unwrap, is_whole = self.__call__, self._unwrap, True
        if args and isinstance(args[0], SymbolAtom) and args[0].get_name().startswith("."):
            found = getattr(self, args[0].get_name()[1:], None)
            if found is not None:
                method, args, unwrap, is_whole = found, args[1:], True, False
        if unwrap:
            method = OperationObject(f"{method}", method).execute
        if is_whole and self.is_daemon():
            StreamMethod(method, args).start()
            return [E()]
        return method(*args)


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
        self.event_bus = _content(event_bus)
        self.events: "queue.Queue[Any]" = queue.Queue()
        self.outputs: "queue.Queue[Any]" = queue.Queue()
        self.running = False
        words = dict(atoms or {})
        if event_bus is not None:
            words["&event_bus"] = event_bus if isinstance(event_bus, Atom) else ValueAtom(event_bus)
            words["queue-subscription"] = OperationAtom("queue-subscription", self.queue_subscription, unwrap=False)
            words["has-event-bus"] = OperationAtom("has-event-bus", lambda: hasattr(self.event_bus, "create_subscription"))
        super().__init__(path, words, include_paths, code)

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
        self.events.put((self.StopEvent, None, ()))
        self.running = False

    def queue_subscription(self, event_id: Any, func: Any) -> List[Atom]:
        """Puts what comes on a channel into the queue, to be given to a function of the program."""
        hear = lambda *args: self.recv_queue_event(event_id, func, *args)  # noqa: E731
        self.event_bus.create_subscription(_text(event_id), hear)
        return [E()]

    def recv_queue_event(self, event_id: Any, func: Any, *args: Any) -> None:
        self.events.put((event_id, func, args))

    def event_processor(self, *_: Any) -> None:
        while True:
            event_id, func, args = self.events.get()
            if event_id is self.StopEvent:
                return
            for result in _called(self._metta, func, args):
                self.outputs.put(result)

    def clear_outputs(self) -> None:
        for _ in self.get_output():
            pass

    def get_output(self) -> Iterator[Any]:
        """What functions gave for events of the queue, as far as it is there."""
        while True:
            try:
                yield self.outputs.get_nowait()
            except queue.Empty:
                return


def _called(metta: Any, func: Atom, args: Any) -> List[Atom]:
    """What a function of a program gives for some objects or atoms."""
    return metta.evaluate_atom(E(func, *[arg if isinstance(arg, Atom) else ValueAtom(arg) for arg in args]))


def subscribe_metta_func(metta: MeTTa, event_bus: Atom, event_id: Atom, func: Atom) -> List[Atom]:
    """Calls a function of the program for each event of a channel, where it is published."""
    bus = _content(event_bus)
    if not hasattr(bus, "create_subscription"):
        raise RuntimeError(f"{event_bus} is no bus of events: it has no method create_subscription")
    bus.create_subscription(_text(event_id), lambda *args: _called(metta, func, args))
    return [E()]


def publish_event(event_bus: Atom, event_id: Atom, content: Atom) -> List[Atom]:
    """Publishes an atom on a channel."""
    bus = _content(event_bus)
    if not hasattr(bus, "publish"):
        raise RuntimeError(f"{event_bus} is no bus of events: it has no method publish")
    bus.publish(_text(event_id), content)
    return [E()]


@register_atoms(pass_metta=True)
def agent_atoms(metta: MeTTa) -> Dict[str, Atom]:
    def event_agent(path: Any = None, event_bus: Any = None) -> List[Atom]:
        return EventAgent.get_agent_atom(None, unwrap=False, path=path, event_bus=event_bus)

    subscribe = lambda *args: subscribe_metta_func(metta, *args)  # noqa: E731
    return {
        "create-agent": AgentObject.agent_creator_atom(unwrap=False),
        "event-agent": OperationAtom("event-agent", event_agent, unwrap=False),
        "direct-subscription": OperationAtom("direct-subscription", subscribe, unwrap=False),
        "publish-event": OperationAtom("publish-event", publish_event, unwrap=False),
    }
