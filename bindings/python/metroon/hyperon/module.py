"""A module as its loader sees it."""

from __future__ import annotations

from typing import Any

from .base import Tokenizer


class MettaModRef:
    """A module whose words are those of a runner."""

    def __init__(self, cmodref: Any) -> None:
        self.cmodref = cmodref

    def tokenizer(self) -> Tokenizer:
        return Tokenizer._from_ctokenizer(self.cmodref)
