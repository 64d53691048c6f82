"""Agents, as programs written for hyperon make and call them."""

import time

import pytest

from metroon.hyperon import E, Environment, G, GroundingSpaceRef, MeTTa, S, ValueAtom
from metroon.hyperon.exts.agents import AgentObject, EventAgent, StreamMethod
from metroon.hyperon.exts.agents.events import BasicEventBus

# A jetty rents boats by the hour and counts its guests.
JETTY = """
    (= (fee $hours) (+ 6 (* 4 $hours)))
    (= (seats $boats $each) (* $boats $each))
"""


def until(found):
    """Waits until a function gives something."""
    for _ in range(1000):
        result = found()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError("it does not happen")


def outputs(agent, count):
    """The first outputs of an agent, as they are written."""
    found = []

    def is_enough():
        found.extend(map(repr, agent.get_output()))
        return len(found) >= count

    until(is_enough)
    return found


@pytest.fixture
def shore(tmp_path, monkeypatch):
    """A runner that knows agents, in a folder with a program for one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jetty.metta").write_text(JETTY)
    metta = MeTTa(env_builder=Environment.custom_env(working_dir=str(tmp_path)))
    assert metta.run("!(import! &self agents)") == [[E()]]
    return metta


def test_an_agent_is_made_of_a_file(shore):
    assert repr(shore.run("!((create-agent jetty.metta) (fee 2))")) == "[[14]]"
    assert shore.run("!(bind! &jetty (event-agent jetty.metta))") == [[E()]]
    found = shore.run("!(&jetty (seats 6 4)) !(&jetty (fee 9)) !(&jetty .is_daemon)")
    assert repr(found) == "[[24], [42], [False]]"
    # What an agent knows, its caller does not.
    assert repr(shore.run("!(fee 2)")) == "[[(fee 2)]]"


def test_a_class_keeps_a_space_for_each_call(shore):
    """As the agents of metta-motto do: facts of a call are in a space within that of the program, until the next call."""

    class Harbour(AgentObject):
        def __call__(self, ship):
            if self._context_space is not None:
                self._metta.space().remove_atom(self._context_space)
            self._context_space = G(GroundingSpaceRef())
            self._metta.space().add_atom(self._context_space)
            self._context_space.get_object().add_atom(E(S("="), E(S("arriving")), S(ship)))
            return self._metta.run("!(collapse (arriving))")[0][0]

    harbour = Harbour(code="(= (arriving) ferry)")
    assert repr(harbour("tug")) == "(ferry tug)"
    assert repr(harbour("brig")) == "(ferry brig)"


def test_an_agent_is_made_of_an_expression_or_a_text(shore):
    assert repr(shore.run("!((create-agent (quote (= (tide $hour) (% $hour 6)))) (tide 20))")) == "[[2]]"
    (jetty,) = AgentObject.get_agent_atom(None, unwrap=False, code=JETTY)
    shore.register_atom("jetty", jetty)
    assert repr(shore.run("!(jetty (fee 1))")) == "[[10]]"
    with pytest.raises(RuntimeError, match="nothing but"):
        AgentObject(code="(a fact) !(- 9 2)")


class Heron(AgentObject):
    """It waits for some time, then counts what it caught."""

    _name = "heron"

    def __init__(self, patience, catch=3):
        self.patience, self.catch = patience, catch

    def __call__(self, hours, ponds):
        return ponds * self.catch * (hours // self.patience)

    def tires(self, hours):
        return hours > self.patience


def test_an_agent_of_python_is_called_by_itself_and_by_its_methods(shore):
    creator = Heron.agent_creator_atom()
    assert repr(creator) == "heron-agent"
    shore.register_atom("new-heron", creator)
    assert shore.run("!(bind! &heron (new-heron 4)) !(bind! &greedy (new-heron 4 (Kwargs (catch 10))))") == [[E()], [E()]]
    assert repr(shore.run("!(&heron 13 2) !(&greedy 13 2) !(&heron .tires 5) !(&heron .tires 1)")) == "[[18], [60], [True], [False]]"
    # It works with what an agent of a program gives, and the other way round.
    found = shore.run("!(bind! &jetty (create-agent jetty.metta)) !(&heron (&jetty (fee 1)) 2) !(&jetty (fee (&heron 4 1)))")
    assert repr(found) == "[[()], [12], [18]]"
    with pytest.raises(NotImplementedError, match="define it"):
        AgentObject()(1)


class Ripples(AgentObject):
    def __call__(self, width):
        while width > 1:
            yield width
            width //= 2


class Rounded(AgentObject):
    def __call__(self, ripples):
        return (ripple // 10 * 10 for ripple in ripples)


class Largest(AgentObject):
    def __call__(self, ripples, count):
        return sorted(ripples, reverse=True)[:count]


def test_agents_of_python_hand_streams_to_each_other(shore):
    for kind in (Ripples, Rounded, Largest):
        shore.register_atom(kind.__name__, kind.agent_creator_atom())
    ((found,),) = shore.run("!((Largest) ((Rounded) ((Ripples) 100)) 4)")
    assert found.get_object().value == [100, 50, 20, 10]


def test_an_agent_without_a_program_may_have_the_runner_of_its_maker(shore):
    class Asking(AgentObject):
        def __call__(self, what):
            return [repr(atom) for atom in self._metta.run(f"!({what} 3)", flat=True)]

    shore.run("(= (depth $pond) (+ $pond 8))")
    shore.register_atom("asking", Asking.agent_creator_atom(shore))
    ((found,),) = shore.run('!((asking) "depth")')
    assert found.get_object().value == ["11"]
    with pytest.raises(RuntimeError, match="has a runner already"):
        AgentObject.get_agent_atom(shore, unwrap=False, code=JETTY)


class Ferry(AgentObject):
    """It crosses the lake until it is called back."""

    def __init__(self):
        self.daemon, self.is_called, self.log = True, False, []

    def __call__(self, port):
        self.log.append(f"leaves {port}")
        until(lambda: self.is_called)
        self.log.append(f"is back in {port}")

    def back(self):
        self.is_called = True

    def logged(self, place):
        return self.log[place] if place < len(self.log) else "nothing yet"


def test_a_daemon_works_on_a_thread_of_its_own(shore):
    shore.register_atom("ferry", Ferry.agent_creator_atom())
    found = shore.run('!(bind! &ferry (ferry)) !(&ferry "Bregenz") !(&ferry .is_daemon) !(&ferry .logged 1)')
    assert repr(found) == '[[()], [()], [True], ["nothing yet"]]'
    until(lambda: shore.run("!(&ferry .logged 0)") == [[ValueAtom("leaves Bregenz")]])
    assert shore.run("!(&ferry .back)") == [[E()]]
    until(lambda: shore.run("!(&ferry .logged 1)") == [[ValueAtom("is back in Bregenz")]])


def test_a_stream_ends_as_often_as_it_is_iterated():
    class Alike:
        """Something that says that it is equal to everything."""

        def __eq__(self, other):
            return True

        __hash__ = None

    def three():
        yield from (1, Alike(), 3)
        raise ValueError("dry")

    stream = StreamMethod(three, ())
    stream.start()
    first, _, last, error = stream
    assert (first, last) == (1, 3) and repr(error).startswith("(Error ") and "dry" in repr(error)
    assert list(stream) == [] and list(stream) == []
    silent = StreamMethod(lambda: None, ())
    silent.start()
    assert list(silent) == list(silent) == []


LOCK = """
    (= (on-boat $boat) (let $_ (publish-event &event_bus "gate" (open-for $boat)) through))
    (= (on-level $metres) (if (> $metres 4) (flood $metres) ((py-dot $metres is_integer))))
    !(direct-subscription &event_bus "boat" on-boat)
    !(queue-subscription "level" on-level)
