"""Knowledge bases: running, asking, changing, the past, and what goes wrong."""

import datetime
import signal
import threading
import time

import pytest

import metroon
from metroon import Symbol


@pytest.fixture
def kb():
    with metroon.KnowledgeBase() as base:
        yield base


def test_a_text_runs_and_gives_the_results_of_each_form(kb):
    assert kb.run("(parent Tom Bob) !(+ 1 2) !(match &self (parent $x Bob) $x) !(superpose (1 2))") == [
        [3],
        [Symbol("Tom")],
        [1, 2],
    ]
    assert repr(kb) == "<KnowledgeBase in memory, commit 1, 1 atoms>"


def test_rows_are_tuples_with_a_column_for_each_variable(kb):
    kb.add("(age Tom 33)", "(age Pam 44)", ("note", 1))
    rows = kb.query("(age $who $years)")
    assert rows.columns == ("who", "years")
    assert rows == [(Symbol("Tom"), 33), (Symbol("Pam"), 44)]
    assert rows.to_dicts()[1] == {"who": Symbol("Pam"), "years": 44}
    assert rows.column("years") == [33, 44] and rows[-1][1] == 44 and rows[:1] == [(Symbol("Tom"), 33)]
    assert kb.query("(, (age $a $x) (age $b $x))").columns == ("a", "x", "b")
    assert kb.query((Symbol("age"), metroon.Variable("who"), 44)) == [(Symbol("Pam"),)]
    assert len(kb.query("(age Zoe $x)")) == 0
    with pytest.raises(KeyError, match="who, years"):
        rows.column("whom")


def test_what_is_added_is_one_commit_and_copies_count(kb):
    kb.add("(a)", "(a)", "(b)")
    assert (kb.epoch, len(kb)) == (1, 3)
    kb.remove("(a)", "(c)")
    assert (kb.epoch, len(kb)) == (2, 2)


def test_exceptions_carry_the_place_the_help_and_the_answers_before(kb):
    with pytest.raises(metroon.ParseError) as caught:
        kb.run("!(+ 1 1)\n(open", file="rules.metta")
    error = caught.value
    assert (error.file, error.line, error.column) == ("rules.metta", 2, 1)
    assert error.answers == [[2]] and error.text == "(open" and "rules.metta:2:1" in str(error) and error.help
    with pytest.raises(metroon.EvaluationError) as caught:
        kb.run("(= (f $x) (/ $x 0))\n!(f 3)\n!(unreached)")
    error = caught.value
    assert error.line == 1 and error.text == "(/ $x 0)" and "division" in str(error)
    with pytest.raises(metroon.ParseError):
        kb.query("(a")
    with pytest.raises(metroon.ParseError, match="one atom"):
        kb.add("(a) (b)")


def test_a_base_in_a_folder_is_there_again(tmp_path):
    folder = tmp_path / "family"
    with metroon.KnowledgeBase(folder) as kb:
        kb.run("(parent Tom Bob) (= (child $x) (match &self (parent $x $y) $y))")
        state = kb.hash
        with pytest.raises(metroon.KnowledgeBaseError):
            metroon.KnowledgeBase(folder)
    with metroon.KnowledgeBase(folder) as kb:
        assert kb.hash == state and kb.run("!(child Tom)") == [[Symbol("Bob")]]
    with pytest.raises(metroon.ClosedError, match="open it again"):
        kb.run("!(+ 1 1)")


def test_a_file_that_was_edited_states_its_difference(tmp_path):
    file = tmp_path / "facts.metta"
    with metroon.KnowledgeBase(tmp_path / "base") as kb:
        file.write_text("(a 1) (b 2)")
        kb.run_file(file)
        kb.run_file(file)
        assert len(kb) == 2
        file.write_text("(a 1) (c 3)")
        kb.run_file(file)
        assert [row[0] for row in kb.query("($x 3)")] == [Symbol("c")] and len(kb.query("(b $x)")) == 0


