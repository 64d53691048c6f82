"""States of pages: arrays without copies, derived pages, the log, and what goes wrong."""

import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

numpy = pytest.importorskip("numpy")

import metroon
from metroon import pages


@pages.function(dtype="f8")
def total(*columns):
    return sum(column.sum() for column in columns)


@pages.function(dtype="f8")
def doubled(column):
    return 2 * column


@pages.function
def copied(page):
    return page


def sheet(state):
    """A column, its double and the total of both."""
    with state.transaction("prices of March") as change:
        column = change.create([1.0, 2.0, 3.0])
        double = change.derive(doubled, column, shape=3)
        both = change.derive(total, column, double, shape=1)
    return column, double, both


def test_pages_are_arrays_and_what_is_derived_follows():
    state = pages.State()
    column, double, both = sheet(state)
    assert state[column].tolist() == [1, 2, 3] and state[double].tolist() == [2, 4, 6] and state[both].tolist() == [18]
    with state.transaction() as change:
        change.write(column, [10], offset=1)
    assert state[both].tolist() == [42] and state.epoch == 2
    assert change.result.statistics.ran == 2 and change.result.statistics.commits == 1
    assert state.changed(column) == 2 and len(state) == 3 and list(state) == [column.id, double.id, both.id]


def test_an_array_shows_what_the_page_holds_without_a_copy_and_is_kept():
    state = pages.State()
    content = numpy.arange(1 << 20, dtype="u1")
    with state.transaction() as change:
        page = change.create(content)
    first, second = state[page], state[page]
    address = first.__array_interface__["data"][0]
    assert address == second.__array_interface__["data"][0] and numpy.shares_memory(first, second)
    assert numpy.shares_memory(first, state.snapshot()[page])
    with state.transaction() as change:
        change.write(page, [77])
    # The commit wrote elsewhere.
    assert state[page][0] == 77 and first[0] == 0 and not numpy.shares_memory(first, state[page])
    state.close()
    del state, second
    gc.collect()
    assert numpy.array_equal(first, content)


def test_what_arrays_show_is_not_written_over_by_buffers_that_are_used_again():
    state = pages.State()
    with state.transaction() as change:
        page = change.create(numpy.zeros(4096, "u1"))
    shown = []
    for number in range(1, 50):
        with state.transaction() as change:
            change.write(page, numpy.full(4096, number, "u1"))
        shown.append(state[page])
    assert [int(array.min()) for array in shown] == [int(array.max()) for array in shown] == list(range(1, 50))


def test_arrays_are_read_only():
    state = pages.State()
    column, *_ = sheet(state)
    for array in (state[column], state.read(column), state.snapshot()[column]):
        assert not array.flags.writeable
        with pytest.raises(ValueError):
            array[0] = 5
        with pytest.raises(ValueError):
            array.flags.writeable = True


def test_functions_get_arrays_without_copies_that_they_cannot_write():
    kept = []

    @pages.function
    def keeps(page):
        kept.append(page)
        return page

    @pages.function
    def writes(page):
        page[0] = 1
        return page

    state = pages.State()
    with state.transaction() as change:
        page = change.create(b"1234")
        change.derive(keeps, page, shape=4)
    assert numpy.shares_memory(kept[0], state[page])
    with pytest.raises(metroon.PageFunctionError) as refused:
        with state.transaction() as change:
            change.derive(writes, page, shape=4)
    assert isinstance(refused.value.__cause__, ValueError) and state.epoch == 1
    with state.transaction() as change:
        change.write(page, b"4")
    assert bytes(kept[0]) == b"1234" and bytes(kept[1]) == b"4234"


def test_masks_write_the_elements_that_they_choose():
    state = pages.State()
    column, _, both = sheet(state)
    with state.transaction() as change:
        change.write(column, 0, mask=state[column] > 1)
    assert state[column].tolist() == [1, 0, 0] and state[both].tolist() == [3]
    with state.transaction() as change:
        change.write(column, [7, 8], mask=numpy.array([True, False, True]))
    assert state[column].tolist() == [7, 0, 8]
    with pytest.raises(TypeError, match="true and false"):
        with state.transaction() as change:
            change.write(column, 0, mask=[1, 0, 1])
    with pytest.raises(metroon.PageValueError, match="a mask is for the length of the page"):
        with state.transaction() as change:
            change.write(column, 0, mask=numpy.array([True]))
    with pytest.raises(metroon.PageValueError, match="names as many bytes as are given"):
        with state.transaction() as change:
            change.write(column, [1, 2], mask=numpy.ones(3, bool))


