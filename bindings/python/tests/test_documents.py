"""The page about Python is run as it is written."""

import doctest
import http.server
import importlib
import pathlib
import threading

import pytest

# Beside the tests, or where the variable says, when they run from elsewhere.
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"


@pytest.fixture
def url():
    """The address of a service."""
    folder = http.server.SimpleHTTPRequestHandler
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), folder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_the_page_does_what_it_says(tmp_path, monkeypatch, url):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "METROON", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    found = doctest.testfile(str(PAGE), module_relative=False, globs={"url": url}, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 20 and found.failed == 0


def test_the_page_about_pages_does_what_it_says(tmp_path, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    page = PAGE.with_name("pages.md")
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 30 and found.failed == 0


def test_the_page_about_five_systems_does_what_it_says():
    pytest.importorskip("numpy")
    found = doctest.testfile(str(PAGE.with_name("systems.md")), module_relative=False)
    assert found.attempted > 5 and found.failed == 0


@pytest.mark.parametrize("name", ["_base", "_store"])
def test_the_examples_of_methods_do_what_they_say(name):
    found = doctest.testmod(importlib.import_module(f"metroon.{name}"), optionflags=doctest.ELLIPSIS)
    assert found.attempted >= 3 and found.failed == 0


def test_the_readme_of_the_package_runs(capsys):
    text = (PAGE.parents[1] / "bindings" / "python" / "README.md").read_text()
    exec(text.split("```python\n")[1].split("```")[0], {})
    assert "[2 rows]" in capsys.readouterr().out
