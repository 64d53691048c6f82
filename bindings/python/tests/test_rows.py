"""Rows of every kind: what goes in comes out by a query, or was refused, and then nothing was added."""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import random
import re
import sqlite3
import types

import pytest

import metroon
from metroon import RowError, Symbol

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"


def held(kb, widths=range(16), head="r"):
    """All rows that a base holds, of these lengths."""
    patterns = (f"({head}" + "".join(f" $c{place}" for place in range(width)) + ")" for width in widths)
    return [row for pattern in patterns for row in kb.query(pattern)]


def stored(rows, **options):
    """What a base holds after rows were added, and how many commits that was."""
    with metroon.KnowledgeBase() as kb:
        kb.add_rows("r", rows, **options)
        atoms = held(kb)
        assert (len(kb), kb.epoch) == (len(atoms), 1 if atoms else 0)
        return atoms


def refused(rows, **options):
    """What is said of rows, none of which is stored."""
    with metroon.KnowledgeBase() as kb:
        kb.add("(before)")
        with pytest.raises(RowError) as raised:
            kb.add_rows("r", rows, **options)
        assert (len(kb), kb.epoch) == (1, 1)
        with pytest.raises(RowError):
            with kb.transaction() as changes:
                changes.add("(undone)")
                changes.add_rows("r", rows if not isinstance(rows, types.GeneratorType) else [None], **options)
        assert (len(kb), kb.epoch) == (1, 1)
        assert raised.value.help, "it says what to do"
        return raised.value


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Word(str):
    pass


class Count(int):
    def __format__(self, how):
        return "not a number"


class Thing:
    pass


Person = collections.namedtuple("Person", ["name", "age"])
Reverse = collections.namedtuple("Reverse", ["age", "name"])


@dataclasses.dataclass
class Record:
    name: str
    age: int


@dataclasses.dataclass
class Longer(Record):
    more: int = 0


def test_mappings_are_stored_by_key():
    """The values of mappings were lost without a word: `("name" "age")` was stored."""
    assert stored([{"name": "Ann", "age": 3}, {"age": 4, "name": "Bob"}]) == [("Ann", 3), ("Bob", 4)]
    chain = collections.ChainMap({"name": "Ann"}, {"age": 3})
    assert stored([collections.OrderedDict(age=3, name="Ann"), chain, types.MappingProxyType({"name": "Bob", "age": 5})]) == [
        (3, "Ann"), (3, "Ann"), (5, "Bob"),
    ]
    wanted = {"columns": ["age"]}
    assert stored([{"name": "Ann", "age": 3}, {"age": 4}], **wanted) == [(3,), (4,)]
    assert stored([{1: "a", None: "b"}]) == [("a", "b")]
    default = collections.defaultdict(int, name="Bob")
    assert refused([{"name": "Ann", "age": 3}, default]).row == 2 and "age" not in default
    missing = refused([{"name": "Ann", "age": 3}, {"name": "Bob"}])
    assert (missing.row, missing.name) == (2, "age") and "row 2 has no column 'age'" in str(missing) and "columns=" in missing.help
    more = refused([{"name": "Ann"}, {"name": "Bob", "age": 3}])
    assert (more.row, more.name) == (2, "age")
    assert refused([{"name": "Ann"}], columns=["age"]).name == "age"
    assert refused([{"name": "Ann"}, ("Bob",)]).row == 2
    assert refused([("Bob",), {"name": "Ann"}]).row == 2


def test_rows_with_names_are_stored_by_name():
    assert stored([Person("Ann", 3), Reverse(4, "Bob"), Record("Cid", 5), {"name": "Dan", "age": 6}]) == [
        ("Ann", 3), ("Bob", 4), ("Cid", 5), ("Dan", 6),
    ]
    assert stored([Record("Ann", 3)], columns=["age", "name", "age"]) == [(3, "Ann", 3)]
    assert refused([Record("Ann", 3), Longer("Bob", 4)]).name == "more"
    assert refused([Record]).row == 1
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    rows = connection.execute("select 1 as a, 'x' as b, null as c union all select 2, 'y', 2.5")
    assert stored(rows, columns=["b", "a"]) == [("x", 1), ("y", 2)]
    connection.close()


