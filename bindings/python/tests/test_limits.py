"""Limits and permissions as arguments, by the names of the command line."""

import time

import pytest

import metroon

FOREVER = "(= (forever $n) (forever (+ $n 1)))"
LONG = "(= (long $n $list) (long (+ $n 1) (cons-atom $n $list)))"


def reached(call, name):
    with pytest.raises(metroon.LimitError) as raised:
        call()
    assert f"{name}=" in raised.value.help
    return raised.value


def test_a_run_that_takes_too_much_is_ended():
    with metroon.KnowledgeBase() as kb:
        kb.run(FOREVER)
        kb.run(LONG)
        reached(lambda: kb.run("!(forever 0)", steps=1000), "steps")
        began = time.monotonic()
        reached(lambda: kb.run("!(forever 0)", timeout=0.3), "timeout")
        assert 0.25 < time.monotonic() - began < 20
        reached(lambda: kb.run("!(long 0 ())", heap="2M"), "heap")
        # The limits of a run are those of that run.
        assert kb.run("!(+ 1 2)") == [[3]] and kb.run("!(+ 1 2)", steps=1000, heap=64 << 20, timeout=60, memory="8G") == [[3]]


def test_limits_of_a_base_are_those_of_each_run_and_view():
    with metroon.KnowledgeBase(steps=20_000, timeout=60) as kb:
        kb.run(FOREVER)
        reached(lambda: kb.run("!(forever 0)"), "steps")
        reached(lambda: kb.view().evaluate("!(forever 0)"), "steps")
        with pytest.raises(metroon.LimitError):
            with kb.transaction() as changes:
                changes.add("(undone)")
                changes.run("!(forever 0)")
        assert len(kb.query("(undone)")) == 0
        reached(lambda: kb.fork().run("!(forever 0)"), "steps")
    with metroon.KnowledgeBase(timeout=0.2) as kb:
        kb.run(FOREVER)
        for _ in range(3):
            reached(lambda: kb.run("!(forever 0)"), "timeout")
            reached(lambda: kb.view().evaluate("!(forever 0)"), "timeout")
        with kb.transaction() as changes:
            reached(lambda: changes.run("!(forever 0)"), "timeout")
            assert changes.run("!(+ 1 2)") == [[3]]
        reached(lambda: kb.run("!(forever 0)", timeout=10, steps=1000), "steps")


def test_memory_of_the_process_is_seen():
    with metroon.KnowledgeBase() as kb:
        kb.run(LONG)
        reached(lambda: kb.run("!(long 0 ())", memory="1M"), "memory")


def test_programs_reach_what_they_are_allowed(tmp_path, monkeypatch):
    monkeypatch.setenv("METROON_TEST_WORD", "seen")
    (tmp_path / "read.txt").write_text("text")
    (tmp_path / "module.metta").write_text("(from module)")
    asks = '!(import! &self system) !(environment-variable "METROON_TEST_WORD")'
    reads = f'!(import! &self fileio) !(file-open! "{tmp_path}/read.txt" "r")'
    writes = f'!(import! &self fileio) !(file-open! "{tmp_path}/new.txt" "wc")'
    imports = "!(import! &self module)"

    def is_refused(text, **options):
        with metroon.KnowledgeBase(**options) as kb:
            try:
                kb.run(text, file=f"{tmp_path}/main.metta")
            except metroon.MettaError as error:
                assert "not permitted" in f"{error} {error.answers}", (text, error)
                return True
            return False

    texts = {"env=METROON_TEST_WORD": asks, f"read={tmp_path}": reads, f"write={tmp_path}": writes}
    for allow, text in texts.items():
        assert not is_refused(text), text
        assert is_refused(text, deny_all=True), text
        assert not is_refused(text, deny_all=True, allow=allow), text
        assert not is_refused(text, deny_all=True, allow=list(texts)), text
        others = [other for other in texts if other != allow]
        assert is_refused(text, deny_all=True, allow=others), text
    assert is_refused(imports, deny_all=True) and not is_refused(imports, deny_all=True, allow=[f"read={tmp_path}"])
    with metroon.KnowledgeBase(deny_all=True) as kb, kb.fork() as forked:
        with pytest.raises(metroon.MettaError, match="not permitted"):
            forked.run(imports, file=f"{tmp_path}/main.metta")


@pytest.mark.parametrize("options, message", [
    ({"steps": 0}, "steps is a whole number above 0"), ({"steps": True}, "steps is a whole number"), ({"steps": "9"}, "steps is a whole number"),
    ({"timeout": 0}, "timeout is a number of seconds above 0"), ({"timeout": float("nan")}, "timeout is"), ({"timeout": "1"}, "timeout is"),
    ({"heap": "lots"}, "heap is a number of bytes"), ({"heap": -1}, "heap is a number of bytes"), ({"memory": 1.5}, "memory is a number of bytes"),
    ({"allow": "read=/"}, "add deny_all=True"), ({"deny_all": True, "allow": "reads=/"}, "allow takes texts"),
    ({"deny_all": True, "allow": ["env="]}, "allow takes texts"), ({"deny_all": True, "allow": "net=a.org"}, "reaches the network"),
    ({"history_bytes": "0"}, "history_bytes is a number"), ({"waiting_bytes": "x"}, "waiting_bytes is a number"),
])
def test_arguments_that_are_none_are_refused(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        metroon.KnowledgeBase(**options)
