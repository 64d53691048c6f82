"""A pytest plugin: what a test asks of the network is recorded once, and answered from the recording from then on.

A test that is marked `@pytest.mark.metroon`, or asks for the fixture `metroon`, runs with a proxy of the program `metroon` of its
own, and a cassette named after it. Its clients go through the proxy whenever they were made; what goes past it is refused, and a test
of which the proxy saw nothing fails. Requests of other tests go where they always went.
"""

import collections
import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from pytest_metroon._guard import Guard, OutsideConnection

__all__ = ["MODES", "OutsideConnection", "Cassette", "metroon", "start"]

MODES = ("once", "new", "all", "none", "passthrough")
# The proxy gets so many seconds to start, and to seal its cassette.
_PATIENCE = 60
# A name of a cassette is not longer, since names of files may not be.
_NAME_MAX = 120
# The report of a test's own part.
_CALL = pytest.StashKey()

# How a proxy ended: its exit code, what it said, and what it counted, `None` if it did not get so far.
Outcome = collections.namedtuple("Outcome", "code said counts")


def pytest_addoption(parser):
    group = parser.getgroup("metroon")
    group.addoption(
        "--metroon-mode",
        choices=MODES,
        help="once: record what has no cassette yet; new: record what is not on it; all: record anew; none: only answer"
        " (default: none if CI is set, else once)",
    )
    parser.addini("metroon_command", "the program metroon", default="")
    parser.addini("metroon_folder", "where cassettes lie, from the folder of each test file", default="cassettes")
    parser.addini("metroon_allow_hosts", "hosts that tests reach past the proxy, such as that of a database", type="args", default=[])
    parser.addini("metroon_options", "options for every recording, such as --ignore-query=nonce", type="args", default=[])


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "metroon(cassette=None, mode=None, options=[], allow_hosts=[], allow_empty=False): record what the test asks of the network, and"
        " answer from the recording; allow_hosts are reached past the proxy, allow_empty lets the test ask nothing",
    )


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("metroon") and "metroon" not in item.fixturenames:
            item.fixturenames.insert(0, "metroon")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    if report.when == "call":
        item.stash[_CALL] = report


class Cassette:
    """A proxy with its cassette, while a test runs."""

    def __init__(self, path, process, ready):
        self.path = path
        self.proxy = ready["proxy"]
        self.ca = ready["ca"]
        self.bundle = ready["bundle"]
        # For programs that the test starts itself; os.environ has them while it runs.
        self.env = ready["env"]
        self._process = process

    def stop(self):
        """Ends the proxy and seals the cassette; see `Outcome`. The exit code is 4 if a request had no answer."""
        try:
            counted, said = self._process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            counted, said = self._process.communicate()
            said += f"\nmetroon did not end within {_PATIENCE} seconds"
        lines = counted.splitlines()
        return Outcome(self._process.returncode, said.strip(), json.loads(lines[-1]) if lines else None)


def start(cassette, mode="once", options=(), command=None):
    """Starts a proxy for a cassette."""
    words = [command or os.environ.get("METROON") or "metroon", "record", "-o", str(cassette), "--mode", mode, "--ready-json"]
    # What it advises is what a user of pytest can type.
    environment = {**os.environ, "METROON_HELP_STYLE": "pytest"}
    pipes = dict.fromkeys(["stdin", "stdout", "stderr"], subprocess.PIPE)
    try:
        process = subprocess.Popen([*words, *options], env=environment, text=True, **pipes)
    except FileNotFoundError:
        message = f"there is no program {words[0]}: put metroon on PATH, or name it in METROON or in the option metroon_command"
        raise pytest.UsageError(message) from None
    line = process.stdout.readline()
    if not line:
        _, said = process.communicate(timeout=_PATIENCE)
        pytest.fail(f"metroon did not start:\n{said}", pytrace=False)
    return Cassette(Path(cassette), process, json.loads(line))


def _cassette_name(test):
    """A name for the cassette of a test. Two tests have two: where characters are lost, a hash of the test's name is added."""
    name, has_values, values = test.partition("[")
    plain = re.sub(r"[^A-Za-z0-9_.=-]+", "-", test).strip("-")
    is_exact = not has_values or re.fullmatch(r"[A-Za-z0-9_.=]([A-Za-z0-9_.=-]*[A-Za-z0-9_.=])?", values[:-1])
    if not is_exact or not re.fullmatch(r"\w+(::\w+)*", name, re.ASCII) or len(plain) > _NAME_MAX:
        plain = f"{plain[:_NAME_MAX]}-{hashlib.sha256(test.encode()).hexdigest()[:8]}"
    return plain + ".cassette"


def _path(request, marked):
    folder = request.path.parent / request.config.getini("metroon_folder")
    test = request.node.nodeid.split("::", 1)[-1]
    return folder / (marked.get("cassette") or Path(request.path.stem) / _cassette_name(test))


def _prepare_libraries(folder):
    """Does for this process what Python does at the start of one that metroon runs."""
    if "metroon_preload" not in sys.modules:
        spec = importlib.util.spec_from_file_location("metroon_preload", os.path.join(folder, "metroon_preload.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules["metroon_preload"] = module
        spec.loader.exec_module(module)
    sys.modules["metroon_preload"].install()


def _faults(outcome, path, guard, marked):
    """Why a test that passed is to fail after all."""
    yield from guard.refused.values()
    is_seen = outcome.counts is None or outcome.counts["requests"] > 0
    if is_seen or guard.refused or marked.get("allow_empty"):
        return
    if outcome.counts["connections"] > 0:
        yield (
            "metroon: a client connected to the proxy and asked nothing, most likely since it does not trust the proxy's certificate\n"
            "help: have it trust the file that metroon.ca names"
        )
    else:
        yield (
            f"metroon: the proxy saw no request of this test, so nothing is in {path.name} for it\n"
            "help: if it asks the network, its client goes past the proxy: tell it of metroon.proxy and metroon.ca; if it is to ask "
            "nothing, @pytest.mark.metroon(allow_empty=True) says so"
        )


@pytest.fixture
def metroon(request, monkeypatch):
    """The proxy of this test; see `Cassette`."""
    marker = request.node.get_closest_marker("metroon")
    marked = marker.kwargs if marker else {}
    ini = request.config.getini
    mode = request.config.getoption("--metroon-mode") or marked.get("mode") or ("none" if os.environ.get("CI") else "once")
    path = _path(request, marked)
    path.parent.mkdir(parents=True, exist_ok=True)
    options = [*ini("metroon_options"), *marked.get("options", [])]
    if marked.get("allow_empty"):
        options.append("--allow-empty")
    cassette = start(path, mode, options, ini("metroon_command"))
    _prepare_libraries(cassette.env["METROON_PYTHON"])
    for name, value in cassette.env.items():
        monkeypatch.setenv(name, value)
    # It keeps the proxies that the environment named when it was first used.
    monkeypatch.setattr(urllib.request, "_opener", None)
    # Hosts that the proxy is told to pass are reached directly as well.
    passed = cassette.env.get("NO_PROXY", "").split(",")
    guard = Guard([*ini("metroon_allow_hosts"), *marked.get("allow_hosts", []), *passed])
    if mode != "passthrough":
        guard.install(monkeypatch)
    yield cassette
    outcome = cassette.stop()
    faults = [outcome.said] if outcome.code != 0 else []
    called = request.node.stash.get(_CALL, None)
    if mode != "passthrough" and called is not None and called.passed:
        faults.extend(_faults(outcome, path, guard, marked))
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)
