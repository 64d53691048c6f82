"""The side of Ladybug, the maintained fork of Kùzu, which counts: the statement is prepared before and materialises no answer.

It has one thread. Nodes are rows with a key, and edges are relationships between them."""

import warnings

import ladybug
import worker

# Statements that are prepared apart are deprecated; planned anew, a query of ten patterns takes five times as long.
warnings.simplefilter("ignore", DeprecationWarning)
connection = None
found = None


def load(path):
    """A base in memory, whose nodes are all numbers that occur."""
    global connection
    connection = ladybug.Connection(ladybug.Database(":memory:"), num_threads=1)
    connection.execute("CREATE NODE TABLE Node(id INT64, PRIMARY KEY(id))")
    connection.execute("CREATE REL TABLE Edge(FROM Node TO Node)")
    with open(path) as file:
        nodes = sorted({int(number) for line in file for number in line.split(",")})
    nodes_path = f"{path}.nodes.csv"
    with open(nodes_path, "w") as file:
        file.writelines(f"{node}\n" for node in nodes)
    connection.execute(f"COPY Node FROM '{nodes_path}' (header = false)")
    nanoseconds, _ = worker.timed(lambda: connection.execute(f"COPY Edge FROM '{path}' (header = false)"))
    return nanoseconds, rows(connection.execute("MATCH (:Node)-[:Edge]->(:Node) RETURN count(*)"))


def rows(result):
    return result.get_next()[0]


def take(word):
    global found
    pairs, _ = worker.patterns(word)
    edges = ", ".join(f"({start}:Node)-[:Edge]->({end}:Node)" for start, end in pairs)
    found = connection.prepare(f"MATCH {edges} RETURN count(*)")
    return 0, len(pairs)


def ask():
    return worker.timed(lambda: rows(connection.execute(found)))


worker.serve(load=load, take=take, ask=ask)