def test_merges_do_not_depend_on_their_order():
    state = pages.State()
    with state.transaction() as change:
        count, least, bits = change.create([5, 5], "i8"), change.create([5.0, 5.0]), change.create(b"\x01\x01")
    with state.transaction() as change:
        change.merge(count, "add", [3, -1])
        change.merge(count, "add", [10], offset=1)
        change.merge(least, "min", [6.0, 2.5])
        change.merge(bits, "or", b"\x02\x00")
        change.merge(bits, "and", b"\x02\x01")
    assert state[count].tolist() == [8, 14] and state[least].tolist() == [5, 2.5] and state[bits].tolist() == [2, 1]
    with pytest.raises(ValueError, match="not \"plus\""):
        change = state.transaction()
        change.merge(count, "plus", [1])


def test_nothing_for_nothing():
    state = pages.State()
    column, double, _ = sheet(state)
    with state.transaction() as change:
        change.write(column, [1.0, 2.0, 3.0])
    assert change.result.epoch == state.epoch == 1 and change.result.statistics.unchanged == 1
    with state.transaction() as change:
        change.rederive(double, copied, column)
    assert state[double].tolist() == [1, 2, 3]


def test_a_block_that_fails_changes_nothing():
    state = pages.State()
    column, _, both = sheet(state)
    with pytest.raises(RuntimeError, match="changed my mind"):
        with state.transaction() as change:
            change.write(column, [100])
            raise RuntimeError("changed my mind")
    assert state.epoch == 1 and state[both].tolist() == [18]


def test_a_state_is_opened_again_with_its_past(tmp_path):
    with pages.State(tmp_path / "sheet", new=True) as state:
        column, double, both = sheet(state)
        with state.transaction("a correction", cause=1) as change:
            change.write(column, [10])
        names = column.id, both.id
        said = state.state_hash()
    with pages.State(tmp_path / "sheet", functions=[total, doubled]) as state:
        assert state.warnings == [] and state.epoch == 2 and state.state_hash() == said
        column, both = names
        assert state.read(both, "f8").tolist() == [45]
        assert state.at(1).read(both, "f8").tolist() == [18] and state.at(1).epoch == 1
        assert [(epoch, array.view("f8").tolist()) for epoch, array in state.history(both)] == [(1, [18]), (2, [45])]
        why = state.why(both)
        assert [each.page for each in why][0] == both and why[0].function == "total version 1" and column in why[0].reads
        written = next(each for each in why if each.page == column)
        assert (written.source, written.cause, written.changed) == ("a correction", 1, 2)


def test_pages_are_found_by_name_with_their_type_when_a_state_is_opened_again(tmp_path):
    fields = numpy.dtype([("price", "<f8"), ("count", "<i4")])
    with pages.State(tmp_path / "sheet") as state:
        with state.transaction() as change:
            table = change.create(numpy.array([[1, 2], [3, 4]], "i4"), name="table")
            change.create(numpy.array([(0.5, 3)], fields), name="goods")
            change.create(b"plain")
            change.derive(doubled, change.create([1.0]), shape=1, name="double")
        assert state.page("table").array.tolist() == [[1, 2], [3, 4]] and state.name(table) == "table"
        state.checkpoint()
    with pages.State(tmp_path / "sheet", functions=[doubled]) as state:
        assert state.warnings == []
        table = state.page("table")
        assert table.array.tolist() == [[1, 2], [3, 4]] and repr(table) == "<page 0: int32[2, 2]>"
        goods = state.page("goods").array
        assert goods["price"].tolist() == [0.5] and goods["count"].tolist() == [3]
        assert state.page(pages.PageId(2)).array.tolist() == list(b"plain") and state.name(pages.PageId(2)) == ""
        assert state.page("double").array.tolist() == [2]
        with state.transaction() as change:
            change.write(table, 9, mask=table.array > 2)
        assert state.at(2)[table].tolist() == [[1, 2], [9, 9]] and state.fork().page("table").array.tolist() == [[1, 2], [9, 9]]
        with pytest.raises(KeyError, match="no page with the name 'tabel'"):
            state.page("tabel")
        with pytest.raises(metroon.PageValueError, match="a name of up to 1024 bytes"):
            with state.transaction() as change:
                change.create(b"1", name="n" * 1025)


