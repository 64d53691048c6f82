"""Atoms as values of Python, and values as atoms."""

import datetime
import pickle

import pytest

import metroon
from metroon import Expression, Symbol, Variable


@pytest.fixture
def kb():
    with metroon.KnowledgeBase() as base:
        yield base


def came_back(kb, value):
    kb.add((Symbol("value"), value))
    (row,) = kb.query("(value $it)")
    kb.remove((Symbol("value"), value))
    return row[0]


VALUES = [0, -7, 2**62, 2**63, -(2**200), 1 << 20_000, 1.5, -0.0, True, False, "", "a\n\"b\" ü🦀", None]


@pytest.mark.parametrize("value", VALUES, ids=[type(value).__name__ for value in VALUES])
def test_a_value_comes_back_as_it_was(kb, value):
    found = came_back(kb, value)
    assert found == value and type(found) is type(value)


def test_a_list_becomes_an_expression_and_is_equal_to_it(kb):
    found = came_back(kb, [1, ("two", [3.0, None]), Symbol("four")])
    assert isinstance(found, Expression)
    assert found == (1, ("two", [3.0, None]), Symbol("four")) and found != (1,)
    assert len(found) == 3 and found[0] == 1 and found[-1] == Symbol("four") and found[1][1][0] == 3.0
    assert found[:2] == (1, found[1]) and list(found)[0] == 1 and 1 in found
    assert repr(found) == '(1 ("two" (3.0 ())) four)'


def test_a_value_that_is_no_kind_of_atom_is_itself_and_is_not_stored(kb):
    seen = []
    kb.register(lambda value: seen.append(value), name="see", pure=True)
    marker = object()
    kb.register(lambda: marker, name="marker", pure=True)
    kb.run("!(see (marker))")
    assert seen == [marker]
    with pytest.raises(metroon.EvaluationError, match="cannot be kept|durable|process"):
        kb.add((Symbol("value"), marker))
    assert len(kb) == 0


def test_dates_are_equal_if_they_are_written_alike(kb):
    kb.register(lambda: datetime.date(2026, 11, 26), name="today", pure=True)
    assert kb.run("!(== (today) (today))") == [[True]]


def test_symbols_and_variables_have_names_and_are_pickled():
    assert Symbol("a") == Symbol("a") != Symbol("b") and Symbol("a") != "a"
    assert Variable("x") == Variable("$x") and Variable("x").name == "x" and repr(Variable("x")) == "$x"
    whole = Expression(Symbol("edge"), Variable("x"), 3, "three")
    assert whole.variables() == ["x"] and {whole: 1}[Expression(Symbol("edge"), Variable("x"), 3, "three")] == 1
    assert pickle.loads(pickle.dumps(whole)) == whole
    for empty in (Symbol, Variable):
        with pytest.raises(ValueError):
            empty("")


def test_a_text_is_parsed_and_says_where_it_is_wrong():
    assert metroon.parse('(a $x 1 "b")') == (Symbol("a"), Variable("x"), 1, "b")
    with pytest.raises(metroon.ParseError) as caught:
        metroon.parse("(a\n  (b")
    assert (caught.value.line, caught.value.column) == (1, 1) and "2" in caught.value.help


def test_what_holds_itself_is_refused_and_what_is_deep_is_not(kb):
    circle = []
    circle.append(circle)
    with pytest.raises(ValueError, match="themselves"):
        kb.add(circle)
    deep = ()
    for _ in range(50_000):
        deep = (deep,)
    kb.register(lambda it: 1 if it[0] is not None else 0, name="look", pure=True)
    kb.add((Symbol("deep"), deep))
    assert len(kb) == 1
