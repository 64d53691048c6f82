"""A notebook with cells of MeTTa, executed by nbclient."""

import os
import re

import pytest

CELLS = [
    "import metroon\nkb = metroon.KnowledgeBase()\n%load_ext metroon",
    '%%metta kb\n(parent Tom Bob)\n(parent Bob <Ann>)\n!(+ 1 2)\n!(match &self (parent Tom $x) $x)\n!(id "a\\"b")',
    'kb.query("(parent $who $whom)")',
    'kb.why("(parent Tom $x)")',
    "%%metta\n(alone)\n!(match &self ($x) $x)",
    "%%metta kb\n!(+ 1 1)\n!(+ 1 (",
    "import time\n@kb.function\ndef pause(seconds: float) -> float:\n    time.sleep(seconds)\n    return seconds",
    "%%metta kb\n!(+ 1 1)\n!(pause 1.2)\n!(+ 2 2)",
    "import os, signal, threading\n@kb.function\ndef alarm(seconds: float) -> float:\n"
    "    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()\n    return seconds",
    "%%metta kb\n(= (loop $n) (loop (+ $n 1)))\n!(alarm 1.2)\n!(loop 0)",
    "%%metta kb\n!(+ 1 1)",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    if os.environ.get("CI") not in ("true", "1"):
        pytest.importorskip("nbclient")
    import nbclient
    import nbformat

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = str(tmp_path_factory.mktemp("book"))
    client = nbclient.NotebookClient(book, timeout=60, kernel_name="python3", allow_errors=True, resources={"metadata": {"path": folder}})
    client.execute()
    return [cell.outputs for cell in book.cells]


def test_results_are_rendered(outputs):
    assert outputs[0] == []
    (found,) = outputs[1]
    assert found["data"]["text/plain"] == '[3]\n[Bob]\n["a\\"b"]'
    assert "<code>[Bob]</code>" in found["data"]["text/html"]
    assert outputs[4][0]["data"]["text/plain"] == "[alone]"


def test_rows_are_a_table_and_reasons_a_tree(outputs):
    table = outputs[2][0]["data"]["text/html"]
    assert "<th>who</th><th>whom</th>" in table and "&lt;Ann&gt;" in table
    tree = outputs[3][0]["data"]["text/html"]
    assert tree.startswith("<ul><li>commit 1<ul><li>text<ul>") and "<code>(parent Tom Bob)</code>, line 1, column 1" in tree


def test_an_error_has_a_caret_and_ends_the_cell(outputs):
    shown, error = outputs[5]
    lines = shown["data"]["text/plain"].splitlines()
    # What the forms before came to, what is wrong, and where.
    assert lines[0] == "[2]" and lines[1].startswith("ParseError: ") and lines[2] == "2 | !(+ 1 ("
    assert set(lines[3]) == {" ", "^"} and lines[2][lines[3].index("^")] == "("
    assert error["output_type"] == "error" and error["ename"] == "_Shown"


def test_a_cell_that_takes_long_says_how_far_it_has_come_in_one_place(outputs):
    line, found = outputs[7]
    # The line was updated until the end: nothing of what it said before is left.
    assert line["output_type"] == "display_data"
    assert re.fullmatch(r"done: \d+\.\d s, 3 forms done, 3 results", line["data"]["text/plain"])
    assert found["data"]["text/plain"] == "[2]\n[1.2]\n[4]"


def test_an_interrupt_of_the_kernel_cancels_the_cell_and_the_base_goes_on(outputs):
    line, error = outputs[9]
    assert re.fullmatch(r"cancelled: \d+\.\d s, 1 form done, 1 result", line["data"]["text/plain"])
    assert error["output_type"] == "error" and error["ename"] == "KeyboardInterrupt"
    assert outputs[10][0]["data"]["text/plain"] == "[2]"
