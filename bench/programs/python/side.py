"""One side of the suite `python`: `metroon`, `hyperon` or `metta` (PyMeTTa), as the first argument says.

It reads commands, a line each: a case and how many operations it is to do. It answers with the nanoseconds that these took and a
checksum. All sides have the same case written in the same way, as far as their packages have the same names; ours is called by those of
`metroon.hyperon` wherever `hyperon` is the peer."""

import sys
import threading
import time

MODULE = sys.argv[1]
if MODULE == "metroon":
    import metroon
    import metroon.hyperon as api
elif MODULE == "metta":
    import metta as api
else:
    import hyperon as api


def timed(work):
    """How many nanoseconds some work took, and what came of it."""
    began = time.perf_counter_ns()
    done = work()
    return time.perf_counter_ns() - began, done


def number(results):
    """The only result of the last form as a number."""
    return int(float(str(results[-1][0])))


def inc(number):
    return number + 1


def runner(text):
    made = api.MeTTa()
    made.run(text)
    return made


def startup(count):
    def start():
        total = 0
        for _ in range(count):
            total += number(api.MeTTa().run("!(+ 1 2)"))
        return total

    return timed(start)


def fib(count):
    # Each call is made, as the peers make it.
    setting = "!(pragma! memoise off) " if MODULE == "metroon" else ""
    made = runner(f"{setting}(= (fib $n) (if (< $n 2) $n (+ (fib (- $n 1)) (fib (- $n 2)))))")
    nanoseconds, results = timed(lambda: made.run(f"!(fib {count})"))
    return nanoseconds, number(results)


def chain(count):
    facts = "".join(f"(next {place} {place + 1})\n" for place in range(count))
    rule = "(= (walk $x $n) (if (== $n 0) $x (let $z (match &self (next $x $y) $y) (walk $z (- $n 1)))))"
    made = runner(facts + rule)
    nanoseconds, results = timed(lambda: made.run(f"!(walk 0 {count})"))
    return nanoseconds, number(results)


def call(count):
    """A loop of MeTTa that calls a function of Python; ours by `metroon.function`, hyperon's by an operation atom."""
    loop = "(= (loop $n) (if (== $n 0) 0 (loop (- (inc $n) 2))))"
    if MODULE == "metroon":
        base = metroon.KnowledgeBase()

        @base.function(pure=True, name="inc")
        def typed(number: int) -> int:
            return number + 1

        base.run(loop)
        return timed(lambda: 1 + base.run(f"!(loop {count})")[0][0])
    made = api.MeTTa()
    made.register_atom("inc", api.OperationAtom("inc", inc, ["Number", "Number"]))
    made.run(loop)
    nanoseconds, results = timed(lambda: made.run(f"!(loop {count})"))
    return nanoseconds, 1 + number(results)


def operation(count):
    """The same with an operation atom on both sides."""
    made = api.MeTTa()
    made.register_atom("inc", api.OperationAtom("inc", inc, ["Number", "Number"]))
    made.run("(= (loop $n) (if (== $n 0) 0 (loop (- (inc $n) 2))))")
    nanoseconds, results = timed(lambda: made.run(f"!(loop {count})"))
    return nanoseconds, 1 + number(results)


def alone(count):
    """What Python takes to call the same function in a loop of its own."""

    def loop():
        left = count
        while left != 0:
            left = inc(left) - 2
        return 1 + left

    return timed(loop)


def add(count):
    space = api.MeTTa().space()
    E, S, ValueAtom = api.E, api.S, api.ValueAtom

    def work():
        for place in range(count):
            space.add_atom(E(S("edge"), ValueAtom(place), ValueAtom(place + 1)))
        return count

    return timed(work)


def query(count):
    made = runner("".join(f"(edge {place} {place + 1})\n" for place in range(1000)))
    space, E, S, V, ValueAtom = made.space(), api.E, api.S, api.V, api.ValueAtom

    def work():
        total = 0
        for place in range(count):
            for found in space.query(E(S("edge"), ValueAtom(place % 1000), V("x"))):
                total += int(str(found["x"]))
        return total

    return timed(work)


