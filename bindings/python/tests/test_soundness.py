"""What must not happen whatever programs do: memory that is never given back, a base that is left in between, threads that wait for
each other."""

import contextlib
import gc
import os
import random
import signal
import sys
import threading
import time
import traceback
import weakref

import pytest

import metroon
from metroon import Expression, Symbol, Variable, hyperon

# No thread of these tests works so many seconds.
PATIENCE = 120
# Where Linux says how much memory the process has.
STATM = "/proc/self/statm"


def resident():
    """How many bytes of memory the process has."""
    with open(STATM) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def hooked(threads):
    """Meanwhile what threads raise is kept, and written into a list, instead of on the terminal."""
    raised, before = [], threading.excepthook

    def keep(told):
        if told.thread in threads:
            raised.append("".join(traceback.format_exception(told.exc_type, told.exc_value, told.exc_traceback)))
        else:
            before(told)

    threading.excepthook = keep
    try:
        yield raised
    finally:
        threading.excepthook = before


def joined(threads):
    """Starts threads and waits for them: none may raise, or go on for ever."""
    with hooked(threads) as raised:
        for thread in threads:
            thread.start()
        until = time.monotonic() + PATIENCE
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
    assert not raised, "\n".join(raised)
    assert not any(thread.is_alive() for thread in threads), "some wait for each other"


