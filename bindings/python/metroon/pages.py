"""Pages of bytes as arrays of numpy, and pages that functions derive from them.

A state holds pages. A transaction writes some of them, and those that are derived from what was written follow before it ends. Arrays show what
pages hold without a copy, and are to be read only: what an array shows never changes, a commit writes elsewhere.
"""

from __future__ import annotations

import json
import math
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Type, Union

from . import _engine
from ._engine import PageId
from ._errors import PageError, PageFunctionError, PageKeyError, PageValueError
from ._page_functions import Function, function
from ._page_values import Change, Commit, Notice, PageReason, PageStatistics, Verification

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "Change",
    "Commit",
    "Function",
    "Notice",
    "Page",
    "PageError",
    "PageFunctionError",
    "PageId",
    "PageKeyError",
    "PageReason",
    "PageStatistics",
    "PageValueError",
    "Snapshot",
    "State",
    "Subscription",
    "Transaction",
    "Verification",
    "function",
]

_WAITING = 1024
_Shape = Union[int, Tuple[int, ...]]


class Page:
    """A page, with the type and the shape of what it holds. One that a transaction makes has its `id` once that is committed."""

    def __init__(self, made: Union[Transaction, State], place: Union[int, PageId], dtype: Any, shape: Tuple[int, ...]) -> None:
        self._made = made
        self._place = place
        self.dtype = dtype
        self.shape = shape

    @property
    def id(self) -> PageId:
        """Its name in the state, to find it again."""
        if isinstance(self._place, PageId):
            return self._place
        done = self._made.result if isinstance(self._made, Transaction) else None
        if done is None:
            raise PageValueError("the page has its id once its transaction is committed, and it is not")
        return done.created[self._place]

    @property
    def array(self) -> npt.NDArray[Any]:
        """What it holds now: read only, without a copy."""
        state = self._made.state if isinstance(self._made, Transaction) else self._made
        return state[self]

    def __repr__(self) -> str:
        is_there = isinstance(self._place, PageId) or isinstance(self._made, Transaction) and self._made.result
        name = f"page {self.id.slot}" if is_there else "page to be made"
        return f"<{name}: {self.dtype}{list(self.shape)}>"


_Named = Union[Page, PageId]


class Snapshot:
    """A state as it was after a commit."""

    def __init__(self, held: _engine.PageSnapshot) -> None:
        self._held = held

    @property
    def epoch(self) -> int:
        """The number of that commit."""
        return self._held.epoch

    def __getitem__(self, page: _Named) -> npt.NDArray[Any]:
        return _shown(self._held, page)

    def read(self, page: _Named, dtype: npt.DTypeLike = "u1") -> npt.NDArray[Any]:
        """What a page held, as a flat array of this type: read only, without a copy."""
        return _flat(self._held, page, dtype)

    def changed(self, page: _Named) -> int:
        """The last commit that had changed a page."""
        return _changed(self._held, page)

    def __contains__(self, page: object) -> bool:
        return isinstance(page, (Page, PageId)) and self._held.read(_id(page)) is not None

    def __iter__(self) -> Iterator[PageId]:
        return iter(self._held.pages())

    def __len__(self) -> int:
        return len(self._held.pages())

    def __repr__(self) -> str:
        return f"<commit {self.epoch}: {len(self)} pages>"