"""


def test_events_reach_functions_of_the_program_at_once_or_by_the_queue():
    bus, gate = BasicEventBus(), []
    bus.create_subscription("gate", gate.append)
    agent = EventAgent(code=LOCK, event_bus=bus)
    assert repr(agent._metta.run("!(has-event-bus)")) == "[[True]]"
    bus.publish("boat", S("Swan"))
    assert gate == [E(S("open-for"), S("Swan"))] and list(agent.get_output()) == []
    # Before the agent is started, events of the queue wait.
    bus.publish("level", 1.5)
    assert agent.events.qsize() == 1 and list(agent.get_output()) == []
    agent.start()
    with pytest.raises(RuntimeError, match="has been started"):
        agent.start()
    bus.publish("level", 5.25)
    bus.publish("nobody listens", 5.25)
    assert outputs(agent, 2) == ["False", "(flood 5.25)"] and len(gate) == 1
    bus.publish("level", 2.0)
    until(lambda: not agent.outputs.empty())
    agent.clear_outputs()
    assert list(agent.get_output()) == []
    agent.stop()


def test_a_handler_that_raises_is_an_error_among_the_outputs():
    bus = BasicEventBus()
    agent = EventAgent(code=LOCK, event_bus=bus)
    agent.start()
    # This is not a function of the program, and so not an atom.
    agent.recv_queue_event("leak", len, 7)
    bus.publish("level", 9)
    error, after = outputs(agent, 2)
    assert error.startswith('(Error ("leak" 7) ') and after == "(flood 9)"
    agent.stop()


def test_stop_leaves_nothing_behind_unless_the_agent_was_started():
    bus = BasicEventBus()
    agent = EventAgent(code=LOCK, event_bus=bus)
    agent.stop()
    assert agent.events.empty()
    agent.start()
    bus.publish("level", 6)
    assert outputs(agent, 1) == ["(flood 6)"]
    agent.stop()
    until(agent.events.empty)
    agent.stop()
    assert agent.events.empty() and not agent.running
    agent.start()
    bus.publish("level", 8)
    assert outputs(agent, 1) == ["(flood 8)"]
    agent.stop()


def test_agents_of_programs_answer_each_other(shore, tmp_path):
    (tmp_path / "mill.metta").write_text(
        """!(bind! &ground (new-state 0))
        (= (on-sacks $count) (publish-event &event_bus "flour" (* 3 $count)))
        (= (on-paid $coins) (change-state! &ground $coins)) (= (earned) (get-state &ground))
        !(queue-subscription "sacks" on-sacks) !(queue-subscription "coins" on-paid)"""
    )
    (tmp_path / "baker.metta").write_text(
        """(= (on-flour $pounds) (publish-event &event_bus "coins" (+ 1 $pounds)))
        !(queue-subscription "flour" on-flour)"""
    )
    found = shore.run(
        """!(import! &self agents:events) !(bind! &market (basic-event-bus))
        !(bind! &mill (event-agent mill.metta &market)) !(bind! &baker (event-agent baker.metta &market))
        !(&mill .start) !(&baker .start) !(publish-event &market "sacks" 7)"""
    )
    assert found == [[E()]] * 7
    until(lambda: repr(shore.run("!(&mill (earned))")) == "[[22]]")
    assert shore.run("!(&mill .stop) !(&baker .stop)") == [[E()]] * 2


def test_programs_publish_events(shore):
    found = shore.run(
        """!(import! &self agents:events) !(bind! &bell (basic-event-bus))
        (= (note $stroke) (add-atom &self (struck $stroke)))
        !(direct-subscription &bell noon note) !(publish-event &bell noon (twelve times)) !(match &self (struck $how) $how)"""
    )
    assert found[-1] == [E(S("twelve"), S("times"))]
    for call in ("(publish-event 5 noon 1)", "(direct-subscription 5 noon note)"):
        assert "is not a bus of events" in repr(shore.run(f"!{call}"))
