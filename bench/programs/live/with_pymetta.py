"""The side of PyMeTTa: a live join of two patterns, which is right after each change of the edges.

- `load PATH`: states the edges of a file, a line each, as two numbers with a comma between them, and opens the view.
- `change +A,B -A,B ...`: adds or removes edges, one after the other. Only this is measured; the checksum is how many answers the view has."""

import os
import sys

import metta
from metta.live import Live

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "queries"))
import worker  # noqa: E402

runner = metta.MeTTa()
view = None


def edge(pair):
    start, end = pair.split(",")
    return metta.S.edge(int(start), int(end))


def load(path):
    global view
    edges = worker.text_of(path).splitlines()
    runner.run("".join(f"(edge {line.replace(',', ' ')})\n" for line in edges))
    a, b, c = metta.V.a, metta.V.b, metta.V.c
    view = Live(runner, metta.S.edge(a, b), metta.S.edge(b, c))
    return 0, len(view)


def apply(words):
    for word in words:
        change = runner.add if word[0] == "+" else runner.remove
        change(edge(word[1:]))
    return len(view)


def change(*words):
    return worker.timed(lambda: apply(words))


worker.serve(load=load, change=change)
