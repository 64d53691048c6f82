"""A pytest plugin: what a test asks of the network is recorded once, and answered from the recording from then on.

A test that is marked `@pytest.mark.metroon`, or asks for the fixture `metroon`, runs with a proxy of the program `metroon` of its
own, and a cassette named after it. Its clients go through the proxy whenever they were made; what goes past it is refused, and a test
of which the proxy saw nothing fails. Requests of other tests go where they always went.
"""

import hashlib
import os
import re
from pathlib import Path

import pytest
from metroon import Cassette, CassetteError, OutsideConnection
from metroon._cassettes import MODES, Words, failures, through
from metroon._cassettes import start as start_proxy

__all__ = ["MODES", "OutsideConnection", "Cassette", "metroon", "start"]

# A name of a cassette is not longer, since names of files may not be.
_NAME_MAX = 120
# The report of a test's own part.
_CALL = pytest.StashKey()

_WORDS = Words(
    style="pytest",
    who="the test",
    command="METROON or in the option metroon_command",
    proxy="which the fixture names (metroon.proxy, metroon.ca)",
    ca="metroon.ca",
    allow_hosts='@pytest.mark.metroon(allow_hosts=["{host}"])',
    allow_empty="@pytest.mark.metroon(allow_empty=True)",
)


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


def start(cassette, mode="once", options=(), command=None):
    """Starts a proxy for a cassette."""
    try:
        return start_proxy(cassette, mode, options, command, _WORDS)
    except FileNotFoundError as error:
        raise pytest.UsageError(f"there is no program {error.filename}: name metroon in {_WORDS.command}") from None
    except CassetteError as error:
        pytest.fail(str(error), pytrace=False)


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


@pytest.fixture
def metroon(request):
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
    with through(cassette, mode, [*ini("metroon_allow_hosts"), *marked.get("allow_hosts", [])], _WORDS) as guard:
        yield cassette
    outcome = cassette.stop()
    called = request.node.stash.get(_CALL, None)
    passed = called is not None and called.passed
    found = failures(outcome, cassette, guard if passed else None, mode, marked.get("allow_empty", False), _WORDS)
    if found:
        pytest.fail("\n".join(found), pytrace=False)
