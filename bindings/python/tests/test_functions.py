"""Functions of Python that MeTTa programs call."""

import gc
import sys
import threading
import weakref

import pytest

import metroon
from metroon import NotReducible, Symbol


@pytest.fixture
def kb():
    with metroon.KnowledgeBase() as base:
        yield base


@pytest.fixture(params=["the machine", "the interpreter"])
def either(request, kb):
    """Both evaluators: a limit of the stack lets the interpreter run a form."""
    if request.param == "the interpreter":
        kb.run("!(pragma! max-stack-depth 100000)")
    return kb


def test_a_function_is_called_with_values_and_gives_one(either):
    @either.function
    def shout(text: str, times: int) -> str:
        return text.upper() * times

    assert either.run('!(shout "ab" 2)') == [["ABAB"]]
    assert either.run('(= (both $x) (shout $x (+ 1 1))) !(both "c") !(collapse (both (superpose ("d" "e"))))') == [
        ["CC"],
        [("DD", "EE")],
    ]


def test_types_come_from_annotations_and_are_checked(either):
    @either.function
    def double(number: int) -> int:
        return 2 * number

    @either.function
    def kind(atom: metroon.Atom) -> str:
        return type(atom).__name__

    assert [str(result) for (result,) in either.run("!(get-type double) !(get-type kind)")] == [
        "(-> Number Number)",
        "(-> Atom String)",
    ]
    assert either.run("!(kind (+ 1 2)) !(kind foo) !(kind $x)") == [["Expression"], ["Symbol"], ["Variable"]]
    with pytest.raises(metroon.EvaluationError, match="Number"):
        either.run('!(double "two")')
    # An atom without a type may be a number one day.
    assert [str(result) for (result,) in either.run("!(double two)")] == ["(double two)"]


def test_a_generator_gives_several_results_and_may_give_none(either):
    @either.function(pure=True)
    def upto(number: int):
        yield from range(number)

    assert either.run("!(upto 3) !(upto 0) !(collapse (let $x (upto 3) (* $x $x)))") == [[0, 1, 2], [], [(0, 1, 4)]]


def test_an_exception_is_an_error_with_its_place(either):
    @either.function
    def ratio(a: int, b: int) -> float:
        return a / b

    with pytest.raises(metroon.EvaluationError, match=r"ZeroDivisionError: division by zero \(test_functions.py:\d+\)"):
        either.run("!(ratio 1 0)")
    assert either.run("!(case (ratio 1 0) (((Error $call $why) caught) ($else fine)))") == [[Symbol("caught")]]
    with pytest.raises(metroon.EvaluationError, match="called with 1 argument"):
        either.run("!(ratio 1)")


def test_a_function_may_not_apply(either):
    @either.function
    def half(number: int) -> int:
        if number % 2:
            raise NotReducible
        return number // 2

    assert [str(result) for (result,) in either.run("!(half 4) !(half 3)")] == ["2", "(half 3)"]


def test_an_asynchronous_function_is_awaited(either):
    @either.function
    async def later(number: int) -> int:
        return number + 1

    @either.function
    async def several(number: int):
        for each in range(number):
            yield each

    assert either.run("!(later 1) !(several 2)") == [[2], [0, 1]]


def test_any_number_of_arguments_and_no_result(either):
    seen = []
    either.register(lambda *values: seen.append(values), name="see")
    assert either.run('!(see) !(see 1 "two" (three 3))') == [[None], [None]]
    assert seen == [(), (1, "two", (Symbol("three"), 3))]


def test_a_function_uses_the_base_that_calls_it(either):
    @either.function(pure=True)
    def grow(number: int):
        either.add((Symbol("grown"), number))
        return either.run("!(match &self (grown $x) $x)")[0]

    @either.function(pure=True)
    def down(number: int) -> int:
        return 0 if number == 0 else 1 + either.run(f"!(down {number - 1})")[0][0]

    assert either.run("!(grow 1) !(grow 2)") == [[(1,)], [(1, 2)]]
    assert either.run("!(down 10)") == [[10]]
    with pytest.raises(metroon.EvaluationError, match="nested"):
        either.run("!(down 1000)")
    assert either.run("!(down 3)") == [[3]]


def test_another_thread_waits_for_the_function_to_end(kb):
    found = []

    @kb.function
    def start() -> int:
        found.append(threading.Thread(target=lambda: found.append(kb.run("!(+ 1 2)"))))
        found[0].start()
        return 1

    assert kb.run("!(start)") == [[1]]
    found[0].join(30)
    assert found[1] == [[3]]


def test_views_call_pure_functions_only(kb):
    kb.register(lambda: 1, name="looks")
    kb.register(lambda number: number + 1, name="next", pure=True)
    view = kb.view()
    assert view.evaluate("!(next 1)") == [[2]]
    with pytest.raises(metroon.EffectError, match="looks"):
        view.evaluate("!(looks)")


def test_a_function_that_acts_is_refused_in_a_transaction(kb):
    kb.register(lambda: 1, name="send", acts=True)
    assert kb.run("!(send)") == [[1]]
    with pytest.raises(metroon.EvaluationError, match="transaction"):
        kb.run("!(transaction (send))")


def test_a_stored_rule_outlives_the_process_and_says_what_is_missing(tmp_path):
    with metroon.KnowledgeBase(tmp_path / "base") as kb:
        kb.register(lambda number: number + 1, name="next")
        kb.run("(= (twice $x) (next (next $x)))")
        assert kb.run("!(twice 1)") == [[3]]
    with metroon.KnowledgeBase(tmp_path / "base") as kb:
        with pytest.raises(metroon.EvaluationError, match="next is a function of the host that is not registered"):
            kb.run("!(twice 1)")
        kb.register(lambda number: number + 10, name="next")
        assert kb.run("!(twice 1)") == [[21]]


def test_a_bad_registration_says_what_is_wrong(kb):
    with pytest.raises(ValueError, match="one word"):
        kb.register(print, name="two words")
    with pytest.raises(metroon.ParseError):
        kb.register(print, name="one", type="(->")
    with pytest.raises(ValueError, match="pure or acts"):
        kb.register(print, name="one", pure=True, acts=True)


def test_atoms_and_functions_are_given_back(kb):
    class Held:
        pass

    held = Held()
    seen = weakref.ref(held)
    kb.register(lambda it=held: 1, name="holds")
    kb.register(lambda: 2, name="holds")
    del held
    gc.collect()
    assert seen() is None
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(20_000):
        metroon.Expression(Symbol("a"), 1, "b")
    gc.collect()
    assert len(gc.get_objects()) - before < 1000
    marker = object()
    count = sys.getrefcount(marker)
    for _ in range(1000):
        metroon.Expression(marker)
    assert sys.getrefcount(marker) == count
