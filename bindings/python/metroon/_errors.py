"""What can go wrong, as exceptions that say where and what to do next."""

from __future__ import annotations

from typing import Any, List, Optional

__all__ = [
    "CassetteError",
    "ClosedError",
    "EffectError",
    "EvaluationError",
    "ForkError",
    "KnowledgeBaseError",
    "LimitError",
    "MettaError",
    "NotReducible",
    "PageError",
    "PageFunctionError",
    "PageKeyError",
    "PageValueError",
    "ParseError",
    "ReplayError",
    "RowError",
    "StoreError",
    "TapeError",
    "WorldError",
]


class MettaError(Exception):
    """Something that a program did, or that was done with it, has failed.

    `file`, `line` and `column` say where, as far as there is a place; `text` is what stands there, `help` what to do next, and
    `answers` what the forms before came to.
    """

    def __init__(
        self,
        message: str,
        *,
        file: Optional[str] = None,
        line: Optional[int] = None,
        column: Optional[int] = None,
        text: Optional[str] = None,
        help: Optional[str] = None,
        answers: Optional[List[List[Any]]] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        self.help = help
        self.answers = answers or []

    def __str__(self) -> str:
        place = ""
        if self.line is not None:
            place = f"{self.file or 'text'}:{self.line}:{self.column}: "
        said = [f"{place}{self.message}"]
        if self.text:
            said.append(f"  {self.text}")
        if self.help:
            said.append(f"help: {self.help}")
        return "\n".join(said)


class ParseError(MettaError):
    """A text does not parse."""


class EvaluationError(MettaError):
    """A form came to an error."""


class LimitError(MettaError):
    """A limit of steps, time or memory ended the run, or somebody did."""


class EffectError(MettaError):
    """A view was asked to change something, or to reach outside."""


class WorldError(MettaError):
    """The world failed: a file that cannot be read, an output that takes no more."""


class KnowledgeBaseError(MettaError):
    """A knowledge base cannot be opened, read or written."""


class ClosedError(KnowledgeBaseError):
    """The knowledge base is closed."""


class ForkError(KnowledgeBaseError):
    """The process is a fork of the one that opened the knowledge base, and has no thread that answers."""


class RowError(MettaError, ValueError):
    """A row cannot be stored as it is meant, and none of the call is stored. `row` is its number, from 1, and `name` the column, if it has one."""

    def __init__(self, message: str, *, row: Optional[int] = None, name: Any = None, **details: Any) -> None:
        super().__init__(message, **details)
        self.row = row
        self.name = name


class TapeError(MettaError):
    """A tape cannot be written or read."""


class ReplayError(TapeError):
    """A replay is not the run that was recorded."""


class StoreError(MettaError):
    """A store of keys and values cannot be opened, read or written, or is closed."""


class CassetteError(MettaError):
    """A cassette cannot be recorded or read, does not answer what is asked, or is gone past."""


class PageError(MettaError):
    """A state of pages cannot be opened, written or read."""


class PageKeyError(PageError, KeyError):
    """There is no such page."""


class PageValueError(PageError, ValueError):
    """A step cannot be made as it is meant, and the transaction is refused; or there is no such commit."""


class PageFunctionError(PageError):
    """A function cannot derive a page, and the transaction is refused. What the function has raised is the cause."""


class NotReducible(Exception):
    """Raised by a function to say that it does not apply: the call stays as it is."""
