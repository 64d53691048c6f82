"""Processes that are killed while they change a base: what was acknowledged is there, and each transaction is there whole or not at all.

METROON_KILLS=1000 says how many rounds are made.
"""

import os
import random
import subprocess
import sys
import textwrap
import time

import metroon

ROUNDS = int(os.environ.get("METROON_KILLS", "8"))

WRITER = textwrap.dedent("""
    import sys
    import metroon

    number = int(sys.argv[2])
    with metroon.KnowledgeBase(sys.argv[1]) as kb:
        live = kb.subscribe("(fact $n)")
        while True:
            number += 1
            try:
                with kb.transaction() as changes:
                    changes.add(f"(fact {number})", "(refused)")
                    raise ZeroDivisionError
            except ZeroDivisionError:
                pass
            with kb.transaction() as changes:
                changes.add(f"(fact {number})")
                changes.run(f'(= (twin {number}) "{"x" * (number % 7 * 300)}")')
                changes.add(f"(twin {number})", "(open)")
                changes.remove("(open)")
            print(number, flush=True)
""")


def killed(path, known, seconds):
    """The last number that a writer acknowledged before it was killed."""
    command = [sys.executable, "-c", WRITER, str(path), str(known)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        first = writer.stdout.readline()
        assert first, writer.stderr.read()
        time.sleep(seconds)
        writer.kill()
        # A line counts when its end is there.
        lines = [line for line in (first + writer.stdout.read()).splitlines(keepends=True) if line.endswith("\n")]
    return int(lines[-1])


def test_transactions_of_a_killed_process_are_there_whole_or_not_at_all(tmp_path):
    path, known = tmp_path / "kb", 0
    dice = random.Random(20_261_129)
    for round in range(ROUNDS):
        acknowledged = killed(path, known, dice.random() * 0.03)
        with metroon.KnowledgeBase(path) as kb:
            facts = [row[0] for row in kb.query("(fact $n)")]
            assert facts == list(range(1, len(facts) + 1)), round
            assert acknowledged <= len(facts) <= acknowledged + 1, (round, acknowledged, len(facts))
            assert [row[0] for row in kb.query("(twin $n)")] == facts, round
            assert [row[0] for row in kb.query("(= (twin $n) $text)")] == facts, round
            assert len(kb.query("(refused)")) == len(kb.query("(open)")) == 0, round
            known = len(facts)
    assert known > ROUNDS