def test_rows_without_names_have_one_length():
    assert stored([(1, 2), [3, 4], range(5, 7), iter([7, 8]), collections.deque([9, 10]), {"a": 11, "b": 12}.values()]) == [
        (1, 2), (3, 4), (5, 6), (7, 8), (9, 10), (11, 12),
    ]
    assert stored((place, place) for place in range(3)) == [(0, 0), (1, 1), (2, 2)]
    assert stored({"a": 1, "b": 2}.items()) == [("a", 1), ("b", 2)]
    assert sorted(stored({(1, 2), (3, 4)})) == [(1, 2), (3, 4)]
    assert stored([metroon.parse("(1 two)")]) == [(1, Symbol("two"))]
    assert stored([]) == [] and stored([()]) == [()] and stored([(None,)]) == [(None,)]
    for rows in ([(1, 2), (3,)], [(1,), (2, 3)], [(), (1,)]):
        wrong = refused(rows)
        assert wrong.row == 2 and "column" in str(wrong) and "first row has" in str(wrong)
    assert refused([(1, 2)], columns=["a", "b"]).row == 1


@pytest.mark.parametrize("row", [None, 5, 2.5, "Ann", b"Ann", bytearray(b"x"), memoryview(b"x"), {1, 2}, frozenset(["a"]), Thing(), Thing, len, Color.RED])
def test_what_is_no_row_is_refused(row):
    for rows in ([row], [(1,), row]):
        wrong = refused(rows)
        assert wrong.row == len(rows) and f"row {len(rows)} is" in str(wrong)


@pytest.mark.parametrize("rows", [None, 5, "Ann", b"Ann", {"name": "Ann"}, {"name": ["Ann", "Bob"]}, Thing(), Person("Ann", 3), Record("Ann", 3), Record])
def test_what_is_no_list_of_rows_is_refused(rows):
    refused(rows)


def test_names_of_columns_are_a_list():
    for columns in ("name", b"name", {"name", "age"}, 5):
        with pytest.raises(TypeError, match="list of names"):
            with metroon.KnowledgeBase() as kb:
                kb.add_rows("r", [{"name": "Ann", "age": 3}], columns=columns)
    with metroon.KnowledgeBase() as kb:
        with pytest.raises(TypeError, match="head"):
            kb.add_rows(5, [(1,)])


def test_an_error_while_rows_are_handed_out_leaves_nothing():
    def rows():
        yield (1,)
        raise ZeroDivisionError

    with metroon.KnowledgeBase() as kb:
        with pytest.raises(ZeroDivisionError):
            kb.add_rows("r", rows())
        assert kb.epoch == 0


def cells():
    """What may stand in a cell, and what it is once it is stored."""
    same = [
        0, 1, -3, 2**63 - 1, -(2**63), 2**63, 2**80, -(3**60), True, False, 1.5, -0.0, 1e300, math.inf, math.nan, "", "Ann", "ä\n\"(", "$x",
        None, Symbol("s"), metroon.parse("(a 1)"), (1, ("x", None)), (),
    ]
    found = [(cell, None if cell == () else cell) for cell in same]
    found += [(Level.LOW, 1), (Word("w"), "w"), (Count(7), 7), (Count(2**70), 2**70), ([1, [2]], (1, (2,))), (Person("Ann", 3), ("Ann", 3))]
    return found + cells_of_libraries()


def cells_of_libraries():
    numpy, pandas, pyarrow = (pytest.importorskip(name) for name in ("numpy", "pandas", "pyarrow"))
    return [
        (numpy.float32(1.5), 1.5), (numpy.float16(0.5), 0.5), (numpy.float64(2.5), 2.5), (numpy.longdouble(2.5), 2.5),
        (numpy.int8(-3), -3), (numpy.uint64(2**64 - 1), 2**64 - 1), (numpy.bool_(True), True), (numpy.str_("s"), "s"),
        (numpy.array(5), 5), (numpy.array(2.5), 2.5), (numpy.float32("nan"), math.nan), (numpy.datetime64("NaT"), None),
        (pandas.NaT, None), (pandas.NA, None), (pyarrow.scalar(5), 5), (pyarrow.scalar(None), None), (pyarrow.scalar("x"), "x"),
        (pyarrow.scalar([1, None]), (1, None)), ([numpy.int64(1), pandas.NA], (1, None)),
    ]


