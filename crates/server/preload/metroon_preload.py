"""Sends what Python programs ask of the network through the proxy of Metroon that METROON_PROXY names.

A library is patched where it makes its connections, when it is imported or, if it was before, at once. The proxy is looked up
for each connection. So it makes no difference when a client was made, which proxy it was told of, and whether it was told to
read no variables (`trust_env=False`):

- httpcore and httpcore2 (httpx, httpx2 and what is made of them): a pool hands its requests to a pool with the same settings
  that goes through the proxy;
- urllib3 (requests, botocore) and http.client (urllib.request): a socket is the end of a tunnel through the proxy;
- aiohttp: a request has the proxy as its own.

All of them trust the proxy's certificate besides those that they trust anyway. A connection that was made directly, or through
an earlier proxy, is not used again. Hosts that NO_PROXY excepts, Unix sockets, and classes that connect in a way of their own
are left alone. Certifi, by which libraries find the certificates to trust, gives Metroon's bundle: the system's certificates
and the proxy's own.

A program that uses none of these libraries pays nothing. Without METROON_PROXY everything is as it would be without this file.
"""

import os
import sys

# The proxy answers a CONNECT at once, with a head that is not longer.
_PROXY_SECONDS = 60
_HEAD_BYTES_MAX = 64 << 10


def _like(original):
    """Gives a function the name and the words of the one in whose place it is."""
    # Loaded with the first library that is patched, not at the start of each program.
    import functools

    return functools.wraps(original)


# Where connections lead


def _proxy():
    """Where the proxy listens, as HOST:PORT; empty if there is none."""
    return os.environ.get("METROON_PROXY", "")


def _address():
    host, _, port = _proxy().rpartition(":")
    return host.strip("[]"), int(port)


def _bare(host):
    host = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    return host.strip("[]").lower()


def _is_proxy(host, port):
    return (_bare(host), port) == _address()


def _excepts(entry, host, port):
    """Whether an entry of NO_PROXY is about a host: a name, which stands for those below it as well, with or without a port."""
    name, _, of_port = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
    name = name.strip("[]").lstrip("*").lstrip(".")
    is_named = host == name or host.endswith("." + name)
    return entry == "*" or bool(name) and is_named and of_port in ("", str(port))


def _via(host, port):
    """The proxy through which a connection to a host is to lead, as `_proxy` has it; empty if it is made directly."""
    entries = os.environ.get("NO_PROXY", "").lower().split(",")
    host = _bare(host)
    return "" if any(_excepts(entry.strip(), host, port) for entry in entries) else _proxy()


def _tunnel(host, port, timeout):
    """A socket that leads to a host through the proxy. The timeout is what a socket takes, or a mark of a library's own."""
    import socket

    host = host if host.isascii() else host.encode("idna").decode()
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    is_timeout = timeout is None or isinstance(timeout, (int, float))
    end = socket.create_connection(_address(), timeout if timeout and is_timeout else _PROXY_SECONDS)
    try:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        head = b""
        # Nothing follows the head until the client has said something.
        while not head.endswith(b"\r\n\r\n") and len(head) < _HEAD_BYTES_MAX:
            piece = end.recv(4096)
            if not piece:
                break
            head += piece
        status = head.split(b"\r\n")[0].decode("latin-1")
        if status.split(" ")[1:2] != ["200"]:
            raise OSError(f"the proxy of Metroon refused the connection to {place}: {status or 'no answer'}")
        end.settimeout(timeout if is_timeout else socket.getdefaulttimeout())
    except BaseException:
        end.close()
        raise
    return end


def _trust(context):
    """Makes a context trust the proxy's certificate, too. Once more does no harm."""
    if context is not None:
        context.load_verify_locations(cafile=os.environ["METROON_CA"])


# httpcore


# What makes the connections of a pool, unless a program has something of its own, or a mock.
_BACKENDS = ("SyncBackend", "AutoBackend", "AnyIOBackend", "TrioBackend")


