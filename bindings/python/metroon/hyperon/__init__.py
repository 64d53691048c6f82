"""The names of hyperon 0.2.10, on Metroon: `metroon.hyperon.install()` makes `import hyperon` mean this."""

import importlib
import os
import sys

from .atoms import *
from .atoms import AtomKind, AtomType, Atoms
from .base import *
from .base import SyntaxNodeType
from .runner import *
from .conversion import SerialResult, Serializer

__version__ = "0.2.10+metroon"


_MODULES = (
    *("atoms", "base", "conversion", "ext", "exts", "metta", "module", "runner", "stdlib"),
    *("exts.agents", "exts.agents.agent_base", "exts.agents.events", "exts.agents.events.basic_bus", "exts.py_ops"),
)


def install() -> None:
    """Makes `import hyperon`, and what it is imported with, mean this module, for programs that are not changed."""
    here = sys.modules[__name__]
    sys.modules["hyperon"] = sys.modules["hyperonpy"] = here
    for name in _MODULES:
        module = importlib.import_module(f"{__name__}.{name}")
        sys.modules[f"hyperon.{name}"] = module