def cells_that_are_refused():
    """Objects that would be gone with the process, and values that would be other ones."""
    numpy, pandas, pyarrow = (pytest.importorskip(name) for name in ("numpy", "pandas", "pyarrow"))
    held, moment = [], "2024-01-02T03:04:05.000000001"
    held.append(held)
    return [
        b"", b"x\0", decimal.Decimal("1.10"), fractions.Fraction(1, 3), 2j, datetime.date(2024, 2, 29), datetime.time(1, 2),
        datetime.datetime(2024, 1, 2), datetime.timedelta(1), Color.RED, Thing(), Thing, {"a": 1}, {1, 2}, (1, [b"x"]), [{"a": 1}],
        numpy.complex64(1j), numpy.datetime64("2024-01-02"), numpy.datetime64(moment), numpy.timedelta64(5), numpy.array([1, 2]),
        pandas.Timestamp(2024, 1, 2), pandas.Timestamp(moment), pandas.Timedelta(1, "ns"), pandas.Series([1]), pandas.DataFrame({"a": [1]}),
        pyarrow.array([1]), pyarrow.scalar(decimal.Decimal("1.0")), "\ud800", held, iter([1]), (place for place in "ab"), lambda: 1,
    ]


def is_same(found, wanted):
    """Whether something is what is wanted, of the same class if that is one of MeTTa's."""
    if isinstance(wanted, (tuple, list, metroon.Expression)) and wanted is not None:
        return len(found) == len(wanted) and all(map(is_same, found, wanted))
    if isinstance(wanted, float):
        return type(found) is float and (found == wanted or found != found and wanted != wanted)
    if type(wanted) in (bool, int, str, type(None)):
        return type(found) is type(wanted) and found == wanted
    return found == wanted


def test_cells_are_stored_as_the_values_that_they_are():
    given = cells()
    with metroon.KnowledgeBase() as kb:
        for place, (cell, wanted) in enumerate(given):
            kb.add_rows(f"mapping{place}", [{"place": 0, "cell": cell}])
            (found,) = held(kb, [2], f"mapping{place}")
            assert is_same(found, (0, wanted)), (cell, found)
        kb.add_rows("r", [(place, cell) for place, (cell, _) in enumerate(given)])
        for (place, found), (_, wanted) in zip(sorted(kb.query("(r $place $cell)"), key=lambda row: row[0]), given):
            assert is_same(found, wanted), place
        # Each is found again by itself.
        for place, (cell, wanted) in enumerate(given):
            if wanted == wanted:
                assert (place,) in kb.query((Symbol("r"), metroon.Variable("place"), cell)), cell


def test_cells_that_cannot_be_kept_are_refused_with_their_place():
    for cell in cells_that_are_refused():
        wrong = refused([(1, 2), (3, cell)])
        assert wrong.row == 2 and "column 2 of row 2" in str(wrong), cell
        wrong = refused([{"a": 1, "b": 2}, {"b": cell, "a": 3}])
        assert wrong.row == 2 and "column 2 ('b') of row 2" in str(wrong)


def test_other_entries_take_the_same_values_and_no_rows():
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    with metroon.KnowledgeBase() as kb:
        kb.add((Symbol("n"), numpy.float32(1.5), pandas.NA))
        assert kb.query("(n 1.5 $x)") == [(None,)]
        kb.remove((Symbol("n"), 1.5, None))
        kb.register(lambda: numpy.float32(2.5), name="half")
        kb.register(lambda: [numpy.int64(1), pandas.NaT], name="both")
        assert kb.run("!(+ 1 (half)) !(both)") == [[3.5], [(1, None)]]
        rows = ({"a": 1}, {1, 2}, iter([1]), (place for place in "ab"), pandas.DataFrame({"a": [1]}), numpy.zeros((2, 2)), Record("Ann", 3))
        for row in rows:
            for call in (kb.add, kb.remove, kb.query, kb.why, kb.view().query):
                with pytest.raises(RowError, match="atom 1 is"):
                    call(row)
        assert len(kb) == 0
        with kb.subscribe("(n $a $b)", template="(n $b)", key="$a", sum="$b") as one, kb.subscribe(
            "(n $a $b)", template="(n $b)", key=["$a"], sum="$b"
        ) as other:
            kb.add("(n 1 2)", "(n 1 3)", "(n 2 4)")
            assert [event.changes for event in (one.next(5), one.next(5))] == [event.changes for event in (other.next(5), other.next(5))]


