"""A fork of a process has a base of which nothing answers: each call says so, and nothing waits or is damaged."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

# A process that waits for itself is ended after so many seconds.
PATIENCE = 20

# What the child does is printed; its parent says how it ended.
PROGRAM = """
    import gc, os, signal, sys, threading, warnings
    warnings.simplefilter("ignore", DeprecationWarning)
    signal.alarm({patience})
    import metroon
    from metroon import hyperon

    def in_child(work):
        sys.stdout.flush()
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        # A fork has no alarm of its parent.
        signal.alarm({patience})
        work()
        gc.collect()
        sys.exit(0)
"""


def run(program, folder):
    """What a program prints."""
    text = textwrap.dedent(PROGRAM).format(patience=PATIENCE) + textwrap.dedent(program)
    found = subprocess.run([sys.executable, "-c", text, str(folder)], capture_output=True, text=True, timeout=3 * PATIENCE)
    assert (found.returncode, found.stderr) == (0, ""), found.stdout + found.stderr
    return found.stdout.splitlines()


@pytest.mark.parametrize("is_kept", [False, True], ids=["in memory", "in a folder"])
def test_each_call_in_a_fork_is_an_error(tmp_path, is_kept):
    """`add` never returned, and dropping the base panicked."""
    said = run(
        f"""
        kb = metroon.KnowledgeBase(sys.argv[1] if {is_kept} else None)
        kb.add("(n 1)")
        kb.add_live_query("all", "(n $x)")
        view, live, metta = kb.view(), kb.subscribe("(n $x)"), hyperon.MeTTa()
        changes = kb.transaction()
        opened = changes.__enter__()
        calls = dict(
            add=lambda: kb.add("(n 2)"), remove=lambda: kb.remove("(n 1)"), rows=lambda: kb.add_rows("n", [(2,)]), run=lambda: kb.run("!(+ 1 2)"),
            query=lambda: kb.query("(n $x)"), view=kb.view, as_of=lambda: kb.as_of(1), why=lambda: kb.why("(n $x)"), fork=kb.fork, close=kb.close,
            begin=lambda: kb.transaction().__enter__(), subscribe=lambda: kb.subscribe("(n $x)"), follow=lambda: kb.follow("all"),
            named=kb.live_queries, name=lambda: kb.add_live_query("other", "(n $x)"), end=lambda: kb.end_live_query("all"),
            function=lambda: kb.register(lambda: 1, name="f"), length=lambda: len(kb), epoch=lambda: kb.epoch, hash=lambda: kb.hash,
            warnings=lambda: kb.warnings, view_query=lambda: view.query("(n $x)"), view_evaluate=lambda: view.evaluate("!(+ 1 2)"),
            view_length=lambda: len(view), view_epoch=lambda: view.epoch, live=lambda: live.next(1), live_close=live.close,
            t_add=lambda: opened.add("(n 3)"), t_rows=lambda: opened.add_rows("n", [(3,)]), t_run=lambda: opened.run("!(+ 1 2)"),
            t_query=lambda: opened.query("(n $x)"), t_end=lambda: opened.__exit__(None, None, None), runner=lambda: metta.run("!(+ 1 2)"),
        )

        def child():
            for name, call in calls.items():
                try:
                    call()
                    print(name, "has returned")
                except metroon.ForkError as error:
                    if "fork" not in error.message or "spawn" not in error.message:
                        print(name, error)
                except Exception as error:
                    print(name, type(error), error)
            repr(kb), repr(view)
            with kb, live:
                pass
            # What is made after the fork works.
            with metroon.KnowledgeBase() as other:
                other.add("(n 1)")
                print(len(other.query("(n $x)")), metroon.parse("(a b)"))

        print(in_child(child))
        opened.add("(n 4)")
        changes.__exit__(None, None, None)
        print(kb.query("(n $x)"), live.next(5).kind, metta.run("!(+ 1 2)"))
        kb.close()
        """,
        tmp_path / "kb",
    )
    assert said == ["1 (a b)", "0", "x", "1", "4", "[2 rows] answers [[3]]"]


def test_dropping_a_base_in_a_fork_does_nothing(tmp_path):
    said = run(
        """
        kb = metroon.KnowledgeBase(sys.argv[1])
        kb.add("(n 1)")
        view, live, metta = kb.view(), kb.subscribe("(n $x)"), hyperon.MeTTa()

        def child():
            global kb, view, live, metta
            del kb, view, live, metta
            gc.collect()
            print("dropped")

        print([in_child(child) for _ in range(3)])
        kb.add("(n 2)")
        kb.close()
        print(len(metroon.KnowledgeBase(sys.argv[1]).query("(n $x)")))
        """,
        tmp_path / "kb",
    )
    assert said == ["dropped"] * 3 + ["[0, 0, 0]", "2"]


def test_a_fork_that_lives_on_does_not_hold_the_folder(tmp_path):
    """The files of the lock are the child's too: the parent could not open its base again before the child had ended."""
    said = run(
        """
        kb = metroon.KnowledgeBase(sys.argv[1])
        kb.add("(n 1)")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        kb.close()
        kb = metroon.KnowledgeBase(sys.argv[1])
        kb.add("(n 2)")
        kb.close()
        os.write(writing, b"x")
        os.waitpid(child, 0)
        print(len(metroon.KnowledgeBase(sys.argv[1]).query("(n $x)")))
        """,
        tmp_path / "kb",
    )
    assert said == ["2"]


def test_forks_while_others_write_do_not_wait(tmp_path):
    """Locks that another thread holds at the moment of the fork stay locked in the child."""
    said = run(
        """
        kb = metroon.KnowledgeBase(sys.argv[1])
        done = threading.Event()

        def write():
            number = 0
            while not done.is_set():
                number += 1
                kb.add(f"(n {number})")
                kb.query("(n 1)")

        threads = [threading.Thread(target=write) for _ in range(2)]
        for thread in threads:
            thread.start()

        def child():
            for call in (lambda: kb.add("(n 0)"), lambda: kb.query("(n $x)"), lambda: len(kb)):
                try:
                    call()
                    print("has returned")
                except metroon.ForkError:
                    pass
            os._exit(0)

        print([in_child(child) for _ in range(100)] == [0] * 100)
        done.set()
        for thread in threads:
            thread.join()
        kb.close()
        """,
        tmp_path / "kb",
    )
    assert said == ["True"]


def test_processes_that_are_started_anew_open_their_own(tmp_path):
    said = run(
        """
        import multiprocessing
        kb = metroon.KnowledgeBase()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(eval, ["__import__('metroon').KnowledgeBase().run('!(+ 1 2)')"] * 2))
        kb.add("(n 1)")
        """,
        tmp_path,
    )
    assert said == ["[[[3]], [[3]]]"]