def _pool_for(pool, url, package, proxied_class):
    """The pool that is to send a request for a URL: this one, or the one beside it that goes through the proxy."""
    port = url.port or {b"https": 443, b"wss": 443}.get(url.scheme, 80)
    via = _via(url.host, port)
    if not via or pool._uds is not None or type(pool._network_backend).__name__ not in _BACKENDS:
        return pool
    proxied = getattr(sys.modules[package], proxied_class)
    place = getattr(pool, "_proxy_url", None)
    if isinstance(pool, proxied) and place is not None and _is_proxy(place.host, place.port):
        _trust(pool._ssl_context)
        return pool
    known_via, beside = pool.__dict__.get("_metroon_beside", ("", None))
    if known_via != via:
        # Connections of the one before lead to a proxy that has ended. A pool for `async` is closed with what it leads to.
        if hasattr(beside, "close"):
            beside.close()
        _trust(pool._ssl_context)
        beside = proxied(
            "http://" + via,
            ssl_context=pool._ssl_context,
            max_connections=pool._max_connections,
            max_keepalive_connections=pool._max_keepalive_connections,
            keepalive_expiry=pool._keepalive_expiry,
            http1=pool._http1,
            http2=pool._http2,
            network_backend=pool._network_backend,
        )
        pool._metroon_beside = (via, beside)
    return beside


def _httpcore(module):
    package = module.__name__.partition(".")[0]
    pool = module.ConnectionPool
    handle, close = pool.handle_request, pool.close

    @_like(handle)
    def handle_request(self, request):
        return handle(_pool_for(self, request.url, package, "HTTPProxy"), request)

    @_like(close)
    def close_both(self):
        _, beside = self.__dict__.pop("_metroon_beside", ("", None))
        if beside is not None:
            close(beside)
        close(self)

    pool.handle_request, pool.close = handle_request, close_both


def _async_httpcore(module):
    package = module.__name__.partition(".")[0]
    pool = module.AsyncConnectionPool
    handle, close = pool.handle_async_request, pool.aclose

    @_like(handle)
    async def handle_async_request(self, request):
        return await handle(_pool_for(self, request.url, package, "AsyncHTTPProxy"), request)

    @_like(close)
    async def close_both(self):
        _, beside = self.__dict__.pop("_metroon_beside", ("", None))
        if beside is not None:
            await close(beside)
        await close(self)

    pool.handle_async_request, pool.aclose = handle_async_request, close_both


# urllib3


def _urllib3_connection(module):
    connect_socket = module.HTTPConnection._new_conn
    connect_secured = module.HTTPSConnection.connect

    @_like(connect_socket)
    def _new_conn(self):
        self._metroon_via = via = _via(self._tunnel_host or self.host, self._tunnel_port or self.port)
        if not via or _is_proxy(self.host, self.port):
            return connect_socket(self)
        import socket

        try:
            # The words to a proxy of the program's own are understood by ours.
            if getattr(self, "proxy", None) is not None:
                return socket.create_connection(_address(), _PROXY_SECONDS)
            return _tunnel(self._dns_host, self.port, self.timeout)
        except socket.timeout as error:
            raise module.ConnectTimeoutError(self, f"Connection to {self.host} timed out.") from error
        except OSError as error:
            raise module.NewConnectionError(self, f"Failed to establish a new connection: {error}") from error

    @_like(connect_secured)
    def connect(self):
        before = self.ca_cert_data
        if _via(self._tunnel_host or self.host, self._tunnel_port or self.port):
            # All certificates that can come are the proxy's.
            with open(os.environ["METROON_CA"], encoding="ascii") as file:
                self.ca_cert_data = file.read()
        try:
            connect_secured(self)
        finally:
            self.ca_cert_data = before

    module.HTTPConnection._new_conn = _new_conn
    module.HTTPSConnection.connect = connect


def _urllib3_pool(module):
    pool = module.HTTPConnectionPool
    get = pool._get_conn

    @_like(get)
    def _get_conn(self, *arguments, **named):
        connection = get(self, *arguments, **named)
        to = connection._tunnel_host or connection.host, connection._tunnel_port or connection.port
        if connection.sock is not None and getattr(connection, "_metroon_via", "") != _via(*to):
            connection.close()
        return connection

    pool._get_conn = _get_conn


# http.client


def _http_client(module):
    plain, secured = module.HTTPConnection, module.HTTPSConnection
    connect_plain, connect_secured, put = plain.connect, secured.connect, plain.putrequest

    def destination(self):
        return self._tunnel_host or self.host, self._tunnel_port or self.port

    @_like(connect_plain)
    def connect(self):
        self._metroon_via = via = _via(*destination(self))
        if not via or _is_proxy(self.host, self.port):
            return connect_plain(self)
        make = self._create_connection
        # A tunnel through a proxy of the program's own is made through ours instead.
        to_proxy = self._tunnel_host is not None

        def through_proxy(address, timeout, *_):
            return make(_address(), timeout) if to_proxy else _tunnel(*address, timeout)

        self._create_connection = through_proxy
        try:
            return connect_plain(self)
        finally:
            self._create_connection = make

    @_like(connect_secured)
    def connect_with_trust(self):
        if _via(*destination(self)):
            _trust(self._context)
        connect_secured(self)

    @_like(put)
    def putrequest(self, *arguments, **named):
        # Classes of others that connect in their own way do not come here, and know when to connect anew.
        is_known = type(self).connect in (connect, connect_with_trust)
        if is_known and self.sock is not None and getattr(self, "_metroon_via", "") != _via(*destination(self)):
            self.close()
        return put(self, *arguments, **named)

    plain.connect, secured.connect, plain.putrequest = connect, connect_with_trust, putrequest


# aiohttp


def _aiohttp_client(module):
    session = module.ClientSession
    ask = session._request

    def leads_to_proxy(self, url):
        try:
            to = self._build_url(url)
        except ValueError:
            # What is no URL is refused by the library, in its own words.
            return False
        return bool(to.host and _via(to.host, to.port)) and not _is_proxy(to.host, to.port)

    @_like(ask)
    async def _request(self, method, url, **named):
        if isinstance(self._connector, module.TCPConnector) and leads_to_proxy(self, url):
            named.update(proxy="http://" + _proxy(), proxy_auth=None, proxy_headers=None)
        return await ask(self, method, url, **named)

    session._request = _request


def _aiohttp_connector(module):
    connector = module.TCPConnector
    get = connector._get_ssl_context

    @_like(get)
    def _get_ssl_context(self, request):
        context = get(self, request)
        if _proxy():
            _trust(context)
        return context

    connector._get_ssl_context = _get_ssl_context


# certifi


def _certifi(module):
    system = module.where

    def where():
        return os.environ.get("METROON_CA_BUNDLE") or system()

    def contents():
        with open(where(), encoding="ascii") as bundle:
            return bundle.read()

    module.where, module.contents = where, contents


_PATCHES = {
    "aiohttp.client": _aiohttp_client,
    "aiohttp.connector": _aiohttp_connector,
    "certifi.core": _certifi,
    "http.client": _http_client,
    "httpcore._async.connection_pool": _async_httpcore,
    "httpcore._sync.connection_pool": _httpcore,
    "httpcore2._async.connection_pool": _async_httpcore,
    "httpcore2._sync.connection_pool": _httpcore,
    "urllib3.connection": _urllib3_connection,
    "urllib3.connectionpool": _urllib3_pool,
}


def _patch(name, module):
    try:
        _PATCHES[name](module)
    except Exception as error:
        sys.stderr.write(f"metroon: {name} may go past the proxy, this version of it is not known: {error!r}\n")


class _Finder:
    """Finds a library as Python would have, and patches it once it is loaded."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in _PATCHES:
            return None
        others = (finder for finder in sys.meta_path if finder is not cls and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                _patch(name, module)

            spec.loader.exec_module = exec_module
        return spec


def install():
    """Patches what is imported, and what will be. Once is enough."""
    if _Finder in sys.meta_path:
        return
    sys.meta_path.insert(0, _Finder)
    for name in _PATCHES:
        if name in sys.modules:
            _patch(name, sys.modules[name])
