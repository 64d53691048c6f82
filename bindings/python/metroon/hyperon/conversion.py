"""Values of the engine as values of Python. The engine's own conversion makes them; these are the names that programs import."""

from __future__ import annotations

from enum import Enum
from typing import Any


class SerialResult(Enum):
    """Whether a value was taken."""

    OK = 0
    NOT_SUPPORTED = 1


class Serializer:
    """Takes a value of one kind."""

    def serialize_bool(self, v: bool) -> SerialResult:
        return SerialResult.NOT_SUPPORTED

    def serialize_int(self, v: int) -> SerialResult:
        return SerialResult.NOT_SUPPORTED

    def serialize_float(self, v: float) -> SerialResult:
        return SerialResult.NOT_SUPPORTED

    def serialize_str(self, v: str) -> SerialResult:
        return SerialResult.NOT_SUPPORTED


class ConvertingSerializer(Serializer):
    """Keeps the value that it takes."""

    def __init__(self) -> None:
        self.value: Any = None

    def _keep(self, v: Any) -> SerialResult:
        self.value = v
        return SerialResult.OK

    serialize_bool = serialize_int = serialize_float = serialize_str = _keep
