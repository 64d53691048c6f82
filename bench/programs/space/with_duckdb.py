"""The side of DuckDB: reads commands, a line each, and answers with nanoseconds and a checksum.

The checksum is the sum of the lengths of the names that were found. DuckDB computes it itself, so that no result is turned into an
object of Python."""

import sys
import time

import duckdb

STRIDE = 7_368_787
base = None


def load(path):
    """The file as a table, then an index of each column."""
    global base
    base = duckdb.connect()
    began = time.perf_counter_ns()
    columns = "{'a': 'VARCHAR', 'b': 'VARCHAR'}"
    base.execute(f"CREATE TABLE edge AS SELECT * FROM read_csv('{path}', header = false, columns = {columns})")
    base.execute("CREATE INDEX by_a ON edge (a)")
    base.execute("CREATE INDEX by_b ON edge (b)")
    nanoseconds = time.perf_counter_ns() - began
    return nanoseconds, base.execute("SELECT count(*) FROM edge").fetchone()[0]


def timed(statement, arguments):
    began = time.perf_counter_ns()
    checksum = sum(int(base.execute(statement, argument).fetchone()[0]) for argument in arguments)
    return time.perf_counter_ns() - began, checksum


def point(facts, count):
    names = [[f"a{position * STRIDE % facts}"] for position in range(count)]
    return timed("SELECT sum(length(b)) FROM edge WHERE a = ?", names)


def second(facts, count):
    return timed("SELECT sum(length(a)) FROM edge WHERE b = ?", [[f"b{position}"] for position in range(count)])


def scan(facts, count):
    return timed("SELECT sum(length(a) + length(b)) FROM edge", [[]] * count)


COMMANDS = {"load": load, "point": point, "second": second, "scan": scan}
for line in sys.stdin:
    name, *words = line.split()
    nanoseconds, checksum = COMMANDS[name](*(int(word) if word.isdigit() else word for word in words))
    print(nanoseconds, checksum, flush=True)
