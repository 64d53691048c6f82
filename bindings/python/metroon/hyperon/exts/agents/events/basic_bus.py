"""A bus that calls whoever has subscribed, where an event is published."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any, Callable, DefaultDict, Dict, List

from metroon.hyperon.atoms import Atom, OperationAtom
from metroon.hyperon.ext import register_atoms


class BasicEventBus:
    """Channels, each with functions that are called in the order in which they subscribed."""

    def __init__(self) -> None:
        self.subscriptions: DefaultDict[str, List[Callable[..., Any]]] = defaultdict(list)
        self.is_running = True

    def terminate(self) -> None:
        self.is_running = False

    def create_subscription(self, topic: str, call: Callable[..., Any]) -> None:
        self.subscriptions[topic].append(call)

    def publish(self, topic: str, content: Any) -> None:
        for call in list(self.subscriptions[topic]):
            call(content)

    def get_logger(self) -> logging.Logger:
        return logging.getLogger("metroon.agents")


@register_atoms
def event_atoms() -> Dict[str, Atom]:
    return {"basic-event-bus": OperationAtom("basic-event-bus", BasicEventBus)}
