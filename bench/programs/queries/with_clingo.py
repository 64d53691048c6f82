"""The side of clingo, which materialises: grounding the rule of a query makes an atom of each answer.

A question is the grounding of a rule that is parsed before, over edges that are grounded before."""

import clingo
import worker

edges = ""
rule = ""


def load(path):
    global edges
    lines = worker.text_of(path).split()
    nanoseconds, edges = worker.timed(lambda: "".join(f"edge({line})." for line in lines))
    return nanoseconds, len(lines)


def take(word):
    global rule
    pairs, variables = worker.patterns(word)
    body = ", ".join(f"edge({start.upper()}, {end.upper()})" for start, end in pairs)
    rule = f"found({', '.join(variables).upper()}) :- {body}."
    return 0, len(pairs)


def state(path):
    """The rules of a file make atoms of `found`."""
    global rule
    rule = worker.text_of(path)
    return 0, 1


def ask():
    control = clingo.Control()
    control.add("base", [], edges)
    control.add("query", [], rule)
    control.ground([("base", [])])
    nanoseconds, _ = worker.timed(lambda: control.ground([("query", [])]))
    atoms = control.symbolic_atoms
    arities = [arity for name, arity, _ in atoms.signatures if name == "found"]
    return nanoseconds, sum(1 for arity in arities for _ in atoms.by_signature("found", arity))


worker.serve(load=load, take=take, state=state, ask=ask)
