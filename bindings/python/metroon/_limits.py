"""What a base may take and reach, by the names that the command line has for it."""

from __future__ import annotations

import math
import re
from typing import Any, Dict, Iterable, List, Optional, Union

Bytes = Union[int, str]

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def bytes_of(name: str, value: Optional[Bytes]) -> Optional[int]:
    """A number of bytes: a number, or a text such as "512M"."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]+)([KMG]?)", value.upper()) if isinstance(value, str) else None
    if found is not None:
        value = int(found[1]) * _UNITS[found[2]]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a number of bytes above 0, such as 1000000 or \"512M\", not {value!r}")
    if not 0 < value < 1 << 64:
        raise ValueError(f"{name} is a number of bytes above 0 and of at most 64 bits, not {value}")
    return value


def limits(
    steps: Optional[int] = None,
    heap: Optional[Bytes] = None,
    memory: Optional[Bytes] = None,
    timeout: Optional[float] = None,
) -> Dict[str, Any]:
    """Limits as the engine takes them."""
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int)):
        raise TypeError(f"steps is a whole number above 0, such as 1000000, not {steps!r}")
    if steps is not None and not 0 < steps < 1 << 64:
        raise ValueError(f"steps is a whole number above 0 and of at most 64 bits, not {steps}")
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
        raise TypeError(f"timeout is a number of seconds above 0, such as 10 or 0.5, not {timeout!r}")
    if timeout is not None and not (timeout > 0 and math.isfinite(timeout)):
        raise ValueError(f"timeout is a number of seconds above 0, such as 10 or 0.5, not {timeout}")
    return {"steps": steps, "heap": bytes_of("heap", heap), "memory": bytes_of("memory", memory), "timeout": timeout}


def permissions(deny_all: bool, allow: Union[str, Iterable[str]]) -> Dict[str, Any]:
    """What a program may reach, as the engine takes it: `read=PATH`, `write=PATH` and `env=NAME`, each a text of its own."""
    named: Dict[str, List[str]] = {"read": [], "write": [], "env": []}
    for one in [allow] if isinstance(allow, str) else allow:
        kind, _, what = one.partition("=")
        if kind == "net":
            raise ValueError(f"nothing can permit {one}: no function of the language reaches the network; leave it out")
        if kind not in named or not what:
            raise ValueError(f"allow takes texts such as \"read=PATH\", \"write=PATH\" and \"env=NAME\", not {one!r}")
        named[kind].append(what)
    if not deny_all and any(named.values()):
        raise ValueError("allow names what programs may reach, and without deny_all they may reach every file and variable: add deny_all=True")
    return {"deny_all": bool(deny_all), **named}
