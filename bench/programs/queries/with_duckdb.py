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
    return loaded("edge", f"CREATE OR REPLACE TABLE edge AS SELECT * FROM {source}")


def load_triples(path):
    """Rows of one predicate lie together, and subjects and objects have an index each."""
    columns = "{'s': 'VARCHAR', 'p': 'VARCHAR', 'o': 'VARCHAR'}"
    source = f"read_csv('{path}', header = false, columns = {columns})"
    table = f"CREATE TABLE triple AS SELECT * FROM {source} ORDER BY p, s, o"
    return loaded("triple", f"{table}; CREATE INDEX by_s ON triple (s); CREATE INDEX by_o ON triple (o)")


def loaded(table, statements):
    nanoseconds, _ = worker.timed(lambda: base.execute(statements))
    return nanoseconds, base.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def take(word):
    """An edge is a table of its own; columns of one variable are equal."""
    pairs, variables = worker.patterns(word)
    columns = {variable: [] for variable in variables}
    for number, (start, end) in enumerate(pairs):
        columns[start].append(f"e{number}.a")
        columns[end].append(f"e{number}.b")
    tables = ", ".join(f"edge e{number}" for number in range(len(pairs)))
    equal = [f"{first} = {other}" for first, *others in columns.values() for other in others]
    named = ", ".join(f"{columns[variable][0]} AS {variable}" for variable in variables)
    prepare(f"SELECT {named} FROM {tables} WHERE {' AND '.join(equal)}")
    return 0, len(pairs)


def state(path):
    prepare(worker.text_of(path))
    return 0, 1


def prepare(query):
    base.execute("DROP TABLE IF EXISTS found")
    if keeps_answers:
        base.execute(f"CREATE TEMP TABLE found AS SELECT * FROM ({query}) LIMIT 0")
        base.execute(f"PREPARE asked AS INSERT INTO found {query}")
    else:
        base.execute(f"PREPARE asked AS SELECT count(*) FROM ({query})")


def ask():
    """An insertion answers with the number of its rows, and a count with itself."""
    if keeps_answers:
        base.execute("TRUNCATE found")
    return worker.timed(lambda: base.execute("EXECUTE asked").fetchone()[0])


worker.serve(load=load, load_triples=load_triples, take=take, state=state, ask=ask)
