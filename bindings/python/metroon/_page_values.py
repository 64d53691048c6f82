"""What commits, notices and verifications of pages say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

from ._engine import PageId

__all__ = ["Change", "Commit", "Notice", "PageReason", "PageStatistics", "Verification"]


@dataclass(frozen=True)
class PageStatistics:
    """What one commit, or all commits, came to."""

    commits: int
    """Commits that changed something."""
    written: int
    """Pages that were written and hold other bytes now."""
    unchanged: int
    """Pages that were written and hold what they held before."""
    visited: int
    """How often a derived page was reached from a page that had changed."""
    ran: int
    """Derived pages whose functions ran."""
    cut_off: int
    """Those of them that hold what they held before, so that nothing went on from them."""
    heights: int
    """Heights at which functions ran."""
    bytes_compared: int
    bytes_logged: int
    stages: Dict[str, int]
    """How long the stages took, in nanoseconds, if the state is timed."""
    latency: Dict[str, int]
    """How long commits took, in nanoseconds, if the state is timed: `min`, `mean`, `p50`, `p99` and `max`, over a number of `commits`."""


@dataclass(frozen=True)
class Commit:
    """What a transaction came to."""

    epoch: int
    created: Tuple[PageId, ...]
    statistics: PageStatistics


@dataclass(frozen=True)
class Change:
    """What has happened to a page: it was `created`, `written` or `deleted`. `bytes` says how many bytes differ, where that is known."""

    kind: str
    bytes: Optional[int] = None


@dataclass(frozen=True)
class Notice:
    """What has changed after commit `since` up to commit `epoch`; `merged` notices in one, if the reader was slow."""

    since: int
    epoch: int
    merged: int
    changes: Dict[PageId, Change]

    @staticmethod
    def of(told: Tuple[int, int, int, List[Tuple[PageId, str, Optional[int]]]]) -> Notice:
        since, epoch, merged, happened = told
        return Notice(since, epoch, merged, {page: Change(kind, differ) for page, kind, differ in happened})


@dataclass(frozen=True)
class PageReason:
    """Why a page holds what it holds: the last commit that changed it, and who wrote it, or which function derives it from which pages."""

    page: PageId
    changed: int
    function: Optional[str]
    reads: Tuple[PageId, ...]
    source: Optional[str]
    cause: Optional[int]

    @staticmethod
    def of(
        found: Tuple[PageId, int, Optional[Tuple[str, List[PageId]]], Optional[str], Optional[int]],
    ) -> PageReason:
        page, changed, derived, source, cause = found
        function, reads = derived or (None, [])
        return PageReason(page, changed, function, tuple(reads), source, cause)


@dataclass(frozen=True)
class Verification:
    """How many commits, checkpoints and derived pages were compared, and what does not fit."""

    commits: int
    checkpoints: int
    derived: int
    problems: Tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether everything fits."""
        return not self.problems
