"""What a base in memory takes after many calls, and after many subscriptions that nobody reads."""

import gc
import os
import subprocess
import sys
import textwrap

import pytest

import metroon
from metroon import Symbol

STATM = "/proc/self/statm"
# So many calls are made; METROON_CALLS=1000000 makes as many as the bound is for.
CALLS = int(os.environ.get("METROON_CALLS", "30000"))
# Calls take no more than this, beside what they add: 20 MB for a million. The history is full after some ten thousand.
HISTORY = 256 << 10
BYTES_A_CALL = 20
SLACK = 3 << 20


def resident():
    with open(STATM) as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


CALL = {
    "query": "kb.query('(known $x)')",
    "view": "kb.view().query('(known $x)')",
    "change": "kb.add(f'(n {number % 100})'), kb.remove(f'(n {number % 100})')",
    "rows": "kb.add_rows('n', [(number % 100,)]), kb.remove(f'(n {number % 100})')",
    "transaction": "moved(number)",
}

PROGRAM = """
    import gc, os, sys
    import metroon

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    kb = metroon.KnowledgeBase(history_bytes={history})
    kb.add("(known 1)", "(known 2)")

    def moved(number):
        with kb.transaction() as changes:
            changes.add(f"(n {{number % 100}})", "(m 1)")
            changes.remove("(m 1)")
        kb.remove(f"(n {{number % 100}})")

    def calls(begin, end):
        for number in range(begin, end):
            {call}

    # What is kept for ever is there after the first calls.
    calls(0, {calls} // 4)
    gc.collect()
    before = resident()
    calls({calls} // 4, {calls} + {calls} // 4)
    gc.collect()
    print(resident() - before)
"""


@pytest.mark.parametrize("name", CALL)
def test_calls_leave_nothing(name):
    """Each call that changed something left 300 to 800 bytes."""
    if not os.path.exists(STATM):
        pytest.skip("the system does not say how much memory a process has")
    # Fewer of those that take a commit or more.
    calls = CALLS if name in ("query", "view") or CALLS >= 10**6 else CALLS // 3
    text = textwrap.dedent(PROGRAM).format(history=HISTORY, call=CALL[name], calls=calls)
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=max(300, calls // 500))
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) < SLACK + HISTORY + BYTES_A_CALL // 2 * calls, (name, calls, found.stdout)


