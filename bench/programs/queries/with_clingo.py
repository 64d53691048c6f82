"""The side of clingo, which materialises: grounding the rule of a query makes an atom of each answer.

A question is the grounding of a rule that is parsed before, over edges that are grounded before."""

import clingo
import worker

edges = ""
rule = ""
arity = 0


def load(path):
    global edges
    with open(path) as file:
        lines = file.read().split()
    nanoseconds, edges = worker.timed(lambda: "".join(f"edge({line})." for line in lines))
    return nanoseconds, len(lines)


def take(word):
    global rule, arity
    pairs, variables = worker.patterns(word)
    body = ", ".join(f"edge({start.upper()}, {end.upper()})" for start, end in pairs)
    rule = f"found({', '.join(variables).upper()}) :- {body}."
    arity = len(variables)
    return 0, len(pairs)


def ask():
    control = clingo.Control()
    control.add("base", [], edges)
    control.add("query", [], rule)
    control.ground([("base", [])])
    nanoseconds, _ = worker.timed(lambda: control.ground([("query", [])]))
    return nanoseconds, sum(1 for _ in control.symbolic_atoms.by_signature("found", arity))


worker.serve(load=load, take=take, ask=ask)
