"""Stores of keys and values: mappings that outlive the process, compared with dictionaries."""

import os
import random
import struct
import subprocess
import sys
import textwrap
import threading

import pytest

import metroon
from metroon import Store, StoreError, Symbol


def test_a_store_is_a_mapping_in_the_order_of_its_keys(tmp_path):
    with Store(tmp_path / "atlas", keys=str, values=int) as towns:
        towns["Oslo"] = 717710
        towns.update(Bergen=291940, Hamar=32688)
        assert towns["Oslo"] == 717710 and towns.get("Alta") is None and towns.get("Alta", 0) == 0
        assert "Bergen" in towns and "Alta" not in towns and bool(towns)
        assert list(towns) == ["Bergen", "Hamar", "Oslo"] and list(reversed(towns)) == ["Oslo", "Hamar", "Bergen"]
        assert list(towns.items()) == [("Bergen", 291940), ("Hamar", 32688), ("Oslo", 717710)]
        assert list(towns.values()) == [291940, 32688, 717710] and len(towns) == 3
        assert list(reversed(towns.items()))[0] == ("Oslo", 717710)
        assert towns.first() == ("Bergen", 291940) and towns.last() == ("Oslo", 717710)
        assert towns == {"Bergen": 291940, "Hamar": 32688, "Oslo": 717710}
        del towns["Hamar"]
        assert towns.pop("Bergen") == 291940 and towns.setdefault("Alta", 21144) == 21144
        with pytest.raises(KeyError, match="Hamar"):
            towns["Hamar"]
        with pytest.raises(KeyError, match="Hamar"):
            del towns["Hamar"]
        towns.clear()
        assert len(towns) == 0 and not towns and towns.first() is None


