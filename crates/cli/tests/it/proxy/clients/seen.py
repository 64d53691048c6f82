"""What a client saw, a line each: what the tests compare between a recording and its replay."""

import base64
import hashlib
import sys
import time

BASE = "https://api.metroon.test"
SOCKET = "wss://api.metroon.test"


def body(name, content):
    print("body", name, len(content), hashlib.sha256(content).hexdigest(), flush=True)


def line(name, value):
    print("line", name, value, flush=True)


def piece(name, content):
    """A piece of a stream, with the milliseconds of a clock that never goes back."""
    at = round(time.monotonic() * 1000)
    print("piece", at, name, base64.b64encode(content).decode(), flush=True)


def verified(error_types, ask):
    """That a certificate that nobody signed for the name is refused shows that certificates are looked at."""
    try:
        ask()
    except error_types as error:
        line("refused", type(error).__name__)
    else:
        sys.exit("a certificate was not verified")
