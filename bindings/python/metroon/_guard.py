"""Keeps Python code from the network, but for what goes through the proxy.

Meanwhile a connection of this process to another address than loopback is refused, and so is looking up the name of another
host. What was refused is kept: a program may catch the error, and is to fail all the same. Sockets that are not made
by Python, such as those of gRPC, are not seen.
"""

from __future__ import annotations

import functools
import ipaddress
import socket
from typing import Any, Callable, Dict, Iterable

# What takes an address, as its last argument.
_GUARDED = ("connect", "connect_ex", "sendto")


class OutsideConnection(ConnectionError):
    """Something went past the proxy."""


class Guard:
    """What may be reached: loopback, Unix sockets, and hosts that are named, with those below them; `*` names all."""

    def __init__(self, allowed: Iterable[str], words: Any) -> None:
        self._allowed = {_name(host) for host in allowed if host.strip()}
        self._words = words
        # Each place that was refused, once, with what there is to say.
        self.refused: Dict[str, str] = {}

    def install(self, put: Callable[[Any, str, Any], None]) -> None:
        """Puts guarded functions in the place of Python's, by a function that takes the object, the name and the value."""
        for name in _GUARDED:
            put(socket.socket, name, self._guarded(getattr(socket.socket, name)))
        put(socket, "getaddrinfo", self._guarded_look_up(socket.getaddrinfo))

    def _guarded(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def reach(of: Any, *arguments: Any) -> Any:
            is_internet = of.family in (socket.AF_INET, socket.AF_INET6)
            if is_internet and arguments and isinstance(arguments[-1], tuple):
                self._check(*arguments[-1][:2])
            return real(of, *arguments)

        return reach

    def _guarded_look_up(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def look_up(host: Any, port: Any, *arguments: Any, **named: Any) -> Any:
            self._check(host, port)
            found = real(host, port, *arguments, **named)
            if self._is_allowed(_plain(host)):
                self._allowed.update(_plain(address[0]) for *_, address in found)
            return found

        return look_up

    def _is_allowed(self, host: str) -> bool:
        names = self._allowed
        return "*" in names or any(host == name or host.endswith("." + name) for name in names)

    def _check(self, host: Any, port: Any) -> None:
        # What a user looks for is where the test called, not this.
        __tracebackhide__ = True
        host = _plain(host)
        if _is_here(host) or self._is_allowed(host):
            return
        place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        self.refused[place] = message = (
            f"metroon: {self._words.who} reaches for {place} past the proxy, which is refused\n"
            f"help: tell its client of the proxy, {self._words.proxy}, or allow the host: "
            f"{self._words.allow_hosts.format(host=host)}"
        )
        raise OutsideConnection(message)


def _plain(host: Any) -> str:
    host = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    return host.strip("[]").rstrip(".").lower()


def _name(entry: str) -> str:
    """The name in an entry of a list of hosts, which may have a port and a mark for those below it."""
    entry = entry.strip().rpartition(":")[0] if entry.count(":") == 1 else entry.strip()
    return _plain(entry).lstrip("*").lstrip(".") or "*"


def _is_here(host: str) -> bool:
    """Whether a host is this computer, by loopback. An empty one is what a server listens on."""
    if host in ("", "localhost") or host.endswith(".localhost") or host == _plain(socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified
