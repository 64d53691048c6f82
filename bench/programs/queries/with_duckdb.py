"""The side of DuckDB, with a statement that is prepared before.

The first argument says what becomes of the answers: `count` counts them and keeps none, `table` puts them into a table. The second is
how many threads DuckDB has; without one it has as many as it chooses."""

import sys

import duckdb
import worker

keeps_answers = sys.argv[1] == "table"
base = duckdb.connect()
if len(sys.argv) > 2:
    base.execute(f"SET threads = {int(sys.argv[2])}")


def load(path):
    columns = "{'a': 'INTEGER', 'b': 'INTEGER'}"
    source = f"read_csv('{path}', header = false, columns = {columns})"
    nanoseconds, _ = worker.timed(lambda: base.execute(f"CREATE OR REPLACE TABLE edge AS SELECT * FROM {source}"))
    return nanoseconds, base.execute("SELECT count(*) FROM edge").fetchone()[0]


def take(word):
    """An edge is a table of its own; columns of one variable are equal."""
    pairs, variables = worker.patterns(word)
    columns = {variable: [] for variable in variables}
    for number, (start, end) in enumerate(pairs):
        columns[start].append(f"e{number}.a")
        columns[end].append(f"e{number}.b")
    tables = ", ".join(f"edge e{number}" for number in range(len(pairs)))
    equal = [f"{first} = {other}" for first, *others in columns.values() for other in others]
    body = f"FROM {tables} WHERE {' AND '.join(equal)}"
    base.execute("DROP TABLE IF EXISTS found")
    if keeps_answers:
        named = ", ".join(f"{columns[variable][0]} AS {variable}" for variable in variables)
        base.execute(f"CREATE TEMP TABLE found AS SELECT {named} {body} LIMIT 0")
        base.execute(f"PREPARE asked AS INSERT INTO found SELECT {named} {body}")
    else:
        base.execute(f"PREPARE asked AS SELECT count(*) {body}")
    return 0, len(pairs)


def ask():
    """An insertion answers with the number of its rows, and a count with itself."""
    if keeps_answers:
        base.execute("TRUNCATE found")
    return worker.timed(lambda: base.execute("EXECUTE asked").fetchone()[0])


worker.serve(load=load, take=take, ask=ask)