def test_a_transaction_is_one_commit_or_none(kb):
    kb.add("(stock 5)")
    with kb.transaction() as changes:
        changes.remove("(stock 5)")
        changes.add("(stock 4)", "(sold 1)")
        assert changes.query("(stock $n)") == [(4,)]
        assert changes.run("!(match &self (sold $n) $n)") == [[1]]
        assert kb.query("(stock $n)") == [(5,)]
    assert (kb.epoch, kb.query("(stock $n)")) == (2, [(4,)])
    with pytest.raises(ZeroDivisionError):
        with kb.transaction() as changes:
            changes.add("(stock 3)")
            1 / 0
    assert (kb.epoch, kb.query("(stock $n)")) == (2, [(4,)])
    with pytest.raises(ValueError, match="with"):
        kb.transaction().add("(a)")


def test_the_past_can_be_asked_and_says_where_an_atom_comes_from(kb):
    kb.add("(city Athens)")
    kb.run("(city Thebes)")
    kb.remove("(city Athens)")
    assert [len(kb.as_of(epoch)) for epoch in range(4)] == [0, 1, 2, 1]
    assert kb.as_of(2).query("(city $x)") == [(Symbol("Athens"),), (Symbol("Thebes"),)]
    assert kb.as_of(2).evaluate("!(match &self (city $x) $x)") == [[Symbol("Athens"), Symbol("Thebes")]]
    (reason,) = kb.why("(city $x)")
    assert (reason.epoch, reason.line, reason.column) == (2, 1, 1) and reason.atom == (Symbol("city"), Symbol("Thebes"))
    with pytest.raises(metroon.KnowledgeBaseError, match="9"):
        kb.as_of(9)
    assert len(kb.as_of("2200-01-01")) == 1
    with pytest.raises(metroon.KnowledgeBaseError, match="commit 1, of 20"):
        kb.as_of("2001-01-01")
    with pytest.raises(ValueError, match="neither the number of a commit nor a date"):
        kb.as_of("yesterday")


def test_the_log_of_an_atom_has_the_commits_that_changed_it(tmp_path):
    for path in (None, tmp_path / "towns"):
        with metroon.KnowledgeBase(path) as kb:
            kb.run("(town Oslo) (town Hamar)\n!(remove-atom &self (town Hamar))", file="towns.metta")
            kb.run("(town Moss)")
            kb.run("!(add-atom &self (town Hamar))")
            commits = kb.log("(town Hamar)", changes=True)
            changes = [(change.atom, change.copies, change.line) for commit in commits for change in commit.changes]
            assert changes == [("(town Hamar)", 1, 1), ("(town Hamar)", -1, 2), ("(town Hamar)", 1, 1)]
            assert [commit.epoch for commit in commits] == sorted({commit.epoch for commit in commits})
            assert commits[0].origin == "towns.metta" and repr(commits[-1]).endswith(", +1 (town Hamar)")
            assert all(commit.date is not None and len(commit.hash) == 32 for commit in commits)
            assert kb.log("(town Hamar)")[0].changes is None
            assert kb.log(("town", "Moss")) == [] and len(kb.log((Symbol("town"), Symbol("Moss")))) == 1
            last = kb.epoch
            assert [commit.epoch for commit in kb.log("(town $x)", since=last)] == [last]
            assert kb.log("(town $x)", until=0) == [] and kb.log("(town Bodo)") == []
            with pytest.raises(metroon.KnowledgeBaseError, match=f"{last + 1}"):
                kb.log("(town $x)", since=last + 1)
            with pytest.raises(metroon.ParseError):
                kb.log("(town")
            with pytest.raises(ValueError, match="neither the number of a commit nor a date"):
                kb.log("(town Oslo)", since="yesterday")


def test_the_log_says_what_the_command_line_says(tmp_path):
    with metroon.KnowledgeBase(tmp_path / "towns") as kb:
        kb.add("(town Oslo)", "(town Hamar)")
        kb.remove("(town Hamar)")
        kb.run("!(bind! &here (new-space))")
        kb.run("!(add-atom &self (town &here))")
        assert [commit.epoch for commit in kb.log("(town &here)")] == [kb.epoch]
        assert "+1 (town Oslo)" in repr(kb.log("(town Oslo)", changes=True)[0])


