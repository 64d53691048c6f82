"""A bus of events for agents: `(import! &self agents:events)`."""

from metroon.hyperon.exts.agents.events.basic_bus import BasicEventBus, event_atoms

__all__ = ["BasicEventBus", "event_atoms"]
