"""The side of hyperon: reads commands, a line each, and answers with nanoseconds and a checksum.

The checksum is the sum of the lengths of the names that were found."""

import sys
import time

from hyperon import ExpressionAtom, MeTTa

runner = None
taken = []


def load(path):
    global runner
    runner = MeTTa()
    began = time.perf_counter_ns()
    with open(path) as file:
        runner.run(file.read())
    return time.perf_counter_ns() - began, runner.space().atom_count()


def take(kind, path):
    """Reads the rule for a kind of question; of the kind `text`, a line is a program of its own."""
    global taken
    with open(path) as file:
        text = file.read()
    if kind == "text":
        taken = text.splitlines()
    else:
        runner.run(text)
        taken = [f"!({kind})"]
    return 0, len(taken)


def length(atom):
    return sum(map(length, atom.get_children())) if isinstance(atom, ExpressionAtom) else len(atom.get_name())


def ask():
    began = time.perf_counter_ns()
    checksum = sum(length(atom) for text in taken for results in runner.run(text) for atom in results)
    return time.perf_counter_ns() - began, checksum


COMMANDS = {"load": load, "take": take, "ask": ask}
for line in sys.stdin:
    name, *words = line.split()
    nanoseconds, checksum = COMMANDS[name](*words)
    print(nanoseconds, checksum, flush=True)
