"""The plugin, run by pytest itself: `MNEMON` names the program, `MNEMON_TEST_OPTIONS` says where it finds example.com."""

import os

import pytest

pytest_plugins = ["pytester"]

TEST = """
    import urllib.request
    import pytest
    import requests

    @pytest.mark.mnemon
    def test_marked():
        for path in ["json", "count", "count"]:
            urllib.request.urlopen("https://example.com/" + path).read()

    @pytest.mark.parametrize("frog", ["Sam", "Fritz"])
    def test_fixture(mnemon, frog):
        answer = requests.get("https://example.com/echo", params={"frog": frog})
        assert frog in answer.text
        assert mnemon.proxy in mnemon.env["HTTPS_PROXY"]
"""


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    pytester.makeini("[pytest]\nmnemon_options = " + os.environ["MNEMON_TEST_OPTIONS"])
    pytester.makepyfile(test_pond=TEST)
    return pytester


def run(project, *words):
    return project.runpytest_inprocess("-p", "pytest_mnemon", *words)


def test_recorded_then_answered(project):
    run(project).assert_outcomes(passed=3)
    tapes = sorted(path.name for path in project.path.joinpath("tapes/test_pond").iterdir())
    assert tapes == ["test_fixture-Fritz.tape", "test_fixture-Sam.tape", "test_marked.tape"]
    # Without the options nothing leads to the origin any more: whatever passes came from the tapes.
    project.makeini("[pytest]")
    run(project, "--mnemon-mode=none").assert_outcomes(passed=3)


def test_a_miss_fails_the_test(project):
    run(project).assert_outcomes(passed=3)
    source = project.path.joinpath("test_pond.py")
    source.write_text(source.read_text().replace('"json", ', '"other", '))
    result = run(project, "--mnemon-mode=none", "-k", "marked")
    assert result.parseoutcomes().get("errors", 0) + result.parseoutcomes().get("failed", 0) >= 1
    result.stdout.fnmatch_lines(["*no recorded exchange answers GET https://example.com/other*"])


def test_nothing_is_recorded_in_ci(project, monkeypatch):
    monkeypatch.setenv("CI", "true")
    result = run(project, "-k", "marked")
    result.stdout.fnmatch_lines(["*there is no tape at *"])


def test_a_missing_program_is_named(project):
    project.makeini("[pytest]\nmnemon_command = no-such-mnemon")
    result = run(project, "-k", "marked")
    result.stdout.fnmatch_lines(["*there is no program no-such-mnemon*"])
