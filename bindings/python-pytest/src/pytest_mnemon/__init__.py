"""A pytest plugin: what a test asks of the network is recorded once, and answered from the recording from then on.

A test that is marked `@pytest.mark.mnemon`, or asks for the fixture `mnemon`, runs with a proxy of the program `mnemon` of its
own, and a tape named after it. Requests of other tests go where they always went.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

MODES = ("once", "new", "all", "none", "passthrough")
# The proxy gets so many seconds to start, and to seal its tape.
_PATIENCE = 60


def pytest_addoption(parser):
    group = parser.getgroup("mnemon")
    group.addoption(
        "--mnemon-mode",
        choices=MODES,
        help="once: record what has no tape yet; new: record what is not on it; all: record anew; none: only answer"
        " (default: none if CI is set, else once)",
    )
    parser.addini("mnemon_command", "the program mnemon", default="")
    parser.addini("mnemon_folder", "where tapes lie, from the folder of each test file", default="tapes")
    parser.addini("mnemon_options", "options for every recording, such as --ignore-query=nonce", type="args", default=[])


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "mnemon(tape=None, mode=None, options=[]): record what the test asks of the network, and answer from the recording",
    )


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("mnemon") and "mnemon" not in item.fixturenames:
            item.fixturenames.insert(0, "mnemon")


class Tape:
    """A proxy with its tape, while a test runs."""

    def __init__(self, path, process, ready):
        self.path = path
        self.proxy = ready["proxy"]
        self.ca = ready["ca"]
        self.bundle = ready["bundle"]
        # For programs that the test starts itself; os.environ has them while it runs.
        self.env = ready["env"]
        self._process = process

    def stop(self):
        """Ends the proxy and seals the tape. Gives the exit code and what was said: 4 if a request had no answer."""
        _, said = self._process.communicate(timeout=_PATIENCE)
        return self._process.returncode, said


def start(tape, mode="once", options=(), command=None):
    """Starts a proxy for a tape."""
    words = [command or os.environ.get("MNEMON") or "mnemon", "record", "-o", str(tape), "--mode", mode, "--ready-json"]
    try:
        process = subprocess.Popen(
            [*words, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    except FileNotFoundError:
        message = f"there is no program {words[0]}: put mnemon on PATH, or name it in MNEMON or in the option mnemon_command"
        raise pytest.UsageError(message) from None
    line = process.stdout.readline()
    if not line:
        _, said = process.communicate(timeout=_PATIENCE)
        pytest.fail(f"mnemon did not start:\n{said}", pytrace=False)
    return Tape(Path(tape), process, json.loads(line))


def _path(request, marker):
    named = marker.kwargs.get("tape") if marker else None
    folder = request.path.parent / request.config.getini("mnemon_folder")
    if named is None:
        test = request.node.nodeid.split("::", 1)[-1]
        named = Path(request.path.stem) / (re.sub(r"[^A-Za-z0-9_.=-]+", "-", test).strip("-") + ".tape")
    return folder / named


def _prepare_libraries(folder):
    """Does for this process what Python does at the start of one that mnemon runs."""
    if "mnemon_preload" not in sys.modules:
        spec = importlib.util.spec_from_file_location("mnemon_preload", os.path.join(folder, "mnemon_preload.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules["mnemon_preload"] = module
        spec.loader.exec_module(module)
    sys.modules["mnemon_preload"].install()


@pytest.fixture
def mnemon(request, monkeypatch):
    """The proxy of this test; see `Tape`."""
    marker = request.node.get_closest_marker("mnemon")
    marked = marker.kwargs if marker else {}
    mode = request.config.getoption("--mnemon-mode") or marked.get("mode") or ("none" if os.environ.get("CI") else "once")
    path = _path(request, marker)
    path.parent.mkdir(parents=True, exist_ok=True)
    options = [*request.config.getini("mnemon_options"), *marked.get("options", [])]
    tape = start(path, mode, options, request.config.getini("mnemon_command"))
    _prepare_libraries(tape.env["MNEMON_PYTHON"])
    for name, value in tape.env.items():
        monkeypatch.setenv(name, value)
    # It keeps the proxies that the environment named when it was first used.
    monkeypatch.setattr(urllib.request, "_opener", None)
    yield tape
    code, said = tape.stop()
    if code != 0:
        pytest.fail(said.strip(), pytrace=False)