@contextlib.contextmanager
def interruptible():
    """Meanwhile the signal of Ctrl-C is KeyboardInterrupt: a shell that starts the tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def native(number):
    return Expression(Symbol(f"s{number}"), number, float(number), f"text {number}", Variable("x"), (number, (None, [True])))


def of_hyperon(number):
    return hyperon.E(hyperon.S(f"s{number}"), hyperon.ValueAtom(number), hyperon.V("x"), hyperon.ValueAtom([number]))


@pytest.mark.parametrize("make", [native, of_hyperon])
def test_a_million_atoms_leave_nothing(make):
    if not os.path.exists(STATM):
        assert os.environ.get("CI") not in ("true", "1") or sys.platform != "linux", f"there is no {STATM}"
        pytest.skip("the system does not say how much memory a process has")
    at_once, rounds = 100_000, 10

    def round_of(start):
        held = [make(number) for number in range(start, start + at_once)]
        assert len(held) == at_once

    # What is kept for ever, such as memory that the allocator holds ready, is there after the first rounds.
    round_of(0)
    round_of(at_once)
    gc.collect()
    blocks, bytes_before = sys.getallocatedblocks(), resident()
    for place in range(rounds):
        round_of((place + 2) * at_once)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 1_000
    assert resident() - bytes_before < 32 << 20


class Counted:
    """An object that knows how many of its kind there are."""

    live = 0

    def __init__(self):
        Counted.live += 1

    def __del__(self):
        Counted.live -= 1

    def copy(self):
        return self


def test_objects_that_went_through_an_engine_are_given_back():
    base, metta = metroon.KnowledgeBase(), hyperon.MeTTa()

    @base.function
    def made(count: int):
        for _ in range(count):
            yield Counted()

    base.register(lambda value: isinstance(value, Counted), name="is-one")
    metta.register_atom("made", hyperon.OperationAtom("made", lambda: Counted()))
    for _ in range(20):
        assert base.run("!(collapse (is-one (made 50)))") == [[(True,) * 50]]
        metta.run("!(made) !(let $x (made) ($x $x))")
        with pytest.raises(metroon.EvaluationError):
            base.run("!(+ 1 (let $x (made 5) (/ 1 0)))")
    space = hyperon.GroundingSpaceRef()
    atoms = [hyperon.E(hyperon.S("holds"), hyperon.G(Counted())) for _ in range(100)]
    for atom in atoms:
        space.add_atom(atom)
    assert Counted.live >= 100
    del atoms, atom, space
    seen = weakref.ref(metta)
    base.close()
    del base, metta, made
    gc.collect()
    assert seen() is None and Counted.live == 0


@pytest.fixture
def stock():
    """A base whose rule and facts a function may disturb, and a check that it is whole."""
    with metroon.KnowledgeBase() as kb:
        kb.run("(stock apples 5) (stock pears 7) (= (total) (let $all (collapse (match &self (stock $w $n) $n)) (foldl-atom $all 0 $a $b (+ $a $b))))")
        yield kb


def is_whole(kb, total=12):
    assert kb.run("!(total)") == [[total]] and len(kb.query("(stock $what $n)")) == 2
    with kb.transaction() as changes:
        changes.add("(stock plums 1)")
        changes.remove("(stock plums 1)")
    assert kb.view().evaluate("!(total)") == [[total]]
    return True


def test_a_function_that_raises_leaves_the_base_whole(stock):
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError("not even this can be said")

    @stock.function
    def fails(how: str):
        stock.run("(left behind)")
        if how == "generator":
            yield 1
        raise {"plain": ValueError("no"), "odd": Odd(), "generator": KeyError("late"), "exit": SystemExit(3)}[how]

    for how in ("plain", "odd", "generator", "exit"):
        with pytest.raises((metroon.EvaluationError, metroon.MettaError)):
            stock.run(f'!(+ 1 (fails "{how}"))')
        with pytest.raises(metroon.MettaError):
            with stock.transaction() as changes:
                changes.run("(stock plums 9)")
                changes.run(f'!(fails "{how}")')
        assert is_whole(stock)
    stock.run('!(case (transaction (fails "plain")) (((Error $call $why) caught)))')
    assert is_whole(stock)


def test_a_function_that_recurses_into_its_engine_leaves_the_base_whole(stock):
    @stock.function
    def deeper(left: int) -> int:
        stock.add((Symbol("depth"), left))
        return 0 if left == 0 else 1 + stock.run(f"!(deeper {left - 1})")[0][0]

    assert stock.run("!(deeper 20)") == [[20]] and len(stock.query("(depth $n)")) == 21
    with pytest.raises(metroon.EvaluationError, match="nested"):
        stock.run("!(deeper 100000)")
    assert is_whole(stock)

    @stock.function
    def closes() -> int:
        stock.close()
        return 1

    with pytest.raises(metroon.MettaError):
        stock.run("!(closes)")
    with pytest.raises((metroon.EvaluationError, metroon.MettaError)):
        stock.function(lambda: stock.transaction().__enter__(), name="begins")
        stock.run("!(begins)")
    assert is_whole(stock)


@pytest.mark.parametrize("where", ["python", "engine", "nested"])
def test_a_call_that_is_cancelled_leaves_the_base_whole(stock, where):
    stock.run("(= (forever $n) (forever (+ $n 1)))")
    begun = threading.Event()

    @stock.function
    def slow(how: str) -> int:
        stock.add("(undone here)")
        begun.set()
        if how == "engine":
            return 1
        if how == "nested":
            return stock.run("!(forever 0)")[0][0]
        until = time.monotonic() + 1.0
        while time.monotonic() < until:
            time.sleep(0.01)
        return 1

    def interrupt():
        begun.wait(PATIENCE)
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    for _ in range(3):
        begun.clear()
        interrupting = threading.Thread(target=interrupt)
        with interruptible():
            interrupting.start()
            started = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                stock.run(f'!(+ (slow "{where}") (forever 0))')
            assert time.monotonic() - started < 20
            interrupting.join(PATIENCE)
        assert is_whole(stock) and len(stock.query("(undone $where)")) == 0


@pytest.mark.parametrize("is_kept", [False, True], ids=["in memory", "in a folder"])
def test_two_threads_ask_while_a_third_commits(tmp_path, is_kept):
    """Each sees whole commits only: as much goes from one account as comes to the other."""
    kb = metroon.KnowledgeBase(tmp_path / "base" if is_kept else None)
    kb.register(lambda number: number, name="same", pure=True)
    kb.add(*[f"(account a{place} 100)" for place in range(20)])
    done, asked, wrong = threading.Event(), [0, 0], []

    def ask(place):
        dice = random.Random(place)
        while not done.is_set() and not wrong:
            found = kb.query("(account $who $much)").column("much")
            if (len(found), sum(found)) != (20, 2000):
                wrong.append(found)
            view = kb.view()
            if view.query("(account $who $much)") != view.query("(account $who $much)"):
                wrong.append(view.epoch)
            one = dice.randrange(20)
            if view.evaluate(f"!(match &self (account a{one} $much) (same $much))") == [[]]:
                wrong.append(one)
            asked[place] += 1

    def commit():
        try:
            dice = random.Random(7)
            for _ in range(60):
                one, other = dice.sample(range(20), 2)
                with kb.transaction() as changes:
                    (mine,), (theirs,) = (changes.query(f"(account a{place} $n)")[0] for place in (one, other))
                    changes.remove(f"(account a{one} {mine})", f"(account a{other} {theirs})")
                    changes.add(f"(account a{one} {mine - 1})", f"(account a{other} {theirs + 1})")
                kb.run(f"!(match &self (account a{one} $n) (same $n))")
        finally:
            done.set()

    joined([threading.Thread(target=ask, args=(place,), daemon=True) for place in range(2)] + [threading.Thread(target=commit, daemon=True)])
    assert not wrong and min(asked) > 0 and kb.epoch >= 61
    kb.close()


def test_runners_that_call_each_other_do_not_wait_for_each_other():
    """A function of one engine asks another one, in both directions, from two threads."""
    bases = [metroon.KnowledgeBase(), metroon.KnowledgeBase()]
    for place, base in enumerate(bases):
        other = bases[1 - place]
        base.add(f"(mine {place})")
        base.register(lambda other=other: other.query("(mine $x)")[0][0], name="theirs")
    found = [[], []]

    def ask(place):
        for _ in range(50):
            found[place] += bases[place].run("!(theirs)")[0]

    joined([threading.Thread(target=ask, args=(place,), daemon=True) for place in range(2)])
    assert found == [[1] * 50, [0] * 50]
    for base in bases:
        base.close()
