"""The page about Python is run as it is written."""

import doctest
import pathlib

import pytest

# Beside the tests, or where the variable says, when they run from elsewhere.
PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "python.md"


def test_the_page_does_what_it_says(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 20 and found.failed == 0


def test_the_readme_of_the_package_runs(capsys):
    text = (PAGE.parents[1] / "bindings" / "python" / "README.md").read_text()
    exec(text.split("```python\n")[1].split("```")[0], {})
    assert "[2 rows]" in capsys.readouterr().out