def frame(count):
    """Facts from a frame of pandas: two columns of numbers and one of texts. hyperon has the columns as lists."""
    firsts, seconds = list(range(count)), [place % 1000 for place in range(count)]
    texts = [f"name{place % 1000}" for place in range(count)]
    if MODULE == "metroon":
        import pandas

        table = pandas.DataFrame({"a": firsts, "b": seconds, "c": texts})
        base = metroon.KnowledgeBase()
        nanoseconds, _ = timed(lambda: base.add_rows("fact", table))
        return nanoseconds, len(base)
    space = api.MeTTa().space()
    E, ValueAtom, head = api.E, api.ValueAtom, api.S("fact")

    def work():
        for a, b, c in zip(firsts, seconds, texts):
            space.add_atom(E(head, ValueAtom(a), ValueAtom(b), ValueAtom(c)))
        return space.atom_count()

    return timed(work)


def tuples(count):
    """Facts from a list of tuples."""
    rows = [(place, place % 1000, f"name{place % 1000}") for place in range(count)]
    base = metroon.KnowledgeBase()
    nanoseconds, _ = timed(lambda: base.add_rows("fact", rows))
    return nanoseconds, len(base)


_asked = {}


def _space(count):
    """What holds the facts whose answers are asked for; it is made once."""
    if count not in _asked:
        if MODULE == "metroon":
            _asked[count] = metroon.KnowledgeBase()
            _asked[count].add_rows("fact", [(place, place % 1000) for place in range(count)])
        else:
            _asked[count] = api.MeTTa().space()
            for place in range(count):
                _asked[count].add_atom(api.E(api.S("fact"), api.ValueAtom(place), api.ValueAtom(place % 1000)))
    return _asked[count]


def answers(count):
    """The answers of a query as columns: ours a frame of pandas, the peer's lists of values of Python."""
    space = _space(count)
    if MODULE == "metroon":
        import pandas  # noqa: F401

        nanoseconds, table = timed(lambda: space.query("(fact $a $b)").to_pandas())
        return nanoseconds, int(table["a"].sum()) + int(table["b"].sum())
    E, S, V = api.E, api.S, api.V

    def work():
        found = list(space.query(E(S("fact"), V("a"), V("b"))))
        value = lambda atom: atom.get_object().content
        return [value(row["a"]) for row in found], [value(row["b"]) for row in found]

    nanoseconds, (firsts, seconds) = timed(work)
    return nanoseconds, sum(firsts) + sum(seconds)


def answer_tuples(count):
    """The same as tuples."""
    base = _space(count)
    nanoseconds, rows = timed(lambda: list(base.query("(fact $a $b)")))
    return nanoseconds, sum(a + b for a, b in rows)


_bases = {}


def _view(count):
    if count not in _bases:
        base = metroon.KnowledgeBase()
        base.add_rows("edge", [(place, place * 7 % count) for place in range(count)])
        _bases[count] = base
    return _bases[count].view()


def _ask(count):
    view = _view(count)
    return sum(len(view.query("(, (edge $a $b) (edge $b $c) (edge $c $d))")) for _ in range(4))


def one_thread(count):
    """Questions of two threads, one after the other."""
    _view(count)
    return timed(lambda: _ask(count) + _ask(count))


def two_threads(count):
    """The same at once."""
    _view(count)

    def work():
        found = []
        threads = [threading.Thread(target=lambda: found.append(_ask(count))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(found)

    return timed(work)


CASES = {
    work.__name__: work
    for work in (startup, fib, chain, call, operation, alone, add, query, frame, tuples)
    + (answers, answer_tuples, one_thread, two_threads)
}

# What programs print does not mix with the answers.
answers_to, sys.stdout = sys.stdout, sys.stderr
for line in sys.stdin:
    name, count = line.split()
    nanoseconds, checksum = CASES[name](int(count))
    print(nanoseconds, checksum, file=answers_to, flush=True)
