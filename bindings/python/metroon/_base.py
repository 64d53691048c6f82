"""Knowledge bases, as people use them."""

from __future__ import annotations

import asyncio
import datetime
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _engine, _frames, _limits, _rows
from ._errors import ForkError
from ._functions import Function, described, function

# A base in memory keeps so much of its history beside what it holds, in bytes.
_HISTORY = 8 << 20
# So many bytes of changes wait for all subscriptions of a base together.
_WAITING = 64 << 20

Pattern = Union[str, _engine.Atom, Sequence[Any]]
Moment = Union[int, str, datetime.date]


def _moment(when: Moment) -> Union[int, str]:
    """A moment as the engine reads it."""
    if isinstance(when, datetime.datetime):
        if when.utcoffset() is None:
            raise ValueError(f"{when} has no time zone: {when!r}.astimezone() takes that of this machine")
        return when.isoformat()
    if isinstance(when, datetime.date):
        return when.isoformat()
    if isinstance(when, bool) or not isinstance(when, (int, str)):
        raise TypeError(f"as_of takes the number of a commit, a text, a date or a datetime, not {type(when).__name__}")
    if not isinstance(when, str) and when < 0:
        raise ValueError(f"commits have numbers from 0 on, not {when}")
    return when


class Rows(Sequence):
    """The answers of a query: a sequence of tuples, with a column for each variable of the pattern."""

    def __init__(self, rows: _engine.Rows) -> None:
        self._rows = rows

    @property
    def columns(self) -> Tuple[str, ...]:
        return self._rows.columns

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __iter__(self) -> Iterator[Tuple[Any, ...]]:
        for start in range(0, len(self._rows), 1024):
            yield from self._rows[start : start + 1024]

    def __eq__(self, other: object) -> bool:
        return self._rows == (other._rows if isinstance(other, Rows) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._rows)

    def column(self, column: Union[str, int]) -> List[Any]:
        """The values of a column."""
        return self._rows.column(column)

    def to_dicts(self) -> List[Dict[str, Any]]:
        """A dictionary for each row."""
        return [dict(zip(self.columns, row)) for row in self]

    def to_pandas(self) -> Any:
        """The rows as a frame of pandas."""
        return _frames.to_pandas(self._rows)

    def to_polars(self) -> Any:
        """The rows as a frame of Polars."""
        return _frames.to_polars(self._rows)

    def to_arrow(self) -> Any:
        """The rows as a table of PyArrow; text is not copied again."""
        return _frames.to_arrow(self._rows)

    def _repr_html_(self) -> str:
        return _frames.to_html(self._rows)


class Reason(NamedTuple):
    """Where an atom comes from: the commit that put it there, and the form."""

    atom: Any
    epoch: int
    origin: str
    line: int
    column: int

    def __repr__(self) -> str:
        return f"{self.atom}: commit {self.epoch}, {self.origin}:{self.line}:{self.column}"


class Reasons(List[Reason]):
    """Where some atoms come from; in a notebook a tree of commits, sources and places."""

    def _repr_html_(self) -> str:
        return _frames.tree_of_reasons(self)


class AtomChange(NamedTuple):
    """What a commit did to an atom: how many copies it added, or took away if the number is negative; in which space, unless that is the
    program's own; and the form that says so."""

    atom: str
    copies: int
    space: Optional[str]
    origin: str
    line: int


class LoggedCommit(NamedTuple):
    """A commit: its number, its date in UTC, the source and line of its first change, how many copies of atoms it added and removed in all, how
    many other things it changed, and the hash of what there was after it. `changes` is what it did to the atom that was asked for; `None` if
    that was not asked for."""

    epoch: int
    date: Optional[str]
    origin: str
    line: int
    added: int
    removed: int
    others: int
    hash: str
    changes: Optional[List[AtomChange]]

    def __repr__(self) -> str:
        place = f"{self.origin}:{self.line}" if self.line else self.origin
        changes = "" if self.changes is None else "".join(f", {change.copies:+} {change.atom}" for change in self.changes)
        return f"commit {self.epoch}, {self.date or 'without a date'}, {place}{changes}"


