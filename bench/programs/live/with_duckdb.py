"""The side of DuckDB: a closure that is found again after each change of the edges, by a recursive query on one thread.

- `load PATH`: reads the edges of a file, a line each, as two numbers with a comma between them; the checksum is how many pairs there are.
- `change +A,B -A,B ...`: adds or removes edges, one after the other, and counts the pairs of the closure after each. Only this is
  measured; the checksum is the last count."""

import os
import sys

import duckdb

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "queries"))
import worker  # noqa: E402

CLOSURE = """WITH RECURSIVE reach AS (
    SELECT a, b FROM edge UNION SELECT reach.a, edge.b FROM reach JOIN edge ON reach.b = edge.a
) SELECT count(*) FROM reach"""
base = duckdb.connect()
base.execute("SET threads = 1")


def load(path):
    columns = "{'a': 'INTEGER', 'b': 'INTEGER'}"
    source = f"read_csv('{path}', header = false, columns = {columns})"
    base.execute(f"CREATE OR REPLACE TABLE edge AS SELECT * FROM {source}")
    return 0, pairs()


def pairs():
    return base.execute(CLOSURE).fetchone()[0]


def apply(words):
    for word in words:
        edge = [int(node) for node in word[1:].split(",")]
        if word[0] == "+":
            base.execute("INSERT INTO edge VALUES (?, ?)", edge)
        else:
            base.execute("DELETE FROM edge WHERE a = ? AND b = ?", edge)
        count = pairs()
    return count


def change(*words):
    return worker.timed(lambda: apply(words))


worker.serve(load=load, change=change)
