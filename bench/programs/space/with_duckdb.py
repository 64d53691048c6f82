"""The side of DuckDB: reads commands, a line each, and answers with nanoseconds and a checksum.

The table has one index, of the column that is asked about; statements are prepared before. The names that are found come to this program,
which adds up their lengths: that is the checksum."""

import sys
import time

import duckdb

STATEMENTS = {
    "point": ("a", "SELECT b FROM edge WHERE a = $1"),
    "second": ("b", "SELECT a FROM edge WHERE b = $1"),
    "scan": ("b", "SELECT a, b FROM edge"),
}
base = None
taken = []


def load(path):
    """The file as a table, then an index of the second column."""
    global base
    base = duckdb.connect()
    began = time.perf_counter_ns()
    columns = "{'a': 'VARCHAR', 'b': 'VARCHAR'}"
    base.execute(f"CREATE TABLE edge AS SELECT * FROM read_csv('{path}', header = false, columns = {columns})")
    base.execute("CREATE INDEX asked ON edge (b)")
    nanoseconds = time.perf_counter_ns() - began
    return nanoseconds, base.execute("SELECT count(*) FROM edge").fetchone()[0]


def take(kind, path):
    """Makes the index and the statement for a kind of question, and reads the names that it is asked about."""
    global taken
    column, statement = STATEMENTS[kind]
    base.execute("DROP INDEX asked")
    base.execute(f"CREATE INDEX asked ON edge ({column})")
    base.execute(f"PREPARE {kind} AS {statement}")
    with open(path) as file:
        taken = [f"EXECUTE {kind}('{line.strip()}')" for line in file] or [f"EXECUTE {kind}"]
    return 0, len(taken)


def ask():
    began = time.perf_counter_ns()
    checksum = sum(len(name) for question in taken for row in base.execute(question).fetchall() for name in row)
    return time.perf_counter_ns() - began, checksum


COMMANDS = {"load": load, "take": take, "ask": ask}
for line in sys.stdin:
    name, *words = line.split()
    nanoseconds, checksum = COMMANDS[name](*words)
    print(nanoseconds, checksum, flush=True)
