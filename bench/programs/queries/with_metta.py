"""The side of another implementation of MeTTa, which runs the same text as ours: `hyperon` or `metta` (PyMeTTa), as the first argument
says.

Facts are stated by a text, and the rule of `answers` by another one; a question is its call, whose only result is a number."""

import importlib
import sys

import worker

module = importlib.import_module(sys.argv[1])
facts = ""
runner = None


def load(path):
    global facts
    facts = worker.text_of(path)
    nanoseconds, _ = worker.timed(lambda: run(facts))
    return nanoseconds, facts.count("\n")


def state(path):
    """The rule of the file is the only one beside the facts."""
    run(facts + worker.text_of(path))
    return 0, 1


def run(text):
    global runner
    runner = module.MeTTa()
    runner.run(text)


def ask():
    nanoseconds, results = worker.timed(lambda: runner.run("!(answers)"))
    return nanoseconds, int(str(results[0][0]))


worker.serve(load=load, state=state, ask=ask)