def test_a_checkpoint_and_the_log_are_compared_with_the_state(tmp_path):
    folder = tmp_path / "sheet"
    with pages.State(folder) as state:
        column, *_ = sheet(state)
        state.checkpoint()
        with state.transaction() as change:
            change.write(column, [5])
        state.sync()
        found = state.verify()
        assert found.is_sound and (found.commits, found.checkpoints, found.derived) == (2, 1, 2)
    with pages.State(folder, functions=[total, doubled]) as state:
        assert state.epoch == 2 and state.verify().is_sound
    [checkpoint] = folder.glob("*.pages")
    checkpoint.write_bytes(checkpoint.read_bytes()[:-1] + b"?")
    with pages.State(folder, functions=[total, doubled]) as state:
        assert "is not used" in state.warnings[0]
        found = state.verify()
        assert not found.is_sound and "checksum" in found.problems[0]


def test_a_fork_goes_its_own_way(tmp_path):
    with pages.State(tmp_path / "sheet") as state:
        column, _, both = sheet(state)
        with state.transaction() as change:
            change.write(column, [10])
        before, now, kept = state.fork(1), state.fork(), state.fork(1, tmp_path / "fork")
        with before.transaction() as change:
            change.write(column, [0])
        with now.transaction() as change:
            change.delete(both)
        assert before[both].tolist() == [15] and both not in now and state[both].tolist() == [45]
        with kept.transaction() as change:
            change.write(column, [4])
        with pytest.raises(metroon.PageError, match="lock"):
            pages.State(tmp_path / "fork", functions=[total, doubled])
        kept.close()
    with pages.State(tmp_path / "fork", functions=[total, doubled]) as kept:
        assert kept.read(both.id, "f8").tolist() == [27] and kept.epoch == 2 and kept.verify().is_sound


def test_a_state_in_memory_forks_as_it_is_now_and_says_that_it_keeps_no_past():
    state = pages.State()
    column, _, both = sheet(state)
    other = state.fork()
    assert other.state_hash() == state.state_hash()
    with other.transaction() as change:
        change.write(column, [4])
    assert other[both].tolist() == [27] and state[both].tolist() == [18]
    with other.transaction() as change:
        change.write(column, [5])
    with pytest.raises(metroon.PageError, match="has no log"):
        other.fork(1)
    with pytest.raises(metroon.PageError, match="has no log"):
        state.history(column)


def test_notices_say_what_has_changed():
    state = pages.State()
    with state.subscribe() as everything:
        column, _, both = sheet(state)
        with state.subscribe(both, waiting=1) as one:
            for value in (10, 11):
                with state.transaction() as change:
                    change.write(column, [value])
            notice = one.next(0)
            assert (notice.since, notice.epoch, notice.merged) == (1, 3, 2)
            assert set(notice.changes) == {both.id} and notice.changes[both.id].kind == "written"
        notice = everything.next(0)
        assert notice.epoch == 1 and {change.kind for change in notice.changes.values()} == {"created"}
        assert everything.next(0).changes[column.id].bytes == 2
        late = state.subscribe(after=1)
        assert late.next(0).epoch == 3
        told = []
        reader = threading.Thread(target=lambda: told.append(everything.next(60)))
        everything.next(0)
        reader.start()
        with state.transaction() as change:
            change.delete(both)
        reader.join(60)
        assert told[0].changes[both.id].kind == "deleted" and everything.next(0) is None
    assert everything.next(0) is None and list(everything) == []


def test_what_a_function_raises_is_the_cause():
    @pages.function(dtype="f8")
    def fails(column):
        return 1 / int(column[0] - 1)

    state = pages.State()
    column, *_ = sheet(state)
    with pytest.raises(metroon.PageFunctionError, match="fails version 1 cannot derive page 3") as refused:
        with state.transaction() as change:
            change.derive(fails, column, shape=1)
    assert isinstance(refused.value.__cause__, ZeroDivisionError) and state.epoch == 1 and len(state) == 3