def test_facts_added_one_by_one_take_what_they_take_at_once():
    if not os.path.exists(STATM):
        pytest.skip("the system does not say how much memory a process has")
    text = textwrap.dedent("""
        import gc, os, metroon
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        kb = metroon.KnowledgeBase(history_bytes=%d)
        kb.add("(n 0)")
        before = resident()
        %s
        gc.collect()
        print(resident() - before)
    """)
    calls = CALLS // 2
    took = []
    for add in (f"for number in range({calls}): kb.add(f'(n {{number}})')", f"kb.add_rows('n', [(number,) for number in range({calls})])"):
        found = subprocess.run([sys.executable, "-c", text % (HISTORY, add)], capture_output=True, text=True, timeout=max(300, calls // 500))
        assert found.returncode == 0, found.stderr
        took.append(int(found.stdout))
    assert took[0] < took[1] + 3 * HISTORY + SLACK + BYTES_A_CALL * calls, took


def test_history_in_memory_is_bounded_and_says_so():
    with metroon.KnowledgeBase(history_bytes="64K") as kb, metroon.KnowledgeBase(history_bytes=None) as whole:
        for base in (kb, whole):
            base.add("(kept for ever)")
            for number in range(2000):
                base.add(f"(n {number})")
                base.remove(f"(n {number})")
            assert (base.epoch, len(base)) == (4001, 1)
        assert kb.hash == whole.hash and kb.view().hash == whole.view().hash
        # What is recent is known, as it was.
        for epoch in (4001, 4000, 3999, 3950):
            assert kb.as_of(epoch).hash == whole.as_of(epoch).hash
        assert kb.as_of(4000).query("(n $x)") == [(1999,)]
        assert kb.fork(at=4000).query("(n $x)") == [(1999,)]
        with pytest.raises(metroon.KnowledgeBaseError, match="given up|gave up|not known"):
            kb.as_of(1)
        with pytest.raises(metroon.KnowledgeBaseError):
            kb.why("(kept for ever)")
        assert whole.as_of(1).query("(kept $x $y)") != [] and whole.why("(kept for ever)")[0].epoch == 1
        kb.add("(last)")
        assert kb.why("(last)")[0].epoch == 4002 and len(kb.fork()) == 2


def test_what_is_loaded_is_no_history():
    """A base in memory that only grows gives up nothing."""
    with metroon.KnowledgeBase(history_bytes="64K") as kb:
        kb.add_rows("n", [(number, f"text {number}") for number in range(20_000)])
        for number in range(200):
            kb.add(f"(m {number})")
        assert kb.as_of(1).query("(n 0 $x)") == [("text 0",)] and kb.why("(n 0 $x)")[0].epoch == 1


def test_a_rule_with_variables_a_state_and_a_module_survive_what_is_given_up(tmp_path):
    (tmp_path / "rules.metta").write_text("(= (double $x) (* 2 $x)) (fact of a file)")
    with metroon.KnowledgeBase(history_bytes="64K") as kb:
        kb.run_file(tmp_path / "rules.metta")
        kb.run("!(bind! &state (new-state 0)) !(bind! &other (new-space)) !(add-atom &other (in other)) (= (the-state) &state)")
        for number in range(2000):
            kb.run(f"!(change-state! &state {number}) !(add-atom &self (n {number})) !(remove-atom &self (n {number}))")
        with kb.fork() as forked:
            for base in (kb, forked):
                assert base.run("!(double 4) !(get-state &state) !(match &other (in $x) $x)") == [[8], [1999], [Symbol("other")]]
        # A file that was edited is known still: what it no longer states is taken away.
        (tmp_path / "rules.metta").write_text("(= (double $x) (+ $x $x))")
        kb.run_file(tmp_path / "rules.metta")
        assert kb.run("!(double 4)") == [[8]] and kb.query("(fact of a file)") == []


def test_subscriptions_that_nobody_reads_are_bounded_in_all():
    """1,000 of them held 980 MB."""
    if not os.path.exists(STATM):
        pytest.skip("the system does not say how much memory a process has")
    bound, count = 4 << 20, 200
    with metroon.KnowledgeBase(waiting_bytes=bound) as kb:
        live = [kb.subscribe("(n $x $text)") for _ in range(count)]
        for each in live:
            assert each.next(5).kind == "snapshot_end"
        gc.collect()
        before = resident()
        for number in range(300):
            kb.add_rows("n", [(number, f"text {number} {place} " * 4) for place in range(10)])
        assert resident() - before < 4 * bound + (8 << 20), resident() - before
        # Each is told what it has, and from where on it has nothing.
        for each in live[:3] + live[-3:]:
            seen = []
            while True:
                event = each.next(5)
                if event.kind != "changes":
                    break
                seen.append(event.epoch)
            assert seen == list(range(1, len(seen) + 1)) and len(seen) > 2
            assert event.kind == "dropped" and event.first == len(seen) + 1 and f"after={len(seen)}" in event.reason
            with kb.subscribe("(n $x $text)", after=event.first - 1) as again:
                epochs = [again.next(5).epoch for _ in range(event.first, 301)]
            assert epochs == list(range(event.first, 301))
        for each in live:
            each.close()
        # What nobody waits for any more has made room.
        with kb.subscribe("(n $x $text)", after=kb.epoch) as one:
            kb.add_rows("n", [(place, "x" * 100) for place in range(1000)])
            assert len(one.next(5).changes) == 1000


def test_one_commit_is_taken_whole_and_the_slow_one_pays():
    with metroon.KnowledgeBase(waiting_bytes="100K") as kb:
        slow, quick = kb.subscribe("(n $x)"), kb.subscribe("(n $x)")
        assert slow.next(5).kind == quick.next(5).kind == "snapshot_end"
        for number in range(2000):
            kb.add(f"(n {number})")
            event = quick.next(5)
            # What is taken at once is never dropped.
            assert event.kind == "changes" and event.epoch == number + 1, event
        seen = 0
        while slow.next(5).kind == "changes":
            seen += 1
        assert 100 < seen < 2000
        slow.close()
        kb.add_rows("n", [(place,) for place in range(10_000)])
        assert len(quick.next(5).changes) == 10_000


def test_answers_that_have_no_room_are_refused():
    with metroon.KnowledgeBase(waiting_bytes="100K") as kb:
        kb.add_rows("n", [(place, place) for place in range(1000)])
        options = {"key": ["$x"], "template": "(s $x $y)", "sum": "$y"}
        first = kb.subscribe("(n $x $y)", **options)
        with pytest.raises(metroon.KnowledgeBaseError, match="bytes wait .* take what waits, close subscriptions"):
            for _ in range(10):
                kb.subscribe("(n $x $y)", **options)
        while first.next(5).kind != "snapshot_end":
            pass
        first.close()
        kb.subscribe("(n $x $y)", **options).close()
