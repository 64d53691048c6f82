"""Cassettes of blocks: recorded from a server on loopback, and answered without it."""

import http.server
import os
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request

import pytest

import metroon
from metroon import _cassettes
from metroon._program import program

# No request takes so many seconds.
PATIENCE = 30


class Pond(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        body = f"{self.path} {len(self.server.asked)}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server:
    """A server that can be closed; what it was asked for is in `asked`."""

    def __init__(self):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pond)
        self.asked = self._server.asked = []
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def outside(monkeypatch, tmp_path):
    """Neither the proxy nor the program of whoever runs the tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name in ("CI", "METROON", "METROON_LOG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


def get(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return answer.read().decode()


def test_a_block_is_recorded_once_and_answered_from_then_on(server):
    environment, opener = dict(os.environ), urllib.request._opener
    with metroon.cassette("tapes/trip.cassette") as trip:
        assert os.environ["HTTP_PROXY"] == trip.proxy and os.environ["SSL_CERT_FILE"] == trip.bundle
        assert get(server.url + "/frog") == "/frog 1" and get(server.url + "/frog") == "/frog 2"
    assert trip.counts["recorded"] == 2 and server.asked == ["/frog", "/frog"]
    assert dict(os.environ) == environment and urllib.request._opener is opener
    assert get(server.url + "/direct") == "/direct 3"
    server.close()
    with metroon.cassette("tapes/trip.cassette", mode="none") as again:
        assert get(server.url + "/frog") == "/frog 1" and get(server.url + "/frog") == "/frog 2"
    assert again.counts["answered"] == 2 and again.path == trip.path and len(server.asked) == 3


def test_programs_and_threads_of_a_block_are_recorded(server):
    ask = f"import urllib.request; print(urllib.request.urlopen('{server.url}/child', timeout={PATIENCE}).read().decode())"

    def visit():
        child = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=2 * PATIENCE)
        found = [child.stdout]
        thread = threading.Thread(target=lambda: found.append(get(server.url + "/thread")))
        thread.start()
        thread.join(PATIENCE)
        return found

    with metroon.cassette("trip.cassette"):
        first = visit()
    server.close()
    with metroon.cassette("trip.cassette", mode="none"):
        assert visit() == first == ["/child 1\n", "/thread 2"]


def test_a_miss_is_told_with_the_nearest_request_and_what_to_do(server):
    with metroon.cassette("trip.cassette"):
        get(server.url + "/frog?size=1")
    with pytest.raises(metroon.CassetteError) as caught:
        with metroon.cassette("trip.cassette", mode="none"):
            get(server.url + "/frog?size=2")
    said = str(caught.value)
    assert f"no recorded exchange answers GET {server.url}/frog?size=2" in said and "/frog?size=1" in said
    assert 'record it: call metroon.cassette with mode="new", or allow it with options=["--ignore-query=size"]' in said
    assert isinstance(caught.value.__cause__, urllib.error.HTTPError) and server.asked == ["/frog?size=1"]
    with metroon.cassette("trip.cassette", mode="none", options=["--ignore-query=size"]):
        assert get(server.url + "/frog?size=2") == "/frog?size=1 1"
    with metroon.cassette("trip.cassette", mode="new"):
        assert get(server.url + "/frog?size=2") == "/frog?size=2 2"


def test_a_miss_that_the_block_hides_is_told_all_the_same(server):
    with metroon.cassette("trip.cassette"):
        get(server.url + "/frog")
    with pytest.raises(metroon.CassetteError, match="/toad"):
        with metroon.cassette("trip.cassette", mode="none"):
            with pytest.raises(urllib.error.HTTPError):
                get(server.url + "/toad")


def test_a_block_goes_through_the_proxy_or_nowhere():
    with pytest.raises(metroon.OutsideConnection, match=r"the block reaches for 192.0.2.1:9 past the proxy(.|\n)*allow_hosts="):
        with metroon.cassette("trip.cassette", allow_empty=True):
            socket.create_connection(("192.0.2.1", 9), timeout=1)
    with pytest.raises(metroon.CassetteError, match="pond.invalid:5432 past the proxy"):
        with metroon.cassette("other.cassette", allow_empty=True):
            with pytest.raises(OSError):
                socket.create_connection(("pond.invalid", 5432), timeout=1)
    # Afterwards this is the system's business again.
    with pytest.raises(OSError) as caught:
        socket.create_connection(("pond.invalid", 5432), timeout=1)
    assert not isinstance(caught.value, metroon.OutsideConnection)


def test_a_block_that_asks_nothing_has_failed_and_leaves_nothing():
    with pytest.raises(metroon.CassetteError, match="saw no request of the block(.|\n)*allow_empty=True"):
        with metroon.cassette("trip.cassette"):
            pass
    assert not os.path.exists("trip.cassette")
    with metroon.cassette("trip.cassette", allow_empty=True):
        pass
    assert os.path.exists("trip.cassette")


def test_what_the_block_raises_goes_on_and_all_is_as_before(server):
    environment = dict(os.environ)
    for kind in (ZeroDivisionError, KeyboardInterrupt):
        with pytest.raises(kind):
            with metroon.cassette(f"{kind.__name__}.cassette"):
                get(server.url + "/frog")
                raise kind
        assert dict(os.environ) == environment
        with metroon.cassette(f"{kind.__name__}.cassette", mode="none"):
            assert get(server.url + "/frog").startswith("/frog")


def test_a_function_is_recorded_each_time(server):
    @metroon.cassette("trip.cassette")
    def trip():
        return get(server.url + "/frog")

    assert trip() == trip() == "/frog 1" and server.asked == ["/frog"]


def test_nothing_is_recorded_in_ci_unless_that_is_said(server, monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(metroon.CassetteError, match="there is no cassette at"):
        with metroon.cassette("trip.cassette"):
            pass
    with metroon.cassette("trip.cassette", mode="once"):
        get(server.url + "/frog")


def test_what_cannot_be_started_says_what_to_do():
    with pytest.raises(metroon.CassetteError, match=r"there is no program no-such-metroon\n(.|\n)*METROON"):
        with metroon.cassette("trip.cassette", command="no-such-metroon"):
            pass
    with pytest.raises(ValueError, match="once, new, all, none, passthrough"):
        with metroon.cassette("trip.cassette", mode="always"):
            pass
    (open("notes.txt", "w")).close()
    with pytest.raises(metroon.CassetteError, match="metroon did not start:\n"):
        with metroon.cassette("notes.txt"):
            pass


def test_a_program_that_cannot_be_run_is_named(monkeypatch, tmp_path):
    (tmp_path / "metroon").write_text("#!/bin/sh\n")
    (tmp_path / "metroon").chmod(0o644)
    made = []
    real = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: made.append(real()) or made[-1])
    for place in (tmp_path / "metroon", tmp_path, tmp_path / "metroon" / "below"):
        monkeypatch.setenv("METROON", str(place))
        with pytest.raises(metroon.CassetteError) as caught:
            with metroon.cassette("trip.cassette"):
                pass
        assert f"{place} cannot be run" in str(caught.value) and "help: name the program metroon in METROON" in str(caught.value)
        assert made.pop().closed


def test_a_program_that_does_not_start_in_time_is_ended(monkeypatch, tmp_path):
    (tmp_path / "slow").write_text(f"#!/bin/sh\necho 'not yet' >&2\nexec sleep {PATIENCE}\n")
    (tmp_path / "slow").chmod(0o755)
    monkeypatch.setattr(_cassettes, "_PATIENCE", 2)
    with pytest.raises(metroon.CassetteError, match="metroon did not start within 2 seconds:\nnot yet"):
        with metroon.cassette("trip.cassette", command=str(tmp_path / "slow")):
            pass


def test_the_program_is_that_of_the_package(monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = program()
    assert os.path.isabs(found) and os.path.basename(found) == "metroon"
    said = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=PATIENCE)
    assert said.stdout.split()[1] == metroon.__version__
    monkeypatch.setenv("METROON", "/else/where")
    assert program() == "/else/where" and program("wanted") == "wanted"
