"""A WebSocket with nothing but the standard library: texts that are given as arguments, and what comes back for each."""

import base64
import os
import socket
import ssl
import struct
import sys

import seen


def connect(path):
    host, port = os.environ["METROON_PROXY"].removeprefix("http://").rsplit(":", 1)
    plain = socket.create_connection((host, int(port)), timeout=20)
    plain.sendall(b"CONNECT api.metroon.test:443 HTTP/1.1\r\nHost: api.metroon.test:443\r\n\r\n")
    assert head(plain).startswith(b"HTTP/1.1 200"), "the proxy connects"
    context = ssl.create_default_context(cafile=os.environ["METROON_CA"])
    secure = context.wrap_socket(plain, server_hostname="api.metroon.test")
    key = base64.b64encode(b"sixteen frogs do").decode()
    lines = [f"GET {path} HTTP/1.1", "Host: api.metroon.test", "Connection: Upgrade", "Upgrade: websocket"]
    lines += ["Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", "", ""]
    secure.sendall("\r\n".join(lines).encode())
    return secure, head(secure).split(b" ")[1].decode()


def head(stream):
    some = b""
    while not some.endswith(b"\r\n\r\n"):
        byte = stream.recv(1)
        if not byte:
            break
        some += byte
    return some


def send(stream, opcode, payload):
    mask = b"\1\2\3\4"
    masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
    stream.sendall(bytes([0x80 | opcode, 0x80 | len(payload)]) + mask + masked)


def exactly(stream, count):
    some = b""
    while len(some) < count:
        more = stream.recv(count - len(some))
        if not more:
            raise EOFError
        some += more
    return some


def receive(stream):
    first, length = exactly(stream, 2)
    if length == 126:
        (length,) = struct.unpack(">H", exactly(stream, 2))
    return first & 15, exactly(stream, length)


stream, status = connect("/ws")
seen.line("status", status)
for text in sys.argv[1:]:
    send(stream, 1, text.encode())
    try:
        opcode, payload = receive(stream)
    except EOFError:
        seen.line("ended", "without a word")
        break
    seen.line("answer", f"{opcode} {payload!r}")
    if opcode == 8:
        break
else:
    send(stream, 8, struct.pack(">H", 1000))
    seen.line("close", receive(stream)[0])
