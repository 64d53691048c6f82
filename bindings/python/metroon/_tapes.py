"""Tapes: a run is recorded whole, and run again without the world."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable, List, NamedTuple, Optional, Union

from . import _engine
from ._functions import described

Path = Union[str, "os.PathLike[str]"]


class Replayed(NamedTuple):
    """What a replay came to."""

    commits: int
    lines: List[str]


def record(
    tape: Path,
    *texts: str,
    files: Iterable[Path] = (),
    base: Optional[Path] = None,
    functions: Iterable[Callable[..., Any]] = (),
    keep_secrets: bool = False,
) -> List[str]:
    """Runs files and texts, and records the run on a new tape; gives the lines that it printed.

    What functions give is recorded, unless they are pure, so that a replay needs none of them.
    """
    registered = [described(call).registered() for call in functions]
    names = [os.fspath(name) for name in files]
    return _engine.record(tape, names, list(texts), base, registered, keep_secrets)


def replay(tape: Path, *, functions: Iterable[Callable[..., Any]] = (), to: Optional[int] = None) -> Replayed:
    """Runs the program of a tape again, and compares each commit; raises `ReplayError` at the first difference.

    `functions` are those that were pure; `to` is the commit after which to stop.
    """
    registered = [described(call).registered() for call in functions]
    return Replayed(*_engine.replay(tape, registered, to))
