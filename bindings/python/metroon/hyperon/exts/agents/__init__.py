"""Agents: programs and objects of Python that other programs call, and that hear events. `(import! &self agents)`."""

from metroon.hyperon.exts.agents.agent_base import AgentObject, EventAgent, StreamMethod, agent_atoms

__all__ = ["AgentObject", "EventAgent", "StreamMethod", "agent_atoms"]