class Transaction:
    """Changes that are made together, or not at all. A `with` block commits them at its end; an exception in it leaves all as it was."""

    def __init__(self, state: State, source: str, cause: Optional[int]) -> None:
        self.state = state
        self.result: Optional[Commit] = None
        self._steps = _engine.PageTransaction(source, cause)

    def create(self, content: Any, dtype: Optional[npt.DTypeLike] = None, *, name: str = "") -> Page:
        """Makes a page that holds an array, or bytes. It is as long as they are for ever. `State.page` finds it by its name."""
        array = _array(content, dtype)
        number = self._open().create(array.tobytes())
        return self._described(Page(self, number, array.dtype, array.shape), number, name)

    def derive(
        self,
        by: Function,
        *dependencies: _Named,
        shape: _Shape,
        dtype: Optional[npt.DTypeLike] = None,
        name: str = "",
    ) -> Page:
        """Makes a page that a function derives from what these pages hold, and derives again when they change."""
        import numpy

        _check_functions([by])
        kind = _stored(dtype if dtype is not None else by.dtype if by.dtype is not None else "u1")
        lengths = (shape,) if isinstance(shape, int) else tuple(shape)
        if any(length < 0 for length in lengths):
            raise PageValueError(f"a page of the shape {lengths} cannot be: lengths are 0 or more")
        length = int(numpy.prod(lengths, dtype=numpy.int64)) * kind.itemsize
        self.state._know(by)
        number = self._open().derive(length, by.name, by.version, self._names(dependencies))
        return self._described(Page(self, number, kind, lengths), number, name)

    def rederive(self, page: _Named, by: Function, *dependencies: _Named) -> None:
        """Derives a page that is derived already by another function, or from other pages."""
        self.state._know(by)
        self._open().rederive(self._name(page), by.name, by.version, self._names(dependencies))

    def write(self, page: _Named, values: Any, offset: int = 0, *, mask: Any = None) -> None:
        """Writes values from an offset on, which counts elements; or only the elements where a mask of the page's shape is true.

        Values get the type that the page was made with; with the number of a page alone, they keep theirs, and the mask is of theirs.
        """
        array = _array(values, page.dtype if isinstance(page, Page) else None)
        if mask is None:
            if offset < 0:
                raise PageValueError(f"an offset is 0 or more, and not {offset}")
            self._open().write(self._name(page), offset * array.dtype.itemsize, array.tobytes())
            return
        if offset:
            raise PageValueError("a mask is for the whole page: write with a mask or with an offset")
        chosen, count = _mask(mask, array.dtype.itemsize)
        self._open().write_masked(self._name(page), chosen, _broadcast(array, count).tobytes())

    def merge(self, page: _Named, how: str, operand: Any, offset: int = 0) -> None:
        """Merges values into a page in a way that does not depend on the order: `or`, `and`, `add` (64-bit integers, around), `min` (64-bit
        floats) or `latest` (pairs of a time and a value, eight bytes each). The offset counts elements of the operand."""
        kinds = {"add": "<i8", "min": "<f8"}
        array = _array(operand, kinds.get(how) or (page.dtype if isinstance(page, Page) else None))
        if offset < 0:
            raise PageValueError(f"an offset is 0 or more, and not {offset}")
        self._open().merge(self._name(page), offset * array.dtype.itemsize, how, array.tobytes())

    def delete(self, page: _Named) -> None:
        """Deletes a page. What is derived from it must be deleted before it."""
        self._open().delete(self._name(page))

    def commit(self) -> Commit:
        """Makes the changes, all or none. If none changes a byte, it is not a commit, and the epoch stays."""
        epoch, created, counted = self.state._held.commit(self._open())
        self.result = Commit(epoch, tuple(created), PageStatistics(**counted))
        return self.result

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None and self.result is None:
            self.commit()

    def _described(self, page: Page, number: int, name: str) -> Page:
        """Keeps the name and the type of a page with it, if there is something to say."""
        if name or page.dtype != "u1" or len(page.shape) != 1:
            self._steps.describe(number, name, _written_type(page.dtype, page.shape))
        return page

    def _open(self) -> _engine.PageTransaction:
        if self.result is not None:
            raise PageValueError(f"the transaction was committed, as commit {self.result.epoch}; begin another one")
        return self._steps

    def _name(self, page: _Named) -> Union[PageId, int]:
        if isinstance(page, Page) and page._made is self and isinstance(page._place, int):
            return page._place
        return self.state._id(page)

    def _names(self, pages: Sequence[_Named]) -> List[Union[PageId, int]]:
        return [self._name(page) for page in pages]


