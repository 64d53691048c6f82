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


def test_frames_that_are_made_of_answers_change_no_value():
    """A column of 1, True and "three" was one of texts in Polars."""
    pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    cells = [1, True, "three", None, 2.5, 2**70]
    with metroon.KnowledgeBase() as kb:
        kb.add_rows("cell", [(place, cell, 2**70 + place) for place, cell in enumerate(cells)])
        rows = kb.query("(cell $place $cell $large)")
        frame = rows.to_polars()
        for found in (frame["cell"].to_list(), rows.to_pandas()["cell"].tolist()):
            assert [(type(cell), cell) for cell in found] == [(type(cell), cell) for cell in cells]
        assert frame["large"].to_list() == [2**70 + place for place in range(len(cells))]
        with pytest.raises(metroon.RowError, match="column 'cell' has values of several kinds"):
            rows.to_arrow()


def test_columns_are_the_rows_that_tuples_are():
    """Every kind of column states what the same rows state one by one."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    rows = [(place, place / 4, place % 3 == 0, f"ä{place % 5}" * (place % 4), None if place % 7 == 0 else place) for place in range(300)]
    names = ["a", "b", "c", "d", "e"]
    lists = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    arrow = pyarrow.table(lists)
    pieces = pyarrow.concat_tables([arrow.slice(0, 100), arrow.slice(100, 200)])
    objects = pandas.DataFrame({name: pandas.Series(values, dtype=object) for name, values in lists.items()})
    with metroon.KnowledgeBase() as expected:
        expected.add_rows("r", rows)
        wanted = list(expected.query("(r $a $b $c $d $e)"))
        for source in (arrow, pieces, arrow.slice(0, 300), polars.DataFrame(lists), objects):
            with metroon.KnowledgeBase() as kb:
                kb.add_rows("r", source)
                assert kb.query("(r $a $b $c $d $e)") == wanted
                assert (kb.epoch, kb.hash) == (1, expected.hash)
        with metroon.KnowledgeBase() as kb:
            kb.add_rows("r", arrow.slice(37, 5))
            assert list(kb.query("(r $a $b $c $d $e)")) == wanted[37:42]


def test_a_frame_is_one_commit_and_is_undone_whole():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"n": range(1000)})
    with metroon.KnowledgeBase() as kb:
        with pytest.raises(ZeroDivisionError):
            with kb.transaction() as t:
                t.add_rows("n", frame)
                assert len(t.query("(n $x)")) == 1000
                raise ZeroDivisionError
        assert len(kb) == 0
        kb.add_rows("n", frame)
        assert (len(kb), kb.why("(n 999)")[0].line) == (1000, 1000)

        @kb.function
        def state(count: int) -> int:
            kb.add_rows("m", frame.head(count))
            return count

        assert kb.run("!(state 3)") == [[3]] and kb.query("(m $x)") == [(0,), (1,), (2,)]
        kb.run("!(pragma! type-check auto)\n(: typed (-> Number Fact))")
        with pytest.raises(metroon.EvaluationError, match="row 2: .*none was added"):
            kb.add_rows("typed", pandas.DataFrame({"x": [1, "two", 3]}, dtype=object))
        assert kb.query("(typed $x)") == []


def test_columns_that_are_not_whole_are_refused():
    with metroon.KnowledgeBase() as kb:
        head = metroon.Symbol("r")
        for columns in (
            [("int64", b"123")],
            [("text", b"", b"")],
            [("text", (0).to_bytes(8, "little") + (9).to_bytes(8, "little"), b"ab")],
            [("text", (0).to_bytes(8, "little") + (1).to_bytes(8, "little"), "ä".encode())],
            [("int64", bytes(8)), ("int64", bytes(16))],
            [("colour", b"")],
        ):
            with pytest.raises(ValueError):
                kb._native.add_columns(head, columns)
        assert len(kb) == 0


def test_queries_that_rows_do_not_answer_have_tables_too():
    with metroon.KnowledgeBase() as kb:
        kb.run("(p 1 1) (p 1 2) (p 1 1) (p $any rest) (q 2 (deep 3))")
        assert len(kb.query("(p 1 $x)")) == 4
        assert kb.query("(p $x $x)") == [(1,), (1,), (metroon.Symbol("rest"),)]
        assert kb.query("(, (p 1 $x) (q $x (deep $y)))")[0] == (2, 3)
        assert len(kb.query("(q 2 (deep 3))")) == 1 and kb.query("(q 2 (deep 3))").columns == ()