class Progress(NamedTuple):
    """How far a run has come: the seconds that have passed, the forms after `!` that are done, and their results."""

    seconds: float
    forms: int
    results: int


class Change(NamedTuple):
    """What changed in the answers of a live query: an answer went, came, or became another one."""

    before: Any
    after: Any
    copies: int


class LiveQuery(NamedTuple):
    """A live query that has a name: what must match, what there is for each match, its options, such as `(sum $price)`, and the functions that
    programs have called with each change."""

    name: str
    pattern: str
    template: str
    options: List[str]
    functions: List[str]


def _live_query(
    pattern: str, template: Optional[str], key: Iterable[str], **aggregates: Optional[str]
) -> Tuple[Tuple[str, Optional[str], List[str]], Optional[Tuple[str, str]]]:
    """A live query, and what it makes of its matches, as the engine takes them."""
    wanted = [(kind, variable) for kind, variable in aggregates.items() if variable is not None]
    if len(wanted) > 1:
        raise ValueError("a live query counts, sums, or takes the least or greatest: name one of these")
    return (pattern, template, [key] if isinstance(key, str) else list(key)), wanted[0] if wanted else None


class Event(NamedTuple):
    """What somebody hears who follows a live query.

    `kind` is `answers` (those of the beginning), `snapshot_end`, `changes`, `progress`, `dropped` or `stopped`: then rows do not answer the
    rules of a call any more, for this `reason`. What the commits from `first` to `epoch` changed was `dropped`, since nobody took what waited:
    the `reason` says how to follow the query anew.
    """

    kind: str
    epoch: int
    changes: List[Change]
    reason: Optional[str] = None
    first: Optional[int] = None

    def __repr__(self) -> str:
        shown = ", ".join(
            f"+{change.after}" if change.before is None else f"-{change.before}" if change.after is None else
            f"{change.before} -> {change.after}"
            for change in self.changes
        )
        return f"<{self.kind} of commit {self.epoch}{': ' + shown if shown else ''}>"


class Subscription:
    """A live query that somebody follows: an iterator of events, also an asynchronous one, that ends when the base is closed."""

    def __init__(self, native: _engine.Subscription) -> None:
        self._native = native

    def next(self, timeout: float = 1e9) -> Optional[Event]:
        """The next event; `None` if nothing comes within so many seconds."""
        found = self._native.next_within(timeout)
        if found is None:
            return None
        changes = [Change(*change) for change in found.get("changes", ())]
        return Event(found["kind"], found["epoch"], changes, found.get("reason"), found.get("first"))

    def __iter__(self) -> "Subscription":
        return self

    def __next__(self) -> Event:
        while True:
            event = self.next()
            if event is not None:
                return event
            if self._native.is_over:
                raise StopIteration

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Event:
        loop = asyncio.get_running_loop()
        while True:
            event = await loop.run_in_executor(None, self.next, 0.5)
            if event is not None:
                return event
            if self._native.is_over:
                raise StopAsyncIteration

    def close(self) -> None:
        """Follows it no more."""
        self._native.close()

    def __enter__(self) -> "Subscription":
        return self

    def __exit__(self, *_: Any) -> None:
        _close(self)


def _close(opened: Union["Subscription", "KnowledgeBase"]) -> None:
    """Closes what a block has opened; a fork of the process leaves that to the process."""
    try:
        opened.close()
    except ForkError:
        pass


def _pattern(pattern: Pattern) -> Pattern:
    return _rows.check_atoms([pattern], "a query")[0]


class View:
    """A base as it was after a commit. It never changes, and any thread may ask it."""

    def __init__(self, native: _engine.View) -> None:
        self._native = native

    @property
    def epoch(self) -> int:
        return self._native.epoch

    @property
    def hash(self) -> str:
        return self._native.hash

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return repr(self._native)

    def query(self, pattern: Pattern) -> Rows:
        """The rows that match a pattern; nothing is evaluated."""
        return Rows(self._native.query(_pattern(pattern)))

    def evaluate(self, text: str) -> List[List[Any]]:
        """What the `!` forms of a text come to; a form that changes something or reaches outside is refused."""
        return self._native.evaluate(text)


def _add_rows(
    native: Union[_engine.KnowledgeBase, _engine.Transaction],
    head: Union[str, _engine.Atom],
    rows: Any,
    columns: Optional[Sequence[Any]],
) -> None:
    if not isinstance(head, (str, _engine.Atom)):
        raise TypeError(f"the head of rows is a name or an atom, not {head!r}")
    name = _engine.Symbol(head) if isinstance(head, str) else head
    found = _frames.columns_of(rows, _rows.wanted(columns))
    if found is None:
        native.add_all([(name, *row) for row in _rows.rows_of(rows, columns)])
    elif found:
        native.add_columns(name, found)


class Transaction:
    """Several changes that are one commit, or none: `with kb.transaction() as t:`. An exception undoes all of them."""

    def __init__(self, base: "KnowledgeBase") -> None:
        self._base = base
        self._native: Optional[_engine.Transaction] = None

    def __enter__(self) -> "Transaction":
        self._native = self._base._native.begin()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        native, self._native = self._open(), None
        native.end(kind is None)

    def _open(self) -> _engine.Transaction:
        if self._native is None:
            raise ValueError("the transaction is not open: use it by `with`")
        return self._native

    def run(self, text: str) -> List[List[Any]]:
        """Runs a text inside the transaction."""
        return self._open().run(text)

    def add(self, *atoms: Pattern) -> None:
        """Adds atoms."""
        self._open().add_all(_rows.check_atoms(atoms, "add"))

    def add_rows(self, head: Union[str, _engine.Atom], rows: Any, *, columns: Optional[Sequence[Any]] = None) -> None:
        """Adds rows: see `KnowledgeBase.add_rows`."""
        _add_rows(self._open(), head, rows, columns)

    def remove(self, *atoms: Pattern) -> None:
        """Removes one copy of each of these atoms that is there."""
        self._open().remove_all(_rows.check_atoms(atoms, "remove"))

    def query(self, pattern: Pattern) -> Rows:
        """The rows that match a pattern, what the transaction has done so far included."""
        return Rows(self._open().query(_pattern(pattern)))


class KnowledgeBase:
    """Facts and rules, in a folder or in memory. Any thread may use it: one writes at a time, and all others read meanwhile."""

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]", None] = None,
        *,
        steps: Optional[int] = None,
        heap: Optional[_limits.Bytes] = None,
        memory: Optional[_limits.Bytes] = None,
        timeout: Optional[float] = None,
        deny_all: bool = False,
        allow: Union[str, Iterable[str]] = (),
        history_bytes: Optional[_limits.Bytes] = _HISTORY,
        waiting_bytes: _limits.Bytes = _WAITING,
    ) -> None:
        """Opens the base in a folder, or makes one there; without a path, one in memory.

        `steps`, `heap`, `memory`, `timeout`, `deny_all` and `allow` are what `metroon run` has by these names: limits of each run, and what
        programs may reach. Bytes are numbers, or texts such as "512M". A base in memory keeps `history_bytes` of its history beside what it holds, or
        all of it for `None`. `waiting_bytes` of changes wait for all subscriptions together.
        """
        self._limits = _limits.limits(steps, heap, memory, timeout)
        self._allowed = _limits.permissions(deny_all, allow)
        self._rooms = (_limits.bytes_of("history_bytes", history_bytes), _limits.bytes_of("waiting_bytes", waiting_bytes))
        self._native = _engine.KnowledgeBase(path, self._limits, self._allowed, self._rooms)

    def _of(self, native: _engine.KnowledgeBase) -> "KnowledgeBase":
        """A base with the limits and permissions of this one."""
        base = KnowledgeBase.__new__(KnowledgeBase)
        base._limits, base._allowed, base._rooms, base._native = self._limits, self._allowed, self._rooms, native
        return base

    @property
    def path(self) -> Optional[str]:
        """The folder in which it lies; `None` for one in memory."""
        return self._native.path

    @property
    def epoch(self) -> int:
        """The number of the last commit."""
        return self._native.epoch

    @property
    def hash(self) -> str:
        """The hash of all that it holds."""
        return self._native.hash

    @property
    def warnings(self) -> List[str]:
        """What opening it mended."""
        return self._native.warnings

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return repr(self._native)

    def __enter__(self) -> "KnowledgeBase":
        return self

    def __exit__(self, *_: Any) -> None:
        _close(self)

    def close(self) -> None:
        """Does what was asked until now, and closes the base."""
        self._native.close()

    def run(
        self,
        text: str,
        *,
        file: Optional[str] = None,
        progress: Optional[Callable[[Progress], Any]] = None,
        steps: Optional[int] = None,
        heap: Optional[_limits.Bytes] = None,
        memory: Optional[_limits.Bytes] = None,
        timeout: Optional[float] = None,
    ) -> List[List[Any]]:
        """Runs a text as a part of the program; gives the results of each form after `!`.

        `progress` is called a few times a second while that takes; an exception that it raises cancels the run. Limits are those of the base
        unless they are named here; a run inside a function that a run has called has those of that run.
        """
        listener = None if progress is None else lambda *told: progress(Progress(*told))
        limits = _limits.limits(steps, heap, memory, timeout)
        return self._native.run(text, file=file, progress=listener, limits=limits)

    def run_file(self, path: Union[str, "os.PathLike[str]"], **options: Any) -> List[List[Any]]:
        """Runs a file, with the options of `run`. A base that has run it before applies what was edited."""
        name = os.fspath(path)
        with open(name, encoding="utf-8") as source:
            return self.run(source.read(), file=name, **options)

    def add(self, *atoms: Pattern) -> None:
        """Adds atoms, all in one commit. A string is read as MeTTa; strings inside tuples are strings."""
        self._native.add_all(_rows.check_atoms(atoms, "add"))

    def remove(self, *atoms: Pattern) -> None:
        """Removes one copy of each of these atoms that is there, all in one commit."""
        self._native.remove_all(_rows.check_atoms(atoms, "remove"))

    def add_rows(self, head: Union[str, _engine.Atom], rows: Any, *, columns: Optional[Sequence[Any]] = None) -> None:
        """Adds `(head a b ...)` for each row, all in one commit: of a frame of pandas or Polars, a table of PyArrow, or an iterable of tuples,
        lists, mappings, named tuples or dataclasses.

        Rows with names have those of the first row, in its order, or those that `columns` names, in that order. What is missing in a row is
        `()`. If a row is refused (`RowError`), none is added.
        """
        _add_rows(self._native, head, rows, columns)

    def query(self, pattern: Pattern) -> Rows:
        """The rows that match a pattern, with a column for each variable; nothing is evaluated."""
        return Rows(self._native.query(_pattern(pattern)))

    def view(self) -> View:
        """The base as it is now, for any thread."""
        return View(self._native.view())

    def as_of(self, when: Moment) -> View:
        """The base as it was after a commit, or at a time: a text such as "2026-11-20", which is the end of that day in UTC, a `date`, or a
        `datetime` that knows its time zone."""
        return View(self._native.as_of(_moment(when)))

    def why(self, pattern: Pattern, *, as_of: Optional[Moment] = None) -> Reasons:
        """Where the atoms that match a pattern come from: those that are there now, or those that were there at the moment `as_of`, which is what the
        method `as_of` takes. Words and imports are those of now."""
        when = None if as_of is None else _moment(as_of)
        return Reasons(Reason(**reason) for reason in self._native.why(_pattern(pattern), when))

    def log(
        self, atom: Pattern, changes: bool = False, *, since: Optional[Moment] = None, until: Optional[Moment] = None
    ) -> List[LoggedCommit]:
        """The commits in which an atom was added or removed, in order, with their dates and sources, as `metroon kb log DIR ATOM` prints them; in
        place of the atom there may be a pattern. With `changes`, each has also what it did to the atom. `since` and `until` are the first commit
        and the last that are looked at, by number or date.

        If copies of the atom are older than the first commit that is kept, and `since` is not given, a `KnowledgeBaseError` says so.

        >>> import metroon
        >>> kb = metroon.KnowledgeBase()
        >>> kb.add("(frog Sam)")
        >>> kb.add("(frog Tom)")
        >>> kb.remove("(frog Sam)")
        >>> [commit.epoch for commit in kb.log("(frog Sam)")]
        [1, 3]
        >>> [(change.copies, change.atom) for commit in kb.log("(frog $x)", changes=True) for change in commit.changes]
        [(1, '(frog Sam)'), (1, '(frog Tom)'), (-1, '(frog Sam)')]
        """
        ends = [None if moment is None else _moment(moment) for moment in (since, until)]
        found = []
        for commit in self._native.log(_pattern(atom), changes, *ends):
            told = commit.pop("changes")
            listed = None if told is None else [AtomChange(**change) for change in told]
            found.append(LoggedCommit(changes=listed, **commit))
        return found

    def stats(self) -> Dict[str, Any]:
        """What the parts of the engine have counted since the base was opened: the evaluation, the space, the journal. Under `about` is the unit
        and the meaning of each number, by the names that lead to it.

        >>> import metroon
        >>> kb = metroon.KnowledgeBase()
        >>> kb.run("(frog Sam)")
        []
        >>> stats = kb.stats()
        >>> stats["space"]["atoms"], stats["base"]["epoch"], stats["about"]["space.atoms"]["unit"]
        (1, 1, 'count')
        """
        return self._native.stats()

    def fork(self, path: Union[str, "os.PathLike[str]", None] = None, *, at: Optional[int] = None) -> "KnowledgeBase":
        """Another base with the commits of this one, or those up to one of them, which goes on for itself."""
        native = self._native.fork_to(path, at, self._allowed, self._rooms)
        if native is None:
            native = _engine.KnowledgeBase(path, self._limits, self._allowed, self._rooms)
        return self._of(native)

    def transaction(self) -> Transaction:
        """Several changes that are one commit, or none."""
        return Transaction(self)

    def subscribe(
        self,
        pattern: str,
        *,
        template: Optional[str] = None,
        key: Iterable[str] = (),
        count: Optional[str] = None,
        sum: Optional[str] = None,
        min: Optional[str] = None,
        max: Optional[str] = None,
        after: Optional[int] = None,
        waiting: Optional[int] = None,
    ) -> Subscription:
        """Follows a live query: its answers as they are now, and then what each commit changes in them."""
        query, aggregate = _live_query(pattern, template, key, count=count, sum=sum, min=min, max=max)
        return Subscription(self._native.follow(query, aggregate, after, waiting))

    def add_live_query(
        self,
        name: str,
        pattern: str,
        *,
        template: Optional[str] = None,
        key: Iterable[str] = (),
        count: Optional[str] = None,
        sum: Optional[str] = None,
        min: Optional[str] = None,
        max: Optional[str] = None,
    ) -> None:
        """Registers a live query under a name, which is part of the base: programs are told of it by that name, and `follow` follows it."""
        query, aggregate = _live_query(pattern, template, key, count=count, sum=sum, min=min, max=max)
        self._native.add_live_query(name, query, aggregate)

    def live_queries(self) -> List[LiveQuery]:
        """The live queries that have names, in the order of their registration."""
        return [LiveQuery(*found) for found in self._native.live_queries()]

    def follow(self, name: str, *, after: Optional[int] = None, waiting: Optional[int] = None) -> Subscription:
        """Follows the live query of a name, as `subscribe` follows one without."""
        return Subscription(self._native.follow_named(name, after, waiting))

    def end_live_query(self, name: str) -> None:
        """Ends the live query of a name. Who follows it goes on until they stop."""
        self._native.end_live_query(name)

    def register(self, call: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        """Makes the name of a function mean it in MeTTa: see `metroon.function`, whose options these are."""
        found: Function = described(function(call, **options) if options else call)
        self._native.add_function(*found.registered())
        return call

    def function(self, call: Optional[Callable[..., Any]] = None, **options: Any) -> Any:
        """The same as a decorator: `@kb.function`."""
        if call is not None:
            return self.register(call, **options)
        return lambda call: self.register(call, **options)