class Subscription:
    """Notices of what commits change. A slow reader loses how often a page changed, and never that it did."""

    def __init__(self, held: _engine.PageSubscription) -> None:
        self._held = held

    def next(self, timeout: Optional[float] = None) -> Optional[Notice]:
        """The next notice; `None` if none comes within this number of seconds, or the subscription or the state is closed."""
        told = self._held.next_within(float("inf") if timeout is None else timeout)
        return None if told is None else Notice.of(told)

    def close(self) -> None:
        """Follows no more."""
        self._held.close()

    def __iter__(self) -> Iterator[Notice]:
        while (notice := self.next()) is not None:
            yield notice

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class State:
    """Pages, how some are derived from others, and the log of what was done.

    Without a folder it is kept in memory. With one it keeps a log there, and goes on with the state that the folder holds; `new=True` refuses
    a folder that holds one. Functions that derive pages of that state are given when it is opened, under the name and version that they had.

    `durability` says what a commit waits for: `none`, `os` (that the system has it) or `fsync` (that the disk has it). `check_functions` runs
    each function twice and refuses the transaction if it gives two things. `log_hashes` logs the hash of the state with each commit, and
    `log_derived` what derived pages hold, so that whoever opens the log sees where a function gives something else. `timed` measures the
    stages of commits, in nanoseconds.
    """

    def __init__(
        self,
        folder: Union[str, PathLike[str], None] = None,
        *,
        functions: Iterable[Function] = (),
        new: bool = False,
        durability: str = "os",
        threads: Optional[int] = None,
        check_functions: bool = False,
        log_hashes: bool = False,
        log_derived: bool = False,
        timed: bool = False,
    ) -> None:
        given = list(functions)
        _check_functions(given)
        options = {
            "durability": durability,
            "threads": threads,
            "check_functions": check_functions,
            "log_hashes": log_hashes,
            "log_derived": log_derived,
            "timed": timed,
        }
        calls = [(each.name, each.version, each.fill) for each in given]
        self._held = _engine.PageState(folder, new, calls, options)
        self._known = {(each.name, each.version): each for each in given}

    @property
    def epoch(self) -> int:
        """The number of the last commit; 0 before the first."""
        return self._held.epoch

    @property
    def warnings(self) -> List[str]:
        """What opening it has mended, or done without."""
        return self._held.warnings

    def transaction(self, source: str = "", *, cause: Optional[int] = None) -> Transaction:
        """Begins changes; `source` says where they come from, `cause` which commit they follow from. Both are logged, and part of `why`."""
        return Transaction(self, source, cause)

    def __getitem__(self, page: _Named) -> npt.NDArray[Any]:
        self._id(page)
        return _shown(self._held, page)

    def read(self, page: _Named, dtype: npt.DTypeLike = "u1") -> npt.NDArray[Any]:
        """What a page holds now, as a flat array of this type: read only, without a copy."""
        return _flat(self._held, page, dtype)

    def page(self, named: Union[str, PageId]) -> Page:
        """A page by its name, or its id, with the type and the shape that it was made with. Of several with one name it is the first."""
        found = self._held.find(named) if isinstance(named, str) else _id(named)
        if found is None:
            raise PageKeyError(f"there is no page with the name {named!r}")
        length, said = len(_held(self._held, found)), self._held.metadata(found)
        return Page(self, found, *_read_type(said[1] if said else b"", length))

    def name(self, page: _Named) -> str:
        """The name that a page was made with; empty if it has none."""
        _held(self._held, page)
        said = self._held.metadata(self._id(page))
        return said[0] if said else ""

    def changed(self, page: _Named) -> int:
        """The last commit that changed a page."""
        return _changed(self._held, page)

    def __contains__(self, page: object) -> bool:
        return isinstance(page, (Page, PageId)) and self._held.read(self._id(page)) is not None

    def __iter__(self) -> Iterator[PageId]:
        return iter(self._held.pages())

    def __len__(self) -> int:
        return len(self._held.pages())

    def snapshot(self) -> Snapshot:
        """The state as it is now, whatever happens to it."""
        return Snapshot(self._held.snapshot())

    def at(self, epoch: int) -> Snapshot:
        """The state as it was after a commit, made again from the log."""
        return Snapshot(self._held.at(epoch))

    def fork(self, epoch: Optional[int] = None, folder: Union[str, PathLike[str], None] = None) -> State:
        """Another state that is as this one was after a commit, or is now: in memory, or with a log of its own in a folder."""
        forked = State.__new__(State)
        forked._held = self._held.fork(self.epoch if epoch is None else epoch, folder)
        forked._known = dict(self._known)
        return forked

    def history(self, page: _Named) -> List[Tuple[int, npt.NDArray[Any]]]:
        """What a page held after each commit that changed it, from the log."""
        found = self._held.history(self._id(page))
        return [(epoch, _typed(held, page)) for epoch, held in found]

    def why(self, page: _Named) -> List[PageReason]:
        """Why a page holds what it holds: the page first, then what it is derived from, down to what was written."""
        found = self._held.why(self._id(page))
        if found is None:
            raise _missing(page)
        return [PageReason.of(each) for each in found]

    def verify(self) -> Verification:
        """Makes all commits of the log again, and compares them, the checkpoints and the derived pages with what the state holds."""
        commits, checkpoints, derived, problems = self._held.verify()
        return Verification(commits, checkpoints, derived, tuple(problems))

    def checkpoint(self) -> None:
        """Writes the state as it is now beside its log, so that opening it takes as long as what comes after."""
        self._held.checkpoint()

    def sync(self, durability: str = "fsync") -> None:
        """Makes all commits so durable."""
        self._held.sync(durability)

    def state_hash(self) -> str:
        """A hash of all pages and how they are derived: equal states have equal ones."""
        return self._held.hash()

    def statistics(self) -> PageStatistics:
        """What all commits together cost."""
        return PageStatistics(**self._held.statistics())

    def stats(self) -> Dict[str, Any]:
        """What `statistics` has, in the form that the statistics of all parts have: `what` counted, the numbers, and under `about` the unit and
        the meaning of each."""
        return self._held.stats()

    def subscribe(
        self, *pages: _Named, after: Optional[int] = None, waiting: int = _WAITING
    ) -> Subscription:
        """Follows what commits change: of these pages, or of all; from now on, or after a commit. So many notices may wait, at least one."""
        ids = [self._id(page) for page in pages] or None
        return Subscription(self._held.subscribe(ids, after, waiting))

    def close(self) -> None:
        """Lets go of the state, and of its folder. Arrays and snapshots stay."""
        self._held.close()

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._held.is_closed:
            return "<state, closed>"
        return f"<state after commit {self.epoch}: {len(self)} pages>"

    def _id(self, page: _Named) -> PageId:
        return _id(page)

    def _know(self, by: Function) -> None:
        """Adds a function that a transaction names."""
        _check_functions([by])
        known = self._known.get((by.name, by.version))
        if known is by:
            return
        if known is not None:
            raise PageValueError(
                f"the state has another function {by.name} version {by.version}; give this one another name, or the next version"
            )
        self._held.add_function(by.name, by.version, by.fill)
        self._known[by.name, by.version] = by