def test_arrays_have_a_row_for_each_line():
    numpy = pytest.importorskip("numpy")
    assert stored(numpy.array([[1, 2], [3, 4]])) == [(1, 2), (3, 4)]
    assert stored(numpy.array([[1.5], [math.inf]], dtype="float32")) == [(1.5,), (math.inf,)]
    assert stored(list(numpy.array([["a", "b"]]))) == [("a", "b")]
    assert stored(numpy.array([["NaT", "NaT"]], dtype="datetime64[ns]")) == [(None, None)]
    assert refused(numpy.array([["NaT", "2024-01-02"]], dtype="datetime64[ns]")).row == 1
    structured = numpy.array([("Ann", 3), ("Bob", 4)], dtype=[("name", "U5"), ("age", "i4")])
    assert stored(structured) == [("Ann", 3), ("Bob", 4)] and stored(structured, columns=["age"]) == [(3,), (4,)]
    assert stored(list(structured)) == [("Ann", 3), ("Bob", 4)]
    for wrong in (numpy.array(5), numpy.array([1, 2]), numpy.zeros((2, 2, 2)), numpy.zeros((2, 2), dtype=structured.dtype)):
        refused(wrong)
    assert refused([numpy.array([1, 2]), numpy.array(3)]).row == 2
    assert refused([numpy.zeros((2, 2))]).row == 1


def test_frames_keep_what_is_missing_and_lose_no_index():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "int": pandas.array([1, None], dtype="Int64"), "bool": pandas.array([True, None], dtype="boolean"), "u": pandas.array([2, 3], dtype="uint8"),
        "float": [1.5, math.nan], "nullable": pandas.array([1.5, None], dtype="Float64"), "small": pandas.array([0.5, math.nan], dtype="float32"),
        "text": ["a", None], "string": pandas.array(["a", None], dtype="string"), "kind": pandas.Categorical(["x", None]),
        "arrow": pandas.array([1, None], dtype="int64[pyarrow]"), "truth": pandas.array([True, None], dtype="bool[pyarrow]"),
        "real": pandas.array([0.5, None], dtype="double[pyarrow]"), "object": [2**80, pandas.NA],
    })
    first, second = stored(frame)
    wanted = (1, True, 2, 1.5, 1.5, 0.5, "a", "a", "x", 1, True, 0.5, 2**80)
    assert is_same(first, wanted), first
    nan = math.nan
    assert is_same(second, (None, None, 3, nan, None, nan, None, None, None, None, None, None, None)), second
    assert stored(frame[frame["int"] == 1], columns=["u", "int"]) == [(2, 1)]
    assert refused(frame.set_index("int")).help.startswith("reset_index()")
    assert refused(frame, columns=["absent"]).name == "absent"
    assert refused(frame["int"]) and refused(frame.index)
    wrong = refused(pandas.DataFrame({"when": pandas.to_datetime(["2024-01-02"])}))
    assert wrong.row == 1 and "column 'when' of row 1" in str(wrong) and wrong.help == "isoformat() is a text of it"
    assert stored(pandas.DataFrame({"when": pandas.to_datetime(["2024-01-02", None]).astype("string")})) == [("2024-01-02",), (None,)]
    assert stored([row for _, row in frame[["int", "text"]].iterrows()][:1]) == [(1, "a")]
    # Rows are what they hand out: pandas has not a number where a text is missing.
    for rows in (frame[["u", "text"]].itertuples(index=False), frame[["u", "text"]].to_dict("records")):
        assert is_same(stored(rows), [(2, "a"), (3, nan)])
    assert stored(pandas.DataFrame({"a": [1], "b": [2]})[["b", "a"]]) == [(2, 1)]


