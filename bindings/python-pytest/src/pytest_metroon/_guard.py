"""Keeps a test from the network, but for what goes through the proxy.

While a test runs, a connection of this process to another address than loopback is refused, and so is looking up the name of another
host. What was refused is kept: a program may catch the error, and the test is to fail all the same. Sockets that are not made
by Python, such as those of gRPC, are not seen.
"""

import functools
import ipaddress
import socket

# What takes an address, as its last argument.
_GUARDED = ("connect", "connect_ex", "sendto")


class OutsideConnection(ConnectionError):
    """A test went past the proxy."""


class Guard:
    """What a test may reach: loopback, Unix sockets, and hosts that it names, with those below them; `*` names all."""

    def __init__(self, allowed):
        self._allowed = {_name(host) for host in allowed if host.strip()}
        # Each place that was refused, once, with what there is to say.
        self.refused = {}

    def install(self, monkeypatch):
        for name in _GUARDED:
            monkeypatch.setattr(socket.socket, name, self._guarded(getattr(socket.socket, name)))
        monkeypatch.setattr(socket, "getaddrinfo", self._guarded_look_up(socket.getaddrinfo))

    def _guarded(self, real):
        @functools.wraps(real)
        def reach(of, *arguments):
            is_internet = of.family in (socket.AF_INET, socket.AF_INET6)
            if is_internet and arguments and isinstance(arguments[-1], tuple):
                self._check(*arguments[-1][:2])
            return real(of, *arguments)

        return reach

    def _guarded_look_up(self, real):
        @functools.wraps(real)
        def look_up(host, port, *arguments, **named):
            self._check(host, port)
            found = real(host, port, *arguments, **named)
            if self._is_allowed(_plain(host)):
                self._allowed.update(_plain(address[0]) for *_, address in found)
            return found

        return look_up

    def _is_allowed(self, host):
        names = self._allowed
        return "*" in names or any(host == name or host.endswith("." + name) for name in names)

    def _check(self, host, port):
        # What a user looks for is where the test called, not this.
        __tracebackhide__ = True
        host = _plain(host)
        if _is_here(host) or self._is_allowed(host):
            return
        place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        self.refused[place] = message = (
            f"metroon: the test reaches for {place} past the proxy, which is refused\n"
            "help: tell its client of the proxy, which the fixture names (metroon.proxy, metroon.ca), or allow the host: "
            f'@pytest.mark.metroon(allow_hosts=["{host}"])'
        )
        raise OutsideConnection(message)


def _plain(host):
    host = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host or "")
    return host.strip("[]").rstrip(".").lower()


def _name(entry):
    """The name in an entry of a list of hosts, which may have a port and a mark for those below it."""
    entry = entry.strip().rpartition(":")[0] if entry.count(":") == 1 else entry.strip()
    return _plain(entry).lstrip("*").lstrip(".") or "*"


def _is_here(host):
    """Whether a host is this computer, by loopback. An empty one is what a server listens on."""
    if host in ("", "localhost") or host.endswith(".localhost") or host == _plain(socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified
