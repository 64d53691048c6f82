"""Sends what Python programs ask of the network through the proxy of Mnemon that MNEMON_PROXY names.

Most libraries take the proxy and the certificates from the environment, and nothing is done for them. This file does the
rest, each when its library is imported, so that a program that uses none of them pays nothing:

- aiohttp: sessions trust the environment unless told otherwise;
- urllib3: a bare PoolManager uses the proxy (requests and botocore choose theirs themselves);
- http.client: a bare connection is made through the proxy;
- certifi: its bundle is Mnemon's, which holds the system's certificates and the proxy's own.

Without MNEMON_PROXY everything is as it would be without this file.
"""

import os
import sys


def _proxy():
    return os.environ.get("MNEMON_PROXY", "")


def _aiohttp(module):
    session = module.ClientSession
    make = session.__init__

    def __init__(self, *arguments, **named):
        if _proxy():
            named.setdefault("trust_env", True)
        make(self, *arguments, **named)

    session.__init__ = __init__


# These decide themselves whether a pool or a proxy is used.
_DECIDE_THEMSELVES = ("requests.", "botocore.", "pip.")


def _urllib3(module):
    plain, proxied = module.PoolManager, module.ProxyManager
    make = plain.__init__

    def __init__(self, *arguments, **named):
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if _proxy() and type(self) is plain and not caller.startswith(_DECIDE_THEMSELVES):
            self.__class__ = proxied
            proxied.__init__(self, "http://" + _proxy(), *arguments, **named)
        else:
            make(self, *arguments, **named)

    plain.__init__ = __init__


def _http_client(module):
    connection = module.HTTPConnection
    connect = connection.connect

    def connect_through_proxy(self):
        host, _, port = _proxy().rpartition(":")
        is_proxy = (self.host, str(self.port)) == (host.strip("[]"), port)
        if host and not is_proxy and not self._tunnel_host:
            self.set_tunnel(self.host, self.port)
            self.host, self.port = host.strip("[]"), int(port)
        connect(self)

    # Classes of others that connect in their own way do not come here.
    connection.connect = connect_through_proxy


def _certifi(module):
    system = module.where

    def where():
        return os.environ.get("MNEMON_CA_BUNDLE") or system()

    def contents():
        with open(where(), encoding="ascii") as bundle:
            return bundle.read()

    module.where, module.contents = where, contents


_PATCHES = {
    "aiohttp.client": _aiohttp,
    "urllib3.poolmanager": _urllib3,
    "http.client": _http_client,
    "certifi.core": _certifi,
}


def _patch(name, module):
    try:
        _PATCHES[name](module)
    except Exception as error:
        sys.stderr.write(f"mnemon: {name} may go past the proxy, this version of it is not known: {error!r}\n")


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