def test_tables_of_other_libraries_keep_what_is_missing():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    columns = {"n": [1, None], "x": [0.5, math.nan], "s": ["a", None], "t": [None, True], "l": [[1, 2], None]}
    for table in (pyarrow.table(columns), polars.DataFrame(columns), pyarrow.record_batch(columns), pyarrow.table(columns).to_reader()):
        first, second = stored(table)
        assert is_same(first, (1, 0.5, "a", None, (1, 2))) and is_same(second, (None, math.nan, None, True, None))
    table = pyarrow.table({"d": pyarrow.array(["x", None]).dictionary_encode(), "m": pyarrow.array([[], None], pyarrow.list_(pyarrow.int8())), "u": pyarrow.array([2**64 - 1, 0], pyarrow.uint64()), "h": pyarrow.array([1.5, 2.5]).cast(pyarrow.float16())})
    assert stored(table) == [("x", None, 2**64 - 1, 1.5), (None, None, 0, 2.5)]
    assert stored(polars.DataFrame({"c": polars.Series(["x", None], dtype=polars.Categorical), "l": [[1, 2], None]})) == [("x", (1, 2)), (None, None)]
    for column in ([datetime.date(2024, 1, 2)], [decimal.Decimal("1.0")], [b"x"], [{"a": 1}]):
        for table in (pyarrow.table({"a": [1], "c": column}), polars.DataFrame({"a": [1], "c": column})):
            assert "column 'c' of row 1 is" in str(refused(table))
    for wrong in (pyarrow.array([1]), pyarrow.chunked_array([[1]]), polars.Series([1]), polars.LazyFrame({"a": [1]})):
        refused(wrong)
    assert stored(polars.DataFrame(columns), columns=["s", "n"]) == [("a", 1), (None, None)]
    assert stored(polars.DataFrame(columns).iter_rows(named=True), columns=["s"]) == [("a",), (None,)]


SHAPES = 500