def _check_functions(given: Sequence[object]) -> None:
    for each in given:
        if not isinstance(each, Function):
            raise TypeError(f"{each!r} does not derive pages: decorate it with @pages.function")


def _id(page: _Named) -> PageId:
    if isinstance(page, Page):
        return page.id
    if isinstance(page, PageId):
        return page
    raise TypeError(f"a page is what a transaction has made, or its id, and not {page!r}")


def _missing(page: _Named) -> PageKeyError:
    number = _id(page)
    name = f"page {number.slot}" + (f".{number.generation}" if number.generation else "")
    return PageKeyError(f"there is no {name}; it was deleted, or belongs to another state")


_Holder = Union[_engine.PageState, _engine.PageSnapshot]


def _held(holder: _Holder, page: _Named) -> _engine.PageBytes:
    held = holder.read(_id(page))
    if held is None:
        raise _missing(page)
    return held


def _typed(held: _engine.PageBytes, page: _Named) -> npt.NDArray[Any]:
    import numpy

    array: npt.NDArray[Any] = numpy.asarray(held)
    return array.view(page.dtype).reshape(page.shape) if isinstance(page, Page) else array


def _shown(holder: _Holder, page: _Named) -> npt.NDArray[Any]:
    return _typed(_held(holder, page), page)


