"""Cassettes: what Python code asks of the network is recorded once, and answered from the recording from then on.

`cassette` does so for a block of a script. The plugin `pytest-metroon` does it for tests, by the same parts: a proxy of the program
`metroon` is started, the process is led through it, and what goes past it is refused.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from ._errors import CassetteError
from ._guard import Guard, OutsideConnection
from ._program import program

MODES = ("once", "new", "all", "none", "passthrough")
# The proxy gets so many seconds to start, and to seal its cassette.
_PATIENCE = 60


class Words(NamedTuple):
    """How messages speak of the code that is recorded, and of what its author can write."""

    # In whose words the program gives help.
    style: str
    who: str
    # Where the program is named.
    command: str
    proxy: str
    ca: str
    allow_hosts: str
    allow_empty: str


_OF_BLOCKS = Words(
    style="python",
    who="the block",
    command="METROON, or by command=",
    proxy="which the cassette names: its proxy and its ca",
    ca="ca of the cassette",
    allow_hosts='metroon.cassette(..., allow_hosts=["{host}"])',
    allow_empty="metroon.cassette(..., allow_empty=True)",
)


class Outcome(NamedTuple):
    """How a proxy ended."""

    # 4 if a request had no answer.
    code: int
    said: str
    # What it counted; `None` if it did not get so far.
    counts: Optional[Dict[str, Any]]


class Cassette:
    """A cassette with its proxy, while that runs."""

    def __init__(self, path: Path, process: "subprocess.Popen[str]", said: Any, ready: Dict[str, Any]) -> None:
        self.path = path
        self.proxy: str = ready["proxy"]
        self.ca: str = ready["ca"]
        self.bundle: str = ready["bundle"]
        # For programs that are started with an environment of their own; os.environ has them meanwhile.
        self.env: Dict[str, str] = ready["env"]
        # What the proxy counted, once it has ended.
        self.counts: Optional[Dict[str, Any]] = None
        self._process = process
        self._said = said

    def stop(self) -> Outcome:
        """Ends the proxy and seals the cassette."""
        late = ""
        try:
            counted, _ = self._process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            counted, _ = self._process.communicate()
            late = f"\nmetroon did not end within {_PATIENCE} seconds"
        lines = (counted or "").splitlines()
        self.counts = json.loads(lines[-1]) if lines else None
        return Outcome(self._process.returncode, (_read(self._said) + late).strip(), self.counts)


def _read(said: Any) -> str:
    with said:
        said.seek(0)
        return said.read().decode("utf-8", "replace")


def start(
    path: Union[str, "os.PathLike[str]"],
    mode: str = "once",
    options: Iterable[str] = (),
    command: Optional[str] = None,
    words: Words = _OF_BLOCKS,
) -> Cassette:
    """Starts a proxy for a cassette.

    Raises `FileNotFoundError` if there is no program `metroon`, and `CassetteError` if it cannot be run or does not start.
    """
    line = [program(command), "record", "-o", os.fspath(path), "--mode", mode, "--ready-json", *options]
    # What it advises is what the author of the code can write.
    environment = {**os.environ, "METROON_HELP_STYLE": words.style}
    with contextlib.ExitStack() as undone:
        # Not a pipe: nobody reads it before the end.
        said = undone.enter_context(tempfile.TemporaryFile())
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(line, env=environment, text=True, stdin=pipe, stdout=pipe, stderr=said)
        except FileNotFoundError:
            raise
        except OSError as error:
            help = f"name the program metroon in {words.command}; a file that is to be run needs the permission for it (chmod +x)"
            raise CassetteError(f"{line[0]} cannot be run: {error.strerror}", help=help) from error
        # From here on the file is closed once it has been read.
        undone.pop_all()
    ready, is_late = _first_line(process)
    if not ready:
        process.communicate(timeout=_PATIENCE)
        within = f" within {_PATIENCE} seconds" if is_late else ""
        why = _read(said).strip()
        raise CassetteError(f"metroon did not start{within}" + (f":\n{why}" if why else ""))
    return Cassette(Path(path), process, said, json.loads(ready))


def _first_line(process: "subprocess.Popen[str]") -> Tuple[str, bool]:
    """The first line that a program prints, and whether it was ended since that took too long."""
    assert process.stdout is not None
    is_late = threading.Event()

    def give_up() -> None:
        is_late.set()
        process.kill()

    watch = threading.Timer(_PATIENCE, give_up)
    watch.start()
    try:
        return process.stdout.readline(), is_late.is_set()
    finally:
        watch.cancel()


def _prepare_libraries(folder: str) -> None:
    """Does for this process what Python does at the start of one that metroon runs."""
    name = "metroon_preload"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, os.path.join(folder, f"{name}.py"))
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    sys.modules[name].install()  # type: ignore[attr-defined]


def _set_variable(undone: contextlib.ExitStack, name: str, value: str) -> None:
    before = os.environ.get(name)
    if before is None:
        undone.callback(os.environ.pop, name, None)
    else:
        undone.callback(os.environ.__setitem__, name, before)
    os.environ[name] = value


def _set_attribute(undone: contextlib.ExitStack, of: Any, name: str, value: Any) -> None:
    # What a class has inherited is not to be its own afterwards.
    if name in vars(of):
        undone.callback(setattr, of, name, getattr(of, name))
    else:
        undone.callback(delattr, of, name)
    setattr(of, name, value)


@contextlib.contextmanager
def through(cassette: Cassette, mode: str, allow_hosts: Iterable[str], words: Words = _OF_BLOCKS) -> Iterator[Guard]:
    """While this lasts, the process reaches the network through the proxy of a cassette, or not at all; then all is as before."""
    # Hosts that the proxy is told to pass are reached directly as well.
    guard = Guard([*allow_hosts, *cassette.env.get("NO_PROXY", "").split(",")], words)
    with contextlib.ExitStack() as undone:
        _prepare_libraries(cassette.env["METROON_PYTHON"])
        for name, value in cassette.env.items():
            _set_variable(undone, name, value)
        # It keeps the proxies that the environment named when it was first used.
        _set_attribute(undone, urllib.request, "_opener", None)
        if mode != "passthrough":
            guard.install(lambda of, name, value: _set_attribute(undone, of, name, value))
        yield guard


def failures(
    outcome: Outcome, cassette: Cassette, guard: Optional[Guard], mode: str, allow_empty: bool, words: Words = _OF_BLOCKS
) -> List[str]:
    """Why code has failed: what the proxy says, and what is held against the code. Without a guard nothing is: the code ended badly."""
    said = [outcome.said] if outcome.code != 0 else []
    if guard is not None and mode != "passthrough":
        said.extend(_faults(outcome, cassette, guard, allow_empty, words))
    return said


def _faults(outcome: Outcome, cassette: Cassette, guard: Guard, allow_empty: bool, words: Words) -> Iterator[str]:
    """Why code that ended well has failed after all: what went past the proxy, or that nothing came to it."""
    yield from guard.refused.values()
    counts = outcome.counts
    if counts is None or counts["requests"] > 0 or guard.refused or allow_empty:
        return
    if counts["connections"] > 0:
        yield (
            "metroon: a client connected to the proxy and asked nothing, most likely since it does not trust the proxy's certificate\n"
            f"help: have it trust the file that {words.ca} names"
        )
    else:
        yield (
            f"metroon: the proxy saw no request of {words.who}, so nothing is in {cassette.path.name} for it\n"
            f"help: if it asks the network, its client goes past the proxy: tell it of the proxy, {words.proxy}; if it is to ask "
            f"nothing, {words.allow_empty} says so"
        )


@contextlib.contextmanager
def cassette(
    path: Union[str, "os.PathLike[str]"],
    mode: Optional[str] = None,
    *,
    options: Iterable[str] = (),
    allow_hosts: Iterable[str] = (),
    allow_empty: bool = False,
    command: Optional[str] = None,
) -> Iterator[Cassette]:
    """Records what a block asks of the network on a cassette, or answers it from there: `with metroon.cassette("trip.cassette"):`.

    `mode` is `once` (records what has no cassette yet), `new` (records what is not on it), `all` (records anew), `none` (only answers) or
    `passthrough`; without it, `none` if the variable CI is set, and else `once`. `options` are those of `metroon record`. `allow_hosts` are
    reached past the proxy, and `allow_empty` lets the block ask nothing.

    A connection past the proxy raises `OutsideConnection`, a `ConnectionError`, where it is made. A request that nothing answers, a block
    that asks nothing, and such a connection whose error the block catches raise `CassetteError` at the end of the block.
    """
    mode = mode or ("none" if os.environ.get("CI") else "once")
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}: it may be {', '.join(MODES)}")
    folder = os.path.dirname(os.fspath(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    words = [*options, "--allow-empty"] if allow_empty else options
    try:
        started = start(path, mode, words, command)
    except FileNotFoundError as error:
        raise CassetteError(f"there is no program {error.filename}", help=f"name metroon in {_OF_BLOCKS.command}") from None
    guard: Optional[Guard] = None
    raised: Optional[Exception] = None
    try:
        with through(started, mode, allow_hosts) as guard:
            yield started
    except Exception as error:
        raised, guard = error, None
    finally:
        outcome = started.stop()
    found = failures(outcome, started, guard, mode, allow_empty)
    if found:
        raise CassetteError("\n".join(found)) from raised
    if raised is not None:
        raise raised
