"""MeTTa in notebooks: `%load_ext metroon`, and then cells that begin with `%%metta`."""

from __future__ import annotations

import html
import time
from typing import Any, List, Optional

from ._base import KnowledgeBase, Progress
from ._errors import MettaError

# So many results of a form are shown.
_SHOWN = 20

# A cell that takes no longer than so many seconds shows no progress.
_QUIET = 0.5


class Answers(List[List[Any]]):
    """The results of each form of a cell."""

    def _repr_html_(self) -> str:
        return "".join(f"<div><code>{html.escape(_line(results))}</code></div>" for results in self)

    def __repr__(self) -> str:
        return "\n".join(_line(results) for results in self)


def _line(results: List[Any]) -> str:
    shown = ", ".join(_written(result) for result in results[:_SHOWN])
    more = f", … {len(results) - _SHOWN} more" if len(results) > _SHOWN else ""
    return f"[{shown}{more}]"


def _written(value: Any) -> str:
    """A value as MeTTa writes it."""
    if isinstance(value, bool):
        return "True" if value else "False"
    if value is None:
        return "()"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return str(value)


class Trouble:
    """What is wrong with a cell: the line, a caret below the place, and what to do next."""

    def __init__(self, error: MettaError, cell: str) -> None:
        self.error = error
        self.cell = cell

    def __repr__(self) -> str:
        error, said = self.error, []
        if self.error.answers:
            said.append(repr(Answers(self.error.answers)))
        said.append(f"{type(error).__name__}: {error.message}")
        lines = self.cell.splitlines()
        if error.line is not None and 0 < error.line <= len(lines):
            beginning = f"{error.line} | "
            said.append(beginning + lines[error.line - 1])
            said.append(" " * (len(beginning) + max((error.column or 1) - 1, 0)) + "^")
        if error.help:
            said.append(f"help: {error.help}")
        return "\n".join(said)

    def _repr_html_(self) -> str:
        return f'<pre style="color:#b00020">{html.escape(repr(self))}</pre>'


class _Status:
    """A line about a run, which a display shows."""

    def __init__(self, said: str) -> None:
        self.said = said

    def __repr__(self) -> str:
        return self.said

    def _repr_html_(self) -> str:
        return f'<div style="color:#666">{html.escape(self.said)}</div>'


class _ProgressLine:
    """A line below a cell that says how far it has come: it appears when the cell takes long, and is updated in place."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown: Any = None
        self._last = Progress(0.0, 0, 0)

    def __call__(self, progress: Progress) -> None:
        self._last = progress
        if self._shown is not None:
            self._shown.update(_Status("running: " + self._counted()))
        elif progress.seconds >= _QUIET:
            from IPython.display import display

            self._shown = display(_Status("running: " + self._counted()), display_id=True)

    def end(self, how: str, found: Optional[Answers]) -> None:
        """Says how the run has ended and what it has come to, if anything was shown."""
        _, forms, results = self._last
        if found is not None:
            forms, results = len(found), sum(map(len, found))
        self._last = Progress(time.monotonic() - self._began, forms, results)
        if self._shown is not None:
            self._shown.update(_Status(f"{how}: {self._counted()}"))

    def _counted(self) -> str:
        seconds, forms, results = self._last
        return f"{seconds:.1f} s, {forms} form{'' if forms == 1 else 's'} done, {results} result{'' if results == 1 else 's'}"


def _run(base: Any, cell: str) -> Answers:
    """Runs a cell; a base shows how far it has come. What interrupts the kernel cancels it."""
    if not isinstance(base, KnowledgeBase):
        return Answers(base.run(cell))
    line, how, found = _ProgressLine(), "failed", None
    try:
        found = Answers(base.run(cell, progress=line))
        how = "done"
        return found
    except KeyboardInterrupt:
        how = "cancelled"
        raise
    finally:
        line.end(how, found)


def _base_named(shell: Any, name: str) -> Any:
    """The base that a name of the notebook means; without a name, one in memory that the notebook has for itself."""
    if not name:
        if getattr(shell, "_metroon_base", None) is None:
            shell._metroon_base = KnowledgeBase()
        return shell._metroon_base
    found = shell.user_ns.get(name)
    if not hasattr(found, "run"):
        raise ValueError(f"{name} is not a knowledge base of this notebook: write `{name} = metroon.KnowledgeBase()` in a cell before")
    return found


def load_ipython_extension(shell: Any) -> None:
    """Makes `%%metta` known: a cell of MeTTa is run in a base, whose name may stand behind it."""

    def metta(line: str, cell: str) -> Optional[Answers]:
        from IPython.display import display

        base = _base_named(shell, line.strip())
        try:
            found = _run(base, cell)
        except MettaError as error:
            display(Trouble(error, cell))
            # The cell has failed: a notebook that is run as a whole ends here.
            raise _Shown(error.message) from None
        return found if found else None

    shell.register_magic_function(metta, magic_kind="cell", magic_name="metta")


class _Shown(Exception):
    """What went wrong was shown."""

    def _render_traceback_(self) -> List[str]:
        return []
