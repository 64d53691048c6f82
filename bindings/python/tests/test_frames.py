"""Rows as data frames, and data frames as facts."""

import pytest

import metroon


@pytest.fixture
def rows():
    with metroon.KnowledgeBase() as kb:
        kb.add_rows("order", [("Ann", 3, 1.5, True), ("Bäcker", -4, 2.0, False)])
        yield kb.query("(order $who $count $price $paid)")


def test_pandas(rows):
    pandas = pytest.importorskip("pandas")
    frame = rows.to_pandas()
    assert list(frame.columns) == ["who", "count", "price", "paid"]
    assert frame["who"].tolist() == ["Ann", "Bäcker"] and frame["count"].sum() == -1 and frame["price"].dtype == float
    assert frame["paid"].tolist() == [True, False]
    with metroon.KnowledgeBase() as kb:
        kb.add_rows("again", frame)
        assert kb.query("(again $a $b $c $d)") == list(rows)
        assert pandas.DataFrame().equals(kb.query("(none)").to_pandas())


def test_polars(rows):
    pytest.importorskip("polars")
    frame = rows.to_polars()
    assert frame["who"].to_list() == ["Ann", "Bäcker"] and frame["count"].to_list() == [3, -4]
    with metroon.KnowledgeBase() as kb:
        kb.add_rows("again", frame)
        assert kb.query("(again $a $b $c $d)") == list(rows)


def test_arrow(rows):
    pytest.importorskip("pyarrow")
    table = rows.to_arrow()
    assert table.to_pylist()[1] == {"who": "Bäcker", "count": -4, "price": 2.0, "paid": False}
    with metroon.KnowledgeBase() as kb:
        kb.add_rows("again", table)
        assert kb.query("(again $a $b $c $d)") == list(rows)


def test_a_column_of_several_kinds_is_kept_as_it_is():
    with metroon.KnowledgeBase() as kb:
        kb.add_rows("cell", [(1,), (2.5,), ("three",)])
        kb.add("(cell (four 4))")
        rows = kb.query("(cell $it)")
        assert rows.column("it")[:3] == [1, 2.5, "three"]
        assert "<td>(four 4)</td>" in rows._repr_html_() and "&quot;three&quot;" in rows._repr_html_()
