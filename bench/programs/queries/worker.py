"""What the sides of the suite `queries` that are Python have in common: they read commands, a line each, and answer with nanoseconds
and a checksum, which is the number of answers.

- `load PATH`: reads the edges, a line each, as two numbers with a comma between them.
- `take PATTERNS`: the query that is asked from now on, such as `ab,bc,ac`: an edge from a to b, one from b to c, one from a to c.
- `state PATH`: the query that is asked from now on is what a file says in the peer's own language.
- `ask`: answers the query. Only what `ask` does is measured."""

import sys
import time


def patterns(word):
    """The patterns of a query as pairs of variables, and all its variables in order."""
    pairs = [tuple(pair) for pair in word.split(",")]
    return pairs, sorted({variable for pair in pairs for variable in pair})


def text_of(path):
    with open(path) as file:
        return file.read()


def timed(work):
    """How many nanoseconds some work took, and what came of it."""
    began = time.perf_counter_ns()
    done = work()
    return time.perf_counter_ns() - began, done


def serve(**commands):
    """Does what the lines of the standard input say until it ends."""
    for line in sys.stdin:
        name, *words = line.split()
        nanoseconds, checksum = commands[name](*words)
        print(nanoseconds, checksum, flush=True)
