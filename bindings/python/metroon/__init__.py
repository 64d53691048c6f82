"""Metroon: a MeTTa reasoning engine with perfect recall."""

from ._base import Change, Event, KnowledgeBase, LiveQuery, Progress, Reason, Rows, Subscription, Transaction, View
from ._cassettes import Cassette, OutsideConnection, cassette
from ._engine import Atom, Expression, Grounded, Symbol, Variable, __version__, parse
from ._errors import (
    CassetteError,
    ClosedError,
    EffectError,
    EvaluationError,
    ForkError,
    KnowledgeBaseError,
    LimitError,
    MettaError,
    NotReducible,
    ParseError,
    ReplayError,
    RowError,
    StoreError,
    TapeError,
    WorldError,
)
from ._functions import function
from ._notebook import load_ipython_extension
from ._store import Batch, Store, StoreSnapshot
from ._tapes import Replayed, record, replay

__all__ = [
    "Atom",
    "Batch",
    "Cassette",
    "CassetteError",
    "Change",
    "ClosedError",
    "EffectError",
    "EvaluationError",
    "Event",
    "Expression",
    "ForkError",
    "Grounded",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "LimitError",
    "LiveQuery",
    "MettaError",
    "NotReducible",
    "OutsideConnection",
    "ParseError",
    "Progress",
    "Reason",
    "ReplayError",
    "Replayed",
    "RowError",
    "Rows",
    "Store",
    "StoreError",
    "StoreSnapshot",
    "Subscription",
    "Symbol",
    "TapeError",
    "Transaction",
    "Variable",
    "View",
    "WorldError",
    "__version__",
    "cassette",
    "function",
    "load_ipython_extension",
    "parse",
    "record",
    "replay",
]
