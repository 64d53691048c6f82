"""Servers for clients that ask for more than the tests' origin has: `serves.py KIND IDENTITY`, where IDENTITY is a file with the
certificate and its key. Prints the port, which is on loopback and has TLS, and stays until its standard input ends.

- `sockets`: a WebSocket that says back what it hears, compressed by `permessage-deflate`;
- `grpc`: calls with one answer and with several, and with trailers;
- `pages`: a repository at `/pond.git`, made in the current folder and served by `git http-backend`, and an index of packages at
  `/simple/`.
"""

import base64
import hashlib
import io
import os
import ssl
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

KIND, IDENTITY = sys.argv[1:]
# What must not be collected while it serves.
KEPT = []


def context():
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(IDENTITY)
    return made


def sockets():
    from websockets.sync.server import serve

    def echo(socket):
        for message in socket:
            socket.send(message)

    server = serve(echo, "127.0.0.1", 0, ssl=context(), compression="deflate")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.socket.getsockname()[1]


def grpc():
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    def croak(request, call):
        call.set_trailing_metadata((("x-sum", "3"), ("x-pond-bin", b"\0\1\xff")))
        return b"croak " + request

    def ticks(request, call):
        yield from (b"tick %d" % number for number in range(3))
        call.set_trailing_metadata((("x-ticks", "3"),))
        call.abort(grpc.StatusCode.OUT_OF_RANGE, "no more ticks")

    methods = {
        "Croak": grpc.unary_unary_rpc_method_handler(croak),
        "Ticks": grpc.unary_stream_rpc_method_handler(ticks),
    }
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("frogs.Pond", methods),))
    with open(IDENTITY, "rb") as file:
        identity = file.read()
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(identity, identity)]))
    server.start()
    KEPT.append(server)
    return port


def wheel():
    """A package with one module and nothing else."""
    about = "frog-1.0.dist-info/"
    files = {
        "frog.py": b"NAME = 'Sam'\n",
        about + "METADATA": b"Metadata-Version: 2.1\nName: frog\nVersion: 1.0\n",
        about + "WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    files[about + "RECORD"] = "".join([*lines, about + "RECORD,,\n"]).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


class Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = urlsplit(self.path).path
        if path.startswith("/pond.git/"):
            self.answer_git(path)
        elif path == "/simple/frog/":
            self.give("text/html", b'<a href="/files/frog-1.0-py3-none-any.whl">frog-1.0-py3-none-any.whl</a>\n')
        elif path == "/files/frog-1.0-py3-none-any.whl":
            self.give("application/octet-stream", wheel())
        else:
            self.send_error(404)

    do_POST = do_GET

    def give(self, content_type, body, status=200):
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_git(self, path):
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        about = {
            "GIT_PROJECT_ROOT": os.getcwd(), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": urlsplit(self.path).query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(asked)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        said = subprocess.run(["git", "http-backend"], input=asked, env={**os.environ, **about}, stdout=subprocess.PIPE, check=True)
        head, _, body = said.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.give(fields["Content-Type"], body, int(fields.get("Status", "200").split()[0]))

    def log_message(self, *_):
        pass


def git(*words, **named):
    author = {"GIT_AUTHOR_NAME": "Sam", "GIT_AUTHOR_EMAIL": "sam@pond.example", "GIT_AUTHOR_DATE": "1760000000 +0000"}
    committer = {name.replace("AUTHOR", "COMMITTER"): value for name, value in author.items()}
    nothing_of_the_users = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], env={**os.environ, **author, **committer, **nothing_of_the_users}, check=True, **named)


def pages():
    git("init", "--quiet", "--initial-branch=pond", "work")
    for number in range(3):
        with open("work/frogs", "a") as file:
            file.writelines(f"frog {number}.{one}\n" for one in range(1000))
        git("-C", "work", "add", "frogs")
        git("-C", "work", "commit", "--quiet", f"--message=frogs {number}")
    git("clone", "--quiet", "--bare", "work", "pond.git")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.socket = context().wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


print({"sockets": sockets, "grpc": grpc, "pages": pages}[KIND](), flush=True)
sys.stdin.read()
os._exit(0)
