"""Live queries."""

import asyncio
import threading

import pytest

import metroon
from metroon import Symbol


def test_answers_come_first_and_then_what_commits_change():
    with metroon.KnowledgeBase() as kb:
        kb.add("(age Tom 33)")
        with kb.subscribe("(age $who $years)", key=["$who"]) as live:
            first, end = live.next(5), live.next(5)
            assert first.kind == "answers" and first.changes[0].after == (Symbol("age"), Symbol("Tom"), 33)
            assert end.kind == "snapshot_end" and end.epoch == 1
            with kb.transaction() as changes:
                changes.remove("(age Tom 33)")
                changes.add("(age Tom 34)")
            (change,) = live.next(5).changes
            assert (str(change.before), str(change.after)) == ("(age Tom 33)", "(age Tom 34)")
            assert live.next(0.05) is None


def test_an_aggregate_is_kept_up_to_date_and_the_end_is_seen():
    kb = metroon.KnowledgeBase()
    kb.add("(order Ann 3)", "(order Ann 4)")
    live = kb.subscribe("(order $who $price)", template="(spent $who $price)", sum="$price")
    threading.Timer(0.2, lambda: (kb.add("(order Ann 5)"), kb.close())).start()
    seen = [str(change.after) for event in live for change in event.changes]
    assert seen == ["(spent Ann 7)", "(spent Ann 12)"]


def test_events_are_awaited():
    async def follow(kb):
        found = []
        async for event in kb.subscribe("(n $x)"):
            found += [change.after[1] for change in event.changes]
            if event.kind == "snapshot_end":
                await asyncio.get_running_loop().run_in_executor(None, kb.add, "(n 2)")
            if len(found) == 2:
                return found

    with metroon.KnowledgeBase() as kb:
        kb.add("(n 1)")
        assert asyncio.run(asyncio.wait_for(follow(kb), 30)) == [1, 2]


def test_a_query_that_is_none_is_refused():
    with metroon.KnowledgeBase() as kb:
        with pytest.raises(metroon.KnowledgeBaseError, match="pattern"):
            kb.subscribe("(n")
        with pytest.raises(ValueError, match="one of these"):
            kb.subscribe("(n $x)", sum="$x", min="$x")


def told(live):
    """The changes that wait, as texts."""
    found = []
    while True:
        event = live.next(0.05)
        if event is None or event.kind == "progress":
            return found
        found += [(change.before and str(change.before), change.after and str(change.after)) for change in event.changes]


def test_a_query_with_a_name_is_part_of_the_base(tmp_path):
    with metroon.KnowledgeBase(tmp_path / "kb") as kb:
        kb.add("(order Ann 3)", "(order Bob 4)")
        kb.add_live_query("spent", "(order $who $price)", template="(spent $who $price)", sum="$price", key=["$who"])
        kb.add_live_query("names", "(order $who $price)", template="$who")
        registered = kb.epoch
        kb.run("!(import! &self live-queries) (= (note $change) ()) !(on-change names note)")
    with metroon.KnowledgeBase(tmp_path / "kb") as kb:
        spent, names = kb.live_queries()
        assert spent == ("spent", "(order $who $price)", "(spent $who $price)", ["(sum $price)", "(key $who)"], [])
        assert (names.name, names.template, names.functions) == ("names", "$who", ["note"])
        live = kb.follow("spent")
        assert told(live) == [(None, "(spent Ann 3)"), (None, "(spent Bob 4)")]
        kb.add("(order Ann 5)")
        assert told(live) == [("(spent Ann 3)", "(spent Ann 8)")]
        with kb.follow("names", after=registered) as later:
            assert told(later) == [(None, "Ann")]
        # Who follows a query that has ended goes on.
        kb.end_live_query("spent")
        kb.add("(order Ann 1)")
        assert told(live) == [("(spent Ann 8)", "(spent Ann 9)")]
        assert [query.name for query in kb.live_queries()] == ["names"]


def test_what_cannot_be_named_or_found_is_said():
    kb = metroon.KnowledgeBase()
    kb.add_live_query("numbers", "(n $x)")
    with pytest.raises(metroon.KnowledgeBaseError, match="there is a live query numbers already"):
        kb.add_live_query("numbers", "(n $x)")
    with pytest.raises(ValueError, match="cannot be the name of a live query"):
        kb.add_live_query("(a b)", "(n $x)")
    with pytest.raises(ValueError, match="one of these"):
        kb.add_live_query("other", "(n $x)", sum="$x", count="$y")
    with pytest.raises(metroon.KnowledgeBaseError, match="would be evaluated"):
        kb.add_live_query("other", "(n $x)", template="(+ $x 1)")
    for missing in (kb.follow, kb.end_live_query):
        with pytest.raises(metroon.KnowledgeBaseError, match="there is no live query nubmers; did you mean numbers"):
            missing("nubmers")
    kb.close()
    for closed in (lambda: kb.follow("numbers"), lambda: kb.end_live_query("numbers")):
        with pytest.raises(metroon.ClosedError):
            closed()