def test_ctrl_c_in_a_function_goes_on_as_it_is():
    @pages.function
    def interrupted(page):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10_000_000):
            pass
        return page

    state = pages.State()
    with pytest.raises(KeyboardInterrupt):
        with state.transaction() as change:
            change.derive(interrupted, change.create(b"1"), shape=1)
    assert state.epoch == 0 and len(state) == 0


@pytest.mark.parametrize(
    "given, message",
    [(b"12", "gives 2 bytes, and the page has 4"), (None, "gives nothing"), ({}, "which is not bytes")],
)
def test_what_a_function_gives_is_looked_at(given, message):
    gives = pages.function(name="gives")(lambda page: given)
    state = pages.State()
    with pytest.raises(metroon.PageFunctionError, match=message):
        with state.transaction() as change:
            change.derive(gives, change.create(b"1234"), shape=4)


def test_a_transaction_takes_nothing_while_it_is_committed():
    state = pages.State()
    column, *_ = sheet(state)
    raised = []

    @pages.function
    def writes(page):
        def write():
            try:
                change.write(column, [7])
            except metroon.PageError as error:
                raised.append(str(error))

        other = threading.Thread(target=write)
        other.start()
        other.join(60)
        write()
        return page

    with state.transaction() as change:
        derived = change.derive(writes, column, shape=24)
    assert len(raised) >= 2 and all("being committed" in said for said in raised)
    assert state[column].tolist() == [1, 2, 3] and state.changed(derived) == 2
    # One that was refused can be mended and committed.
    with pytest.raises(metroon.PageValueError):
        with state.transaction() as change:
            change.write(column, [1], offset=99)
    assert state.epoch == 2


def test_timeouts_and_the_end_of_a_state_end_the_wait_for_notices():
    state = pages.State()
    notices = state.subscribe()
    assert notices.next(-1) is None and notices.next(float("-inf")) is None
    with pytest.raises(ValueError, match="NaN"):
        notices.next(float("nan"))
    sheet(state)
    told = []
    reader = threading.Thread(target=lambda: told.extend(notices), daemon=True)
    reader.start()
    state.close()
    reader.join(60)
    assert not reader.is_alive() and [notice.epoch for notice in told] == [1]
    assert notices.next() is None


def test_a_function_that_asks_the_state_is_refused():
    state = pages.State()
    column, *_ = sheet(state)

    @pages.function
    def asks(page):
        return state[column]

    with pytest.raises(metroon.PageFunctionError, match="nothing else of a state"):
        with state.transaction() as change:
            change.derive(asks, column, shape=24)
    assert state.epoch == 1


def test_a_function_that_is_not_pure_is_found_out():
    numbers = iter(range(100))
    impure = pages.function(name="impure")(lambda page: bytes([next(numbers)]))
    state = pages.State(check_functions=True)
    with pytest.raises(metroon.PageFunctionError, match="run twice"):
        with state.transaction() as change:
            change.derive(impure, change.create(b"1"), shape=1)


def test_a_function_with_a_known_name_is_another_one():
    state = pages.State()
    column, *_ = sheet(state)
    other = pages.function(name="total", dtype="f8")(lambda *columns: 0.0)
    with pytest.raises(metroon.PageValueError, match="another function total version 1"):
        state.transaction().derive(other, column, shape=1)
    newer = pages.function(name="total", version=2, dtype="f8")(lambda *columns: 5.0)
    with state.transaction() as change:
        page = change.derive(newer, column, shape=1)
    assert state[page].tolist() == [5]
    with pytest.raises(TypeError, match="@pages.function"):
        state.transaction().derive(sum, column, shape=1)


