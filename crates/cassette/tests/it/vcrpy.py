"""vcrpy records and replays; what its client saw goes to the standard output, as JSON.

record FILE: asks a server of its own and records to FILE.
replay FILE SERIALIZER: asks, without a network, what the standard input says.
"""

import base64
import gzip
import http.server
import json
import logging
import sys
import threading

import urllib3
import vcr
from vcr.cassette import Cassette

ASKED = [
    ("GET", "/text?a=1&a=2", None),
    ("POST", "/text", "Grüße: {'a': \"b\"}\n - c # d".encode()),
    ("GET", "/binary", None),
    ("PUT", "/gzip", b"\xff\x00\x01"),
    ("DELETE", "/gone", None),
    ("GET", "/moved", None),
    ("GET", "/text?a=1&a=2", None),
]
BODIES = {
    "/text": ("line 1\n  \"line\" 2: é \U0001f600\t\x85\u2028 " * 5).encode(),
    "/binary": bytes(range(256)),
    "/gzip": gzip.compress(b"all the same " * 20, mtime=0),
    "/gone": b"",
    "/moved": b"",
}


class Server(http.server.BaseHTTPRequestHandler):
    """Answers by path."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        path = self.path.split("?")[0]
        body = BODIES[path]
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status = {"/gone": 204, "/moved": 302}.get(path, 200)
        self.send_response(status)
        self.send_header("Set-Cookie", "a=1; Path=/")
        self.send_header("Set-Cookie", "b=2")
        if path == "/gzip":
            self.send_header("Content-Encoding", "gzip")
        if path == "/moved":
            self.send_header("Location", "/text")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_):
        pass


def ask(method, url, body, headers):
    """One request, nothing decoded and nothing followed."""
    pool = urllib3.PoolManager()
    answer = pool.request(
        method, url, body=body, headers=headers, decode_content=False, redirect=False, retries=False
    )
    raw = [[name, base64.b64encode(value.encode("latin-1")).decode()] for name, value in answer.headers.items()]
    return {"status": answer.status, "headers": raw, "body": base64.b64encode(answer.data).decode()}


def record(path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at = "http://127.0.0.1:%d" % server.server_port
    seen = []
    with vcr.VCR(record_mode="all").use_cassette(path):
        for method, target, body in ASKED:
            answer = ask(method, at + target, body, {"X-Test": "yes"})
            sent = None if body is None else base64.b64encode(body).decode()
            seen.append({"method": method, "target": target, "sent": sent, **answer})
    server.shutdown()
    return seen


def replay(path, serializer):
    recorder = vcr.VCR(serializer=serializer, record_mode="none", match_on=["method", "uri", "raw_body"])
    cassette = Cassette.load(path=path, serializer=recorder.serializers[serializer])
    seen = []
    with recorder.use_cassette(path):
        for request in json.load(sys.stdin):
            body = None if request["body"] is None else base64.b64decode(request["body"])
            seen.append(ask(request["method"], request["url"], body, {}))
    return {"loaded": len(cassette), "seen": seen}


logging.disable(logging.CRITICAL)
print(json.dumps({"record": record, "replay": replay}[sys.argv[1]](*sys.argv[2:])))
