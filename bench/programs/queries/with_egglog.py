"""The side of egglog, which materialises: a rule puts each answer as a tuple into a relation.

A question is one run of the rule, or runs until nothing new is found if rules are stated by a file, in a scope that is entered before and left afterwards, so that each begins without answers."""

import re

import worker
from egglog.bindings import EGraph

graph = None
found = None
schedule = None


def run(text):
    return graph.run_program(*graph.parse_program(text))


def load(path):
    """The relation of edges; what is read has a tab where the file has a comma."""
    global graph
    graph = EGraph()
    run("(relation edge (i64 i64))")
    text = worker.text_of(path).replace(",", "\t")
    tabbed = f"{path}.tsv"
    with open(tabbed, "w") as file:
        file.write(text)
    nanoseconds, _ = worker.timed(lambda: run(f'(input edge "{tabbed}")'))
    return nanoseconds, size("edge")


def size(relation):
    return int(re.findall(r"\d+", str(run(f"(print-size {relation})")[0]))[-1])


def take(word):
    """Each query has a relation and a set of rules of its own."""
    global found, schedule
    pairs, variables = worker.patterns(word)
    found = f"found{take.count}"
    take.count += 1
    body = " ".join(f"(edge {start} {end})" for start, end in pairs)
    run(f"(relation {found} ({' '.join('i64' for _ in variables)}))")
    run(f"(ruleset of-{found})")
    run(f"(rule ({body}) (({found} {' '.join(variables)})) :ruleset of-{found})")
    schedule = f"(run of-{found} 1)"
    return 0, len(pairs)


take.count = 0


def state(path):
    """The rules of a file put answers into `found`."""
    global found, schedule
    run(worker.text_of(path))
    found = "found"
    schedule = "(run-schedule (saturate (run)))"
    return 0, 1


def ask():
    run("(push)")
    commands = graph.parse_program(schedule)
    nanoseconds, _ = worker.timed(lambda: graph.run_program(*commands))
    count = size(found)
    run("(pop)")
    return nanoseconds, count


worker.serve(load=load, take=take, state=state, ask=ask)