def test_what_was_written_is_there_when_the_store_is_opened_again(tmp_path):
    with Store(tmp_path / "s") as store:
        store[b"\x00\xff"] = b""
        store[bytearray(b"k")] = memoryview(b"value")
    with Store(tmp_path / "s", create=False) as store:
        assert dict(store) == {b"\x00\xff": b"", b"k": b"value"} and store.warnings == []


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (int, [-(2**63), -1000, -1, 0, 1, 255, 256, 2**63 - 1]),
        (float, [float("-inf"), -1.5, -1e-300, 0.0, 5e-324, 1, 1.5, 1e300, float("inf")]),
        (str, ["", "a", "a\0", "aa", "b", "ä", "\U0001f438"]),
        (bytes, [b"", b"\0", b"\0\0", b"a", b"\xff", b"\xff\0"]),
        (object, [False, -(10**30), -1, 0.5, 1, 10**30, "", "a", "b", Symbol("a"), None, (1,), (1, "x"), ("user", 2), ("user", 10)]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_keys_of_each_type_come_in_their_order(tmp_path, kind, keys):
    shuffled = list(keys)
    random.Random(7).shuffle(shuffled)
    with Store(tmp_path / "s", keys=kind, values=int) as store:
        for key in shuffled:
            store[key] = keys.index(key)
        assert [value for _, value in store.range()] == list(range(len(keys)))
        assert list(store) == keys and list(reversed(store)) == keys[::-1]
        for place, key in enumerate(keys):
            assert store[key] == place
            bound = () if key is None else key
            assert [found for found, _ in store.range(bound)] == keys[place:]
            assert [found for found, _ in store.range(end=bound, reverse=True)] == keys[:place][::-1]


def test_values_of_each_type_come_back(tmp_path):
    cases = [
        (bytes, [b"", b"\0\xff"]),
        (str, ["", "ä\0"]),
        (int, [0, -1, 10**40]),
        (float, [0.1, -0.0, float("inf"), 5e-324]),
        (object, [True, None, 1, 1.0, 10**40, "text", Symbol("s"), ("user", (1, 2.5), "x")]),
    ]
    for kind, values in cases:
        with Store(tmp_path / kind.__name__, keys=int, values=kind) as store:
            store.update(enumerate(values))
            found = list(store.values())
            assert found == values and [type(value) for value in found][:-1] == [type(value) for value in values][:-1]


def test_what_is_not_of_the_type_is_refused_and_nothing_is_written(tmp_path):
    with Store(tmp_path / "s", keys=int, values=str) as store:
        for key, value in [("1", "x"), (1.0, "x"), (True, "x"), (1, b"x"), (1, 2), (None, "x")]:
            with pytest.raises(TypeError, match="this store has (keys|values) of type (int|str), not"):
                store[key] = value
        with pytest.raises(OverflowError, match="64 bits"):
            store[2**63] = "x"
        with pytest.raises(TypeError, match="keys of type int"):
            "x" in store  # noqa: B015
        assert len(store) == 0
    with Store(tmp_path / "f", keys=float) as floats, pytest.raises(ValueError, match="NaN"):
        floats[float("nan")] = b""
    with Store(tmp_path / "o", keys=object) as anything:
        for key in (object(), metroon.Variable("x"), (1, metroon.Variable("x"))):
            with pytest.raises(TypeError, match="cannot keep"):
                anything[key] = b""
    with pytest.raises(TypeError, match="keys is bytes, str, int, float or object, not <class 'dict'>"):
        Store(tmp_path / "d", keys=dict)
    with pytest.raises(ValueError, match="durability"):
        Store(tmp_path / "d", durability="paper")
    assert not (tmp_path / "d").exists()


def test_a_batch_is_of_one_store_and_ends_with_its_block(tmp_path):
    with Store(tmp_path / "s", keys=str, values=int) as store, Store(tmp_path / "t", keys=str, values=int) as other:
        years = store.keyspace("years", keys=str, values=int)
        with store.batch() as batch:
            of_years = batch.of(years)
            with pytest.raises(ValueError, match="one store"):
                batch.of(other)
            of_years["a"] = 1
        for ended in (batch, of_years):
            with pytest.raises(StoreError, match="ended"):
                ended["b"] = 2
            with pytest.raises(StoreError, match="ended"):
                del ended["a"]
            with pytest.raises(StoreError, match="ended"):
                len(ended)
        assert dict(years) == {"a": 1} and not store and not other


def test_an_update_keeps_keys_apart_that_python_calls_equal(tmp_path):
    with Store(tmp_path / "s", keys=object, values=str) as store:
        store.update([(1, "whole"), (1.0, "real"), (True, "true")])
        assert store[1] == "whole" and store[1.0] == "real" and store[True] == "true" and len(store) == 3
        copy = store.keyspace("copy", keys=object, values=str)
        copy.update(store, more="x")
        assert copy[1.0] == "real" and copy["more"] == "x" and len(copy) == 4
        copy.update({"more": "y"})
        assert copy["more"] == "y"
        with pytest.raises(ValueError):
            copy.update([("a", "b"), ("c",)])
        assert "a" not in copy


def test_closing_one_keyspace_closes_all_unless_they_are_read_only(tmp_path):
    with Store(tmp_path / "s", values=int) as store:
        store[b"a"] = 1
        other = store.keyspace("other", keys=bytes, values=bytes)
        other.close()
        with pytest.raises(StoreError):
            store[b"a"]
    store = Store(tmp_path / "s", values=int, read_only=True)
    store.keyspace("other", keys=bytes, values=bytes).close()
    assert store[b"a"] == 1
    store.close()


def test_a_batch_happens_as_a_whole_or_not_at_all(tmp_path):
    with Store(tmp_path / "s", keys=str, values=int) as store:
        years = store.keyspace("years", keys=int, values=str)
        with store.batch() as batch:
            batch["a"] = 1
            batch["b"] = 2
            del batch["a"]
            batch.of(years)[1969] = "a man walks on the moon"
            assert len(batch) == 4 and len(store) == 0
        assert dict(store) == {"b": 2} and dict(years) == {1969: "a man walks on the moon"}
        before = store.snapshot().sequence
        with pytest.raises(RuntimeError, match="given up"), store.batch() as batch:
            batch["c"] = 3
            raise RuntimeError("given up")
        with pytest.raises(ValueError, match="too long"), store.batch() as batch:
            batch["c"] = 3
            batch["x" * 70_000] = 4
        assert "c" not in store and store.snapshot().sequence == before
        assert store.keyspaces() == ["main", "years"]


def test_a_snapshot_does_not_change(tmp_path):
    with Store(tmp_path / "s", keys=int, values=int) as store:
        store.update({number: number for number in range(100)})
        snapshot, going = store.snapshot(), store.range()
        taken = [next(going) for _ in range(3)]
        store.clear()
        store[7] = -7
        store.compact()
        assert dict(snapshot) == {number: number for number in range(100)} and snapshot[7] == 7
        assert taken + list(going) == [(number, number) for number in range(100)]
        assert list(snapshot.range(90, 93, reverse=True)) == [(92, 92), (91, 91), (90, 90)]
        with pytest.raises(TypeError):
            snapshot[7] = 8
    assert snapshot[7] == 7, "it outlives the store"
    with snapshot:
        assert repr(snapshot).startswith("<StoreSnapshot of batch")
    with pytest.raises(StoreError, match="the snapshot is closed"):
        snapshot[7]


def test_ranges_agree_with_a_sorted_dictionary(tmp_path):
    chance, expected = random.Random(42), {}
    with Store(tmp_path / "s", keys=int, values=int, durability="none", memory_bytes=1 << 20) as store:
        for number in range(300):
            with store.batch() as batch:
                for _ in range(chance.randrange(20)):
                    key = chance.randrange(-500, 500)
                    if chance.random() < 0.3:
                        del batch[key]
                        expected.pop(key, None)
                    else:
                        batch[key] = expected[key] = chance.randrange(10**6)
            if number % 50 == 0:
                store.flush()
            start, end = chance.randrange(-600, 600), chance.randrange(-600, 600)
            wanted = sorted((key, value) for key, value in expected.items() if start <= key < end)
            assert list(store.range(start, end)) == wanted
            assert list(store.range(start, end, reverse=True)) == wanted[::-1]
        assert len(store) == len(expected) and dict(store) == expected


def test_others_read_while_one_writes(tmp_path):
    path = tmp_path / "s"
    store = Store(path, keys=str)
    store["a"] = b"1"
    with pytest.raises(StoreError, match="lock"):
        Store(path, keys=str)
    reader = Store(path, keys=str, read_only=True)
    store["b"] = b"2"
    assert dict(reader) == {"a": b"1"} and dict(Store(path, keys=str, read_only=True)) == {"a": b"1", "b": b"2"}
    with pytest.raises(StoreError, match="reading only"):
        reader["c"] = b"3"
    with pytest.raises(StoreError, match="no keyspace other"):
        Store(path, keyspace="other", read_only=True)
    with pytest.raises(StoreError, match="keys of any bytes"):
        Store(path, keys=int, read_only=True)
    with pytest.raises(StoreError, match="there is no store here"):
        Store(tmp_path / "none", read_only=True)
    with pytest.raises(StoreError, match="there is no store here"):
        Store(tmp_path / "none", create=False)
    store.close()
    store.close()
    assert repr(store).endswith(", closed>")
    for use in (lambda: store["a"], lambda: len(store), lambda: store.update(a=b""), lambda: list(store)):
        with pytest.raises(StoreError, match="the store is closed"):
            use()
    with pytest.raises(ValueError, match="keys of any bytes"):
        Store(path, keys=int)
    Store(path, keys=str).close()


def test_a_value_that_is_read_as_something_else_says_so(tmp_path):
    with Store(tmp_path / "s", keys=str, values=str) as store:
        store["a"] = "text"
        with pytest.raises(StoreError, match="not what it is read as") as caught:
            store.keyspace("main", keys=str, values=int)["a"]
        assert "values=" in caught.value.help


def test_lookups_are_counted_and_files_can_be_checked_and_copied(tmp_path):
    with Store(tmp_path / "s", keys=int, values=int) as store:
        store.update({number: number for number in range(1000)})
        store.compact()
        assert store.get(5) == 5 and store.get(5000) is None
        stats = store.stats()
        assert stats["lookups"]["hits"] == 1 and stats["lookups"]["misses"] == 1
        assert stats["keyspaces"]["main"]["records"] == 1000
        assert store.verify() == []
        store.backup(tmp_path / "copy")
    run = next(path for path in (tmp_path / "copy").iterdir() if path.suffix == ".run")
    damaged = bytearray(run.read_bytes())
    damaged[4200] ^= 1
    run.write_bytes(damaged)
    with Store(tmp_path / "copy", keys=int, values=int, read_only=True) as copy:
        assert len(copy.verify()) == 1 and "byte 4096" in copy.verify()[0]
        with pytest.raises(StoreError, match="salvage"):
            list(copy.items())
    with Store(tmp_path / "s", keys=int, values=int, read_only=True) as store:
        assert store.stats()["lookups"]["hits"] == 1


def test_keys_are_those_of_the_command_line(tmp_path):
    with Store(tmp_path / "s", keys=int, values=int) as store:
        store[-44] = 7
    with Store(tmp_path / "s", keys=int, values=str, read_only=True) as store:
        assert store[-44] == "7"
        raw = store._seen().range(0, None, None, False).take(1)
    assert raw == [(struct.pack(">Q", 2**63 - 44), b"7")]


def test_programs_and_python_keep_the_same_things(tmp_path):
    with metroon.KnowledgeBase() as kb:
        path = tmp_path / "towns"
        kb.run(f'!(import! &self store) !(bind! &s (store-open! "{path}"))')
        kb.run('!(store-batch! &s ((put (founded Oslo) 1048) (put "text" (a 1.5)) (put 7 seven))) !(store-close! &s)')
        with Store(path, keys=object, values=object) as store:
            founded = (Symbol("founded"), Symbol("Oslo"))
            assert list(store.items()) == [(7, Symbol("seven")), ("text", (Symbol("a"), 1.5)), (founded, 1048)]
            store[("from", "python")] = [1, 2]
        assert kb.run(f'!(bind! &t (store-open! "{path}")) !(store-get! &t ("from" "python"))')[1] == [(1, 2)]
        with pytest.raises(TypeError, match="cannot keep"):
            Store(tmp_path / "o", keys=object)[kb.run("!(new-space)")[0][0]] = b""


def test_threads_share_a_store(tmp_path):
    with Store(tmp_path / "s", keys=int, values=int, durability="none") as store:

        def write(first):
            for number in range(first, first + 200):
                store[number] = number
                assert store[number] == number

        threads = [threading.Thread(target=write, args=(1000 * place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(store) == 800


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_leaves_the_store_alone(tmp_path):
    program = """
        import gc, os, sys, metroon
        store = metroon.Store(sys.argv[1], keys=int, values=int)
        store[1] = 1
        snapshot, entries = store.snapshot(), store.range()
        child = os.fork()
        if child == 0:
            for use in (lambda: store[1], lambda: store.__setitem__(2, 2), lambda: snapshot[1], lambda: next(entries)):
                try:
                    use()
                    os._exit(1)
                except metroon.StoreError as error:
                    assert "fork" in str(error)
            store.close()
            del store, snapshot, entries
            gc.collect()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        store[3] = 3
        store.close()
        print(dict(metroon.Store(sys.argv[1], keys=int, values=int, read_only=True)))
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "s")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout) == (0, "{1: 1, 3: 3}\n"), found.stderr


def test_types_are_checked(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            from metroon import Store

            with Store("atlas", keys=str, values=int) as towns:
                towns["Oslo"] = 1
                count: int = towns["Oslo"]
                with towns.batch() as batch:
                    batch["Hamar"] = count
                for name, people in towns.range("A", "C", reverse=True):
                    print(name.upper(), people + 1)
                years = towns.keyspace("years", keys=int, values=str)
                text: str = years[1969]
            plain: bytes = Store("plain")[b"key"]
            """
        )
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from metroon import Store\n\nStore('atlas', keys=str, values=int)[1] = 'x'\n")

    def checked(path):
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(path)]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)

    right = checked(program)
    assert right.returncode == 0, right.stdout + right.stderr
    found = checked(wrong).stdout
    assert "wrong.py:3: error: Invalid index type" in found and "[assignment]" in found, found
