"""The side of hyperon: reads commands, a line each, and answers with nanoseconds and a checksum.

The checksum is the sum of the lengths of the names that were found."""

import sys
import time

from hyperon import E, MeTTa, S, V

STRIDE = 7_368_787
EDGE = S("edge")
runner = None
taken = []


def load(path):
    global runner
    runner = MeTTa()
    began = time.perf_counter_ns()
    with open(path) as file:
        runner.run(file.read())
    return time.perf_counter_ns() - began, runner.space().atom_count()


def query(pattern, names):
    return sum(len(found[name].get_name()) for found in runner.space().query(pattern) for name in names)


def timed(count, one):
    began = time.perf_counter_ns()
    checksum = sum(one(position) for position in range(count))
    return time.perf_counter_ns() - began, checksum


def point(facts, count):
    patterns = [E(EDGE, S(f"a{position * STRIDE % facts}"), V("x")) for position in range(count)]
    return timed(count, lambda position: query(patterns[position], ["x"]))


def take(path):
    """Makes patterns of the numbers in a file."""
    global taken
    with open(path) as file:
        taken = [E(EDGE, S(f"a{line.strip()}"), V("x")) for line in file]
    return 0, len(taken)


def asked(passes):
    """Asks them all, one after the other, so many times."""
    began = time.perf_counter_ns()
    checksum = sum(query(pattern, ["x"]) for _ in range(passes) for pattern in taken)
    return time.perf_counter_ns() - began, checksum


def program(facts, count):
    texts = [f"!(match &self (edge a{position * STRIDE % facts} $x) $x)" for position in range(count)]
    return timed(count, lambda position: sum(len(atom.get_name()) for atom in runner.run(texts[position])[0]))


def second(facts, count):
    patterns = [E(EDGE, V("x"), S(f"b{position}")) for position in range(count)]
    return timed(count, lambda position: query(patterns[position], ["x"]))


def scan(facts, count):
    pattern = E(EDGE, V("x"), V("y"))
    return timed(count, lambda position: query(pattern, ["x", "y"]))


COMMANDS = {
    "load": load,
    "take": take,
    "asked": asked,
    "point": point,
    "program": program,
    "second": second,
    "scan": scan,
}
for line in sys.stdin:
    name, *words = line.split()
    nanoseconds, checksum = COMMANDS[name](*(int(word) if word.isdigit() else word for word in words))
    print(nanoseconds, checksum, flush=True)