def _flat(holder: _Holder, page: _Named, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    import numpy

    held, kind = _held(holder, page), _stored(dtype)
    if len(held) % kind.itemsize:
        raise PageValueError(f"a page of {len(held)} bytes does not consist of whole {kind}, of {kind.itemsize} bytes each")
    array: npt.NDArray[Any] = numpy.asarray(held)
    return array.view(kind)


def _changed(holder: _Holder, page: _Named) -> int:
    epoch = holder.changed(_id(page))
    if epoch is None:
        raise _missing(page)
    return epoch


def _stored(dtype: npt.DTypeLike) -> Any:
    """The type as it is stored: the same on every machine."""
    import numpy

    kind = numpy.dtype(dtype)
    if kind.hasobject or kind.itemsize == 0:
        raise TypeError(f"pages hold bytes: values of the type {kind} have none of their own")
    return kind.newbyteorder("<")


def _written_type(dtype: Any, shape: Tuple[int, ...]) -> bytes:
    """A type and a shape as they are kept with a page. Other programs may keep something else there."""
    import numpy

    return json.dumps({"dtype": numpy.lib.format.dtype_to_descr(dtype), "shape": list(shape)}).encode()


def _read_type(kept: bytes, length: int) -> Tuple[Any, Tuple[int, ...]]:
    """What [`_written_type`] wrote; bytes, if somebody else wrote it, or it does not fit the page."""
    import numpy

    try:
        said = json.loads(kept)
        kind, shape = numpy.dtype(_type_of(said["dtype"])), tuple(int(each) for each in said["shape"])
    except (ValueError, TypeError, KeyError):
        return numpy.dtype("u1"), (length,)
    is_fitting = all(each >= 0 for each in shape) and math.prod(shape) * kind.itemsize == length
    return (kind, shape) if is_fitting and not kind.hasobject else (numpy.dtype("u1"), (length,))


def _type_of(said: Any) -> Any:
    """The description of a type, whose pairs JSON has as lists."""
    if not isinstance(said, list):
        return said
    return [tuple(_type_of(part) if index == 1 else part for index, part in enumerate(field)) for field in said]


def _array(content: Any, dtype: Optional[npt.DTypeLike]) -> npt.NDArray[Any]:
    """An array of stored values."""
    import numpy

    if isinstance(content, (bytes, bytearray, memoryview)):
        content = numpy.frombuffer(content, dtype="u1" if dtype is None else dtype)
    array = numpy.asarray(content)
    wanted = _stored(array.dtype if dtype is None else dtype)
    # Numbers without a type of their own become what is wanted, if nothing is lost.
    if not hasattr(content, "dtype") and numpy.array_equal(array, array.astype(wanted)):
        array = array.astype(wanted)
    stored: npt.NDArray[Any] = array.astype(wanted, casting="same_kind", copy=False)
    return stored


def _mask(mask: Any, width: int) -> Tuple[bytes, int]:
    """A byte for each byte of a page, and how many elements are chosen."""
    import numpy

    chosen = numpy.asarray(mask)
    if chosen.dtype != numpy.bool_:
        raise TypeError(f"a mask consists of true and false, and not of {chosen.dtype}; compare with something, such as `!= 0`")
    return numpy.repeat(chosen.ravel(), width).tobytes(), int(chosen.sum())


def _broadcast(array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    import numpy

    return numpy.broadcast_to(array.ravel(), (count,)) if array.size == 1 else array
