"""Stores: keys and values in a folder, sorted by key, as mappings."""

from __future__ import annotations

import itertools
import math
import os
import struct
from collections.abc import ItemsView, Iterator, Mapping, MutableMapping, ValuesView
from typing import Any, Callable, Dict, Generic, List, NamedTuple, Optional, Tuple, Type, TypeVar, Union, cast, overload

from . import _engine
from ._errors import StoreError

Path = Union[str, "os.PathLike[str]"]
# A keyspace, a key, and its value unless the key goes.
_Change = Tuple[int, bytes, Optional[bytes]]
K = TypeVar("K")
V = TypeVar("V")
OtherK = TypeVar("OtherK")
OtherV = TypeVar("OtherV")

# How many entries come over the border at once: few at first, for those who take few.
_CHUNK_FIRST = 16
_CHUNK_MAX = 4096

_SIGN = 1 << 63
_ALL = (1 << 64) - 1
_EIGHT = struct.Struct(">Q")
_DOUBLE = struct.Struct(">d")


class _Form(NamedTuple):
    """How values of one type are bytes: as keys, in the order of the values, or as values."""

    width: Optional[int]
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _checked(value: Any, kind: Type[Any], what: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"this store has {what} of type {kind.__name__}, not {type(value).__name__}")
    return value


def _bytes_form(what: str) -> _Form:
    def encode(value: Any) -> bytes:
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        return cast(bytes, _checked(value, bytes, what))

    return _Form(None, encode, bytes)


def _text_form(what: str) -> _Form:
    return _Form(None, lambda value: cast(str, _checked(value, str, what)).encode(), lambda found: found.decode())


def _integer_key(value: Any) -> bytes:
    number = cast(int, _checked(value, int, "keys"))
    if not -_SIGN <= number < _SIGN:
        raise OverflowError(f"a key that is a number has 64 bits: {number} has more; keys=object takes any number")
    return _EIGHT.pack(number + _SIGN)


def _integer_of_key(found: bytes) -> int:
    return cast(int, _EIGHT.unpack(found)[0]) - _SIGN