def test_a_log_says_that_copies_are_older_than_what_is_kept():
    with metroon.KnowledgeBase(history_bytes="64K") as kb:
        kb.add("(town Oslo)")
        for number in range(1500):
            kb.add(f"(n {number})")
            kb.remove(f"(n {number})")
        with pytest.raises(metroon.KnowledgeBaseError, match="older than commit") as caught:
            kb.log("(town Oslo)")
        first = int(caught.value.help.split("=")[1].split()[0])
        assert first > 1 and kb.log("(town Oslo)", since=first) == []


def test_moments_are_numbers_texts_dates_or_times(kb):
    before = datetime.datetime.now(datetime.timezone.utc)
    kb.add("(city Athens)")
    east = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    later = datetime.datetime.now(east) + datetime.timedelta(seconds=1)
    for moment in (1, later, later.date() + datetime.timedelta(days=1), later.isoformat()):
        assert len(kb.as_of(moment)) == 1
    with pytest.raises(metroon.KnowledgeBaseError, match="commit 1, of 20"):
        kb.as_of(before - datetime.timedelta(seconds=1))
    for moment, error, text in (
        (datetime.datetime(2026, 11, 20), ValueError, "has no time zone"),
        (-1, ValueError, "from 0 on, not -1"),
        (2.5, TypeError, "not float"),
        (True, TypeError, "not bool"),
        (None, TypeError, "a date or a datetime, not NoneType"),
    ):
        with pytest.raises(error, match=text):
            kb.as_of(moment)


def test_a_fork_goes_on_for_itself(kb, tmp_path):
    kb.add("(a)")
    kb.add("(b)")
    with kb.fork() as all_of_it, kb.fork(at=1) as first:
        all_of_it.add("(c)")
        assert (len(kb), len(all_of_it), len(first)) == (2, 3, 1)
    with metroon.KnowledgeBase(tmp_path / "one") as base:
        base.add("(a)")
        with base.fork(tmp_path / "two") as other:
            other.add("(b)")
            assert (len(base), len(other)) == (1, 2)


def test_a_view_refuses_what_changes_something(kb):
    kb.add("(a)")
    view = kb.view()
    kb.add("(b)")
    assert (len(view), len(kb), view.epoch) == (1, 2, 1)
    with pytest.raises(metroon.EffectError, match="add-atom"):
        view.evaluate("!(add-atom &self (c))")


def test_what_a_program_prints_goes_to_the_output_of_python(kb, capsys):
    kb.run('!(println! "hello")')
    assert capsys.readouterr().out == "hello\n"


def test_ctrl_c_cancels_a_run_and_the_base_goes_on(kb):
    kb.run("(= (forever $n) (forever (+ $n 1)))")
    # A shell that starts the tests in the background has them ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, signal.raise_signal, (signal.SIGINT,)).start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kb.run("(kept) !(add-atom &self (undone)) !(forever 0)")
    assert time.monotonic() - begun < 10
    assert kb.run("!(+ 1 2)") == [[3]]


def test_threads_ask_while_one_writes(kb):
    kb.add(*[f"(n {number})" for number in range(100)])
    stop, wrong = threading.Event(), []

    def ask():
        while not stop.is_set():
            rows = kb.query("(n $x)")
            if len(rows) < 100 or kb.view().evaluate("!(+ 1 1)") != [[2]]:
                wrong.append(len(rows))

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    for number in range(100, 150):
        kb.add(f"(n {number})")
    stop.set()
    for asker in askers:
        asker.join(30)
    assert not wrong and len(kb.query("(n $x)")) == 150


def test_many_threads_write_one_after_the_other(kb):
    def write(name):
        for number in range(20):
            kb.add(f"({name} {number})")

    writers = [threading.Thread(target=write, args=(f"w{number}",)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert (len(kb), kb.epoch) == (80, 80)
