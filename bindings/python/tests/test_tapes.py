"""Runs that are recorded, and run again without what they called."""

import itertools

import pytest

import metroon


def test_what_functions_gave_is_played_back_without_them(tmp_path):
    numbers = itertools.count(1)

    @metroon.function
    def ticket() -> int:
        return next(numbers)

    tape = tmp_path / "trip.tape"
    program = "(= (two) (+ (ticket) (ticket))) !(two) !(add-atom &self (sold (ticket))) !(match &self (sold $x) $x)"
    lines = metroon.record(tape, program, functions=[ticket])
    assert lines == ["[3]", "[()]", "[3]"] and next(numbers) == 4
    replayed = metroon.replay(tape)
    assert replayed.lines == lines and replayed.commits >= 3 and next(numbers) == 5
    assert metroon.replay(tape, to=1).commits == 1


def test_results_with_variables_and_errors_are_played_back(tmp_path):
    def looks(what: str):
        if what == "open":
            yield metroon.Expression(metroon.Symbol("any"), metroon.Variable("x"), metroon.Variable("x"))
            yield None
        else:
            raise ValueError(what)

    tape = tmp_path / "trip.tape"
    lines = metroon.record(tape, '!(looks "open") !(case (looks "shut") (((Error $call $why) $why)))', functions=[looks])
    assert metroon.replay(tape).lines == lines and lines[0].startswith("[(any $x#")


def test_a_pure_function_is_called_again(tmp_path):
    calls = []

    @metroon.function(pure=True)
    def square(number: int) -> int:
        calls.append(number)
        return number * number

    tape = tmp_path / "trip.tape"
    metroon.record(tape, "!(square 3)", functions=[square])
    assert metroon.replay(tape, functions=[square]).lines == ["[9]"] and calls == [3, 3]
    with pytest.raises(metroon.ReplayError):
        metroon.replay(tape)


def test_another_program_is_not_what_was_recorded_and_a_tape_is_not_overwritten(tmp_path):
    tape = tmp_path / "trip.tape"
    metroon.record(tape, "!(+ 1 2)")
    with pytest.raises(metroon.TapeError, match="exists"):
        metroon.record(tape, "!(+ 1 2)")
    with pytest.raises(metroon.ParseError):
        metroon.record(tmp_path / "other.tape", "!(+ 1")
    (tmp_path / "no.tape").write_bytes(b"not a tape")
    with pytest.raises(metroon.TapeError):
        metroon.replay(tmp_path / "no.tape")


def test_what_only_this_process_knows_is_not_recorded(tmp_path):
    with pytest.raises(metroon.MettaError, match="declare it pure"):
        metroon.record(tmp_path / "trip.tape", "!(thing)", functions=[metroon.function(object, name="thing")])


def test_the_seconds_of_a_recording_are_its_own(tmp_path):
    tape = tmp_path / "trip.tape"
    lines = metroon.record(tape, "!(import! &self random) !(random-int &rng 0 1000000000)")
    assert metroon.replay(tape).lines == lines