def _float_key(value: Any) -> bytes:
    """The bits of the number, all turned over if it is negative and the sign alone if not, so that they sort as numbers do."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"this store has keys of type float, not {type(value).__name__}")
    number = float(value) + 0.0
    if math.isnan(number):
        raise ValueError("NaN is not a key: it has no place in the order of numbers")
    bits = cast(int, _EIGHT.unpack(_DOUBLE.pack(number))[0])
    return _EIGHT.pack(bits ^ (_ALL if bits & _SIGN else _SIGN))


def _float_of_key(found: bytes) -> float:
    bits = cast(int, _EIGHT.unpack(found)[0])
    return cast(float, _DOUBLE.unpack(_EIGHT.pack(bits ^ (_SIGN if bits & _SIGN else _ALL)))[0])


def _float_value(value: Any) -> bytes:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"this store has values of type float, not {type(value).__name__}")
    return repr(float(value)).encode()


_ATOMS = _Form(None, _engine.atom_bytes, _engine.atom_of_bytes)

_KEYS: Dict[Any, _Form] = {
    bytes: _bytes_form("keys"),
    str: _text_form("keys"),
    int: _Form(8, _integer_key, _integer_of_key),
    float: _Form(8, _float_key, _float_of_key),
    object: _ATOMS,
}

_VALUES: Dict[Any, _Form] = {
    bytes: _bytes_form("values"),
    str: _text_form("values"),
    # As decimal text, so that `metroon store get` shows it. Python refuses texts of more digits than sys.set_int_max_str_digits permits.
    int: _Form(None, lambda value: b"%d" % _checked(value, int, "values"), int),
    float: _Form(None, _float_value, float),
    object: _ATOMS,
}


def _form(forms: Dict[Any, _Form], kind: Any, what: str) -> _Form:
    found = forms.get(kind)
    if found is None:
        raise TypeError(f"{what} is bytes, str, int, float or object, not {kind!r}")
    return found


class _Codec(NamedTuple):
    """How keys and values of a keyspace are bytes."""

    keys: _Form
    values: _Form

    def entry(self, found: Tuple[bytes, bytes]) -> Tuple[Any, Any]:
        key, value = found
        try:
            return self.keys.decode(key), self.values.decode(value)
        except (ValueError, struct.error) as error:
            raise self.misread(error) from error

    def value(self, found: bytes) -> Any:
        try:
            return self.values.decode(found)
        except ValueError as error:
            raise self.misread(error) from error

    @staticmethod
    def misread(error: Exception) -> StoreError:
        return StoreError(
            f"an entry is not what it is read as: {error}", help="open the store with the keys= and values= that it was written with"
        )


def _codec(keys: Any, values: Any) -> _Codec:
    return _Codec(_form(_KEYS, keys, "keys"), _form(_VALUES, values, "values"))


class _Items(ItemsView[K, V]):
    """Entries, read in one go."""

    _mapping: "_Reading[K, V]"

    def __iter__(self) -> Iterator[Tuple[K, V]]:
        return self._mapping.range()

    def __reversed__(self) -> Iterator[Tuple[K, V]]:
        return self._mapping.range(reverse=True)


class _ValuesOf(ValuesView[V]):
    """Values, read in one go."""

    _mapping: "_Reading[Any, V]"

    def __iter__(self) -> Iterator[V]:
        return (value for _, value in self._mapping.range())


class _Reading(Mapping[K, V]):
    """What stores and snapshots have in common: they are read as mappings, in the order of keys."""

    _codec: _Codec
    _space: int

    def _seen(self) -> _engine.StoreSnapshot:
        raise NotImplementedError

    def _found(self, key: bytes) -> Optional[bytes]:
        raise NotImplementedError

    def __getitem__(self, key: K) -> V:
        found = self._found(self._codec.keys.encode(key))
        if found is None:
            raise KeyError(key)
        return cast(V, self._codec.value(found))

    def __contains__(self, key: object) -> bool:
        return self._found(self._codec.keys.encode(key)) is not None

    def __len__(self) -> int:
        """How many keys there are: all of them are read."""
        return self._seen().count(self._space)

    def __bool__(self) -> bool:
        return bool(self._seen().range(self._space, None, None, False).take(1))

    def __iter__(self) -> Iterator[K]:
        return (key for key, _ in self.range())

    def __reversed__(self) -> Iterator[K]:
        return (key for key, _ in self.range(reverse=True))

    def items(self) -> ItemsView[K, V]:
        """All entries, as they are when they are first asked for."""
        return _Items(self)

    def values(self) -> ValuesView[V]:
        """All values, in the order of their keys."""
        return _ValuesOf(self)

    def range(self, start: Optional[K] = None, end: Optional[K] = None, *, reverse: bool = False) -> Iterator[Tuple[K, V]]:
        """The entries from `start` on and before `end`, in the order of their keys, or from the last one to the first.

        They are those of the moment of the call, whatever is written meanwhile. `None` is no bound; the key `None` of a store with
        `keys=object` is written `()` here.
        """
        encode = self._codec.keys.encode
        first, last = (None if bound is None else encode(bound) for bound in (start, end))
        return self._entries(self._seen().range(self._space, first, last, reverse))

    def _entries(self, found: _engine.StoreRange) -> Iterator[Tuple[K, V]]:
        count, entry = _CHUNK_FIRST, self._codec.entry
        while chunk := found.take(count):
            yield from map(entry, chunk)
            count = min(2 * count, _CHUNK_MAX)

    def first(self) -> Optional[Tuple[K, V]]:
        """The entry of the least key, if there is one."""
        return next(self.range(), None)

    def last(self) -> Optional[Tuple[K, V]]:
        """The entry of the greatest key, if there is one."""
        return next(self.range(reverse=True), None)

    def stats(self) -> Dict[str, Any]:
        """What the store has counted: batches, lookups since it was made, bytes in memory, and what each keyspace has. Under `about` is what each
        number is, by the names that lead to it, with `*` for the names of keyspaces and files.

        >>> import metroon, tempfile
        >>> with metroon.Store(tempfile.mkdtemp() + "/towns", keys=str, values=str) as towns:
        ...     towns["Oslo"] = "717710"
        ...     stats = towns.stats()
        >>> stats["what"], stats["batches"], stats["about"]["keyspaces.*.bytes"]
        ('store', 1, {'unit': 'bytes', 'meaning': 'The files of the runs.'})
        """
        return self._seen().stats()

    def verify(self) -> List[str]:
        """Reads everything; says what is damaged."""
        return self._seen().verify()

    def backup(self, path: Path) -> None:
        """Makes a store of its own of what there is now, in a folder that is empty or does not exist yet."""
        self._seen().backup(path)


class StoreSnapshot(_Reading[K, V]):
    """A store as it was at a moment: a mapping that never changes."""

    def __init__(self, seen: _engine.StoreSnapshot, space: int, codec: _Codec) -> None:
        self._snapshot: Optional[_engine.StoreSnapshot] = seen
        self._space = space
        self._codec = codec

    def _seen(self) -> _engine.StoreSnapshot:
        if self._snapshot is None:
            raise StoreError("the snapshot is closed")
        return self._snapshot

    def _found(self, key: bytes) -> Optional[bytes]:
        return self._seen().get(self._space, key)

    @property
    def sequence(self) -> int:
        """The number of the last batch that it sees."""
        return self._seen().sequence

    def keyspace(self, name: str, *, keys: Type[OtherK], values: Type[OtherV]) -> StoreSnapshot[OtherK, OtherV]:
        """Another keyspace of the same moment."""
        codec, seen = _codec(keys, values), self._seen()
        return StoreSnapshot(seen, _known(seen, name, codec), codec)

    def close(self) -> None:
        """Gives up what the snapshot keeps: memory, and the space of what was deleted since."""
        self._snapshot = None

    def __enter__(self) -> StoreSnapshot[K, V]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<StoreSnapshot of batch {self.sequence}>" if self._snapshot else "<StoreSnapshot, closed>"


def _known(seen: _engine.StoreSnapshot, name: str, codec: _Codec) -> int:
    """The place of a keyspace that is there."""
    for place, (known, width) in enumerate(seen.keyspaces()):
        if known != name:
            continue
        if width != codec.keys.width:
            has = "keys of any bytes" if width is None else f"keys of {width} bytes"
            raise StoreError(f"the keyspace {name} has {has}", help="name the type of its keys by keys=")
        return place
    raise StoreError(f"the store has no keyspace {name}", help="a store that is opened for writing makes it")


class _Changes:
    """What a batch and those of other keyspaces collect for one store, until the block ends."""

    def __init__(self, raw: _engine.Store) -> None:
        self.raw = raw
        self._collected: Optional[List[_Change]] = []

    def open(self) -> List[_Change]:
        if self._collected is None:
            raise StoreError("the block of the batch has ended", help="begin another one: with store.batch() as batch")
        return self._collected

    def add(self, space: int, key: bytes, value: Optional[bytes]) -> None:
        self.open().append((space, key, value))

    def end(self) -> List[_Change]:
        collected, self._collected = self.open(), None
        return collected


class Batch(Generic[K, V]):
    """Changes that a store takes together, all or none, when the block ends without an exception."""

    def __init__(self, space: int, codec: _Codec, changes: _Changes) -> None:
        self._space = space
        self._codec = codec
        self._changes = changes

    def __setitem__(self, key: K, value: V) -> None:
        self._changes.add(self._space, self._codec.keys.encode(key), self._codec.values.encode(value))

    def __delitem__(self, key: K) -> None:
        """The key goes; whether it is there does not matter."""
        self._changes.add(self._space, self._codec.keys.encode(key), None)

    def of(self, store: Store[OtherK, OtherV]) -> Batch[OtherK, OtherV]:
        """The changes of another keyspace of the same store, in the same batch."""
        if store._written() is not self._changes.raw:
            raise ValueError("a batch is of one store: name a keyspace of it, as store.keyspace() gives them")
        return Batch(store._space, store._codec, self._changes)

    def __len__(self) -> int:
        """How many changes there are."""
        return len(self._changes.open())


class _Block(Generic[K, V]):
    """The block of a batch."""

    def __init__(self, store: Store[K, V]) -> None:
        self._store = store
        self._changes = _Changes(store._written())
        self._batch: Batch[K, V] = Batch(store._space, store._codec, self._changes)

    def __enter__(self) -> Batch[K, V]:
        return self._batch

    def __exit__(self, kind: Optional[Type[BaseException]], *_: object) -> None:
        collected = self._changes.end()
        if kind is None:
            self._store._commit(collected)


class Store(_Reading[K, V], MutableMapping[K, V]):
    """A keyspace of a store in a folder: a mapping, sorted by key, whose entries outlive the process.

    `keys` and `values` say of which type they are: `bytes`, `str`, `int`, `float`, or `object` for any value that MeTTa has an atom for,
    tuples among them. Keys that are `int` or `float` have 64 bits and sort as numbers, `str` by code points, and `object` as atoms do: numbers
    by value, then texts, symbols and tuples, item by item. Values that are `int` have as many digits as Python turns into text:
    4300, unless `sys.set_int_max_str_digits` permits more.

    One process writes a store; others open it with `read_only=True`, and see what was committed then.
    """

    @overload
    def __init__(
        self, path: Path, *, keys: Type[K], values: Type[V], keyspace: str = ..., create: bool = ..., read_only: bool = ...,
        durability: str = ..., memory_bytes: Optional[int] = ..., lz4: Optional[bool] = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: Store[K, bytes], path: Path, *, keys: Type[K], keyspace: str = ..., create: bool = ..., read_only: bool = ...,
        durability: str = ..., memory_bytes: Optional[int] = ..., lz4: Optional[bool] = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: Store[bytes, V], path: Path, *, values: Type[V], keyspace: str = ..., create: bool = ..., read_only: bool = ...,
        durability: str = ..., memory_bytes: Optional[int] = ..., lz4: Optional[bool] = ...,
    ) -> None: ...
    @overload
    def __init__(
        self: Store[bytes, bytes], path: Path, *, keyspace: str = ..., create: bool = ..., read_only: bool = ...,
        durability: str = ..., memory_bytes: Optional[int] = ..., lz4: Optional[bool] = ...,
    ) -> None: ...
    def __init__(
        self,
        path: Path,
        *,
        keys: Any = bytes,
        values: Any = bytes,
        keyspace: str = "main",
        create: bool = True,
        read_only: bool = False,
        durability: str = "disk",
        memory_bytes: Optional[int] = None,
        lz4: Optional[bool] = None,
    ) -> None:
        """Opens a store; makes one if there is none, unless `create` is false or it is opened for reading only.

        `durability` says what a commit waits for: `"disk"`, `"system"` (an end of the process loses nothing) or `"none"`. `memory_bytes` bounds
        what the store holds in memory. `lz4` says whether what is written from now on is compressed.
        """
        self._path = os.fspath(path)
        self._codec = _codec(keys, values)
        if durability not in ("disk", "system", "none"):
            raise ValueError(f'durability is "disk", "system" or "none", not {durability!r}')
        self._durability = durability
        self._raw: Optional[_engine.Store] = None
        self._fixed: Optional[_engine.StoreSnapshot] = None
        if read_only:
            self._fixed = _engine.StoreSnapshot.open(path)
            self._space = _known(self._fixed, keyspace, self._codec)
            return
        self._raw = _engine.Store(path, create, memory_bytes)
        try:
            self._space = self._raw.keyspace(keyspace, self._codec.keys.width, lz4)
        except BaseException:
            self._raw.close()
            raise

    def _written(self) -> _engine.Store:
        if self._raw is not None:
            return self._raw
        if self._fixed is not None:
            raise StoreError("the store is open for reading only", help="open it without read_only=True to write to it")
        raise StoreError("the store is closed")

    def _seen(self) -> _engine.StoreSnapshot:
        return self._fixed or self._written().snapshot()

    def _found(self, key: bytes) -> Optional[bytes]:
        return (self._fixed or self._written()).get(self._space, key)

    def _commit(self, changes: List[_Change]) -> int:
        return self._written().commit(changes, self._durability)

    def __setitem__(self, key: K, value: V) -> None:
        self._commit([(self._space, self._codec.keys.encode(key), self._codec.values.encode(value))])

    def __delitem__(self, key: K) -> None:
        encoded = self._codec.keys.encode(key)
        if self._found(encoded) is None:
            raise KeyError(key)
        self._commit([(self._space, encoded, None)])

    def update(self, other: Any = (), /, **more: Any) -> None:
        """As that of a dictionary, in one batch: all of it is there afterwards, or nothing. Of equal keys the last one counts."""
        if isinstance(other, Mapping):
            pairs = other.items()
        else:
            pairs = ((key, other[key]) for key in other.keys()) if hasattr(other, "keys") else other
        with self.batch() as batch:
            # Not through a dictionary, which takes 1, 1.0 and True for one key.
            for key, value in itertools.chain(pairs, more.items()):
                batch[key] = value

    def clear(self) -> None:
        """Takes all keys away, in one batch."""
        with self.batch() as batch:
            for key in self:
                del batch[key]

    def batch(self) -> _Block[K, V]:
        """A block of changes that happen together: `with store.batch() as batch: batch[key] = value`."""
        return _Block(self)

    def snapshot(self) -> StoreSnapshot[K, V]:
        """The store as it is now, which later changes do not reach."""
        return StoreSnapshot(self._seen(), self._space, self._codec)

    def keyspace(
        self, name: str, *, keys: Type[OtherK], values: Type[OtherV], lz4: Optional[bool] = None
    ) -> Store[OtherK, OtherV]:
        """Another keyspace of the same store, with an order of its own; it is made if there is none.

        Closing one closes all, unless the store is open for reading only: then each stays open until it is closed itself.
        """
        other: Store[Any, Any] = Store.__new__(Store)
        other.__dict__.update(self.__dict__)
        other._codec = _codec(keys, values)
        if self._fixed is not None:
            other._space = _known(self._fixed, name, other._codec)
        else:
            other._space = self._written().keyspace(name, other._codec.keys.width, lz4)
        return cast("Store[OtherK, OtherV]", other)

    def keyspaces(self) -> List[str]:
        """The names of the keyspaces, in the order in which they were made."""
        return [name for name, _ in (self._fixed or self._written()).keyspaces()]

    @property
    def path(self) -> str:
        """Where the store lies."""
        return self._path

    @property
    def warnings(self) -> List[str]:
        """What opening mended."""
        return [] if self._fixed is not None else self._written().warnings()

    def flush(self) -> None:
        """Writes what is in memory to sorted files, so that the next opening is quick."""
        self._written().flush()

    def compact(self) -> None:
        """Merges everything into one run. It is never needed: runs are merged as they come."""
        self._written().compact()

    def close(self) -> None:
        """Ends the use of the store; a second call does nothing. Snapshots stay."""
        raw, self._raw, self._fixed = self._raw, None, None
        if raw is not None:
            raw.close()

    def __enter__(self) -> Store[K, V]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Store {self._path!r}{'' if self._raw or self._fixed else ', closed'}>"