def test_errors_are_those_that_python_knows(tmp_path):
    state = pages.State()
    column, double, both = sheet(state)
    with pytest.raises(metroon.PageValueError, match="make a longer page"):
        with state.transaction() as change:
            change.write(column, [1.0], offset=3)
    with pytest.raises(ValueError, match="is derived"):
        with state.transaction() as change:
            change.write(both, [1.0])
    with pytest.raises(ValueError, match="derived from"):
        with state.transaction() as change:
            change.delete(column)
    with pytest.raises(ValueError, match="0 or more"):
        state.transaction().write(column, [1.0], offset=-1)
    with pytest.raises(ValueError, match="from themselves"):
        with state.transaction() as change:
            change.rederive(double, copied, both)
    with pytest.raises(KeyError, match="there is no page 9"):
        state[pages.PageId(9)]
    with pytest.raises(KeyError, match="there is no page 9"):
        with state.transaction() as change:
            change.write(pages.PageId(9), b"1")
    with pytest.raises(ValueError, match="whole float64"):
        state.read(_five(state), "f8")
    with pytest.raises(TypeError, match="not 'prices'"):
        state["prices"]
    with pytest.raises(TypeError, match="have none of their own"):
        state.transaction().create([object()])
    with pytest.raises(ValueError, match="no commit 9"):
        state.at(9)
    unfinished = state.transaction().create(b"1")
    with pytest.raises(metroon.PageValueError, match="once its transaction is committed"):
        state[unfinished]
    with pytest.raises(metroon.PageValueError, match="was committed"):
        change = state.transaction()
        change.create(b"1")
        change.commit()
        change.create(b"2")
    with pytest.raises(ValueError, match="not \"disk\""):
        pages.State(durability="disk")
    pages.State(tmp_path / "one", new=True).close()
    with pages.State(tmp_path / "one", new=True) as one:
        sheet(one)
    with pytest.raises(metroon.PageError, match="holds a state already"):
        pages.State(tmp_path / "one", new=True)
    with pytest.raises(metroon.PageError, match="add it to the functions"):
        pages.State(tmp_path / "one")
    state.close()
    assert repr(state) == "<state, closed>"
    with pytest.raises(metroon.PageError, match="is closed"):
        state.epoch


def _five(state):
    with state.transaction() as change:
        page = change.create(b"12345")
    return page


def test_threads_commit_and_read_while_functions_run():
    state = pages.State()
    with state.transaction() as change:
        counts = [change.create([0], "i8") for _ in range(4)]
        added = pages.function(name="added", dtype="i8")(lambda *each: sum(each))
        all_of_them = change.derive(added, *counts, shape=1)

    def count(page):
        for _ in range(100):
            with state.transaction() as change:
                change.merge(page, "add", [1])
            seen = state.snapshot()
            assert seen[all_of_them][0] == sum(seen[each][0] for each in counts)

    threads = [threading.Thread(target=count, args=(page,)) for page in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert state[all_of_them].tolist() == [400] and state.epoch == 401


def test_functions_run_on_several_threads_where_pages_are_large():
    seen = set()

    @pages.function
    def flipped(page):
        seen.add(threading.get_ident())
        return ~page

    state = pages.State(threads=2)
    with state.transaction() as change:
        page = change.create(numpy.zeros(2 << 20, "u1"))
        derived = [change.derive(flipped, page, shape=2 << 20) for _ in range(2)]
    assert all((state[each] == 255).all() for each in derived) and len(seen) == 2


def test_stages_are_measured_if_that_is_wanted():
    timed, other = pages.State(timed=True), pages.State()
    sheet(timed), sheet(other)
    assert timed.statistics().stages["run"] > 0
    latency = timed.statistics().latency
    assert latency["commits"] == 1 and 0 < latency["min"] == latency["max"] == latency["p99"] == latency["mean"]
    assert set(other.statistics().latency.values()) == {0}
    assert set(other.statistics().stages.values()) == {0} and other.statistics().ran == 2


def test_a_fork_of_the_process_does_not_use_the_state():
    program = """
import os
from metroon import PageError, pages
state = pages.State()
if os.fork() == 0:
    try:
        state.epoch
    except PageError as error:
        print(error.message, flush=True)
    os._exit(0)
os.wait()
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "is a fork of the one" in found.stdout, found.stderr


def test_a_program_that_uses_it_is_typed(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(
        """
import numpy as np
from metroon import pages

@pages.function(dtype="f8")
def total(column: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(column.sum())

with pages.State("sheet", functions=[total]) as state:
    with state.transaction("a program") as change:
        column: pages.Page = change.create(np.zeros(4))
        both = change.derive(total, column, shape=1)
    number: float = state[both][0]
    notice = state.subscribe(both).next(0)
    if notice is not None:
        kinds: list[str] = [each.kind for each in notice.changes.values()]
"""
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_module_itself_is_typed(tmp_path):
    pytest.importorskip("mypy")
    names = ["metroon.pages", "metroon._page_functions", "metroon._page_values"]
    modules = [word for name in names for word in ("-m", name)]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *modules]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr
