"""A bus that calls whoever has subscribed, where an event is published."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any, Callable, DefaultDict, Dict, List

from metroon.hyperon.atoms import Atom, OperationAtom
from metroon.hyperon.ext import register_atoms

_LOGGER = logging.getLogger("metroon.agents")


class BasicEventBus:
    """Channels, each with functions that are called in the order in which they subscribed."""

    is_running = True

    def __init__(self) -> None:
        self.subscriptions: DefaultDict[str, List[Callable[..., Any]]] = defaultdict(list)

    def create_subscription(self, topic: str, call: Callable[..., Any]) -> None:
        """Has a function called with the content of each event of a channel."""
        self.subscriptions[topic].append(call)

    def publish(self, topic: str, content: Any) -> None:
        """Calls the functions of a channel."""
        # Whoever subscribes meanwhile hears the next event.
        for hear in tuple(self.subscriptions.get(topic, ())):
            hear(content)

    def terminate(self) -> None:
        """Says to those who look that the bus is not used any more."""
        self.is_running = False

    def get_logger(self) -> logging.Logger:
        return _LOGGER


@register_atoms
def event_atoms() -> Dict[str, Atom]:
    """The words of `(import! &self agents:events)`."""
    return {"basic-event-bus": OperationAtom("basic-event-bus", BasicEventBus)}