class Shape:
    """A table that was drawn, and rows that present it in some way, or spoil it."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.names = self.dice.sample(["a", "b", "name", "age", "x y", "ä"], self.dice.randrange(1, 5))
        pool = cells()
        count = self.dice.randrange(1, 7)
        drawn = [[self.dice.choice(pool) for _ in self.names] for _ in range(count)]
        # The first column keeps apart rows that are equal otherwise.
        self.given = [[place, *(cell for cell, _ in row)] for place, row in enumerate(drawn)]
        self.wanted = [(place, *(cell for _, cell in row)) for place, row in enumerate(drawn)]
        self.names.insert(0, "place")
        self.has_names = self.dice.random() < 0.5
        self.options = {}
        self.spoilt = None

    def with_names(self, cells):
        kinds = [dict, Record]
        pairs = list(zip(self.names, cells))
        self.dice.shuffle(pairs)
        kind = self.dice.choice(kinds)
        if kind is dict:
            return self.dice.choice([dict, collections.OrderedDict, lambda pairs: types.MappingProxyType(dict(pairs))])(pairs)
        made = dataclasses.make_dataclass("Made", [(f"c{self.names.index(name)}", object) for name, _ in pairs])
        named = collections.namedtuple("Named", [f"c{self.names.index(name)}" for name, _ in pairs])
        return self.dice.choice([made, named])(*(cell for _, cell in pairs))

    def rows(self):
        if self.has_names:
            # Names that are names of Python too, so that all kinds of rows can have them.
            self.names = [f"c{place}" for place in range(len(self.names))]
            rows = [self.with_names(cells) for cells in self.given]
            order = [int(name[1:]) for name in self.order_of(rows[0])]
            if self.dice.random() < 0.5:
                order = self.dice.sample(range(len(self.names)), self.dice.randrange(1, len(self.names) + 1))
                self.options["columns"] = [f"c{place}" for place in order]
            self.wanted = [tuple(row[place] for place in order) for row in self.wanted]
        else:
            kinds = [tuple, list, iter, collections.deque, lambda row: dict(enumerate(row)).values(), lambda row: (cell for cell in row)]
            rows = [self.dice.choice(kinds)(row) for row in self.given]
        if self.dice.random() < 0.4:
            self.spoil(rows)
        return self.dice.choice([list, tuple, iter, lambda rows: (row for row in rows), lambda rows: dict(enumerate(rows)).values()])(rows)

    def order_of(self, row):
        if dataclasses.is_dataclass(row):
            return [field.name for field in dataclasses.fields(row)]
        return list(getattr(row, "_fields", None) or row)

    def spoil(self, rows):
        """Puts something wrong among the rows, or a cell that cannot be kept into one."""
        place = self.dice.randrange(len(rows) + 1)
        if self.dice.random() < 0.3 and place < len(rows) and "columns" not in self.options:
            self.spoilt = place + 1
            cells = list(self.given[place])
            cells[self.dice.randrange(len(cells))] = self.dice.choice(cells_that_are_refused())
            rows[place] = dict(zip(self.names, cells)) if self.has_names else tuple(cells)
            return
        if self.has_names:
            short, long = {"c0": 1}, {**{name: 1 for name in self.names}, "more": 2}
            wrong = [(1,), [], None, "text", {1}, 5, {}, Thing()] + ([] if "columns" in self.options else [short, long] if place else [])
        else:
            width = len(self.names)
            wrong = [None, "x" * width, b"x" * width, set(range(width)), {"a": 1}, 5, Thing(), Thing] + ([(1,) * (width + 1), (1,) * (width - 1)] if place else [])
            if place == 0:
                wrong.remove({"a": 1})
        self.spoilt = place + 1
        chosen = self.dice.choice(wrong)
        if chosen == [] and place == 0 or chosen == (1,) and place == 0:
            # The first row says whether rows have names: the next one is the wrong one then, or names are wanted that it does not have.
            self.spoilt = 1 if "columns" in self.options else 2
            if len(rows) == 0:
                self.spoilt = None
        if chosen == {} and place == 0:
            self.spoilt = 1 if "columns" in self.options else 2
        rows.insert(place, chosen)


def test_five_hundred_shapes_come_out_as_they_went_in_or_are_refused():
    with metroon.KnowledgeBase() as kb:
        for seed in range(SHAPES):
            shape, before = Shape(seed), (len(kb), kb.epoch)
            rows, head = shape.rows(), f"shape{seed}"
            if shape.spoilt is not None:
                with pytest.raises(RowError) as raised:
                    kb.add_rows(head, rows, **shape.options)
                assert raised.value.row == shape.spoilt, (seed, raised.value)
                assert (len(kb), kb.epoch) == before, seed
                continue
            kb.add_rows(head, rows, **shape.options)
            found = held(kb, [len(shape.wanted[0])], head)
            assert (len(kb), kb.epoch) == (before[0] + len(shape.wanted), before[1] + 1), seed
            for row in shape.wanted:
                place = next((place for place, other in enumerate(found) if is_same(other, row)), None)
                assert place is not None, (seed, row, found)
                found.pop(place)
            assert not found, seed


def test_the_table_of_the_page_is_true():
    """Each line of the table of rows says what is stored, or what is refused."""
    for name in ("numpy", "pandas", "polars", "pyarrow"):
        pytest.importorskip(name)
    import numpy
    import pandas

    lines = re.findall(r"^\| `(.+?)` \| .+ \| `(.+?)` \|$", PAGE.read_text().split("### What a row is\n")[1].split("\n## ")[0], re.M)
    assert len(lines) >= 20
    names = {"numpy": numpy, "pandas": pandas, "Person": Person, "Record": Record, "Decimal": decimal.Decimal, "date": datetime.date, "nan": math.nan, "Level": Level}
    for given, wanted in lines:
        given = given.replace("\\|", "|")
        call = f"stored({given})" if not wanted.startswith("RowError") else f"refused({given})"
        found = eval(call, {**globals(), **names})
        if wanted.startswith("RowError"):
            assert wanted == f"RowError: {found.message}", given
        else:
            assert is_same(found, eval(wanted, {**globals(), **names})), (given, found)
