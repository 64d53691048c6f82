"""Agents, as programs written for hyperon make and call them."""

import time

import pytest

from metroon.hyperon import E, Environment, MeTTa, S, ValueAtom
from metroon.hyperon.exts.agents import AgentObject, EventAgent
from metroon.hyperon.exts.agents.events import BasicEventBus

PROGRAM = "(= (g $x) (+ 1 $x)) (= (h $x $y) (* $x $y)) !(bind! &calls (new-state 0)) (= (calls) (change-state! &calls (+ 1 (get-state &calls))))"


def until(found):
    """Waits until a function gives something."""
    for _ in range(1000):
        result = found()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError("it does not happen")


def test_an_agent_of_a_file_and_of_an_expression(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.metta").write_text(PROGRAM)
    metta = MeTTa(env_builder=Environment.custom_env(working_dir=str(tmp_path)))
    found = metta.run(
        """!(import! &self agents)
        !((create-agent agent.metta) (g 3))
        !((create-agent (quote (= (f $x) (+ 1 $x)))) (f 10))
        !(bind! &one (event-agent agent.metta))
        !(&one (h 3 5)) !(&one (g 4)) !(&one .is_daemon)"""
    )
    assert repr(found) == "[[()], [4], [11], [()], [15], [5], [False]]"


class Adder(AgentObject):
    def __init__(self, x):
        self.x = x

    def less(self, a):
        return self.x - a

    def __call__(self, a, b):
        return a + b + self.x


class Numbers(AgentObject):
    def __call__(self):
        yield from range(5)


class Twice(AgentObject):
    def __call__(self, numbers):
        for number in numbers:
            yield 2 * number


class Listed(AgentObject):
    def __call__(self, numbers):
        return list(numbers)


def test_agents_of_python_are_called_and_hand_streams_to_each_other():
    metta = MeTTa()
    metta.register_atom("adder", Adder.agent_creator_atom())
    for name, kind in (("numbers", Numbers), ("twice", Twice), ("listed", Listed)):
        metta.register_atom(name, kind.agent_creator_atom())
    assert repr(metta.run("!(bind! &agent (adder 5)) !(&agent 7 8) !(&agent .less 4)")) == "[[()], [20], [1]]"
    (found,) = metta.run("!((listed) ((twice) ((numbers))))")
    assert found[0].get_object().value == [0, 2, 4, 6, 8]
    with pytest.raises(NotImplementedError, match="define it"):
        AgentObject()(1)


class Echo(AgentObject):
    def __init__(self):
        self.daemon, self.said, self.running = True, [], True

    def __call__(self):
        while self.running:
            time.sleep(0.005)
        self.said.append("stopped")

    def stop(self):
        self.running = False

    def last(self):
        return self.said[-1] if self.said else None


def test_a_daemon_works_on_a_thread_of_its_own():
    metta = MeTTa()
    metta.register_atom("echo", Echo.agent_creator_atom())
    assert repr(metta.run("!(bind! &echo (echo)) !(&echo) !(&echo .stop)")) == "[[()], [()], [()]]"
    until(lambda: metta.run("!(&echo .last)") == [[ValueAtom("stopped")]])


def test_events_reach_functions_of_the_program():
    bus, heard = BasicEventBus(), []
    bus.create_subscription("answer", lambda what: heard.append(what))
    agent = EventAgent(
        code="""
        (= (on-ping $what) ((py-dot &event_bus publish) "answer" (if (== $what "Ping") "Pong" "Wrong")))
        (= (on-queued $what) ((py-dot $what swapcase)))
        !(direct-subscription &event_bus "now" on-ping)
        !(queue-subscription "later" on-queued)""",
        event_bus=bus,
    )
    agent.start()
    bus.publish("now", "Ping")
    assert heard == ["Pong"] and list(agent.get_output()) == []
    bus.publish("later", "World")
    assert until(lambda: list(agent.get_output())) == [ValueAtom("wORLD")]
    agent.stop()
    with pytest.raises(RuntimeError, match="nothing but"):
        EventAgent(code="!(+ 1 2)")


def test_programs_publish_events():
    metta = MeTTa()
    found = metta.run(
        """!(import! &self agents) !(import! &self agents:events)
        !(bind! &bus (basic-event-bus)) (= (hear $what) (add-atom &self (heard $what)))
        !(direct-subscription &bus "topic" hear) !(publish-event &bus "topic" (a b)) !(match &self (heard $x) $x)"""
    )
    assert found[-1] == [E(S("a"), S("b"))]
