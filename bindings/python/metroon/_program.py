"""The program `metroon`, which came with this package."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from pathlib import Path
from typing import Iterator, Optional

_NAME = "metroon.exe" if sys.platform == "win32" else "metroon"


def _beside_the_package() -> Iterator[Path]:
    """Where the installer of the package may have put its scripts."""
    try:
        files = importlib.metadata.distribution("metroon").files or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == _NAME:
            yield Path(str(file.locate()))
    # What is installed into a folder of its own (`pip install --target`) has its scripts there.
    yield Path(__file__).resolve().parents[1] / "bin" / _NAME


def program(wanted: Optional[str] = None) -> str:
    """The program: the one that is wanted, or that the variable METROON names, that of this package, or the one on PATH."""
    named = wanted or os.environ.get("METROON")
    if named:
        return named
    for path in _beside_the_package():
        if os.access(path, os.X_OK):
            return os.path.realpath(path)
    return shutil.which("metroon") or "metroon"
